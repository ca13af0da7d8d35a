// Which vendor gets a node that several could take, as a problem on plain
// numbers: least estimated time. Items stand in dependency order.
//
//   time = what each item takes with its vendor
//        + a launch for each item that starts a region: no producer of a value it
//          reads, and no earlier reader of such a value, has the same vendor
//        + transfers: a value that leaves its maker's vendor crosses that vendor's
//          border once, and once that of every other vendor that reads it
//
// Regions are estimated, not formed: who shares a value shares a region.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bycc {

struct ChoiceProblem {
  static constexpr uint32_t none = UINT32_MAX;
  static constexpr uint32_t host = 0; // vendors are labels from 1 up

  struct Vendor {
    double launch = 0;
    double transfer = 0;        // per value
    double transferPerByte = 0;
  };
  struct Choice {
    uint32_t vendor;
    double time;
  };
  struct Value {
    uint32_t maker = none; // item; none: the host made it
    double bytes = 0;
    bool isResult = false; // read by the host beyond the items
    std::vector<uint32_t> readers; // items, ascending, each once
  };

  std::vector<Vendor> vendors;                // by label; vendors[0] is the host
  std::vector<std::vector<Choice>> choices;   // by item, best first; one: nothing to choose
  std::vector<Value> values;

  uint32_t size() const { return static_cast<uint32_t>(choices.size()); }
};

using VendorChoice = std::vector<uint32_t>; // label of each item

double estimatedTime(const ChoiceProblem &problem, const VendorChoice &choice);

struct ChosenVendors {
  VendorChoice choice;
  double time = 0;
  // What the time would be with the item moved alone, by item and position in its
  // choices, as a difference; empty for items without a choice.
  std::vector<std::vector<double>> otherwise;
};

// Deterministic local improvement from several starts: single items, runs that
// have one vendor, parts of the graph that one vendor could have, and borders that
// move. Time grows with items, readers and vendors, not faster.
ChosenVendors solveChoice(const ChoiceProblem &problem);

} // namespace bycc
