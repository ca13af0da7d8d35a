// A PlanProblem taken apart into small pieces, the time of any legal plan being
// at least the sum of what the pieces say: a cost for each item and tile, and
// factors that see, of each of their items, only the class of its tile:
//
//   Vendors  what a value costs given the vendor of its maker and the set of
//            vendors that read it: transfers, and the launches of regions
//   Parts    a launch for each part of a few linked items that have one vendor
//   Whole    all members of a composite have it, or none
//   All      a launch when all items of a cycle have one vendor
//
// Transfers are those of regions that would never be cut in two. A vendor has at
// least as many regions as its items have linked parts, which are counted as in a
// forest: one for each item, less one for each item beyond the first in each set
// of links, plus one for each independent cycle, of which the links have many:
//
//     a - b        4 items, 4 sets, 8 places in sets, 1 cycle: 4 + 4 - 8 + 1 = 1
//     |   |        part; b, c and d alone: 3 items, 4 sets, 6 places: 1 part
//     c - d
//
// Left out: limits of regions, and that regions may not need each other; they only
// make plans dearer. Tiles that no region within the limits could hold are not
// used. All costs are whole numbers of `unit` picoseconds, rounded down: sums in
// doubles are exact.
#pragma once

#include "PartsDiagram.h"
#include "PlanProblem.h"

namespace bycc {

struct RelaxationGraph {
  enum class Kind : uint8_t { Vendors, Parts, Whole, All };
  static constexpr uint32_t maxBits = 5; // classes of users that one factor tells apart

  struct Factor {
    Kind kind = Kind::Vendors;
    bool hasMaker = false;        // Vendors: its first seat
    uint32_t numSets = 0;         // Vendors: of classes of users
    uint32_t diagram = 0;         // Parts
    uint32_t seatsBegin = 0, seatsEnd = 0; // in seatsOf
    uint32_t costs = 0;           // in `costs`: for each class of the maker, each set
                                  // of users' classes; otherwise one, a launch
    uint32_t sums = 0;            // where a PlanRelaxation keeps its sums
  };
  // An item's place in a factor.
  struct Seat {
    uint32_t factor = 0, place = 0; // in its seats
    uint32_t classes = 0;         // in classOf: of each tile of the item
    uint32_t given = 0;           // where a PlanRelaxation keeps what it gave, by class
    uint8_t numClasses = 0;
    bool isMaker = false;
    double share[2] = {0, 0};     // of the item's costs, for this factor: forward, backward
  };

  double unit = 1;
  std::vector<uint8_t> isPossible; // by tile
  std::vector<double> cost;        // by slot: place in tilesOf.flat
  std::vector<Factor> factors;
  std::vector<Seat> seats;         // by item
  std::vector<uint32_t> seatsBegin; // by item, in seats
  std::vector<uint32_t> seatsOf;   // by factor
  std::vector<uint8_t> classOf;
  std::vector<double> costs;
  std::vector<PartsDiagram> diagrams;
  uint32_t numGiven = 0, numSums = 0;
};

RelaxationGraph relaxationOf(const PlanProblem &problem);

} // namespace bycc
