// What convolutions and poolings share: layouts by letters, and a window that
// slides over up to three spatial axes.
#pragma once

#include "Translate.h"

#include <array>

namespace bycc::ccompiler {

// Extents and strides of a tensor by letter; a letter that is not in its layout has
// extent 1 and stride 0.
class Lettered {
public:
  // UNSUP for a layout with blocks or other letters than `letters`.
  static Expected<Lettered> read(const Translator &op, const std::string &layout,
                                 const Value &value, std::string_view letters);
  int64_t extent(char letter) const;
  int64_t stride(char letter) const;
  size_t axis(char letter) const { return layout_.find(letter); }
  bool has(char letter) const { return axis(letter) != std::string::npos; }
  const std::string &layout() const { return layout_; }

private:
  std::string layout_;
  Dims dims_, strides_;
};

// One spatial axis.
struct Slide {
  char letter;
  int64_t in, out, window, stride = 1, dilation = 1, pad = 0; // pad: in front
};
// D, H, W; an axis the data does not have is 1 -> 1.
using Slides = std::array<Slide, 3>;

// From the attributes strides, dilation and padding, and the extents. UNSUP when
// the result's extents do not come from them.
Expected<Slides> readSlides(const Translator &op, const Lettered &in, const Lettered &out,
                            const std::array<int64_t, 3> &window);

// Values given per spatial axis (or once for all) as D, H, W.
Expected<std::array<int64_t, 3>> perSpatialAxis(const Translator &op, const char *key,
                                                const Lettered &in, int64_t fallback);

} // namespace bycc::ccompiler
