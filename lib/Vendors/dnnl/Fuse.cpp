// See Fuse.h. An anchor and its views move down to the step they absorb: there all
// operands are known.
#include "Fuse.h"

#include "PlanEditor.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace bycc::onednn {

namespace {

constexpr size_t maxPostOps = 8;

// The first addition of a whole operand waits in the destination; there is one place.
bool hasScaledSum(const Step &step) {
  return std::any_of(step.postOps.begin(), step.postOps.end(), [](const PostOp &postOp) {
    return postOp.operand != noValue && postOp.scale != 1;
  });
}

// The scales as a vector that divides: of what is added before scaling.
std::vector<float> reciprocals(std::vector<float> scales) {
  for (float &scale : scales)
    scale = 1 / scale;
  return scales;
}

// What rounding and saturating to 8 bits would leave, less the zero point, times `scale`.
void leaveQuantized(Step &anchor, DType dtype, float scale) {
  Range range = rangeOf(dtype);
  float zero = static_cast<float>(anchor.zeroOut);
  anchor.postOps.push_back({Math::Saturate, range.low - zero, range.high - zero, noValue});
  anchor.postOps.push_back({Math::Round, 0, 0, noValue, scale});
  anchor.zeroOut = 0;
}

void shiftBy(Step &anchor, float offset) {
  bool isShift = !anchor.postOps.empty() && anchor.postOps.back().math == Math::Linear;
  if (isShift)
    anchor.postOps.back().beta += offset * anchor.postOps.back().scale;
  else if (offset != 0)
    anchor.postOps.push_back({Math::Linear, 1, offset, noValue});
}

// Multiplies the result, from the last post-op to where one absorbs the factor; true
// when the factor is left for what stands before all of them.
bool scalePostOps(Step &anchor, float factor) {
  for (size_t i = anchor.postOps.size(); i-- > 0;) {
    PostOp &postOp = anchor.postOps[i];
    if (postOp.operand != noValue) {
      anchor.postOps.insert(anchor.postOps.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                            {Math::Linear, factor, 0, noValue});
      return false;
    }
    if (postOp.math == Math::Clip || postOp.math == Math::Saturate) {
      postOp.alpha *= factor;
      postOp.beta *= factor;
    } else if (postOp.math == Math::Linear) {
      postOp.beta *= factor;
    } else if (postOp.math != Math::Relu) {
      postOp.scale *= factor;
      return false;
    }
  }
  return true;
}

// oneDNN 2.6's kernels take the constants of one function from its first use in the
// primitive, so a second one with others would be wrong.
bool hasClash(const Step &step) {
  for (const PostOp &a : step.postOps)
    for (const PostOp &b : step.postOps)
      if (a.operand == noValue && b.operand == noValue && a.math == b.math &&
          (a.alpha != b.alpha || a.beta != b.beta || a.scale != b.scale))
        return true;
  return false;
}

bool isRelu(const PostOp &postOp) { return postOp.math == Math::Relu && postOp.operand == noValue; }

class Fuser : PlanEditor {
public:
  Fuser(Plan &plan, const Accepts &accepts) : PlanEditor(plan), accepts_(accepts) {}

  void run() {
    for (At step = steps_.begin(); step != steps_.end();) {
      At next = std::next(step);
      if (step->kind == StepKind::Eltwise)
        fuseEltwise(step);
      else if (step->kind == StepKind::Binary)
        fuseBinary(step);
      else if (step->kind == StepKind::Convert)
        fuseConvert(step);
      else if (step->kind == StepKind::Conv)
        fusePad(step);
      step = next;
    }
    finish();
  }

private:
  bool isAnchor(const Step &step) const {
    return isProduct(step.kind) ||
           (step.kind == StepKind::Binary &&
            (isQuantized(dtype(step.output)) || isReal(dtype(step.output))));
  }

  std::optional<Chain> chainTo(ValueId id) {
    Chain chain;
    while (uses_[id] == 1 && maker_[id] != steps_.end()) {
      At step = maker_[id];
      if (isAnchor(*step)) {
        chain.anchor = step;
        std::reverse(chain.views.begin(), chain.views.end());
        return chain;
      }
      if (!isWholeView(step->kind))
        return std::nullopt;
      chain.views.push_back(step);
      id = step->inputs[0];
    }
    return std::nullopt;
  }

  // The candidate takes the anchor's place and absorbs the step, if the library has it.
  bool tryAbsorb(const Chain &chain, At step, Step candidate) {
    if (candidate.postOps.size() > maxPostOps || hasClash(candidate))
      return false;
    DType before = dtype(chain.anchor->output);
    setDType(chain, dtype(step->output));
    if (!accepts_(plan_, candidate)) {
      setDType(chain, before);
      return false;
    }
    *chain.anchor = std::move(candidate);
    absorb(chain, step);
    return true;
  }

  void fuseEltwise(At step) {
    std::optional<Chain> chain = chainTo(step->inputs[0]);
    if (!chain)
      return;
    Step candidate = *chain->anchor;
    if (appendEltwise(candidate, *step))
      tryAbsorb(*chain, step, std::move(candidate));
  }

