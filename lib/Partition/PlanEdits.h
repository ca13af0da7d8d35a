// A legal plan under change, for searches that try many small ones: changes between begin()
// and commit() or undo() are kept or undone together, and cost as much as the regions that
// they touch. Items stand in an order of dependency in which each region's stand together,
// so that regions that need each other are seen without a walk through the whole.
#pragma once

#include "Numbers.h"
#include "PlanProblem.h"
#include "UnionFind.h"

#include <utility>
#include <vector>

namespace bycc {

class PlanEdits {
protected:
  struct Region { // its items stand together in sequence_
    uint32_t vendor = host, label = 0;
    uint32_t begin = 0, size = 0; // none: not in use
    int64_t ops = 0;
    double flops = 0;
    uint32_t numExempt = 0;
  };

  explicit PlanEdits(const PlanProblem &problem); // which must outlive it
  void start(const PlanAnswer &plan);

  // --- changes that are kept or undone together
  void begin();
  void undo();
  void commit();
  // Of the time; what is lacking is counted beside it.
  double change();

  // --- changes. False: it is not legal, and to be undone
  bool put(std::span<const uint32_t> tiles);
  bool splitBehind(uint32_t pivot);
  bool merge(uint32_t region, uint32_t other);

  double shortfall(const Region &region) const;
  bool isAnyApart(uint32_t region, uint32_t other) const;
  // Of regions: more than there can be at once, with those that a change leaves empty.
  uint32_t numNames() const { return 3 * problem_.size(); }

  const PlanProblem &problem_;
  PlanProblem::Lists linksOf_; // by item

  std::vector<uint32_t> tile_, region_; // by item
  std::vector<uint32_t> sequence_;      // items in an order of dependency
  std::vector<Region> regions_;

  double lackChange_ = 0; // of this change
  int numLackChange_ = 0;
  uint32_t transaction_ = 0;
  uint64_t work_ = 0;                  // about a microsecond's sixtieth each
  std::vector<uint32_t> rest_, after_; // of the last region that was taken apart

private:
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

  uint32_t vendorOf(uint32_t item) const { return problem_.tiles[tile_[item]].vendor; }
  bool isFirst(uint32_t item) const {
    return problem_.tileMembers[problem_.tiles[tile_[item]].membersBegin] == item;
  }
  uint32_t groupOf(uint32_t item) const { // regions, then items of the host
    return region_[item] == none ? numNames() + item : region_[item];
  }
  bool breakUp(uint32_t tile);
  bool takeOut(uint32_t number);
  bool isCutThrough(std::span<const uint32_t> items);
  void layOut(std::vector<uint32_t> &items, uint32_t &place, uint32_t &name, const Region &like);
  bool form(uint32_t tile);
  bool isApartIn(uint32_t tile, uint32_t region) const;

  PlanProblem::Lists tensorsOf_, usersOf_; // by item; tensors that cost something
  std::vector<uint32_t> apartBegin_;       // by tile, in problem_.apart
  std::vector<uint32_t> placeOf_;          // by item, in sequence_
  std::vector<uint32_t> unused_;           // regions

  struct SavedItem {
    uint32_t item, tile, region;
  };
  std::vector<SavedItem> savedItems_;
  std::vector<std::pair<uint32_t, Region>> savedRegions_;
  std::vector<std::pair<uint32_t, uint32_t>> savedParts_; // of the sequence: begin, size
  std::vector<uint32_t> savedSequence_, touched_;
  double before_ = 0;                               // what touched tensors took
  double tileChange_ = 0;                           // of the sum of tiles
  std::vector<uint32_t> regionStamp_, tensorStamp_; // the last transaction
  std::vector<uint32_t> itemStamp_, groupStamp_, vendorStamp_, setStamp_, cutStamp_;
  uint32_t items_ = 0, groups_ = 0, vendors_ = 0, sets_ = 0, cuts_ = 0; // the last stamps
  std::vector<uint32_t> setFirst_, number_;
  std::vector<uint32_t> part_, out_, tiles_;
  UnionFind parts_{0};
};

} // namespace bycc
