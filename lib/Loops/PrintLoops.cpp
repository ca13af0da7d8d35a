// See PrintLoops.h. Of each kernel: what its buffers are, and of each nest what was decided
// (lines "schedule", which can be edited and given back) and the loops that follow from it:
//
//   kernel net_fused_nn_dense_nn_relu_0 5ad5a53e1c5b1c2f
//     schedule vectors lanes=8
//     buffer b0 float32[32, 64], 8192 bytes, input
//     nest 0 product
//       schedule threads grain=1
//       schedule tile rows=4 outer=1 vectors=2 unroll=4 epilogue=once
//       ...
//       parallel, at least 1 to a thread
//         for a0 = 32 by 8: block of rows
#include "bycc/Loops/PrintLoops.h"

#include "PrintExpr.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc::loops {
namespace {

const char *yesNo(bool value) { return value ? "yes" : "no"; }

const char *reduceName(Reduce reduce) {
  switch (reduce) {
  case Reduce::None:
    return "";
  case Reduce::Sum:
    return "sum";
  case Reduce::Prod:
    return "prod";
  case Reduce::Max:
    return "max";
  case Reduce::Min:
    return "min";
  case Reduce::All:
    return "all";
  case Reduce::Any:
    return "any";
  }
  return "";
}

std::string text(int64_t value) { return std::to_string(value); }
std::string bufferName(uint32_t buffer) { return "b" + std::to_string(buffer); }

class KernelPrinter {
public:
  explicit KernelPrinter(const KernelCode &code)
      : code_(code), loops_(code.loops), exprs_(code.loops.kernel.exprs), names_(exprs_) {}

  std::string run() {
    line(0, "kernel " + code_.name + " " + code_.fingerprint);
    line(1, "schedule vectors lanes=" + text(loops_.schedule.lanes));
    for (const SplitSchedule &split : loops_.schedule.splits)
      line(1, "schedule split " + bufferName(split.buffer) + " chunk=" + text(split.chunk));
    for (uint32_t b = 0; b < loops_.kernel.buffers.size(); ++b)
      printBuffer(b);
    for (size_t n = 0; n < loops_.nests.size(); ++n) {
      bool isProduct = loops_.nests[n].contraction.has_value();
      line(1, "nest " + std::to_string(n) + (isProduct ? " product" : " rows"));
      if (isProduct)
        printProduct(*loops_.nests[n].contraction, loops_.schedule.nests[n]);
      else
        printRows(loops_.nests[n], loops_.schedule.nests[n]);
    }
    return out_;
  }

private:
  void line(size_t depth, const std::string &text) {
    out_ += std::string(2 * depth, ' ') + text + "\n";
  }

  std::string extent(uint32_t axis) { return names_.of(exprs_.extent(axis)); }
  std::string range(uint32_t axis) { return names_.axis(axis) + " = " + extent(axis); }

  // --- buffers

  const NestStage *localStage(uint32_t buffer) const {
    for (const Nest &nest : loops_.nests)
      for (const NestStage &inner : nest.stages)
        if (inner.isLocal && inner.stage.buffer == buffer)
          return &inner;
    return nullptr;
  }

  // Where it is: given, in the arena, in a thread's scratch, in a register, or nowhere.
  std::string placeOf(uint32_t buffer) const {
    const Buffer &b = loops_.kernel.buffers[buffer];
    if (b.role == Role::Input)
      return std::string(b.isConstant ? "constant" : "input") +
             (loops_.isArgument(buffer) ? "" : ", not read");
    if (b.role == Role::Output)
      return "output";
    for (const PackSpec &spec : loops_.packs)
      if (spec.packed == buffer)
        return "panels of " + bufferName(spec.source);
    for (const Nest &nest : loops_.nests)
      if (nest.contraction && nest.contraction->packed == buffer && loops_.isArgument(buffer))
        return "panels of " + bufferName(nest.contraction->vector.buffer);
      else if (nest.contraction && exprs_[nest.contraction->result].i == buffer &&
               !loops_.isArgument(buffer))
        return "sums in registers";
    if (const NestStage *inner = localStage(buffer))
      return inner->isRegister ? "a register of a row" : "scratch of a row";
    return loops_.isArgument(buffer) ? "stored" : "inlined";
  }

