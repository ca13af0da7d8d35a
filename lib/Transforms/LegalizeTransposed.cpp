// Transposed convolutions with strides as convolutions with an output channel per phase:
// with stride s the result at m * s + p takes the taps p, p + s, .. of the kernel alone,
// so no product with the zeros between spread elements is made (the sub-pixel convolution
// of Shi et al., "Is the deconvolution layer the same as a convolutional layer?", 2016).
//
//   y = conv1d_transpose(x, w)
//     =>  conv1d(x, w')                channels (o, p), p < s; kernel of ceil(k / s)
//         reshape (n, o, p, m), transpose (n, o, m, p), reshape (n, o, m * s)
//         strided_slice                what padding takes away at both ends

#include "LegalizeRules.h"
#include "SimplifyRules.h"
#include "bycc/Support/Layout.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace bycc {
namespace {

constexpr int64_t fromChannelOn = 2; // axes before the spatial ones

struct Axis {
  int64_t stride, kernel, taps, before, tail; // tail: elements too many at the end
};

int64_t numPhases(const std::vector<Axis> &axes) {
  int64_t product = 1;
  for (const Axis &axis : axes)
    product *= axis.stride;
  return product;
}

// Nothing where the plain form is as good, or this one does not fit.
std::optional<std::vector<Axis>> phases(const Legalizer &l) {
  const Module &module = l.module;
  NodeId weight = l.input(1);
  std::string_view layout = attrs::text(module, l.call(), "data_layout");
  if (!module.isConstant(weight) || l.dtype(l.input(0)) != DType::Float32 ||
      l.resultDType() != DType::Float32 || !layout.starts_with("NC") ||
      !attrs::text(module, l.call(), "kernel_layout").starts_with("IO") ||
      !attrs::text(module, l.call(), "out_layout").empty())
    return std::nullopt;
  size_t n = l.rank(weight) - fromChannelOn;
  std::vector<int64_t> strides = attrs::perAxis(module, l.call(), "strides", n);
  std::vector<int64_t> dilation = attrs::perAxis(module, l.call(), "dilation", n);
  std::vector<int64_t> extra = attrs::integers(module, l.call(), "output_padding");
  extra = extra.empty() ? std::vector<int64_t>(n, 0) : attrs::perAxis(extra, n);
  Padding pads = attrs::padding(module, l.call(), n);
  if (std::ranges::all_of(strides, [](int64_t s) { return s == 1; }))
    return std::nullopt;
  std::vector<Axis> axes;
  for (size_t d = 0; d < n; ++d) {
    int64_t kernel = l.shape(weight)[fromChannelOn + d].value();
    int64_t taps = (kernel + strides[d] - 1) / strides[d];
    Axis axis{strides[d], kernel, taps, pads.before[d],
              taps * strides[d] - kernel + pads.after[d] - extra[d]};
    if (dilation[d] != 1 || axis.tail < 0 || axis.before < 0)
      return std::nullopt;
    axes.push_back(axis);
  }
  return axes;
}

// (in, out / groups, k..) to (out * phases, in / groups, taps..)
Expected<NodeId> phaseWeights(Legalizer &l, const std::vector<Axis> &axes, int64_t groups) {
  NodeId w = l.input(1);
  size_t n = axes.size();
  int64_t in = l.shape(w)[0].value(), out = l.shape(w)[1].value();
  AttrValue::List widths{AttrValue::List{0, 0}, AttrValue::List{0, 0}};
  std::vector<int64_t> split{groups, in / groups, out}, order{0, 2}, joined;
  for (size_t d = 0; d < n; ++d) {
    const Axis &axis = axes[d];
    widths.push_back(AttrValue::List{0, axis.taps * axis.stride - axis.kernel});
    split.insert(split.end(), {axis.taps, axis.stride});
    order.push_back(static_cast<int64_t>(4 + 2 * d));
    joined.push_back(axis.taps);
  }
  order.push_back(1);
  for (size_t d = 0; d < n; ++d)
    order.push_back(static_cast<int64_t>(3 + 2 * d));
  joined.insert(joined.begin(), {groups * out * numPhases(axes), in / groups});
  w = BYCC_TRY(l.make(ops::nn_pad, {w, l.real(0)}, {{"pad_width", std::move(widths)}}));
  w = BYCC_TRY(l.make(ops::reshape, {w}, {{"newshape", AttrValue::ints(split)}}));
  w = BYCC_TRY(l.make(ops::transpose, {w}, {{"axes", AttrValue::ints(order)}}));
  w = BYCC_TRY(l.make(ops::reshape, {w}, {{"newshape", AttrValue::ints(joined)}}));
  for (size_t d = 0; d < n; ++d)
    w = BYCC_TRY(l.make(ops::reverse, {w}, {{"axis", static_cast<int64_t>(fromChannelOn + d)}}));
  return w;
}

// (n, o * phases, m..) to (n, o, m * stride..)
Expected<NodeId> interleaved(Legalizer &l, NodeId y, const std::vector<Axis> &axes,
                             int64_t channels) {
  int64_t n = static_cast<int64_t>(axes.size()), inner = numPhases(axes);
  y = BYCC_TRY(
      l.make(ops::reshape, {y}, {{"newshape", AttrValue::List{0, -4, channels, inner, -2}}}));
  std::vector<int64_t> order{0, 1}, merged{0, 0}, codes{0, 0};
  for (int64_t d = 0; d < n; ++d) {
    order.insert(order.end(), {fromChannelOn + n + d, fromChannelOn + d});
    merged.push_back(-3);
    int64_t stride = axes[static_cast<size_t>(d)].stride;
    inner /= stride;
    if (d + 1 < n) { // the last axis needs no split
      std::vector<int64_t> split = codes;
      split.insert(split.end(), {-4, stride, inner, -2});
      y = BYCC_TRY(l.make(ops::reshape, {y}, {{"newshape", AttrValue::ints(split)}}));
    }
    codes.push_back(0);
  }
  y = BYCC_TRY(l.make(ops::transpose, {y}, {{"axes", AttrValue::ints(order)}}));
  return l.make(ops::reshape, {y}, {{"newshape", AttrValue::ints(merged)}});
}

Expected<NodeId> transposedConvolution(Legalizer &l) {
  std::optional<std::vector<Axis>> axes = phases(l);
  if (!axes)
    return l.call();
  int64_t groups = attrs::integer(l.module, l.call(), "groups");
  NodeId weight = BYCC_TRY(phaseWeights(l, *axes, groups));
  if (!l.module.isConstant(weight)) // too large to fold: it would be made at every run
    return l.call();
  std::vector<int64_t> pads, begin, end, spatial, kernel;
  for (size_t d = 0; d < axes->size(); ++d) {
    const Axis &axis = (*axes)[d];
    pads.push_back(axis.taps - 1);
    kernel.push_back(axis.taps);
    begin.push_back(axis.before);
    end.push_back(axis.tail ? -axis.tail : std::numeric_limits<int64_t>::max());
    spatial.push_back(static_cast<int64_t>(fromChannelOn + d));
  }
  pads.insert(pads.end(), pads.begin(), pads.begin() + static_cast<ptrdiff_t>(axes->size()));
  OpId conv = axes->size() == 1   ? ops::nn_conv1d
              : axes->size() == 2 ? ops::nn_conv2d
                                  : ops::nn_conv3d;
  int64_t channels = l.shape(weight)[0].value();
  NodeId y = BYCC_TRY(l.make(conv, {l.input(0), weight},
                             {{"padding", AttrValue::ints(pads)},
                              {"groups", groups},
                              {"channels", channels},
                              {"kernel_size", AttrValue::ints(kernel)}}));
  y = BYCC_TRY(interleaved(l, y, *axes, channels / numPhases(*axes)));
  if (std::ranges::any_of(*axes, [](const Axis &axis) { return axis.before > 0 || axis.tail > 0; }))
    y = BYCC_TRY(l.make(ops::strided_slice, {y}, sliceAttrs(begin, end, spatial)));
  // Extents that only a run tells may be written in another way.
  return l.module.type(y) == l.module.type(l.call()) ? y : l.call();
}

const LegalizeRule transposedRows[] = {
    {ops::nn_conv1d_transpose, transposedConvolution},
    {ops::nn_conv2d_transpose, transposedConvolution},
    {ops::nn_conv3d_transpose, transposedConvolution},
};

} // namespace

std::span<const LegalizeRule> transposedRules() { return transposedRows; }

} // namespace bycc
