// Operators on layouts with inner blocks in plain ones between layout_transforms, and the
// weights of depthwise convolutions in the order in which vectors of channels read them:
//
//   conv2d(x, w){NHWC, OHWI, groups=c}  =>  conv2d(x, w'){NHWC, HWIO, groups=c}

#include "LegalizeRules.h"

namespace bycc {
namespace {

Expected<NodeId> relaid(Legalizer &l, NodeId node, std::string_view from, std::string_view to) {
  if (from == to)
    return node;
  return l.make(ops::layout_transform, {node},
                {{"src_layout", AttrValue(from)}, {"dst_layout", AttrValue(to)}});
}

Expected<NodeId> blockedConv(Legalizer &l) {
  auto text = [&](std::string_view key) {
    return std::string(attrs::text(l.module, l.call(), key));
  };
  std::string data = text("data_layout"), kernel = text("kernel_layout"), out = text("out_layout");
  NodeId x = BYCC_TRY(relaid(l, l.input(0), data, "NCHW")),
         weight = BYCC_TRY(relaid(l, l.input(1), kernel, "OIHW"));
  NodeId made = BYCC_TRY(l.make(ops::nn_conv2d, {x, weight},
                                l.attrs({{"data_layout", AttrValue("NCHW")},
                                         {"kernel_layout", AttrValue("OIHW")},
                                         {"out_layout", AttrValue("")}})));
  return relaid(l, made, "NCHW", out.empty() ? data : out);
}

Expected<NodeId> packedDense(Legalizer &l) {
  NodeId weight =
      BYCC_TRY(relaid(l, l.input(1), attrs::text(l.module, l.call(), "weight_layout"), "NC"));
  AttrDict attrs = l.attrs();
  std::erase_if(attrs, [](const Attr &attr) { return attr.key == "weight_layout"; });
  return l.make(ops::nn_dense, {l.input(0), weight}, std::move(attrs));
}

Expected<NodeId> depthwiseConv(Legalizer &l) {
  AttrDict attrs = l.attrs();
  NodeId weight = BYCC_TRY(weightsByTap(l, l.input(1), attrs));
  return weight == l.input(1) ? l.call() : l.make(l.op(), {l.input(0), weight}, std::move(attrs));
}

// Channels of a group that vectors run across: one of the data, or a few floats.
bool areFew(Legalizer &l, NodeId weight) {
  constexpr int64_t few = 8;
  Dim depth = l.shape(weight).back();
  bool isReal = isFloat(l.dtype(weight));
  return depth == Dim(1) || (isReal && depth.isConst() && depth.value() <= few);
}

const LegalizeRule layoutRows[] = {
    {ops::nn_conv1d, depthwiseConv},
    {ops::nn_conv2d, depthwiseConv},
    {ops::nn_conv3d, depthwiseConv},
    {ops::nn_contrib_conv2d_NCHWc, blockedConv},
    {ops::nn_contrib_dense_pack, packedDense},
    {ops::nn_contrib_depthwise_conv2d_NCHWc, blockedConv},
};

} // namespace

Expected<NodeId> weightsByTap(Legalizer &l, NodeId weight, AttrDict &attrs) {
  std::string data(attrs::text(l.module, l.call(), "data_layout")),
      kernel(attrs::text(l.module, l.call(), "kernel_layout"));
  bool hasGroups = kernel.starts_with('O') && kernel.ends_with('I') &&
                   attrs::integer(l.module, l.call(), "groups") > 1;
  if (!data.ends_with('C') || !hasGroups || !areFew(l, weight) || !l.module.isConstant(weight))
    return weight;
  std::string moved = kernel.substr(1) + "O";
  std::erase_if(attrs, [](const Attr &attr) { return attr.key == "kernel_layout"; });
  attrs.push_back({"kernel_layout", AttrValue(moved)});
  return relaid(l, weight, kernel, moved);
}

std::span<const LegalizeRule> layoutRules() { return layoutRows; }

} // namespace bycc
