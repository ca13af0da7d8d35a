// Pieces that many messages end in or hold.
#pragma once

#include "bycc/Support/Text.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bycc {

// ", did you mean 'x'?" for the candidate nearest to a misspelt name; "" when none
// is near.
inline std::string didYouMean(std::string_view name, std::span<const std::string> candidates) {
  auto near = nearest(name, candidates);
  return near ? ", did you mean '" + escaped(*near) + "'?" : "";
}

// "1 region", "2 regions".
inline std::string counted(int64_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

} // namespace bycc
