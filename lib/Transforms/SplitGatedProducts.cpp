// Makes each part of a product by a product of its own where an elementwise operator
// reads the part, as in gated linear units:
//
//   %0 = nn.bias_add(nn.dense(%x, w), b)     %0 = nn.bias_add(nn.dense(%x, w[:n]), b[:n])
//   %1 = split(%0, 2, axis=-1)            => %1 = nn.bias_add(nn.dense(%x, w[n:]), b[n:])
//   multiply(sigmoid(%1.0), %1.1)            multiply(sigmoid(%0), %1)
//
// so that the gate is computed where the product's results are still in registers, and
// no half is copied. Only for constant weights that nobody else reads; parts of fewer
// channels than fill a product's tile stay together.

#include "ConstantView.h"
#include "Scopes.h"
#include "SimplifyRules.h"
#include "bycc/Transforms/Passes.h"

#include <optional>

namespace bycc {
namespace {

constexpr int64_t minChannels = 32;
constexpr size_t maxParts = 4;

class GateSplitter {
public:
  GateSplitter(Module &module, const Users &users)
      : module_(module), users_(users), numOldNodes_(module.numNodes()) {}

  Expected<NodeId> visit(NodeId node, Builder &builder) {
    if (!module_.isOp(node, ops::split))
      return node;
    NodeId source = module_.operands(node)[0];
    auto axis = normalizedAxis(intAttr(module_, node, "axis", 0), shape(source).size());
    if (!axis || !hasGate(node) || !isWorthIt(node, *axis) || !isSplittable(source, *axis))
      return node;
    std::vector<NodeId> parts;
    int64_t begin = 0;
    for (TypeId field : module_.types.fields(module_.type(node))) {
      int64_t extent = module_.types.shape(field)[*axis].value();
      parts.push_back(BYCC_TRY(partOf(source, *axis, begin, extent, builder)));
      begin += extent;
    }
    return builder.tuple(parts);
  }

private:
  std::span<const Dim> shape(NodeId node) const { return module_.types.shape(module_.type(node)); }

  bool hasGate(NodeId split) const {
    auto isElementwise = [&](NodeId user) {
      if (module_.node(user).kind != NodeKind::CallOp)
        return false;
      OpKind kind = opInfo(module_.node(user).op).kind;
      return kind == OpKind::Elementwise || kind == OpKind::Broadcast;
    };
    std::span<const NodeId> fields = users_.of(split);
    return std::ranges::any_of(fields, [&](NodeId field) {
      return module_.node(field).kind == NodeKind::Project &&
             std::ranges::any_of(users_.of(field), isElementwise);
    });
  }

  bool isWorthIt(NodeId split, size_t axis) const {
    std::span<const TypeId> fields = module_.types.fields(module_.type(split));
    return fields.size() <= maxParts && std::ranges::all_of(fields, [&](TypeId field) {
             Dim extent = module_.types.shape(field)[axis];
             return extent.isConst() && extent.value() >= minChannels;
           });
  }

  bool isUsedOnce(NodeId node) const {
    return node.index < numOldNodes_ && users_.count(node) == 1;
  }

  // From the split back to the product; what stands between follows each part.
  bool isSplittable(NodeId value, size_t axis) const {
    if (module_.node(value).kind != NodeKind::CallOp || !isUsedOnce(value) ||
        !isFloat(module_.types.dtype(module_.type(value))))
      return false;
    NodeId operand = module_.operands(value)[0];
    if (module_.isOp(value, ops::nn_bias_add))
      return module_.isConstant(module_.operands(value)[1]) && biasAxis(value) == axis &&
             isSplittable(operand, axis);
    if (keepsElements(module_, value))
      return axis + 1 == shape(value).size() && shape(operand).back() == shape(value).back() &&
             isSplittable(operand, shape(operand).size() - 1);
    return channelAxis(module_, value) == axis && weightAxis(value);
  }

  std::optional<size_t> biasAxis(NodeId biasAdd) const {
    return normalizedAxis(intAttr(module_, biasAdd, "axis", 1), shape(biasAdd).size());
  }

  // The axis of the weight along which the result's channels run.
  std::optional<size_t> weightAxis(NodeId product) const {
    NodeId weight = module_.operands(product)[1];
    if (!module_.isConstant(weight) || !isUsedOnce(weight))
      return std::nullopt;
    if (module_.isOp(product, ops::nn_dense))
      return 0;
    if (module_.isOp(product, ops::nn_matmul))
      return matrixAxis(product);
    if (intAttr(module_, product, "groups", 1) != 1 || !isPlainConvolution(module_, product))
      return std::nullopt;
    return 0;
  }

  std::optional<size_t> matrixAxis(NodeId matmul) const {
    if (shape(module_.operands(matmul)[1]).size() != 2 ||
        attrs::boolean(module_, matmul, "transpose_a"))
      return std::nullopt;
    return attrs::boolean(module_, matmul, "transpose_b") ? 0 : 1;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as what stands between.
  Expected<NodeId> partOf(NodeId value, size_t axis, int64_t begin, int64_t extent,
                          Builder &builder) {
    builder.setSource(module_.node(value).source);
    NodeId operand = module_.operands(value)[0];
    if (module_.isOp(value, ops::nn_bias_add)) {
      NodeId bias = BYCC_TRY(sliceOf(module_.operands(value)[1], 0, begin, extent, builder));
      operand = BYCC_TRY(partOf(operand, axis, begin, extent, builder));
      return builder.callWithAttrs(ops::nn_bias_add, std::vector{operand, bias},
                                   module_.node(value).attrs);
    }
    if (keepsElements(module_, value)) {
      operand = BYCC_TRY(partOf(operand, shape(operand).size() - 1, begin, extent, builder));
      std::vector<Dim> to(shape(value).begin(), shape(value).end());
      to.back() = Dim(extent);
      return makeReshape(builder, operand, to);
    }
    NodeId weight =
        BYCC_TRY(sliceOf(module_.operands(value)[1], *weightAxis(value), begin, extent, builder));
    AttrDict attrs = module_.attributes.dict(module_.node(value).attrs);
    for (Attr &attr : attrs)
      if ((attr.key == "units" || attr.key == "channels") && attr.value.isInt())
        attr.value = AttrValue(extent);
    return builder.call(module_.node(value).op, {operand, weight}, std::move(attrs));
  }

  Expected<NodeId> sliceOf(NodeId constant, size_t axis, int64_t begin, int64_t extent,
                           Builder &builder) {
    return builder.call(ops::strided_slice, {constant},
                        sliceAttrs({begin}, {begin + extent}, {static_cast<int64_t>(axis)}));
  }

  Module &module_;
  const Users &users_;
  uint32_t numOldNodes_;
};

} // namespace

Expected<bool> splitGatedProducts(Module &module, PassContext &) {
  Users users(module);
  GateSplitter splitter(module, users);
  return rewriteOpenBlocks(
      module, [&](NodeId node, Builder &builder) { return splitter.visit(node, builder); });
}

} // namespace bycc
