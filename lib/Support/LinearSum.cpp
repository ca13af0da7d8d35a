#include "bycc/Support/LinearSum.h"

#include <algorithm>
#include <iterator>

namespace bycc {

LinearSum LinearSum::of(uint32_t atom, int64_t factor) {
  LinearSum sum;
  sum.add(atom, factor);
  return sum;
}

void LinearSum::add(CheckedInt number) {
  CheckedInt total = number ? checkedAdd(constant, *number) : number;
  constant = total.value_or(0);
  isBroken |= !total;
}

void LinearSum::add(uint32_t atom, CheckedInt factor) {
  auto at = std::ranges::lower_bound(terms, atom, {}, &Term::atom);
  bool isNew = at == terms.end() || at->atom != atom;
  CheckedInt total = factor && !isNew ? checkedAdd(at->factor, *factor) : factor;
  isBroken |= !total;
  if (total.value_or(0) == 0) {
    if (!isNew)
      terms.erase(at);
  } else if (isNew) {
    terms.insert(at, {atom, *total});
  } else {
    at->factor = *total;
  }
}

void LinearSum::add(const LinearSum &other, int64_t factor) {
  isBroken |= other.isBroken;
  add(checkedMul(other.constant, factor));
  for (auto [atom, own] : other.terms)
    add(atom, checkedMul(own, factor));
}

bool LinearSum::mayBeNegative() const {
  return isBroken || constant < 0 ||
         std::ranges::any_of(terms, [](const Term &term) { return term.factor < 0; });
}

LinearSum::Quotient LinearSum::by(int64_t divisor, bool splitsFactors) const {
  Quotient result{LinearSum(floorDiv(constant, divisor)), LinearSum(floorMod(constant, divisor))};
  result.whole.isBroken = result.rest.isBroken = isBroken;
  for (auto [atom, factor] : terms) {
    bool leaves = factor % divisor == 0 || (splitsFactors && factor > divisor);
    int64_t times = leaves ? factor / divisor : 0, left = factor - times * divisor;
    if (times != 0)
      result.whole.terms.push_back({atom, times});
    if (left != 0)
      result.rest.terms.push_back({atom, left});
  }
  return result;
}

Factors without(const Factors &all, const Factors &part) {
  Factors left;
  std::ranges::set_difference(all, part, std::back_inserter(left));
  return left;
}

} // namespace bycc
