// Between graph and C text: pieces, one for each result, and the steps they are
// grouped into. A step is one loop nest and one C function.
//
//   piece  a formula over elements (add, where, transpose as a strided read), or
//          an anchor: something with loops of its own (dense, conv2d, sum)
//   step   an anchor or none, then formulas that are computed element by element
//          on what came before, in registers
//
//     dense --> bias_add --> relu        one step: the dot product of an element,
//                                        its bias, its relu, one store
#pragma once

#include "CText.h"

#include <functional>
#include <memory>
#include <set>

namespace bycc::ccompiler {

// How a formula reads an element of a value: at `offset` plus the sum of the
// result's indices times `strides`.
struct Operand {
  ValueId value;
  Dims strides;
  int64_t offset = 0;
};

// Called where an anchor has computed one element: the expression of its value and
// the indices of the result's axes.
using Tail = std::function<void(const std::string &element, const std::vector<std::string> &index)>;

// The name of the pointer to a value's bytes in a step's function.
using PointerOf = std::function<std::string(ValueId value)>;

class Anchor {
public:
  explicit Anchor(std::vector<ValueId> reads) : reads_(std::move(reads)) {}
  virtual ~Anchor() = default;
  const std::vector<ValueId> &reads() const { return reads_; }
  // False: writes its result itself, to `out`; `tail` is not called.
  virtual bool hasTail() const { return true; }
  virtual void emit(CWriter &out, const PointerOf &pointer, const Tail &tail) const = 0;

private:
  std::vector<ValueId> reads_;
};

struct Piece {
  ValueId result;
  std::string op, source;
  std::string formula; // of $0, $1, ...; unused with an anchor
  std::vector<Operand> operands;
  std::shared_ptr<const Anchor> anchor;
};

struct Step {
  std::vector<size_t> pieces; // the first one may have an anchor
};

// Where the bytes of a root value are.
struct Place {
  enum Kind : uint8_t { None, Input, Output, Weights, Arena } kind = None;
  uint64_t where = 0; // index, or offset in bytes
};

struct Program {
  Graph graph;
  std::vector<Piece> pieces;
  std::set<std::string> helpers; // definitions of the functions that formulas call
  std::vector<Step> steps;
  std::vector<Place> places;                        // by value, valid for roots
  std::vector<bool> isStored;                       // by value: leaves its step
  std::vector<std::pair<ValueId, uint32_t>> copies; // to outputs that no step writes
  uint64_t arenaBytes = 0;

  const Value &value(ValueId id) const { return graph.values[id]; }
};

// Names of all operators that have a translation, a space between them.
std::string operatorNames();
// Pieces of all operators; UNSUP with the reason when one is not taken.
Expected<Program> translate(const bycc_region &region, std::optional<uint32_t> &blamed);
// Groups pieces into steps and places values in memory.
void schedule(Program &program);
// The whole C file.
std::string emitC(const Program &program);
// Names of a step: what it computes, and the model's names for it.
std::string stepName(const Program &program, const Step &step);
std::string stepSource(const Program &program, const Step &step);

} // namespace bycc::ccompiler
