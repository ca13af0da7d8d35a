// What code is generated for: plain data, so that no pass and no vendor asks the
// build machine. The driver resolves it once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bycc {

struct TargetInfo {
  std::string triple;                // "x86_64-pc-linux-gnu"
  std::string cpu;                   // "x86-64-v3", "sapphirerapids"
  std::vector<std::string> features; // enabled ones, sorted: "avx2", "fma", ...
  uint32_t vectorBits = 128;
  int32_t threads = 0;  // recorded default, 0 = not recorded
  bool keepsNan = true; // --nan: regions of vendors must not lose NaN that comes in

  bool has(const std::string &feature) const {
    for (const std::string &f : features)
      if (f == feature)
        return true;
    return false;
  }
};

} // namespace bycc
