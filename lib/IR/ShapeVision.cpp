// Type rules of detection and of operators on feature maps.

#include "Shape.h"

#include "bycc/IR/Module.h"

#include <algorithm>

namespace bycc::shape {
namespace {

Expected<TensorInput> floatInput(InferContext &context, size_t index, size_t rank,
                                 std::string_view what) {
  TensorInput x = BYCC_TRY(tensorInput(context, index));
  if (!isFloat(x.dtype))
    return context.error() << what << " holds floats, got " << name(x.dtype);
  BYCC_TRY(checkRank(context, x, rank, what));
  return x;
}

Expected<> checkScalar(InferContext &context, size_t index, std::string_view what, bool isInteger) {
  TensorInput x = BYCC_TRY(tensorInput(context, index));
  if (isInteger ? !isInt(x.dtype) : !isFloat(x.dtype))
    return context.error() << what << (isInteger ? " is an integer, got " : " is a float, got ")
                           << name(x.dtype);
  if (x.rank() > 1 || (x.rank() == 1 && !unify(x.shape[0], Dim(1))))
    return context.error() << what << " is one number, got " << context.module().types.str(x.type);
  return {};
}

// The attribute's numbers, `count` of them (0: at least one).
Expected<size_t> checkFloats(InferContext &context, std::string_view key, size_t count = 0) {
  size_t given = context.module().attr(context.call(), key)->asList().size();
  if (count ? given != count : given == 0)
    return context.error() << key << " has " << (count ? std::to_string(count) : "1 or more")
                           << " values, got " << given;
  return given;
}

Expected<> checkIndex(InferContext &context, std::string_view key, Dim extent, int64_t width = 1) {
  int64_t index = context.integer(key), lowest = width == 1 ? -1 : 0;
  if (index < lowest || (extent.isConst() && index > extent.value() - width))
    return context.error() << key << " is " << index << ", a box has "
                           << context.module().types.str(extent) << " values";
  return {};
}

Dim times(InferContext &context, Dim dim, int64_t factor) {
  return context.module().types.mul(dim, Dim(factor));
}

} // namespace

Expected<TypeId> allClassNms(InferContext &context) {
  TypeTable &types = context.module().types;
  TensorInput boxes = BYCC_TRY(floatInput(context, 0, 3, "boxes"));
  TensorInput scores = BYCC_TRY(floatInput(context, 1, 3, "scores"));
  BYCC_TRY(checkScalar(context, 2, "max_output_boxes_per_class", true));
  BYCC_TRY(checkScalar(context, 3, "iou_threshold", false));
  BYCC_TRY(checkScalar(context, 4, "score_threshold", false));
  BYCC_TRY(unifyDim(context, scores.shape[0], boxes.shape[0], "the batch of scores"));
  BYCC_TRY(unifyDim(context, scores.shape[2], boxes.shape[1], "the number of scores"));
  BYCC_TRY(unifyDim(context, boxes.shape[2], Dim(4), "the length of a box"));
  if (context.text("output_format") != "onnx")
    return context.error(Status::Unsup) << "output_format \"" << context.text("output_format")
                                        << "\" is not supported, only \"onnx\"";
  return types.tuple(std::vector<TypeId>{types.tensor(DType::Int64, Shape{Dim::unknown(), Dim(3)}),
                                         types.tensor(DType::Int64, {Dim(1)})});
}

Expected<TypeId> validCounts(InferContext &context) {
  TypeTable &types = context.module().types;
  TensorInput x = BYCC_TRY(floatInput(context, 0, 3, "x"));
  BYCC_TRY(checkScalar(context, 1, "score_threshold", false));
  BYCC_TRY(checkIndex(context, "id_index", x.shape[2]));
  BYCC_TRY(checkIndex(context, "score_index", x.shape[2]));
  if (context.integer("score_index") < 0)
    return context.error() << "score_index is at least 0";
  return types.tuple(std::vector<TypeId>{types.tensor(DType::Int32, x.shape.first(1)), x.type,
                                         types.tensor(DType::Int32, x.shape.first(2))});
}

Expected<TypeId> nonMaxSuppression(InferContext &context) {
  TypeTable &types = context.module().types;
  TensorInput x = BYCC_TRY(floatInput(context, 0, 3, "x"));
  TensorInput valid = BYCC_TRY(tensorInput(context, 1)),
              indices = BYCC_TRY(tensorInput(context, 2));
  BYCC_TRY(checkInt(context, valid.dtype, "valid_count"));
  BYCC_TRY(checkRank(context, valid, 1, "valid_count"));
  BYCC_TRY(unifyDim(context, valid.shape[0], x.shape[0], "extent of valid_count"));
  BYCC_TRY(checkInt(context, indices.dtype, "indices"));
  BYCC_TRY(checkRank(context, indices, 2, "indices"));
  for (size_t d = 0; d < 2; ++d)
    BYCC_TRY(unifyDim(context, indices.shape[d], x.shape[d], "an extent of indices"));
  BYCC_TRY(checkScalar(context, 3, "max_output_size", true));
  BYCC_TRY(checkScalar(context, 4, "iou_threshold", false));
  BYCC_TRY(checkIndex(context, "coord_start", x.shape[2], 4));
  BYCC_TRY(checkIndex(context, "score_index", x.shape[2]));
  BYCC_TRY(checkIndex(context, "id_index", x.shape[2]));
  if (context.integer("score_index") < 0)
    return context.error() << "score_index is at least 0";
  if (!context.boolean("return_indices"))
    return x.type;
  return types.tuple(std::vector<TypeId>{types.tensor(DType::Int32, x.shape.first(2)),
                                         types.tensor(DType::Int32, Shape{x.shape[0], Dim(1)})});
}

Expected<TypeId> multiboxPrior(InferContext &context) {
  TypeTable &types = context.module().types;
  TensorInput x = BYCC_TRY(floatInput(context, 0, 4, "x"));
  int64_t boxes = static_cast<int64_t>(BYCC_TRY(checkFloats(context, "sizes")) +
                                       BYCC_TRY(checkFloats(context, "ratios"))) -
                  1;
  BYCC_TRY(checkFloats(context, "steps", 2));
  BYCC_TRY(checkFloats(context, "offsets", 2));
  return tensorType(
      context, x.dtype,
      Shape{Dim(1), times(context, types.mul(x.shape[2], x.shape[3]), boxes), Dim(4)});
}

Expected<TypeId> multiboxTransform(InferContext &context) {
  TypeTable &types = context.module().types;
  TensorInput scores = BYCC_TRY(floatInput(context, 0, 3, "cls_prob"));
  TensorInput shifts = BYCC_TRY(floatInput(context, 1, 2, "loc_pred"));
  TensorInput anchors = BYCC_TRY(floatInput(context, 2, 3, "anchor"));
  BYCC_TRY(unifyDim(context, anchors.shape[0], Dim(1), "the batch of anchor"));
  BYCC_TRY(unifyDim(context, anchors.shape[1], scores.shape[2], "the number of anchors"));
  BYCC_TRY(unifyDim(context, anchors.shape[2], Dim(4), "the length of an anchor"));
  BYCC_TRY(unifyDim(context, shifts.shape[0], scores.shape[0], "the batch of loc_pred"));
  BYCC_TRY(unifyDim(context, shifts.shape[1], times(context, scores.shape[2], 4),
                    "the extent of loc_pred"));
  BYCC_TRY(checkFloats(context, "variances", 4));
  return types.tuple(std::vector<TypeId>{
      types.tensor(scores.dtype, Shape{scores.shape[0], scores.shape[2], Dim(6)}),
      types.tensor(DType::Int32, scores.shape.first(1))});
}

Expected<TypeId> proposalOf(InferContext &context) {
  TensorInput scores = BYCC_TRY(floatInput(context, 0, 4, "cls_prob"));
  TensorInput shifts = BYCC_TRY(floatInput(context, 1, 4, "bbox_pred"));
  TensorInput info = BYCC_TRY(floatInput(context, 2, 2, "im_info"));
  int64_t anchors = static_cast<int64_t>(BYCC_TRY(checkFloats(context, "scales")) *
                                         BYCC_TRY(checkFloats(context, "ratios")));
  BYCC_TRY(unifyDim(context, scores.shape[1], Dim(2 * anchors), "the channels of cls_prob"));
  BYCC_TRY(unifyDim(context, shifts.shape[1], Dim(4 * anchors), "the channels of bbox_pred"));
  for (size_t d : {0, 2, 3})
    BYCC_TRY(unifyDim(context, shifts.shape[d], scores.shape[d], "an extent of bbox_pred"));
  BYCC_TRY(unifyDim(context, info.shape[0], scores.shape[0], "the batch of im_info"));
  BYCC_TRY(unifyDim(context, info.shape[1], Dim(3), "the length of im_info"));
  int64_t count = context.integer("rpn_post_nms_top_n");
  BYCC_TRY(checkPositive(context, Ints{count, context.integer("feature_stride")},
                         "rpn_post_nms_top_n and feature_stride"));
  return tensorType(context, scores.dtype, Shape{times(context, scores.shape[0], count), Dim(5)});
}

// roi_align and roi_pool: rows of rois are batch index, x1, y1, x2, y2.
Expected<TypeId> roiPool(InferContext &context) {
  TensorInput x = BYCC_TRY(floatInput(context, 0, 4, "x"));
  TensorInput rois = BYCC_TRY(floatInput(context, 1, 2, "rois"));
  BYCC_TRY(unifyDim(context, rois.shape[1], Dim(5), "the length of a roi"));
  BYCC_TRY(checkOneOf(context, "layout", {"NCHW", "NHWC"}));
  if (context.module().node(context.call()).op == ops::vision_roi_align) {
    BYCC_TRY(checkOneOf(context, "mode", {"avg", "max"}));
    if (context.integer("sample_ratio") > 1024)
      return context.error(Status::Limit)
             << "sample_ratio " << context.integer("sample_ratio") << " is too large";
  }
  Ints size = context.integers("pooled_size");
  BYCC_TRY(checkCount(context, size, 2, "pooled_size"));
  BYCC_TRY(checkPositive(context, size, "pooled_size"));
  if (context.text("layout") == "NCHW")
    return tensorType(context, x.dtype,
                      Shape{rois.shape[0], x.shape[1], Dim(size[0]), Dim(size[1])});
  return tensorType(context, x.dtype, Shape{rois.shape[0], Dim(size[0]), Dim(size[1]), x.shape[3]});
}

Expected<TypeId> yoloReorg(InferContext &context) {
  TypeTable &types = context.module().types;
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkRank(context, x, 4, "x"));
  int64_t stride = context.integer("stride");
  BYCC_TRY(checkPositive(context, Ints{stride}, "stride"));
  if (stride > 1 << 15)
    return context.error(Status::Limit) << "stride " << stride << " is too large";
  for (auto [d, factor] :
       {std::pair<size_t, int64_t>{1, stride * stride}, {2, stride}, {3, stride}})
    if (x.shape[d].isConst() && x.shape[d].value() % factor != 0)
      return context.error() << "axis " << d << " has " << x.shape[d].value()
                             << " elements, not a multiple of " << factor;
  return tensorType(context, x.dtype,
                    Shape{x.shape[0], times(context, x.shape[1], stride * stride),
                          types.floorDiv(x.shape[2], Dim(stride)),
                          types.floorDiv(x.shape[3], Dim(stride))});
}

