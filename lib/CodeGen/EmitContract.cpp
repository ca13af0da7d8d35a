// Loops of a contraction. Work items are (batch, block of rows, block of column
// tiles); inside an item
//
//   for each column tile:            panel of W stays in L1/L2
//     for each row tile of the block:  block of X stays in L2
//       rowTile x vectors sums in registers, over all of k, then the epilogue
//
// The epilogue is in EmitEpilogue.cpp.
#include "Emit.h"
#include "bycc/IR/LikelyExtents.h"

#include <llvm/IR/Intrinsics.h>

namespace bycc::te {
llvm::Value *KernelEmitter::depthOf(const Contraction &c) {
  Value *depth = i64(1);
  for (uint32_t axis : c.reduction)
    depth = b_.CreateMul(depth, extentValue(axis));
  return depth;
}

llvm::Value *KernelEmitter::tilesOf(const Contraction &c) {
  int64_t tileLanes = c.vectors * vectorLanes();
  return b_.CreateSDiv(b_.CreateAdd(extentValue(c.column), i64(tileLanes - 1)), i64(tileLanes));
}

llvm::Value *KernelEmitter::columnsLeft(const Contraction &c) {
  auto known = extentOf(c.column);
  return known ? i64(*known % vectorLanes()) : b_.CreateSub(extentValue(c.column), axes_.at(c.column));
}

void KernelEmitter::emitContraction(const Nest &nest) {
  const Contraction &c = *nest.contraction;
  overrides_.clear();
  setLanes({});
  if (c.packing == Packing::RunTime)
    emitPanels(c);
  // Sized for the likely extents; blocks fit any extent.
  auto likely = [&](uint32_t axis) { return axis == noAxis ? 1 : schedule_.kernel.likelyExtent(axis); };
  int64_t tileLanes = c.vectors * vectorLanes();
  auto knownColumns = extentOf(c.column);
  int64_t columns = likely(c.column), numTiles = ceilDiv(columns, tileLanes);
  int64_t depth = 1;
  for (uint32_t axis : c.reduction)
    depth *= likely(axis);
  int64_t batches = 1;
  for (uint32_t axis : c.batch)
    batches *= likely(axis);
  int64_t inner = likely(c.innerRow);
  bool hasOuter = c.outerRow != noAxis;
  int64_t outer = likely(c.outerRow);
  int64_t unit = hasOuter ? c.outerRowTile : c.rowTile; // rows move in these steps
  int64_t units = ceilDiv(hasOuter ? outer : inner, unit);
  double unitBytes = 4.0 * static_cast<double>(depth * unit * (hasOuter ? inner : 1));
  double rowBytes = unitBytes * static_cast<double>(units), columnBytes = 4.0 * static_cast<double>(depth * columns);
  int64_t cached = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(context_.target.l2Bytes) / 3 / std::max(unitBytes, 1.0)));
  const int64_t wantedItems = 16;
  int64_t rowBlocks = ceilDiv(units, cached), tileBlocks = 1;
  if (columnBytes <= rowBytes)
    rowBlocks = std::max(rowBlocks, std::min(units, ceilDiv(wantedItems, std::max<int64_t>(batches, 1))));
  tileBlocks = std::min(numTiles, std::max<int64_t>(1, wantedItems / std::max<int64_t>(1, batches * rowBlocks)));
  int64_t rowStep = ceilDiv(units, std::max<int64_t>(rowBlocks, 1)) * unit, tileStep = ceilDiv(numTiles, std::max<int64_t>(tileBlocks, 1));
  rowStep = std::max<int64_t>(rowStep, 1);
  tileStep = std::max<int64_t>(tileStep, 1);
  int64_t likelyStep = rowStep;
  uint32_t blocked = hasOuter ? c.outerRow : c.innerRow;
  // There may be more rows than is likely: blocks are so large that a tile of columns
  // serves many of them while it is in the cache.
  if (rowBlocks <= 1 && blocked != noAxis && !extentOf(blocked))
    rowStep = std::max(rowStep, std::min(cached, ceilDiv(likelyUnknown, unit)) * unit);

  auto blocksOf = [&](Value *extent, int64_t step) { return b_.CreateSDiv(b_.CreateAdd(extent, i64(step - 1)), i64(step)); };
  Value *rowBlockCount = blocked == noAxis ? i64(1) : blocksOf(extentValue(blocked), rowStep);
  Value *count = b_.CreateMul(rowBlockCount, blocksOf(tilesOf(c), tileStep));
  for (uint32_t axis : c.batch)
    count = b_.CreateMul(count, extentValue(axis));
  double itemCost = static_cast<double>(depth) * static_cast<double>(likelyStep * (hasOuter ? inner : 1)) *
                    static_cast<double>(tileStep * tileLanes) / static_cast<double>(2 * vectorLanes());
  emitTask(count, itemCost, false, [&](Value *begin, Value *end) {
    forLoop(begin, end, 1, [&](Value *item) {
      Value *rest = item;
      auto next = [&](Value *extent) {
        Value *value = b_.CreateURem(rest, extent);
        rest = b_.CreateUDiv(rest, extent);
        return value;
      };
      Value *tileBlock = next(blocksOf(tilesOf(c), tileStep));
      Value *rowBegin = i64(0), *rowEnd = i64(1);
      if (blocked != noAxis) {
        Value *extent = extentValue(blocked);
        rowBegin = b_.CreateMul(next(blocksOf(extent, rowStep)), i64(rowStep));
        Value *bound = b_.CreateAdd(rowBegin, i64(rowStep));
        rowEnd = b_.CreateSelect(b_.CreateICmpSLT(bound, extent), bound, extent);
      }
      for (size_t d = c.batch.size(); d-- > 0;)
        axes_[c.batch[d]] = next(extentValue(c.batch[d]));
      Scope scope(*this);
      Value *tileBegin = b_.CreateMul(tileBlock, i64(tileStep));
      Value *tileBound = b_.CreateAdd(tileBegin, i64(tileStep));
      Value *fullTiles = b_.CreateSDiv(extentValue(c.column), i64(tileLanes));
      auto rowsOf = [&](Value *tile, int64_t vectors, bool tail, Value *firstVector) {
        Tile kind{c.rowTile, c.outerRowTile, vectors, tail, firstVector};
        Value *innerEnd = c.innerRow == noAxis ? i64(1) : extentValue(c.innerRow);
        if (hasOuter)
          emitRowTiles(c, tile, kind, rowBegin, rowEnd, i64(0), innerEnd);
        else
          emitRowTiles(c, tile, kind, i64(0), i64(1), rowBegin, rowEnd);
      };
      if (!knownColumns || columns >= tileLanes) {
        Value *tileEnd = b_.CreateSelect(b_.CreateICmpSLT(tileBound, fullTiles), tileBound, fullTiles);
        forLoop(tileBegin, tileEnd, 1, [&](Value *tile) { rowsOf(tile, c.vectors, false, nullptr); });
      }
      int64_t tailLanes = columns % tileLanes;
      if (knownColumns && tailLanes == 0)
        return;
      ifThen(b_.CreateICmpSGT(tileBound, fullTiles), [&] {
        if (knownColumns)
          return rowsOf(fullTiles, ceilDiv(tailLanes, vectorLanes()), tailLanes % vectorLanes() != 0, nullptr);
        Value *left = b_.CreateSub(extentValue(c.column), b_.CreateMul(fullTiles, i64(tileLanes)));
        forLoop(i64(0), blocksOf(left, vectorLanes()), 1, [&](Value *vector) { rowsOf(fullTiles, 1, true, vector); });
      });
    });
  });
  overrides_.clear();
  setLanes({});
}

