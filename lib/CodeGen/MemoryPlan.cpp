// One arena for all buffers of known size. A buffer lives from the instruction
// that writes it to the last one that reads it; places that are free again are
// reused, best fit first, and neighbouring free places join.
#include "Program.h"

#include <algorithm>
#include <map>

namespace bycc::codegen {
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

// First and last use of each memory. What is made before a loop and used in it
// lives to its end; what a bound value may stand for lives as long as that.
std::vector<Life> findLives(const Program &program) {
  std::vector<Life> lives(program.values.size());
  std::vector<size_t> endOf(program.instrs.size());
  std::vector<size_t> open; // loops that contain the instruction
  for (size_t i = 0; i < program.instrs.size(); ++i) {
    if (program.instrs[i].kind == Instr::Kind::Loop)
      open.push_back(i);
    if (program.instrs[i].kind == Instr::Kind::EndLoop) {
      endOf[open.back()] = i;
      open.pop_back();
    }
  }
  auto touch = [&](ValueId value, size_t at) {
    Life &life = lives[program.root(value)];
    life.first = std::min(life.first, at);
    size_t last = at;
    for (size_t loop : open)
      if (life.first < loop)
        last = std::max(last, endOf[loop]);
    life.last = std::max(life.last, last);
  };
  for (size_t i = 0; i < program.instrs.size(); ++i) {
    const Instr &instr = program.instrs[i];
    if (instr.kind == Instr::Kind::EndLoop)
      open.pop_back();
    for (const auto *list : {&instr.inputs, &instr.outputs, &instr.temps})
      for (ValueId value : *list)
        touch(value, i);
    if (instr.kind == Instr::Kind::Loop)
      open.push_back(i);
  }
  for (size_t i = program.instrs.size(); i-- > 0;) {
    const Instr &instr = program.instrs[i];
    if (instr.kind != Instr::Kind::Bind && instr.kind != Instr::Kind::Leave)
      continue;
    for (size_t k = 0; k < instr.inputs.size(); ++k) {
      ValueId from = program.root(instr.inputs[k]);
      size_t last = lives[instr.outputs[k]].last;
      for (ValueId id : {from, program.values[from].memory, program.values[from].spare,
                         program.values[from].spareOf})
        if (id != none)
          lives[id].last = std::max(lives[id].last, last);
    }
  }
  return lives;
}

// The branch or loop body that each instruction stands in, by the instruction that begins it.
std::vector<size_t> findBodies(const Program &program) {
  using Kind = Instr::Kind;
  std::vector<size_t> bodies, open{SIZE_MAX};
  for (size_t i = 0; i < program.instrs.size(); ++i) {
    Kind kind = program.instrs[i].kind;
    if (kind == Kind::Else || kind == Kind::EndIf || kind == Kind::EndLoop)
      open.pop_back();
    bodies.push_back(open.back());
    if (kind == Kind::If || kind == Kind::Else || kind == Kind::Loop)
      open.push_back(i);
  }
  return bodies;
}

// What is allocated while running is given back after its last use, in the body
// that allocated it.
void releaseAllocated(Program &program, const std::vector<Life> &lives) {
  std::vector<size_t> bodies = findBodies(program);
  std::vector<bool> isShared(program.values.size()); // memories that change places in a loop
  for (const Value &value : program.values)
    for (ValueId memory : {value.memory, value.spare})
      if (memory != none)
        isShared[memory] = true;
  for (ValueId id = 0; id < program.values.size(); ++id) {
    const Value &value = program.values[id];
    bool isOwn = value.kind == Value::Kind::Buffer && value.alias == none && value.output == none &&
                 value.resident == none && value.stripOffset == noRef;
    if (!isOwn || isShared[id] || value.isBound || value.spareOf != none || value.isStatic ||
        lives[id].first == SIZE_MAX)
      continue;
    size_t at = lives[id].last;
    auto kindAt = [&] { return program.instrs[at].kind; };
    if (kindAt() == Instr::Kind::If || kindAt() == Instr::Kind::Loop)
      ++at; // what follows stands inside
    while (at < bodies.size() &&
           (bodies[at] != bodies[lives[id].first] || kindAt() == Instr::Kind::Else))
      ++at;
    // Code after these does not run.
    if (at < bodies.size() && kindAt() != Instr::Kind::Next && kindAt() != Instr::Kind::Leave)
      program.instrs[at].released.push_back(id);
  }
}

Expected<> measure(Program &program, Value &value) {
  std::vector<int64_t> shape;
  for (Ref dim : value.dims)
    if (auto extent = program.exprs.constant(dim))
      shape.push_back(*extent);
  value.isStatic = shape.size() == value.dims.size();
  if (!value.isStatic)
    return {};
  std::sort(shape.begin(), shape.end()); // an empty axis first
  __int128 bytes = sizeInBytes(value.dtype);
  for (int64_t extent : shape) {
    bytes *= extent;
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
  std::vector<Life> lives = findLives(program);
  auto isPlanned = [&](ValueId id) {
    const Value &value = program.values[id];
    return value.kind == Value::Kind::Buffer && value.alias == none && value.output == none &&
           value.resident == none && value.isStatic && !value.isBound && value.spareOf == none &&
           value.stripOffset == noRef && lives[id].first != SIZE_MAX;
  };
  std::vector<std::vector<ValueId>> begins(program.instrs.size()), ends(program.instrs.size());
  for (ValueId id = 0; id < program.values.size(); ++id) {
    if (!isPlanned(id))
      continue;
    begins[lives[id].first].push_back(id);
    ends[lives[id].last].push_back(id);
    program.values[id].firstUse = static_cast<uint32_t>(lives[id].first);
    program.values[id].lastUse = static_cast<uint32_t>(lives[id].last);
  }
  releaseAllocated(program, lives);
  FreeList places;
  for (size_t i = 0; i < program.instrs.size(); ++i) {
    std::sort(begins[i].begin(), begins[i].end(), [&](ValueId a, ValueId b) {
      return std::pair(-program.values[a].bytes, a) < std::pair(-program.values[b].bytes, b);
    });
    auto padded = [&](ValueId id) {
      return std::max<int64_t>((program.values[id].bytes + alignment - 1) / alignment, 1) *
             alignment;
    };
    for (ValueId id : begins[i])
      program.values[id].offset = places.take(padded(id));
    for (ValueId id : ends[i])
      places.give(program.values[id].offset, padded(id));
  }
  program.arenaBytes = static_cast<uint64_t>(places.end());

  // Storage ids: one per input, constant and output, one per place of the arena. An
  // update has one of its own: in the report its value and the old one are two.
  std::map<std::tuple<int, int64_t>, int32_t> ids;
  for (ValueId id = 0; id < program.values.size(); ++id) {
    ValueId rootId = id;
    while (program.values[rootId].alias != none && !program.values[rootId].isUpdate)
      rootId = program.values[rootId].alias;
    const Value &root = program.values[rootId];
    int kind = root.output != none ? 4 : static_cast<int>(root.kind);
    int64_t key = root.output != none                ? root.output
                  : root.kind != Value::Kind::Buffer ? root.index
                  : root.offset >= 0                 ? root.offset
                                                     : -1 - int64_t{rootId};
    if (root.entry.first == none && program.values[id].entry.first == none)
      continue;
    program.values[id].storage =
        ids.try_emplace({kind, key}, static_cast<int32_t>(ids.size())).first->second;
  }
  return {};
}

} // namespace bycc::codegen
