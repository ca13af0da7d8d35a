#include "Memory.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace bycc::runtime {

static constexpr uint64_t hugePage = uint64_t{2} << 20;
// Nothing larger is ever asked for by a sound model; keeps the rounding below from wrapping.
static constexpr uint64_t maxBytes = uint64_t{1} << 46;

Block::Block(uint64_t bytes, bool zeroed) {
  if (bytes > maxBytes)
    return;
  uint64_t alignment = bytes >= 2 * hugePage ? hugePage : 64;
  uint64_t size = (bytes + alignment - 1) / alignment * alignment;
  size = size ? size : alignment;
  data_ = static_cast<uint8_t *>(std::aligned_alloc(alignment, size));
  if (!data_)
    return;
  size_ = size;
  if (alignment == hugePage)
    ::madvise(data_, size, MADV_HUGEPAGE);
  if (zeroed)
    std::memset(data_, 0, size);
}

Block::~Block() { std::free(data_); }

uint8_t *BlockCache::take(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  Block block;
  auto spare = spare_.lower_bound(bytes);
  if (spare != spare_.end() && spare->first <= 2 * bytes + 4096) {
    block = std::move(spare->second.block);
    spare_.erase(spare);
  } else {
    block = Block(bytes);
  }
  uint8_t *data = block.data();
  if (data)
    used_.emplace(data, std::move(block));
  return data;
}

bool BlockCache::giveBack(void *data) {
  std::lock_guard lock(mutex_);
  auto used = used_.find(data);
  if (used == used_.end())
    return false;
  uint64_t size = used->second.size();
  spare_.emplace(size, Spare{std::move(used->second), true});
  used_.erase(used);
  return true;
}

void BlockCache::endRun() {
  std::lock_guard lock(mutex_);
  if (used_.empty() && spare_.empty())
    return;
  for (auto &[data, block] : used_) {
    uint64_t size = block.size();
    spare_.emplace(size, Spare{std::move(block), true});
  }
  used_.clear();
  for (auto spare = spare_.begin(); spare != spare_.end();)
    if (std::exchange(spare->second.isFresh, false))
      ++spare;
    else
      spare = spare_.erase(spare);
}

} // namespace bycc::runtime
