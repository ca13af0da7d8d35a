// See Library.h; what differs between the library's versions is in Version.h.
//
// Numerics. The library's kernels reassociate sums and contract to fma, nothing
// else. Some of them treat NaN otherwise than ONNX says, measured with 2.6 on AVX-512:
// relu (with alpha 0) and clip map NaN to 0 or to the lower bound, and max/min
// drop a NaN that stands on the left; exp of NaN is infinity. Leaky relu and all
// other functions pass NaN on. Max/min reductions and max pooling start from the
// largest finite number, which is their result where all elements are infinite.
// log is off by up to 3.4e-6 where it is near 0.
#include "Library.h"

#include "Prefer.h"
#include "Version.h"

#include <stdexcept>

namespace bycc::onednn {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

namespace {

algorithm algorithmOf(Math math) {
  switch (math) {
  case Math::Relu:
    return algorithm::eltwise_relu;
  case Math::Clip:
    return algorithm::eltwise_clip;
  case Math::Linear:
    return algorithm::eltwise_linear;
  case Math::Pow:
    return algorithm::eltwise_pow;
  case Math::Abs:
    return algorithm::eltwise_abs;
  case Math::Exp:
    return algorithm::eltwise_exp;
  case Math::Log:
    return algorithm::eltwise_log;
  case Math::Sqrt:
    return algorithm::eltwise_sqrt;
  case Math::Tanh:
    return algorithm::eltwise_tanh;
  case Math::Sigmoid:
    return algorithm::eltwise_logistic;
  case Math::Gelu:
    return algorithm::eltwise_gelu_erf;
  case Math::GeluTanh:
    return algorithm::eltwise_gelu_tanh;
  case Math::Swish:
    return algorithm::eltwise_swish;
  case Math::Mish:
    return algorithm::eltwise_mish;
  case Math::HardSwish:
    return algorithm::eltwise_hardswish;
  case Math::Round:
    return algorithm::eltwise_round;
  case Math::Saturate:
    return algorithm::eltwise_clip_v2;
  case Math::Add:
    return algorithm::binary_add;
  case Math::Sub:
    return algorithm::binary_sub;
  case Math::Mul:
    return algorithm::binary_mul;
  case Math::Div:
    return algorithm::binary_div;
  case Math::Max:
    return algorithm::binary_max;
  case Math::Min:
    return algorithm::binary_min;
  case Math::MaxPool:
    return algorithm::pooling_max;
  case Math::AvgPoolInside:
    return algorithm::pooling_avg_exclude_padding;
  case Math::AvgPoolAll:
    return algorithm::pooling_avg_include_padding;
  default:
    return algorithm::undef;
  }
}

algorithm reductionOf(Math math) {
  switch (math) {
  case Math::Add:
    return algorithm::reduction_sum;
  case Math::Mean:
    return algorithm::reduction_mean;
  default:
    return algorithm::undef;
  }
}

memory::dims lessOne(const Dims &dims) {
  memory::dims out;
  for (int64_t dim : dims)
    out.push_back(dim - 1);
  return out;
}

// Builds one primitive; what it has in common for all kinds is here, each kind
// only fills the operation descriptor.
class PrimitiveMaker {
public:
  PrimitiveMaker(const Step &step, const Layouts &layouts, const std::vector<Layout> &postOps,
                 int sum, bool isProbe)
      : step_(step), in_(layouts.inputs), out_(layouts.output), isProbe_(isProbe) {
    attributes_.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (!step.postOps.empty())
      attributes_.set_post_ops(postOpsOf(postOps, sum));
    setQuantization(attributes_, step, layouts, isProbe ? nullptr : &result_.fixed);
  }

