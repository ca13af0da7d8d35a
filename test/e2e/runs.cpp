// Runs a compiled model through the C API and watches it.
//
//   runs allocations MODEL.json THREADS     memory asked for in a run, after the first ones:
//                                           "NUMBER calls, largest BYTES"
//   runs concurrent MODEL.json THREADS N    contexts on N threads give the bits of one alone
//   runs failing MODEL.json THREADS         each allocation of a run fails in turn: LIMIT, and
//                                           the next run is right: "NUMBER failed, WRONG wrong"
//   runs loading MODEL.json THREADS         each allocation of loading fails in turn, in a process
//   of
//                                           its own: "NUMBER failed, ABORTED aborted, UNTOLD
//                                           untold"
//   runs limited MODEL.json THREADS         a first run without memory is LIMIT, the next is right
//   runs threads MODEL.json THREADS         threads of the process after runs
//   runs time MODEL.json THREADS            microseconds of the fastest run
//
// Inputs are floats of a fixed sequence.
#include <bycc/runtime.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static std::atomic<bool> isCounting{false};
static std::atomic<size_t> numCalls{0}, largest{0};
static std::atomic<int64_t> untilFailure{-1}; // < 0: none

static bool fails() { return untilFailure >= 0 && untilFailure-- == 0; }

static void count(size_t bytes) {
  if (!isCounting)
    return;
  ++numCalls;
  for (size_t known = largest; known < bytes && !largest.compare_exchange_weak(known, bytes);) {
  }
}

