// Layout strings ("NCHW", "OHWI", "NCHW8c") and padding lists. An upper-case
// letter is an axis; a number with a lower-case letter is an inner block of the
// axis of that letter, to its right: in NCHW8c axis C is split into C/8 (outer) and 8 (inner).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

class Layout {
public:
  struct Axis {
    char letter;       // upper case
    int64_t block = 0; // size of an inner block, 0: the (outer part of the) axis itself
  };

  // nullopt: not a layout (an axis twice or missing, a block of 0, an odd character).
  static std::optional<Layout> parse(std::string_view text);

  const std::vector<Axis> &axes() const { return axes_; }
  size_t rank() const { return axes_.size(); }
  // Upper-case letters in order: "NCHW" of "NCHW8c".
  std::string primal() const;
  bool isBlocked() const { return primal().size() != axes_.size(); }
  // Position of the axis itself; nullopt when the layout has no such axis.
  std::optional<size_t> find(char letter) const;
  // Product of the blocks of an axis, 1 when it has none.
  int64_t blockOf(char letter) const;
  // Letters of the axes that are not in `others`, in order: the spatial ones of
  // "NCHW" without "NC" are "HW".
  std::string without(std::string_view others) const;
  // Positions of the axes in the order of the letters; nullopt for a layout with blocks or
  // with other axes than these.
  std::optional<std::vector<size_t>> axesOf(std::string_view letters) const;

private:
  std::vector<Axis> axes_;
};

// `leading`, then the letters of up to three spatial axes: ("NC", 2) is "NCHW".
std::string layoutLetters(std::string_view leading, size_t numSpatial);

struct Padding {
  std::vector<int64_t> before, after; // by spatial axis
};
// From the short forms: one value for all sides, one per axis, or begins then ends.
// nullopt: another count.
std::optional<Padding> expandPadding(std::span<const int64_t> padding, size_t rank);

} // namespace bycc
