// See Instance.h. Generating kernels is most of the work; the library does it in parallel
// when asked from several threads, each of which must carry the thread count that the
// kernels are for.
#include "Instance.h"

#include "Threads.h"
#include "Usage.h"

#include "bycc/vendor.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

namespace bycc::onednn {

namespace {

int32_t threadsOf(const Plan &plan, const std::vector<Slot> &slots, const Action &action,
                  int32_t threads) {
  if (action.kind == Action::Kind::Step || action.kind == Action::Kind::Loop)
    return threadsFor(plan, plan.steps[action.step], threads);
  const Layout &from = slots[action.inputs[0]].layout, &to = slots[action.output].layout;
  return threadsForBytes(bytesOf(from) + bytesOf(to), threads);
}

class Maker {
public:
  Maker(const Plan &plan, const Program &program, int32_t threads, bool takesSlow)
      : plan_(plan), program_(program), threads_(threads), takesSlow_(takesSlow) {}

  // One per action.
  Expected<std::vector<Primitive>> make() {
    findEqual();
    results_.resize(program_.actions.size());
    startAndWork();
    if (failure_)
      std::rethrow_exception(failure_);
    return collect();
  }

private:
  void startAndWork() {
    std::vector<std::jthread> helpers; // joined however this ends
    size_t wanted = std::min<size_t>(static_cast<size_t>(threads_), distinct_.size());
    try {
      for (size_t i = 1; i < wanted; ++i)
        helpers.emplace_back([this] { workUnlessFailed(); });
    } catch (const std::exception &) {
      // No more threads to be had, or no memory for one: those that are there do it.
    }
    workUnlessFailed();
  }

  // The first exception, of whatever thread, is the caller's.
  void workUnlessFailed() noexcept {
    try {
      work();
    } catch (...) {
      next_ = distinct_.size();
      if (!hasFailed_.exchange(true))
        failure_ = std::current_exception();
    }
  }

  void work() {
    setLibraryThreads(threads_);
    for (size_t i = next_++; i < distinct_.size(); i = next_++) {
      uint32_t action = distinct_[i];
      ThreadScope scope(threadsOf(plan_, program_.slots, program_.actions[action], threads_));
      results_[action].emplace(makeOne(program_.actions[action]));
    }
  }

  const Layout &layoutOf(uint32_t slot) const { return program_.slots[slot].layout; }

  Expected<Primitive> makeOne(const Action &action) const {
    if (action.kind == Action::Kind::Loop)
      return Primitive();
    if (action.kind != Action::Kind::Step)
      return makeReorder(layoutOf(action.inputs[0]), layoutOf(action.output));
    const Step &step = plan_.steps[action.step];
    Layouts wanted = layoutsOf(action);
    std::vector<Layout> postOps = postLayoutsOf(action);
    Expected<Primitive> made = makePrimitive(step, wanted, postOps, action.sum);
    if (made && !suits(*made, wanted))
      made = error(Status::Unsup) << "oneDNN wants other layouts";
    if (!made || made->implementation != action.implementation)
      if (std::optional<Layouts> free = withFreeWeights(action, wanted))
        made = better(step, postOps, action.sum, *free, std::move(made));
    if (made && made->isSlow() && !takesSlow_ && made->implementation != action.implementation)
      return error(Status::Unsup) << "oneDNN has only a reference loop for these layouts";
    return made;
  }

  // Whether it works on these layouts; `any` takes what there is.
  static bool suits(const Primitive &made, const Layouts &wanted) {
    for (size_t i = 0; i < wanted.inputs.size(); ++i)
      if (!isAny(wanted.inputs[i]) && made.layouts.inputs[i] != wanted.inputs[i])
        return false;
    return made.layouts.output == wanted.output;
  }

  std::optional<Layouts> withFreeWeights(const Action &action, const Layouts &wanted) const {
    if (!isProduct(plan_.steps[action.step].kind) ||
        program_.buffers[program_.slots[action.inputs[1]].buffer].place != Buffer::Place::Constant)
      return std::nullopt;
    Layouts free = wanted;
    free.inputs[1] = anyLayout(dimsOf(wanted.inputs[1]), dtypeOf(wanted.inputs[1]));
    return free;
  }

  // The primitive of the library's own choice of weights, unless it is what there is.
  static Expected<Primitive> better(const Step &step, const std::vector<Layout> &postOps,
                                    int32_t sum, const Layouts &free, Expected<Primitive> made) {
    Expected<Descriptor> other = describe(step, free, postOps, sum);
    if (!other || (made && (other->isSlow() || other->implementation == made->implementation)))
      return made;
    Expected<Primitive> otherMade = makePrimitive(step, free, postOps, sum);
    return otherMade && suits(*otherMade, free) ? otherMade : made;
  }

