// The schedule of a product: its register tile and what is left over beside it, where its
// panels are made, blocks, unrolling. The tile holds rows x vectors sums; each step of k loads
// `vectors` vectors of W and broadcasts `rows` scalars of X.
#include "ChooseSchedule.h"
#include "LoopSteps.h"
#include "bycc/IR/LikelyExtents.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace bycc::loops {
namespace {

constexpr int64_t mostTileRows = 28, mostTileVectors = 8;
constexpr int64_t mostUnroll = 8, unrolledSums = 120; // multiply-adds in one turn
constexpr int64_t mostBlock = int64_t{1} << 31;
constexpr int64_t wantedItems = 16; // of work, for threads to share
constexpr int64_t fewRows = 128;    // that are one block beside a large vector operand
constexpr int64_t many = 1 << 20;   // of rows, where their number is open

// Cycles of a tile per step of the reduction: multiply-adds and loads at the rate of the
// machine, and at least the latency of one chain. Vectors that are decoded are widened, converted
// and scaled before, each as long as a multiply-add.
double tileCycles(const TargetFacts &facts, int64_t rows, int64_t vectors, bool decodes = false) {
  double fma = facts.multiplyAddCycles * static_cast<double>((rows + (decodes ? 3 : 0)) * vectors);
  double loads = facts.loadCycles * static_cast<double>(rows + vectors);
  return std::max({fma, loads, facts.chainCycles});
}

// Of so many rows in tiles of `each` and what is left: the sum of what `cyclesOf` says of each.
template <typename Cycles> double rowsCycles(int64_t extent, int64_t each, Cycles &&cyclesOf) {
  return static_cast<double>(extent / each) * cyclesOf(each) +
         (extent % each ? cyclesOf(extent % each) : 0);
}

// Sums, a vector for each column with what decodes it, and an element that is broadcast.
int64_t registersOf(const Contraction &c, int64_t sums, int64_t vectors) {
  return (sums + (c.decoding ? 3 : 1)) * vectors + 1;
}

// Lines of the broadcast operand's rows that a tile reads for a line's worth of steps
// compete for the sets of the first cache; where more than its ways fall on one set, each
// is fetched anew in every step. Rows of a power of two do that.
class RowConflicts {
public:
  RowConflicts(const Exprs &exprs, const Contraction &c, const TargetFacts &facts, bool copiesRows)
      : facts_(facts) {
    floatsInLine_ = facts.lineBytes / 4;
    bool isAlong = std::ranges::any_of(c.reduction, [&](uint32_t axis) {
      int64_t step = exprs.coefficient(c.broadcast.index, axis).value_or(0);
      return (step == 1 || (step == 2 && c.decoding)) &&
             step * exprs.constantExtent(axis).value_or(floatsInLine_) >= floatsInLine_;
    });
    auto step = [&](uint32_t axis) {
      return axis == noAxis ? std::optional<int64_t>(0)
                            : exprs.coefficient(c.broadcast.index, axis);
    };
    auto inner = step(c.innerRow), outer = step(c.outerRow);
    isKnown_ = isAlong && !c.isPaired && !copiesRows && inner && outer;
    inner_ = inner.value_or(0);
    outer_ = outer.value_or(0);
  }

