// One arena for all buffers of known size. A buffer lives from the instruction
// that writes it to the last one that reads it; places that are free again are
// reused, best fit first, and neighbouring free places join.
#include "Program.h"

#include <algorithm>
#include <map>

namespace bycc::te {
namespace {

constexpr int64_t alignment = 64;

struct Life {
  size_t first = SIZE_MAX, last = 0;
};

// Free places of the arena by offset.
class FreeList {
public:
  int64_t take(int64_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->second >= bytes && (best == free_.end() || it->second < best->second))
        best = it;
    if (best == free_.end()) {
      // Extend the last place when it reaches the end.
      int64_t offset = end_;
      if (!free_.empty()) {
        auto last = std::prev(free_.end());
        if (last->first + last->second == end_) {
          offset = last->first;
          free_.erase(last);
        }
      }
      end_ = offset + bytes;
      return offset;
    }
    int64_t offset = best->first, rest = best->second - bytes;
    free_.erase(best);
    if (rest > 0)
      free_[offset + bytes] = rest;
    return offset;
  }
  void give(int64_t offset, int64_t bytes) {
    auto it = free_.emplace(offset, bytes).first;
    auto next = std::next(it);
    if (next != free_.end() && it->first + it->second == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it != free_.begin()) {
      auto before = std::prev(it);
      if (before->first + before->second == it->first) {
        before->second += it->second;
        free_.erase(it);
      }
    }
  }
  int64_t end() const { return end_; }

private:
  std::map<int64_t, int64_t> free_;
  int64_t end_ = 0;
};

Expected<> measure(Program &program, Value &value) {
  __int128 bytes = sizeInBytes(value.dtype);
  value.isStatic = true;
  for (Ref dim : value.dims) {
    auto extent = program.exprs.constant(dim);
    if (!extent) {
      value.isStatic = false;
      return {};
    }
    bytes *= *extent;
    if (bytes > (__int128(1) << 46))
      return error(Status::Limit) << "a tensor of more than 64 TiB";
  }
  value.bytes = static_cast<int64_t>(bytes);
  return {};
}

} // namespace

Expected<> planMemory(Program &program) {
  for (Value &value : program.values)
    BYCC_TRY(measure(program, value));
  std::vector<Life> lives(program.values.size());
  auto touch = [&](ValueId value, size_t at) {
    Life &life = lives[program.root(value)];
    life.first = std::min(life.first, at);
    life.last = std::max(life.last, at);
  };
  for (size_t i = 0; i < program.instrs.size(); ++i)
    for (const auto *list : {&program.instrs[i].inputs, &program.instrs[i].outputs, &program.instrs[i].temps})
      for (ValueId value : *list)
        touch(value, i);
  auto isPlanned = [&](ValueId id) {
    const Value &value = program.values[id];
    return value.kind == Value::Kind::Buffer && value.alias == none && value.output == none && value.resident == none && value.isStatic &&
           lives[id].first != SIZE_MAX;
  };
  std::vector<std::vector<ValueId>> begins(program.instrs.size()), ends(program.instrs.size());
  for (ValueId id = 0; id < program.values.size(); ++id) {
    if (!isPlanned(id))
      continue;
    begins[lives[id].first].push_back(id);
    ends[lives[id].last].push_back(id);
  }
  FreeList places;
  for (size_t i = 0; i < program.instrs.size(); ++i) {
    std::sort(begins[i].begin(), begins[i].end(), [&](ValueId a, ValueId b) {
      return std::pair(-program.values[a].bytes, a) < std::pair(-program.values[b].bytes, b);
    });
    auto padded = [&](ValueId id) { return std::max<int64_t>((program.values[id].bytes + alignment - 1) / alignment, 1) * alignment; };
    for (ValueId id : begins[i])
      program.values[id].offset = places.take(padded(id));
    for (ValueId id : ends[i])
      places.give(program.values[id].offset, padded(id));
  }
  program.arenaBytes = static_cast<uint64_t>(places.end());

  // Storage ids: one per input, constant and output, one per place of the arena.
  std::map<std::tuple<int, int64_t>, int32_t> ids;
  for (ValueId id = 0; id < program.values.size(); ++id) {
    const Value &root = program.values[program.root(id)];
    int kind = root.output != none ? 4 : static_cast<int>(root.kind);
    int64_t key = root.output != none ? root.output : root.kind != Value::Kind::Buffer ? root.index : root.offset >= 0 ? root.offset : -1 - int64_t{program.root(id)};
    if (root.entry.first == none && program.values[id].entry.first == none)
      continue;
    program.values[id].storage = ids.try_emplace({kind, key}, static_cast<int32_t>(ids.size())).first->second;
  }
  return {};
}

} // namespace bycc::te
