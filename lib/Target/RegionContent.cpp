// The content of a region as one string of fields, hashed.

#include "bycc/Support/Hash.h"
#include "bycc/Target/RegionCompiler.h"

#include <cstring>

namespace bycc {
namespace {

class ContentWriter {
public:
  explicit ContentWriter(bool hasNames) : hasNames_(hasNames) {}
  std::string text;

  void region(const bycc_region &region) {
    name(region.symbol);
    number(region.num_values);
    for (uint32_t i = 0; i < region.num_values; ++i)
      value(*bycc_value_at(&region, i));
    number(region.num_nodes);
    for (uint32_t i = 0; i < region.num_nodes; ++i)
      node(*bycc_node_at(&region, i));
    indices(region.inputs, region.num_inputs);
    indices(region.outputs, region.num_outputs);
    bytes(region.tuning, region.tuning_bytes);
    for (uint32_t i = 0; i < region.num_symbols; ++i)
      number(bycc_symbol_at(&region, i)->likely);
  }

private:
  template <typename T> void number(T value) {
    text.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void bytes(const void *data, uint64_t size) {
    number(size);
    if (size)
      text.append(static_cast<const char *>(data), size);
  }
  void string(const char *value) { bytes(value, value ? std::strlen(value) : 0); }
  void name(const char *value) {
    if (hasNames_)
      string(value);
  }
  void indices(const uint32_t *list, uint32_t count) { bytes(list, count * sizeof *list); }

  void value(const bycc_value &value) {
    number(value.dtype);
    bytes(value.dims, static_cast<uint64_t>(value.rank) * sizeof *value.dims);
    string(value.layout);
    number(value.device);
    number(value.data != nullptr);
    number(value.bytes);
    if (hasNames_) {
      number(value.weights_offset);
      number(value.flags);
    }
    name(value.name);
  }

  void node(const bycc_node &node) {
    string(node.op);
    number(node.num_attrs);
    for (uint32_t i = 0; i < node.num_attrs; ++i)
      attr(*bycc_attr_at(node.attrs, i));
    indices(node.inputs, node.num_inputs);
    indices(node.outputs, node.num_outputs);
    number(node.num_roles);
    for (uint32_t i = 0; i < node.num_roles; ++i) {
      const bycc_role &role = *bycc_role_at(&node, i);
      string(role.name);
      number(role.kind);
      number(role.index);
    }
    name(node.source);
    string(node.implementation);
    number(node.body != nullptr);
    if (node.body)
      region(*node.body);
  }

  void attr(const bycc_attr &attr) {
    string(attr.name);
    number(attr.kind);
    number(attr.i);
    number(attr.f);
    string(attr.s);
    number(attr.count);
    for (uint32_t i = 0; i < attr.count; ++i)
      this->attr(*bycc_item_at(&attr, i));
  }

  bool hasNames_;
};

} // namespace

namespace {

std::array<uint8_t, 16> hashOf(const bycc_region &region, bool hasNames) {
  ContentWriter writer(hasNames);
  writer.region(region);
  return hash128(writer.text.data(), writer.text.size());
}

} // namespace

std::array<uint8_t, 16> contentHash(const bycc_region &region) { return hashOf(region, true); }
std::array<uint8_t, 16> tuningHash(const bycc_region &region) { return hashOf(region, false); }

} // namespace bycc
