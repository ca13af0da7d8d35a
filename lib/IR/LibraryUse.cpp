// The table of operators that library kernels compute, with their attributes.
#include "bycc/IR/LibraryUse.h"

#include "bycc/Support/Layout.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

namespace bycc {
namespace {

// One operator call on its way to a kernel.
struct Call {
  const Module &m;
  NodeId id;

  int64_t integer(std::string_view key) const { return attrs::integer(m, id, key); }
  int64_t flag(std::string_view key) const { return attrs::boolean(m, id, key); }
  std::string_view text(std::string_view key) const { return attrs::text(m, id, key); }
  bool isNone(std::string_view key) const { return attrs::isNone(m, id, key); }
  double real(std::string_view key) const { return attrs::number(m, id, key); }
  int64_t rank(size_t operand) const {
    return static_cast<int64_t>(m.types.shape(m.type(m.operands(id)[operand])).size());
  }
  int64_t axis(std::string_view key, size_t operand = 0) const {
    int64_t value = integer(key);
    return value < 0 ? value + rank(operand) : value;
  }
  ErrorBuilder unsupported() const {
    return error(Status::Unsup, m.source(id)) << opInfo(m.node(id).op).name << ": ";
  }
};

Expected<LibraryUse> argsort(const Module &m, NodeId id) {
  Call call{m, id};
  return LibraryUse{LibraryKernel::argsort, {call.axis("axis"), call.flag("is_ascend")}, {0}};
}

Expected<LibraryUse> argwhere(const Module &, NodeId) {
  return LibraryUse{LibraryKernel::argwhere};
}

Expected<LibraryUse> cumulate(const Module &m, NodeId id) {
  Call call{m, id};
  bool isFlat = call.isNone("axis");
  LibraryUse use{
      LibraryKernel::cumulate,
      {isFlat ? -1 : call.axis("axis"), m.node(id).op == ops::cumprod, call.flag("exclusive")}};
  if (!isFlat)
    use.like = {0};
  return use;
}

Expected<LibraryUse> invertPermutation(const Module &, NodeId) {
  return LibraryUse{LibraryKernel::invertPermutation, {}, {0}};
}

Expected<int64_t> scatterMode(const Call &call, std::string_view key) {
  constexpr std::array<std::string_view, 6> modes = {"update", "add", "mul", "min", "max", "mean"};
  auto found = std::find(modes.begin(), modes.end(), call.text(key));
  if (found == modes.end())
    return call.unsupported() << key << " \"" << call.text(key) << "\"";
  return found - modes.begin();
}

Expected<LibraryUse> scatterElements(const Module &m, NodeId id) {
  Call call{m, id};
  return LibraryUse{LibraryKernel::scatterElements,
                    {call.axis("axis"), BYCC_TRY(scatterMode(call, "reduction"))},
                    {0}};
}

Expected<LibraryUse> scatterNd(const Module &m, NodeId id) {
  Call call{m, id};
  return LibraryUse{LibraryKernel::scatterNd, {BYCC_TRY(scatterMode(call, "mode"))}, {0}};
}

Expected<LibraryUse> searchSorted(const Module &m, NodeId id) {
  return LibraryUse{LibraryKernel::searchSorted, {Call{m, id}.flag("right")}, {1}};
}

Expected<LibraryUse> sort(const Module &m, NodeId id) {
  Call call{m, id};
  return LibraryUse{LibraryKernel::sort, {call.axis("axis"), call.flag("is_ascend")}, {0}};
}

Expected<LibraryUse> sparseToDense(const Module &, NodeId) {
  return LibraryUse{LibraryKernel::sparseToDense};
}

Expected<LibraryUse> topk(const Module &m, NodeId id) {
  Call call{m, id};
  int64_t k = m.node(id).op == ops::topk ? call.integer("k") : -1;
  std::string_view which = call.text("ret_type");
  return LibraryUse{
      LibraryKernel::topk,
      {k, call.axis("axis"), call.flag("is_ascend"), which != "indices", which != "values"}};
}

Expected<LibraryUse> unique(const Module &m, NodeId id) {
  Call call{m, id};
  LibraryUse use{LibraryKernel::unique,
                 {call.isNone("axis") ? 0 : call.axis("axis"), call.flag("sorted"),
                  call.flag("return_counts")}};
  if (call.isNone("axis"))
    use.like = {LibraryUse::told, LibraryUse::told, 0};
  return use;
}

// --- images

int64_t bits(double value) { return std::bit_cast<int64_t>(value); }

// Position of the attribute's text in the list, which type inference has checked.
int64_t choice(const Call &call, std::string_view key,
               std::initializer_list<std::string_view> choices) {
  return std::find(choices.begin(), choices.end(), call.text(key)) - choices.begin();
}

std::vector<int64_t> realBits(const Call &call, std::string_view key) {
  std::vector<int64_t> result;
  if (!call.isNone(key))
    for (const AttrValue &item : call.m.attr(call.id, key)->asList())
      result.push_back(bits(item.isInt() ? static_cast<double>(item.asInt()) : item.asFloat()));
  return result;
}

// Axes of the letters in a layout attribute.
std::vector<int64_t> axesOf(const Call &call, std::string_view key, std::string_view letters) {
  auto layout = Layout::parse(call.text(key));
  std::vector<int64_t> axes;
  for (char letter : letters)
    axes.push_back(static_cast<int64_t>(*layout->find(letter)));
  return axes;
}

void append(std::vector<int64_t> &to, const std::vector<int64_t> &more) {
  to.insert(to.end(), more.begin(), more.end());
}

constexpr std::array<std::string_view, 5> roundings = {"round", "floor", "ceil",
                                                       "round_prefer_floor", "round_prefer_ceil"};

LibraryUse resizeCall(const Call &call, ResizeSource source, std::string_view letters,
                      int64_t method, int64_t coordinates, int64_t rounding,
                      std::vector<int64_t> sizes, const std::vector<int64_t> &scales,
                      const std::vector<int64_t> &roi) {
  bool isResize = opInfo(call.m.node(call.id).op).findAttr("cubic_alpha") != nullptr;
  int64_t rank = static_cast<int64_t>(letters.size());
  sizes.resize(letters.size(), 0);
  std::vector<int64_t> attributes{static_cast<int64_t>(source),
                                  method,
                                  coordinates,
                                  rounding,
                                  isResize && call.flag("antialias"),
                                  isResize && call.integer("cubic_exclude") != 0,
                                  rank,
                                  static_cast<int64_t>(scales.size()),
                                  static_cast<int64_t>(roi.size()),
                                  bits(isResize ? call.real("cubic_alpha") : -0.5),
                                  bits(isResize ? call.real("extrapolation_value") : 0)};
  append(attributes, axesOf(call, "layout", letters));
  append(attributes, sizes);
  append(attributes, scales);
  append(attributes, roi);
  return LibraryUse{LibraryKernel::resize, std::move(attributes)};
}

std::string spatialLetters(const Call &call) {
  return layoutLetters("", static_cast<size_t>(call.rank(0) - 2));
}

Expected<LibraryUse> resize(const Module &m, NodeId id) {
  Call call{m, id};
  bool isDynamic = m.node(id).op == ops::dyn_image_resize2d;
  int64_t method = choice(call, "method", {"nearest_neighbor", "linear", "cubic"});
  int64_t coordinates =
      choice(call, "coordinate_transformation_mode",
             {"half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric",
              "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  int64_t rounding =
      call.text("rounding_method").empty()
          ? 0
          : std::find(roundings.begin(), roundings.end(), call.text("rounding_method")) -
                roundings.begin();
  return resizeCall(call, isDynamic ? ResizeSource::SizeOperand : ResizeSource::Sizes,
                    spatialLetters(call), method, coordinates, rounding,
                    isDynamic ? std::vector<int64_t>() : attrs::integers(m, id, "size"),
                    realBits(call, "scales"),
                    isDynamic ? std::vector<int64_t>() : realBits(call, "roi"));
}

Expected<LibraryUse> upsampling(const Module &m, NodeId id) {
  Call call{m, id};
  bool isDynamic = m.node(id).op == ops::dyn_nn_upsampling,
       isVolume = m.node(id).op == ops::nn_upsampling3d;
  ResizeCoordinates coordinates = ResizeCoordinates::Asymmetric;
  if (isVolume)
    coordinates = call.text("coordinate_transformation_mode") == "half_pixel"
                      ? ResizeCoordinates::HalfPixel
                  : call.text("coordinate_transformation_mode") == "align_corners"
                      ? ResizeCoordinates::AlignCorners
                      : coordinates;
  else if (call.flag("align_corners"))
    coordinates = ResizeCoordinates::AlignCorners;
  auto rounding =
      coordinates == ResizeCoordinates::Asymmetric ? ResizeRounding::Floor : ResizeRounding::Round;
  std::string_view text = call.text("method");
  ResizeMethod method = text == "nearest_neighbor" ? ResizeMethod::Nearest
                        : text == "bicubic"        ? ResizeMethod::Cubic
                                                   : ResizeMethod::Linear;
  std::vector<int64_t> scales;
  if (isVolume)
    scales.push_back(bits(call.real("scale_d")));
  if (!isDynamic)
    append(scales, {bits(call.real("scale_h")), bits(call.real("scale_w"))});
  return resizeCall(call, isDynamic ? ResizeSource::ScaleOperands : ResizeSource::Scales,
                    spatialLetters(call), static_cast<int64_t>(method),
                    static_cast<int64_t>(coordinates), static_cast<int64_t>(rounding), {}, scales,
                    {});
}

Expected<LibraryUse> cropAndResize(const Module &m, NodeId id) {
  Call call{m, id};
  LibraryUse use{LibraryKernel::cropAndResize, {call.text("method") == "nearest_neighbor"}};
  append(use.attributes, axesOf(call, "layout", "HWC"));
  append(use.attributes, attrs::integers(m, id, "crop_size"));
  use.attributes.push_back(bits(call.real("extrapolation_value")));
  return use;
}

Expected<LibraryUse> gridSample(const Module &m, NodeId id) {
  Call call{m, id};
  return LibraryUse{LibraryKernel::gridSample,
                    {choice(call, "method", {"bilinear", "nearest", "bicubic"}),
                     choice(call, "padding_mode", {"zeros", "border", "reflection"}),
                     call.flag("align_corners")}};
}

Expected<LibraryUse> deformableConv(const Module &m, NodeId id) {
  Call call{m, id};
  Padding padding = attrs::padding(m, id, 2);
  std::string out(call.text("out_layout").empty() ? call.text("data_layout")
                                                  : call.text("out_layout"));
  for (std::string_view layout :
       {call.text("data_layout"), call.text("kernel_layout"), std::string_view(out)})
    if (layout.size() != 4)
      return call.unsupported() << "the layout \"" << layout << "\" has no kernel";
  LibraryUse use{LibraryKernel::deformableConv2d, attrs::perAxis(m, id, "strides", 2)};
  append(use.attributes, padding.before);
  append(use.attributes, attrs::perAxis(m, id, "dilation", 2));
  append(use.attributes, {call.integer("groups"), call.integer("deformable_groups")});
  append(use.attributes, axesOf(call, "data_layout", "NCHW"));
  append(use.attributes, axesOf(call, "kernel_layout", "OIHW"));
  append(use.attributes,
         axesOf(call, call.text("out_layout").empty() ? "data_layout" : "out_layout", "NCHW"));
  return use;
}

// --- detection

Expected<LibraryUse> allClassNms(const Module &, NodeId) {
  return LibraryUse{LibraryKernel::allClassNonMaxSuppression};
}

Expected<LibraryUse> validCounts(const Module &m, NodeId id) {
  Call call{m, id};
  return LibraryUse{
      LibraryKernel::getValidCounts, {call.integer("id_index"), call.integer("score_index")}, {}};
}

Expected<LibraryUse> nonMaxSuppression(const Module &m, NodeId id) {
  Call call{m, id};
  return LibraryUse{LibraryKernel::nonMaxSuppression,
                    {call.flag("force_suppress"), call.integer("top_k"),
                     call.integer("coord_start"), call.integer("score_index"),
                     call.integer("id_index"), call.flag("return_indices"),
                     call.flag("invalid_to_bottom")},
                    {}};
}

Expected<LibraryUse> multiboxPrior(const Module &m, NodeId id) {
  Call call{m, id};
  LibraryUse use{LibraryKernel::multiboxPrior, {}};
  std::vector<int64_t> sizes = realBits(call, "sizes"), ratios = realBits(call, "ratios");
  use.attributes = {static_cast<int64_t>(sizes.size()), static_cast<int64_t>(ratios.size()),
                    call.flag("clip")};
  for (const auto &list : {sizes, ratios, realBits(call, "steps"), realBits(call, "offsets")})
    append(use.attributes, list);
  return use;
}

Expected<LibraryUse> multiboxTransform(const Module &m, NodeId id) {
  Call call{m, id};
  LibraryUse use{LibraryKernel::multiboxTransformLoc,
                 {call.flag("clip"), call.flag("keep_background"), bits(call.real("threshold"))}};
  append(use.attributes, realBits(call, "variances"));
  return use;
}

Expected<LibraryUse> proposal(const Module &m, NodeId id) {
  Call call{m, id};
  std::vector<int64_t> scales = realBits(call, "scales"), ratios = realBits(call, "ratios");
  LibraryUse use{LibraryKernel::proposal,
                 {static_cast<int64_t>(scales.size()), static_cast<int64_t>(ratios.size()),
                  call.integer("feature_stride"), call.integer("rpn_pre_nms_top_n"),
                  call.integer("rpn_post_nms_top_n"), call.integer("rpn_min_size"),
                  call.flag("iou_loss"), bits(call.real("threshold"))}};
  append(use.attributes, scales);
  append(use.attributes, ratios);
  return use;
}

Expected<LibraryUse> roiPool(const Module &m, NodeId id) {
  Call call{m, id};
  bool isAlign = m.node(id).op == ops::vision_roi_align;
  LibraryUse use{isAlign ? LibraryKernel::roiAlign : LibraryKernel::roiPool,
                 axesOf(call, "layout", "CHW")};
  append(use.attributes, attrs::integers(m, id, "pooled_size"));
  if (isAlign)
    append(use.attributes,
           {call.integer("sample_ratio"), call.text("mode") == "max", call.flag("aligned")});
  use.attributes.push_back(bits(call.real("spatial_scale")));
  return use;
}

Expected<LibraryUse> yoloReorg(const Module &m, NodeId id) {
  return LibraryUse{LibraryKernel::yoloReorg, {Call{m, id}.integer("stride")}};
}

Expected<LibraryUse> correlation(const Module &m, NodeId id) {
  Call call{m, id};
  Padding padding = attrs::padding(m, id, 2);
  return LibraryUse{LibraryKernel::correlation,
                    {call.integer("kernel_size"), call.integer("max_displacement"),
                     call.integer("stride1"), call.integer("stride2"), padding.before[0],
                     padding.before[1], padding.after[0], padding.after[1],
                     call.flag("is_multiply")}};
}

// --- signals, sparse matrices, losses

Expected<LibraryUse> dft(const Module &m, NodeId id) {
  return LibraryUse{LibraryKernel::dft, {Call{m, id}.flag("inverse")}, {0, 0}};
}

Expected<LibraryUse> stft(const Module &m, NodeId id) {
  Call call{m, id};
  return LibraryUse{LibraryKernel::stft,
                    {call.integer("n_fft"), call.integer("hop_length"), call.flag("normalized"),
                     call.flag("onesided")}};
}

Expected<LibraryUse> determinant(const Module &, NodeId) {
  return LibraryUse{LibraryKernel::determinant};
}

Expected<LibraryUse> sparseAdd(const Module &, NodeId) {
  return LibraryUse{LibraryKernel::sparseAdd, {}, {0}};
}

Expected<LibraryUse> sparseDense(const Module &m, NodeId id) {
  return LibraryUse{LibraryKernel::sparseDense, {Call{m, id}.flag("sparse_lhs")}};
}

Expected<LibraryUse> sparseTranspose(const Module &, NodeId) {
  return LibraryUse{LibraryKernel::sparseTranspose, {}, {0, 1, 2}};
}

Expected<LibraryUse> nllLoss(const Module &m, NodeId id) {
  Call call{m, id};
  LibraryUse use{
      LibraryKernel::nllLoss,
      {choice(call, "reduction", {"mean", "sum", "none"}), call.integer("ignore_index")}};
  if (call.text("reduction") == "none")
    use.like = {1};
  return use;
}

// --- the table

// Resizing of known extents, or with tables, is a loop nest; the kernel does the rest.
bool isHardResize(const Module &m, NodeId id) {
  if (opInfo(m.node(id).op).findAttr("antialias") && attrs::boolean(m, id, "antialias"))
    return true;
  bool isKnown = m.types.isStatic(m.type(id)) && m.types.isStatic(m.type(m.operands(id)[0]));
  return !isKnown && !hasResizeTables(m, id);
}

struct LibraryRow {
  OpId op;
  Expected<LibraryUse> (*use)(const Module &, NodeId);
  bool (*isUsed)(const Module &, NodeId) = nullptr; // null: always
};

constexpr LibraryRow libraryRows[] = {
    {ops::argsort, argsort},
    {ops::argwhere, argwhere},
    {ops::cumprod, cumulate},
    {ops::cumsum, cumulate},
    {ops::dft, dft},
    {ops::dyn_image_resize2d, resize, isHardResize},
    {ops::dyn_nn_upsampling, upsampling},
    {ops::dyn_topk, topk},
    {ops::image_crop_and_resize, cropAndResize},
    {ops::image_grid_sample, gridSample},
    {ops::image_resize1d, resize, isHardResize},
    {ops::image_resize2d, resize, isHardResize},
    {ops::image_resize3d, resize, isHardResize},
    {ops::invert_permutation, invertPermutation},
    {ops::linalg_det, determinant},
    {ops::nn_correlation, correlation},
    {ops::nn_deformable_conv2d, deformableConv},
    {ops::nn_nll_loss, nllLoss},
    {ops::nn_sparse_add, sparseAdd},
    {ops::nn_sparse_dense, sparseDense},
    {ops::nn_sparse_transpose, sparseTranspose},
    {ops::nn_upsampling, upsampling, isHardResize},
    {ops::nn_upsampling3d, upsampling, isHardResize},
    {ops::scatter_elements, scatterElements},
    {ops::scatter_nd, scatterNd},
    {ops::searchsorted, searchSorted},
    {ops::sort, sort},
    {ops::sparse_to_dense, sparseToDense},
    {ops::stft, stft},
    {ops::topk, topk},
    {ops::unique, unique},
    {ops::vision_all_class_non_max_suppression, allClassNms},
    {ops::vision_get_valid_counts, validCounts},
    {ops::vision_multibox_prior, multiboxPrior},
    {ops::vision_multibox_transform_loc, multiboxTransform},
    {ops::vision_non_max_suppression, nonMaxSuppression},
    {ops::vision_proposal, proposal},
    {ops::vision_roi_align, roiPool},
    {ops::vision_roi_pool, roiPool},
    {ops::vision_yolo_reorg, yoloReorg},
};

const LibraryRow *findRow(OpId op) {
  static const std::vector<const LibraryRow *> table = [] {
    std::vector<const LibraryRow *> made(numOps(), nullptr);
    for (const LibraryRow &row : libraryRows)
      made[row.op.index] = &row;
    return made;
  }();
  return table[op.index];
}

} // namespace

bool hasResizeTables(const Module &module, NodeId call) {
  DType type = module.types.dtype(module.type(call));
  bool isSingle = type == DType::Float32 || type == DType::Float16 || type == DType::BFloat16;
  bool isCrop = opInfo(module.node(call).op).findAttr("coordinate_transformation_mode") &&
                attrs::text(module, call, "coordinate_transformation_mode") == "tf_crop_and_resize";
  return isSingle && !isCrop && module.types.dtype(module.type(module.operands(call)[0])) == type;
}

bool hasLibraryUse(OpId op) { return findRow(op) != nullptr; }

bool isLibraryCall(const Module &module, NodeId call) {
  const Node &node = module.node(call);
  const LibraryRow *row = node.kind == NodeKind::CallOp ? findRow(node.op) : nullptr;
  return row && (!row->isUsed || row->isUsed(module, call));
}

Expected<LibraryUse> libraryUse(const Module &module, NodeId call) {
  return findRow(module.node(call).op)->use(module, call);
}

} // namespace bycc
