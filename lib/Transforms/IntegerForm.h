// Which integers a float value stands for: real = scale * (ints - zero), exactly.
#pragma once

#include "bycc/IR/Builder.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace bycc {

struct Quantized {
  NodeId ints;
  NodeId scale, zero; // float32 and int32: one value, or one per element of `axis`
  int64_t axis = -1;  // counted from the front; -1 when both are one value
};

// Finds integer forms by walking back from a float value to the qnn.dequantize it
// comes from, through operators that only move or select elements, ReLU, and
// products of quantised operands, whose sums are int32. Integer twins of the
// float nodes are made on the way, each once; the float nodes are left alone.
class IntegerForm {
public:
  explicit IntegerForm(Module &module) : module_(module) {}
  // New nodes go where the builder says, as in a rewrite.
  void setBuilder(Builder *builder) { builder_ = builder; }
  Builder &builder() { return *builder_; }

  // nullopt when there is none; whyNot() says why.
  Expected<std::optional<Quantized>> of(NodeId value);
  // The same for a product (convolution or matrix product) of quantised operands.
  Expected<std::optional<Quantized>> ofProduct(NodeId call);
  static bool isProduct(const Module &module, NodeId node);
  // Operators that give the same integers for any scale, elements moved or selected.
  static bool isMovement(const Module &module, NodeId node);
  // The movement `node` on integers in place of its first operand; `zero` is what
  // stands for real 0.
  Expected<std::optional<NodeId>> moved(NodeId node, NodeId ints, NodeId zero);

  const std::string &whyNot() const { return whyNot_; }
  void refuse(NodeId node, std::string_view why);

  // --- calls, evaluated at once when all operands are constants
  Expected<NodeId> make(OpId op, std::initializer_list<NodeId> operands, AttrDict attrs = {});
  Expected<NodeId> cast(NodeId node, DType dtype);
  // The constant that a node is or comes to, else the node.
  Expected<NodeId> folded(NodeId node);
  bool isAll(NodeId node, double value) const;
  // Equal constants, or the same value.
  bool isSame(NodeId a, NodeId b) const;
  DType dtype(NodeId node) const { return module_.types.dtype(module_.type(node)); }
  std::span<const Dim> shape(NodeId node) const { return module_.types.shape(module_.type(node)); }
  bool isByte(NodeId node) const {
    return dtype(node) == DType::Int8 || dtype(node) == DType::UInt8;
  }

private:
  using Form = std::optional<Quantized>;
  Expected<Form> find(NodeId value);
  Expected<Form> ofDequantize(NodeId call);
  Expected<Form> ofMovement(NodeId node);
  Expected<Form> ofRelu(NodeId call);
  Expected<Form> ofScaled(NodeId call);
  Expected<Form> ofConcatenate(NodeId call);
  Expected<Form> ofBias(NodeId call);
  Expected<std::optional<NodeId>> biasOf(NodeId bias, const Quantized &sums);
  Expected<Form> productOf(NodeId call, const Quantized &x, const Quantized &weight);
  bool fitsInt32(NodeId call, const Quantized &x, const Quantized &weight) const;
  std::optional<int64_t> movedAxis(NodeId node, int64_t axis) const;

  Module &module_;
  Builder *builder_ = nullptr;
  // By block, since what a branch makes is not seen outside.
  std::map<std::pair<BlockId, NodeId>, Form> known_;
  std::string whyNot_;
  int depth_ = 0;
};

} // namespace bycc
