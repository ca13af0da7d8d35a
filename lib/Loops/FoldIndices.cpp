// Arithmetic on indices: the canonical sum of products, ranges, and what folds. It is
// what lets a reshape be "load at the same flat index": unravelling and ravelling
// again cancels here.
#include "bycc/Loops/Compute.h"

#include "bycc/Support/Integers.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace bycc::loops {
namespace {

void addScaled(Affine &into, const Affine &other, int64_t scale) {
  into.constant = wrapAdd(into.constant, wrapMul(other.constant, scale));
  std::map<Ref, int64_t> sum(into.terms.begin(), into.terms.end());
  for (auto [atom, coefficient] : other.terms)
    sum[atom] = wrapAdd(sum[atom], wrapMul(coefficient, scale));
  into.terms.clear();
  for (auto [atom, coefficient] : sum)
    if (coefficient != 0)
      into.terms.push_back({atom, coefficient});
}

} // namespace

Affine Exprs::affine(Ref ref) const {
  const Expr e = nodes_[ref];
  Affine result;
  if (e.op == Op::Const) {
    result.constant = e.i;
  } else if (e.op == Op::Add || e.op == Op::Sub) {
    result = affine(e.a);
    addScaled(result, affine(e.b), e.op == Op::Add ? 1 : -1);
  } else if (e.op == Op::Mul && nodes_[e.b].op == Op::Const) {
    addScaled(result, affine(e.a), nodes_[e.b].i);
  } else {
    result.terms.push_back({ref, 1});
  }
  return result;
}

Ref Exprs::fromAffine(const Affine &form) {
  Ref sum = noRef;
  for (auto [atom, coefficient] : form.terms) {
    Ref term = atom;
    if (coefficient != 1)
      term = intern({Op::Mul, DType::Int64, atom, integer(coefficient), noRef, 0, 0});
    sum = sum == noRef ? term : intern({Op::Add, DType::Int64, sum, term, noRef, 0, 0});
  }
  if (sum == noRef)
    return integer(form.constant);
  if (form.constant == 0)
    return sum;
  return intern({Op::Add, DType::Int64, sum, integer(form.constant), noRef, 0, 0});
}

