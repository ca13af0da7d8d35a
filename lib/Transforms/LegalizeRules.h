// How a dialect says what its operators are made of. A rule makes plain operators
// in place of one call; the dialect lists its rules in a table, Legalize.cpp lists
// the dialects, and the pass knows neither.
#pragma once

#include "bycc/IR/Builder.h"

#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bycc {

// The constant that a parameter of a local function stands for, by node.
using KnownParams = std::unordered_map<NodeId, NodeId>;

// The call being rewritten, and a builder that evaluates at once what is constant.
class Legalizer {
public:
  Legalizer(Module &module, Builder &builder, NodeId call, const KnownParams &params)
      : module(module), builder_(builder), call_(call), params_(params) {}

  Module &module;

  NodeId call() const { return call_; }
  OpId op() const { return module.node(call_).op; }
  NodeId input(size_t index) const { return known(module.operands(call_)[index]); }
  // Fields of a tuple operand.
  Expected<std::vector<NodeId>> fields(size_t index);
  std::span<const Dim> shape(NodeId node) const { return module.types.shape(module.type(node)); }
  size_t rank(NodeId node) const { return shape(node).size(); }
  DType dtype(NodeId node) const { return module.types.dtype(module.type(node)); }
  DType resultDType() const { return dtype(call_); }
  // All attributes as they are written, `changed` put in.
  AttrDict attrs(std::initializer_list<Attr> changed = {}) const;

  Expected<NodeId> make(OpId op, std::initializer_list<NodeId> operands, AttrDict attrs = {});
  NodeId tuple(std::span<const NodeId> fields) { return builder_.tuple(fields); }
  Expected<NodeId> cast(NodeId node, DType dtype);
  Expected<NodeId> clip(NodeId node, double low, double high);
  // Gives what was made the name of the call: where it is not what is returned.
  void inherit(NodeId made);
  NodeId integer(int64_t value, DType dtype = DType::Int64);
  NodeId real(double value, DType dtype = DType::Float32) { return module.addScalar(dtype, value); }

  // True when the node is a constant and the predicate holds for all its elements.
  bool allOf(NodeId node, const std::function<bool(double)> &predicate) const;
  bool isAll(NodeId node, double value) const {
    return allOf(node, [&](double each) { return each == value; });
  }
  bool isSameConstant(NodeId a, NodeId b) const;

  ErrorBuilder error() const;

private:
  NodeId known(NodeId node) const;
  bool isWorthFolding(NodeId call) const;

  Builder &builder_;
  NodeId call_;
  const KnownParams &params_;
};

using LegalizeFn = Expected<NodeId> (*)(Legalizer &);
struct LegalizeRule {
  OpId op;
  LegalizeFn rewrite;
};

// Constant weights of a depthwise convolution with channels last: one row of channels for each
// tap, which vectors of channels read; `attrs`, of the convolution, say so. Else as they are:
// other weights would be moved in each run.
Expected<NodeId> weightsByTap(Legalizer &l, NodeId weight, AttrDict &attrs);

std::span<const LegalizeRule> layoutRules();
std::span<const LegalizeRule> movementRules();
std::span<const LegalizeRule> qnnRules();
std::span<const LegalizeRule> qnnArithmeticRules();
std::span<const LegalizeRule> transposedRules();

} // namespace bycc
