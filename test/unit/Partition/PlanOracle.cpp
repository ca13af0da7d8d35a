// Three parts that share little on purpose: the rules and prices one by one; all
// plans, tile by tile and region by region, judged by these; and a search of its own
// that keeps a partial plan's price as it goes and leaves branches that cannot win.

#include "PlanOracle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

namespace bycc::cases {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool contains(std::span<const uint32_t> list, uint32_t value) {
  return std::ranges::find(list, value) != list.end();
}

uint32_t vendorOf(const PlanProblem &problem, const PlanAnswer &plan, uint32_t item) {
  return problem.tiles[plan.tile[item]].vendor;
}

// ---- the rules, one by one ----

bool isCovered(const PlanProblem &problem, const PlanAnswer &plan) {
  for (uint32_t item = 0; item < problem.size(); ++item) {
    auto members = problem.membersOf(plan.tile[item]);
    if (!contains(members, item))
      return false;
    if ((vendorOf(problem, plan, item) == host) != (plan.region[item] == none))
      return false;
    for (uint32_t member : members)
      if (plan.tile[member] != plan.tile[item] || plan.region[member] != plan.region[item])
        return false;
  }
  return true;
}

bool isOfOneKind(const PlanProblem &problem, const PlanAnswer &plan,
                 const std::set<uint32_t> &region) {
  return std::ranges::all_of(region, [&](uint32_t item) {
    return vendorOf(problem, plan, item) == vendorOf(problem, plan, *region.begin()) &&
           problem.labelOf(item) == problem.labelOf(*region.begin());
  });
}

bool areLinked(const PlanProblem &problem, const PlanAnswer &plan, uint32_t a, uint32_t b) {
  if (plan.tile[a] == plan.tile[b])
    return true;
  for (uint32_t set = 0; set < problem.links.size(); ++set)
    if (contains(problem.links[set], a) && contains(problem.links[set], b))
      return true;
  return false;
}

bool isOnePiece(const PlanProblem &problem, const PlanAnswer &plan,
                const std::set<uint32_t> &region) {
  std::set<uint32_t> reached{*region.begin()};
  for (bool grows = true; grows;) {
    grows = false;
    for (uint32_t from : std::set<uint32_t>(reached))
      for (uint32_t to : region)
        if (areLinked(problem, plan, from, to))
          grows |= reached.insert(to).second;
  }
  return reached == region;
}

bool respectsApart(const PlanProblem &problem, const PlanAnswer &plan,
                   const std::set<uint32_t> &region) {
  for (uint32_t a : region)
    for (uint32_t b : region)
      if (std::ranges::find(problem.apart, std::pair(plan.tile[a], plan.tile[b])) !=
          problem.apart.end())
        return false;
  return true;
}

bool meetsLimits(const PlanProblem &problem, const PlanAnswer &plan,
                 const std::set<uint32_t> &region) {
  const PlanProblem::Vendor &vendor = problem.vendors[vendorOf(problem, plan, *region.begin())];
  std::set<uint32_t> tiles;
  int64_t ops = 0;
  double flops = 0;
  bool isExempt = false;
  for (uint32_t item : region) {
    tiles.insert(plan.tile[item]);
    ops += problem.ops[item];
    flops += problem.flops[item];
    isExempt |= !problem.isExempt.empty() && problem.isExempt[item] != 0;
  }
  return (vendor.merges || tiles.size() == 1) &&
         (isExempt || (ops >= vendor.minOps && flops >= vendor.minFlops));
}

// No two groups (regions, or items of the host) of which each needs the other.
bool isOrdered(const PlanProblem &problem, const PlanAnswer &plan) {
  uint32_t size = problem.size();
  auto isTogether = [&](uint32_t a, uint32_t b) {
    return a == b || (plan.region[a] != none && plan.region[a] == plan.region[b]);
  };
  // Does a group of one item come before that of another one?
  std::vector<std::vector<bool>> before(size, std::vector<bool>(size, false));
  for (uint32_t item = 0; item < size; ++item)
    for (uint32_t need : problem.needs[item])
      for (uint32_t a = 0; a < size; ++a)
        for (uint32_t b = 0; b < size; ++b)
          if (isTogether(a, need) && isTogether(b, item) && !isTogether(need, item))
            before[a][b] = true;
  for (uint32_t middle = 0; middle < size; ++middle)
    for (uint32_t a = 0; a < size; ++a)
      for (uint32_t b = 0; b < size; ++b)
        if (before[a][middle] && before[middle][b])
          before[a][b] = true;
  for (uint32_t item = 0; item < size; ++item)
    if (before[item][item])
      return false;
  return true;
}

std::map<uint32_t, std::set<uint32_t>> regionsOf(const PlanAnswer &plan) {
  std::map<uint32_t, std::set<uint32_t>> regions;
  for (uint32_t item = 0; item < plan.region.size(); ++item)
    if (plan.region[item] != none)
      regions[plan.region[item]].insert(item);
  return regions;
}

double crossing(const PlanProblem::Vendor &vendor, const PlanProblem::Tensor &tensor) {
  double rate = tensor.isLaidOut ? vendor.perLaidOutByte : vendor.perByte;
  return vendor.transfer + std::round(rate * tensor.bytes);
}

bool isMadeBy(const PlanProblem &problem, const PlanAnswer &plan, uint32_t t, uint32_t vendor) {
  uint32_t maker = problem.tensors[t].maker;
  return vendor == (maker == none ? host : vendorOf(problem, plan, maker));
}

// Does a user find a tensor where its maker leaves it?
bool isAtHome(const PlanProblem &problem, const PlanAnswer &plan, uint32_t t, uint32_t user) {
  uint32_t vendor = vendorOf(problem, plan, user), maker = problem.tensors[t].maker;
  if (!isMadeBy(problem, plan, t, vendor))
    return false;
  return vendor == host || problem.vendors[vendor].ownMemory ||
         plan.region[user] == plan.region[maker];
}

// Does a vendor make a tensor that must leave its region, and its memory if it has one?
bool leaves(const PlanProblem &problem, const PlanAnswer &plan, uint32_t t, uint32_t vendor) {
  bool isUsed = problem.tensors[t].isUsedOutside;
  for (uint32_t user : problem.users[t])
    isUsed |= !isAtHome(problem, plan, t, user);
  return isUsed && isMadeBy(problem, plan, t, vendor);
}

bool enters(const PlanProblem &problem, const PlanAnswer &plan, uint32_t t, uint32_t vendor) {
  return std::ranges::any_of(problem.users[t], [&](uint32_t user) {
    return vendorOf(problem, plan, user) == vendor && !isAtHome(problem, plan, t, user);
  });
}

} // namespace

