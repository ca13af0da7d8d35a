// Layout strings and padding lists.

#include "bycc/Support/Layout.h"

#include "bycc/Support/Error.h"

#include <algorithm>

namespace bycc {
namespace {

constexpr int64_t maxBlock = 1 << 20;

bool isUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool isLower(char c) { return c >= 'a' && c <= 'z'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

} // namespace

std::optional<Layout> Layout::parse(std::string_view text) {
  Layout layout;
  int64_t number = 0;
  for (char c : text) {
    if (isDigit(c)) {
      number = number * 10 + (c - '0');
      if (number == 0 || number > maxBlock)
        return std::nullopt;
    } else if (isUpper(c)) {
      if (number || layout.find(c))
        return std::nullopt;
      layout.axes_.push_back({c, 0});
    } else if (isLower(c)) {
      char axis = static_cast<char>(c - 'a' + 'A');
      if (!number || !layout.find(axis)) // blocks stand right of their axis
        return std::nullopt;
      layout.axes_.push_back({axis, number});
      number = 0;
    } else {
      return std::nullopt;
    }
  }
  if (number || layout.axes_.empty())
    return std::nullopt;
  return layout;
}

std::string Layout::primal() const { return without(""); }

std::optional<size_t> Layout::find(char letter) const {
  for (size_t i = 0; i < axes_.size(); ++i)
    if (axes_[i].letter == letter && axes_[i].block == 0)
      return i;
  return std::nullopt;
}

int64_t Layout::blockOf(char letter) const {
  int64_t product = 1;
  for (const Axis &axis : axes_)
    if (axis.letter == letter && axis.block)
      product = std::min(product * axis.block, maxBlock * maxBlock);
  return product;
}

std::string Layout::without(std::string_view others) const {
  std::string letters;
  for (const Axis &axis : axes_)
    if (axis.block == 0 && others.find(axis.letter) == std::string_view::npos)
      letters += axis.letter;
  return letters;
}

std::optional<std::vector<size_t>> Layout::axesOf(std::string_view letters) const {
  std::vector<size_t> axes;
  for (char letter : letters)
    if (auto at = find(letter))
      axes.push_back(*at);
  if (axes.size() != letters.size() || axes.size() != axes_.size())
    return std::nullopt;
  return axes;
}

std::string layoutLetters(std::string_view leading, size_t numSpatial) {
  BYCC_ASSERT(numSpatial <= 3, "there are letters for three spatial axes");
  return std::string(leading) + std::string("DHW").substr(3 - numSpatial);
}

std::optional<Padding> expandPadding(std::span<const int64_t> padding, size_t rank) {
  auto numbers = [](std::span<const int64_t> some) {
    return std::vector<int64_t>(some.begin(), some.end());
  };
  if (padding.size() == 1)
    return Padding{std::vector<int64_t>(rank, padding[0]), std::vector<int64_t>(rank, padding[0])};
  if (padding.size() == rank)
    return Padding{numbers(padding), numbers(padding)};
  if (padding.size() == 2 * rank)
    return Padding{numbers(padding.first(rank)), numbers(padding.subspan(rank))};
  return std::nullopt;
}

} // namespace bycc
