// What library kernels share: the call as a kernel sees it, element access across
// dtypes, lines along an axis, and keys that order elements of any dtype.
//
// A kernel checks what is only known at run time (indices, counts) and answers
// with Status::Arg; dtypes, ranks and attributes were checked by the compiler.
#pragma once

#include "bycc/Support/DType.h"
#include "bycc/Support/Error.h"
#include "bycc/abi.h"
#include "bycc/library.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

namespace bycc::runtime {

using Ints = std::vector<int64_t>;

struct Operand {
  uint8_t *data = nullptr;
  std::span<const int64_t> shape;
  DType dtype = DType::Float32;

  size_t rank() const { return shape.size(); }
  int64_t count() const;
  int64_t elementBytes() const { return sizeInBytes(dtype); }
  uint8_t *at(int64_t index) const { return data + index * elementBytes(); }
  // One element, by its kind.
  double real(int64_t index) const;
  int64_t integer(int64_t index) const; // floats truncate; uint64 keeps its bits
  void setReal(int64_t index, double value) const;
  void setInteger(int64_t index, int64_t value) const; // wraps
};

class LibraryCall {
public:
  using Slice = std::function<void(int64_t begin, int64_t end)>;
  // Memory of a result that the kernel makes; null: there is none, and the reason
  // is recorded.
  using Allocate = std::function<void *(const bycc_operand &result, int64_t bytes)>;
  LibraryCall(const bycc_library_call &call, const bycc_exec &exec, Allocate allocate)
      : call_(call), exec_(exec), allocate_(std::move(allocate)) {}

  size_t numInputs() const { return call_.num_inputs; }
  size_t numResults() const { return call_.num_results; }
  Operand input(size_t index) const;
  int64_t attribute(size_t index) const { return call_.attributes[index]; }
  double realAttribute(size_t index) const;
  // The memory of a result of this shape, made when the extents depend on data.
  Expected<Operand> result(size_t index, std::span<const int64_t> shape);
  Expected<Operand> result(size_t index, std::initializer_list<int64_t> shape) {
    return result(index, std::span(shape.begin(), shape.size()));
  }
  // The planned shape of a result whose extents are known before the kernel runs.
  std::span<const int64_t> plannedShape(size_t index) const;
  // Splits [0, count) over the threads; slices hold at least `grain` items. What
  // a slice throws is thrown here.
  void parallel(int64_t count, int64_t grain, const Slice &slice) const;

private:
  const bycc_library_call &call_;
  const bycc_exec &exec_;
  Allocate allocate_;
};

using LibraryFn = Expected<> (*)(LibraryCall &call);

namespace library {
#define BYCC_LIBRARY(id) Expected<> id(LibraryCall &call);
#include "bycc/library.def"
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

} // namespace bycc::runtime