bool keepsRules(const PlanProblem &problem, const PlanAnswer &plan) {
  if (!isCovered(problem, plan))
    return false;
  for (const auto &[number, region] : regionsOf(plan))
    if (!isOfOneKind(problem, plan, region) || !isOnePiece(problem, plan, region) ||
        !respectsApart(problem, plan, region) || !meetsLimits(problem, plan, region))
      return false;
  return isOrdered(problem, plan);
}

double priceOf(const PlanProblem &problem, const PlanAnswer &plan, bool raw) {
  auto told = [&](uint32_t vendor, double time) {
    return raw ? std::round(time / problem.vendors[vendor].trust) : time;
  };
  double price = 0;
  for (uint32_t tile : std::set<uint32_t>(plan.tile.begin(), plan.tile.end()))
    price += raw ? problem.tiles[tile].raw : problem.tiles[tile].time;
  for (const auto &[number, region] : regionsOf(plan)) {
    uint32_t vendor = vendorOf(problem, plan, *region.begin());
    price += told(vendor, problem.vendors[vendor].launch);
  }
  for (uint32_t vendor = 1; vendor < problem.vendors.size(); ++vendor)
    for (uint32_t t = 0; t < problem.tensors.size(); ++t) {
      double once = told(vendor, crossing(problem.vendors[vendor], problem.tensors[t]));
      price += leaves(problem, plan, t, vendor) ? once : 0;
      price += enters(problem, plan, t, vendor) ? once : 0;
    }
  return price;
}

