// Convolutions and pooling. The plan knows data as N,C,spatial and weights as
// [G,]O,I,spatial; any other layout of the model becomes a permute view around
// the step, which costs nothing when the library works in that order itself.
#include "Translate.h"
#include "bycc/Support/Layout.h"

#include <algorithm>

namespace bycc::onednn {

namespace {

// Permutation that brings letters ordered as `from` to the order `to`.
Expected<Dims> permutationOf(std::string_view from, std::string_view to) {
  auto layout = bycc::Layout::parse(from);
  auto axes = layout ? layout->axesOf(to) : std::nullopt;
  if (!axes)
    return error(Status::Unsup) << "layout " << std::string(from) << " is not supported";
  return Dims(axes->begin(), axes->end());
}

Dims inverse(const Dims &permutation) {
  Dims out(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    out[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return out;
}

Expected<> readPadding(const Call &call, size_t spatial, Step &step) {
  vendor::Padding padding = call.node.padding("padding", spatial);
  step.padBegin = std::move(padding.before);
  step.padEnd = std::move(padding.after);
  for (const Dims *pads : {&step.padBegin, &step.padEnd})
    for (int64_t pad : *pads)
      if (pad < 0)
        return error(Status::Unsup) << "negative padding " << pad;
  return {};
}

Expected<> checkOutLayout(const Call &call, std::string_view dataLayout) {
  std::string_view layout = call.node.word("out_layout", "");
  if (!layout.empty() && layout != dataLayout)
    return error(Status::Unsup) << "out_layout " << std::string(layout)
                                << " differs from data layout " << std::string(dataLayout);
  return {};
}

// What convolutions and pooling share: data in N,C,spatial order and back.
struct Window {
  size_t spatial = 0;
  Dims toCanonical;
  Step step;
};

Expected<Window> readWindow(const Call &call, PlanBuilder &plan, const char *layoutName,
                            size_t spatial) {
  Window out;
  out.spatial = spatial;
  std::string wanted = layoutLetters("NC", spatial);
  std::string_view layout = call.node.word(layoutName, wanted);
  if (plan.dims(call.inputs[0]).size() != spatial + 2)
    return error(Status::Unsup) << "data of rank " << plan.dims(call.inputs[0]).size()
                                << ", wanted " << spatial + 2;
  out.toCanonical = BYCC_TRY(permutationOf(layout, wanted));
  BYCC_TRY(checkOutLayout(call, layout));
  out.step.strides = call.node.spatial("strides", spatial, 1);
  out.step.dilation = call.node.spatial("dilation", spatial, 1);
  BYCC_TRY(readPadding(call, spatial, out.step));
  out.step.inputs = {plan.permute(call.inputs[0], out.toCanonical)};
  for (const Dims *dims : {&out.step.strides, &out.step.dilation})
    for (int64_t value : *dims)
      if (value < 1)
        return error(Status::Unsup) << "stride or dilation " << value;
  return out;
}

// An image of one column becomes one of one row: the library's kernels run along rows, and
// are 2 to 3 times slower on such columns. Returns whether the weights follow.
bool turnColumn(PlanBuilder &plan, const Call &call, Window &window) {
  Step &step = window.step;
  const Dims &data = plan.dims(step.inputs[0]);
  if (window.spatial != 2 || data[3] != 1 || step.kernel[1] != 1 || data[2] == 1 ||
      step.padBegin[1] != 0 || step.padEnd[1] != 0)
    return false;
  for (Dims *dims : {&step.kernel, &step.strides, &step.dilation, &step.padBegin, &step.padEnd})
    std::swap((*dims)[0], (*dims)[1]);
  std::swap(window.toCanonical[2], window.toCanonical[3]);
  step.inputs[0] = plan.permute(call.inputs[0], window.toCanonical);
  return true;
}

// The library multiplies long windows of few channels one tap after the other, and where they
// reach into padding in pieces. Measured against host code (Zen 4, one channel): 0.2 to 0.4 of
// its speed with padding, 0.6 to 0.96 without; a primitive takes 10 to 20 ms to make.
Expected<> checkLongWindow(const Step &step, int64_t channels) {
  constexpr int64_t fewChannels = 8, longWindow = 32, paddedWindow = 9;
  if (channels >= fewChannels)
    return {};
  for (size_t i = 0; i < step.kernel.size(); ++i) {
    int64_t taps = step.kernel[i];
    bool isPadded = (step.padBegin[i] + step.padEnd[i]) * 4 >= taps;
    if (taps >= longWindow || (taps >= paddedWindow && isPadded))
      return error(Status::Unsup) << "a window of " << taps << " taps over " << channels
                                  << (channels == 1 ? " channel" : " channels")
                                  << " is multiplied tap by tap";
  }
  return {};
}

// Weights as the library has them: an axis of groups in front where there are several.
ValueId byGroup(PlanBuilder &plan, ValueId weights, int64_t groups, bool isTransposed) {
  Dims grouped = plan.dims(weights);
  grouped[0] /= groups;
  grouped.insert(grouped.begin(), groups);
  weights = plan.reshape(weights, grouped);
  if (isTransposed) {
    Dims swap(grouped.size());
    for (size_t i = 0; i < swap.size(); ++i)
      swap[i] = static_cast<int64_t>(i == 1 ? 2 : i == 2 ? 1 : i);
    weights = plan.permute(weights, swap);
  }
  if (groups == 1) {
    Dims flat(plan.dims(weights).begin() + 1, plan.dims(weights).end());
    weights = plan.reshape(weights, flat);
  }
  return weights;
}

// Adds the step and brings its result back to the model's order.
ValueId addWindow(PlanBuilder &plan, const Call &call, Window window) {
  Dims result;
  for (int64_t axis : window.toCanonical)
    result.push_back(call.result[static_cast<size_t>(axis)]);
  ValueId id = plan.addStep(std::move(window.step), result, call.resultDType);
  return plan.permute(id, inverse(window.toCanonical));
}

} // namespace

Expected<ValueId> convolution(PlanBuilder &plan, const Call &call, size_t spatial,
                              bool isTransposed, const QuantizedOperands *quantized) {
  if (call.result.size() != spatial + 2)
    return error(Status::Unsup) << "result of rank " << call.result.size();
  Window window = BYCC_TRY(readWindow(call, plan, "data_layout", spatial));
  Step &step = window.step;
  step.kind = isTransposed ? StepKind::Deconv : StepKind::Conv;
  int64_t groups = call.node.integer("groups", 1);
  if (groups < 1)
    return error(Status::Unsup) << groups << " groups";
  step.groups = static_cast<uint64_t>(groups);
  if (quantized)
    step.zeroIn = quantized->zeroIn, step.zeroWeights = quantized->zeroWeights;

  // Weights in the order (O,I) or, transposed, (I,O) as stored per group.
  std::string stored = layoutLetters(isTransposed ? "IO" : "OI", spatial);
  std::string_view layout = call.node.word("kernel_layout", stored);
  ValueId weights = quantized ? quantized->weights : call.inputs[1];
  if (plan.dims(weights).size() != spatial + 2)
    return error(Status::Unsup) << "weights of rank " << plan.dims(weights).size() << ", wanted "
                                << spatial + 2;
  weights = plan.permute(weights, BYCC_TRY(permutationOf(layout, stored)));
  Dims dims = plan.dims(weights);
  step.kernel.assign(dims.begin() + 2, dims.end());
  if (dims[0] % groups)
    return error(Status::Unsup) << groups << " groups do not divide " << dims[0] << " channels";
  if (!isTransposed) {
    if (turnColumn(plan, call, window)) {
      weights = plan.permute(weights, {0, 1, 3, 2});
      dims = plan.dims(weights);
    }
    if (dims[0] != groups) // depthwise ones have kernels of their own
      BYCC_TRY(checkLongWindow(step, dims[1]));
  }
  weights = byGroup(plan, weights, groups, isTransposed);
  step.inputs.push_back(weights);
  if (isTransposed) {
    // output_padding lengthens the result, which the library sees as less padding.
    Dims extra = call.node.spatial("output_padding", spatial, 0);
    for (size_t i = 0; i < spatial; ++i) {
      step.padEnd[i] -= extra[i];
      if (extra[i] < 0 || step.padEnd[i] < 0)
        return error(Status::Unsup)
               << "output_padding " << extra[i] << " beyond the padding is not supported";
    }
  }
  return addWindow(plan, call, std::move(window));
}

namespace {

template <size_t spatial> Expected<ValueId> conv(PlanBuilder &plan, const Call &call) {
  return convolution(plan, call, spatial, false, nullptr);
}
template <size_t spatial> Expected<ValueId> deconv(PlanBuilder &plan, const Call &call) {
  return convolution(plan, call, spatial, true, nullptr);
}

// ceil_mode: lengthens the padding at the end until the last window fits.
Expected<> extendToCeil(const Call &call, const Dims &data, Step &step) {
  for (size_t i = 0; i < step.kernel.size(); ++i) {
    int64_t stride = step.strides[i];
    int64_t reach = data[i + 2] + step.padBegin[i] + step.padEnd[i] - step.kernel[i];
    int64_t rest = (reach % stride + stride) % stride; // of data shorter than the window, too
    if (rest == 0)
      continue;
    step.padEnd[i] += stride - rest;
    if (step.math == Math::AvgPoolAll)
      return error(Status::Unsup) << "ceil_mode with count_include_pad is not supported";
    if (step.padEnd[i] >= step.kernel[i])
      return error(Status::Unsup) << call.node.op()
                                  << ": ceil_mode makes a window that lies in the padding";
  }
  return {};
}

Expected<> checkPoolWindow(const Window &window) {
  const Step &step = window.step;
  for (size_t i = 0; i < window.spatial; ++i) {
    if (step.dilation[i] != 1)
      return error(Status::Unsup) << "pooling with dilation " << step.dilation[i]
                                  << " runs in a slow reference loop of oneDNN";
    if (step.kernel[i] < 1)
      return error(Status::Unsup) << "pool_size " << step.kernel[i];
    if (step.padBegin[i] >= step.kernel[i] || step.padEnd[i] >= step.kernel[i])
      return error(Status::Unsup) << "padding " << std::max(step.padBegin[i], step.padEnd[i])
                                  << " is not smaller than the window " << step.kernel[i];
  }
  return {};
}

Expected<ValueId> windowPool(PlanBuilder &plan, const Call &call, size_t spatial, bool isMax) {
  Window window = BYCC_TRY(readWindow(call, plan, "layout", spatial));
  Step &step = window.step;
  step.kind = StepKind::Pool;
  step.kernel = call.node.spatial("pool_size", spatial, 1);
  step.math = isMax                                        ? Math::MaxPool
              : call.node.flag("count_include_pad", false) ? Math::AvgPoolAll
                                                           : Math::AvgPoolInside;
  const Dims data = plan.dims(step.inputs[0]);
  if (call.node.flag("ceil_mode", false))
    BYCC_TRY(extendToCeil(call, data, step));
  BYCC_TRY(checkPoolWindow(window));
  return addWindow(plan, call, std::move(window));
}

// Global and adaptive pooling whose windows are all alike.
Expected<ValueId> wholePool(PlanBuilder &plan, const Call &call, size_t spatial, bool isMax) {
  Window window = BYCC_TRY(readWindow(call, plan, "layout", spatial));
  Step &step = window.step;
  step.kind = StepKind::Pool;
  step.math = isMax ? Math::MaxPool : Math::AvgPoolInside;
  const Dims data = plan.dims(step.inputs[0]);
  if (call.result.size() != data.size())
    return error(Status::Unsup) << "result of rank " << call.result.size();
  for (size_t i = 0; i < spatial; ++i) {
    int64_t to = call.result[static_cast<size_t>(window.toCanonical[i + 2])], from = data[i + 2];
    if (from % to)
      return error(Status::Unsup) << "adaptive pooling from " << from << " to " << to
                                  << " has windows of different sizes";
    step.kernel.push_back(from / to);
    step.strides[i] = from / to;
  }
  return addWindow(plan, call, std::move(window));
}

} // namespace

Expected<ValueId> averagePool2d(PlanBuilder &plan, const Call &call) {
  return windowPool(plan, call, 2, false);
}

namespace {

template <size_t spatial, bool isMax> Expected<ValueId> pool(PlanBuilder &plan, const Call &call) {
  return windowPool(plan, call, spatial, isMax);
}
template <size_t spatial, bool isMax> Expected<ValueId> whole(PlanBuilder &plan, const Call &call) {
  return wholePool(plan, call, spatial, isMax);
}

} // namespace

std::vector<Operator> convOperators() {
  return {
      {"nn.adaptive_avg_pool1d", 1, 1, whole<1, false>},
      {"nn.adaptive_avg_pool2d", 1, 1, whole<2, false>},
      {"nn.adaptive_avg_pool3d", 1, 1, whole<3, false>},
      {"nn.adaptive_max_pool1d", 1, 1, whole<1, true>, Takes::FloatOr8Bit},
      {"nn.adaptive_max_pool2d", 1, 1, whole<2, true>, Takes::FloatOr8Bit},
      {"nn.adaptive_max_pool3d", 1, 1, whole<3, true>, Takes::FloatOr8Bit},
      {"nn.avg_pool1d", 1, 1, pool<1, false>},
      {"nn.avg_pool2d", 1, 1, pool<2, false>},
      {"nn.avg_pool3d", 1, 1, pool<3, false>},
      {"nn.conv1d", 2, 2, conv<1>},
      {"nn.conv1d_transpose", 2, 2, deconv<1>},
      {"nn.conv2d", 2, 2, conv<2>},
      {"nn.conv2d_transpose", 2, 2, deconv<2>},
      {"nn.conv3d", 2, 2, conv<3>},
      {"nn.conv3d_transpose", 2, 2, deconv<3>},
      {"nn.global_avg_pool2d", 1, 1, whole<2, false>},
      {"nn.global_max_pool2d", 1, 1, whole<2, true>, Takes::FloatOr8Bit},
      {"nn.max_pool1d", 1, 1, pool<1, true>, Takes::FloatOr8Bit},
      {"nn.max_pool2d", 1, 1, pool<2, true>, Takes::FloatOr8Bit},
      {"nn.max_pool3d", 1, 1, pool<3, true>, Takes::FloatOr8Bit},
  };
}

} // namespace bycc::onednn