  // Cycles per step of the reduction.
  double cycles(int64_t rows, int64_t outerRows) const {
    if (!isKnown_)
      return 0;
    std::array<int, mostSets> used = {};
    auto sets = static_cast<uint64_t>(facts_.cacheSets);
    BYCC_ASSERT(sets <= mostSets, "sets of the first cache");
    int64_t most = 0;
    for (int64_t o = 0; o < outerRows; ++o)
      for (int64_t r = 0; r < rows; ++r) {
        auto line = static_cast<uint64_t>((o * outer_ + r * inner_) / floatsInLine_);
        most = std::max<int64_t>(most, ++used[line % sets]);
      }
    return most > facts_.cacheWays ? facts_.missCycles * static_cast<double>(rows * outerRows) : 0;
  }

private:
  static constexpr size_t mostSets = 64;
  const TargetFacts &facts_;
  int64_t floatsInLine_ = 0;
  bool isKnown_ = false;
  int64_t inner_ = 0, outer_ = 0;
};

// Where the result lies along rows (NCHW), what a tile does behind its sums: for each column it
// turns sums into vectors along rows and stores these, and reads what the epilogue does. That is by
// lines of memory, of which rows that are no multiple of a line touch more.
class TurnedResult {
public:
  TurnedResult(const Kernel &kernel, const Contraction &c, const TargetFacts &facts)
      : lanes_(facts.lanes), floatsInLine_(facts.lineBytes / 4),
        partialStores_(facts.partialStores) {
    if (!c.isTransposed || c.innerRow == noAxis)
      return;
    const Exprs &exprs = kernel.exprs;
    auto reads = [&](Ref index) { return exprs.coefficient(index, c.innerRow).value_or(0) != 0; };
    int64_t streams = 1; // the result, and what is read beside the sum
    exprs.visit(c.epilogue.body, [&](Ref ref) {
      if (ref == c.result)
        return false;
      streams += exprs[ref].op == Op::Load && reads(exprs[ref].a);
      return true;
    });
    auto stride = exprs.coefficient(c.epilogue.store, c.column);
    bool conflicts = stride && facts.areOnOneSet(*stride * 4);
    perLine_ = (conflicts ? facts.conflictingLineCycles : facts.resultLineCycles) *
               static_cast<double>(facts.lanes * streams);
    for (uint32_t axis : c.reduction)
      perLine_ /= static_cast<double>(std::max<int64_t>(kernel.likelyExtent(axis), 1));
  }

  // Cycles per step of the reduction, of a vector of columns.
  double cycles(int64_t rows) const {
    int64_t past = floatsInLine_ - std::gcd(rows, floatsInLine_);
    double stores = static_cast<double>(rows / lanes_) + (rows % lanes_ ? partialStores_ : 0);
    double lines = static_cast<double>(rows + past) / static_cast<double>(floatsInLine_);
    return perLine_ * std::max(stores, lines);
  }

private:
  int64_t lanes_, floatsInLine_;
  double partialStores_, perLine_ = 0;
};

// Steps of the reduction that a tile of so many rows does where it leaves out those that read only
// padding, of all that there are: 1 where that is hardly less.
double stepsInside(const Kernel &kernel, const Contraction &c, int64_t rows, int64_t outerRows) {
  constexpr double worthIt = 0.97;
  double all = 1;
  for (const Window &window : c.windows)
    all *= insideFraction(kernel, c, window, rows, outerRows);
  return all <= worthIt ? all : 1;
}

// What each tile of a product costs, over all of its rows and columns.
class TileCosts {
public:
  TileCosts(const Kernel &kernel, const Contraction &c, const TargetFacts &facts, bool copiesRows)
      : facts_(facts), conflicts_(kernel.exprs, c, facts, copiesRows), turned_(kernel, c, facts),
        kernel_(kernel), c_(c) {
    auto likely = [&](uint32_t axis) {
      return axis == noAxis ? 1 : std::max<int64_t>(kernel.likelyExtent(axis), 1);
    };
    columnVectors = ceilDiv(likely(c.column), facts.lanes);
    inner = likely(c.innerRow);
    outer = likely(c.outerRow);
    // A tile for an open number of rows is to be good for the likely one and for many.
    decodes_ = c.decoding.has_value();
    for (uint32_t axis : c.reduction)
      depth_ *= static_cast<double>(likely(axis));
    isFresh_ = kernel.buffers[c.vector.buffer].isConstant && !decodes_ &&
               4 * depth_ * static_cast<double>(likely(c.column)) >
                   static_cast<double>(facts.prefetchedConstant);
    isOpen = c.innerRow != noAxis && !kernel.exprs.constantExtent(c.innerRow);
  }

