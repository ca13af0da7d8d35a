// What the words of a plan mean.
#include "Plan.h"

#include "PlanArchive.h"

#include <algorithm>

namespace bycc::onednn {

bool isEltwise(Math math) { return math >= Math::Relu && math <= Math::Saturate; }
bool isBinary(Math math) { return math >= Math::Add && math <= Math::Min; }
bool isCommutative(Math math) { return math != Math::Sub && math != Math::Div; }
bool isView(StepKind kind) { return kind >= StepKind::Reshape; }
bool isWholeView(StepKind kind) { return isView(kind) && kind != StepKind::Slice; }

std::optional<size_t> axisSteppedBeyond(const Dims &whole, const Dims &steps, const Dims &dims) {
  for (size_t axis = 0; axis < steps.size(); ++axis)
    if (dims[axis] > 1 && dims[axis] * steps[axis] > whole[axis])
      return axis;
  return std::nullopt;
}

bool isConvolution(StepKind kind) { return kind == StepKind::Conv || kind == StepKind::Deconv; }
bool isProduct(StepKind kind) { return kind <= StepKind::MatMul; }
size_t channelAxis(StepKind kind, size_t rank) { return kind == StepKind::MatMul ? rank - 1 : 1; }
bool isQuantized(DType dtype) { return dtype == DType::Int8 || dtype == DType::UInt8; }
bool isReal(DType dtype) { return dtype == DType::Float32 || dtype == DType::BFloat16; }
Range rangeOf(DType dtype) { return dtype == DType::Int8 ? Range{-128, 127} : Range{0, 255}; }

const char *name(StepKind kind) {
  constexpr const char *names[numStepKinds] = {
      "convolution", "deconvolution", "matmul", "pooling",   "softmax", "layer_normalization",
      "eltwise",     "binary",        "concat", "reduction", "convert", "pad",
      "reshape",     "permute",       "slice"};
  return names[static_cast<size_t>(kind)];
}

int64_t numElements(const Dims &dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

std::string text(const Dims &dims) {
  std::string out = "(";
  for (size_t i = 0; i < dims.size(); ++i)
    out += (i ? ", " : "") + std::to_string(dims[i]);
  return out + ")";
}

std::string keyOfStep(const Step &step) {
  Step copy = step;
  copy.source.clear();
  copy.output = noValue;
  std::fill(copy.inputs.begin(), copy.inputs.end(), noValue);
  for (PostOp &postOp : copy.postOps)
    postOp.operand = postOp.operand == noValue ? noValue : 0;
  vendor::Bytes bytes = vendor::write({"dnnl step", 1}, copy);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace bycc::onednn
