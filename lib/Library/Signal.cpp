// Discrete Fourier transforms of any length, and determinants; both in double.
#include "Kernel.h"

#include <algorithm>
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

// Transforms lines of one length. Powers of two by halves in place (Cooley and
// Tukey); other lengths as a convolution with a chirp (Bluestein):
//   X[k] = c[k] sum over j of (x[j] c[j]) conj(c[k-j]),  c[j] = exp(-pi i j j / n)
class Fourier {
public:
  explicit Fourier(size_t length) : n_(length), padded_(1) {
    bool isPower = (n_ & (n_ - 1)) == 0;
    while (padded_ < (isPower ? n_ : 2 * n_ - 1))
      padded_ *= 2;
    for (size_t k = 0; k < padded_ / 2; ++k)
      roots_.push_back(root(k, padded_));
    if (isPower)
      return;
    for (size_t j = 0; j < n_; ++j)
      chirp_.push_back(
          root(static_cast<uint64_t>(static_cast<unsigned __int128>(j) * j % (2 * n_)), 2 * n_));
    filter_.assign(padded_, 0);
    for (size_t j = 0; j < n_; ++j)
      filter_[j] = filter_[(padded_ - j) % padded_] = std::conj(chirp_[j]);
    byHalves(filter_);
  }

  void run(std::vector<Complex> &line) const {
    if (n_ < 2)
      return;
    if (chirp_.empty())
      return byHalves(line);
    std::vector<Complex> work(padded_, 0);
    for (size_t j = 0; j < n_; ++j)
      work[j] = line[j] * chirp_[j];
    byHalves(work);
    for (size_t j = 0; j < padded_; ++j)
      work[j] = std::conj(work[j] * filter_[j]);
    byHalves(work); // of the conjugate: the inverse, but for a factor
    for (size_t k = 0; k < n_; ++k)
      line[k] = std::conj(work[k]) / static_cast<double>(padded_) * chirp_[k];
  }

private:
  void byHalves(std::vector<Complex> &line) const {
    for (size_t i = 1, j = 0; i < padded_; ++i) {
      size_t bit = padded_ / 2;
      for (; j & bit; bit /= 2)
        j ^= bit;
      j ^= bit;
      if (i < j)
        std::swap(line[i], line[j]);
    }
    for (size_t half = 1; half < padded_; half *= 2)
      for (size_t begin = 0; begin < padded_; begin += 2 * half)
        for (size_t k = 0; k < half; ++k) {
          Complex even = line[begin + k],
                  odd = line[begin + half + k] * roots_[k * (padded_ / 2 / half)];
          line[begin + k] = even + odd;
          line[begin + half + k] = even - odd;
        }
  }

  size_t n_, padded_;
  std::vector<Complex> roots_, chirp_, filter_;
};

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
  call.parallel(lines.count, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> x(static_cast<size_t>(lines.extent)), y(x.size());
    std::vector<Complex> line(x.size());
    for (int64_t n = begin; n < end; ++n) {
      loadReals(re, n * lines.extent, 1, x);
      loadReals(im, n * lines.extent, 1, y);
      for (size_t i = 0; i < x.size(); ++i)
        line[i] = isInverse ? Complex(x[i], -y[i]) : Complex(x[i], y[i]);
      fourier.run(line);
      double factor = isInverse ? 1 / static_cast<double>(lines.extent) : 1;
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = line[i].real() * factor;
        y[i] = (isInverse ? -line[i].imag() : line[i].imag()) * factor;
      }
      storeReals(outRe, n * lines.extent, 1, x);
      storeReals(outIm, n * lines.extent, 1, y);
    }
  });
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
  call.parallel(x.shape[0] * frames, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> part(window.size());
    std::vector<Complex> line(window.size());
    for (int64_t n = begin; n < end; ++n) {
      int64_t batch = n / frames, frame = n % frames;
      loadReals(x, batch * length + frame * hop, 1, part);
      for (size_t i = 0; i < part.size(); ++i)
        line[i] = part[i] * window[i];
      fourier.run(line);
      for (int64_t k = 0; k < bins; ++k) {
        Complex value = line[static_cast<size_t>(k)] * factor;
        int64_t to = ((batch * bins + k) * frames + frame) * 2;
        result.setReal(to, value.real());
        result.setReal(to + 1, value.imag());
      }
    }
  });
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
