#include "PlanWindow.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace bycc {

std::vector<uint32_t> PlanWindow::apply(std::vector<uint32_t> whole, const PlanAnswer &plan) const {
  for (uint32_t i = 0; i < item.size(); ++i)
    if (tile[plan.tile[i]] != none)
      whole[item[i]] = tile[plan.tile[i]];
  return whole;
}

std::optional<PlanAnswer> PlanWindow::applyRegions(const PlanAnswer &whole,
                                                   const PlanAnswer &plan) const {
  uint32_t next = 0; // region of the whole
  for (uint32_t region : whole.region)
    if (region != none)
      next = std::max(next, region + 1);
  uint32_t count = next;
  std::vector<uint32_t> into(count); // by region before, those that become one
  std::iota(into.begin(), into.end(), 0u);
  std::vector<uint32_t> windowOf(count, none); // by region before, the window's
  std::map<uint32_t, uint32_t> regionOf;       // by the window's
  for (uint32_t i = 0; i < item.size(); ++i) {
    uint32_t before = item[i] == none ? none : whole.region[item[i]], after = plan.region[i];
    if (tile[plan.tile[i]] != none || before == none)
      continue;
    if (windowOf[before] != none && windowOf[before] != after)
      return std::nullopt; // it falls apart
    windowOf[before] = after;
    into[before] = regionOf.try_emplace(after, before).first->second;
  }
  PlanAnswer answer = whole;
  for (uint32_t &region : answer.region)
    if (region != none)
      region = into[region];
  for (uint32_t i = 0; i < item.size(); ++i) {
    if (tile[plan.tile[i]] == none)
      continue;
    answer.tile[item[i]] = tile[plan.tile[i]];
    if (plan.region[i] == none) {
      answer.region[item[i]] = none;
      continue;
    }
    auto [it, isNew] = regionOf.try_emplace(plan.region[i], next);
    next += isNew;
    answer.region[item[i]] = it->second;
  }
  renumber(answer);
  return answer;
}

PlanWindows::PlanWindows(const PlanProblem &problem)
    : problem_(problem), tensorsOf_(tensorsByItem(problem)),
      linksOf_(transposed(problem.links, problem.size())),
      usersOf_(transposed(problem.needs, problem.size())), mark_(problem.size(), none),
      freeMark_(problem.size(), 0), seen_(problem.size(), 0),
      numberOf_(problem.tiles.size(), none) {}

void PlanWindows::look(const PlanAnswer &plan) {
  plan_ = &plan;
  regions_.clear();
  for (uint32_t item = 0; item < problem_.size(); ++item)
    if (uint32_t region = plan.region[item]; region != none) {
      regions_.resize(std::max<size_t>(regions_.size(), region + 1));
      regions_[region].items.push_back(item);
      count(regions_[region], item, 1);
    }
}

void PlanWindows::count(Region &region, uint32_t item, int sign) const {
  region.ops += sign * int64_t{problem_.ops[item]};
  region.flops += sign * problem_.flops[item];
  region.numExempt += sign * isExempt(item);
}

std::optional<PlanWindow> PlanWindows::around(uint32_t centre, uint32_t size) {
  ++stamp_;
  collect(centre, size);
  std::optional<PlanWindow> window;
  if (numFree_ > 0) {
    addRing();
    holdRegions();
    window.emplace();
    orderItems(*window);
    addTiles(*window);
    describeItems(*window);
    addValues(*window);
    addHeld(*window);
    addApart(*window);
    addCurrent(*window);
    for (uint32_t tile : window->tile)
      if (tile != none)
        numberOf_[tile] = none;
    for (uint32_t region : heldRegions_)
      regions_[region].firstHeld = regions_[region].lastHeld = none;
    for (uint32_t i = 0; i < numFree_; ++i)
      if (uint32_t region = plan_->region[items_[i]]; region != none)
        count(regions_[region], items_[i], 1);
  }
  for (uint32_t item : items_)
    mark_[item] = none;
  return window;
}

// --- which items

void PlanWindows::add(uint32_t item) {
  if (mark_[item] != none)
    return;
  mark_[item] = static_cast<uint32_t>(items_.size());
  items_.push_back(item);
}

