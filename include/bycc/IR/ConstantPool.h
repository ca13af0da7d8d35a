// Finds equal constants, so that each is kept, or counted, once.
#pragma once

#include "bycc/IR/Module.h"

#include <unordered_map>
#include <vector>

namespace bycc {

// Same type and bytes.
bool isEqual(const Constant &a, const Constant &b);

class ConstantPool {
public:
  explicit ConstantPool(const Module &module) : module_(module) {}
  // The first constant seen that has this one's type and bytes; perhaps itself.
  NodeId unique(NodeId constant);

private:
  const Module &module_;
  std::unordered_map<uint64_t, std::vector<NodeId>> byHash_;
};

} // namespace bycc
