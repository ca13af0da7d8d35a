#include "DimTable.h"

#include "bycc/IR/LikelyExtents.h"
#include "bycc/Support/Hash.h"
#include "bycc/Support/Integers.h"

#include <algorithm>

namespace bycc {
namespace {

constexpr size_t maxText = 240;

std::string textOf(Dim dim, const std::vector<std::string> &texts) {
  return dim.isConst() ? std::to_string(dim.value()) : texts[dim.exprIndex()];
}

std::string spell(DimOp op, const std::string &a, const std::string &b) {
  switch (op) {
  case DimOp::Add:
    return "(" + a + " + " + b + ")";
  case DimOp::Sub:
    return "(" + a + " - " + b + ")";
  case DimOp::Mul:
    return "(" + a + " * " + b + ")";
  case DimOp::FloorDiv:
    return "(" + a + " / " + b + ")";
  case DimOp::Mod:
    return "(" + a + " % " + b + ")";
  case DimOp::CeilDiv:
    return "ceildiv(" + a + ", " + b + ")";
  case DimOp::Min:
    return "min(" + a + ", " + b + ")";
  case DimOp::Max:
    return "max(" + a + ", " + b + ")";
  case DimOp::Unknown:
  case DimOp::Symbol:
    break;
  }
  return "?";
}

} // namespace

DimTable::DimTable() {
  exprs_.emplace_back(); // `?`
  texts_.push_back("?");
  likely_.push_back(likelyUnknown);
}

Dim DimTable::symbol(std::string_view name) { return intern(DimOp::Symbol, 0, 0, name); }

bool DimTable::isBefore(Dim a, Dim b) const { return text(a) < text(b); }

Dim DimTable::intern(DimOp op, Dim a, Dim b, std::string_view symbol) {
  if (a.isUnknown() || b.isUnknown())
    return Dim::unknown();
  uint64_t hash = hashText(symbol, static_cast<uint64_t>(op));
  hash = hashCombine(hash, static_cast<uint64_t>(a.raw()));
  hash = hashCombine(hash, static_cast<uint64_t>(b.raw()));
  auto [begin, end] = byHash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const DimExpr &old = exprs_[it->second];
    if (old.op == op && old.lhs == a && old.rhs == b && old.symbol == symbol)
      return Dim::fromExpr(it->second);
  }
  bool isSymbol = op == DimOp::Symbol;
  std::string text =
      isSymbol ? std::string(symbol) : spell(op, textOf(a, texts_), textOf(b, texts_));
  if (!isSymbol && text.size() > maxText)
    return Dim::unknown();
  DimExpr made;
  made.op = op;
  made.lhs = a;
  made.rhs = b;
  made.symbol = symbol;
  likely_.push_back(isSymbol ? usualExtent(symbol) : likelyOf(made));
  exprs_.push_back(std::move(made));
  texts_.push_back(std::move(text));
  uint32_t index = static_cast<uint32_t>(exprs_.size() - 1);
  byHash_.emplace(hash, index);
  return Dim::fromExpr(index);
}

// --- likely values

// Far from where 64 bits end, whatever is multiplied.
int64_t DimTable::likelyOf(const DimExpr &expr) const {
  constexpr int64_t far = int64_t{1} << 62;
  int64_t a = likely(expr.lhs), b = likely(expr.rhs);
  auto near = [](__int128 value) {
    return static_cast<int64_t>(std::clamp<__int128>(value, -far, far));
  };
  switch (expr.op) {
  case DimOp::Add:
    return near(__int128(a) + b);
  case DimOp::Sub:
    return near(__int128(a) - b);
  case DimOp::Mul:
    return near(__int128(a) * b);
  case DimOp::FloorDiv:
    return b > 0 ? floorDiv(a, b) : 0;
  case DimOp::CeilDiv:
    return b > 0 ? floorDiv(a, b) + (a % b != 0) : 0;
  case DimOp::Mod:
    return b > 0 ? floorMod(a, b) : 0;
  case DimOp::Min:
    return std::min(a, b);
  case DimOp::Max:
    return std::max(a, b);
  case DimOp::Unknown:
  case DimOp::Symbol:
    break;
  }
  return likelyUnknown;
}

void DimTable::setLikely(Dim symbol, int64_t extent) {
  likely_[symbol.exprIndex()] = extent;
  for (size_t i = 0; i < exprs_.size(); ++i) // operands come before their users
    if (exprs_[i].op != DimOp::Unknown && exprs_[i].op != DimOp::Symbol)
      likely_[i] = likelyOf(exprs_[i]);
}

// --- sums

namespace {

// What 64 bits do not hold breaks the sum that it is a part of.
void store(int64_t &into, CheckedInt value, bool &isBroken) {
  into = value.value_or(0);
  isBroken |= !value;
}

} // namespace

