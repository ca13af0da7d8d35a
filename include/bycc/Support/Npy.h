// NumPy's .npy files: versions 1 to 3 are read, in C or Fortran order; version 1
// in C order is written. bfloat16, which NumPy does not have, travels as uint16.
#pragma once

#include "bycc/Support/DType.h"
#include "bycc/Support/File.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

struct NpyArray {
  DType dtype = DType::Float32;
  std::vector<int64_t> shape; // empty: rank 0
  std::shared_ptr<const Storage> storage;
  uint64_t offset = 0; // of the elements, row-major, in `storage`
  uint64_t bytes = 0;

  const uint8_t *data() const { return storage->data() + offset; }
  // Whether the file can stand for a tensor of `type`.
  bool holds(DType type) const {
    return dtype == type || (type == DType::BFloat16 && dtype == DType::UInt16);
  }
};

// Malformed files are Status::Input, unreadable ones Status::Io.
Expected<NpyArray> readNpy(const std::string &path);
// The same for bytes in memory; `file` is for messages.
Expected<NpyArray> parseNpy(std::shared_ptr<const Storage> bytes, const std::string &file);
// What stands before the elements of a file: OutputSet::add(path, {header, elements}).
std::string npyHeader(DType dtype, std::span<const int64_t> shape);

} // namespace bycc
