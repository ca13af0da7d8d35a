// See CheckProgram.h.
#include "CheckProgram.h"

#include "Constants.h"
#include "Library.h"

namespace bycc::onednn {

namespace {

constexpr uint64_t maxBuffer = uint64_t{1} << 40;

class Checker {
public:
  Checker(const Plan &plan, const std::vector<Stored> &stored, const Program &program)
      : plan_(plan), stored_(stored), program_(program) {}

  bool check() const {
    for (uint32_t id = 0; id < program_.constants.size(); ++id)
      if (!isConstant(id))
        return false;
    for (const Buffer &buffer : program_.buffers)
      if (!isBuffer(buffer))
        return false;
    for (const Slot &slot : program_.slots)
      if (!isSlot(slot))
        return false;
    for (const Action &action : program_.actions)
      if (!isAction(action))
        return false;
    return true;
  }

private:
  const Value &value(ValueId id) const { return plan_.values[id]; }
  bool fits(const Layout &layout, ValueId id) const {
    return isLayout(layout) && dimsOf(layout) == value(id).dims &&
           dtypeOf(layout) == value(id).dtype;
  }

  // Only views of constants may begin within their buffer.
  static bool isWhole(const Layout &layout) {
    std::optional<LayoutForm> form = formOf(layout);
    return form && form->start == 0;
  }

  bool isConstant(uint32_t id) const {
    const Constant &constant = program_.constants[id];
    if (constant.value >= plan_.values.size() || !isLayout(constant.layout))
      return false;
    if (isAny(constant.layout))
      return isLeftOpen(constant, id);
    if (isScaledBias(constant))
      return isSource(constant, id) && isBiasOf(plan_.steps[constant.step], constant);
    if (!fits(constant.layout, constant.value) || !isWhole(constant.layout))
      return false;
    if (constant.stored != none)
      return constant.stored < stored_.size() && stored_[constant.stored].value == constant.value &&
             formOf(constant.layout) == stored_[constant.stored].form;
    if (!isSource(constant, id))
      return false;
    if (constant.step == none)
      return fits(constant.seen, constant.value);
    if (constant.step >= plan_.steps.size())
      return false;
    const Step &step = plan_.steps[constant.step];
    return step.kind == StepKind::Convert && step.output == constant.value &&
           fits(constant.seen, step.inputs[0]);
  }

  // What it is made of lies in an earlier constant.
  bool isSource(const Constant &constant, uint32_t id) const {
    if (constant.stored != none || constant.from >= id || !isLayout(constant.seen))
      return false;
    std::optional<LayoutForm> form = formOf(constant.seen);
    return form && storedBytes(*form) <= bytesOf(program_.constants[constant.from].layout);
  }
  bool isLeftOpen(const Constant &constant, uint32_t id) const {
    return isSource(constant, id) && constant.step == none && fits(constant.seen, constant.value) &&
           fits(constant.layout, constant.value);
  }

  bool isScaledBias(const Constant &constant) const {
    return constant.stored == none && constant.step < plan_.steps.size() &&
           isProduct(plan_.steps[constant.step].kind);
  }
  bool isBiasOf(const Step &step, const Constant &constant) const {
    return hasScaledBias(step) && step.inputs[2] == constant.value &&
           sizeInBytes(value(constant.value).dtype) == sizeof(float) &&
           fits(constant.seen, constant.value) && onednn::isPlain(constant.seen) &&
           constant.layout == plainLayout(value(constant.value).dims, DType::Float32);
  }

  bool isBuffer(const Buffer &buffer) const {
    auto isPlain = [&](const std::vector<ValueId> &ids) {
      return buffer.index < ids.size() &&
             buffer.bytes == bytesOf(plainLayout(value(ids[buffer.index]).dims,
                                                 value(ids[buffer.index]).dtype));
    };
    switch (buffer.place) {
    case Buffer::Place::Arena:
      return buffer.bytes <= maxBuffer;
    case Buffer::Place::Input:
      return isPlain(plan_.inputs);
    case Buffer::Place::Output:
      return isPlain(plan_.outputs);
    case Buffer::Place::Constant:
      return buffer.index < program_.constants.size() &&
             buffer.bytes == bytesOf(program_.constants[buffer.index].layout);
    }
    return false;
  }

