// ONNX's names where users type those of operators: a model that came from ONNX is known to
// them by these.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bycc {

// The operators that stand for an ONNX operator, whatever the case of its letters: those of
// MaxPool are nn.max_pool1d, nn.max_pool2d and nn.max_pool3d. Empty for other names, and for
// ONNX operators that become several operators at once.
std::vector<std::string> operatorsOfOnnx(std::string_view name);

// What to say of a name that is no operator: "; ONNX's Conv is nn.conv1d, nn.conv2d,
// nn.conv3d here", or the nearest of `known`.
std::string didYouMeanOperator(std::string_view name, const std::vector<std::string> &known);

} // namespace bycc
