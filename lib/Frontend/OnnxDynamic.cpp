#include "OnnxDynamic.h"

#include <algorithm>
#include <numeric>

namespace bycc::onnx {

Expected<NodeId> runTimeInts(OpContext &op, size_t index, std::string_view what,
                             std::optional<int64_t> length) {
  if (!op.has(index))
    return op.error() << what << " is missing";
  NodeId node = op.input(index);
  if (!isInt(op.dtype(node)) || op.rank(node) > 1)
    return op.error() << what << " of type " << op.types().str(op.module().type(node))
                      << ", wanted a vector of integers";
  node = BYCC_TRY(op.cast(node, DType::Int64));
  if (op.rank(node) == 0)
    return op.call("expand_dims", {node}, {{"axis", 0}});
  if (op.shape(node)[0].isConst())
    return node;
  if (!length)
    return op.error(Status::Unsup).note("a declared shape of the node's output would tell")
           << "how many values " << what << " has must be known when the model is read";
  return op.call("reshape", {node}, {{"newshape", AttrValue::ints({&*length, 1})}});
}

Expected<NodeId> runTimeInt(OpContext &op, size_t index, std::string_view what) {
  if (!op.has(index))
    return op.error() << what << " is missing";
  NodeId node = op.input(index);
  if (!isInt(op.dtype(node)))
    return op.error() << what << " of type " << op.types().str(op.module().type(node))
                      << ", wanted an integer";
  node = BYCC_TRY(op.cast(node, DType::Int64));
  return op.rank(node) == 0 ? Expected<NodeId>(node) : op.reshape(node, {});
}

int64_t lengthOf(OpContext &op, NodeId vector) { return op.shape(vector)[0].value(); }

Expected<NodeId> extentsOf(OpContext &op, NodeId x) {
  if (op.isStatic(x))
    return op.ints(BYCC_TRY(op.staticShape(x)));
  return op.call("shape_of", {x}, {{"dtype", "int64"}});
}

Expected<NodeId> extentOf(OpContext &op, NodeId x, int64_t axis) {
  Dim dim = op.shape(x)[axis];
  if (dim.isConst())
    return op.scalar(DType::Int64, static_cast<double>(dim.value()));
  return op.call("take",
                 {BYCC_TRY(extentsOf(op, x)), op.scalar(DType::Int64, static_cast<double>(axis))},
                 {{"axis", 0}});
}

Expected<NodeId> pick(OpContext &op, NodeId vector, std::span<const int64_t> positions) {
  return op.call("take", {vector, op.ints(positions)}, {{"axis", 0}});
}

Expected<NodeId> join(OpContext &op, std::span<const NodeId> vectors) {
  if (vectors.size() == 1)
    return vectors[0];
  return op.call("concatenate", {op.tuple(vectors)}, {{"axis", 0}});
}

NodeId iota(OpContext &op, int64_t count, int64_t begin) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), begin);
  return op.ints(values);
}

Expected<AxisMask> axisMask(OpContext &op, NodeId axes, int64_t rank) {
  NodeId zero = op.scalar(DType::Int64, 0);
  NodeId wrapped =
      BYCC_TRY(op.call("add", {axes, op.scalar(DType::Int64, static_cast<double>(rank))}));
  NodeId isNegative = BYCC_TRY(op.call("less", {axes, zero}));
  NodeId positive = BYCC_TRY(op.call("where", {isNegative, wrapped, axes}));
  NodeId rows = BYCC_TRY(op.call("expand_dims", {iota(op, rank)}, {{"axis", 1}}));
  AxisMask mask;
  mask.isAxis = BYCC_TRY(op.call("equal", {rows, positive}));
  mask.isAny = BYCC_TRY(op.call("any", {mask.isAxis}, {{"axis", AttrValue::List{1}}}));
  return mask;
}

Expected<NodeId> spread(OpContext &op, const AxisMask &mask, NodeId values, int64_t other) {
  NodeId chosen = BYCC_TRY(op.call("where", {mask.isAxis, values, op.scalar(DType::Int64, 0)}));
  NodeId perAxis = BYCC_TRY(op.call("sum", {chosen}, {{"axis", AttrValue::List{1}}}));
  return op.call("where", {mask.isAny, perAxis, op.ints({&other, 1})});
}

Expected<NodeId> reshapeTo(OpContext &op, NodeId x, NodeId shape) {
  return op.call("dyn.reshape", {x, shape}, {{"allowzero", 1}});
}

Expected<NodeId> flattened(OpContext &op, NodeId x, int64_t axis) {
  int64_t rank = op.rank(x);
  if (op.isStatic(x)) {
    std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
    int64_t flat[2] = {1, 1};
    for (int64_t i = 0; i < rank; ++i)
      flat[i >= axis] *= shape[i];
    bool hasZero = flat[0] == 0 || flat[1] == 0;
    return op.call(
        "reshape", {x},
        {{"newshape", AttrValue::ints(flat)}, {"allowzero", static_cast<int64_t>(hasZero)}});
  }
  if (axis == 1)
    return op.call("nn.batch_flatten", {x});
  NodeId extents = BYCC_TRY(extentsOf(op, x));
  auto productOf = [&](int64_t begin, int64_t end) -> Expected<NodeId> {
    std::vector<int64_t> axes;
    for (int64_t i = begin; i < end; ++i)
      axes.push_back(i);
    return op.call("prod", {BYCC_TRY(pick(op, extents, axes))}, {{"keepdims", true}});
  };
  NodeId flat[2] = {BYCC_TRY(productOf(0, axis)), BYCC_TRY(productOf(axis, rank))};
  return reshapeTo(op, x, BYCC_TRY(join(op, flat)));
}

Expected<NodeId> reshapedLike(OpContext &op, NodeId x, NodeId like) {
  if (op.isStatic(like)) {
    std::vector<int64_t> shape = BYCC_TRY(op.staticShape(like));
    bool hasZero = std::count(shape.begin(), shape.end(), 0) > 0;
    return hasZero
               ? op.call("reshape", {x}, {{"newshape", AttrValue::ints(shape)}, {"allowzero", 1}})
               : op.reshape(x, shape);
  }
  return reshapeTo(op, x, BYCC_TRY(extentsOf(op, like)));
}

} // namespace bycc::onnx
