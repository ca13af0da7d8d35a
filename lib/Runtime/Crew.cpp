// How a team starts and ends. Each worker has a word that says what is wanted of it:
//
//   caller                              worker
//   call: Idle -> Called                waits for Called, turning `spinTurns` times,
//         (Asleep -> Called, and wake)  then Idle -> Asleep in the kernel
//   its own task                        claim: Called -> Idle, the task, --remaining
//   claim what is still Called
//   waits for remaining == 0, likewise
//
// Sleeping at once doubles what a run takes alone. Turning for milliseconds, as OpenMP
// does by default, takes the CPU from the team's late member when there are other
// processes: a run of 3 ms then takes 30 to 1,000. So threads turn for as long as
// one of them computes alone between two steps (tens of microseconds), then sleep.
//
// A thread that finds itself on the CPU of the one it waits for sleeps at once. A worker
// goes to another CPU before: Linux wakes a thread where it last ran, and looks for an
// idle CPU only if there are likely several (SIS_UTIL: of two that share a cache never
// when one is busy), so both would stay on one CPU for as long as nobody balances.
//
// A caller that is done with its own task takes over tasks that no worker has begun:
// beside other processes workers come late by milliseconds. That never blocks: had
// the task waited for others (teamBarrier), the caller's could not have ended before
// they all began.
//
// Crews are never freed, and the library is never unloaded (linked nodelete): their
// threads sleep in its code. A child of fork() starts without crews.
#include "Crew.h"

#include "CpuLimits.h"
#include "FloatModes.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>
#include <immintrin.h>
#include <linux/futex.h>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace bycc::runtime {
namespace {

// Some 40 us where a turn is slow. With more threads than CPUs the awaited one likely
// does not run.
constexpr int spinTurns = 2000, crowdedTurns = 100;

// Threads of all crews that are taken, and CPUs for them.
std::atomic<int32_t> busyThreads{0}, knownCpus{1};

using Word = std::atomic<uint32_t>;
static_assert(sizeof(Word) == 4 && Word::is_always_lock_free);

void sleepWhile(Word &word, uint32_t value) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE, value, nullptr,
            nullptr, 0);
}

void wake(Word &word, int most) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE, most, nullptr,
            nullptr, 0);
}

// False: it is time to sleep. `rivalCpu`: whoever is awaited was last seen there; on
// the same CPU it cannot go on before this thread sleeps.
template <typename Condition>
bool spinUntil(const std::atomic<int32_t> &rivalCpu, Condition isMet) {
  bool isCrowded =
      busyThreads.load(std::memory_order_relaxed) > knownCpus.load(std::memory_order_relaxed);
  for (int turn = isCrowded ? crowdedTurns : spinTurns; turn > 0; --turn) {
    if (isMet())
      return true;
    if (turn % 8 == 0 && rivalCpu.load(std::memory_order_relaxed) == ::sched_getcpu())
      return false;
    _mm_pause();
  }
  return isMet();
}

// Where the calling thread may run. Empty where a kernel has more CPUs than the set.
cpu_set_t affinityOfThread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  return set;
}

cpu_set_t without(cpu_set_t set, int32_t cpu) {
  CPU_CLR(static_cast<size_t>(cpu), &set);
  return set;
}

// The calling thread runs elsewhere from now on, if it may; later it may be anywhere again.
void leaveCpu(int32_t cpu) {
  cpu_set_t allowed = affinityOfThread(), others = without(allowed, cpu);
  if (CPU_COUNT(&others) > 0 && ::sched_setaffinity(0, sizeof others, &others) == 0)
    ::sched_setaffinity(0, sizeof allowed, &allowed);
}

// The new thread begins on another CPU than the caller's, if it may: there it would wait for
// as long as the caller computes. It widens its affinity itself.
int startElsewhere(const cpu_set_t &allowed, pthread_t &thread, void *(*body)(void *),
                   void *argument) {
  pthread_attr_t settings;
  ::pthread_attr_init(&settings);
  cpu_set_t others = without(allowed, ::sched_getcpu());
  if (CPU_COUNT(&others) > 0)
    ::pthread_attr_setaffinity_np(&settings, sizeof others, &others);
  int problem = ::pthread_create(&thread, &settings, body, argument);
  ::pthread_attr_destroy(&settings);
  return problem;
}

// In ticks of the system (milliseconds).
int64_t coarseNow() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

enum Call : uint32_t { Idle, Called, Asleep };

struct alignas(64) Worker {
  Word call{Idle};
  Crew *crew;
  uint32_t index;
  cpu_set_t allowed;  // as the thread had it that made this one
  int64_t leftAt = 0; // coarseNow() when it left the caller's CPU

