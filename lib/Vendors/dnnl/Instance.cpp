// See Instance.h. Generating kernels is most of the work; the library does it in parallel
// when asked from several threads, each of which must carry the thread count that the
// kernels are for.
#include "Instance.h"

#include "Arena.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include <omp.h>

namespace bycc::onednn {

namespace {

class Maker {
public:
  Maker(const Plan &plan, const Program &program, int32_t threads)
      : plan_(plan), program_(program), threads_(threads) {}

  // One per action.
  Expected<std::vector<Primitive>> make() {
    findEqual();
    results_.resize(program_.actions.size());
    std::vector<std::thread> helpers;
    size_t wanted = std::min<size_t>(static_cast<size_t>(threads_), distinct_.size());
    try {
      for (size_t i = 1; i < wanted; ++i)
        helpers.emplace_back([this] { work(); });
    } catch (const std::system_error &) {
      // No more threads to be had: those that are there do it.
    }
    work();
    for (std::thread &helper : helpers)
      helper.join();
    return collect();
  }

private:
  void work() {
    omp_set_num_threads(threads_);
    for (size_t i = next_++; i < distinct_.size(); i = next_++) {
      uint32_t action = distinct_[i];
      results_[action].emplace(makeOne(program_.actions[action]));
    }
  }

  const Layout &layoutOf(uint32_t slot) const { return program_.slots[slot].layout; }

  Expected<Primitive> makeOne(const Action &action) const {
    if (action.kind != Action::Kind::Step)
      return makeReorder(layoutOf(action.inputs[0]), layoutOf(action.output));
    return makePrimitive(plan_.steps[action.step], layoutsOf(action), postLayoutsOf(action),
                         action.sum);
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
  std::vector<uint32_t> same_, distinct_; // per action: the first equal one; those first ones
  std::vector<std::optional<Expected<Primitive>>> results_;
  std::atomic<size_t> next_ = 0;
};

class Instantiation {
public:
  Instantiation(const Plan &plan, const Program &program) : plan_(plan), program_(program) {
    instance_->buffers = program.buffers;
    instance_->slots = program.slots;
  }

  Expected<std::unique_ptr<Instance>> run(ConstantPool &pool, int32_t threads) {
    std::vector<Primitive> primitives = BYCC_TRY(Maker(plan_, program_, threads).make());
    for (size_t a = 0; a < primitives.size(); ++a)
      addCall(program_.actions[a], primitives[a]);
    instance_->constants = BYCC_TRY(pool.bytesFor(plan_, program_));
    instance_->arenaBytes = BYCC_TRY(planArena(instance_->buffers, lives()));
    return std::move(instance_);
  }

private:
  void addCall(const Action &action, const Primitive &made) {
    PrimitiveCall call{made.primitive, {}, nameOf(action), made.implementation, ""};
    if (action.step != none)
      call.source = plan_.steps[action.step].source;
    for (size_t i = 0; i < action.inputs.size(); ++i)
      call.args.push_back({made.inputArgs[i], action.inputs[i]});
    for (size_t i = 0; i < action.postOperands.size(); ++i)
      if (action.postOperands[i] != none && made.postOpArgs[i])
        call.args.push_back({made.postOpArgs[i], action.postOperands[i]});
    call.args.push_back({DNNL_ARG_DST, action.output});
    if (bytesOf(made.scratchpad))
      call.args.push_back({DNNL_ARG_SCRATCHPAD, scratchSlot(made.scratchpad)});
    instance_->calls.push_back(std::move(call));
  }

  std::string nameOf(const Action &action) const {
    switch (action.kind) {
    case Action::Kind::Step:
      return name(plan_.steps[action.step].kind);
    case Action::Kind::Reorder:
      return "reorder";
    case Action::Kind::Copy:
      return "copy";
    }
    return "";
  }

  uint32_t scratchSlot(const Layout &layout) {
    auto buffer = static_cast<uint32_t>(instance_->buffers.size());
    instance_->buffers.push_back({Buffer::Place::Arena, 0, bytesOf(layout)});
    instance_->slots.push_back({buffer, layout, 0});
    return static_cast<uint32_t>(instance_->slots.size() - 1);
  }

  std::vector<Life> lives() const {
    std::vector<Life> all(instance_->buffers.size());
    for (uint32_t c = 0; c < instance_->calls.size(); ++c)
      for (auto [arg, slot] : instance_->calls[c].args)
        all[instance_->slots[slot].buffer].touch(c);
    return all;
  }

  const Plan &plan_;
  const Program &program_;
  std::unique_ptr<Instance> instance_ = std::make_unique<Instance>();
};

} // namespace

Expected<std::unique_ptr<Instance>> instantiate(const Plan &plan, const Program &program,
                                                ConstantPool &pool, int32_t threads) {
  omp_set_num_threads(threads);
  return Instantiation(plan, program).run(pool, threads);
}

} // namespace bycc::onednn
