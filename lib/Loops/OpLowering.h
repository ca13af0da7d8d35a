// One operator call being lowered: one function per operator, found in a table by operator
// that the families fill (Lower<Family>.cpp).
#pragma once

#include "bycc/Loops/Lower.h"
#include "bycc/Support/Layout.h"

namespace bycc::loops {

// A tensor inside a group: a buffer, or a number known while compiling.
struct Tensor {
  uint32_t buffer = UINT32_MAX;
  Ref number = noRef;
  DType type = DType::Float32;
  std::vector<Ref> shape;
  size_t rank() const { return shape.size(); }
};
using Indices = std::vector<Ref>;

// Where the axes of a tensor stand.
struct AxisOrder {
  size_t batch = 0, channel = 0; // kernels: output (O), input (I)
  std::vector<size_t> spatial;   // D, H, W in this order
};

// One operator call being lowered.
class OpLowering {
public:
  OpLowering(const Module &module, NodeId call, GroupDims &dims,
             std::vector<std::vector<Tensor>> inputs)
      : module(module), call(call), dims(dims), k(dims.group.kernel), x(k.exprs),
        inputs_(std::move(inputs)) {}
  const Module &module;
  NodeId call;
  GroupDims &dims;
  Kernel &k;
  Exprs &x;
  std::vector<Tensor> results;

  size_t numInputs() const { return inputs_.size(); }
  const Tensor &input(size_t index) const { return inputs_[index][0]; }
  const std::vector<Tensor> &fields(size_t index) const { return inputs_[index]; } // of a tuple
  const OpInfo &info() const { return opInfo(module.node(call).op); }
  bool isOp(OpId op) const { return module.node(call).op == op; }

  int64_t integer(std::string_view key) const { return attrs::integer(module, call, key); }
  double number(std::string_view key) const { return attrs::number(module, call, key); }
  bool boolean(std::string_view key) const { return attrs::boolean(module, call, key); }
  std::string text(std::string_view key) const {
    return std::string(attrs::text(module, call, key));
  }
  bool isNone(std::string_view key) const { return attrs::isNone(module, call, key); }
  std::vector<int64_t> integers(std::string_view key) const {
    return attrs::integers(module, call, key);
  }
  std::vector<int64_t> perAxis(std::string_view key, size_t rank) const {
    return attrs::perAxis(module, call, key, rank);
  }
  std::vector<std::pair<int64_t, int64_t>> pairs(std::string_view key) const {
    return attrs::pairs(module, call, key);
  }
  size_t axis(std::string_view key, size_t rank) const {
    return attrs::axis(module, call, key, rank);
  }
  Padding padding(size_t rank) const { return attrs::padding(module, call, rank); }
  // Of a layout attribute with the two axes `leading` and spatial ones; UNSUP for one with blocks.
  Expected<AxisOrder> axisOrder(std::string_view key, std::string_view layout,
                                std::string_view leading, size_t numSpatial) const;

  // What operand `input` holds, as an expression of the program, or (integers) as a
  // dim of the kernel; extents are checked not to be negative. UNSUP when the operand
  // is made in the group itself.
  Expected<Ref> element(size_t input, int64_t element);
  Expected<Ref> content(size_t input, int64_t element);
  Expected<Ref> extentContent(size_t input, int64_t element);
  // Number of elements of an operand whose content decides shapes.
  Expected<int64_t> countOf(size_t input);
  // The run fails when the condition does not hold; "NAME: " is put in front.
  void require(Ref condition, const std::string &message, std::vector<Ref> values);
  void requireEqual(Ref extent, Ref wanted, const std::string &what);
  // Type of result `index`; its shape, unknown dims taken from `likely` where given.
  TypeId resultType(size_t index = 0) const;
  DType resultDType(size_t index = 0) const { return module.types.dtype(resultType(index)); }
  Expected<std::vector<Ref>> resultShape(const std::vector<Ref> &likely = {}, size_t index = 0);
  std::optional<int64_t> extent(const Tensor &tensor, size_t dim) const {
    return x.constant(tensor.shape[dim]);
  }

  Tensor temp(DType type, std::vector<Ref> shape);
  // The first one requires that loops over one extent fit another; the second is for
  // loads that a guard keeps inside.
  Ref at(const Tensor &tensor, const Indices &indices);
  Ref atGuarded(const Tensor &tensor, const Indices &indices);
  Ref atFlat(const Tensor &tensor, Ref flat);
  // Indices of the result of a broadcast, for an operand of it.
  Ref atBroadcast(const Tensor &tensor, const Indices &indices);
  // Index into an axis of `extent` that may be one and is then repeated; the
  // extent of two such axes together.
  Ref broadcastIndex(Ref extent, Ref index);
  Ref broadcastExtent(Ref a, Ref b);
  // Appends a stage result[i..] = body(i..) and makes it the next result.
  Tensor map(DType type, const std::vector<Ref> &shape, const Kernel::BodyFn &body,
             bool keep = false);
  Expected<> mapResult(const Kernel::BodyFn &body, const std::vector<Ref> &likely = {});
  // t[shape without axes or with ones] = reduce over axes of body(all indices).
  Tensor reduce(Reduce kind, DType type, const std::vector<Ref> &shape,
                const std::vector<bool> &isReduced, const Kernel::BodyFn &body);

  Ref real(double value, DType type) { return x.number(value, type); }
  Ref lowest(DType type); // no value is below it
  Ref op2(Op op, Ref a, Ref b) { return x.binary(op, a, b); }
  ErrorBuilder unsupported() const; // "NAME: " is put in front

private:
  std::string nodeText() const; // "node 'x' (reshape): "
  std::vector<std::vector<Tensor>> inputs_;
};

// What sums of a type are kept in: float32 for narrower floats.
DType accumulator(DType type);

using LowerFn = Expected<> (*)(OpLowering &);
// Null when the operator has no lowering.
LowerFn findLowering(OpId op);

// Called once each to fill the table.
using LowerTable = std::vector<LowerFn>;
void addElementwiseLowerings(LowerTable &table);
void addReductionLowerings(LowerTable &table);
void addMovementLowerings(LowerTable &table);
void addContractionLowerings(LowerTable &table);
void addPoolLowerings(LowerTable &table);
void addSelectionLowerings(LowerTable &table);
void addImageLowerings(LowerTable &table);
void addReshapeLowerings(LowerTable &table);
void addSliceLowerings(LowerTable &table);
void addEinsumLowerings(LowerTable &table);
void addLayoutLowerings(LowerTable &table);

} // namespace bycc::loops
