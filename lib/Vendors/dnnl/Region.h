// Reading a bycc_region: attributes by name, extents, scalar constants, and who
// uses what.
#pragma once

#include "Plan.h"

#include "bycc/vendor.h"

#include <optional>
#include <string_view>

namespace bycc::onednn {

// Attributes of a node; absent ones read as the fallback.
class NodeReader {
public:
  explicit NodeReader(const bycc_node &node) : node_(node) {}
  std::string_view op() const { return node_.op; }
  const bycc_attr *find(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t fallback) const;
  double number(std::string_view name, double fallback) const;
  bool flag(std::string_view name, bool fallback) const;
  std::string_view string(std::string_view name, std::string_view fallback) const;
  // Nothing when absent or None; a single integer is a list of one.
  std::optional<Dims> integers(std::string_view name) const;
  // A list of pairs, one for each axis: "pad_width".
  Expected<> pairs(std::string_view name, size_t rank, Dims &first, Dims &second) const;
  const bycc_node &node() const { return node_; }

private:
  const bycc_node &node_;
};

// Extents with rank 0 as (1).
Dims dimsOf(const bycc_value &value);
// A constant of one element.
std::optional<double> scalarOf(const bycc_value &value);
// The elements of a constant of any rank: floats, integers; nothing for others.
std::optional<std::vector<float>> floatsOf(const bycc_value &value);
std::optional<std::vector<int64_t>> integersOf(const bycc_value &value);
// Known positive extents, row-major, on the host, of a dtype that some step takes;
// else why not.
Expected<> checkValue(const bycc_value &value);
inline DType dtypeOf(const bycc_value &checked) { return static_cast<DType>(checked.dtype); }
// An axis counted from the end when negative.
Expected<uint32_t> axisOf(int64_t axis, size_t rank);

// Per value: the node that makes it and how often it is used (outputs count).
struct RegionUses {
  explicit RegionUses(const bycc_region &region);
  static constexpr uint32_t none = ~0u;
  std::vector<uint32_t> maker;
  std::vector<uint32_t> uses;
};

} // namespace bycc::onednn
