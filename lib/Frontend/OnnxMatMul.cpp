// Products of matrices. A weight is used as it lies in the file, so that no
// import copies hundreds of megabytes: (K, N) is nn.matmul's right operand,
// (N, K) (Gemm with transB) is nn.dense's.
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include <algorithm>

namespace bycc::onnx {
namespace {

Expected<NodeId> scaled(OpContext &op, NodeId node, double factor) {
  if (factor == 1)
    return node;
  return op.call("multiply", {node, op.scalar(op.dtype(node), factor)});
}

AttrValue units(Dim dim) { return dim.isConst() ? AttrValue(dim.value()) : AttrValue(); }

Expected<NodeId> matrixProduct(OpContext &op, NodeId a, NodeId b, bool transA, bool transB) {
  if (NodeId made = transA ? NodeId() : BYCC_TRY(weightOnlyProduct(op, a, b, transB)))
    return made;
  AttrDict attrs{{"units", units(op.shape(b)[transB ? 0 : 1])}};
  if (transB && !transA)
    return op.call("nn.dense", {a, b}, std::move(attrs));
  attrs.push_back({"transpose_a", transA});
  attrs.push_back({"transpose_b", transB});
  return op.call("nn.matmul", {a, b}, std::move(attrs));
}

} // namespace

Expected<> convertGemm(OpContext &op) {
  NodeId a = op.input(0), b = op.input(1);
  if (op.rank(a) != 2 || op.rank(b) != 2)
    return op.error() << "operands of rank " << op.rank(a) << " and " << op.rank(b) << ", wanted 2";
  bool transA = BYCC_TRY(op.intAttr("transA", 0)) != 0;
  bool transB = BYCC_TRY(op.intAttr("transB", 0)) != 0;
  double alpha = BYCC_TRY(op.floatAttr("alpha", 1)), beta = BYCC_TRY(op.floatAttr("beta", 1));
  NodeId result = BYCC_TRY(matrixProduct(op, a, b, transA, transB));
  result = BYCC_TRY(scaled(op, result, alpha));
  if (!op.has(2) || beta == 0) {
    op.ignoreAttr("broadcast");
    op.setOutput(0, result);
    return {};
  }
  NodeId c = BYCC_TRY(scaled(op, op.input(2), beta));
  bool isBroadcast = op.opset() >= 7 || BYCC_TRY(op.intAttr("broadcast", 0)) != 0;
  if (!isBroadcast && op.shape(c) != op.shape(result))
    return op.error() << "C of type " << op.types().str(op.module().type(c))
                      << " without broadcast";
  bool isBias = op.rank(c) == 1 && op.shape(c)[0] == op.shape(result)[1];
  NodeId sum = BYCC_TRY(op.call(isBias ? "nn.bias_add" : "add", {result, c}));
  std::vector<Dim> wanted = op.shape(result), made = op.shape(sum);
  bool fits = std::equal(made.begin(), made.end(), wanted.begin(), wanted.end(),
                         [](Dim a, Dim b) { return a == b || !a.isConst() || !b.isConst(); });
  if (!fits)
    return op.error() << "C of type " << op.types().str(op.module().type(c))
                      << " does not broadcast to the product";
  op.setOutput(0, sum);
  return {};
}

namespace {

int64_t product(const std::vector<int64_t> &shape, size_t begin, size_t end) {
  int64_t result = 1; // of dims of one checked type: no overflow
  for (size_t i = begin; i < end; ++i)
    result *= shape[i];
  return result;
}

// The extents that the leading axes of two stacks of one rank broadcast to.
Expected<NodeId> commonBatch(OpContext &op, NodeId a, NodeId b) {
  NodeId left = BYCC_TRY(extentsOf(op, a)), right = BYCC_TRY(extentsOf(op, b));
  NodeId isOne = BYCC_TRY(op.call("equal", {left, op.scalar(DType::Int64, 1)}));
  NodeId parts[3] = {left, right, BYCC_TRY(op.call("where", {isOne, right, left}))};
  std::vector<int64_t> from;
  int64_t rank = op.rank(a);
  for (int64_t i = 0; i + 2 < rank; ++i) {
    Dim x = op.shape(a)[i], y = op.shape(b)[i];
    bool isLeft = y == Dim(1) || (x.isConst() && x != Dim(1));
    bool isRight = x == Dim(1) || (y.isConst() && y != Dim(1));
    from.push_back(i + (isLeft ? 0 : isRight ? rank : 2 * rank));
  }
  return pick(op, BYCC_TRY(join(op, parts)), from);
}

// All leading axes of a stack as one.
Expected<NodeId> toOneBatch(OpContext &op, NodeId stack) {
  while (op.rank(stack) > 3) {
    std::vector<int64_t> codes(static_cast<size_t>(op.rank(stack)) - 1, 0); // copied
    codes[0] = -3;                                                          // two axes as one
    stack = BYCC_TRY(op.call("reshape", {stack}, {{"newshape", AttrValue::ints(codes)}}));
  }
  return stack;
}

// Stacks whose extents are not all known. Leading axes that are equal stay as they
// are, others are broadcast first.
Expected<NodeId> stackedProductAtRunTime(OpContext &op, NodeId a, NodeId b) {
  int64_t rank = std::max(op.rank(a), op.rank(b));
  NodeId sides[2] = {a, b};
  for (NodeId &side : sides)
    if (int64_t missing = rank - op.rank(side))
      side = BYCC_TRY(op.call("expand_dims", {side}, {{"axis", 0}, {"num_newaxis", missing}}));
  std::vector<Dim> left = op.shape(sides[0]), right = op.shape(sides[1]);
  bool isSame = std::equal(left.begin(), left.end() - 2, right.begin(),
                           [](Dim x, Dim y) { return x == y && !x.isUnknown(); });
  if (!isSame) {
    NodeId batch = BYCC_TRY(commonBatch(op, sides[0], sides[1]));
    for (NodeId &side : sides) {
      NodeId matrix = BYCC_TRY(
          pick(op, BYCC_TRY(extentsOf(op, side)), std::vector<int64_t>{rank - 2, rank - 1}));
      NodeId shape[2] = {batch, matrix};
      side = BYCC_TRY(op.call("dyn.broadcast_to", {side, BYCC_TRY(join(op, shape))}));
    }
  }
  NodeId result = BYCC_TRY(op.call(
      "nn.batch_matmul", {BYCC_TRY(toOneBatch(op, sides[0])), BYCC_TRY(toOneBatch(op, sides[1]))}));
  if (rank == 3)
    return result;
  return op.call("reshape_like", {result, sides[0]}, {{"lhs_end", 1}, {"rhs_end", rank - 2}});
}

// Stacks of matrices: both sides to rank 3 with one batch axis, and back.
Expected<NodeId> stackedProduct(OpContext &op, NodeId a, NodeId b) {
  if (!op.isStatic(a) || !op.isStatic(b))
    return stackedProductAtRunTime(op, a, b);
  std::vector<int64_t> aShape = BYCC_TRY(op.staticShape(a)), bShape = BYCC_TRY(op.staticShape(b));
  size_t rank = std::max(aShape.size(), bShape.size());
  while (aShape.size() < rank)
    aShape.insert(aShape.begin(), 1);
  while (bShape.size() < rank)
    bShape.insert(bShape.begin(), 1);
  std::vector<int64_t> batch;
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (aShape[i] != bShape[i] && aShape[i] != 1 && bShape[i] != 1)
      return op.error() << "batch dims " << aShape[i] << " and " << bShape[i]
                        << " do not broadcast";
    batch.push_back(aShape[i] == 1 ? bShape[i] : aShape[i]);
  }
  int64_t count = product(batch, 0, batch.size());
  // nn.batch_matmul broadcasts a batch of one; anything between is made explicit.
  auto toStack = [&](NodeId node, std::vector<int64_t> shape) -> Expected<NodeId> {
    int64_t own = product(shape, 0, rank - 2);
    if (own != 1 && own != count) {
      std::vector<int64_t> full = batch;
      full.insert(full.end(), shape.end() - 2, shape.end());
      node = BYCC_TRY(op.call("broadcast_to", {node}, {{"shape", AttrValue::ints(full)}}));
      own = count;
    }
    int64_t stack[3] = {own, shape[rank - 2], shape[rank - 1]};
    return op.reshape(node, stack);
  };
  NodeId left = BYCC_TRY(toStack(a, aShape)), right = BYCC_TRY(toStack(b, bShape));
  NodeId result = BYCC_TRY(op.call("nn.batch_matmul", {left, right}));
  std::vector<int64_t> shape = batch;
  shape.push_back(aShape[rank - 2]);
  shape.push_back(bShape[rank - 1]);
  return op.reshape(result, shape);
}

// One matrix on the right: all leading axes of the left are rows of one product.
Expected<NodeId> rowsProduct(OpContext &op, NodeId a, NodeId b) {
  AttrDict attrs{{"units", units(op.shape(b)[1])}};
  if (op.rank(a) == 2)
    return op.call("nn.matmul", {a, b}, std::move(attrs));
  if (!op.isStatic(a) || !op.isStatic(b)) // the rows cannot be counted: nn.dense takes any rank
    return op.call("nn.dense", {a, BYCC_TRY(op.transpose(b, std::vector<int64_t>{1, 0}))},
                   std::move(attrs));
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(a));
  int64_t rows[2] = {product(shape, 0, shape.size() - 1), shape.back()};
  NodeId result =
      BYCC_TRY(op.call("nn.matmul", {BYCC_TRY(op.reshape(a, rows)), b}, std::move(attrs)));
  shape.back() = op.shape(b)[1].value();
  NodeId reshaped = BYCC_TRY(op.reshape(result, shape));
  op.importer().noteRowsProduct(reshaped, result);
  return reshaped;
}

} // namespace

