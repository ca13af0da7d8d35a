// Memory of a region's intermediates and scratchpads: buffers whose lives do not meet
// share bytes of one arena.
#pragma once

#include "Constants.h"

namespace bycc::onednn {

// When a buffer is in use: numbers of the first and last call that touch it.
struct Life {
  uint32_t first = none, last = 0;
  bool isUsed() const { return first != none; }
  void touch(uint32_t call);
};

// Gives each arena buffer that is used its offset (Buffer::index), largest first, each at
// the lowest offset free during its life. The result is the size of the arena.
Expected<uint64_t> planArena(std::vector<Buffer> &buffers, const std::vector<Life> &lives);

} // namespace bycc::onednn
