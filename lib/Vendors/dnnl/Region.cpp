// See Region.h.
#include "Region.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace bycc::onednn {

const bycc_attr *NodeReader::find(std::string_view name) const {
  for (uint32_t i = 0; i < node_.num_attrs; ++i)
    if (const bycc_attr *attr = bycc_attr_at(node_.attrs, i); attr->name && name == attr->name)
      return attr->kind == BYCC_ATTR_NONE ? nullptr : attr;
  return nullptr;
}

int64_t NodeReader::integer(std::string_view name, int64_t fallback) const {
  const bycc_attr *attr = find(name);
  if (!attr)
    return fallback;
  return attr->kind == BYCC_ATTR_FLOAT ? static_cast<int64_t>(attr->f) : attr->i;
}

double NodeReader::number(std::string_view name, double fallback) const {
  const bycc_attr *attr = find(name);
  if (!attr)
    return fallback;
  return attr->kind == BYCC_ATTR_FLOAT ? attr->f : static_cast<double>(attr->i);
}

bool NodeReader::flag(std::string_view name, bool fallback) const {
  return integer(name, fallback) != 0;
}

std::string_view NodeReader::string(std::string_view name, std::string_view fallback) const {
  const bycc_attr *attr = find(name);
  return attr && attr->kind == BYCC_ATTR_STRING && attr->s ? attr->s : fallback;
}

std::optional<Dims> NodeReader::integers(std::string_view name) const {
  const bycc_attr *attr = find(name);
  if (!attr)
    return std::nullopt;
  if (attr->kind != BYCC_ATTR_LIST)
    return Dims{attr->i};
  Dims out;
  for (uint32_t i = 0; i < attr->count; ++i)
    out.push_back(bycc_item_at(attr, i)->i);
  return out;
}

Expected<> NodeReader::pairs(std::string_view name, size_t rank, Dims &first,
                             Dims &second) const {
  const bycc_attr *list = find(name);
  if (!list || list->kind != BYCC_ATTR_LIST || list->count != rank)
    return error(Status::Unsup) << std::string(name) << " does not hold a pair for each axis";
  for (uint32_t i = 0; i < list->count; ++i) {
    const bycc_attr &pair = *bycc_item_at(list, i);
    if (pair.kind != BYCC_ATTR_LIST || pair.count != 2)
      return error(Status::Unsup) << std::string(name) << " does not hold a pair for each axis";
    first.push_back(bycc_item_at(&pair, 0)->i);
    second.push_back(bycc_item_at(&pair, 1)->i);
  }
  return {};
}

Dims dimsOf(const bycc_value &value) {
  if (value.rank <= 0)
    return {1};
  return Dims(value.dims, value.dims + value.rank);
}

namespace {

// Elements of a constant of this dtype, widened.
template <typename Stored, typename T>
void append(const bycc_value &value, std::vector<T> &out) {
  const auto *bytes = static_cast<const uint8_t *>(value.data);
  for (uint64_t at = 0; at + sizeof(Stored) <= value.bytes; at += sizeof(Stored)) {
    Stored element;
    std::memcpy(&element, bytes + at, sizeof element);
    out.push_back(static_cast<T>(element));
  }
}

} // namespace

std::optional<double> scalarOf(const bycc_value &value) {
  bool isOne = value.bytes == (value.dtype == BYCC_BFLOAT16 ? sizeof(uint16_t) : sizeof(float));
  std::optional<std::vector<float>> elements = isOne ? floatsOf(value) : std::nullopt;
  return elements ? std::optional<double>(elements->front()) : std::nullopt;
}

std::optional<std::vector<float>> floatsOf(const bycc_value &value) {
  std::vector<float> out;
  if (value.data && value.dtype == BYCC_FLOAT32) {
    append<float>(value, out);
  } else if (value.data && value.dtype == BYCC_BFLOAT16) {
    std::vector<uint16_t> bits;
    append<uint16_t>(value, bits);
    std::transform(bits.begin(), bits.end(), std::back_inserter(out), bfloat16ToFloat);
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

std::optional<std::vector<int64_t>> integersOf(const bycc_value &value) {
  std::vector<int64_t> out;
  if (value.data && value.dtype == BYCC_INT32)
    append<int32_t>(value, out);
  else if (value.data && value.dtype == BYCC_INT64)
    append<int64_t>(value, out);
  else if (value.data && value.dtype == BYCC_INT8)
    append<int8_t>(value, out);
  else if (value.data && value.dtype == BYCC_UINT8)
    append<uint8_t>(value, out);
  return out.empty() ? std::nullopt : std::optional(out);
}

Expected<> checkValue(const bycc_value &value) {
  if (value.dtype < 0 || value.dtype >= numDTypes)
    return error(Status::Unsup) << "unknown dtype " << value.dtype;
  DType dtype = static_cast<DType>(value.dtype);
  if (!isReal(dtype) && dtype != DType::Int32 && !isQuantized(dtype))
    return error(Status::Unsup) << "dtype " << name(dtype) << " is not supported";
  if (value.rank > static_cast<int32_t>(maxRank))
    return error(Status::Unsup) << "rank " << value.rank << " is not supported, at most "
                                << maxRank;
  Dims dims = dimsOf(value);
  for (int64_t dim : dims)
    if (dim == -1)
      return error(Status::Unsup) << "an extent of " << text(dims)
                                  << " is unknown until run time";
  BYCC_TRY(checkDims(dims, dtype));
  if (value.layout && *value.layout)
    return error(Status::Unsup) << "layout " << value.layout << " is not supported";
  if (value.device != 0)
    return error(Status::Unsup) << "device " << value.device << " is not supported";
  if (value.data && value.bytes != static_cast<uint64_t>(numElements(dims) * sizeInBytes(dtype)))
    return error(Status::Unsup) << "constant of " << value.bytes << " bytes for " << text(dims);
  return {};
}

Expected<uint32_t> axisOf(int64_t axis, size_t rank) {
  int64_t wrapped = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  if (wrapped < 0 || wrapped >= static_cast<int64_t>(rank))
    return error(Status::Unsup) << "axis " << axis << " is out of range for rank " << rank;
  return static_cast<uint32_t>(wrapped);
}

RegionUses::RegionUses(const bycc_region &region)
    : maker(region.num_values, none), uses(region.num_values, 0) {
  for (uint32_t n = 0; n < region.num_nodes; ++n) {
    const bycc_node &node = *bycc_node_at(&region, n);
    for (uint32_t i = 0; i < node.num_inputs; ++i)
      ++uses[node.inputs[i]];
    for (uint32_t i = 0; i < node.num_outputs; ++i)
      maker[node.outputs[i]] = n;
  }
  for (uint32_t i = 0; i < region.num_outputs; ++i)
    ++uses[region.outputs[i]];
}

} // namespace bycc::onednn
