// Moves per-channel scales and shifts into the weights and bias of the
// convolution or dense they follow:
//
//   conv(x, w) * s          => conv(x, w * s')            s' = s along w's output axis
//   bias_add(conv, b) * s   => bias_add(conv(x, w * s'), b * s)
//   bias_add(conv, b) + t   => bias_add(conv, b + t)
//   conv(x, w) + t          => bias_add(conv, t)
//
// w, b, s and t are constants and the value in between has no other user, so no
// work is added; `w * s'` and friends are left for fold-constants. Batch norm,
// expanded by simplify-inference, disappears this way. Rounding differs from the
// original order in the last bits, as it does in every inference engine.

#include "ConstantView.h"
#include "Scopes.h"
#include "bycc/Transforms/Passes.h"

#include <unordered_map>
#include <unordered_set>

namespace bycc {
namespace {

// conv or dense, with an optional bias on top.
struct Anchor {
  NodeId conv;
  NodeId bias;     // bias_add's constant, none without
  size_t axis = 0; // channel axis of the result
};

class ScaleFolder {
public:
  ScaleFolder(Module &module, const Users &users)
      : module_(module), users_(users), numOldNodes_(module.numNodes()) {}

  Expected<NodeId> visit(NodeId node, Builder &builder) {
    OpId op = module_.node(node).op;
    if (module_.node(node).kind != NodeKind::CallOp || (op != ops::multiply && op != ops::add))
      return node;
    for (size_t i = 0; i < 2; ++i) {
      NodeId value = module_.operands(node)[i], constant = module_.operands(node)[1 - i];
      if (!module_.isConstant(constant) || module_.type(value) != module_.type(node) ||
          !isUsedOnce(value))
        continue;
      NodeId to = BYCC_TRY(fold(value, constant, op == ops::multiply, builder));
      if (!to)
        continue;
      inherited_[to.index] = users_.count(node);
      return to;
    }
    return node;
  }

private:
  // New nodes stand where an old one stood and have its users.
  bool isUsedOnce(NodeId node) const {
    auto it = inherited_.find(node.index);
    if (it != inherited_.end())
      return it->second == 1;
    return node.index < numOldNodes_ && users_.count(node) == 1;
  }
  // A constant, or a product or sum of constants made here.
  bool isConstantLike(NodeId node) const {
    return module_.isConstant(node) || computed_.contains(node.index);
  }

  std::optional<Anchor> anchorOf(NodeId value) const {
    Anchor anchor{value, {}, 0};
    if (module_.isOp(value, ops::nn_bias_add)) {
      anchor.conv = module_.operands(value)[0];
      anchor.bias = module_.operands(value)[1];
      if (!isConstantLike(anchor.bias) || !isUsedOnce(anchor.conv))
        return std::nullopt;
    }
    auto axis = channelAxis(module_, anchor.conv);
    if (!axis || !isFloat(module_.types.dtype(module_.type(value))))
      return std::nullopt;
    if (anchor.bias && normalizedAxis(intAttr(module_, value, "axis", 1),
                                      module_.types.shape(module_.type(value)).size()) != axis)
      return std::nullopt;
    anchor.axis = *axis;
    return anchor;
  }

  // The axis of the weight along which the result's channels run.
  std::optional<size_t> weightAxis(NodeId conv) const {
    NodeId weight = module_.operands(conv)[1];
    if (!isConstantLike(weight) ||
        module_.types.dtype(module_.type(weight)) != module_.types.dtype(module_.type(conv)))
      return std::nullopt;
    if (module_.isOp(conv, ops::nn_dense))
      return 0;
    std::string_view layout = textAttr(module_, conv, "kernel_layout");
    bool isTransposed = opInfo(module_.node(conv).op).name.ends_with("_transpose");
    if (isTransposed && intAttr(module_, conv, "groups", 1) != 1)
      return std::nullopt;
    size_t axis = layout.find('O');
    if (axis == std::string_view::npos ||
        layout.size() != module_.types.shape(module_.type(weight)).size())
      return std::nullopt;
    return axis;
  }

