// The steps of schedule(), of which Loops.h says what they make.
#pragma once

#include "bycc/Loops/Loops.h"

namespace bycc::loops {

// A function of many instructions.
bool isCostly(Op op);
// A sum whose loads must stay neighbours in memory.
bool isProductOfPairs(const Exprs &exprs, const Stage &stage);

void inlineStages(Kernel &kernel);
// Which axis of a reduction is divided into parts, and into which.
struct SplitRange {
  uint32_t axis = noAxis; // none can be
  bool isProduct = false; // parts are equal
};
SplitRange splitRange(const Kernel &kernel, const Stage &stage, const TargetFacts &facts);
void splitReductions(Kernel &kernel, const std::vector<SplitSchedule> &splits,
                     const TargetFacts &facts);
// The axes with their strides in a row-major store, outer first; nullopt when it is none.
std::optional<std::vector<std::pair<uint32_t, Ref>>>
byStride(Exprs &exprs, const std::vector<uint32_t> &axes, Ref store);
std::optional<Contraction> findContraction(Kernel &kernel, const Stage &stage,
                                           const TargetFacts &facts);
// Cycles of a product for each step of its reduction, with the best tile.
double productCycles(const TargetFacts &facts, int64_t columns, int64_t rows);
// With the epilogue known: joins row axes that every index steps through as one.
void joinRows(Kernel &kernel, Contraction &contraction);
// Neighbouring axes of a nest without a contraction.
void joinAxes(Kernel &kernel, Nest &nest);
void findLoops(Loops &loops, const TargetFacts &facts);
// The row axis that all loads of the only stage, a map, are contiguous along or do not move with,
// where some are not so along its own axis, but its store is; noAxis: there is none.
uint32_t turnedRow(const Exprs &exprs, const Nest &nest);
// Makes panels and chunks, and gives lanes their axes.
void applyShapes(Loops &loops);
// Gives row-local buffers their place, and the kernel its arguments.
void finishLoops(Loops &loops);

// The panels of a product (Panels.cpp); those of constants are added to `packs`.
void makePanels(Loops &loops, Contraction &contraction, const ProductSchedule &product);
// Whether the vector operand is a constant, and all extents of its panels are known.
bool canPackConstant(const Kernel &kernel, const Contraction &contraction);
// Whether it can be read where it is.
bool canReadInPlace(const Kernel &kernel, const Contraction &contraction, const TargetFacts &facts);
// How many elements the rows of the broadcast operand have, side by side, where there is one axis of
// rows and no batch, and elements are read in turn in the steps of the reduction.
std::optional<int64_t> rowElements(const Kernel &kernel, const Contraction &contraction);
// Windows that overlap: fewer elements than steps of the axes.
bool readsAgain(const Exprs &exprs, Ref index, const std::vector<uint32_t> &columns,
                const std::vector<uint32_t> &reduction);
// Of an element of the panels.
DType panelType(const Kernel &kernel, const Contraction &contraction, Packing packing);

} // namespace bycc::loops
