// Floating-point operations of a call: 2 per multiply-add, 1 per other
// arithmetic result, 0 for data movement. Extents that are open count as what they
// likely are (bycc/IR/LikelyExtents.h).

#include "Shape.h"

#include "bycc/IR/Einsum.h"
#include "bycc/IR/LikelyExtents.h"
#include "bycc/IR/Module.h"

#include <algorithm>

namespace bycc::flops {
namespace {

double count(const TypeTable &types, TypeId type) {
  if (types.kind(type) == TypeKind::Tuple)
    return types.fields(type).empty() ? 0 : count(types, types.fields(type)[0]);
  if (!types.isTensor(type))
    return 0;
  return likelyElements(types, type);
}

double results(const Module &module, NodeId call) { return count(module.types, module.type(call)); }

double inputs(const Module &module, NodeId call, size_t index = 0) {
  auto operands = module.operands(call);
  return index < operands.size() ? count(module.types, module.type(operands[index])) : 0;
}

double extent(const Module &module, NodeId call, size_t operand, int64_t axis) {
  auto shape = module.types.shape(module.type(module.operands(call)[operand]));
  size_t at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis);
  return at < shape.size() ? static_cast<double>(module.types.likely(shape[at])) : 1;
}

// Elements of a convolution's weight that go into one output element.
double weightsPerOutput(const Module &module, NodeId call, size_t weight, char outLetter) {
  auto layout = Layout::parse(attrs::text(module, call, "kernel_layout"));
  double out = 1;
  auto shape = module.types.shape(module.type(module.operands(call)[weight]));
  for (size_t i = 0; layout && i < layout->rank() && i < shape.size(); ++i)
    if (layout->axes()[i].letter == outLetter)
      out *= static_cast<double>(module.types.likely(shape[i]));
  return out > 0 ? inputs(module, call, weight) / out : 0;
}

} // namespace

double noFlops(const Module &, NodeId) { return 0; }
double perResult(const Module &module, NodeId call) { return results(module, call); }
double eightPerResult(const Module &module, NodeId call) { return 8 * results(module, call); }
double perInput(const Module &module, NodeId call) { return inputs(module, call); }
double threePerInput(const Module &module, NodeId call) { return 3 * inputs(module, call); }
double fourPerInput(const Module &module, NodeId call) { return 4 * inputs(module, call); }
double fivePerInput(const Module &module, NodeId call) { return 5 * inputs(module, call); }
double sevenPerInput(const Module &module, NodeId call) { return 7 * inputs(module, call); }

double lrnFlops(const Module &module, NodeId call) {
  return (2 * static_cast<double>(attrs::integer(module, call, "size")) + 4) * inputs(module, call);
}

double convFlops(const Module &module, NodeId call) {
  size_t weight = module.operands(call).size() - 1; // after the offsets of a deformable one
  return 2 * results(module, call) * weightsPerOutput(module, call, weight, 'O');
}

double qnnConvFlops(const Module &module, NodeId call) {
  return 2 * results(module, call) * weightsPerOutput(module, call, 1, 'O');
}

double convTransposeFlops(const Module &module, NodeId call) {
  return 2 * inputs(module, call) * weightsPerOutput(module, call, 1, 'I');
}

double matmulFlops(const Module &module, NodeId call) {
  const AttrValue *transpose = module.attr(call, "transpose_a");
  int64_t inner = transpose && transpose->asBool() ? -2 : -1;
  return 2 * results(module, call) * extent(module, call, 0, inner);
}

double poolFlops(const Module &module, NodeId call) {
  auto window = attrs::integers(module, call, "pool_size");
  auto layout = Layout::parse(attrs::text(module, call, "layout"));
  size_t axes = layout ? layout->primal().size() - 2 : window.size();
  double size = 1;
  for (size_t i = 0; i < axes; ++i)
    size *= static_cast<double>(window.size() == 1 ? window[0] : window[i]);
  return results(module, call) * size;
}

double dilation2dFlops(const Module &module, NodeId call) {
  return 2 * results(module, call) * weightsPerOutput(module, call, 1, 'I');
}

double einsumFlops(const Module &module, NodeId call) {
  // One multiply-add per point of the whole index space.
  const TypeTable &types = module.types;
  auto fields = types.fields(module.type(module.operands(call)[0]));
  std::vector<size_t> ranks;
  for (TypeId field : fields)
    ranks.push_back(types.shape(field).size());
  auto einsum = parseEinsum(attrs::text(module, call, "equation"), ranks);
  if (!einsum)
    return 0;
  std::vector<double> extents(einsum->numLabels, 1);
  for (size_t i = 0; i < fields.size(); ++i)
    for (size_t d = 0; d < ranks[i]; ++d)
      if (int64_t extent = types.likely(types.shape(fields[i])[d]); extent != 1)
        extents[einsum->inputs[i][d]] = static_cast<double>(extent);
  double points = 1;
  for (double each : extents)
    points *= each;
  return 2 * points;
}

double sparseDenseFlops(const Module &module, NodeId call) {
  // One multiply-add per stored value and row of the dense matrix.
  return 2 * inputs(module, call, 1) * extent(module, call, 0, 0);
}

} // namespace bycc::flops
