// A call of a library kernel: as compiled code makes it (the runtime runs it), as
// Eval makes it, and as the kernel sees it.
//
// A kernel checks what is only known at run time (indices, counts) and answers
// with Status::Arg; dtypes, ranks and attributes were checked by type inference.
#pragma once

#include "bycc/Library/Kernels.h"
#include "bycc/Support/DType.h"
#include "bycc/Support/Error.h"
#include "bycc/abi.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace bycc {

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
  // bycc_exec_api::parallel_for.
  using ParallelFor =
      std::function<void(bycc_task_fn task, void *closure, int64_t count, int64_t grain)>;
  LibraryCall(const bycc_library_call &call, Allocate allocate, ParallelFor parallelFor)
      : call_(call), allocate_(std::move(allocate)), parallelFor_(std::move(parallelFor)) {}

  size_t numInputs() const { return call_.num_inputs; }
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
  Allocate allocate_;
  ParallelFor parallelFor_;
};

// Runs the kernel of that number, its name in front of its errors. May throw
// std::bad_alloc.
Expected<> runLibraryKernel(LibraryCall &call, uint32_t kernel);

} // namespace bycc