void DimTable::addTo(Sum &sum, Dim base, int64_t factor) const {
  auto at = std::ranges::lower_bound(
      sum.terms, base, [&](Dim a, Dim b) { return isBefore(a, b); }, &Term::base);
  if (at == sum.terms.end() || at->base != base)
    at = sum.terms.insert(at, Term{base, 0});
  store(at->factor, checkedAdd(at->factor, factor), sum.isBroken);
  if (at->factor == 0)
    sum.terms.erase(at);
}

void DimTable::scale(Sum &sum, int64_t factor) const {
  store(sum.constant, checkedMul(sum.constant, factor), sum.isBroken);
  for (Term &term : sum.terms)
    store(term.factor, checkedMul(term.factor, factor), sum.isBroken);
}

void DimTable::accumulate(Sum &sum, const Sum &other, int64_t factor) const {
  Sum scaled = other;
  scale(scaled, factor);
  sum.isBroken |= scaled.isBroken;
  store(sum.constant, checkedAdd(sum.constant, scaled.constant), sum.isBroken);
  for (const Term &term : scaled.terms)
    addTo(sum, term.base, term.factor);
}

DimTable::Sum DimTable::sumOf(Dim dim) const {
  Sum sum;
  if (dim.isConst()) {
    sum.constant = dim.value();
    return sum;
  }
  const DimExpr &e = expr(dim);
  if (e.op == DimOp::Add || e.op == DimOp::Sub) {
    sum = sumOf(e.lhs);
    accumulate(sum, sumOf(e.rhs), e.op == DimOp::Add ? 1 : -1);
  } else if (e.op == DimOp::Mul && e.rhs.isConst()) {
    sum = sumOf(e.lhs);
    scale(sum, e.rhs.value());
  } else {
    addTo(sum, dim, 1);
  }
  return sum;
}

// Where terms are negative, a bound from below may still do: -min(x, y) is at
// least -x and -y, max(x, y) at least x and y.
bool DimTable::isSurelyPositive(const Sum &sum, int depth) const {
  bool hasNegative = sum.constant < 0;
  for (const Term &term : sum.terms)
    hasNegative |= term.factor < 0;
  if (sum.isBroken || !hasNegative || depth == 0)
    return !sum.isBroken && !hasNegative;
  for (const Term &term : sum.terms) {
    const DimExpr &e = expr(term.base);
    if (e.op != (term.factor < 0 ? DimOp::Min : DimOp::Max))
      continue;
    for (Dim bound : {e.lhs, e.rhs}) {
      Sum other = sum;
      addTo(other, term.base, -term.factor);
      accumulate(other, sumOf(bound), term.factor);
      if (isSurelyPositive(other, depth - 1))
        return true;
    }
  }
  return false;
}

bool DimTable::isSurelyAtLeast(Dim a, Dim b) const {
  if (a.isUnknown() || b.isUnknown())
    return false;
  Sum sum = sumOf(a);
  accumulate(sum, sumOf(b), -1);
  return isSurelyPositive(sum);
}

// Positive terms, the constant, then what is taken away.
Dim DimTable::dimOf(const Sum &sum) {
  if (sum.isBroken || sum.terms.size() > 32)
    return Dim::unknown();
  std::optional<Dim> result;
  auto append = [&](DimOp op, Dim term) { result = result ? intern(op, *result, term) : term; };
  auto termOf = [&](Dim base, int64_t factor) {
    return factor == 1 ? base : intern(DimOp::Mul, base, Dim(factor));
  };
  for (const Term &term : sum.terms)
    if (term.factor > 0)
      append(DimOp::Add, termOf(term.base, term.factor));
  if (sum.constant > 0 || (sum.constant == 0 && sum.terms.empty()))
    append(DimOp::Add, Dim(sum.constant));
  if (!result || sum.constant == INT64_MIN) // nothing positive: no extent
    return Dim::unknown();
  for (const Term &term : sum.terms)
    if (term.factor < 0 && term.factor != INT64_MIN)
      append(DimOp::Sub, termOf(term.base, -term.factor));
  if (sum.constant < 0)
    append(DimOp::Sub, Dim(-sum.constant));
  return *result;
}

// --- products

int64_t DimTable::factorsOf(Dim dim, std::vector<Dim> &factors) const {
  if (dim.isConst())
    return dim.value();
  const DimExpr &e = expr(dim);
  if (e.op != DimOp::Mul) {
    factors.push_back(dim);
    return 1;
  }
  int64_t left = factorsOf(e.lhs, factors), right = factorsOf(e.rhs, factors);
  return left * right; // at most one is not 1
}

Dim DimTable::productOf(std::vector<Dim> factors, int64_t constant) {
  std::ranges::sort(factors, [&](Dim a, Dim b) { return isBefore(a, b); });
  std::optional<Dim> result;
  for (Dim factor : factors)
    result = result ? intern(DimOp::Mul, *result, factor) : factor;
  if (!result || result->isUnknown())
    return result.value_or(Dim(constant));
  Sum sum = sumOf(*result);
  scale(sum, constant);
  return dimOf(sum);
}