// Writes the panels of a vector operand that is only known at run time: one row
// per (batch, tile, reduction...), lanes along the columns of the tile.
void KernelEmitter::emitPanels(const Contraction &c) {
  int64_t tileLanes = c.vectors * vectorLanes();
  Ref tiles = x_.binary(Op::FloorDiv, x_.plus(x_.extent(c.column), tileLanes - 1), x_.integer(tileLanes));
  std::vector<std::pair<uint32_t, Ref>> digits; // axis, extent
  for (uint32_t axis : c.packedBatch)
    digits.push_back({axis, x_.extent(axis)});
  digits.push_back({c.column, tiles});
  for (uint32_t axis : c.reduction)
    digits.push_back({axis, x_.extent(axis)});
  Ref rows = x_.integer(1);
  for (auto [axis, extent] : digits)
    rows = x_.mul(rows, extent);
  uint32_t lane = x_.newAxis(x_.integer(tileLanes)), rowAxis = x_.newAxis(rows);
  Ref rest = x_.axis(rowAxis);
  std::unordered_map<uint32_t, Ref> values;
  for (size_t d = digits.size(); d-- > 0;) {
    values[digits[d].first] = d == 0 ? rest : x_.binary(Op::FloorMod, rest, digits[d].second);
    rest = x_.binary(Op::FloorDiv, rest, digits[d].second);
  }
  Ref column = values[c.column] = x_.add(x_.times(values[c.column], tileLanes), x_.axis(lane));
  DType type = schedule_.kernel.buffers[c.vector.buffer].type;
  Ref index = x_.substitute(c.vector.index, values);
  auto bitsAt = [&](Ref at) {
    Ref element = x_.load(c.vector.buffer, type, at);
    return x_.cast(isFloat(type) ? x_.reinterpret(element, DType::UInt16) : element, DType::Int32);
  };
  Ref source, none = x_.number(0, schedule_.kernel.buffers[c.packed].type);
  if (!c.isPaired) {
    source = x_.cast(x_.load(c.vector.buffer, type, index), DType::Float32);
  } else if (c.pairStride == 1 && c.oddAxis == noAxis && sizeInBytes(type) == 2) {
    source = x_.load(c.vector.buffer, DType::Int32, index); // both at once
  } else {
    Ref second = bitsAt(x_.plus(index, c.pairStride));
    if (c.oddAxis != noAxis)
      second = x_.guard(x_.binary(Op::Lt, x_.plus(values.at(c.oddAxis), 1), x_.extent(c.oddAxis)), second, none);
    source = x_.binary(Op::Pair, bitsAt(index), second);
  }
  Ref body = x_.guard(x_.binary(Op::Lt, column, x_.extent(c.column)), source, none);
  Ref store = x_.add(x_.times(x_.axis(rowAxis), tileLanes), x_.axis(lane));
  emitTask(emitAt(rows), static_cast<double>(tileLanes), false, [&](Value *begin, Value *end) {
    forLoop(begin, end, 1, [&](Value *at) {
      axes_[rowAxis] = at;
      loopLanes(lane, true, [&] { emitStore(c.packed, store, emit(body), isExact(body)); });
    });
  });
}

