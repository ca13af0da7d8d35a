// Better plans by many small changes: tiles of an item or a region are given to others,
// with the regions of neighbours joined as far as that is legal, and a change that makes
// the plan dearer stays now and then, less and less (Kirkpatrick et al. 1983). Unlike
// sweeps and the rounding of a relaxation it knows what regions really form, which is
// most of the matter where launches are dear. Draws are of its own, and the same on any
// machine.
#pragma once

#include "PlanProblem.h"

#include <optional>
#include <vector>

namespace bycc {

class PlanAnnealing {
public:
  explicit PlanAnnealing(const PlanProblem &problem); // which must outlive it

  // A plan that takes less than a legal one, if one is found until `steps`, which are
  // counted down, are used up.
  std::optional<PlanAnswer> improve(const PlanAnswer &plan, uint64_t &steps);

private:
  struct Region { // its items stand together in sequence_
    uint32_t vendor = PlanProblem::host, label = 0;
    uint32_t begin = 0, size = 0; // none: not in use
    int64_t ops = 0;
    double flops = 0;
    uint32_t numExempt = 0;
  };

  // --- draws
  uint32_t draw(uint32_t count); // below it
  double drawLevel();            // of an exponential law with mean 1, about

  // --- a plan, and changes that are kept or undone together
  void start(const PlanAnswer &plan);
  void begin();
  void undo();
  void commit();
  void saveItem(uint32_t item);
  void saveRegion(uint32_t region);
  void saveSequence(uint32_t begin, uint32_t end);
  void touchTensors(uint32_t item);
  void setTile(uint32_t item, uint32_t tile);
  void setRegion(uint32_t item, uint32_t region);
  void count(uint32_t region, uint32_t item, int sign);
  void empty(uint32_t region);
  uint32_t newRegion(uint32_t vendor, uint32_t label);
  double timeOfTensor(uint32_t tensor);
  double shortfall(const Region &region) const;

  // --- parts of changes
  // Of regions: more than there can be at once, with those that a change leaves empty.
  uint32_t numNames() const { return 3 * problem_.size(); }
  uint32_t vendorOf(uint32_t item) const { return problem_.tiles[tile_[item]].vendor; }
  bool isFirst(uint32_t item) const {
    return problem_.tileMembers[problem_.tiles[tile_[item]].membersBegin] == item;
  }
  uint32_t groupOf(uint32_t item) const { // regions, then items of the host
    return region_[item] == PlanProblem::none ? numNames() + item : region_[item];
  }
  bool put(std::span<const uint32_t> tiles);
  bool breakUp(uint32_t tile);
  bool takeOut(uint32_t number);
  bool isCutThrough(std::span<const uint32_t> items);
  void layOut(std::vector<uint32_t> &items, uint32_t &place, uint32_t &name, const Region &like);
  bool form(uint32_t tile);
  bool isApartIn(uint32_t tile, uint32_t region) const;
  bool isAnyApart(uint32_t region, uint32_t other) const;
  bool merge(uint32_t region, uint32_t other);
  void mergeAround(std::span<const uint32_t> tiles);
  double change();

  // --- kinds of changes
  bool changeItem(double level);
  bool changeRegion(double level);
  bool splitRegion(double level);
  bool mergeTwo(double level);
  bool giveRegion(uint32_t number, uint32_t vendor, double level);
  void dropLacking();
  bool settle(bool isLegal, double level);

  const PlanProblem &problem_;
  PlanProblem::Lists tensorsOf_, linksOf_, usersOf_; // by item; tensors that cost something
  std::vector<uint32_t> apartBegin_;                 // by tile, in problem_.apart
  std::vector<uint32_t> open_;                       // items with a choice

  std::vector<uint32_t> tile_, region_;      // by item
  std::vector<uint32_t> sequence_, placeOf_; // items in an order of dependency; by item
  std::vector<Region> regions_;
  std::vector<uint32_t> unused_; // regions
  double time_ = 0;
  int numLacking_ = 0; // regions that miss limits

  struct SavedItem {
    uint32_t item, tile, region;
  };
  std::vector<SavedItem> savedItems_;
  std::vector<std::pair<uint32_t, Region>> savedRegions_;
  std::vector<std::pair<uint32_t, uint32_t>> savedParts_; // of the sequence: begin, size
  std::vector<uint32_t> savedSequence_, touched_;
  double before_ = 0;     // what touched tensors took
  double tileChange_ = 0; // of the sum of tiles
  double lackChange_ = 0;
  int numLackChange_ = 0;
  double lackPrice_ = 0;
  uint32_t transaction_ = 0;
  std::vector<uint32_t> regionStamp_, tried_, tensorStamp_; // the last transaction
  std::vector<uint32_t> itemStamp_, groupStamp_, vendorStamp_, setStamp_, cutStamp_;
  uint32_t items_ = 0, groups_ = 0, vendors_ = 0, sets_ = 0, cuts_ = 0; // the last stamps
  std::vector<uint32_t> setFirst_, number_;
  std::vector<uint32_t> part_, out_, rest_, after_, tiles_, chosen_, parts_;
  uint64_t random_ = 0, last_ = 0, work_ = 0;
};

} // namespace bycc
