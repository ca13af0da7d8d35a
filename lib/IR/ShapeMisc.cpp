// Type rules of layouts, index arithmetic and operators of no family.

#include "Shape.h"

#include "bycc/IR/Einsum.h"
#include "bycc/IR/Module.h"
#include "bycc/Support/Element.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cmath>

namespace bycc::shape {

// --- layouts

Expected<TypeId> layoutTransform(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  auto from = Layout::parse(context.text("src_layout"));
  if (!from)
    return context.error() << "src_layout \"" << escaped(context.text("src_layout"))
                           << "\" is not a layout";
  std::string letters = from->primal();
  Layout to = BYCC_TRY(layoutAttr(context, "dst_layout", letters));
  BYCC_TRY(checkRank(context, x, from->rank(), "data"));
  Shape logical;
  for (char letter : letters)
    logical.push_back(BYCC_TRY(logicalExtent(context, x, *from, letter)));
  Shape shape = BYCC_TRY(physicalShape(context, to, letters, logical));
  return tensorType(context, x.dtype, shape);
}

// --- einsum

Expected<TypeId> einsumOf(InferContext &context) {
  auto inputs = BYCC_TRY(tupleInput(context, 0));
  std::vector<size_t> ranks;
  for (const TensorInput &input : inputs) {
    BYCC_TRY(checkDType(context, input.dtype, inputs[0].dtype, "every input"));
    ranks.push_back(input.rank());
  }
  auto einsum = parseEinsum(context.text("equation"), ranks);
  if (!einsum)
    return context.error() << einsum.error().message();
  std::vector<std::optional<Dim>> extents(einsum->numLabels);
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t d = 0; d < inputs[i].rank(); ++d) {
      uint32_t label = einsum->inputs[i][d];
      Dim dim = inputs[i].shape[d];
      std::optional<Dim> &extent = extents[label];
      if (extent && einsum->isEllipsis[label]) {
        auto both = broadcastDim(*extent, dim);
        if (!both)
          return context.error() << "the ellipses of the inputs do not broadcast";
        extent = *both;
      } else {
        extent = extent ? BYCC_TRY(unifyDim(context, dim, *extent,
                                            std::string("extent of ") + einsum->letters[label]))
                        : dim;
      }
    }
  Shape shape;
  for (uint32_t label : einsum->output)
    shape.push_back(*extents[label]);
  return tensorType(context, inputs[0].dtype, shape);
}

// --- index arithmetic

namespace {

// A number of arange: the attribute, else the constant operand, else nullopt.
Expected<std::optional<double>> rangeNumber(InferContext &context, std::string_view key,
                                            size_t index) {
  Module &module = context.module();
  if (context.numInputs() == 3) {
    NodeId node = context.inputNode(index);
    TensorInput input = BYCC_TRY(tensorInput(context, index));
    BYCC_TRY(checkRank(context, input, 0, key));
    if (!module.isConstant(node))
      return std::optional<double>();
    const uint8_t *data = module.constant(node).data();
    if (input.dtype == DType::Float32 || input.dtype == DType::Float64)
      return std::optional(elementAsDouble(input.dtype, data, 0));
    if (!isInt(input.dtype))
      return context.error() << key << " is an integer, float32 or float64";
    auto values = BYCC_TRY(constantInts(context, index));
    return std::optional(static_cast<double>(values->front()));
  }
  const AttrValue *value = module.attr(context.call(), key);
  if (value->isInt())
    return std::optional(static_cast<double>(value->asInt()));
  if (value->isFloat())
    return std::optional(value->asFloat());
  return context.error() << key << " is a number";
}

} // namespace

namespace {

// Number of elements where start, stop and step are shape arithmetic.
Dim symbolicCount(InferContext &context) {
  Module &module = context.module();
  SymbolicInt bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    auto value =
        context.numInputs() == 3 ? symbolicValue(module, context.inputNode(i)) : std::nullopt;
    if (!value || !value->front().isKnown())
      return Dim::unknown();
    bounds[i] = value->front();
  }
  auto &[start, stop, step] = bounds;
  // Bounds below 0 move both up.
  Dim from = start.extent(), to = stop.extent();
  if (start.number && *start.number < 0 && *start.number > -INT32_MAX) {
    from = Dim(0);
    to = module.types.add(to, Dim(-*start.number));
  }
  if (!step.number || *step.number < 1 || !module.types.isSurelyAtLeast(to, from))
    return Dim::unknown();
  return module.types.dim(DimOp::CeilDiv, module.types.sub(to, from), Dim(*step.number));
}

} // namespace

