// Composing one ONNX operator of several. Every call hands on a failure: after the
// first error nothing is made any more, and done() gives it. So a formula reads as
// one expression:
//
//   Compose c(op);
//   NodeId mean = c.reduce("mean", x, axes);
//   op.setOutput(0, BYCC_TRY(c.done(c.sub(x, mean))));
//
// A number stands for a rank-0 constant of the other operand's dtype.
#pragma once

#include "OnnxImporter.h"

namespace bycc::onnx {

class Compose {
public:
  explicit Compose(OpContext &op) : op_(op) {}

  NodeId call(std::string_view name, std::initializer_list<NodeId> operands, AttrDict attrs = {});
  NodeId call(std::string_view name, NodeId a, double b);

  NodeId add(NodeId a, NodeId b) { return call("add", {a, b}); }
  NodeId add(NodeId a, double b) { return call("add", a, b); }
  NodeId sub(NodeId a, NodeId b) { return call("subtract", {a, b}); }
  NodeId sub(NodeId a, double b) { return call("subtract", a, b); }
  NodeId mul(NodeId a, NodeId b) { return call("multiply", {a, b}); }
  NodeId mul(NodeId a, double b) { return call("multiply", a, b); }
  NodeId div(NodeId a, NodeId b) { return call("divide", {a, b}); }
  NodeId div(NodeId a, double b) { return call("divide", a, b); }
  NodeId pow(NodeId a, double b) { return call("power", a, b); }
  NodeId where(NodeId condition, NodeId a, NodeId b) { return call("where", {condition, a, b}); }
  NodeId where(NodeId condition, NodeId a, double b);

  // Over `axes`, which stay with one element each unless !keepDims.
  NodeId reduce(std::string_view name, NodeId x, const std::vector<int64_t> &axes,
                bool keepDims = true);
  NodeId reshape(NodeId x, const std::vector<int64_t> &shape);
  NodeId transpose(NodeId x, const std::vector<int64_t> &axes);
  NodeId broadcast(NodeId x, const std::vector<int64_t> &shape);
  NodeId cast(NodeId x, DType dtype);
  // `count` axes of one element before axis `axis` of the result.
  NodeId expand(NodeId x, int64_t axis, int64_t count = 1);
  NodeId squeeze(NodeId x, std::vector<int64_t> axes);
  // Elements begin, begin + step, ... before end on one axis.
  NodeId slice(NodeId x, int64_t axis, int64_t begin, int64_t end, int64_t step = 1);
  NodeId concat(std::span<const NodeId> parts, int64_t axis);
  NodeId stack(std::span<const NodeId> parts, int64_t axis);
  // [begin, end) pairs of every axis; `value` in between.
  NodeId pad(NodeId x, const std::vector<std::array<int64_t, 2>> &widths, double value);
  NodeId zeros(const std::vector<int64_t> &shape, DType dtype);
  // 0, 1, .. as a vector; of int64 below a scalar of int64.
  NodeId iota(int64_t count, DType dtype);
  NodeId iota(NodeId count);
  NodeId scalar(DType dtype, double value) { return op_.scalar(dtype, value); }
  // int64 constant of any shape.
  NodeId table(std::span<const int64_t> values, const std::vector<int64_t> &shape);
  NodeId numbers(std::span<const double> values, const std::vector<int64_t> &shape, DType dtype);

  // `made`, or the first error.
  Expected<NodeId> done(NodeId made);

private:
  NodeId keep(Expected<NodeId> made);
  OpContext &op_;
  std::optional<Error> problem_;
};

} // namespace bycc::onnx
