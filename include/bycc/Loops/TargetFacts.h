// What schedules are chosen by: the machine that code is for, as a cost model sees it. The one
// table is in TargetFacts.cpp, by instruction set, so that a build for -mcpu=NAME is the same on
// every machine; -mcpu=native only decides which instruction sets there are.
#pragma once

#include "bycc/Target/TargetInfo.h"

namespace bycc::loops {

// What a row does not say is the same for all that there are today.
struct TargetFacts {
  uint32_t vectorBits = 0; // what a row of the table is found by
  int64_t lanes = 0;       // of 32 bits in a vector
  int64_t registers = 0;   // vectors that stay in registers
  bool hasMasks = true;    // vectors of 32-bit elements are loaded under one

  // Cycles of a vector: multiply-add and load each when many go through, and how long a
  // multiply-add takes that waits for the one before.
  double multiplyAddCycles = 0.5, loadCycles = 0.5, chainCycles = 4;

  // The first cache, in which rows compete for sets, and what a line costs that was thrown out:
  // 28 rows of 4 KiB took 130 cycles a step for 14: 4.5 each, more than a load from the second
  // cache, as lines of the same set evict each other before their next step.
  int64_t lineBytes = 64, cacheSets = 64, cacheWays = 8;
  double missCycles = 4.5;
  // Lines where many follow each other: one that is read from the second cache, and one of a large
  // constant that is read for the first time in a run, some 20 GB/s.
  double streamedLineCycles = 2, freshLineCycles = 6;
  // Lines that are so many bytes apart.
  bool areOnOneSet(int64_t bytes) const { return bytes % (lineBytes * cacheSets) == 0; }
  // Of a result that is turned before it is stored, a line of a column: what stands in registers
  // until then, and what a store takes. 1x1 convolutions of 16 to 64 channels with rows of whole
  // lines instead of 14 (Zen 4): 0.97 to 0.93 of the time; where columns are 4 KiB apart and so all
  // on one set, 0.95 to 0.35.
  double resultLineCycles = 4, conflictingLineCycles = 8;
  double partialStores = 1; // stores that one of a part of a vector takes as long as
  int64_t l2Bytes = 0;      // what blocks of rows and strips are sized for

  // Panels of more bytes, alone or all of a constant, are prefetched, so many bytes before they
  // are read: 64x384 by 20 matrices of 384x384 in turn ran at 116 GFLOP/s instead of 111.5. With
  // few rows the stream of loads is fetched by itself (80 MB for one row: 2.8 ms, prefetched 3.2).
  int64_t prefetchedBytes = 64 << 10, prefetchedConstant = 256 << 10, prefetchAhead = 4096;
  int64_t prefetchedRows = 4;

  // Loops of fewer cycles stay on one thread (some 5 us: not worth waking another for); others are
  // handed out in parts of so many.
  double parallelCycles = 40000, grainCycles = 16000;
};

const TargetFacts &factsOf(const TargetInfo &target);

// Does the target multiply whole vectors of pairs of bfloat16?
inline bool multipliesBFloat16(const TargetInfo &target) {
  return target.has("avx512bf16") && target.vectorBits == 512;
}

} // namespace bycc::loops
