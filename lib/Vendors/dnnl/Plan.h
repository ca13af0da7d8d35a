// A region as a list of steps over values, in the library's own terms (channels
// first, weights O,I,spatial) but without its layouts: those are for a program
// (Program.h).
//
//   value   where its elements come from: region input, constant, or a step
//   step    one primitive with its post-ops, or a view (reshape,
//           permute, slice) that costs nothing unless layouts force a copy
//
// NHWC data is a permute view around a channels-first step, so that blocked
// layouts flow through any model.
//
// Quantised steps hold their scales and zero points:
//
//   result = T(postOps(scale * (op(x - zeroIn, weights - zeroWeights) + bias)) + zeroOut)
//
// where T rounds to the nearest (ties to even) and saturates, for 8-bit results.
//
// The reader of its bytes believes nothing: the archive of bycc/vendor.hpp
// bounds-checks, `checkPlan` checks every shape.
#pragma once

#include "bycc/Support/DType.h"
#include "bycc/Support/Error.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bycc::onednn {

using Dims = std::vector<int64_t>;
using ValueId = uint32_t;
inline constexpr ValueId noValue = ~0u;
inline constexpr size_t maxRank = 12;     // the library's
inline constexpr uint64_t alignment = 64; // of constants in the weights, of memory
constexpr uint64_t aligned(uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}
inline constexpr uint32_t planVersion = 5;

enum class ValueKind : uint8_t { Input, Constant, Temp };
inline constexpr uint8_t numValueKinds = 3;

struct Value {
  DType dtype = DType::Float32;
  ValueKind kind = ValueKind::Temp;
  uint64_t where = 0; // Input: index of the region input; Constant: of Plan::constants
  Dims dims;          // never empty: rank 0 is {1}
};

enum class StepKind : uint8_t {
  Conv,      // data N,C,spatial; weights [G,]O,I,spatial; [bias C]
  Deconv,    // the same
  MatMul,    // ..,M,K  x  ..,K,N  [bias N]
  Pool,      // data N,C,spatial
  Softmax,   // along axis
  LayerNorm, // data rows,C; [scale C] [shift C]
  Eltwise,
  Binary,  // both operands of equal rank, extents equal or 1 on the right
  Concat,  // along axis
  Reduce,  // extents equal or 1
  Convert, // between dtypes, with scales (several: along axis) and zero points
  Pad,     // padBegin and padEnd per axis, with zeroOut: must become part of a convolution
  Reshape,
  Permute,
  Slice, // from padBegin per axis on, with strides if there are any
};
inline constexpr uint8_t numStepKinds = static_cast<uint8_t>(StepKind::Slice) + 1;

// What a step or post-op computes; which ones fit which kind says `fits`.
enum class Math : uint8_t {
  None,
  // Eltwise, with alpha and beta
  Relu,   // x > 0 ? x : alpha*x
  Clip,   // alpha <= x <= beta
  Linear, // alpha*x + beta
  Pow,    // alpha * x^beta
  Abs,
  Exp,
  Log,
  Sqrt,
  Tanh,
  Sigmoid,
  Gelu, // with erf
  GeluTanh,
  Swish, // x * sigmoid(x)
  Mish,
  HardSwish, // x * min(max(x + 3, 0), 6) / 6
  Round,     // to the nearest, ties to even
  Saturate,  // as Clip
  // Binary and Reduce (Reduce: Add and Mean only; Mean: Reduce only)
  Add,
  Sub,
  Mul,
  Div,
  Max,
  Min,
  Mean,
  // Pool
  MaxPool,
  AvgPoolInside, // divisor: elements inside the data
  AvgPoolAll,    // divisor: the window
  // Softmax
  Softmax,
  LogSoftmax,
};
inline constexpr uint8_t numMaths = static_cast<uint8_t>(Math::LogSoftmax) + 1;
bool isEltwise(Math math);
bool isBinary(Math math);

struct PostOp {
  Math math = Math::None;
  float alpha = 0, beta = 0;
  ValueId operand = noValue; // binary: right operand, rank of the result
  // Eltwise: of its result. Add of a whole operand: of the operand.
  float scale = 1;
};

struct Step {
  StepKind kind = StepKind::Eltwise;
  Math math = Math::None;
  float alpha = 0, beta = 0; // LayerNorm: alpha is epsilon
  uint32_t axis = 0;
  uint8_t hasScale = 0, hasShift = 0;
  uint8_t hasBias = 0;
  uint64_t groups = 1;
  // None is 1; one; or one per channel of the result (convolutions and matmul), per
  // element of the axis (Convert), per operand (Binary).
  std::vector<float> scales;
  int32_t zeroIn = 0, zeroWeights = 0, zeroOut = 0;
  // One entry per spatial axis. Dilation 1 is dense. padEnd may reach beyond
  // what the model says (ceil_mode).
  Dims kernel, strides, dilation, padBegin, padEnd;
  Dims permutation; // Permute: output axis i is input axis permutation[i]
  std::vector<ValueId> inputs;
  ValueId output = noValue;
  std::vector<PostOp> postOps;
  std::string source; // names of the model's nodes, for profiles
};

// Owns the bytes, or refers to those of a region that outlives it.
using ConstantBytes = std::shared_ptr<const uint8_t>;

struct Plan {
  std::vector<ConstantBytes> constants; // row-major; not written: see Stored in Program.h
  std::vector<Value> values;
  std::vector<Step> steps;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
};

// Every id in range, values defined once and before use, extents positive and
// bounded, each step's shapes and parameters consistent.
Expected<> checkPlan(const Plan &plan);

bool isCommutative(Math binary);
bool isView(StepKind kind);
bool isWholeView(StepKind kind);   // of all elements
bool isConvolution(StepKind kind); // transposed ones too
bool isProduct(StepKind kind);     // convolutions and matmul
// The first axis of such a slice beyond whose end the last step goes, as [::2] of 7: the
// library has no view of it.
std::optional<size_t> axisSteppedBeyond(const Dims &whole, const Dims &steps, const Dims &dims);
// The axis of the result that scales of a product go along.
size_t channelAxis(StepKind kind, size_t rank);
const char *name(StepKind kind);
// Bytes that are equal for steps that compute the same of operands of the same types.
std::string keyOfStep(const Step &step);
// Elements of a checked shape.
int64_t numElements(const Dims &dims);
std::string text(const Dims &dims); // "(1, 3, 224, 224)"
bool isQuantized(DType dtype);      // 8-bit
bool isReal(DType dtype);           // float32, bfloat16
struct Range {
  float low, high;
};
Range rangeOf(DType dtype); // of an 8-bit dtype
// Positive extents, fewer than 2^31 elements, rank 1 to 12.
Expected<> checkDims(const Dims &dims, DType dtype);

} // namespace bycc::onednn
