// Choosing a plan as a problem on plain numbers, apart from the IR: which tile
// covers each item, and which tiles form regions, so that the program takes the
// least time. Items are operators in dependency order; a tile is an item on the
// host, an item with a vendor, or a composite of a vendor over several items.
//
//   time = what every tile of the plan takes
//        + a launch for each region
//        + transfers: a tensor that its maker's region makes and that anybody beyond
//          it needs from outside the vendor's memory crosses that vendor's border
//          once; and it crosses once that of every vendor of which some other
//          region reads it, whatever the number of those regions. Nothing crosses
//          between regions of a vendor with a memory of its own.
//
// A plan is legal when
//   - each item is covered by one tile, and a tile by itself alone;
//   - a region has tiles of one vendor and one label, linked through sets of items
//     that touch one value;
//   - no two regions (or regions and items of the host) need each other;
//   - no tiles that must be apart share a region; a vendor that does not merge has
//     one tile in each;
//   - a region meets its vendor's limits, unless it holds an item that is exempt.
//
// Times are picoseconds, whole numbers kept in doubles: sums do not depend on
// their order, and nothing overflows.
#pragma once

#include "Numbers.h"

#include <cstdint>
#include <span>
#include <vector>

namespace bycc {

struct PlanProblem {

  struct Vendor {
    double launch = 0;         // of a region
    double transfer = 0;       // per tensor that crosses the border of its memory
    double perByte = 0;        // and per byte of it
    double perLaidOutByte = 0; // the same where Tensor::isLaidOut
    double trust = 1;          // these, divided by it, are raw time
    bool ownMemory = false;
    bool merges = true;
    int64_t minOps = 0; // of a region
    double minFlops = 0;
  };
  struct Tile {
    uint32_t vendor = host;
    double time = 0;                           // as far as the vendor is trusted
    double raw = 0;                            // as its numbers say
    uint32_t membersBegin = 0, membersEnd = 0; // in tileMembers; one item for most
  };
  struct Tensor {
    uint32_t maker = none; // item; none: made elsewhere, by the host
    double bytes = 0;
    bool isUsedOutside = false; // beyond the items, by the host
    bool isLaidOut = false;     // in a layout of the library's own while that works on it
  };
  // Lists of lists, as one.
  struct Lists {
    std::vector<uint32_t> begin{0}, flat;
    uint32_t size() const { return static_cast<uint32_t>(begin.size() - 1); }
    std::span<const uint32_t> operator[](uint32_t i) const {
      return {flat.data() + begin[i], begin[i + 1] - begin[i]};
    }
    void add(uint32_t value) { flat.push_back(value); }
    void close() { begin.push_back(static_cast<uint32_t>(flat.size())); }
  };

  std::vector<Vendor> vendors{1}; // [0] is the host
  std::vector<Tile> tiles;
  std::vector<uint32_t> tileMembers; // items, ascending in each tile
  Lists tilesOf;                     // by item; every item has at least one
  std::vector<uint32_t> label;       // by item; empty: all 0
  std::vector<uint32_t> ops;         // by item, for limits
  std::vector<double> flops;         // by item, for limits
  std::vector<uint8_t> isExempt;     // by item; empty: none
  Lists needs;                       // by item: items that come before it
  std::vector<Tensor> tensors;
  Lists users; // by tensor: items, ascending
  Lists links; // sets of items that touch one value
  // Pairs (tile, tile), both ways round, sorted, that may not share a region.
  std::vector<std::pair<uint32_t, uint32_t>> apart;

  uint32_t size() const { return tilesOf.size(); }
  std::span<const uint32_t> membersOf(uint32_t tile) const {
    return {tileMembers.data() + tiles[tile].membersBegin,
            tiles[tile].membersEnd - tiles[tile].membersBegin};
  }
  bool isComposite(uint32_t tile) const {
    return tiles[tile].membersEnd - tiles[tile].membersBegin > 1;
  }
  uint32_t labelOf(uint32_t item) const { return label.empty() ? 0 : label[item]; }
  // Of one border; a whole number.
  double crossing(uint32_t vendor, uint32_t tensor) const {
    const Vendor &v = vendors[vendor];
    const Tensor &t = tensors[tensor];
    return v.transfer + rounded((t.isLaidOut ? v.perLaidOutByte : v.perByte) * t.bytes);
  }
  uint32_t singleOf(uint32_t item, uint32_t vendor) const; // its tile alone, or none
  bool areApart(uint32_t tile, uint32_t other) const;

  // std::round of what is not negative, without a call.
  static double rounded(double time) {
    constexpr double allWhole = 0x1p52; // from here on
    return time < allWhole ? static_cast<double>(static_cast<int64_t>(time + 0.5)) : time;
  }

  // Adds a tile; all members' `tilesOf` are made afterwards by indexTiles().
  uint32_t addTile(uint32_t vendor, double time, double raw, std::span<const uint32_t> members);
  void indexTiles(uint32_t numItems);
};

struct PlanAnswer {
  std::vector<uint32_t> tile;   // by item
  std::vector<uint32_t> region; // by item, none on the host; numbered by first item
};

uint32_t countRegions(const PlanAnswer &plan);

// By item, the lists that it is in; tensors that it makes or reads.
PlanProblem::Lists transposed(const PlanProblem::Lists &sets, uint32_t numItems);
PlanProblem::Lists tensorsByItem(const PlanProblem &problem);

// What a plan costs, apart. `raw`: as the vendors' numbers say, without trust.
struct PlanTime {
  double tiles = 0, launches = 0, transfers = 0;
  double total() const { return tiles + launches + transfers; }
};
PlanTime timeOf(const PlanProblem &problem, const PlanAnswer &plan, bool raw = false);
double timeOfTensor(const PlanProblem &problem, const PlanAnswer &plan, uint32_t tensor);
// The same for each vendor by number, [0] the host.
std::vector<PlanTime> timesOf(const PlanProblem &problem, const PlanAnswer &plan, bool raw);

bool isLegal(const PlanProblem &problem, const PlanAnswer &plan);

// Names regions by first item.
void renumber(PlanAnswer &plan);

} // namespace bycc