  Layouts layoutsOf(const Action &action) const {
    Layouts layouts;
    for (uint32_t slot : action.inputs)
      layouts.inputs.push_back(layoutOf(slot));
    layouts.output = layoutOf(action.output);
    return layouts;
  }

  std::vector<Layout> postLayoutsOf(const Action &action) const {
    std::vector<Layout> layouts;
    for (uint32_t slot : action.postOperands)
      layouts.push_back(slot == none ? Layout() : layoutOf(slot));
    return layouts;
  }

  std::string keyOf(const Action &action) const {
    if (action.kind == Action::Kind::Loop)
      return "loop";
    std::string key(1, static_cast<char>(action.kind != Action::Kind::Step));
    for (const auto *slots : {&action.inputs, &action.postOperands})
      for (uint32_t slot : *slots)
        key += slot == none ? std::string("-") : keyOfLayout(layoutOf(slot));
    key += keyOfLayout(layoutOf(action.output));
    if (action.kind == Action::Kind::Step)
      key += keyOfStep(plan_.steps[action.step]) + std::to_string(action.sum);
    return key;
  }

  void findEqual() {
    std::map<std::string, uint32_t> known;
    for (uint32_t a = 0; a < program_.actions.size(); ++a) {
      auto [entry, isNew] = known.try_emplace(keyOf(program_.actions[a]), a);
      same_.push_back(entry->second);
      if (isNew)
        distinct_.push_back(a);
    }
  }

  Expected<std::vector<Primitive>> collect() {
    std::vector<Primitive> all;
    for (uint32_t a = 0; a < same_.size(); ++a) {
      Expected<Primitive> &made = *results_[same_[a]];
      if (!made)
        return made.error();
      all.push_back(*made);
    }
    return all;
  }

  const Plan &plan_;
  const Program &program_;
  int32_t threads_;
  bool takesSlow_;
  std::vector<uint32_t> same_, distinct_; // per action: the first equal one; those first ones
  std::vector<std::optional<Expected<Primitive>>> results_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> hasFailed_ = false;
  std::exception_ptr failure_;
};

class Instantiation {
public:
  Instantiation(const Plan &plan, Program program) : plan_(plan), program_(std::move(program)) {}

  Expected<std::unique_ptr<Instance>> run(const StoredBytes &stored, ConstantPool &pool,
                                          int32_t threads, bool takesSlow) {
    std::vector<Primitive> primitives = BYCC_TRY(Maker(plan_, program_, threads, takesSlow).make());
    for (size_t a = 0; a < primitives.size(); ++a)
      if (program_.actions[a].kind == Action::Kind::Step)
        BYCC_TRY(repackWeights(program_.actions[a], primitives[a].layouts));
    instance_->constants = BYCC_TRY(pool.bytesFor(plan_, program_, stored));
    instance_->buffers = std::move(program_.buffers);
    instance_->slots = std::move(program_.slots);
    for (size_t a = 0; a < primitives.size(); ++a)
      addCall(program_.actions[a], primitives[a], threads);
    instance_->arenaBytes = BYCC_TRY(planMemory());
    return std::move(instance_);
  }

private:
  // The library chose another layout than the one in which they are stored.
  Expected<> repackWeights(Action &action, const Layouts &layouts) {
    if (!isProduct(plan_.steps[action.step].kind))
      return {};
    Slot slot = program_.slots[action.inputs[1]];
    const Layout &wanted = layouts.inputs[1];
    if (slot.layout == wanted)
      return {};
    auto from = static_cast<uint32_t>(program_.buffers[slot.buffer].index);
    const Constant &constant = program_.constants[from];
    if (constant.stored == none && constant.step != none)
      return error(Status::Unsup) << "weights that are made at load";
    if (constant.stored == none) // packed at load: from the same source
      addConstant({constant.value, none, constant.from, constant.seen, none, wanted});
    else if (stridesOf(slot.layout))
      addConstant({constant.value, none, from, slot.layout, none, wanted});
    else
      addUnpacked(from, slot.layout, wanted);
    auto buffer = static_cast<uint32_t>(program_.buffers.size());
    program_.buffers.push_back(
        {Buffer::Place::Constant, program_.constants.size() - 1, bytesOf(wanted)});
    action.inputs[1] = static_cast<uint32_t>(program_.slots.size());
    program_.slots.push_back({buffer, wanted, 0});
    return {};
  }

  void addConstant(Constant constant) { program_.constants.push_back(std::move(constant)); }

  void addUnpacked(uint32_t from, const Layout &seen, const Layout &wanted) {
    ValueId value = program_.constants[from].value;
    Layout plain = plainLayout(dimsOf(seen), dtypeOf(seen));
    addConstant({value, none, from, seen, none, plain});
    addConstant(
        {value, none, static_cast<uint32_t>(program_.constants.size() - 1), plain, none, wanted});
  }

