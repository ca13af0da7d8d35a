// Discrete Fourier transforms of any length, and determinants; both in double.
#include "Kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>

namespace bycc {
namespace {

using Complex = std::complex<double>;

// exp(-2 pi i k / n), without the error that a growing angle would bring.
Complex root(uint64_t k, uint64_t n) {
  double angle = -2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

// Without what std::complex does for infinities.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Transforms of lengths that are products of small primes, one factor p after the other: of m p
// elements, in s lines beside each other, those k + m r (r = 0 .. p - 1) make the elements p k + j
//   y[j] = w^(k j) sum over r of x[r] exp(-2 pi i j r / p),   w = exp(-2 pi i / (m p)),
// which are p m lines of m elements beside each other (Stockham: nothing is to be put in order).
class SmoothFourier {
public:
  explicit SmoothFourier(size_t length) : n_(length) {
    size_t rest = length;
    for (size_t p : {4, 2, 3, 5, 7})
      for (; rest > 1 && rest % p == 0; rest /= p)
        factors_.push_back(p);
    // A quarter of the circle gives the others.
    size_t some = n_ % 4 == 0 ? n_ / 4 : n_;
    for (size_t k = 0; k < n_; ++k)
      roots_.push_back(k < some ? root(k, n_)
                                : Complex(roots_[k - some].imag(), -roots_[k - some].real()));
  }

  size_t length() const { return n_; }
  static bool takes(size_t length) {
    for (size_t p : {2, 3, 5, 7})
      while (length > 1 && length % p == 0)
        length /= p;
    return length <= 1;
  }

  // `line` of n elements; `work` is room for as many.
  void run(std::vector<Complex> &line, std::vector<Complex> &work) const {
    work.resize(n_);
    size_t lines = 1;
    for (size_t p : factors_) {
      pass(p, n_ / lines / p, lines, line.data(), work.data());
      lines *= p;
      line.swap(work);
    }
  }

private:
  void pass(size_t p, size_t m, size_t lines, const Complex *x, Complex *y) const {
    for (size_t k = 0; k < m; ++k) {
      const Complex *from = x + k * lines;
      Complex *to = y + k * p * lines;
      if (p == 4)
        byFour(k, m * lines, lines, from, to);
      else if (p == 2)
        byTwo(k, m * lines, lines, from, to);
      else if (p == 3)
        byOdd<3>(k, m * lines, lines, from, to);
      else if (p == 5)
        byOdd<5>(k, m * lines, lines, from, to);
      else
        byOdd<7>(k, m * lines, lines, from, to);
    }
  }

  void byTwo(size_t k, size_t step, size_t lines, const Complex *x, Complex *y) const {
    Complex w = roots_[k * lines];
    for (size_t q = 0; q < lines; ++q) {
      Complex a = x[q], b = x[q + step];
      y[q] = a + b;
      y[q + lines] = times(a - b, w);
    }
  }

  void byFour(size_t k, size_t step, size_t lines, const Complex *x, Complex *y) const {
    Complex w1 = roots_[k * lines], w2 = roots_[2 * k * lines], w3 = roots_[3 * k * lines];
    for (size_t q = 0; q < lines; ++q) {
      Complex a = x[q], b = x[q + step], c = x[q + 2 * step], d = x[q + 3 * step];
      Complex sum = a + c, difference = a - c, others = b + d;
      Complex turned(b.imag() - d.imag(), d.real() - b.real()); // -i (b - d)
      y[q] = sum + others;
      y[q + lines] = times(difference + turned, w1);
      y[q + 2 * lines] = times(sum - others, w2);
      y[q + 3 * lines] = times(difference - turned, w3);
    }
  }

  // Elements r and p - r have factors that are conjugates.
  template <size_t p>
  void byOdd(size_t k, size_t step, size_t lines, const Complex *x, Complex *y) const {
    constexpr size_t half = p / 2;
    std::array<std::array<Complex, half + 1>, half + 1> factors;
    for (size_t j = 1; j <= half; ++j)
      for (size_t r = 1; r <= half; ++r)
        factors[j][r] = roots_[j * r % p * (n_ / p)];
    for (size_t q = 0; q < lines; ++q) {
      Complex first = x[q], all = first;
      std::array<Complex, half + 1> sums, differences;
      for (size_t r = 1; r <= half; ++r) {
        sums[r] = x[q + r * step] + x[q + (p - r) * step];
        differences[r] = x[q + r * step] - x[q + (p - r) * step];
        all += sums[r];
      }
      y[q] = all;
      for (size_t j = 1; j <= half; ++j) {
        Complex even = first, odd = 0;
        for (size_t r = 1; r <= half; ++r) {
          even += factors[j][r].real() * sums[r];
          odd += factors[j][r].imag() * differences[r];
        }
        Complex turned(-odd.imag(), odd.real()); // i odd
        y[q + j * lines] = times(even + turned, roots_[j * k * lines]);
        y[q + (p - j) * lines] = times(even - turned, roots_[(p - j) * k * lines]);
      }
    }
  }

  size_t n_;
  std::vector<size_t> factors_;
  std::vector<Complex> roots_;
};

// Transforms lines of any length: others than of small primes as a convolution with a chirp
// (Bluestein):
//   X[k] = c[k] sum over j of (x[j] c[j]) conj(c[k-j]),  c[j] = exp(-pi i j j / n)
class Fourier {
public:
  explicit Fourier(size_t length)
      : n_(length), inner_(SmoothFourier::takes(length) ? length : std::bit_ceil(2 * length - 1)) {
    size_t padded = inner_.length();
    if (padded == n_)
      return;
    for (size_t j = 0; j < n_; ++j)
      chirp_.push_back(
          root(static_cast<uint64_t>(static_cast<unsigned __int128>(j) * j % (2 * n_)), 2 * n_));
    filter_.assign(padded, 0);
    for (size_t j = 0; j < n_; ++j)
      filter_[j] = filter_[(padded - j) % padded] = std::conj(chirp_[j]);
    std::vector<Complex> room;
    inner_.run(filter_, room);
  }

  void run(std::vector<Complex> &line) const {
    if (n_ < 2)
      return;
    std::vector<Complex> room;
    if (chirp_.empty())
      return inner_.run(line, room);
    std::vector<Complex> work(filter_.size(), 0);
    for (size_t j = 0; j < n_; ++j)
      work[j] = times(line[j], chirp_[j]);
    inner_.run(work, room);
    for (size_t j = 0; j < work.size(); ++j)
      work[j] = std::conj(times(work[j], filter_[j]));
    inner_.run(work, room); // of the conjugate: the inverse, but for a factor
    for (size_t k = 0; k < n_; ++k)
      line[k] = times(std::conj(work[k]) / static_cast<double>(work.size()), chirp_[k]);
  }

  // Of two lines of reals, one as real and one as imaginary parts: the transform of each has
  // conjugates on both sides, which tells them apart. `line` gets that of the first.
  void runPair(std::vector<Complex> &line, std::vector<Complex> &second) const {
    run(line);
    second.resize(n_);
    for (size_t k = 0; k <= n_ / 2; ++k) {
      size_t mirror = k == 0 ? 0 : n_ - k;
      Complex z = line[k], w = std::conj(line[mirror]);
      Complex sum = (z + w) * 0.5, difference = (z - w) * 0.5;
      second[k] = {difference.imag(), -difference.real()};
      second[mirror] = std::conj(second[k]);
      line[k] = sum;
      line[mirror] = std::conj(sum);
    }
  }

private:
  size_t n_;
  SmoothFourier inner_;                 // of n elements, or of those of the convolution
  std::vector<Complex> chirp_, filter_; // the filter transformed
};

bool areZero(const std::vector<double> &values) {
  return std::ranges::all_of(values, [](double value) { return value == 0; });
}

// Whether a line of reals may share a transform with another: what is not finite would go to
// both, and rounding to one that is nothing.
bool canBePaired(const std::vector<double> &line) {
  return !areZero(line) &&
         std::ranges::all_of(line, [](double value) { return std::isfinite(value); });
}

struct Line {
  std::vector<double> re, im;
  std::vector<Complex> values; // of the transform
};

// Transforms `count` lines, which `load` reads and `store` takes. Two neighbours of reals are
// one transform, and the same two whatever the number of threads is.
template <typename Load, typename Store>
void transformLines(LibraryCall &call, const Fourier &fourier, size_t length, int64_t count,
                    const Load &load, const Store &store) {
  call.parallel((count + 1) / 2, 1, [&](int64_t begin, int64_t end) {
    Line lines[2];
    for (Line &line : lines) {
      line.re.resize(length);
      line.im.resize(length);
      line.values.resize(length);
    }
    for (int64_t pair = begin; pair < end; ++pair) {
      int64_t size = std::min<int64_t>(2, count - 2 * pair);
      for (int64_t i = 0; i < size; ++i)
        load(2 * pair + i, lines[i]);
      bool isOne = size == 2 && std::ranges::all_of(lines, [](const Line &line) {
                     return areZero(line.im) && canBePaired(line.re);
                   });
      for (int64_t i = 0; i < (isOne ? 1 : size); ++i)
        for (size_t k = 0; k < length; ++k)
          lines[i].values[k] = Complex(lines[i].re[k], isOne ? lines[1].re[k] : lines[i].im[k]);
      if (isOne)
        fourier.runPair(lines[0].values, lines[1].values);
      for (int64_t i = 0; i < size; ++i) {
        if (!isOne)
          fourier.run(lines[i].values);
        store(2 * pair + i, lines[i]);
      }
    }
  });
}

} // namespace

namespace library {

Expected<> dft(LibraryCall &call) {
  Operand re = call.input(0), im = call.input(1);
  Operand outRe = BYCC_TRY(call.result(0, re.shape)), outIm = BYCC_TRY(call.result(1, re.shape));
  Lines lines(re.shape, re.rank() - 1);
  if (lines.extent == 0)
    return {};
  Fourier fourier(static_cast<size_t>(lines.extent));
  bool isInverse = call.attribute(0);
  size_t length = static_cast<size_t>(lines.extent);
  double factor = isInverse ? 1 / static_cast<double>(lines.extent) : 1;
  auto turn = [&](std::vector<double> &im) { // an inverse is the conjugate of the conjugate's
    for (size_t i = 0; isInverse && i < length; ++i)
      im[i] = -im[i];
  };
  auto load = [&](int64_t n, Line &line) {
    loadReals(re, n * lines.extent, 1, line.re);
    loadReals(im, n * lines.extent, 1, line.im);
    turn(line.im);
  };
  auto store = [&](int64_t n, Line &line) {
    for (size_t i = 0; i < length; ++i) {
      line.re[i] = line.values[i].real() * factor;
      line.im[i] = line.values[i].imag() * factor;
    }
    turn(line.im);
    storeReals(outRe, n * lines.extent, 1, line.re);
    storeReals(outIm, n * lines.extent, 1, line.im);
  };
  transformLines(call, fourier, length, lines.count, load, store);
  return {};
}

Expected<> stft(LibraryCall &call) {
  Operand x = call.input(0);
  std::vector<double> window = allReals(call.input(1));
  int64_t size = call.attribute(0), hop = call.attribute(1), length = x.shape[1];
  if (length < size)
    return error(Status::Arg) << "a signal of " << length << " elements is shorter than a frame of "
                              << size;
  int64_t bins = call.attribute(3) ? size / 2 + 1 : size, frames = (length - size) / hop + 1;
  Operand result = BYCC_TRY(call.result(0, {x.shape[0], bins, frames, 2}));
  // A shorter window stands in the middle of the frame.
  size_t before = (static_cast<size_t>(size) - window.size()) / 2;
  window.insert(window.begin(), before, 0);
  window.resize(static_cast<size_t>(size), 0);
  double factor = call.attribute(2) ? 1 / std::sqrt(static_cast<double>(size)) : 1;
  Fourier fourier(window.size());
  auto load = [&](int64_t n, Line &line) {
    loadReals(x, n / frames * length + n % frames * hop, 1, line.re);
    for (size_t i = 0; i < line.re.size(); ++i)
      line.re[i] *= window[i];
  };
  auto store = [&](int64_t n, const Line &line) {
    for (int64_t k = 0; k < bins; ++k) {
      Complex value = line.values[static_cast<size_t>(k)] * factor;
      int64_t to = ((n / frames * bins + k) * frames + n % frames) * 2;
      result.setReal(to, value.real());
      result.setReal(to + 1, value.imag());
    }
  };
  transformLines(call, fourier, window.size(), x.shape[0] * frames, load, store);
  return {};
}

// By elimination, with the greatest pivot of each column.
Expected<> determinant(LibraryCall &call) {
  Operand x = call.input(0), result = BYCC_TRY(call.result(0, x.shape.first(x.rank() - 2)));
  size_t n = static_cast<size_t>(x.shape.back());
  if (x.shape[x.rank() - 2] != x.shape.back())
    return error(Status::Arg) << "a matrix has " << x.shape[x.rank() - 2] << " rows and " << n
                              << " columns";
  call.parallel(result.count(), 1, [&](int64_t begin, int64_t end) {
    std::vector<double> a(n * n);
    for (int64_t m = begin; m < end; ++m) {
      loadReals(x, m * static_cast<int64_t>(n * n), 1, a);
      double product = 1;
      for (size_t c = 0; c < n; ++c) {
        size_t pivot = c;
        for (size_t r = c + 1; r < n; ++r)
          if (std::fabs(a[r * n + c]) > std::fabs(a[pivot * n + c]))
            pivot = r;
        if (pivot != c) {
          std::swap_ranges(a.begin() + static_cast<ptrdiff_t>(c * n),
                           a.begin() + static_cast<ptrdiff_t>((c + 1) * n),
                           a.begin() + static_cast<ptrdiff_t>(pivot * n));
          product = -product;
        }
        product *= a[c * n + c];
        for (size_t r = c + 1; r < n && a[c * n + c] != 0; ++r) {
          double factor = a[r * n + c] / a[c * n + c];
          for (size_t k = c; k < n; ++k)
            a[r * n + k] -= factor * a[c * n + k];
        }
      }
      result.setReal(m, product);
    }
  });
  return {};
}

} // namespace library
} // namespace bycc
