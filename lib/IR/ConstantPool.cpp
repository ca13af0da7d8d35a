#include "bycc/IR/ConstantPool.h"

#include <cstring>

namespace bycc {

bool isEqual(const Constant &a, const Constant &b) {
  return a.type == b.type && a.bytes == b.bytes &&
         (a.data() == b.data() || std::memcmp(a.data(), b.data(), a.bytes) == 0);
}

NodeId ConstantPool::unique(NodeId constant) {
  std::vector<NodeId> &alike = byHash_[module_.constant(constant).hash];
  for (NodeId other : alike)
    if (isEqual(module_.constant(constant), module_.constant(other)))
      return other;
  alike.push_back(constant);
  return constant;
}

} // namespace bycc