Dim DimTable::product(Dim a, Dim b) {
  std::vector<Dim> factors;
  int64_t left = factorsOf(a, factors), right = factorsOf(b, factors);
  CheckedInt constant = checkedMul(left, right);
  if (factors.size() > 16 || !constant)
    return Dim::unknown();
  return *constant == 0 ? Dim(0) : productOf(std::move(factors), *constant);
}

// --- quotients

Dim DimTable::quotient(DimOp op, Dim a, Dim b) {
  if (b == Dim(0))
    return Dim::unknown();
  // Common factors go: extents that divide are not 0.
  std::vector<Dim> top, bottom;
  int64_t topConstant = factorsOf(a, top), bottomConstant = factorsOf(b, bottom);
  size_t before = bottom.size();
  std::erase_if(bottom, [&](Dim factor) {
    auto at = std::ranges::find(top, factor);
    if (at == top.end())
      return false;
    top.erase(at);
    return true;
  });
  if (bottom.size() < before)
    return make(op, productOf(top, topConstant), productOf(bottom, bottomConstant));
  if (!b.isConst())
    return intern(op, a, b);
  int64_t divisor = b.value();
  // What divides leaves the quotient; a constant is left that is less than b.
  Sum whole, rest, all = sumOf(a);
  for (const Term &term : all.terms) {
    bool divides = term.factor > 0 || term.factor % divisor == 0;
    int64_t times = divides ? term.factor / divisor : 0, left = term.factor - times * divisor;
    if (times)
      addTo(whole, term.base, times);
    if (left)
      addTo(rest, term.base, left);
  }
  whole.isBroken = all.isBroken;
  whole.constant = floorDiv(all.constant, divisor);
  rest.constant = floorMod(all.constant, divisor);
  if (rest.terms.empty()) {
    whole.constant += op == DimOp::CeilDiv && rest.constant > 0;
    return dimOf(whole);
  }
  if (!isSurelyPositive(rest))
    return intern(op, a, b);
  std::optional<Dim> flat = nested(op, rest, divisor);
  Dim left = flat ? *flat : intern(op, dimOf(rest), b);
  if (left.isUnknown())
    return left;
  accumulate(whole, sumOf(left), 1);
  return dimOf(whole);
}

// (x / a + c) / b is (x + a * c) / (a * b).
std::optional<Dim> DimTable::nested(DimOp op, const Sum &sum, int64_t divisor) {
  Dim base = sum.terms[0].base;
  if (sum.terms.size() != 1 || sum.terms[0].factor != 1 || expr(base).op != op ||
      !expr(base).rhs.isConst())
    return std::nullopt;
  Dim inner = expr(base).lhs;
  int64_t own = expr(base).rhs.value();
  Sum shifted = sumOf(inner), constant;
  constant.constant = sum.constant;
  accumulate(shifted, constant, own);
  Dim top = dimOf(shifted);
  CheckedInt both = checkedMul(own, divisor);
  return top.isUnknown() || !both ? std::nullopt : std::optional(make(op, top, Dim(*both)));
}

Dim DimTable::remainder(Dim a, Dim b) {
  if (b == Dim(0))
    return Dim::unknown();
  if (b == Dim(1))
    return Dim(0);
  Sum sum = sumOf(a);
  bool divides = b.isConst() && !sum.isBroken && sum.constant % b.value() == 0 &&
                 std::ranges::all_of(
                     sum.terms, [&](const Term &term) { return term.factor % b.value() == 0; });
  return divides || a == b ? Dim(0) : intern(DimOp::Mod, a, b);
}

Dim DimTable::extreme(DimOp op, Dim a, Dim b) {
  if (isSurelyAtLeast(a, b))
    return op == DimOp::Max ? a : b;
  if (isSurelyAtLeast(b, a))
    return op == DimOp::Max ? b : a;
  if (a.isConst() || (!b.isConst() && isBefore(b, a)))
    std::swap(a, b);
  return intern(op, a, b);
}

Dim DimTable::make(DimOp op, Dim a, Dim b) {
  if (op == DimOp::Mul && (a == Dim(0) || b == Dim(0)))
    return Dim(0);
  if (op == DimOp::Min && (a == Dim(0) || b == Dim(0)))
    return Dim(0);
  if (a.isUnknown() || b.isUnknown())
    return Dim::unknown();
  switch (op) {
  case DimOp::Add:
  case DimOp::Sub: {
    Sum sum = sumOf(a);
    accumulate(sum, sumOf(b), op == DimOp::Add ? 1 : -1);
    return dimOf(sum);
  }
  case DimOp::Mul:
    return product(a, b);
  case DimOp::FloorDiv:
  case DimOp::CeilDiv:
    return quotient(op, a, b);
  case DimOp::Mod:
    return remainder(a, b);
  case DimOp::Min:
  case DimOp::Max:
    return extreme(op, a, b);
  case DimOp::Unknown:
  case DimOp::Symbol:
    break;
  }
  return Dim::unknown();
}

} // namespace bycc
