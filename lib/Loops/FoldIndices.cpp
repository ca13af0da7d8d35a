// Arithmetic on indices: the canonical sum of products, ranges, and what folds. It is
// what lets a reshape be "load at the same flat index": unravelling and ravelling
// again cancels here.
#include "bycc/Loops/Compute.h"

#include <algorithm>
#include <numeric>

namespace bycc::loops {
namespace {

std::optional<Range> rangeOf(CheckedInt low, CheckedInt high) {
  return low && high ? std::optional(Range{*low, *high}) : std::nullopt;
}

std::optional<Range> product(const Range &x, const Range &y) {
  std::optional<Range> all;
  for (int64_t a : {x.low, x.high})
    for (int64_t b : {y.low, y.high}) {
      CheckedInt one = checkedMul(a, b);
      if (!one)
        return std::nullopt;
      all = all ? Range{std::min(all->low, *one), std::max(all->high, *one)} : Range{*one, *one};
    }
  return all;
}

std::optional<Range> rangeOf(Op op, const Range &x, const Range &y) {
  switch (op) {
  case Op::Add:
    return rangeOf(checkedAdd(x.low, y.low), checkedAdd(x.high, y.high));
  case Op::Sub:
    return rangeOf(checkedSub(x.low, y.high), checkedSub(x.high, y.low));
  case Op::Mul:
    return product(x, y);
  case Op::FloorDiv:
    return y.low == y.high && y.low > 0 ? rangeOf(floorDiv(x.low, y.low), floorDiv(x.high, y.low))
                                        : std::nullopt;
  case Op::Min:
    return Range{std::min(x.low, y.low), std::min(x.high, y.high)};
  case Op::Max:
    return Range{std::max(x.low, y.low), std::max(x.high, y.high)};
  default:
    return std::nullopt;
  }
}

} // namespace

Affine Exprs::affine(Ref ref) const {
  const Expr &e = nodes_[ref];
  if (e.op == Op::Const)
    return Affine(e.i);
  Affine sum;
  if (e.op == Op::Add || e.op == Op::Sub) {
    sum = affine(e.a);
    sum.add(affine(e.b), e.op == Op::Add ? 1 : -1);
  } else if (e.op == Op::Mul && nodes_[e.b].op == Op::Const) {
    sum.add(affine(e.a), nodes_[e.b].i);
  } else {
    sum.add(ref, 1);
  }
  return sum.isBroken ? Affine::of(ref) : sum;
}

Ref Exprs::fromAffine(const Affine &form) {
  if (form.isBroken)
    return noRef;
  Ref sum = noRef;
  for (auto [atom, factor] : form.terms) {
    Ref term = factor == 1 ? atom : asItIs(Op::Mul, atom, integer(factor));
    sum = sum == noRef ? term : asItIs(Op::Add, sum, term);
  }
  if (sum == noRef)
    return integer(form.constant);
  return form.constant == 0 ? sum : asItIs(Op::Add, sum, integer(form.constant));
}

std::optional<Range> Exprs::range(Ref ref) const {
  const Expr &e = nodes_[ref];
  if (e.op == Op::Const)
    return Range{e.i, e.i};
  if (e.op == Op::Axis) {
    auto extent = constantExtent(static_cast<uint32_t>(e.i));
    return extent ? std::optional(Range{0, std::max<int64_t>(*extent - 1, 0)}) : std::nullopt;
  }
  if (e.op == Op::FloorMod) {
    auto d = constant(e.b);
    return d && *d > 0 ? std::optional(Range{0, *d - 1}) : std::nullopt;
  }
  if (e.op < Op::Add || e.op > Op::Max)
    return std::nullopt;
  auto y = range(e.b);
  if (y && isIndex(ref))
    return Range{0, std::max<int64_t>(y->high, 0)};
  auto x = y ? range(e.a) : y;
  return x ? rangeOf(e.op, *x, *y) : std::nullopt;
}

std::optional<int64_t> Exprs::coefficient(Ref ref, uint32_t axisId) const {
  int64_t found = 0;
  for (auto [atom, coefficient] : affine(ref).terms) {
    if (nodes_[atom].op == Op::Axis) {
      if (nodes_[atom].i == axisId)
        found = coefficient;
    } else if (uses(atom, axisId)) {
      return std::nullopt;
    }
  }
  return found;
}

Factors Exprs::factors(Ref ref) const {
  Factors found, work{ref};
  while (!work.empty()) {
    Ref at = work.back();
    work.pop_back();
    const Expr &e = nodes_[at];
    if (e.op == Op::Mul && e.type == DType::Int64 && !constant(e.a) && !constant(e.b)) {
      work.push_back(e.a);
      work.push_back(e.b);
    } else {
      found.push_back(at);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<Factors> Exprs::factorsOver(Ref ref, const Factors &divisor) const {
  Factors all = factors(ref), left = without(all, divisor);
  return left.size() + divisor.size() == all.size() ? std::optional(left) : std::nullopt;
}

Ref Exprs::product(Factors factors) {
  std::sort(factors.begin(), factors.end());
  Ref made = noRef;
  for (Ref factor : factors)
    made = made == noRef ? factor : asItIs(Op::Mul, made, factor);
  return made == noRef ? integer(1) : made;
}

Ref Exprs::stride(Ref ref, uint32_t axisId) {
  Ref sum = integer(0);
  for (auto [atom, coefficient] : affine(ref).terms) {
    Factors others;
    size_t count = 0;
    for (Ref factor : factors(atom)) {
      if (nodes_[factor].op == Op::Axis && nodes_[factor].i == axisId)
        ++count;
      else if (uses(factor, axisId))
        return noRef;
      else
        others.push_back(factor);
    }
    if (count > 1)
      return noRef;
    if (count == 1)
      sum = add(sum, times(product(others), coefficient));
  }
  return sum;
}

bool Exprs::holdsLoad(Ref ref) const {
  bool found = false;
  visit(ref, [&](Ref at) {
    found = found || nodes_[at].op == Op::Load;
    return !found && !isIndex(at);
  });
  return found;
}

// Sums and products of data wrap at run time, so they fold as others do, but what is then divided
// or compared is not the number that the formula says: (x * 4) / 2 is 0 for x = 2^62.
bool Exprs::isExact(Ref ref) const { return !holdsLoad(ref) || range(ref); }

Ref Exprs::index(Ref value, Ref extent) {
  return binary(Op::Min, binary(Op::Max, value, integer(0)), plus(extent, -1), 1);
}

Ref Exprs::last(Ref factor) {
  const Expr e = nodes_[factor];
  if (e.op == Op::Axis)
    return plus(extents_[static_cast<size_t>(e.i)], -1);
  if (isIndex(factor))
    return e.b;
  if (e.op == Op::FloorMod)
    return isNotNegative(e.b) ? plus(e.b, -1) : noRef;
  if (auto divisor = e.op == Op::FloorDiv ? constant(e.b) : std::nullopt; divisor && *divisor > 0) {
    Ref most = lastOfSum(affine(e.a));
    return most == noRef ? noRef : binary(Op::FloorDiv, most, e.b);
  }
  return e.op == Op::FloorDiv ? lastOfWholes(e.a, e.b) : noRef;
}

// Of a // divisor, where a counts wholes of it: one less than their number. What divides is not 0
// where it is done.
Ref Exprs::lastOfWholes(Ref a, Ref divisor) {
  Affine by = affine(divisor);
  Ref most = lastOfSum(affine(a));
  if (most == noRef || by.constant != 0 || by.terms.size() != 1 || !isNotNegative(divisor))
    return noRef;
  Affine all = affine(plus(most, 1)), wholes;
  if (all.constant != 0)
    return noRef;
  for (auto [atom, factor] : all.terms) {
    std::optional<Factors> left = factorsOver(atom, factors(by.terms[0].atom));
    if (!left || factor % by.terms[0].factor != 0)
      return noRef;
    wholes.add(affine(product(*left)), factor / by.terms[0].factor);
  }
  Ref count = fromAffine(wholes);
  return count == noRef ? noRef : plus(count, -1);
}

Ref Exprs::lastOfSum(const Affine &form) {
  Ref sum = integer(form.constant);
  for (auto [atom, coefficient] : form.terms) {
    Ref most = coefficient < 0 ? noRef : integer(1);
    for (Ref factor : factors(atom)) {
      Ref greatest = nodes_[factor].op == Op::Dim ? factor : last(factor);
      bool isKnown = most != noRef && greatest != noRef && isNotNegative(factor);
      most = isKnown ? binary(Op::Mul, most, greatest) : noRef;
    }
    if (most == noRef)
      return noRef;
    sum = add(sum, times(most, coefficient));
  }
  return sum;
}

// Sums are multiplied out, so that strides of run-time extents stay sums of
// products. Data (loads) is left as it is.
Ref Exprs::multiply(Ref a, Ref b) {
  Affine x = affine(a), y = affine(b);
  const size_t most = 24; // terms; more is no index
  if ((x.terms.size() + 1) * (y.terms.size() + 1) > most || holdsLoad(a) || holdsLoad(b))
    return noRef;
  Affine sum;
  sum.add(y, x.constant);
  for (auto [p, c] : x.terms) {
    sum.add(p, checkedMul(c, y.constant));
    for (auto [q, d] : y.terms) {
      Factors all = factors(p), more = factors(q);
      all.insert(all.end(), more.begin(), more.end());
      sum.add(product(std::move(all)), checkedMul(c, d));
    }
  }
  return fromAffine(sum);
}

bool Exprs::isNotNegative(Ref ref) const {
  const Expr &e = nodes_[ref];
  if (isIndex(ref))
    return true;
  switch (e.op) {
  case Op::Const:
    return e.i >= 0;
  case Op::Axis:
    return true;
  case Op::Dim:
    return e.f == 0;
  case Op::FloorMod:
    return isNotNegative(e.b);
  case Op::Max:
    return isNotNegative(e.a) || isNotNegative(e.b);
  case Op::Add:
  case Op::Mul:
  case Op::FloorDiv:
  case Op::Min:
    return isNotNegative(e.a) && isNotNegative(e.b);
  case Op::Select:
    return isNotNegative(e.b) && isNotNegative(e.c);
  default:
    return false;
  }
}

// Axes, and what else counts from 0, are put at their last value in terms that add, then
// all that is left must not be positive.
bool Exprs::isAtMost(Affine form, int64_t limit) {
  for (int step = 0; step < 32 && !form.isBroken; ++step) {
    Affine next(form.constant);
    bool isChanged = false;
    for (auto [atom, coefficient] : form.terms) {
      Factors all = factors(atom);
      if (!std::ranges::all_of(all, [&](Ref factor) { return isNotNegative(factor); }))
        return false;
      Ref most = noRef;
      auto counter =
          std::ranges::find_if(all, [&](Ref factor) { return (most = last(factor)) != noRef; });
      if (counter == all.end()) {
        next.add(atom, coefficient);
        continue;
      }
      isChanged = true;
      if (coefficient < 0)
        continue; // at most 0
      all.erase(counter);
      next.add(affine(mul(product(all), most)), coefficient);
    }
    form = std::move(next);
    if (isChanged)
      continue;
    Affine left(limit);
    left.add(form, -1);
    return !left.mayBeNegative();
  }
  return false;
}

bool Exprs::isAtLeast(const Affine &form, int64_t limit) {
  Affine negated;
  negated.add(form, -1);
  return isAtMost(std::move(negated), -limit);
}

bool Exprs::isSurelyAtMost(Ref ref, int64_t limit) {
  auto bounds = range(ref);
  return bounds ? bounds->high <= limit : isAtMost(affine(ref), limit);
}

bool Exprs::isSurelyAtLeast(Ref ref, int64_t limit) {
  auto bounds = range(ref);
  return bounds ? bounds->low >= limit : isAtLeast(affine(ref), limit);
}

// (upper * g + lower) / (g * d) = upper / d where lower lies in [0, g); the remainder is
// upper mod d of g, and lower.
Ref Exprs::divideUpper(Op op, const Affine &upper, const Affine &lower, const Affine &period,
                       Ref divisor) {
  Affine above = lower;
  above.add(period, -1);
  if (upper.isConstant() || !isAtLeast(lower, 0) || !isAtMost(std::move(above), -1))
    return noRef;
  Ref part = binary(op, fromAffine(upper), divisor);
  return op == Op::FloorDiv ? part : add(mul(part, fromAffine(period)), fromAffine(lower));
}

// The same for a divisor of one term, scale * the product of dims: g is that product, by what all
// terms with its factors have in common with scale.
Ref Exprs::divideByUpper(Op op, const Affine &a, const Affine::Term &divisor, const Factors &dims) {
  Affine upper, lower(a.constant);
  int64_t common = divisor.factor;
  for (auto [atom, coefficient] : a.terms) {
    std::optional<Factors> left = factorsOver(atom, dims);
    if (left && !left->empty()) {
      common = std::gcd(common, coefficient);
      upper.add(product(*left), coefficient);
    } else {
      lower.add(atom, coefficient);
    }
  }
  if (common >= divisor.factor)
    return noRef;
  return divideUpper(op, upper.by(common, false).whole, lower, Affine::of(divisor.atom, common),
                     integer(divisor.factor / common));
}

// The same where g is a number, in front of any divisor.
Ref Exprs::divideByNumber(Op op, const Affine &a, int64_t number, Ref divisor) {
  auto [upper, lower] = a.by(number, false);
  return divideUpper(op, upper, lower, Affine(number), divisor);
}

// x // d * d + x % d = x, where d is a number or one product.
Affine Exprs::withWholes(Affine form) const {
  for (size_t i = 0; i < form.terms.size(); ++i) {
    auto [rest, times] = form.terms[i];
    if (nodes_[rest].op != Op::FloorMod)
      continue;
    Ref whole = nodes_[rest].a, by = nodes_[rest].b;
    Affine divisor = affine(by);
    if (divisor.terms.size() + (divisor.constant != 0) != 1)
      continue;
    Factors wanted;
    int64_t scale = divisor.constant;
    for (auto [atom, coefficient] : divisor.terms) {
      wanted = factors(atom);
      scale = coefficient;
    }
    auto hit = std::ranges::find_if(form.terms, [&, times = times](const auto &term) {
      std::optional<Factors> left = factorsOver(term.atom, wanted);
      return term.factor == checkedMul(times, scale) && left && left->size() == 1 &&
             nodes_[left->front()].op == Op::FloorDiv && nodes_[left->front()].a == whole &&
             nodes_[left->front()].b == by;
    });
    if (hit == form.terms.end())
      continue;
    form.add(hit->atom, checkedSub(0, hit->factor));
    form.add(rest, checkedSub(0, times));
    form.add(affine(whole), times);
    i = static_cast<size_t>(-1); // what came may be half of another
  }
  return form;
}

// quotient + rest / divisor, or the remainder of it; rest isWithin one period.
Ref Exprs::divided(Op op, Affine quotient, Ref rest, Ref divisor, bool isWithin) {
  if (op == Op::FloorMod)
    return isWithin ? rest : asItIs(Op::FloorMod, rest, divisor);
  if (!isWithin)
    quotient.add(asItIs(Op::FloorDiv, rest, divisor), 1);
  return fromAffine(quotient);
}

// Division of polynomials: multiples of the divisor leave; what remains folds
// when it lies within one period.
Ref Exprs::divideByDims(Op op, Ref a, Ref divisor) {
  if (holdsLoad(a) || holdsLoad(divisor) || !isNotNegative(divisor))
    return noRef;
  if (a == divisor)
    return integer(op == Op::FloorDiv ? 1 : 0);
  Affine by = affine(divisor), rest = affine(a), quotient;
  if (by.isConstant())
    return noRef;
  auto numFactors = [&](const Affine::Term &term) { return factors(term.atom).size(); };
  Affine::Term leading = *std::ranges::max_element(by.terms, {}, numFactors);
  Factors wanted = factors(leading.atom);
  for (int step = 0; step < 16; ++step) {
    auto hit = std::ranges::find_if(rest.terms, [&](const auto &term) {
      return term.factor % leading.factor == 0 && factorsOver(term.atom, wanted);
    });
    if (hit == rest.terms.end())
      break;
    Ref part = times(product(*factorsOver(hit->atom, wanted)), hit->factor / leading.factor);
    quotient.add(affine(part));
    rest.add(affine(mul(part, divisor)), -1);
  }
  Affine beyond = rest;
  beyond.add(by, -1);
  bool isWithin = isAtLeast(rest, 0) && isAtMost(std::move(beyond), -1);
  if (rest.isBroken || quotient.isBroken)
    return noRef;
  if (!isWithin && by == Affine::of(leading.atom, leading.factor) && leading.factor > 1) {
    Ref split = divideByUpper(op, rest, leading, wanted);
    if (split == noRef)
      split = divideByNumber(op, rest, leading.factor, leading.atom);
    if (split != noRef)
      return op == Op::FloorDiv ? add(fromAffine(quotient), split) : split;
  }
  return isWithin || quotient != Affine()
             ? divided(op, quotient, fromAffine(rest), divisor, isWithin)
             : noRef;
}

// a div/mod divisor, divisor > 0: terms that are multiples of the divisor leave;
// what remains folds when its range lies within one period.
Ref Exprs::divideOrMod(Op op, Ref a, int64_t divisor) {
  if (divisor == 1)
    return op == Op::FloorDiv ? a : integer(0);
  auto [quotient, rest] = affine(a).by(divisor, false);
  Ref remainder = fromAffine(rest);
  auto fits = [&] {
    return isSurelyAtLeast(remainder, 0) && isSurelyAtMost(remainder, divisor - 1);
  };
  bool isWithin = fits();
  // A common factor of all terms and the divisor can be taken out of a division.
  if (!isWithin && op == Op::FloorDiv && rest.constant == 0 && rest.terms.size() == 1) {
    auto [atom, factor] = rest.terms[0];
    const Expr inner = nodes_[atom];
    auto own = inner.op == Op::FloorDiv ? constant(inner.b) : std::nullopt;
    CheckedInt both = own && *own > 0 ? checkedMul(*own, divisor) : std::nullopt;
    if (factor > 1 && divisor % factor == 0)
      remainder = atom, divisor /= factor;
    else if (factor == 1 && both)
      remainder = inner.a, divisor = *both;
    isWithin = fits();
  }
  if (!isWithin)
    for (auto [atom, number] : rest.terms)
      if (number > 1 && number < divisor && divisor % number == 0)
        if (Ref split = divideByNumber(op, rest, number, integer(divisor / number)); split != noRef)
          return op == Op::FloorDiv ? add(fromAffine(quotient), split) : split;
  return divided(op, quotient, remainder, integer(divisor), isWithin);
}

Ref Exprs::foldExtreme(Op op, Ref a, Ref b) {
  if (a == b)
    return a;
  if (!isExact(a) || !isExact(b))
    return noRef;
  Ref difference = sub(a, b);
  if (isSurelyAtMost(difference, 0))
    return op == Op::Min ? a : b;
  return isSurelyAtLeast(difference, 0) ? (op == Op::Min ? b : a) : noRef;
}

Ref Exprs::foldComparison(Op op, Ref a, Ref b) {
  if (op == Op::Eq || op == Op::Ne) {
    bool isKnown = a == b || (constant(a) && constant(b));
    return isKnown ? boolean((constant(a) == constant(b)) == (op == Op::Eq)) : noRef;
  }
  if (!isExact(a) || !isExact(b))
    return a == b ? boolean(op == Op::Le) : noRef;
  Ref difference = sub(a, b);
  int64_t limit = op == Op::Lt ? -1 : 0;
  if (isSurelyAtMost(difference, limit))
    return boolean(true);
  return isSurelyAtLeast(difference, limit + 1) ? boolean(false) : noRef;
}

Ref Exprs::foldBinary(Op op, Ref a, Ref b) {
  auto x = constant(a), y = constant(b);
  switch (op) {
  case Op::Add:
  case Op::Sub: {
    Affine form = affine(a);
    form.add(affine(b), op == Op::Add ? 1 : -1);
    return fromAffine(withWholes(std::move(form)));
  }
  case Op::Mul: {
    if (!x && !y)
      return multiply(a, b);
    Affine form;
    form.add(affine(x ? b : a), x ? *x : *y);
    return fromAffine(form);
  }
  case Op::FloorDiv:
  case Op::FloorMod:
    if (!y)
      return divideByDims(op, a, b);
    return *y == 1 || (*y > 0 && isExact(a)) ? divideOrMod(op, a, *y) : noRef;
  case Op::Min:
  case Op::Max:
    return foldExtreme(op, a, b);
  case Op::Eq:
  case Op::Ne:
  case Op::Lt:
  case Op::Le:
    return foldComparison(op, a, b);
  default:
    return noRef;
  }
}

} // namespace bycc::loops