std::optional<Range> Exprs::range(Ref ref) const {
  const Expr &e = nodes_[ref];
  switch (e.op) {
  case Op::Const:
    return Range{e.i, e.i};
  case Op::Axis: {
    auto extent = constantExtent(static_cast<uint32_t>(e.i));
    return extent ? std::optional<Range>(Range{0, std::max<int64_t>(*extent - 1, 0)})
                  : std::nullopt;
  }
  case Op::FloorMod: {
    auto d = constant(e.b);
    return d && *d > 0 ? std::optional<Range>(Range{0, *d - 1}) : std::nullopt;
  }
  case Op::FloorDiv: {
    auto d = constant(e.b);
    auto r = range(e.a);
    if (d && *d > 0 && r)
      return Range{floorDiv(r->low, *d), floorDiv(r->high, *d)};
    return std::nullopt;
  }
  case Op::Min:
  case Op::Max: {
    if (auto extent = range(e.b); extent && isIndex(ref))
      return Range{0, std::max<int64_t>(extent->high, 0)};
    auto x = range(e.a), y = range(e.b);
    if (!x || !y)
      return std::nullopt;
    if (e.op == Op::Min)
      return Range{std::min(x->low, y->low), std::min(x->high, y->high)};
    return Range{std::max(x->low, y->low), std::max(x->high, y->high)};
  }
  case Op::Add:
  case Op::Sub:
  case Op::Mul: {
    auto x = range(e.a), y = range(e.b);
    const int64_t big = int64_t{1} << 30;
    auto isSmall = [&](const Range &r) { return r.low > -big * big && r.high < big * big; };
    if (!x || !y || !isSmall(*x) || !isSmall(*y))
      return std::nullopt;
    if (e.op == Op::Add)
      return Range{x->low + y->low, x->high + y->high};
    if (e.op == Op::Sub)
      return Range{x->low - y->high, x->high - y->low};
    __int128 products[] = {__int128(x->low) * y->low, __int128(x->low) * y->high,
                           __int128(x->high) * y->low, __int128(x->high) * y->high};
    auto [low, high] = std::minmax_element(std::begin(products), std::end(products));
    if (*low < -(__int128(1) << 62) || *high > (__int128(1) << 62))
      return std::nullopt;
    return Range{static_cast<int64_t>(*low), static_cast<int64_t>(*high)};
  }
  default:
    return std::nullopt;
  }
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

std::vector<Ref> Exprs::factors(Ref ref) const {
  std::vector<Ref> found, work{ref};
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

Ref Exprs::product(std::vector<Ref> factors) {
  std::sort(factors.begin(), factors.end());
  Ref made = noRef;
  for (Ref factor : factors)
    made = made == noRef ? factor : intern({Op::Mul, DType::Int64, made, factor, noRef, 0, 0});
  return made;
}

Ref Exprs::stride(Ref ref, uint32_t axisId) {
  Ref sum = integer(0);
  for (auto [atom, coefficient] : affine(ref).terms) {
    std::vector<Ref> others;
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
      sum = add(sum, others.empty() ? integer(coefficient) : times(product(others), coefficient));
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

// Sums and products of data wrap (Integers.h), so they fold as others do, but what is then divided
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
  return noRef;
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
  sum.constant = wrapMul(x.constant, y.constant);
  Affine part = y;
  part.constant = 0;
  addScaled(sum, part, x.constant);
  part = x;
  part.constant = 0;
  addScaled(sum, part, y.constant);
  for (auto [p, c] : x.terms)
    for (auto [q, d] : y.terms) {
      std::vector<Ref> all = factors(p), more = factors(q);
      all.insert(all.end(), more.begin(), more.end());
      Affine term;
      term.terms.push_back({product(std::move(all)), wrapMul(c, d)});
      addScaled(sum, term, 1);
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
  for (int step = 0; step < 32; ++step) {
    Affine next;
    next.constant = form.constant;
    bool isChanged = false;
    for (auto [atom, coefficient] : form.terms) {
      std::vector<Ref> all = factors(atom);
      for (Ref factor : all)
        if (!isNotNegative(factor))
          return false;
      Ref most = noRef;
      auto counter = std::find_if(all.begin(), all.end(),
                                  [&](Ref factor) { return (most = last(factor)) != noRef; });
      if (counter == all.end()) {
        Affine term;
        term.terms.push_back({atom, coefficient});
        addScaled(next, term, 1);
        continue;
      }
      isChanged = true;
      if (coefficient < 0)
        continue; // at most 0
      all.erase(counter);
      addScaled(next, affine(all.empty() ? most : binary(Op::Mul, product(all), most)),
                coefficient);
    }
    form = std::move(next);
    if (isChanged)
      continue;
    for (auto [atom, coefficient] : form.terms)
      if (coefficient > 0)
        return false;
    return form.constant <= limit;
  }
  return false;
}

bool Exprs::isAtLeast(const Affine &form, int64_t limit) {
  Affine negated;
  addScaled(negated, form, -1);
  return isAtMost(std::move(negated), -limit);
}

// (u * g * D + r) / (c * g * D) = u / c where r lies in [0, g * D), for a divisor of one
// term with the factors D; the remainder is u mod c of g * D, and r.
Ref Exprs::divideByUpper(Op op, const Affine &a, const Affine &divisor,
                         const std::vector<Ref> &dims) {
  if (divisor.terms.size() != 1 || divisor.constant != 0 || divisor.terms[0].second <= 1)
    return noRef;
  auto [leading, scale] = divisor.terms[0];
  Affine upper, lower;
  lower.constant = a.constant;
  int64_t common = scale;
  for (auto [atom, coefficient] : a.terms) {
    std::vector<Ref> all = factors(atom), left;
    bool isUpper = std::includes(all.begin(), all.end(), dims.begin(), dims.end());
    std::set_difference(all.begin(), all.end(), dims.begin(), dims.end(), std::back_inserter(left));
    Affine term;
    if (isUpper && !left.empty()) {
      common = std::gcd(common, coefficient);
      term.terms.push_back({product(std::move(left)), coefficient});
      addScaled(upper, term, 1);
    } else {
      term.terms.push_back({atom, coefficient});
      addScaled(lower, term, 1);
    }
  }
  for (auto &[atom, coefficient] : upper.terms)
    coefficient /= common;
  Affine above = lower, period;
  period.terms.push_back({leading, common});
  addScaled(above, period, -1);
  if (common >= scale || upper.terms.empty() || !isAtLeast(lower, 0) || !isAtMost(above, -1))
    return noRef;
  Ref part = binary(op, fromAffine(upper), integer(scale / common));
  if (op == Op::FloorDiv)
    return part;
  return add(binary(Op::Mul, part, fromAffine(period)), fromAffine(lower));
}

// (u * g + r) / (g * D) = u / D where r lies in [0, g); the remainder is u mod D of g, and r.
Ref Exprs::divideByNumber(Op op, const Affine &a, int64_t number, Ref divisor) {
  Affine upper, lower;
  lower.constant = a.constant;
  for (auto [atom, coefficient] : a.terms)
    if (coefficient % number == 0)
      upper.terms.push_back({atom, coefficient / number});
    else
      lower.terms.push_back({atom, coefficient});
  if (upper.terms.empty() || !isAtLeast(lower, 0) || !isAtMost(lower, number - 1))
    return noRef;
  Ref part = binary(op, fromAffine(upper), divisor);
  return op == Op::FloorDiv ? part : add(times(part, number), fromAffine(lower));
}

// x // d * d + x % d = x, where d is a number or one product.
Affine Exprs::withWholes(Affine form) const {
  for (size_t i = 0; i < form.terms.size(); ++i) {
    auto [rest, times] = form.terms[i];
    if (nodes_[rest].op != Op::FloorMod)
      continue;
    Ref whole = nodes_[rest].a;
    Affine divisor = affine(nodes_[rest].b);
    if (divisor.terms.size() + (divisor.constant != 0) != 1)
      continue;
    std::vector<Ref> wanted;
    int64_t scale = divisor.constant;
    for (auto [atom, coefficient] : divisor.terms) {
      wanted = factors(atom);
      scale = coefficient;
    }
    auto hit = std::ranges::find_if(form.terms, [&, times = times](const auto &term) {
      std::vector<Ref> all = factors(term.first), left;
      std::ranges::set_difference(all, wanted, std::back_inserter(left));
      return term.second == wrapMul(times, scale) && all.size() == wanted.size() + 1 &&
             left.size() == 1 && nodes_[left[0]].op == Op::FloorDiv && nodes_[left[0]].a == whole &&
             nodes_[left[0]].b == nodes_[rest].b;
    });
    if (hit == form.terms.end())
      continue;
    size_t other = static_cast<size_t>(hit - form.terms.begin());
    form.terms.erase(form.terms.begin() + static_cast<ptrdiff_t>(std::max(i, other)));
    form.terms.erase(form.terms.begin() + static_cast<ptrdiff_t>(std::min(i, other)));
    addScaled(form, affine(whole), times);
    i = static_cast<size_t>(-1); // what came may be half of another
  }
  return form;
}

// Division of polynomials: multiples of the divisor leave; what remains folds
// when it lies within one period.
Ref Exprs::divideByDims(Op op, Ref a, Ref divisor) {
  if (holdsLoad(a) || holdsLoad(divisor) || !isNotNegative(divisor))
    return noRef;
  if (a == divisor)
    return integer(op == Op::FloorDiv ? 1 : 0);
  Affine by = affine(divisor), rest = affine(a), quotient;
  if (by.terms.empty())
    return noRef;
  auto [leading, scale] =
      *std::max_element(by.terms.begin(), by.terms.end(), [&](const auto &p, const auto &q) {
        return factors(p.first).size() < factors(q.first).size();
      });
  std::vector<Ref> wanted = factors(leading);
  for (int step = 0; step < 16; ++step) {
    auto hit =
        std::find_if(rest.terms.begin(), rest.terms.end(), [&, scale = scale](const auto &term) {
          std::vector<Ref> all = factors(term.first);
          return term.second % scale == 0 &&
                 std::includes(all.begin(), all.end(), wanted.begin(), wanted.end());
        });
    if (hit == rest.terms.end())
      break;
    std::vector<Ref> all = factors(hit->first), left;
    std::set_difference(all.begin(), all.end(), wanted.begin(), wanted.end(),
                        std::back_inserter(left));
    Affine part;
    if (left.empty())
      part.constant = hit->second / scale;
    else
      part.terms.push_back({product(left), hit->second / scale});
    addScaled(quotient, part, 1);
    Ref taken = binary(Op::Mul, fromAffine(part), divisor);
    addScaled(rest, affine(taken), -1);
  }
  Affine beyond = rest;
  addScaled(beyond, by, -1);
  bool isWithin = isAtLeast(rest, 0) && isAtMost(beyond, -1);
  bool isMoved = !quotient.terms.empty() || quotient.constant != 0;
  if (!isWithin)
    for (Ref split :
         {divideByUpper(op, rest, by, wanted), by.terms.size() == 1 && by.constant == 0 && scale > 1
                                                   ? divideByNumber(op, rest, scale, leading)
                                                   : noRef})
      if (split != noRef)
        return op == Op::FloorDiv ? add(fromAffine(quotient), split) : split;
  if (!isWithin && !isMoved)
    return noRef;
  Ref remainder = fromAffine(rest);
  if (op == Op::FloorMod)
    return isWithin ? remainder
                    : intern({Op::FloorMod, DType::Int64, remainder, divisor, noRef, 0, 0});
  if (!isWithin) {
    Affine one;
    one.terms.push_back({intern({Op::FloorDiv, DType::Int64, remainder, divisor, noRef, 0, 0}), 1});
    addScaled(quotient, one, 1);
  }
  return fromAffine(quotient);
}

// a div/mod divisor, divisor > 0: terms that are multiples of the divisor leave;
// what remains folds when its range lies within one period.
Ref Exprs::divideOrMod(Op op, Ref a, int64_t divisor) {
  if (divisor == 1)
    return op == Op::FloorDiv ? a : integer(0);
  Affine form = affine(a), quotient, rest;
  for (auto [atom, coefficient] : form.terms) {
    if (coefficient % divisor == 0)
      quotient.terms.push_back({atom, coefficient / divisor});
    else
      rest.terms.push_back({atom, coefficient});
  }
  quotient.constant = floorDiv(form.constant, divisor);
  rest.constant = floorMod(form.constant, divisor);
  Ref remainder = fromAffine(rest);
  auto bounds = range(remainder);
  bool isWithin = bounds ? bounds->low >= 0 && bounds->high < divisor
                         : isAtLeast(rest, 0) && isAtMost(rest, divisor - 1);
  // A common factor of all terms and the divisor can be taken out of a division.
  if (!isWithin && op == Op::FloorDiv && rest.constant == 0 && rest.terms.size() == 1) {
    const Expr inner = nodes_[rest.terms[0].first];
    int64_t c = rest.terms[0].second;
    if (c > 1 && divisor % c == 0)
      remainder = rest.terms[0].first, divisor /= c;
    else if (c == 1 && inner.op == Op::FloorDiv && constant(inner.b) && *constant(inner.b) > 0 &&
             *constant(inner.b) < (int64_t{1} << 31) && divisor < (int64_t{1} << 31))
      remainder = inner.a, divisor *= *constant(inner.b);
    auto again = range(remainder);
    isWithin = again && again->low >= 0 && again->high < divisor;
  }
  if (!isWithin)
    for (auto [atom, number] : rest.terms)
      if (number > 1 && number < divisor && divisor % number == 0)
        if (Ref split = divideByNumber(op, rest, number, integer(divisor / number)); split != noRef)
          return op == Op::FloorDiv ? add(fromAffine(quotient), split) : split;
  if (op == Op::FloorMod) {
    if (isWithin)
      return remainder;
    return intern({Op::FloorMod, DType::Int64, remainder, integer(divisor), noRef, 0, 0});
  }
  if (!isWithin) {
    Ref inner = intern({Op::FloorDiv, DType::Int64, remainder, integer(divisor), noRef, 0, 0});
    Affine one;
    one.terms.push_back({inner, 1});
    addScaled(quotient, one, 1);
  }
  return fromAffine(quotient);
}

Ref Exprs::foldBinary(Op op, Ref a, Ref b) {
  auto x = constant(a), y = constant(b);
  switch (op) {
  case Op::Add:
  case Op::Sub: {
    Affine form = affine(a);
    addScaled(form, affine(b), op == Op::Add ? 1 : -1);
    return fromAffine(withWholes(std::move(form)));
  }
  case Op::Mul: {
    if (!x && !y)
      return multiply(a, b);
    Affine form;
    addScaled(form, affine(x ? b : a), x ? *x : *y);
    return fromAffine(form);
  }
  case Op::FloorDiv:
  case Op::FloorMod:
    if (!y)
      return divideByDims(op, a, b);
    return *y == 1 || (*y > 0 && isExact(a)) ? divideOrMod(op, a, *y) : noRef;
  case Op::Min:
  case Op::Max: {
    if (a == b)
      return a;
    if (!isExact(a) || !isExact(b))
      return noRef;
    auto r = range(a), s = range(b);
    if (!r || !s) {
      Affine difference = affine(sub(a, b));
      if (isAtMost(difference, 0))
        return op == Op::Min ? a : b;
      return isAtLeast(difference, 0) ? (op == Op::Min ? b : a) : noRef;
    }
    if (r->high <= s->low)
      return op == Op::Min ? a : b;
    if (s->high <= r->low)
      return op == Op::Min ? b : a;
    return noRef;
  }
  case Op::Lt:
  case Op::Le: {
    if (!isExact(a) || !isExact(b))
      return a == b ? boolean(op == Op::Le) : noRef;
    auto r = range(sub(a, b));
    int64_t limit = op == Op::Lt ? -1 : 0;
    if (!r) {
      Affine difference = affine(sub(a, b));
      if (isAtMost(difference, limit))
        return boolean(true);
      return isAtLeast(difference, limit + 1) ? boolean(false) : noRef;
    }
    if (r->high <= limit)
      return boolean(true);
    return r->low > limit ? boolean(false) : noRef;
  }
  case Op::Eq:
    return a == b ? boolean(true) : (x && y) ? boolean(*x == *y) : noRef;
  case Op::Ne:
    return a == b ? boolean(false) : (x && y) ? boolean(*x != *y) : noRef;
  default:
    return noRef;
  }
}

} // namespace bycc::loops
