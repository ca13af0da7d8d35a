// Of the kit (vendor.hpp): the tables of both halves.
#pragma once

#include "bycc/vendor_plan.hpp"
#include "bycc/vendor_region.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#define BYCC_VENDOR_EXPORT extern "C" __attribute__((visibility("default")))

namespace bycc::vendor {

// --- tables

// What both halves say of a vendor. Texts and options outlive the tables.
struct About {
  const char *name;
  const char *version; // see bycc_vendor_compiler and bycc_vendor_runtime, as for all of these
  const char *library = nullptr;
  const char *patterns = nullptr;
  const char *operators = nullptr;
  const char *passes = nullptr;
  const char *reads = nullptr;
  uint64_t flags = 0;
  std::span<const bycc_vendor_option> options = {};
};

// What a compile half is asked, and where its answers go.
class Question {
public:
  Question(const bycc_target &asked, const bycc_region &about, bycc_answer &answer)
      : region(about), target(asked), options(asked.options, asked.num_options), answer_(answer) {}
  const Region region;
  const bycc_target &target;
  const Attributes options;

  Node node() const { return region.nodes()[0]; } // of supports()
  // See bycc_answer.
  void offer(const char *implementation, double microseconds) const {
    answer_.offer(&answer_, implementation, microseconds);
  }
  void take(Node node, uint32_t group = 0) const { answer_.take(&answer_, node.index(), group); }
  void refuse(Node node, const char *why) const { answer_.refuse(&answer_, node.index(), why); }
  void name(const std::string &name) const {
    // The kit works on the first vendor.h of this version, too, which has no such member.
    [&]([[maybe_unused]] auto &answer) {
      if constexpr (requires { answer.name; })
        if (BYCC_HAS(&answer, name) && answer.name)
          answer.name(&answer, name.c_str());
    }(answer_);
  }
  // Zeroed and 64-byte aligned; Refusal when there is no memory.
  std::span<uint8_t> weights(uint64_t bytes) const {
    void *memory =
        BYCC_HAS(&answer_, weights) && answer_.weights ? answer_.weights(&answer_, bytes) : nullptr;
    if (!memory)
      throw Refusal("no memory for ", bytes, " bytes of weights");
    return {static_cast<uint8_t *>(memory), bytes};
  }

private:
  bycc_answer &answer_;
};

// What the body refuses is this node's fault, unless another one was blamed before.
template <typename Body> auto blaming(uint32_t node, Body body) {
  try {
    return body();
  } catch (Refusal &refusal) {
    if (!refusal.node)
      refusal.node = node;
    throw;
  }
}
template <typename Body> auto blaming(Node node, Body body) { return blaming(node.index(), body); }

namespace detail {

// The door of the compile half.
template <typename Body> bool answered(bycc_answer *answer, Body body) {
  auto tell = [&](const char *reason, std::optional<uint32_t> node) {
    if (answer->reason)
      answer->reason(answer, reason);
    if (answer->blame && node)
      answer->blame(answer, *node);
    return false;
  };
  try {
    body();
    return true;
  } catch (const Refusal &refusal) {
    return tell(refusal.what(), refusal.node);
  } catch (const std::bad_alloc &) {
    return tell("not enough memory", {});
  } catch (const std::exception &fault) {
    return tell(fault.what(), {});
  }
}

// What both tables say.
template <typename Table> Table tableOf(const About &about) {
  Table table{};
  table.abi_version = BYCC_VENDOR_ABI_VERSION;
  table.size = sizeof table;
  table.name = about.name;
  table.version = about.version;
  table.library = about.library;
  table.num_options = about.options.size();
  table.options = about.options.data();
  return table;
}

template <typename Half, auto ask>
int32_t answerWithBytes(void *self, const bycc_target *target, const bycc_region *region,
                        bycc_answer *answer) {
  return answered(answer,
                  [&] {
                    Question question(*target, *region, *answer);
                    Bytes bytes = ask(*static_cast<Half *>(self), question);
                    answer->blob(answer, bytes.data(), bytes.size());
                  })
             ? 0
             : 1;
}

} // namespace detail

// The table of a compile half: a class with
//   void supports(const Question &)   returns: yes, Refusal: no; it may offer
//   Bytes compile(const Question &)
// and, if it likes, `void annotate(const Question &)` and `Bytes tune(const Question &)`. They are
// called one at a time. `half` outlives the table.
template <typename Half> bycc_vendor_compiler compilerTable(const About &about, Half &half) {
  auto table = detail::tableOf<bycc_vendor_compiler>(about);
  table.patterns = about.patterns;
  table.operators = about.operators;
  table.passes = about.passes;
  table.flags = about.flags;
  table.self = &half;
  table.supports = [](void *self, const bycc_target *target, const bycc_region *region,
                      bycc_answer *answer) -> int32_t {
    return detail::answered(answer, [&] {
      if (region->num_nodes == 0)
        throw Refusal("no node");
      static_cast<Half *>(self)->supports(Question(*target, *region, *answer));
    });
  };
  table.compile = detail::answerWithBytes<Half, [](Half &half, Question &question) -> Bytes {
    return half.compile(question);
  }>;
  if constexpr (requires(Question question) { half.annotate(question); })
    table.annotate = [](void *self, const bycc_target *target, const bycc_region *block,
                        bycc_answer *answer) -> int32_t {
      return !detail::answered(
          answer, [&] { static_cast<Half *>(self)->annotate(Question(*target, *block, *answer)); });
    };
  if constexpr (requires(Question question) { half.tune(question); })
    table.tune = detail::answerWithBytes<Half, [](Half &half, Question &question) -> Bytes {
      return half.tune(question);
    }>;
  return table;
}

// Calls body(first, last) for parts of [0, count) on up to `threads` threads of the pool; nothing
// that it throws may leave it. Without a pool: one call, here.
template <typename Body>
void share(const bycc_thread_pool *pool, size_t threads, size_t count, const Body &body) {
  constexpr size_t stretchesPerThread = 4;
  threads = pool ? std::min(threads, count) : 1;
  if (threads <= 1)
    return body(size_t{0}, count);
  struct Work {
    const Body &body;
    size_t count, stretch;
    std::atomic<size_t> next{0};
  } work{body, count, std::max<size_t>(1, count / (threads * stretchesPerThread))};
  auto run = [](void *closure) {
    Work &work = *static_cast<Work *>(closure);
    for (size_t first;
         (first = work.next.fetch_add(work.stretch, std::memory_order_relaxed)) < work.count;)
      work.body(first, std::min(first + work.stretch, work.count));
  };
  pool->run(static_cast<uint32_t>(threads), run, &work);
}

// What the constructor of a run half's region is given.
class Load {
public:
  Load(const bycc_vendor_context *where, const bycc_region_load &what)
      : raw(what), blob(what.blob, what.blob_bytes),
        weights(what.weights, what.weights ? what.weights_bytes : 0), context_(where) {}
  const bycc_region_load &raw;
  const std::span<const uint8_t> blob, weights; // weights: as long as the region
  int32_t threads() const { return raw.threads; }
  std::string_view symbol() const { return raw.symbol ? raw.symbol : ""; }
  const bycc_tensor &input(uint32_t index) const { return *bycc_tensor_at(raw.inputs, index); }
  const bycc_tensor &output(uint32_t index) const { return *bycc_tensor_at(raw.outputs, index); }
  template <typename Context> Context &context() const {
    return *static_cast<Context *>(context_->impl);
  }
  const bycc_thread_pool *pool() const { return context_->threads; }

