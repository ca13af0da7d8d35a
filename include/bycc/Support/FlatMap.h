// A map that only grows: open addressing, one allocation, nothing until the first
// entry. Key() stands for "no entry" and is never a key. Order is not kept: look
// up, do not iterate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace bycc {

template <typename Key, typename Value> class FlatMap {
public:
  // Null when absent; valid until the next insertion.
  const Value *find(const Key &key) const {
    if (slots_.empty())
      return nullptr;
    const Slot &slot = slots_[place(key)];
    return slot.first == key ? &slot.second : nullptr;
  }
  // The entry and whether it is new (then Value()).
  std::pair<Value *, bool> insert(const Key &key) {
    if (size_ * 2 >= slots_.size())
      grow();
    Slot &slot = slots_[place(key)];
    bool isNew = !(slot.first == key);
    if (isNew) {
      slot.first = key;
      ++size_;
    }
    return {&slot.second, isNew};
  }
  Value &operator[](const Key &key) { return *insert(key).first; }

private:
  using Slot = std::pair<Key, Value>;

  size_t place(const Key &key) const {
    // Fibonacci hashing: ids that follow each other are spread out.
    uint64_t hash = static_cast<uint64_t>(std::hash<Key>()(key)) * 0x9e3779b97f4a7c15ull;
    size_t at = static_cast<size_t>(hash >> 32) & (slots_.size() - 1);
    while (!(slots_[at].first == key) && !(slots_[at].first == Key()))
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 8 : slots_.size() * 2);
    old.swap(slots_);
    for (Slot &slot : old)
      if (!(slot.first == Key()))
        slots_[place(slot.first)] = std::move(slot);
  }

  std::vector<Slot> slots_; // a power of two, at most half full
  size_t size_ = 0;
};

} // namespace bycc