  double total(int64_t rows, int64_t outerRows, int64_t vectors) const {
    double columnTiles = static_cast<double>(columnVectors / vectors);
    int64_t columnTail = columnVectors % vectors;
    double misses = conflicts_.cycles(rows, outerRows) / static_cast<double>(rows * outerRows) *
                    (isOpen ? 2.0 : static_cast<double>(inner * outer));
    double total = columnTiles * (cycles(rows, outerRows, vectors) + misses) +
                   (columnTail ? cycles(rows, outerRows, columnTail) + misses : 0);
    total *= stepsInside(kernel_, c_, rows, outerRows);
    // Fewer, fuller variants win ties.
    return total * (1 + 0.002 * static_cast<double>((columnTail != 0) + (inner % rows != 0)) -
                    0.0005 * static_cast<double>(rows * outerRows));
  }

  int64_t columnVectors = 1, inner = 1, outer = 1;
  bool isOpen = false;

private:
  double cycles(int64_t r, int64_t o, int64_t v) const {
    bool again = inner * outer > r * o; // columns are read by more than one tile of rows
    double once = again ? fresh(r * o, v) : 0;
    if (o > 1)
      return static_cast<double>(outer / o) * tile(r * o, v, again) +
             (outer % o ? tile(r * (outer % o), v, again) : 0) + once;
    if (isOpen) // per row
      return (rows(inner, r, v, again) + once) / static_cast<double>(inner) +
             rows(many, r, v, true) / static_cast<double>(many);
    return static_cast<double>(outer) * rows(inner, r, v, again) + once;
  }
  // What the first tile of rows waits longer, where its columns come from memory.
  double fresh(int64_t rows, int64_t vectors) const {
    return isFresh_
               ? std::max(facts_.freshLineCycles * linesOf(vectors) - tile(rows, vectors, true),
                          0.0)
               : 0;
  }
  double tile(int64_t rows, int64_t vectors, bool again) const {
    double streamed =
        again && isStreamed(vectors) ? facts_.streamedLineCycles * linesOf(vectors) : 0;
    return std::max(tileCycles(facts_, rows, vectors, decodes_), streamed) +
           static_cast<double>(vectors) * turned_.cycles(rows);
  }
  double linesOf(int64_t vectors) const { // of a step's columns
    return static_cast<double>(vectors * facts_.lanes * 4) / static_cast<double>(facts_.lineBytes);
  }
  // Columns of so many vectors are more than half of the first cache, and come from the second one
  // for each tile of rows.
  bool isStreamed(int64_t vectors) const {
    auto cache = static_cast<double>(facts_.lineBytes * facts_.cacheSets * facts_.cacheWays);
    return !decodes_ &&
           depth_ * linesOf(vectors) * static_cast<double>(facts_.lineBytes) > cache / 2;
  }
  double rows(int64_t extent, int64_t each, int64_t vectors, bool again) const {
    return rowsCycles(extent, each, [&](int64_t rows) { return tile(rows, vectors, again); });
  }

  const TargetFacts &facts_;
  RowConflicts conflicts_;
  TurnedResult turned_;
  const Kernel &kernel_;
  const Contraction &c_;
  double depth_ = 1;
  bool isFresh_ = false; // columns are of a large constant
  bool decodes_ = false;
};

std::string nameOf(const TileSchedule &tile) {
  return std::to_string(tile.rows) + "x" + std::to_string(tile.outerRows) + "x" +
         std::to_string(tile.vectors);
}

// Products of the tile for each step: rows of it, of all columns.
int64_t rowTilesOf(const Kernel &kernel, const Contraction &c, int64_t tileRows) {
  int64_t rows = 1;
  for (uint32_t axis : {c.innerRow, c.outerRow})
    rows *= axis == noAxis ? 1 : kernel.likelyExtent(axis);
  return ceilDiv(rows, tileRows);
}

} // namespace

