#include "PlanWindow.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace bycc {

namespace {

constexpr uint32_t none = PlanProblem::none;
constexpr uint32_t host = PlanProblem::host;

template <typename ForEach> PlanProblem::Lists inverted(uint32_t size, ForEach &&forEachPair) {
  PlanProblem::Lists lists;
  lists.begin.assign(size + 1, 0);
  forEachPair([&](uint32_t item, uint32_t) { ++lists.begin[item + 1]; });
  std::partial_sum(lists.begin.begin(), lists.begin.end(), lists.begin.begin());
  lists.flat.resize(lists.begin[size]);
  std::vector<uint32_t> next(lists.begin.begin(), lists.begin.end() - 1);
  forEachPair([&](uint32_t item, uint32_t value) { lists.flat[next[item]++] = value; });
  return lists;
}

} // namespace

std::vector<uint32_t> PlanWindow::apply(std::vector<uint32_t> whole, const PlanAnswer &plan) const {
  for (uint32_t i = 0; i < item.size(); ++i)
    if (tile[plan.tile[i]] != none)
      whole[item[i]] = tile[plan.tile[i]];
  return whole;
}

PlanWindows::PlanWindows(const PlanProblem &problem)
    : problem_(problem), mark_(problem.size(), none) {
  tensorsOf_ = inverted(problem.size(), [&](auto &&visit) {
    for (uint32_t t = 0; t < problem.tensors.size(); ++t) {
      if (uint32_t maker = problem.tensors[t].maker; maker != none)
        visit(maker, t);
      for (uint32_t user : problem.users[t])
        visit(user, t);
    }
  });
  linksOf_ = inverted(problem.size(), [&](auto &&visit) {
    for (uint32_t set = 0; set < problem.links.size(); ++set)
      for (uint32_t item : problem.links[set])
        visit(item, set);
  });
}

// Breadth first through values; a composite in use comes whole.
void PlanWindows::collect(uint32_t centre, uint32_t size, const PlanAnswer &plan) {
  items_.clear();
  auto add = [&](uint32_t item) {
    if (mark_[item] == none) {
      mark_[item] = static_cast<uint32_t>(items_.size());
      items_.push_back(item);
    }
  };
  uint32_t open = 0;
  std::vector<uint32_t> queue{centre};
  std::vector<uint32_t> seen{centre};
  for (size_t i = 0; i < queue.size() && open < size && i < 4 * size; ++i) {
    uint32_t item = queue[i];
    if (problem_.tilesOf[item].size() > 1)
      for (uint32_t member : problem_.membersOf(plan.tile[item])) {
        open += mark_[member] == none;
        add(member);
      }
    auto visit = [&](uint32_t other) {
      if (std::ranges::find(seen, other) == seen.end()) {
        seen.push_back(other);
        queue.push_back(other);
      }
    };
    for (uint32_t t : tensorsOf_[item]) {
      if (problem_.users[t].size() > manyTouch)
        continue;
      if (uint32_t maker = problem_.tensors[t].maker; maker != none)
        visit(maker);
      for (uint32_t user : problem_.users[t])
        visit(user);
    }
  }
  numFree_ = static_cast<uint32_t>(items_.size());
}

// Everything that touches a value of theirs.
void PlanWindows::addRing() {
  auto add = [&](uint32_t item) {
    if (mark_[item] == none) {
      mark_[item] = static_cast<uint32_t>(items_.size());
      items_.push_back(item);
    }
  };
  for (uint32_t i = 0; i < numFree_; ++i) {
    for (uint32_t t : tensorsOf_[items_[i]]) {
      if (uint32_t maker = problem_.tensors[t].maker; maker != none)
        add(maker);
      if (problem_.users[t].size() <= 4 * manyTouch)
        for (uint32_t user : problem_.users[t])
          add(user);
    }
    for (uint32_t set : linksOf_[items_[i]])
      if (problem_.links[set].size() <= manyTouch)
        for (uint32_t item : problem_.links[set])
          add(item);
  }
}