  void await();
  void leaveCaller();
  // False: another thread has, or there is nothing to do.
  bool claim() {
    uint32_t seen = Called;
    return call.compare_exchange_strong(seen, Idle, std::memory_order_acq_rel);
  }
  void summon() {
    if (call.exchange(Called, std::memory_order_acq_rel) == Asleep)
      wake(call, 1);
  }
};

} // namespace

class Crew {
public:
  Crew() { workers_.reserve(16); }
  Crew(const Crew &) = delete;

  // Teams of up to `threads` can be had; else what errno says.
  int grow(uint32_t threads);
  bool has(uint32_t threads) const { return workers_.size() + 1 >= threads; }
  void run(uint32_t count, TeamTask task, void *closure);
  void barrier();
  const std::atomic<int32_t> &callerCpu() const { return callerCpu_; }

private:
  static void *work(void *worker);
  int addWorker();
  void runTask(uint32_t index) noexcept; // the others still run
  void runClaimed(uint32_t index);
  void finish();
  void awaitOthers();

  static constexpr uint32_t callerSleeps = 1u << 31; // in remaining_
  static constexpr uint32_t othersSleep = 1;         // in round_

  std::vector<Worker *> workers_; // of numbers 1, 2, ..
  TeamTask task_ = nullptr;
  void *closure_ = nullptr;
  uint32_t count_ = 1;
  std::atomic<int32_t> callerCpu_{-1}; // when the team started
  // Where a worker runs its task, if that is where the caller was; else -1.
  alignas(64) std::atomic<int32_t> sharedCpu_{-1};
  alignas(64) Word remaining_{0}; // tasks other than the caller's
  alignas(64) Word arrived_{0};   // at the barrier
  Word round_{0};                 // of the barrier, in steps of two
};

namespace {

// What the calling thread is doing. Asked for several times in each call of a region: few
// bytes, so they may lie where no function call is needed to find them.
struct Place {
  Crew *crew = nullptr;
  uint32_t index = 0, count = 1;
  bool isInTask = false;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Place place;

// Crews that nobody has taken. The last one given back is the next to be taken: its
// threads may still be awake.
class Pool {
public:
  static Pool &get() {
    static Pool *pool = [] {
      ::pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); },
                       [] { get().forget(); });
      knownCpus.store(cpusOfAffinity());
      return new Pool;
    }();
    return *pool;
  }

  Crew *take() {
    std::lock_guard lock(mutex_);
    if (free_.empty()) {
      free_.reserve(++made_);
      return new Crew;
    }
    Crew *crew = free_.back();
    free_.pop_back();
    return crew;
  }
  void giveBack(Crew *crew) {
    std::lock_guard lock(mutex_);
    free_.push_back(crew); // within what is reserved
  }

private:
  // In a child of fork(), which has none of the threads.
  void forget() {
    free_.clear();
    place = {};
    busyThreads.store(0);
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::vector<Crew *> free_;
  size_t made_ = 0;
};

} // namespace

void Worker::await() {
  auto isCalled = [this] { return call.load(std::memory_order_acquire) == Called; };
  while (!spinUntil(crew->callerCpu(), isCalled)) {
    leaveCaller();
    uint32_t seen = Idle;
    if (call.compare_exchange_strong(seen, Asleep, std::memory_order_acq_rel))
      seen = Asleep;
    while (seen == Asleep) {
      sleepWhile(call, Asleep);
      seen = call.load(std::memory_order_acquire);
    }
  }
}

// Once a tick: where other processes have the other CPUs it would come back each time.
void Worker::leaveCaller() {
  int32_t cpu = ::sched_getcpu();
  if (crew->callerCpu().load(std::memory_order_relaxed) != cpu)
    return;
  if (int64_t now = coarseNow(); now != leftAt) {
    leftAt = now;
    leaveCpu(cpu);
  }
}

int Crew::grow(uint32_t threads) {
  int problem = 0;
  while (!has(threads) && !problem)
    problem = addWorker();
  return problem;
}

// Signals are for the program's own threads.
int Crew::addWorker() {
  auto *worker = new Worker{.crew = this,
                            .index = static_cast<uint32_t>(workers_.size() + 1),
                            .allowed = affinityOfThread()};
  workers_.push_back(worker);
  sigset_t all, before;
  sigfillset(&all);
  for (int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) // are for the thread itself
    sigdelset(&all, fault);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int problem = startElsewhere(worker->allowed, thread, work, worker);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (problem) {
    workers_.pop_back();
    delete worker;
    return problem;
  }
  ::pthread_setname_np(thread, ("bycc-" + std::to_string(worker->index)).c_str());
  ::pthread_detach(thread);
  return 0;
}

