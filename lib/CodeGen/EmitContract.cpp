// Loops of a contraction. Work items are (batch, block of rows, block of column
// tiles); inside an item
//
//   for each column tile:            panel of W stays in L1/L2
//     for each row tile of the block:  block of X stays in L2
//       rowTile x vectors sums in registers, over all of k, then the epilogue
//
// The epilogue is emitted at the store with lanes along columns, or, when
// columns are not contiguous in memory (NCHW), along rows after a transposition
// in registers.
#include "Emit.h"

#include <llvm/IR/Intrinsics.h>

namespace bycc::te {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

void KernelEmitter::emitContraction(const Nest &nest) {
  const Contraction &c = *nest.contraction;
  overrides_.clear();
  setLanes({});
  if (c.packing == Packing::RunTime)
    emitPanels(c);
  int64_t tileLanes = c.vectors * vectorLanes();
  int64_t columns = *extentOf(c.column), numTiles = ceilDiv(columns, tileLanes);
  int64_t depth = 1;
  for (uint32_t axis : c.reduction)
    depth *= *extentOf(axis);
  int64_t batches = 1;
  for (uint32_t axis : c.batch)
    batches *= extentOf(axis).value_or(4);
  int64_t inner = c.innerRow == noAxis ? 1 : extentOf(c.innerRow).value_or(256);
  bool hasOuter = c.outerRow != noAxis;
  int64_t outer = hasOuter ? extentOf(c.outerRow).value_or(16) : 1;
  int64_t unit = hasOuter ? c.outerRowTile : c.rowTile; // rows move in these steps
  int64_t units = ceilDiv(hasOuter ? outer : inner, unit);
  double unitBytes = 4.0 * static_cast<double>(depth * unit * (hasOuter ? inner : 1));
  double rowBytes = unitBytes * static_cast<double>(units), columnBytes = 4.0 * static_cast<double>(depth * columns);
  int64_t cached = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(context_.target.l2Bytes) / 3 / unitBytes));
  const int64_t wantedItems = 16;
  int64_t rowBlocks = ceilDiv(units, cached), tileBlocks = 1;
  if (columnBytes <= rowBytes)
    rowBlocks = std::max(rowBlocks, std::min(units, ceilDiv(wantedItems, batches)));
  tileBlocks = std::min(numTiles, std::max<int64_t>(1, wantedItems / std::max<int64_t>(1, batches * rowBlocks)));
  int64_t rowStep = ceilDiv(units, rowBlocks) * unit, tileStep = ceilDiv(numTiles, tileBlocks);
  tileBlocks = ceilDiv(numTiles, tileStep);

  uint32_t blocked = hasOuter ? c.outerRow : c.innerRow;
  Value *rowBlockCount = i64(1);
  if (blocked != noAxis)
    rowBlockCount = b_.CreateSDiv(b_.CreateAdd(extentValue(blocked), i64(rowStep - 1)), i64(rowStep));
  Value *count = b_.CreateMul(rowBlockCount, i64(tileBlocks));
  for (uint32_t axis : c.batch)
    count = b_.CreateMul(count, extentValue(axis));
  double itemCost = static_cast<double>(depth) * static_cast<double>(rowStep * (hasOuter ? inner : 1)) *
                    static_cast<double>(tileStep * tileLanes) / static_cast<double>(2 * vectorLanes());
  emitTask(count, itemCost, false, [&](Value *begin, Value *end) {
    forLoop(begin, end, 1, [&](Value *item) {
      Value *rest = item;
      auto next = [&](Value *extent) {
        Value *value = b_.CreateURem(rest, extent);
        rest = b_.CreateUDiv(rest, extent);
        return value;
      };
      Value *tileBlock = next(i64(tileBlocks));
      Value *rowBegin = i64(0), *rowEnd = i64(1);
      if (blocked != noAxis) {
        Value *extent = extentValue(blocked);
        Value *blocks = b_.CreateSDiv(b_.CreateAdd(extent, i64(rowStep - 1)), i64(rowStep));
        rowBegin = b_.CreateMul(next(blocks), i64(rowStep));
        Value *bound = b_.CreateAdd(rowBegin, i64(rowStep));
        rowEnd = b_.CreateSelect(b_.CreateICmpSLT(bound, extent), bound, extent);
      }
      for (size_t d = c.batch.size(); d-- > 0;)
        axes_[c.batch[d]] = next(extentValue(c.batch[d]));
      Scope scope(*this);
      Value *tileBegin = b_.CreateMul(tileBlock, i64(tileStep));
      Value *tileBound = b_.CreateAdd(tileBegin, i64(tileStep));
      int64_t fullTiles = columns / tileLanes, tailLanes = columns % tileLanes;
      auto clampTo = [&](Value *value, int64_t limit) {
        return b_.CreateSelect(b_.CreateICmpSLT(value, i64(limit)), value, i64(limit));
      };
      auto rowsOf = [&](Value *tile, int64_t vectors, bool tail) {
        Value *innerEnd = c.innerRow == noAxis ? i64(1) : extentValue(c.innerRow);
        if (hasOuter)
          emitRowTiles(c, tile, vectors, tail, rowBegin, rowEnd, i64(0), innerEnd);
        else
          emitRowTiles(c, tile, vectors, tail, i64(0), i64(1), rowBegin, rowEnd);
      };
      if (fullTiles > 0)
        forLoop(tileBegin, clampTo(tileBound, fullTiles), 1, [&](Value *tile) { rowsOf(tile, c.vectors, false); });
      if (tailLanes > 0)
        ifThen(b_.CreateICmpSGT(tileBound, i64(fullTiles)),
               [&] { rowsOf(i64(fullTiles), ceilDiv(tailLanes, vectorLanes()), tailLanes % vectorLanes() != 0); });
    });
  });
  overrides_.clear();
  setLanes({});
}