  Primitive make() {
    switch (step_.kind) {
    case StepKind::Conv:
      conv();
      break;
    case StepKind::Deconv:
      deconv();
      break;
    case StepKind::MatMul:
      matmul();
      break;
    case StepKind::Pool:
      pool();
      break;
    case StepKind::Softmax:
      softmax();
      break;
    case StepKind::LayerNorm:
      layerNorm();
      break;
    case StepKind::Eltwise:
      eltwise();
      break;
    case StepKind::Binary:
      binary();
      break;
    case StepKind::Concat:
      concat();
      break;
    case StepKind::Reduce:
      reduce();
      break;
    case StepKind::Convert:
      convert();
      break;
    case StepKind::Pad:
      throw dnnl::error(dnnl_unimplemented, "no padding but that of a convolution");
    case StepKind::Reshape:
    case StepKind::Permute:
    case StepKind::Slice:
      throw dnnl::error(dnnl_invalid_arguments, "a view is not a primitive");
    }
    return std::move(result_);
  }

private:
  dnnl::post_ops postOpsOf(const std::vector<Layout> &operands, int sum) {
    dnnl::post_ops ops;
    for (size_t i = 0; i < step_.postOps.size(); ++i) {
      const PostOp &postOp = step_.postOps[i];
      int arg = 0;
      if (postOp.operand == noValue)
        appendEltwise(ops, algorithmOf(postOp.math), postOp);
      else if (static_cast<int>(i) == sum)
        ops.append_sum(postOp.scale, 0, dataType(dtypeOf(operands[i])));
      else if (postOp.scale != 1.0f) {
        throw dnnl::error(dnnl_unimplemented, "a scaled summand of another element size");
      } else {
        ops.append_binary(algorithmOf(postOp.math), operands[i]);
        arg = DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len() - 1) | DNNL_ARG_SRC_1;
      }
      result_.postOpArgs.push_back(arg);
    }
    return ops;
  }

  template <typename P, typename... Args>
  typename P::primitive_desc described(const Args &...args) {
    auto pd = descriptorOf<P>(attributes_, args...);
    if constexpr (std::is_same_v<P, dnnl::convolution_forward>) {
      std::string faster = preferredTo(pd.impl_info_str(), step_, dimsOf(pd.dst_desc())[1],
                                       static_cast<uint64_t>(sizeInBytes(dtypeOf(pd.src_desc()))));
      if (!faster.empty())
        pd = descriptorNamed<P>(faster, attributes_, args...).value_or(pd);
    }
    finish<P>(pd);
    return pd;
  }
  template <typename P> void finish(const typename P::primitive_desc &pd) {
    if (!isProbe_)
      result_.primitive = P(pd);
    result_.implementation = pd.impl_info_str();
    result_.scratchpad = pd.scratchpad_desc();
  }

  void operand(int arg, const Layout &layout) {
    result_.inputArgs.push_back(arg);
    result_.layouts.inputs.push_back(layout);
  }

  template <typename P> void convolve() {
    constexpr auto kind = prop_kind::forward_inference;
    const Step &s = step_;
    algorithm method = std::is_same_v<P, dnnl::convolution_forward>
                           ? algorithm::convolution_direct
                           : algorithm::deconvolution_direct;
    if (s.hasBias)
      weighted<P>(kind, method, in_[0], in_[1], in_[2], out_, s.strides, lessOne(s.dilation),
                  s.padBegin, s.padEnd);
    else
      weighted<P>(kind, method, in_[0], in_[1], out_, s.strides, lessOne(s.dilation), s.padBegin,
                  s.padEnd);
  }
  template <typename P, typename... Args> void weighted(const Args &...args) {
    auto pd = described<P>(args...);
    operand(DNNL_ARG_SRC, pd.src_desc());
    operand(DNNL_ARG_WEIGHTS, pd.weights_desc());
    if (step_.hasBias)
      operand(DNNL_ARG_BIAS, pd.bias_desc());
    result_.layouts.output = pd.dst_desc();
  }
  void conv() { convolve<dnnl::convolution_forward>(); }
  void deconv() { convolve<dnnl::deconvolution_forward>(); }

