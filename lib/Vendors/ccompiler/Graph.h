// A region as this vendor sees it: composites opened, every value and attribute
// checked, so that what follows works on numbers it can trust.
#pragma once

#include "bycc/Support/DType.h"
#include "bycc/Support/Error.h"
#include "bycc/vendor.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace bycc::ccompiler {

using vendor::axisOf;
using vendor::Dims;
using vendor::rowStrides;
using vendor::text;
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

inline int64_t count(const Dims &dims) { return static_cast<int64_t>(vendor::count(dims)); }
inline int64_t sizeBytes(const Value &value) {
  return count(value.dims) * sizeInBytes(value.dtype);
}

// One operator call.
struct Op {
  vendor::Node node;
  std::vector<ValueId> inputs, outputs;
  uint32_t place; // index of the node of the region it belongs to
};

struct Graph {
  std::string symbol;
  std::vector<Value> values;
  std::vector<Op> ops; // in an order in which operands come first
  std::vector<ValueId> inputs, outputs;
};

// Refuses what no operator here can take: an unknown dim, a dtype without a C type, a layout.
Graph readGraph(vendor::Region region);

} // namespace bycc::ccompiler
