// Pieces -> steps, and values -> places.
//
// A formula joins the last step that makes one of its operands when it runs over
// the same elements and reads what that step makes element by element; its other
// operands then come from earlier steps. So a chain over one shape is one loop.
//
// A value that leaves its step gets memory: an output's own where it is one, else a
// part of the arena that nothing alive at the time uses.
#include "Program.h"

#include <algorithm>

namespace bycc::ccompiler {

namespace {

constexpr size_t maxPieces = 64; // per step
constexpr uint32_t noStep = UINT32_MAX;

class Scheduler {
public:
  explicit Scheduler(Program &program)
      : p_(program), stepOf_(program.graph.values.size(), noStep) {}

  void run() {
    for (size_t i = 0; i < p_.pieces.size(); ++i) {
      uint32_t step = stepFor(p_.pieces[i]);
      if (step == noStep) {
        step = static_cast<uint32_t>(p_.steps.size());
        p_.steps.emplace_back();
      }
      p_.steps[step].pieces.push_back(i);
      stepOf_[p_.pieces[i].result] = step;
    }
    findStored();
    placeOutputs();
    placeArena();
  }

private:
  ValueId rootOf(ValueId value) const { return p_.value(value).root; }

  bool readsElementByElement(const Operand &operand, const Dims &dims) const {
    const Value &value = p_.value(operand.value);
    return value.root == operand.value && value.dims == dims && operand.offset == 0 &&
           operand.strides == rowStridesOrZero(dims);
  }
  // As Translator::broadcast makes them: 0 along axes of extent 1.
  static Dims rowStridesOrZero(const Dims &dims) {
    Dims strides = rowStrides(dims);
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i] == 1)
        strides[i] = 0;
    return strides;
  }

  // The step the piece can join; noStep: a new one.
  uint32_t stepFor(const Piece &piece) const {
    if (piece.anchor)
      return noStep;
    uint32_t last = noStep;
    for (const Operand &operand : piece.operands) {
      uint32_t step = stepOf_[rootOf(operand.value)];
      if (step != noStep && (last == noStep || step > last))
        last = step;
    }
    if (last == noStep || p_.steps[last].pieces.size() >= maxPieces)
      return noStep;
    const Piece &first = p_.pieces[p_.steps[last].pieces[0]];
    const Dims &dims = p_.value(piece.result).dims;
    if (p_.value(first.result).dims != dims || (first.anchor && !first.anchor->hasTail()))
      return noStep;
    for (const Operand &operand : piece.operands)
      if (stepOf_[rootOf(operand.value)] == last && !readsElementByElement(operand, dims))
        return noStep;
    return last;
  }

  // Values (roots) that are read outside the step that makes them.
  void findStored() {
    lastUse_.assign(p_.graph.values.size(), 0);
    p_.isStored.assign(p_.graph.values.size(), false);
    auto read = [&](ValueId value, uint32_t step) {
      ValueId root = rootOf(value);
      lastUse_[root] = std::max(lastUse_[root], step);
      if (stepOf_[root] != noStep && stepOf_[root] != step)
        p_.isStored[root] = true;
    };
    for (uint32_t s = 0; s < p_.steps.size(); ++s)
      for (size_t i : p_.steps[s].pieces) {
        for (const Operand &operand : p_.pieces[i].operands)
          read(operand.value, s);
        if (p_.pieces[i].anchor)
          for (ValueId value : p_.pieces[i].anchor->reads())
            read(value, s);
        if (p_.pieces[i].anchor && !p_.pieces[i].anchor->hasTail())
          p_.isStored[p_.pieces[i].result] = true;
      }
    for (ValueId output : p_.graph.outputs)
      read(output, noStep);
  }

  void placeOutputs() {
    p_.places.assign(p_.graph.values.size(), {});
    for (ValueId id = 0; id < p_.graph.values.size(); ++id) {
      const Value &value = p_.value(id);
      if (value.inputIndex >= 0)
        p_.places[id] = {Place::Input, static_cast<uint64_t>(value.inputIndex)};
      else if (value.data)
        p_.places[id] = {Place::Weights, value.weightsOffset};
    }
    for (uint32_t o = 0; o < p_.graph.outputs.size(); ++o) {
      ValueId root = rootOf(p_.graph.outputs[o]);
      if (p_.places[root].kind == Place::None)
        p_.places[root] = {Place::Output, o};
      else
        p_.copies.push_back({root, o});
    }
  }

  void placeArena() {
    std::vector<vendor::Buffer> buffers(p_.graph.values.size());
    for (const Step &step : p_.steps)
      for (size_t i : step.pieces)
        if (ValueId id = p_.pieces[i].result; p_.isStored[id] && p_.places[id].kind == Place::None)
          buffers[id] = {static_cast<uint64_t>(sizeBytes(p_.value(id))), stepOf_[id], lastUse_[id]};
    p_.arenaBytes = vendor::planArena(buffers);
    for (ValueId id = 0; id < buffers.size(); ++id)
      if (buffers[id].isUsed())
        p_.places[id] = {Place::Arena, buffers[id].offset};
  }

  Program &p_;
  std::vector<uint32_t> stepOf_;  // by root
  std::vector<uint32_t> lastUse_; // step, by root
};

} // namespace

void schedule(Program &program) { Scheduler(program).run(); }

} // namespace bycc::ccompiler
