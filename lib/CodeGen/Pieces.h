// An odd function that ends at 1 as polynomials of |x|, one for each of 16 pieces whose
// coefficients a vector instruction looks up: what a tanh or erf costs then is a polynomial and as
// many lookups, half of what an exponential, a quotient and two cases take.
//
// Piece k is centred at k * width, the last at 15 * width, where the function rounds to 1.
// Coefficients come from interpolation at Chebyshev's nodes, near the least maximum, computed here
// with sums, products and quotients alone, so that they are the same with every compiler. The
// first piece has no constant term: what is near 0 keeps its relative precision.
#pragma once

#include <array>
#include <cstddef>

namespace bycc::codegen {

namespace pieces {

inline constexpr size_t count = 16;

constexpr double expOf(double x) {
  double term = 1, sum = 1;
  x /= 256;
  for (int i = 1; i < 12; ++i)
    sum += term *= x / i;
  for (int i = 0; i < 8; ++i)
    sum *= sum;
  return sum;
}

constexpr double cosOf(double x) {
  double term = 1, sum = 1;
  for (int i = 1; i < 24; i += 2)
    sum += term *= -x * x / (i * (i + 1));
  return sum;
}

// sinh x / cosh x, which lose nothing near 0.
constexpr double tanhOf(double x) {
  double odd = x, even = 1, sinh = x, cosh = 1;
  for (int i = 2; i < 80; i += 2) {
    cosh += even *= x * x / (i * (i - 1));
    sinh += odd *= x * x / (i * (i + 1));
  }
  return sinh / cosh;
}

// 2/sqrt(pi) e^(-x^2) sum over n of 2^n x^(2n+1) / (1*3*..*(2n+1)).
constexpr double erfOf(double x) {
  double term = x, sum = x;
  for (int i = 3; i < 180; i += 2)
    sum += term *= 2 * x * x / i;
  return 1.1283791670955126 * expOf(-x * x) * sum;
}

} // namespace pieces

template <size_t Terms> struct Pieces {
  double width; // few bits, so that products with whole numbers are exact
  // By power, then by piece.
  std::array<std::array<float, pieces::count>, Terms> coefficients{};

  constexpr Pieces(double (*function)(double), double widthOfOne) : width(widthOfOne) {
    for (size_t piece = 0; piece < pieces::count; ++piece) {
      std::array<double, Terms> polynomial = interpolated(function, piece);
      for (size_t i = 0; i < Terms; ++i)
        coefficients[i][piece] = static_cast<float>(polynomial[i]);
    }
  }

private:
  // In powers of the distance from the centre.
  constexpr std::array<double, Terms> interpolated(double (*function)(double), size_t piece) const {
    bool isFirst = piece == 0; // f(r) / r, which is even: a power less
    size_t numNodes = isFirst ? Terms - 1 : Terms;
    std::array<double, Terms> node{}, difference{};
    for (size_t i = 0; i < numNodes; ++i) {
      node[i] = width / 2 * pieces::cosOf((2. * i + 1) * 3.141592653589793 / (2. * numNodes));
      double r = isFirst && node[i] < 1e-9 && node[i] > -1e-9 ? 1e-9 : node[i];
      difference[i] = isFirst ? function(r) / r : function(static_cast<double>(piece) * width + r);
    }
    for (size_t order = 1; order < numNodes; ++order) // Newton's divided differences
      for (size_t i = numNodes - 1; i >= order; --i)
        difference[i] = (difference[i] - difference[i - 1]) / (node[i] - node[i - order]);
    std::array<double, Terms> result{};
    for (size_t i = numNodes; i-- > 0;) { // result = result * (r - node) + difference
      for (size_t power = numNodes - 1; power > 0; --power)
        result[power] = result[power - 1] - node[i] * result[power];
      result[0] = difference[i] - node[i] * result[0];
    }
    if (isFirst)
      for (size_t power = Terms; power-- > 0;)
        result[power] = power > 0 ? result[power - 1] : 0;
    return result;
  }
};

inline constexpr Pieces<6> erfPieces(pieces::erfOf, 0.28125);
inline constexpr Pieces<8> tanhPieces(pieces::tanhOf, 0.609375);

} // namespace bycc::codegen
