#include "bycc/Support/MemoryBlock.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace bycc {

static constexpr uint64_t page = 4096, hugePage = uint64_t{2} << 20, mappedBytes = hugePage / 2;

static uint64_t multipleOf(uint64_t unit, uint64_t bytes) {
  return (bytes + unit - 1) / unit * unit;
}

// The last huge page is one when half of it is used.
static uint64_t mappedSize(uint64_t bytes) {
  return multipleOf(bytes % hugePage >= hugePage / 2 ? hugePage : page, bytes);
}

// Large blocks are mapped: fresh pages are zeros already. The ends that are too much for
// the alignment go back.
static uint8_t *mapHugePages(uint64_t size) {
  void *mapped =
      ::mmap(nullptr, size + hugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return nullptr;
  auto *begin = static_cast<uint8_t *>(mapped);
  uint64_t head = (hugePage - reinterpret_cast<uintptr_t>(begin) % hugePage) % hugePage;
  if (head)
    ::munmap(begin, head);
  if (head < hugePage)
    ::munmap(begin + head + size, hugePage - head);
  ::madvise(begin + head, size, MADV_HUGEPAGE);
  return begin + head;
}

bool MemoryBlock::isMapped(uint64_t size) { return size >= mappedBytes; }

uint64_t MemoryBlock::sizeOf(uint64_t bytes) {
  uint64_t size = multipleOf(64, std::max<uint64_t>(bytes, 1));
  return isMapped(size) ? mappedSize(size) : size;
}

MemoryBlock::MemoryBlock(uint64_t bytes, bool zeroed) {
  if (bytes > maxBytes)
    return;
  uint64_t size = sizeOf(bytes);
  data_ =
      isMapped(size) ? mapHugePages(size) : static_cast<uint8_t *>(std::aligned_alloc(64, size));
  if (!data_)
    return;
  size_ = size;
  if (zeroed && !isMapped(size))
    std::memset(data_, 0, size);
}

MemoryBlock::~MemoryBlock() {
  if (isMapped(size_))
    ::munmap(data_, size_);
  else
    std::free(data_);
}

} // namespace bycc
