// See Arena.h.
#include "Arena.h"

#include <algorithm>

namespace bycc::onednn {

namespace {

class ArenaPlanner {
public:
  ArenaPlanner(std::vector<Buffer> &buffers, const std::vector<Life> &lives)
      : buffers_(buffers), lives_(lives) {}

  uint64_t plan() {
    uint64_t size = 0;
    auto byOffset = [&](uint32_t a, uint32_t b) { return buffers_[a].index < buffers_[b].index; };
    for (uint32_t id : largestFirst()) {
      Buffer &target = buffers_[id];
      target.index = freeOffset(id);
      size = std::max(size, target.index + aligned(target.bytes));
      placed_.insert(std::upper_bound(placed_.begin(), placed_.end(), id, byOffset), id);
    }
    return size;
  }

private:
  std::vector<uint32_t> largestFirst() const {
    std::vector<uint32_t> order;
    for (uint32_t b = 0; b < buffers_.size(); ++b)
      if (buffers_[b].place == Buffer::Place::Arena && lives_[b].isUsed())
        order.push_back(b);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return buffers_[a].bytes > buffers_[b].bytes;
    });
    return order;
  }

  uint64_t freeOffset(uint32_t id) const {
    uint64_t offset = 0, bytes = aligned(buffers_[id].bytes);
    for (uint32_t other : placed_) {
      if (lives_[other].last < lives_[id].first || lives_[id].last < lives_[other].first)
        continue;
      const Buffer &taken = buffers_[other];
      if (taken.index >= offset + bytes)
        break;
      offset = std::max(offset, taken.index + aligned(taken.bytes));
    }
    return offset;
  }

  std::vector<Buffer> &buffers_;
  const std::vector<Life> &lives_;
  std::vector<uint32_t> placed_; // by offset
};

} // namespace

void Life::touch(uint32_t call) {
  first = std::min(first, call);
  last = std::max(last, call);
}

Expected<uint64_t> planArena(std::vector<Buffer> &buffers, const std::vector<Life> &lives) {
  uint64_t size = ArenaPlanner(buffers, lives).plan();
  if (size > uint64_t{1} << 42)
    return error(Status::Limit) << "region needs " << size << " bytes";
  return size;
}

} // namespace bycc::onednn