void *Crew::work(void *argument) {
  Worker &worker = *static_cast<Worker *>(argument);
  if (CPU_COUNT(&worker.allowed) > 0)
    ::sched_setaffinity(0, sizeof worker.allowed, &worker.allowed);
  place.crew = worker.crew;
  FloatModes{}.set();
  for (;;) {
    worker.await();
    if (worker.claim())
      worker.crew->runClaimed(worker.index);
  }
  return nullptr;
}

void Crew::runTask(uint32_t index) noexcept {
  Place before = place;
  place = {this, index, count_, true};
  task_(closure_);
  place = before;
}

void Crew::runClaimed(uint32_t index) {
  int32_t cpu = ::sched_getcpu();
  bool isShared = cpu == callerCpu_.load(std::memory_order_relaxed);
  if (isShared)
    sharedCpu_.store(cpu, std::memory_order_relaxed);
  runTask(index);
  if (isShared)
    sharedCpu_.store(-1, std::memory_order_relaxed);
  finish();
}

void Crew::finish() {
  if (remaining_.fetch_sub(1, std::memory_order_acq_rel) == (callerSleeps | 1))
    wake(remaining_, 1);
}

void Crew::run(uint32_t count, TeamTask task, void *closure) {
  task_ = task;
  closure_ = closure;
  count_ = count;
  callerCpu_.store(::sched_getcpu(), std::memory_order_relaxed);
  remaining_.store(count - 1, std::memory_order_relaxed);
  for (uint32_t i = 1; i < count; ++i)
    workers_[i - 1]->summon();
  runTask(0);
  for (uint32_t i = count - 1; i > 0; --i)
    if (workers_[i - 1]->claim()) {
      runTask(i);
      finish();
    }
  awaitOthers();
}

void Crew::awaitOthers() {
  auto isDone = [this] {
    return (remaining_.load(std::memory_order_acquire) & ~callerSleeps) == 0;
  };
  if (spinUntil(sharedCpu_, isDone))
    return;
  uint32_t seen = remaining_.fetch_or(callerSleeps, std::memory_order_acq_rel) | callerSleeps;
  while (seen != callerSleeps) {
    sleepWhile(remaining_, seen);
    seen = remaining_.load(std::memory_order_acquire);
  }
}

void Crew::barrier() {
  uint32_t round = round_.load(std::memory_order_acquire) & ~othersSleep;
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == count_) {
    arrived_.store(0, std::memory_order_relaxed);
    if (round_.exchange(round + 2, std::memory_order_acq_rel) & othersSleep)
      wake(round_, INT_MAX);
    return;
  }
  auto isOver = [&] { return (round_.load(std::memory_order_acquire) & ~othersSleep) != round; };
  if (spinUntil(sharedCpu_, isOver))
    return;
  for (uint32_t seen = round; !isOver();)
    if (round_.compare_exchange_strong(seen, round | othersSleep) ||
        seen == (round | othersSleep)) {
      sleepWhile(round_, round | othersSleep);
      seen = round;
    }
}

CrewScope::CrewScope(int32_t threads) : threads_(threads) {
  if (threads <= 1 || place.isInTask)
    return;
  if (!place.crew) {
    place.crew = taken_ = Pool::get().take();
    busyThreads.fetch_add(threads, std::memory_order_relaxed);
  }
  problem_ = place.crew->grow(static_cast<uint32_t>(threads));
}

CrewScope::~CrewScope() {
  if (!taken_ || place.crew != taken_) // a child of fork() has lost it
    return;
  place.crew = nullptr;
  busyThreads.fetch_sub(threads_, std::memory_order_relaxed);
  Pool::get().giveBack(taken_);
}

Expected<> CrewScope::check() const {
  if (problem_)
    return error(Status::Limit) << "cannot start " << threads_
                                << " threads: " << std::strerror(problem_);
  return {};
}

void runTeam(uint32_t count, TeamTask task, void *closure) {
  if (count <= 1 || place.isInTask) {
    Place before = place;
    place = {before.crew, 0, 1, before.isInTask};
    task(closure);
    place = before;
    return;
  }
  if (place.crew && place.crew->has(count))
    return place.crew->run(count, task, closure);
  CrewScope scope(static_cast<int32_t>(count));
  Expected<> hasThreads = scope.check();
  BYCC_ASSERT(hasThreads, "the system has threads for a team");
  place.crew->run(count, task, closure);
}

uint32_t teamIndex() { return place.index; }
uint32_t teamSize() { return place.count; }
bool isInTeam() { return place.isInTask; }

void teamBarrier() {
  if (place.count > 1)
    place.crew->barrier();
}

} // namespace bycc::runtime
