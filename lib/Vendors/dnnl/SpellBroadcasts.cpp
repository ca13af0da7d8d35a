// See SpellBroadcasts.h.
#include "SpellBroadcasts.h"

#include <algorithm>
#include <cstring>

namespace bycc::onednn {

namespace {

// What a stretched constant may take: more than that is a copy of the data, nearly.
constexpr int64_t maxStretchedBytes = int64_t(4) << 20;

class BroadcastSpeller {
public:
  BroadcastSpeller(Plan &plan, const Accepts &accepts) : plan_(plan), accepts_(accepts) {}

  void run() {
    std::vector<Step> steps = std::move(plan_.steps);
    plan_.steps.clear();
    for (Step &step : steps)
      if (step.kind != StepKind::Binary || accepts_(plan_, step) || !trySpell(step))
        plan_.steps.push_back(std::move(step));
  }

private:
  // Extents of both operands.
  struct Axes {
    Dims left, right;
  };

  bool trySpell(const Step &step) {
    size_t numValues = plan_.values.size(), numSteps = plan_.steps.size(),
           numConstants = plan_.constants.size();
    ValueId right = step.inputs[1];
    Axes axes = merged({dims(step.inputs[0]), dims(right)});
    if (spellAs(step, axes, right))
      return true;
    std::optional<ValueId> stretched = stretch(right, axes);
    if (stretched && spellAs(step, merged({axes.left, dims(*stretched)}), *stretched))
      return true;
    plan_.values.resize(numValues);
    plan_.steps.resize(numSteps);
    plan_.constants.resize(numConstants);
    return false;
  }

  static Axes merged(const Axes &axes) {
    Axes result;
    bool wasStretched = false;
    for (size_t axis = 0; axis < axes.left.size(); ++axis) {
      int64_t extent = axes.left[axis];
      if (extent == 1)
        continue;
      bool isStretched = axes.right[axis] == 1;
      if (result.left.empty() || isStretched != wasStretched) {
        result.left.push_back(1);
        result.right.push_back(1);
      }
      result.left.back() *= extent;
      result.right.back() *= axes.right[axis];
      wasStretched = isStretched;
    }
    if (result.left.empty())
      result = {{1}, {1}};
    return result;
  }

  bool spellAs(const Step &step, const Axes &axes, ValueId right) {
    size_t numValues = plan_.values.size(), numSteps = plan_.steps.size();
    Step piece = step;
    piece.inputs = {reshaped(step.inputs[0], axes.left), reshaped(right, axes.right)};
    piece.output = newValue(step.output, axes.left);
    if (!accepts_(plan_, piece)) {
      plan_.values.resize(numValues);
      plan_.steps.resize(numSteps);
      return false;
    }
    ValueId result = piece.output;
    plan_.steps.push_back(std::move(piece));
    plan_.steps.push_back(reshape(result, step.output));
    return true;
  }

  // The constant along all axes but a first one that it lacks.
  std::optional<ValueId> stretch(ValueId right, const Axes &axes) {
    const Value &value = plan_.values[beforeReshapes(right)];
    Dims wanted = axes.left;
    if (axes.right[0] == 1)
      wanted[0] = 1;
    auto size = static_cast<size_t>(sizeInBytes(value.dtype));
    if (value.kind != ValueKind::Constant ||
        numElements(wanted) > maxStretchedBytes / static_cast<int64_t>(size))
      return std::nullopt;
    Value constant = value;
    constant.where = plan_.constants.size();
    constant.dims = wanted;
    plan_.constants.push_back(stretched(plan_.constants[value.where], {wanted, axes.right}, size));
    plan_.values.push_back(std::move(constant));
    return static_cast<ValueId>(plan_.values.size() - 1);
  }

  ValueId beforeReshapes(ValueId id) const {
    for (size_t step = plan_.steps.size(); step-- > 0;)
      if (plan_.steps[step].output == id && plan_.steps[step].kind == StepKind::Reshape)
        id = plan_.steps[step].inputs[0];
    return id;
  }

  // Axis by axis from the last one on, each time all that lies before it anew.
  static ConstantBytes stretched(const ConstantBytes &from, const Axes &axes, size_t size) {
    std::vector<uint8_t> bytes(from.get(), from.get() + numElements(axes.right) * size);
    size_t run = size;
    for (size_t axis = axes.left.size(); axis-- > 0;) {
      run *= static_cast<size_t>(axes.right[axis]);
      if (axes.left[axis] != axes.right[axis])
        bytes = repeated(bytes, run, axes.left[axis]);
      run = run / axes.right[axis] * axes.left[axis];
    }
    std::shared_ptr<uint8_t[]> result(new uint8_t[bytes.size()]);
    std::memcpy(result.get(), bytes.data(), bytes.size());
    return ConstantBytes(result, result.get());
  }

  static std::vector<uint8_t> repeated(const std::vector<uint8_t> &bytes, size_t run,
                                       int64_t times) {
    std::vector<uint8_t> result;
    result.reserve(bytes.size() * static_cast<size_t>(times));
    for (size_t at = 0; at < bytes.size(); at += run)
      for (int64_t i = 0; i < times; ++i)
        result.insert(result.end(), bytes.begin() + at, bytes.begin() + at + run);
    return result;
  }

  const Dims &dims(ValueId id) const { return plan_.values[id].dims; }

  ValueId newValue(ValueId like, Dims dims) {
    plan_.values.push_back({plan_.values[like].dtype, ValueKind::Temp, 0, std::move(dims)});
    return static_cast<ValueId>(plan_.values.size() - 1);
  }

  static Step reshape(ValueId from, ValueId to) {
    Step step;
    step.kind = StepKind::Reshape;
    step.inputs = {from};
    step.output = to;
    return step;
  }

  ValueId reshaped(ValueId id, const Dims &wanted) {
    if (dims(id) == wanted)
      return id;
    ValueId result = newValue(id, wanted);
    plan_.steps.push_back(reshape(id, result));
    return result;
  }

  Plan &plan_;
  const Accepts &accepts_;
};

} // namespace

void spellBroadcasts(Plan &plan, const Accepts &accepts) { BroadcastSpeller(plan, accepts).run(); }

} // namespace bycc::onednn
