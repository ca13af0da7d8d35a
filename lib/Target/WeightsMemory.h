// Memory that a process shares with the children it forks: a vendor's compile half
// writes its weights there, and bycc maps them. Nothing is sent or copied.
#pragma once

#include "bycc/Support/File.h"

#include <cstdint>
#include <memory>
#include <sys/types.h>

namespace bycc {

// Where the weights of one region lie; without bytes there are none.
struct WeightsPlace {
  uint64_t offset = 0, bytes = 0;
};

class WeightsMemory {
public:
  WeightsMemory() = default;   // none at all
  static WeightsMemory make(); // none when the system has none to give
  // The memory of another process that this one has the descriptor of, which it takes.
  static WeightsMemory ofDescriptor(int file);
  int descriptor() const { return file_; } // -1: none
  WeightsMemory(WeightsMemory &&other) noexcept;
  WeightsMemory &operator=(WeightsMemory &&other) noexcept;
  ~WeightsMemory();

  // Zeroed memory at a multiple of 64, to be written until finish(); asked for once
  // before each finish(). Null when bytes are 0 or more than half of what is free.
  void *take(uint64_t bytes);
  // Ends the writing. What is not kept goes back to the system.
  WeightsPlace finish(bool isKept);
  // The bytes of a finish(), here or in a child; null when they are not in this memory.
  std::shared_ptr<const Storage> map(const WeightsPlace &place) const;

private:
  bool reserve(void *memory, off_t offset, off_t size);
  void giveBack(off_t offset, off_t size);

  int file_ = -1;
  uint64_t end_ = 0; // of what was given; multiples of a page
  bool isAsked_ = false;
  void *open_ = nullptr;
  WeightsPlace place_;
};

} // namespace bycc
