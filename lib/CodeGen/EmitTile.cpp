// The sums of a product's tile: rows x vectors of them in registers, over all of the reduction.
// Each step loads the vectors of one operand and broadcasts the elements of the other:
//
//   for k:  w[v] = W[k, v];  for each row r:  x = X[r, k];  sum[r, v] += x * w[v]
#include "Emit.h"

#include <llvm/IR/Intrinsics.h>

namespace bycc::codegen {

// A tile while its sums are made. Offsets count units, the elements in memory; pairs of
// neighbours are read as one element.
struct KernelEmitter::TileSums {
  const Product &product;
  const TileSchedule &how;
  bool isPacked = false;
  Value *tail = nullptr; // which lanes of the last vector of W there are; null: all
  uint32_t bufferW = 0;
  DType typeX, typeW;
  llvm::Type *unitX = nullptr, *unitW = nullptr, *elementX = nullptr;
  llvm::FixedVectorType *vector = nullptr;
  std::vector<Value *> stepX, stepW; // by axis of the reduction
  std::vector<Value *> rowOffsets;   // in X
  std::vector<Value *> sums;         // in memory that becomes registers
  // Of a decoded operand: panels of scale and zero, from the tile's first vector on; and by vector
  // what an element of the block at hand is multiplied by and what is added then.
  Value *scales = nullptr, *zeros = nullptr;
  std::vector<Value *> factors, summands;