// Writes the panels of a vector operand that is only known at run time.
void KernelEmitter::emitPanels(const Contraction &c) {
  const PackSpec *spec = nullptr;
  for (const PackSpec &candidate : schedule_.packs)
    if (candidate.packed == c.packed)
      spec = &candidate;
  // One row per (batch, tile, reduction...); lanes along the columns of a tile.
  int64_t rows = spec->elements() / spec->dims.back().extent;
  uint32_t lane = x_.newAxis(x_.integer(spec->dims.back().extent));
  uint32_t rowAxis = x_.newAxis(x_.integer(rows));
  Ref index = x_.integer(spec->base), row = x_.axis(rowAxis), column = noRef;
  int64_t period = rows;
  for (size_t d = 0; d + 1 < spec->dims.size(); ++d) {
    period /= spec->dims[d].extent;
    Ref value = x_.binary(Op::FloorMod, x_.binary(Op::FloorDiv, row, x_.integer(period)), x_.integer(spec->dims[d].extent));
    index = x_.add(index, x_.times(value, spec->dims[d].stride));
    if (d == spec->tileDim)
      column = x_.times(value, spec->dims.back().extent);
  }
  index = x_.add(index, x_.times(x_.axis(lane), spec->dims.back().stride));
  column = x_.add(column, x_.axis(lane));
  Ref source = x_.load(spec->source, spec->sourceType, index), none = x_.floating(0, DType::Float32);
  if (spec->isPaired) {
    Ref second = x_.load(spec->source, spec->sourceType, x_.plus(index, spec->pairStride));
    source = x_.binary(Op::Pair, x_.cast(source, DType::Int32), x_.cast(second, DType::Int32));
    none = x_.integer(0, DType::Int32);
  }
  Ref body = x_.guard(x_.binary(Op::Lt, column, x_.integer(spec->columns)), source, none);
  Ref store = x_.add(x_.times(row, spec->dims.back().extent), x_.axis(lane));
  emitTask(i64(rows), static_cast<double>(spec->dims.back().extent), false, [&](Value *begin, Value *end) {
    forLoop(begin, end, 1, [&](Value *at) {
      axes_[rowAxis] = at;
      loopLanes(lane, [&] { emitStore(spec->packed, store, emit(body)); });
    });
  });
}