Expected<TypeId> arangeOf(InferContext &context) {
  if (context.numInputs() != 0 && context.numInputs() != 3)
    return context.error() << "takes start, stop and step, all as inputs or all as attributes";
  DType dtype = dtypeAttr(context, "dtype", DType::Float32);
  if (dtype == DType::Bool)
    return context.error() << "dtype is a number type, got bool";
  auto start = BYCC_TRY(rangeNumber(context, "start", 0));
  auto stop = BYCC_TRY(rangeNumber(context, "stop", 1));
  auto step = BYCC_TRY(rangeNumber(context, "step", 2));
  if (step && *step == 0)
    return context.error() << "step is 0";
  if (!start || !stop || !step)
    return tensorType(context, dtype, Shape{symbolicCount(context)});
  double count = std::ceil((*stop - *start) / *step);
  if (std::isnan(count))
    return context.error() << "start, stop and step are finite";
  if (count > 1e15)
    return context.error(Status::Limit) << "the range has too many elements";
  return tensorType(context, dtype, Shape{Dim(static_cast<int64_t>(std::max(count, 0.0)))});
}

Expected<TypeId> meshgridOf(InferContext &context) {
  auto inputs = BYCC_TRY(tupleInput(context, 0));
  BYCC_TRY(checkOneOf(context, "indexing", {"ij", "xy"}));
  Shape shape;
  for (const TensorInput &input : inputs) {
    if (input.rank() > 1)
      return context.error() << "inputs have rank 0 or 1";
    BYCC_TRY(checkDType(context, input.dtype, inputs[0].dtype, "every input"));
    shape.push_back(input.rank() ? input.shape[0] : Dim(1));
  }
  if (context.text("indexing") == "xy" && shape.size() > 1)
    std::swap(shape[0], shape[1]);
  TypeId grid = BYCC_TRY(tensorType(context, inputs[0].dtype, shape));
  return context.module().types.tuple(std::vector<TypeId>(inputs.size(), grid));
}

namespace {

Expected<TypeId> oneHotOf(InferContext &context, Dim depth) {
  TensorInput indices = BYCC_TRY(tensorInput(context, 0));
  TensorInput on = BYCC_TRY(tensorInput(context, 1));
  TensorInput off = BYCC_TRY(tensorInput(context, 2));
  BYCC_TRY(checkInt(context, indices.dtype, "indices"));
  BYCC_TRY(checkRank(context, on, 0, "on_value"));
  BYCC_TRY(checkRank(context, off, 0, "off_value"));
  BYCC_TRY(checkDType(context, off.dtype, on.dtype, "off_value"));
  DType dtype = dtypeAttr(context, "dtype", on.dtype);
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), indices.rank() + 1));
  Shape shape(indices.shape.begin(), indices.shape.end());
  shape.insert(shape.begin() + static_cast<long>(axis), depth);
  return tensorType(context, dtype, shape);
}

} // namespace

Expected<TypeId> oneHot(InferContext &context) {
  int64_t depth = context.integer("depth");
  BYCC_TRY(checkPositive(context, Ints{depth}, "depth"));
  return oneHotOf(context, Dim(depth));
}

Expected<TypeId> dynOneHot(InferContext &context) {
  auto depth = BYCC_TRY(symbolicInts(context, 3));
  if (depth && (depth->size() != 1 || (depth->front().number && *depth->front().number < 1)))
    return context.error() << "depth is one number, at least 1";
  return oneHotOf(context, depth ? depth->front().extent() : Dim::unknown());
}

Expected<TypeId> shapeOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  return tensorType(context, dtypeAttr(context, "dtype", DType::Int32),
                    Shape{Dim(static_cast<int64_t>(x.rank()))});
}

Expected<TypeId> sizeOf(InferContext &context) {
  BYCC_TRY(tensorInput(context, 0));
  return tensorType(context, dtypeAttr(context, "dtype", DType::Int32), Shape{});
}

Expected<TypeId> sequenceMask(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput lengths = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkInt(context, lengths.dtype, "lengths"));
  BYCC_TRY(checkRank(context, lengths, 1, "lengths"));
  if (x.rank() < 2)
    return context.error() << "data has rank 2 or more, got " << context.module().types.str(x.type);
  int64_t axis = context.integer("axis");
  if (axis != 0 && axis != 1)
    return context.error() << "axis is 0 or 1, got " << axis;
  BYCC_TRY(unifyDim(context, lengths.shape[0], x.shape[static_cast<size_t>(1 - axis)],
                    "extent of lengths"));
  return x.type;
}

