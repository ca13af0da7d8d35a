// The pool: teams, and how many CPUs count.
#include "CpuLimits.h"
#include "OpenMp.h"
#include "TestModel.h"
#include "ThreadPool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <mutex>
#include <pthread.h>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace bycc::runtime;

namespace {

using Body = std::function<void()>;

void inTeam(uint32_t count, Body body) {
  runTeam(count, [](void *closure) { (*static_cast<Body *>(closure))(); }, &body);
}

// Who was there at the same time: all wait until `count` have come.
struct Meeting {
  explicit Meeting(uint32_t count) : count(count) {}
  uint32_t count;
  std::atomic<uint32_t> present{0};
  std::mutex mutex;
  std::set<uint32_t> numbers;
  std::set<pid_t> threads;

  void attend() {
    {
      std::lock_guard lock(mutex);
      numbers.insert(teamIndex());
      threads.insert(::gettid());
    }
    ++present;
    while (present < count)
      std::this_thread::yield();
  }
  bool wasWhole() const {
    return threads.size() == count && numbers.size() == count && *numbers.rbegin() == count - 1;
  }
};

size_t numThreads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

double cpuSeconds() {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](timeval t) { return static_cast<double>(t.tv_sec) + t.tv_usec * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int statusOfChild(const std::function<bool()> &body) {
  pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(body() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

void write(const std::filesystem::path &path, const std::string &text) {
  std::filesystem::create_directories(path.parent_path());
  writeText(path, text);
}

} // namespace

TEST_CASE("a team has the threads asked for, of concurrent callers too") {
  std::atomic<int> bad{0};
  auto call = [&] {
    for (uint32_t count : {2, 5, 1, 3, 4, 2}) {
      CrewScope scope(static_cast<int32_t>(count));
      Meeting meeting(count);
      inTeam(count, [&] {
        bad += teamSize() != count || !(count == 1 || isInTeam());
        meeting.attend();
      });
      bad += !meeting.wasWhole() || teamSize() != 1 || isInTeam();
    }
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back(call);
  for (std::thread &caller : callers)
    caller.join();
  call();
  CHECK(bad == 0);
}

TEST_CASE("a team larger than the caller's crew, and one without, get their threads") {
  Meeting first(3), second(6);
  inTeam(3, [&] { first.attend(); });
  CrewScope scope(2);
  inTeam(6, [&] { second.attend(); });
  CHECK(first.wasWhole());
  CHECK(second.wasWhole());
}

TEST_CASE("callers one after another share their threads") {
  auto call = [] {
    CrewScope scope(4);
    Meeting meeting(4);
    inTeam(4, [&] { meeting.attend(); });
  };
  call();
  size_t before = numThreads();
  for (int i = 0; i < 5; ++i)
    std::thread(call).join();
  CHECK(numThreads() == before);
}

TEST_CASE("each task of a team runs once, by whomever") {
  CrewScope scope(7);
  std::array<std::atomic<int>, 7> done{};
  for (int i = 0; i < 3000; ++i)
    inTeam(2 + i % 6, [&] { ++done[teamIndex()]; });
  for (size_t k = 0; k < done.size(); ++k)
    CHECK(done[k] == (k < 2 ? 3000 : 3000 - 500 * (static_cast<int>(k) - 1)));
}

TEST_CASE("nobody passes a barrier before all have come") {
  for (uint32_t count : {2, 3, 8}) {
    std::atomic<int> arrived{0}, early{0};
    inTeam(count, [&] {
      for (int round = 1; round <= 200; ++round) {
        ++arrived;
        if (round % 50 == 0 && teamIndex() == 0) // the others sleep meanwhile
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
        teamBarrier();
        early += arrived < static_cast<int>(count) * round;
        teamBarrier();
      }
    });
    CHECK(early == 0);
  }
}

TEST_CASE("a team inside of a task is one call, a loop there is whole") {
  std::atomic<int> calls{0}, bad{0};
  std::atomic<int64_t> sum{0};
  inTeam(2, [&] {
    uint32_t outer = teamIndex();
    inTeam(3, [&] {
      ++calls;
      bad += teamSize() != 1 || teamIndex() != 0 || !isInTeam();
      teamBarrier();
    });
    bad += teamSize() != 2 || teamIndex() != outer;
    auto add = [](void *closure, int64_t begin, int64_t end, int32_t) {
      *static_cast<std::atomic<int64_t> *>(closure) += end - begin;
    };
    parallelFor(4, add, &sum, 100, 1);
  });
  CHECK(calls == 2);
  CHECK(bad == 0);
  CHECK(sum == 200);
}

TEST_CASE("the pool's threads have names, default modes and no signals") {
  uint32_t sse = _mm_getcsr();
  _mm_setcsr(sse | 0x8040);
  std::atomic<int> bad{0};
  std::thread([&] { // perhaps with threads of its own
    inTeam(6, [&] {
      if (teamIndex() == 0)
        return teamBarrier();
      char name[16];
      ::pthread_getname_np(::pthread_self(), name, sizeof name);
      sigset_t blocked;
      ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
      bad += name != "bycc-" + std::to_string(teamIndex());
      bad += sigismember(&blocked, SIGTERM) != 1 || sigismember(&blocked, SIGPROF) != 1;
      bad += (_mm_getcsr() & ~0x3fu) != defaultSse;
      teamBarrier();
    });
  })
      .join();
  _mm_setcsr(sse);
  CHECK(bad == 0);
}

TEST_CASE("between runs the pool's threads sleep") {
  {
    CrewScope scope(4);
    for (int i = 0; i < 100; ++i)
      inTeam(4, [] { teamBarrier(); });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  double before = cpuSeconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(cpuSeconds() - before < 0.01);
}

TEST_CASE("a worker on the caller's CPU goes to another one and may run anywhere afterwards") {
  auto body = [] {
    cpu_set_t all, one;
    ::sched_getaffinity(0, sizeof all, &all);
    int32_t cpu = ::sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(cpu), &one);
    ::sched_setaffinity(0, sizeof one, &one);
    CrewScope scope(2); // the worker inherits the caller's CPU
    std::atomic<pid_t> worker{0};
    std::atomic<int32_t> workerCpu{-1};
    auto meet = [&] {
      Meeting meeting(2);
      inTeam(2, [&] {
        if (::gettid() != ::getpid()) {
          worker = ::gettid();
          workerCpu = ::sched_getcpu();
        }
        meeting.attend();
      });
    };
    meet();
    ::sched_setaffinity(worker, sizeof all, &all);
    bool hasLeft = CPU_COUNT(&all) == 1;
    for (int i = 0; i < 2000 && !hasLeft; ++i) {
      ::usleep(1000);
      meet();
      hasLeft = workerCpu != cpu;
    }
    cpu_set_t after;
    ::sched_getaffinity(worker, sizeof after, &after);
    return hasLeft && CPU_EQUAL(&after, &all);
  };
  CHECK(statusOfChild(body) == 0);
}

TEST_CASE("J5 a child of fork has teams of its own") {
  inTeam(4, [] { teamBarrier(); });
  auto hasTeam = [] {
    Meeting meeting(4);
    inTeam(4, [&] { meeting.attend(); });
    return meeting.wasWhole();
  };
  CHECK(statusOfChild(hasTeam) == 0);
  CrewScope scope(4); // the child has lost this one's threads
  CHECK(statusOfChild(hasTeam) == 0);
  CHECK(hasTeam());
}

#ifndef BYCC_ADDRESS_SANITIZER
TEST_CASE("a system without more threads is an error, and the next run is right") {
  if (openMpOfProgram())
    return; // which ends the process
  CHECK(statusOfChild([] {
          TestModel test;
          Loaded loaded(test, 2);
          Inputs inputs(100000);
          if (inputs.bind(loaded.context) != BYCC_OK || bycc_run(loaded.context) != BYCC_OK)
            return false;
          rlimit before, few{1 << 30, 1 << 30}; // bytes: their stacks do not fit
          ::getrlimit(RLIMIT_AS, &before);
          few.rlim_max = before.rlim_max;
          ::setrlimit(RLIMIT_AS, &few);
          bool isRefused = bycc_set_threads(loaded.context, 900) == BYCC_OK &&
                           bycc_run(loaded.context) == BYCC_LIMIT &&
                           std::string(bycc_last_error()) ==
                               "error[LIMIT]: cannot start 900 threads: "
                               "Resource temporarily unavailable";
          ::setrlimit(RLIMIT_AS, &before);
          return isRefused && bycc_set_threads(loaded.context, 3) == BYCC_OK &&
                 bycc_run(loaded.context) == BYCC_OK &&
                 outputOf(loaded.context, 0) == wantedScaled(inputs);
        }) == 0);
}
#endif

TEST_CASE("a run inside of the pool's own task runs there") {
  TestModel test;
  Loaded loaded(test, 3);
  Inputs inputs(999);
  REQUIRE(inputs.bind(loaded.context) == BYCC_OK);
  int32_t status = -1;
  inTeam(2, [&] {
    if (teamIndex() == 1)
      status = bycc_run(loaded.context);
  });
  CHECK(status == BYCC_OK);
  CHECK(outputOf(loaded.context, 0) == wantedScaled(inputs));
}

TEST_CASE("quotas of control groups count in whole CPUs") {
  namespace fs = std::filesystem;
  fs::path root = fs::temp_directory_path() / ("bycc-quota-" + std::to_string(::getpid()));
  fs::path groups = root / "sys/fs/cgroup";
  auto quota = [&] { return cpusOfQuota(root); };
  CHECK(quota() == 0);
  write(root / "proc/self/cgroup", "nonsense\n0::/a/b\n");
  CHECK(quota() == 0);
  write(groups / "a/b/cpu.max", "max 100000\n");
  CHECK(quota() == 0);
  write(groups / "a/cpu.max", "350000 100000\n");
  CHECK(quota() == 3);
  write(groups / "cpu.max", "200000 100000\n"); // a container's own
  CHECK(quota() == 2);
  write(groups / "a/b/cpu.max", "5000 100000\n");
  CHECK(quota() == 1);
  write(groups / "a/b/cpu.max", "5000 0\n");
  CHECK(quota() == 2);
  fs::remove_all(root);

  write(root / "proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/docker/x\n0::/\n");
  write(groups / "cpu/docker/x/cpu.cfs_quota_us", "-1\n");
  write(groups / "cpu/docker/x/cpu.cfs_period_us", "50000\n");
  CHECK(quota() == 0);
  write(groups / "cpu/docker/x/cpu.cfs_quota_us", "200000\n");
  CHECK(quota() == 4);
  write(groups / "cpu/cpu.cfs_quota_us", "100000\n"); // all that a container sees
  write(groups / "cpu/cpu.cfs_period_us", "100000\n");
  CHECK(quota() == 1);
  fs::remove_all(root);
}

TEST_CASE("CPUs are those that the process may run on") {
  CHECK(statusOfChild([] {
          cpu_set_t one;
          CPU_ZERO(&one);
          CPU_SET(::sched_getcpu(), &one);
          return ::sched_setaffinity(0, sizeof one, &one) == 0 && allowedCpus() == 1;
        }) == 0);
  CHECK(allowedCpus() <= cpusOfAffinity());
}
