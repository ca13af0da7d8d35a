// What a pattern may come to, in either of its two spellings; patterns/README.md
// promises one set of bounds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bycc {

constexpr uint32_t maxPatternDepth = 64;
constexpr size_t maxPatternNodes = 1024;
constexpr size_t maxPatternText = 1 << 16; // bytes

} // namespace bycc