  bool appendEltwise(Step &anchor, const Step &step) const {
    DType type = dtype(step.output);
    if (isQuantized(type))
      return appendBounds(anchor, step, rangeOf(type));
    anchor.postOps.push_back({step.math, step.alpha, step.beta, noValue});
    return true;
  }

  // Post-ops stand before the zero point is added. Saturation needs none.
  static bool appendBounds(Step &anchor, const Step &step, Range range) {
    bool isReluStep = step.math == Math::Relu && step.alpha == 0;
    if (!isReluStep && step.math != Math::Clip)
      return false;
    float low = std::max(isReluStep ? 0 : step.alpha, range.low);
    float high = isReluStep ? range.high : std::min(step.beta, range.high);
    if (low > high)
      return false;
    float zero = static_cast<float>(anchor.zeroOut);
    if (low != range.low || high != range.high)
      anchor.postOps.push_back({Math::Clip, low - zero, high - zero, noValue});
    return true;
  }

  void fuseConvert(At step) {
    std::optional<Chain> chain = chainTo(step->inputs[0]);
    if (!chain || !isProduct(chain->anchor->kind))
      return;
    Step candidate = *chain->anchor;
    if (appendConvert(*chain, candidate, *step))
      tryAbsorb(*chain, step, std::move(candidate));
  }

  bool appendConvert(const Chain &chain, Step &anchor, const Step &convert) {
    DType from = dtype(convert.inputs[0]);
    if (!isQuantized(from)) {
      if (convert.zeroIn != 0 || anchor.zeroOut != 0 || !multiply(chain, anchor, convert))
        return false;
    } else {
      if (convert.scales.size() > 1)
        return false;
      float scale = convert.scales.empty() ? 1 : convert.scales[0];
      float offset = scale * static_cast<float>(anchor.zeroOut - convert.zeroIn);
      leaveQuantized(anchor, from, scale);
      shiftBy(anchor, offset);
    }
    anchor.zeroOut = convert.zeroOut;
    return true;
  }

  // The anchor's result times the scales of `convert`.
  bool multiply(const Chain &chain, Step &anchor, const Step &convert) {
    const std::vector<float> &factors = convert.scales;
    if (factors.size() > 1) {
      if (!anchor.scales.empty() || !isAlongChannels(chain, convert) ||
          !std::all_of(anchor.postOps.begin(), anchor.postOps.end(), isRelu))
        return false;
      anchor.scales = factors;
      return true;
    }
    if (factors.empty() || !scalePostOps(anchor, factors[0]))
      return true;
    if (anchor.scales.empty())
      anchor.scales = {1};
    for (float &scale : anchor.scales)
      scale *= factors[0];
    return true;
  }

  bool isAlongChannels(const Chain &chain, const Step &convert) const {
    Dims along(dims(convert.output).size(), 1);
    along[convert.axis] = static_cast<int64_t>(convert.scales.size());
    std::optional<Dims> carried = carriedBack(chain, along);
    return carried && fitOf(*chain.anchor, *carried) == Fit::Channel;
  }

  void fuseBinary(At step) {
    if (isQuantized(dtype(step->output)))
      return fuseQuantizedSum(step);
    for (size_t side = 0; side < (isCommutative(step->math) ? 2u : 1u); ++side) {
      ValueId left = step->inputs[side], right = step->inputs[1 - side];
      if (left == right || dims(left) != dims(step->output))
        continue;
      if (std::optional<Chain> chain = chainTo(left); chain && fuseOperand(*chain, step, right))
        return;
    }
  }

  // One operand is a product of 8 bits, the other waits in the product's destination.
  void fuseQuantizedSum(At step) {
    for (size_t side = 0; side < 2; ++side) {
      ValueId left = step->inputs[side], right = step->inputs[1 - side];
      if (left == right || dims(left) != dims(right) || step->scales.size() != 2)
        continue;
      std::optional<Chain> chain = chainTo(left);
      if (!chain || !isProduct(chain->anchor->kind) || hasScaledSum(*chain->anchor))
        continue;
      Step candidate = *chain->anchor;
      float offset = step->scales[side] * static_cast<float>(candidate.zeroOut);
      leaveQuantized(candidate, dtype(left), step->scales[side]);
      candidate.postOps.push_back({Math::Add, 0, 0, right, step->scales[1 - side]});
      shiftBy(candidate, offset);
      for (const PostOp &postOp : step->postOps)
        if (postOp.math == Math::Linear)
          shiftBy(candidate, postOp.beta);
        else
          candidate.postOps.push_back(postOp);
      if (fuseCarried(*chain, step, std::move(candidate), right))
        return;
    }
  }

