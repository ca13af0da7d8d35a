// Run half of the dnnl vendor: loads plans, keeps one program per thread count,
// and runs it on the memory that each context lends.
//
//   Region   plan + programs (shared, immutable but for programs of further
//            thread counts, made under a lock when first asked for)
//   State    one context's memory objects and argument lists, so that a run only
//            puts the caller's pointers in and executes
//
// A program's kernels have their thread count compiled in and sized their
// scratchpads by it; hence one program per count, never a program run with
// another count.
#include "Program.h"

#include "bycc/vendor.h"

#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include <omp.h>

namespace bycc::onednn {

namespace {

int32_t runtimeStatus(Status status) {
  switch (status) {
  case Status::Limit:
    return BYCC_LIMIT;
  case Status::Internal:
    return BYCC_INTERNAL;
  default:
    return BYCC_LOAD;
  }
}

void report(char *error, size_t size, const std::string &text) {
  if (!error || size == 0)
    return;
  size_t length = std::min(size - 1, text.size());
  std::memcpy(error, text.data(), length);
  error[length] = 0;
}


class Region {
public:
  Region(Plan plan, std::span<const uint8_t> weights, int32_t threads)
      : plan_(std::move(plan)), weights_(weights), threads_(threads) {}

  Expected<> prepare() {
    primary_ = BYCC_TRY(programFor(threads_));
    for (const Action &action : primary_->actions)
      infos_.push_back({action.name.c_str(), action.detail.c_str(), action.source.c_str()});
    return {};
  }

  // Makes it when this count is new. Sets the calling thread's count.
  Expected<const Program *> programFor(int32_t threads) {
    omp_set_num_threads(threads);
    std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<Program> &program = programs_[threads];
    if (!program)
      program = BYCC_TRY(buildProgram(plan_, weights_));
    return program.get();
  }

  const Program &primary() const { return *primary_; }
  int32_t threads() const { return threads_; }
  const std::vector<bycc_step_info> &infos() const { return infos_; }

private:
  Plan plan_;
  std::span<const uint8_t> weights_;
  int32_t threads_;
  const Program *primary_ = nullptr;
  std::vector<bycc_step_info> infos_;
  std::mutex mutex_;
  std::map<int32_t, std::unique_ptr<Program>> programs_;
};

// Memory objects and argument lists of one program in one arena.
class Execution {
public:
  Execution(const Program &program, uint8_t *arena) : program_(program), stream_(engine()) {
    for (uint32_t s = 0; s < program.slots.size(); ++s) {
      const Slot &slot = program.slots[s];
      const Buffer &buffer = program.buffers[slot.buffer];
      memories_.emplace_back(slot.layout, engine(), addressOf(buffer, arena, slot.offset));
      if (buffer.place == Buffer::Place::Input)
        inputs_.push_back({s, static_cast<uint32_t>(buffer.index), nullptr});
      if (buffer.place == Buffer::Place::Output)
        outputs_.push_back({s, static_cast<uint32_t>(buffer.index), nullptr});
    }
    for (const Action &action : program.actions) {
      begins_.push_back(static_cast<uint32_t>(args_.size()));
      for (auto [arg, slot] : action.args)
        args_.push_back({arg, memories_[slot].get()});
    }
    begins_.push_back(static_cast<uint32_t>(args_.size()));
  }

  bool run(const bycc_array *inputs, const bycc_array *outputs, uint64_t *ns, size_t numNs) {
    if (!bind(inputs_, inputs) || !bind(outputs_, outputs))
      return false;
    for (size_t a = 0; a < program_.actions.size(); ++a) {
      auto begin = ns ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
      if (dnnl_primitive_execute(program_.actions[a].primitive.get(), stream_.get(),
                                 static_cast<int>(begins_[a + 1] - begins_[a]),
                                 args_.data() + begins_[a]) != dnnl_success)
        return false;
      if (ns && a < numNs)
        ns[a] += static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                           std::chrono::steady_clock::now() - begin)
                                           .count());
    }
    return dnnl_stream_wait(stream_.get()) == dnnl_success;
  }

  const Program &program() const { return program_; }

private:
  struct Binding {
    uint32_t slot, index;
    void *bound;
  };

  static void *addressOf(const Buffer &buffer, uint8_t *arena, uint64_t offset) {
    switch (buffer.place) {
    case Buffer::Place::Arena:
      return arena + buffer.index + offset;
    case Buffer::Place::Fixed:
      return buffer.fixed;
    default:
      return nullptr; // the caller's, per run
    }
  }

  bool bind(std::vector<Binding> &bindings, const bycc_array *arrays) {
    for (Binding &binding : bindings) {
      void *data = arrays[binding.index].data;
      if (data == binding.bound)
        continue;
      if (dnnl_memory_set_data_handle_v2(memories_[binding.slot].get(), data, stream_.get()) !=
          dnnl_success)
        return false;
      binding.bound = data;
    }
    return true;
  }

  const Program &program_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> args_;
  std::vector<uint32_t> begins_;
  std::vector<Binding> inputs_, outputs_;
};

// What a context's memory begins with; the arena follows.
struct State {
  Execution *lent;   // primary program in the lent memory
  Execution *other;  // program of another thread count, in memory of its own
  uint8_t *otherArena;
};
constexpr uint64_t stateHead = 64;
static_assert(sizeof(State) <= stateHead);

