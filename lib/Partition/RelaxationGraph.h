// A PlanProblem taken apart into small pieces, the time of any legal plan being
// at least the sum of what the pieces say: a cost for each item and tile, and
// factors that see, of each of their items, only the class of its tile:
//
//   Vendors  what a value costs given the vendor of its maker and the set of
//            vendors that read it: transfers, and the launches of regions
//   Parts    a launch for each part of a few linked items that have one vendor; or for
//            each stretch of it on a path
//   Whole    all members of a composite have it, or none
//   Company  an item too small for its vendor's limits has others with it
//
// Transfers are those of regions that are cut only where items in between, which
// cannot have the vendor, force it. Regions of a vendor are counted as the linked
// parts of its items, and more where an item that another has lies in between. They
// are counted as in a forest: one for each item, less one for each item beyond the
// first in each set of links; groups of sets that form cycles are counted as a whole
// (VendorLinks.h):
//
//     a - b        four items and four sets of two: 4 - 4 = 0 parts, so that these
//     |   |        sets are one group, of which all choices of items are known;
//     c - d        without a: 3 - 2 = 1 part
//
// Left out: that regions may not need each other in other ways, limits beyond a
// few items, and tiles apart but for those of a maker and a user, of company, and of groups and
// paths, as far as these tell tiles apart (ApartWays.h). They only make plans dearer. All costs are whole numbers of `unit` picoseconds, rounded down: sums in
// doubles are exact.
#pragma once

#include "PartsDiagram.h"
#include "PlanProblem.h"
#include "RelaxationLinks.h"
#include "VendorLinks.h"

#include <memory>

namespace bycc {

// What does not depend on how launches are counted, and takes long to find.
struct RelaxationBasis {
  LinkSets links;
  std::vector<std::vector<uint32_t>> cycles; // of links
  std::vector<uint8_t> isPossible;           // by tile
  std::vector<Company> needed;
  std::vector<VendorLinks> vendorLinks; // by vendor, of those that launch regions
  std::vector<std::shared_ptr<const PartsDiagram>> diagrams; // of their groups
};

struct RelaxationGraph {
  enum class Kind : uint8_t { Vendors, Parts, Whole, Company };
  static constexpr uint32_t maxBits = 5; // classes of users that one factor tells apart

  struct Factor {
    Kind kind = Kind::Vendors;
    bool hasMaker = false;                 // Vendors: its first seat
    uint32_t numSets = 0;                  // Vendors: of classes of users
    uint32_t diagram = 0;                  // Parts
    uint32_t setsBegin = 0, setsEnd = 0;   // Company: in companySets
    uint32_t seatsBegin = 0, seatsEnd = 0; // in seatsOf
    uint32_t costs = 0;                    // in `costs`: for each class of the maker, each set
                                           // of users' classes; otherwise one, a launch
    uint32_t sums = 0;                     // where a PlanRelaxation keeps its sums
  };
  // An item's place in a factor.
  struct Seat {
    uint32_t factor = 0, place = 0; // in its seats
    uint32_t classes = 0;           // in classOf: of each tile of the item
    uint32_t given = 0;             // where a PlanRelaxation keeps what it gave, by class
    uint8_t numClasses = 0;
    bool isMaker = false;
    bool isPassedOn[2] = {false, false}; // has later items; earlier ones
    // Of the item's costs, in sweeps of two kinds; without companies, and with them.
    double share[2][2] = {{0, 0}, {0, 0}};
  };

  std::shared_ptr<const RelaxationBasis> basis;
  double unit = 1;
  double mostGiven = 0;     // by an item to a factor, for sums to be exact
  std::vector<double> cost; // by slot: place in tilesOf.flat
  std::vector<Factor> factors;
  std::vector<Seat> seats;          // by item
  std::vector<uint32_t> seatsBegin; // by item, in seats
  std::vector<uint32_t> seatsOf;    // by factor
  std::vector<uint8_t> classOf;
  std::vector<double> costs;
  std::vector<std::shared_ptr<const PartsDiagram>> diagrams; // the basis', then chains'
  PlanProblem::Lists companySets;                            // of places
  uint32_t numGiven = 0, numSums = 0;
  // Of a sweep in one direction, without companies and with them: numbers looked at, about.
  uint64_t work[2] = {0, 0};
};

// `chainShare`: by vendor, how much of a launch is counted by a chain, the rest by
// links: none if empty. `basis`: of another graph of the problem, if there is one.
RelaxationGraph relaxationOf(const PlanProblem &problem, std::span<const double> chainShare = {},
                             std::shared_ptr<const RelaxationBasis> basis = nullptr);

} // namespace bycc
