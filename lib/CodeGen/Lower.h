// From operators to stages: one function per operator family, found in a table by
// operator. A fused group becomes one kernel.
#pragma once

#include "bycc/CodeGen/Compute.h"
#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"

#include <map>

namespace bycc::te {

// A tensor inside a group: a buffer, or a number known while compiling.
struct Tensor {
  uint32_t buffer = UINT32_MAX;
  Ref number = noRef;
  DType type = DType::Float32;
  std::vector<Ref> shape;
  size_t rank() const { return shape.size(); }
};
using Indices = std::vector<Ref>;

// One operator call being lowered.
class OpLowering {
public:
  OpLowering(const Module &module, NodeId call, Kernel &kernel, std::vector<std::vector<Tensor>> inputs)
      : module(module), call(call), k(kernel), x(kernel.exprs), inputs_(std::move(inputs)) {}
  const Module &module;
  NodeId call;
  Kernel &k;
  Exprs &x;
  std::vector<Tensor> results;
  const std::map<int64_t, Ref> *knownDims = nullptr; // symbolic dims seen in inputs, by Dim::raw

  size_t numInputs() const { return inputs_.size(); }
  const Tensor &input(size_t index) const { return inputs_[index][0]; }
  const std::vector<Tensor> &fields(size_t index) const { return inputs_[index]; } // of a tuple
  const OpInfo &info() const { return opInfo(module.node(call).op); }
  bool isOp(OpId op) const { return module.node(call).op == op; }

  int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;
  bool boolean(std::string_view key) const;
  std::string text(std::string_view key) const;
  bool isNone(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key) const;
  std::vector<std::vector<int64_t>> pairs(std::string_view key) const; // [[a, b], ..]
  int64_t axis(std::string_view key, size_t rank) const;               // negative counts from the end

  // Type of result `index`; its shape, unknown dims taken from `likely` where given.
  TypeId resultType(size_t index = 0) const;
  DType resultDType(size_t index = 0) const { return module.types.dtype(resultType(index)); }
  Expected<std::vector<Ref>> resultShape(const std::vector<Ref> &likely = {}, size_t index = 0);
  std::optional<int64_t> extent(const Tensor &tensor, size_t dim) const { return x.constant(tensor.shape[dim]); }

  Tensor temp(DType type, std::vector<Ref> shape);
  Ref at(const Tensor &tensor, const Indices &indices);
  Ref atFlat(const Tensor &tensor, Ref flat);
  // Indices of the result of a broadcast, for an operand of it.
  Ref atBroadcast(const Tensor &tensor, const Indices &indices);
  // Index into an axis of `extent` that may be one and is then repeated; the
  // extent of two such axes together.
  Ref broadcastIndex(Ref extent, Ref index);
  Ref broadcastExtent(Ref a, Ref b);
  // Appends a stage result[i..] = body(i..) and makes it the next result.
  Tensor map(DType type, const std::vector<Ref> &shape, const Kernel::BodyFn &body, bool keep = false);
  Expected<> mapResult(const Kernel::BodyFn &body, const std::vector<Ref> &likely = {});
  // t[shape without axes or with ones] = reduce over axes of body(all indices).
  Tensor reduce(Reduce kind, DType type, const std::vector<Ref> &shape, const std::vector<bool> &isReduced,
                const Kernel::BodyFn &body);

  Ref real(double value, DType type) { return x.number(value, type); }
  Ref op2(Op op, Ref a, Ref b) { return x.binary(op, a, b); }
  ErrorBuilder unsupported() const; // "NAME: " is put in front

private:
  std::vector<std::vector<Tensor>> inputs_;
};

// Operators that only change the shape: their result may share its input's memory.
bool isReshapeOp(OpId op);

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

// What a kernel reads and writes, in terms of the program around it.
struct GroupInput {
  NodeId node;      // parameter or outer node
  uint32_t field;   // of its flattened type
  uint32_t buffer;
};
struct Group {
  Kernel kernel;
  std::vector<GroupInput> inputs;
  std::vector<uint32_t> outputs; // buffers, flattened result; an input's buffer when passed through
  // What the kernel's dims stand for: extents of inputs.
  struct DimSource {
    NodeId node;
    uint32_t field, axis;
  };
  std::vector<DimSource> dims;
};

// A Primitive function's body (params given by `function`), or a single call.
// `constantOf` tells which outer nodes are constants.
using ConstantOf = std::function<const Constant *(NodeId)>;
Expected<Group> lowerFunction(const Module &module, FunctionId function, const ConstantOf &constantOf);
Expected<Group> lowerCall(const Module &module, NodeId call, const ConstantOf &constantOf);

} // namespace bycc::te
