// Shape arithmetic while importing. Exporters compute the target of a Reshape
// from Shape, Gather, Concat, ...; its value is needed to type the program, so
// small integer tensors of rank 0 and 1 are evaluated as the graph is read.
// Elements may be unknown (a symbolic dim), the rest still counts.
#pragma once

#include "bycc/Support/DType.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace bycc::onnx {

class OpContext;

struct IntTensor {
  DType dtype = DType::Int64; // integer or bool
  bool isScalar = false;      // else a vector
  std::vector<std::optional<int64_t>> values;

  bool isComplete() const;
  // All values; only of a complete tensor.
  std::vector<int64_t> all() const;
};

constexpr size_t maxFoldedElements = 1024;

// The value of the node's only output, when the operator is one of shape
// arithmetic and its inputs are known.
std::optional<IntTensor> foldInts(OpContext &op);

} // namespace bycc::onnx
