// Activations as functions of a value, for operators that have one inside.
#pragma once

#include "OnnxCompose.h"

namespace bycc::onnx {

struct Activation {
  std::string_view name; // lower case
  double alpha, beta;    // as given, or the defaults
  int numParameters;     // taken from activation_alpha, activation_beta: alpha, beta
};

// By its name in ONNX, of any case; null when there is none.
const Activation *findActivation(std::string_view name);
NodeId activate(Compose &c, const Activation &f, NodeId x);
NodeId hardSwishOf(Compose &c, NodeId x);

// By erf, or by tanh.
Expected<NodeId> geluOf(OpContext &op, NodeId x, bool isTanh);
// x * sigmoid(alpha * x)
Expected<NodeId> swishOf(OpContext &op, NodeId x, double alpha);
// A softmax (nn.softmax, nn.log_softmax) over `axis`; flattening, over all axes from it on as one.
Expected<NodeId> softmaxOf(OpContext &op, std::string_view name, NodeId x, int64_t axis,
                           bool isFlattening = false);

} // namespace bycc::onnx
