// See SplitConcat.h.
#include "SplitConcat.h"

#include "Library.h"
#include "Usage.h"

#include <algorithm>

namespace bycc::onednn {

namespace {

// Channels of a part that still fill the kernels' registers.
constexpr int64_t minChannels = 16;
// How many elements read and written again cost as much as one copied by the library's
// concatenation. Measured (Zen 5): 13x13, 512 channels into 1000: 6.4 us more for the two
// halves, 5.2 us for the copy; elsewhere the halves cost next to nothing.
constexpr int64_t sumsPerCopy = 2;

class Splitter {
public:
  Splitter(Plan &plan, const Accepts &accepts) : plan_(plan), accepts_(accepts), usage_(plan) {}

  void run() {
    const std::vector<Step> steps = std::move(plan_.steps);
    plan_.steps.clear();
    for (const Step &step : steps)
      if (!trySplit(steps, step))
        plan_.steps.push_back(step);
    dropUnusedSteps(plan_); // the concatenations and poolings that were split
  }

private:
  // What stands between the parts and the convolution.
  struct Source {
    const Step *concat = nullptr;
    std::vector<const Step *> chain; // poolings and permutes, the convolution's operand last
  };

  const Dims &dims(ValueId id) const { return plan_.values[id].dims; }
  bool isFloat(ValueId id) const { return plan_.values[id].dtype == DType::Float32; }

  // The step that makes the value, if this is its only use.
  const Step *ownMaker(const std::vector<Step> &steps, ValueId id) const {
    bool isOwn = id < usage_.maker.size() && usage_.userCount[id] == 1;
    return isOwn && usage_.maker[id] != Usage::never ? &steps[usage_.maker[id]] : nullptr;
  }

  Source sourceOf(const std::vector<Step> &steps, const Step &conv) const {
    Source source;
    int64_t axis = 1; // the one that becomes channels
    const Step *maker = ownMaker(steps, conv.inputs[0]);
    for (; maker && (maker->kind == StepKind::Permute || maker->kind == StepKind::Pool);
         maker = ownMaker(steps, maker->inputs[0])) {
      source.chain.insert(source.chain.begin(), maker);
      if (maker->kind == StepKind::Permute)
        axis = maker->permutation[static_cast<size_t>(axis)];
      else if (axis != 1)
        return {};
    }
    if (maker && maker->kind == StepKind::Concat && maker->axis == axis)
      source.concat = maker;
    return source;
  }

  bool isWorthIt(const Step &conv, const Step &concat) const {
    auto parts = static_cast<int64_t>(concat.inputs.size());
    int64_t summed = (parts - 1) * numElements(dims(conv.output));
    return parts > 1 && summed <= sumsPerCopy * numElements(dims(conv.inputs[0])) &&
           std::all_of(concat.inputs.begin(), concat.inputs.end(),
                       [&](ValueId part) { return dims(part)[concat.axis] >= minChannels; });
  }

  bool isSplittable(const Step &step) const {
    return step.kind == StepKind::Conv && step.groups == 1 && step.scales.empty() &&
           isFloat(step.inputs[0]) && isFloat(step.inputs[1]) && isFloat(step.output) &&
           usage_.isConstant[step.inputs[1]] && sumPostOpOf(plan_, step) < 0;
  }

  bool trySplit(const std::vector<Step> &steps, const Step &step) {
    if (!isSplittable(step))
      return false;
    Source source = sourceOf(steps, step);
    if (!source.concat || !isWorthIt(step, *source.concat))
      return false;
    size_t numValues = plan_.values.size(), numSteps = plan_.steps.size();
    if (split(step, source))
      return true;
    plan_.values.resize(numValues);
    plan_.steps.resize(numSteps);
    return false;
  }

  bool split(const Step &conv, const Source &source) {
    const std::vector<ValueId> &parts = source.concat->inputs;
    ValueId partial = noValue;
    int64_t channel = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      ValueId data = carried(*source.concat, source.chain, parts[i]);
      Step piece = pieceOf(conv, data, channel, partial, i + 1 == parts.size());
      channel += dims(data)[1];
      if (!accepts_(plan_, piece))
        return false;
      partial = piece.output;
      plan_.steps.push_back(std::move(piece));
    }
    return true;
  }

  ValueId newValue(Dims dims) {
    plan_.values.push_back({DType::Float32, ValueKind::Temp, 0, std::move(dims)});
    return static_cast<ValueId>(plan_.values.size() - 1);
  }

  // The part after the steps of the chain.
  ValueId carried(const Step &concat, const std::vector<const Step *> &chain, ValueId part) {
    int64_t channels = dims(part)[concat.axis];
    size_t axis = concat.axis;
    for (const Step *link : chain) {
      Step step = *link;
      if (step.kind == StepKind::Permute)
        axis =
            static_cast<size_t>(std::find(step.permutation.begin(), step.permutation.end(), axis) -
                                step.permutation.begin());
      Dims result = dims(link->output);
      result[axis] = channels;
      step.inputs = {part};
      step.output = part = newValue(std::move(result));
      plan_.steps.push_back(step);
    }
    return part;
  }

  // Bias and post-ops are the last piece's.
  Step pieceOf(const Step &conv, ValueId data, int64_t channel, ValueId partial, bool isLast) {
    Step piece = conv;
    piece.inputs[0] = data;
    piece.inputs[1] = weightsOf(conv, channel, dims(data)[1]);
    if (!isLast) {
      piece.inputs.resize(2);
      piece.hasBias = 0;
      piece.postOps.clear();
      piece.output = newValue(dims(conv.output));
    }
    if (partial != noValue)
      piece.postOps.insert(piece.postOps.begin(), {Math::Add, 0, 0, partial});
    return piece;
  }

  ValueId weightsOf(const Step &conv, int64_t channel, int64_t count) {
    Step slice;
    slice.kind = StepKind::Slice;
    slice.source = conv.source;
    slice.inputs = {conv.inputs[1]};
    Dims part = dims(conv.inputs[1]);
    slice.padBegin.assign(part.size(), 0);
    slice.padBegin[1] = channel;
    part[1] = count;
    slice.output = newValue(std::move(part));
    plan_.steps.push_back(slice);
    return slice.output;
  }

  Plan &plan_;
  const Accepts &accepts_;
  Usage usage_;
};

} // namespace

void splitConcats(Plan &plan, const Accepts &accepts) { Splitter(plan, accepts).run(); }

} // namespace bycc::onednn
