// See Prefer.h.
#include "Prefer.h"

#include <iterator>
#include <string_view>

namespace bycc::onednn {

namespace {

constexpr uint64_t maxPixelBytes = 2048;
// One thread; only their ratio matters.
constexpr double flopsPerSecond = 250e9, copiedBytesPerSecond = 60e9;
constexpr double lossTimesWidth = 2.5;

// AVX-512 and its extensions are one: those are for narrower elements.
size_t ageOf(const std::string &implementation) {
  constexpr std::string_view newestFirst[] = {"amx", "avx512", "avx2", "avx", "sse"};
  size_t age = 0;
  while (age < std::size(newestFirst) && implementation.find(newestFirst[age]) == std::string::npos)
    ++age;
  return age;
}

} // namespace

bool isOlder(const std::string &implementation, const std::string &other) {
  return ageOf(implementation) > ageOf(other);
}

std::string preferredTo(const std::string &first, const Step &step, int64_t channels,
                        uint64_t elementBytes) {
  const std::string newer = "brdgmm_dw:";
  bool isDepthwise = step.kind == StepKind::Conv && step.groups > 1 &&
                     static_cast<int64_t>(step.groups) == channels;
  if (!isDepthwise || first.rfind(newer, 0) != 0 ||
      static_cast<uint64_t>(channels) * elementBytes > maxPixelBytes)
    return "";
  return (elementBytes == 1 ? "jit_int8:" : "jit_dw:") + first.substr(newer.size());
}

bool areBlocksCheaper(double flops, int64_t width, uint64_t bytes) {
  double lost = flops / flopsPerSecond * lossTimesWidth / static_cast<double>(width);
  return lost < 2.0 * static_cast<double>(bytes) / copiedBytesPerSecond;
}

} // namespace bycc::onednn
