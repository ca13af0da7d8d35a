#include "Library.h"

#include <algorithm>
#include <numeric>

namespace floor_bench {

namespace {

struct Blocking {
  std::vector<int64_t> dims, strides, blocks, blockAxes;
  bool isBlocked = false;
};

Blocking blockingOf(const dnnl::memory::desc &desc) {
  Blocking b;
#if DNNL_VERSION_MAJOR >= 3
  b.dims = desc.get_dims();
  b.isBlocked = desc.get_format_kind() == dnnl::memory::format_kind::blocked;
  if (!b.isBlocked)
    return b;
  b.strides = desc.get_strides();
  b.blocks = desc.get_inner_blks();
  b.blockAxes = desc.get_inner_idxs();
#else
  b.dims.assign(desc.data.dims, desc.data.dims + desc.data.ndims);
  b.isBlocked = desc.data.format_kind == dnnl_blocked;
  if (!b.isBlocked)
    return b;
  const auto &blocking = desc.data.format_desc.blocking;
  b.strides.assign(blocking.strides, blocking.strides + desc.data.ndims);
  b.blocks.assign(blocking.inner_blks, blocking.inner_blks + blocking.inner_nblks);
  b.blockAxes.assign(blocking.inner_idxs, blocking.inner_idxs + blocking.inner_nblks);
#endif
  return b;
}

} // namespace

const dnnl::engine &engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

std::string libraryVersion() {
  const dnnl_version_t *v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

std::string layoutName(const dnnl::memory::desc &desc) {
  Blocking b = blockingOf(desc);
  if (!b.isBlocked)
    return "opaque";
  std::vector<size_t> axes(b.dims.size());
  std::iota(axes.begin(), axes.end(), size_t(0));
  std::stable_sort(axes.begin(), axes.end(), [&](size_t x, size_t y) {
    return b.strides[x] != b.strides[y] ? b.strides[x] > b.strides[y] : b.dims[x] > b.dims[y];
  });
  std::string name;
  for (size_t axis : axes) {
    bool isInner = std::count(b.blockAxes.begin(), b.blockAxes.end(), int64_t(axis)) != 0;
    name += char((isInner ? 'A' : 'a') + axis);
  }
  for (size_t i = 0; i < b.blocks.size(); ++i)
    name += std::to_string(b.blocks[i]) + char('a' + b.blockAxes[i]);
  return name;
}

bool isZero(const dnnl::memory::desc &desc) { return desc.get_size() == 0; }

dnnl::layer_normalization_forward::primitive_desc
describeLayerNorm(const dnnl::primitive_attr &attr, const dnnl::memory::desc &data) {
  auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
#if DNNL_VERSION_MAJOR >= 3
  return describe<dnnl::layer_normalization_forward>(attr, dnnl::prop_kind::forward_inference, data,
                                                     data, 1e-5f, flags);
#else
  return describe<dnnl::layer_normalization_forward>(attr, dnnl::prop_kind::forward_inference, data,
                                                     1e-5f, flags);
#endif
}

dnnl::eltwise_forward::primitive_desc describeEltwise(const dnnl::primitive_attr &attr,
                                                      dnnl::algorithm algorithm,
                                                      const dnnl::memory::desc &data) {
#if DNNL_VERSION_MAJOR >= 3
  return describe<dnnl::eltwise_forward>(attr, dnnl::prop_kind::forward_inference, algorithm, data,
                                         data, 0.f, 0.f);
#else
  return describe<dnnl::eltwise_forward>(attr, dnnl::prop_kind::forward_inference, algorithm, data,
                                         0.f, 0.f);
#endif
}

dnnl::concat::primitive_desc describeConcat(const dnnl::primitive_attr &attr,
                                            const dnnl::memory::desc &dst, int axis,
                                            const std::vector<dnnl::memory::desc> &sources) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine(), dst, axis, sources, attr};
#else
  return {dst, axis, sources, engine(), attr};
#endif
}

void appendEltwise(dnnl::post_ops &posts, dnnl::algorithm algorithm, float alpha, float beta) {
#if DNNL_VERSION_MAJOR >= 3
  posts.append_eltwise(algorithm, alpha, beta);
#else
  posts.append_eltwise(1.f, algorithm, alpha, beta);
#endif
}

Scales setChannelScales(dnnl::primitive_attr &attr, int64_t channels, int weightsMask,
                        float value) {
#if DNNL_VERSION_MAJOR >= 3
  (void)channels, (void)value;
  attr.set_scales_mask(DNNL_ARG_WEIGHTS, weightsMask);
  return {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS};
#else
  (void)weightsMask;
  attr.set_output_scales(1 << 1, std::vector<float>(channels, value));
  return {};
#endif
}

void setResultScale(dnnl::primitive_attr &attr, dnnl::post_ops &posts, float value) {
#if DNNL_VERSION_MAJOR >= 3
  (void)attr;
  appendEltwise(posts, dnnl::algorithm::eltwise_linear, value, 0);
#else
  (void)posts;
  attr.set_output_scales(0, {value});
#endif
}

dnnl::reorder::primitive_desc describeQuantise(const dnnl::memory::desc &src,
                                               const dnnl::memory::desc &dst, Scales &scales) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  attr.set_scales_mask(DNNL_ARG_DST, 0);
  scales.scaleArgument = DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST;
#else
  attr.set_output_scales(0, {20.f});
  scales.scaleArgument = 0;
#endif
  return {engine(), src, engine(), dst, attr, true};
}

} // namespace floor_bench
