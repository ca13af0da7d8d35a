// See NanSafe.h.
#include "NanSafe.h"

#include "Layout.h"

#include <algorithm>
#include <cstring>

namespace bycc::onednn {

namespace {

bool losesNan(Math math) {
  switch (math) {
  case Math::None:
  case Math::Linear:
  case Math::Abs:
  case Math::Sqrt:
  case Math::Add:
  case Math::Sub:
  case Math::Mul:
  case Math::Div:
  case Math::Mean:
  case Math::AvgPoolInside:
  case Math::AvgPoolAll:
    return false;
  default:
    return true;
  }
}

bool losesNan(const PostOp &postOp) { return losesNan(postOp.math); }

// How far NaN gets: integers have none.
class NanFlow {
public:
  explicit NanFlow(const Plan &plan) : plan_(plan), leaves_(plan.values.size()) {
    for (ValueId id : plan.outputs)
      leaves_[id] = isFloat(id);
    for (size_t s = plan.steps.size(); s-- > 0;)
      forOperands(plan.steps[s], [&](ValueId id) {
        leaves_[id] = leaves_[id] || (isFloat(id) && leaves_[plan.steps[s].output]);
      });
  }

  // The step would keep a NaN from a result that it should be in.
  bool isLostAt(const Step &step) const {
    return isFloat(step.output) && leaves_[step.output] &&
           (losesNan(step.math) ||
            std::any_of(step.postOps.begin(), step.postOps.end(),
                        [](const PostOp &postOp) { return losesNan(postOp); }));
  }

  // Values from which a way leads to such a step.
  std::vector<bool> valuesAtRisk() const {
    std::vector<bool> isAtRisk(plan_.values.size());
    for (size_t s = plan_.steps.size(); s-- > 0;) {
      const Step &step = plan_.steps[s];
      if (isAtRisk[step.output] || isLostAt(step))
        forOperands(step, [&](ValueId id) { isAtRisk[id] = isAtRisk[id] || isFloat(id); });
    }
    return isAtRisk;
  }

private:
  bool isFloat(ValueId id) const { return isReal(plan_.values[id].dtype); }

  template <typename Body> static void forOperands(const Step &step, Body body) {
    for (ValueId id : step.inputs)
      body(id);
    for (const PostOp &postOp : step.postOps)
      if (postOp.operand != noValue)
        body(postOp.operand);
  }

