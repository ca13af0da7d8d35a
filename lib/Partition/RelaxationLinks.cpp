// Links between items: cleaned, their cycles, and what they could bring together.

#include "RelaxationLinks.h"

#include "UnionFind.h"

#include <algorithm>
#include <optional>

namespace bycc {

namespace {

// Two or more items each, larger sets first.
std::vector<std::vector<uint32_t>> setsByLabel(const PlanProblem &problem) {
  std::vector<std::vector<uint32_t>> sets;
  for (uint32_t set = 0; set < problem.links.size(); ++set) {
    std::vector<std::pair<uint32_t, uint32_t>> items; // label, item
    for (uint32_t item : problem.links[set])
      items.emplace_back(problem.labelOf(item), item);
    std::ranges::sort(items);
    items.erase(std::unique(items.begin(), items.end()), items.end());
    for (size_t i = 0; i < items.size();) {
      std::vector<uint32_t> one;
      for (uint32_t label = items[i].first; i < items.size() && items[i].first == label; ++i)
        one.push_back(items[i].second);
      if (one.size() > 1)
        sets.push_back(std::move(one));
    }
  }
  std::ranges::sort(sets, [](const auto &a, const auto &b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  return sets;
}

} // namespace

LinkSets linkSets(const PlanProblem &problem) {
  LinkSets links;
  std::vector<std::vector<uint32_t>> setsOf(problem.size());
  for (const std::vector<uint32_t> &set : setsByLabel(problem)) {
    uint32_t rarest =
        *std::ranges::min_element(set, {}, [&](uint32_t item) { return setsOf[item].size(); });
    if (std::ranges::any_of(setsOf[rarest], [&](uint32_t larger) {
          return std::ranges::includes(links.sets[larger], set);
        }))
      continue;
    for (uint32_t item : set) {
      setsOf[item].push_back(links.sets.size());
      links.sets.add(item);
    }
    links.sets.close();
  }
  links.setsOf = transposed(links.sets, problem.size());
  return links;
}

uint32_t numParts(const LinkSets &links, std::span<const uint32_t> items) {
  std::vector<std::pair<uint32_t, uint32_t>> places; // set, which of the items
  for (uint32_t i = 0; i < items.size(); ++i)
    for (uint32_t set : links.setsOf[items[i]])
      places.emplace_back(set, i);
  std::ranges::sort(places);
  UnionFind parts(static_cast<uint32_t>(items.size()));
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i].first == places[i - 1].first)
      parts.join(places[i].second, places[i - 1].second);
  uint32_t count = 0;
  for (uint32_t i = 0; i < items.size(); ++i)
    count += parts.find(i) == i;
  return count;
}

namespace {

// What a part of the items that could have a vendor has for its limits.
struct LinkPart {
  int64_t ops = 0;
  double flops = 0;
  bool isExempt = false;

  void add(const PlanProblem &problem, uint32_t item) {
    ops += problem.ops[item];
    flops += problem.flops[item];
    isExempt |= !problem.isExempt.empty() && problem.isExempt[item];
  }
  bool isEnough(const PlanProblem::Vendor &vendor) const {
    double slack = 1e-9 * flops; // regions may sum up in another order
    return isExempt || (ops >= vendor.minOps && flops + slack >= vendor.minFlops);
  }
};

// The linked items that could be in one region with each.
class Partners {
public:
  Partners(const PlanProblem &problem, const LinkSets &links, const std::vector<uint8_t> &isAble)
      : links_(links), isAble_(isAble), partners_(problem.size()) {
    Between between(problem, isAble);
    for (uint32_t item = 0; item < problem.size(); ++item) {
      if (!isAble[item])
        continue;
      uint32_t last = item;
      for (uint32_t set : links.setsOf[item])
        last = std::max(last, links.sets[set].back());
      between.lookFrom(item, last);
      for (uint32_t set : links.setsOf[item])
        if (links.sets[set].size() <= maxSet)
          for (uint32_t other : links.sets[set])
            if (other > item && isAble[other] && !between.isCut(other)) {
              partners_[item].push_back(other);
              partners_[other].push_back(item);
            }
    }
  }