void KernelEmitter::emitRowTiles(const Contraction &c, Value *columnTile, int64_t vectors, bool tail, Value *outerBegin,
                                 Value *outerEnd, Value *innerBegin, Value *innerEnd) {
  Tile tile{c.rowTile, c.outerRowTile, vectors, tail};
  auto at = [&](Value *outer, Value *inner, int64_t outerRows, int64_t rows) {
    if (c.outerRow != noAxis)
      axes_[c.outerRow] = outer;
    if (c.innerRow != noAxis)
      axes_[c.innerRow] = inner;
    Tile now = tile;
    now.rows = rows;
    now.outerRows = outerRows;
    Scope scope(*this);
    emitTile(c, columnTile, now);
  };
  if (c.outerRowTile > 1) { // whole inner rows
    Value *full = b_.CreateSub(outerEnd, b_.CreateURem(b_.CreateSub(outerEnd, outerBegin), i64(c.outerRowTile)));
    forLoop(outerBegin, full, c.outerRowTile, [&](Value *outer) { at(outer, i64(0), c.outerRowTile, c.rowTile); });
    if (int64_t rest = *extentOf(c.outerRow) % c.outerRowTile)
      ifThen(b_.CreateICmpSLT(full, outerEnd), [&] { at(full, i64(0), rest, c.rowTile); });
    return;
  }
  forLoop(outerBegin, outerEnd, 1, [&](Value *outer) {
    Value *full = b_.CreateSub(innerEnd, b_.CreateURem(b_.CreateSub(innerEnd, innerBegin), i64(c.rowTile)));
    forLoop(innerBegin, full, c.rowTile, [&](Value *inner) { at(outer, inner, 1, c.rowTile); });
    if (c.innerRow == noAxis || c.rowTile == 1)
      return;
    if (auto extent = extentOf(c.innerRow)) {
      if (int64_t rest = *extent % c.rowTile)
        ifThen(b_.CreateICmpSLT(full, innerEnd), [&] { at(outer, full, 1, rest); });
      return;
    }
    Value *quads = b_.CreateSub(innerEnd, b_.CreateURem(b_.CreateSub(innerEnd, full), i64(4)));
    forLoop(full, quads, 4, [&](Value *inner) { at(outer, inner, 1, 4); });
    forLoop(quads, innerEnd, 1, [&](Value *inner) { at(outer, inner, 1, 1); });
  });
}

