// What is known of a small integer tensor before the program runs: the value of
// shape arithmetic. `shape_of(x)` has the dims of x as its elements, and type
// inference reads the shape operand of `dyn.reshape` from them:
//
//   %0 = shape_of(%x)                 x: Tensor[(N, S, 768), float32]   [N, S, 768]
//   %1 = take(%0, 0)                                                    N
//   %2 = stack((%1, 12))                                                [N, 12]
//
// Nothing is stored: an answer is worked out from the operands, within a fixed
// number of nodes.
#pragma once

#include "bycc/IR/Module.h"

#include <optional>
#include <vector>

namespace bycc {

// A number (of any sign), a dim expression, the negative of one (an index that counts from
// the end: known to those who ask for it), or nothing (`?`).
struct SymbolicInt {
  SymbolicInt() = default;
  SymbolicInt(int64_t value) : number(value) {}
  SymbolicInt(Dim value)
      : number(value.isConst() ? std::optional(value.value()) : std::nullopt),
        dim(value.isConst() ? Dim::unknown() : value) {}
  bool isKnown() const { return number || (!dim.isUnknown() && !isNegated); }
  bool operator==(const SymbolicInt &) const = default;

  std::optional<int64_t> number;
  Dim dim = Dim::unknown(); // means nothing beside a number
  bool isNegated = false;   // of a dim
  // As an extent: `?` where it is not known or negative.
  Dim extent() const {
    return isNegated      ? Dim::unknown()
           : !number      ? dim
           : *number >= 0 ? Dim(*number)
                          : Dim::unknown();
  }
};

constexpr size_t maxSymbolicElements = 128;

// Elements of an integer or bool tensor, row-major. nullopt where not even their
// number is known, or it is more than maxSymbolicElements.
std::optional<std::vector<SymbolicInt>> symbolicValue(Module &module, NodeId node);

} // namespace bycc