  // Up to the last element: of a slice the library counts the gap behind that, too.
  static uint64_t bytesUsed(const Layout &layout) {
    return hasGaps(layout)
               ? static_cast<uint64_t>(numPlaces(*formOf(layout)) * sizeInBytes(dtypeOf(layout)))
               : bytesOf(layout);
  }

  bool isSlot(const Slot &slot) const {
    if (slot.buffer >= program_.buffers.size() || !isLayout(slot.layout))
      return false;
    if (isAny(slot.layout))
      return isLeftOpen(program_.buffers[slot.buffer]);
    if (!isWhole(slot.layout) || isLeftOpen(program_.buffers[slot.buffer]))
      return false;
    uint64_t bytes = program_.buffers[slot.buffer].bytes;
    return slot.offset <= bytes && bytesUsed(slot.layout) <= bytes - slot.offset;
  }

  bool isLeftOpen(const Buffer &buffer) const {
    return buffer.place == Buffer::Place::Constant &&
           isAny(program_.constants[buffer.index].layout);
  }

  bool holds(uint32_t slot, ValueId id) const {
    return slot < program_.slots.size() && fits(program_.slots[slot].layout, id) &&
           !isAny(program_.slots[slot].layout);
  }
  bool isWritable(uint32_t slot) const {
    Buffer::Place place = program_.buffers[program_.slots[slot].buffer].place;
    return place == Buffer::Place::Arena || place == Buffer::Place::Output;
  }

  bool isAction(const Action &action) const {
    if (action.output >= program_.slots.size() || !isWritable(action.output))
      return false;
    return action.kind == Action::Kind::Step ? isStep(action) : isCopy(action);
  }

  bool isCopy(const Action &action) const {
    if (action.inputs.size() != 1 || action.inputs[0] >= program_.slots.size() ||
        !action.postOperands.empty() || (action.step != none && action.step >= plan_.steps.size()))
      return false;
    const Layout &from = program_.slots[action.inputs[0]].layout;
    const Layout &to = program_.slots[action.output].layout;
    return dimsOf(from) == dimsOf(to) && dtypeOf(from) == dtypeOf(to) && !isAny(from);
  }

  bool isStep(const Action &action) const {
    if (action.step >= plan_.steps.size())
      return false;
    const Step &step = plan_.steps[action.step];
    if (isView(step.kind) || step.kind == StepKind::Pad ||
        action.inputs.size() != step.inputs.size() ||
        action.postOperands.size() != step.postOps.size() || !holds(action.output, step.output) ||
        action.sum != (action.sum < 0 ? -1 : sumPostOpOf(plan_, step)))
      return false;
    for (size_t i = 0; i < step.inputs.size(); ++i)
      if (!isOperand(step, i, action.inputs[i]))
        return false;
    for (size_t i = 0; i < step.postOps.size(); ++i) {
      ValueId operand = step.postOps[i].operand;
      uint32_t slot = action.postOperands[i];
      if (operand == noValue ? slot != none : !holds(slot, operand))
        return false;
    }
    return true;
  }

  bool isOperand(const Step &step, size_t index, uint32_t slot) const {
    if (isProduct(step.kind) && index == 2)
      return slot < program_.slots.size() && program_.slots[slot].layout == biasLayout(plan_, step);
    if (isProduct(step.kind) && index == 1 && slot < program_.slots.size() &&
        isAny(program_.slots[slot].layout)) // weights may be laid out at load
      return fits(program_.slots[slot].layout, step.inputs[index]);
    return holds(slot, step.inputs[index]);
  }

  const Plan &plan_;
  const std::vector<Stored> &stored_;
  const Program &program_;
};

} // namespace

Expected<> checkProgram(const Plan &plan, const std::vector<Stored> &stored,
                        const Program &program) {
  if (!Checker(plan, stored, program).check())
    return error(Status::Load) << "dnnl region program is damaged";
  return {};
}

} // namespace bycc::onednn
