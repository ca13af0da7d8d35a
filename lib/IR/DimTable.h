// Dims as expressions in a normal form, so that equal extents are equal ids: a sum
// of terms with constant factors, a term being a symbol, a product, or one of
// floor division, ceiling division, remainder, minimum and maximum.
//
//   (N + 1) * 2 - 2   ->   (N * 2)            S + P - S   ->   P
//   (N * 4 + 4) / 4   ->   (N + 1)            min(N, N + K)   ->   N
//
// Symbols are extents, never negative, some of them never 0. Terms stand in the order of their text,
// not of their making, so that a printed program parses to the same expressions.
// What grows beyond a few dozen terms is `?`.
#pragma once

#include "bycc/IR/Type.h"
#include "bycc/Support/LinearSum.h"

#include <unordered_map>

namespace bycc {

class DimTable {
public:
  DimTable();
  Dim symbol(std::string_view name);
  // `a op b`; `?` when an operand is, or when the result is surely no extent.
  Dim make(DimOp op, Dim a, Dim b);
  const DimExpr &expr(Dim dim) const { return exprs_[dim.exprIndex()]; }
  const std::string &text(Dim dim) const { return texts_[dim.exprIndex()]; }
  // a >= b whatever the symbols are; false when that is not seen.
  bool isSurelyAtLeast(Dim a, Dim b) const;
  // What a dim counts as while its value is not known; negative for (N - 5) with N = 1.
  int64_t likely(Dim dim) const { return dim.isConst() ? dim.value() : likely_[dim.exprIndex()]; }
  bool mayBeLess(Dim dim) const { return !dim.isConst() && mayBeLess_[dim.exprIndex()]; }
  void setLikely(Dim symbol, int64_t extent);
  // A symbol that is 1 at least. Expressions that are there already do not change by it.
  void setNonEmpty(Dim symbol) { isNonEmpty_[symbol.exprIndex()] = true; }
  std::vector<Dim> nonEmpty() const;

private:
  // Atoms are indices of expressions.
  LinearSum sumOf(Dim dim) const;
  std::vector<LinearSum> boundsOf(uint32_t atom, int64_t factor, int depth) const;
  bool isSurelyPositive(const LinearSum &sum, int depth = 3) const; // or 0
  Dim dimOf(const LinearSum &sum);
  Dim product(Dim a, Dim b);
  Dim quotient(DimOp op, Dim a, Dim b);
  std::optional<Dim> nested(DimOp op, const LinearSum &sum, int64_t divisor);
  Dim remainder(Dim a, Dim b);
  Dim extreme(DimOp op, Dim a, Dim b);
  // Adds to the factors of a product other than the constant one, which is the result.
  int64_t factorsOf(Dim dim, Factors &factors) const;
  Dim productOf(Factors factors, int64_t constant);
  Dim intern(DimOp op, Dim a, Dim b, std::string_view symbol = {});

  std::vector<DimExpr> exprs_;
  std::vector<std::string> texts_;
  std::vector<int64_t> likely_;
  std::vector<bool> mayBeLess_, isNonEmpty_;
  std::unordered_multimap<uint64_t, uint32_t> byHash_;
};

} // namespace bycc
