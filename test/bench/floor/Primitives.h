// A layer as one primitive of the library, in each of the forms worth measuring.
//
// A form is a layout of the data (`any`: the library's preference, `last`: channels last,
// `blocked`: channels in blocks of 16, `plain`, `inner`: a matmul as an inner product, `turned`:
// weights stored transposed), and with #2 the second implementation that the library knows for it.
// Weights of the model's own are always in the layout that the primitive prefers.
#pragma once

#include "Layers.h"
#include "Library.h"

#include <optional>

namespace floor_bench {

// What fills a constant: uniform in [-spread, spread], or `value` everywhere when spread is 0.
struct Fill {
  float spread = 1, value = 0;
};

struct Argument {
  int key;
  dnnl::memory::desc desc;
  std::string tensor; // empty: a constant of the layer's own
  int64_t offset = 0;
  Fill fill;
};

struct Made {
  dnnl::primitive primitive;
  std::string implementation, layouts;
  std::vector<Argument> arguments;
  size_t scratchpadBytes = 0;
  int resultIndex = 0;   // the argument that is written
  std::string sumTensor; // the tensor that a sum adds to in place; else empty
};

std::vector<std::string> formsOf(const Layer &layer);

// Nothing when the library has no such primitive.
std::optional<Made> make(const Layer &layer, const std::string &form);

} // namespace floor_bench
