// What to-mixed-precision may compute in bfloat16, and the figures by which it
// decides: patterns/mixed-precision.json, or a file of the user's in its place.
#pragma once

#include "bycc/IR/Op.h"
#include "bycc/Support/Error.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace bycc {

enum class PrecisionClass : uint8_t {
  Never,  // float32; what no list names as well
  Always, // products: bfloat16 operands, sums in float32, a bfloat16 result
  Moves,  // rounding before or after makes no difference: movements, the larger of two
  Follow, // rounds its result; bfloat16 where its data is
};

struct PrecisionRules {
  std::unordered_map<uint32_t, PrecisionClass> classes; // by OpId index
  double launchMicroseconds = 0;                        // of a conversion
  double bytesPerMicrosecond = 1;
  double flopsPerMicrosecond = 1;                        // of a float32 product
  std::map<std::string, double> bf16FlopsPerMicrosecond; // by CPU feature
  double leastGain = 0;   // share of a function's time below which nothing converts
  int64_t tableBytes = 0; // from here up a constant that is indexed is a weight

  PrecisionClass classOf(OpId op) const {
    auto found = classes.find(op.index);
    return found == classes.end() ? PrecisionClass::Never : found->second;
  }
};

// `file` is for messages. INPUT errors name the place in the file.
Expected<PrecisionRules> readPrecisionRules(std::string_view text, const std::string &file);
const PrecisionRules &builtinPrecisionRules();

} // namespace bycc
