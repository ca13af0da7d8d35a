// What happens to the sums of a contraction's tile: the epilogue is emitted at the
// store with lanes along columns, or, when columns are not contiguous in memory
// (NCHW), along rows after a transposition in registers. Values that read nothing along
// rows are computed before it: a tile of two rows has few vectors of sums, but 32 columns.
#include "Emit.h"

#include <llvm/IR/InlineAsm.h>

namespace bycc::codegen {

// One vector of sums, where the row axes stand.
void KernelEmitter::setVector(const Contraction &c, const Tile &tile, const TileOrigin &from,
                              int64_t v, Value *sum) {
  unsigned lanes = static_cast<unsigned>(vectorLanes());
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
}

void KernelEmitter::storeVector(const Contraction &c, const Tile &tile, const TileOrigin &from,
                                int64_t v, Value *sum) {
  Scope scope(*this);
  setVector(c, tile, from, v, sum);
  emitToStore(c.epilogue.buffer, c.epilogue.store, c.epilogue.body);
}

// As forEachSum, in a loop over the rows: for sums in memory.
void KernelEmitter::forEachSumInLoop(
    const Contraction &c, const Tile &tile,
    const std::function<void(const TileOrigin &from, int64_t v, Value *at)> &each) {
  TileOrigin from = originOf(c);
  forLoop(i64(0), i64(tile.how.rows * tile.how.outerRows), 1, [&](Value *row) {
    if (from.outer)
      axes_[c.outerRow] = b_.CreateAdd(from.outer, b_.CreateUDiv(row, i64(tile.how.rows)));
    if (from.inner)
      axes_[c.innerRow] = b_.CreateAdd(from.inner, b_.CreateURem(row, i64(tile.how.rows)));
    Value *first = b_.CreateMul(row, i64(tile.how.vectors));
    for (int64_t v = 0; v < tile.how.vectors; ++v)
      each(from, v, b_.CreateAdd(first, i64(v)));
    setLanes({});
  });
  moveTo(c, from);
}

// Vectors in memory.
llvm::Value *KernelEmitter::keep(const std::vector<Value *> &vectors) {
  llvm::Type *type = vectors[0]->getType();
  Value *kept = entryAlloca(llvm::ArrayType::get(type, vectors.size()));
  for (size_t i = 0; i < vectors.size(); ++i)
    b_.CreateStore(vectors[i], b_.CreateConstInBoundsGEP1_64(type, kept, i));
  return kept;
}

std::vector<llvm::Value *> KernelEmitter::loadAll(llvm::Type *type, Value *kept, size_t count) {
  std::vector<Value *> vectors(count);
  for (size_t i = 0; i < count; ++i)
    vectors[i] = b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(type, kept, i));
  return vectors;
}

// Calls `each` where the rows of a sum stand, with its vector and its place in the sums.
void KernelEmitter::forEachSum(
    const Contraction &c, const Tile &tile,
    const std::function<void(const TileOrigin &from, int64_t v, size_t at)> &each) {
  TileOrigin from = originOf(c);
  size_t at = 0;
  for (int64_t r = 0; r < tile.how.rows * tile.how.outerRows; ++r) {
    if (from.outer)
      axes_[c.outerRow] = b_.CreateAdd(from.outer, i64(r / tile.how.rows));
    if (from.inner)
      axes_[c.innerRow] = b_.CreateAdd(from.inner, i64(r % tile.how.rows));
    for (int64_t v = 0; v < tile.how.vectors; ++v)
      each(from, v, at++);
  }
  moveTo(c, from);
}

KernelEmitter::TileOrigin KernelEmitter::originOf(const Contraction &c) const {
  return {axes_.at(c.column), c.outerRow == noAxis ? nullptr : axes_.at(c.outerRow),
          c.innerRow == noAxis ? nullptr : axes_.at(c.innerRow)};
}

void KernelEmitter::moveTo(const Contraction &c, const TileOrigin &from) {
  if (from.outer)
    axes_[c.outerRow] = from.outer;
  if (from.inner)
    axes_[c.innerRow] = from.inner;
  axes_[c.column] = from.column;
}

void KernelEmitter::storeRows(const Contraction &c, const Tile &tile,
                              const std::vector<Value *> &sums) {
  if (tile.how.loopsEpilogue) {
    llvm::Type *type = sums[0]->getType();
    Value *kept = keep(sums);
    return forEachSumInLoop(c, tile, [&](const TileOrigin &from, int64_t v, Value *at) {
      storeVector(c, tile, from, v, b_.CreateLoad(type, b_.CreateGEP(type, kept, at)));
    });
  }
  forEachSum(c, tile, [&](const TileOrigin &from, int64_t v, size_t at) {
    storeVector(c, tile, from, v, sums[at]);
  });
}

