// What happens to the sums of a contraction's tile: the epilogue is emitted at the
// store with lanes along columns, or, when columns are not contiguous in memory
// (NCHW), along rows after a transposition in registers.
#include "Emit.h"

namespace bycc::codegen {

void KernelEmitter::storeRows(const Contraction &c, const Tile &tile, const std::vector<Value *> &sums) {
  unsigned lanes = static_cast<unsigned>(vectorLanes());
  Value *columnBegin = axes_.at(c.column);
  Value *outerBegin = c.outerRow == noAxis ? nullptr : axes_.at(c.outerRow);
  Value *innerBegin = c.innerRow == noAxis ? nullptr : axes_.at(c.innerRow);
  auto storeVector = [&](int64_t v, Value *sum) {
    Scope scope(*this);
    axes_[c.column] = b_.CreateAdd(columnBegin, i64(v * lanes));
    Lanes now{c.column, lanes, nullptr};
    setLanes(now);
    if (tile.hasColumnTail && v + 1 == tile.how.vectors)
      now.mask = b_.CreateICmpSLT(laneIota(), b_.CreateVectorSplat(lanes, columnsLeft(c)));
    if (auto known = extentOf(c.column); now.mask && known)
      now.used = *known % lanes;
    setLanes(now);
    overrides_.clear();
    setOverride(c.result, sum);
    emitToStore(c.epilogue.buffer, c.epilogue.store, c.epilogue.body);
  };
  int64_t numRows = tile.how.rows * tile.how.outerRows;
  auto sumAt = [&](int64_t r, int64_t v) {
    return sums[static_cast<size_t>(r * tile.how.vectors + v)];
  };
  bool isLooped = tile.how.loopsEpilogue;
  if (isLooped) {
    llvm::Type *type = sums[0]->getType();
    Value *kept = entryAlloca(llvm::ArrayType::get(type, sums.size()));
    for (size_t s = 0; s < sums.size(); ++s)
      b_.CreateStore(sums[s], b_.CreateConstInBoundsGEP1_64(type, kept, s));
    forLoop(i64(0), i64(numRows), 1, [&](Value *row) {
      if (outerBegin)
        axes_[c.outerRow] = b_.CreateAdd(outerBegin, b_.CreateUDiv(row, i64(tile.how.rows)));
      if (innerBegin)
        axes_[c.innerRow] = b_.CreateAdd(innerBegin, b_.CreateURem(row, i64(tile.how.rows)));
      Value *first = b_.CreateMul(row, i64(tile.how.vectors));
      for (int64_t v = 0; v < tile.how.vectors; ++v)
        storeVector(v, b_.CreateLoad(type, b_.CreateGEP(type, kept, b_.CreateAdd(first, i64(v)))));
      setLanes({});
    });
  }
  for (int64_t r = 0; !isLooped && r < numRows; ++r) {
    if (outerBegin)
      axes_[c.outerRow] = b_.CreateAdd(outerBegin, i64(r / tile.how.rows));
    if (innerBegin)
      axes_[c.innerRow] = b_.CreateAdd(innerBegin, i64(r % tile.how.rows));
    for (int64_t v = 0; v < tile.how.vectors; ++v)
      storeVector(v, sumAt(r, v));
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
      auto storeColumn = [&](Value *column, Value *values) {
        axes_[c.column] = b_.CreateAdd(b_.CreateAdd(columnBegin, i64(v * lanes)), column);
        Lanes now{c.innerRow, lanes, nullptr};
        setLanes(now);
        if (count < static_cast<int64_t>(lanes)) {
          now.mask = b_.CreateICmpSLT(laneIota(), b_.CreateVectorSplat(lanes, i64(count)));
          now.used = count;
        }
        setLanes(now);
        overrides_.clear();
        setOverride(c.result, values);
        emitToStore(c.epilogue.buffer, c.epilogue.store, c.epilogue.body);
        overrides_.clear();
        setLanes({});
      };
      if (tile.how.loopsEpilogue) {
        Value *kept = entryAlloca(llvm::ArrayType::get(vectorType, lanes));
        for (unsigned column = 0; column < lanes; ++column)
          b_.CreateStore(block[column], b_.CreateConstInBoundsGEP1_64(vectorType, kept, column));
        forLoop(i64(0), used, 1, [&](Value *column) {
          Scope scope(*this);
          storeColumn(column, b_.CreateLoad(vectorType, b_.CreateGEP(vectorType, kept, column)));
        });
        continue;
      }
      for (int64_t column = 0; column < static_cast<int64_t>(lanes); ++column)
        ifThen(b_.CreateICmpSLT(i64(column), used),
               [&] { storeColumn(i64(column), block[static_cast<size_t>(column)]); });
    }
  }
  axes_[c.innerRow] = innerBegin;
  axes_[c.column] = columnBegin;
}

} // namespace bycc::codegen
