#include "DimTable.h"

#include "bycc/IR/DimArithmetic.h"
#include "bycc/IR/LikelyExtents.h"
#include "bycc/Support/Hash.h"

#include <algorithm>

namespace bycc {
namespace {

constexpr size_t maxText = 240;

std::string textOf(Dim dim, const std::vector<std::string> &texts) {
  return dim.isConst() ? std::to_string(dim.value()) : texts[dim.exprIndex()];
}

std::string spell(DimOp op, const std::string &a, const std::string &b) {
  static constexpr std::string_view names[] = {"",  "",        "+", "-",   "*",
                                               "/", "ceildiv", "%", "min", "max"};
  std::string name(names[static_cast<size_t>(op)]);
  bool isCall = name.size() > 1;
  return isCall ? name + "(" + a + ", " + b + ")" : "(" + a + " " + name + " " + b + ")";
}

} // namespace

int64_t likelyOf(DimOp op, int64_t a, int64_t b) {
  constexpr int64_t far = int64_t{1} << 40;
  auto near = [](__int128 value) {
    return static_cast<int64_t>(std::clamp<__int128>(value, -far, far));
  };
  switch (op) {
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

DimTable::DimTable() {
  exprs_.emplace_back(); // `?`
  texts_.push_back("?");
  likely_.push_back(likelyUnknown);
  mayBeLess_.push_back(true);
  isNonEmpty_.push_back(false);
}

Dim DimTable::symbol(std::string_view name) { return intern(DimOp::Symbol, 0, 0, name); }

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
  likely_.push_back(isSymbol ? usualExtent(symbol) : likelyOf(op, likely(a), likely(b)));
  mayBeLess_.push_back(isSymbol ? likely_.back() > 1 : mayBeLess(a) || mayBeLess(b));
  isNonEmpty_.push_back(false);
  exprs_.push_back(std::move(made));
  texts_.push_back(std::move(text));
  uint32_t index = static_cast<uint32_t>(exprs_.size() - 1);
  byHash_.emplace(hash, index);
  return Dim::fromExpr(index);
}

void DimTable::setLikely(Dim symbol, int64_t extent) {
  likely_[symbol.exprIndex()] = extent;
  mayBeLess_[symbol.exprIndex()] = extent > 1;
  for (size_t i = 0; i < exprs_.size(); ++i) { // operands come before their users
    auto [op, lhs, rhs] = std::tie(exprs_[i].op, exprs_[i].lhs, exprs_[i].rhs);
    if (op == DimOp::Unknown || op == DimOp::Symbol)
      continue;
    likely_[i] = likelyOf(op, likely(lhs), likely(rhs));
    mayBeLess_[i] = mayBeLess(lhs) || mayBeLess(rhs);
  }
}

// --- sums

LinearSum DimTable::sumOf(Dim dim) const {
  if (dim.isConst())
    return LinearSum(dim.value());
  const DimExpr &e = expr(dim);
  LinearSum sum;
  if (e.op == DimOp::Add || e.op == DimOp::Sub) {
    sum = sumOf(e.lhs);
    sum.add(sumOf(e.rhs), e.op == DimOp::Add ? 1 : -1);
  } else if (e.op == DimOp::Mul && e.rhs.isConst()) {
    sum.add(sumOf(e.lhs), e.rhs.value());
  } else {
    sum.add(dim.exprIndex(), 1);
  }
  return sum;
}

std::vector<Dim> DimTable::nonEmpty() const {
  std::vector<Dim> symbols;
  for (uint32_t i = 0; i < isNonEmpty_.size(); ++i)
    if (isNonEmpty_[i])
      symbols.push_back(Dim::fromExpr(i));
  return symbols;
}

// What factor * atom is surely at least: -min(x, y) is at least -x and -y, max(x, y) at least x and
// y; x / c * c is at most x and at least x - (c - 1), or at least x with the ceiling; a symbol may be 1.
std::vector<LinearSum> DimTable::boundsOf(uint32_t atom, int64_t factor, int depth) const {
  const DimExpr &e = exprs_[atom];
  std::vector<LinearSum> bounds;
  if (isNonEmpty_[atom] && factor > 0)
    bounds.emplace_back(factor);
  auto append = [&](Dim of, int64_t times, CheckedInt more) {
    bounds.emplace_back(more.value_or(0));
    bounds.back().add(sumOf(of), times);
    bounds.back().isBroken |= !more;
  };
  if (e.op == (factor < 0 ? DimOp::Min : DimOp::Max))
    for (Dim operand : {e.lhs, e.rhs})
      append(operand, factor, 0);
  bool isFloor = e.op == DimOp::FloorDiv;
  if ((isFloor || e.op == DimOp::CeilDiv) && e.rhs.isConst()) {
    int64_t divisor = e.rhs.value(), times = floorDiv(factor, divisor);
    bool isRounded = isFloor == (times > 0); // away from what is wanted, by up to divisor - 1
    if (factor % divisor == 0 || isSurelyPositive(sumOf(e.lhs), depth)) // fewer of them are less
      append(e.lhs, times, checkedMul(isRounded ? divisor - 1 : 0, times > 0 ? -times : times));
  }
  return bounds;
}

// Where terms are negative, a bound from below may still do.
bool DimTable::isSurelyPositive(const LinearSum &sum, int depth) const {
  if (!sum.mayBeNegative())
    return true;
  if (sum.isBroken || depth == 0)
    return false;
  for (auto [atom, factor] : sum.terms)
    for (const LinearSum &bound : boundsOf(atom, factor, depth - 1)) {
      LinearSum other = sum;
      other.add(atom, checkedSub(0, factor));
      other.add(bound);
      if (isSurelyPositive(other, depth - 1))
        return true;
    }
  return false;
}

bool DimTable::isSurelyAtLeast(Dim a, Dim b) const {
  if (a.isUnknown() || b.isUnknown())
    return false;
  LinearSum sum = sumOf(a);
  sum.add(sumOf(b), -1);
  return isSurelyPositive(sum);
}

// Positive terms, the constant, then what is taken away.
Dim DimTable::dimOf(const LinearSum &sum) {
  LinearSum negated;
  negated.add(sum, -1);
  if (negated.isBroken || sum.terms.size() > 32)
    return Dim::unknown();
  std::optional<Dim> result;
  for (auto [op, side] : {std::pair{DimOp::Add, &sum}, {DimOp::Sub, &std::as_const(negated)}}) {
    auto append = [&, op = op](Dim term) { result = result ? intern(op, *result, term) : term; };
    std::vector<LinearSum::Term> terms = side->terms;
    std::ranges::sort(terms, std::less(),
                      [&](auto &term) { return std::string_view(texts_[term.atom]); });
    for (auto [atom, factor] : terms)
      if (factor > 0)
        append(factor == 1 ? Dim::fromExpr(atom)
                           : intern(DimOp::Mul, Dim::fromExpr(atom), Dim(factor)));
    if (side->constant > 0)
      append(Dim(side->constant));
    if (!result) // nothing positive: no extent
      return sum == LinearSum() ? Dim(0) : Dim::unknown();
  }
  return *result;
}

// --- products

int64_t DimTable::factorsOf(Dim dim, Factors &factors) const {
  if (dim.isConst())
    return dim.value();
  const DimExpr &e = expr(dim);
  if (e.op != DimOp::Mul) {
    factors.insert(std::ranges::upper_bound(factors, dim.exprIndex()), dim.exprIndex());
    return 1;
  }
  int64_t left = factorsOf(e.lhs, factors), right = factorsOf(e.rhs, factors);
  return left * right; // at most one is not 1
}

Dim DimTable::productOf(Factors factors, int64_t constant) {
  std::ranges::sort(factors, std::less(),
                    [&](uint32_t atom) { return std::string_view(texts_[atom]); });
  std::optional<Dim> result;
  for (uint32_t factor : factors)
    result = result ? intern(DimOp::Mul, *result, Dim::fromExpr(factor)) : Dim::fromExpr(factor);
  if (!result || result->isUnknown())
    return result.value_or(Dim(constant));
  LinearSum sum;
  sum.add(sumOf(*result), constant);
  return dimOf(sum);
}

Dim DimTable::product(Dim a, Dim b) {
  Factors factors;
  int64_t left = factorsOf(a, factors), right = factorsOf(b, factors);
  CheckedInt constant = checkedMul(left, right);
  if (factors.size() > 16 || !constant)
    return Dim::unknown();
  return *constant == 0 ? Dim(0) : productOf(std::move(factors), *constant);
}

// --- quotients

namespace {

// `whole` is as many times `part`.
std::optional<int64_t> timesOf(const LinearSum &whole, const LinearSum &part) {
  if (part.terms.empty() || whole.terms.size() != part.terms.size())
    return std::nullopt;
  int64_t times = whole.terms[0].factor / part.terms[0].factor;
  LinearSum product;
  product.add(part, times);
  return times > 0 && !product.isBroken && product == whole ? std::optional(times) : std::nullopt;
}

} // namespace

Dim DimTable::quotient(DimOp op, Dim a, Dim b) {
  if (b == Dim(0))
    return Dim::unknown();
  // Common factors go: extents that divide are not 0.
  Factors top, bottom;
  int64_t topConstant = factorsOf(a, top), bottomConstant = factorsOf(b, bottom);
  Factors below = without(bottom, top);
  if (below.size() < bottom.size())
    return make(op, productOf(without(top, bottom), topConstant), productOf(below, bottomConstant));
  if (!b.isConst()) {
    std::optional<int64_t> times = timesOf(sumOf(a), sumOf(b));
    return times ? Dim(*times) : intern(op, a, b);
  }
  // What divides leaves the quotient; a constant is left that is less than b.
  auto [whole, rest] = sumOf(a).by(b.value(), true);
  if (rest.isConstant()) {
    whole.add(op == DimOp::CeilDiv && rest.constant > 0 ? 1 : 0);
    return dimOf(whole);
  }
  if (!isSurelyPositive(rest))
    return intern(op, a, b);
  std::optional<Dim> flat = nested(op, rest, b.value());
  Dim left = flat ? *flat : intern(op, dimOf(rest), b);
  if (left.isUnknown())
    return left;
  whole.add(sumOf(left));
  return dimOf(whole);
}

// (x / a + c) / b is (x + a * c) / (a * b).
std::optional<Dim> DimTable::nested(DimOp op, const LinearSum &sum, int64_t divisor) {
  const DimExpr base = exprs_[sum.terms[0].atom];
  if (sum.terms.size() != 1 || sum.terms[0].factor != 1 || base.op != op || !base.rhs.isConst())
    return std::nullopt;
  LinearSum shifted = sumOf(base.lhs);
  shifted.add(LinearSum(sum.constant), base.rhs.value());
  Dim top = dimOf(shifted);
  CheckedInt both = checkedMul(base.rhs.value(), divisor);
  return top.isUnknown() || !both ? std::nullopt : std::optional(make(op, top, Dim(*both)));
}

Dim DimTable::remainder(Dim a, Dim b) {
  if (b == Dim(0))
    return Dim::unknown();
  bool divides = a == b || (b.isConst() && sumOf(a).by(b.value(), true).rest == LinearSum());
  return divides ? Dim(0) : intern(DimOp::Mod, a, b);
}

Dim DimTable::extreme(DimOp op, Dim a, Dim b) {
  if (isSurelyAtLeast(a, b))
    return op == DimOp::Max ? a : b;
  if (isSurelyAtLeast(b, a))
    return op == DimOp::Max ? b : a;
  if (a.isConst() || (!b.isConst() && text(b) < text(a)))
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
    LinearSum sum = sumOf(a);
    sum.add(sumOf(b), op == DimOp::Add ? 1 : -1);
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

// --- what is 1

bool isOneWith(const TypeTable &types, Dim part, Dim whole) {
  if (part.isConst() || types.expr(part).op != DimOp::Min)
    return false;
  const DimExpr &e = types.expr(part);
  Dim other = e.lhs == whole ? e.rhs : e.lhs;
  return (e.lhs == whole || e.rhs == whole) && other != Dim(0);
}

bool isNeverOne(const TypeTable &types, Dim dim) {
  if (dim.isConst())
    return dim.value() > 1;
  const DimExpr &e = types.expr(dim);
  return e.op == DimOp::Mul && (isNeverOne(types, e.lhs) || isNeverOne(types, e.rhs));
}

} // namespace bycc
