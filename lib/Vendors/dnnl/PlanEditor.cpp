// See PlanEditor.h.
#include "PlanEditor.h"

#include "Usage.h"

#include <iterator>

namespace bycc::onednn {

namespace {

// An operand that spans the last axes only spans the last axes of any reshape.
std::optional<Dims> suffixOf(const Dims &before, const Dims &after, const Dims &operand) {
  size_t first = operand.size();
  while (first > 0 && operand[first - 1] == after[first - 1])
    --first;
  for (size_t i = 0; i < first; ++i)
    if (operand[i] != 1)
      return std::nullopt;
  int64_t count = numElements(operand), product = 1;
  Dims out(before.size(), 1);
  for (size_t i = before.size(); i-- > 0 && product != count;) {
    out[i] = before[i];
    product *= before[i];
  }
  return product == count ? std::optional<Dims>(out) : std::nullopt;
}

} // namespace

PlanEditor::PlanEditor(Plan &plan)
    : plan_(plan), steps_(std::make_move_iterator(plan.steps.begin()),
                          std::make_move_iterator(plan.steps.end())),
      maker_(plan.values.size(), steps_.end()), uses_(plan.values.size()) {
  for (At step = steps_.begin(); step != steps_.end(); ++step) {
    maker_[step->output] = step;
    countUses(*step, 1);
  }
  for (ValueId id : plan.outputs)
    ++uses_[id];
}

void PlanEditor::finish() {
  plan_.steps.assign(std::make_move_iterator(steps_.begin()),
                     std::make_move_iterator(steps_.end()));
  dropUnusedSteps(plan_);
}

void PlanEditor::countUses(const Step &step, int by) {
  for (ValueId id : step.inputs)
    uses_[id] += static_cast<uint32_t>(by);
  for (const PostOp &postOp : step.postOps)
    if (postOp.operand != noValue)
      uses_[postOp.operand] += static_cast<uint32_t>(by);
}

void PlanEditor::absorb(const Chain &chain, At absorbed) {
  countUses(*absorbed, -1);
  steps_.splice(absorbed, steps_, chain.anchor);
  for (At view : chain.views)
    steps_.splice(absorbed, steps_, view);
  At last = chain.views.empty() ? chain.anchor : chain.views.back();
  ++uses_[last->output]; // the old name dies with its only use
  if (!absorbed->source.empty() && chain.anchor->source.find(absorbed->source) == std::string::npos)
    chain.anchor->source += (chain.anchor->source.empty() ? "" : ",") + absorbed->source;
  last->output = absorbed->output;
  maker_[last->output] = last;
  steps_.erase(absorbed);
}

void PlanEditor::setDType(const Chain &chain, DType dtype) {
  plan_.values[chain.anchor->output].dtype = dtype;
  for (At view : chain.views)
    plan_.values[view->output].dtype = dtype;
}

std::optional<Dims> PlanEditor::carriedBack(const Chain &chain, const Dims &operand) const {
  std::optional<Dims> carried = operand;
  for (size_t i = chain.views.size(); i-- > 0 && carried;)
    carried = carryBack(*chain.views[i], *carried);
  return carried;
}

ValueId PlanEditor::carryAllBack(const Chain &chain, ValueId operand, At before) {
  for (size_t i = chain.views.size(); i-- > 0;)
    operand = carryValueBack(*chain.views[i], operand, before);
  return operand;
}

void PlanEditor::dropValues(size_t count) {
  for (size_t id = plan_.values.size(); id-- > count;) {
    if (maker_[id] == steps_.end())
      continue;
    countUses(*maker_[id], -1);
    steps_.erase(maker_[id]);
  }
  plan_.values.resize(count);
  maker_.resize(count);
  uses_.resize(count);
}

std::optional<Dims> PlanEditor::carryBack(const Step &view, const Dims &operand) const {
  const Dims &before = dims(view.inputs[0]), &after = dims(view.output);
  if (view.kind == StepKind::Permute) {
    Dims out(operand.size());
    for (size_t i = 0; i < out.size(); ++i)
      out[static_cast<size_t>(view.permutation[i])] = operand[i];
    return out;
  }
  if (operand == after)
    return before;
  return suffixOf(before, after, operand);
}

ValueId PlanEditor::carryValueBack(const Step &view, ValueId operand, At before) {
  if (view.kind == StepKind::Reshape)
    return reshapeBefore(before, operand, *carryBack(view, dims(operand)));
  Step step;
  step.kind = StepKind::Permute;
  step.permutation.resize(view.permutation.size());
  for (size_t i = 0; i < view.permutation.size(); ++i)
    step.permutation[static_cast<size_t>(view.permutation[i])] = static_cast<int64_t>(i);
  return insertStep(std::move(step), operand, *carryBack(view, dims(operand)), before);
}

ValueId PlanEditor::reshapeBefore(At before, ValueId operand, const Dims &wanted) {
  if (dims(operand) == wanted)
    return operand;
  Step step;
  step.kind = StepKind::Reshape;
  return insertStep(std::move(step), operand, wanted, before);
}

ValueId PlanEditor::scaleBefore(At before, ValueId operand, std::vector<float> scales) {
  Step step;
  step.kind = StepKind::Convert;
  step.scales = std::move(scales);
  return insertStep(std::move(step), operand, dims(operand), before);
}

ValueId PlanEditor::insertStep(Step step, ValueId operand, const Dims &wanted, At before) {
  Value value = plan_.values[operand];
  value.kind = ValueKind::Temp;
  value.where = 0;
  value.dims = wanted;
  step.inputs = {operand};
  step.source = before->source;
  ++uses_[operand];
  At made = steps_.insert(before, std::move(step));
  return made->output = addValue(std::move(value), made);
}

ValueId PlanEditor::addValue(Value value, At maker) {
  plan_.values.push_back(std::move(value));
  uses_.push_back(0);
  maker_.push_back(maker);
  return static_cast<ValueId>(plan_.values.size() - 1);
}

} // namespace bycc::onednn
