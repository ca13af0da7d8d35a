// What happens to the sums of a contraction's tile: the epilogue is emitted at the
// store with lanes along columns, or, when columns are not contiguous in memory
// (NCHW), along rows after a transposition in registers.
#include "Emit.h"

namespace bycc::codegen {

// One vector of sums, where the row axes stand.
void KernelEmitter::storeVector(const Contraction &c, const Tile &tile, const TileOrigin &from,
                                int64_t v, Value *sum) {
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  Scope scope(*this);
  axes_[c.column] = b_.CreateAdd(from.column, i64(v * lanes));
  Lanes now{c.column, lanes, nullptr};
  setLanes(now);
  if (tile.hasColumnTail && v + 1 == tile.how.vectors)
    now.mask = firstLanes(columnsLeft(c));
  if (auto known = extentOf(c.column); now.mask && known)
    now.used = *known % lanes;
  setLanes(now);
  overrides_.clear();
  setOverride(c.result, sum);
  emitToStore(c.epilogue.buffer, c.epilogue.store, c.epilogue.body);
}

// The sums go to memory first.
void KernelEmitter::storeRowsInLoop(const Contraction &c, const Tile &tile, const TileOrigin &from,
                                    const std::vector<Value *> &sums) {
  llvm::Type *type = sums[0]->getType();
  Value *kept = entryAlloca(llvm::ArrayType::get(type, sums.size()));
  for (size_t s = 0; s < sums.size(); ++s)
    b_.CreateStore(sums[s], b_.CreateConstInBoundsGEP1_64(type, kept, s));
  forLoop(i64(0), i64(tile.how.rows * tile.how.outerRows), 1, [&](Value *row) {
    if (from.outer)
      axes_[c.outerRow] = b_.CreateAdd(from.outer, b_.CreateUDiv(row, i64(tile.how.rows)));
    if (from.inner)
      axes_[c.innerRow] = b_.CreateAdd(from.inner, b_.CreateURem(row, i64(tile.how.rows)));
    Value *first = b_.CreateMul(row, i64(tile.how.vectors));
    for (int64_t v = 0; v < tile.how.vectors; ++v)
      storeVector(c, tile, from, v,
                  b_.CreateLoad(type, b_.CreateGEP(type, kept, b_.CreateAdd(first, i64(v)))));
    setLanes({});
  });
}

void KernelEmitter::storeRows(const Contraction &c, const Tile &tile,
                              const std::vector<Value *> &sums) {
  TileOrigin from{axes_.at(c.column), c.outerRow == noAxis ? nullptr : axes_.at(c.outerRow),
                  c.innerRow == noAxis ? nullptr : axes_.at(c.innerRow)};
  if (tile.how.loopsEpilogue)
    storeRowsInLoop(c, tile, from, sums);
  int64_t numRows = tile.how.loopsEpilogue ? 0 : tile.how.rows * tile.how.outerRows;
  for (int64_t r = 0; r < numRows; ++r) {
    if (from.outer)
      axes_[c.outerRow] = b_.CreateAdd(from.outer, i64(r / tile.how.rows));
    if (from.inner)
      axes_[c.innerRow] = b_.CreateAdd(from.inner, i64(r % tile.how.rows));
    for (int64_t v = 0; v < tile.how.vectors; ++v)
      storeVector(c, tile, from, v, sums[static_cast<size_t>(r * tile.how.vectors + v)]);
  }
  if (from.outer)
    axes_[c.outerRow] = from.outer;
  if (from.inner)
    axes_[c.innerRow] = from.inner;
  axes_[c.column] = from.column;
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

// The sums of `count` rows in one column.
void KernelEmitter::storeColumn(const Contraction &c, Value *column, Value *values, int64_t count) {
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  axes_[c.column] = column;
  Lanes now{c.innerRow, lanes, nullptr};
  setLanes(now);
  if (count < static_cast<int64_t>(lanes)) {
    now.mask = firstLanes(i64(count));
    now.used = count;
  }
  setLanes(now);
  overrides_.clear();
  setOverride(c.result, values);
  emitToStore(c.epilogue.buffer, c.epilogue.store, c.epilogue.body);
  overrides_.clear();
  setLanes({});
}

void KernelEmitter::storeTransposed(const Contraction &c, const Tile &tile,
                                    const std::vector<Value *> &sums) {
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  int64_t numRows = tile.how.rows * tile.how.outerRows;
  Value *columnBegin = axes_.at(c.column), *innerBegin = axes_.at(c.innerRow);
  auto *vectorType = llvm::cast<llvm::FixedVectorType>(sums[0]->getType());
  for (int64_t from = 0; from < numRows; from += lanes) {
    int64_t count = std::min<int64_t>(lanes, numRows - from);
    axes_[c.innerRow] = b_.CreateAdd(innerBegin, i64(from));
    for (int64_t v = 0; v < tile.how.vectors; ++v) {
      std::vector<Value *> block(lanes, llvm::PoisonValue::get(vectorType));
      for (int64_t r = 0; r < count; ++r)
        block[static_cast<size_t>(r)] =
            sums[static_cast<size_t>((from + r) * tile.how.vectors + v)];
      block = transposeTile(std::move(block));
      axes_[c.column] = b_.CreateAdd(columnBegin, i64(v * lanes));
      Value *used = tile.hasColumnTail && v + 1 == tile.how.vectors ? columnsLeft(c) : i64(lanes);
      auto store = [&](Value *column, Value *values) {
        Value *first = b_.CreateAdd(columnBegin, i64(v * lanes));
        storeColumn(c, b_.CreateAdd(first, column), values, count);
      };
      if (tile.how.loopsEpilogue) {
        Value *kept = entryAlloca(llvm::ArrayType::get(vectorType, lanes));
        for (unsigned column = 0; column < lanes; ++column)
          b_.CreateStore(block[column], b_.CreateConstInBoundsGEP1_64(vectorType, kept, column));
        forLoop(i64(0), used, 1, [&](Value *column) {
          Scope scope(*this);
          store(column, b_.CreateLoad(vectorType, b_.CreateGEP(vectorType, kept, column)));
        });
        continue;
      }
      for (int64_t column = 0; column < static_cast<int64_t>(lanes); ++column)
        ifThen(b_.CreateICmpSLT(i64(column), used),
               [&] { store(i64(column), block[static_cast<size_t>(column)]); });
    }
  }
  axes_[c.innerRow] = innerBegin;
  axes_[c.column] = columnBegin;
}

} // namespace bycc::codegen
