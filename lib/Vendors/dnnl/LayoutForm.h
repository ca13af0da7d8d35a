// A layout in numbers of our own: for blobs, which outlive versions of the library, and
// for reading packed constants back.
//
// Element (i0, i1, ...) of a blocked layout, with blocks of size b along an axis
// (outermost first, the last one dense):
//
//   offset = start + sum of (i / product of the axis' blocks) * stride, over the axes
//          + the place inside of the block, as digits of i
//
//   OIhw with inner (1:4, 0:16, 1:4), "OIhw4i16o4i": weights for int8 products
#pragma once

#include "Plan.h"

namespace bycc::onednn {

struct LayoutForm {
  struct Block {
    uint8_t axis = 0;
    int64_t size = 0;
    bool operator==(const Block &) const = default;
  };
  DType dtype = DType::Float32;
  Dims dims, padded; // padded: multiples of the blocks
  Dims strides;      // of blocks, in elements
  std::vector<Block> inner;
  int64_t start = 0; // of the first element: not 0 in slices
  // What the library keeps behind the elements (sums over weights, in its own terms),
  // and by what it has multiplied them.
  uint64_t extraFlags = 0;
  int32_t sumMask = 0, zeroSumMask = 0;
  float scale = 1;
  bool operator==(const LayoutForm &) const = default;
};

// Known extents, whole blocks, no two elements at one place, a size that can be had.
Expected<> checkForm(const LayoutForm &form);

// Up to the last element of a checked form, without what is behind them.
int64_t numPlaces(const LayoutForm &form);

// True when the elements themselves can be had back.
bool isReversible(const LayoutForm &form);

// Copies elements from a checked form to row-major order.
void unpack(const LayoutForm &form, const uint8_t *from, uint8_t *to);

// The library's notation: axes from the slowest on, capitals for those in blocks, then
// the blocks: "aBcd16b".
std::string text(const LayoutForm &form);

} // namespace bycc::onednn
