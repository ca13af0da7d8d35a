// dense, matmul and batch_matmul as matmul steps; transposed operands are
// permute views, which a matmul reads by its strides.
#include "Translate.h"

namespace bycc::onednn {

namespace {

Expected<> checkOutDType(const Call &call) {
  std::string_view dtype = call.node.string("out_dtype", "");
  if (!dtype.empty() && dtype != "float32")
    return error(Status::Unsup) << "out_dtype " << std::string(dtype) << " is not supported";
  return {};
}

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

ValueId multiply(PlanBuilder &plan, ValueId a, ValueId b, const Dims &result) {
  Step step;
  step.kind = StepKind::MatMul;
  step.inputs = {a, b};
  return plan.addStep(std::move(step), result);
}

// (.., K) x (U, K): leading axes are rows.
Expected<ValueId> dense(PlanBuilder &plan, const Call &call) {
  BYCC_TRY(checkOutDType(call));
  const Dims data = plan.dims(call.inputs[0]);
  if (plan.dims(call.inputs[1]).size() != 2)
    return error(Status::Unsup) << "weights of rank " << plan.dims(call.inputs[1]).size()
                                << ", wanted 2";
  Dims rows = {numElements(data) / data.back(), data.back()};
  ValueId a = plan.reshape(call.inputs[0], rows), b = swapLastTwo(plan, call.inputs[1]);
  BYCC_TRY(checkInner(rows, plan.dims(b)));
  ValueId product = multiply(plan, a, b, {rows[0], plan.dims(b)[1]});
  Dims wanted = data;
  wanted.back() = plan.dims(b)[1];
  return plan.reshape(product, wanted);
}

Expected<ValueId> matmul(PlanBuilder &plan, const Call &call) {
  BYCC_TRY(checkOutDType(call));
  size_t rank = plan.dims(call.inputs[0]).size();
  if (rank < 2 || plan.dims(call.inputs[1]).size() != rank)
    return error(Status::Unsup) << "operands of rank " << rank << " and "
                                << plan.dims(call.inputs[1]).size();
  ValueId a = call.inputs[0], b = call.inputs[1];
  if (call.node.flag("transpose_a", false))
    a = swapLastTwo(plan, a);
  if (call.node.flag("transpose_b", false))
    b = swapLastTwo(plan, b);
  BYCC_TRY(checkInner(plan.dims(a), plan.dims(b)));
  Dims result = plan.dims(a);
  for (size_t i = 0; i + 2 < rank; ++i)
    result[i] = std::max(result[i], plan.dims(b)[i]);
  result[rank - 1] = plan.dims(b)[rank - 1];
  return multiply(plan, a, b, result);
}

} // namespace

std::vector<Operator> matMulOperators() {
  return {
      {"nn.batch_matmul", 2, 2, matmul},
      {"nn.dense", 2, 2, dense},
      {"nn.matmul", 2, 2, matmul},
  };
}

} // namespace bycc::onednn