  // In memory: of what is local, for one row (or one for each lane).
  std::optional<int64_t> bytesOf(uint32_t buffer) const {
    const Buffer &b = loops_.kernel.buffers[buffer];
    int64_t bytes = sizeInBytes(b.type);
    for (size_t n = 0; n < loops_.nests.size(); ++n)
      for (const NestStage &inner : loops_.nests[n].stages) {
        if (inner.stage.buffer != buffer || !inner.isLocal || inner.isRegister)
          continue;
        for (uint32_t axis : inner.stage.axes)
          bytes *= *exprs_.constantExtent(axis);
        return bytes *
               (loops_.schedule.nests[n].lanes == LanesRun::Across ? loops_.schedule.lanes : 1);
      }
    if (b.role == Role::Temp && !loops_.isArgument(buffer))
      return std::nullopt;
    for (Ref extent : b.shape) {
      if (!exprs_.constant(extent))
        return std::nullopt;
      bytes *= *exprs_.constant(extent);
    }
    return bytes;
  }

  void printBuffer(uint32_t buffer) {
    const Buffer &b = loops_.kernel.buffers[buffer];
    std::string shape;
    for (Ref extent : b.shape)
      shape += (shape.empty() ? "" : ", ") + names_.of(extent);
    auto bytes = bytesOf(buffer);
    line(1, "buffer " + bufferName(buffer) + " " + std::string(name(b.type)) + "[" + shape + "], " +
                (bytes ? text(*bytes) + " bytes, " : "") + placeOf(buffer));
  }

  // --- products

  std::string tileText(const TileSchedule &tile) const {
    return " unroll=" + text(tile.unroll) + " epilogue=" + (tile.loopsEpilogue ? "loop" : "once");
  }

  void printProductSchedule(const Contraction &c, const NestSchedule &schedule) {
    const ProductSchedule &p = *schedule.product;
    line(2, "schedule threads grain=" + text(schedule.grain));
    line(2, "schedule block rows=" + text(p.blockRows) + " tiles=" + text(p.blockTiles) +
                " copied=" + yesNo(p.copiesRows) +
                (p.copiesRows ? " copied-grain=" + text(p.rowGrain) : ""));
    line(2, "schedule tile rows=" + text(p.tile.rows) + " outer=" + text(p.tile.outerRows) +
                " vectors=" + text(p.tile.vectors) + tileText(p.tile));
    if (!c.windows.empty())
      line(2, std::string("schedule padding skipped=") + yesNo(p.skipsPadding));
    for (const TileSchedule &rest : p.rests)
      line(2, "schedule rest " + text(rest.rows) + "x" + text(rest.outerRows) + "x" +
                  text(rest.vectors) + tileText(rest));
    const char *made[] = {"never", "compiling", "running"};
    line(2, std::string("schedule panels made=") + made[static_cast<size_t>(p.packing)] +
                (p.packing == Packing::InPlace ? "" : " prefetch=" + text(p.prefetchAhead)) +
                (p.packing == Packing::RunTime ? " grain=" + text(p.panelGrain) : ""));
  }

  void printProduct(const Contraction &c, const NestSchedule &schedule) {
    const ProductSchedule &p = *schedule.product;
    printProductSchedule(c, schedule);
    names_.setName(c.result, "sum");
    size_t depth = 2;
    if (p.packing == Packing::RunTime)
      line(depth, bufferName(c.packed) + " = panels of " + bufferName(c.vector.buffer) +
                      threadsText(p.panelGrain));
    if (p.copiesRows)
      line(depth, bufferName(c.copied) + " = rows of " + bufferName(c.broadcast.buffer) +
                      threadsText(p.rowGrain));
    auto open = [&](const std::string &what) { line(depth++, what); };
    open("items" + threadsText(schedule.grain));
    for (uint32_t axis : c.batch)
      open("for " + range(axis) + ": batch");
    uint32_t blocked = c.outerRow != noAxis ? c.outerRow : c.innerRow;
    if (blocked != noAxis)
      open("for " + range(blocked) + " by " + text(p.blockRows) + ": block of rows");
    int64_t tileLanes = p.tile.vectors * loops_.schedule.lanes;
    open("for " + range(c.column) + " by " + text(p.blockTiles * tileLanes) + ": block of columns");
    open("for " + names_.axis(c.column) + " by " + text(tileLanes) + ": " + text(p.tile.vectors) +
         " vectors of " + text(loops_.schedule.lanes));
    if (c.outerRow != noAxis)
      open("for " + names_.axis(c.outerRow) + " by " + text(p.tile.outerRows) + ": rows");
    if (c.innerRow != noAxis)
      open("for " + (c.outerRow == noAxis ? names_.axis(c.innerRow) : range(c.innerRow)) + " by " +
           text(p.tile.rows) + ": rows");
    size_t tileDepth = depth;
    for (uint32_t axis : c.reduction)
      open("for " + range(axis) + (axis == c.reduction.back() ? " by " + text(p.tile.unroll) : "") +
           windowText(c, p, axis) + ": sum");
    line(depth,
         "registers += " + operandText(c.broadcast, "broadcast") + " * " +
             (p.packing == Packing::InPlace ? operandText(c.vector, "vectors") : panelsText(c)));
    line(tileDepth, stageText(c.epilogue, c.epilogue.body) +
                        (c.isTransposed && c.innerRow != noAxis
                             ? ", lanes along " + names_.axis(c.innerRow) + " after a transposition"
                             : ", lanes along " + names_.axis(c.column)));
  }

