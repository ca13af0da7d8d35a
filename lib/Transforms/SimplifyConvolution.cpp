// Taps of a convolution that meet nothing but padding, whatever the place: dilations that are
// larger than the image have those (atrous pooling of small images).
//
//   conv2d(x: 8x8, w: 3x3, padding=12, dilation=12)  =>  conv2d(x, w's middle)

#include "ConstantView.h"
#include "SimplifyRules.h"
#include "bycc/Eval/Eval.h"
#include "bycc/Support/Layout.h"

#include <algorithm>
#include <cmath>

namespace bycc {
namespace {

constexpr size_t numLeading = 2; // axes before the spatial ones

// Taps [begin, end) of an axis are kept, with this padding.
struct Kept {
  int64_t begin = 0, end = 0, before = 0, after = 0;
};

// Those that meet the image for some place; nothing where that needs less than no padding.
std::optional<Kept> keptTaps(int64_t image, int64_t places, int64_t taps, int64_t stride,
                             int64_t dilation, int64_t before) {
  auto first = [&](int64_t tap) { return tap * dilation - before; };
  int64_t reach = (places - 1) * stride;
  Kept kept{0, taps, 0, 0};
  while (kept.begin < taps && first(kept.begin) + reach < 0)
    ++kept.begin;
  while (kept.end > kept.begin && first(kept.end - 1) >= image)
    --kept.end;
  kept.before = before - kept.begin * dilation;
  int64_t needed = first(kept.end - 1) + reach + 1 - image;
  kept.after = std::max<int64_t>(needed, 0);
  bool isSame = kept.after < needed + stride; // places: what is left over makes no further one
  return kept.begin < kept.end && kept.before >= 0 && isSame ? std::optional(kept) : std::nullopt;
}

// 0 times what is not finite is not 0.
bool isFinite(const Module &module, NodeId weight) {
  const Constant &constant = module.constant(weight);
  int64_t count = *module.types.numElements(module.type(weight));
  for (int64_t i = 0; i < count; ++i)
    if (!std::isfinite(elementAt(module, constant, i)))
      return false;
  return true;
}

std::optional<std::vector<Kept>> keptTaps(const Module &module, NodeId call) {
  auto shape = [&](NodeId node) { return module.types.shape(module.type(node)); };
  NodeId x = module.operands(call)[0], weight = module.operands(call)[1];
  size_t n = shape(x).size() - numLeading;
  std::vector<int64_t> strides = attrs::perAxis(module, call, "strides", n),
                       dilation = attrs::perAxis(module, call, "dilation", n);
  Padding pads = attrs::padding(module, call, n);
  std::vector<Kept> all;
  bool isLess = false;
  for (size_t d = 0; d < n; ++d) {
    Dim image = shape(x)[numLeading + d], places = shape(call)[numLeading + d];
    int64_t taps = shape(weight)[numLeading + d].value();
    Kept kept{0, taps, pads.before[d], pads.after[d]};
    if (image.isConst() && places.isConst())
      kept = keptTaps(image.value(), places.value(), taps, strides[d], dilation[d], pads.before[d])
                 .value_or(kept);
    isLess = isLess || kept.end - kept.begin < taps;
    all.push_back(kept);
  }
  return isLess ? std::optional(all) : std::nullopt;
}

Expected<NodeId> withTaps(Module &module, NodeId call, const std::vector<Kept> &taps,
                          Builder &builder) {
  NodeId x = module.operands(call)[0], weight = module.operands(call)[1];
  std::vector<int64_t> dilation = attrs::perAxis(module, call, "dilation", taps.size());
  std::vector<int64_t> begin, end, axes, pads, after, kernel;
  for (const Kept &kept : taps) {
    if (kept.end - kept.begin == 1)
      dilation[axes.size()] = 1;
    axes.push_back(static_cast<int64_t>(numLeading + axes.size()));
    begin.push_back(kept.begin);
    end.push_back(kept.end);
    pads.push_back(kept.before);
    after.push_back(kept.after);
    kernel.push_back(kept.end - kept.begin);
  }
  pads.insert(pads.end(), after.begin(), after.end());
  NodeId slice = BYCC_TRY(builder.call(ops::strided_slice, {weight}, sliceAttrs(begin, end, axes)));
  const Constant whole = module.constant(weight);
  auto part = BYCC_TRY(evaluateCall(module, slice, std::span(&whole, 1)));
  NodeId kept = module.addConstant(std::move(part.at(0)), module.node(weight).source);
  AttrsId attrs = module.node(call).attrs;
  for (auto [key, values] : {std::pair("padding", &pads), std::pair("dilation", &dilation),
                             std::pair("kernel_size", &kernel)})
    attrs = module.attributes.with(attrs, key, AttrValue::ints(*values));
  return builder.call(module.node(call).op, {x, kept}, module.attributes.dict(attrs));
}

} // namespace

bool isPlainConvolution(const Module &module, NodeId call) {
  return (module.isOp(call, ops::nn_conv1d) || module.isOp(call, ops::nn_conv2d) ||
          module.isOp(call, ops::nn_conv3d)) &&
         attrs::text(module, call, "kernel_layout").starts_with("OI");
}

Expected<NodeId> simplifyConvolution(Module &module, NodeId call, Builder &builder) {
  if (!isPlainConvolution(module, call) || !module.isConstant(module.operands(call)[1]) ||
      !attrs::text(module, call, "data_layout").starts_with("NC") ||
      !attrs::text(module, call, "out_layout").empty())
    return call;
  auto taps = keptTaps(module, call);
  return taps && isFinite(module, module.operands(call)[1]) ? withTaps(module, call, *taps, builder)
                                                            : call;
}

} // namespace bycc