  // Failure where the model has other numbers of inputs and outputs, ...
  void expectTensors(size_t inputs, size_t outputs) const {
    if (inputs != raw.num_inputs || outputs != raw.num_outputs)
      throw Failure(BYCC_LOAD, "the region has ", inputs, " inputs and ", outputs,
                    " outputs, the model says ", raw.num_inputs, " and ", raw.num_outputs);
  }
  // ... another size of one, ...
  static void expectBytes(const bycc_tensor &tensor, uint64_t bytes) {
    if (tensor.bytes != bytes)
      throw Failure(BYCC_LOAD, "the region has a tensor of ", bytes, " bytes, the model says ",
                    tensor.bytes);
  }
  // ... or less weights.
  std::span<const uint8_t> weightsAt(uint64_t offset, uint64_t bytes) const {
    if (offset > weights.size() || bytes > weights.size() - offset)
      throw Failure(BYCC_LOAD, "the region reads ", bytes, " bytes of weights at ", offset,
                    ", the model has ", weights.size());
    return weights.subspan(offset, bytes);
  }

private:
  const bycc_vendor_context *context_;
};

// What `run` is given.
class Run {
public:
  Run(const bycc_vendor_context *where, const bycc_region_run &what, uint64_t scratchBytes)
      : raw(what), scratch(scratchBytes ? lend(scratchBytes) : nullptr), context_(where) {}
  const bycc_region_run &raw;
  uint8_t *const scratch; // scratchBytes() of the region; 64-byte aligned, of this run alone
  // Instead of it, where a run needs another size: one of both, the last that was asked for.
  uint8_t *lend(uint64_t bytes) const {
    // The first vendor.h of this version has no such member.
    return [bytes]([[maybe_unused]] auto &run) -> uint8_t * {
      if constexpr (requires { run.scratch; })
        if (BYCC_HAS(&run, scratch) && run.scratch) {
          if (void *memory = run.scratch(&run, bytes))
            return static_cast<uint8_t *>(memory);
          throw Failure(BYCC_LIMIT, "no memory for ", bytes, " bytes");
        }
      throw Failure(BYCC_LOAD, "this version of bycc lends no memory to runs");
    }(raw);
  }
  int32_t threads() const { return raw.threads; }
  template <typename T = void> const T *input(uint32_t index) const {
    return static_cast<const T *>(raw.inputs[index].data);
  }
  template <typename T = void> T *output(uint32_t index) const {
    return static_cast<T *>(raw.outputs[index].data);
  }
  template <typename Context> Context &context() const {
    return *static_cast<Context *>(context_->impl);
  }
  const bycc_thread_pool *pool() const { return context_->threads; }
  // Does it, and adds the time that it takes to that of the step, where steps are timed.
  template <typename Body> void step(size_t index, Body body) const {
    if (!raw.step_ns)
      return body();
    auto begin = std::chrono::steady_clock::now();
    body();
    auto took = std::chrono::steady_clock::now() - begin;
    raw.step_ns[index] +=
        static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
  }

private:
  const bycc_vendor_context *context_;
};

// Where the values of a region are in a run, for devices that work in the host's memory: the run
// half keeps it in its blob. Results lie where they leave the region, else in scratch memory that
// is shared by those that are not needed at the same time.
class Memory {
public:
  Memory() = default;
  // Nodes run in their order. Refusal where an extent is unknown. Not with
  // BYCC_VENDOR_OWN_MEMORY or BYCC_VENDOR_OWN_WEIGHTS.
  explicit Memory(Region region) {
    for (Value value : region.values())
      places_.push_back({value.isConstant() ? Where::Weights : Where::Scratch,
                         value.raw().weights_offset, value.bytes()});
    for (Value value : region.inputs())
      places_[value.index()] = {Where::Input, numInputs_++, value.bytes()};
    for (Value value : region.outputs()) {
      Place &place = places_[value.index()];
      if (place.where == Where::Scratch)
        place = {Where::Output, outputs_.size(), place.bytes};
      outputs_.push_back(value.index());
    }
    placeScratch(region);
  }
  uint64_t scratchBytes() const {
    return scratchBytes_;
  } // what the region's scratchBytes() answers

