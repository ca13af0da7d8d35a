// See Pack.h. Of the program's constants those that primitives read are stored, without
// what they were made of. Where the library has changed the elements themselves (it
// halves int8 weights where the machine's sums would overflow) the source is stored
// instead and packed at load: a machine of another kind wants it whole.
#include "Pack.h"

#include "Lower.h"
#include "Threads.h"

#include <algorithm>
#include <cstring>

namespace bycc::onednn {

namespace {

class Storing {
public:
  Storing(const Plan &plan, const Program &program, const StoredBytes &source,
          const std::vector<ConstantBytes> &bytes)
      : plan_(plan), program_(program), source_(source), bytes_(bytes),
        numbers_(program.constants.size(), none) {}

  Packed run() {
    packed_.blob.program = program_;
    constants().clear();
    for (uint32_t id = 0; id < bytes_.size(); ++id)
      if (bytes_[id])
        keep(id);
    dropUnusedBuffers(*packed_.blob.program);
    leaveWeightsOpen(*packed_.blob.program);
    if (!canBeWritten(*packed_.blob.program))
      packed_.blob.program.reset();
    return std::move(packed_);
  }

private:
  std::vector<Constant> &constants() { return packed_.blob.program->constants; }

  // The constant's number in the result.
  uint32_t keep(uint32_t id) {
    if (numbers_[id] != none)
      return numbers_[id];
    Constant constant = program_.constants[id];
    std::optional<LayoutForm> form = formOf(constant.layout);
    if (constant.stored != none)
      constant.stored = packed_.add(constant.value, source_.stored[constant.stored].form,
                                    source_.bytes[constant.stored]);
    else if (bytes_[id] && form && isReversible(*form) && !isBias(constant))
      constant = {constant.value, packed_.add(constant.value, *form, bytes_[id]), none, {}, none,
                  constant.layout};
    else
      constant.from = keep(constant.from);
    constants().push_back(constant);
    return numbers_[id] = static_cast<uint32_t>(constants().size() - 1);
  }

  bool isBias(const Constant &constant) const {
    return constant.step != none && isProduct(plan_.steps[constant.step].kind);
  }

  // Weights in layouts that cannot be written down are laid out at load.
  static void leaveWeightsOpen(Program &program) {
    auto open = [](Layout &layout) {
      if (!formOf(layout))
        layout = anyLayout(dimsOf(layout), dtypeOf(layout));
    };
    for (Constant &constant : program.constants)
      open(constant.layout);
    for (Slot &slot : program.slots)
      if (Buffer &buffer = program.buffers[slot.buffer]; buffer.place == Buffer::Place::Constant) {
        open(slot.layout);
        buffer.bytes = bytesOf(program.constants[buffer.index].layout);
      }
  }

  // Else it is lowered at load.
  static bool canBeWritten(const Program &program) {
    return std::all_of(program.slots.begin(), program.slots.end(),
                       [](const Slot &slot) { return isAny(slot.layout) || formOf(slot.layout); });
  }

  void dropUnusedBuffers(Program &program) const {
    std::vector<uint32_t> numbers(program.buffers.size(), none);
    std::vector<Buffer> kept;
    for (Slot &slot : program.slots) {
      uint32_t &number = numbers[slot.buffer];
      if (number == none) {
        number = static_cast<uint32_t>(kept.size());
        kept.push_back(program.buffers[slot.buffer]);
        if (kept.back().place == Buffer::Place::Constant)
          kept.back().index = numbers_[kept.back().index];
      }
      slot.buffer = number;
    }
    program.buffers = std::move(kept);
  }

  const Plan &plan_;
  const Program &program_;
  const StoredBytes &source_;
  const std::vector<ConstantBytes> &bytes_; // per constant; null: no slot reads it
  Packed packed_;
  std::vector<uint32_t> numbers_; // per constant: its number in the result
};

} // namespace

uint32_t Packed::add(ValueId value, const LayoutForm &form, const ConstantBytes &from) {
  Stored stored{value, form, weightsBytes};
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] == from && storedBytes(blob.stored[i].form) == storedBytes(form))
      stored.offset = blob.stored[i].offset;
  if (stored.offset == weightsBytes)
    weightsBytes += aligned(storedBytes(form));
  bytes.push_back(from);
  blob.stored.push_back(std::move(stored));
  return static_cast<uint32_t>(bytes.size() - 1);
}

void Packed::writeWeights(uint8_t *weights) const {
  for (size_t i = 0; i < bytes.size(); ++i)
    std::memcpy(weights + blob.stored[i].offset, bytes[i].get(), storedBytes(blob.stored[i].form));
}

Expected<Packed> packPlan(const Plan &plan, int32_t threads) {
  setLibraryThreads(threads);
  StoredBytes source = storedOf(plan);
  Program program = BYCC_TRY(lower(plan, source.stored));
  setLibraryThreads(1); // reorders: processes of vendors run side by side
  ConstantPool pool;
  std::vector<ConstantBytes> bytes = BYCC_TRY(pool.bytesFor(plan, program, source));
  Packed packed = Storing(plan, program, source, bytes).run();
  packed.blob.plan = plan;
  packed.blob.madeWith = circumstancesHere();
  return packed;
}

Packed storePlain(const Plan &plan) {
  Packed packed;
  StoredBytes source = storedOf(plan);
  for (size_t i = 0; i < source.stored.size(); ++i)
    packed.add(source.stored[i].value, source.stored[i].form, source.bytes[i]);
  packed.blob.plan = plan;
  packed.blob.madeWith = circumstancesHere();
  return packed;
}

} // namespace bycc::onednn
