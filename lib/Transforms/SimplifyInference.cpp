// Rewrites training forms into what inference computes.
//
//   nn.batch_norm(x, gamma, beta, mean, var).0
//     =>  scale = gamma / sqrt(var + epsilon)       one number per channel
//         shift = beta - mean * scale
//         x * reshape(scale) + reshape(shift)
//   nn.batch_norm(..).1 and .2  =>  mean and var, which inference leaves alone
//   nn.dropout(x).0             =>  x
//
// With constant statistics fold-constants turns scale and shift into constants
// and fold-scale-axis moves them into the convolution before. The other norms
// stay whole: vendors and code generation take them as they are.

#include "ConstantView.h"
#include "Scopes.h"
#include "bycc/Transforms/Passes.h"

namespace bycc {
namespace {

class BatchNorm {
public:
  BatchNorm(Module &module, Builder &builder, NodeId call)
      : module_(module), builder_(builder), call_(call) {}

  // False for forms whose expansion is not known to be legal.
  bool isExpandable() const {
    if (module_.operands(call_).size() != 5)
      return false;
    TypeId type = module_.type(operand(0));
    return module_.types.isTensor(type) && isFloat(module_.types.dtype(type)) && axis();
  }

  Expected<NodeId> expand() {
    NodeId scale = BYCC_TRY(scaleVector());
    NodeId center = BYCC_TRY(builder_.call(ops::multiply, {operand(3), scale}));
    NodeId shift = isOn("center") ? BYCC_TRY(builder_.call(ops::subtract, {operand(2), center}))
                                  : BYCC_TRY(builder_.call(ops::negative, {center}));
    NodeId scaled =
        BYCC_TRY(builder_.call(ops::multiply, {operand(0), BYCC_TRY(alongAxis(scale))}));
    return builder_.call(ops::add, {scaled, BYCC_TRY(alongAxis(shift))});
  }

private:
  NodeId operand(size_t index) const { return module_.operands(call_)[index]; }
  bool isOn(std::string_view key) const {
    const AttrValue *value = module_.attr(call_, key);
    return value && value->equalsLoosely(AttrValue(true));
  }
  std::optional<size_t> axis() const {
    return normalizedAxis(intAttr(module_, call_, "axis", 1),
                          module_.types.shape(module_.type(operand(0))).size());
  }

  Expected<NodeId> scaleVector() {
    const AttrValue *epsilon = module_.attr(call_, "epsilon");
    NodeId eps = module_.addScalar(module_.types.dtype(module_.type(operand(4))),
                                   epsilon && epsilon->isFloat() ? epsilon->asFloat() : 1e-5);
    NodeId sum = BYCC_TRY(builder_.call(ops::add, {operand(4), eps}));
    NodeId root = BYCC_TRY(builder_.call(ops::sqrt, {sum}));
    NodeId numerator = operand(1);
    if (!isOn("scale"))
      numerator = module_.addScalar(module_.types.dtype(module_.type(root)), 1);
    return builder_.call(ops::divide, {numerator, root});
  }

  // (C) as (C, 1, .., 1), so that it broadcasts along the channel axis.
  Expected<NodeId> alongAxis(NodeId vector) {
    size_t after = module_.types.shape(module_.type(operand(0))).size() - 1 - *axis();
    if (after == 0)
      return vector;
    return builder_.call(
        ops::expand_dims, {vector},
        {{"axis", AttrValue(1)}, {"num_newaxis", AttrValue(static_cast<int64_t>(after))}});
  }

  Module &module_;
  Builder &builder_;
  NodeId call_;
};

Expected<NodeId> simplified(Module &module, NodeId node, Builder &builder) {
  if (module.node(node).kind != NodeKind::Project)
    return node;
  NodeId call = module.operands(node)[0];
  uint32_t field = module.node(node).payload;
  if (module.isOp(call, ops::nn_dropout) && field == 0)
    return module.operands(call)[0];
  if (!module.isOp(call, ops::nn_batch_norm))
    return node;
  BatchNorm norm(module, builder, call);
  if (!norm.isExpandable())
    return node;
  if (field > 0)
    return module.operands(call)[field + 2];
  builder.setSource(module.node(call).source);
  return norm.expand();
}

} // namespace

Expected<bool> simplifyInference(Module &module, PassContext &) {
  return rewriteOpenBlocks(
      module, [&](NodeId node, Builder &builder) { return simplified(module, node, builder); });
}

} // namespace bycc
