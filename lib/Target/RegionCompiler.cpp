// The parent keeps up to `jobs` children, each with every jobs-th region. A child
// answers through its pipe, one frame (Frame, reason, blob) per region; weights that a
// vendor makes lie in memory that both processes see:
//
//   child 0:  region 0 | region 2 | region 4 ...
//   child 1:  region 1 | region 3 ...
//
// The clock of a region starts when the answer before it has arrived. A child that
// ends, hangs or sends something else than the frame that is due fails the region
// it was at; a new child goes on with the one after it.

#include "bycc/Target/RegionCompiler.h"

#include "FreeMemory.h"
#include "VendorReply.h"
#include "WeightsMemory.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bycc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t maxReasonBytes = 4096;

RegionOutcome failed(RegionOutcome::Kind kind, std::string reason) {
  RegionOutcome outcome;
  outcome.kind = kind;
  outcome.reason = std::move(reason);
  return outcome;
}

RegionOutcome refused(std::string reason) { return failed(RegionOutcome::Kind::Refused, std::move(reason)); }
RegionOutcome crashed(std::string reason) { return failed(RegionOutcome::Kind::Crashed, std::move(reason)); }

// An outcome without the weights, which lie at `place` of the memory given to it.
struct RawOutcome {
  RegionOutcome outcome;
  WeightsPlace place;
};
RawOutcome ask(const RegionJob &job, const TargetInfo &target, const RegionView &view, uint64_t maxBlobBytes,
               WeightsMemory &memory);

// --- the child

struct Frame {
  static constexpr uint32_t expectedMagic = 0x4e4f4752;
  uint32_t magic = expectedMagic;
  uint32_t job = 0;
  uint32_t kind = 0;
  uint32_t blamed = 0;
  uint64_t reasonBytes = 0, blobBytes = 0;
  WeightsPlace weights;
};

bool writeAll(int fd, const void *data, size_t size) {
  const char *at = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t wrote = ::write(fd, at, size);
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote <= 0)
      return false;
    at += wrote;
    size -= static_cast<size_t>(wrote);
  }
  return true;
}

bool sendOutcome(int fd, uint32_t job, const RawOutcome &raw) {
  const RegionOutcome &outcome = raw.outcome;
  Frame frame;
  frame.job = job;
  frame.kind = static_cast<uint32_t>(outcome.kind);
  frame.blamed = outcome.blamed;
  frame.reasonBytes = outcome.reason.size();
  frame.blobBytes = outcome.blob.size();
  frame.weights = raw.place;
  return writeAll(fd, &frame, sizeof frame) &&
         writeAll(fd, outcome.reason.data(), outcome.reason.size()) &&
         writeAll(fd, outcome.blob.data(), outcome.blob.size());
}

// A vendor may take half of the memory that is free, then its allocations fail;
// should the system run short all the same, it ends this child and not its parent.
void limitMemory() {
#ifndef __SANITIZE_ADDRESS__ // whose shadow counts as well
  uint64_t used = procValue("/proc/self/status", "VmData:");
  uint64_t free = freeMemory();
  if (used && free != UINT64_MAX) {
    rlimit limit{used + free / 2, used + free / 2};
    ::setrlimit(RLIMIT_DATA, &limit);
  }
#endif
  std::ofstream("/proc/self/oom_score_adj") << 1000;
}

// OpenMP's pool does not survive a fork: vendors run on this thread alone.
void useOneThread() {
  if (auto set = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
    set(1);
}

void prepareChild(bool showOutput) {
  ::setpgid(0, 0); // so that what the vendor starts ends with it
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM, SIGINT, SIGTERM, SIGPIPE})
    std::signal(signal, SIG_DFL);
  rlimit noCore{0, 0};
  ::setrlimit(RLIMIT_CORE, &noCore);
  limitMemory();
  useOneThread();
  int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(showOutput ? STDERR_FILENO : null, STDOUT_FILENO);
  if (!showOutput)
    ::dup2(null, STDERR_FILENO);
}

