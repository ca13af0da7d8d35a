// What the compile half hands to the run half: the object and what it needs to run.
#pragma once

#include "bycc/vendor.hpp"

namespace bycc::ccompiler {

struct BlobStep {
  std::string name, source;
  auto members() { return std::tie(name, source); }
};

struct Blob {
  uint32_t numInputs = 0, numOutputs = 0;
  uint64_t arenaBytes = 0;
  uint64_t weightsEnd = 0; // one past the last byte of a constant it reads
  std::vector<BlobStep> steps{};
  std::vector<uint8_t> object{}; // ELF, with the table bycc_region_steps
  auto members() { return std::tie(numInputs, numOutputs, arenaBytes, weightsEnd, steps, object); }
};

// Version of the vendor's halves: of what they say to each other.
inline constexpr const char *blobVersion = "2";
inline constexpr vendor::Format blobFormat = {"ccompiler region", 2};

// Symbol of the step table, and what it holds.
inline constexpr const char *stepTable = "bycc_region_steps";
using StepFunction = void (*)(const uint8_t *weights, uint8_t *arena, const void *const *in,
                              void *const *out);

} // namespace bycc::ccompiler
