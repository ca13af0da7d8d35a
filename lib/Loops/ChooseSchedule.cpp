// The schedule of row nests, and what products and rows share: which axis the vector lanes run
// over (the one along which most loads and stores are contiguous), chunks, how stages step
// through their lanes, and how many iterations are worth a thread. Products: ChooseTile.cpp.
#include "ChooseSchedule.h"

#include "LoopSteps.h"

#include <algorithm>
#include <cmath>

namespace bycc::loops {
namespace {

constexpr int64_t chunkElements = 2048; // a long innermost loop is divided into such rows
constexpr int64_t mostChunk = 1 << 24;
constexpr int64_t mostPart = int64_t{1} << 40; // of a reduction
constexpr int64_t mostWays = 8;
constexpr double longReduction = 100000; // elements that are worth threads of their own
constexpr size_t mostTurned = 40;        // expressions of a body that is written out for each lane

// The axis that lanes can run along: the last one of what is reduced, or of what stays.
uint32_t ownAxis(const Stage &stage) {
  const std::vector<uint32_t> &axes = stage.reduce == Reduce::None ? stage.axes : stage.reduceAxes;
  return axes.empty() ? noAxis : axes.back();
}

bool reduces(const Nest &nest) {
  return std::ranges::any_of(
      nest.stages, [](const NestStage &inner) { return inner.stage.reduce != Reduce::None; });
}

} // namespace

uint32_t turnedRow(const Exprs &exprs, const Nest &nest) {
  if (nest.contraction || nest.stages.size() != 1)
    return noAxis;
  const Stage &stage = nest.stages[0].stage;
  if (stage.reduce != Reduce::None || stage.axes.empty() ||
      exprs.coefficient(stage.store, stage.axes.back()) != 1)
    return noAxis;
  std::vector<Ref> indices;
  exprs.visit(stage.body, [&](Ref ref) {
    if (exprs[ref].op == Op::Load)
      indices.push_back(exprs[ref].a);
    return true;
  });
  auto isFar = [&](Ref index) { // along the stage's own axis
    auto step = exprs.coefficient(index, stage.axes.back());
    return !step || *step < 0 || *step > 4;
  };
  for (uint32_t row : nest.rows) {
    bool fits = true, turns = false;
    for (Ref index : indices) {
      auto step = exprs.coefficient(index, row);
      fits = fits && (step == 0 || step == 1);
      turns = turns || (step == 1 && isFar(index));
    }
    if (fits && turns)
      return row;
  }
  return noAxis;
}

// --- edits

int64_t ScheduleChooser::number(const std::string &key, int64_t chosen, int64_t least, int64_t most,
                                const char *why, int64_t multipleOf) {
  BYCC_ASSERT(chosen >= least && chosen <= most && chosen % multipleOf == 0,
              "the choice for '" + key + "' is a possible one");
  if (!edits_)
    return chosen;
  auto value = edits_->number(prefix_ + key);
  if (!value)
    return chosen;
  bool isWithin = *value >= least && *value <= most;
  if (isWithin && *value % multipleOf == 0)
    return *value;
  refuse(key, isWithin ? std::string(why) + " must be a multiple of " + std::to_string(multipleOf)
                       : std::string(why) + ": " +
                             (least == most ? "only " + std::to_string(least) + " is"
                                            : std::to_string(least) + " to " +
                                                  std::to_string(most) + " are") +
                             " possible here");
  return chosen;
}

size_t ScheduleChooser::word(const std::string &key, size_t chosen,
                             const std::vector<std::string> &words,
                             const std::vector<bool> &possible, const char *why) {
  BYCC_ASSERT(possible[chosen], "the choice for '" + key + "' is a possible one");
  if (!edits_)
    return chosen;
  auto text = edits_->word(prefix_ + key);
  if (!text)
    return chosen;
  std::string known;
  for (size_t w = 0; w < words.size(); ++w) {
    if (words[w] == *text && possible[w])
      return w;
    if (possible[w])
      known += (known.empty() ? "" : ", ") + words[w];
  }
  refuse(key, "possible here: " + known + (*why ? std::string("; ") + why : ""));
  return chosen;
}

int64_t ScheduleChooser::grain(const std::string &key, int64_t chosen) {
  if (isOfStrips_)
    return number(key, 0, 0, 0, "a strip runs on one thread");
  return number(key, chosen, 0, mostChunk, "work items for a thread");
}

std::optional<int64_t> ScheduleChooser::product(const std::vector<uint32_t> &axes) const {
  int64_t n = 1;
  for (uint32_t axis : axes) {
    auto extent = extentOf(axis);
    if (!extent)
      return std::nullopt;
    n *= *extent;
  }
  return n;
}

// Nothing to hand out where there is too little work. An open count may be any: the pool splits
// it by the grain when it is known.
int64_t ScheduleChooser::grainOf(std::optional<int64_t> count, double itemCycles) const {
  if (isOfStrips_ ||
      (count && (*count <= 1 || static_cast<double>(*count) * itemCycles <= facts_.parallelCycles)))
    return 0;
  return std::max<int64_t>(1, static_cast<int64_t>(facts_.grainCycles / std::max(itemCycles, 1.0)));
}

// --- splits

void ScheduleChooser::chooseSplits(Schedule &schedule) {
  prefix_ = "";
  for (const Stage &stage : kernel_.stages) {
    if (stage.reduce == Reduce::None || (!edits_ && elementsOf(stage.reduceAxes) < longReduction))
      continue;
    SplitRange range = splitRange(kernel_, stage, facts_);
    std::string key = "split b" + std::to_string(stage.buffer) + " chunk";
    int64_t most = range.axis == noAxis ? 0 : extentOf(range.axis).value_or(mostPart);
    int64_t chunk =
        number(key, splitOf(stage, range), 0, most, "elements of a part of a reduction (0: none)");
    if (chunk > 0 && range.isProduct && *extentOf(range.axis) % chunk != 0)
      refuse(key, "parts of a product are equal");
    else if (chunk > 0)
      schedule.splits.push_back({stage.buffer, chunk});
  }
}

// Not where there are results enough for threads to share (a product makes a vector of them at
// once), nor where one row after the other stays in the second cache while it is read again.
bool ScheduleChooser::isWorthSplitting(const Stage &stage, const SplitRange &range) const {
  constexpr double enoughRows = 16;
  double elements = elementsOf(stage.reduceAxes), rows = elementsOf(stage.axes);
  if (isOfStrips_ || range.axis == noAxis || elements < longReduction)
    return false;
  if (range.isProduct)
    rows = std::ceil(rows / static_cast<double>(facts_.lanes));
  bool isReadAgain = std::ranges::any_of(kernel_.stages, [&](const Stage &other) {
    return other.buffer != stage.buffer && iterations(other) >= iterations(stage);
  });
  double rowBytes = elements * static_cast<double>(sizeInBytes(exprs_.type(stage.body)));
  bool isKept = rows > 1 && isReadAgain && rowBytes <= static_cast<double>(facts_.l2Bytes);
  return rows > 0 && rows < enoughRows && !isKept;
}

// Elements of a part, a function of extents alone; equal parts where there can be such.
int64_t ScheduleChooser::splitOf(const Stage &stage, const SplitRange &range) const {
  constexpr int64_t wantedItems = 64;
  if (!isWorthSplitting(stage, range))
    return 0;
  int64_t extent = likely(range.axis), rows = static_cast<int64_t>(elementsOf(stage.axes));
  int64_t wanted = ceilDiv(wantedItems, range.isProduct ? ceilDiv(rows, facts_.lanes) : rows);
  bool isAlongLanes = !range.isProduct && range.axis == stage.reduceAxes.back();
  int64_t step = isAlongLanes ? facts_.lanes * 4 : 1; // whole vectors
  for (int64_t parts = wanted; parts <= 2 * wanted; ++parts)
    if (extent % (parts * step) == 0)
      return extent / parts;
  while (range.isProduct && extent % wanted != 0)
    --wanted;
  int64_t chunk = ceilDiv(ceilDiv(extent, wanted), step) * step;
  return chunk < extent ? chunk : 0;
}

// --- shapes

void ScheduleChooser::chooseShapes(const std::vector<Nest> &nests, Schedule &schedule) {
  prefix_ = "";
  schedule.lanes = number("vectors lanes", facts_.lanes, facts_.lanes, facts_.lanes,
                          "lanes of the target's vectors");
  for (size_t n = 0; n < nests.size(); ++n) {
    const Nest &nest = nests[n];
    NestSchedule &made = schedule.nests.emplace_back();
    if (edits_)
      prefix_ = "nest " + std::to_string(n) + " ";
    if (!nest.contraction) {
      chooseLanes(nest, made);
      chooseChunk(nest, made);
      continue;
    }
    const Contraction &c = *nest.contraction;
    ProductSchedule &product = made.product.emplace();
    chooseRows(c, product);
    chooseTile(c, product);
    chooseUnroll(c, product.tile, "tile", product.tile);
    chooseRests(c, product);
    choosePanels(c, product);
    chooseBlocks(c, made);
  }
}

double ScheduleChooser::elementsOf(const std::vector<uint32_t> &axes) const {
  double product = 1;
  for (uint32_t axis : axes)
    product *= static_cast<double>(likely(axis));
  return product;
}

double ScheduleChooser::iterations(const Stage &stage) const {
  return elementsOf(stage.axes) * elementsOf(stage.reduceAxes);
}

double ScheduleChooser::contiguity(const Stage &stage, uint32_t axis) const {
  double score = 0, count = 0;
  auto add = [&](Ref index) {
    auto step = exprs_.coefficient(index, axis);
    score += !step ? -2 : *step == 1 ? 2 : *step == 0 ? 1 : *step <= 4 && *step > 0 ? 0.5 : -2;
    ++count;
  };
  exprs_.visit(stage.body, [&](Ref ref) {
    if (exprs_[ref].op == Op::Load)
      add(exprs_[ref].a);
    return true;
  });
  if (stage.reduce == Reduce::None ||
      std::find(stage.reduceAxes.begin(), stage.reduceAxes.end(), axis) == stage.reduceAxes.end())
    add(stage.store);
  auto lanes = static_cast<double>(facts_.lanes);
  return score / std::max(count, 1.0) * std::min(static_cast<double>(likely(axis)), lanes) / lanes;
}

void ScheduleChooser::chooseLanes(const Nest &nest, NestSchedule &schedule) {
  double within = 0, across = 0;
  for (const NestStage &inner : nest.stages) {
    double weight = iterations(inner.stage);
    if (uint32_t own = ownAxis(inner.stage); own != noAxis)
      within += weight * contiguity(inner.stage, own);
    if (!nest.rows.empty())
      across += weight * contiguity(inner.stage, nest.rows.back());
  }
  bool canBeAcross = reduces(nest) && !nest.rows.empty();
  uint32_t turned = turnedRow(exprs_, nest);
  bool canBeTurned = turned != noAxis;
  bool isTurned = canBeTurned && isWorthTurning(nest.stages[0].stage, turned);
  LanesRun chosen = canBeAcross && across > within ? LanesRun::Across
                    : isTurned                     ? LanesRun::Turned
                                                   : LanesRun::Along;
  schedule.lanes = static_cast<LanesRun>(
      word("lanes run", static_cast<size_t>(chosen), {"along", "across", "turned"},
           {true, canBeAcross, canBeTurned},
           "across rows of reductions, turned where what is read lies along a row axis"));
  for (const NestStage &inner : nest.stages) {
    StageSchedule &stage = schedule.stages.emplace_back();
    bool canBeVector = schedule.lanes == LanesRun::Along && ownAxis(inner.stage) != noAxis;
    stage.isVector = word("stage b" + std::to_string(inner.stage.buffer) + " vector", canBeVector,
                          {"no", "yes"}, {true, canBeVector}, "") == 1;
  }
}

// Worth it where blocks are half full at least, and a body short enough to stand there for each
// lane.
bool ScheduleChooser::isWorthTurning(const Stage &stage, uint32_t row) const {
  size_t size = 0;
  exprs_.visit(stage.body, [&](Ref ref) {
    size += isCostly(exprs_[ref].op) ? mostTurned / 2 : 1;
    return exprs_[ref].op != Op::Load;
  });
  return size <= mostTurned && sizeInBytes(kernel_.buffers[stage.buffer].type) <= 4 &&
         2 * std::min(likely(row), likely(stage.axes.back())) >= facts_.lanes;
}

// A long innermost loop becomes rows of fixed-size chunks, so that it can run in parallel.
void ScheduleChooser::chooseChunk(const Nest &nest, NestSchedule &schedule) {
  bool canBe = !reduces(nest) && nest.stages.size() == 1 && schedule.lanes != LanesRun::Across &&
               ownAxis(nest.stages[0].stage) != noAxis;
  if (canBe) {
    auto known = extentOf(ownAxis(nest.stages[0].stage));
    schedule.chunk = known && *known < 2 * chunkElements ? 0 : chunkElements;
  }
  schedule.chunk = number("lanes chunk", schedule.chunk, 0, canBe ? mostChunk : 0,
                          "elements of a chunk (0: none)", facts_.lanes);
}

// --- steps

void ScheduleChooser::chooseSteps(const std::vector<Nest> &nests, Schedule &schedule) {
  for (size_t n = 0; n < nests.size(); ++n) {
    const Nest &nest = nests[n];
    NestSchedule &made = schedule.nests[n];
    if (nest.contraction)
      continue;
    if (edits_)
      prefix_ = "nest " + std::to_string(n) + " ";
    bool isJammed = canJam(nest, made);
    for (size_t s = 0; s < nest.stages.size(); ++s)
      chooseStage(nest.stages[s], made.lanes, isJammed, made.stages[s]);
    chooseJam(nest, isJammed, made);
    auto step = [&](uint32_t axis) { return placesOfItem(nest, made, axis, facts_.lanes); };
    double cycles = rowCycles(nest, made);
    std::optional<int64_t> count = product(nest.rows);
    for (uint32_t axis : nest.rows)
      cycles *= static_cast<double>(step(axis));
    if (count) {
      count = 1;
      for (uint32_t axis : nest.rows)
        *count *= ceilDiv(*extentOf(axis), step(axis));
    }
    made.grain = grain("threads grain", grainOf(count, cycles));
  }
}

double ScheduleChooser::rowCycles(const Nest &nest, const NestSchedule &schedule) const {
  double cost = 0;
  for (const NestStage &inner : nest.stages) {
    double ops = 1;
    exprs_.visit(inner.stage.body, [&](Ref ref) {
      Op op = exprs_[ref].op;
      ops += op == Op::Libm1 || op == Op::Libm2     ? 40
             : (op >= Op::Exp && op <= Op::Sigmoid) ? 2
                                                    : 0.2;
      return true;
    });
    cost += iterations(inner.stage) * ops /
            (inner.vectorAxis != noAxis || schedule.lanes != LanesRun::Along ? 4 : 1);
  }
  return cost;
}

// A reduction along the lanes that is one sum waits for itself, some four cycles a vector.
// What takes longer than that to compute has no need of several.
int64_t ScheduleChooser::reductionWays(const Stage &stage, uint32_t axis) const {
  constexpr int64_t ways = 4;
  constexpr size_t smallBody = 24; // expressions
  auto known = extentOf(axis);
  if (known && *known < ways * facts_.lanes)
    return 1;
  size_t size = 0;
  exprs_.visit(stage.body, [&](Ref ref) {
    ++size;
    return exprs_[ref].op != Op::Load;
  });
  return size <= smallBody ? ways : 1;
}

// Innermost axes with few iterations in all: the body is written out for each, `most` times.
int64_t ScheduleChooser::unrolledOf(const std::vector<uint32_t> &axes, int64_t most) const {
  for (size_t from = 0; from < axes.size(); ++from) {
    int64_t n = 1;
    bool isKnown = true;
    for (size_t d = from; d < axes.size() && isKnown; ++d) {
      auto extent = extentOf(axes[d]);
      isKnown = extent && *extent <= most;
      n *= extent.value_or(0);
    }
    if (isKnown && n <= most)
      return static_cast<int64_t>(axes.size() - from);
  }
  return 0;
}

// Sums of one place wait for each other, some four cycles a step: as many places as hide that, if
// they divide the axis into few items, and the code for all of them stays short.
int64_t ScheduleChooser::jamOf(const Nest &nest, const NestSchedule &schedule) const {
  constexpr int64_t mostCode = 600; // expressions of values, not of indices, that are written out
  int64_t code = 0;
  for (size_t s = 0; s < nest.stages.size(); ++s) {
    const Stage &stage = nest.stages[s].stage;
    int64_t size = 0;
    exprs_.visit(stage.body, [&](Ref ref) {
      DType type = exprs_.type(ref);
      size += isCostly(exprs_[ref].op) ? 20 : type != DType::Int64 && type != DType::Bool;
      return exprs_[ref].op != Op::Load;
    });
    for (int64_t d = 0; d < schedule.stages[s].unrolledReduction; ++d)
      size *= *extentOf(stage.reduceAxes[stage.reduceAxes.size() - 1 - static_cast<size_t>(d)]);
    code += size;
  }
  int64_t extent = likely(nest.rows[nest.rows.size() - 2]), best = 1;
  int64_t most = std::min<int64_t>({extent, 8, mostCode / std::max<int64_t>(code, 1)});
  auto cost = [&](int64_t jam) { return ceilDiv(extent, jam) * (jam + 1); };
  for (int64_t jam = 2; jam <= most; ++jam)
    if (cost(jam) <= cost(best))
      best = jam;
  return best;
}

// All stages make one value for each place, in as many steps.
bool ScheduleChooser::canJam(const Nest &nest, const NestSchedule &schedule) const {
  if (schedule.lanes != LanesRun::Across || nest.rows.size() < 2)
    return false;
  uint32_t along = nest.rows[nest.rows.size() - 2];
  auto isSame = [&](uint32_t axis) { return !exprs_.uses(exprs_.extent(axis), along); };
  return likely(along) > 1 && std::ranges::all_of(nest.stages, [&](const NestStage &inner) {
           return inner.stage.axes.empty() && (inner.isRegister || !inner.isLocal) &&
                  std::ranges::all_of(inner.stage.reduceAxes, isSame);
         });
}

void ScheduleChooser::chooseJam(const Nest &nest, bool canBe, NestSchedule &schedule) {
  constexpr int64_t mostJam = 16;
  std::optional<int64_t> extent = canBe ? extentOf(nest.rows[nest.rows.size() - 2]) : 1;
  int64_t most = std::clamp<int64_t>(extent.value_or(mostJam), 1, mostJam);
  schedule.jam =
      number("lanes jam", canBe ? jamOf(nest, schedule) : 1, 1, most, "places made together");
}

void ScheduleChooser::chooseStage(const NestStage &inner, LanesRun lanes, bool isJammed,
                                  StageSchedule &stage) {
  const Stage &what = inner.stage;
  std::string key = "stage b" + std::to_string(what.buffer) + " ";
  auto known = inner.vectorAxis == noAxis ? std::nullopt : extentOf(inner.vectorAxis);
  bool isWhole = inner.vectorAxis == noAxis || (known && *known % facts_.lanes == 0);
  bool mayRepeat = what.reduce == Reduce::None && known && *known > facts_.lanes;
  Tail tail = isWhole ? Tail::None : mayRepeat ? Tail::Repeat : Tail::Mask;
  stage.tail =
      static_cast<Tail>(word(key + "tail", static_cast<size_t>(tail), {"none", "repeat", "mask"},
                             {isWhole, !isWhole && mayRepeat, !isWhole},
                             "only maps of more than a vector repeat elements"));
  bool hasWays = what.reduce != Reduce::None && inner.vectorAxis != noAxis;
  stage.ways = number(key + "ways", hasWays ? reductionWays(what, inner.vectorAxis) : 1, 1,
                      hasWays ? mostWays : 1, "sums of a reduction along lanes");
  if (stage.ways & (stage.ways - 1))
    refuse(key + "ways", "sums of a reduction are a power of two");
  auto unrolled = [&](const char *name, const std::vector<uint32_t> &axes) {
    constexpr int64_t copies = 32, jammedCopies = 12; // of the body
    int64_t most =
        lanes == LanesRun::Across ? unrolledOf(axes, isJammed ? jammedCopies : copies) : 0;
    return number(key + name, most, 0, most, "innermost axes that are written out");
  };
  stage.unrolledAxes = unrolled("unroll", what.axes);
  stage.unrolledReduction = unrolled("unroll-sum", what.reduceAxes);
}

} // namespace bycc::loops
