// A bycc_region as bytes, for another process of this bycc. Large constants stay where
// they are: in files that both processes map.
#pragma once

#include "bycc/vendor.h"

#include <cstdint>
#include <functional>
#include <memory_resource>
#include <optional>
#include <string>

namespace bycc {

struct ConstantPlace {
  uint32_t file = 0; // as the two processes number them
  uint64_t offset = 0;
};

// `placeOf` tells where a constant lies; none: its bytes go with the region.
std::string encodeRegion(
    const bycc_region &region,
    const std::function<std::optional<ConstantPlace>(const void *data, uint64_t bytes)> &placeOf);

// The region again. Points into `bytes`, which is at a multiple of 16 and stays there.
class DecodedRegion {
public:
  using ConstantAt = std::function<const void *(const ConstantPlace &place, uint64_t bytes)>;
  DecodedRegion(const char *bytes, const ConstantAt &constantAt);
  const bycc_region &region() const { return *region_; }

private:
  std::pmr::monotonic_buffer_resource memory_;
  const bycc_region *region_;
};

} // namespace bycc
