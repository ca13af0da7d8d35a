// Constants and attributes as numbers.

#include "ConstantView.h"

#include "bycc/Support/Element.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace bycc {
namespace {

// Larger constants are weights, not values to look at.
constexpr uint64_t maxUniformBytes = 1 << 20;

} // namespace

double elementAt(const Module &module, const Constant &constant, int64_t index) {
  return elementAsDouble(module.types.dtype(constant.type), constant.data(), index);
}

std::optional<double> uniformValue(const Module &module, NodeId node) {
  if (!module.isConstant(node))
    return std::nullopt;
  const Constant &constant = module.constant(node);
  uint64_t width = static_cast<uint64_t>(sizeInBytes(module.types.dtype(constant.type)));
  if (constant.bytes < width || constant.bytes > maxUniformBytes)
    return std::nullopt;
  // Equal to itself shifted by one element: all elements are equal.
  if (std::memcmp(constant.data(), constant.data() + width, constant.bytes - width) != 0)
    return std::nullopt;
  return elementAt(module, constant, 0);
}

NodeId reshapeConstant(Module &module, NodeId constant, std::span<const Dim> shape) {
  Constant view = module.constant(constant);
  TypeId type = module.types.tensor(module.types.dtype(view.type), shape);
  if (type == view.type)
    return constant;
  BYCC_ASSERT(module.types.numElements(type) == module.types.numElements(view.type),
              "a view has as many elements");
  view.type = type;
  return module.addConstant(std::move(view), module.node(constant).source);
}

std::vector<int64_t> intsAttr(const Module &module, NodeId call, std::string_view key) {
  const AttrValue *value = module.attr(call, key);
  std::vector<int64_t> result;
  if (value && value->isInt())
    result.push_back(value->asInt());
  if (value && value->isList())
    for (const AttrValue &item : value->asList())
      if (item.isInt())
        result.push_back(item.asInt());
  return result;
}

int64_t intAttr(const Module &module, NodeId call, std::string_view key, int64_t otherwise) {
  const AttrValue *value = module.attr(call, key);
  return value && value->isInt() ? value->asInt() : otherwise;
}

std::string_view textAttr(const Module &module, NodeId call, std::string_view key) {
  const AttrValue *value = module.attr(call, key);
  return value && value->isString() ? std::string_view(value->asString()) : std::string_view();
}

std::optional<size_t> normalizedAxis(int64_t axis, size_t rank) {
  if (axis < 0)
    axis += static_cast<int64_t>(rank);
  if (axis < 0 || axis >= static_cast<int64_t>(rank))
    return std::nullopt;
  return static_cast<size_t>(axis);
}

std::optional<size_t> channelAxis(const Module &module, NodeId node) {
  if (module.node(node).kind != NodeKind::CallOp || !module.types.isTensor(module.type(node)))
    return std::nullopt;
  size_t rank = module.types.shape(module.type(node)).size();
  std::string_view name = opInfo(module.node(node).op).name;
  if (name == "nn.dense" || name == "nn.matmul")
    return rank == 0 ? std::nullopt : std::optional(rank - 1);
  if (!name.starts_with("nn.conv"))
    return std::nullopt;
  std::string_view layout = textAttr(module, node, "out_layout");
  if (layout.empty())
    layout = textAttr(module, node, "data_layout");
  if (layout.size() != rank ||
      !std::ranges::all_of(layout, [](char c) { return c >= 'A' && c <= 'Z'; }))
    return std::nullopt;
  size_t axis = layout.find('C');
  return axis == std::string_view::npos ? std::nullopt : std::optional(axis);
}

bool isAlongAxis(std::span<const Dim> shape, std::span<const Dim> full, size_t axis) {
  if (shape.size() > full.size())
    return false;
  size_t missing = full.size() - shape.size();
  if (axis < missing)
    return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != (i + missing == axis ? full[axis] : Dim(1)))
      return false;
  return true;
}

} // namespace bycc
