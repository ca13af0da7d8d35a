// See Fuse.h. Steps live in a list, so that an anchor and its views can move down
// to the step they absorb: there all operands are known.
#include "Fuse.h"

#include <algorithm>
#include <list>
#include <optional>

namespace bycc::onednn {

namespace {

constexpr size_t maxPostOps = 8;

bool isAnchor(StepKind kind) {
  return kind == StepKind::Conv || kind == StepKind::Deconv || kind == StepKind::MatMul;
}

class Fuser {
public:
  explicit Fuser(Plan &plan)
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

  void run() {
    for (At step = steps_.begin(); step != steps_.end();) {
      At next = std::next(step);
      if (step->kind == StepKind::Eltwise)
        fuseEltwise(step);
      else if (step->kind == StepKind::Binary)
        fuseBinary(step);
      step = next;
    }
    dropUnused();
    plan_.steps.assign(std::make_move_iterator(steps_.begin()),
                       std::make_move_iterator(steps_.end()));
  }

private:
  using At = std::list<Step>::iterator;

  // An anchor and the views between it and the step to absorb, in order.
  struct Chain {
    At anchor;
    std::vector<At> views;
  };

  void countUses(const Step &step, int by) {
    for (ValueId id : step.inputs)
      uses_[id] += static_cast<uint32_t>(by);
    for (const PostOp &postOp : step.postOps)
      if (postOp.operand != noValue)
        uses_[postOp.operand] += static_cast<uint32_t>(by);
  }

  const Dims &dims(ValueId id) const { return plan_.values[id].dims; }

  std::optional<Chain> chainTo(ValueId id) {
    Chain chain;
    while (uses_[id] == 1 && maker_[id] != steps_.end()) {
      At step = maker_[id];
      if (isAnchor(step->kind)) {
        if (step->postOps.size() >= maxPostOps)
          return std::nullopt;
        chain.anchor = step;
        std::reverse(chain.views.begin(), chain.views.end());
        return chain;
      }
      if (!isView(step->kind))
        return std::nullopt;
      chain.views.push_back(step);
      id = step->inputs[0];
    }
    return std::nullopt;
  }

  // The chain moves to `absorbed` and produces its result.
  void absorb(const Chain &chain, At absorbed) {
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

  void fuseEltwise(At step) {
    std::optional<Chain> chain = chainTo(step->inputs[0]);
    if (!chain)
      return;
    chain->anchor->postOps.push_back({step->math, step->alpha, step->beta, noValue});
    absorb(*chain, step);
  }

  void fuseBinary(At step) {
    bool isCommutative = step->math != Math::Sub && step->math != Math::Div;
    for (size_t side = 0; side < (isCommutative ? 2u : 1u); ++side) {
      ValueId left = step->inputs[side], right = step->inputs[1 - side];
      if (left == right || dims(left) != dims(step->output))
        continue;
      if (std::optional<Chain> chain = chainTo(left); chain && fuseOperand(*chain, step, right))
        return;
    }
  }

  enum class Fit { No, Scalar, Channel, Full };

  // How the operand, in the anchor's axes, spreads over its result.
  Fit fitOf(const Step &anchor, const Dims &operand) const {
    const Dims &result = dims(anchor.output);
    size_t channel = anchor.kind == StepKind::MatMul ? result.size() - 1 : 1;
    for (size_t i = 0; i < operand.size(); ++i)
      if (operand[i] != (i == channel ? result[i] : 1))
        return operand == result ? Fit::Full : numElements(operand) == 1 ? Fit::Scalar : Fit::No;
    return Fit::Channel;
  }

  bool fuseOperand(const Chain &chain, At step, ValueId right) {
    std::optional<Dims> carried = dims(right);
    for (size_t i = chain.views.size(); i-- > 0 && carried;)
      carried = carryBack(*chain.views[i], *carried);
    if (!carried)
      return false;
    Step &anchor = *chain.anchor;
    Fit fit = fitOf(anchor, *carried);
    bool isBias = step->math == Math::Add && !anchor.hasBias && anchor.postOps.empty();
    if (fit == Fit::No || (fit == Fit::Full && (step->math != Math::Add || !anchor.postOps.empty())))
      return false;
    for (size_t i = chain.views.size(); i-- > 0;)
      right = carryValueBack(*chain.views[i], right, step);
    if (fit == Fit::Channel && isBias) {
      right = reshapeBefore(step, right, {numElements(*carried)});
      anchor.inputs.push_back(right);
      anchor.hasBias = 1;
    } else {
      anchor.postOps.push_back({step->math, 0, 0, right});
    }
    ++uses_[right];
    absorb(chain, step);
    return true;
  }

  // Extents of an operand of the view's result, seen before the view.
  std::optional<Dims> carryBack(const Step &view, const Dims &operand) const {
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

  // An operand that spans the last axes only spans the last axes of any reshape.
  static std::optional<Dims> suffixOf(const Dims &before, const Dims &after, const Dims &operand) {
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

  ValueId carryValueBack(const Step &view, ValueId operand, At before) {
    if (view.kind == StepKind::Reshape)
      return reshapeBefore(before, operand, *carryBack(view, dims(operand)));
    Step step;
    step.kind = StepKind::Permute;
    step.permutation.resize(view.permutation.size());
    for (size_t i = 0; i < view.permutation.size(); ++i)
      step.permutation[static_cast<size_t>(view.permutation[i])] = static_cast<int64_t>(i);
    return insertView(std::move(step), operand, *carryBack(view, dims(operand)), before);
  }

  ValueId reshapeBefore(At before, ValueId operand, const Dims &wanted) {
    if (dims(operand) == wanted)
      return operand;
    Step step;
    step.kind = StepKind::Reshape;
    return insertView(std::move(step), operand, wanted, before);
  }

  ValueId insertView(Step step, ValueId operand, const Dims &wanted, At before) {
    Value value = plan_.values[operand];
    value.kind = ValueKind::Temp;
    value.where = 0;
    value.dims = wanted;
    plan_.values.push_back(value);
    ValueId id = static_cast<ValueId>(plan_.values.size() - 1);
    step.inputs = {operand};
    step.output = id;
    step.source = before->source;
    ++uses_[operand];
    uses_.push_back(0);
    maker_.push_back(steps_.insert(before, std::move(step)));
    return id;
  }

  void dropUnused() {
    for (At step = steps_.end(); step != steps_.begin();) {
      --step;
      if (uses_[step->output] != 0)
        continue;
      countUses(*step, -1);
      step = steps_.erase(step);
    }
  }

  Plan &plan_;
  std::list<Step> steps_;
  std::vector<At> maker_;
  std::vector<uint32_t> uses_;
};

} // namespace

void fuseSteps(Plan &plan) { Fuser(plan).run(); }

size_t numComputeSteps(const Plan &plan) {
  return static_cast<size_t>(std::count_if(plan.steps.begin(), plan.steps.end(),
                                           [](const Step &step) { return !isView(step.kind); }));
}

} // namespace bycc::onednn
