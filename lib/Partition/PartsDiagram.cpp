// Makes diagrams, layer by layer, from what is known of the sets that have items on
// both sides of a point.

#include "PartsDiagram.h"
#include "Numbers.h"

#include <algorithm>

namespace bycc {

namespace {

constexpr uint32_t maxWidth = 256; // of layers, if items may be cut apart
constexpr uint32_t maxChain = 2;   // items before the last of a chain

// Linked items, as far as others may still join them. A part counts for as many as
// it has items in its longest chain, of which each is cut from the one before.
struct DiagramPart {
  uint32_t chain = 0;
  // Of the items to come next, the first in the lowest bit: those that need one that
  // ends a chain this long or longer, and those that are cut from it.
  std::array<uint64_t, maxChain> needs{}, cut{};
  // Numbers of ways to be there that are cut from it.
  std::array<uint64_t, maxChain> apart{};
};

// The parts that open sets have items of, numbered from 1 in order; 0 for none.
struct State {
  std::vector<uint32_t> partOf;
  std::vector<DiagramPart> parts;
};

// Different states, numbered as they come, in one piece of memory: there are thousands.
class States {
public:
  uint32_t size() const { return static_cast<uint32_t>(begin_.size() - 1); }

  void get(uint32_t number, State &state) const {
    const uint64_t *at = words_.data() + begin_[number];
    state.partOf.resize(*at++);
    for (uint32_t &part : state.partOf)
      part = static_cast<uint32_t>(*at++);
    state.parts.resize(*at++);
    for (DiagramPart &part : state.parts) {
      part.chain = static_cast<uint32_t>(*at++);
      for (std::array<uint64_t, maxChain> *masks : {&part.needs, &part.cut, &part.apart})
        for (uint64_t &mask : *masks)
          mask = *at++;
    }
  }

  // Its number, which is new if the state is.
  uint32_t add(const State &state) {
    uint32_t number = size();
    write(state);
    if (2 * size() > places_.size())
      rehash();
    uint32_t &place = placeOf(number);
    if (place == number)
      return number;
    begin_.pop_back();
    words_.resize(begin_.back());
    return place;
  }

private:
  void write(const State &state) {
    words_.push_back(state.partOf.size());
    words_.insert(words_.end(), state.partOf.begin(), state.partOf.end());
    words_.push_back(state.parts.size());
    for (const DiagramPart &part : state.parts) {
      words_.push_back(part.chain);
      words_.insert(words_.end(), part.needs.begin(), part.needs.end());
      words_.insert(words_.end(), part.cut.begin(), part.cut.end());
      words_.insert(words_.end(), part.apart.begin(), part.apart.end());
    }
    begin_.push_back(words_.size());
  }

  std::span<const uint64_t> wordsOf(uint32_t number) const {
    return std::span(words_).subspan(begin_[number], begin_[number + 1] - begin_[number]);
  }

  // Where the state or an equal one stands; becomes its place if there is none.
  uint32_t &placeOf(uint32_t number) {
    std::span<const uint64_t> words = wordsOf(number);
    uint64_t hash = 0;
    for (uint64_t word : words)
      hash = (hash ^ word) * 0x9e3779b97f4a7c15 ^ hash >> 29;
    for (size_t i = hash >> 32;; ++i) {
      uint32_t &place = places_[i & (places_.size() - 1)];
      if (place == none)
        place = number;
      if (place == number || std::ranges::equal(wordsOf(place), words))
        return place;
    }
  }

  void rehash() {
    places_.assign(std::max<size_t>(2 * places_.size(), 16), none);
    for (uint32_t number = 0; number + 1 < size(); ++number)
      placeOf(number);
  }

  std::vector<uint64_t> words_;
  std::vector<size_t> begin_{0};
  std::vector<uint32_t> places_; // a power of two
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
  explicit DiagramMaker(const LinkedItems &items) : items_(items), openings_(openingsOf(items)) {
    uint64_t later = 0; // numbers
    toCome_.assign(items.size, 0);
    for (uint32_t item = items.size; item-- > 0 && hasWays();) {
      toCome_[item] = later;
      for (uint64_t number : items.number[item])
        later |= number;
    }
  }