  void matmul() {
    if (step_.hasBias)
      weighted<dnnl::matmul>(in_[0], in_[1], in_[2], out_);
    else
      weighted<dnnl::matmul>(in_[0], in_[1], out_);
  }

  template <typename P> void unary(const typename P::primitive_desc &pd, const Layout &out) {
    finish<P>(pd);
    operand(DNNL_ARG_SRC, in_[0]);
    result_.layouts.output = out;
  }

  void pool() {
    auto pd = poolDescriptor(attributes_, step_, algorithmOf(step_.math), in_[0], out_);
    finish<dnnl::pooling_forward>(pd);
    operand(DNNL_ARG_SRC, pd.src_desc());
    result_.layouts.output = pd.dst_desc();
  }

  void softmax() {
    algorithm method =
        step_.math == Math::LogSoftmax ? algorithm::softmax_log : algorithm::softmax_accurate;
    unary<SoftmaxForward>(descriptorOf<SoftmaxForward>(attributes_, prop_kind::forward_inference,
                                                       method, in_[0], out_,
                                                       static_cast<int>(step_.axis)),
                          out_);
  }

  void layerNorm() {
    auto flags = dnnl::normalization_flags::none;
    if (step_.hasScale)
      flags |= dnnl::normalization_flags::use_scale;
    if (step_.hasShift)
      flags |= dnnl::normalization_flags::use_shift;
    unary<dnnl::layer_normalization_forward>(layerNormDescriptor(attributes_, step_, flags, in_[0]),
                                             in_[0]);
    size_t next = 1;
    if (step_.hasScale)
      operand(DNNL_ARG_SCALE, in_[next++]);
    if (step_.hasShift)
      operand(DNNL_ARG_SHIFT, in_[next++]);
  }

  void eltwise() {
    unary<dnnl::eltwise_forward>(
        eltwiseDescriptor(attributes_, step_, algorithmOf(step_.math), in_[0]), in_[0]);
  }

  void binary() {
    auto pd = described<dnnl::binary>(algorithmOf(step_.math), in_[0], in_[1], out_);
    operand(DNNL_ARG_SRC_0, in_[0]);
    operand(DNNL_ARG_SRC_1, in_[1]);
    result_.layouts.output = pd.dst_desc();
  }

  void concat() {
    auto pd = concatDescriptor(attributes_, step_, {in_, out_});
    finish<dnnl::concat>(pd);
    for (size_t i = 0; i < in_.size(); ++i)
      operand(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), in_[i]);
    result_.layouts.output = pd.dst_desc();
  }

  void reduce() {
    auto pd = described<dnnl::reduction>(reductionOf(step_.math), in_[0], out_, 0.0f, 0.0f);
    operand(DNNL_ARG_SRC, in_[0]);
    result_.layouts.output = pd.dst_desc();
  }

  void convert() {
    using P = dnnl::reorder;
    P::primitive_desc pd(engine(), in_[0], engine(), out_, attributes_);
    finish<P>(pd);
    operand(DNNL_ARG_FROM, in_[0]);
    result_.layouts.output = out_;
  }

  const Step &step_;
  const std::vector<Layout> &in_;
  const Layout &out_;
  bool isProbe_;
  dnnl::primitive_attr attributes_;
  Primitive result_;
};

Primitive reorder(const Layout &from, const Layout &to, bool isProbe) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::reorder::primitive_desc pd(engine(), from, engine(), to, attributes);
  Primitive result;
  if (!isProbe)
    result.primitive = dnnl::reorder(pd);
  result.implementation = pd.impl_info_str();
  result.scratchpad = pd.scratchpad_desc();
  result.inputArgs = {DNNL_ARG_FROM};
  result.layouts = {{from}, to};
  return result;
}

} // namespace

dnnl::engine &engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

