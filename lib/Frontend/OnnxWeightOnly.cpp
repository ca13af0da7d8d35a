// Weights of 4 or 8 bits beside activations that are real: products that keep them so
// (nn.dense_weight_only), and rows of tables. They come as operators of ONNX Runtime's own, or as
// ONNX's DequantizeLinear of a constant that a product reads.
#include "OnnxCompose.h"
#include "OnnxConverters.h"

#include <algorithm>

namespace bycc::onnx {
namespace {

// Of each row, `count` values of 4 bits, two to a byte, the lower one first; the last half byte of an
// odd row is not used.
Expected<NodeId> unpackedRows(OpContext &op, NodeId node, int64_t rows, int64_t count) {
  Module &module = op.module();
  if (!module.isConstant(node))
    return op.error(Status::Unsup) << "zero points of 4 bits that are not constant";
  const Constant &packed = module.constant(node);
  int64_t perRow = (count + 1) / 2;
  if (static_cast<int64_t>(packed.bytes) != rows * perRow)
    return op.error() << "zero points of " << packed.bytes << " bytes, wanted " << rows * perRow;
  std::vector<uint8_t> values;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < count; ++i)
      values.push_back(halfAt(packed.data() + row * perRow, i));
  return module.addConstant(DType::UInt8, {{Dim(rows), Dim(count)}}, values.data(), values.size());
}

struct Blocks {
  int64_t units, count, size, bits;
};

Expected<NodeId> rowsOf(OpContext &op, NodeId node, int64_t units, int64_t perUnit,
                        std::string_view what) {
  auto elements = op.types().numElements(op.module().type(node));
  if (elements != units * perUnit)
    return op.error() << what << " of type " << op.types().str(op.module().type(node))
                      << ", wanted " << units << " x " << perUnit << " elements";
  return op.reshape(node, std::vector<int64_t>{units, perUnit});
}

// The zero point in the middle of the range, or for each block one: packed, or a number each.
Expected<NodeId> zeroOfBlocks(OpContext &op, size_t index, const Blocks &b) {
  if (!op.has(index))
    return op.scalar(DType::UInt8, static_cast<double>(int64_t{1} << (b.bits - 1)));
  NodeId zero = op.input(index);
  if (op.dtype(zero) == DType::UInt8 && b.bits == 4)
    return unpackedRows(op, zero, b.units, b.count);
  if (op.dtype(zero) != DType::UInt8)
    zero = BYCC_TRY(op.cast(zero, DType::Float32));
  return rowsOf(op, zero, b.units, b.count, "zero_points");
}

Expected<Blocks> blocksOf(OpContext &op, int64_t depth, int64_t units, int64_t size) {
  Blocks b{units, 0, size, BYCC_TRY(op.intAttr("bits", 4))};
  constexpr int64_t most = 1 << 30; // so that products of them are exact
  bool isLegal = depth >= 1 && depth <= most && units >= 1 && units <= most;
  if (!isLegal || size < 2 || size > most || size % 2 != 0)
    return op.error() << depth << " x " << units << " weights in blocks of " << size;
  if (b.bits != 4 && b.bits != 8)
    return op.error(Status::Unsup) << "weights of " << b.bits << " bits";
  b.count = (depth + size - 1) / size;
  return b;
}

// Zeros behind the last axis, up to a whole number of blocks.
Expected<NodeId> padded(OpContext &op, NodeId x, int64_t depth, int64_t wanted) {
  if (depth == wanted)
    return x;
  std::vector<std::array<int64_t, 2>> widths(static_cast<size_t>(op.rank(x)), {0, 0});
  widths.back()[1] = wanted - depth;
  Compose c(op);
  return c.done(c.pad(x, widths, 0));
}

} // namespace

