// Which operators library kernels compute, and how these are called:
// bycc/Library/Kernels.def says what each kernel takes.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Library/Kernels.h"
#include "bycc/Support/Error.h"

namespace bycc {

struct LibraryUse {
  static constexpr uint32_t told = UINT32_MAX;
  LibraryKernel kernel;
  std::vector<int64_t> attributes = {};
  // Per result the operand (of the flattened ones) that has its extents; told or
  // missing: the kernel tells those that the type leaves open.
  std::vector<uint32_t> like = {};
};

// Whether library kernels compute calls of the operator, at least some of them.
bool hasLibraryUse(OpId op);
// Whether a library kernel computes this one.
bool isLibraryCall(const Module &module, NodeId call);
// Of a resize or an upsampling: may positions and weights be tables, one for each axis? They are
// made when a model runs where extents are open.
bool hasResizeTables(const Module &module, NodeId call);
// How it is called.
Expected<LibraryUse> libraryUse(const Module &module, NodeId call);

} // namespace bycc
