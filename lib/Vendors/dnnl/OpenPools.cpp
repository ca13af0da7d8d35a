// See OpenPools.h.
#include "OpenPools.h"

namespace bycc::onednn {
namespace {

// ceil_mode lengthens the padding at the end by up to stride - 1.
bool mayLieInPadding(vendor::Node pool, size_t spatial) {
  Dims kernel = pool.spatial("pool_size", spatial, 1), strides = pool.spatial("strides", spatial);
  vendor::Padding padding = pool.padding("padding", spatial);
  for (size_t i = 0; i < spatial; ++i)
    if (padding.after[i] + strides[i] - 1 >= kernel[i])
      return true;
  return false;
}

std::string reasonOf(vendor::Node node) {
  bool isAverage = node.op().starts_with("nn.avg_pool");
  if ((!isAverage && !node.op().starts_with("nn.max_pool")) || !node.flag("ceil_mode", false))
    return "";
  vendor::Value data = node.input(0);
  if (data.rank() < 3 || data.isStatic())
    return "";
  std::string at = " at some extents that are known at run time only";
  if (mayLieInPadding(node, static_cast<size_t>(data.rank()) - 2))
    return std::string(node.op()) + ": ceil_mode makes a window that lies in the padding" + at;
  if (isAverage && node.flag("count_include_pad", false))
    return std::string(node.op()) + ": ceil_mode counts what is beyond the padding" + at;
  return "";
}

} // namespace

std::optional<Refusal> refusalOfOpenPools(const bycc_region &region) {
  for (uint32_t i = 0; i < region.num_nodes; ++i)
    if (std::string reason = reasonOf(vendor::Node(&region, i)); !reason.empty())
      return Refusal{i, reason};
  return std::nullopt;
}

} // namespace bycc::onednn