Expected<> convertMatMulNBits(OpContext &op) {
  int64_t depth = BYCC_TRY(op.requiredInt("K")), units = BYCC_TRY(op.requiredInt("N"));
  Blocks b = BYCC_TRY(blocksOf(op, depth, units, BYCC_TRY(op.requiredInt("block_size"))));
  op.ignoreAttr("accuracy_level"); // the least that is wanted; here it is that of float32
  if (op.has(4) || BYCC_TRY(op.intAttr("weight_prepacked", 0)) != 0)
    return op.error(Status::Unsup) << (op.has(4) ? "g_idx" : "weights packed for a GPU");
  NodeId x = op.input(0), weight = op.input(1);
  DType type = op.dtype(x);
  if (op.dtype(weight) != DType::UInt8)
    return op.error() << "B is " << name(op.dtype(weight)) << ", wanted uint8";
  weight = BYCC_TRY(rowsOf(op, weight, units, b.count * b.size * b.bits / 8, "B"));
  NodeId scale = BYCC_TRY(op.cast(op.input(2), DType::Float32)),
         zero = BYCC_TRY(zeroOfBlocks(op, 3, b));
  scale = BYCC_TRY(rowsOf(op, scale, units, b.count, "scales"));
  x = BYCC_TRY(padded(op, BYCC_TRY(op.cast(x, DType::Float32)), depth, b.count * b.size));
  NodeId y =
      BYCC_TRY(op.call("nn.dense_weight_only", {x, weight, scale, zero}, {{"bits", b.bits}}));
  if (op.has(5))
    y = BYCC_TRY(op.call("nn.bias_add", {y, BYCC_TRY(op.cast(op.input(5), DType::Float32))},
                         {{"axis", -1}}));
  op.setOutput(0, BYCC_TRY(op.cast(y, type)));
  return {};
}

namespace {

// Values of 4 bits, two to a byte along the last axis, one to a byte.
NodeId unpacked(Compose &c, OpContext &op, NodeId bytes) {
  NodeId parts[2] = {c.call("bitwise_and", {bytes, c.scalar(DType::UInt8, 15)}),
                     c.call("right_shift", {bytes, c.scalar(DType::UInt8, 4)})};
  NodeId pairs = c.stack(parts, op.rank(bytes));
  return c.call("reshape", {pairs}, {{"newshape", AttrValue::List{-1}}});
}

} // namespace

// Rows of the table first, what they stand for then.
Expected<> convertGatherBlockQuantized(OpContext &op) {
  NodeId data = op.input(0), indices = op.input(1);
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(data));
  int64_t rank = static_cast<int64_t>(shape.size());
  int64_t gather = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("gather_axis", 0)), rank)),
          along = BYCC_TRY(op.normalAxis(BYCC_TRY(op.intAttr("quantize_axis", 1)), rank)),
          block = BYCC_TRY(op.intAttr("block_size", 128));
  bool isPacked = op.dtype(data) == DType::UInt8 && !op.importer().isFourBits(data);
  int64_t bits = BYCC_TRY(op.intAttr("bits", 4)), perByte = isPacked && bits == 4 ? 2 : 1;
  if (isPacked && bits != 4 && bits != 8)
    return op.error(Status::Unsup) << "values of " << bits << " bits";
  if (rank != 2 || gather != 0 || along != 1)
    return op.error(Status::Unsup) << "other tables than those of rows in blocks";
  Blocks b{shape[0], 0, block, perByte == 2 ? 4 : 8};
  int64_t columns = shape[1] * perByte;
  if (block < 1 || columns % block != 0)
    return op.error(Status::Unsup) << "rows of " << columns << " in blocks of " << block;
  b.count = columns / block;
  NodeId scale = op.input(2), zero;
  if (op.has(3) || isPacked)
    zero = BYCC_TRY(zeroOfBlocks(op, 3, b));
  NodeId rows = BYCC_TRY(gatherAlong(op, data, indices, 0));
  NodeId scales = BYCC_TRY(gatherAlong(op, scale, indices, 0));
  Compose c(op);
  NodeId values = perByte == 2 ? unpacked(c, op, rows) : rows;
  AttrDict parted{{"newshape", AttrValue::List{-1, b.count, block}}},
      each{{"newshape", AttrValue::List{-1, b.count, int64_t{1}}}};
  NodeId real = c.cast(c.call("reshape", {values}, parted), op.dtype(scale));
  if (zero && op.rank(zero) > 0)
    zero = c.call("reshape", {BYCC_TRY(gatherAlong(op, zero, indices, 0))}, each);
  if (zero)
    real = c.sub(real, c.cast(zero, op.dtype(scale)));
  real = c.mul(real, c.call("reshape", {scales}, each));
  // (.., count) of the scales tells the leading extents.
  NodeId result = c.call(
      "reshape_like",
      {c.call("reshape", {real}, {{"newshape", AttrValue::List{-1, columns}}}), scales},
      {{"lhs_begin", 0}, {"lhs_end", 1}, {"rhs_begin", 0}, {"rhs_end", op.rank(scales) - 1}});
  op.setOutput(0, BYCC_TRY(c.done(result)));
  return {};
}

