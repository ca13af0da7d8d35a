// Arrays of Python as a model takes and gives them. Taking one copies nothing when it is
// row-major and on the CPU: the buffer protocol (NumPy) is asked first, as it is the
// fastest, tensors of torch for their NumPy view, others by DLPack. NumPy has no bfloat16;
// ml_dtypes gives it one, which has no buffer, so its 16-bit integers are taken.
#pragma once

#include "bycc/abi.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bycc::python {

namespace nb = nanobind;

inline constexpr int32_t maxRank = 32;

const char *dtypeName(int32_t dtype); // "float32"
size_t dtypeBytes(int32_t dtype);
std::string shapeText(const int64_t *shape, int32_t rank); // "(3, 4)"
std::string typeText(const bycc_tensor_info &info);        // "float32 (batch, 64)"

// Objects of other packages, imported when they are first needed.
struct NumPy {
  nb::object empty, array, ascontiguousarray, fromDlpack;
  nb::object dtypes[13]; // by bycc_dtype; that of bfloat16 is for views
  static const NumPy &get();
};

// An input for one run. It keeps the memory alive.
class InputArray {
public:
  InputArray() = default;
  InputArray(const InputArray &) = delete;
  InputArray &operator=(const InputArray &) = delete;
  ~InputArray() { release(); }

  // Raises bycc.Error when it is no array of the type of `wanted`; extents that are open
  // are the runtime's to check.
  void take(nb::handle value, const bycc_tensor_info &wanted);

  const void *data() const { return data_; }
  const int64_t *shape() const { return shape_; }
  size_t bytes() const { return bytes_; }
  bool isTorch() const { return isTorch_; }

private:
  bool takeBuffer(nb::handle value);
  bool takeBfloat16(nb::handle value);
  bool takeTorch(nb::handle value);
  bool takeDlpack(nb::handle value);
  void release();
  void check(const bycc_tensor_info &wanted) const;

  const void *data_ = nullptr;
  int64_t shape_[maxRank] = {};
  int32_t rank_ = 0, dtype_ = -1;
  size_t bytes_ = 0;
  bool isTorch_ = false, hasBuffer_ = false;
  // What keeps the memory.
  Py_buffer buffer_ = {};
  nb::ndarray<nb::ro> dlpack_;
  nb::object keep_;
};

// A new array for a result, or one of the caller's that is written to.
class OutputArray {
public:
  OutputArray() = default;
  OutputArray(const OutputArray &) = delete;
  OutputArray &operator=(const OutputArray &) = delete;
  ~OutputArray() { release(); }

  // `shape`: a tuple.
  void make(int32_t dtype, nb::handle shape);
  // The caller's: row-major, writable, of this type.
  void take(nb::handle value, const bycc_tensor_info &wanted);

  bool isTaken() const { return isTaken_; }
  void *data() const { return data_; }
  size_t bytes() const { return bytes_; }
  const std::vector<int64_t> &shape() const { return shape_; } // of the caller's
  // The array; ends the access to its memory. A torch tensor if `asTorch`.
  nb::object finish(bool asTorch);

private:
  void open();
  void release();

  nb::object array_; // integers stand in for bfloat16
  nb::object given_;
  Py_buffer buffer_ = {};
  bool hasBuffer_ = false, isTaken_ = false;
  int32_t dtype_ = -1;
  void *data_ = nullptr;
  size_t bytes_ = 0;
  std::vector<int64_t> shape_;
};

} // namespace bycc::python