// All memory of the process comes through here.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void *malloc(size_t bytes) { return count(bytes), fails() ? nullptr : __libc_malloc(bytes); }
void *calloc(size_t n, size_t bytes) {
  return count(n * bytes), fails() ? nullptr : __libc_calloc(n, bytes);
}
void *realloc(void *memory, size_t bytes) {
  return count(bytes), fails() ? nullptr : __libc_realloc(memory, bytes);
}
void *memalign(size_t alignment, size_t bytes) {
  return count(bytes), fails() ? nullptr : __libc_memalign(alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  return (*memory = memalign(alignment, bytes)) ? 0 : 12;
}
void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
  count(bytes);
  if (fails())
    return errno = ENOMEM, MAP_FAILED;
  return reinterpret_cast<void *>(::syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
}

static void check(int32_t status) {
  if (status == BYCC_OK)
    return;
  std::fprintf(stderr, "%s\n", bycc_last_error());
  std::exit(1);
}

// A context with inputs of its own.
class Runner {
public:
  Runner(bycc_model *model, uint32_t seed) : module_(bycc_model_module(model)) {
    check(bycc_context_create(model, &context_));
    for (uint32_t i = 0; i < module_->num_inputs; ++i) {
      const bycc_tensor_info &info = module_->inputs[i];
      std::vector<int64_t> shape;
      size_t size = 1;
      for (int32_t d = 0; d < info.rank; ++d) {
        shape.push_back(info.dims[d].value < 0 ? 1 : info.dims[d].value);
        size *= static_cast<size_t>(shape.back());
      }
      std::vector<float> &data = inputs_.emplace_back(size);
      for (size_t k = 0; k < size; ++k)
        data[k] = static_cast<float>((k * 7919 + seed * 31 + i) % 1000) / 500 - 1;
      check(bycc_bind_input(context_, i, data.data(), size * sizeof(float), shape.data()));
    }
  }
  ~Runner() { bycc_context_destroy(context_); }

  void run() { check(bycc_run(context_)); }
  int32_t tryRun() { return bycc_run(context_); }
  std::string outputs() const {
    std::string all;
    for (uint32_t i = 0; i < module_->num_outputs; ++i) {
      const void *data = nullptr;
      size_t bytes = 0;
      check(bycc_get_output(context_, i, &data, nullptr, &bytes));
      all.append(static_cast<const char *>(data), bytes);
    }
    return all;
  }

private:
  const bycc_module *module_;
  bycc_context *context_ = nullptr;
  std::vector<std::vector<float>> inputs_;
};

static void allocations(bycc_model *model) {
  Runner runner(model, 1);
  for (int i = 0; i < 3; ++i)
    runner.run();
  isCounting = true;
  runner.run();
  isCounting = false;
  std::printf("%zu calls, largest %zu\n", numCalls.load(), largest.load());
}

static void concurrent(bycc_model *model, uint32_t count) {
  constexpr uint32_t numSeeds = 5, numRuns = 40;
  std::vector<std::string> wanted;
  for (uint32_t seed = 0; seed < numSeeds; ++seed) {
    Runner alone(model, seed);
    alone.run();
    wanted.push_back(alone.outputs());
  }
  std::atomic<uint32_t> numWrong{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      std::vector<std::unique_ptr<Runner>> runners;
      for (uint32_t seed = 0; seed < numSeeds; ++seed)
        runners.push_back(std::make_unique<Runner>(model, seed));
      for (uint32_t i = 0; i < numRuns; ++i) {
        uint32_t seed = (i + t) % numSeeds;
        runners[seed]->run();
        numWrong += runners[seed]->outputs() != wanted[seed];
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  std::printf("%u of %u runs differ\n", numWrong.load(), count * numRuns);
}

// With a fresh context for each: the first run of one asks for the most.
static void failing(bycc_model *model) {
  Runner right(model, 1);
  right.run();
  int64_t numFailed = 0, numWrong = 0;
  for (int64_t skipped = 0; skipped >= 0; ++skipped) {
    Runner runner(model, 1);
    untilFailure = skipped;
    int32_t status = runner.tryRun();
    bool isReached = untilFailure < 0;
    untilFailure = -1;
    if (!isReached)
      break;
    bool isTold =
        status == BYCC_OK || (status == BYCC_LIMIT && std::strstr(bycc_last_error(), "no memory"));
    runner.run();
    numWrong += !isTold || runner.outputs() != right.outputs();
    ++numFailed;
  }
  std::printf("%lld failed, %lld wrong\n", static_cast<long long>(numFailed),
              static_cast<long long>(numWrong));
}

// Signals other than SIGABRT are not counted: a library of a vendor may touch what it did not get.
// Libraries are there before: what runs while one is opened has nobody to tell.
static void loading(const char *path, const bycc_load_options &options) {
  bycc_model *first = nullptr;
  check(bycc_model_load(path, &options, &first));
  int64_t numFailed = 0, numAborted = 0, numUntold = 0;
  for (bool isReached = true; isReached; ++numFailed) {
    std::fflush(nullptr);
    pid_t child = ::fork();
    if (child == 0) {
      bycc_model *model = nullptr;
      untilFailure = numFailed;
      int32_t status = bycc_model_load(path, &options, &model);
      isReached = untilFailure < 0;
      untilFailure = -1;
      bycc_model_destroy(model);
      bool isTold = status == BYCC_OK || !isReached || std::strstr(bycc_last_error(), "emory");
      ::_exit(!isReached ? 3 : isTold ? 0 : 4);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    numAborted += WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
    numUntold += WIFEXITED(status) && WEXITSTATUS(status) == 4;
    isReached = !WIFEXITED(status) || WEXITSTATUS(status) != 3;
  }
  bycc_model_destroy(first);
  std::printf("%lld failed, %lld aborted, %lld untold\n", static_cast<long long>(numFailed - 1),
              static_cast<long long>(numAborted), static_cast<long long>(numUntold));
}

static void limited(bycc_model *model) {
  Runner right(model, 1), runner(model, 2);
  rlimit before, tight;
  ::getrlimit(RLIMIT_AS, &before);
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  tight = {pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + (4 << 20), before.rlim_max};
  ::setrlimit(RLIMIT_AS, &tight);
  int32_t status = runner.tryRun();
  ::setrlimit(RLIMIT_AS, &before);
  std::printf("%s\n", status == BYCC_LIMIT ? bycc_last_error() : "it went on");
  runner.run();
  right.run();
  Runner again(model, 2);
  again.run();
  if (runner.outputs() != again.outputs())
    std::printf("the next run is wrong\n");
}

static void threads(bycc_model *model) {
  Runner runner(model, 1);
  for (int i = 0; i < 3; ++i)
    runner.run();
  auto begin = std::filesystem::directory_iterator("/proc/self/task");
  std::printf("%td\n", std::distance(begin, std::filesystem::directory_iterator()));
}

static void time(bycc_model *model) {
  using Clock = std::chrono::steady_clock;
  Runner runner(model, 1);
  double best = 1e9;
  for (int i = 0; i < 5000; ++i) {
    auto begin = Clock::now();
    runner.run();
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::printf("%.2f\n", best);
}

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  std::string mode = argv[1];
  bycc_load_options options = {sizeof options, std::atoi(argv[3]), 0, nullptr};
  if (mode == "loading")
    return loading(argv[2], options), 0;
  bycc_model *model = nullptr;
  check(bycc_model_load(argv[2], &options, &model));
  if (mode == "allocations")
    allocations(model);
  else if (mode == "concurrent" && argc == 5)
    concurrent(model, static_cast<uint32_t>(std::atoi(argv[4])));
  else if (mode == "failing")
    failing(model);
  else if (mode == "limited")
    limited(model);
  else if (mode == "threads")
    threads(model);
  else if (mode == "time")
    time(model);
  bycc_model_destroy(model);
}