  PartsDiagram run() {
    States states;
    State state;
    states.add(state);
    for (uint32_t item = 0; item < items_.size; ++item) {
      diagram_.layers.push_back(static_cast<uint32_t>(diagram_.nodes.size()));
      States next;
      for (uint32_t number = 0; number < states.size(); ++number) {
        PartsDiagram::Node node, more{};
        for (uint32_t way = 0; way <= numWays(); ++way) {
          states.get(number, state);
          PartsDiagram::Node &arcs = way < 2 ? node : more;
          arcs.count[way & 1] = way ? put(item, way - 1, state) : leaveOut(item, state);
          close(item, state);
          arcs.to[way & 1] = next.add(state);
        }
        diagram_.nodes.push_back(node);
        if (hasWays())
          diagram_.more.push_back(more);
      }
      if (next.size() > maxWidth && hasWays())
        forget(next, false);
      if (next.size() > maxWidth)
        forget(next, true);
      states = std::move(next);
    }
    diagram_.layers.push_back(static_cast<uint32_t>(diagram_.nodes.size()));
    diagram_.nodes.emplace_back();
    if (hasWays())
      diagram_.more.emplace_back();
    return std::move(diagram_);
  }

private:
  bool hasWays() const { return !items_.number.empty(); } // several
  // Of being there.
  uint32_t numWays() const { return hasWays() ? PartsDiagram::maxWays : 1; }

  // Joins the parts that the item is linked to.
  int32_t put(uint32_t item, uint32_t way, State &state) const {
    const std::vector<Opening::Set> &sets = openings_[item].sets;
    uint32_t number = static_cast<uint32_t>(state.parts.size()) + 1;
    state.partOf.resize(sets.size(), 0);
    DiagramPart joined;
    int32_t count = 0;
    for (uint32_t i = 0; i < sets.size(); ++i) {
      if (!sets[i].hasItem)
        continue;
      if (uint32_t part = state.partOf[i]; part != 0 && part != number) {
        const DiagramPart &other = state.parts[part - 1];
        count -= static_cast<int32_t>(other.chain);
        joined.chain = std::max(joined.chain, other.chain);
        for (uint32_t length = 0; length < maxChain; ++length) {
          joined.needs[length] |= other.needs[length];
          joined.cut[length] |= other.cut[length];
          joined.apart[length] |= other.apart[length];
        }
        std::ranges::replace(state.partOf, part, number);
      }
      state.partOf[i] = number;
    }
    uint32_t chain = 0; // before the item
    uint64_t own = hasWays() ? items_.number[item][way] : 0;
    while (chain < maxChain && (joined.cut[chain] & 1 || joined.apart[chain] & own))
      ++chain;
    joined.chain = std::max(joined.chain, chain + 1);
    for (uint32_t length = 0; length <= chain && length < maxChain; ++length) {
      joined.needs[length] |= items_.neededBy[item] << 1;
      joined.cut[length] |= items_.isCutFrom[item] << 1;
      if (hasWays())
        joined.apart[length] |= items_.isApartFrom[item][way];
    }
    state.parts.push_back(joined);
    return count + static_cast<int32_t>(joined.chain);
  }

  int32_t leaveOut(uint32_t item, State &state) const {
    state.partOf.resize(openings_[item].sets.size(), 0);
    for (DiagramPart &part : state.parts)
      for (uint32_t length = 0; length < maxChain; ++length)
        if (part.needs[length] & 1)
          part.cut[length] |= items_.neededBy[item] << 1;
    return 0;
  }

  // Of a layer too wide, what is apart, or all that is cut; then there are fewer states, and
  // parts count for less.
  void forget(States &states, bool allCuts) {
    States after;
    State state;
    std::vector<uint32_t> to;
    for (uint32_t number = 0; number < states.size(); ++number) {
      states.get(number, state);
      for (DiagramPart &part : state.parts) {
        part.apart = {};
        if (allCuts)
          part.needs = part.cut = {};
      }
      to.push_back(after.add(state));
    }
    for (std::vector<PartsDiagram::Node> *nodes : {&diagram_.nodes, &diagram_.more})
      for (uint32_t node = diagram_.layers.back(); node < nodes->size(); ++node)
        for (uint32_t &next : (*nodes)[node].to)
          next = to[next];
    states = std::move(after);
  }

  // Forgets what is over after the item.
  void close(uint32_t item, State &state) {
    const std::vector<Opening::Set> &sets = openings_[item].sets;
    after_.partOf.clear();
    after_.parts.clear();
    names_.assign(state.parts.size() + 1, 0);
    for (uint32_t i = 0; i < sets.size(); ++i) {
      if (!sets[i].staysOpen)
        continue;
      uint32_t part = state.partOf[i];
      if (part != 0 && names_[part] == 0) {
        after_.parts.push_back(state.parts[part - 1]);
        names_[part] = static_cast<uint32_t>(after_.parts.size());
        for (uint32_t length = 0; length < maxChain; ++length) {
          after_.parts.back().needs[length] >>= 1;
          after_.parts.back().cut[length] >>= 1;
          after_.parts.back().apart[length] &= toCome_[item];
        }
      }
      after_.partOf.push_back(names_[part]);
    }
    std::swap(state, after_);
  }

  const LinkedItems &items_;
  std::vector<Opening> openings_;
  std::vector<uint64_t> toCome_; // by item, the numbers of later ones
  PartsDiagram diagram_;
  State after_;
  std::vector<uint32_t> names_; // by part, its number in after_
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
