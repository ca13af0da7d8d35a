// A region as this vendor sees it: composites opened, every value and attribute
// checked, so that what follows works on numbers it can trust.
#pragma once

#include "bycc/Support/DType.h"
#include "bycc/Support/Error.h"
#include "bycc/vendor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bycc::ccompiler {

using Dims = std::vector<int64_t>;
using ValueId = uint32_t;
inline constexpr ValueId noValue = UINT32_MAX;

// A dense row-major tensor.
struct Value {
  DType dtype = DType::Float32;
  Dims dims;
  const void *data = nullptr; // of a constant
  uint64_t weightsOffset = 0; // of a constant, from the weights base
  int64_t inputIndex = -1;    // of an input of the region
  ValueId root = noValue;     // the value whose bytes these are; itself unless a view
};

int64_t count(const Dims &dims);   // elements
Dims rowStrides(const Dims &dims); // in elements
std::string text(const Dims &dims);
inline int64_t sizeBytes(const Value &value) {
  return count(value.dims) * sizeInBytes(value.dtype);
}

// One operator call.
struct Op {
  const bycc_node *node;
  std::vector<ValueId> inputs, outputs;
  std::string source;
  uint32_t place; // index of the node of the region it belongs to
};

struct Graph {
  std::string symbol;
  std::vector<Value> values;
  std::vector<Op> ops; // in an order in which operands come first
  std::vector<ValueId> inputs, outputs;
};

// UNSUP for what no operator here can take: an unknown dim, a dtype without a C
// type, a layout; `blamed` gets the node when it is one node's fault.
Expected<Graph> readGraph(const bycc_region &region, std::optional<uint32_t> &blamed);

// Attributes of a node. A missing or None attribute gives the fallback.
class Attributes {
public:
  explicit Attributes(const bycc_node &node) : node_(node) {}
  int64_t integer(std::string_view name, int64_t fallback) const;
  double number(std::string_view name, double fallback) const;
  bool flag(std::string_view name) const { return integer(name, 0) != 0; }
  std::string text(std::string_view name, std::string_view fallback) const;
  std::optional<Dims> integers(std::string_view name) const;           // one int is a list of one
  std::optional<std::vector<Dims>> lists(std::string_view name) const; // a list of int lists
  bool isNone(std::string_view name) const { return !find(name); }

private:
  const bycc_attr *find(std::string_view name) const;
  const bycc_node &node_;
};

// `axis` counted from the front.
Expected<size_t> axisOf(int64_t axis, size_t rank);

} // namespace bycc::ccompiler
