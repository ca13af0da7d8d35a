// What converters call: inputs, attributes, types and IR creation of one node.
#include "OnnxImporter.h"

#include "bycc/Support/Element.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cmath>

namespace bycc::onnx {

OpContext::OpContext(Importer &importer, const Node &proto, int64_t opset,
                     std::string_view relayName, SourceId source)
    : importer_(importer), proto_(proto), opset_(opset), relayName_(relayName), source_(source),
      outputs_(proto.outputs.size()) {}

Module &OpContext::module() { return importer_.module(); }

ErrorBuilder OpContext::error(Status status) const {
  return bycc::error(status, importer_.module().source(source_));
}

NodeId OpContext::input(size_t index) { return importer_.materialise(proto_.inputs[index]); }

const IntTensor *OpContext::knownInts(size_t index) const {
  if (!has(index))
    return nullptr;
  const Value *value = importer_.find(proto_.inputs[index]);
  return value ? value->ints.get() : nullptr;
}

std::optional<int64_t> OpContext::declaredRank(size_t output) const {
  const ValueInfo *info =
      output < numOutputs() ? importer_.declared(proto_.outputs[output]) : nullptr;
  return info && info->hasShape ? std::optional(static_cast<int64_t>(info->dims.size()))
                                : std::nullopt;
}

std::optional<std::vector<double>> OpContext::numbersOf(NodeId node) {
  if (!module().isConstant(node))
    return std::nullopt;
  const Constant &constant = module().constant(node);
  DType dtype = types().dtype(constant.type);
  std::vector<double> out(constant.bytes / static_cast<uint64_t>(sizeInBytes(dtype)));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = elementAsDouble(dtype, constant.data(), static_cast<int64_t>(i));
  return out;
}

Expected<std::vector<int64_t>> OpContext::constInts(size_t index, std::string_view what) {
  const IntTensor *known = knownInts(index);
  if (!known || !known->isComplete())
    return error(Status::Unsup) << what << " must be known when the model is read";
  return known->all();
}

Expected<int64_t> OpContext::constInt(size_t index, std::string_view what) {
  std::vector<int64_t> values = BYCC_TRY(constInts(index, what));
  if (values.size() != 1)
    return error() << what << " has " << values.size() << " values, wanted one";
  return values[0];
}

Expected<std::vector<double>> OpContext::constNumbers(size_t index, std::string_view what) {
  std::optional<std::vector<double>> values = numbersOf(input(index));
  if (!values)
    return error(Status::Unsup) << what << " must be known when the model is read";
  return *values;
}

Expected<const Attribute *> OpContext::attr(std::string_view name, AttrKind kind) {
  used_.insert(name);
  const Attribute *found = nullptr;
  for (const Attribute &attribute : proto_.attributes)
    if (attribute.name == name) {
      if (found)
        return error() << "attribute '" << name << "' is given twice";
      found = &attribute;
    }
  if (found && found->kind != kind)
    return error() << "attribute '" << name << "' has type " << static_cast<int>(found->kind)
                   << ", wanted " << static_cast<int>(kind);
  return found;
}

Expected<int64_t> OpContext::intAttr(std::string_view name, int64_t fallback) {
  const Attribute *found = BYCC_TRY(attr(name, AttrKind::Int));
  return found ? found->i : fallback;
}

Expected<int64_t> OpContext::requiredInt(std::string_view name) {
  const Attribute *found = BYCC_TRY(attr(name, AttrKind::Int));
  if (!found)
    return error() << "attribute '" << name << "' is missing";
  return found->i;
}

double decimalOf(float value) {
  std::optional<double> decimal =
      std::isfinite(value) ? parseDouble(formatFloat(value)) : std::nullopt;
  return decimal.value_or(static_cast<double>(value));
}

Expected<double> OpContext::floatAttr(std::string_view name, double fallback) {
  const Attribute *found = BYCC_TRY(attr(name, AttrKind::Float));
  return found ? decimalOf(found->f) : fallback;
}

Expected<std::string> OpContext::textAttr(std::string_view name, std::string fallback) {
  const Attribute *found = BYCC_TRY(attr(name, AttrKind::String));
  return found ? std::string(found->s) : fallback;
}

Expected<std::optional<std::vector<int64_t>>> OpContext::intsAttr(std::string_view name) {
  const Attribute *found = BYCC_TRY(attr(name, AttrKind::Ints));
  return found ? std::optional(found->ints) : std::nullopt;
}

Expected<> OpContext::checkAllAttrsUsed() const {
  std::vector<Diagnostic> found;
  for (const Attribute &attribute : proto_.attributes)
    if (!used_.count(attribute.name)) {
      Error problem = error(Status::Unsup)
                      << "attribute '" << escaped(attribute.name) << "' is not supported here";
      found.push_back(problem.diagnostics().front());
    }
  if (!found.empty())
    return Error(std::move(found));
  return {};
}

DType OpContext::dtype(NodeId node) { return types().dtype(module().type(node)); }

std::vector<Dim> OpContext::shape(NodeId node) {
  std::span<const Dim> dims = types().shape(module().type(node));
  return {dims.begin(), dims.end()};
}

bool OpContext::isStatic(NodeId node) { return types().isStatic(module().type(node)); }

Expected<std::vector<int64_t>> OpContext::staticShape(NodeId node) {
  std::vector<int64_t> result;
  for (Dim dim : shape(node)) {
    if (!dim.isConst())
      return error(Status::Unsup) << "needs a static shape, has "
                                  << types().str(module().type(node));
    result.push_back(dim.value());
  }
  return result;
}

Expected<int64_t> OpContext::normalAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return error() << "axis " << axis << " is out of range for rank " << rank;
  return axis < 0 ? axis + rank : axis;
}

