#include "Tensors.h"

#include "bycc/Support/Element.h"
#include "bycc/Support/RandomArray.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace bycc::run {
namespace {

DType dtypeOf(const OutputView &output) { return static_cast<DType>(output.info->dtype); }

// Integers wide enough for every type: exact also for uint64.
__int128 integerAt(const uint8_t *data, DType dtype, int64_t i) {
  uint64_t bits = 0;
  int64_t size = sizeInBytes(dtype);
  std::memcpy(&bits, data + i * size, size);
  if (!isSignedInt(dtype))
    return bits;
  int shift = static_cast<int>(64 - 8 * size);
  return static_cast<int64_t>(bits << shift) >> shift;
}

std::string valueText(const uint8_t *data, DType dtype, int64_t i) {
  if (isFloat(dtype)) {
    double value = elementAsDouble(dtype, data, i);
    return dtype == DType::Float64 ? formatDouble(value) : formatFloat(static_cast<float>(value));
  }
  __int128 value = integerAt(data, dtype, i);
  return value < 0 ? std::to_string(static_cast<int64_t>(value))
                   : std::to_string(static_cast<uint64_t>(value));
}

struct Tolerance {
  double relative, absolute;

  bool accepts(const uint8_t *got, const uint8_t *want, DType dtype, int64_t i) const {
    if (isFloat(dtype)) {
      double a = elementAsDouble(dtype, got, i), b = elementAsDouble(dtype, want, i);
      if (std::isnan(a) || std::isnan(b))
        return std::isnan(a) && std::isnan(b);
      if (std::isinf(a) || std::isinf(b))
        return a == b;
      return std::fabs(a - b) <= absolute + relative * std::fabs(b);
    }
    __int128 a = integerAt(got, dtype, i), b = integerAt(want, dtype, i);
    double distance = static_cast<double>(a > b ? a - b : b - a);
    return distance <= absolute + relative * std::fabs(static_cast<double>(b));
  }
};

double realAt(const uint8_t *data, DType dtype, int64_t i) {
  return isFloat(dtype) ? elementAsDouble(dtype, data, i)
                        : static_cast<double>(integerAt(data, dtype, i));
}

// Sums and extremes of got and expected values.
class Measure {
public:
  void add(double got, double wanted) {
    if (!std::isfinite(got) || !std::isfinite(wanted))
      return;
    double distance = std::fabs(got - wanted);
    distance_ = std::max(distance_, distance);
    if (wanted != 0)
      relative_ = std::max(relative_, distance / std::fabs(wanted));
    both_ += got * wanted;
    got_ += got * got;
    wanted_ += wanted * wanted;
  }
  void writeTo(Comparison &comparison) const {
    comparison.distance = distance_;
    comparison.relative = relative_;
    if (got_ > 0 || wanted_ > 0)
      comparison.cosine =
          got_ > 0 && wanted_ > 0 ? both_ / (std::sqrt(got_) * std::sqrt(wanted_)) : 0;
  }

private:
  double distance_ = 0, relative_ = 0, both_ = 0, got_ = 0, wanted_ = 0;
};

Expected<Comparison> compareOutput(const OutputView &output, const std::string &file,
                                   Tolerance tolerance) {
  NpyArray wanted = BYCC_TRY(readNpy(file));
  DType dtype = dtypeOf(output);
  Comparison result;
  result.name = escaped(output.info->name);
  result.file = file;
  std::string label = "output '" + result.name + "'";
  if (!wanted.holds(dtype) || wanted.shape != output.shape)
    return error(Status::Arg, {file})
           << label << " is " << name(dtype) << " " << shapeText(output.shape) << ", expected "
           << name(wanted.dtype) << " " << shapeText(wanted.shape);
  static const uint8_t zero[8] = {};
  bool isZero = true;
  int64_t first = -1;
  Measure measure;
  result.wouldZerosAgree = true;
  for (int64_t i = 0; i < output.count(); ++i) {
    if (!tolerance.accepts(output.data, wanted.data(), dtype, i)) {
      first = first < 0 ? i : first;
      ++result.differing;
    }
    double value = realAt(wanted.data(), dtype, i);
    measure.add(realAt(output.data, dtype, i), value);
    isZero &= value == 0;
    result.wouldZerosAgree &=
        tolerance.accepts(zero, wanted.data() + i * sizeInBytes(dtype), dtype, 0);
  }
  measure.writeTo(result);
  result.wouldZerosAgree &= !isZero;
  if (first >= 0)
    result.difference = label + " differs at " + indexText(first, output.shape) + ": got " +
                        valueText(output.data, dtype, first) + ", expected " +
                        valueText(wanted.data(), dtype, first) + "; " +
                        std::to_string(result.differing) + " of " + std::to_string(output.count()) +
                        " elements differ by more than " + formatDouble(tolerance.absolute) +
                        " + " + formatDouble(tolerance.relative) + " * |expected|";
  return result;
}

} // namespace

std::string indexText(int64_t flat, const std::vector<int64_t> &shape) {
  std::vector<std::string> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = std::to_string(flat % shape[d]);
    flat /= shape[d];
  }
  return "[" + join(index, ", ") + "]";
}

Expected<NpyArray> randomTensor(const bycc_tensor_info &info, std::vector<int64_t> shape,
                                uint64_t seed) {
  if (shape.empty())
    for (int32_t d = 0; d < info.rank; ++d)
      shape.push_back(info.dims[d].value);
  return randomArray(info.name, static_cast<DType>(info.dtype), std::move(shape), seed);
}

std::string printed(const OutputView &output, int64_t count) {
  DType dtype = dtypeOf(output);
  std::string text = escaped(output.info->name) + " " + std::string(name(dtype)) + " " +
                     shapeText(output.shape) + ":";
  for (int64_t i = 0; i < std::min(count, output.count()); ++i)
    text += " " + valueText(output.data, dtype, i);
  return text + (output.count() > count ? " ...\n" : "\n");
}

Expected<> writeOutputs(const std::vector<OutputView> &outputs, const std::string &folder) {
  BYCC_TRY(makeFolder(folder));
  OutputSet files;
  for (const OutputView &output : outputs) {
    std::string header = npyHeader(dtypeOf(output), output.shape);
    std::string_view data(reinterpret_cast<const char *>(output.data), output.bytes);
    BYCC_TRY(files.add(folder + "/" + output.info->file + ".npy", {header, data}));
  }
  return files.commit();
}

std::string Comparison::text() const {
  char figures[120];
  std::snprintf(figures, sizeof figures, "max |d| %.3g, relative %.3g, cosine %.9g", distance,
                relative, cosine);
  return "output '" + name + "': " + figures;
}

Expected<std::vector<Comparison>> compareOutputs(const std::vector<OutputView> &outputs,
                                                 const std::string &folder, double rtol,
                                                 double atol) {
  std::vector<Comparison> comparisons;
  for (const OutputView &output : outputs)
    comparisons.push_back(
        BYCC_TRY(compareOutput(output, folder + "/" + output.info->file + ".npy", {rtol, atol})));
  return comparisons;
}

} // namespace bycc::run
