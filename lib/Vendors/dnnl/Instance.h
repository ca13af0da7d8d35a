// A program made ready to run for one thread count: primitives in order, the addresses
// of constants, the arena. Immutable once built; shared by all contexts.
#pragma once

#include "Constants.h"
#include "Library.h"
#include "Loops.h"
#include "NanSafe.h"

namespace bycc::onednn {

struct PrimitiveCall {
  dnnl::primitive primitive;
  std::shared_ptr<const Loop> loop; // instead of the primitive
  // Argument number, slot. Of a loop: inputs, operands of post-ops that have one, result.
  std::vector<std::pair<int, uint32_t>> args;
  FixedOperands fixed;
  std::string name, detail, source;
  int32_t threads = 1; // that the primitive was made for
  double flops = 0;
};

struct Instance {
  std::vector<Buffer> buffers; // Arena: index is the offset
  std::vector<Slot> slots;     // the program's, then scratchpads
  std::vector<PrimitiveCall> calls;
  std::vector<ConstantBytes> constants;
  uint64_t arenaBytes = 0;
  std::vector<InputToCheck> inputsToCheck; // then another instance runs (NanSafe.h)
};

// Primitives are made for `threads` threads or for one (Threads.h), by `threads`; equal
// ones once. Sets the calling thread's thread count. Weights in a layout that the
// library refuses, or has only a worse kernel for than the program says, are packed anew;
// other layouts that do not suit it are Status::Unsup: then the plan must be lowered anew.
// So are reference loops where the program says otherwise, unless it `takesSlow` ones.
Expected<std::unique_ptr<Instance>> instantiate(const Plan &plan, Program program,
                                                const StoredBytes &stored, ConstantPool &pool,
                                                int32_t threads, bool takesSlow);

} // namespace bycc::onednn
