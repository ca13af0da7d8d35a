#include "bycc/Support/Cubic.h"

#include <cmath>

namespace bycc {
namespace {

std::optional<Cubic> multiplied(const Cubic &a, const Cubic &b) {
  Cubic product{};
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b.size(); ++j) {
      if (a[i] == 0 || b[j] == 0)
        continue;
      if (i + j >= product.size())
        return std::nullopt;
      product[i + j] += a[i] * b[j];
    }
  return product;
}

std::optional<Cubic> raised(const Cubic &base, double exponent) {
  std::optional<Cubic> square = multiplied(base, base);
  return square && exponent == 3 ? multiplied(*square, base) : square;
}

} // namespace

std::optional<Cubic> combineCubics(std::string_view op, const Cubic &a, const Cubic &b) {
  bool isNumber = b[1] == 0 && b[2] == 0 && b[3] == 0;
  if (op == "multiply")
    return multiplied(a, b);
  if (op == "divide")
    return isNumber && b[0] != 0 ? multiplied(a, {1 / b[0]}) : std::nullopt;
  if (op == "power")
    return isNumber && (b[0] == 2 || b[0] == 3) ? raised(a, b[0]) : std::nullopt;
  if (op != "add" && op != "subtract")
    return std::nullopt;
  Cubic sum = a;
  for (size_t i = 0; i < sum.size(); ++i)
    sum[i] += op == "add" ? b[i] : -b[i];
  return sum;
}

bool isNear(const Cubic &found, const Cubic &wanted, double tolerance) {
  for (size_t i = 0; i < found.size(); ++i)
    if (!(std::fabs(found[i] - wanted[i]) <= tolerance * std::fabs(wanted[i])))
      return false;
  return true;
}

} // namespace bycc