  void joinInto(UnionFind &parts) const {
    for (uint32_t item = 0; item < partners_.size(); ++item)
      for (uint32_t other : partners_[item])
        parts.join(item, other);
    for (uint32_t set = 0; set < links_.sets.size(); ++set)
      if (links_.sets[set].size() > maxSet)
        for (uint32_t item : links_.sets[set])
          if (isAble_[item])
            parts.join(item, links_.sets[set][0]);
  }
  // Are there too many to tell?
  bool isKnown(uint32_t item) const {
    return std::ranges::none_of(links_.setsOf[item],
                                [&](uint32_t set) { return links_.sets[set].size() > maxSet; });
  }
  std::span<const uint32_t> of(uint32_t item) const { return partners_[item]; }
  // Members of one tile are, too.
  void addTile(std::span<const uint32_t> members) {
    for (uint32_t item : members)
      for (uint32_t other : members)
        if (other != item && std::ranges::count(partners_[item], other) == 0)
          partners_[item].push_back(other);
  }

private:
  static constexpr uint32_t maxSet = 64; // of larger ones, any two may be partners
  const LinkSets &links_;
  const std::vector<uint8_t> &isAble_;
  std::vector<std::vector<uint32_t>> partners_; // by item
};

LinkPart sumOf(const PlanProblem &problem, std::span<const uint32_t> items) {
  LinkPart sum;
  for (uint32_t item : items)
    sum.add(problem, item);
  return sum;
}

// One label, and nothing in between that is not able.
bool isWhole(const PlanProblem &problem, std::span<const uint32_t> members,
             const std::vector<uint8_t> &isAble) {
  Between between(problem, isAble);
  for (uint32_t i = 0; i + 1 < members.size(); ++i) {
    if (problem.labelOf(members[i]) != problem.labelOf(members[i + 1]))
      return false;
    between.lookFrom(members[i], members.back());
    for (uint32_t later : members.subspan(i + 1))
      if (between.isCut(later))
        return false;
  }
  return true;
}

// Whether some tile of the vendor fell away.
bool dropHopeless(const PlanProblem &problem, const LinkSets &links, uint32_t vendor,
                  std::vector<uint8_t> &isPossible) {
  const PlanProblem::Vendor &limits = problem.vendors[vendor];
  std::vector<uint8_t> isAble = ableItems(problem, isPossible, vendor);
  std::vector<LinkPart> sums;
  UnionFind parts(problem.size());
  if (limits.merges && !LinkPart().isEnough(limits)) {
    Partners(problem, links, isAble).joinInto(parts);
    for (uint32_t tile = 0; tile < problem.tiles.size(); ++tile)
      if (isPossible[tile] && problem.tiles[tile].vendor == vendor)
        for (uint32_t member : problem.membersOf(tile))
          parts.join(member, problem.membersOf(tile)[0]);
    sums.resize(problem.size());
    for (uint32_t item = 0; item < problem.size(); ++item)
      if (isAble[item])
        sums[parts.find(item)].add(problem, item);
  }
  bool hasDropped = false;
  std::vector<uint8_t> isMember(problem.size(), false);
  for (uint32_t tile = 0; tile < problem.tiles.size(); ++tile) {
    if (!isPossible[tile] || problem.tiles[tile].vendor != vendor)
      continue;
    auto members = problem.membersOf(tile);
    for (uint32_t member : members)
      isMember[member] = true;
    LinkPart most = sums.empty() ? sumOf(problem, members) : sums[parts.find(members[0])];
    bool isEnough = most.isEnough(limits) || (limits.merges && sums.empty());
    if (!isEnough || !isWhole(problem, members, limits.merges ? isAble : isMember))
      isPossible[tile] = false, hasDropped = true;
    for (uint32_t member : members)
      isMember[member] = false;
  }
  return hasDropped;
}

} // namespace

void Between::lookFrom(uint32_t item, uint32_t last) {
  first_ = item;
  state_.assign(std::min(last - item, maxSpan_) + 1, 0);
  state_[0] = Reached;
  for (uint32_t i = 1; i < state_.size(); ++i)
    for (uint32_t need : problem_.needs[item + i])
      if (need >= item && state_[need - item]) {
        state_[i] |= state_[need - item];
        if (need != item && (!isAble_[need] || problem_.labelOf(need) != problem_.labelOf(item)))
          state_[i] |= Cut;
      }
}

std::vector<uint8_t> ableItems(const PlanProblem &problem, const std::vector<uint8_t> &isPossible,
                               uint32_t vendor) {
  std::vector<uint8_t> isAble(problem.size(), false);
  for (uint32_t tile = 0; tile < problem.tiles.size(); ++tile)
    if (isPossible[tile] && problem.tiles[tile].vendor == vendor)
      for (uint32_t member : problem.membersOf(tile))
        isAble[member] = true;
  return isAble;
}

std::vector<uint8_t> possibleTiles(const PlanProblem &problem, const LinkSets &links) {
  std::vector<uint8_t> isPossible(problem.tiles.size(), true);
  for (uint32_t vendor = host + 1; vendor < problem.vendors.size(); ++vendor)
    while (dropHopeless(problem, links, vendor, isPossible))
      continue;
  return isPossible;
}

namespace {

// What lies on paths between items: a region that holds these holds that, too.
class Closure {
public:
  Closure(const PlanProblem &problem, const std::vector<uint8_t> &isAble)
      : problem_(problem), isAble_(isAble) {}

