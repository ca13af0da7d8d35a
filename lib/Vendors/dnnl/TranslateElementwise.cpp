// Elementwise functions, broadcasting arithmetic, softmax, layer norm and
// reductions.
#include "Translate.h"

#include <algorithm>
#include <cmath>

namespace bycc::onednn {

namespace {

ValueId eltwise(PlanBuilder &plan, ValueId input, Math math, double alpha = 0, double beta = 0) {
  Step step;
  step.kind = StepKind::Eltwise;
  step.math = math;
  step.alpha = static_cast<float>(alpha);
  step.beta = static_cast<float>(beta);
  step.inputs = {input};
  Dims dims = plan.dims(input);
  return plan.addStep(std::move(step), dims);
}

template <Math math> Expected<ValueId> unary(PlanBuilder &plan, const Call &call) {
  return eltwise(plan, call.inputs[0], math);
}

Expected<ValueId> leakyRelu(PlanBuilder &plan, const Call &call) {
  return eltwise(plan, call.inputs[0], Math::Relu, call.node.number("alpha", 0.25));
}

Expected<ValueId> clip(PlanBuilder &plan, const Call &call) {
  double low = call.node.number("a_min", -INFINITY), high = call.node.number("a_max", INFINITY);
  if (!(low <= high))
    return error(Status::Unsup) << "clip from " << low << " to " << high;
  if (!isReal(plan.dtype(call.inputs[0])))
    low = std::ceil(low), high = std::floor(high);
  return eltwise(plan, call.inputs[0], Math::Clip, low, high);
}

Expected<ValueId> negative(PlanBuilder &plan, const Call &call) {
  return eltwise(plan, call.inputs[0], Math::Linear, -1, 0);
}

Expected<ValueId> rsqrt(PlanBuilder &plan, const Call &call) {
  return eltwise(plan, call.inputs[0], Math::Pow, 1, -0.5);
}

Expected<ValueId> refuseRound(PlanBuilder &, const Call &) {
  return error(Status::Unsup) << "round: oneDNN rounds halves to even, the operator away from zero";
}

// An error of 1e-6 near 1 is all there is of log(1 + exp(x)) for a small exp(x).
Expected<ValueId> refuseLog(PlanBuilder &, const Call &) {
  return error(Status::Unsup) << "log: oneDNN's is off by up to 3e-6 near 1";
}

// Masks are rows of infinities, and programs ask which rows are nothing else.
Expected<ValueId> refuseExtremum(PlanBuilder &, const Call &call) {
  return error(Status::Unsup) << call.node.op()
                              << ": oneDNN's reduction of infinities only is a finite number";
}

// x^p for a constant p that has one element. The library calls powf for each element, 20 to
// 60 ns, but for some p.
Expected<ValueId> power(PlanBuilder &plan, const Call &call) {
  std::optional<double> exponent = call.scalar(1);
  ValueId x = call.inputs[0];
  if (!exponent || plan.dims(x) != call.result)
    return error(Status::Unsup) << "power with an exponent that is no scalar constant";
  if (*exponent == 3) {
    auto multiply = [&](ValueId left) {
      Step step;
      step.kind = StepKind::Binary;
      step.math = Math::Mul;
      step.inputs = {left, x};
      return plan.addStep(std::move(step), call.result);
    };
    return multiply(multiply(x));
  }
  static constexpr double vectors[] = {-1, 0, 0.5, 1, 2};
  if (std::ranges::find(vectors, *exponent) == std::end(vectors))
    return error(Status::Unsup) << "power by " << *exponent
                                << ": oneDNN computes each element alone";
  return eltwise(plan, x, Math::Pow, 1, *exponent);
}

// Arithmetic with a scalar constant is alpha*x + beta.
std::optional<std::pair<double, double>> linearOf(Math math, double scalar, bool isLeft) {
  switch (math) {
  case Math::Add:
    return std::pair(1.0, scalar);
  case Math::Mul:
    return std::pair(scalar, 0.0);
  case Math::Sub:
    return isLeft ? std::pair(-1.0, scalar) : std::pair(1.0, -scalar);
  case Math::Div: {
    // Exact only when the reciprocal is; else the division stays one.
    int exponent;
    if (isLeft || std::fabs(std::frexp(scalar, &exponent)) != 0.5)
      return std::nullopt;
    return std::pair(1.0 / scalar, 0.0);
  }
  default:
    return std::nullopt;
  }
}

std::optional<ValueId> withScalar(PlanBuilder &plan, const Call &call, Math math) {
  for (size_t i = 0; i < 2; ++i) {
    std::optional<double> scalar = call.scalar(i);
    ValueId other = call.inputs[1 - i];
    if (!scalar || !std::isfinite(*scalar) || plan.dims(other) != call.result)
      continue;
    if (auto linear = linearOf(math, *scalar, i == 0))
      return eltwise(plan, other, Math::Linear, linear->first, linear->second);
  }
  return std::nullopt;
}

// The library broadcasts the right operand only.
template <Math math> Expected<ValueId> binary(PlanBuilder &plan, const Call &call) {
  if (std::optional<ValueId> linear = withScalar(plan, call, math))
    return *linear;
  ValueId left = plan.padRank(call.inputs[0], call.result.size());
  ValueId right = plan.padRank(call.inputs[1], call.result.size());
  if (plan.dims(left) != call.result && plan.dims(right) == call.result && isCommutative(math))
    std::swap(left, right);
  if (plan.dims(left) != call.result)
    return error(Status::Unsup) << call.node.op() << " of " << text(plan.dims(left)) << " and "
                                << text(plan.dims(right))
                                << ": oneDNN broadcasts the right operand only";
  Step step;
  step.kind = StepKind::Binary;
  step.math = math;
  step.inputs = {left, right};
  return plan.addStep(std::move(step), call.result);
}

Expected<ValueId> biasAdd(PlanBuilder &plan, const Call &call) {
  const Dims data = plan.dims(call.inputs[0]);
  uint32_t axis = vendor::axisOf(call.node.integer("axis", 1), data.size());
  Dims bias(data.size(), 1);
  bias[axis] = data[axis];
  if (plan.dims(call.inputs[1]) != Dims{data[axis]})
    return error(Status::Unsup) << "bias " << text(plan.dims(call.inputs[1])) << " for "
                                << text(data) << " along axis " << axis;
  Step step;
  step.kind = StepKind::Binary;
  step.math = Math::Add;
  step.inputs = {call.inputs[0], plan.reshape(call.inputs[1], bias)};
  return plan.addStep(std::move(step), data);
}

template <Math math> Expected<ValueId> softmax(PlanBuilder &plan, const Call &call) {
  const Dims data = plan.dims(call.inputs[0]);
  Step step;
  step.kind = StepKind::Softmax;
  step.math = math;
  step.axis = vendor::axisOf(call.node.integer("axis", -1), data.size());
  step.inputs = {call.inputs[0]};
  return plan.addStep(std::move(step), data);
}

// The library's scales and shifts are float32 whatever the data is.
ValueId inFloat32(PlanBuilder &plan, ValueId id) {
  if (plan.dtype(id) == DType::Float32)
    return id;
  Step step;
  step.kind = StepKind::Convert;
  step.inputs = {id};
  Dims dims = plan.dims(id);
  return plan.addStep(std::move(step), dims, DType::Float32);
}

Expected<ValueId> layerNorm(PlanBuilder &plan, const Call &call) {
  const Dims data = plan.dims(call.inputs[0]);
  uint32_t axis = vendor::axisOf(call.node.integer("axis", -1), data.size());
  if (axis + 1 != data.size())
    return error(Status::Unsup) << "nn.layer_norm along axis " << axis
                                << ", oneDNN takes the last one only";
  double epsilon = call.node.number("epsilon", 1e-5);
  if (!(epsilon >= 0))
    return error(Status::Unsup) << "epsilon " << epsilon;
  Step step;
  step.kind = StepKind::LayerNorm;
  step.alpha = static_cast<float>(epsilon);
  Dims rows = {numElements(data) / data.back(), data.back()};
  step.inputs = {plan.reshape(call.inputs[0], rows)};
  step.hasScale = call.node.flag("scale", true);
  step.hasShift = call.node.flag("center", true);
  if (step.hasScale)
    step.inputs.push_back(inFloat32(plan, call.inputs[1]));
  if (step.hasShift)
    step.inputs.push_back(inFloat32(plan, call.inputs[2]));
  for (size_t i = 1; i < step.inputs.size(); ++i)
    if (plan.dims(step.inputs[i]) != Dims{data.back()})
      return error(Status::Unsup) << "scale or shift of shape " << text(plan.dims(step.inputs[i]))
                                  << ", wanted " << text({data.back()});
  return plan.reshape(plan.addStep(std::move(step), rows), data);
}

Expected<std::vector<bool>> reducedAxes(const Call &call, size_t rank) {
  std::vector<bool> out(rank);
  if (!call.node.has("axis"))
    return std::vector<bool>(rank, true);
  for (int64_t axis : call.node.integers("axis"))
    out[vendor::axisOf(axis, rank)] = true;
  if (call.node.flag("exclude", false))
    out.flip();
  return out;
}

// A mean over all spatial axes is a pooling, which knows blocked layouts.
ValueId meanAsPool(PlanBuilder &plan, ValueId input, const Dims &result) {
  const Dims data = plan.dims(input);
  Step step;
  step.kind = StepKind::Pool;
  step.math = Math::AvgPoolInside;
  step.kernel.assign(data.begin() + 2, data.end());
  step.strides = step.dilation = Dims(step.kernel.size(), 1);
  step.padBegin = step.padEnd = Dims(step.kernel.size(), 0);
  step.inputs = {input};
  return plan.addStep(std::move(step), result);
}

template <Math math> Expected<ValueId> reduce(PlanBuilder &plan, const Call &call) {
  const Dims data = plan.dims(call.inputs[0]);
  std::vector<bool> axes = BYCC_TRY(reducedAxes(call, data.size()));
  Dims kept = data;
  bool isSpatial = data.size() >= 3 && data.size() <= 5;
  for (size_t i = 0; i < data.size(); ++i) {
    isSpatial &= axes[i] == (i >= 2);
    if (axes[i])
      kept[i] = 1;
  }
  if (kept == data)
    return plan.reshape(call.inputs[0], call.result);
  if (math == Math::Mean && isSpatial)
    return plan.reshape(meanAsPool(plan, call.inputs[0], kept), call.result);
  Step step;
  step.kind = StepKind::Reduce;
  step.math = math;
  step.inputs = {call.inputs[0]};
  return plan.reshape(plan.addStep(std::move(step), kept), call.result);
}

} // namespace

std::vector<Operator> elementwiseOperators() {
  return {
      {"abs", 1, 1, unary<Math::Abs>},
      {"add", 2, 2, binary<Math::Add>, Takes::FloatOr32Bit},
      {"clip", 1, 1, clip, Takes::Any},
      {"divide", 2, 2, binary<Math::Div>},
      {"exp", 1, 1, unary<Math::Exp>},
      {"log", 1, 1, refuseLog},
      {"max", 1, 1, refuseExtremum},
      {"maximum", 2, 2, binary<Math::Max>},
      {"mean", 1, 1, reduce<Math::Mean>},
      {"min", 1, 1, refuseExtremum},
      {"minimum", 2, 2, binary<Math::Min>},
      {"multiply", 2, 2, binary<Math::Mul>},
      {"negative", 1, 1, negative},
      {"nn.bias_add", 2, 2, biasAdd, Takes::FloatOr32Bit},
      {"nn.layer_norm", 3, 3, layerNorm},
      {"nn.leaky_relu", 1, 1, leakyRelu},
      {"nn.log_softmax", 1, 1, softmax<Math::LogSoftmax>},
      {"nn.relu", 1, 1, unary<Math::Relu>, Takes::Any},
      {"nn.softmax", 1, 1, softmax<Math::Softmax>},
      {"power", 2, 2, power},
      {"round", 1, 1, refuseRound},
      {"rsqrt", 1, 1, rsqrt},
      {"sigmoid", 1, 1, unary<Math::Sigmoid>},
      {"sqrt", 1, 1, unary<Math::Sqrt>},
      {"subtract", 2, 2, binary<Math::Sub>},
      {"sum", 1, 1, reduce<Math::Add>},
      {"tanh", 1, 1, unary<Math::Tanh>},
  };
}

} // namespace bycc::onednn
