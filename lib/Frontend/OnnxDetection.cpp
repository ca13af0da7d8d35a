// Detection: boxes, regions of interest, and convolutions at places of their own.
#include "OnnxCompose.h"
#include "OnnxConverters.h"

#include <limits>

namespace bycc::onnx {
namespace {

// Column `c` of boxes (B, N, 4).
NodeId column(Compose &c, NodeId boxes, int64_t index) { return c.slice(boxes, 2, index, index + 1); }

// [x center, y center, width, height] as two corners.
NodeId corners(Compose &c, NodeId boxes) {
  NodeId x = column(c, boxes, 0), y = column(c, boxes, 1), halfWide = c.mul(column(c, boxes, 2), 0.5), halfHigh = c.mul(column(c, boxes, 3), 0.5);
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
  NodeId least = op.has(4) ? op.input(4) : op.scalar(DType::Float32, -std::numeric_limits<double>::infinity());
  NodeId found = BYCC_TRY(c.done(c.call("vision.all_class_non_max_suppression", {boxes, op.input(1), most, overlap, least})));
  op.setOutput(0, BYCC_TRY(op.project(found, 0)));
  return {};
}

// rois (R, 4) and the image of each as rows of five.
Expected<> convertRoiAlign(OpContext &op) {
  NodeId x = op.input(0), rois = op.input(1);
  std::string coordinates = op.opset() < 16 ? "output_half_pixel" : BYCC_TRY(op.textAttr("coordinate_transformation_mode", "half_pixel"));
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    return op.error() << "coordinate_transformation_mode must be half_pixel or output_half_pixel";
  std::string mode = BYCC_TRY(op.textAttr("mode", "avg"));
  AttrValue size = AttrValue::ints(std::vector<int64_t>{BYCC_TRY(op.intAttr("output_height", 1)), BYCC_TRY(op.intAttr("output_width", 1))});
  Compose c(op);
  NodeId parts[] = {c.cast(c.reshape(op.input(2), {-1, 1}), op.dtype(rois)), rois};
  NodeId rows = c.cast(c.concat(parts, 1), op.dtype(x));
  op.setOutput(0, BYCC_TRY(c.done(c.call("vision.roi_align", {x, rows},
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
  op.setOutput(0, BYCC_TRY(op.call("vision.roi_pool", {op.input(0), op.input(1)}, {{"pooled_size", size}, {"spatial_scale", scale}})));
  return {};
}

Expected<> convertDeformConv(OpContext &op) {
  NodeId x = op.input(0), weight = op.input(1);
  if (op.rank(x) != 4)
    return op.error(Status::Unsup) << "input of rank " << op.rank(x) << ", only 4 is supported";
  if (op.has(4))
    return op.error(Status::Unsup) << "a mask is not supported";
  AttrDict attrs = BYCC_TRY(convAttrs(op, x, weight));
  attrs.push_back({"deformable_groups", BYCC_TRY(op.intAttr("offset_group", 1))});
  NodeId made = BYCC_TRY(op.call("nn.deformable_conv2d", {x, op.input(2), weight}, std::move(attrs)));
  if (op.has(3))
    made = BYCC_TRY(op.call("nn.bias_add", {made, op.input(3)}));
  op.setOutput(0, made);
  return {};
}

} // namespace bycc::onnx
