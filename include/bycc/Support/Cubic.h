// Polynomials in one value up to its third power, as operators compute them: what
// sqrt(2 / pi) * (x + 0.044715 * x^3) is however a graph spells it.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace bycc {

using Cubic = std::array<double, 4>; // of 1, x, x^2, x^3

// By the name of an operator: sums, differences, products, quotients by a number, and
// powers of 2 and 3. None for other operators, and where the result is no such polynomial.
std::optional<Cubic> combineCubics(std::string_view op, const Cubic &a, const Cubic &b);

// Coefficients differ by no more than this part of them; what is wanted to be 0 is.
bool isNear(const Cubic &found, const Cubic &wanted, double tolerance);

// gelu(x) is x / 2 * (1 + gate(inner(x))).
struct GeluForm {
  std::string_view gate;
  Cubic inner;
};
inline constexpr GeluForm exactGelu = {"erf", {0, 0.70710678118654752, 0, 0}},
                          tanhGelu = {"tanh",
                                      {0, 0.79788456080286536, 0, 0.044715 * 0.79788456080286536}};

} // namespace bycc