  const Plan &plan_;
  std::vector<bool> leaves_; // a NaN in the value reaches an output
};

// ---- looking at elements ----

// Adding one to the exponent carries into the sign bit when all of its bits are set.
template <typename Word, Word sign, Word unit>
[[gnu::always_inline]] inline Word exponentCarries(const char *words, int64_t count) {
  Word carries = 0;
  for (int64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, words + i * int64_t{sizeof(Word)}, sizeof word);
    carries |= static_cast<Word>((word & static_cast<Word>(~sign)) + unit);
  }
  return carries & sign;
}

[[gnu::always_inline]] inline bool looksNonFinite(const void *elements, int64_t count,
                                                  bool isWide) {
  const char *words = static_cast<const char *>(elements);
  return isWide ? exponentCarries<uint32_t, 0x80000000u, 0x00800000u>(words, count) != 0
                : exponentCarries<uint16_t, 0x8000u, 0x0080u>(words, count) != 0;
}

bool lookBaseline(const void *elements, int64_t count, bool isWide) {
  return looksNonFinite(elements, count, isWide);
}

#ifdef __x86_64__
[[gnu::target("avx2")]] bool lookAvx2(const void *elements, int64_t count, bool isWide) {
  return looksNonFinite(elements, count, isWide);
}
#endif

using Look = bool (*)(const void *, int64_t, bool);
Look lookHere() {
#ifdef __x86_64__
  // The library has asked the CPU, which a virtual machine makes slow.
  if ((dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2)
    return lookAvx2;
#endif
  return lookBaseline;
}

bool isNan(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }

// Infinities are common in constants (masks), and what the library does with them is right.
bool hasNan(const void *elements, int64_t count, DType dtype) {
  if (!hasNonFinite(elements, count, dtype))
    return false;
  const char *at = static_cast<const char *>(elements);
  for (int64_t i = 0; i < count; ++i) {
    uint32_t wide = 0;
    uint16_t narrow = 0;
    if (dtype == DType::Float32)
      std::memcpy(&wide, at + i * 4, 4);
    else
      std::memcpy(&narrow, at + i * 2, 2);
    if (isNan(wide | uint32_t{narrow} << 16))
      return true;
  }
  return false;
}

// ---- the other form ----

class SafeFormMaker {
public:
  SafeFormMaker(const Plan &plan, const Program &program) : source_(program.actions) {
    form_.plan = plan;
    form_.program = program;
    form_.program.actions.clear();
  }

  SafeForm run(const NanFlow &flow) {
    for (const Action &action : source_)
      if (action.kind == Action::Kind::Step && flow.isLostAt(form_.plan.steps[action.step]))
        split(action, form_.plan.steps[action.step]);
      else
        add(action);
    return std::move(form_);
  }

private:
  void split(const Action &action, Step step) {
    if (losesNan(step.math))
      return addLoop(std::move(step), action.inputs, action.postOperands, action.output);
    auto lost = std::find_if(step.postOps.begin(), step.postOps.end(),
                             [](const PostOp &postOp) { return losesNan(postOp); });
    auto numKept = lost - step.postOps.begin();
    Step rest;
    rest.kind = StepKind::Eltwise;
    rest.source = step.source;
    rest.inputs = {step.output};
    rest.output = step.output;
    rest.postOps.assign(lost, step.postOps.end());
    step.postOps.erase(lost, step.postOps.end());

    Action first = action;
    first.step = addStep(std::move(step));
    first.postOperands.resize(static_cast<size_t>(numKept));
    if (action.sum >= numKept) { // which waits where the result goes
      first.sum = -1;
      first.output = newSlot(layoutOf(action.output));
    }
    uint32_t result = first.output;
    add(std::move(first));
    addLoop(std::move(rest), {result},
            {action.postOperands.begin() + numKept, action.postOperands.end()}, action.output);
  }

  void addLoop(Step step, const std::vector<uint32_t> &inputs,
               const std::vector<uint32_t> &postOperands, uint32_t output) {
    Action loop;
    loop.kind = Action::Kind::Loop;
    loop.step = addStep(std::move(step));
    for (uint32_t slot : inputs)
      loop.inputs.push_back(rowMajor(slot, loop.step));
    for (uint32_t slot : postOperands)
      loop.postOperands.push_back(slot == none ? none : rowMajor(slot, loop.step));
    Layout plain = plainLayout(dimsOf(layoutOf(output)), DType::Float32);
    bool isPlain = layoutOf(output) == plain;
    loop.output = isPlain ? output : newSlot(plain);
    uint32_t result = loop.output, stepOfLoop = loop.step;
    add(std::move(loop));
    if (!isPlain)
      addReorder(result, output, stepOfLoop);
  }

  // The operand as a loop reads it.
  uint32_t rowMajor(uint32_t slot, uint32_t step) {
    Layout plain = plainLayout(dimsOf(layoutOf(slot)), DType::Float32);
    if (layoutOf(slot) == plain)
      return slot;
    uint32_t copy = newSlot(plain);
    addReorder(slot, copy, step);
    return copy;
  }

  void addReorder(uint32_t from, uint32_t to, uint32_t step) {
    Action reorder;
    reorder.kind = Action::Kind::Reorder;
    reorder.step = step;
    reorder.inputs = {from};
    reorder.output = to;
    add(std::move(reorder));
  }

  const Layout &layoutOf(uint32_t slot) const { return form_.program.slots[slot].layout; }
  void add(Action action) { form_.program.actions.push_back(std::move(action)); }
  uint32_t addStep(Step step) {
    form_.plan.steps.push_back(std::move(step));
    return static_cast<uint32_t>(form_.plan.steps.size() - 1);
  }
  uint32_t newSlot(const Layout &layout) {
    Program &program = form_.program;
    program.buffers.push_back({Buffer::Place::Arena, 0, bytesOf(layout)});
    program.slots.push_back({static_cast<uint32_t>(program.buffers.size() - 1), layout, 0});
    return static_cast<uint32_t>(program.slots.size() - 1);
  }

  const std::vector<Action> &source_;
  SafeForm form_;
};

} // namespace

NanMode nanModeOf(const bycc_target &target, const Plan &plan) {
  if (target.nan == BYCC_NAN_FAST)
    return NanMode::Fast;
  std::vector<bool> isAtRisk = NanFlow(plan).valuesAtRisk();
  for (size_t id = 0; id < plan.values.size(); ++id) {
    const Value &value = plan.values[id];
    if (isAtRisk[id] && value.kind == ValueKind::Constant &&
        hasNan(plan.constants[value.where].get(), numElements(value.dims), value.dtype))
      return NanMode::Always;
  }
  return NanMode::Keep;
}

NanMode nanModeOf(const bycc_target &target, const bycc_region &region) {
  if (target.nan == BYCC_NAN_FAST)
    return NanMode::Fast;
  for (uint32_t i = 0; i < region.num_values; ++i) {
    const bycc_value &value = *bycc_value_at(&region, i);
    auto dtype = static_cast<DType>(value.dtype);
    if (value.data && isReal(dtype) &&
        hasNan(value.data, static_cast<int64_t>(value.bytes / sizeInBytes(dtype)), dtype))
      return NanMode::Always;
  }
  return NanMode::Keep;
}

std::vector<InputToCheck> inputsToCheck(const Plan &plan) {
  std::vector<bool> isAtRisk = NanFlow(plan).valuesAtRisk();
  std::vector<InputToCheck> inputs;
  for (ValueId id : plan.inputs)
    if (const Value &value = plan.values[id]; isAtRisk[id])
      inputs.push_back({static_cast<uint32_t>(value.where), numElements(value.dims), value.dtype});
  return inputs;
}

bool hasNonFinite(const void *elements, int64_t count, DType dtype) {
  static const Look look = lookHere();
  constexpr int64_t part = 16 << 10; // that a bad one near the beginning ends it soon
  const char *at = static_cast<const char *>(elements);
  for (int64_t begin = 0; begin < count; begin += part)
    if (look(at + begin * static_cast<int64_t>(sizeInBytes(dtype)), std::min(part, count - begin),
             dtype == DType::Float32))
      return true;
  return false;
}

SafeForm safeFormOf(const Plan &plan, const Program &program) {
  NanFlow flow(plan);
  return SafeFormMaker(plan, program).run(flow);
}

} // namespace bycc::onednn
