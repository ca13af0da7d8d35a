// Makes diagrams, layer by layer: from what is known of the sets that have items on
// both sides, or, where items may be cut apart, from a table of all choices.

#include "PartsDiagram.h"

#include <algorithm>
#include <bit>

namespace bycc {

namespace {

using State = std::vector<uint8_t>;

// `step(layer, isThere, state)` changes the state and returns the count.
PartsDiagram diagramOf(uint32_t numItems, State first, auto &&step) {
  PartsDiagram diagram;
  std::vector<State> states{std::move(first)};
  for (uint32_t layer = 0; layer < numItems; ++layer) {
    diagram.layers.push_back(static_cast<uint32_t>(diagram.nodes.size()));
    std::map<State, uint32_t> next;
    std::vector<State> after;
    for (const State &state : states) {
      PartsDiagram::Node &node = diagram.nodes.emplace_back();
      for (uint32_t isThere : {0u, 1u}) {
        State changed = state;
        node.count[isThere] = step(layer, isThere, changed);
        auto [it, isNew] = next.try_emplace(changed, static_cast<uint32_t>(after.size()));
        if (isNew)
          after.push_back(std::move(changed));
        node.to[isThere] = it->second;
      }
    }
    states = std::move(after);
  }
  diagram.layers.push_back(static_cast<uint32_t>(diagram.nodes.size()));
  diagram.nodes.emplace_back();
  return diagram;
}

// The sets around an item: those open before it, then those it opens.
struct Opening {
  struct Set {
    uint32_t number;
    bool hasItem, staysOpen;
  };
  std::vector<Set> sets;
};

std::vector<Opening> openingsOf(const LinkedItems &items) {
  std::vector<std::vector<uint32_t>> opened(items.size);
  for (uint32_t set = 0; set < items.sets.size(); ++set)
    opened[items.sets[set].front()].push_back(set);
  std::vector<Opening> openings(items.size);
  for (uint32_t item = 0; item < items.size; ++item) {
    auto add = [&](uint32_t set) {
      const std::vector<uint32_t> &all = items.sets[set];
      openings[item].sets.push_back(
          {set, std::ranges::binary_search(all, item), all.back() > item});
    };
    if (item > 0)
      for (const Opening::Set &set : openings[item - 1].sets)
        if (set.staysOpen)
          add(set.number);
    for (uint32_t set : opened[item])
      add(set);
  }
  return openings;
}

// A state is the part that each open set has items of, numbered in order; 0 for none.
PartsDiagram fromOpenSets(const LinkedItems &items) {
  std::vector<Opening> openings = openingsOf(items);
  return diagramOf(items.size, {}, [&](uint32_t item, uint32_t isThere, State &state) -> int32_t {
    constexpr uint8_t own = UINT8_MAX; // the item's part
    const std::vector<Opening::Set> &sets = openings[item].sets;
    int32_t count = static_cast<int32_t>(isThere);
    state.resize(sets.size(), 0);
    for (uint32_t i = 0; isThere && i < sets.size(); ++i) {
      if (!sets[i].hasItem)
        continue;
      if (uint8_t part = state[i]; part != 0 && part != own) {
        --count;
        std::ranges::replace(state, part, own);
      }
      state[i] = own;
    }
    State after, names;
    for (uint32_t i = 0; i < sets.size(); ++i) {
      if (!sets[i].staysOpen)
        continue;
      auto name = std::ranges::find(names, state[i]);
      after.push_back(state[i] == 0 ? 0 : static_cast<uint8_t>(name - names.begin() + 1));
      if (state[i] != 0 && name == names.end())
        names.push_back(state[i]);
    }
    state = std::move(after);
    return count;
  });
}

// Counts the parts of a choice of a few items, bits of a number.
class PartCounter {
public:
  explicit PartCounter(const LinkedItems &items) : items_(items) {
    for (const std::vector<uint32_t> &set : items.sets) {
      uint32_t &mask = sets_.emplace_back(0);
      for (uint32_t item : set)
        mask |= 1u << item;
    }
  }

  uint32_t count(uint32_t there) const {
    uint32_t count = 0;
    for (uint32_t left = there; left;) {
      uint32_t part = left & -left;
      for (bool grows = true; grows;) {
        grows = false;
        for (uint32_t set : sets_)
          if ((set & part) && (set & there & ~part))
            part |= set & there, grows = true;
      }
      count += longestChain(part, there);
      left &= ~part;
    }
    return count;
  }

private:
  // Of items of which each is cut from the one before.
  uint32_t longestChain(uint32_t part, uint32_t there) const {
    uint32_t longest = 1, chain[LinkedItems::maxCut];
    for (uint32_t i = 0; i < items_.size; ++i) {
      chain[i] = 1;
      for (uint32_t j = 0; j < i; ++j)
        if ((part >> i & part >> j & 1) && isCut(j, i, there))
          chain[i] = std::max(chain[i], chain[j] + 1);
      longest = std::max(longest, chain[i]);
    }
    return longest;
  }
  bool isCut(uint32_t first, uint32_t second, uint32_t there) const {
    if (items_.isCutFrom[first] >> second & 1)
      return true;
    for (uint32_t left = items_.neededBy[first] & ~there; left; left &= left - 1)
      if (items_.neededBy[std::countr_zero(left)] >> second & 1)
        return true;
    return false;
  }

  const LinkedItems &items_;
  std::vector<uint32_t> sets_;
};

// A state is the table of the choices still to come, less its least.
PartsDiagram fromTable(const LinkedItems &items) {
  PartCounter counter(items);
  State table;
  for (uint32_t there = 0; there < 1u << items.size; ++there)
    table.push_back(static_cast<uint8_t>(counter.count(there)));
  return diagramOf(items.size, std::move(table),
                   [](uint32_t, uint32_t isThere, State &state) -> int32_t {
                     for (uint32_t i = 0; i < state.size() / 2; ++i)
                       state[i] = state[2 * i + isThere];
                     state.resize(state.size() / 2);
                     uint8_t least = *std::ranges::min_element(state);
                     for (uint8_t &count : state)
                       count -= least;
                     return least;
                   });
}

} // namespace

uint32_t LinkedItems::mostOpen() const {
  std::vector<int32_t> change(size + 1, 0);
  for (const std::vector<uint32_t> &set : sets)
    ++change[set.front()], --change[set.back()];
  int32_t open = 0, most = 0;
  for (int32_t step : change)
    most = std::max(most, open += step);
  return static_cast<uint32_t>(most);
}

uint32_t PartsDiagrams::of(const LinkedItems &items) {
  auto [it, isNew] = known_.try_emplace(items, static_cast<uint32_t>(diagrams_.size()));
  if (isNew)
    diagrams_.push_back(items.neededBy.empty() ? fromOpenSets(items) : fromTable(items));
  return it->second;
}

} // namespace bycc