double productCycles(const TargetFacts &facts, int64_t columns, int64_t rows) {
  double best = HUGE_VAL;
  int64_t all = ceilDiv(std::max<int64_t>(columns, 1), facts.lanes);
  for (int64_t vectors = 1; vectors <= std::min(all, mostTileVectors); ++vectors)
    for (int64_t r = 1; r <= std::min(std::max<int64_t>(rows, 1), mostTileRows) &&
                        r * vectors + vectors + 1 <= facts.registers;
         ++r) {
      auto ofColumns = [&](int64_t v) {
        return rowsCycles(rows, r, [&](int64_t each) { return tileCycles(facts, each, v); });
      };
      double rest = all % vectors ? ofColumns(all % vectors) : 0;
      best = std::min(best, static_cast<double>(all / vectors) * ofColumns(vectors) + rest);
    }
  return best;
}

// Rows that fall on one set throw each other out, and what passes beside them does, before there are
// more of them than ways. A copy is worth it where many columns read it.
bool ScheduleChooser::isWorthCopying(const Contraction &c) const {
  constexpr int64_t manyRows = 8, manyColumns = 256;
  auto step = exprs_.coefficient(c.broadcast.index, c.innerRow);
  int64_t bytes = step.value_or(0) * sizeInBytes(kernel_.buffers[c.broadcast.buffer].type);
  return bytes > 0 && facts_.areOnOneSet(bytes) && likely(c.innerRow) >= manyRows &&
         likely(c.column) >= manyColumns;
}

void ScheduleChooser::chooseRows(const Contraction &c, ProductSchedule &product) {
  auto elements = rowElements(kernel_, c);
  product.copiesRows =
      word("block copied", elements && isWorthCopying(c), {"no", "yes"},
           {true, elements.has_value()},
           "of rows: 'yes' takes rows of one axis that are read from end to end") == 1;
  if (!product.copiesRows)
    return;
  // A load and a store for each vector.
  double cycles = 2 * static_cast<double>(*elements) / static_cast<double>(facts_.lanes);
  product.rowGrain = grain("block copied-grain", grainOf(extentOf(c.innerRow), cycles));
}

void ScheduleChooser::chooseTile(const Contraction &c, ProductSchedule &product) {
  TileSchedule &tile = product.tile;
  TileCosts costs(kernel_, c, facts_, product.copiesRows);
  double best = HUGE_VAL;
  for (int64_t vectors : {1, 2, 3, 4, 6, 8}) {
    if (vectors > costs.columnVectors)
      break;
    for (int64_t sums = 1; sums <= mostTileRows; ++sums) {
      if (registersOf(c, sums, vectors) > facts_.registers)
        break;
      int64_t rows = std::min(sums, costs.isOpen ? many : costs.inner), outerRows = 1;
      if (rows == costs.inner && c.canJoinRows && costs.inner > 1)
        outerRows = std::min(sums / costs.inner, costs.outer);
      double total = costs.total(rows, outerRows, vectors);
      if (total < best) {
        best = total;
        tile.rows = rows;
        tile.outerRows = outerRows;
        tile.vectors = vectors;
      }
    }
  }
  tile.rows = number("tile rows", tile.rows, 1,
                     c.innerRow == noAxis ? 1 : extentOf(c.innerRow).value_or(mostTileRows),
                     "rows of a tile");
  tile.outerRows = number("tile outer", tile.outerRows, 1,
                          c.canJoinRows ? *extentOf(c.outerRow) : 1, "outer rows of a tile");
  tile.vectors = number(
      "tile vectors", tile.vectors, 1,
      std::min(mostTileVectors,
               ceilDiv(std::max<int64_t>(extentOf(c.column).value_or(many), 1), facts_.lanes)),
      "vectors of a tile");
  checkTile(c, tile);
  if (c.windows.empty())
    return;
  bool isLess = stepsInside(kernel_, c, tile.rows, tile.outerRows) < 1;
  product.skipsPadding = word("padding skipped", isLess, {"no", "yes"}, {true, true}, "") == 1;
}

