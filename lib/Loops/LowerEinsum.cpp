// einsum as sums of products, two operands at a time from left to right: an axis is
// summed as soon as no later operand and not the result has it. A step that is a
// matrix product is one to the scheduler too.
#include "OpLowering.h"
#include "bycc/IR/Einsum.h"

#include <algorithm>

namespace bycc::loops {
namespace {

using Labels = std::vector<uint32_t>;

bool has(const Labels &labels, uint32_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

struct Term {
  Tensor tensor;
  Labels labels;
};

class EinsumLowering {
public:
  EinsumLowering(OpLowering &op, Einsum einsum)
      : op_(op), e_(std::move(einsum)), extents_(e_.numLabels, noRef) {}

  Expected<> run() {
    const std::vector<Tensor> &inputs = op_.fields(0);
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t d = 0; d < inputs[i].rank(); ++d) {
        Ref &extent = extents_[e_.inputs[i][d]];
        extent =
            extent == noRef ? inputs[i].shape[d] : op_.broadcastExtent(extent, inputs[i].shape[d]);
      }
    wide_ = accumulator(op_.resultDType());
    Term sum{inputs[0], e_.inputs[0]};
    for (size_t i = 1; i < inputs.size(); ++i)
      sum = contract(sum, Term{inputs[i], e_.inputs[i]},
                     i + 1 == inputs.size() ? e_.output : keptAfter(i, sum.labels));
    if (inputs.size() == 1)
      sum = contract(sum, {}, e_.output);
    if (sum.tensor.type == op_.resultDType())
      op_.results.push_back(sum.tensor);
    else
      op_.results.push_back(op_.map(op_.resultDType(), sum.tensor.shape, [&](const Indices &i) {
        return op_.x.cast(op_.at(sum.tensor, i), op_.resultDType());
      }));
    return {};
  }

private:
  // Labels of operands up to `last` that the result or a later operand needs.
  Labels keptAfter(size_t last, const Labels &before) const {
    Labels kept, seen = before;
    seen.insert(seen.end(), e_.inputs[last].begin(), e_.inputs[last].end());
    for (uint32_t label : seen) {
      bool isNeeded = has(e_.output, label);
      for (size_t i = last + 1; i < e_.inputs.size(); ++i)
        isNeeded = isNeeded || has(e_.inputs[i], label);
      if (isNeeded && !has(kept, label))
        kept.push_back(label);
    }
    return kept;
  }

  Ref load(const Term &term, const std::vector<Ref> &ofLabel) {
    Indices at;
    for (size_t d = 0; d < term.labels.size(); ++d)
      at.push_back(op_.broadcastIndex(term.tensor.shape[d], ofLabel[term.labels[d]]));
    return op_.x.cast(op_.at(term.tensor, at), wide_);
  }

  // Sum of a * b over what `kept` does not name; b without a tensor: of a.
  Term contract(const Term &a, const Term &b, const Labels &kept) {
    Labels summed;
    for (const Labels *labels : {&a.labels, &b.labels})
      for (uint32_t label : *labels)
        if (!has(kept, label) && !has(summed, label))
          summed.push_back(label);
    auto extentsOf = [&](const Labels &labels) {
      std::vector<Ref> extents;
      for (uint32_t label : labels)
        extents.push_back(extents_[label]);
      return extents;
    };
    Term result{op_.temp(wide_, extentsOf(kept)), kept};
    Stage stage;
    stage.buffer = result.tensor.buffer;
    std::vector<Ref> ofLabel(e_.numLabels, noRef);
    Indices outer = op_.k.axesOver(extentsOf(kept), stage.axes),
            inner = op_.k.axesOver(extentsOf(summed), stage.reduceAxes);
    for (size_t i = 0; i < kept.size(); ++i)
      ofLabel[kept[i]] = outer[i];
    for (size_t i = 0; i < summed.size(); ++i)
      ofLabel[summed[i]] = inner[i];
    stage.reduce = summed.empty() ? Reduce::None : Reduce::Sum;
    stage.body = load(a, ofLabel);
    if (b.tensor.buffer != UINT32_MAX || b.tensor.number != noRef)
      stage.body = op_.op2(Op::Mul, stage.body, load(b, ofLabel));
    stage.store = op_.k.flat(result.tensor.buffer, outer);
    op_.k.stages.push_back(std::move(stage));
    return result;
  }

  OpLowering &op_;
  Einsum e_;
  std::vector<Ref> extents_;
  DType wide_ = DType::Float32;
};

Expected<> lowerEinsum(OpLowering &op) {
  std::vector<size_t> ranks;
  for (const Tensor &tensor : op.fields(0))
    ranks.push_back(tensor.rank());
  return EinsumLowering(op, BYCC_TRY(parseEinsum(op.text("equation"), ranks))).run();
}

} // namespace

void addEinsumLowerings(LowerTable &table) { table[ops::einsum.index] = lowerEinsum; }

} // namespace bycc::loops
