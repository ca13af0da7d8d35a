// See SpellPads.h.
#include "SpellPads.h"

#include <cstring>

namespace bycc::onednn {

namespace {

class Speller {
public:
  explicit Speller(Plan &plan) : plan_(plan) {}

  void run() {
    std::vector<Step> steps = std::move(plan_.steps);
    plan_.steps.clear();
    for (Step &step : steps)
      if (step.kind == StepKind::Pad)
        spell(step);
      else
        plan_.steps.push_back(std::move(step));
  }

private:
  void spell(const Step &pad) {
    ValueId value = pad.inputs[0];
    size_t left = 0;
    for (size_t axis = 0; axis < pad.padBegin.size(); ++axis)
      left += isPadded(pad, axis);
    for (size_t axis = 0; left > 0; ++axis)
      if (isPadded(pad, axis))
        value = padAxis(pad, axis, value, --left == 0);
  }

  static bool isPadded(const Step &pad, size_t axis) {
    return pad.padBegin[axis] > 0 || pad.padEnd[axis] > 0;
  }

  ValueId padAxis(const Step &pad, size_t axis, ValueId value, bool isLast) {
    std::vector<ValueId> parts;
    if (pad.padBegin[axis] > 0)
      parts.push_back(border(pad, axis, pad.padBegin[axis], value));
    parts.push_back(value);
    if (pad.padEnd[axis] > 0)
      parts.push_back(border(pad, axis, pad.padEnd[axis], value));
    Value result = plan_.values[value];
    result.kind = ValueKind::Temp;
    result.where = 0;
    result.dims[axis] += pad.padBegin[axis] + pad.padEnd[axis];
    ValueId output = pad.output;
    if (!isLast) {
      plan_.values.push_back(result);
      output = static_cast<ValueId>(plan_.values.size() - 1);
    }
    Step concat;
    concat.kind = StepKind::Concat;
    concat.axis = static_cast<uint32_t>(axis);
    concat.source = pad.source;
    concat.inputs = std::move(parts);
    concat.output = output;
    plan_.steps.push_back(std::move(concat));
    return output;
  }

  ValueId border(const Step &pad, size_t axis, int64_t extent, ValueId value) {
    Value constant = plan_.values[value];
    constant.kind = ValueKind::Constant;
    constant.where = plan_.constants.size();
    constant.dims[axis] = extent;
    plan_.constants.push_back(filled(constant, pad.zeroOut));
    plan_.values.push_back(std::move(constant));
    return static_cast<ValueId>(plan_.values.size() - 1);
  }

  static ConstantBytes filled(const Value &value, int32_t with) {
    auto size = static_cast<size_t>(sizeInBytes(value.dtype));
    auto count = static_cast<size_t>(numElements(value.dims));
    std::shared_ptr<uint8_t[]> bytes(new uint8_t[count * size]);
    uint8_t element[sizeof(float)] = {};
    encode(value.dtype, with, element);
    for (size_t i = 0; i < count; ++i)
      std::memcpy(bytes.get() + i * size, element, size);
    return ConstantBytes(bytes, bytes.get());
  }

  static void encode(DType dtype, int32_t number, uint8_t *element) {
    auto real = static_cast<float>(number);
    uint16_t half = floatToBFloat16(real);
    if (dtype == DType::Float32)
      std::memcpy(element, &real, sizeof real);
    else if (dtype == DType::BFloat16)
      std::memcpy(element, &half, sizeof half);
    else
      std::memcpy(element, &number, static_cast<size_t>(sizeInBytes(dtype))); // little-endian
  }

  Plan &plan_;
};

} // namespace

void spellPads(Plan &plan) { Speller(plan).run(); }

} // namespace bycc::onednn