Expected<std::vector<int64_t>> OpContext::normalAxes(std::vector<int64_t> axes, int64_t rank) {
  for (int64_t &axis : axes)
    axis = BYCC_TRY(normalAxis(axis, rank));
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    return error() << "axis " << *twice << " is given twice";
  return axes;
}

Expected<NodeId> OpContext::call(std::string_view op, std::span<const NodeId> operands,
                                 AttrDict attrs) {
  OpId id = findOp(op);
  if (!id)
    return error(Status::Unsup) << "needs the operator " << op << ", which is not built in";
  return importer_.builder().call(id, operands, std::move(attrs));
}

NodeId OpContext::tuple(std::span<const NodeId> fields) {
  return importer_.builder().tuple(fields);
}

Expected<NodeId> OpContext::project(NodeId tuple, uint32_t index) {
  return importer_.builder().project(tuple, index);
}

NodeId OpContext::scalar(DType dtype, double value) { return module().addScalar(dtype, value); }

NodeId OpContext::ints(std::span<const int64_t> values) {
  Dim count(static_cast<int64_t>(values.size()));
  return module().addConstant(DType::Int64, {&count, 1}, values.data(), values.size_bytes());
}

Expected<NodeId> OpContext::reshape(NodeId node, std::span<const int64_t> wanted) {
  std::vector<Dim> dims(wanted.begin(), wanted.end());
  if (std::all_of(wanted.begin(), wanted.end(), [](int64_t d) { return d > 0; }) &&
      dims == shape(node))
    return node;
  return call("reshape", {node}, {{"newshape", AttrValue::ints(wanted)}});
}

Expected<NodeId> OpContext::transpose(NodeId node, std::span<const int64_t> axes) {
  return call("transpose", {node}, {{"axes", AttrValue::ints(axes)}});
}

Expected<NodeId> OpContext::moveAxis(NodeId node, int64_t from, int64_t to) {
  if (from == to)
    return node;
  if (from < 0 || to < 0 || from >= rank(node) || to >= rank(node))
    return error() << "an input of rank " << rank(node);
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank(node); ++d)
    if (d != from)
      order.push_back(d);
  order.insert(order.begin() + to, from);
  return transpose(node, order);
}

Expected<NodeId> OpContext::cast(NodeId node, DType wanted) {
  if (dtype(node) == wanted)
    return node;
  return call("cast", {node}, {{"dtype", name(wanted)}});
}

} // namespace bycc::onnx