std::optional<PlanWindow> PlanWindows::around(uint32_t centre, uint32_t size,
                                              const PlanAnswer &plan) {
  collect(centre, size, plan);
  auto forget = [&] {
    for (uint32_t item : items_)
      mark_[item] = none;
  };
  if (numFree_ == 0) {
    forget();
    return std::nullopt;
  }
  addRing();
  std::vector<uint8_t> isFree(items_.size(), 0);
  std::fill_n(isFree.begin(), numFree_, uint8_t{1});
  // In order of the whole, which is one of dependency.
  std::vector<uint32_t> order(items_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](uint32_t i) { return items_[i]; });
  PlanWindow window;
  std::vector<uint8_t> mayChange;
  for (uint32_t i : order) {
    window.item.push_back(items_[i]);
    mayChange.push_back(isFree[i]);
  }
  uint32_t count = static_cast<uint32_t>(window.item.size());
  for (uint32_t i = 0; i < count; ++i)
    mark_[window.item[i]] = i;
  PlanProblem &p = window.problem;
  p.vendors = problem_.vendors;
  // Tiles: alone first, then composites that lie inside.
  std::map<uint32_t, uint32_t> numberOf; // of the whole's tiles
  std::vector<uint32_t> members;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t item = window.item[i];
    if (!mayChange[i]) {
      p.addTile(problem_.tiles[plan.tile[item]].vendor, 0, 0, {&i, 1});
      window.tile.push_back(none);
      continue;
    }
    for (uint32_t tile : problem_.tilesOf[item])
      if (!problem_.isComposite(tile)) {
        const PlanProblem::Tile &t = problem_.tiles[tile];
        numberOf[tile] = p.addTile(t.vendor, t.time, t.raw, {&i, 1});
        window.tile.push_back(tile);
      }
  }
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t tile : problem_.tilesOf[window.item[i]]) {
      if (!mayChange[i] || !problem_.isComposite(tile) ||
          problem_.membersOf(tile).back() != window.item[i])
        continue;
      members.clear();
      for (uint32_t member : problem_.membersOf(tile))
        if (mark_[member] != none && mayChange[mark_[member]])
          members.push_back(mark_[member]);
      if (members.size() < problem_.membersOf(tile).size())
        continue;
      const PlanProblem::Tile &t = problem_.tiles[tile];
      numberOf[tile] = p.addTile(t.vendor, t.time, t.raw, members);
      window.tile.push_back(tile);
    }
  p.indexTiles(count);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t item = window.item[i];
    p.label.push_back(problem_.labelOf(item));
    // What is held of a region is taken for enough of it.
    p.isExempt.push_back(!mayChange[i] || (!problem_.isExempt.empty() && problem_.isExempt[item]));
    p.ops.push_back(problem_.ops[item]);
    p.flops.push_back(problem_.flops[item]);
    for (uint32_t need : problem_.needs[item])
      if (mark_[need] != none)
        p.needs.add(mark_[need]);
    p.needs.close();
  }
  // Values that a free item touches.
  std::vector<uint32_t> tensors, links;
  for (uint32_t i = 0; i < count; ++i) {
    if (!mayChange[i])
      continue;
    for (uint32_t t : tensorsOf_[window.item[i]])
      tensors.push_back(t);
    for (uint32_t set : linksOf_[window.item[i]])
      links.push_back(set);
  }
  for (std::vector<uint32_t> *list : {&tensors, &links}) {
    std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  for (uint32_t t : tensors) {
    PlanProblem::Tensor tensor = problem_.tensors[t];
    if (tensor.maker != none)
      tensor.maker = mark_[tensor.maker];
    for (uint32_t user : problem_.users[t])
      if (mark_[user] != none)
        p.users.add(mark_[user]);
      else
        tensor.isUsedOutside |= problem_.tiles[plan.tile[user]].vendor == host;
    p.users.close();
    p.tensors.push_back(tensor);
  }
  for (uint32_t set : links) {
    for (uint32_t item : problem_.links[set])
      if (mark_[item] != none)
        p.links.add(mark_[item]);
    p.links.close();
  }
  // Regions that reach into the ring hold together beyond it.
  std::map<uint32_t, std::vector<uint32_t>> held;
  for (uint32_t i = 0; i < count; ++i)
    if (!mayChange[i] && plan.region[window.item[i]] != none)
      held[plan.region[window.item[i]]].push_back(i);
  for (const auto &[region, items] : held) {
    if (items.size() < 2)
      continue;
    for (uint32_t item : items)
      p.links.add(item);
    p.links.close();
  }
  for (auto [tile, number] : numberOf) {
    auto first = std::ranges::lower_bound(problem_.apart, std::pair(tile, 0u));
    for (; first != problem_.apart.end() && first->first == tile; ++first)
      if (auto other = numberOf.find(first->second); other != numberOf.end())
        p.apart.emplace_back(number, other->second);
  }
  std::ranges::sort(p.apart);
  // The plan as it is.
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t item = window.item[i];
    window.current.tile.push_back(mayChange[i] ? numberOf.at(plan.tile[item]) : p.tilesOf[i][0]);
    window.current.region.push_back(plan.region[item]);
  }
  renumber(window.current);
  window.time = timeOf(p, window.current).total();
  forget();
  return window;
}

} // namespace bycc
