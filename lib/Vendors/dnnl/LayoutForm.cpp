// See LayoutForm.h.
#include "LayoutForm.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace bycc::onednn {

namespace {

constexpr int64_t maxPlaces = int64_t{1} << 34;

Error bad(const std::string &what) {
  return error(Status::Load) << "region program: layout with " << what;
}

Dims blocksOf(const LayoutForm &form) {
  Dims blocks(form.dims.size(), 1);
  for (const LayoutForm::Block &block : form.inner)
    blocks[block.axis] *= block.size;
  return blocks;
}

int64_t innerPlaces(const LayoutForm &form) {
  int64_t places = 1;
  for (const LayoutForm::Block &block : form.inner)
    places *= block.size;
  return places;
}

Expected<> checkBlocks(const LayoutForm &form) {
  int64_t places = 1;
  if (form.inner.size() > maxRank)
    return bad("too many blocks");
  for (const LayoutForm::Block &block : form.inner) {
    if (block.axis >= form.dims.size() || block.size < 1 || block.size > 4096)
      return bad("a bad block");
    places *= block.size;
    if (places > int64_t{1} << 20)
      return bad("blocks that are too large");
  }
  return {};
}

// Axes from the fastest to the slowest: each step is beyond all that is below it.
Expected<> checkStrides(const LayoutForm &form, const Dims &blocks) {
  std::vector<size_t> order(form.dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(form.strides[a], form.padded[a]) < std::pair(form.strides[b], form.padded[b]);
  });
  int64_t below = innerPlaces(form);
  for (size_t axis : order) {
    int64_t count = form.padded[axis] / blocks[axis], stride = form.strides[axis];
    if (stride < 0 || stride > maxPlaces)
      return bad("a bad stride");
    if (count == 1)
      continue;
    if (stride < below || count > maxPlaces / stride)
      return bad("strides that do not fit its extents");
    below = stride * count;
  }
  return {};
}

// Walks one axis after the other; `places` are offsets of what is decided so far.
class Unpacker {
public:
  explicit Unpacker(const LayoutForm &form) : form_(form), offsets_(form.dims.size()) {
    // Where a coordinate leads to is a sum over the axes: one table for each.
    Dims blocks = blocksOf(form);
    for (size_t axis = 0; axis < form.dims.size(); ++axis)
      for (int64_t i = 0; i < form.dims[axis]; ++i)
        offsets_[axis].push_back(i / blocks[axis] * form.strides[axis] + inside(axis, i));
  }

  template <size_t size> void copy(const uint8_t *from, uint8_t *to) const {
    Dims at(form_.dims.size(), 0);
    const std::vector<int64_t> &last = offsets_.back();
    do {
      int64_t base = form_.start;
      for (size_t axis = 0; axis + 1 < at.size(); ++axis)
        base += offsets_[axis][static_cast<size_t>(at[axis])];
      for (int64_t offset : last) {
        std::memcpy(to, from + static_cast<size_t>(base + offset) * size, size);
        to += size;
      }
    } while (next(at));
  }

private:
  // Digits of `i` in the axis' blocks, the last block first.
  int64_t inside(size_t axis, int64_t i) const {
    int64_t offset = 0, step = 1;
    for (size_t b = form_.inner.size(); b-- > 0;) {
      const LayoutForm::Block &block = form_.inner[b];
      if (block.axis == axis) {
        offset += i % block.size * step;
        i /= block.size;
      }
      step *= block.size;
    }
    return offset;
  }

  bool next(Dims &at) const {
    for (size_t axis = at.size() - 1; axis-- > 0;) {
      if (++at[axis] < form_.dims[axis])
        return true;
      at[axis] = 0;
    }
    return false;
  }

  const LayoutForm &form_;
  std::vector<std::vector<int64_t>> offsets_; // per axis and coordinate
};

} // namespace

Expected<> checkForm(const LayoutForm &form) {
  BYCC_TRY(checkDims(form.dims, form.dtype));
  if (form.padded.size() != form.dims.size() || form.strides.size() != form.dims.size())
    return bad("wrong ranks");
  if (form.start < 0 || form.start > maxPlaces)
    return bad("a bad start");
  BYCC_TRY(checkBlocks(form));
  Dims blocks = blocksOf(form);
  for (size_t i = 0; i < form.dims.size(); ++i)
    if (form.padded[i] != (form.dims[i] + blocks[i] - 1) / blocks[i] * blocks[i])
      return bad("extents that are not whole blocks");
  return checkStrides(form, blocks);
}

int64_t numPlaces(const LayoutForm &form) {
  Dims blocks = blocksOf(form);
  int64_t places = form.start + innerPlaces(form);
  for (size_t i = 0; i < form.dims.size(); ++i)
    places += (form.padded[i] / blocks[i] - 1) * form.strides[i];
  return places;
}

bool isReversible(const LayoutForm &form) { return form.scale == 1; }

void unpack(const LayoutForm &form, const uint8_t *from, uint8_t *to) {
  Unpacker unpacker(form);
  switch (sizeInBytes(form.dtype)) {
  case 1:
    return unpacker.copy<1>(from, to);
  case 2:
    return unpacker.copy<2>(from, to);
  case 4:
    return unpacker.copy<4>(from, to);
  default:
    return unpacker.copy<8>(from, to);
  }
}

std::string text(const LayoutForm &form) {
  std::vector<size_t> order(form.dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return form.strides[a] > form.strides[b]; });
  std::string out;
  for (size_t axis : order) {
    bool isBlocked = std::any_of(form.inner.begin(), form.inner.end(),
                                 [&](const auto &block) { return block.axis == axis; });
    out += static_cast<char>((isBlocked ? 'A' : 'a') + axis);
  }
  for (const LayoutForm::Block &block : form.inner)
    out += std::to_string(block.size) + static_cast<char>('a' + block.axis);
  return out;
}

} // namespace bycc::onednn
