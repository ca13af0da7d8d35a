// A plan under change: its steps in a list, so that they can move and be inserted, with
// the maker and the number of uses of each value. The base of what rewrites a plan; it
// knows views and how operands pass through them, not what is worth a change.
#pragma once

#include "Plan.h"

#include <list>
#include <optional>

namespace bycc::onednn {

class PlanEditor {
protected:
  using At = std::list<Step>::iterator;

  // An anchor and the views between it and the step to absorb, in order.
  struct Chain {
    At anchor;
    std::vector<At> views;
  };

  explicit PlanEditor(Plan &plan); // takes the steps of the plan
  PlanEditor(const PlanEditor &) = delete;
  void finish(); // gives them back, without unused ones

  const Dims &dims(ValueId id) const { return plan_.values[id].dims; }
  DType dtype(ValueId id) const { return plan_.values[id].dtype; }
  void setDType(const Chain &chain, DType dtype); // of the anchor's result and its views
  void countUses(const Step &step, int by);

  // The chain moves to `absorbed` and produces its result.
  void absorb(const Chain &chain, At absorbed);

  // Extents of an operand of the chain's result, seen before its views; nothing where
  // these tear them apart.
  std::optional<Dims> carriedBack(const Chain &chain, const Dims &operand) const;
  // The operand itself, which carriedBack() has let through, by views inserted at `before`.
  ValueId carryAllBack(const Chain &chain, ValueId operand, At before);

  ValueId addValue(Value value, At maker); // steps_.end(): a constant
  ValueId reshapeBefore(At before, ValueId operand, const Dims &wanted);
  ValueId scaleBefore(At before, ValueId operand, std::vector<float> scales);
  // Takes back what was inserted since there were `count` values.
  void dropValues(size_t count);

  Plan &plan_; // values and outputs; without steps meanwhile
  std::list<Step> steps_;
  std::vector<At> maker_;
  std::vector<uint32_t> uses_;

private:
  std::optional<Dims> carryBack(const Step &view, const Dims &operand) const;
  ValueId carryValueBack(const Step &view, ValueId operand, At before);
  ValueId insertStep(Step step, ValueId operand, const Dims &wanted, At before);
};

} // namespace bycc::onednn
