// Quantised operators (qnn.*) as steps with scales and zero points. Products give
// int32 as the graph says; Fuse.h then puts bias, activation and the change of scale
// that follow into them, which is the only form the library runs fast.
//
// Numerics: the library scales in float32 and rounds to the nearest, ties to even,
// once. Where the definition is fixed-point, or rounds operands of a sum before they
// are added, a result may differ by one unit.
#include "Translate.h"

#include <algorithm>
#include <cmath>

namespace bycc::onednn {

namespace {

// The scales at an operand, positive and finite.
Expected<std::vector<float>> scalesAt(const Call &call, size_t input) {
  std::optional<std::vector<float>> scales = floatsOf(call.value(input));
  if (!scales)
    return error(Status::Unsup) << call.node.op() << ": a scale that is no constant of float32";
  for (float scale : *scales)
    if (!(scale > 0) || !std::isfinite(scale))
      return error(Status::Unsup) << call.node.op() << ": a scale is positive and finite, got "
                                  << scale;
  if (std::all_of(scales->begin(), scales->end(), [&](float s) { return s == scales->front(); }))
    scales->resize(1);
  return std::move(*scales);
}

Expected<float> scaleAt(const Call &call, size_t input) {
  std::vector<float> scales = BYCC_TRY(scalesAt(call, input));
  if (scales.size() != 1)
    return error(Status::Unsup) << call.node.op() << ": a scale per channel is not supported here";
  return scales[0];
}

Expected<int32_t> zeroAt(const Call &call, size_t input) {
  std::optional<std::vector<int64_t>> zeros = integersOf(call.value(input));
  if (!zeros)
    return error(Status::Unsup) << call.node.op() << ": a zero point that is no integer constant";
  for (int64_t zero : *zeros)
    if (zero != zeros->front())
      return error(Status::Unsup) << call.node.op() << ": zero points differ between channels";
  return static_cast<int32_t>(zeros->front());
}

Expected<> checkResult(const Call &call, std::initializer_list<DType> allowed) {
  if (std::find(allowed.begin(), allowed.end(), call.resultDType) == allowed.end())
    return error(Status::Unsup) << call.node.op() << ": a result of " << name(call.resultDType)
                                << " is not supported";
  return {};
}

Expected<> check8Bit(const PlanBuilder &plan, const Call &call, size_t input) {
  DType dtype = plan.dtype(call.inputs[input]);
  if (!isQuantized(dtype))
    return error(Status::Unsup) << call.node.op() << ": operand of " << name(dtype)
                                << ", wanted int8 or uint8";
  return {};
}

// --- change of scale

ValueId convertAll(PlanBuilder &plan, ValueId id, float scale, int32_t zeroIn, int32_t zeroOut,
                   DType dtype) {
  Step step;
  step.kind = StepKind::Convert;
  step.scales = {scale};
  step.zeroIn = zeroIn;
  step.zeroOut = zeroOut;
  step.inputs = {id};
  Dims dims = plan.dims(id);
  return plan.addStep(std::move(step), dims, dtype);
}

// scale * (x - zeroIn) + zeroOut; several scales go along the axis.
Expected<ValueId> convert(PlanBuilder &plan, const Call &call, std::vector<float> scales,
                          int32_t zeroIn, int32_t zeroOut) {
  Step step;
  step.kind = StepKind::Convert;
  const Dims dims = plan.dims(call.inputs[0]);
  if (scales.size() > 1)
    step.axis = vendor::axisOf(call.node.integer("axis", -1), dims.size());
  if (scales.size() > 1 && static_cast<int64_t>(scales.size()) != dims[step.axis])
    return error(Status::Unsup) << call.node.op() << ": " << scales.size() << " scales for "
                                << dims[step.axis] << " channels";
  step.scales = std::move(scales);
  step.zeroIn = zeroIn;
  step.zeroOut = zeroOut;
  step.inputs = {call.inputs[0]};
  return plan.addStep(std::move(step), dims, call.resultDType);
}

Expected<ValueId> requantize(PlanBuilder &plan, const Call &call) {
  if (plan.dtype(call.inputs[0]) == DType::Float32)
    return error(Status::Unsup) << "qnn.requantize of float32";
  BYCC_TRY(checkResult(call, {DType::Int8, DType::UInt8}));
  std::vector<float> scales = BYCC_TRY(scalesAt(call, 1));
  float out = BYCC_TRY(scaleAt(call, 3));
  for (float &scale : scales)
    scale = static_cast<float>(double{scale} / double{out});
  int32_t zeroIn = BYCC_TRY(zeroAt(call, 2)), zeroOut = BYCC_TRY(zeroAt(call, 4));
  return convert(plan, call, std::move(scales), zeroIn, zeroOut);
}

Expected<ValueId> quantize(PlanBuilder &plan, const Call &call) {
  if (plan.dtype(call.inputs[0]) != DType::Float32)
    return error(Status::Unsup) << "qnn.quantize of " << name(plan.dtype(call.inputs[0]));
  BYCC_TRY(checkResult(call, {DType::Int8, DType::UInt8}));
  std::vector<float> scales = BYCC_TRY(scalesAt(call, 1));
  for (float &scale : scales)
    scale = 1 / scale;
  return convert(plan, call, std::move(scales), 0, BYCC_TRY(zeroAt(call, 2)));
}

Expected<ValueId> dequantize(PlanBuilder &plan, const Call &call) {
  BYCC_TRY(checkResult(call, {DType::Float32}));
  return convert(plan, call, BYCC_TRY(scalesAt(call, 1)), BYCC_TRY(zeroAt(call, 2)), 0);
}

// --- products

// Elements of a constant minus the zero point, if all fit int8.
bool fitsInt8(const bycc_value &value, int32_t zero) {
  std::optional<std::vector<int64_t>> elements = integersOf(value);
  return elements && std::all_of(elements->begin(), elements->end(), [&](int64_t element) {
           return element - zero >= -128 && element - zero <= 127;
         });
}

// The library's weights are int8: others are shifted, together with the zero point.
// Constants take the whole zero point where that fits.
Expected<QuantizedOperands> operandsOf(PlanBuilder &plan, const Call &call) {
  BYCC_TRY(check8Bit(plan, call, 0));
  BYCC_TRY(check8Bit(plan, call, 1));
  BYCC_TRY(checkResult(call, {DType::Int32}));
  QuantizedOperands out;
  out.zeroIn = BYCC_TRY(zeroAt(call, 2));
  out.zeroWeights = BYCC_TRY(zeroAt(call, 3));
  out.weights = call.inputs[1];
  int32_t shift = plan.dtype(out.weights) == DType::UInt8 ? 128 : 0;
  if (out.zeroWeights != 0 && fitsInt8(call.value(1), out.zeroWeights))
    shift = out.zeroWeights;
  if (shift == 0)
    return out;
  Step step;
  step.kind = StepKind::Convert;
  step.zeroIn = shift;
  step.inputs = {out.weights};
  out.weights = plan.addStep(std::move(step), plan.dims(out.weights), DType::Int8);
  out.zeroWeights -= shift;
  return out;
}

template <bool isTransposed> Expected<ValueId> conv2d(PlanBuilder &plan, const Call &call) {
  QuantizedOperands operands = BYCC_TRY(operandsOf(plan, call));
  return convolution(plan, call, 2, isTransposed, &operands);
}

Expected<ValueId> quantizedDense(PlanBuilder &plan, const Call &call) {
  QuantizedOperands operands = BYCC_TRY(operandsOf(plan, call));
  return dense(plan, call, &operands);
}

Expected<ValueId> batchMatmul(PlanBuilder &plan, const Call &call) {
  QuantizedOperands operands = BYCC_TRY(operandsOf(plan, call));
  return matmul(plan, call, &operands);
}

// --- sums

// sa/so * a  +  sb/so * b  +  (zo - za*sa/so - zb*sb/so), for `sign` = 1
Expected<ValueId> addOrSubtract(PlanBuilder &plan, const Call &call, float sign) {
  BYCC_TRY(check8Bit(plan, call, 0));
  BYCC_TRY(check8Bit(plan, call, 1));
  BYCC_TRY(checkResult(call, {DType::Int8, DType::UInt8}));
  double out = double{BYCC_TRY(scaleAt(call, 6))};
  double left = double{BYCC_TRY(scaleAt(call, 2))} / out;
  double right = double{sign} * double{BYCC_TRY(scaleAt(call, 4))} / out;
  double shift = BYCC_TRY(zeroAt(call, 7)) - left * BYCC_TRY(zeroAt(call, 3)) -
                 right * BYCC_TRY(zeroAt(call, 5));
  Step step;
  step.kind = StepKind::Binary;
  step.math = Math::Add;
  step.inputs = {plan.padRank(call.inputs[0], call.result.size()),
                 plan.padRank(call.inputs[1], call.result.size())};
  step.scales = {static_cast<float>(left), static_cast<float>(right)};
  if (plan.dims(step.inputs[0]) != call.result) {
    std::swap(step.inputs[0], step.inputs[1]);
    std::swap(step.scales[0], step.scales[1]);
  }
  if (plan.dims(step.inputs[0]) != call.result)
    return error(Status::Unsup) << call.node.op() << ": oneDNN broadcasts one of the operands only";
  if (shift != 0)
    step.postOps.push_back({Math::Linear, 1, static_cast<float>(shift), noValue});
  return plan.addStep(std::move(step), call.result, call.resultDType);
}

// sa*sb/so * (a - za) * (b - zb) + zo, through float32 where a zero point is not 0.
Expected<ValueId> multiply(PlanBuilder &plan, const Call &call) {
  BYCC_TRY(check8Bit(plan, call, 0));
  BYCC_TRY(check8Bit(plan, call, 1));
  BYCC_TRY(checkResult(call, {DType::Int8, DType::UInt8}));
  double scale = double{BYCC_TRY(scaleAt(call, 2))} * double{BYCC_TRY(scaleAt(call, 4))} /
                 double{BYCC_TRY(scaleAt(call, 6))};
  int32_t zeros[] = {BYCC_TRY(zeroAt(call, 3)), BYCC_TRY(zeroAt(call, 5))};
  int32_t zeroOut = BYCC_TRY(zeroAt(call, 7));
  bool isFloat = zeros[0] != 0 || zeros[1] != 0;
  Step step;
  step.kind = StepKind::Binary;
  step.math = Math::Mul;
  for (size_t i = 0; i < 2; ++i) {
    ValueId id = plan.padRank(call.inputs[i], call.result.size());
    step.inputs.push_back(isFloat ? convertAll(plan, id, 1, zeros[i], 0, DType::Float32) : id);
  }
  if (plan.dims(step.inputs[0]) != call.result)
    std::swap(step.inputs[0], step.inputs[1]);
  if (plan.dims(step.inputs[0]) != call.result)
    return error(Status::Unsup) << "qnn.mul: oneDNN broadcasts one of the operands only";
  if (isFloat)
    return convertAll(plan, plan.addStep(std::move(step), call.result), static_cast<float>(scale),
                      0, zeroOut, call.resultDType);
  step.scales = {static_cast<float>(scale), 1};
  if (zeroOut != 0)
    step.postOps.push_back({Math::Linear, 1, static_cast<float>(zeroOut), noValue});
  return plan.addStep(std::move(step), call.result, call.resultDType);
}

Expected<ValueId> add(PlanBuilder &plan, const Call &call) { return addOrSubtract(plan, call, 1); }
Expected<ValueId> subtract(PlanBuilder &plan, const Call &call) {
  return addOrSubtract(plan, call, -1);
}

// --- through float32

Expected<ValueId> quantizedConcatenate(PlanBuilder &plan, const Call &call) {
  size_t count = (call.inputs.size() - 2) / 3;
  if (count == 0 || call.inputs.size() != 3 * count + 2)
    return error(Status::Unsup) << "qnn.concatenate with " << call.inputs.size() << " operands";
  float out = BYCC_TRY(scaleAt(call, 3 * count));
  int32_t zeroOut = BYCC_TRY(zeroAt(call, 3 * count + 1));
  Step step;
  step.kind = StepKind::Concat;
  step.axis = vendor::axisOf(call.node.integer("axis", 0), call.result.size());
  for (size_t i = 0; i < count; ++i) {
    BYCC_TRY(check8Bit(plan, call, i));
    float scale = BYCC_TRY(scaleAt(call, count + i));
    int32_t zero = BYCC_TRY(zeroAt(call, 2 * count + i));
    bool isThere =
        scale == out && zero == zeroOut && plan.dtype(call.inputs[i]) == call.resultDType;
    step.inputs.push_back(
        isThere ? call.inputs[i]
                : convertAll(plan, call.inputs[i], scale / out, zero, zeroOut, call.resultDType));
  }
  if (count == 1)
    return step.inputs[0];
  return plan.addStep(std::move(step), call.result, call.resultDType);
}

// Operands (x, scale, zero point, scale, zero point): the result of `inner` on real
// values in units of `unit`.
template <typename F>
Expected<ValueId> throughFloat(PlanBuilder &plan, const Call &call, float unit, F inner) {
  BYCC_TRY(check8Bit(plan, call, 0));
  BYCC_TRY(checkResult(call, {DType::Int8, DType::UInt8}));
  float in = BYCC_TRY(scaleAt(call, 1)), out = BYCC_TRY(scaleAt(call, 3));
  int32_t zeroIn = BYCC_TRY(zeroAt(call, 2)), zeroOut = BYCC_TRY(zeroAt(call, 4));
  Call real = call;
  real.inputs[0] = convertAll(plan, call.inputs[0], in / unit, zeroIn, 0, DType::Float32);
  real.resultDType = DType::Float32;
  ValueId result = BYCC_TRY(inner(real));
  return convertAll(plan, result, unit / out, 0, zeroOut, call.resultDType);
}

Expected<ValueId> averagePool(PlanBuilder &plan, const Call &call) {
  bool isPadded = false;
  for (int64_t pad : call.node.integers("padding", {}))
    isPadded |= pad != 0;
  if (isPadded && call.node.flag("count_include_pad", false))
    return error(Status::Unsup) << "qnn.avg_pool2d with count_include_pad";
  return throughFloat(plan, call, BYCC_TRY(scaleAt(call, 1)),
                      [&](const Call &real) { return averagePool2d(plan, real); });
}

template <Math math> Expected<ValueId> function(PlanBuilder &plan, const Call &call) {
  return throughFloat(plan, call, 1, [&](const Call &real) -> Expected<ValueId> {
    Step step;
    step.kind = StepKind::Eltwise;
    step.math = math;
    step.inputs = {real.inputs[0]};
    return plan.addStep(std::move(step), call.result);
  });
}

} // namespace

std::vector<Operator> quantizedOperators() {
  return {
      {"qnn.abs", 5, 5, function<Math::Abs>, Takes::Mixed},
      {"qnn.add", 8, 8, add, Takes::Mixed},
      {"qnn.avg_pool2d", 5, 5, averagePool, Takes::Mixed},
      {"qnn.batch_matmul", 6, 6, batchMatmul, Takes::Mixed},
      {"qnn.concatenate", 5, 1024, quantizedConcatenate, Takes::Mixed},
      {"qnn.conv2d", 6, 6, conv2d<false>, Takes::Mixed},
      {"qnn.conv2d_transpose", 6, 6, conv2d<true>, Takes::Mixed},
      {"qnn.dense", 6, 6, quantizedDense, Takes::Mixed},
      {"qnn.dequantize", 3, 3, dequantize, Takes::Mixed},
      {"qnn.exp", 5, 5, function<Math::Exp>, Takes::Mixed},
      {"qnn.log", 5, 5, function<Math::Log>, Takes::Mixed},
      {"qnn.mul", 8, 8, multiply, Takes::Mixed},
      {"qnn.quantize", 3, 3, quantize, Takes::Mixed},
      {"qnn.requantize", 5, 5, requantize, Takes::Mixed},
      {"qnn.sigmoid", 5, 5, function<Math::Sigmoid>, Takes::Mixed},
      {"qnn.sqrt", 5, 5, function<Math::Sqrt>, Takes::Mixed},
      {"qnn.subtract", 8, 8, subtract, Takes::Mixed},
      {"qnn.tanh", 5, 5, function<Math::Tanh>, Takes::Mixed},
  };
}

} // namespace bycc::onednn
