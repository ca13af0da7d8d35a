// Which operators are library kernels of the runtime, and how they are called:
// bycc/library.def says what each kernel takes.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"
#include "bycc/library.h"

namespace bycc::te {

struct LibraryUse {
  static constexpr uint32_t told = UINT32_MAX;
  LibraryKernel kernel;
  std::vector<int64_t> attributes = {};
  // Per result the operand (of the flattened ones) that has its extents; told or
  // missing: the kernel tells those that the type leaves open.
  std::vector<uint32_t> like = {};
};

using LibraryFn = Expected<LibraryUse> (*)(const Module &module, NodeId call);
// Null when no library kernel computes the operator.
LibraryFn findLibraryUse(OpId op);

} // namespace bycc::te