  // Adds it to a set; false if no region can hold all. Sets that reach far stay as they are.
  bool close(std::vector<uint32_t> &set) {
    auto [first, last] = std::ranges::minmax(set);
    if (last - first > maxSpan)
      return true;
    state_.assign(last - first + 1, 0);
    for (uint32_t item : set)
      state_[item - first] = Member | Before | After;
    for (uint32_t item = first; item <= last; ++item)
      for (uint32_t need : problem_.needs[item])
        if (need >= first && state_[need - first] & After)
          state_[item - first] |= After;
    for (uint32_t item = last + 1; item-- > first;)
      if (state_[item - first] & Before)
        for (uint32_t need : problem_.needs[item])
          if (need >= first)
            state_[need - first] |= Before;
    uint32_t label = problem_.labelOf(set[0]);
    for (uint32_t item = first; item <= last; ++item) {
      if (state_[item - first] != (Before | After))
        continue;
      if (!isAble_[item] || problem_.labelOf(item) != label)
        return false;
      set.push_back(item);
    }
    return true;
  }

private:
  static constexpr uint32_t maxSpan = 64;
  enum : uint8_t { Member = 1, Before = 2, After = 4 }; // one of the set; before, after one

  const PlanProblem &problem_;
  const std::vector<uint8_t> &isAble_;
  std::vector<uint8_t> state_; // by item, from the set's first
};

// Without sets that hold another: they say no more.
void dropLarger(std::vector<std::vector<uint32_t>> &sets) {
  for (std::vector<uint32_t> &set : sets)
    std::ranges::sort(set);
  std::ranges::sort(sets, [](const auto &a, const auto &b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  std::vector<std::vector<uint32_t>> least;
  for (std::vector<uint32_t> &set : sets)
    if (std::ranges::none_of(least,
                             [&](const auto &other) { return std::ranges::includes(set, other); }))
      least.push_back(std::move(set));
  sets = std::move(least);
}

// Linked sets with an item, each once: grown from it, never by what was left out
// before (Wernicke 2006). Those that are enough are not grown further.
class CompanyFinder {
public:
  CompanyFinder(const PlanProblem &problem, const PlanProblem::Vendor &limits,
                const Partners &partners)
      : problem_(problem), limits_(limits), partners_(partners), isSeen_(problem.size(), false) {}

  // Sets with all these items, and none of those that are left out. Larger sets say more,
  // until they are too many. None: they would say nothing.
  std::optional<std::vector<std::vector<uint32_t>>> of(std::span<const uint32_t> items,
                                                       std::span<const uint32_t> leftOut) {
    std::optional<std::vector<std::vector<uint32_t>>> best;
    for (size_ = items.size() + 1; size_ <= maxSize && isKnown_; ++size_) {
      sets_.clear();
      isCut_ = isTooMany_ = false;
      looked_ = 0;
      members_.assign(items.begin(), items.end());
      std::vector<uint32_t> next;
      for (std::span<const uint32_t> those : {items, leftOut})
        for (uint32_t item : those)
          isSeen_[item] = true;
      for (uint32_t item : items)
        see(item, next);
      grow(sumOf(problem_, items), next);
      for (std::span<const uint32_t> those : {items, leftOut, std::span<const uint32_t>(next)})
        for (uint32_t item : those)
          isSeen_[item] = false;
      if (isTooMany_ || !isKnown_)
        break;
      best = sets_;
      if (!isCut_)
        break;
    }
    isKnown_ = true;
    return best;
  }

private:
  static constexpr uint32_t maxSize = 6, maxSets = 100, maxLooked = 5000;

  void see(uint32_t item, std::vector<uint32_t> &next) {
    isKnown_ = isKnown_ && partners_.isKnown(item);
    for (uint32_t other : partners_.of(item))
      if (!isSeen_[other]) {
        isSeen_[other] = true;
        next.push_back(other);
      }
  }

  void grow(const LinkPart &sum, std::span<const uint32_t> next) {
    isTooMany_ = isTooMany_ || ++looked_ > maxLooked;
    if (isTooMany_ || !isKnown_)
      return;
    if (bool isEnough = sum.isEnough(limits_); isEnough || members_.size() == size_) {
      isCut_ |= !isEnough;
      sets_.push_back(members_);
      isTooMany_ = sets_.size() > maxSets;
      return;
    }
    for (size_t i = 0; i < next.size(); ++i) {
      LinkPart more = sum;
      more.add(problem_, next[i]);
      members_.push_back(next[i]);
      std::vector<uint32_t> rest(next.begin() + i + 1, next.end());
      size_t known = rest.size();
      if (!more.isEnough(limits_) && members_.size() < size_)
        see(next[i], rest);
      grow(more, rest);
      for (uint32_t other : std::span(rest).subspan(known))
        isSeen_[other] = false;
      members_.pop_back();
    }
  }

  const PlanProblem &problem_;
  const PlanProblem::Vendor &limits_;
  const Partners &partners_;
  size_t size_ = 0;
  bool isCut_ = false, isTooMany_ = false, isKnown_ = true;
  uint32_t looked_ = 0;
  std::vector<uint8_t> isSeen_;
  std::vector<uint32_t> members_;
  std::vector<std::vector<uint32_t>> sets_;
};

} // namespace

bool canShareRegion(const PlanProblem &problem, uint32_t tile, uint32_t other) {
  return tile == other || (!problem.areApart(tile, other) &&
                           std::ranges::none_of(problem.membersOf(tile), [&](uint32_t item) {
                             return std::ranges::binary_search(problem.membersOf(other), item);
                           }));
}

namespace {

class CompaniesOfVendor {
public:
  CompaniesOfVendor(const PlanProblem &problem, const LinkSets &links,
                    const std::vector<uint8_t> &isPossible, uint32_t vendor)
      : problem_(problem), isPossible_(isPossible), vendor_(vendor),
        isAble_(ableItems(problem, isPossible, vendor)), partners_(problem, links, isAble_),
        finder_(problem, problem.vendors[vendor], partners_), closure_(problem, isAble_) {
    for (uint32_t tile = 0; tile < problem.tiles.size(); ++tile)
      if (isOfVendor(tile) && problem.isComposite(tile))
        partners_.addTile(problem.membersOf(tile));
  }

  // Tiles that are apart from others each by itself: it says who is no company.
  void addTo(std::vector<Company> &needed) {
    for (uint32_t item = 0; item < problem_.size(); ++item) {
      std::vector<uint32_t> tiles;
      for (uint32_t tile : problem_.tilesOf[item])
        if (isOfVendor(tile)) {
          std::vector<uint32_t> leftOut = apartFrom(tile);
          if (leftOut.empty())
            tiles.push_back(tile);
          else if (problem_.membersOf(tile)[0] == item)
            add({item, vendor_, {tile}, {}, {}}, problem_.membersOf(tile), leftOut, needed);
        }
      if (!tiles.empty())
        add({item, vendor_, std::move(tiles), {}, {}}, {&item, 1}, {}, needed);
    }
  }

private:
  bool isOfVendor(uint32_t tile) const {
    return isPossible_[tile] && problem_.tiles[tile].vendor == vendor_;
  }

  // Items that cannot be in a region with the tile.
  std::vector<uint32_t> apartFrom(uint32_t tile) const {
    std::vector<uint32_t> items;
    auto first = std::ranges::lower_bound(problem_.apart, std::pair(tile, 0u));
    for (; first != problem_.apart.end() && first->first == tile; ++first)
      for (uint32_t item : problem_.membersOf(first->second))
        if (std::ranges::none_of(problem_.tilesOf[item], [&](uint32_t other) {
              return isOfVendor(other) && canShareRegion(problem_, tile, other);
            }))
          items.push_back(item);
    return items;
  }

  void add(Company company, std::span<const uint32_t> members, std::span<const uint32_t> leftOut,
           std::vector<Company> &needed) {
    if (sumOf(problem_, members).isEnough(problem_.vendors[vendor_]))
      return;
    std::optional<std::vector<std::vector<uint32_t>>> sets = finder_.of(members, leftOut);
    if (!sets)
      return;
    std::erase_if(*sets, [&](auto &set) {
      return !closure_.close(set) || std::ranges::any_of(leftOut, [&](uint32_t item) {
        return std::ranges::count(set, item) > 0;
      });
    });
    dropLarger(*sets);
    for (const std::vector<uint32_t> &set : *sets) {
      std::vector<uint8_t> &places = company.sets.emplace_back();
      for (uint32_t other : set) {
        if (std::ranges::count(members, other))
          continue;
        auto found = std::ranges::find(company.others, other);
        places.push_back(static_cast<uint8_t>(found - company.others.begin()));
        if (found == company.others.end())
          company.others.push_back(other);
      }
    }
    needed.push_back(std::move(company));
  }

  const PlanProblem &problem_;
  const std::vector<uint8_t> &isPossible_; // by tile
  uint32_t vendor_;
  std::vector<uint8_t> isAble_; // by item
  Partners partners_;
  CompanyFinder finder_;
  Closure closure_;
};

} // namespace

std::vector<Company> neededCompany(const PlanProblem &problem, const LinkSets &links,
                                   const std::vector<uint8_t> &isPossible) {
  std::vector<Company> needed;
  for (uint32_t vendor = host + 1; vendor < problem.vendors.size(); ++vendor)
    if (problem.vendors[vendor].merges && !LinkPart().isEnough(problem.vendors[vendor]))
      CompaniesOfVendor(problem, links, isPossible, vendor).addTo(needed);
  return needed;
}

} // namespace bycc
