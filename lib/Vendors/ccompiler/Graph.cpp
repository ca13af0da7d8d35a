// See Graph.h.
#include "Graph.h"

namespace bycc::ccompiler {

namespace {

constexpr int32_t maxRank = 32;
constexpr int64_t maxElements = int64_t{1} << 40;
constexpr int maxDepth = 16; // composites in composites

Expected<> checkDims(const bycc_value &value, const Dims &dims) {
  int64_t product = 1;
  for (int64_t dim : dims) {
    if (dim == -1)
      return error(Status::Unsup) << "an extent of " << text(dims) << " is unknown until run time";
    if (dim < -1)
      return error(Status::Unsup) << "an extent of " << text(dims) << " is negative";
    if (dim > maxElements || (dim > 0 && product > maxElements / dim))
      return error(Status::Unsup) << text(dims) << " has too many elements";
    product *= dim;
  }
  if (value.data && value.bytes != static_cast<uint64_t>(
                                       count(dims) * sizeInBytes(static_cast<DType>(value.dtype))))
    return error(Status::Unsup) << "constant of " << value.bytes << " bytes for " << text(dims);
  return {};
}

Expected<Value> readValue(const bycc_value &from) {
  if (from.dtype < 0 || from.dtype >= numDTypes)
    return error(Status::Unsup) << "unknown dtype " << from.dtype;
  Value value;
  value.dtype = static_cast<DType>(from.dtype);
  if (value.dtype == DType::Float16 || value.dtype == DType::BFloat16)
    return error(Status::Unsup) << "C has no portable type for " << name(value.dtype);
  if (from.rank < 0 || from.rank > maxRank)
    return error(Status::Unsup) << "rank " << from.rank << " is not supported, at most " << maxRank;
  value.dims.assign(from.dims, from.dims + from.rank);
  BYCC_TRY(checkDims(from, value.dims));
  if (from.layout && *from.layout)
    return error(Status::Unsup) << "layout " << from.layout << " is not supported";
  if (from.device != 0)
    return error(Status::Unsup) << "device " << from.device << " is not supported";
  value.data = from.data;
  value.weightsOffset = from.weights_offset;
  return value;
}

class GraphReader {
public:
  GraphReader(Graph &graph, std::optional<uint32_t> &blamed) : graph_(graph), blamed_(blamed) {}

  Expected<> read(const bycc_region &region) {
    graph_.symbol = region.symbol ? region.symbol : "";
    std::vector<ValueId> known(region.num_values, noValue);
    for (uint32_t i = 0; i < region.num_inputs; ++i) {
      ValueId &id = known[region.inputs[i]];
      if (id == noValue)
        id = BYCC_TRY(add(*bycc_value_at(&region, region.inputs[i])));
      Value &value = graph_.values[id];
      value.data = nullptr; // comes with each run
      if (value.inputIndex < 0)
        value.inputIndex = i;
      graph_.inputs.push_back(id);
    }
    BYCC_TRY(readNodes(region, known, 0));
    for (uint32_t i = 0; i < region.num_outputs; ++i)
      graph_.outputs.push_back(BYCC_TRY(valueOf(region, known, region.outputs[i])));
    return {};
  }

private:
  Expected<ValueId> add(const bycc_value &from) {
    Value value = BYCC_TRY(readValue(from));
    value.root = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back(std::move(value));
    return graph_.values.back().root;
  }

  // Constants appear when first used.
  Expected<ValueId> valueOf(const bycc_region &region, std::vector<ValueId> &known,
                            uint32_t index) {
    if (index >= region.num_values)
      return error(Status::Unsup) << "value " << index << " of " << region.num_values;
    if (known[index] == noValue && !bycc_value_at(&region, index)->data)
      return error(Status::Unsup) << "value " << index << " is used before it is made";
    if (known[index] == noValue)
      known[index] = BYCC_TRY(add(*bycc_value_at(&region, index)));
    return known[index];
  }

  Expected<> readNodes(const bycc_region &region, std::vector<ValueId> &known, int depth) {
    if (depth > maxDepth)
      return error(Status::Unsup) << "composites nest more than " << maxDepth << " deep";
    for (uint32_t n = 0; n < region.num_nodes; ++n) {
      if (depth == 0)
        place_ = n;
      blamed_ = place_;
      BYCC_TRY(readNode(region, *bycc_node_at(&region, n), known, depth));
    }
    blamed_.reset();
    return {};
  }