  int64_t numRows() const { return how.rows * how.outerRows; }
};

llvm::Value *KernelEmitter::depthOf(const Contraction &c) {
  Value *depth = i64(1);
  for (uint32_t axis : c.reduction)
    depth = b_.CreateMul(depth, extentValue(axis));
  return depth;
}

KernelEmitter::TileSums KernelEmitter::beginSums(const Product &product, const Tile &tile) {
  const Contraction &c = product.what;
  const std::vector<Buffer> &buffers = loops_.kernel.buffers;
  TileSums t{product, tile.how};
  t.isPacked = product.how.packing != Packing::InPlace;
  t.bufferW = t.isPacked ? c.packed : c.vector.buffer;
  t.typeX = buffers[c.broadcast.buffer].type;
  t.typeW = buffers[t.bufferW].type;
  t.unitX = memoryType(t.typeX);
  t.unitW = memoryType(t.typeW);
  t.elementX = c.isPaired ? b_.getInt32Ty() : t.unitX;
  t.vector = llvm::FixedVectorType::get(valueType(loops_.kernel.exprs.type(c.result)),
                                        static_cast<unsigned>(vectorLanes()));
  return t;
}

// Where both operands begin: the reduction at 0, columns at the tile's first. They are frozen,
// which keeps from LLVM what they are made of: it would try every way to spread that over the loops
// around the tile, which took most of its time and made no better code.
std::pair<llvm::Value *, llvm::Value *>
KernelEmitter::operandsOf(const TileSums &t, const Tile &tile, Value *firstLane) {
  const Contraction &c = t.product.what;
  Scope scope(*this);
  auto frozen = [&](uint32_t buffer, Value *index) {
    return b_.CreateFreeze(pointerTo(buffer, index, false));
  };
  Value *pointerX = t.product.how.copiesRows
                        ? frozen(c.copied, b_.CreateMul(axes_.at(c.innerRow), i64(c.copiedStride)))
                        : frozen(c.broadcast.buffer, emitAt(c.broadcast.index));
  if (!t.isPacked)
    return {pointerX, frozen(c.vector.buffer, emitAt(c.vector.index))};
  Value *panel = i64(0);
  for (uint32_t axis : c.packedBatch)
    panel = b_.CreateAdd(b_.CreateMul(panel, extentValue(axis)), axes_.at(axis));
  panel = b_.CreateAdd(b_.CreateMul(panel, tilesOf(t.product)), tile.columnTile);
  Value *first = b_.CreateMul(
      panel, b_.CreateMul(depthOf(c), i64(t.product.how.tile.vectors * vectorLanes())));
  return {pointerX, frozen(c.packed, b_.CreateAdd(first, firstLane))};
}

void KernelEmitter::startReduction(const Contraction &c) {
  for (uint32_t axis : c.reduction)
    axes_[axis] = i64(0);
  if (c.decoding && c.decoding->halves != noAxis)
    axes_[c.decoding->halves] = i64(0);
}

// Sums of 0, and how far it is to the next step and row.
void KernelEmitter::clearSums(TileSums &t) {
  const Contraction &c = t.product.what;
  t.stepW.resize(c.reduction.size());
  Value *packedStep = i64(t.product.how.tile.vectors * vectorLanes());
  for (size_t d = c.reduction.size(); d-- > 0;) {
    t.stepW[d] = t.isPacked ? packedStep : strideValue(c.vector, c.reduction[d]);
    packedStep = b_.CreateMul(packedStep, extentValue(c.reduction[d]));
  }
  for (uint32_t axis : c.reduction)
    t.stepX.push_back(strideValue(c.broadcast, axis));
  for (int64_t i = 0; i < t.numRows() * t.how.vectors; ++i) {
    t.sums.push_back(entryAlloca(t.vector));
    b_.CreateStore(llvm::Constant::getNullValue(t.vector), t.sums.back());
  }
  Value *outerStride = strideValue(c.broadcast, c.outerRow),
        *innerStride =
            t.product.how.copiesRows ? i64(c.copiedStride) : strideValue(c.broadcast, c.innerRow);
  for (int64_t r = 0; r < t.numRows(); ++r) {
    Value *inInner = b_.CreateMul(i64(r % t.how.rows), innerStride);
    Value *inOuter = b_.CreateMul(i64(r / t.how.rows), outerStride);
    t.rowOffsets.push_back(b_.CreateAdd(inOuter, inInner));
  }
}

// Where a part of the tile's panel, `blocks` rows of it, begins.
llvm::Value *KernelEmitter::tilePanel(const TileSums &t, const Tile &tile, uint32_t buffer,
                                      Value *blocks) {
  int64_t lanes = t.product.how.tile.vectors * vectorLanes();
  Value *first = b_.CreateMul(b_.CreateMul(tile.columnTile, blocks), i64(lanes));
  if (tile.firstVector)
    first = b_.CreateAdd(first, b_.CreateMul(tile.firstVector, i64(vectorLanes())));
  return b_.CreateFreeze(pointerTo(buffer, first, false));
}

void KernelEmitter::beginDecoding(TileSums &t, const Tile &tile) {
  const Decoding &decoding = *t.product.what.decoding;
  Value *blocks = i64(1);
  for (size_t d = 0; d < decoding.depth; ++d)
    blocks = b_.CreateMul(blocks, extentValue(t.product.what.reduction[d]));
  t.scales = tilePanel(t, tile, decoding.packedScale, blocks);
  if (decoding.zero)
    t.zeros = tilePanel(t, tile, decoding.packedZero, blocks);
}

// Scales and zero points of the block where the reduction stands.
void KernelEmitter::loadBlock(TileSums &t) {
  const Contraction &c = t.product.what;
  const Decoding &decoding = *c.decoding;
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  Value *block = i64(0);
  for (size_t d = 0; d < decoding.depth; ++d)
    block =
        b_.CreateAdd(b_.CreateMul(block, extentValue(c.reduction[d])), axes_.at(c.reduction[d]));
  Value *first = b_.CreateMul(block, i64(t.product.how.tile.vectors * lanes));
  auto load = [&](uint32_t buffer, Value *panel, int64_t v) -> Value * {
    DType type = loops_.kernel.buffers[buffer].type;
    Value *from = b_.CreateGEP(memoryType(type), panel, b_.CreateAdd(first, i64(v * lanes)));
    auto *vector = llvm::FixedVectorType::get(memoryType(type), lanes);
    auto align = llvm::Align(static_cast<uint64_t>(lanes * sizeInBytes(type)));
    auto *loaded = b_.CreateAlignedLoad(vector, from, align);
    tag(loaded, buffer);
    return isFloat(type) ? loaded : emitCast(loaded, type, DType::Float32, false);
  };
  t.factors.clear();
  t.summands.clear();
  for (int64_t v = 0; v < t.how.vectors; ++v) {
    Value *scale = load(decoding.packedScale, t.scales, v);
    Value *zero = decoding.zero ? load(decoding.packedZero, t.zeros, v)
                                : llvm::ConstantFP::get(scale->getType(), decoding.number);
    t.factors.push_back(scale);
    t.summands.push_back(b_.CreateFNeg(b_.CreateFMul(zero, scale)));
  }
}

// What elements stand for, or those in a half of each byte.
llvm::Value *KernelEmitter::decode(const TileSums &t, Value *elements, size_t vector,
                                   int64_t half) {
  DType type = t.typeW;
  if (t.product.what.decoding->halves != noAxis) {
    elements = b_.CreateZExt(elements, llvm::VectorType::get(b_.getInt32Ty(), t.vector));
    elements = half == 0 ? b_.CreateAnd(elements, uint64_t{15}) : b_.CreateLShr(elements, 4);
    type = DType::Int32;
  }
  Value *real = emitCast(elements, type, DType::Float32, false);
  return fma(real, t.factors[vector], t.summands[vector]);
}

// A vector of W; the panel is fetched ahead.
llvm::Value *KernelEmitter::loadVector(const TileSums &t, Value *base, Value *offset,
                                       int64_t vector) {
  int64_t lanes = vectorLanes(), size = sizeInBytes(t.typeW), ahead = t.product.how.prefetchAhead;
  Value *pointer = b_.CreateGEP(t.unitW, base, b_.CreateAdd(offset, i64(vector * lanes)));
  auto align = llvm::Align(static_cast<uint64_t>(t.isPacked ? lanes * size : size));
  auto *type = llvm::FixedVectorType::get(t.unitW, static_cast<unsigned>(lanes));
  llvm::Instruction *load =
      t.tail && vector + 1 == t.how.vectors
          ? b_.CreateMaskedLoad(type, pointer, align, t.tail, llvm::Constant::getNullValue(type))
          : static_cast<llvm::Instruction *>(b_.CreateAlignedLoad(type, pointer, align));
  tag(load, t.bufferW);
  Value *value = unpack(t.typeW, load);
  if (ahead > 0) {
    Value *next =
        b_.CreateGEP(t.unitW, base, b_.CreateAdd(offset, i64(vector * lanes + ahead / size)));
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                       {next, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
  }
  return value;
}

void KernelEmitter::emitStep(const TileSums &t, Value *baseX, Value *baseW, Value *offsetX,
                             Value *offsetW) {
  const Contraction &c = t.product.what;
  std::vector<Value *> w;
  for (int64_t v = 0; v < t.how.vectors; ++v)
    w.push_back(loadVector(t, baseW, offsetW, v));
  if (!c.decoding)
    return addProducts(t, baseX, offsetX, w);
  uint32_t halves = c.decoding->halves;
  for (int64_t half = 0; half < (halves == noAxis ? 1 : 2); ++half) {
    std::vector<Value *> decoded;
    for (size_t v = 0; v < w.size(); ++v)
      decoded.push_back(decode(t, w[v], v, half));
    Value *ahead = b_.CreateMul(i64(half), strideValue(c.broadcast, halves));
    addProducts(t, baseX, b_.CreateAdd(offsetX, ahead), decoded);
  }
}

void KernelEmitter::addProducts(const TileSums &t, Value *baseX, Value *offsetX,
                                const std::vector<Value *> &w) {
  const Contraction &c = t.product.what;
  for (int64_t r = 0; r < t.numRows(); ++r) {
    Value *offset = b_.CreateAdd(offsetX, t.rowOffsets[static_cast<size_t>(r)]);
    auto align = llvm::Align(static_cast<uint64_t>(sizeInBytes(t.typeX)));
    auto *load = b_.CreateAlignedLoad(t.elementX, b_.CreateGEP(t.unitX, baseX, offset), align);
    tag(load, t.product.how.copiesRows ? c.copied : c.broadcast.buffer);
    Value *x = b_.CreateVectorSplat(static_cast<unsigned>(vectorLanes()),
                                    c.isPaired ? load : unpack(t.typeX, load));
    for (int64_t v = 0; v < t.how.vectors; ++v) {
      Value *sum = t.sums[static_cast<size_t>(r * t.how.vectors + v)];
      Value *before = b_.CreateLoad(t.vector, sum), *factor = w[static_cast<size_t>(v)];
      b_.CreateStore(c.isPaired ? dotPairs(before, x, factor) : fma(x, factor, before), sum);
    }
  }
}

// Is it known that no tile can leave out steps?
bool KernelEmitter::isWhole(const TileSums &t, const Window &window) const {
  const Kernel &kernel = loops_.kernel;
  bool isKnown = kernel.exprs.constant(window.elements) && extentOf(window.tap);
  kernel.exprs.visit(window.first, [&](Ref ref) {
    const Expr &e = kernel.exprs[ref];
    isKnown = isKnown && (e.op != Op::Axis || extentOf(static_cast<uint32_t>(e.i)));
    return isKnown;
  });
  return isKnown &&
         insideFraction(kernel, t.product.what, window, t.how.rows, t.how.outerRows) == 1;
}

// Steps of a window's axis that read no padding for some of the places whose windows begin at
// `first` to `last`; not all of them need be steps of the axis.
std::pair<llvm::Value *, llvm::Value *> KernelEmitter::stepsInside(const Window &window,
                                                                   Value *first, Value *last) {
  auto roundedUp = [&](Value *distance) { // in steps
    Value *rounded = b_.CreateAdd(distance, i64(window.dilation - 1));
    rounded = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, rounded, i64(0));
    return b_.CreateUDiv(rounded, i64(window.dilation));
  };
  return {roundedUp(b_.CreateNeg(last)), roundedUp(b_.CreateSub(emitAt(window.elements), first))};
}

// Steps of an axis of the reduction: all, or those that read more than padding in some row of the
// tile. Of the first row a step too far behind is one of every row, of the last one too far before.
std::pair<llvm::Value *, llvm::Value *> KernelEmitter::stepsOf(const TileSums &t, uint32_t axis) {
  const Contraction &c = t.product.what;
  Value *begin = i64(0), *end = extentValue(axis);
  bool isUnrolled = axis == c.reduction.back() && t.how.unroll > 1; // then steps go together
  if (!t.product.how.skipsPadding || isUnrolled)
    return {begin, end};
  for (const Window &window : c.windows) {
    if (window.tap != axis || isWhole(t, window))
      continue;
    auto reach = [&](uint32_t row, int64_t rows) {
      const Exprs &exprs = loops_.kernel.exprs;
      return row == noAxis ? 0 : (rows - 1) * *exprs.coefficient(window.first, row);
    };
    Scope scope(*this);
    Value *first = emitAt(window.first);
    Value *last = b_.CreateAdd(
        first, i64(reach(c.outerRow, t.how.outerRows) + reach(c.innerRow, t.how.rows)));
    auto [from, to] = stepsInside(window, first, last);
    begin = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, begin, from);
    end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, to);
  }
  return {begin, end};
}

