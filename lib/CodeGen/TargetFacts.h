// What schedules are chosen by: the machine that code is for, as a cost model sees it. The one
// table is in TargetFacts.cpp, by instruction set, so that a build for -mcpu=NAME is the same on
// every machine; -mcpu=native only decides which instruction sets there are.
#pragma once

#include "bycc/Target/TargetInfo.h"

namespace bycc::te {

struct TargetFacts {
  uint32_t vectorBits = 0; // what a row of the table is found by
  int64_t lanes = 0;       // of 32 bits in a vector
  int64_t registers = 0;   // vectors that stay in registers

  // Cycles of a vector: multiply-add and load each when many go through, and how long a
  // multiply-add takes that waits for the one before.
  double multiplyAddCycles = 0, loadCycles = 0, chainCycles = 0;

  // The first cache, in which rows compete for sets, and what a line costs that was thrown out.
  int64_t lineBytes = 0, cacheSets = 0, cacheWays = 0;
  double missCycles = 0;
  int64_t l2Bytes = 0; // what blocks of rows and strips are sized for

  // Panels of more bytes are prefetched, so many bytes before they are read.
  int64_t prefetchedBytes = 0, prefetchAhead = 0;

  // Loops of fewer cycles stay on one thread; others are handed out in parts of so many.
  double parallelCycles = 0, grainCycles = 0;
};

const TargetFacts &factsOf(const TargetInfo &target);

// Does the target multiply whole vectors of pairs of bfloat16?
inline bool multipliesBFloat16(const TargetInfo &target) {
  return target.has("avx512bf16") && target.vectorBits == 512;
}

} // namespace bycc::te
