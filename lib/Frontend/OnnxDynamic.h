// Small integer vectors that are computed when the model runs: the shapes, axes
// and bounds of operators whose operands nobody knows while importing. All are
// int64 of rank 1. Written in plain operators, so that type inference sees
// through them where it can.
#pragma once

#include "OnnxImporter.h"

namespace bycc::onnx {

// Operand `index` as a vector; a scalar gets an axis. Where its type does not say
// how long it is, `length` does; without that it is UNSUP, naming `what`.
Expected<NodeId> runTimeInts(OpContext &op, size_t index, std::string_view what,
                             std::optional<int64_t> length = std::nullopt);
// Operand `index` as a scalar.
Expected<NodeId> runTimeInt(OpContext &op, size_t index, std::string_view what);
// Length of a vector made by runTimeInts.
int64_t lengthOf(OpContext &op, NodeId vector);

// The extents of `x`.
Expected<NodeId> extentsOf(OpContext &op, NodeId x);
// Number of elements of `x` along an axis, a scalar.
Expected<NodeId> extentOf(OpContext &op, NodeId x, int64_t axis);
// Elements at these positions, one after the other.
Expected<NodeId> pick(OpContext &op, NodeId vector, std::span<const int64_t> positions);
Expected<NodeId> join(OpContext &op, std::span<const NodeId> vectors);
NodeId iota(OpContext &op, int64_t count, int64_t begin = 0);

// Axes known at run time only, over a tensor of `rank`.
//   isAxis  [rank, count]: row r, column i: is axes[i] the axis r?
//   isAny   [rank]: is r among the axes?
struct AxisMask {
  NodeId isAxis, isAny;
};
Expected<AxisMask> axisMask(OpContext &op, NodeId axes, int64_t rank);
// One value of every axis: that of `values` (beside the axes), else `other`.
Expected<NodeId> spread(OpContext &op, const AxisMask &mask, NodeId values, int64_t other);

// x with the given extents (an extent of 0 means 0, one -1 is what is left).
Expected<NodeId> reshapeTo(OpContext &op, NodeId x, NodeId shape);

// x as a matrix: the axes in front of `axis` are its rows.
Expected<NodeId> flattened(OpContext &op, NodeId x, int64_t axis);
// x with the shape of `like`, which has as many elements.
Expected<NodeId> reshapedLike(OpContext &op, NodeId x, NodeId like);

} // namespace bycc::onnx