// Loops over the axes of the reduction from `d` on.
void KernelEmitter::emitReduction(TileSums &t, size_t d, Value *baseX, Value *baseW) {
  if (t.product.what.decoding && t.product.what.decoding->depth == d)
    loadBlock(t);
  const std::vector<uint32_t> &axes = t.product.what.reduction;
  auto [begin, extent] = stepsOf(t, axes[d]);
  auto advance = [&](llvm::Type *unit, Value *base, Value *index, Value *by) {
    return b_.CreateGEP(unit, base, b_.CreateMul(index, by));
  };
  if (d + 1 < axes.size()) {
    forLoop(begin, extent, 1, [&](Value *index) {
      axes_[axes[d]] = index;
      Value *w = advance(t.unitW, baseW, index, t.stepW[d]);
      emitReduction(t, d + 1, advance(t.unitX, baseX, index, t.stepX[d]), w);
    });
    return;
  }
  auto steps = [&](Value *from, Value *to, int64_t by) {
    forLoop(from, to, by, [&](Value *index) {
      Value *x = advance(t.unitX, baseX, index, t.stepX[d]),
            *w = advance(t.unitW, baseW, index, t.stepW[d]);
      for (int64_t u = 0; u < by; ++u) {
        Value *offsetW = b_.CreateMul(i64(u), t.stepW[d]);
        emitStep(t, x, w, b_.CreateMul(i64(u), t.stepX[d]), offsetW);
      }
    });
  };
  if (extentOf(axes[d]) || t.how.unroll == 1)
    return steps(begin, extent, t.how.unroll);
  Value *whole = b_.CreateSub(extent, b_.CreateURem(extent, i64(t.how.unroll)));
  steps(i64(0), whole, t.how.unroll);
  steps(whole, extent, 1);
}

void KernelEmitter::emitTile(const Product &product, const Tile &tile) {
  const Contraction &c = product.what;
  TileSums t = beginSums(product, tile);
  Value *firstLane = tile.firstVector ? b_.CreateMul(tile.firstVector, i64(vectorLanes())) : i64(0);
  Value *columnBegin = b_.CreateAdd(
      b_.CreateMul(tile.columnTile, i64(product.how.tile.vectors * vectorLanes())), firstLane);
  axes_[c.column] = columnBegin;
  if (!t.isPacked && tile.hasColumnTail)
    t.tail = firstLanes(columnsLeft(c));
  startReduction(c);
  auto [pointerX, pointerW] = operandsOf(t, tile, firstLane);
  if (c.decoding)
    beginDecoding(t, tile);
  clearSums(t);
  emitReduction(t, 0, pointerX, pointerW);
  for (Value *&sum : t.sums)
    sum = b_.CreateLoad(t.vector, sum);
  axes_[c.column] = columnBegin;
  if (c.isTransposed && c.innerRow != noAxis)
    storeTransposed(c, tile, t.sums);
  else
    storeRows(c, tile, t.sums);
  overrides_.clear();
  setLanes({});
}

} // namespace bycc::codegen
