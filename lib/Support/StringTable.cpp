#include "bycc/Support/StringTable.h"

#include "bycc/Support/Hash.h"

#include <algorithm>
#include <cstring>

namespace bycc {

namespace {

constexpr size_t chunkBytes = size_t{1} << 16;

uint32_t hashOf(std::string_view text) {
  uint64_t hash = hashText(text);
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

} // namespace

uint32_t StringTable::intern(std::string_view text) {
  if (texts_.size() * 2 >= slots_.size())
    grow();
  uint32_t hash = hashOf(text);
  Slot &slot = slots_[slotOf(text, hash)];
  if (slot.number == none) {
    slot = {hash, size()};
    texts_.push_back(store(text));
  }
  return slot.number;
}

uint32_t StringTable::find(std::string_view text) const {
  return slots_[slotOf(text, hashOf(text))].number;
}

size_t StringTable::slotOf(std::string_view text, uint32_t hash) const {
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at].number != none &&
         (slots_[at].hash != hash || texts_[slots_[at].number] != text))
    at = (at + 1) & (slots_.size() - 1);
  return at;
}

void StringTable::grow() {
  std::vector<Slot> old(std::max<size_t>(16, slots_.size() * 2));
  old.swap(slots_);
  for (const Slot &slot : old)
    if (slot.number != none) {
      size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].number != none)
        at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
}

// Long texts get a chunk of their own, behind the one that is being filled.
std::string_view StringTable::store(std::string_view text) {
  if (text.size() > chunkBytes / 4) {
    auto own = std::make_unique<char[]>(text.size());
    std::memcpy(own.get(), text.data(), text.size());
    std::string_view stored(own.get(), text.size());
    chunks_.insert(chunks_.end() - (chunks_.empty() ? 0 : 1), std::move(own));
    return stored;
  }
  if (text.size() > chunkLeft_ || chunks_.empty()) {
    chunks_.push_back(std::make_unique<char[]>(chunkBytes));
    chunkLeft_ = chunkBytes;
  }
  char *place = chunks_.back().get() + (chunkBytes - chunkLeft_);
  if (!text.empty())
    std::memcpy(place, text.data(), text.size());
  chunkLeft_ -= text.size();
  return {place, text.size()};
}

} // namespace bycc