namespace {

// ---- every plan ----

class AllPlans {
public:
  explicit AllPlans(const PlanProblem &problem)
      : problem_(problem),
        plan_{std::vector(problem.size(), none), std::vector(problem.size(), none)} {}

  double least() {
    coverFrom(0, 0);
    return least_;
  }

private:
  void coverFrom(uint32_t item, uint32_t numRegions) {
    while (item < problem_.size() && plan_.tile[item] != none)
      ++item;
    if (item == problem_.size()) {
      if (keepsRules(problem_, plan_))
        least_ = std::min(least_, priceOf(problem_, plan_));
      return;
    }
    for (uint32_t tile : problem_.tilesOf[item])
      if (isFree(tile)) {
        bool isHost = problem_.tiles[tile].vendor == host;
        for (uint32_t region = isHost ? numRegions : 0; region <= numRegions; ++region) {
          set(tile, tile, isHost ? none : region);
          coverFrom(item + 1, numRegions + (!isHost && region == numRegions));
        }
        set(tile, none, none);
      }
  }

  bool isFree(uint32_t tile) const {
    return std::ranges::all_of(problem_.membersOf(tile),
                               [&](uint32_t item) { return plan_.tile[item] == none; });
  }

  void set(uint32_t tile, uint32_t value, uint32_t region) {
    for (uint32_t item : problem_.membersOf(tile)) {
      plan_.tile[item] = value;
      plan_.region[item] = region;
    }
  }

  const PlanProblem &problem_;
  PlanAnswer plan_;
  double least_ = infinity;
};

// ---- every plan that may be the best ----

// Sets of items are bits of a number. A partial plan is copied, never taken back.
class BruteForce {
public:
  explicit BruteForce(const PlanProblem &problem)
      : problem_(problem), all_(bit(problem.size()) - 1) {
    if (problem.size() > maxItems || problem.tensors.size() > maxTensors ||
        problem.vendors.size() > maxVendors)
      throw std::length_error("too large a problem to try all plans");
    readGraph();
    readTiles();
    readTensors();
    shareTimes();
  }

  double least() {
    extend(Partial{});
    return least_;
  }
  PlanAnswer best() const { return best_; }

private:
  using Set = uint32_t;
  using Borders = uint8_t; // that a tensor crosses: its maker's (bit 0), other vendors'
  static constexpr uint32_t maxItems = 16, maxTensors = 40, maxVendors = 8;

  struct Region {
    Set items = 0;
    uint32_t vendor = host;
  };
  struct Partial {
    Set placed = 0;
    uint32_t numRegions = 0;
    double price = 0;
    std::array<uint32_t, maxItems> tile{};   // of placed items
    std::array<uint32_t, maxItems> region{}; // of placed items; none on the host
    std::array<Region, maxItems> regions{};
    std::array<Set, maxVendors> ofVendor{};
    std::array<Borders, maxTensors> crossed{}; // by tensor, as far as known
  };
  struct Choice {
    double atLeast; // what plans that begin so take
    Partial plan;
  };

  static Set bit(uint32_t item) { return Set{1} << item; }
  template <class Visit> static void forEach(Set set, Visit &&visit) {
    for (; set; set &= set - 1)
      visit(static_cast<uint32_t>(std::countr_zero(set)));
  }
  static uint32_t firstOf(Set set) { return static_cast<uint32_t>(std::countr_zero(set)); }

  void readGraph() {
    uint32_t size = problem_.size();
    after_.assign(size, 0);
    linked_.assign(size, 0);
    for (uint32_t item = 0; item < size; ++item)
      for (uint32_t need : problem_.needs[item])
        after_[need] |= bit(item);
    for (uint32_t set = 0; set < problem_.links.size(); ++set)
      for (uint32_t a : problem_.links[set])
        for (uint32_t b : problem_.links[set])
          linked_[a] |= bit(b);
  }

