// dense, matmul and batch_matmul as matmul steps; transposed operands are
// permute views, which a matmul reads by its strides.
#include "Translate.h"

namespace bycc::onednn {

namespace {

ValueId swapLastTwo(PlanBuilder &plan, ValueId id) {
  size_t rank = plan.dims(id).size();
  Dims permutation(rank);
  for (size_t i = 0; i < rank; ++i)
    permutation[i] = static_cast<int64_t>(i);
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  return plan.permute(id, permutation);
}

Expected<> checkInner(const Dims &a, const Dims &b) {
  if (a.back() != b[b.size() - 2])
    return error(Status::Unsup) << "operands " << text(a) << " and " << text(b) << " do not fit";
  return {};
}

ValueId multiply(PlanBuilder &plan, const Call &call, ValueId a, ValueId b, const Dims &result,
                 const QuantizedOperands *quantized) {
  Step step;
  step.kind = StepKind::MatMul;
  step.inputs = {a, b};
  if (quantized)
    step.zeroIn = quantized->zeroIn, step.zeroWeights = quantized->zeroWeights;
  return plan.addStep(std::move(step), result, call.resultDType);
}

ValueId weightsOf(const Call &call, const QuantizedOperands *quantized) {
  return quantized ? quantized->weights : call.inputs[1];
}

} // namespace

// (.., K) x (U, K): leading axes are rows.
Expected<ValueId> dense(PlanBuilder &plan, const Call &call, const QuantizedOperands *quantized) {
  const Dims data = plan.dims(call.inputs[0]);
  ValueId weights = weightsOf(call, quantized);
  if (plan.dims(weights).size() != 2)
    return error(Status::Unsup) << "weights of rank " << plan.dims(weights).size() << ", wanted 2";
  Dims rows = {numElements(data) / data.back(), data.back()};
  ValueId a = plan.reshape(call.inputs[0], rows), b = swapLastTwo(plan, weights);
  BYCC_TRY(checkInner(rows, plan.dims(b)));
  ValueId product = multiply(plan, call, a, b, {rows[0], plan.dims(b)[1]}, quantized);
  Dims wanted = data;
  wanted.back() = plan.dims(b)[1];
  return plan.reshape(product, wanted);
}

// A batch gets a leading axis of extent 1: for operands of rank 3 with strides, as heads
// of attention are, the library has a slower kernel than for rank 4.
Expected<ValueId> matmul(PlanBuilder &plan, const Call &call, const QuantizedOperands *quantized) {
  size_t rank = plan.dims(call.inputs[0]).size();
  ValueId a = call.inputs[0], b = weightsOf(call, quantized);
  if (rank < 2 || plan.dims(b).size() != rank)
    return error(Status::Unsup) << "operands of rank " << rank << " and " << plan.dims(b).size();
  if (call.node.flag("transpose_a", false))
    a = swapLastTwo(plan, a);
  if (call.node.flag("transpose_b", false))
    b = swapLastTwo(plan, b);
  BYCC_TRY(checkInner(plan.dims(a), plan.dims(b)));
  Dims result = plan.dims(a);
  for (size_t i = 0; i + 2 < rank; ++i)
    result[i] = std::max(result[i], plan.dims(b)[i]);
  result[rank - 1] = plan.dims(b)[rank - 1];
  if (rank != 3)
    return multiply(plan, call, a, b, result, quantized);
  Dims wide = result;
  wide.insert(wide.begin(), 1);
  return plan.reshape(multiply(plan, call, plan.padRank(a, 4), plan.padRank(b, 4), wide, quantized),
                      result);
}

namespace {

Expected<ValueId> plainDense(PlanBuilder &plan, const Call &call) {
  return dense(plan, call, nullptr);
}
Expected<ValueId> plainMatmul(PlanBuilder &plan, const Call &call) {
  return matmul(plan, call, nullptr);
}

} // namespace

std::vector<Operator> matMulOperators() {
  return {
      {"nn.batch_matmul", 2, 2, plainMatmul},
      {"nn.dense", 2, 2, plainDense},
      {"nn.matmul", 2, 2, plainMatmul},
  };
}

} // namespace bycc::onednn