  // In the region's constructor. Failure unless all of it is there.
  void bind(const Load &load) {
    load.expectTensors(numInputs_, outputs_.size());
    weights_ = load.weights.data();
    for (const Place &place : places_) {
      bool isTensor = place.where == Where::Input || place.where == Where::Output;
      uint64_t end = place.where == Where::Input ? numInputs_ : outputs_.size();
      if ((isTensor && place.at >= end) ||
          (place.where == Where::Scratch &&
           (place.at > scratchBytes_ || place.bytes > scratchBytes_ - place.at)))
        throw Failure(BYCC_LOAD, "a value of the region lies nowhere");
      if (place.where == Where::Weights)
        load.weightsAt(place.at, place.bytes);
      else if (place.where == Where::Input)
        Load::expectBytes(load.input(static_cast<uint32_t>(place.at)), place.bytes);
    }
    for (uint32_t i = 0; i < outputs_.size(); ++i)
      Load::expectBytes(load.output(i), bytes(outputs_[i]));
  }
  // Failure when there is no such value: check in the constructor what run() will ask for.
  uint64_t bytes(uint32_t value) const {
    if (value >= places_.size())
      throw Failure(BYCC_LOAD, "the region has no value ", value);
    return places_[value].bytes;
  }
  // Inputs and constants are only read.
  template <typename T = void> T *at(const Run &run, uint32_t value) const {
    const Place &place = places_[value];
    auto number = static_cast<uint32_t>(place.at);
    switch (place.where) {
    case Where::Input:
      return static_cast<T *>(const_cast<void *>(run.input(number)));
    case Where::Output:
      return static_cast<T *>(run.output(number));
    case Where::Weights:
      return reinterpret_cast<T *>(const_cast<uint8_t *>(weights_ + place.at));
    default:
      return reinterpret_cast<T *>(run.scratch + place.at);
    }
  }
  // At the end of a run: outputs that are inputs, constants, or other outputs.
  void finish(const Run &run) const {
    for (uint32_t i = 0; i < outputs_.size(); ++i)
      if (const void *from = at(run, outputs_[i]); from != run.output(i) && bytes(outputs_[i]) > 0)
        std::memcpy(run.output(i), from, bytes(outputs_[i]));
  }
  auto members() { return std::tie(places_, outputs_, numInputs_, scratchBytes_); }

private:
  enum class Where : uint8_t { Input, Output, Weights, Scratch, count };
  struct Place {
    Where where = Where::Scratch;
    uint64_t at = 0, bytes = 0; // which input or output; else an offset
    auto members() { return std::tie(where, at, bytes); }
  };