  void readTiles() {
    composed_.assign(problem_.size(), 0);
    takenBy_.assign(problem_.vendors.size(), 0);
    for (uint32_t tile = 0; tile < problem_.tiles.size(); ++tile) {
      Set items = 0;
      for (uint32_t item : problem_.membersOf(tile))
        items |= bit(item);
      tileItems_.push_back(items);
      takenBy_[problem_.tiles[tile].vendor] |= items;
      forEach(items, [&](uint32_t item) { composed_[item] |= items; });
    }
  }

  void readTensors() {
    reads_.resize(problem_.size());
    makes_.resize(problem_.size());
    for (uint32_t t = 0; t < problem_.tensors.size(); ++t) {
      Set users = 0;
      for (uint32_t user : problem_.users[t]) {
        users |= bit(user);
        reads_[user].push_back(t);
      }
      users_.push_back(users);
      if (uint32_t maker = problem_.tensors[t].maker; maker != none)
        makes_[maker].push_back(t);
      std::vector<double> crossings;
      for (const PlanProblem::Vendor &vendor : problem_.vendors)
        crossings.push_back(crossing(vendor, problem_.tensors[t]));
      crossings_.push_back(crossings);
    }
  }

  // Each tile's time in shares for its items. An item has one of its tiles, so the
  // least of its shares is spent at any rate. Whole numbers: no tile's shares come to
  // more than its time.
  void shareTimes() {
    std::vector<double> weight(problem_.size(), infinity);
    share_.assign(problem_.size(), std::vector(problem_.vendors.size(), infinity));
    for (uint32_t tile = 0; tile < problem_.tiles.size(); ++tile)
      for (uint32_t item : problem_.membersOf(tile))
        weight[item] = std::min(weight[item], problem_.tiles[tile].time + 1);
    for (uint32_t tile = 0; tile < problem_.tiles.size(); ++tile) {
      const PlanProblem::Tile &one = problem_.tiles[tile];
      double sum = 0;
      for (uint32_t item : problem_.membersOf(tile))
        sum += weight[item];
      for (uint32_t item : problem_.membersOf(tile)) {
        double &share = share_[item][one.vendor];
        share = std::min(share, std::floor(one.time * (weight[item] / sum)));
      }
    }
  }

  void extend(const Partial &partial) {
    if (partial.placed == all_) {
      keep(partial);
      return;
    }
    uint32_t item = firstOf(~partial.placed);
    std::vector<Choice> choices;
    for (uint32_t tile : problem_.tilesOf[item])
      if (!(tileItems_[tile] & partial.placed) && hasOneLabel(tile))
        for (uint32_t number = 0; number <= partial.numRegions; ++number)
          if (number == partial.numRegions || mayJoin(partial, tile, partial.regions[number])) {
            Partial next = place(partial, tile, number);
            choices.push_back({next.price + restOf(next), next});
          }
    // The cheapest first: good plans early.
    std::vector<const Choice *> order;
    for (const Choice &choice : choices)
      order.push_back(&choice);
    std::ranges::stable_sort(order, {}, &Choice::atLeast);
    for (const Choice *choice : order)
      if (choice->atLeast < least_ && isOrdered(choice->plan, item) && mayStand(choice->plan))
        extend(choice->plan);
  }

  bool hasOneLabel(uint32_t tile) const {
    auto members = problem_.membersOf(tile);
    return std::ranges::all_of(members, [&](uint32_t item) {
      return problem_.labelOf(item) == problem_.labelOf(members[0]);
    });
  }

  bool mayJoin(const Partial &partial, uint32_t tile, const Region &region) const {
    uint32_t item = problem_.membersOf(tile)[0];
    if (problem_.tiles[tile].vendor != region.vendor || !problem_.vendors[region.vendor].merges ||
        problem_.labelOf(item) != problem_.labelOf(firstOf(region.items)))
      return false;
    bool isApart = false;
    forEach(region.items, [&](uint32_t other) {
      isApart |= std::ranges::binary_search(problem_.apart, std::pair(tile, partial.tile[other]));
    });
    return !isApart;
  }

