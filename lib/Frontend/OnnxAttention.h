// Parts of attention that the operators of ONNX and of ONNX Runtime share.
#pragma once

#include "OnnxCompose.h"

namespace bycc::onnx {

// [batch, length, heads * size] -> [batch, heads, length, size]; `what` names the attribute.
Expected<NodeId> splitHeads(OpContext &op, NodeId x, int64_t heads, std::string_view what);
// And back.
Expected<NodeId> mergeHeads(OpContext &op, NodeId x);
// 0, 1, .. along an axis of x.
Expected<NodeId> positions(OpContext &op, NodeId x, int64_t axis);

// Where ONNX Runtime's operators have their inputs; those behind the last one are not there.
struct ProjectedInputs {
  size_t mask, past;
  size_t summand = SIZE_MAX;
};
// Q, K and V, which lie beside each other along the last axis.
Expected<std::vector<NodeId>> projectedParts(OpContext &op, NodeId projected);
// Attention of Q, K and V, [batch, length, hidden] each.
Expected<> attendProjected(OpContext &op, std::vector<NodeId> parts, const ProjectedInputs &inputs);

// Pairs of elements of a head, turned by the angle of their position. Pairs are neighbours
// (interleaved), or element i of the first and of the second half. x is [batch, heads, length, size],
// the tables broadcast to [batch, 1, length, rotated / 2].
Expected<NodeId> rotated(OpContext &op, NodeId x, NodeId cosine, NodeId sine, int64_t rotated,
                         bool isInterleaved);

// Rows of a table of cosines or sines at places [batch, length], as rotated() takes them.
Expected<NodeId> turnsAt(OpContext &op, NodeId table, NodeId places);

// weights = softmax(softcap(scale * Q K^T) + summand), result = weights V
struct AttentionForm {
  NodeId q, k, v; // [batch, heads, length, size]; several heads of q share one of k and v
  double scale = 1, softcap = 0;
  NodeId summand;            // of the scores; may be missing
  NodeId sink;               // [heads, 1, 1]: the score of a key more, whose value is 0; the same
  bool mayForbidAll = false; // then a row of -inf in the summand gives 0
  std::optional<DType> precision; // of the softmax
};
struct Attended {
  NodeId result;
  NodeId scores, capped, biased, weights; // on the way to it
};
Expected<Attended> attend(OpContext &op, const AttentionForm &form);
// Attribute `scale`, or 1 / sqrt(size) of heads like q; a scale of 0 may stand for none.
Expected<double> scaleOf(OpContext &op, NodeId q, bool isZeroNone = false);

} // namespace bycc::onnx
