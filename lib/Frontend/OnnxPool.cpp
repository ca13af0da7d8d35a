// Pooling over windows and over all spatial axes.
#include "OnnxConverters.h"
#include "OnnxWindow.h"

namespace bycc::onnx {
namespace {

// Whether ceil_mode changes the result. A last window that would start in the
// end padding is not taken, in which case rounding down is what is meant.
Expected<bool> roundsUp(OpContext &op, NodeId x, const Window &window) {
  std::vector<Dim> shape = op.shape(x);
  size_t count = window.kernel.size();
  bool anyUp = false, anyDropped = false;
  for (size_t i = 0; i < count; ++i) {
    if (!shape[i + 2].isConst())
      return op.error(Status::Unsup) << "ceil_mode needs a static input";
    int64_t size = shape[i + 2].value(), stride = window.strides[i];
    int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    int64_t span = size + window.pads[i] + window.pads[i + count] - extent;
    if (span < 0 || span % stride == 0)
      continue;
    bool isDropped = (span / stride + 1) * stride >= size + window.pads[i];
    (isDropped ? anyDropped : anyUp) = true;
  }
  if (anyUp && anyDropped)
    return op.error(Status::Unsup) << "ceil_mode that keeps the last window on some axes only";
  return anyUp;
}

} // namespace

// MaxPool and AveragePool.
Expected<> convertPool(OpContext &op) {
  NodeId x = op.input(0);
  size_t spatial = BYCC_TRY(spatialRank(op, x));
  std::optional<std::vector<int64_t>> kernel = BYCC_TRY(op.intsAttr("kernel_shape"));
  if (!kernel || kernel->size() != spatial)
    return op.error() << "kernel_shape must have " << spatial << " values";
  for (int64_t size : *kernel)
    if (size < 1)
      return op.error() << "kernel_shape has the value " << size;
  Window window = BYCC_TRY(readWindow(op, x, *kernel));
  for (size_t i = 0; i < 2 * spatial; ++i)
    if (window.pads[i] >= (window.kernel[i % spatial] - 1) * window.dilations[i % spatial] + 1)
      return op.error() << "padding " << window.pads[i] << " is not smaller than the window";
  op.ignoreAttr("storage_order"); // of the indices output, which is not supported
  bool ceil = BYCC_TRY(op.intAttr("ceil_mode", 0)) != 0;
  ceil = ceil && BYCC_TRY(roundsUp(op, x, window));
  AttrDict attrs{{"pool_size", AttrValue::ints(window.kernel)},
                 {"strides", AttrValue::ints(window.strides)},
                 {"dilation", AttrValue::ints(window.dilations)},
                 {"padding", paddingAttr(window.pads)},
                 {"ceil_mode", ceil}};
  if (op.relayName() == "nn.avg_pool") {
    bool includePad = BYCC_TRY(op.intAttr("count_include_pad", 0)) != 0;
    if (includePad && ceil)
      return op.error(Status::Unsup) << "count_include_pad with ceil_mode is not supported";
    attrs.push_back({"count_include_pad", includePad});
  }
  op.setOutput(0, BYCC_TRY(op.call(ranked(op.relayName(), spatial), {x}, std::move(attrs))));
  return {};
}

Expected<> convertGlobalPool(OpContext &op) {
  NodeId x = op.input(0);
  int64_t rank = op.rank(x);
  bool isMax = op.proto().opType == "GlobalMaxPool";
  if (rank < 3)
    return op.error() << "input of rank " << rank << ", wanted at least 3";
  if (rank == 4) {
    op.setOutput(0, BYCC_TRY(op.call(isMax ? "nn.global_max_pool2d" : "nn.global_avg_pool2d", {x})));
    return {};
  }
  std::vector<int64_t> axes;
  for (int64_t i = 2; i < rank; ++i)
    axes.push_back(i);
  op.setOutput(0, BYCC_TRY(op.call(isMax ? "max" : "mean", {x},
                                   {{"axis", AttrValue::ints(axes)}, {"keepdims", true}})));
  return {};
}

} // namespace bycc::onnx
