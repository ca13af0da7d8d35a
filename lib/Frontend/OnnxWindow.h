// Attributes of a window that moves over spatial axes: convolutions and pools.
#pragma once

#include "OnnxImporter.h"

namespace bycc::onnx {

struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads; // pads: all begins, then all ends
  // Of auto_pad where they depend on extents that are not known: [rank, 2], for withOpenPads().
  // `pads` has 0 there.
  std::optional<NodeId> openPads;
  bool isSame = false; // as many outputs as steps fit in: ceil(input / stride)
};

// "nn.conv", 2 -> "nn.conv2d"
std::string ranked(std::string_view name, size_t spatial);
// One number per spatial axis, all at least `least`.
Expected<std::vector<int64_t>> spatialInts(OpContext &op, std::string_view name, size_t count,
                                           int64_t fallback, int64_t least);
// Symmetric padding in the short form of one value per axis.
AttrValue paddingAttr(const std::vector<int64_t> &pads);
// Extents that keep every later product in 64 bits.
Expected<> checkExtents(OpContext &op, const Window &window);
// Strides, dilations and pads; auto_pad becomes pads.
Expected<Window> readWindow(OpContext &op, NodeId x, std::vector<int64_t> kernel);
// x with the window's openPads, filled with `value`; x itself when there are none.
Expected<NodeId> withOpenPads(OpContext &op, NodeId x, const Window &window, NodeId value);
// Input with a batch, channels and one to three spatial axes.
Expected<size_t> spatialRank(OpContext &op, NodeId x);

} // namespace bycc::onnx
