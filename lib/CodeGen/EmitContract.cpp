// Loops of a contraction. Work items are (batch, block of rows, block of column
// tiles); inside an item
//
//   for each column tile:            panel of W stays in L1/L2
//     for each row tile of the block:  block of X stays in L2
//       rows x vectors sums in registers, over all of k, then the epilogue
//
// How large each of them is, is in the schedule. The epilogue is in EmitEpilogue.cpp.
#include "Emit.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

namespace bycc::te {

llvm::Value *KernelEmitter::depthOf(const Contraction &c) {
  Value *depth = i64(1);
  for (uint32_t axis : c.reduction)
    depth = b_.CreateMul(depth, extentValue(axis));
  return depth;
}

llvm::Value *KernelEmitter::tilesOf(const Product &product) {
  return blocksOf(extentValue(product.what.column), product.how.tile.vectors * vectorLanes());
}

llvm::Value *KernelEmitter::columnsLeft(const Contraction &c) {
  auto known = extentOf(c.column);
  return known ? i64(*known % vectorLanes()) : b_.CreateSub(extentValue(c.column), axes_.at(c.column));
}

void KernelEmitter::emitContraction(const Contraction &c, const NestSchedule &schedule) {
  const Product product{c, *schedule.product};
  const ProductSchedule &how = product.how;
  overrides_.clear();
  setLanes({});
  if (how.packing == Packing::RunTime)
    emitPanels(product);
  uint32_t blocked = c.outerRow != noAxis ? c.outerRow : c.innerRow;
  Value *rowBlockCount = blocked == noAxis ? i64(1) : blocksOf(extentValue(blocked), how.blockRows);
  Value *count = b_.CreateMul(rowBlockCount, blocksOf(tilesOf(product), how.blockTiles));
  for (uint32_t axis : c.batch)
    count = b_.CreateMul(count, extentValue(axis));
  emitTask(count, schedule.grain, false, [&](Value *begin, Value *end) {
    forLoop(begin, end, 1, [&](Value *item) {
      Value *rest = item;
      auto next = [&](Value *extent) {
        Value *value = b_.CreateURem(rest, extent);
        rest = b_.CreateUDiv(rest, extent);
        return value;
      };
      Value *tileBlock = next(blocksOf(tilesOf(product), how.blockTiles));
      Value *rowBegin = i64(0), *rowEnd = i64(1);
      if (blocked != noAxis) {
        Value *extent = extentValue(blocked);
        rowBegin = b_.CreateMul(next(blocksOf(extent, how.blockRows)), i64(how.blockRows));
        Value *bound = b_.CreateAdd(rowBegin, i64(how.blockRows));
        rowEnd = b_.CreateSelect(b_.CreateICmpSLT(bound, extent), bound, extent);
      }
      for (size_t d = c.batch.size(); d-- > 0;)
        axes_[c.batch[d]] = next(extentValue(c.batch[d]));
      Scope scope(*this);
      emitColumnTiles(product, tileBlock, rowBegin, rowEnd);
    });
  });
  overrides_.clear();
  setLanes({});
}

// The tile of the schedule that has this size.
static const TileSchedule &tileOf(const ProductSchedule &how, int64_t rows, int64_t outerRows,
                                  int64_t vectors) {
  auto fits = [&](const TileSchedule &tile) {
    return tile.rows == rows && tile.outerRows == outerRows && tile.vectors == vectors;
  };
  if (fits(how.tile))
    return how.tile;
  auto it = std::ranges::find_if(how.rests, fits);
  BYCC_ASSERT(it != how.rests.end(), "a tile is in the schedule");
  return *it;
}

// Whole tiles of columns in the block, then what is left: vectors of its own number where it
// is known, else one by one.
void KernelEmitter::emitColumnTiles(const Product &product, Value *tileBlock, Value *rowBegin,
                                    Value *rowEnd) {
  const Contraction &c = product.what;
  const ProductSchedule &how = product.how;
  int64_t tileLanes = how.tile.vectors * vectorLanes();
  Value *tileBegin = b_.CreateMul(tileBlock, i64(how.blockTiles));
  Value *tileBound = b_.CreateAdd(tileBegin, i64(how.blockTiles));
  Value *fullTiles = b_.CreateSDiv(extentValue(c.column), i64(tileLanes));
  auto rowsOf = [&](Value *columnTile, int64_t vectors, bool tail, Value *firstVector) {
    Tile tile{tileOf(how, how.tile.rows, how.tile.outerRows, vectors), columnTile, firstVector,
              tail};
    Value *innerEnd = c.innerRow == noAxis ? i64(1) : extentValue(c.innerRow);
    if (c.outerRow != noAxis)
      emitRowTiles(product, tile, rowBegin, rowEnd, i64(0), innerEnd);
    else
      emitRowTiles(product, tile, i64(0), i64(1), rowBegin, rowEnd);
  };
  auto known = extentOf(c.column);
  if (!known || *known >= tileLanes) {
    Value *tileEnd = b_.CreateSelect(b_.CreateICmpSLT(tileBound, fullTiles), tileBound, fullTiles);
    forLoop(tileBegin, tileEnd, 1,
            [&](Value *tile) { rowsOf(tile, how.tile.vectors, false, nullptr); });
  }
  if (known && *known % tileLanes == 0)
    return;
  ifThen(b_.CreateICmpSGT(tileBound, fullTiles), [&] {
    if (int64_t left = known.value_or(0) % tileLanes)
      return rowsOf(fullTiles, ceilDiv(left, vectorLanes()), left % vectorLanes() != 0, nullptr);
    Value *left = b_.CreateSub(extentValue(c.column), b_.CreateMul(fullTiles, i64(tileLanes)));
    forLoop(i64(0), blocksOf(left, vectorLanes()), 1,
            [&](Value *vector) { rowsOf(fullTiles, 1, true, vector); });
  });
}

// Writes the panels of a vector operand that is only known at run time: one row
// per (batch, tile, reduction...), lanes along the columns of the tile.
void KernelEmitter::emitPanels(const Product &product) {
  const Contraction &c = product.what;
  int64_t tileLanes = product.how.tile.vectors * vectorLanes();
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
  DType type = loops_.kernel.buffers[c.vector.buffer].type;
  Ref index = x_.substitute(c.vector.index, values);
  auto bitsAt = [&](Ref at) {
    Ref element = x_.load(c.vector.buffer, type, at);
    return x_.cast(isFloat(type) ? x_.reinterpret(element, DType::UInt16) : element, DType::Int32);
  };
  Ref source, none = x_.number(0, loops_.kernel.buffers[c.packed].type);
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
  emitTask(emitAt(rows), product.how.panelGrain, false, [&](Value *begin, Value *end) {
    forLoop(begin, end, 1, [&](Value *at) {
      axes_[rowAxis] = at;
      loopLanes(lane, Tail::None, 1,
                [&](int64_t) { emitStore(c.packed, store, emit(body), isExact(body)); });
    });
  });
}

void KernelEmitter::emitRowTiles(const Product &product, const Tile &at, Value *outerBegin,
                                 Value *outerEnd, Value *innerBegin, Value *innerEnd) {
  const Contraction &c = product.what;
  auto tileAt = [&](Value *outer, Value *inner, int64_t outerRows, int64_t rows) {
    if (c.outerRow != noAxis)
      axes_[c.outerRow] = outer;
    if (c.innerRow != noAxis)
      axes_[c.innerRow] = inner;
    Scope scope(*this);
    emitTile(product, {tileOf(product.how, rows, outerRows, at.how.vectors), at.columnTile,
                       at.firstVector, at.hasColumnTail});
  };
  int64_t tileRows = at.how.rows, tileOuterRows = at.how.outerRows;
  if (tileOuterRows > 1) { // whole inner rows
    Value *full = b_.CreateSub(
        outerEnd, b_.CreateURem(b_.CreateSub(outerEnd, outerBegin), i64(tileOuterRows)));
    forLoop(outerBegin, full, tileOuterRows,
            [&](Value *outer) { tileAt(outer, i64(0), tileOuterRows, tileRows); });
    if (int64_t rest = *extentOf(c.outerRow) % tileOuterRows)
      ifThen(b_.CreateICmpSLT(full, outerEnd), [&] { tileAt(full, i64(0), rest, tileRows); });
    return;
  }
  forLoop(outerBegin, outerEnd, 1, [&](Value *outer) {
    Value *full =
        b_.CreateSub(innerEnd, b_.CreateURem(b_.CreateSub(innerEnd, innerBegin), i64(tileRows)));
    forLoop(innerBegin, full, tileRows, [&](Value *inner) { tileAt(outer, inner, 1, tileRows); });
    if (c.innerRow == noAxis || tileRows == 1)
      return;
    if (auto extent = extentOf(c.innerRow)) {
      if (int64_t rest = *extent % tileRows)
        ifThen(b_.CreateICmpSLT(full, innerEnd), [&] { tileAt(outer, full, 1, rest); });
      return;
    }
    Value *quads = b_.CreateSub(innerEnd, b_.CreateURem(b_.CreateSub(innerEnd, full), i64(4)));
    forLoop(full, quads, 4, [&](Value *inner) { tileAt(outer, inner, 1, 4); });
    forLoop(quads, innerEnd, 1, [&](Value *inner) { tileAt(outer, inner, 1, 1); });
  });
}

void KernelEmitter::emitTile(const Product &product, const Tile &tile) {
  const Contraction &c = product.what;
  const TileSchedule &how = tile.how;
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  int64_t tileLanes = product.how.tile.vectors * lanes;
  bool isPacked = product.how.packing != Packing::InPlace;
  uint32_t bufferW = isPacked ? c.packed : c.vector.buffer;
  DType sumType = loops_.kernel.exprs.type(c.result),
        typeX = loops_.kernel.buffers[c.broadcast.buffer].type,
        typeW = loops_.kernel.buffers[bufferW].type;
  int64_t sizeW = sizeInBytes(typeW);
  auto *vectorType = llvm::FixedVectorType::get(valueType(sumType), lanes);
  // Offsets count elements; pairs of neighbours in memory are read as one.
  llvm::Type *unitX = memoryType(typeX), *unitW = memoryType(typeW), *elementX = c.isPaired ? b_.getInt32Ty() : unitX;
  // First elements: reduction at 0, columns at the tile's first.
  Value *firstLane = tile.firstVector ? b_.CreateMul(tile.firstVector, i64(lanes)) : i64(0);
  Value *columnBegin = b_.CreateAdd(b_.CreateMul(tile.columnTile, i64(tileLanes)), firstLane);
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
      panel = b_.CreateAdd(b_.CreateMul(panel, tilesOf(product)), tile.columnTile);
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

  int64_t numRows = how.rows * how.outerRows;
  std::vector<Value *> sums, rowOffsets;
  for (int64_t i = 0; i < numRows * how.vectors; ++i) {
    sums.push_back(entryAlloca(vectorType));
    b_.CreateStore(llvm::Constant::getNullValue(vectorType), sums.back());
  }
  Value *outerStride = strideValue(c.broadcast, c.outerRow), *innerStride = strideValue(c.broadcast, c.innerRow);
  for (int64_t r = 0; r < numRows; ++r)
    rowOffsets.push_back(b_.CreateAdd(b_.CreateMul(i64(r / how.rows), outerStride),
                                      b_.CreateMul(i64(r % how.rows), innerStride)));
  auto loadW = [&](Value *base, Value *offset, int64_t vector) -> Value * {
    Value *pointer = b_.CreateGEP(unitW, base, b_.CreateAdd(offset, i64(vector * lanes)));
    uint64_t align = static_cast<uint64_t>(isPacked ? lanes * sizeW : sizeW);
    llvm::Instruction *load = b_.CreateAlignedLoad(llvm::FixedVectorType::get(unitW, lanes), pointer, llvm::Align(align));
    tag(load, bufferW);
    return unpack(typeW, load);
  };
  const int64_t ahead = product.how.prefetchAhead;
  auto prefetch = [&](Value *base, Value *offset) {
    Value *pointer = b_.CreateGEP(unitW, base, offset);
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()}, {pointer, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
  };
  auto step = [&](Value *baseX, Value *baseW, Value *offsetX, Value *offsetW) {
    std::vector<Value *> w;
    for (int64_t v = 0; v < how.vectors; ++v) {
      w.push_back(loadW(baseW, offsetW, v));
      if (ahead > 0)
        prefetch(baseW, b_.CreateAdd(offsetW, i64(v * lanes + ahead / sizeW)));
    }
    for (int64_t r = 0; r < numRows; ++r) {
      Value *offset = b_.CreateAdd(offsetX, rowOffsets[static_cast<size_t>(r)]);
      auto align = llvm::Align(static_cast<uint64_t>(sizeInBytes(typeX)));
      auto *load = b_.CreateAlignedLoad(elementX, b_.CreateGEP(unitX, baseX, offset), align);
      tag(load, c.broadcast.buffer);
      Value *x = b_.CreateVectorSplat(lanes, c.isPaired ? load : unpack(typeX, load));
      for (int64_t v = 0; v < how.vectors; ++v) {
        Value *sum = sums[static_cast<size_t>(r * how.vectors + v)];
        Value *before = b_.CreateLoad(vectorType, sum), *factor = w[static_cast<size_t>(v)];
        b_.CreateStore(c.isPaired ? dotPairs(before, x, factor) : fma(x, factor, before), sum);
      }
    }
  };
  std::function<void(size_t, Value *, Value *)> reduce = [&](size_t d, Value *baseX, Value *baseW) {
    Value *extent = extentValue(c.reduction[d]);
    auto advance = [&](llvm::Type *unit, Value *base, Value *index, Value *by) { return b_.CreateGEP(unit, base, b_.CreateMul(index, by)); };
    if (d + 1 < c.reduction.size()) {
      forLoop(i64(0), extent, 1, [&](Value *index) {
        reduce(d + 1, advance(unitX, baseX, index, stepX[d]), advance(unitW, baseW, index, stepW[d]));
      });
      return;
    }
    auto steps = [&](Value *from, Value *to, int64_t by) {
      forLoop(from, to, by, [&](Value *index) {
        Value *x = advance(unitX, baseX, index, stepX[d]), *w = advance(unitW, baseW, index, stepW[d]);
        for (int64_t u = 0; u < by; ++u)
          step(x, w, b_.CreateMul(i64(u), stepX[d]), b_.CreateMul(i64(u), stepW[d]));
      });
    };
    if (extentOf(c.reduction[d]) || how.unroll == 1)
      return steps(i64(0), extent, how.unroll);
    Value *whole = b_.CreateSub(extent, b_.CreateURem(extent, i64(how.unroll)));
    steps(i64(0), whole, how.unroll);
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
