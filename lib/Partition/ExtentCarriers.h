// Extents as arguments. The extents inside a region are expressions over symbols, and a
// symbol has a value where an axis of some input is the symbol itself: an input of extent
// ((h + 1) // 2) does not tell h. Then the region gets one input more that does: a slice
// without elements of a value of the host, so that nothing crosses the border but extents.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"

#include <unordered_map>
#include <vector>

namespace bycc {

// What a scope of host code has to offer; copies are for inner scopes.
class ExtentCarriers {
public:
  // `value` can be used from here on. Other values than tensors carry nothing.
  void add(const Module &module, NodeId value);
  // Slices without elements of tensors that give the symbols which types inside the
  // function have and no parameter gives, as far as there are any; new ones go to `list`.
  Expected<std::vector<NodeId>> argumentsFor(Module &module, FunctionId function,
                                             std::vector<NodeId> &list);

private:
  Expected<NodeId> sliceOf(Module &module, NodeId tensor, std::vector<NodeId> &list);

  std::unordered_map<int64_t, NodeId> tensors_; // by Dim::raw of a symbol
  std::unordered_map<NodeId, NodeId> slices_;   // by tensor
};

} // namespace bycc