void KernelEmitter::emitTile(const Contraction &c, Value *columnTile, const Tile &tile) {
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  int64_t tileLanes = c.vectors * lanes;
  llvm::Type *elementType = c.isPaired ? b_.getInt32Ty() : b_.getFloatTy();
  auto *vectorType = llvm::FixedVectorType::get(elementType, lanes);
  auto stride = [&](const Operand &operand, uint32_t axis) {
    return axis == noAxis ? 0 : x_.coefficient(operand.index, axis).value_or(0);
  };
  // First elements: reduction at 0, columns at the tile's first.
  Value *columnBegin = b_.CreateMul(columnTile, i64(tileLanes));
  axes_[c.column] = columnBegin;
  for (uint32_t axis : c.reduction)
    axes_[axis] = i64(0);
  Value *pointerX, *pointerW;
  {
    Scope scope(*this);
    pointerX = pointerTo(c.broadcast.buffer, emitAt(c.broadcast.index), false);
    if (c.packing == Packing::InPlace) {
      pointerW = pointerTo(c.vector.buffer, emitAt(c.vector.index), false);
    } else {
      Value *panel = i64(0);
      for (uint32_t axis : c.packedBatch)
        panel = b_.CreateAdd(b_.CreateMul(panel, extentValue(axis)), axes_.at(axis));
      int64_t depth = 1;
      for (uint32_t axis : c.reduction)
        depth *= *extentOf(axis);
      panel = b_.CreateAdd(b_.CreateMul(panel, i64(ceilDiv(*extentOf(c.column), tileLanes))), columnTile);
      pointerW = pointerTo(c.packed, b_.CreateMul(panel, i64(depth * tileLanes)), false);
    }
  }
  uint32_t bufferW = c.packing == Packing::InPlace ? c.vector.buffer : c.packed;
  std::vector<int64_t> stepX, stepW(c.reduction.size());
  int64_t packedStep = tileLanes;
  for (size_t d = c.reduction.size(); d-- > 0;) {
    stepW[d] = c.packing == Packing::InPlace ? stride(c.vector, c.reduction[d]) : packedStep;
    packedStep *= *extentOf(c.reduction[d]);
  }
  for (uint32_t axis : c.reduction)
    stepX.push_back(stride(c.broadcast, axis));

  int64_t numRows = tile.rows * tile.outerRows;
  std::vector<Value *> sums;
  for (int64_t i = 0; i < numRows * tile.vectors; ++i) {
    sums.push_back(entryAlloca(vectorType));
    b_.CreateStore(llvm::Constant::getNullValue(vectorType), sums.back());
  }
  Value *tailMask = nullptr;
  if (tile.hasColumnTail) {
    std::vector<llvm::Constant *> bits;
    for (unsigned lane = 0; lane < lanes; ++lane)
      bits.push_back(b_.getInt1(static_cast<int64_t>(lane) < *extentOf(c.column) % static_cast<int64_t>(lanes)));
    tailMask = llvm::ConstantVector::get(bits);
  }
  int64_t stepColumn = stride(c.vector, c.column);
  auto loadW = [&](Value *base, int64_t offset, int64_t vector) -> Value * {
    auto align = llvm::Align(c.packing == Packing::InPlace ? 4 : lanes * 4);
    int64_t laneStep = c.packing == Packing::InPlace ? stepColumn : 1;
    Value *pointer = b_.CreateGEP(elementType, base, i64(offset + vector * lanes * laneStep));
    llvm::Instruction *load;
    if (laneStep == 1 && (!tailMask || c.packing != Packing::InPlace)) {
      load = b_.CreateAlignedLoad(vectorType, pointer, align);
    } else {
      std::vector<llvm::Constant *> offsets;
      for (unsigned lane = 0; lane < lanes; ++lane)
        offsets.push_back(b_.getInt64(lane * static_cast<uint64_t>(laneStep)));
      Value *mask = tailMask && vector + 1 == tile.vectors ? tailMask : b_.CreateVectorSplat(lanes, b_.getTrue());
      load = b_.CreateMaskedGather(vectorType, b_.CreateGEP(elementType, pointer, llvm::ConstantVector::get(offsets)),
                                   llvm::Align(4), mask, llvm::Constant::getNullValue(vectorType));
    }
    tag(load, bufferW);
    return load;
  };
  // Long panels are fetched ahead of their use.
  int64_t depth = 1;
  for (uint32_t axis : c.reduction)
    depth *= *extentOf(axis);
  const int64_t ahead = 2048;
  bool prefetchesW = c.packing != Packing::InPlace && depth * tileLanes * 4 > (64 << 10);
  auto prefetch = [&](Value *base, int64_t offset) {
    Value *pointer = b_.CreateGEP(elementType, base, i64(offset));
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()}, {pointer, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
  };
  auto step = [&](Value *baseX, Value *baseW, int64_t offsetX, int64_t offsetW) {
    std::vector<Value *> w;
    for (int64_t v = 0; v < tile.vectors; ++v) {
      w.push_back(loadW(baseW, offsetW, v));
      if (prefetchesW)
        prefetch(baseW, offsetW + v * lanes + ahead / 4);
    }
    for (int64_t r = 0; r < numRows; ++r) {
      int64_t offset = offsetX + (r / tile.rows) * stride(c.broadcast, c.outerRow) + (r % tile.rows) * stride(c.broadcast, c.innerRow);
      auto *load = b_.CreateAlignedLoad(elementType, b_.CreateGEP(elementType, baseX, i64(offset)), llvm::Align(4));
      tag(load, c.broadcast.buffer);
      Value *x = b_.CreateVectorSplat(lanes, load);
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value *sum = sums[static_cast<size_t>(r * tile.vectors + v)];
        Value *before = b_.CreateLoad(vectorType, sum), *factor = w[static_cast<size_t>(v)];
        b_.CreateStore(c.isPaired ? dotPairs(before, x, factor) : fma(x, factor, before), sum);
      }
    }
  };
  const int64_t unrollLimit = 120;
  std::function<void(size_t, Value *, Value *)> reduce = [&](size_t d, Value *baseX, Value *baseW) {
    int64_t extent = *extentOf(c.reduction[d]);
    auto advance = [&](Value *base, Value *index, int64_t by) {
      return b_.CreateGEP(elementType, base, b_.CreateMul(index, i64(by)));
    };
    if (d + 1 < c.reduction.size()) {
      forLoop(i64(0), i64(extent), 1, [&](Value *index) {
        reduce(d + 1, advance(baseX, index, stepX[d]), advance(baseW, index, stepW[d]));
      });
      return;
    }
    // Steps that broadcast the same elements (taps of a convolution) stay apart:
    // merged broadcasts would outlive the registers.
    int64_t rowStep = std::max<int64_t>(stride(c.broadcast, c.innerRow), 1);
    auto overlaps = [&](int64_t u) { return (u - 1) * stepX[d] % rowStep == 0 && (u - 1) * stepX[d] / rowStep < tile.rows; };
    int64_t unroll = 1;
    for (int64_t u = 2; u <= 8; ++u) {
      if (tile.rows > 1 && overlaps(u))
        break;
      if (extent % u == 0 && u * numRows * tile.vectors <= unrollLimit)
        unroll = u;
    }
    forLoop(i64(0), i64(extent), unroll, [&](Value *index) {
      Value *x = advance(baseX, index, stepX[d]), *w = advance(baseW, index, stepW[d]);
      for (int64_t u = 0; u < unroll; ++u)
        step(x, w, u * stepX[d], u * stepW[d]);
    });
  };
  reduce(0, pointerX, pointerW);
  for (Value *&sum : sums)
    sum = b_.CreateLoad(vectorType, sum);
  axes_[c.column] = columnBegin;
  if (c.isTransposed && c.innerRow != noAxis)
    storeTransposed(c, tile, sums);
  else
    storeRows(c, tile, sums);
  overrides_.clear();
  setLanes({});
}