// --- the parent

std::string endOf(int status) {
  if (WIFSIGNALED(status)) {
    int signal = WTERMSIG(status);
    return "its compile half crashed: signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
  }
  return "its compile half ended the process with exit code " + std::to_string(WEXITSTATUS(status));
}

// One child and the jobs it has yet to answer.
struct Worker {
  std::vector<uint32_t> jobs; // the next one last
  pid_t pid = -1;
  int pipe = -1;
  WeightsMemory weights; // of its own, so that no child sees what another one made
  std::vector<uint8_t> received;
  Clock::time_point begin, deadline; // of the job it is at

  bool isRunning() const { return pid > 0; }
};

class RegionCompiler {
public:
  RegionCompiler(std::span<const RegionJob> jobs, const TargetInfo &target,
                 const RegionCompilerOptions &options)
      : jobs_(jobs), target_(target), options_(options), outcomes_(jobs.size()) {}

  std::vector<RegionOutcome> run() {
    size_t count = std::min(static_cast<size_t>(std::max(1, options_.jobs)), jobs_.size());
    workers_.resize(count);
    for (size_t job = jobs_.size(); job-- > 0;)
      workers_[job % count].jobs.push_back(static_cast<uint32_t>(job));
    for (Worker &worker : workers_)
      start(worker);
    while (std::ranges::any_of(workers_, &Worker::isRunning))
      serve();
    dropAfterHangs();
    return std::move(outcomes_);
  }

private:
  void start(Worker &worker) {
    while (!worker.jobs.empty() && !worker.isRunning())
      if (isGivenUp(jobs_[worker.jobs.back()].vendor))
        conclude(worker, notAsked());
      else if (!fork(worker))
        conclude(worker, refused(std::string("bycc cannot start a process for it: ") + std::strerror(errno)));
  }

  bool isGivenUp(const Vendor *vendor) {
    return hangs_[vendor] >= options_.maxHangs;
  }
  RegionOutcome notAsked() const {
    return failed(RegionOutcome::Kind::Hung, "its compile half hung " + std::to_string(options_.maxHangs) + " times before");
  }

  // What a faster child did after the last hang that is put up with does not count:
  // the outcome is the same for any number of children.
  void dropAfterHangs() {
    std::map<const Vendor *, int> seen;
    for (size_t i = 0; i < jobs_.size(); ++i) {
      int &hangs = seen[jobs_[i].vendor];
      if (hangs >= options_.maxHangs)
        outcomes_[i] = notAsked();
      hangs += outcomes_[i].kind == RegionOutcome::Kind::Hung;
    }
  }

