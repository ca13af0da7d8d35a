// What the problems on plain numbers have in common.
#pragma once

#include <cstdint>

namespace bycc {

inline constexpr uint32_t none = UINT32_MAX; // no item, tile, set or region
inline constexpr uint32_t host = 0;          // of a plan's tiles; vendors are numbers from 1 up

} // namespace bycc
