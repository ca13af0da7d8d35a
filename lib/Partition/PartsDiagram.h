// How many parts any choice of some linked items makes, as a decision diagram: one
// layer for each item, in order, and two arcs from each node, for an item that is
// not there and for one that is. An arc's count is what that adds to the parts; the
// sum on a path is their number. A node stands for all choices so far that leave the
// same to be known, so that there are few of them and the least sum of counts and
// other costs of items is found quickly. The items a - b - c:
//
//     node         not there      there
//     start        0 -> no a      1 -> a
//     no a         0 -> no b      1 -> b     the first part, or another
//     a            0 -> no b      0 -> b     b joins a
//     no b         0 -> end       1 -> end
//     b            0 -> end       0 -> end
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace bycc {

struct PartsDiagram {
  struct Node {
    uint32_t to[2]; // of the next layer, from its first
    int32_t count[2];
  };
  std::vector<uint32_t> layers; // their first nodes; the last layer is one node, without arcs
  std::vector<Node> nodes;
  // Where items can be there in several ways (LinkedItems): arcs for the second and the third.
  std::vector<Node> more;

  static constexpr uint32_t maxWays = 3;
  const Node &arcsOf(uint32_t node, uint32_t way) const {
    return way < 2 ? nodes[node] : more[node];
  }

  uint32_t numItems() const { return static_cast<uint32_t>(layers.size()) - 1; }
};

// Some items, numbered in order.
struct LinkedItems {
  static constexpr uint32_t reach = 63; // how many items on they are cut apart

  uint32_t size = 0;
  std::vector<std::vector<uint32_t>> sets; // items, ascending
  // By item, which of those next after it (the first in the lowest bit) need it, and
  // which do so through something that is never there. What is not there cuts what it
  // needs from what needs it: they cannot be in one part.
  std::vector<uint64_t> neededBy, isCutFrom;
  // Ways to be there that cannot be in one part with some of items that need it. By item
  // and way, a number among these, or none; and the numbers that are cut from it. Empty
  // where there is one way only.
  static constexpr uint32_t maxNumbers = 64;
  using Ways = std::array<uint64_t, PartsDiagram::maxWays>;
  std::vector<Ways> number, isApartFrom;

  uint32_t mostOpen() const; // sets with items before and after any point
  auto operator<=>(const LinkedItems &) const = default;
};

// Diagrams, each made once.
class PartsDiagrams {
public:
  uint32_t of(const LinkedItems &items);
  uint32_t add(PartsDiagram diagram);
  std::vector<PartsDiagram> take() { return std::move(diagrams_); }

private:
  std::map<LinkedItems, uint32_t> known_;
  std::vector<PartsDiagram> diagrams_;
};

} // namespace bycc
