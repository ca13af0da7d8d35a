// One run's state: memory, bindings, vendor state, profile. Used by one thread
// at a time; a second one gets Status::Arg.
#pragma once

#include "Memory.h"
#include "Model.h"
#include "Profile.h"

#include "bycc/Support/Sized.h"

#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace bycc::runtime {

template <auto service> struct Guarded;

class Context {
public:
  static Expected<std::shared_ptr<Context>> create(std::shared_ptr<const Model> model);
  Context(const Context &) = delete;
  ~Context();

  Expected<> bindInput(uint32_t index, const void *data, uint64_t bytes, const int64_t *shape);
  Expected<> bindOutput(uint32_t index, void *data, uint64_t bytes);
  Expected<> run();
  struct OutputView {
    const void *data;
    const int64_t *shape;
    uint64_t bytes;
  };
  Expected<OutputView> output(uint32_t index) const;
  Expected<> setThreads(int32_t threads);
  int32_t threads() const { return threads_; }
  Expected<> enableProfile(bool on);
  std::span<const bycc_profile_entry> profileEntries();
  Expected<> watchValues(bycc_values_fn watch, void *user);

private:
  explicit Context(std::shared_ptr<const Model> model);

  struct Input {
    const void *data = nullptr;
    uint64_t bytes = 0; // of the tensor
    std::vector<int64_t> shape;
    bool isBound = false;
    MemoryBlock copy; // of data that is not aligned to its element
  };
  struct Output {
    void *bound = nullptr;
    uint64_t boundBytes = 0;
    MemoryBlock own;
    void *data = nullptr; // what the last run wrote
    std::vector<int64_t> shape;
    uint64_t bytes = 0;
    bool isStatic = false; // all extents are known
  };
  struct RegionState {
    MemoryBlock memory;
    bool isReady = false;
  };

  Expected<> initStates();
  Expected<> initState(size_t index);
  static void *lend(const bycc_region_run *run, uint64_t bytes);
  void dropStates();
  Expected<> prepareRun();
  Expected<> checkInputs() const;
  Expected<> checkWeights() const;
  Expected<> checkSymbols() const;
  Expected<> checkOverlap() const;
  Expected<> prepareOutput(uint32_t index);
  Expected<> execute();
  void enter();
  void releaseVendorMemory();
  Expected<> finishRun(int32_t result);

  // Services for compiled code; `api` calls them guarded.
  template <auto service> friend struct Guarded;
  static const bycc_exec_api api;
  static Context &of(bycc_exec *exec) { return *static_cast<Context *>(exec->owner); }
  static void parallelForCall(bycc_exec *exec, bycc_task_fn task, void *closure, int64_t count,
                              int64_t grain);
  static void *alloc(bycc_exec *exec, int64_t bytes);
  static void release(bycc_exec *exec, void *memory);
  static int32_t hasRegion(bycc_exec *exec, uint32_t index);
  static int32_t callRegion(bycc_exec *exec, uint32_t region, const bycc_array *inputs,
                            const bycc_array *outputs);
  static uint64_t mark(bycc_exec *exec);
  static void releaseTo(bycc_exec *exec, uint64_t mark);
  static void *grow(bycc_exec *exec, void *memory, int64_t bytes);
  static void *regionAlloc(bycc_exec *exec, uint32_t region, uint32_t output, const int64_t *shape);
  static void regionRelease(bycc_exec *exec, void *memory);
  static int32_t callLibrary(bycc_exec *exec, const bycc_library_call *call);
  static int32_t fail(bycc_exec *exec, int32_t status, const char *message);
  static int32_t failWith(bycc_exec *exec, int32_t status, const char *message,
                          const int64_t *values, uint32_t count);
  static void *makeOutput(bycc_exec *exec, uint32_t index, const int64_t *shape);
  static void nodeBegin(bycc_exec *exec, uint32_t node);
  static void nodeEnd(bycc_exec *exec, uint32_t node);
  static void nodeValues(bycc_exec *exec, uint32_t node, const int64_t *values, uint32_t numInputs,
                         uint32_t numOutputs);
  int32_t record(Error problem);
  Expected<void *> memoryForOutput(uint32_t index, const int64_t *shape);

  std::shared_ptr<const Model> model_;
  const bycc_module &module_;
  int32_t threads_;
  MemoryBlock arena_, scratch_;
  MemoryBlock lent_; // to the region that runs
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<RegionState> states_;
  BlockCache cache_;
  // Memory of vendors that the run holds; one compiled entry runs at a time.
  std::vector<std::pair<const Region *, void *>> vendorMemory_;
  bycc_exec exec_ = {};
  bycc_region_run run_ = sized<bycc_region_run>(); // of the region that is called
  std::vector<void *> inputPointers_, outputPointers_;
  std::vector<const int64_t *> inputShapes_;
  bool bindingsChanged_ = true;
  bool hasResults_ = false;
  int32_t entryResult_ = 0;
  std::atomic<bool> isBusy_{false};
  std::mutex failureMutex_;
  std::optional<Error> failure_;         // the first one of a run
  std::atomic<bool> lacksMemory_{false}; // what it was cannot be kept
  Profile profile_;
  bool isProfiling_ = false;
  bycc_values_fn watch_ = nullptr;
  void *watchUser_ = nullptr;
};

} // namespace bycc::runtime
