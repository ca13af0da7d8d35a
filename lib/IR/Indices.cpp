#include "bycc/IR/Indices.h"

namespace bycc {

bool checksIndices(const Module &module, NodeId call) {
  if (module.isOp(call, ops::scatter_elements) || module.isOp(call, ops::scatter_nd))
    return true;
  if (!module.isOp(call, ops::take) && !module.isOp(call, ops::gather) &&
      !module.isOp(call, ops::gather_nd))
    return false;
  const AttrValue *mode = module.attr(call, "mode");
  return mode && mode->isString() && mode->asString() == "error";
}

} // namespace bycc