// What bounds alone do not say: of an edit, as what is chosen has been counted so.
void ScheduleChooser::checkTile(const Contraction &c, const TileSchedule &tile) {
  int64_t needed = registersOf(c, tile.rows * tile.outerRows, tile.vectors);
  std::string registers = "a tile of " + nameOf(tile) + " needs " + std::to_string(needed) +
                          " registers, there are " + std::to_string(facts_.registers);
  if (needed > facts_.registers)
    for (const char *key : {"tile rows", "tile outer", "tile vectors"})
      refuse(key, registers);
  if (tile.outerRows > 1 && tile.rows != *extentOf(c.innerRow))
    for (const char *key : {"tile outer", "tile rows"})
      refuse(key, "a tile of several outer rows has whole inner ones, " +
                      std::to_string(*extentOf(c.innerRow)));
}

// Steps that broadcast the same elements (taps of a convolution) stay apart:
// merged broadcasts would outlive the registers.
int64_t ScheduleChooser::unrollOf(const Contraction &c, const TileSchedule &tile) const {
  auto known = extentOf(c.reduction.back());
  auto step = exprs_.coefficient(c.broadcast.index, c.reduction.back());
  auto row = c.innerRow == noAxis ? std::optional<int64_t>(0)
                                  : exprs_.coefficient(c.broadcast.index, c.innerRow);
  int64_t rowStep = row ? std::max<int64_t>(*row, 1) : 1;
  auto overlaps = [&](int64_t u) {
    int64_t reach = step && row ? (u - 1) * *step : INT64_MAX;
    return reach % rowStep == 0 && reach / rowStep < tile.rows;
  };
  int64_t unroll = 1;
  for (int64_t u = 2; u <= mostUnroll; ++u) {
    if (tile.rows > 1 && overlaps(u))
      break;
    bool fits = known ? *known % u == 0 : u % 4 == 0;
    if (fits && u * tile.rows * tile.outerRows * tile.vectors <= unrolledSums)
      unroll = u;
  }
  return unroll;
}

// How a tile runs whose size is known: an epilogue is emitted in a loop over the sums where
// copies of it would be code without end.
void ScheduleChooser::chooseUnroll(const Contraction &c, const TileSchedule &of,
                                   const std::string &group, TileSchedule &tile) {
  constexpr int64_t costlyWeight = 30, most = 500; // about as many instructions
  int64_t weight = 0;
  exprs_.visit(c.epilogue.body, [&](Ref ref) {
    weight += isCostly(exprs_[ref].op) ? costlyWeight : 1;
    return ref != c.result;
  });
  tile = of;
  tile.unroll = unrollOf(c, tile);
  tile.loopsEpilogue = weight * tile.rows * tile.outerRows * tile.vectors > most;
  auto known = extentOf(c.reduction.back());
  int64_t unroll =
      number(group + " unroll", tile.unroll, 1, 4 * mostUnroll, "steps that are unrolled");
  if (known && *known % unroll != 0)
    refuse(group + " unroll", "the innermost axis of the reduction has " + std::to_string(*known) +
                                  " steps, which must be a multiple");
  tile.unroll = unroll;
  tile.loopsEpilogue =
      word(group + " epilogue", tile.loopsEpilogue, {"once", "loop"}, {true, true}, "") == 1;
}

