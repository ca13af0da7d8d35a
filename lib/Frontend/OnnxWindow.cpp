#include "OnnxWindow.h"

#include "OnnxCompose.h"
#include "OnnxDynamic.h"

#include <algorithm>
#include <array>
#include <tuple>

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

// auto_pad SAME_*: the output is ceil(size / stride), so the last window begins at
//   (ceil(size / stride) - 1) * stride - begin
// and total = max(0, (ceil(size / stride) - 1) * stride + extent - size) is split in halves, of
// which the larger stands in front with SAME_LOWER. What counts of the size is what remains of it:
//
//   size % stride        0                 1 .. stride - 1
//   total         extent - stride     extent - size % stride
//
// Where all of these have one half in front, as a kernel of 2 has with stride 2, that half is an
// attribute, and so is extent - 1 - begin behind, which gives ceil(size / stride) windows for every
// size; those that end earlier do not read all of it.
class SamePads {
public:
  SamePads(const Window &window, size_t axis, bool isUpper)
      : extent_((window.kernel[axis] - 1) * window.dilations[axis] + 1),
        stride_(window.strides[axis]), isUpper_(isUpper) {}

  int64_t beginOf(int64_t total) const {
    total = std::max<int64_t>(0, total);
    return isUpper_ ? total / 2 : total - total / 2;
  }

  std::pair<int64_t, int64_t> ofSize(int64_t size) const {
    int64_t outputs = size / stride_ + (size % stride_ != 0);
    int64_t total = std::max<int64_t>(0, (outputs - 1) * stride_ + extent_ - size);
    return {beginOf(total), total - beginOf(total)};
  }

  std::optional<std::pair<int64_t, int64_t>> ofDim(TypeTable &types, Dim size) const {
    if (size.isConst())
      return ofSize(size.value());
    if (types.dim(DimOp::Mod, size, Dim(stride_)) == Dim(0))
      return ofSize(stride_);
    int64_t begin = beginOf(extent_ - stride_);
    if (begin != beginOf(extent_ - 1))
      return std::nullopt;
    return std::pair(begin, extent_ - 1 - begin);
  }

  // Of an extent that is known when the model runs. Behind stands what makes the padded extent
  // ceil(size / stride) * stride + constant, from which type inference sees the output's.
  std::array<NodeId, 2> ofExtent(Compose &c, NodeId size) const {
    double stride = static_cast<double>(stride_);
    NodeId steps = c.call("floor_divide", c.add(size, stride - 1), stride);
    NodeId room = c.sub(c.mul(steps, stride), size); // 0 .. stride - 1
    NodeId total = c.add(room, static_cast<double>(extent_ - stride_));
    if (extent_ < stride_)
      total = c.call("maximum", total, 0);
    NodeId begin = c.call("floor_divide", total, 2);
    if (!isUpper_)
      begin = c.sub(total, begin);
    double more = static_cast<double>(std::max<int64_t>(0, extent_ - stride_));
    return {begin, c.sub(c.add(room, more), begin)};
  }

private:
  int64_t extent_, stride_;
  bool isUpper_;
};

Expected<> samePads(OpContext &op, NodeId x, bool isUpper, Window &window) {
  std::vector<Dim> shape = op.shape(x);
  size_t count = window.kernel.size();
  Compose c(op);
  std::vector<NodeId> widths(2 * shape.size(), op.scalar(DType::Int64, 0));
  bool isOpen = false;
  for (size_t i = 0; i < count; ++i) {
    SamePads same(window, i, isUpper);
    if (auto pads = same.ofDim(op.types(), shape[i + 2])) {
      std::tie(window.pads[i], window.pads[i + count]) = *pads;
      continue;
    }
    auto pair = same.ofExtent(c, BYCC_TRY(extentOf(op, x, static_cast<int64_t>(i + 2))));
    std::ranges::copy(pair, widths.begin() + static_cast<ptrdiff_t>(2 * (i + 2)));
    window.pads[i] = window.pads[i + count] = 0;
    isOpen = true;
  }
  window.isSame = true;
  if (isOpen)
    window.openPads =
        BYCC_TRY(c.done(c.reshape(c.stack(widths, 0), {static_cast<int64_t>(shape.size()), 2})));
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

Expected<NodeId> withOpenPads(OpContext &op, NodeId x, const Window &window, NodeId value) {
  return window.openPads ? op.call("dyn.nn.pad", {x, *window.openPads, value}) : Expected(x);
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
