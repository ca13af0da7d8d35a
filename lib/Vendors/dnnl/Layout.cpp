// See Layout.h.
#include "Layout.h"

#include "Version.h"

#include <algorithm>

namespace bycc::onednn {

using dnnl::memory;

namespace {

// NumPy's rule: walks groups of axes with equal products; a group must be
// contiguous on the old side to be cut anew.
std::optional<Dims> reshapedStrides(const Dims &from, const Dims &strides, const Dims &to) {
  Dims oldDims, oldStrides;
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1) {
      oldDims.push_back(from[i]);
      oldStrides.push_back(strides[i]);
    }
  Dims out(to.size(), 1);
  size_t oi = 0, ni = 0;
  while (oi < oldDims.size() && ni < to.size()) {
    size_t oj = oi + 1, nj = ni + 1;
    int64_t oldCount = oldDims[oi], newCount = to[ni];
    while (oldCount != newCount) {
      if (newCount < oldCount) {
        if (nj == to.size())
          return std::nullopt;
        newCount *= to[nj++];
      } else {
        if (oj == oldDims.size())
          return std::nullopt;
        oldCount *= oldDims[oj++];
      }
    }
    for (size_t k = oi; k + 1 < oj; ++k)
      if (oldStrides[k] != oldDims[k + 1] * oldStrides[k + 1])
        return std::nullopt;
    out[nj - 1] = oldStrides[oj - 1];
    for (size_t k = nj - 1; k > ni; --k)
      out[k - 1] = out[k] * to[k];
    oi = oj;
    ni = nj;
  }
  // Of axes of extent 1 any stride does, but the library's choice of a kernel looks at
  // them: leading ones step over all elements, others look dense.
  int64_t span = 1;
  for (size_t k = to.size(); k-- > 0;)
    if (to[k] == 1)
      out[k] = k + 1 < to.size() ? out[k + 1] * to[k + 1] : 1;
    else
      span = std::max(span, out[k] * to[k]);
  for (size_t k = 0; k < to.size() && to[k] == 1; ++k)
    out[k] = span;
  return out;
}

} // namespace

memory::data_type dataType(DType dtype) {
  switch (dtype) {
  case DType::Float32:
    return memory::data_type::f32;
  case DType::BFloat16:
    return memory::data_type::bf16;
  case DType::Float16:
    return memory::data_type::f16;
  case DType::Int8:
    return memory::data_type::s8;
  case DType::UInt8:
    return memory::data_type::u8;
  case DType::Int32:
    return memory::data_type::s32;
  default:
    return memory::data_type::undef;
  }
}

Layout plainLayout(const Dims &dims, DType dtype) {
  Dims strides(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  return stridedLayout(dims, strides, dtype);
}

Layout anyLayout(const Dims &dims, DType dtype) {
  return Layout(dims, dataType(dtype), memory::format_tag::any);
}

Layout blockedLayout(const Dims &dims, DType dtype) {
  constexpr memory::format_tag tags[] = {memory::format_tag::nCw16c, memory::format_tag::nChw16c,
                                         memory::format_tag::nCdhw16c};
  return Layout(dims, dataType(dtype), tags[dims.size() - 3]);
}

Layout stridedLayout(const Dims &dims, const Dims &strides, DType dtype) {
  return Layout(dims, dataType(dtype), strides, true);
}

Layout channelsLastLayout(const Dims &dims, DType dtype) {
  constexpr memory::format_tag tags[] = {memory::format_tag::nwc, memory::format_tag::nhwc,
                                         memory::format_tag::ndhwc};
  return Layout(dims, dataType(dtype), tags[dims.size() - 3]);
}

bool isPlain(const Layout &layout) {
  std::optional<Dims> strides = stridesOf(layout);
  if (!strides || startOf(layout) != 0)
    return false;
  int64_t step = 1;
  Dims dims = dimsOf(layout);
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && (*strides)[i] != step)
      return false;
    step *= dims[i];
  }
  return true;
}

bool hasGaps(const Layout &layout) {
  return stridesOf(layout) && bytesOf(layout) > static_cast<uint64_t>(numElements(dimsOf(layout)) *
                                                                      sizeInBytes(dtypeOf(layout)));
}

bool isFilledUp(const Layout &layout) {
  std::optional<LayoutForm> form = formOf(layout);
  return !form || form->padded != form->dims;
}

uint64_t bytesOf(const Layout &layout) { return layout.get_size(); }

namespace {

// Places of all elements, those that fill up the last blocks included.
std::optional<int64_t> paddedElements(const Layout &layout) {
  std::optional<LayoutForm> form = formOf(layout);
  if (!form || !checkForm(*form))
    return std::nullopt;
  return numElements(form->padded);
}

} // namespace

std::optional<Layout> withStart(const Layout &layout, int64_t start) {
  if (start == startOf(layout))
    return layout;
  std::optional<LayoutForm> form = formOf(layout);
  if (!form)
    return std::nullopt;
  form->start = start;
  return layoutOf(*form);
}

// The library drops axes of extent 1 although they are filled up to a block.
std::optional<Layout> reshaped(const Layout &layout, const Dims &dims) {
  if (std::optional<Dims> strides = stridesOf(layout)) {
    std::optional<Dims> fresh = reshapedStrides(dimsOf(layout), *strides, dims);
    if (!fresh)
      return std::nullopt;
    return withStart(stridedLayout(dims, *fresh, dtypeOf(layout)), startOf(layout));
  }
  Layout view = layout.reshape(dims, true);
  std::optional<int64_t> before = paddedElements(layout);
  if (!isLayout(view) || !before || paddedElements(view) != before)
    return std::nullopt;
  return view;
}

std::optional<Layout> permuted(const Layout &layout, const Dims &permutation) {
  // The library's permutation says where an axis goes, ours where it comes from.
  std::vector<int> target(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    target[static_cast<size_t>(permutation[i])] = static_cast<int>(i);
  Layout view = layout.permute_axes(target, true);
  return isLayout(view) ? std::optional<Layout>(view) : std::nullopt;
}

std::optional<Layout> sliced(const Layout &layout, const Dims &begin, const Dims &steps,
                             const Dims &dims) {
  if (std::optional<Dims> strides = stridesOf(layout)) {
    int64_t start = startOf(layout);
    for (size_t i = 0; i < strides->size(); ++i) {
      start += begin[i] * (*strides)[i];
      (*strides)[i] *= steps.empty() ? 1 : steps[i];
    }
    // There is none where the last step goes beyond the axis: [::4] of 6.
    Layout view = stridedLayout(dims, *strides, dtypeOf(layout));
    return isLayout(view) ? withStart(view, start) : std::nullopt;
  }
  if (!steps.empty())
    return std::nullopt;
  Layout view = layout.submemory_desc(dims, begin, true);
  return isLayout(view) ? std::optional<Layout>(view) : std::nullopt;
}

} // namespace bycc::onednn