void KernelEmitter::storeRows(const Contraction &c, const Tile &tile, const std::vector<Value *> &sums) {
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  Value *columnBegin = axes_.at(c.column);
  Value *outerBegin = c.outerRow == noAxis ? nullptr : axes_.at(c.outerRow);
  Value *innerBegin = c.innerRow == noAxis ? nullptr : axes_.at(c.innerRow);
  for (int64_t r = 0; r < tile.rows * tile.outerRows; ++r) {
    if (outerBegin)
      axes_[c.outerRow] = b_.CreateAdd(outerBegin, i64(r / tile.rows));
    if (innerBegin)
      axes_[c.innerRow] = b_.CreateAdd(innerBegin, i64(r % tile.rows));
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Scope scope(*this);
      axes_[c.column] = b_.CreateAdd(columnBegin, i64(v * lanes));
      Lanes now{c.column, lanes, nullptr};
      setLanes(now);
      if (tile.hasColumnTail && v + 1 == tile.vectors) {
        Value *left = i64(*extentOf(c.column) % static_cast<int64_t>(lanes));
        now.mask = b_.CreateICmpSLT(laneIota(), b_.CreateVectorSplat(lanes, left));
      }
      setLanes(now);
      overrides_.clear();
      setOverride(c.result, sums[static_cast<size_t>(r * tile.vectors + v)]);
      emitStore(c.epilogue.buffer, c.epilogue.store, emit(c.epilogue.body));
    }
  }
  if (outerBegin)
    axes_[c.outerRow] = outerBegin;
  if (innerBegin)
    axes_[c.innerRow] = innerBegin;
  axes_[c.column] = columnBegin;
}

