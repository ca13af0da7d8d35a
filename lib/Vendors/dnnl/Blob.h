// What the compile half writes and the run half reads: a plan, where its constants are,
// and the program that it was lowered to. The reader believes nothing: after `readBlob`
// every index is in range, every layout is one, of the operand's extents, and lies in
// its buffer.
#pragma once

#include "NanSafe.h"

#include <optional>
#include <span>

namespace bycc::onednn {

// What a program was made with; where it differs, the region is lowered anew.
struct Circumstances {
  std::string library, instructionSet;
  bool operator==(const Circumstances &) const = default;
};
Circumstances circumstancesHere();

struct Blob {
  Plan plan;
  NanMode nan = NanMode::Keep;
  std::vector<Stored> stored;
  Circumstances madeWith;
  std::optional<Program> program;
};

std::vector<uint8_t> writeBlob(const Blob &blob);
Expected<Blob> readBlob(std::span<const uint8_t> bytes);

} // namespace bycc::onednn
