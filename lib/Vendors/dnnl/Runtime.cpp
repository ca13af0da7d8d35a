// Run half of the dnnl vendor: loads plans, keeps programs, and runs them on the
// memory that each context lends.
//
//   Region   plan + instances of its program (shared, immutable once made; made under
//            a lock when first asked for)
//   State    one context's executions of them
//
// An instance's kernels have their thread count compiled in and sized their
// scratchpads by it; hence one instance per count, never one run with
// another count. A region with run-time extents is kept as it is and planned when
// extents are met for the first time: one instance per extents and count, of which
// the last ones used are kept. Another one yet is made when NaN is met first (NanSafe.h).
#include "Blob.h"
#include "Execution.h"
#include "Instance.h"
#include "InstructionSet.h"
#include "Lower.h"
#include "Needs.h"
#include "PlanRegion.h"
#include "PoolThreads.h"
#include "RegionCopy.h"
#include "Threads.h"

#include "bycc/vendor.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace bycc::onednn {

namespace {

bycc_status runtimeStatus(Status status) {
  switch (status) {
  case Status::Limit:
    return BYCC_LIMIT;
  case Status::Internal:
    return BYCC_INTERNAL;
  case Status::Usage:
    return BYCC_ARG;
  default:
    return BYCC_LOAD;
  }
}

// What there is; else the run half fails with the error.
template <typename T> T orFail(Expected<T> result) {
  if (!result)
    throw vendor::Failure(runtimeStatus(result.error().status()), result.error().message());
  return std::move(*result);
}

// The first use of extents costs a plan and kernels (milliseconds), keeping them the
// instance alone: packed weights are shared.
constexpr const char *maxInstances = "32"; // --vendor-option dnnl.instances

// oneDNN does not look whether there is memory for the objects that it makes: none must
// be made when there is next to none.
Expected<> checkMemory() {
  constexpr size_t enough = 8 << 20;
  void *memory =
      ::mmap(nullptr, enough, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return error(Status::Limit) << "no memory for the kernels of new extents";
  ::munmap(memory, enough);
  return {};
}

// True when all results are empty, which takes no work. oneDNN has no extent of 0.
bool makesNothing(const bycc_region &region) {
  return std::all_of(region.outputs, region.outputs + region.num_outputs, [&](uint32_t id) {
    const bycc_value &value = *bycc_value_at(&region, id);
    return std::find(value.dims, value.dims + value.rank, 0) != value.dims + value.rank;
  });
}

class Region {
public:
  Region(Blob blob, StoredBytes stored, int32_t threads)
      : blob_(std::move(blob)), stored_(std::move(stored)), threads_(threads) {}
  Region(RegionCopy copy, std::span<const uint8_t> weights, int32_t threads, size_t maxInstances)
      : copy_(std::move(copy)), weights_(weights), threads_(threads), maxInstances_(maxInstances) {}

  // Known extents: the instance for the thread count of load().
  Expected<> prepare() {
    if (copy_)
      return {};
    auto made = instanceFor(threads_, {}, nan() == NanMode::Always);
    if (!made && blob_.madeWith.instructionSet != instructionSet())
      return error(made.error().status())
             << made.error().message() << "; it was compiled for " << blob_.madeWith.instructionSet
             << ", oneDNN has " << instructionSet() << " here";
    primary_ = BYCC_TRY(std::move(made));
    return {};
  }

  // The values of the region's symbols in a run; none when all extents are known.
  Expected<Dims> symbols(const bycc_array *inputs) const {
    if (!copy_)
      return Dims{};
    std::vector<const int64_t *> shapes;
    for (size_t i = 0; i < copy_->inputs.size(); ++i)
      shapes.push_back(inputs[i].shape);
    return symbolsFor(*copy_, shapes);
  }

  // Results that are empty are not among those of an instance; the others go into `made`.
  const bycc_array *withoutEmpty(const bycc_array *outputs, std::vector<bycc_array> &made) const {
    if (!copy_)
      return outputs;
    for (size_t i = 0; i < copy_->outputs.size(); ++i) {
      size_t rank = copy_->values[copy_->outputs[i]].extents.size();
      const int64_t *shape = outputs[i].shape;
      if (!shape || std::find(shape, shape + rank, 0) == shape + rank)
        made.push_back(outputs[i]);
    }
    return made.data();
  }

  // Makes it when it is the first of its kind.
  Expected<std::shared_ptr<const Instance>> instanceFor(int32_t threads, const Dims &symbols,
                                                        bool isSafe) {
    Key key(threads, symbols, isSafe);
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = std::find_if(instances_.begin(), instances_.end(),
                              [&](const auto &entry) { return entry.first == key; });
    if (found != instances_.end()) {
      instances_.splice(instances_.begin(), instances_, found);
      return instances_.front().second;
    }
    BYCC_TRY(checkMemory());
    std::shared_ptr<const Instance> made = BYCC_TRY(make(threads, symbols, isSafe));
    if (infos_.empty())
      show(made);
    instances_.emplace_front(std::move(key), made);
    if (instances_.size() > maxInstances_)
      instances_.pop_back(); // contexts that still run it share it
    return made;
  }

  const Instance *primary() const { return primary_.get(); }
  int32_t threads() const { return threads_; }
  NanMode nan() const { return copy_ ? copy_->nan : blob_.nan; }

  // Steps for --profile: none before there is an instance, which run-time extents have
  // after the first run only; then they stay. Another instance of the same steps counts.
  std::span<const bycc_step_info> steps() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return infos_;
  }
  bool hasSteps(const Instance &instance) const {
    std::span<const bycc_step_info> infos = steps();
    return std::equal(infos.begin(), infos.end(), instance.calls.begin(), instance.calls.end(),
                      [](const bycc_step_info &info, const PrimitiveCall &call) {
                        return info.name == call.name && info.source == call.source;
                      });
  }
  size_t numInputs() const { return copy_ ? copy_->inputs.size() : blob_.plan.inputs.size(); }
  size_t numOutputs() const { return copy_ ? copy_->outputs.size() : blob_.plan.outputs.size(); }

private:
  using Key = std::tuple<int32_t, Dims, bool>; // threads, symbols, safe form

  void show(std::shared_ptr<const Instance> instance) {
    shown_ = std::move(instance);
    for (const PrimitiveCall &call : shown_->calls)
      infos_.push_back(vendor::stepInfo(call.name.c_str(), call.detail.c_str(), call.source.c_str(),
                                        call.flops));
  }

  Expected<std::shared_ptr<const Instance>> make(int32_t threads, const Dims &symbols,
                                                 bool isSafe) {
    if (!copy_)
      return loaded(threads, isSafe);
    auto region = BYCC_TRY(RegionInstance::make(*copy_, symbols, weights_));
    if (makesNothing(region->region()))
      return std::make_shared<const Instance>();
    ProbeCache cache;
    Refusal refusal;
    std::optional<Plan> plan = planFor(region->region(), cache, refusal);
    if (!plan)
      return error(Status::Usage) << "extents that oneDNN does not take: " << refusal.reason;
    BYCC_TRY(checkMachine(*plan));
    return lowered(*plan, storedOf(*plan), threads, isSafe);
  }

  // The program as it was compiled; anew where that does not suit library or machine.
  Expected<std::shared_ptr<const Instance>> loaded(int32_t threads, bool isSafe) {
    BYCC_TRY(checkMachine(blob_.plan));
    if (blob_.program) {
      auto made = instanceOf(blob_.plan, *blob_.program, stored_, threads, isSafe, false);
      if (made || made.error().status() != Status::Unsup)
        return made;
    }
    return lowered(blob_.plan, stored_, threads, isSafe);
  }

  Expected<std::shared_ptr<const Instance>> lowered(const Plan &plan, const StoredBytes &stored,
                                                    int32_t threads, bool isSafe) {
    setLibraryThreads(threads);
    bool takesPacked = !copy_ && blob_.madeWith.library == libraryVersion();
    Program program = BYCC_TRY(lower(plan, stored.stored, takesPacked));
    return instanceOf(plan, program, stored, threads, isSafe, true);
  }

  Expected<std::shared_ptr<const Instance>> instanceOf(const Plan &plan, const Program &program,
                                                       const StoredBytes &stored, int32_t threads,
                                                       bool isSafe, bool takesSlow) {
    if (isSafe) {
      SafeForm safe = safeFormOf(plan, program);
      return std::shared_ptr<const Instance>(
          BYCC_TRY(instantiate(safe.plan, std::move(safe.program), stored, pool_, threads, true)));
    }
    auto made = BYCC_TRY(instantiate(plan, program, stored, pool_, threads, takesSlow));
    if (nan() == NanMode::Keep)
      made->inputsToCheck = onednn::inputsToCheck(plan);
    return std::shared_ptr<const Instance>(std::move(made));
  }

  Blob blob_;
  StoredBytes stored_;
  std::optional<RegionCopy> copy_;   // instead of the blob,
  std::span<const uint8_t> weights_; // with its constants
  int32_t threads_;
  size_t maxInstances_ = 32;
  std::shared_ptr<const Instance> primary_;
  std::shared_ptr<const Instance> shown_; // whose steps infos_ names
  std::vector<bycc_step_info> infos_;
  mutable std::mutex mutex_;
  ConstantPool pool_;
  std::list<std::pair<Key, std::shared_ptr<const Instance>>> instances_; // last used first
};

// An instance other than the primary one.
struct Other {
  std::shared_ptr<const Instance> instance;
  std::unique_ptr<Execution> execution;
};
constexpr size_t maxOthers = 4; // per context

using Others = std::list<Other>; // last used first

Expected<std::unique_ptr<Execution>> makeExecution(const Instance &instance) {
  std::unique_ptr<Execution> made;
  BYCC_TRY(guarded(Status::Internal, [&] { made = std::make_unique<Execution>(instance); }));
  return made;
}

Expected<Execution *> addOther(Others &others, std::shared_ptr<const Instance> instance) {
  if (others.size() == maxOthers)
    others.pop_back();
  std::unique_ptr<Execution> execution = BYCC_TRY(makeExecution(*instance));
  others.push_front({std::move(instance), std::move(execution)});
  return others.front().execution.get();
}

bool holdsNonFinite(const void *elements, const InputToCheck &input, int32_t threads) {
  const char *bytes = static_cast<const char *>(elements);
  auto size = static_cast<int64_t>(sizeInBytes(input.dtype));
  std::atomic<bool> found = false;
  int32_t parts = threadsForBytes(static_cast<uint64_t>(input.count * size), threads);
  runOnPool(static_cast<uint32_t>(parts), [&](uint32_t part, uint32_t all) {
    int64_t begin = input.count * part / all, end = input.count * (part + 1) / all;
    if (hasNonFinite(bytes + begin * size, end - begin, input.dtype))
      found = true;
  });
  return found;
}

bool needsSafeForm(const Instance &instance, const bycc_array *inputs, int32_t threads) {
  return std::any_of(instance.inputsToCheck.begin(), instance.inputsToCheck.end(),
                     [&](const InputToCheck &input) {
                       return holdsNonFinite(inputs[input.input].data, input, threads);
                     });
}

Expected<Execution *> executionOf(Region &region, Others &others, const bycc_array *inputs,
                                  int32_t threads, bool isSafe) {
  Dims symbols = BYCC_TRY(region.symbols(inputs));
  std::shared_ptr<const Instance> instance = BYCC_TRY(region.instanceFor(threads, symbols, isSafe));
  for (auto other = others.begin(); other != others.end(); ++other)
    if (other->instance == instance) {
      others.splice(others.begin(), others, other);
      return others.front().execution.get();
    }
  return addOther(others, std::move(instance));
}

int32_t usable(int32_t threads) { return threads > 0 ? threads : libraryThreads(); }

// ---- what the kit makes the table of

class LoadedRegion {
public:
  struct Context {
    explicit Context(const bycc_vendor_context &context)
        : instances(vendor::Attributes(context.options, context.num_options).integer("instances")) {
      useThreads(context.threads);
    }
    int64_t instances;
  };

