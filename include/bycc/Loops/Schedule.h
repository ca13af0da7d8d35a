// The schedule of a kernel as a value: everything that is decided about how its loops run, and
// nothing of what they compute. schedule() chooses it for a kernel and a target before any code
// is made; the emitter obeys. `--emit=loops` prints it (PrintLoops.cpp), `--schedules=FILE`
// changes it (ScheduleEdits.h).
//
// What a kernel's loops *are* - stages, nests, operands - is in Loops.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace bycc::loops {

// How the vector operand of a product is read: in place (unit stride, columns are whole
// vectors), or from panels [batch][column tile][k][columns of the tile], written while compiling
// (all extents are known then) or before the loop.
enum class Packing : uint8_t { InPlace, Constant, RunTime };

// Sums in registers: rows x outerRows broadcasts times `vectors` vectors.
struct TileSchedule {
  int64_t rows = 1;           // over the inner row axis ...
  int64_t outerRows = 1;      // ... times the outer one; above 1, `rows` is the inner one's extent
  int64_t vectors = 1;        // along the columns
  int64_t unroll = 1;         // steps of the innermost axis of the reduction in one turn
  bool loopsEpilogue = false; // in a loop over the sums, in memory, instead of once for each
  bool operator==(const TileSchedule &) const = default;
};

// Rows of the rests of a tile where the number of rows is open: as many of the first as there
// are, then of the next.
inline constexpr int64_t openRestRows[] = {4, 2, 1};

struct ProductSchedule {
  TileSchedule tile;
  std::vector<TileSchedule> rests; // of rows, of columns, and of both
  bool skipsPadding = false;       // steps that read nothing but padding, in all rows of a tile
  Packing packing = Packing::InPlace;
  int64_t panelGrain = 0;    // of the loop that writes panels in a run
  int64_t prefetchAhead = 0; // bytes of a panel; 0: none
  int64_t blockRows = 1;     // of a work item, a multiple of the tile's
  int64_t blockTiles = 1;    // ... of columns
  bool copiesRows = false; // before the loop, to where they do not compete for the sets of a cache
  int64_t rowGrain = 0;    // of the loop that does
  bool operator==(const ProductSchedule &) const = default;
};

// What is left of a loop over lanes when no whole vector is: nothing, the last whole vector once
// more, from where it ends with the loop, or a vector under a mask.
enum class Tail : uint8_t { None, Repeat, Mask };

struct StageSchedule {
  bool isVector = false; // lanes run along the stage's own last axis
  Tail tail = Tail::None;
  int64_t ways = 1;              // sums of their own that a reduction along lanes is made of
  int64_t unrolledAxes = 0;      // innermost axes that are written out, of those that stay
  int64_t unrolledReduction = 0; // ... and of those that are reduced
  bool operator==(const StageSchedule &) const = default;
};

// Where lanes run: along each stage's last axis; across rows of reductions; along an axis of the
// rows, in blocks that are transposed before they are stored, as what is read lies along that.
enum class LanesRun : uint8_t { Along, Across, Turned };

struct NestSchedule {
  int64_t grain = 0; // work items that a thread takes at least; 0: all run on the calling thread
  std::optional<ProductSchedule> product;
  // Of rows:
  LanesRun lanes = LanesRun::Along; // but for Along: the last row axis goes by whole vectors
  int64_t chunk = 0; // elements of the innermost axis that make a row; 0: it is not divided
  // Of Across: places along the row axis before that of the lanes that are made together. Their
  // sums do not wait for each other, and what they read alike is read once.
  int64_t jam = 1;
  std::vector<StageSchedule> stages;
  bool operator==(const NestSchedule &) const = default;
};

// A reduction whose axis is the only long one is made in two stages: one result for each part of
// the axis, in parallel, then one of these in their order. How many parts there are depends on
// extents alone, so results are the same bits with any number of threads.
struct SplitSchedule {
  uint32_t buffer = 0; // of the reduction
  int64_t chunk = 0;   // elements of the axis that make a part
  bool operator==(const SplitSchedule &) const = default;
};

struct Schedule {
  int64_t lanes = 0; // of 32 bits, of every vector
  std::vector<SplitSchedule> splits;
  std::vector<NestSchedule> nests;
  bool operator==(const Schedule &) const = default;
};

} // namespace bycc::loops
