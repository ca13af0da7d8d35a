// Chooses the schedule of loops: one object for a kernel, asked in three steps, since nests depend
// on which reductions are split, and what the rows of a nest cost is known once it has its chunks.
#pragma once

#include "LoopSteps.h"
#include "bycc/Loops/ScheduleEdits.h"

namespace bycc::loops {

class ScheduleChooser {
public:
  // `edits` may be null; else they are followed, and told of what cannot be.
  ScheduleChooser(const Kernel &kernel, const TargetFacts &facts, bool isOfStrips,
                  KernelEdits *edits)
      : kernel_(kernel), exprs_(kernel.exprs), facts_(facts), isOfStrips_(isOfStrips),
        edits_(edits) {}

  // Which reductions are made of parts, before there are nests.
  void chooseSplits(Schedule &schedule);
  // Tiles, panels and blocks of products; which axis lanes run over, and chunks.
  void chooseShapes(const std::vector<Nest> &nests, Schedule &schedule);
  // How stages of rows step through their lanes, and the grain of parallel loops.
  void chooseSteps(const std::vector<Nest> &nests, Schedule &schedule);

private:
  // --- products (ChooseTile.cpp)
  bool isWorthCopying(const Contraction &c) const;
  void chooseRows(const Contraction &c, ProductSchedule &product);
  void chooseTile(const Contraction &c, ProductSchedule &product);
  void chooseUnroll(const Contraction &c, const TileSchedule &of, const std::string &group,
                    TileSchedule &tile);
  void chooseRests(const Contraction &c, ProductSchedule &product);
  void choosePanels(const Contraction &c, ProductSchedule &product);
  void chooseBlocks(const Contraction &c, NestSchedule &nest);
  std::optional<int64_t> itemsOf(const Contraction &c, const ProductSchedule &p) const;
  int64_t unrollOf(const Contraction &c, const TileSchedule &tile) const;
  void checkTile(const Contraction &c, const TileSchedule &tile);

  // --- rows
  bool isWorthSplitting(const Stage &stage, const SplitRange &range) const;
  int64_t splitOf(const Stage &stage, const SplitRange &range) const;
  void chooseLanes(const Nest &nest, NestSchedule &schedule);
  void chooseChunk(const Nest &nest, NestSchedule &schedule);
  void chooseJam(const Nest &nest, bool canBe, NestSchedule &schedule);
  void chooseStage(const NestStage &inner, LanesRun lanes, bool isJammed, StageSchedule &stage);
  bool isWorthTurning(const Stage &stage, uint32_t row) const;
  double contiguity(const Stage &stage, uint32_t axis) const;
  double elementsOf(const std::vector<uint32_t> &axes) const; // that they likely have
  double iterations(const Stage &stage) const;
  int64_t jamOf(const Nest &nest, const NestSchedule &schedule) const;
  bool canJam(const Nest &nest, const NestSchedule &schedule) const;
  double rowCycles(const Nest &nest, const NestSchedule &schedule) const;
  int64_t reductionWays(const Stage &stage, uint32_t axis) const;
  int64_t unrolledOf(const std::vector<uint32_t> &axes, int64_t most) const;
  int64_t grainOf(std::optional<int64_t> count, double itemCycles) const;

  // --- edits: what the file says for the key, or what was chosen
  int64_t number(const std::string &key, int64_t chosen, int64_t least, int64_t most,
                 const char *why, int64_t multipleOf = 1);
  size_t word(const std::string &key, size_t chosen, const std::vector<std::string> &words,
              const std::vector<bool> &possible, const char *why);
  int64_t grain(const std::string &key, int64_t chosen);
  void refuse(const std::string &key, const std::string &reason) {
    if (edits_)
      edits_->refuse(prefix_ + key, reason);
  }

  int64_t likely(uint32_t axis) const { return axis == noAxis ? 1 : kernel_.likelyExtent(axis); }
  std::optional<int64_t> extentOf(uint32_t axis) const { return exprs_.constantExtent(axis); }
  std::optional<int64_t> product(const std::vector<uint32_t> &axes) const;

  const Kernel &kernel_;
  const Exprs &exprs_;
  const TargetFacts &facts_;
  bool isOfStrips_;
  KernelEdits *edits_;
  std::string prefix_; // of keys: the nest that is chosen for
};

} // namespace bycc::loops
