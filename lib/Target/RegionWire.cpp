// Fields one after the other, in the order of vendor.h; arrays of numbers at multiples of
// their size, texts with their NUL, so that both can be used where they lie. Bodies of
// composites come inside their nodes; the tables of extents, which they share, once at
// the end.

#include "RegionWire.h"

#include <cstring>
#include <span>
#include <tuple>
#include <vector>

namespace bycc {
namespace {

enum class ConstantKind : uint32_t { None, Inline, InFile };
constexpr uint32_t noText = UINT32_MAX;
constexpr size_t constantAlignment = 16;

class Encoder {
public:
  using PlaceOf = std::function<std::optional<ConstantPlace>(const void *, uint64_t)>;
  explicit Encoder(const PlaceOf &placeOf) : placeOf_(placeOf) {}
  std::string bytes;

  void region(const bycc_region &region) {
    text(region.symbol);
    number(region.num_values);
    for (uint32_t i = 0; i < region.num_values; ++i)
      value(*bycc_value_at(&region, i));
    number(region.num_nodes);
    for (uint32_t i = 0; i < region.num_nodes; ++i)
      node(*bycc_node_at(&region, i));
    array(region.inputs, region.num_inputs);
    array(region.outputs, region.num_outputs);
  }

  void tables(const bycc_region &region) {
    array(static_cast<const uint8_t *>(region.tuning), region.tuning_bytes);
    number(region.num_symbols);
    for (uint32_t i = 0; i < region.num_symbols; ++i) {
      const bycc_symbol &symbol = *bycc_symbol_at(&region, i);
      text(symbol.name);
      number(symbol.input);
      number(symbol.axis);
      number(symbol.likely);
    }
    array(region.extents, region.num_extents);
  }

private:
  void align(size_t to) { bytes.resize((bytes.size() + to - 1) / to * to); }
  template <typename T> void number(T value) {
    align(sizeof value);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  template <typename T> void array(const T *list, uint64_t count) {
    number(count);
    align(alignof(T));
    if (count)
      bytes.append(reinterpret_cast<const char *>(list), count * sizeof *list);
  }
  void text(const char *value) {
    if (!value)
      return number(noText);
    auto size = static_cast<uint32_t>(std::strlen(value));
    number(size);
    bytes.append(value, size + 1);
  }

  void value(const bycc_value &value) {
    number(value.dtype);
    number(value.rank);
    number(value.device);
    number<uint32_t>(value.dims != nullptr);
    array(value.dims, value.dims ? static_cast<uint64_t>(value.rank) : 0);
    array(value.extents, value.extents ? static_cast<uint64_t>(value.rank) : 0);
    text(value.layout);
    text(value.name);
    number(value.bytes);
    number(value.weights_offset);
    number(value.flags);
    constant(value);
  }

  void constant(const bycc_value &value) {
    if (!value.data)
      return number(ConstantKind::None);
    if (std::optional<ConstantPlace> place = placeOf_(value.data, value.bytes)) {
      number(ConstantKind::InFile);
      number(place->file);
      return number(place->offset);
    }
    number(ConstantKind::Inline);
    align(constantAlignment);
    bytes.append(static_cast<const char *>(value.data), value.bytes);
  }

  void node(const bycc_node &node) {
    text(node.op);
    attrs(node.attrs, node.num_attrs);
    array(node.inputs, node.num_inputs);
    array(node.outputs, node.num_outputs);
    number(node.num_roles);
    for (uint32_t i = 0; i < node.num_roles; ++i) {
      const bycc_role &role = *bycc_role_at(&node, i);
      text(role.name);
      number(role.kind);
      number(role.index);
    }
    text(node.source);
    text(node.implementation);
    number<uint32_t>(node.body != nullptr);
    if (node.body)
      region(*node.body);
  }

  void attrs(const void *list, uint32_t count) {
    number(count);
    for (uint32_t i = 0; i < count; ++i) {
      const bycc_attr &attr = *bycc_attr_at(list, i);
      text(attr.name);
      number(attr.kind);
      number(attr.i);
      number(attr.f);
      text(attr.s);
      attrs(attr.items, attr.count);
    }
  }

  const PlaceOf &placeOf_;
};

class Decoder {
public:
  Decoder(const char *bytes, const DecodedRegion::ConstantAt &constantAt,
          std::pmr::memory_resource &memory)
      : begin_(bytes), constantAt_(constantAt), memory_(memory) {}