// lanes x lanes transposition: log2(lanes) rounds of interleaving pairs.
std::vector<llvm::Value *> KernelEmitter::transposeTile(std::vector<Value *> rows) {
  int64_t n = static_cast<int64_t>(rows.size());
  for (int64_t half = n / 2; half >= 1; half /= 2) {
    // Swaps the off-diagonal half x half blocks of every 2half x 2half block.
    std::vector<Value *> next(rows.size());
    std::vector<int> low, high;
    for (int64_t lane = 0; lane < n; ++lane) {
      bool isUpper = (lane / half) % 2 == 1;
      low.push_back(static_cast<int>(isUpper ? n + lane - half : lane));
      high.push_back(static_cast<int>(isUpper ? n + lane : lane + half));
    }
    for (int64_t r = 0; r < n; ++r) {
      if ((r / half) % 2 == 1)
        continue;
      Value *a = rows[static_cast<size_t>(r)], *b = rows[static_cast<size_t>(r + half)];
      next[static_cast<size_t>(r)] = b_.CreateShuffleVector(a, b, low);
      next[static_cast<size_t>(r + half)] = b_.CreateShuffleVector(a, b, high);
    }
    rows = std::move(next);
  }
  return rows;
}

void KernelEmitter::storeTransposed(const Contraction &c, const Tile &tile, const std::vector<Value *> &sums) {
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  int64_t numRows = tile.rows * tile.outerRows;
  Value *columnBegin = axes_.at(c.column), *innerBegin = axes_.at(c.innerRow);
  auto *vectorType = llvm::cast<llvm::FixedVectorType>(sums[0]->getType());
  for (int64_t from = 0; from < numRows; from += lanes) {
    int64_t count = std::min<int64_t>(lanes, numRows - from);
    axes_[c.innerRow] = b_.CreateAdd(innerBegin, i64(from));
    for (int64_t v = 0; v < tile.vectors; ++v) {
      std::vector<Value *> block(lanes, llvm::PoisonValue::get(vectorType));
      for (int64_t r = 0; r < count; ++r)
        block[static_cast<size_t>(r)] = sums[static_cast<size_t>((from + r) * tile.vectors + v)];
      block = transposeTile(std::move(block));
      int64_t used = tile.hasColumnTail && v + 1 == tile.vectors ? *extentOf(c.column) % static_cast<int64_t>(lanes) : lanes;
      for (int64_t column = 0; column < used; ++column) {
        Scope scope(*this);
        axes_[c.column] = b_.CreateAdd(columnBegin, i64(v * lanes + column));
        Lanes now{c.innerRow, lanes, nullptr};
        setLanes(now);
        if (count < static_cast<int64_t>(lanes))
          now.mask = b_.CreateICmpSLT(laneIota(), b_.CreateVectorSplat(lanes, i64(count)));
        setLanes(now);
        overrides_.clear();
        setOverride(c.result, block[static_cast<size_t>(column)]);
        emitStore(c.epilogue.buffer, c.epilogue.store, emit(c.epilogue.body));
      }
    }
  }
  axes_[c.innerRow] = innerBegin;
  axes_[c.column] = columnBegin;
}

} // namespace bycc::te
