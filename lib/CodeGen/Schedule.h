// How a kernel's stages become loops. The scheduler
//   1. inlines elementwise stages into their consumers,
//   2. finds contractions (sums of products with affine accesses) and gives each
//      a register tile and its epilogue,
//   3. groups the other stages into row nests: one parallel loop over the axes all
//      its stages share, with the stages one after the other inside, e.g. softmax:
//          for each row: m = max x; e[k] = exp(x[k] - m); s = sum e; y[k] = e[k] / s
//   4. chooses for each nest which axis the vector lanes run over.
#pragma once

#include "bycc/CodeGen/Compute.h"
#include "bycc/Target/TargetInfo.h"

namespace bycc::te {

inline constexpr uint32_t noAxis = UINT32_MAX;

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct NestStage {
  Stage stage;             // `axes` are the inner ones
  bool isLocal = false;    // buffer lives for one row only
  bool isRegister = false; // ... and is one value per row
  int64_t localOffset = 0; // in elements of 8 bytes * lanes from the thread's scratch
  uint32_t vectorAxis = noAxis;
};

struct Operand {
  uint32_t buffer = 0;
  Ref index = noRef; // flat, affine in all axes
};

// How the vector operand is read: in place (unit stride), or from panels
// [batch][column tile][k][columns of the tile], written while compiling (all extents are
// known then) or before the loop. In place, columns are whole vectors.
enum class Packing : uint8_t { InPlace, Constant, RunTime };

struct Contraction {
  Operand broadcast, vector;
  std::vector<uint32_t> batch; // outer loops: in both operands, and outer rows
  std::vector<uint32_t> rows;  // as found; chooseTile joins them and hands them out
  uint32_t outerRow = noAxis;  // second last row axis
  uint32_t innerRow = noAxis;  // last row axis; noAxis: one row
  uint32_t column = noAxis;    // noAxis: one column
  std::vector<uint32_t> reduction;
  int64_t rowTile = 1;      // over innerRow ...
  int64_t outerRowTile = 1; // ... times outerRow, then rowTile is innerRow's extent
  int64_t vectors = 1;      // vectors per tile along the column
  Packing packing = Packing::InPlace;
  uint32_t packed = 0; // buffer of the panels when packing is not InPlace
  // Elements are pairs of 16 bits, two steps of the reduction at once: those of
  // the broadcast operand as they lie in memory, those of the vector operand made
  // in its panels from elements so far apart. The last step of the odd axis has no
  // second element.
  bool isPaired = false;
  int64_t pairStride = 0;
  uint32_t oddAxis = noAxis;
  std::vector<uint32_t> packedBatch; // batch axes the panels depend on
  bool isTransposed = false; // lanes of the result run over rows when stored
  Ref result = noRef;        // the Load that stands for the sum in the epilogue
  Stage epilogue;            // body and store over the contraction's axes
};

struct Nest {
  std::vector<uint32_t> rows; // parallel, outer first
  bool isAcross = false;      // lanes run over rows.back()
  std::vector<NestStage> stages;
  int64_t localBytes = 0; // scratch of one thread
  std::optional<Contraction> contraction;
  double cost = 0; // rough cycles of one row
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

struct Schedule {
  Kernel kernel;
  std::vector<Nest> nests;
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

Schedule schedule(Kernel kernel, const TargetInfo &target);

// A function of many instructions.
bool isCostly(Op op);

// Steps, for schedule() and tests.
void inlineStages(Kernel &kernel);
// The axes with their strides in a row-major store, outer first; nullopt when it is none.
std::optional<std::vector<std::pair<uint32_t, Ref>>> byStride(Exprs &exprs, const std::vector<uint32_t> &axes, Ref store);
// Does the target multiply whole vectors of pairs of bfloat16?
inline bool multipliesBFloat16(const TargetInfo &target) { return target.has("avx512bf16") && target.vectorBits == 512; }
std::optional<Contraction> findContraction(Kernel &kernel, const Stage &stage);
void chooseTile(Kernel &kernel, Contraction &contraction, const TargetInfo &target);
// Whether and when panels are made (Panels.cpp); those of constants are added to `packs`.
void choosePacking(Kernel &kernel, Contraction &contraction, const TargetInfo &target, std::vector<PackSpec> &packs);
// Of a nest without a contraction.
void chooseLanes(Kernel &kernel, Nest &nest, const TargetInfo &target);
// The panels of a constant whose elements are at `source`.
std::vector<uint8_t> packPanels(const uint8_t *source, const PackSpec &spec);

} // namespace bycc::te
