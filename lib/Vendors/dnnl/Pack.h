// At compile time: a plan lowered and its constants packed, for the blob and the weights.
#pragma once

#include "Blob.h"
#include "Constants.h"

namespace bycc::onednn {

// A region ready to be written.
struct Packed {
  // Equal bytes get one place. The number in Blob::stored.
  uint32_t add(ValueId value, const LayoutForm &form, const ConstantBytes &bytes);
  void writeWeights(uint8_t *weights) const;

  Blob blob;
  std::vector<ConstantBytes> bytes; // one per Blob::stored
  uint64_t weightsBytes = 0;
};

// Lowers for `threads` threads and packs for the instruction set that the library is
// limited to. Sets the calling thread's thread count.
Expected<Packed> packPlan(const Plan &plan, int32_t threads);
// The constants as they are: the region is lowered and they are packed when it is loaded.
Packed storePlain(const Plan &plan);

} // namespace bycc::onednn