Expected<Execution *> makeExecution(const Program &program, uint8_t *arena) {
  Execution *made = nullptr;
  BYCC_TRY(guarded(Status::Internal, [&] { made = new Execution(program, arena); }));
  return made;
}

void dropOther(State &state) {
  delete state.other;
  std::free(state.otherArena);
  state.other = nullptr;
  state.otherArena = nullptr;
}

Expected<Execution *> executionFor(Region &region, State &state, int32_t threads) {
  omp_set_num_threads(threads);
  if (threads == region.threads() && state.lent)
    return state.lent;
  const Program *program = BYCC_TRY(region.programFor(threads));
  if (state.other && &state.other->program() == program)
    return state.other;
  dropOther(state);
  AlignedBytes arena = allocateAligned(std::max<uint64_t>(program->arenaBytes, 1));
  if (!arena)
    return error(Status::Limit) << "no memory for " << program->arenaBytes << " bytes";
  state.other = BYCC_TRY(makeExecution(*program, arena.get()));
  state.otherArena = arena.release();
  return state.other;
}

// ---- the C ABI ----

int32_t usable(int32_t threads) { return threads > 0 ? threads : omp_get_max_threads(); }

Expected<Region *> loadRegion(const bycc_region_info &info, const uint8_t *weights,
                              uint64_t weightsBytes, int32_t threads) {
  Plan plan = BYCC_TRY(readPlan({info.blob, info.blob_bytes}));
  if (plan.inputs.size() != info.num_inputs || plan.outputs.size() != info.num_outputs)
    return error(Status::Load) << "region plan has " << plan.inputs.size() << " inputs and "
                               << plan.outputs.size() << " outputs, the model says "
                               << info.num_inputs << " and " << info.num_outputs;
  BYCC_TRY(checkPlan(plan));
  auto region = std::make_unique<Region>(
      std::move(plan), std::span<const uint8_t>(weights, weights ? weightsBytes : 0), threads);
  BYCC_TRY(region->prepare());
  return region.release();
}

int32_t load(const bycc_region_info *info, const uint8_t *weights, uint64_t weightsBytes,
             int32_t threads, void **region, char *error, size_t errorSize) {
  Expected<Region *> loaded = loadRegion(*info, weights, weightsBytes, usable(threads));
  if (!loaded) {
    report(error, errorSize, loaded.error().message());
    return runtimeStatus(loaded.error().status());
  }
  *region = *loaded;
  return BYCC_OK;
}

void unload(void *region) { delete static_cast<Region *>(region); }

uint64_t stateBytes(void *region) {
  return stateHead + static_cast<Region *>(region)->primary().arenaBytes;
}

int32_t initState(void *region, void *memory, int32_t) {
  State *state = new (memory) State{};
  Region &owner = *static_cast<Region *>(region);
  Expected<Execution *> made =
      makeExecution(owner.primary(), static_cast<uint8_t *>(memory) + stateHead);
  if (!made)
    return runtimeStatus(made.error().status());
  state->lent = *made;
  return BYCC_OK;
}

void dropState(void *, void *memory) {
  State &state = *static_cast<State *>(memory);
  delete state.lent;
  state.lent = nullptr;
  dropOther(state);
}

int32_t runProfiled(void *region, void *memory, const bycc_array *inputs,
                    const bycc_array *outputs, int32_t threads, uint64_t *ns, char *error,
                    size_t errorSize) {
  Region &owner = *static_cast<Region *>(region);
  Expected<Execution *> execution =
      executionFor(owner, *static_cast<State *>(memory), usable(threads));
  if (!execution) {
    report(error, errorSize, execution.error().message());
    return runtimeStatus(execution.error().status());
  }
  if ((*execution)->run(inputs, outputs, ns, owner.infos().size()))
    return BYCC_OK;
  report(error, errorSize, "oneDNN failed to run a primitive");
  return BYCC_INTERNAL;
}

int32_t run(void *region, void *memory, const bycc_array *inputs, const bycc_array *outputs,
            int32_t threads, char *error, size_t errorSize) {
  return runProfiled(region, memory, inputs, outputs, threads, nullptr, error, errorSize);
}

uint32_t numSteps(void *region) {
  return static_cast<uint32_t>(static_cast<Region *>(region)->infos().size());
}

const bycc_step_info *step(void *region, uint32_t index) {
  const auto &infos = static_cast<Region *>(region)->infos();
  return index < infos.size() ? &infos[index] : nullptr;
}

} // namespace
} // namespace bycc::onednn

extern "C" __attribute__((visibility("default"))) const bycc_vendor_runtime *
bycc_vendor_runtime_entry(void) {
  using namespace bycc::onednn;
  static const bycc_vendor_runtime runtime = {BYCC_VENDOR_ABI_VERSION,
                                              sizeof(bycc_vendor_runtime),
                                              "dnnl",
                                              load,
                                              unload,
                                              stateBytes,
                                              initState,
                                              dropState,
                                              run,
                                              numSteps,
                                              step,
                                              runProfiled,
                                              nullptr,
                                              nullptr};
  return &runtime;
}
