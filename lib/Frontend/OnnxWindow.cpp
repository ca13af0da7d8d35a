#include "OnnxWindow.h"

#include <algorithm>

namespace bycc::onnx {

std::string ranked(std::string_view name, size_t spatial) {
  return std::string(name) + std::to_string(spatial) + "d";
}

Expected<std::vector<int64_t>> spatialInts(OpContext &op, std::string_view name, size_t count,
                                           int64_t fallback, int64_t least) {
  std::optional<std::vector<int64_t>> given = BYCC_TRY(op.intsAttr(name));
  if (!given)
    return std::vector<int64_t>(count, fallback);
  if (given->size() != count)
    return op.error() << name << " has " << given->size() << " values, wanted " << count;
  for (int64_t value : *given)
    if (value < least)
      return op.error() << name << " has the value " << value;
  return *given;
}

AttrValue paddingAttr(const std::vector<int64_t> &pads) {
  size_t half = pads.size() / 2;
  if (std::equal(pads.begin(), pads.begin() + half, pads.begin() + half))
    return AttrValue::ints({pads.data(), half});
  return AttrValue::ints(pads);
}

namespace {

// Padding of auto_pad SAME_*: the output is ceil(input / stride).
Expected<> samePads(OpContext &op, NodeId x, bool isUpper, Window &window) {
  std::vector<Dim> shape = op.shape(x);
  size_t count = window.kernel.size();
  for (size_t i = 0; i < count; ++i) {
    if (!shape[i + 2].isConst())
      return op.error(Status::Unsup) << "auto_pad needs a static input";
    int64_t size = shape[i + 2].value(), stride = window.strides[i];
    int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
    int64_t outputs = size / stride + (size % stride != 0);
    int64_t total = std::max<int64_t>(0, (outputs - 1) * stride + extent - size);
    int64_t small = total / 2, large = total - small;
    window.pads[i] = isUpper ? small : large;
    window.pads[i + count] = isUpper ? large : small;
  }
  return {};
}

} // namespace

Expected<> checkExtents(OpContext &op, const Window &window) {
  constexpr int64_t most = int64_t{1} << 31;
  for (const std::vector<int64_t> *values :
       {&window.kernel, &window.strides, &window.dilations, &window.pads})
    for (int64_t value : *values)
      if (value > most)
        return op.error(Status::Limit) << "a window attribute of " << value;
  return {};
}

Expected<Window> readWindow(OpContext &op, NodeId x, std::vector<int64_t> kernel) {
  Window window;
  size_t count = kernel.size();
  window.kernel = std::move(kernel);
  window.strides = BYCC_TRY(spatialInts(op, "strides", count, 1, 1));
  window.dilations = BYCC_TRY(spatialInts(op, "dilations", count, 1, 1));
  window.pads = BYCC_TRY(spatialInts(op, "pads", 2 * count, 0, 0));
  BYCC_TRY(checkExtents(op, window));
  std::string autoPad = BYCC_TRY(op.textAttr("auto_pad", "NOTSET"));
  if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER")
    BYCC_TRY(samePads(op, x, autoPad == "SAME_UPPER", window));
  else if (autoPad == "VALID")
    window.pads.assign(2 * count, 0);
  else if (autoPad != "NOTSET" && !autoPad.empty())
    return op.error() << "auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID";
  return window;
}

Expected<size_t> spatialRank(OpContext &op, NodeId x) {
  int64_t rank = op.rank(x);
  if (rank < 3)
    return op.error() << "input of rank " << rank << ", wanted at least 3";
  if (rank > 5)
    return op.error(Status::Unsup) << "input of rank " << rank << " is not supported";
  return static_cast<size_t>(rank - 2);
}

} // namespace bycc::onnx