Expected<TypeId> matrixSetDiag(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput diagonal = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkDType(context, diagonal.dtype, x.dtype, "diagonal"));
  if (x.rank() < 2)
    return context.error() << "data has rank 2 or more, got " << context.module().types.str(x.type);
  int64_t k1 = context.integer("k1"), k2 = context.integer("k2");
  if (k1 > k2 || k1 < INT32_MIN || k2 > INT32_MAX)
    return context.error() << "k1 is at most k2, got " << k1 << " and " << k2;
  size_t batch = x.rank() - 2;
  BYCC_TRY(checkRank(context, diagonal, batch + (k1 == k2 ? 1 : 2), "diagonal"));
  for (size_t i = 0; i < batch; ++i)
    BYCC_TRY(unifyDim(context, diagonal.shape[i], x.shape[i], "an extent of diagonal"));
  if (k1 != k2)
    BYCC_TRY(unifyDim(context, diagonal.shape[batch], Dim(k2 - k1 + 1), "the number of diagonals"));
  if (!x.shape[batch].isConst() || !x.shape[batch + 1].isConst())
    return x.type;
  int64_t rows = x.shape[batch].value(), columns = x.shape[batch + 1].value();
  if (k1 <= -rows || k2 >= columns)
    return context.error() << "k1 " << k1 << " and k2 " << k2 << " lie outside the matrix";
  int64_t longest = std::min(rows + std::min<int64_t>(k2, 0), columns - std::max<int64_t>(k1, 0));
  BYCC_TRY(unifyDim(context, diagonal.shape.back(), Dim(longest), "the length of a diagonal"));
  return x.type;
}

Expected<TypeId> unravelIndex(InferContext &context) {
  TensorInput indices = BYCC_TRY(tensorInput(context, 0));
  TensorInput shape = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkInt(context, indices.dtype, "indices"));
  BYCC_TRY(checkInt(context, shape.dtype, "extents"));
  BYCC_TRY(checkRank(context, shape, 1, "shape"));
  if (indices.rank() > 1)
    return context.error() << "indices have rank 0 or 1";
  Shape result{shape.shape[0]};
  result.insert(result.end(), indices.shape.begin(), indices.shape.end());
  return tensorType(context, indices.dtype, result);
}

Expected<TypeId> slidingWindow(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  Ints window = context.integers("window_shape"), strides = context.integers("strides");
  BYCC_TRY(checkCount(context, window, x.rank() - axis, "window_shape"));
  BYCC_TRY(checkCount(context, strides, x.rank() - axis, "strides"));
  BYCC_TRY(checkPositive(context, window, "window_shape"));
  BYCC_TRY(checkPositive(context, strides, "strides"));
  Shape shape(x.shape.begin(), x.shape.end());
  for (size_t i = 0; i < window.size(); ++i) {
    Window w{window[i], strides[i], 1, 0, 0, false};
    shape[axis + i] = BYCC_TRY(windowExtent(context, shape[axis + i], w, std::to_string(axis + i)));
  }
  for (int64_t extent : window)
    shape.push_back(Dim(extent));
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> sparseToDense(InferContext &context) {
  TensorInput indices = BYCC_TRY(tensorInput(context, 0));
  TensorInput values = BYCC_TRY(tensorInput(context, 1));
  TensorInput fallback = BYCC_TRY(tensorInput(context, 2));
  BYCC_TRY(checkInt(context, indices.dtype, "indices"));
  BYCC_TRY(checkDType(context, fallback.dtype, values.dtype, "default_value"));
  BYCC_TRY(checkRank(context, fallback, 0, "default_value"));
  Shape shape = BYCC_TRY(sizes(context, context.integers("output_shape"), "output_shape"));
  if (indices.rank() > 2 || values.rank() > 1 || (values.rank() == 1 && indices.rank() == 0))
    return context.error() << "indices have rank 0 to 2, values 0 or 1";
  Dim coordinates = indices.rank() == 2 ? indices.shape[1] : Dim(1);
  BYCC_TRY(unifyDim(context, coordinates, Dim(static_cast<int64_t>(shape.size())),
                    "the number of coordinates"));
  if (values.rank() == 1)
    BYCC_TRY(unifyDim(context, values.shape[0], indices.shape[0], "the number of values"));
  return tensorType(context, values.dtype, shape);
}

Expected<TypeId> invertPermutation(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkInt(context, x.dtype, "elements of a permutation"));
  BYCC_TRY(checkRank(context, x, 1, "x"));
  return x.type;
}

} // namespace bycc::shape
