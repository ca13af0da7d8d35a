// Detection: boxes, regions of interest, and convolutions at places of their own.
#include "OnnxCompose.h"
#include "OnnxConverters.h"

#include <limits>

namespace bycc::onnx {
namespace {

// Column `c` of boxes (B, N, 4).
NodeId column(Compose &c, NodeId boxes, int64_t index) {
  return c.slice(boxes, 2, index, index + 1);
}

// [x center, y center, width, height] as two corners.
NodeId corners(Compose &c, NodeId boxes) {
  NodeId x = column(c, boxes, 0), y = column(c, boxes, 1),
         halfWide = c.mul(column(c, boxes, 2), 0.5), halfHigh = c.mul(column(c, boxes, 3), 0.5);
  NodeId parts[] = {c.sub(y, halfHigh), c.sub(x, halfWide), c.add(y, halfHigh), c.add(x, halfWide)};
  return c.concat(parts, 2);
}

Expected<std::vector<int64_t>> positives(OpContext &op, std::string_view name, size_t count) {
  auto values = BYCC_TRY(op.intsAttr(name));
  if (!values || values->size() != count)
    return op.error() << "attribute '" << name << "' has " << count << " values";
  return *values;
}

} // namespace

Expected<> convertNonMaxSuppression(OpContext &op) {
  NodeId boxes = op.input(0);
  if (op.rank(boxes) != 3)
    return op.error() << "boxes of rank " << op.rank(boxes) << ", wanted 3";
  Compose c(op);
  if (BYCC_TRY(op.intAttr("center_point_box", 0)) != 0)
    boxes = corners(c, boxes);
  NodeId most = op.has(2) ? op.input(2) : op.scalar(DType::Int64, 0);
  NodeId overlap = op.has(3) ? op.input(3) : op.scalar(DType::Float32, 0);
  NodeId least =
      op.has(4) ? op.input(4) : op.scalar(DType::Float32, -std::numeric_limits<double>::infinity());
  NodeId found = BYCC_TRY(c.done(
      c.call("vision.all_class_non_max_suppression", {boxes, op.input(1), most, overlap, least})));
  op.setOutput(0, BYCC_TRY(op.project(found, 0)));
  return {};
}

// rois (R, 4) and the image of each as rows of five.
Expected<> convertRoiAlign(OpContext &op) {
  NodeId x = op.input(0), rois = op.input(1);
  std::string coordinates =
      op.opset() < 16 ? "output_half_pixel"
                      : BYCC_TRY(op.textAttr("coordinate_transformation_mode", "half_pixel"));
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    return op.error() << "coordinate_transformation_mode must be half_pixel or output_half_pixel";
  std::string mode = BYCC_TRY(op.textAttr("mode", "avg"));
  AttrValue size = AttrValue::ints(std::vector<int64_t>{BYCC_TRY(op.intAttr("output_height", 1)),
                                                        BYCC_TRY(op.intAttr("output_width", 1))});
  Compose c(op);
  NodeId parts[] = {c.cast(c.reshape(op.input(2), {-1, 1}), op.dtype(rois)), rois};
  NodeId rows = c.cast(c.concat(parts, 1), op.dtype(x));
  op.setOutput(
      0, BYCC_TRY(c.done(c.call("vision.roi_align", {x, rows},
                                {{"pooled_size", size},
                                 {"spatial_scale", BYCC_TRY(op.floatAttr("spatial_scale", 1))},
                                 {"sample_ratio", BYCC_TRY(op.intAttr("sampling_ratio", 0))},
                                 {"mode", mode},
                                 {"aligned", coordinates == "half_pixel"}}))));
  return {};
}

Expected<> convertMaxRoiPool(OpContext &op) {
  AttrValue size = AttrValue::ints(BYCC_TRY(positives(op, "pooled_shape", 2)));
  double scale = BYCC_TRY(op.floatAttr("spatial_scale", 1));
  op.setOutput(0, BYCC_TRY(op.call("vision.roi_pool", {op.input(0), op.input(1)},
                                   {{"pooled_size", size}, {"spatial_scale", scale}})));
  return {};
}

namespace {

void setAttr(AttrDict &attrs, std::string_view name, AttrValue value) {
  std::erase_if(attrs, [&](const Attr &attr) { return attr.key == name; });
  attrs.push_back({std::string(name), std::move(value)});
}

// What the taps of a kernel read of every channel, [N, C * taps, H, W]: a depthwise
// convolution whose output t of a channel has a one at tap t.
Expected<NodeId> tapsRead(OpContext &op, AttrDict attrs, int64_t channels, int64_t high,
                          int64_t wide) {
  int64_t taps = high * wide;
  std::vector<double> ones(static_cast<size_t>(channels * taps * taps), 0);
  for (int64_t i = 0; i < channels * taps; ++i)
    ones[static_cast<size_t>(i * taps + i % taps)] = 1;
  setAttr(attrs, "groups", channels);
  setAttr(attrs, "channels", channels * taps);
  Compose c(op);
  NodeId weight =
      BYCC_TRY(c.done(c.numbers(ones, {channels * taps, 1, high, wide}, op.dtype(op.input(0)))));
  return op.call("nn.deformable_conv2d", {op.input(0), op.input(2), weight}, std::move(attrs));
}

// The mask, a scale for what each tap reads of a channel.
Expected<NodeId> scaledByMask(OpContext &op, NodeId read, int64_t channels, int64_t taps,
                              int64_t offsetGroups) {
  auto mask = op.shape(op.input(4));
  if (mask.size() != 4 || (mask[1].isConst() && mask[1].value() != offsetGroups * taps))
    return op.error() << "a mask of type " << op.types().str(op.module().type(op.input(4)))
                      << ", wanted " << offsetGroups * taps << " channels";
  std::vector<int64_t> table; // the mask's channel for a tap of a channel
  for (int64_t i = 0; i < channels * taps; ++i)
    table.push_back(i / taps / (channels / offsetGroups) * taps + i % taps);
  Compose c(op);
  return c.done(c.mul(read, c.call("take", {op.input(4), op.ints(table)}, {{"axis", 1}})));
}

// What the taps read, summed up by a convolution of 1 by 1, which is a product like others.
Expected<NodeId> tapsSummed(OpContext &op, AttrDict attrs, int64_t offsetGroups) {
  int64_t groups = BYCC_TRY(op.intAttr("group", 1));
  std::vector<int64_t> kernel = BYCC_TRY(op.staticShape(op.input(1)));
  int64_t channels = kernel[1] * groups, taps = kernel[2] * kernel[3];
  Dim of = op.shape(op.input(0))[1];
  if (of.isConst() && of.value() != channels)
    return op.error() << "weight has " << kernel[1] << " input channels, data has " << of.value()
                      << " in " << groups << " groups";
  bool isLarge = taps > 4096 || channels > (int64_t{1} << 24) / (taps * taps);
  if (isLarge && !op.has(4))
    return op.call("nn.deformable_conv2d", {op.input(0), op.input(2), op.input(1)},
                   std::move(attrs));
  if (channels < 1 || offsetGroups < 1 || channels % offsetGroups != 0 || isLarge)
    return op.error() << "a kernel of " << taps << " taps and " << offsetGroups
                      << " offset groups on " << channels << " channels";
  NodeId read = BYCC_TRY(tapsRead(op, std::move(attrs), channels, kernel[2], kernel[3]));
  if (op.has(4))
    read = BYCC_TRY(scaledByMask(op, read, channels, taps, offsetGroups));
  Compose c(op);
  return c.done(c.call(
      "nn.conv2d", {read, c.reshape(op.input(1), {kernel[0], kernel[1] * taps, 1, 1})},
      {{"channels", kernel[0]}, {"kernel_size", AttrValue::List{1, 1}}, {"groups", groups}}));
}

} // namespace

Expected<> convertDeformConv(OpContext &op) {
  NodeId x = op.input(0);
  if (op.rank(x) != 4)
    return op.error(Status::Unsup) << "input of rank " << op.rank(x) << ", only 4 is supported";
  AttrDict attrs = BYCC_TRY(convAttrs(op, x, op.input(1)));
  if (x != op.input(0)) // offsets are from places that such padding moves
    return op.error(Status::Unsup) << "auto_pad needs a static input";
  int64_t groups = BYCC_TRY(op.intAttr("offset_group", 1));
  attrs.push_back({"deformable_groups", groups});
  NodeId made = BYCC_TRY(tapsSummed(op, std::move(attrs), groups));
  if (op.has(3))
    made = BYCC_TRY(op.call("nn.bias_add", {made, op.input(3)}));
  op.setOutput(0, made);
  return {};
}

} // namespace bycc::onnx