// NumPy's matmul: vectors are matrices with an axis that goes again, a matrix on
// the right serves every row of the left, the rest are stacks.
Expected<NodeId> matmulOf(OpContext &op, NodeId a, NodeId b) {
  bool isRow = op.rank(a) == 1, isColumn = op.rank(b) == 1;
  if (op.rank(a) == 0 || op.rank(b) == 0)
    return op.error() << "an operand of rank 0";
  if (isRow)
    a = BYCC_TRY(op.call("expand_dims", {a}, {{"axis", 0}}));
  if (isColumn)
    b = BYCC_TRY(op.call("expand_dims", {b}, {{"axis", 1}}));
  Dim inner = op.shape(a).back(), other = op.shape(b)[op.rank(b) - 2];
  if (inner.isConst() && other.isConst() && inner != other)
    return op.error() << "inner dims " << inner.value() << " and " << other.value()
                      << " differ, of " << op.types().str(op.module().type(a)) << " and "
                      << op.types().str(op.module().type(b));
  NodeId result;
  if (op.rank(b) == 2) {
    result = BYCC_TRY(weightOnlyProduct(op, a, b, false));
    if (!result)
      result = BYCC_TRY(rowsProduct(op, a, b));
  } else {
    result = BYCC_TRY(stackedProduct(op, a, b));
  }
  std::vector<int64_t> dropped;
  if (isRow)
    dropped.push_back(op.rank(result) - 2);
  if (isColumn)
    dropped.push_back(op.rank(result) - 1);
  if (!dropped.empty())
    result = BYCC_TRY(op.call("squeeze", {result}, {{"axis", AttrValue::ints(dropped)}}));
  return result;
}

Expected<> convertMatMul(OpContext &op) {
  op.setOutput(0, BYCC_TRY(matmulOf(op, op.input(0), op.input(1))));
  return {};
}

Expected<> convertEinsum(OpContext &op) {
  std::string equation = BYCC_TRY(op.textAttr("equation", ""));
  if (equation.empty())
    return op.error() << "attribute 'equation' is missing";
  std::vector<NodeId> operands;
  for (size_t i = 0; i < op.numInputs(); ++i)
    operands.push_back(op.input(i));
  op.setOutput(0, BYCC_TRY(op.call("einsum", {op.tuple(operands)}, {{"equation", equation}})));
  return {};
}

} // namespace bycc::onnx