  void placeScratch(Region region) {
    std::vector<Buffer> buffers(places_.size());
    for (Node node : region.nodes())
      for (const List<Value> &list : {node.inputs(), node.outputs()})
        for (Value value : list)
          if (const Place &place = places_[value.index()]; place.where == Where::Scratch) {
            buffers[value.index()].use(node.index());
            buffers[value.index()].bytes = place.bytes;
          }
    scratchBytes_ = planArena(buffers);
    for (size_t i = 0; i < places_.size(); ++i)
      if (buffers[i].isUsed())
        places_[i].at = buffers[i].offset;
      else if (places_[i].where == Where::Scratch)
        places_[i].bytes = 0; // nothing makes or reads it
  }

  std::vector<Place> places_;     // by value
  std::vector<uint32_t> outputs_; // values
  uint32_t numInputs_ = 0;
  uint64_t scratchBytes_ = 0;
  const uint8_t *weights_ = nullptr;
};

// A step for --profile. The texts are the vendor's.
inline bycc_step_info stepInfo(const char *name, const char *detail, const char *source,
                               double flops = 0) {
  bycc_step_info info{};
  info.size = sizeof info;
  info.name = name;
  info.detail = detail;
  info.source = source;
  info.flops = flops;
  return info;
}

namespace detail {

// The door of the run half.
template <typename Body>
int32_t guarded(char *error, size_t size, bycc_status otherwise, Body body) {
  auto tell = [&](const char *text, bycc_status status) {
    if (error && size > 0) {
      size_t length = std::min(size - 1, std::strlen(text));
      std::memcpy(error, text, length);
      error[length] = 0;
    }
    return status;
  };
  try {
    body();
    return BYCC_OK;
  } catch (const Failure &failure) {
    return tell(failure.what(), failure.status);
  } catch (const std::bad_alloc &) {
    return tell("not enough memory", BYCC_LIMIT);
  } catch (const std::exception &fault) {
    return tell(fault.what(), otherwise);
  }
}

struct NoState {};
template <typename Region> struct StateOf {
  using type = NoState;
};
template <typename Region>
  requires requires { typename Region::State; }
struct StateOf<Region> {
  using type = typename Region::State;
};

// The functions of a run half's table. The memory of a state is a State.
template <typename Region> struct RunHalf {
  using State = typename StateOf<Region>::type;
  static constexpr bool hasState = !std::is_same_v<State, NoState>;
  static_assert(alignof(State) <= 64);

  static int32_t load(const bycc_vendor_context *context, const bycc_region_load *load,
                      void **region, char *error, size_t size) {
    return guarded(error, size, BYCC_LOAD, [&] { *region = new Region(Load(context, *load)); });
  }
  static void unload(const bycc_vendor_context *, void *region) {
    delete static_cast<Region *>(region);
  }
  static uint64_t stateBytes(const bycc_vendor_context *, void *) {
    return hasState ? sizeof(State) : 0;
  }
  static uint64_t scratchBytes(const bycc_vendor_context *, void *handle) {
    if constexpr (requires(Region &region) { region.scratchBytes(); })
      return static_cast<Region *>(handle)->scratchBytes();
    return (void)handle, 0;
  }
  static int32_t initState(const bycc_vendor_context *, void *handle, void *state,
                           int32_t threads) {
    return guarded(nullptr, 0, BYCC_INTERNAL, [&] {
      if constexpr (hasState)
        new (state) State(*static_cast<Region *>(handle), threads);
      (void)handle, (void)state, (void)threads;
    });
  }
  static void dropState(const bycc_vendor_context *, void *, void *state) {
    if constexpr (hasState)
      static_cast<State *>(state)->~State();
    (void)state;
  }
  static int32_t run(const bycc_vendor_context *context, void *handle, void *state,
                     const bycc_region_run *what, char *error, size_t size) {
    return guarded(error, size, BYCC_INTERNAL, [&] {
      Run run(context, *what, scratchBytes(context, handle));
      if constexpr (hasState)
        static_cast<Region *>(handle)->run(run, *static_cast<State *>(state));
      else
        static_cast<Region *>(handle)->run(run);
      (void)state;
    });
  }
};

template <typename Context> void addContext(bycc_vendor_runtime &table) {
  table.open = [](bycc_vendor_context *context, char *error, size_t size) -> int32_t {
    return guarded(error, size, BYCC_INTERNAL, [&] { context->impl = new Context(*context); });
  };
  table.close = [](bycc_vendor_context *context) { delete static_cast<Context *>(context->impl); };
  if constexpr (requires(Context &context, const bycc_tensor &tensor, void *memory) {
                  { context.alloc(tensor) } -> std::convertible_to<void *>;
                  context.release(memory);
                }) {
    table.alloc = [](const bycc_vendor_context *context, const bycc_tensor *tensor) -> void * {
      return static_cast<Context *>(context->impl)->alloc(*tensor);
    };
    table.release = [](const bycc_vendor_context *context, void *memory) {
      static_cast<Context *>(context->impl)->release(memory);
    };
  }
}

} // namespace detail

// The table of a run half: a class with
//   explicit Region(const Load &)    what all runs share
//   void run(const Run &)            at the same time in several threads
// and, if it likes,
//   class State                      of one run at a time, kept for the next: State(Region &,
//                                    int32_t threads); then run(const Run &, State &)
//   uint64_t scratchBytes()          memory until a run returns: Run::scratch
//   std::span<const bycc_step_info> steps()     for --profile: Run::step(index, body)
//   class Context                    what regions work in: Context(const bycc_vendor_context &),
//                                    Load::context<Context>(); with `void *alloc(const bycc_tensor
//                                    &)` and `release(void *)`, which throw nothing: memory of its
//                                    own
template <typename Region> bycc_vendor_runtime runtimeTable(const About &about) {
  using Half = detail::RunHalf<Region>;
  auto table = detail::tableOf<bycc_vendor_runtime>(about);
  table.reads = about.reads;
  table.load = Half::load;
  table.unload = Half::unload;
  table.state_bytes = Half::stateBytes;
  table.init_state = Half::initState;
  table.drop_state = Half::dropState;
  table.run = Half::run;
  [](auto &any) {
    if constexpr (requires { any.scratch_bytes; })
      any.scratch_bytes = Half::scratchBytes;
  }(table);
  if constexpr (requires { typename Region::Context; })
    detail::addContext<typename Region::Context>(table);
  if constexpr (requires(Region &region) { region.steps(); }) {
    table.num_steps = [](const bycc_vendor_context *, void *region) {
      return static_cast<uint32_t>(static_cast<Region *>(region)->steps().size());
    };
    table.step = [](const bycc_vendor_context *, void *region,
                    uint32_t index) -> const bycc_step_info * {
      std::span<const bycc_step_info> steps = static_cast<Region *>(region)->steps();
      return index < steps.size() ? &steps[index] : nullptr;
    };
  }
  return table;
}

// An option for About::options.
inline constexpr bycc_vendor_option option(bycc_attr_kind kind, const char *name, const char *value,
                                           const char *help, const char *choices = nullptr,
                                           uint64_t flags = 0) {
  return {sizeof(bycc_vendor_option), kind, name, value, choices, help, flags};
}

// The entry points of a plugin.
#define BYCC_VENDOR_COMPILER(Half, about)                                                          \
  BYCC_VENDOR_EXPORT const bycc_vendor_compiler *bycc_vendor_compiler_entry(void) {                \
    static Half half;                                                                              \
    static const bycc_vendor_compiler table = bycc::vendor::compilerTable(about, half);            \
    return &table;                                                                                 \
  }
#define BYCC_VENDOR_RUNTIME(Region, about)                                                         \
  BYCC_VENDOR_EXPORT const bycc_vendor_runtime *bycc_vendor_runtime_entry(void) {                  \
    static const bycc_vendor_runtime table = bycc::vendor::runtimeTable<Region>(about);            \
    return &table;                                                                                 \
  }

} // namespace bycc::vendor
