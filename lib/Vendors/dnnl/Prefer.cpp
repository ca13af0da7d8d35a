// See Prefer.h.
#include "Prefer.h"

namespace bycc::onednn {

namespace {

constexpr uint64_t maxPixelBytes = 2048;

} // namespace

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

} // namespace bycc::onednn
