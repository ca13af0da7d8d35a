// What library kernels share: element access across dtypes, lines along an axis,
// and keys that order elements of any dtype.
#pragma once

#include "bycc/Library/Call.h"
#include "bycc/Library/Kernels.h"

#include <cstring>
#include <vector>

namespace bycc {

using Ints = std::vector<int64_t>;
using LibraryFn = Expected<> (*)(LibraryCall &call);

namespace library {
#define BYCC_LIBRARY(id) Expected<> id(LibraryCall &call);
#include "bycc/Library/Kernels.def"
#undef BYCC_LIBRARY
} // namespace library

// --- elements

int64_t product(std::span<const int64_t> extents);
Ints rowStrides(std::span<const int64_t> shape);

// Elements begin, begin + stride, ... as doubles, or integers by their bits.
void loadReals(const Operand &from, int64_t begin, int64_t stride, std::span<double> to);
void loadInts(const Operand &from, int64_t begin, int64_t stride, std::span<int64_t> to);
void storeReals(const Operand &to, int64_t begin, int64_t stride, std::span<const double> from);
void storeInts(const Operand &to, int64_t begin, int64_t stride, std::span<const int64_t> from);
// All elements of an operand that holds indices, extents or other integers.
Ints allInts(const Operand &from);
std::vector<double> allReals(const Operand &from);

// Unsigned keys in the order of the elements: NaN is greater than every number,
// the two zeros are equal.
void loadKeys(const Operand &from, int64_t begin, int64_t stride, std::span<uint64_t> to);

// Lines along an axis: `count` lines, line n begins at begin(n).
struct Lines {
  Lines(std::span<const int64_t> shape, size_t axis);
  int64_t extent, stride, count;
  int64_t begin(int64_t line) const { return line / stride * extent * stride + line % stride; }
};

// An index that may count from the end; ARG when it is out of range.
Expected<int64_t> checkIndex(int64_t index, int64_t extent);

} // namespace bycc
