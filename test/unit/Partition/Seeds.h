// How many random problems a test tries.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace bycc::cases {

// BYCC_SEEDS, if it is set.
inline uint32_t numSeeds(uint32_t fallback) {
  const char *text = std::getenv("BYCC_SEEDS");
  return text ? static_cast<uint32_t>(std::atoi(text)) : fallback;
}

} // namespace bycc::cases
