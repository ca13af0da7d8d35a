// The sums that extents of types (IR/DimTable) and indices of loops (Loops/FoldIndices) are
// brought to, so that equal ones are equal:
//
//   constant + sum of factor * atom      (N + 1) * 2 - 2  ->  N * 2
//
// An atom is the number of an expression that is no sum, in the table of whoever asks: what it
// means, how a sum is spelt and what atoms may be is theirs. The rules are here:
//
//   overflow  what 64 bits do not hold breaks a sum; who wanted it leaves the expression as it is
//   division  floor((whole * d + rest) / d) = whole + floor(rest / d) for every d > 0
#pragma once

#include "bycc/Support/Integers.h"

#include <vector>

namespace bycc {

struct LinearSum {
  struct Term {
    uint32_t atom = 0;
    int64_t factor = 0;
    bool operator==(const Term &) const = default;
  };
  int64_t constant = 0;
  std::vector<Term> terms; // atoms ascending, no factor 0
  bool isBroken = false;   // nothing else is to be asked then

  LinearSum() = default;
  explicit LinearSum(int64_t constant) : constant(constant) {}
  static LinearSum of(uint32_t atom, int64_t factor = 1);
  bool operator==(const LinearSum &) const = default;

  void add(CheckedInt number);
  void add(uint32_t atom, CheckedInt factor);
  void add(const LinearSum &other, int64_t factor = 1);
  bool isConstant() const { return terms.empty(); }
  // Atoms count from 0: may it be below 0? A broken one may.
  bool mayBeNegative() const;

  // What divisor > 0 divides, and what is left: the sum is whole * divisor + rest, and the
  // constant of rest is below divisor. Of a term whose factor is no multiple, `splitsFactors`
  // takes out as many as there are (7 x / 5 = x + 2 x / 5, one expression for two equal extents);
  // without it the term is left as one (an index is divided once).
  struct Quotient;
  Quotient by(int64_t divisor, bool splitsFactors) const;
};

struct LinearSum::Quotient {
  LinearSum whole, rest;
};

// Factors of a product, ascending, and what is left of them without those of another one.
using Factors = std::vector<uint32_t>;
Factors without(const Factors &all, const Factors &part);

} // namespace bycc
