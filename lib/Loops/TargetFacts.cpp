// The table. Caches are the smallest of the machines that have the instruction set: a block that
// fits too well loses little, one that does not fit costs twice the time.
#include "bycc/Loops/TargetFacts.h"

#include "bycc/Support/Error.h"

namespace bycc::loops {
namespace {

constexpr TargetFacts table[] = {
    {.vectorBits = 512, .lanes = 16, .registers = 32, .l2Bytes = 1 << 20},
    {.vectorBits = 256, .lanes = 8, .registers = 16, .partialStores = 3, .l2Bytes = 512 << 10},
    {.vectorBits = 128,
     .lanes = 4,
     .registers = 16,
     .hasMasks = false,
     .partialStores = 3,
     .l2Bytes = 512 << 10},
};

} // namespace

const TargetFacts &factsOf(const TargetInfo &target) {
  for (const TargetFacts &facts : table)
    if (facts.vectorBits == target.vectorBits)
      return facts;
  BYCC_ASSERT(false, "a target has a row of facts");
  return table[0];
}

} // namespace bycc::loops
