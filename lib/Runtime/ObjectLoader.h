// Loads a relocatable ELF object into memory, ready to run.
#pragma once

#include "bycc/Support/Error.h"

#include "bycc/abi.h"

#include <cstdint>
#include <string>

namespace bycc::runtime {

// The memory an object lives in; unmapped with it.
class LoadedObject {
public:
  LoadedObject() = default;
  LoadedObject(LoadedObject &&other) noexcept;
  LoadedObject &operator=(LoadedObject &&other) noexcept;
  ~LoadedObject();
  const bycc_module *module() const { return module_; }

private:
  friend class ObjectLoader;
  uint8_t *memory_ = nullptr;
  uint64_t size_ = 0;
  const bycc_module *module_ = nullptr;
};

// Loads the bytes of an x86-64 ELF object; they are not needed afterwards.
// Anything malformed, unsupported or unresolved is Status::Load. No code of the
// object runs.
Expected<LoadedObject> loadObject(const uint8_t *data, uint64_t size, const std::string &file);

} // namespace bycc::runtime
