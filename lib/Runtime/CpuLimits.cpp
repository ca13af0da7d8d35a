// Quotas of control groups, as containers have them: version 2 (`cpu.max` of the
// process's group and of those above it) and version 1 (`cpu.cfs_quota_us` over
// `cpu.cfs_period_us`). A group that is not to be seen from inside of the container
// is looked for at the root of the tree, where its own files are mounted.
//
// Half CPUs do not count: with a thread more than the quota all of them would stand
// still for a part of each period.
#include "CpuLimits.h"

#include "bycc/Support/Text.h"

#include <algorithm>
#include <fstream>
#include <sched.h>
#include <thread>

namespace bycc::runtime {
namespace {

struct Quota {
  int64_t us = -1, periodUs = 0;

  int64_t cpus() const { return std::max<int64_t>(us / periodUs, 1); }
  bool isSet() const { return us > 0 && periodUs > 0; }
};

// "max 100000" or "150000 100000"
Quota readVersion2(const std::string &folder) {
  Quota quota;
  std::ifstream(folder + "/cpu.max") >> quota.us >> quota.periodUs;
  return quota;
}

Quota readVersion1(const std::string &folder) {
  Quota quota;
  if (std::ifstream(folder + "/cpu.cfs_quota_us") >> quota.us)
    std::ifstream(folder + "/cpu.cfs_period_us") >> quota.periodUs;
  return quota;
}

// The least of `group` and the groups above it up to the tree's root; 0: none.
template <typename Read> int64_t leastCpus(const std::string &tree, std::string group, Read read) {
  int64_t least = 0;
  while (true) {
    Quota quota = read(tree + group);
    if (quota.isSet())
      least = least ? std::min(least, quota.cpus()) : quota.cpus();
    if (group.empty())
      return least;
    group.resize(group.rfind('/'));
  }
}

// One line of /proc/self/cgroup: "0::/user/x" (version 2), "1:cpu,cpuacct:/user/x".
int64_t cpusOfLine(const std::string &sys, const std::string &line) {
  size_t names = line.find(':'),
         path = names == std::string::npos ? names : line.find(':', names + 1);
  if (path == std::string::npos || line.compare(path, 2, ":/") != 0)
    return 0;
  std::string group = line.substr(path + 1), controllers = line.substr(names + 1, path - names - 1);
  if (group == "/")
    group.clear();
  if (controllers.empty())
    return leastCpus(sys, group, readVersion2);
  std::vector<std::string> each = split(controllers, ',');
  if (std::find(each.begin(), each.end(), "cpu") == each.end())
    return 0;
  return leastCpus(sys + "/cpu", group, readVersion1);
}

} // namespace

int32_t cpusOfAffinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int32_t cpus = ::sched_getaffinity(0, sizeof set, &set) == 0
                     ? CPU_COUNT(&set)
                     : static_cast<int32_t>(std::thread::hardware_concurrency());
  return std::clamp(cpus, 1, maxThreads);
}

int32_t cpusOfQuota(const std::string &root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  int64_t least = 0;
  for (std::string line; std::getline(groups, line);)
    if (int64_t cpus = cpusOfLine(root + "/sys/fs/cgroup", line))
      least = least ? std::min(least, cpus) : cpus;
  return static_cast<int32_t>(std::min<int64_t>(least, maxThreads));
}

int32_t allowedCpus() {
  int32_t cpus = cpusOfAffinity(), quota = cpus > 1 ? cpusOfQuota() : 0;
  return quota ? std::min(cpus, quota) : cpus;
}

} // namespace bycc::runtime
