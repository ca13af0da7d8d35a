// Sampling at the places of a grid.
#include "OnnxCompose.h"
#include "OnnxConverters.h"

namespace bycc::onnx {

Expected<> convertGridSample(OpContext &op) {
  NodeId x = op.input(0);
  if (op.rank(x) != 4)
    return op.error(Status::Unsup) << "input of rank " << op.rank(x) << " is not supported";
  std::string mode = BYCC_TRY(op.textAttr("mode", op.opset() < 20 ? "bilinear" : "linear"));
  mode = mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode;
  std::string padding = BYCC_TRY(op.textAttr("padding_mode", "zeros"));
  bool alignCorners = BYCC_TRY(op.intAttr("align_corners", 0)) != 0;
  if (mode != "bilinear" && mode != "nearest" && mode != "bicubic")
    return op.error() << "mode must be linear, nearest or cubic";
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return op.error() << "padding_mode must be zeros, border or reflection";
  // ONNX has the coordinates last, Relay after the batch.
  NodeId grid = BYCC_TRY(op.transpose(op.input(1), std::vector<int64_t>{0, 3, 1, 2}));
  op.setOutput(0, BYCC_TRY(op.call("image.grid_sample", {x, grid},
                                   {{"method", mode},
                                    {"padding_mode", padding},
                                    {"align_corners", alignCorners}})));
  return {};
}

} // namespace bycc::onnx
