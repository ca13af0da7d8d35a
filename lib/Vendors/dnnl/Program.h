// A plan made ready to run for one thread count: primitives in order, and where
// each of their operands lives. Immutable once built; shared by all contexts.
#pragma once

#include "Library.h"

#include <map>
#include <memory>
#include <span>

namespace bycc::onednn {

struct Buffer {
  enum class Place : uint8_t { Arena, Input, Output, Fixed };
  Place place = Place::Arena;
  uint64_t index = 0; // Input, Output: which; Arena: offset, once planned
  void *fixed = nullptr;
  uint64_t bytes = 0;
};

// One operand as a primitive sees it.
struct Slot {
  uint32_t buffer;
  Layout layout;
  uint64_t offset = 0; // in the buffer
};

struct Action {
  dnnl::primitive primitive;
  std::vector<std::pair<int, uint32_t>> args; // argument number, slot
  std::string name, detail, source;
};

struct FreeDeleter {
  void operator()(void *memory) const { std::free(memory); }
};
using AlignedBytes = std::unique_ptr<uint8_t, FreeDeleter>;
// 64-byte aligned, null when there is none.
AlignedBytes allocateAligned(uint64_t bytes);

struct Program {
  std::vector<Buffer> buffers;
  std::vector<Slot> slots;
  std::vector<Action> actions;
  uint64_t arenaBytes = 0;
  std::vector<std::shared_ptr<uint8_t>> packed; // constants in the library's layouts
};

// Packed constants by what they are made of and how, so that programs of one region
// (for other thread counts or extents) share them. Not thread-safe.
using PackedConstants = std::map<std::string, std::weak_ptr<uint8_t>>;

// Lowers a checked plan; primitives are made for the calling thread's OpenMP
// thread count. `weights` must outlive the program.
Expected<std::unique_ptr<Program>> buildProgram(const Plan &plan, std::span<const uint8_t> weights,
                                                PackedConstants &packed);

} // namespace bycc::onednn
