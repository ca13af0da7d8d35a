// Sampling at the places of a grid.
#include "OnnxCompose.h"
#include "OnnxConverters.h"
#include "OnnxDynamic.h"

namespace bycc::onnx {
namespace {

// Coordinates of the points of one axis, from -1 to 1: at the ends with `isAligned`,
// else in the middle of equal cells.
NodeId axisPoints(Compose &c, NodeId count, std::optional<int64_t> known, bool isAligned) {
  constexpr DType dtype = DType::Float32;
  NodeId i = known ? c.iota(*known, dtype) : c.cast(c.iota(count), dtype);
  NodeId cells = c.cast(count, dtype);
  if (isAligned)
    return c.sub(c.div(c.mul(i, 2), c.call("maximum", c.sub(cells, 1), 1)), 1);
  return c.sub(c.div(c.add(c.mul(i, 2), 1), cells), 1);
}

} // namespace

// grid[n, .., k] = theta[n, k, :] . (x, y, (z,) 1): one summand per axis.
Expected<> convertAffineGrid(OpContext &op) {
  NodeId theta = op.input(0);
  bool isAligned = BYCC_TRY(op.intAttr("align_corners", 0)) != 0;
  std::vector<Dim> shape = op.shape(theta);
  int64_t spatial = shape.size() == 3 && shape[1].isConst() ? shape[1].value() : 0;
  if ((spatial != 2 && spatial != 3) || shape[2] != Dim(spatial + 1))
    return op.error() << "theta of type " << op.types().str(op.module().type(theta))
                      << ", wanted (N, 2, 3) or (N, 3, 4)";
  NodeId size = BYCC_TRY(runTimeInts(op, 1, "size", spatial + 2));
  if (lengthOf(op, size) != spatial + 2)
    return op.error() << "size has " << lengthOf(op, size) << " values, wanted " << spatial + 2;
  const IntTensor *known = op.knownInts(1);
  Compose c(op);
  DType dtype = op.dtype(theta);
  // Column `at` of theta: [N, 1, .., spatial].
  auto column = [&](int64_t at) {
    return c.expand(c.squeeze(c.slice(theta, 2, at, at + 1), {2}), 1, spatial);
  };
  NodeId grid = column(spatial);
  for (int64_t axis = 0; axis < spatial; ++axis) {
    std::optional<int64_t> count = known ? known->values[axis + 2] : std::nullopt;
    if (count && (*count < 1 || *count > (int64_t{1} << 31)))
      return op.error() << "size has the value " << *count;
    NodeId extent =
        count ? c.scalar(DType::Int64, static_cast<double>(*count))
              : c.call("take", {size, op.scalar(DType::Int64, static_cast<double>(axis + 2))},
                       {{"axis", int64_t{0}}});
    NodeId points = c.cast(axisPoints(c, extent, count, isAligned), dtype);
    // The innermost axis is x, the first coordinate.
    grid = c.add(grid, c.mul(c.expand(points, 1, spatial - axis), column(spatial - 1 - axis)));
  }
  op.setOutput(0, BYCC_TRY(c.done(grid)));
  return {};
}

Expected<> convertGridSample(OpContext &op) {
  NodeId x = op.input(0);
  int64_t rank = op.rank(x);
  if ((rank != 4 && rank != 5) || op.rank(op.input(1)) != rank)
    return op.error(Status::Unsup) << "input and grid of rank " << rank << " and "
                                   << op.rank(op.input(1)) << ", 4 and 5 are supported";
  std::string mode = BYCC_TRY(op.textAttr("mode", op.opset() < 20 ? "bilinear" : "linear"));
  mode = mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode;
  std::string padding = BYCC_TRY(op.textAttr("padding_mode", "zeros"));
  bool alignCorners = BYCC_TRY(op.intAttr("align_corners", 0)) != 0;
  if (mode != "bilinear" && mode != "nearest" && mode != "bicubic")
    return op.error() << "mode must be linear, nearest or cubic";
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return op.error() << "padding_mode must be zeros, border or reflection";
  // ONNX has the coordinates last, Relay after the batch.
  NodeId grid =
      BYCC_TRY(op.transpose(op.input(1), rank == 4 ? std::vector<int64_t>{0, 3, 1, 2}
                                                   : std::vector<int64_t>{0, 4, 1, 2, 3}));
  op.setOutput(0, BYCC_TRY(op.call("image.grid_sample", {x, grid},
                                   {{"method", mode},
                                    {"layout", rank == 4 ? "NCHW" : "NCDHW"},
                                    {"padding_mode", padding},
                                    {"align_corners", alignCorners}})));
  return {};
}

} // namespace bycc::onnx
