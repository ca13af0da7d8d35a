// The bytes of a program's constants: mapped weights as they are, or packed copies.
#pragma once

#include "Program.h"

#include <map>
#include <memory>
#include <span>

namespace bycc::onednn {

// Bytes that a checked form takes, with what the library keeps behind the elements.
uint64_t storedBytes(const LayoutForm &form);

// What the weights hold, and where.
struct StoredBytes {
  std::vector<Stored> stored;
  std::vector<ConstantBytes> bytes; // one each
};
// The bytes are those of `weights`, which must outlive them.
Expected<StoredBytes> storedIn(std::span<const uint8_t> weights, std::vector<Stored> stored);
// The constants that the steps of a plan use, row-major, in memory of the plan's.
StoredBytes storedOf(const Plan &plan);

// Constants of one region. Programs of it (for other thread counts or extents) share
// what is packed alike from bytes that nobody owns. Not thread-safe.
class ConstantPool {
public:
  // Per constant of the program; null where no buffer of a slot holds it.
  Expected<std::vector<ConstantBytes>> bytesFor(const Plan &plan, const Program &program,
                                                const StoredBytes &stored);

private:
  std::map<std::string, std::weak_ptr<const uint8_t>> packed_; // by what they are made of and how
};

} // namespace bycc::onednn
