// The bytes of a program's constants: mapped weights as they are, or packed copies.
#pragma once

#include "Program.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <span>

namespace bycc::onednn {

struct FreeDeleter {
  void operator()(void *memory) const { std::free(memory); }
};
using AlignedBytes = std::unique_ptr<uint8_t, FreeDeleter>;
// 64-byte aligned, null when there is none.
AlignedBytes allocateAligned(uint64_t bytes);

using ConstantBytes = std::shared_ptr<const uint8_t>;

// Constants of one region. Programs of it (for other thread counts or extents) share
// what is packed alike. Not thread-safe.
class ConstantPool {
public:
  // `weights` must outlive all bytes that are asked for.
  explicit ConstantPool(std::span<const uint8_t> weights) : weights_(weights) {}

  // Per constant of the program; null where no buffer of a slot holds it.
  Expected<std::vector<ConstantBytes>> bytesFor(const Plan &plan, const Program &program);

private:
  std::span<const uint8_t> weights_;
  std::map<std::string, std::weak_ptr<const uint8_t>> packed_; // by what they are made of and how
};

} // namespace bycc::onednn