// Breadth first through values; a composite in use comes whole, and so does a region
// that is not large.
void PlanWindows::collect(uint32_t centre, uint32_t size) {
  items_.clear();
  ++search_;
  queue_.assign(1, centre);
  seen_[centre] = search_;
  uint32_t open = 0;
  auto visit = [&](uint32_t item) {
    if (seen_[item] != search_) {
      seen_[item] = search_;
      queue_.push_back(item);
    }
  };
  for (size_t i = 0; i < queue_.size() && open < size && i < 4 * size; ++i) {
    uint32_t item = queue_[i], region = plan_->region[item];
    if (problem_.tilesOf[item].size() > 1)
      for (uint32_t member : problem_.membersOf(plan_->tile[item])) {
        open += mark_[member] == none;
        add(member);
      }
    if (region != none && regions_[region].items.size() <= size / 2)
      for (uint32_t other : regions_[region].items)
        visit(other);
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
  for (uint32_t item : items_)
    freeMark_[item] = stamp_;
}

// Everything that touches a value of theirs.
void PlanWindows::addRing() {
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

// Regions of which an item is held.
void PlanWindows::holdRegions() {
  heldRegions_.clear();
  for (uint32_t i = 0; i < items_.size(); ++i) {
    uint32_t item = items_[i], region = plan_->region[item];
    if (region == none)
      continue;
    Region &of = regions_[region];
    if (i < numFree_) {
      count(of, item, -1);
      continue;
    }
    if (of.firstHeld == none)
      heldRegions_.push_back(region);
    of.firstHeld = of.firstHeld == none ? item : std::min(of.firstHeld, item);
    of.lastHeld = of.lastHeld == none ? item : std::max(of.lastHeld, item);
  }
}

// --- paths through what is beyond

// An item that a path comes to: the end of it, if it or its region is of the window;
// else it goes on from there, and from all of its region.
void PlanWindows::enter(uint32_t item, std::vector<uint32_t> &reached) {
  if (seen_[item] == search_)
    return;
  seen_[item] = search_;
  uint32_t region = plan_->region[item];
  if (mark_[item] != none) {
    reached.push_back(item);
  } else if (region == none || regions_[region].items.size() > maxLooks) {
    queue_.push_back(item);
  } else if (regions_[region].lastHeld != none) {
    reached.push_back(regions_[region].lastHeld);
  } else {
    for (uint32_t other : regions_[region].items) {
      seen_[other] = search_;
      queue_.push_back(other);
    }
  }
}

PlanWindows::Reached PlanWindows::reachedFrom(uint32_t item) {
  Reached reached;
  ++search_;
  seen_[item] = search_;
  queue_.clear();
  uint32_t home = plan_->region[item];
  auto start = [&](uint32_t from) {
    for (uint32_t user : usersOf_[from])
      if (from != item || mark_[user] == none)
        enter(user, reached.directly);
  };
  bool isFirst = home != none && regions_[home].firstHeld == item;
  if (isFirst && regions_[home].items.size() <= maxLooks) {
    for (uint32_t other : regions_[home].items)
      if (mark_[other] == none)
        seen_[other] = search_;
    for (uint32_t other : regions_[home].items)
      if (other == item || mark_[other] == none)
        start(other);
  } else {
    start(item);
  }
  for (size_t i = 0; i < queue_.size() && i < maxLooks; ++i)
    for (uint32_t user : usersOf_[queue_[i]])
      enter(user, reached.byPath);
  return reached;
}

// --- the problem

// In order of the whole, which is one of dependency. What is reached by a path needs
// an item of the host that stands for it.
void PlanWindows::orderItems(PlanWindow &window) {
  std::vector<uint32_t> order = items_;
  std::ranges::sort(order);
  std::vector<Reached> reached;
  for (uint32_t item : order) {
    reached.push_back(reachedFrom(item));
    std::erase_if(reached.back().byPath, [&](uint32_t other) { return other <= item; });
    mark_[item] = static_cast<uint32_t>(window.item.size());
    window.item.push_back(item);
    if (!reached.back().byPath.empty())
      window.item.push_back(none);
  }
  needs_.assign(window.item.size(), {});
  for (uint32_t i = 0; i < order.size(); ++i) {
    uint32_t item = order[i], number = mark_[item];
    for (uint32_t other : reached[i].directly)
      if (other > item)
        needs_[mark_[other]].push_back(number);
    if (reached[i].byPath.empty())
      continue;
    needs_[number + 1].push_back(number);
    for (uint32_t other : reached[i].byPath)
      needs_[mark_[other]].push_back(number + 1);
  }
}

// Alone first, then composites that lie inside.
void PlanWindows::addTiles(PlanWindow &window) {
  PlanProblem &p = window.problem;
  p.vendors = problem_.vendors;
  uint32_t count = static_cast<uint32_t>(window.item.size());
  auto add = [&](uint32_t tile, std::span<const uint32_t> members) {
    const PlanProblem::Tile &t = problem_.tiles[tile];
    numberOf_[tile] = p.addTile(t.vendor, t.time, t.raw, members);
    window.tile.push_back(tile);
  };
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t item = window.item[i];
    if (item == none || !isFree(item)) {
      p.addTile(item == none ? host : problem_.tiles[plan_->tile[item]].vendor, 0, 0, {&i, 1});
      window.tile.push_back(none);
      continue;
    }
    for (uint32_t tile : problem_.tilesOf[item])
      if (!problem_.isComposite(tile))
        add(tile, {&i, 1});
  }
  std::vector<uint32_t> members;
  for (uint32_t item : window.item) {
    if (item == none || !isFree(item))
      continue;
    for (uint32_t tile : problem_.tilesOf[item]) {
      auto all = problem_.membersOf(tile);
      if (!problem_.isComposite(tile) || all.back() != item ||
          !std::ranges::all_of(all, [&](uint32_t member) { return isFree(member); }))
        continue;
      members.clear();
      for (uint32_t member : all)
        members.push_back(mark_[member]);
      add(tile, members);
    }
  }
  p.indexTiles(count);
}

void PlanWindows::describeItems(PlanWindow &window) const {
  PlanProblem &p = window.problem;
  for (uint32_t i = 0; i < window.item.size(); ++i) {
    uint32_t item = window.item[i];
    bool mayChange = item != none && isFree(item);
    p.label.push_back(item == none ? 0 : problem_.labelOf(item));
    p.isExempt.push_back(mayChange && isExempt(item));
    p.ops.push_back(mayChange ? problem_.ops[item] : 0);
    p.flops.push_back(mayChange ? problem_.flops[item] : 0);
    std::vector<uint32_t> needs = needs_[i];
    if (item != none)
      for (uint32_t need : problem_.needs[item])
        if (mark_[need] != none)
          needs.push_back(mark_[need]);
    std::ranges::sort(needs);
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    for (uint32_t need : needs)
      p.needs.add(need);
    p.needs.close();
  }
}

// Those that a free item touches.
void PlanWindows::addValues(PlanWindow &window) const {
  PlanProblem &p = window.problem;
  std::vector<uint32_t> tensors, links;
  for (uint32_t i = 0; i < numFree_; ++i) {
    for (uint32_t t : tensorsOf_[items_[i]])
      tensors.push_back(t);
    for (uint32_t set : linksOf_[items_[i]])
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
        tensor.isUsedOutside |= problem_.tiles[plan_->tile[user]].vendor == host;
    p.users.close();
    p.tensors.push_back(tensor);
  }
  for (uint32_t set : links) {
    for (uint32_t item : problem_.links[set])
      if (mark_[item] != none)
        p.links.add(mark_[item]);
    p.links.close();
  }
}

// Regions that reach beyond hold together there, and have there what they have.
void PlanWindows::addHeld(PlanWindow &window) const {
  PlanProblem &p = window.problem;
  for (uint32_t region : heldRegions_) {
    const Region &of = regions_[region];
    uint32_t first = mark_[of.firstHeld];
    p.ops[first] = static_cast<uint32_t>(of.ops);
    p.flops[first] = of.flops;
    p.isExempt[first] = of.numExempt > 0;
    for (uint32_t i = numFree_; i < items_.size(); ++i)
      if (plan_->region[items_[i]] == region)
        p.links.add(mark_[items_[i]]);
    p.links.close();
  }
}

// Free tiles, and held regions by what they have beyond.
void PlanWindows::addApart(PlanWindow &window) const {
  PlanProblem &p = window.problem;
  auto add = [&](uint32_t number, uint32_t tile) {
    auto first = std::ranges::lower_bound(problem_.apart, std::pair(tile, 0u));
    for (; first != problem_.apart.end() && first->first == tile; ++first) {
      uint32_t other = numberOf_[first->second];
      if (other == none)
        other = heldTile(window, first->second);
      if (other == none || other == number)
        continue;
      p.apart.emplace_back(number, other);
      p.apart.emplace_back(other, number);
    }
  };
  if (problem_.apart.empty())
    return;
  for (uint32_t number = 0; number < window.tile.size(); ++number)
    if (window.tile[number] != none)
      add(number, window.tile[number]);
  for (uint32_t region : heldRegions_)
    for (uint32_t item : regions_[region].items)
      if (!isFree(item))
        add(heldTile(window, plan_->tile[item]), plan_->tile[item]);
  std::ranges::sort(p.apart);
  p.apart.erase(std::unique(p.apart.begin(), p.apart.end()), p.apart.end());
}

// What stands for a tile of a held region, or none.
uint32_t PlanWindows::heldTile(const PlanWindow &window, uint32_t tile) const {
  uint32_t member = problem_.membersOf(tile)[0], region = plan_->region[member];
  if (region == none || plan_->tile[member] != tile || isFree(member) ||
      regions_[region].firstHeld == none)
    return none;
  return window.problem.tilesOf[mark_[regions_[region].firstHeld]][0];
}

void PlanWindows::addCurrent(PlanWindow &window) const {
  for (uint32_t i = 0; i < window.item.size(); ++i) {
    uint32_t item = window.item[i];
    window.current.tile.push_back(item != none && isFree(item) ? numberOf_[plan_->tile[item]]
                                                               : window.problem.tilesOf[i][0]);
    window.current.region.push_back(item == none ? none : plan_->region[item]);
  }
  renumber(window.current);
  window.time = timeOf(window.problem, window.current).total();
}

} // namespace bycc
