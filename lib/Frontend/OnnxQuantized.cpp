// Quantised operators. ONNX rounds ties to even and computes with the real values,
// which is what rounding and compute_dtype of the qnn operators say here. Scales
// become float32, zero points int32; a scale of one element is one value. What the
// qnn operators do not have (blocks, scales per row, stacks that broadcast,
// convolutions of rank 5) is written in plain operators.
#include "OnnxAttention.h"
#include "OnnxConverters.h"
#include "OnnxScales.h"
#include "OnnxWindow.h"

#include <cstdint>

namespace bycc::onnx {

// One scale for all is a rank-0 operand whatever the model writes.
static Expected<NodeId> oneOrMany(OpContext &op, NodeId node) {
  std::vector<Dim> shape = op.shape(node);
  if (shape.size() == 1 && shape[0] == Dim(1))
    return op.reshape(node, {});
  return node;
}

// Scales are float32; floats of 16 bits came with the opset `since`, and int32, which is
// for quantising integers, with 19.
static Expected<> checkScale(OpContext &op, size_t index, int64_t since, bool takesInt32) {
  DType dtype = op.dtype(op.input(index));
  bool isNarrow = dtype == DType::Float16 || dtype == DType::BFloat16;
  if (dtype == DType::Float32 || (isNarrow && op.opset() >= since) ||
      (dtype == DType::Int32 && takesInt32 && op.opset() >= 19))
    return {};
  return op.error() << "the scale is " << name(dtype) << ", in opset " << op.opset()
                    << " it is float32" << (op.opset() >= since ? ", float16 or bfloat16" : "");
}

Expected<NodeId> scaleAt(OpContext &op, size_t index, int64_t since, bool takesInt32) {
  BYCC_TRY(checkScale(op, index, since, takesInt32));
  return oneOrMany(op, BYCC_TRY(op.cast(op.input(index), DType::Float32)));
}

// A zero point that is not given is 0.
Expected<NodeId> zeroAt(OpContext &op, size_t index) {
  if (!op.has(index))
    return op.scalar(DType::Int32, 0);
  return oneOrMany(op, BYCC_TRY(op.cast(op.input(index), DType::Int32)));
}

namespace {

const Attr real{"compute_dtype", "float32"};

struct Params {
  NodeId scale, zero;
  int64_t axis = -1;
  bool isBlocked = false; // both have the shape of the data
};

// Every value of a blocked scale stands for block_size elements of the axis; the
// last block may be cut off.
Expected<NodeId> spread(OpContext &op, NodeId node, const std::vector<int64_t> &shape, int64_t axis,
                        int64_t block) {
  if (op.rank(node) == 0)
    return node;
  node = BYCC_TRY(op.call("repeat", {node}, {{"repeats", block}, {"axis", axis}}));
  std::vector<int64_t> begin(shape.size(), 0), step(shape.size(), 1);
  NodeId cut = BYCC_TRY(op.call("strided_slice", {node},
                                {{"begin", AttrValue::ints(begin)},
                                 {"end", AttrValue::ints(shape)},
                                 {"strides", AttrValue::ints(step)},
                                 {"axes", AttrValue()}}));
  if (BYCC_TRY(op.staticShape(cut)) != shape)
    return op.error() << "blocks of " << block << " along axis " << axis
                      << " do not cover the input";
  return cut;
}

// The zero point is of the quantised tensor's dtype and has the scale's shape.
Expected<> checkZero(OpContext &op, DType quantised) {
  if (!op.has(2))
    return {};
  if (op.dtype(op.input(2)) != quantised)
    return op.error() << "the zero point is " << name(op.dtype(op.input(2))) << ", the tensor "
                      << name(quantised);
  std::vector<Dim> scale = op.shape(op.input(1)), zero = op.shape(op.input(2));
  auto isOne = [](const std::vector<Dim> &shape) {
    return shape.empty() || (shape.size() == 1 && shape[0] == Dim(1));
  };
  bool isSame = scale.size() == zero.size();
  for (size_t i = 0; i < scale.size() && isSame; ++i)
    isSame = !scale[i].isConst() || !zero[i].isConst() || scale[i] == zero[i];
  if (!isSame && !(isOne(scale) && isOne(zero)))
    return op.error() << "the scale is " << op.types().str(op.module().type(op.input(1)))
                      << ", the zero point " << op.types().str(op.module().type(op.input(2)));
  return {};
}

Expected<Params> paramsOf(OpContext &op, NodeId x, DType quantised, bool takesInt32 = false) {
  BYCC_TRY(checkZero(op, quantised));
  Params params{BYCC_TRY(scaleAt(op, 1, 19, takesInt32)), BYCC_TRY(zeroAt(op, 2))};
  int64_t axis = BYCC_TRY(op.intAttr("axis", 1)), block = BYCC_TRY(op.intAttr("block_size", 0));
  if (block < 0)
    return op.error() << "block_size " << block << " is negative";
  if (op.rank(params.scale) == 0)
    return params;
  params.axis = BYCC_TRY(op.normalAxis(axis, op.rank(x)));
  if (block == 0) {
    if (op.rank(params.scale) != 1)
      return op.error() << "a scale of rank " << op.rank(params.scale) << " without block_size";
    return params;
  }
  if (op.rank(params.scale) != op.rank(x))
    return op.error() << "a blocked scale of rank " << op.rank(params.scale)
                      << ", the input has rank " << op.rank(x);
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
  params.scale = BYCC_TRY(spread(op, params.scale, shape, params.axis, block));
  params.zero = BYCC_TRY(spread(op, params.zero, shape, params.axis, block));
  params.isBlocked = true;
  return params;
}

// Elements of TensorProto.DataType that an attribute names.
Expected<std::optional<DType>> dtypeAttr(OpContext &op, std::string_view name) {
  int64_t code = BYCC_TRY(op.intAttr(name, 0));
  if (code == 0)
    return std::optional<DType>();
  int32_t type = code > 0 && code <= INT32_MAX ? static_cast<int32_t>(code) : -1;
  return std::optional(BYCC_TRY(dtypeOf(type, op.module().source(op.sourceId()))));
}

bool isQuantised(DType dtype) {
  return dtype == DType::Int8 || dtype == DType::UInt8 || dtype == DType::Int16 ||
         dtype == DType::UInt16;
}

// real -> round(real / scale) + zero, saturated.
Expected<NodeId> plainQuantize(OpContext &op, NodeId x, NodeId scale, NodeId zero, DType out) {
  NodeId y = BYCC_TRY(op.call("rint", {BYCC_TRY(op.call("divide", {x, scale}))}));
  y = BYCC_TRY(op.call("add", {y, BYCC_TRY(op.cast(zero, DType::Float32))}));
  int bits = static_cast<int>(sizeInBytes(out)) * 8;
  double size = static_cast<double>(int64_t{1} << bits), low = isSignedInt(out) ? -size / 2 : 0;
  y = BYCC_TRY(op.call("clip", {y}, {{"a_min", low}, {"a_max", low + size - 1}}));
  return op.cast(y, out);
}

} // namespace

Expected<> convertQuantize(OpContext &op) {
  // From opset 23 on the scale's dtype is its own, before it is that of x.
  bool takesInt32 = op.dtype(op.input(0)) == DType::Int32 || op.opset() >= 23;
  if (op.has(2) && op.importer().isFourBits(op.input(2)))
    return op.error(Status::Unsup) << "a result of 4 bits";
  NodeId x = BYCC_TRY(op.cast(op.input(0), DType::Float32));
  auto named = BYCC_TRY(dtypeAttr(op, "output_dtype"));
  DType out = op.has(2) ? op.dtype(op.input(2)) : named.value_or(DType::UInt8);
  if (named && *named != out)
    return op.error() << "output_dtype is " << name(*named) << ", y_zero_point is " << name(out);
  if (!isQuantised(out))
    return op.error(Status::Unsup) << "a result of " << name(out);
  auto precision = BYCC_TRY(dtypeAttr(op, "precision"));
  if (precision && *precision != DType::Float32)
    return op.error(Status::Unsup)
           << "precision " << name(*precision) << ", it is computed in float32";
  op.ignoreAttr("saturate"); // of 8-bit floats
  Params params = BYCC_TRY(paramsOf(op, x, out, takesInt32));
  if (params.isBlocked)
    op.setOutput(0, BYCC_TRY(plainQuantize(op, x, params.scale, params.zero, out)));
  else
    op.setOutput(0,
                 BYCC_TRY(op.call("qnn.quantize", {x, params.scale, params.zero},
                                  {{"out_dtype", name(out)}, {"axis", params.axis}, tiesToEven})));
  return {};
}

// A product with it may keep what a constant is stored as, where that is a good deal smaller.
static Expected<> noteWeight(OpContext &op, NodeId dequantised, const Params &params) {
  const Module &module = op.module();
  NodeId x = op.input(0), scale = op.input(1), zero = op.has(2) ? op.input(2) : NodeId();
  int64_t block = BYCC_TRY(op.intAttr("block_size", 0));
  bool isSmall = sizeInBytes(op.dtype(x)) == 1 && (block > 0 || op.importer().isFourBits(x));
  if (isSmall && op.rank(x) == 2 && params.axis >= 0 && module.isConstant(x) &&
      module.isConstant(scale) && (!zero || module.isConstant(zero)) &&
      op.dtype(scale) == DType::Float32 && op.dtype(dequantised) == DType::Float32)
    op.importer().noteStoredWeight(dequantised, {x, scale, zero, params.axis, block});
  return {};
}

Expected<> convertDequantize(OpContext &op) {
  NodeId x = op.input(0);
  if (!isQuantised(op.dtype(x)) && op.dtype(x) != DType::Int32)
    return op.error(Status::Unsup) << "an input of " << name(op.dtype(x));
  DType out = BYCC_TRY(dtypeAttr(op, "output_dtype")).value_or(op.dtype(op.input(1)));
  Params params = BYCC_TRY(paramsOf(op, x, op.dtype(x)));
  NodeId y;
  if (params.isBlocked) {
    y = BYCC_TRY(op.call("subtract", {BYCC_TRY(op.cast(x, DType::Int32)), params.zero}));
    y = BYCC_TRY(op.call("multiply", {BYCC_TRY(op.cast(y, DType::Float32)), params.scale}));
  } else {
    y = BYCC_TRY(
        op.call("qnn.dequantize", {x, params.scale, params.zero}, {{"axis", params.axis}}));
  }
  y = BYCC_TRY(op.cast(y, out));
  BYCC_TRY(noteWeight(op, y, params));
  op.setOutput(0, y);
  return {};
}

namespace {

// What a product's operands are: data, zero point, scale.
struct Quantized {
  NodeId data, zero, scale;
};

// scale = (max(x, 0) - min(x, 0)) / 255, zero = round(-min / scale); a scale of 0,
// when all is 0, is taken for 1. `narrowZero` gets the zero point as uint8.
Expected<Quantized> dynamicallyQuantized(OpContext &op, NodeId x, NodeId *narrowZero = nullptr) {
  NodeId none = op.scalar(DType::Float32, 0);
  NodeId low = BYCC_TRY(op.call("minimum", {BYCC_TRY(op.call("min", {x})), none}));
  NodeId high = BYCC_TRY(op.call("maximum", {BYCC_TRY(op.call("max", {x})), none}));
  NodeId range = BYCC_TRY(op.call("subtract", {high, low}));
  NodeId scale = BYCC_TRY(op.call("divide", {range, op.scalar(DType::Float32, 255)}));
  NodeId isFlat = BYCC_TRY(op.call("equal", {scale, none}));
  scale = BYCC_TRY(op.call("where", {isFlat, op.scalar(DType::Float32, 1), scale}));
  NodeId zero = BYCC_TRY(op.call(
      "rint", {BYCC_TRY(op.call("divide", {BYCC_TRY(op.call("subtract", {none, low})), scale}))}));
  zero = BYCC_TRY(
      op.cast(BYCC_TRY(op.call("clip", {zero}, {{"a_min", 0.0}, {"a_max", 255.0}})), DType::UInt8));
  if (narrowZero)
    *narrowZero = zero;
  NodeId wide = BYCC_TRY(op.cast(zero, DType::Int32));
  NodeId data =
      BYCC_TRY(op.call("qnn.quantize", {x, scale, wide}, {{"out_dtype", "uint8"}, tiesToEven}));
  return Quantized{data, wide, scale};
}

// `since`: as of checkScale().
Expected<Quantized> quantizedAt(OpContext &op, size_t index, int64_t since) {
  return Quantized{op.input(index), BYCC_TRY(zeroAt(op, index + 2)),
                   BYCC_TRY(scaleAt(op, index + 1, since))};
}

// Operands of ConvInteger and MatMulInteger: scales of 1.
Expected<Quantized> integerAt(OpContext &op, size_t index) {
  return Quantized{op.input(index), BYCC_TRY(zeroAt(op, index + 2)), op.scalar(DType::Float32, 1)};
}

// data - zero point as int32; `after` axes stand behind the one of a vector.
Expected<NodeId> shifted(OpContext &op, const Quantized &q, int64_t after) {
  NodeId zero = q.zero;
  if (op.rank(zero) == 1 && after > 0)
    zero = BYCC_TRY(op.call("expand_dims", {zero}, {{"axis", 1}, {"num_newaxis", after}}));
  return op.call("subtract", {BYCC_TRY(op.cast(q.data, DType::Int32)), zero});
}

// As one of images of one row.
Expected<NodeId> rowConv(OpContext &op, const Quantized &x, const Quantized &weight,
                         AttrDict attrs) {
  for (Attr &attr : attrs) {
    if (!attr.value.isList())
      continue;
    bool isPadding = attr.key == "padding";
    AttrValue::List list;
    for (const AttrValue &each : attr.value.asList()) {
      list.emplace_back(int64_t{isPadding ? 0 : 1});
      list.push_back(each);
    }
    attr.value = std::move(list);
  }
  auto asImage = [&](NodeId node) { return op.call("expand_dims", {node}, {{"axis", 2}}); };
  NodeId data = BYCC_TRY(asImage(x.data)), rows = BYCC_TRY(asImage(weight.data));
  NodeId sums = BYCC_TRY(op.call(
      "qnn.conv2d", {data, rows, x.zero, weight.zero, x.scale, weight.scale}, std::move(attrs)));
  return op.call("squeeze", {sums}, {{"axis", AttrValue::ints({{int64_t{2}}})}});
}

Expected<NodeId> quantizedConv(OpContext &op, Quantized x, const Quantized &weight) {
  NodeId zero = BYCC_TRY(op.cast(x.zero, op.dtype(x.data)));
  if (op.rank(zero) != 0)
    zero = BYCC_TRY(op.reshape(zero, {}));
  AttrDict attrs = BYCC_TRY(convAttrs(op, x.data, weight.data, zero));
  int64_t rank = op.rank(x.data);
  if (rank == 3)
    return rowConv(op, x, weight, std::move(attrs));
  if (rank == 4)
    return op.call("qnn.conv2d", {x.data, weight.data, x.zero, weight.zero, x.scale, weight.scale},
                   std::move(attrs));
  NodeId left = BYCC_TRY(shifted(op, x, 0)), right = BYCC_TRY(shifted(op, weight, rank - 1));
  return op.call(ranked("nn.conv", static_cast<size_t>(rank - 2)), {left, right}, std::move(attrs));
}

bool isOneValue(OpContext &op, const Quantized &q) {
  return op.rank(q.zero) == 0 && op.rank(q.scale) == 0;
}

// qnn.dense or qnn.batch_matmul when the operands are theirs, else a product of
// int32.
Expected<NodeId> quantizedProduct(OpContext &op, const Quantized &a, const Quantized &b) {
  int64_t rank = op.rank(b.data);
  bool isVector = op.rank(a.data) < 2 || rank < 2;
  if (!isVector && rank == 2 && isOneValue(op, a) && op.rank(b.zero) < 2 && op.rank(b.scale) < 2) {
    NodeId weight = BYCC_TRY(op.transpose(b.data, std::vector<int64_t>{1, 0}));
    Dim units = op.shape(weight)[0];
    return op.call("qnn.dense", {a.data, weight, a.zero, b.zero, a.scale, b.scale},
                   {{"units", units.isConst() ? AttrValue(units.value()) : AttrValue()}});
  }
  if (!isVector && op.isStatic(a.data) && op.isStatic(b.data) && isOneValue(op, a) &&
      isOneValue(op, b)) {
    std::vector<int64_t> left = BYCC_TRY(op.staticShape(a.data)),
                         right = BYCC_TRY(op.staticShape(b.data));
    std::vector<int64_t> shape(left.begin(), left.end() - 2);
    if (shape == std::vector<int64_t>(right.begin(), right.end() - 2)) {
      auto stacked = [&](NodeId node, const std::vector<int64_t> &own) {
        int64_t count = 1;
        for (size_t i = 0; i + 2 < own.size(); ++i)
          count *= own[i];
        return op.reshape(node, std::vector<int64_t>{count, own[own.size() - 2], own.back()});
      };
      NodeId product = BYCC_TRY(op.call("qnn.batch_matmul", {BYCC_TRY(stacked(a.data, left)),
                                                             BYCC_TRY(stacked(b.data, right)),
                                                             a.zero, b.zero, a.scale, b.scale}));
      shape.insert(shape.end(), {left[left.size() - 2], right.back()});
      return op.reshape(product, shape);
    }
  }
  // A vector of a's parameters has one value per row, one of b's one per column.
  return matmulOf(op, BYCC_TRY(shifted(op, a, op.rank(a.data) > 1 ? 1 : 0)),
                  BYCC_TRY(shifted(op, b, 0)));
}

// int32 sums to the scale and zero point at `index` and behind. Scales run along
// `axis`, of which `after` axes stand behind; those per row have a form of their own.
Expected<NodeId> toResult(OpContext &op, NodeId sums, const Quantized &a, const Quantized &b,
                          size_t index, int64_t axis, int64_t since) {
  NodeId scale = BYCC_TRY(scaleAt(op, index, since)), zero = BYCC_TRY(zeroAt(op, index + 1));
  DType out = op.dtype(op.input(index + 1));
  bool isPlain =
      op.rank(a.scale) > 0 || op.rank(b.scale) > 1 || op.rank(scale) > 0 || op.rank(zero) > 0;
  if (!isPlain) {
    NodeId from = BYCC_TRY(op.call("multiply", {a.scale, b.scale}));
    return op.call("qnn.requantize", {sums, from, op.scalar(DType::Int32, 0), scale, zero},
                   {{"axis", axis}, {"out_dtype", name(out)}, tiesToEven, real});
  }
  if (axis == 1)
    return op.error(Status::Unsup) << "x and y have one scale and zero point each";
  NodeId rows = a.scale;
  if (op.rank(rows) == 1)
    rows = BYCC_TRY(op.call("expand_dims", {rows}, {{"axis", 1}}));
  NodeId from = BYCC_TRY(op.call("multiply", {rows, b.scale}));
  NodeId y = BYCC_TRY(op.call("multiply", {BYCC_TRY(op.cast(sums, DType::Float32)), from}));
  for (NodeId *each : {&scale, &zero})
    if (op.rank(*each) == 1)
      *each = BYCC_TRY(op.call("expand_dims", {*each}, {{"axis", 1}}));
  return plainQuantize(op, y, scale, zero, out);
}

// Integer sums as floats, and the bias at `index`.
Expected<NodeId> realProduct(OpContext &op, const Quantized &a, const Quantized &b, size_t bias) {
  NodeId one = op.scalar(DType::Float32, 1);
  NodeId sums = BYCC_TRY(quantizedProduct(op, {a.data, a.zero, one}, {b.data, b.zero, one}));
  NodeId scale = BYCC_TRY(op.call("multiply", {a.scale, b.scale}));
  NodeId real = BYCC_TRY(op.call("multiply", {BYCC_TRY(op.cast(sums, DType::Float32)), scale}));
  return op.has(bias) ? op.call("add", {real, op.input(bias)}) : Expected<NodeId>(real);
}

} // namespace

Expected<> convertDynamicQuantize(OpContext &op) {
  NodeId zero;
  Quantized made = BYCC_TRY(dynamicallyQuantized(op, op.input(0), &zero));
  op.setOutput(0, made.data);
  op.setOutput(1, made.scale);
  op.setOutput(2, zero);
  return {};
}

Expected<> convertQLinearConv(OpContext &op) {
  Quantized x = BYCC_TRY(quantizedAt(op, 0, never)), weight = BYCC_TRY(quantizedAt(op, 3, never));
  // ONNX Runtime's own has another layout of the data.
  int64_t last = BYCC_TRY(op.intAttr("channels_last", 0)) != 0 ? op.rank(x.data) - 1 : 1;
  x.data = BYCC_TRY(op.moveAxis(x.data, last, 1));
  NodeId sums = BYCC_TRY(quantizedConv(op, x, weight));
  if (op.has(8))
    sums = BYCC_TRY(op.call("nn.bias_add", {sums, op.input(8)}));
  NodeId result = BYCC_TRY(toResult(op, sums, x, weight, 6, 1, never));
  op.setOutput(0, BYCC_TRY(op.moveAxis(result, 1, last)));
  return {};
}

Expected<> convertQLinearMatMul(OpContext &op) {
  Quantized a = BYCC_TRY(quantizedAt(op, 0, 21)), b = BYCC_TRY(quantizedAt(op, 3, 21));
  NodeId sums = BYCC_TRY(quantizedProduct(op, a, b));
  op.setOutput(0, BYCC_TRY(toResult(op, sums, a, b, 6, -1, 21)));
  return {};
}

// Of ONNX Runtime: A, B and a bias of their scale, with a result of 8 bits or, without its scale,
// in float32.
Expected<> convertQGemm(OpContext &op) {
  Quantized a = BYCC_TRY(quantizedAt(op, 0, never)), b = BYCC_TRY(quantizedAt(op, 3, never));
  double alpha = BYCC_TRY(op.floatAttr("alpha", 1));
  if (alpha != 1)
    a.scale = BYCC_TRY(op.call("multiply", {a.scale, op.scalar(DType::Float32, alpha)}));
  const std::vector<int64_t> swapped{1, 0};
  if (BYCC_TRY(op.intAttr("transA", 0)))
    a.data = BYCC_TRY(op.transpose(a.data, swapped));
  if (BYCC_TRY(op.intAttr("transB", 0)))
    b.data = BYCC_TRY(op.transpose(b.data, swapped));
  NodeId sums = BYCC_TRY(quantizedProduct(op, a, b));
  if (op.has(6))
    sums = BYCC_TRY(op.call("add", {sums, op.input(6)}));
  if (op.has(7))
    op.setOutput(0, BYCC_TRY(toResult(op, sums, a, b, 7, -1, never)));
  else
    op.setOutput(
        0, BYCC_TRY(op.call("multiply", {BYCC_TRY(op.cast(sums, DType::Float32)),
                                         BYCC_TRY(op.call("multiply", {a.scale, b.scale}))})));
  return {};
}

// Of ONNX Runtime: A, B, their scales and their zero points.
Expected<> convertMatMulIntegerToFloat(OpContext &op) {
  Quantized a{op.input(0), BYCC_TRY(zeroAt(op, 4)), BYCC_TRY(scaleAt(op, 2))};
  Quantized b{op.input(1), BYCC_TRY(zeroAt(op, 5)), BYCC_TRY(scaleAt(op, 3))};
  if (op.rank(a.scale) > 0)
    return op.error(Status::Unsup) << "A has one scale";
  op.setOutput(0, BYCC_TRY(realProduct(op, a, b, 6)));
  return {};
}

// Of ONNX Runtime: A in floats, which is quantised first.
Expected<> convertDynamicQuantizeMatMul(OpContext &op) {
  Quantized a = BYCC_TRY(dynamicallyQuantized(op, op.input(0)));
  Quantized b{op.input(1), BYCC_TRY(zeroAt(op, 3)), BYCC_TRY(scaleAt(op, 2))};
  op.setOutput(0, BYCC_TRY(realProduct(op, a, b, 4)));
  return {};
}

// Of ONNX Runtime: attention behind a projection in integers.
Expected<> convertQAttention(OpContext &op) {
  Quantized x{op.input(0), BYCC_TRY(zeroAt(op, 6)), BYCC_TRY(scaleAt(op, 3))};
  Quantized weight{op.input(1), BYCC_TRY(zeroAt(op, 7)), BYCC_TRY(scaleAt(op, 4))};
  NodeId all = BYCC_TRY(realProduct(op, x, weight, 2));
  return attendProjected(op, BYCC_TRY(projectedParts(op, all)), {.mask = 5, .past = 8});
}

Expected<> convertConvInteger(OpContext &op) {
  op.setOutput(0,
               BYCC_TRY(quantizedConv(op, BYCC_TRY(integerAt(op, 0)), BYCC_TRY(integerAt(op, 1)))));
  return {};
}

Expected<> convertMatMulInteger(OpContext &op) {
  op.setOutput(
      0, BYCC_TRY(quantizedProduct(op, BYCC_TRY(integerAt(op, 0)), BYCC_TRY(integerAt(op, 1)))));
  return {};
}

} // namespace bycc::onnx
