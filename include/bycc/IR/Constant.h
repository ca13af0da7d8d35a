// A tensor constant: a counted view (storage, offset) of bytes that nobody
// changes. Passes share views, never copy bytes.
#pragma once

#include "bycc/IR/Ids.h"
#include "bycc/Support/File.h"

#include <memory>
#include <string>

namespace bycc {

struct Constant {
  TypeId type; // static tensor type, row-major
  std::shared_ptr<const Storage> storage;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::string name;  // of the initializer or parameter, may be empty
  uint64_t hash = 0; // of dtype, shape and bytes; set when it is added to a Module

  const uint8_t *data() const { return storage->data() + offset; }
};

} // namespace bycc