  const bycc_region *top() {
    bycc_region *region = decodeRegion();
    tables(*region);
    for (bycc_region *body : bodies_)
      share(*region, *body);
    return region;
  }

private:
  void align(size_t to) { at_ = (at_ + to - 1) / to * to; }
  template <typename T> T number() {
    align(sizeof(T));
    T value;
    std::memcpy(&value, begin_ + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  template <typename T> std::span<const T> array() {
    auto count = number<uint64_t>();
    align(alignof(T));
    auto *list = reinterpret_cast<const T *>(begin_ + at_);
    at_ += count * sizeof(T);
    return {list, count};
  }
  const char *text() {
    auto size = number<uint32_t>();
    if (size == noText)
      return nullptr;
    const char *value = begin_ + at_;
    at_ += size + 1;
    return value;
  }
  template <typename T> T *make(size_t count) {
    void *memory = memory_.allocate(count * sizeof(T) + 1, alignof(T));
    std::memset(memory, 0, count * sizeof(T));
    return static_cast<T *>(memory);
  }
  template <typename T> T *makeSized(size_t count) {
    T *made = make<T>(count);
    for (size_t i = 0; i < count; ++i)
      made[i].size = sizeof(T);
    return made;
  }

  bycc_region *decodeRegion() {
    auto *region = makeSized<bycc_region>(1);
    region->symbol = text();
    region->num_values = number<uint32_t>();
    auto *values = makeSized<bycc_value>(region->num_values);
    for (uint32_t i = 0; i < region->num_values; ++i)
      decodeValue(values[i]);
    region->values = values;
    region->num_nodes = number<uint32_t>();
    auto *nodes = makeSized<bycc_node>(region->num_nodes);
    for (uint32_t i = 0; i < region->num_nodes; ++i)
      decodeNode(nodes[i]);
    region->nodes = nodes;
    std::tie(region->inputs, region->num_inputs) = indices();
    std::tie(region->outputs, region->num_outputs) = indices();
    return region;
  }

  std::pair<const uint32_t *, uint32_t> indices() {
    auto list = array<uint32_t>();
    return {list.data(), static_cast<uint32_t>(list.size())};
  }

  void decodeValue(bycc_value &value) {
    value.dtype = number<int32_t>();
    value.rank = number<int32_t>();
    value.device = number<int32_t>();
    bool hasDims = number<uint32_t>();
    auto dims = array<int64_t>();
    value.dims = hasDims ? dims.data() : nullptr;
    auto extents = array<int32_t>();
    value.extents = extents.empty() ? nullptr : extents.data();
    value.layout = text();
    value.name = text();
    value.bytes = number<uint64_t>();
    value.weights_offset = number<uint64_t>();
    value.flags = number<uint64_t>();
    value.data = constant(value.bytes);
  }

  const void *constant(uint64_t bytes) {
    auto kind = number<ConstantKind>();
    if (kind == ConstantKind::None)
      return nullptr;
    if (kind == ConstantKind::InFile) {
      ConstantPlace place;
      place.file = number<uint32_t>();
      place.offset = number<uint64_t>();
      return constantAt_(place, bytes);
    }
    align(constantAlignment);
    const char *data = begin_ + at_;
    at_ += bytes;
    return data;
  }

  void decodeNode(bycc_node &node) {
    node.op = text();
    std::tie(node.attrs, node.num_attrs) = attrs();
    std::tie(node.inputs, node.num_inputs) = indices();
    std::tie(node.outputs, node.num_outputs) = indices();
    node.num_roles = number<uint32_t>();
    auto *roles = makeSized<bycc_role>(node.num_roles);
    for (uint32_t i = 0; i < node.num_roles; ++i) {
      roles[i].name = text();
      roles[i].kind = number<int32_t>();
      roles[i].index = number<uint32_t>();
    }
    node.roles = roles;
    node.source = text();
    node.implementation = text();
    if (number<uint32_t>()) {
      bycc_region *body = decodeRegion();
      bodies_.push_back(body);
      node.body = body;
    }
  }

  std::pair<const bycc_attr *, uint32_t> attrs() {
    auto count = number<uint32_t>();
    auto *list = makeSized<bycc_attr>(count);
    for (uint32_t i = 0; i < count; ++i) {
      list[i].name = text();
      list[i].kind = number<int32_t>();
      list[i].i = number<int64_t>();
      list[i].f = number<double>();
      list[i].s = text();
      std::tie(list[i].items, list[i].count) = attrs();
    }
    return {count ? list : nullptr, count};
  }

  void tables(bycc_region &region) {
    auto tuning = array<uint8_t>();
    region.tuning = tuning.empty() ? nullptr : tuning.data();
    region.tuning_bytes = tuning.size();
    region.num_symbols = number<uint32_t>();
    auto *symbols = makeSized<bycc_symbol>(region.num_symbols);
    for (uint32_t i = 0; i < region.num_symbols; ++i) {
      symbols[i].name = text();
      symbols[i].input = number<int32_t>();
      symbols[i].axis = number<int32_t>();
      symbols[i].likely = number<int64_t>();
    }
    region.symbols = symbols;
    auto extents = array<bycc_extent>();
    region.extents = extents.data();
    region.num_extents = static_cast<uint32_t>(extents.size());
  }

  static void share(const bycc_region &from, bycc_region &to) {
    to.num_symbols = from.num_symbols;
    to.symbols = from.symbols;
    to.num_extents = from.num_extents;
    to.extents = from.extents;
  }

  const char *begin_;
  size_t at_ = 0;
  const DecodedRegion::ConstantAt &constantAt_;
  std::pmr::memory_resource &memory_;
  std::pmr::vector<bycc_region *> bodies_{&memory_};
};

} // namespace

std::string
encodeRegion(const bycc_region &region,
             const std::function<std::optional<ConstantPlace>(const void *, uint64_t)> &placeOf) {
  Encoder encoder(placeOf);
  encoder.region(region);
  encoder.tables(region);
  return std::move(encoder.bytes);
}

DecodedRegion::DecodedRegion(const char *bytes, const ConstantAt &constantAt)
    : region_(Decoder(bytes, constantAt, memory_).top()) {}

} // namespace bycc
