// How a thread computes: IEEE defaults are to nearest, denormals kept, no traps.
#pragma once

#include <cstdint>
#include <immintrin.h>

namespace bycc::runtime {

inline constexpr uint32_t defaultSse = 0x1f80;
inline constexpr uint16_t defaultX87 = 0x37f;

struct FloatModes {
  uint32_t sse = defaultSse;
  uint16_t x87 = defaultX87;

  static FloatModes ofThread() {
    FloatModes modes{_mm_getcsr()};
    __asm__ volatile("fnstcw %0" : "=m"(modes.x87));
    return modes;
  }
  void set() const {
    _mm_setcsr(sse);
    __asm__ volatile("fldcw %0" ::"m"(x87));
  }
  // The low six bits of MXCSR are flags, not modes.
  bool isSseDefault() const { return (sse | 0x3f) == (defaultSse | 0x3f); }
};

} // namespace bycc::runtime
