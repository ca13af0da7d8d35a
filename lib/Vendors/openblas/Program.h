// What compile() of the openblas vendor gives the run half: products, one after the other.
#pragma once

#include "bycc/vendor.hpp"

namespace bycc::openblas {

namespace kit = bycc::vendor;

// Version of the vendor's halves: of what they say to each other.
inline constexpr const char *programVersion = "1";
inline constexpr kit::Format programFormat = {"openblas region", 1};
inline constexpr uint64_t maxExtent = INT32_MAX; // OpenBLAS counts in int

// One of two operands, each of its matrices row-major, and as it lies there or transposed.
struct Factor {
  uint32_t value = 0;
  bool isTransposed = false, isRepeated = false; // repeated: one matrix for all of the batch
  auto members() { return std::tie(value, isTransposed, isRepeated); }
};

// out[i] = a[i] * b[i] + bias, then relu, for each i of the batch: rows x width times width x
// columns.
struct Product {
  enum class Bias : uint8_t { None, OfRows, OfColumns, count };
  Factor a, b;
  uint64_t batch = 1, rows = 0, columns = 0, width = 0;
  uint32_t out = 0, bias = 0; // values
  Bias biasKind = Bias::None;
  bool hasRelu = false;
  auto members() {
    return std::tie(a, b, batch, rows, columns, width, out, bias, biasKind, hasRelu);
  }
};

struct Program {
  kit::Memory memory;
  std::vector<Product> products;
  auto members() { return std::tie(memory, products); }
};

} // namespace bycc::openblas