  std::string windowText(const Contraction &c, const ProductSchedule &p, uint32_t tap) {
    std::string where;
    for (const Window &window : c.windows)
      if (p.skipsPadding && window.tap == tap)
        where += " where 0 <= " + names_.of(window.first) + " + " + names_.axis(tap) +
                 (window.dilation == 1 ? "" : " * " + text(window.dilation)) + " < " +
                 names_.of(window.elements);
    return where;
  }

  std::string panelsText(const Contraction &c) {
    std::string text = bufferName(c.packed) + " (panels)";
    if (!c.decoding)
      return text;
    const Decoding &how = *c.decoding;
    return "((" + text + (how.halves == noAxis ? "" : ", half " + names_.axis(how.halves)) + " - " +
           (how.zero ? bufferName(how.packedZero) : formatDouble(how.number)) + ") * " +
           bufferName(how.packedScale) + ")";
  }

  std::string operandText(const Operand &operand, const char *how) {
    return bufferName(operand.buffer) + "[" + names_.of(operand.index) + "] (" + how + ")";
  }

  static std::string threadsText(int64_t grain) {
    return grain == 0 ? ", on one thread"
                      : ", in parallel, at least " + text(grain) + " to a thread";
  }

  // --- rows

  void printRows(const Nest &nest, const NestSchedule &schedule) {
    const char *laneWords[] = {"along", "across", "turned"};
    line(2, "schedule threads grain=" + text(schedule.grain));
    line(2, std::string("schedule lanes run=") + laneWords[static_cast<size_t>(schedule.lanes)] +
                " chunk=" + text(schedule.chunk) + " jam=" + text(schedule.jam));
    const char *tails[] = {"none", "repeat", "mask"};
    for (size_t s = 0; s < nest.stages.size(); ++s) {
      const StageSchedule &stage = schedule.stages[s];
      line(2, "schedule stage " + bufferName(nest.stages[s].stage.buffer) + " vector=" +
                  yesNo(stage.isVector) + " tail=" + tails[static_cast<size_t>(stage.tail)] +
                  " ways=" + text(stage.ways) + " unroll=" + text(stage.unrolledAxes) +
                  " unroll-sum=" + text(stage.unrolledReduction));
    }
    size_t depth = 2;
    line(depth++, "items" + threadsText(schedule.grain));
    for (uint32_t axis : nest.rows)
      line(depth++,
           "for " + range(axis) +
               (schedule.lanes != LanesRun::Along && axis == nest.rows.back()
                    ? " by " + text(loops_.schedule.lanes) + ": lanes"
                : axis == jammedAxis(nest, schedule) ? " by " + text(schedule.jam) + ": together"
                                                     : ""));
    for (const NestStage &inner : nest.stages)
      printStage(depth, inner, schedule.lanes == LanesRun::Turned);
  }

  void printStage(size_t depth, const NestStage &inner, bool isTurned) {
    const Stage &stage = inner.stage;
    auto loop = [&](uint32_t axis, const std::string &what) {
      line(depth++,
           "for " + range(axis) +
               (axis == inner.vectorAxis ? " by " + text(loops_.schedule.lanes) + ": lanes" : "") +
               what);
    };
    std::string lanes = text(loops_.schedule.lanes);
    for (uint32_t axis : stage.axes)
      loop(axis, isTurned && axis == stage.axes.back() ? " by " + lanes + ": columns" : "");
    size_t storeDepth = depth;
    for (uint32_t axis : stage.reduceAxes)
      loop(axis, axis == inner.vectorAxis ? ", reduced" : ": reduced");
    line(stage.reduceAxes.empty() ? storeDepth : depth,
         stageText(stage, stage.body) +
             (isTurned
                  ? ", lanes along " + names_.axis(stage.axes.back()) + " after a transposition"
                  : ""));
  }

  std::string stageText(const Stage &stage, Ref body) {
    std::string index = stage.store == noRef ? "" : names_.of(stage.store);
    std::string reduce = reduceName(stage.reduce);
    std::string value = names_.of(body);
    if (!reduce.empty())
      value = reduce + "(" + value + ")";
    return bufferName(stage.buffer) + "[" + index + "] = " + value;
  }

  const KernelCode &code_;
  const Loops &loops_;
  const Exprs &exprs_;
  ExprText names_;
  std::string out_;
};

} // namespace

std::string printKernel(const KernelCode &code) { return KernelPrinter(code).run(); }

} // namespace bycc::loops