void KernelEmitter::emitRowTiles(const Contraction &c, Value *columnTile, const Tile &tile, Value *outerBegin, Value *outerEnd,
                                 Value *innerBegin, Value *innerEnd) {
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
  bool isPacked = c.packing != Packing::InPlace;
  uint32_t bufferW = isPacked ? c.packed : c.vector.buffer;
  DType sumType = schedule_.kernel.exprs.type(c.result), typeX = schedule_.kernel.buffers[c.broadcast.buffer].type,
        typeW = schedule_.kernel.buffers[bufferW].type;
  int64_t sizeW = sizeInBytes(typeW);
  auto *vectorType = llvm::FixedVectorType::get(valueType(sumType), lanes);
  // Offsets count elements; pairs of neighbours in memory are read as one.
  llvm::Type *unitX = memoryType(typeX), *unitW = memoryType(typeW), *elementX = c.isPaired ? b_.getInt32Ty() : unitX;
  // First elements: reduction at 0, columns at the tile's first.
  Value *firstLane = tile.firstVector ? b_.CreateMul(tile.firstVector, i64(lanes)) : i64(0);
  Value *columnBegin = b_.CreateAdd(b_.CreateMul(columnTile, i64(tileLanes)), firstLane);
  axes_[c.column] = columnBegin;
  for (uint32_t axis : c.reduction)
    axes_[axis] = i64(0);
  Value *pointerX, *pointerW;
  {
    Scope scope(*this);
    pointerX = pointerTo(c.broadcast.buffer, emitAt(c.broadcast.index), false);
    if (!isPacked) {
      pointerW = pointerTo(c.vector.buffer, emitAt(c.vector.index), false);
    } else {
      Value *panel = i64(0);
      for (uint32_t axis : c.packedBatch)
        panel = b_.CreateAdd(b_.CreateMul(panel, extentValue(axis)), axes_.at(axis));
      panel = b_.CreateAdd(b_.CreateMul(panel, tilesOf(c)), columnTile);
      Value *first = b_.CreateMul(panel, b_.CreateMul(depthOf(c), i64(tileLanes)));
      pointerW = pointerTo(c.packed, b_.CreateAdd(first, firstLane), false);
    }
  }
  std::vector<Value *> stepX, stepW(c.reduction.size());
  Value *packedStep = i64(tileLanes);
  for (size_t d = c.reduction.size(); d-- > 0;) {
    stepW[d] = isPacked ? packedStep : strideValue(c.vector, c.reduction[d]);
    packedStep = b_.CreateMul(packedStep, extentValue(c.reduction[d]));
  }
  for (uint32_t axis : c.reduction)
    stepX.push_back(strideValue(c.broadcast, axis));

  int64_t numRows = tile.rows * tile.outerRows;
  std::vector<Value *> sums, rowOffsets;
  for (int64_t i = 0; i < numRows * tile.vectors; ++i) {
    sums.push_back(entryAlloca(vectorType));
    b_.CreateStore(llvm::Constant::getNullValue(vectorType), sums.back());
  }
  Value *outerStride = strideValue(c.broadcast, c.outerRow), *innerStride = strideValue(c.broadcast, c.innerRow);
  for (int64_t r = 0; r < numRows; ++r)
    rowOffsets.push_back(b_.CreateAdd(b_.CreateMul(i64(r / tile.rows), outerStride), b_.CreateMul(i64(r % tile.rows), innerStride)));
  auto loadW = [&](Value *base, Value *offset, int64_t vector) -> Value * {
    Value *pointer = b_.CreateGEP(unitW, base, b_.CreateAdd(offset, i64(vector * lanes)));
    uint64_t align = static_cast<uint64_t>(isPacked ? lanes * sizeW : sizeW);
    llvm::Instruction *load = b_.CreateAlignedLoad(llvm::FixedVectorType::get(unitW, lanes), pointer, llvm::Align(align));
    tag(load, bufferW);
    return unpack(typeW, load);
  };
  // Long panels are fetched ahead of their use.
  auto *knownDepth = llvm::dyn_cast<llvm::ConstantInt>(depthOf(c));
  const int64_t ahead = 2048;
  bool prefetchesW = isPacked && (!knownDepth || knownDepth->getSExtValue() * tileLanes * sizeW > (64 << 10));
  auto prefetch = [&](Value *base, Value *offset) {
    Value *pointer = b_.CreateGEP(unitW, base, offset);
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()}, {pointer, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
  };
  auto step = [&](Value *baseX, Value *baseW, Value *offsetX, Value *offsetW) {
    std::vector<Value *> w;
    for (int64_t v = 0; v < tile.vectors; ++v) {
      w.push_back(loadW(baseW, offsetW, v));
      if (prefetchesW)
        prefetch(baseW, b_.CreateAdd(offsetW, i64(v * lanes + ahead / sizeW)));
    }
    for (int64_t r = 0; r < numRows; ++r) {
      Value *offset = b_.CreateAdd(offsetX, rowOffsets[static_cast<size_t>(r)]);
      auto align = llvm::Align(static_cast<uint64_t>(sizeInBytes(typeX)));
      auto *load = b_.CreateAlignedLoad(elementX, b_.CreateGEP(unitX, baseX, offset), align);
      tag(load, c.broadcast.buffer);
      Value *x = b_.CreateVectorSplat(lanes, c.isPaired ? load : unpack(typeX, load));
      for (int64_t v = 0; v < tile.vectors; ++v) {
        Value *sum = sums[static_cast<size_t>(r * tile.vectors + v)];
        Value *before = b_.CreateLoad(vectorType, sum), *factor = w[static_cast<size_t>(v)];
        b_.CreateStore(c.isPaired ? dotPairs(before, x, factor) : fma(x, factor, before), sum);
      }
    }
  };
  const int64_t unrollLimit = 120;
  std::function<void(size_t, Value *, Value *)> reduce = [&](size_t d, Value *baseX, Value *baseW) {
    auto known = extentOf(c.reduction[d]);
    Value *extent = extentValue(c.reduction[d]);
    auto advance = [&](llvm::Type *unit, Value *base, Value *index, Value *by) { return b_.CreateGEP(unit, base, b_.CreateMul(index, by)); };
    if (d + 1 < c.reduction.size()) {
      forLoop(i64(0), extent, 1, [&](Value *index) {
        reduce(d + 1, advance(unitX, baseX, index, stepX[d]), advance(unitW, baseW, index, stepW[d]));
      });
      return;
    }
    // Steps that broadcast the same elements (taps of a convolution) stay apart:
    // merged broadcasts would outlive the registers.
    auto *knownStep = llvm::dyn_cast<llvm::ConstantInt>(stepX[d]), *knownRow = llvm::dyn_cast<llvm::ConstantInt>(innerStride);
    int64_t rowStep = knownRow ? std::max<int64_t>(knownRow->getSExtValue(), 1) : 1;
    auto overlaps = [&](int64_t u) {
      int64_t reach = knownStep && knownRow ? (u - 1) * knownStep->getSExtValue() : INT64_MAX;
      return reach % rowStep == 0 && reach / rowStep < tile.rows;
    };
    int64_t unroll = 1;
    for (int64_t u = 2; u <= 8; ++u) {
      if (tile.rows > 1 && overlaps(u))
        break;
      bool fits = known ? *known % u == 0 : u % 4 == 0;
      if (fits && u * numRows * tile.vectors <= unrollLimit)
        unroll = u;
    }
    auto steps = [&](Value *from, Value *to, int64_t by) {
      forLoop(from, to, by, [&](Value *index) {
        Value *x = advance(unitX, baseX, index, stepX[d]), *w = advance(unitW, baseW, index, stepW[d]);
        for (int64_t u = 0; u < by; ++u)
          step(x, w, b_.CreateMul(i64(u), stepX[d]), b_.CreateMul(i64(u), stepW[d]));
      });
    };
    if (known || unroll == 1)
      return steps(i64(0), extent, unroll);
    Value *whole = b_.CreateSub(extent, b_.CreateURem(extent, i64(unroll)));
    steps(i64(0), whole, unroll);
    steps(whole, extent, 1);
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

} // namespace bycc::te