namespace {

// Rows (units, depth) of 4 bits each, two to a byte; signed ones 8 higher.
std::vector<uint8_t> packedHalves(const uint8_t *from, int64_t units, int64_t depth,
                                  bool isTransposed, uint8_t shift) {
  std::vector<uint8_t> bytes(static_cast<size_t>(units * depth / 2));
  for (int64_t n = 0; n < units; ++n)
    for (int64_t k = 0; k < depth; ++k) {
      uint8_t value =
          static_cast<uint8_t>(from[isTransposed ? n * depth + k : k * units + n] + shift);
      bytes[static_cast<size_t>((n * depth + k) / 2)] |= (value & 15) << (k % 2 ? 4 : 0);
    }
  return bytes;
}

// A scale or zero point as (units, blocks).
Expected<NodeId> byUnit(OpContext &op, NodeId node, bool isBlocked, bool isTransposed) {
  if (!isBlocked)
    return op.reshape(node, std::vector<int64_t>{op.shape(node)[0].value(), 1});
  return isTransposed ? node : op.transpose(node, std::vector<int64_t>{1, 0});
}

} // namespace

Expected<NodeId> weightOnlyProduct(OpContext &op, NodeId x, NodeId weight, bool isTransposed) {
  const StoredWeight *stored = op.importer().storedWeightOf(weight);
  if (!stored || op.dtype(x) != DType::Float32 || op.rank(x) < 1 ||
      op.module().node(x).op == ops::qnn_dequantize)
    return NodeId();
  isTransposed = isTransposed != stored->isTransposed;
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(stored->values));
  int64_t depthAxis = isTransposed ? 1 : 0, depth = shape[depthAxis], units = shape[1 - depthAxis];
  bool isBlocked = stored->block > 0, hasHalves = op.importer().isFourBits(stored->values);
  int64_t block = isBlocked ? stored->block : depth;
  if (stored->axis != (isBlocked ? depthAxis : 1 - depthAxis) || block < 1 || depth % block != 0 ||
      (hasHalves && block % 2 != 0))
    return NodeId();
  NodeId scale = BYCC_TRY(byUnit(op, stored->scale, isBlocked, isTransposed));
  NodeId zero = stored->zero, values = stored->values;
  bool isShifted = hasHalves && op.dtype(values) == DType::Int8;
  if (zero) {
    zero = BYCC_TRY(op.cast(BYCC_TRY(byUnit(op, zero, isBlocked, isTransposed)), DType::Float32));
    if (isShifted)
      zero = BYCC_TRY(op.call("add", {zero, op.scalar(DType::Float32, 8)}));
  } else {
    zero = op.scalar(DType::UInt8, isShifted ? 8 : 0);
  }
  if (hasHalves) {
    std::vector<uint8_t> bytes = packedHalves(op.module().constant(values).data(), units, depth,
                                              isTransposed, isShifted ? 8 : 0);
    values = op.module().addConstant(DType::UInt8, {{Dim(units), Dim(depth / 2)}}, bytes.data(),
                                     bytes.size());
  } else if (!isTransposed) {
    values = BYCC_TRY(op.transpose(values, std::vector<int64_t>{1, 0}));
  }
  return op.call("nn.dense_weight_only", {x, values, scale, zero}, {{"bits", hasHalves ? 4 : 8}});
}

} // namespace bycc::onnx
