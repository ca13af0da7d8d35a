// Loops of a contraction. Work items are (batch, block of rows, block of column
// tiles); inside an item
//
//   for each column tile:            panel of W stays in L1/L2
//     for each row tile of the block:  block of X stays in L2
//       rows x vectors sums in registers, over all of k, then the epilogue
//
// How large each of them is, is in the schedule. The sums of a tile are in EmitTile.cpp, the
// epilogue is in EmitEpilogue.cpp.
#include "Emit.h"

#include <algorithm>

namespace bycc::codegen {

llvm::Value *KernelEmitter::tilesOf(const Product &product) {
  return blocksOf(extentValue(product.what.column), product.how.tile.vectors * vectorLanes());
}

llvm::Value *KernelEmitter::columnsLeft(const Contraction &c) {
  auto known = extentOf(c.column);
  return known ? i64(*known % vectorLanes())
               : b_.CreateSub(extentValue(c.column), axes_.at(c.column));
}

// Copies the rows of the broadcast operand.
void KernelEmitter::emitCopiedRows(const Product &product) {
  const Contraction &c = product.what;
  int64_t size = sizeInBytes(loops_.kernel.buffers[c.broadcast.buffer].type);
  auto align = llvm::Align(static_cast<uint64_t>(size));
  emitTask(extentValue(c.innerRow), product.how.rowGrain, false, [&](Value *begin, Value *end) {
    startReduction(c);
    forLoop(begin, end, 1, [&](Value *row) {
      axes_[c.innerRow] = row;
      b_.CreateMemCpy(pointerTo(c.copied, b_.CreateMul(row, i64(c.copiedStride)), false), align,
                      pointerTo(c.broadcast.buffer, emitAt(c.broadcast.index), false), align,
                      static_cast<uint64_t>(c.copiedElements * size));
    });
  });
}

void KernelEmitter::emitContraction(const Contraction &c, const NestSchedule &schedule) {
  const Product product{c, *schedule.product};
  const ProductSchedule &how = product.how;
  overrides_.clear();
  setLanes({});
  if (how.packing == Packing::RunTime)
    emitPanels(product);
  if (how.copiesRows)
    emitCopiedRows(product);
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

// An element of the panels, at these values of the axes: a number, or a pair of them.
Ref KernelEmitter::panelElement(const Contraction &c,
                                const std::unordered_map<uint32_t, Ref> &values) {
  DType type = loops_.kernel.buffers[c.vector.buffer].type;
  Ref index = x_.substitute(c.vector.index, values);
  if (!c.isPaired)
    return x_.cast(x_.load(c.vector.buffer, type, index), DType::Float32);
  if (c.pairStride == 1 && c.oddAxis == noAxis && sizeInBytes(type) == 2)
    return x_.load(c.vector.buffer, DType::Int32, index); // both at once
  auto bitsAt = [&](Ref at) {
    Ref element = x_.load(c.vector.buffer, type, at);
    return x_.cast(isFloat(type) ? x_.reinterpret(element, DType::UInt16) : element, DType::Int32);
  };
  Ref second = bitsAt(x_.plus(index, c.pairStride));
  if (c.oddAxis != noAxis)
    second = x_.guard(x_.binary(Op::Lt, x_.plus(values.at(c.oddAxis), 1), x_.extent(c.oddAxis)),
                      second, x_.number(0, loops_.kernel.buffers[c.packed].type));
  return x_.binary(Op::Pair, bitsAt(index), second);
}

// Writes the panels of a vector operand that is only known at run time: one row
// per (batch, tile, reduction...), lanes along the columns of the tile.
void KernelEmitter::emitPanels(const Product &product) {
  const Contraction &c = product.what;
  int64_t tileLanes = product.how.tile.vectors * vectorLanes();
  Ref tiles =
      x_.binary(Op::FloorDiv, x_.plus(x_.extent(c.column), tileLanes - 1), x_.integer(tileLanes));
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
  Ref source = panelElement(c, values), none = x_.number(0, loops_.kernel.buffers[c.packed].type);
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
    Value *begin = full;
    for (int64_t rows : openRestRows) {
      Value *end =
          rows == 1
              ? innerEnd
              : b_.CreateSub(innerEnd, b_.CreateURem(b_.CreateSub(innerEnd, begin), i64(rows)));
      forLoop(begin, end, rows, [&](Value *inner) { tileAt(outer, inner, 1, rows); });
      begin = end;
    }
  });
}

} // namespace bycc::codegen
