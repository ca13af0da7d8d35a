// Makes diagrams, layer by layer, from what is known of the sets that have items on
// both sides of a point.

#include "PartsDiagram.h"

#include <algorithm>

namespace bycc {

namespace {

constexpr uint32_t maxWidth = 256; // of layers, if items may be cut apart
constexpr uint32_t maxChain = 2;   // items before the last of a chain

// Linked items, as far as others may still join them. A part counts for as many as
// it has items in its longest chain, of which each is cut from the one before.
struct Part {
  uint32_t chain = 0;
  // Of the items to come next, the first in the lowest bit: those that need one that
  // ends a chain this long or longer, and those that are cut from it.
  std::array<uint64_t, maxChain> needs{}, cut{};
  auto operator<=>(const Part &) const = default;
};

// The parts that open sets have items of, numbered from 1 in order; 0 for none.
struct State {
  std::vector<uint32_t> partOf;
  std::vector<Part> parts;
  auto operator<=>(const State &) const = default;
};

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

class DiagramMaker {
public:
  explicit DiagramMaker(const LinkedItems &items) : items_(items), openings_(openingsOf(items)) {}

  PartsDiagram run() {
    std::vector<State> states(1);
    for (uint32_t item = 0; item < items_.size; ++item) {
      diagram_.layers.push_back(static_cast<uint32_t>(diagram_.nodes.size()));
      std::map<State, uint32_t> next;
      std::vector<State> after;
      for (const State &state : states) {
        PartsDiagram::Node node;
        for (uint32_t isThere : {0u, 1u}) {
          State changed = state;
          node.count[isThere] = isThere ? put(item, changed) : leaveOut(item, changed);
          close(item, changed);
          auto [it, isNew] = next.try_emplace(changed, static_cast<uint32_t>(after.size()));
          if (isNew)
            after.push_back(std::move(changed));
          node.to[isThere] = it->second;
        }
        diagram_.nodes.push_back(node);
      }
      if (after.size() > maxWidth)
        forgetCuts(after);
      states = std::move(after);
    }
    diagram_.layers.push_back(static_cast<uint32_t>(diagram_.nodes.size()));
    diagram_.nodes.emplace_back();
    return std::move(diagram_);
  }

private:
  // Joins the parts that the item is linked to.
  int32_t put(uint32_t item, State &state) const {
    const std::vector<Opening::Set> &sets = openings_[item].sets;
    uint32_t number = static_cast<uint32_t>(state.parts.size()) + 1;
    state.partOf.resize(sets.size(), 0);
    Part joined;
    int32_t count = 0;
    for (uint32_t i = 0; i < sets.size(); ++i) {
      if (!sets[i].hasItem)
        continue;
      if (uint32_t part = state.partOf[i]; part != 0 && part != number) {
        const Part &other = state.parts[part - 1];
        count -= static_cast<int32_t>(other.chain);
        joined.chain = std::max(joined.chain, other.chain);
        for (uint32_t length = 0; length < maxChain; ++length) {
          joined.needs[length] |= other.needs[length];
          joined.cut[length] |= other.cut[length];
        }
        std::ranges::replace(state.partOf, part, number);
      }
      state.partOf[i] = number;
    }
    uint32_t chain = 0; // before the item
    while (chain < maxChain && joined.cut[chain] & 1)
      ++chain;
    joined.chain = std::max(joined.chain, chain + 1);
    for (uint32_t length = 0; length <= chain && length < maxChain; ++length) {
      joined.needs[length] |= items_.neededBy[item] << 1;
      joined.cut[length] |= items_.isCutFrom[item] << 1;
    }
    state.parts.push_back(joined);
    return count + static_cast<int32_t>(joined.chain);
  }

  int32_t leaveOut(uint32_t item, State &state) const {
    state.partOf.resize(openings_[item].sets.size(), 0);
    for (Part &part : state.parts)
      for (uint32_t length = 0; length < maxChain; ++length)
        if (part.needs[length] & 1)
          part.cut[length] |= items_.neededBy[item] << 1;
    return 0;
  }

  // Of a layer too wide; then there are fewer states, and parts count for less.
  void forgetCuts(std::vector<State> &states) {
    std::map<State, uint32_t> next;
    std::vector<State> after;
    std::vector<uint32_t> to;
    for (State &state : states) {
      for (Part &part : state.parts)
        part.needs = part.cut = {};
      auto [it, isNew] = next.try_emplace(state, static_cast<uint32_t>(after.size()));
      if (isNew)
        after.push_back(std::move(state));
      to.push_back(it->second);
    }
    for (uint32_t node = diagram_.layers.back(); node < diagram_.nodes.size(); ++node)
      for (uint32_t &next : diagram_.nodes[node].to)
        next = to[next];
    states = std::move(after);
  }

  // Forgets what is over after the item.
  void close(uint32_t item, State &state) const {
    const std::vector<Opening::Set> &sets = openings_[item].sets;
    State after;
    std::vector<uint32_t> names(state.parts.size() + 1, 0);
    for (uint32_t i = 0; i < sets.size(); ++i) {
      if (!sets[i].staysOpen)
        continue;
      uint32_t part = state.partOf[i];
      if (part != 0 && names[part] == 0) {
        after.parts.push_back(state.parts[part - 1]);
        names[part] = static_cast<uint32_t>(after.parts.size());
        for (uint32_t length = 0; length < maxChain; ++length) {
          after.parts.back().needs[length] >>= 1;
          after.parts.back().cut[length] >>= 1;
        }
      }
      after.partOf.push_back(names[part]);
    }
    state = std::move(after);
  }

  const LinkedItems &items_;
  std::vector<Opening> openings_;
  PartsDiagram diagram_;
};

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
    add(DiagramMaker(items).run());
  return it->second;
}

uint32_t PartsDiagrams::add(PartsDiagram diagram) {
  diagrams_.push_back(std::move(diagram));
  return static_cast<uint32_t>(diagrams_.size() - 1);
}

} // namespace bycc
