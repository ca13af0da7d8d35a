// See SpellBroadcasts.h.
#include "SpellBroadcasts.h"

#include "PlanEditor.h"

#include <memory>

namespace bycc::onednn {

namespace {

// What a stretched constant may take: more than that is a copy of the data, nearly.
constexpr int64_t maxStretchedBytes = int64_t(4) << 20;

class BroadcastSpeller : PlanEditor {
public:
  BroadcastSpeller(Plan &plan, const Accepts &accepts) : PlanEditor(plan), accepts_(accepts) {}

  void run() {
    for (At step = steps_.begin(); step != steps_.end(); ++step)
      if (step->kind == StepKind::Binary && !accepts_(plan_, *step))
        spell(step);
    finish();
  }

private:
  // Extents of both operands.
  struct Axes {
    Dims left, right;
  };

  void spell(At step) {
    ValueId right = step->inputs[1];
    Axes axes = merged({dims(step->inputs[0]), dims(right)});
    if (spellAs(step, axes, right))
      return;
    size_t numValues = plan_.values.size(), numConstants = plan_.constants.size();
    std::optional<ValueId> stretched = stretch(right, axes);
    if (stretched && !spellAs(step, merged({axes.left, dims(*stretched)}), *stretched)) {
      dropValues(numValues);
      plan_.constants.resize(numConstants);
    }
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

  bool spellAs(At step, const Axes &axes, ValueId right) {
    size_t numValues = plan_.values.size();
    std::vector<ValueId> inputs{reshapeBefore(step, step->inputs[0], axes.left),
                                reshapeBefore(step, right, axes.right)};
    At piece = steps_.insert(step, *step);
    piece->inputs = std::move(inputs);
    piece->output = addValue({dtype(step->output), ValueKind::Temp, 0, axes.left}, piece);
    countUses(*piece, 1);
    if (!accepts_(plan_, *piece)) {
      dropValues(numValues);
      return false;
    }
    countUses(*step, -1);
    ValueId result = step->output;
    *step = {};
    step->kind = StepKind::Reshape;
    step->inputs = {piece->output};
    step->output = result;
    countUses(*step, 1);
    return true;
  }

  // The constant along all axes but a first one that it lacks.
  std::optional<ValueId> stretch(ValueId right, const Axes &axes) {
    Value constant = plan_.values[beforeReshapes(right)];
    Dims wanted = axes.left;
    if (axes.right[0] == 1)
      wanted[0] = 1;
    auto size = static_cast<size_t>(sizeInBytes(constant.dtype));
    if (constant.kind != ValueKind::Constant ||
        numElements(wanted) > maxStretchedBytes / static_cast<int64_t>(size))
      return std::nullopt;
    ConstantBytes bytes = stretched(plan_.constants[constant.where], {wanted, axes.right}, size);
    constant.where = plan_.constants.size();
    constant.dims = std::move(wanted);
    plan_.constants.push_back(std::move(bytes));
    return addValue(std::move(constant), steps_.end());
  }

  ValueId beforeReshapes(ValueId id) const {
    while (maker_[id] != steps_.end() && maker_[id]->kind == StepKind::Reshape)
      id = maker_[id]->inputs[0];
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
    auto owner = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
    return ConstantBytes(owner, owner->data());
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

  const Accepts &accepts_;
};

} // namespace

void spellBroadcasts(Plan &plan, const Accepts &accepts) { BroadcastSpeller(plan, accepts).run(); }

} // namespace bycc::onednn
