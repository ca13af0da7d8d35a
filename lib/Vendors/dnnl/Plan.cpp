// Bytes of a plan, and what its words mean.
#include "Plan.h"

#include "Archive.h"

#include <algorithm>

namespace bycc::onednn {

namespace {

constexpr uint32_t planMagic = 0x314e5044; // "DPN1"

template <typename A> void fields(A &archive, Value &value) {
  archive.enumeration(value.dtype, numDTypes);
  archive.enumeration(value.kind, numValueKinds);
  archive.integer(value.where);
  integers(archive, value.dims);
}

template <typename A> void fields(A &archive, PostOp &postOp) {
  archive.enumeration(postOp.math, numMaths);
  archive.number(postOp.alpha);
  archive.number(postOp.beta);
  archive.integer(postOp.operand);
  archive.number(postOp.scale);
}

template <typename A> void fields(A &archive, Step &step) {
  archive.enumeration(step.kind, numStepKinds);
  archive.enumeration(step.math, numMaths);
  archive.number(step.alpha);
  archive.number(step.beta);
  archive.integer(step.axis);
  archive.integer(step.hasScale);
  archive.integer(step.hasShift);
  archive.integer(step.hasBias);
  archive.integer(step.groups);
  archive.list(step.scales, [&](float &scale) { archive.number(scale); });
  for (int32_t *zero : {&step.zeroIn, &step.zeroWeights, &step.zeroOut})
    archive.integer(*zero);
  for (Dims *dims : {&step.kernel, &step.strides, &step.dilation, &step.padBegin, &step.padEnd,
                     &step.permutation})
    integers(archive, *dims);
  integers(archive, step.inputs);
  archive.integer(step.output);
  archive.list(step.postOps, [&](PostOp &postOp) { fields(archive, postOp); });
  archive.text(step.source);
}

template <typename A> void fields(A &archive, Plan &plan) {
  archive.list(plan.values, [&](Value &value) { fields(archive, value); });
  archive.list(plan.steps, [&](Step &step) { fields(archive, step); });
  integers(archive, plan.inputs);
  integers(archive, plan.outputs);
}

} // namespace

bool isEltwise(Math math) { return math >= Math::Relu && math <= Math::Saturate; }
bool isBinary(Math math) { return math >= Math::Add && math <= Math::Min; }
bool isCommutative(Math math) { return math != Math::Sub && math != Math::Div; }
bool isView(StepKind kind) { return kind >= StepKind::Reshape; }
bool isWholeView(StepKind kind) { return isView(kind) && kind != StepKind::Slice; }
bool isProduct(StepKind kind) { return kind <= StepKind::MatMul; }
size_t channelAxis(StepKind kind, size_t rank) { return kind == StepKind::MatMul ? rank - 1 : 1; }
bool isQuantized(DType dtype) { return dtype == DType::Int8 || dtype == DType::UInt8; }
bool isReal(DType dtype) { return dtype == DType::Float32 || dtype == DType::BFloat16; }
Range rangeOf(DType dtype) { return dtype == DType::Int8 ? Range{-128, 127} : Range{0, 255}; }

const char *name(StepKind kind) {
  constexpr const char *names[numStepKinds] = {
      "convolution", "deconvolution", "matmul", "pooling", "softmax", "layer_normalization",
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
  Writer writer;
  fields(writer, copy);
  return std::string(writer.bytes.begin(), writer.bytes.end());
}

std::vector<uint8_t> writePlan(const Plan &plan) {
  Writer writer;
  writeHead(writer, planMagic, planVersion);
  Plan copy = plan; // one `fields` for both directions wants a mutable plan
  fields(writer, copy);
  return std::move(writer.bytes);
}

Expected<Plan> readPlan(std::span<const uint8_t> bytes) {
  Reader reader(bytes);
  BYCC_TRY(readHead(reader, planMagic, planVersion, "dnnl region plan"));
  Plan plan;
  fields(reader, plan);
  if (!reader.ok() || !reader.atEnd())
    return error(Status::Load) << "dnnl region plan is damaged";
  return plan;
}

} // namespace bycc::onednn