  bool fork(Worker &worker) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return false;
    worker.weights = WeightsMemory::make();
    std::fflush(nullptr); // else the child's exit could write it once more
    worker.pid = ::fork();
    if (worker.pid == 0) {
      ::close(ends[0]);
      runChild(worker, ends[1]);
    }
    int failure = errno;
    ::close(ends[1]);
    if (worker.pid < 0) {
      ::close(ends[0]);
      errno = failure;
      return false;
    }
    ::setpgid(worker.pid, worker.pid);
    worker.pipe = ends[0];
    worker.received.clear();
    restartClock(worker);
    return true;
  }

  [[noreturn]] void runChild(Worker &worker, int pipe) const {
    prepareChild(options_.showOutput);
    for (size_t i = worker.jobs.size(); i-- > 0;) {
      const RegionJob &job = jobs_[worker.jobs[i]];
      if (!sendOutcome(pipe, worker.jobs[i], ask(job, target_, job.view(), options_.maxBlobBytes, worker.weights)))
        ::_exit(1);
    }
    ::_exit(0);
  }

  void restartClock(Worker &worker) {
    worker.begin = Clock::now();
    worker.deadline = worker.begin + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<double>(options_.timeoutSeconds));
  }

  // Waits for the next thing to happen and deals with it.
  void serve() {
    std::vector<pollfd> polls;
    std::vector<Worker *> running;
    Clock::time_point next = Clock::time_point::max();
    for (Worker &worker : workers_)
      if (worker.isRunning()) {
        polls.push_back({worker.pipe, POLLIN, 0});
        running.push_back(&worker);
        next = std::min(next, worker.deadline);
      }
    auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    ::poll(polls.data(), polls.size(), static_cast<int>(std::clamp<int64_t>(wait, 0, 60000)));
    for (size_t i = 0; i < polls.size(); ++i)
      if (polls[i].revents)
        receive(*running[i]);
      else if (Clock::now() >= running[i]->deadline)
        abandon(*running[i], failed(RegionOutcome::Kind::Hung, "its compile half did not answer within " +
                                                                   formatDouble(options_.timeoutSeconds) + " s"));
  }

  void receive(Worker &worker) {
    uint8_t bytes[1 << 16];
    ssize_t got = ::read(worker.pipe, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR)
      return;
    if (got <= 0)
      return abandon(worker, crashed(""));
    worker.received.insert(worker.received.end(), bytes, bytes + got);
    while (worker.isRunning() && takeFrame(worker)) {
    }
  }

  // False: the frame that is due has not arrived in full.
  bool takeFrame(Worker &worker) {
    Frame frame;
    if (worker.received.size() < sizeof frame)
      return false;
    std::memcpy(&frame, worker.received.data(), sizeof frame);
    if (frame.magic != Frame::expectedMagic || frame.job != worker.jobs.back() ||
        frame.kind > static_cast<uint32_t>(RegionOutcome::Kind::Refused) ||
        frame.reasonBytes > maxReasonBytes || frame.blobBytes > options_.maxBlobBytes) {
      abandon(worker, crashed("its process sent bytes that are no answer"));
      return false;
    }
    size_t size = sizeof frame + frame.reasonBytes + frame.blobBytes;
    if (worker.received.size() < size)
      return false;
    RegionOutcome outcome;
    outcome.kind = static_cast<RegionOutcome::Kind>(frame.kind);
    outcome.blamed = frame.blamed;
    auto reason = worker.received.begin() + sizeof frame;
    auto blob = reason + static_cast<long>(frame.reasonBytes);
    outcome.reason.assign(reason, blob);
    outcome.blob.assign(blob, blob + static_cast<long>(frame.blobBytes));
    if (frame.weights.bytes && !(outcome.weights = worker.weights.map(frame.weights))) {
      abandon(worker, crashed("its process sent weights that are not there"));
      return false;
    }
    worker.received.erase(worker.received.begin(), worker.received.begin() + static_cast<long>(size));
    conclude(worker, std::move(outcome));
    restartClock(worker);
    if (worker.jobs.empty())
      end(worker);
    return worker.isRunning() && !worker.received.empty();
  }

  void conclude(Worker &worker, RegionOutcome outcome) {
    outcome.begin = worker.begin;
    outcome.end = Clock::now();
    outcome.child = static_cast<int>(&worker - workers_.data());
    outcomes_[worker.jobs.back()] = std::move(outcome);
    worker.jobs.pop_back();
  }

  // The child is of no more use: the job it was at fails. Without a reason the
  // way in which it ended tells.
  void abandon(Worker &worker, RegionOutcome outcome) {
    hangs_[jobs_[worker.jobs.back()].vendor] += outcome.kind == RegionOutcome::Kind::Hung;
    bool hasEnded = outcome.reason.empty();
    int status = end(worker, !hasEnded);
    if (hasEnded)
      outcome.reason = endOf(status);
    conclude(worker, std::move(outcome));
    start(worker);
  }

  // Returns its status. One that is on its way out has until the deadline.
  int end(Worker &worker, bool isToBeKilled = true) {
    int status = 0;
    bool isGone = false;
    while (!isToBeKilled && !isGone && Clock::now() < worker.deadline)
      if (isGone = ::waitpid(worker.pid, &status, WNOHANG) != 0; !isGone)
        ::usleep(500);
    ::kill(-worker.pid, SIGKILL); // with all that the vendor started
    if (!isGone) {
      ::kill(worker.pid, SIGKILL);
      while (::waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
      }
    }
    ::close(worker.pipe);
    worker.pid = worker.pipe = -1;
    worker.weights = {};
    return status;
  }

  std::span<const RegionJob> jobs_;
  const TargetInfo &target_;
  const RegionCompilerOptions &options_;
  std::vector<RegionOutcome> outcomes_;
  std::vector<Worker> workers_;
  std::map<const Vendor *, int> hangs_;
};