  // Carries the operand back through the views and absorbs the step.
  bool fuseCarried(const Chain &chain, At step, Step candidate, ValueId right) {
    if (!carriedBack(chain, dims(right)))
      return false;
    size_t numValues = plan_.values.size();
    ValueId carried = carryAllBack(chain, right, step);
    for (PostOp &postOp : candidate.postOps)
      if (postOp.operand == right)
        postOp.operand = carried;
    ++uses_[carried];
    if (tryAbsorb(chain, step, std::move(candidate)))
      return true;
    --uses_[carried];
    dropValues(numValues);
    return false;
  }

  // Padding with the zero point is the convolution's own.
  void fusePad(At conv) {
    std::vector<At> views;
    ValueId id = conv->inputs[0];
    while (uses_[id] == 1 && maker_[id] != steps_.end() && maker_[id]->kind == StepKind::Permute) {
      views.push_back(maker_[id]);
      id = maker_[id]->inputs[0];
    }
    if (uses_[id] != 1 || maker_[id] == steps_.end() || maker_[id]->kind != StepKind::Pad)
      return;
    At pad = maker_[id];
    Dims begin = pad->padBegin, end = pad->padEnd;
    for (size_t i = views.size(); i-- > 0;) {
      begin = permutedDims(begin, views[i]->permutation);
      end = permutedDims(end, views[i]->permutation);
    }
    if (pad->zeroOut != conv->zeroIn || begin[0] || begin[1] || end[0] || end[1])
      return;
    foldPad(conv, pad, views, begin, end);
  }

  static Dims permutedDims(const Dims &dims, const Dims &permutation) {
    Dims out;
    for (int64_t axis : permutation)
      out.push_back(dims[static_cast<size_t>(axis)]);
    return out;
  }

  void foldPad(At conv, At pad, const std::vector<At> &views, const Dims &begin, const Dims &end) {
    Step candidate = *conv;
    for (size_t i = 0; i < candidate.kernel.size(); ++i) {
      candidate.padBegin[i] += begin[i + 2];
      candidate.padEnd[i] += end[i + 2];
    }
    std::vector<Value> before = plan_.values;
    Dims shape = dims(pad->inputs[0]);
    for (size_t i = views.size(); i-- > 0;)
      plan_.values[views[i]->output].dims = shape = permutedDims(shape, views[i]->permutation);
    if (views.empty())
      candidate.inputs[0] = pad->inputs[0];
    if (!accepts_(plan_, candidate)) {
      plan_.values = std::move(before);
      return;
    }
    Step &reader = views.empty() ? candidate : *views.back();
    reader.inputs[0] = pad->inputs[0];
    *conv = std::move(candidate);
    steps_.erase(pad); // its use of its operand is the reader's now
  }

  enum class Fit { No, Scalar, Channel, Full };

  // How the operand, in the anchor's axes, spreads over its result.
  Fit fitOf(const Step &anchor, const Dims &operand) const {
    const Dims &result = dims(anchor.output);
    size_t channel = channelAxis(anchor.kind, result.size());
    for (size_t i = 0; i < operand.size(); ++i)
      if (operand[i] != (i == channel ? result[i] : 1))
        return operand == result ? Fit::Full : numElements(operand) == 1 ? Fit::Scalar : Fit::No;
    return Fit::Channel;
  }

  bool fuseOperand(const Chain &chain, At step, ValueId right) {
    std::optional<Dims> carried = carriedBack(chain, dims(right));
    if (!carried)
      return false;
    const Step &anchor = *chain.anchor;
    Fit fit = fitOf(anchor, *carried);
    bool isFirst = step->math == Math::Add && anchor.postOps.empty();
    bool hasRoom = isProduct(anchor.kind); // for a bias, for a summand in the destination
    if (fit == Fit::Channel && isFirst && hasRoom && !anchor.hasBias)
      return fuseBias(chain, step, right, numElements(*carried));
    if (fit == Fit::No || (fit == Fit::Full && !(isFirst && hasRoom)) || !isReal(dtype(right)))
      return false;
    Step candidate = anchor;
    candidate.postOps.push_back({step->math, 0, 0, right});
    return fuseCarried(chain, step, std::move(candidate), right);
  }

  // A bias is added before the result is scaled.
  bool fuseBias(const Chain &chain, At step, ValueId right, int64_t count) {
    std::vector<float> scales = reciprocals(chain.anchor->scales);
    if (!std::all_of(scales.begin(), scales.end(), [](float s) { return std::isfinite(s); }))
      return false;
    size_t numValues = plan_.values.size();
    right = reshapeBefore(step, carryAllBack(chain, right, step), {count});
    if (!scales.empty())
      right = scaleBefore(step, right, std::move(scales));
    Step candidate = *chain.anchor;
    candidate.inputs.push_back(right);
    candidate.hasBias = 1;
    ++uses_[right];
    if (tryAbsorb(chain, step, std::move(candidate)))
      return true;
    --uses_[right];
    dropValues(numValues);
    return false;
  }

  const Accepts &accepts_;
};

} // namespace

void fuseSteps(Plan &plan, const Accepts &accepts) { Fuser(plan, accepts).run(); }

} // namespace bycc::onednn