// Each size of tile that the loops over rows and columns end with.
void ScheduleChooser::chooseRests(const Contraction &c, ProductSchedule &product) {
  const TileSchedule tile = product.tile;
  std::vector<std::pair<int64_t, int64_t>> rows{{tile.rows, tile.outerRows}};
  if (tile.outerRows > 1) {
    if (int64_t rest = *extentOf(c.outerRow) % tile.outerRows)
      rows.push_back({tile.rows, rest});
  } else if (c.innerRow != noAxis && tile.rows > 1) {
    if (auto known = extentOf(c.innerRow)) {
      if (int64_t rest = *known % tile.rows)
        rows.push_back({rest, 1});
    } else {
      for (int64_t rest : openRestRows)
        rows.push_back({rest, 1});
    }
  }
  std::vector<int64_t> vectors{tile.vectors};
  if (auto known = extentOf(c.column); !known)
    vectors.push_back(1);
  else if (int64_t rest = *known % (tile.vectors * facts_.lanes))
    vectors.push_back(ceilDiv(rest, facts_.lanes));
  std::vector<TileSchedule> &all = product.rests;
  for (auto [r, o] : rows)
    for (int64_t v : vectors) {
      auto isSame = [&](const TileSchedule &other) {
        return other.rows == r && other.outerRows == o && other.vectors == v;
      };
      if (isSame(tile) || std::ranges::any_of(all, isSame))
        continue;
      TileSchedule rest{r, o, v, 1, false};
      chooseUnroll(c, rest, "rest " + nameOf(rest), rest);
      all.push_back(rest);
    }
}

void ScheduleChooser::choosePanels(const Contraction &c, ProductSchedule &product) {
  bool canBeConstant = canPackConstant(kernel_, c),
       canBeInPlace = canReadInPlace(kernel_, c, facts_);
  // Panels of windows that overlap are larger than what is read, and those that few tiles read are
  // not worth their making.
  constexpr int64_t fewTiles = 4;
  const TileSchedule &tile = product.tile;
  auto columns = extentOf(c.column);
  bool isInPlace = canBeInPlace && !kernel_.buffers[c.vector.buffer].isConstant &&
                   ((columns && *columns % facts_.lanes == 0) ||
                    readsAgain(exprs_, c.vector.index, {c.column}, c.reduction) ||
                    rowTilesOf(kernel_, c, tile.rows * tile.outerRows) <= fewTiles);
  product.packing = isInPlace       ? Packing::InPlace
                    : canBeConstant ? Packing::Constant
                                    : Packing::RunTime;
  product.packing = static_cast<Packing>(word("panels made", static_cast<size_t>(product.packing),
                                              {"never", "compiling", "running"},
                                              {canBeInPlace, canBeConstant, !c.decoding},
                                              "of panels: 'never' takes columns that are whole "
                                              "vectors side by side, 'compiling' a constant"));
  if (product.packing == Packing::InPlace)
    return;
  // Long panels, and those of large constants, which are rarely in the cache when a kernel
  // starts, are fetched ahead of their use.
  int64_t size = sizeInBytes(panelType(kernel_, c, product.packing)),
          tileLanes = product.tile.vectors * facts_.lanes;
  auto depth = this->product(c.reduction);
  bool isLong = !depth || *depth * tileLanes * size > facts_.prefetchedBytes;
  bool isLarge = product.packing == Packing::Constant && depth && columns &&
                 *depth * *columns * size > facts_.prefetchedConstant;
  bool fetches = tile.rows >= facts_.prefetchedRows && (isLong || isLarge);
  product.prefetchAhead = number("panels prefetch", fetches ? facts_.prefetchAhead : 0, 0, 1 << 20,
                                 "bytes ahead", size);
  if (product.packing != Packing::RunTime)
    return;
  auto rows = this->product(c.reduction);
  for (uint32_t axis : c.batch) {
    bool moves = exprs_.coefficient(c.vector.index, axis) != 0;
    if (rows && moves)
      rows = extentOf(axis) ? std::optional(*rows * *extentOf(axis)) : std::nullopt;
  }
  if (rows)
    rows = extentOf(c.column) ? std::optional(*rows * ceilDiv(*extentOf(c.column), tileLanes))
                              : std::nullopt;
  product.panelGrain = grain("panels grain", grainOf(rows, static_cast<double>(tileLanes)));
}