// What an answer comes to; one that is not done keeps no weights.
RegionOutcome outcomeOf(VendorReply &reply, bool isDone, const RegionView &view) {
  if (!isDone) {
    RegionOutcome outcome = refused(reply.why());
    if (reply.blamed < view.region().num_nodes)
      outcome.blamed = reply.blamed;
    return outcome;
  }
  if (reply.isBlobTooLarge)
    return refused("its code takes more than " + std::to_string(reply.maxBlobBytes >> 20) + " MiB");
  if (reply.blob.empty())
    return refused("it gives no code");
  RegionOutcome outcome;
  outcome.kind = RegionOutcome::Kind::Done;
  outcome.blob = std::move(reply.blob);
  return outcome;
}

RawOutcome ask(const RegionJob &job, const TargetInfo &target, const RegionView &view, uint64_t maxBlobBytes,
               WeightsMemory &memory) {
  BYCC_ASSERT(!job.vendor->isEmulated(), "only a vendor with a compile half compiles regions");
  std::string features = join(target.features, ",");
  bycc_target boundary{target.triple.c_str(), target.cpu.c_str(), features.c_str(), target.threads};
  const bycc_vendor_compiler &compiler = *job.vendor->compiler();
  VendorReply reply;
  reply.maxBlobBytes = maxBlobBytes;
  if (ownsWeights(*job.vendor) && !job.isTuning)
    reply.makeWeights = [&](uint64_t bytes) { return memory.take(bytes); };
  auto call = job.isTuning ? compiler.tune : compiler.compile;
  RawOutcome raw;
  try {
    bool isDone = call(compiler.self, &boundary, &view.region(), &reply.answer) == 0;
    raw.outcome = outcomeOf(reply, isDone, view);
  } catch (const std::exception &thrown) {
    raw.outcome = refused("its compile half threw an exception: " + escaped(thrown.what(), 512));
  } catch (...) {
    raw.outcome = refused("its compile half threw an exception");
  }
  raw.place = memory.finish(raw.outcome.kind == RegionOutcome::Kind::Done);
  return raw;
}

} // namespace

bool ownsWeights(const Vendor &vendor) {
  return !vendor.isEmulated() && (vendor.compiler()->flags & BYCC_VENDOR_OWN_WEIGHTS);
}

RegionOutcome compileRegion(const Vendor &vendor, const TargetInfo &target, const RegionView &view,
                            uint64_t maxBlobBytes, bool isTuning) {
  WeightsMemory memory = ownsWeights(vendor) ? WeightsMemory::make() : WeightsMemory();
  RawOutcome raw = ask({&vendor, {}, isTuning}, target, view, maxBlobBytes, memory);
  if (raw.place.bytes && !(raw.outcome.weights = memory.map(raw.place)))
    return refused("there is no memory for its weights");
  return std::move(raw.outcome);
}

std::vector<RegionOutcome> compileRegionsApart(std::span<const RegionJob> jobs, const TargetInfo &target,
                                               const RegionCompilerOptions &options) {
  return RegionCompiler(jobs, target, options).run();
}

} // namespace bycc
