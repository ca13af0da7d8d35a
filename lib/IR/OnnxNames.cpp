#include "bycc/IR/OnnxNames.h"

#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cctype>

namespace bycc {
namespace {

struct NameRow {
  std::string_view onnx, operators; // separated by blanks
};

// Sorted by name. What Frontend/OnnxOps.def makes of an operator where that is one operator,
// of whatever rank.
constexpr NameRow nameRows[] = {
    {"add", "add"},
    {"and", "logical_and"},
    {"averagepool", "nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d"},
    {"batchnormalization", "nn.batch_norm"},
    {"cast", "cast"},
    {"clip", "clip"},
    {"concat", "concatenate"},
    {"conv", "nn.conv1d nn.conv2d nn.conv3d"},
    {"convtranspose", "nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose"},
    {"dequantizelinear", "qnn.dequantize"},
    {"div", "divide"},
    {"dropout", "nn.dropout"},
    {"flatten", "nn.batch_flatten reshape"},
    {"gather", "take"},
    {"gatherelements", "gather"},
    {"gathernd", "gather_nd"},
    {"gemm", "nn.dense nn.matmul"},
    {"globalaveragepool", "nn.global_avg_pool2d"},
    {"globalmaxpool", "nn.global_max_pool2d"},
    {"greater", "greater"},
    {"greaterorequal", "greater_equal"},
    {"gridsample", "image.grid_sample"},
    {"groupnormalization", "nn.group_norm"},
    {"instancenormalization", "nn.instance_norm"},
    {"layernormalization", "nn.layer_norm"},
    {"leakyrelu", "nn.leaky_relu"},
    {"lessorequal", "less_equal"},
    {"logsoftmax", "nn.log_softmax"},
    {"lrn", "nn.lrn"},
    {"matmul", "nn.matmul nn.dense nn.batch_matmul"},
    {"max", "maximum"},
    {"maxpool", "nn.max_pool1d nn.max_pool2d nn.max_pool3d"},
    {"min", "minimum"},
    {"mul", "multiply"},
    {"neg", "negative"},
    {"nonmaxsuppression", "vision.all_class_non_max_suppression"},
    {"not", "logical_not"},
    {"onehot", "one_hot"},
    {"or", "logical_or"},
    {"pad", "nn.pad nn.mirror_pad"},
    {"pow", "power"},
    {"prelu", "nn.prelu"},
    {"quantizelinear", "qnn.quantize"},
    {"range", "arange"},
    {"reducemax", "max"},
    {"reducemean", "mean"},
    {"reducemin", "min"},
    {"reduceprod", "prod"},
    {"reducesum", "sum"},
    {"relu", "nn.relu"},
    {"resize", "image.resize1d image.resize2d image.resize3d"},
    {"roialign", "vision.roi_align"},
    {"scatterelements", "scatter_elements"},
    {"scatternd", "scatter_nd"},
    {"shape", "shape_of"},
    {"slice", "strided_slice"},
    {"softmax", "nn.softmax"},
    {"spacetodepth", "nn.space_to_depth"},
    {"sub", "subtract"},
    {"unsqueeze", "expand_dims"},
    {"upsample", "nn.upsampling image.resize2d"},
    {"xor", "logical_xor"},
};

} // namespace

std::vector<std::string> operatorsOfOnnx(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  auto row = std::ranges::lower_bound(nameRows, std::string_view(lower), {}, &NameRow::onnx);
  if (row == std::end(nameRows) || row->onnx != lower)
    return {};
  return split(row->operators, ' ');
}

std::string didYouMeanOperator(std::string_view name, const std::vector<std::string> &known) {
  std::vector<std::string> operators = operatorsOfOnnx(name);
  if (operators.empty())
    return didYouMean(name, known);
  return "; ONNX's " + escaped(name) + " is " + join(operators, ", ") + " here";
}

} // namespace bycc
