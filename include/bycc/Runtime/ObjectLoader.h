// Loads a relocatable ELF object into memory, ready to run.
#pragma once

#include "bycc/Support/Error.h"

#include "bycc/abi.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace bycc::runtime {

// The memory an object lives in; unmapped with it.
class LoadedObject {
public:
  LoadedObject() = default;
  LoadedObject(LoadedObject &&other) noexcept;
  LoadedObject &operator=(LoadedObject &&other) noexcept;
  ~LoadedObject();
  const bycc_module *module() const { return static_cast<const bycc_module *>(entry_); }
  const void *entry() const { return entry_; } // what was asked for by name

private:
  friend class ObjectLoader;
  uint8_t *memory_ = nullptr;
  uint64_t size_ = 0;
  const void *entry_ = nullptr;
};

// Loads the bytes of an x86-64 ELF object; they are not needed afterwards.
// Anything malformed, unsupported or unresolved is Status::Load. No code of the
// object runs.
Expected<LoadedObject> loadObject(const uint8_t *data, uint64_t size, const std::string &file);

// The same for any object: its entry is the symbol of that name, which must have
// `entryBytes` bytes, aligned to 8.
Expected<LoadedObject> loadObject(const uint8_t *data, uint64_t size, const std::string &file,
                                  std::string_view entry, uint64_t entryBytes);

} // namespace bycc::runtime
