// See Window.h.
#include "Window.h"
#include "bycc/Support/Layout.h"

#include <algorithm>

namespace bycc::ccompiler {

namespace {

constexpr char spatial[] = {'D', 'H', 'W'};

// Sizes larger than this are no window.
constexpr int64_t maxStep = int64_t{1} << 31;

} // namespace

Expected<Lettered> Lettered::read(const Translator &op, const std::string &layout,
                                  const Value &value, std::string_view letters) {
  Lettered result;
  result.layout_ = layout;
  result.dims_ = value.dims;
  result.strides_ = rowStrides(value.dims);
  auto parsed = Layout::parse(layout);
  if (layout.size() != value.dims.size() || !parsed || !parsed->axesOf(letters))
    return op.refuse() << "layout " << layout << " is not supported for " << text(value.dims);
  return result;
}

int64_t Lettered::extent(char letter) const { return has(letter) ? dims_[axis(letter)] : 1; }
int64_t Lettered::stride(char letter) const { return has(letter) ? strides_[axis(letter)] : 0; }

Expected<std::array<int64_t, 3>> perSpatialAxis(const Translator &op, const char *key,
                                                const Lettered &in, int64_t fallback) {
  std::array<int64_t, 3> result = {fallback, fallback, fallback};
  Dims given = op.attributes.spatial(key, in.layout().size() - 2, fallback);
  size_t next = 0;
  for (size_t i = 0; i < 3; ++i)
    if (in.has(spatial[i]))
      result[i] = given[next++];
  for (int64_t value : result)
    if (value < 1 || value > maxStep)
      return op.refuse() << key << " is " << text(given);
  return result;
}

Expected<Slides> readSlides(const Translator &op, const Lettered &in, const Lettered &out,
                            const std::array<int64_t, 3> &window) {
  size_t rank = in.layout().size() - 2, next = 0;
  auto strides = BYCC_TRY(perSpatialAxis(op, "strides", in, 1));
  auto dilation = BYCC_TRY(perSpatialAxis(op, "dilation", in, 1));
  const vendor::Padding padding = op.attributes.padding("padding", rank);
  for (const Dims *pads : {&padding.before, &padding.after})
    for (int64_t pad : *pads)
      if (pad < 0 || pad > maxStep)
        return op.refuse() << "padding is " << text(*pads);
  Slides slides;
  for (size_t i = 0; i < 3; ++i) {
    char letter = spatial[i];
    slides[i] = {letter, in.extent(letter), out.extent(letter), window[i], 1, 1, 0};
    if (!in.has(letter))
      continue;
    slides[i].stride = strides[i];
    slides[i].dilation = dilation[i];
    slides[i].pad = padding.before[next++];
  }
  return slides;
}

} // namespace bycc::ccompiler
