// Panels of a contraction's vector operand, and those of constants, which are made while
// compiling. Elements keep their dtype there, narrow floats are widened in the
// loop; only what is packed at run time is packed as float32, once for many rows.
#include "LoopSteps.h"

#include <algorithm>
#include <cstring>

namespace bycc::loops {
namespace {

// Of the vector operand, or of what it is decoded with, along these axes of the reduction.
PackSpec packSpec(Kernel &kernel, const Contraction &c, const Operand &operand, uint32_t packed,
                  std::span<const uint32_t> reduction, int64_t tile) {
  Exprs &exprs = kernel.exprs;
  auto strideOf = [&](uint32_t axis) { return exprs.coefficient(operand.index, axis).value_or(0); };
  PackSpec spec;
  spec.source = operand.buffer;
  spec.packed = packed;
  spec.base = exprs.affine(operand.index).constant;
  auto add = [&](uint32_t axis) {
    spec.dims.push_back({*exprs.constantExtent(axis), strideOf(axis)});
  };
  for (uint32_t axis : c.packedBatch)
    add(axis);
  int64_t step = strideOf(c.column);
  spec.columns = *exprs.constantExtent(c.column);
  spec.tileDim = spec.dims.size();
  spec.dims.push_back({(spec.columns + tile - 1) / tile, step * tile});
  for (uint32_t axis : reduction) {
    if (axis == c.oddAxis)
      spec.oddDim = spec.dims.size();
    add(axis);
  }
  spec.laneDim = spec.dims.size();
  spec.dims.push_back({tile, step});
  spec.isPaired = c.isPaired;
  spec.sourceType = kernel.buffers[operand.buffer].type;
  spec.pairStride = c.pairStride;
  return spec;
}

// 16 bits of an element; 8-bit integers are extended.
uint32_t bitsAt(DType type, const uint8_t *data, int64_t at) {
  if (type == DType::UInt8)
    return data[at];
  if (type == DType::Int8)
    return static_cast<uint16_t>(static_cast<int8_t>(data[at]));
  uint16_t bits;
  std::memcpy(&bits, data + 2 * at, sizeof bits);
  return bits;
}

} // namespace

bool canReadInPlace(const Kernel &kernel, const Contraction &c, const TargetFacts &facts) {
  auto columns = kernel.exprs.constantExtent(c.column);
  bool isWhole = columns && *columns % facts.lanes == 0;
  bool canMask = facts.hasMasks && kernel.buffers[c.vector.buffer].type == DType::Float32;
  return !c.isPaired && !c.decoding && kernel.exprs.coefficient(c.vector.index, c.column) == 1 &&
         (isWhole || canMask);
}

bool canPackConstant(const Kernel &kernel, const Contraction &c) {
  const Exprs &exprs = kernel.exprs;
  auto isOpen = [&](uint32_t axis) { return !exprs.constantExtent(axis); };
  auto moves = [&](uint32_t axis) { return exprs.coefficient(c.vector.index, axis) != 0; };
  return kernel.buffers[c.vector.buffer].isConstant && !isOpen(c.column) &&
         std::ranges::none_of(c.reduction, isOpen) &&
         std::ranges::none_of(c.batch, [&](uint32_t axis) { return moves(axis) && isOpen(axis); });
}

std::optional<int64_t> rowElements(const Kernel &kernel, const Contraction &c) {
  const Exprs &exprs = kernel.exprs;
  auto moves = [&](uint32_t axis) { return exprs.coefficient(c.broadcast.index, axis) != 0; };
  if (c.innerRow == noAxis || c.outerRow != noAxis || c.isPaired ||
      std::ranges::any_of(c.batch, moves))
    return std::nullopt;
  std::vector<std::pair<int64_t, int64_t>> steps; // stride, extent
  auto add = [&](uint32_t axis) {
    steps.push_back({exprs.coefficient(c.broadcast.index, axis).value_or(0),
                     exprs.constantExtent(axis).value_or(0)});
  };
  std::ranges::for_each(c.reduction, add);
  if (c.decoding && c.decoding->halves != noAxis)
    add(c.decoding->halves);
  std::ranges::sort(steps);
  int64_t elements = 1;
  for (auto [stride, extent] : steps) {
    if (stride != elements || extent < 1)
      return std::nullopt;
    elements *= extent;
  }
  return elements;
}

DType panelType(const Kernel &kernel, const Contraction &c, Packing packing) {
  return c.isPaired                     ? DType::Int32
         : packing == Packing::Constant ? kernel.buffers[c.vector.buffer].type
                                        : DType::Float32;
}

// A buffer for panels of these axes, beside those of the tiles.
static uint32_t addPanels(Kernel &kernel, const Contraction &c, DType type, int64_t tile,
                          std::initializer_list<std::span<const uint32_t>> axes) {
  Exprs &exprs = kernel.exprs;
  Ref tiles =
      exprs.binary(Op::FloorDiv, exprs.plus(exprs.extent(c.column), tile - 1), exprs.integer(tile));
  Ref elements = exprs.times(tiles, tile);
  for (std::span<const uint32_t> each : axes)
    for (uint32_t axis : each)
      elements = exprs.mul(elements, exprs.extent(axis));
  return kernel.addBuffer(type, {elements}, Role::Temp);
}

void makePanels(Loops &loops, Contraction &c, const ProductSchedule &product) {
  if (product.packing == Packing::InPlace)
    return;
  Kernel &kernel = loops.kernel;
  int64_t tile = product.tile.vectors * loops.schedule.lanes;
  for (uint32_t axis : c.batch)
    if (kernel.exprs.constant(kernel.exprs.stride(c.vector.index, axis)) != 0)
      c.packedBatch.push_back(axis);
  c.packed = addPanels(kernel, c, panelType(kernel, c, product.packing), tile,
                       {c.packedBatch, c.reduction});
  if (product.packing != Packing::Constant)
    return;
  loops.packs.push_back(packSpec(kernel, c, c.vector, c.packed, c.reduction, tile));
  if (!c.decoding)
    return;
  std::span<const uint32_t> blocks = std::span(c.reduction).first(c.decoding->depth);
  auto addPart = [&](const Operand &part) {
    uint32_t packed = addPanels(kernel, c, kernel.buffers[part.buffer].type, tile, {blocks});
    loops.packs.push_back(packSpec(kernel, c, part, packed, blocks, tile));
    return packed;
  };
  c.decoding->packedScale = addPart(c.decoding->scale);
  if (c.decoding->zero)
    c.decoding->packedZero = addPart(*c.decoding->zero);
}

// Lanes beyond the last column are zero.
std::vector<uint8_t> packPanels(const uint8_t *source, const PackSpec &spec) {
  int64_t size = sizeInBytes(spec.sourceType), packedSize = spec.isPaired ? 4 : size;
  std::vector<uint8_t> bytes(static_cast<size_t>(spec.elements() * packedSize));
  uint8_t *to = bytes.data();
  int64_t lanes = spec.dims.back().extent, laneStride = spec.dims.back().stride;
  std::vector<int64_t> index(spec.dims.size() - 1, 0);
  int64_t rows = spec.elements() / lanes, at = spec.base;
  for (int64_t row = 0; row < rows; ++row, to += lanes * packedSize) {
    int64_t valid = std::min(lanes, spec.columns - index[spec.tileDim] * lanes);
    bool hasSecond =
        spec.oddDim == SIZE_MAX || index[spec.oddDim] + 1 < spec.dims[spec.oddDim].extent;
    for (int64_t lane = 0; lane < valid; ++lane) {
      int64_t from = at + lane * laneStride;
      if (!spec.isPaired) {
        std::memcpy(to + lane * size, source + from * size, static_cast<size_t>(size));
        continue;
      }
      uint32_t pair = bitsAt(spec.sourceType, source, from);
      if (hasSecond)
        pair |= bitsAt(spec.sourceType, source, from + spec.pairStride) << 16;
      std::memcpy(to + lane * 4, &pair, sizeof pair);
    }
    for (size_t d = index.size(); d-- > 0;) {
      at += spec.dims[d].stride;
      if (++index[d] < spec.dims[d].extent)
        break;
      at -= spec.dims[d].stride * spec.dims[d].extent;
      index[d] = 0;
    }
  }
  return bytes;
}

} // namespace bycc::loops