// Whether all that the epilogue reads is contiguous along columns, or the same in all of them.
bool KernelEmitter::readsAlongColumns(const Contraction &c) const {
  bool isSo = true;
  x_.visit(c.epilogue.body, [&](Ref ref) {
    if (ref == c.result)
      return false;
    if (x_[ref].op == Op::Load) {
      std::optional<int64_t> step = x_.coefficient(x_[ref].a, c.column);
      isSo &= step == 0 || step == 1;
    }
    return isSo;
  });
  return isSo;
}

// Whether sums that are transposed would be spilled while they are made, and a detour through
// memory is short beside that.
bool KernelEmitter::wouldSpill(const Contraction &c, size_t numSums) const {
  constexpr size_t manySums = 16;
  constexpr int64_t longSum = 128;
  int64_t steps = 1;
  for (uint32_t axis : c.reduction)
    steps *= extentOf(axis).value_or(longSum);
  return numSums > manySums && steps >= longSum;
}

// The same vectors, read from memory that LLVM can't see through. A transposition needs as many
// registers again as a large tile has sums, and LLVM spills sums in the loop that makes them rather
// than after it.
std::vector<llvm::Value *> KernelEmitter::throughMemory(const std::vector<Value *> &vectors) {
  auto *same = llvm::InlineAsm::get(llvm::FunctionType::get(b_.getPtrTy(), {b_.getPtrTy()}, false),
                                    "", "=r,0", false);
  Value *kept = b_.CreateCall(same, {keep(vectors)});
  return loadAll(vectors[0]->getType(), kept, vectors.size());
}

// What is stored, with lanes along columns.
std::vector<llvm::Value *> KernelEmitter::valuesOfSums(const Contraction &c, const Tile &tile,
                                                       const std::vector<Value *> &sums) {
  std::vector<Value *> values(sums.size());
  Ref stored = storedValue(c.epilogue.buffer, c.epilogue.body);
  auto valueOf = [&](const TileOrigin &from, int64_t v, Value *sum) {
    Scope scope(*this);
    setVector(c, tile, from, v, sum);
    return splat(emit(stored));
  };
  if (tile.how.loopsEpilogue) {
    llvm::Type *type = sums[0]->getType(), *made = nullptr;
    Value *kept = keep(sums), *results = nullptr;
    forEachSumInLoop(c, tile, [&](const TileOrigin &from, int64_t v, Value *at) {
      Value *value = valueOf(from, v, b_.CreateLoad(type, b_.CreateGEP(type, kept, at)));
      if (!results) {
        made = value->getType();
        results = entryAlloca(llvm::ArrayType::get(made, sums.size()));
      }
      b_.CreateStore(value, b_.CreateGEP(made, results, at));
    });
    values = loadAll(made, results, sums.size());
  } else {
    forEachSum(c, tile, [&](const TileOrigin &from, int64_t v, size_t at) {
      values[at] = valueOf(from, v, sums[at]);
    });
  }
  overrides_.clear();
  setLanes({});
  return values;
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

// The sums of `count` rows in one column, or what is made of them.
void KernelEmitter::storeColumn(const Contraction &c, Value *column, Value *values, int64_t count,
                                bool areDone) {
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
  Ref body = c.epilogue.body;
  setOverride(areDone ? storedValue(c.epilogue.buffer, body) : c.result, values);
  emitToStore(c.epilogue.buffer, c.epilogue.store, body);
  overrides_.clear();
  setLanes({});
}

// Calls `store` with each of the `used` columns of a transposed block.
void KernelEmitter::forEachColumn(const std::vector<Value *> &block, Value *used, bool inLoop,
                                  const std::function<void(Value *, Value *)> &store) {
  llvm::Type *type = block[0]->getType();
  if (!inLoop) {
    for (size_t column = 0; column < block.size(); ++column) {
      Value *at = i64(static_cast<int64_t>(column));
      ifThen(b_.CreateICmpSLT(at, used), [&] { store(at, block[column]); });
    }
    return;
  }
  Value *kept = keep(block);
  forLoop(i64(0), used, 1, [&](Value *column) {
    Scope scope(*this);
    store(column, b_.CreateLoad(type, b_.CreateGEP(type, kept, column)));
  });
}

void KernelEmitter::storeTransposed(const Contraction &c, const Tile &tile,
                                    std::vector<Value *> sums) {
  bool areDone = readsAlongColumns(c);
  bool areKept = areDone && tile.how.loopsEpilogue; // in memory, by valuesOfSums
  if (!areKept && wouldSpill(c, sums.size()))
    sums = throughMemory(sums);
  if (areDone)
    sums = valuesOfSums(c, tile, sums);
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
        storeColumn(c, b_.CreateAdd(first, column), values, count, areDone);
      };
      forEachColumn(block, used, tile.how.loopsEpilogue && !areDone, store);
    }
  }
  axes_[c.innerRow] = innerBegin;
  axes_[c.column] = columnBegin;
}

} // namespace bycc::codegen