  // The constant as (C); none when it varies along other axes. One number is
  // repeated by broadcasting, so it stays a scalar.
  NodeId perChannel(NodeId constant, NodeId value, size_t axis) {
    std::span<const Dim> full = module_.types.shape(module_.type(value));
    std::span<const Dim> shape = module_.types.shape(module_.type(constant));
    if (module_.types.numElements(module_.type(constant)) == 1)
      return reshapeConstant(module_, constant, {});
    return isAlongAxis(shape, full, axis) ? reshapeConstant(module_, constant, {&full[axis], 1})
                                          : NodeId();
  }

  // The value to use instead of `value * constant` or `value + constant`; no
  // node when the rule does not apply.
  Expected<NodeId> fold(NodeId value, NodeId constant, bool isScale, Builder &builder) {
    auto anchor = anchorOf(value);
    if (!anchor)
      return NodeId();
    NodeId vector = perChannel(constant, value, anchor->axis);
    if (!vector)
      return NodeId();
    return isScale ? scale(*anchor, vector, builder) : shift(*anchor, value, vector, builder);
  }

  Expected<NodeId> scale(const Anchor &anchor, NodeId vector, Builder &builder) {
    auto axis = weightAxis(anchor.conv);
    if (!axis)
      return NodeId();
    NodeId weight = module_.operands(anchor.conv)[1];
    size_t rank = module_.types.shape(module_.type(weight)).size();
    NodeId factor = vector;
    if (std::span<const Dim> shape = module_.types.shape(module_.type(vector)); !shape.empty()) {
      std::vector<Dim> along(rank, Dim(1));
      along[*axis] = shape[0];
      if (module_.types.shape(module_.type(weight))[*axis] != shape[0])
        return NodeId();
      factor = reshapeConstant(module_, vector, along);
    }
    NodeId scaled = BYCC_TRY(compute(ops::multiply, weight, factor, builder));
    const Node conv = module_.node(anchor.conv);
    builder.setSource(conv.source);
    NodeId to = BYCC_TRY(builder.callWithAttrs(
        conv.op, std::vector{module_.operands(anchor.conv)[0], scaled}, conv.attrs));
    if (!anchor.bias)
      return to;
    inherited_[to.index] = 1;
    NodeId bias = BYCC_TRY(compute(ops::multiply, anchor.bias, vector, builder));
    return biasAdd(to, bias, anchor.axis, builder);
  }

  Expected<NodeId> shift(const Anchor &anchor, NodeId value, NodeId vector, Builder &builder) {
    if (anchor.bias) {
      NodeId bias = BYCC_TRY(compute(ops::add, anchor.bias, vector, builder));
      inherited_[anchor.conv.index] = 1;
      return biasAdd(anchor.conv, bias, anchor.axis, builder);
    }
    if (module_.types.shape(module_.type(vector)).empty())
      return NodeId(); // a scalar shift stays an add
    return biasAdd(value, vector, anchor.axis, builder);
  }

  Expected<NodeId> compute(OpId op, NodeId a, NodeId b, Builder &builder) {
    NodeId result = BYCC_TRY(builder.call(op, {a, b}));
    computed_.insert(result.index);
    return result;
  }

  Expected<NodeId> biasAdd(NodeId value, NodeId bias, size_t axis, Builder &builder) {
    return builder.call(ops::nn_bias_add, {value, bias},
                        {{"axis", AttrValue(static_cast<int64_t>(axis))}});
  }

  Module &module_;
  const Users &users_;
  uint32_t numOldNodes_;
  std::unordered_map<uint32_t, uint32_t> inherited_; // number of users
  std::unordered_set<uint32_t> computed_;
};

} // namespace

Expected<bool> foldScaleAxis(Module &module, PassContext &) {
  Users users(module);
  ScaleFolder folder(module, users);
  return rewriteOpenBlocks(
      module, [&](NodeId node, Builder &builder) { return folder.visit(node, builder); });
}

} // namespace bycc