Expected<TypeId> correlation(InferContext &context) {
  TensorInput a = BYCC_TRY(floatInput(context, 0, 4, "data1")),
              b = BYCC_TRY(floatInput(context, 1, 4, "data2"));
  BYCC_TRY(checkDType(context, b.dtype, a.dtype, "data2"));
  BYCC_TRY(checkOneOf(context, "layout", {"NCHW"}));
  for (size_t d = 0; d < 4; ++d)
    BYCC_TRY(unifyDim(context, b.shape[d], a.shape[d], "an extent of data2"));
  int64_t kernel = context.integer("kernel_size"), reach = context.integer("max_displacement"),
          step = context.integer("stride1"), step2 = context.integer("stride2");
  BYCC_TRY(checkPositive(context, Ints{kernel, step, step2}, "kernel_size, stride1 and stride2"));
  if (reach < 0 || reach > 1 << 20 || kernel > 1 << 20)
    return context.error() << "max_displacement is " << reach << ", kernel_size " << kernel;
  auto padding = expandPadding(context.integers("padding"), 2);
  if (!padding)
    return context.error() << "padding has 1, 2 or 4 values";
  int64_t places = 2 * (reach / step2) + 1, window = 2 * (reach + (kernel - 1) / 2);
  Shape shape{a.shape[0], Dim(places * places)};
  for (size_t i = 0; i < 2; ++i) {
    // ceil((padded - window) / step): a window one longer, rounded up.
    Window w{window + 1, step, 1, padding->before[i], padding->after[i], false};
    shape.push_back(BYCC_TRY(windowExtent(context, a.shape[2 + i], w, i ? "W" : "H")));
  }
  return tensorType(context, a.dtype, shape);
}

Expected<TypeId> fifoBuffer(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0)), buffer = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkDType(context, buffer.dtype, x.dtype, "buffer"));
  BYCC_TRY(checkRank(context, buffer, x.rank(), "buffer"));
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  for (size_t d = 0; d < x.rank(); ++d)
    if (d != axis)
      BYCC_TRY(unifyDim(context, buffer.shape[d], x.shape[d], "an extent of buffer"));
  if (x.shape[axis].isConst() && buffer.shape[axis].isConst() &&
      x.shape[axis].value() > buffer.shape[axis].value())
    return context.error() << "x has " << x.shape[axis].value() << " elements along axis " << axis
                           << ", the buffer holds " << buffer.shape[axis].value();
  return buffer.type;
}

} // namespace bycc::shape