  void addCall(const Action &action, const Primitive &made, int32_t threads) {
    PrimitiveCall call;
    call.name = nameOf(action);
    call.source = action.step == none ? "result" : plan_.steps[action.step].source;
    call.threads = threadsOf(plan_, instance_->slots, action, threads);
    if (action.kind == Action::Kind::Loop)
      addLoop(call, action);
    else
      addPrimitive(call, action, made);
    instance_->calls.push_back(std::move(call));
  }

  void addLoop(PrimitiveCall &call, const Action &action) const {
    call.loop = std::make_shared<const Loop>(plan_, plan_.steps[action.step]);
    call.detail = "loop";
    for (const auto *slots : {&action.inputs, &action.postOperands})
      for (uint32_t slot : *slots)
        if (slot != none)
          call.args.push_back({0, slot});
    call.args.push_back({0, action.output});
  }

  void addPrimitive(PrimitiveCall &call, const Action &action, const Primitive &made) {
    call.primitive = made.primitive;
    call.fixed = made.fixed;
    call.detail = detailOf(action, made);
    if (action.kind == Action::Kind::Step)
      call.flops = arithmeticOf(plan_, plan_.steps[action.step]);
    for (size_t i = 0; i < action.inputs.size(); ++i)
      call.args.push_back({made.inputArgs[i], action.inputs[i]});
    for (size_t i = 0; i < action.postOperands.size(); ++i)
      if (action.postOperands[i] != none && made.postOpArgs[i])
        call.args.push_back({made.postOpArgs[i], action.postOperands[i]});
    call.args.push_back({DNNL_ARG_DST, action.output});
    if (bytesOf(made.scratchpad))
      call.args.push_back({DNNL_ARG_SCRATCHPAD, scratchSlot(made.scratchpad)});
  }

  std::string nameOf(const Action &action) const {
    switch (action.kind) {
    case Action::Kind::Step:
    case Action::Kind::Loop:
      return name(plan_.steps[action.step].kind);
    case Action::Kind::Reorder:
      return "reorder";
    case Action::Kind::Copy:
      return "copy";
    }
    return "";
  }

  // What a reorder moves: "jit:uni, float32 (1, 3, 224, 224) abcd to acdb".
  std::string detailOf(const Action &action, const Primitive &made) const {
    if (action.kind == Action::Kind::Step)
      return made.implementation;
    const Layout &from = instance_->slots[action.inputs[0]].layout;
    const Layout &to = instance_->slots[action.output].layout;
    std::string layouts = textOf(from);
    if (from != to)
      layouts += " to " + textOf(to);
    return made.implementation + ", " + std::string(name(dtypeOf(from))) + " " +
           text(dimsOf(from)) + " " + layouts;
  }

  static std::string textOf(const Layout &layout) {
    std::optional<LayoutForm> form = formOf(layout);
    return form ? text(*form) : "layout of oneDNN's own";
  }

  uint32_t scratchSlot(const Layout &layout) {
    auto buffer = static_cast<uint32_t>(instance_->buffers.size());
    instance_->buffers.push_back({Buffer::Place::Arena, 0, bytesOf(layout)});
    instance_->slots.push_back({buffer, layout, 0});
    return static_cast<uint32_t>(instance_->slots.size() - 1);
  }

  // Intermediates and scratchpads whose lives do not meet share bytes.
  Expected<uint64_t> planMemory() {
    std::vector<Buffer> &buffers = instance_->buffers;
    std::vector<vendor::Buffer> lives(buffers.size());
    for (uint32_t c = 0; c < instance_->calls.size(); ++c)
      for (auto [arg, slot] : instance_->calls[c].args)
        if (uint32_t buffer = instance_->slots[slot].buffer;
            buffers[buffer].place == Buffer::Place::Arena) {
          lives[buffer].use(c);
          lives[buffer].bytes = buffers[buffer].bytes;
        }
    uint64_t size = vendor::planArena(lives, alignment);
    if (size > uint64_t{1} << 42)
      return error(Status::Limit) << "region needs " << size << " bytes";
    for (size_t i = 0; i < lives.size(); ++i)
      if (lives[i].isUsed())
        buffers[i].index = lives[i].offset;
    return size;
  }

  const Plan &plan_;
  Program program_;
  std::unique_ptr<Instance> instance_ = std::make_unique<Instance>();
};

} // namespace

Expected<std::unique_ptr<Instance>> instantiate(const Plan &plan, Program program,
                                                const StoredBytes &stored, ConstantPool &pool,
                                                int32_t threads, bool takesSlow) {
  setLibraryThreads(threads);
  return Instantiation(plan, std::move(program)).run(stored, pool, threads, takesSlow);
}

} // namespace bycc::onednn