  struct State {
    State(LoadedRegion &loaded, int32_t) {
      if (const Instance *instance = loaded.region_->primary())
        primary = orFail(makeExecution(*instance));
    }
    std::unique_ptr<Execution> primary;
    Others others;
  };

  explicit LoadedRegion(const vendor::Load &load) {
    int32_t threads = usable(load.threads());
    ThreadScope scope(threads);
    if (isWrittenRegion(load.blob)) {
      int64_t instances = std::max<int64_t>(load.context<Context>().instances, 1);
      region_ = std::make_unique<Region>(orFail(readRegion(load.blob)), load.weights, threads,
                                         static_cast<size_t>(instances));
    } else {
      Blob blob = orFail(readBlob(load.blob));
      StoredBytes stored = orFail(storedIn(load.weights, blob.stored));
      region_ = std::make_unique<Region>(std::move(blob), std::move(stored), threads);
    }
    load.expectTensors(region_->numInputs(), region_->numOutputs());
    if (Expected<> prepared = region_->prepare(); !prepared)
      throw vendor::Failure(runtimeStatus(prepared.error().status()), prepared.error().message());
  }

  uint64_t scratchBytes() const { return region_->primary() ? region_->primary()->arenaBytes : 0; }
  std::span<const bycc_step_info> steps() const { return region_->steps(); }

