#include "OnnxCompose.h"

#include <algorithm>

namespace bycc::onnx {

NodeId Compose::keep(Expected<NodeId> made) {
  if (made)
    return *made;
  problem_ = made.takeError();
  return NodeId();
}

Expected<NodeId> Compose::done(NodeId made) {
  if (problem_)
    return std::move(*problem_);
  return made;
}

NodeId Compose::call(std::string_view name, std::initializer_list<NodeId> operands,
                     AttrDict attrs) {
  return problem_ ? NodeId() : keep(op_.call(name, operands, std::move(attrs)));
}

NodeId Compose::call(std::string_view name, NodeId a, double b) {
  return problem_ ? NodeId() : keep(op_.call(name, {a, op_.scalar(op_.dtype(a), b)}));
}

NodeId Compose::where(NodeId condition, NodeId a, double b) {
  return problem_ ? NodeId() : where(condition, a, op_.scalar(op_.dtype(a), b));
}

NodeId Compose::reduce(std::string_view name, NodeId x, const std::vector<int64_t> &axes,
                       bool keepDims) {
  return call(name, {x}, {{"axis", AttrValue::ints(axes)}, {"keepdims", keepDims}});
}

NodeId Compose::reshape(NodeId x, const std::vector<int64_t> &shape) {
  return problem_ ? NodeId() : keep(op_.reshape(x, shape));
}

NodeId Compose::transpose(NodeId x, const std::vector<int64_t> &axes) {
  if (std::is_sorted(axes.begin(), axes.end()))
    return x;
  return call("transpose", {x}, {{"axes", AttrValue::ints(axes)}});
}

NodeId Compose::broadcast(NodeId x, const std::vector<int64_t> &shape) {
  return call("broadcast_to", {x}, {{"shape", AttrValue::ints(shape)}});
}

NodeId Compose::cast(NodeId x, DType dtype) {
  return problem_ ? NodeId() : keep(op_.cast(x, dtype));
}

NodeId Compose::expand(NodeId x, int64_t axis, int64_t count) {
  return count == 0 ? x : call("expand_dims", {x}, {{"axis", axis}, {"num_newaxis", count}});
}

NodeId Compose::squeeze(NodeId x, std::vector<int64_t> axes) {
  return call("squeeze", {x}, {{"axis", AttrValue::ints(axes)}});
}

NodeId Compose::slice(NodeId x, int64_t axis, int64_t begin, int64_t end, int64_t step) {
  return call("strided_slice", {x},
              {{"begin", AttrValue::ints({&begin, 1})},
               {"end", AttrValue::ints({&end, 1})},
               {"strides", AttrValue::ints({&step, 1})},
               {"axes", AttrValue::ints({&axis, 1})}});
}

NodeId Compose::concat(std::span<const NodeId> parts, int64_t axis) {
  if (problem_ || parts.size() == 1)
    return problem_ ? NodeId() : parts[0];
  return call("concatenate", {op_.tuple(parts)}, {{"axis", axis}});
}

NodeId Compose::stack(std::span<const NodeId> parts, int64_t axis) {
  return problem_ ? NodeId() : call("stack", {op_.tuple(parts)}, {{"axis", axis}});
}

NodeId Compose::pad(NodeId x, const std::vector<std::array<int64_t, 2>> &widths, double value) {
  if (problem_ || std::all_of(widths.begin(), widths.end(), [](const std::array<int64_t, 2> &pair) {
        return pair[0] == 0 && pair[1] == 0;
      }))
    return problem_ ? NodeId() : x;
  AttrValue::List pairs;
  for (const std::array<int64_t, 2> &pair : widths)
    pairs.push_back(AttrValue::ints(pair));
  return call("nn.pad", {x, op_.scalar(op_.dtype(x), value)}, {{"pad_width", std::move(pairs)}});
}

NodeId Compose::zeros(const std::vector<int64_t> &shape, DType dtype) {
  return call("zeros", {}, {{"shape", AttrValue::ints(shape)}, {"dtype", name(dtype)}});
}

NodeId Compose::iota(int64_t count, DType dtype) {
  return call(
      "arange", {},
      {{"start", int64_t{0}}, {"stop", count}, {"step", int64_t{1}}, {"dtype", name(dtype)}});
}

NodeId Compose::iota(NodeId count) {
  return call("arange", {scalar(DType::Int64, 0), count, scalar(DType::Int64, 1)},
              {{"dtype", "int64"}});
}

NodeId Compose::table(std::span<const int64_t> values, const std::vector<int64_t> &shape) {
  return problem_ ? NodeId() : reshape(op_.ints(values), shape);
}

NodeId Compose::numbers(std::span<const double> values, const std::vector<int64_t> &shape,
                        DType dtype) {
  std::vector<Dim> dims(shape.begin(), shape.end());
  return cast(op_.module().addConstant(DType::Float64, dims, values.data(), values.size_bytes()),
              dtype);
}

} // namespace bycc::onnx
