#include "Memory.h"

#include <algorithm>
#include <bit>

namespace bycc::runtime {

// Steps of at most a quarter, so that memory that grows with every turn of a loop
// finds what an earlier turn gave back.
static uint64_t roundedUp(uint64_t bytes) {
  uint64_t step = std::max<uint64_t>(std::bit_floor(std::max<uint64_t>(bytes, 1)) / 4, 64);
  return (bytes + step - 1) / step * step;
}

// Of blocks that are dear to make only those of the very size: then a run that asks for the
// same sizes as the one before finds all that it needs. With larger ones taken, what comes
// later may have to be made although there was one, run after run.
MemoryBlock BlockCache::find(uint64_t bytes) {
  if (bytes > MemoryBlock::maxBytes)
    return MemoryBlock(bytes);
  uint64_t wanted = MemoryBlock::sizeOf(roundedUp(bytes));
  uint64_t most = MemoryBlock::isMapped(wanted) ? wanted : 2 * bytes + 4096;
  auto spare = spare_.lower_bound(wanted);
  if (spare == spare_.end() || spare->first > most)
    return MemoryBlock(wanted);
  MemoryBlock block = std::move(spare->second.block);
  spare_.erase(spare);
  return block;
}

void BlockCache::keep(MemoryBlock block) {
  uint64_t size = block.size();
  spare_.emplace(size, Spare{std::move(block), 0});
}

uint8_t *BlockCache::take(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  MemoryBlock block = find(bytes);
  uint8_t *data = block.data();
  if (data) {
    used_.emplace(data, Used{std::move(block), order_.size()});
    order_.push_back(data);
  }
  return data;
}

bool BlockCache::giveBack(void *data) {
  std::lock_guard lock(mutex_);
  auto used = used_.find(data);
  if (used == used_.end())
    return false;
  order_[used->second.place] = nullptr;
  keep(std::move(used->second.block));
  used_.erase(used);
  return true;
}

uint64_t BlockCache::mark() {
  std::lock_guard lock(mutex_);
  return order_.size();
}

void BlockCache::releaseTo(uint64_t mark) {
  std::lock_guard lock(mutex_);
  for (; order_.size() > mark; order_.pop_back())
    if (auto used = used_.find(order_.back()); order_.back()) {
      keep(std::move(used->second.block));
      used_.erase(used);
    }
}

uint8_t *BlockCache::grow(void *data, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  auto used = used_.find(data);
  if (used == used_.end())
    return nullptr;
  if (used->second.block.size() >= bytes)
    return used->second.block.data();
  size_t place = used->second.place;
  keep(std::move(used->second.block));
  used_.erase(used);
  MemoryBlock block = find(bytes);
  uint8_t *grown = block.data();
  order_[place] = grown;
  if (grown)
    used_.emplace(grown, Used{std::move(block), place});
  return grown;
}

void BlockCache::endRun() {
  std::lock_guard lock(mutex_);
  if (used_.empty() && spare_.empty())
    return;
  for (auto &[data, used] : used_)
    keep(std::move(used.block));
  used_.clear();
  order_.clear();
  for (auto spare = spare_.begin(); spare != spare_.end();)
    if (spare->second.runsUnused++ < mostRunsUnused)
      ++spare;
    else
      spare = spare_.erase(spare);
}

} // namespace bycc::runtime
