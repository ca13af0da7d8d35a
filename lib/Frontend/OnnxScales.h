// Scales and zero points of quantised operators.
#pragma once

#include "OnnxConverters.h"

#include <cstdint>

namespace bycc::onnx {

// As all of ONNX rounds.
inline const Attr tiesToEven{"rounding", "TONEAREST_EVEN"};

// Scales are float32; floats of 16 bits came with the opset `since`.
constexpr int64_t never = INT64_MAX;
// float32 and int32; one of one element has rank 0. A zero point that is not given is 0.
Expected<NodeId> scaleAt(OpContext &op, size_t index, int64_t since = never,
                         bool takesInt32 = false);
Expected<NodeId> zeroAt(OpContext &op, size_t index);

} // namespace bycc::onnx
