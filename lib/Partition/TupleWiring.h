// Makes tuples and projections, for values whose parts end up on different sides
// of a region's border. New nodes are appended to `list`.
#pragma once

#include "bycc/IR/Module.h"

#include <span>
#include <vector>

namespace bycc {

NodeId projectField(Module &module, NodeId value, uint32_t field, std::vector<NodeId> &list);

// A projection chain from a tuple-typed value down to its flat tensor `index`.
NodeId projectTo(Module &module, NodeId value, uint32_t index, std::vector<NodeId> &list);

NodeId makeTuple(Module &module, std::span<const NodeId> fields, SourceId source,
                 std::vector<NodeId> &list);

// A value of (nested tuple) `type` from its tensors, taken one after the other.
template <typename Next>
NodeId assemble(Module &module, TypeId type, SourceId source, std::vector<NodeId> &list,
                Next &&next) {
  if (!module.types.isTuple(type))
    return next();
  std::vector<TypeId> fieldTypes(module.types.fields(type).begin(),
                                 module.types.fields(type).end());
  std::vector<NodeId> fields;
  for (TypeId field : fieldTypes)
    fields.push_back(assemble(module, field, source, list, next));
  return makeTuple(module, fields, source, list);
}

} // namespace bycc
