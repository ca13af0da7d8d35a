// See OpenPools.h.
#include "OpenPools.h"

#include <algorithm>

namespace bycc::onednn {
namespace {

bool hasOpenExtents(const bycc_value &value) {
  return std::any_of(value.dims, value.dims + value.rank, [](int64_t dim) { return dim < 0; });
}

// ceil_mode lengthens the padding at the end by up to stride - 1.
bool mayLieInPadding(vendor::Node pool, size_t spatial) {
  Dims kernel = pool.spatial("pool_size", spatial, 1), strides = pool.spatial("strides", spatial);
  vendor::Padding padding = pool.padding("padding", spatial);
  for (size_t i = 0; i < spatial; ++i)
    if (padding.after[i] + strides[i] - 1 >= kernel[i])
      return true;
  return false;
}

std::string reasonOf(vendor::Node node, const bycc_region &region) {
  bool isAverage = node.op().starts_with("nn.avg_pool");
  if ((!isAverage && !node.op().starts_with("nn.max_pool")) || !node.flag("ceil_mode", false))
    return "";
  const bycc_value &data = *bycc_value_at(&region, node.raw().inputs[0]);
  if (data.rank < 3 || !hasOpenExtents(data))
    return "";
  std::string at = " at some extents that are known at run time only";
  if (mayLieInPadding(node, static_cast<size_t>(data.rank) - 2))
    return std::string(node.op()) + ": ceil_mode makes a window that lies in the padding" + at;
  if (isAverage && node.flag("count_include_pad", false))
    return std::string(node.op()) + ": ceil_mode counts what is beyond the padding" + at;
  return "";
}

} // namespace

std::optional<Refusal> refusalOfOpenPools(const bycc_region &region) {
  for (uint32_t i = 0; i < region.num_nodes; ++i)
    if (std::string reason = reasonOf(vendor::Node(&region, i), region); !reason.empty())
      return Refusal{i, reason};
  return std::nullopt;
}

} // namespace bycc::onednn