  Expected<> readNode(const bycc_region &region, const bycc_node &node, std::vector<ValueId> &known,
                      int depth) {
    Op op{&node, {}, {}, node.source ? node.source : "", place_};
    for (uint32_t i = 0; i < node.num_inputs; ++i)
      op.inputs.push_back(BYCC_TRY(valueOf(region, known, node.inputs[i])));
    if (node.body)
      return readBody(node, op.inputs, known, depth);
    for (uint32_t i = 0; i < node.num_outputs; ++i)
      op.outputs.push_back(known[node.outputs[i]] =
                               BYCC_TRY(add(*bycc_value_at(&region, node.outputs[i]))));
    graph_.ops.push_back(std::move(op));
    return {};
  }

  Expected<> readBody(const bycc_node &node, const std::vector<ValueId> &inputs,
                      std::vector<ValueId> &known, int depth) {
    const bycc_region &body = *node.body;
    if (body.num_inputs != inputs.size() || body.num_outputs != node.num_outputs)
      return error(Status::Unsup) << "composite with " << inputs.size() << " operands and "
                                  << body.num_inputs << " parameters";
    std::vector<ValueId> inner(body.num_values, noValue);
    for (uint32_t i = 0; i < body.num_inputs; ++i)
      inner[body.inputs[i]] = inputs[i];
    BYCC_TRY(readNodes(body, inner, depth + 1));
    for (uint32_t i = 0; i < node.num_outputs; ++i)
      known[node.outputs[i]] = BYCC_TRY(valueOf(body, inner, body.outputs[i]));
    return {};
  }

  Graph &graph_;
  std::optional<uint32_t> &blamed_;
  uint32_t place_ = 0;
};

} // namespace

int64_t count(const Dims &dims) {
  int64_t product = 1;
  for (int64_t dim : dims)
    product *= dim;
  return product;
}

Dims rowStrides(const Dims &dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

std::string text(const Dims &dims) {
  std::string out = "(";
  for (size_t i = 0; i < dims.size(); ++i)
    out += (i ? ", " : "") + (dims[i] < 0 ? std::string("?") : std::to_string(dims[i]));
  return out + ")";
}

Expected<Graph> readGraph(const bycc_region &region, std::optional<uint32_t> &blamed) {
  Graph graph;
  BYCC_TRY(GraphReader(graph, blamed).read(region));
  return graph;
}

const bycc_attr *Attributes::find(std::string_view name) const {
  for (uint32_t i = 0; i < node_.num_attrs; ++i)
    if (const bycc_attr *attr = bycc_attr_at(node_.attrs, i); attr->name && name == attr->name)
      return attr->kind == BYCC_ATTR_NONE ? nullptr : attr;
  return nullptr;
}

int64_t Attributes::integer(std::string_view name, int64_t fallback) const {
  const bycc_attr *attr = find(name);
  return attr && (attr->kind == BYCC_ATTR_INT || attr->kind == BYCC_ATTR_BOOL) ? attr->i : fallback;
}

double Attributes::number(std::string_view name, double fallback) const {
  const bycc_attr *attr = find(name);
  if (!attr)
    return fallback;
  return attr->kind == BYCC_ATTR_FLOAT ? attr->f : static_cast<double>(attr->i);
}

std::string Attributes::text(std::string_view name, std::string_view fallback) const {
  const bycc_attr *attr = find(name);
  return std::string(attr && attr->kind == BYCC_ATTR_STRING && attr->s ? attr->s : fallback);
}

namespace {

Dims itemsOf(const bycc_attr &attr) {
  if (attr.kind != BYCC_ATTR_LIST)
    return {attr.i};
  Dims items;
  for (uint32_t i = 0; i < attr.count; ++i)
    items.push_back(bycc_item_at(&attr, i)->i);
  return items;
}

} // namespace

std::optional<Dims> Attributes::integers(std::string_view name) const {
  const bycc_attr *attr = find(name);
  return attr ? std::optional(itemsOf(*attr)) : std::nullopt;
}

std::optional<std::vector<Dims>> Attributes::lists(std::string_view name) const {
  const bycc_attr *attr = find(name);
  if (!attr || attr->kind != BYCC_ATTR_LIST)
    return std::nullopt;
  std::vector<Dims> lists;
  for (uint32_t i = 0; i < attr->count; ++i)
    lists.push_back(itemsOf(*bycc_item_at(attr, i)));
  return lists;
}

Expected<size_t> axisOf(int64_t axis, size_t rank) {
  int64_t wrapped = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  if (wrapped < 0 || wrapped >= static_cast<int64_t>(rank))
    return error(Status::Unsup) << "axis " << axis << " is out of range for rank " << rank;
  return static_cast<size_t>(wrapped);
}

} // namespace bycc::ccompiler
