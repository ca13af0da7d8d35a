// Operators on layouts with inner blocks in plain ones between layout_transforms.

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

const LegalizeRule layoutRows[] = {
    {ops::nn_contrib_conv2d_NCHWc, blockedConv},
    {ops::nn_contrib_dense_pack, packedDense},
    {ops::nn_contrib_depthwise_conv2d_NCHWc, blockedConv},
};

} // namespace

std::span<const LegalizeRule> layoutRules() { return layoutRows; }

} // namespace bycc
