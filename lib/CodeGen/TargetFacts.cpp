// The table. Caches are the smallest of the machines that have the instruction set: a block that
// fits too well loses little, one that does not fit costs twice the time.
#include "TargetFacts.h"

#include "bycc/Support/Error.h"

namespace bycc::te {
namespace {

// 28 rows of 4 KiB took 130 cycles a step for 14: 4.5 each, more than a load from the second
// cache, as lines of the same set evict each other before their next step.
// Parts below 40,000 cycles are not worth waking a thread for (some 5 us).
constexpr TargetFacts table[] = {
    {.vectorBits = 512,
     .lanes = 16,
     .registers = 32,
     .multiplyAddCycles = 0.5,
     .loadCycles = 0.5,
     .chainCycles = 4,
     .lineBytes = 64,
     .cacheSets = 64,
     .cacheWays = 8,
     .missCycles = 4.5,
     .l2Bytes = 1 << 20,
     .prefetchedBytes = 64 << 10,
     .prefetchAhead = 2048,
     .parallelCycles = 40000,
     .grainCycles = 16000},
    {.vectorBits = 256,
     .lanes = 8,
     .registers = 16,
     .multiplyAddCycles = 0.5,
     .loadCycles = 0.5,
     .chainCycles = 4,
     .lineBytes = 64,
     .cacheSets = 64,
     .cacheWays = 8,
     .missCycles = 4.5,
     .l2Bytes = 512 << 10,
     .prefetchedBytes = 64 << 10,
     .prefetchAhead = 2048,
     .parallelCycles = 40000,
     .grainCycles = 16000},
    {.vectorBits = 128,
     .lanes = 4,
     .registers = 16,
     .multiplyAddCycles = 0.5,
     .loadCycles = 0.5,
     .chainCycles = 4,
     .lineBytes = 64,
     .cacheSets = 64,
     .cacheWays = 8,
     .missCycles = 4.5,
     .l2Bytes = 512 << 10,
     .prefetchedBytes = 64 << 10,
     .prefetchAhead = 2048,
     .parallelCycles = 40000,
     .grainCycles = 16000},
};

} // namespace

const TargetFacts &factsOf(const TargetInfo &target) {
  for (const TargetFacts &facts : table)
    if (facts.vectorBits == target.vectorBits)
      return facts;
  BYCC_ASSERT(false, "a target has a row of facts");
  return table[0];
}

} // namespace bycc::te
