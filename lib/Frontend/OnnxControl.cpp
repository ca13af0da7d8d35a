// Constants, and shapes as values.
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace bycc::onnx {

Expected<> convertIdentity(OpContext &op) {
  if (const Value &given = *op.importer().find(op.proto().inputs[0]); given.sequence) {
    op.outputs()[0].sequence = given.sequence;
    return {};
  }
  op.setOutput(0, op.input(0));
  return {};
}

// Inference: the data unchanged, nothing dropped. The mask is of the data's type
// before opset 10.
Expected<> convertDropout(OpContext &op) {
  op.ignoreAttr("ratio");
  op.ignoreAttr("seed");
  if (op.opset() < 7 && BYCC_TRY(op.intAttr("is_test", 0)) == 0)
    return op.error(Status::Unsup) << "training mode is not supported";
  if (op.has(2)) {
    const IntTensor *training = op.knownInts(2);
    if (!training || !training->isComplete() || training->all() != std::vector<int64_t>{0})
      return op.error(Status::Unsup) << "training mode is not supported";
  }
  NodeId x = op.input(0);
  op.setOutput(0, x);
  if (op.wantsOutput(1)) {
    AttrValue dtype(name(op.opset() < 10 ? op.dtype(x) : DType::Bool));
    if (!op.isStatic(x)) {
      op.setOutput(1,
                   BYCC_TRY(op.call("dyn.ones", {BYCC_TRY(extentsOf(op, x))}, {{"dtype", dtype}})));
      return {};
    }
    std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
    op.setOutput(
        1, BYCC_TRY(op.call("ones", {}, {{"shape", AttrValue::ints(shape)}, {"dtype", dtype}})));
  }
  return {};
}

Expected<> convertConstant(OpContext &op) {
  if (op.proto().attributes.size() != 1)
    return op.error() << "has " << op.proto().attributes.size() << " attributes, wanted one value";
  const Attribute &value = op.proto().attributes[0];
  op.ignoreAttr(value.name);
  auto add = [&](DType dtype, bool isScalar, const auto &items) {
    Dim count(static_cast<int64_t>(items.size()));
    return op.module().addConstant(dtype, {&count, isScalar ? 0u : 1u}, items.data(),
                                   items.size() * sizeof(items[0]));
  };
  struct Kind {
    std::string_view name;
    AttrKind kind;
  };
  static constexpr Kind kinds[] = {
      {"value", AttrKind::Tensor},        {"value_float", AttrKind::Float},
      {"value_floats", AttrKind::Floats}, {"value_int", AttrKind::Int},
      {"value_ints", AttrKind::Ints},     {"sparse_value", AttrKind::SparseTensor}};
  for (const Kind &kind : kinds)
    if (kind.name == value.name)
      BYCC_TRY(op.attr(kind.name, kind.kind));
  NodeId node;
  if (value.name == "value")
    node = BYCC_TRY(op.importer().addTensor(*value.tensor, op.module().source(op.sourceId())));
  else if (value.name == "sparse_value")
    node = BYCC_TRY(op.importer().addSparse(*value.sparse, op.module().source(op.sourceId())));
  else if (value.name == "value_float")
    node = add(DType::Float32, true, std::vector<float>{value.f});
  else if (value.name == "value_floats")
    node = add(DType::Float32, false, value.floats);
  else if (value.name == "value_int")
    node = add(DType::Int64, true, std::vector<int64_t>{value.i});
  else if (value.name == "value_ints")
    node = add(DType::Int64, false, value.ints);
  else
    return op.error(Status::Unsup) << "this kind of value is not supported";
  op.setOutput(0, node);
  return {};
}

Expected<> convertConstantOfShape(OpContext &op) {
  NodeId fill;
  if (const Attribute *value = BYCC_TRY(op.attr("value", AttrKind::Tensor)))
    fill = BYCC_TRY(op.importer().addTensor(*value->tensor, op.module().source(op.sourceId())));
  else
    fill = op.scalar(DType::Float32, 0);
  std::optional<std::vector<double>> numbers = op.numbersOf(fill);
  if (numbers->size() != 1)
    return op.error() << "value has " << numbers->size() << " elements, wanted one";
  DType dtype = op.dtype(fill);
  auto asScalar = [&]() {
    return op.rank(fill) == 0 ? Expected<NodeId>(fill) : op.reshape(fill, {});
  };
  if (!op.isKnown(0)) {
    NodeId shape = BYCC_TRY(runTimeInts(op, 0, "shape", op.declaredRank(0)));
    op.setOutput(
        0, BYCC_TRY(op.call("dyn.full", {BYCC_TRY(asScalar()), shape}, {{"dtype", name(dtype)}})));
    return {};
  }
  std::vector<int64_t> shape = BYCC_TRY(op.constInts(0, "shape"));
  for (int64_t dim : shape)
    if (dim < 0)
      return op.error() << "shape has the value " << dim;
  bool isSmall = shape.size() == 1 && shape[0] <= static_cast<int64_t>(maxFoldedElements);
  int64_t whole = std::abs((*numbers)[0]) < 1e15 ? static_cast<int64_t>((*numbers)[0]) : -1;
  if (isSmall && (dtype == DType::Int64 || dtype == DType::Int32) &&
      static_cast<double>(whole) == (*numbers)[0]) {
    IntTensor result{dtype, false, {}};
    result.values.assign(shape[0], whole);
    op.setOutputInts(0, std::move(result));
    return {};
  }
  op.setOutput(0, BYCC_TRY(op.call("full", {BYCC_TRY(asScalar())},
                                   {{"shape", AttrValue::ints(shape)}, {"dtype", name(dtype)}})));
  return {};
}

// Only reached when a dim is not known now; foldInts() has the others.
Expected<> convertShape(OpContext &op) {
  int64_t rank = op.rank(op.input(0));
  int64_t begin = BYCC_TRY(op.intAttr("start", 0)), end = BYCC_TRY(op.intAttr("end", rank));
  NodeId shape = BYCC_TRY(op.call("shape_of", {op.input(0)}, {{"dtype", "int64"}}));
  auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  begin = clamp(begin);
  end = std::max(clamp(end), begin);
  if (begin != 0 || end != rank)
    shape = BYCC_TRY(op.call("strided_slice", {shape},
                             {{"begin", AttrValue::ints({&begin, 1})},
                              {"end", AttrValue::ints({&end, 1})},
                              {"strides", AttrValue::List{1}},
                              {"axes", AttrValue()}}));
  op.setOutput(0, shape);
  return {};
}

Expected<> convertSize(OpContext &op) {
  op.setOutput(0, BYCC_TRY(op.call("ndarray_size", {op.input(0)}, {{"dtype", "int64"}})));
  return {};
}

namespace {

// Start, limit and step, which ONNX Runtime's own may leave out.
NodeId rangeBound(OpContext &op, size_t index) {
  return op.has(index) ? op.input(index) : op.scalar(op.dtype(op.input(0)), 1);
}

Expected<> rangeAtRunTime(OpContext &op, DType dtype) {
  NodeId bounds[3];
  for (int i = 0; i < 3; ++i) {
    bounds[i] = rangeBound(op, i);
    if (op.dtype(bounds[i]) != dtype)
      return op.error() << "start, limit and delta must be scalars of one type";
    if (op.rank(bounds[i]) != 0)
      bounds[i] = BYCC_TRY(op.reshape(bounds[i], {}));
  }
  // Host code counts the steps of no half type.
  DType wide = dtype == DType::Float16 || dtype == DType::BFloat16 ? DType::Float32 : dtype;
  for (NodeId &bound : bounds)
    bound = BYCC_TRY(op.cast(bound, wide));
  NodeId made = BYCC_TRY(op.call("arange", bounds, {{"dtype", name(wide)}}));
  op.setOutput(0, BYCC_TRY(op.cast(made, dtype)));
  return {};
}

} // namespace

// The values of known bounds become a constant.
Expected<> convertRange(OpContext &op) {
  constexpr double most = 1 << 24;
  NodeId start = op.input(0);
  DType dtype = op.dtype(start);
  double bounds[3];
  for (int i = 0; i < 3; ++i) {
    std::optional<std::vector<double>> known = op.numbersOf(rangeBound(op, i));
    if (!known)
      return rangeAtRunTime(op, dtype);
    const std::vector<double> &value = *known;
    if (value.size() != 1 || op.dtype(rangeBound(op, i)) != dtype)
      return op.error() << "start, limit and delta must be scalars of one type";
    bounds[i] = value[0];
  }
  if (bounds[2] == 0 || !std::isfinite(bounds[0]) || !std::isfinite(bounds[1]) ||
      !std::isfinite(bounds[2]))
    return op.error() << "from " << bounds[0] << " to " << bounds[1] << " by " << bounds[2];
  double count = std::max(0.0, std::ceil((bounds[1] - bounds[0]) / bounds[2]));
  if (count > most)
    return op.error(Status::Limit) << "a range of " << count << " values, the limit is " << most;
  auto fill = [&]<typename T>(T) {
    std::vector<T> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<T>(bounds[0] + static_cast<double>(i) * bounds[2]);
    Dim size(static_cast<int64_t>(values.size()));
    op.setOutput(
        0, op.module().addConstant(dtype, {&size, 1}, values.data(), values.size() * sizeof(T)));
  };
  switch (dtype) {
  case DType::Float32:
    fill(float{});
    break;
  case DType::Float64:
    fill(double{});
    break;
  case DType::Int16:
    fill(int16_t{});
    break;
  case DType::Int32:
    fill(int32_t{});
    break;
  case DType::Int64:
    fill(int64_t{});
    break;
  default:
    return op.error(Status::Unsup) << "a range of " << name(dtype) << " is not supported";
  }
  return {};
}

namespace {

// row + k == column
Expected<NodeId> eyeAtRunTime(OpContext &op, NodeId x, int64_t k) {
  auto positions = [&](int64_t axis) -> Expected<NodeId> {
    return op.call(
        "arange",
        {op.scalar(DType::Int64, 0), BYCC_TRY(extentOf(op, x, axis)), op.scalar(DType::Int64, 1)},
        {{"dtype", "int64"}});
  };
  NodeId rows = BYCC_TRY(op.call("expand_dims", {BYCC_TRY(positions(0))}, {{"axis", 1}}));
  rows = BYCC_TRY(op.call("add", {rows, op.scalar(DType::Int64, static_cast<double>(k))}));
  return op.call("equal", {rows, BYCC_TRY(positions(1))});
}

} // namespace

Expected<> convertEyeLike(OpContext &op) {
  NodeId x = op.input(0);
  if (op.rank(x) != 2)
    return op.error() << "input of rank " << op.rank(x) << ", wanted 2";
  int64_t k = BYCC_TRY(op.intAttr("k", 0));
  DType dtype = op.dtype(x);
  if (const Attribute *given = BYCC_TRY(op.attr("dtype", AttrKind::Int)))
    dtype = BYCC_TRY(dtypeOf(static_cast<int32_t>(given->i), op.module().source(op.sourceId())));
  if (!op.isStatic(x)) {
    op.setOutput(0, BYCC_TRY(op.cast(BYCC_TRY(eyeAtRunTime(op, x, k)), dtype)));
    return {};
  }
  std::vector<int64_t> shape = BYCC_TRY(op.staticShape(x));
  if (shape[0] > 4096 || shape[1] > 4096)
    return op.error(Status::Limit) << "a matrix of " << shape[0] << " rows";
  std::vector<float> values(static_cast<size_t>(shape[0] * shape[1]), 0);
  for (int64_t row = 0; row < shape[0]; ++row)
    if (k > -shape[0] && k < shape[1] && row + k >= 0 && row + k < shape[1])
      values[row * shape[1] + row + k] = 1;
  Dim dims[2] = {shape[0], shape[1]};
  NodeId eye = op.module().addConstant(DType::Float32, dims, values.data(), values.size() * 4);
  op.setOutput(0, BYCC_TRY(op.cast(eye, dtype)));
  return {};
}

} // namespace bycc::onnx