  // The number of a region: one that is there, or the next one.
  Partial place(const Partial &partial, uint32_t tile, uint32_t number) const {
    Partial next = partial;
    uint32_t vendor = problem_.tiles[tile].vendor;
    next.placed |= tileItems_[tile];
    next.price += problem_.tiles[tile].time;
    next.ofVendor[vendor] |= tileItems_[tile];
    if (vendor != host) {
      next.regions[number].items |= tileItems_[tile];
      next.regions[number].vendor = vendor;
      if (number == partial.numRegions) {
        ++next.numRegions;
        next.price += problem_.vendors[vendor].launch;
      }
    }
    forEach(tileItems_[tile], [&](uint32_t item) {
      next.tile[item] = tile;
      next.region[item] = vendor == host ? none : number;
    });
    forEach(tileItems_[tile], [&](uint32_t item) {
      for (uint32_t t : reads_[item])
        updateBorders(next, t);
      for (uint32_t t : makes_[item])
        updateBorders(next, t);
    });
    return next;
  }

  bool isKnown(const Partial &partial, uint32_t t) const {
    uint32_t maker = problem_.tensors[t].maker;
    return maker == none || (partial.placed & bit(maker));
  }

  uint32_t ownerOf(const Partial &partial, uint32_t t) const {
    uint32_t maker = problem_.tensors[t].maker;
    return maker == none ? host : problem_.tiles[partial.tile[maker]].vendor;
  }

  // What the placed items make a tensor cross; others never take any of it back.
  void updateBorders(Partial &partial, uint32_t t) const {
    if (!isKnown(partial, t))
      return;
    uint32_t owner = ownerOf(partial, t);
    Set near = partial.ofVendor[owner]; // items that find it where it is
    if (owner != host && !problem_.vendors[owner].ownMemory)
      near = partial.regions[partial.region[problem_.tensors[t].maker]].items;
    Set far = users_[t] & partial.placed & ~near;
    Borders crossed = owner != host && (far || problem_.tensors[t].isUsedOutside);
    for (uint32_t vendor = 1; vendor < problem_.vendors.size(); ++vendor)
      if (far & partial.ofVendor[vendor])
        crossed |= 1u << vendor;
    partial.price += priceOf(t, owner, crossed) - priceOf(t, owner, partial.crossed[t]);
    partial.crossed[t] = crossed;
  }

  double priceOf(uint32_t t, uint32_t owner, Borders crossed) const {
    double price = crossed & 1 ? crossings_[t][owner] : 0;
    for (uint32_t vendor = 1; vendor < problem_.vendors.size(); ++vendor)
      if (crossed >> vendor & 1)
        price += crossings_[t][vendor];
    return price;
  }

  // What items that are not placed take at least: each its share of a tile and of
  // crossings, with the vendor where these are least.
  double restOf(const Partial &partial) const {
    double rest = 0;
    forEach(all_ & ~partial.placed, [&](uint32_t item) {
      double least = infinity;
      for (uint32_t vendor = 0; vendor < problem_.vendors.size(); ++vendor)
        if (share_[item][vendor] < least)
          least = std::min(least, share_[item][vendor] + crossingsOf(partial, item, vendor));
      rest += least;
    });
    return rest;
  }

  // An item that is to be with a vendor: crossings of what it makes for the host, and
  // those, in whole shares with other readers, that nobody pays so far for what it
  // reads of placed items elsewhere.
  double crossingsOf(const Partial &partial, uint32_t item, uint32_t vendor) const {
    double price = 0;
    if (vendor != host)
      for (uint32_t t : makes_[item])
        if (problem_.tensors[t].isUsedOutside)
          price += crossings_[t][vendor];
    for (uint32_t t : reads_[item]) {
      if (!isKnown(partial, t) || ownerOf(partial, t) == vendor)
        continue;
      uint32_t owner = ownerOf(partial, t);
      Borders crossed = (owner != host) | (vendor != host) << vendor;
      double more = priceOf(t, owner, crossed & ~partial.crossed[t]);
      price += std::floor(more / std::popcount(users_[t] & ~partial.placed));
    }
    return price;
  }

