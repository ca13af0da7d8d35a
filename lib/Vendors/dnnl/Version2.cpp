// oneDNN 2.6: operation descriptor, then primitive descriptor, then primitive. See Version.h.
#include "Version.h"

namespace bycc::onednn {

using dnnl::memory;
using dnnl::prop_kind;

// ---- layouts ----

bool isLayout(const Layout &layout) { return layout.data.ndims != 0; }

Dims dimsOf(const Layout &layout) { return layout.dims(); }

DType dtypeOf(const Layout &layout) {
  for (DType dtype : {DType::BFloat16, DType::Float16, DType::Int8, DType::UInt8, DType::Int32})
    if (dataType(dtype) == layout.data_type())
      return dtype;
  return DType::Float32;
}

Layout withDType(const Layout &layout, DType dtype) {
  Layout other = layout;
  other.data.data_type = static_cast<dnnl_data_type_t>(dataType(dtype));
  return other;
}

std::optional<Dims> stridesOf(const Layout &layout) {
  const auto &data = layout.data;
  if (data.format_kind != dnnl_blocked || data.format_desc.blocking.inner_nblks != 0)
    return std::nullopt;
  return Dims(data.format_desc.blocking.strides, data.format_desc.blocking.strides + data.ndims);
}

int64_t startOf(const Layout &layout) { return layout.data.offset0; }

bool isAny(const Layout &layout) { return layout.data.format_kind == dnnl_format_kind_any; }

std::optional<LayoutForm> formOf(const Layout &layout) {
  const dnnl_memory_desc_t &data = layout.data;
  if (data.format_kind != dnnl_blocked)
    return std::nullopt;
  const dnnl_blocking_desc_t &blocking = data.format_desc.blocking;
  LayoutForm form;
  form.dtype = dtypeOf(layout);
  form.dims.assign(data.dims, data.dims + data.ndims);
  form.padded.assign(data.padded_dims, data.padded_dims + data.ndims);
  form.strides.assign(blocking.strides, blocking.strides + data.ndims);
  for (int i = 0; i < blocking.inner_nblks; ++i)
    form.inner.push_back({static_cast<uint8_t>(blocking.inner_idxs[i]), blocking.inner_blks[i]});
  form.start = data.offset0;
  form.extraFlags = data.extra.flags;
  form.sumMask = data.extra.compensation_mask;
  form.zeroSumMask = data.extra.asymm_compensation_mask;
  if (data.extra.flags & dnnl_memory_extra_flag_scale_adjust)
    form.scale = data.extra.scale_adjust;
  return form;
}

std::optional<Layout> layoutOf(const LayoutForm &form) {
  constexpr uint64_t known = dnnl_memory_extra_flag_compensation_conv_s8s8 |
                             dnnl_memory_extra_flag_scale_adjust |
                             dnnl_memory_extra_flag_compensation_conv_asymmetric_src;
  if ((form.extraFlags & ~known) || dataType(form.dtype) == memory::data_type::undef)
    return std::nullopt;
  Layout layout = plainLayout(form.dims, form.dtype);
  dnnl_memory_desc_t &data = layout.data;
  dnnl_blocking_desc_t &blocking = data.format_desc.blocking;
  std::copy(form.padded.begin(), form.padded.end(), data.padded_dims);
  std::copy(form.strides.begin(), form.strides.end(), blocking.strides);
  blocking.inner_nblks = static_cast<int>(form.inner.size());
  for (size_t i = 0; i < form.inner.size(); ++i) {
    blocking.inner_idxs[i] = form.inner[i].axis;
    blocking.inner_blks[i] = form.inner[i].size;
  }
  data.offset0 = form.start;
  data.extra.flags = form.extraFlags;
  data.extra.compensation_mask = form.sumMask;
  data.extra.asymm_compensation_mask = form.zeroSumMask;
  if (form.extraFlags & dnnl_memory_extra_flag_scale_adjust)
    data.extra.scale_adjust = form.scale;
  return layout;
}

std::string keyOfLayout(const Layout &layout) {
  return std::string(reinterpret_cast<const char *>(&layout.data), sizeof layout.data);
}

// ---- primitives ----

dnnl::pooling_forward::primitive_desc poolDescriptor(const dnnl::primitive_attr &attributes,
                                                     const Step &step, dnnl::algorithm method,
                                                     const Layout &from, const Layout &to) {
  return descriptorOf<dnnl::pooling_forward>(attributes, prop_kind::forward_inference, method, from,
                                             to, step.strides, step.kernel, step.padBegin,
                                             step.padEnd);
}

dnnl::layer_normalization_forward::primitive_desc
layerNormDescriptor(const dnnl::primitive_attr &attributes, const Step &step,
                    dnnl::normalization_flags flags, const Layout &layout) {
  return descriptorOf<dnnl::layer_normalization_forward>(attributes, prop_kind::forward_inference,
                                                         layout, step.alpha, flags);
}

dnnl::eltwise_forward::primitive_desc eltwiseDescriptor(const dnnl::primitive_attr &attributes,
                                                        const Step &step, dnnl::algorithm method,
                                                        const Layout &layout) {
  return descriptorOf<dnnl::eltwise_forward>(attributes, prop_kind::forward_inference, method,
                                             layout, step.alpha, step.beta);
}

dnnl::concat::primitive_desc concatDescriptor(const dnnl::primitive_attr &attributes,
                                              const Step &step, const Layouts &layouts) {
  return {layouts.output, static_cast<int>(step.axis), layouts.inputs, engine(), attributes};
}

void appendEltwise(dnnl::post_ops &ops, dnnl::algorithm method, const PostOp &postOp) {
  ops.append_eltwise(postOp.scale, method, postOp.alpha, postOp.beta);
}

bool hasScaledBias(const Step &) { return false; } // scales are those of the sum with it

namespace {

void setZero(dnnl::primitive_attr &attributes, int arg, int32_t zero) {
  if (zero != 0)
    attributes.set_zero_points(arg, 0, {zero});
}

} // namespace

void setQuantization(dnnl::primitive_attr &attributes, const Step &step, const Layouts &layouts,
                     FixedOperands *) {
  if (step.kind == StepKind::Binary) {
    for (size_t i = 0; i < step.scales.size(); ++i)
      attributes.set_scales(i == 0 ? DNNL_ARG_SRC_0 : DNNL_ARG_SRC_1, 0, {step.scales[i]});
    return;
  }
  size_t axis = step.kind == StepKind::Convert
                    ? step.axis
                    : channelAxis(step.kind, dimsOf(layouts.output).size());
  if (!step.scales.empty())
    attributes.set_output_scales(step.scales.size() == 1 ? 0 : 1 << axis, step.scales);
  setZero(attributes, DNNL_ARG_SRC, step.zeroIn);
  setZero(attributes, DNNL_ARG_WEIGHTS, step.zeroWeights);
  setZero(attributes, DNNL_ARG_DST, step.zeroOut);
}

bool pointTo(dnnl_memory_t memory, void *data, dnnl_stream_t stream) {
  return dnnl_memory_set_data_handle_v2(memory, data, stream) == dnnl_success;
}

std::span<const InstructionSet> instructionSets() {
  using dnnl::cpu_isa;
  static constexpr InstructionSet sets[] = {
      {cpu_isa::sse41, "sse41", "sse4.1"},
      {cpu_isa::avx, "avx", "avx"},
      {cpu_isa::avx2, "avx2", "avx2"},
      {cpu_isa::avx2_vnni, "avx2_vnni", "avx2 avxvnni"},
      {cpu_isa::avx512_core, "avx512_core", "avx2 avx512f avx512bw avx512vl avx512dq"},
      {cpu_isa::avx512_core_vnni, "avx512_core_vnni",
       "avx2 avx512f avx512bw avx512vl avx512dq avx512vnni"},
      {cpu_isa::avx512_core_bf16, "avx512_core_bf16",
       "avx2 avx512f avx512bw avx512vl avx512dq avx512vnni avx512bf16"},
      {cpu_isa::avx512_core_amx, "avx512_core_amx",
       "avx2 avx512f avx512bw avx512vl avx512dq avx512vnni avx512bf16 amx-tile amx-int8 amx-bf16"},
  };
  return sets;
}

} // namespace bycc::onednn
