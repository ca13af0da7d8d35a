// Finds what comes several times in a row in a sequence: the layers of a network, block
// after block. Two stretches are the same when their items have the same labels and use
// each other in the same way; what they use of the rest may differ, since each layer reads
// the one before. Few that do not read each other are no layers, and are left as they are.
//
//   a b c  x y z x y z x y z  d     ->  begin 3, period 3, count 3
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bycc {

struct SequenceItem {
  uint64_t label = 0;
  std::vector<uint32_t> uses; // earlier items, in the order of operands; `outside` for others
  static constexpr uint32_t outside = UINT32_MAX;
};

struct RepeatedRun {
  uint32_t begin = 0, period = 0, count = 0;
  uint32_t end() const { return begin + period * count; }
};

// By begin, apart from each other; those that save most items are preferred, each begun
// where the fewest values pass from turn to turn. Runs in a period are not looked for.
std::vector<RepeatedRun> findRepeatedRuns(std::span<const SequenceItem> items);

} // namespace bycc