// How many work items there are, where it is known.
std::optional<int64_t> ScheduleChooser::itemsOf(const Contraction &c,
                                                const ProductSchedule &p) const {
  std::optional<int64_t> batches = product(c.batch), columns = extentOf(c.column), rows = 1;
  if (uint32_t blocked = c.outerRow != noAxis ? c.outerRow : c.innerRow; blocked != noAxis)
    rows = extentOf(blocked);
  if (!batches || !columns || !rows)
    return std::nullopt;
  int64_t tiles = ceilDiv(*columns, p.tile.vectors * facts_.lanes);
  return *batches * ceilDiv(*rows, p.blockRows) * ceilDiv(tiles, p.blockTiles);
}

// Work items are (batch, block of rows, block of column tiles), sized for the likely extents;
// blocks fit any extent.
void ScheduleChooser::chooseBlocks(const Contraction &c, NestSchedule &nest) {
  ProductSchedule &p = *nest.product;
  int64_t tileLanes = p.tile.vectors * facts_.lanes;
  int64_t columns = likely(c.column), numTiles = ceilDiv(columns, tileLanes);
  int64_t depth = 1, batches = 1;
  for (uint32_t axis : c.reduction)
    depth *= likely(axis);
  for (uint32_t axis : c.batch)
    batches *= likely(axis);
  bool hasOuter = c.outerRow != noAxis;
  uint32_t blocked = hasOuter ? c.outerRow : c.innerRow;
  int64_t inner = likely(c.innerRow),
          unit = hasOuter ? p.tile.outerRows : p.tile.rows; // rows move in these steps
  int64_t units = ceilDiv(hasOuter ? likely(c.outerRow) : inner, unit);
  double unitBytes = 4.0 * static_cast<double>(depth * unit * (hasOuter ? inner : 1));
  double rowBytes = unitBytes * static_cast<double>(units),
         columnBytes = 4.0 * static_cast<double>(depth * columns);
  int64_t cached = std::max<int64_t>(
      1, static_cast<int64_t>(static_cast<double>(facts_.l2Bytes) / 3 / std::max(unitBytes, 1.0)));
  // Few rows together: a vector operand that no cache keeps comes once.
  if (units * unit <= fewRows && columnBytes > static_cast<double>(facts_.l2Bytes))
    cached = std::max(cached, units);
  int64_t rowBlocks = ceilDiv(units, cached);
  if (columnBytes <= rowBytes)
    rowBlocks =
        std::max(rowBlocks, std::min(units, ceilDiv(wantedItems, std::max<int64_t>(batches, 1))));
  int64_t tileBlocks = std::min(
      numTiles, std::max<int64_t>(1, wantedItems / std::max<int64_t>(1, batches * rowBlocks)));
  int64_t likelyStep = std::max<int64_t>(ceilDiv(units, std::max<int64_t>(rowBlocks, 1)) * unit, 1);
  p.blockRows = likelyStep;
  p.blockTiles = std::max<int64_t>(ceilDiv(numTiles, std::max<int64_t>(tileBlocks, 1)), 1);
  // There may be more rows than is likely: blocks are so large that a tile of columns
  // serves many of them while it is in the cache.
  if (rowBlocks <= 1 && blocked != noAxis && !extentOf(blocked))
    p.blockRows = std::max(p.blockRows, std::min(cached, ceilDiv(likelyUnknown, unit)) * unit);
  int64_t chosen = p.blockRows;
  p.blockRows = number("block rows", p.blockRows, unit, blocked == noAxis ? 1 : mostBlock,
                       "rows of a block", unit);
  p.blockTiles = number("block tiles", p.blockTiles, 1, mostBlock, "column tiles of a block");
  if (p.blockRows != chosen)
    likelyStep = p.blockRows;
  double itemCycles =
      static_cast<double>(depth) * static_cast<double>(likelyStep * (hasOuter ? inner : 1)) *
      static_cast<double>(p.blockTiles * tileLanes) / static_cast<double>(2 * facts_.lanes);
  nest.grain = grain("threads grain", grainOf(itemsOf(c, p), itemCycles));
}

} // namespace bycc::loops