std::string libraryVersion() {
  const dnnl_version_t *version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

void checkLibraryIsOurs() {
  if (dnnl_version()->major != DNNL_VERSION_MAJOR)
    throw std::runtime_error("it is built for oneDNN " + std::to_string(DNNL_VERSION_MAJOR) +
                             ", the program has " + libraryVersion() + " of its own");
}

bool Descriptor::isSlow() const { return implementation.find("ref") != std::string::npos; }

Expected<> guarded(Status status, const std::function<void()> &body) {
  try {
    body();
  } catch (const dnnl::error &fault) {
    return error(status) << "oneDNN: " << fault.what();
  } catch (const std::bad_alloc &) {
    return error(Status::Limit) << "out of memory in oneDNN";
  }
  return {};
}

Expected<Descriptor> describe(const Step &step, const Layouts &layouts,
                              const std::vector<Layout> &postOpLayouts, int sumPostOp) {
  Descriptor result;
  BYCC_TRY(guarded(Status::Unsup, [&] {
    result = PrimitiveMaker(step, layouts, postOpLayouts, sumPostOp, true).make();
  }));
  return result;
}

Expected<Primitive> makePrimitive(const Step &step, const Layouts &layouts,
                                  const std::vector<Layout> &postOpLayouts, int sumPostOp) {
  Primitive result;
  BYCC_TRY(guarded(Status::Unsup, [&] {
    result = PrimitiveMaker(step, layouts, postOpLayouts, sumPostOp, false).make();
  }));
  return result;
}

Expected<> probePrimitive(const Plan &plan, const Step &step) {
  auto plain = [&](ValueId id) { return plainLayout(plan.values[id].dims, plan.values[id].dtype); };
  auto any = [&](ValueId id) { return anyLayout(plan.values[id].dims, plan.values[id].dtype); };
  auto last = [&](ValueId id) {
    return channelsLastLayout(plan.values[id].dims, plan.values[id].dtype);
  };
  bool isConv = isConvolution(step.kind);
  Primitive made;
  // `wholeOf`: for operands of post-ops with the result's extents.
  auto probe = [&](const auto &layoutOf, const auto &wholeOf, const Layout &output) {
    return guarded(Status::Unsup, [&] {
      Layouts layouts;
      for (ValueId id : step.inputs)
        layouts.inputs.push_back(isConv && layouts.inputs.size() < 2 ? any(id) : layoutOf(id));
      layouts.output = output;
      if (isProduct(step.kind) && step.hasBias)
        layouts.inputs[2] = biasLayout(plan, step);
      std::vector<Layout> postOps;
      for (const PostOp &postOp : step.postOps) {
        if (postOp.operand == noValue)
          postOps.emplace_back();
        else if (plan.values[postOp.operand].dims == plan.values[step.output].dims)
          postOps.push_back(wholeOf(postOp.operand));
        else
          postOps.push_back(plain(postOp.operand));
      }
      made = PrimitiveMaker(step, layouts, postOps, sumPostOpOf(plan, step), true).make();
    });
  };
  // Copies windows and multiplies: 2 to 3 times slower than code of the host where the library
  // has nothing else, as for groups of few channels; 10 times for such groups of 8 bits.
  auto copiesWindows = [&] {
    const char *name = step.groups > 1 ? "gemm" : "gemm:jit";
    return step.kind == StepKind::Conv && made.implementation.find(name) != std::string::npos;
  };
  BYCC_TRY(probe(plain, plain, plain(step.output)));
  // Layouts are chosen later (LowerLayouts.h): convolutions choose theirs, integers are
  // pooled with channels last.
  if ((made.isSlow() && isConv) || copiesWindows())
    BYCC_TRY(probe(plain, plain, any(step.output)));
  if (made.isSlow() && step.kind == StepKind::Pool)
    BYCC_TRY(probe(last, last, last(step.output)));
  // Where alone it has its channels last, what it adds has so, too.
  bool readsWhole = std::ranges::any_of(step.postOps, [&](const PostOp &postOp) {
    return postOp.operand != noValue &&
           plan.values[postOp.operand].dims == plan.values[step.output].dims;
  });
  if (!made.isSlow() && isConv && readsWhole) {
    Layouts layouts = made.layouts;
    for (size_t i = 0; i < 2; ++i)
      layouts.inputs[i] = any(step.inputs[i]);
    layouts.output = any(step.output);
    Step alone = step;
    alone.postOps.clear();
    if (Expected<Descriptor> free = describe(alone, layouts, {}, -1);
        free && free->layouts.output == last(step.output))
      BYCC_TRY(probe(plain, last, last(step.output)));
  }
  if (made.isSlow())
    return error(Status::Unsup) << "oneDNN has only a reference loop for this ("
                                << made.implementation << ")";
  if (copiesWindows())
    return error(Status::Unsup) << "oneDNN only copies windows and multiplies them here ("
                                << made.implementation << ")";
  // It is the backward pass of a convolution there, which has neither: loops without vectors
  // follow, 3 ns for each element with a bias, 30 to 100 ns with a function.
  if (step.kind == StepKind::Deconv && (step.hasBias || !step.postOps.empty()) &&
      isReal(plan.values[step.inputs[0]].dtype) &&
      made.implementation.find("brg") == std::string::npos)
    return error(Status::Unsup)
           << "oneDNN adds a bias and functions to this one element after the other ("
           << made.implementation << ")";
  return {};
}

namespace {

constexpr double maxTaps = 1 << 24; // extents come from files, too

// Whether a window lies between or beyond the elements along a spatial axis, or may do so
// where there are too many to look at.
bool hasEmptyWindow(const Plan &plan, const Step &step, size_t axis) {
  int64_t extent = plan.values[step.inputs[0]].dims[axis + 2];
  int64_t count = plan.values[step.output].dims[axis + 2];
  if (static_cast<double>(count) * static_cast<double>(step.kernel[axis]) > maxTaps)
    return true;
  for (int64_t o = 0; o < count; ++o) {
    int64_t at = o * step.strides[axis] - step.padBegin[axis];
    bool isEmpty = true;
    for (int64_t k = 0; k < step.kernel[axis] && isEmpty; ++k, at += step.dilation[axis])
      isEmpty = at < 0 || at >= extent;
    if (isEmpty)
      return true;
  }
  return false;
}

// The library leaves the bias out where there is a sum and nothing to multiply.
bool losesBias(const Plan &plan, const Step &step) {
  if (step.kind != StepKind::Conv || !step.hasBias)
    return false;
  for (size_t axis = 0; axis < step.kernel.size(); ++axis)
    if (hasEmptyWindow(plan, step, axis))
      return true;
  return false;
}

} // namespace

int sumPostOpOf(const Plan &plan, const Step &step) {
  if (losesBias(plan, step))
    return -1;
  const Value &result = plan.values[step.output];
  for (size_t i = 0; i < step.postOps.size(); ++i) {
    if (step.postOps[i].math != Math::Add || step.postOps[i].operand == noValue)
      continue;
    const Value &operand = plan.values[step.postOps[i].operand];
    if (operand.dims == result.dims && sizeInBytes(operand.dtype) == sizeInBytes(result.dtype))
      return static_cast<int>(i);
  }
  return -1;
}

Layout biasLayout(const Plan &plan, const Step &step) {
  const Value &bias = plan.values[step.inputs[2]];
  Dims dims = bias.dims;
  if (step.kind == StepKind::MatMul)
    dims.insert(dims.begin(), plan.values[step.output].dims.size() - 1, 1);
  return plainLayout(dims, hasScaledBias(step) ? DType::Float32 : bias.dtype);
}

Expected<Descriptor> describeReorder(const Layout &from, const Layout &to) {
  Descriptor result;
  BYCC_TRY(guarded(Status::Unsup, [&] { result = reorder(from, to, true); }));
  return result;
}

Expected<Primitive> makeReorder(const Layout &from, const Layout &to) {
  Primitive result;
  BYCC_TRY(guarded(Status::Unsup, [&] { result = reorder(from, to, false); }));
  return result;
}

} // namespace bycc::onednn