  // A cycle among placed items, if there is a new one, leads through the group of the
  // item placed last.
  bool isOrdered(const Partial &partial, uint32_t item) const {
    Set start = groupOf(partial, item), done = 0;
    Set next = usersOf(partial, start) & ~start;
    while (next) {
      Set group = groupOf(partial, firstOf(next));
      done |= group;
      next = (next | usersOf(partial, group)) & ~done;
      if (next & start)
        return false;
    }
    return true;
  }

  Set groupOf(const Partial &partial, uint32_t item) const {
    uint32_t number = partial.region[item];
    return number == none ? bit(item) : partial.regions[number].items;
  }

  Set usersOf(const Partial &partial, Set items) const {
    Set users = 0;
    forEach(items, [&](uint32_t item) { users |= after_[item]; });
    return users & partial.placed;
  }

  // Every region is in one piece and meets its limits, or can come to do so with items
  // that are not placed. With all placed, this is the rule itself.
  bool mayStand(const Partial &partial) const {
    for (uint32_t number = 0; number < partial.numRegions; ++number) {
      const Region &region = partial.regions[number];
      Set reached = reach(partial, region);
      if ((region.items & ~reached) || !meetsLimits(reached, problem_.vendors[region.vendor]))
        return false;
    }
    return true;
  }

  // All that can be linked with a region's first item.
  Set reach(const Partial &partial, const Region &region) const {
    Set others = problem_.vendors[region.vendor].merges ? takenBy_[region.vendor] : 0;
    Set allowed = region.items | (others & ~partial.placed);
    Set reached = bit(firstOf(region.items)), last = 0;
    while (reached != last) {
      last = reached;
      forEach(last, [&](uint32_t item) {
        bool isPlaced = (partial.placed & bit(item)) != 0;
        Set tile = isPlaced ? tileItems_[partial.tile[item]] : composed_[item];
        reached |= (linked_[item] | tile) & allowed;
      });
    }
    return reached;
  }

  bool meetsLimits(Set items, const PlanProblem::Vendor &vendor) const {
    int64_t ops = 0;
    double flops = 0;
    bool isExempt = false;
    forEach(items, [&](uint32_t item) {
      ops += problem_.ops[item];
      flops += problem_.flops[item];
      isExempt |= !problem_.isExempt.empty() && problem_.isExempt[item];
    });
    return isExempt || (ops >= vendor.minOps && flops >= vendor.minFlops);
  }

  void keep(const Partial &partial) {
    least_ = partial.price;
    best_.tile.assign(partial.tile.begin(), partial.tile.begin() + problem_.size());
    best_.region.assign(partial.region.begin(), partial.region.begin() + problem_.size());
  }

  const PlanProblem &problem_;
  Set all_;
  std::vector<Set> after_, linked_, composed_;       // by item; composed: all its tiles' items
  std::vector<Set> tileItems_, takenBy_;             // by tile; by vendor
  std::vector<Set> users_;                           // by tensor
  std::vector<std::vector<double>> crossings_;       // by tensor and vendor
  std::vector<std::vector<uint32_t>> reads_, makes_; // tensors, by item
  std::vector<std::vector<double>> share_;           // of a tile's time, by item and vendor
  double least_ = infinity;
  PlanAnswer best_;
};

} // namespace

double tryAllPlans(const PlanProblem &problem) { return AllPlans(problem).least(); }

double bruteForce(const PlanProblem &problem, PlanAnswer *best) {
  BruteForce search(problem);
  double least = search.least();
  if (best)
    *best = search.best();
  return least;
}

} // namespace bycc::cases
