// Small questions that the recognize passes share: is this call of that operator,
// and which of its operands is the constant.
#pragma once

#include "ConstantView.h"

#include <optional>

namespace bycc {

struct Operands2 {
  NodeId first, second;
};

inline std::optional<Operands2> asBinary(const Module &module, NodeId node, OpId op) {
  if (!module.isOp(node, op))
    return std::nullopt;
  return Operands2{module.operands(node)[0], module.operands(node)[1]};
}

inline std::optional<NodeId> asUnary(const Module &module, NodeId node, OpId op) {
  if (!module.isOp(node, op))
    return std::nullopt;
  return module.operands(node)[0];
}

// A commutative call with one uniform constant operand: the other operand and
// the constant's value.
struct WithConstant {
  NodeId node;
  double value = 0;
};
inline std::optional<WithConstant> asWithConstant(const Module &module, NodeId node, OpId op) {
  std::optional<Operands2> operands = asBinary(module, node, op);
  if (!operands)
    return std::nullopt;
  if (auto value = uniformValue(module, operands->second))
    return WithConstant{operands->first, *value};
  if (auto value = uniformValue(module, operands->first))
    return WithConstant{operands->second, *value};
  return std::nullopt;
}

} // namespace bycc
