// What happens to the sums of a contraction's tile: the epilogue is emitted at the
// store with lanes along columns, or, when columns are not contiguous in memory
// (NCHW), along rows after a transposition in registers.
#include "Emit.h"

namespace bycc::te {

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
      if (tile.hasColumnTail && v + 1 == tile.vectors)
        now.mask = b_.CreateICmpSLT(laneIota(), b_.CreateVectorSplat(lanes, columnsLeft(c)));
      if (auto known = extentOf(c.column); now.mask && known)
        now.used = *known % lanes;
      setLanes(now);
      overrides_.clear();
      setOverride(c.result, sums[static_cast<size_t>(r * tile.vectors + v)]);
      emitStore(c.epilogue.buffer, c.epilogue.store, emitToStore(c.epilogue.buffer, c.epilogue.body));
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
      axes_[c.column] = b_.CreateAdd(columnBegin, i64(v * lanes));
      Value *used = tile.hasColumnTail && v + 1 == tile.vectors ? columnsLeft(c) : i64(lanes);
      for (int64_t column = 0; column < static_cast<int64_t>(lanes); ++column)
        ifThen(b_.CreateICmpSLT(i64(column), used), [&] {
          axes_[c.column] = b_.CreateAdd(columnBegin, i64(v * lanes + column));
          Lanes now{c.innerRow, lanes, nullptr};
          setLanes(now);
          if (count < static_cast<int64_t>(lanes)) {
            now.mask = b_.CreateICmpSLT(laneIota(), b_.CreateVectorSplat(lanes, i64(count)));
            now.used = count;
          }
          setLanes(now);
          overrides_.clear();
          setOverride(c.result, block[static_cast<size_t>(column)]);
          emitStore(c.epilogue.buffer, c.epilogue.store, emitToStore(c.epilogue.buffer, c.epilogue.body));
          overrides_.clear();
          setLanes({});
        });
    }
  }
  axes_[c.innerRow] = innerBegin;
  axes_[c.column] = columnBegin;
}

} // namespace bycc::te