  void run(const vendor::Run &run, State &state) {
    int32_t threads = usable(run.threads());
    ThreadScope scope(threads);
    Execution &execution = *orFail(executionFor(state, run.raw.inputs, threads));
    bool isTimed = run.raw.step_ns && region_->hasSteps(execution.instance());
    std::vector<bycc_array> made;
    const bycc_array *outputs = region_->withoutEmpty(run.raw.outputs, made);
    uint64_t arenaBytes = execution.instance().arenaBytes;
    uint8_t *arena = arenaBytes > scratchBytes() ? run.lend(arenaBytes) : run.scratch;
    dnnl_status_t status =
        execution.run(arena, run.raw.inputs, outputs, isTimed ? run.raw.step_ns : nullptr);
    if (status == dnnl_out_of_memory)
      throw vendor::Failure(BYCC_LIMIT, "no memory");
    if (status != dnnl_success)
      throw vendor::Failure(BYCC_INTERNAL, "oneDNN failed to run a primitive");
  }

private:
  Expected<Execution *> executionFor(State &state, const bycc_array *inputs, int32_t threads) {
    bool isAlwaysSafe = region_->nan() == NanMode::Always;
    Execution *execution = threads == region_->threads() ? state.primary.get() : nullptr;
    if (!execution)
      execution = BYCC_TRY(executionOf(*region_, state.others, inputs, threads, isAlwaysSafe));
    if (needsSafeForm(execution->instance(), inputs, threads))
      return executionOf(*region_, state.others, inputs, threads, true);
    return execution;
  }

  std::unique_ptr<Region> region_;
};

const bycc_vendor_option options[] = {
    {sizeof(bycc_vendor_option), BYCC_ATTR_INT, "instances", maxInstances, nullptr,
     "programs that a region with run-time extents keeps, one for each set of extents", 0},
};

} // namespace
} // namespace bycc::onednn

BYCC_VENDOR_EXPORT const bycc_vendor_runtime *bycc_vendor_runtime_entry(void) {
  using namespace bycc::onednn;
  checkLibraryIsOurs();
  static const std::string version = std::to_string(planVersion), library = libraryVersion();
  static const bycc_vendor_runtime table = bycc::vendor::runtimeTable<LoadedRegion>(
      {.name = "dnnl", .version = version.c_str(), .library = library.c_str(), .options = options});
  return &table;
}
