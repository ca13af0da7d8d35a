// The loops of a kernel: its stages, in the nests that they share.
//   1. Elementwise stages are inlined into their consumers (InlineStages.cpp), and long
//      reductions become those of parts and of their results (SplitReductions.cpp),
//   2. sums of products with affine accesses are found; each gets its epilogue
//      (Contract.cpp),
//   3. the other stages are grouped into row nests: one parallel loop over the axes
//      all its stages share, with the stages one after the other inside, e.g. softmax:
//          for each row: m = max x; e[k] = exp(x[k] - m); s = sum e; y[k] = e[k] / s
//   4. how all of them run is chosen (ChooseSchedule.cpp), and the loops are made so:
//      panels, chunks, row-local buffers (ApplySchedule.cpp).
#pragma once

#include "bycc/Loops/Compute.h"
#include "bycc/Loops/Schedule.h"
#include "bycc/Loops/TargetFacts.h"
#include "bycc/Support/Error.h"

namespace bycc::loops {

class KernelEdits; // ScheduleEdits.h

inline constexpr uint32_t noAxis = UINT32_MAX;

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct NestStage {
  Stage stage;                  // `axes` are the inner ones
  bool isLocal = false;         // buffer lives for one row only
  bool isRegister = false;      // ... and is one value per row
  bool isPerLane = false;       // ... and there is one for each lane, side by side
  int64_t localOffset = 0;      // bytes from the thread's scratch
  uint32_t vectorAxis = noAxis; // the axis that lanes run along; noAxis: not its own
};

struct Operand {
  uint32_t buffer = 0;
  Ref index = noRef; // flat, affine in all axes
};

// A vector operand of few bits that stands for (element - zero) * scale: constants, all of them.
struct Decoding {
  Operand scale;
  std::optional<Operand> zero; // or `number`, one for all
  double number = 0;
  uint32_t halves = noAxis; // of the reduction, not in `reduction`: which half of a byte, low first
  size_t depth = 0;         // axes of the reduction, outer first, that scale and zero move along
  uint32_t packedScale = 0, packedZero = 0; // buffers of their panels
};

struct Contraction {
  Operand broadcast, vector;
  std::vector<uint32_t> batch; // outer loops: in both operands, and outer rows
  std::vector<uint32_t> rows;  // as found; joinRows() hands them out
  uint32_t outerRow = noAxis;  // second last row axis
  uint32_t innerRow = noAxis;  // last row axis; noAxis: one row
  bool canJoinRows = false;    // whole inner rows one after the other are rows of one tile
  uint32_t column = noAxis;
  std::vector<uint32_t> reduction;
  std::vector<Window> windows; // steps of the reduction that a tile may leave out
  uint32_t packed = 0;         // buffer of the panels when there are such
  // The broadcast operand's rows where they are copied: the buffer, how many elements each has, and
  // how far apart they stand.
  uint32_t copied = 0;
  int64_t copiedElements = 0, copiedStride = 0;
  // Elements are pairs of 16 bits, two steps of the reduction at once: those of
  // the broadcast operand as they lie in memory, those of the vector operand made
  // in its panels from elements so far apart. The last step of the odd axis has no
  // second element.
  bool isPaired = false;
  int64_t pairStride = 0;
  uint32_t oddAxis = noAxis;
  std::optional<Decoding> decoding;
  std::vector<uint32_t> packedBatch; // batch axes the panels depend on
  bool isTransposed = false;         // lanes of the result run over rows when stored
  Ref result = noRef;                // the Load that stands for the sum in the epilogue
  Stage epilogue;                    // body and store over the contraction's axes
};

struct Nest {
  std::vector<uint32_t> rows; // parallel, outer first
  std::vector<NestStage> stages;
  int64_t localBytes = 0; // scratch of one thread
  std::optional<Contraction> contraction;
};

// A copy of a constant operand in panel order, made while compiling:
//   for i0.. in dims: packed[next++] = in range ? source[sum i * stride] : 0
struct PackDim {
  int64_t extent = 1, stride = 0;
};
struct PackSpec {
  uint32_t source = 0; // input buffer
  uint32_t packed = 0; // the buffer of the panels: passed instead of the source
  int64_t base = 0;
  std::vector<PackDim> dims; // batch..., tiles, reduction..., lanes
  size_t tileDim = 0, laneDim = 0;
  int64_t columns = 0; // lanes beyond are zero
  DType sourceType = DType::Float32;
  // Of pairs: an element of 32 bits is made of two of the source; the last ones of
  // the odd dim of one and 0.
  bool isPaired = false;
  int64_t pairStride = 0;
  size_t oddDim = SIZE_MAX;
  int64_t elements() const {
    int64_t n = 1;
    for (const PackDim &dim : dims)
      n *= dim.extent;
    return n;
  }
};

// The row axis of which `jam` places are made together; noAxis: there is none.
inline uint32_t jammedAxis(const Nest &nest, const NestSchedule &schedule) {
  return schedule.jam > 1 ? nest.rows[nest.rows.size() - 2] : noAxis;
}

// Places along a row axis that an item of the nest has, with vectors of so many lanes.
inline int64_t placesOfItem(const Nest &nest, const NestSchedule &schedule, uint32_t axis,
                            int64_t lanes) {
  bool isOfLanes = schedule.lanes != LanesRun::Along && axis == nest.rows.back();
  return isOfLanes ? lanes : axis == jammedAxis(nest, schedule) ? schedule.jam : 1;
}

struct Loops {
  Kernel kernel;
  std::vector<Nest> nests;
  Schedule schedule; // one of its nests for each of ours
  std::vector<PackSpec> packs;
  int64_t scratchBytes = 0; // per thread
  // Buffers that reach the code as pointers, in argument order.
  std::vector<uint32_t> arguments;
  bool isArgument(uint32_t buffer) const {
    for (uint32_t b : arguments)
      if (b == buffer)
        return true;
    return false;
  }
};

// Loops of a kernel on a target, with the schedule that is best by the cost model, or as the
// edits have it. A kernel of strips runs on one thread. INPUT: an edit that cannot be.
Expected<Loops> schedule(Kernel kernel, const TargetInfo &target, bool isOfStrips = false,
                         KernelEdits *edits = nullptr);

// Steps of the window's axis that tiles of so many rows do, of all, where each leaves out those that
// read padding in all of its rows; for the likely extents. 1 where a border is a small part.
double insideFraction(const Kernel &kernel, const Contraction &c, const Window &window,
                      int64_t rows, int64_t outerRows);

// The panels of a constant whose elements are at `source`.
std::vector<uint8_t> packPanels(const uint8_t *source, const PackSpec &spec);

} // namespace bycc::loops
