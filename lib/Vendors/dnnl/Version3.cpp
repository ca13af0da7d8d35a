// oneDNN 3.x: primitive descriptor, then primitive. Layouts are objects that only the
// library looks into, scales and zero points operands of a run. See Version.h.
//
// A blocked layout can be had by a tag only. Those of a form are looked for among the
// tags with the same sizes of blocks, whose axes are then renamed:
//
//   (1,7,7,64) with blocks of 16 along axis 3  =  aBcd16b of (1,64,7,7), permuted
#include "Version.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>

#include <oneapi/dnnl/dnnl_debug.h>

namespace bycc::onednn {

using dnnl::memory;
using dnnl::prop_kind;

// ---- layouts ----

bool isLayout(const Layout &layout) { return layout.get(true) && !layout.is_zero(); }

Dims dimsOf(const Layout &layout) { return layout.get_dims(); }

DType dtypeOf(const Layout &layout) {
  for (DType dtype : {DType::BFloat16, DType::Float16, DType::Int8, DType::UInt8, DType::Int32})
    if (dataType(dtype) == layout.get_data_type())
      return dtype;
  return DType::Float32;
}

bool isAny(const Layout &layout) { return layout.get_format_kind() == memory::format_kind::any; }

std::optional<Dims> stridesOf(const Layout &layout) {
  if (layout.get_format_kind() != memory::format_kind::blocked || layout.get_inner_nblks() != 0)
    return std::nullopt;
  return layout.get_strides();
}

int64_t startOf(const Layout &layout) { return layout.get_submemory_offset(); }

namespace {

// All that the library shows of a blocked layout.
LayoutForm visibleForm(const Layout &layout) {
  LayoutForm form;
  form.dtype = dtypeOf(layout);
  form.dims = layout.get_dims();
  form.padded = layout.get_padded_dims();
  form.strides = layout.get_strides();
  form.start = layout.get_submemory_offset();
  Dims axes = layout.get_inner_idxs(), sizes = layout.get_inner_blks();
  for (size_t i = 0; i < axes.size(); ++i)
    form.inner.push_back({static_cast<uint8_t>(axes[i]), sizes[i]});
  return form;
}

std::vector<size_t> axesFromSlowest(const LayoutForm &form) {
  std::vector<size_t> axes(form.dims.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::stable_sort(axes.begin(), axes.end(),
                   [&](size_t a, size_t b) { return form.strides[a] > form.strides[b]; });
  return axes;
}

// Blocked tags by rank and sizes of blocks.
struct Tag {
  memory::format_tag tag;
  std::vector<size_t> axes;  // from the slowest on
  std::vector<size_t> inner; // axis of each block
};
using Sizes = std::pair<size_t, std::vector<int64_t>>;

// From the library's name: "aBcd16b".
std::pair<Sizes, Tag> parsed(memory::format_tag tag, const char *name) {
  Sizes sizes;
  Tag out{tag, {}, {}};
  for (; std::isalpha(static_cast<unsigned char>(*name)); ++name)
    out.axes.push_back(static_cast<size_t>(std::tolower(*name) - 'a'));
  while (std::isdigit(static_cast<unsigned char>(*name))) {
    char *end = nullptr;
    sizes.second.push_back(std::strtol(name, &end, 10));
    out.inner.push_back(static_cast<size_t>(*end - 'a'));
    name = end + 1;
  }
  sizes.first = out.axes.size();
  return {std::move(sizes), std::move(out)};
}

const std::map<Sizes, std::vector<Tag>> &blockedTags() {
  static const auto tags = [] {
    std::map<Sizes, std::vector<Tag>> all;
    for (int t = dnnl_format_tag_any + 1; t < dnnl_format_tag_last; ++t) {
      auto [sizes, tag] = parsed(static_cast<memory::format_tag>(t),
                                 dnnl_fmt_tag2str(static_cast<dnnl_format_tag_t>(t)));
      if (!sizes.second.empty())
        all[sizes].push_back(std::move(tag));
    }
    return all;
  }();
  return tags;
}

// The layout of the tag with its axes renamed to those of the form.
std::optional<Layout> renamed(const Tag &tag, const LayoutForm &form,
                              const std::vector<size_t> &axes) {
  Dims dims(axes.size()), axisInTag(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    axisInTag[axes[i]] = static_cast<int64_t>(tag.axes[i]);
    dims[tag.axes[i]] = form.dims[axes[i]];
  }
  for (size_t i = 0; i < form.inner.size(); ++i)
    if (axisInTag[form.inner[i].axis] != static_cast<int64_t>(tag.inner[i]))
      return std::nullopt;
  Layout layout(dims, dataType(form.dtype), tag.tag, true);
  return isLayout(layout) ? permuted(layout, axisInTag) : std::nullopt;
}

std::optional<Layout> taggedLayoutOf(const LayoutForm &form) {
  Sizes sizes{form.dims.size(), {}};
  for (const LayoutForm::Block &block : form.inner)
    sizes.second.push_back(block.size);
  auto tags = blockedTags().find(sizes);
  if (tags == blockedTags().end())
    return std::nullopt;
  std::vector<size_t> axes = axesFromSlowest(form);
  for (const Tag &tag : tags->second)
    if (std::optional<Layout> layout = renamed(tag, form, axes);
        layout && visibleForm(*layout) == form)
      return layout;
  return std::nullopt;
}

// Where there is no tag there may be one with another axis, of extent 1: aBc16b for aB16b.
std::optional<Layout> blockedLayoutOf(const LayoutForm &form) {
  if (std::optional<Layout> layout = taggedLayoutOf(form))
    return layout;
  LayoutForm wider = form;
  wider.dims.push_back(1);
  wider.padded.push_back(1);
  wider.strides.push_back(1);
  for (const LayoutForm::Block &block : form.inner)
    wider.strides.back() *= block.size;
  std::optional<Layout> layout = taggedLayoutOf(wider);
  return layout ? reshaped(*layout, form.dims) : std::nullopt;
}

// A slice is one of a larger tensor with the same strides.
std::optional<Layout> stridedLayoutOf(const LayoutForm &form) {
  if (form.start == 0)
    return stridedLayout(form.dims, form.strides, form.dtype);
  Dims begin(form.dims.size()), whole = form.dims;
  int64_t left = form.start;
  for (size_t axis : axesFromSlowest(form))
    if (form.strides[axis] > 0) {
      begin[axis] = left / form.strides[axis];
      left %= form.strides[axis];
      whole[axis] += begin[axis];
    }
  if (left != 0)
    return std::nullopt;
  // Not sliced(), which comes here for its start.
  Layout view =
      stridedLayout(whole, form.strides, form.dtype).submemory_desc(form.dims, begin, true);
  return isLayout(view) ? std::optional<Layout>(view) : std::nullopt;
}

} // namespace

std::optional<Layout> layoutOf(const LayoutForm &form) {
  if (form.extraFlags != 0 || dataType(form.dtype) == memory::data_type::undef)
    return std::nullopt;
  std::optional<Layout> layout;
  Expected<> made = guarded(Status::Unsup, [&] {
    layout = form.inner.empty() ? stridedLayoutOf(form) : blockedLayoutOf(form);
  });
  return made && layout && visibleForm(*layout) == form ? layout : std::nullopt;
}

// What is kept behind the elements is not to be seen, only that it makes layouts differ.
std::optional<LayoutForm> formOf(const Layout &layout) {
  if (layout.get_format_kind() != memory::format_kind::blocked)
    return std::nullopt;
  LayoutForm form = visibleForm(layout);
  std::optional<Layout> again = layoutOf(form);
  return again && *again == layout ? std::optional<LayoutForm>(form) : std::nullopt;
}

Layout withDType(const Layout &layout, DType dtype) {
  if (dtypeOf(layout) == dtype)
    return layout;
  if (isAny(layout))
    return anyLayout(dimsOf(layout), dtype);
  std::optional<LayoutForm> form = formOf(layout);
  if (!form)
    throw dnnl::error(dnnl_unimplemented, "a layout of oneDNN's own for another dtype");
  form->dtype = dtype;
  std::optional<Layout> other = layoutOf(*form);
  if (!other)
    throw dnnl::error(dnnl_unimplemented, "a layout without a tag");
  return *other;
}

namespace {

// A number per layout that has no form.
size_t numberOf(const Layout &layout) {
  static std::mutex mutex;
  static std::vector<Layout> known;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = std::find(known.begin(), known.end(), layout);
  if (found == known.end())
    found = known.insert(known.end(), layout);
  return static_cast<size_t>(found - known.begin());
}

} // namespace

std::string keyOfLayout(const Layout &layout) {
  if (!isLayout(layout))
    return "none;";
  std::optional<LayoutForm> form = formOf(layout);
  if (!form)
    return "number " + std::to_string(numberOf(layout)) + ";";
  std::string key = std::to_string(static_cast<int>(form->dtype));
  for (const Dims *dims : {&form->dims, &form->strides})
    for (int64_t dim : *dims)
      key += "," + std::to_string(dim);
  for (const LayoutForm::Block &block : form->inner)
    key += "/" + std::to_string(block.size) + "." + std::to_string(block.axis);
  return key + "+" + std::to_string(form->start) + ";";
}

// ---- primitives ----

dnnl::pooling_forward::primitive_desc poolDescriptor(const dnnl::primitive_attr &attributes,
                                                     const Step &step, dnnl::algorithm method,
                                                     const Layout &from, const Layout &to) {
  memory::dims dense(step.kernel.size(), 0);
  return descriptorOf<dnnl::pooling_forward>(attributes, prop_kind::forward_inference, method, from,
                                             to, step.strides, step.kernel, dense, step.padBegin,
                                             step.padEnd);
}

dnnl::layer_normalization_forward::primitive_desc
layerNormDescriptor(const dnnl::primitive_attr &attributes, const Step &step,
                    dnnl::normalization_flags flags, const Layout &layout) {
  return descriptorOf<dnnl::layer_normalization_forward>(attributes, prop_kind::forward_inference,
                                                         layout, layout, step.alpha, flags);
}

namespace {

// x * clip(alpha x + beta, 0, 1) in 3.x, with 1/6 and 1/2 in 2.6 and in plans.
struct Parameters {
  float alpha, beta;
};
Parameters parametersOf(dnnl::algorithm method, float alpha, float beta) {
  if (method == dnnl::algorithm::eltwise_hardswish)
    return {1.0f / 6, 0.5f};
  return {alpha, beta};
}

} // namespace

dnnl::eltwise_forward::primitive_desc eltwiseDescriptor(const dnnl::primitive_attr &attributes,
                                                        const Step &step, dnnl::algorithm method,
                                                        const Layout &layout) {
  Parameters parameters = parametersOf(method, step.alpha, step.beta);
  return descriptorOf<dnnl::eltwise_forward>(attributes, prop_kind::forward_inference, method,
                                             layout, layout, parameters.alpha, parameters.beta);
}

dnnl::concat::primitive_desc concatDescriptor(const dnnl::primitive_attr &attributes,
                                              const Step &step, const Layouts &layouts) {
  return {engine(), layouts.output, static_cast<int>(step.axis), layouts.inputs, attributes};
}

void appendEltwise(dnnl::post_ops &ops, dnnl::algorithm method, const PostOp &postOp) {
  Parameters parameters = parametersOf(method, postOp.alpha, postOp.beta);
  ops.append_eltwise(method, parameters.alpha, parameters.beta);
  if (postOp.scale != 1)
    ops.append_eltwise(dnnl::algorithm::eltwise_linear, postOp.scale, 0);
}

bool hasScaledBias(const Step &step) {
  return isProduct(step.kind) && step.hasBias && !step.scales.empty();
}

namespace {

template <typename T>
void fix(FixedOperands *fixed, int arg, DType dtype, const std::vector<T> &values) {
  if (!fixed)
    return;
  memory operand(plainLayout({static_cast<int64_t>(values.size())}, dtype), engine());
  std::memcpy(operand.get_data_handle(), values.data(), values.size() * sizeof(T));
  fixed->push_back({arg, operand});
}

void setScales(dnnl::primitive_attr &attributes, int arg, int mask,
               const std::vector<float> &scales, FixedOperands *fixed) {
  attributes.set_scales_mask(arg, scales.size() == 1 ? 0 : mask);
  fix(fixed, DNNL_ARG_ATTR_SCALES | arg, DType::Float32, scales);
}

void setZero(dnnl::primitive_attr &attributes, int arg, int32_t zero, FixedOperands *fixed) {
  if (zero == 0)
    return;
  attributes.set_zero_points_mask(arg, 0);
  fix(fixed, DNNL_ARG_ATTR_ZERO_POINTS | arg, DType::Int32, std::vector<int32_t>{zero});
}

// The axes of the weights that the channels of the result go along.
int channelMask(const Step &step, const Layouts &layouts) {
  size_t rank = dimsOf(layouts.inputs[1]).size();
  if (step.kind == StepKind::MatMul)
    return 1 << (rank - 1);
  return rank > dimsOf(layouts.inputs[0]).size() ? 3 : 1; // with groups
}

} // namespace

void setQuantization(dnnl::primitive_attr &attributes, const Step &step, const Layouts &layouts,
                     FixedOperands *fixed) {
  if (step.kind == StepKind::Binary) {
    for (size_t i = 0; i < step.scales.size(); ++i)
      setScales(attributes, i == 0 ? DNNL_ARG_SRC_0 : DNNL_ARG_SRC_1, 0, {step.scales[i]}, fixed);
    return;
  }
  if (!step.scales.empty() && isProduct(step.kind))
    setScales(attributes, DNNL_ARG_WEIGHTS, channelMask(step, layouts), step.scales, fixed);
  else if (!step.scales.empty())
    setScales(attributes, DNNL_ARG_SRC, 1 << step.axis, step.scales, fixed);
  setZero(attributes, DNNL_ARG_SRC, step.zeroIn, fixed);
  setZero(attributes, DNNL_ARG_WEIGHTS, step.zeroWeights, fixed);
  setZero(attributes, DNNL_ARG_DST, step.zeroOut, fixed);
}

bool pointTo(dnnl_memory_t memory, void *data, dnnl_stream_t) {
  return dnnl_memory_set_data_handle(memory, data) == dnnl_success;
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
      {cpu_isa::avx512_core_fp16, "avx512_core_fp16",
       "avx2 avx512f avx512bw avx512vl avx512dq avx512vnni avx512bf16 avx512fp16"},
      {cpu_isa::avx512_core_amx, "avx512_core_amx",
       "avx2 avx512f avx512bw avx512vl avx512dq avx512vnni avx512bf16 avx512fp16 amx-tile "
       "amx-int8 amx-bf16"},
  };
  return sets;
}

} // namespace bycc::onednn
