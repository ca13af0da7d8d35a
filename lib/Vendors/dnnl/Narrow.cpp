// See Narrow.h.
#include "Narrow.h"

#include "Usage.h"

#include <algorithm>
#include <optional>

namespace bycc::onednn {

namespace {

class Narrower {
public:
  Narrower(Plan &plan, const Accepts &accepts)
      : plan_(plan), accepts_(accepts), maker_(plan.values.size()), uses_(plan.values.size()),
        isGone_(plan.steps.size()) {
    for (Step &step : plan.steps) {
      maker_[step.output] = &step;
      for (ValueId id : step.inputs)
        ++uses_[id];
    }
    for (ValueId id : plan.outputs)
      ++uses_[id];
  }

  void run() {
    for (Step &step : plan_.steps)
      if (isCast(step, DType::Float32, DType::BFloat16))
        narrowInto(step);
    size_t at = 0;
    std::erase_if(plan_.steps, [&](const Step &) { return isGone_[at++]; });
    dropUnusedSteps(plan_); // casts whose only readers take what they were made of
  }

private:
  DType &dtype(ValueId id) { return plan_.values[id].dtype; }

  bool isCast(const Step &step, DType from, DType to) {
    return step.kind == StepKind::Convert && step.scales.empty() && step.zeroIn == 0 &&
           step.zeroOut == 0 && dtype(step.inputs[0]) == from && dtype(step.output) == to;
  }

  static bool isNarrowable(StepKind kind) {
    switch (kind) {
    case StepKind::Pool:
    case StepKind::Softmax:
    case StepKind::LayerNorm:
    case StepKind::Eltwise:
    case StepKind::Binary:
    case StepKind::Concat:
    case StepKind::Reduce:
      return true;
    default:
      return false;
    }
  }
  // The operand may be of another dtype than the result.
  static bool isMixable(StepKind kind) {
    return kind == StepKind::Softmax || kind == StepKind::Reduce;
  }
  // Operands that are narrow with the result; a layer norm's others are float32.
  static size_t numData(const Step &step) {
    return step.kind == StepKind::LayerNorm ? 1 : step.inputs.size();
  }

  // Views without other users, last first, and what they show.
  struct Chain {
    std::vector<Step *> views;
    ValueId source;
  };
  Chain chainTo(ValueId id) {
    Chain chain{{}, id};
    for (Step *maker = maker_[id]; maker && isView(maker->kind) && uses_[chain.source] == 1;
         maker = maker_[chain.source]) {
      chain.views.push_back(maker);
      chain.source = maker->inputs[0];
    }
    return chain;
  }

  // The step that makes what `cast` narrows does so itself, when its operands are
  // widened ones or need not be.
  void narrowInto(Step &cast) {
    Chain after = chainTo(cast.inputs[0]);
    Step *step = maker_[after.source];
    if (!step || !isNarrowable(step->kind) || uses_[after.source] != 1)
      return;
    std::vector<Chain> before;
    for (size_t i = 0; i < numData(*step); ++i) {
      Chain chain = chainTo(step->inputs[i]);
      const Step *widening = maker_[chain.source];
      if (widening && isCast(*widening, DType::BFloat16, DType::Float32))
        before.push_back(std::move(chain));
      else if (!isMixable(step->kind))
        return;
    }
    std::vector<Value> saved = plan_.values;
    Step candidate = narrowed(*step, after, before);
    if (accepts_(plan_, candidate))
      commit(cast, *step, std::move(candidate), after, before);
    else
      plan_.values = std::move(saved);
  }

  Step narrowed(const Step &step, const Chain &after, const std::vector<Chain> &before) {
    Step candidate = step;
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i].views.empty())
        candidate.inputs[i] = maker_[before[i].source]->inputs[0];
      setDType(before[i]);
    }
    setDType(after);
    dtype(step.output) = DType::BFloat16;
    return candidate;
  }

  void setDType(const Chain &chain) {
    for (const Step *view : chain.views)
      dtype(view->output) = DType::BFloat16;
  }

  void commit(Step &cast, Step &step, Step candidate, const Chain &after,
              const std::vector<Chain> &before) {
    step = std::move(candidate);
    for (const Chain &chain : before) {
      ValueId narrow = maker_[chain.source]->inputs[0];
      --uses_[chain.source];
      ++uses_[narrow];
      if (!chain.views.empty())
        chain.views.back()->inputs[0] = narrow;
    }
    Step &last = after.views.empty() ? step : *after.views.front();
    last.output = cast.output; // the old name dies with its only use
    maker_[cast.output] = &last;
    isGone_[static_cast<size_t>(&cast - plan_.steps.data())] = true;
  }

  Plan &plan_;
  const Accepts &accepts_;
  std::vector<Step *> maker_;
  std::vector<uint32_t> uses_;
  std::vector<bool> isGone_;
};

} // namespace

void narrowSteps(Plan &plan, const Accepts &accepts) { Narrower(plan, accepts).run(); }

} // namespace bycc::onednn
