// Takes a PlanProblem apart: which factors there are and what they cost.

#include "RelaxationGraph.h"

#include "LaunchChain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace bycc {

namespace {

using Kind = RelaxationGraph::Kind;

// Sums of fewer units than this stay exact whatever is added up on the way.
constexpr double maxUnits = double(uint64_t(1) << 44);
constexpr double farWeight = 64;
constexpr uint32_t maxCompany = 120; // items
constexpr uint32_t numChains = 4;    // that share a vendor's launch

// No plan takes more.
double mostTime(const PlanProblem &problem) {
  double sum = 0;
  for (const PlanProblem::Tile &tile : problem.tiles)
    sum += tile.time + problem.vendors[tile.vendor].launch * (tile.membersEnd - tile.membersBegin);
  for (uint32_t t = 0; t < problem.tensors.size(); ++t)
    for (uint32_t v = 1; v < problem.vendors.size(); ++v)
      sum += problem.crossing(v, t);
  return sum;
}

// The tensors and links of which some items are maker and users.
struct Value {
  uint32_t maker = none;
  std::vector<uint32_t> users;
  std::vector<uint32_t> tensors;
  uint32_t link = none; // a set of links of all of them
};

// A class of users of a value. Those apart have no tile that could share a region
// with their maker's if that is of their vendor.
struct UserClass {
  uint32_t vendor = host;
  bool isApart = false;
  bool operator==(const UserClass &) const = default;
};

class GraphBuilder {
public:
  GraphBuilder(const PlanProblem &problem, std::span<const double> chainShare,
               std::shared_ptr<const RelaxationBasis> basis)
      : problem_(problem), chainShare_(chainShare), basis_(basis ? std::move(basis) : findBasis()),
        links_(basis_->links), isPossible_(basis_->isPossible), vendorLinks_(basis_->vendorLinks) {
    for (uint32_t vendor = 0; vendor < problem_.vendors.size(); ++vendor)
      isAble_.push_back(ableItems(problem_, isPossible_, vendor));
  }

  RelaxationGraph run() {
    double most = mostTime(problem_);
    while (most / graph_.unit > maxUnits)
      graph_.unit *= 2;
    mostUnits_ = std::ceil(most / graph_.unit);
    graph_.basis = basis_;
    graph_.diagrams = basis_->diagrams;
    addTiles();
    addLaunches();
    for (const Value &value : values())
      addValue(value);
    addWholes();
    addParts();
    addChains();
    addLimits();
    finish();
    return std::move(graph_);
  }

private:
  struct Draft {
    RelaxationGraph::Factor factor;
    std::vector<uint32_t> items;
    std::vector<uint8_t> numClasses;           // by item
    std::vector<std::vector<uint8_t>> classOf; // by item, by its tiles
  };

  std::shared_ptr<const RelaxationBasis> findBasis() const {
    RelaxationBasis basis;
    basis.links = linkSets(problem_);
    basis.cycles = linkCycles(basis.links);
    basis.isPossible = possibleTiles(problem_, basis.links);
    basis.needed = neededCompany(problem_, basis.links, basis.isPossible);
    PartsDiagrams diagrams;
    for (uint32_t vendor = 0; vendor < problem_.vendors.size(); ++vendor) {
      basis.vendorLinks.emplace_back();
      if (vendor != host && problem_.vendors[vendor].merges && problem_.vendors[vendor].launch > 0)
        basis.vendorLinks.back() =
            vendorLinks(problem_, vendor, basis.links, basis.cycles, basis.isPossible, diagrams);
    }
    for (PartsDiagram &diagram : diagrams.take())
      basis.diagrams.push_back(std::make_shared<const PartsDiagram>(std::move(diagram)));
    return std::make_shared<const RelaxationBasis>(std::move(basis));
  }

  double units(double time) const { return std::floor(time / graph_.unit); }
  // The part of a launch that is counted by links, and that by a chain.
  double launchOf(uint32_t vendor) const {
    return units(problem_.vendors[vendor].launch) - chainLaunchOf(vendor);
  }
  double chainLaunchOf(uint32_t vendor) const {
    if (chainShare_.empty() || !problem_.vendors[vendor].merges)
      return 0;
    return std::floor(units(problem_.vendors[vendor].launch) * chainShare_[vendor]);
  }
  double crossing(uint32_t vendor, uint32_t tensor) const {
    return vendor == host ? 0 : units(problem_.crossing(vendor, tensor));
  }
  bool isCounted(uint32_t vendor) const { // by links
    return vendor != host && problem_.vendors[vendor].merges && launchOf(vendor) > 0;
  }
  std::span<const uint32_t> tilesOf(uint32_t item) const { return problem_.tilesOf[item]; }
  double &costOf(uint32_t item, uint32_t tile) {
    auto tiles = tilesOf(item);
    return graph_
        .cost[problem_.tilesOf.begin[item] + (std::ranges::find(tiles, tile) - tiles.begin())];
  }
  bool canHave(uint32_t item, uint32_t vendor) const { return isAble_[vendor][item]; }
  void addToVendor(uint32_t item, uint32_t vendor, double cost) {
    for (uint32_t tile : tilesOf(item))
      if (problem_.tiles[tile].vendor == vendor)
        costOf(item, tile) += cost;
  }
  // Evenly to the members, in whole units.
  void addToTile(uint32_t tile, double cost) {
    auto members = problem_.membersOf(tile);
    double each = std::floor(cost / members.size());
    for (uint32_t member : members)
      costOf(member, tile) += each;
    costOf(members[0], tile) += cost - each * members.size();
  }

  void addTiles() {
    graph_.cost.assign(problem_.tilesOf.flat.size(), 0);
    for (uint32_t tile = 0; tile < problem_.tiles.size(); ++tile)
      addToTile(tile, units(problem_.tiles[tile].time));
  }

  // What counting parts says of items and tiles alone.
  void addLaunches() {
    for (uint32_t tile = 0; tile < problem_.tiles.size(); ++tile) {
      uint32_t vendor = problem_.tiles[tile].vendor;
      if (vendor == host)
        continue;
      if (!isCounted(vendor)) {
        addToTile(tile, launchOf(vendor));
        continue;
      }
      auto members = problem_.membersOf(tile);
      for (uint32_t member : members)
        costOf(member, tile) += launchOf(vendor);
      if (members.size() > 1)
        addToTile(tile, -launchOf(vendor) * (numParts(links_, members) - 1.0));
    }
    for (uint32_t vendor = 1; vendor < vendorLinks_.size(); ++vendor) {
      if (!isCounted(vendor))
        continue;
      const VendorLinks &links = vendorLinks_[vendor];
      for (uint32_t set = 0; set < links.isAlone.size(); ++set)
        if (links.isAlone[set])
          addCredit(links_.sets[set], vendor);
      for (const VendorLinks::Group &group : links.groups)
        addCredit(group.items, vendor);
    }
  }
  void addCredit(std::span<const uint32_t> items, uint32_t vendor) {
    for (uint32_t item : items)
      addToVendor(item, vendor, -launchOf(vendor));
  }

  // Tensors of one maker and the same users are one value, and so are links
  // between just these items.
  std::vector<Value> values() const {
    std::vector<Value> values;
    std::map<std::pair<uint32_t, std::vector<uint32_t>>, uint32_t> byItems;
    std::map<std::vector<uint32_t>, uint32_t> byTouchers;
    for (uint32_t t = 0; t < problem_.tensors.size(); ++t) {
      uint32_t maker = problem_.tensors[t].maker;
      std::vector<uint32_t> users(problem_.users[t].begin(), problem_.users[t].end());
      auto [it, isNew] = byItems.try_emplace({maker, users}, values.size());
      if (isNew) {
        std::vector<uint32_t> touchers = users;
        if (maker != none)
          touchers.insert(std::ranges::lower_bound(touchers, maker), maker);
        byTouchers.try_emplace(std::move(touchers), values.size());
        values.push_back({maker, std::move(users), {}, none});
      }
      values[it->second].tensors.push_back(t);
    }
    for (uint32_t set = 0; set < links_.sets.size(); ++set) {
      std::vector<uint32_t> items(links_.sets[set].begin(), links_.sets[set].end());
      if (auto it = byTouchers.find(items); it != byTouchers.end())
        values[it->second].link = set;
      else
        values.push_back({none, std::move(items), {}, set});
    }
    return values;
  }

  bool isCut(uint32_t vendor, uint32_t maker, uint32_t user) const {
    Between between(problem_, isAble_[vendor]);
    between.lookFrom(maker, user);
    return between.isCut(user);
  }

  bool isApart(uint32_t maker, uint32_t user, uint32_t tile) const {
    const PlanProblem::Vendor &vendor = problem_.vendors[problem_.tiles[tile].vendor];
    if (maker == none || vendor.ownMemory ||
        std::ranges::binary_search(problem_.membersOf(tile), maker))
      return false;
    return !vendor.merges || problem_.labelOf(maker) != problem_.labelOf(user) ||
           isCut(problem_.tiles[tile].vendor, maker, user) ||
           std::ranges::all_of(tilesOf(maker), [&](uint32_t other) {
             return problem_.tiles[other].vendor != problem_.tiles[tile].vendor ||
                    problem_.areApart(other, tile);
           });
  }

  // Vendors that make the value cost anything.
  struct Costs {
    const Value *value;
    std::vector<uint32_t> vendors; // the others are as the host
    std::vector<uint32_t> linked;  // of these, those that are counted here

    bool knows(uint32_t vendor) const { return std::ranges::count(vendors, vendor) > 0; }
  };

  void addValue(const Value &value) {
    Costs costs{&value, {}, {}};
    for (uint32_t vendor = 1; vendor < problem_.vendors.size(); ++vendor) {
      uint32_t able = value.maker != none && canHave(value.maker, vendor);
      for (uint32_t user : value.users)
        able += canHave(user, vendor);
      bool isLinked =
          value.link != none && isCounted(vendor) && vendorLinks_[vendor].isAlone[value.link];
      bool crosses = std::ranges::any_of(
          value.tensors, [&](uint32_t tensor) { return crossing(vendor, tensor) > 0; });
      if (able && (isLinked || crosses))
        costs.vendors.push_back(vendor);
      if (isLinked)
        costs.linked.push_back(vendor);
    }
    if (costs.vendors.empty())
      return;
    if (classesOf(costs).size() <= RelaxationGraph::maxBits && costs.vendors.size() < 32)
      return addCosts(costs);
    // Too many at once; what a value costs each vendor adds up.
    for (uint32_t vendor : costs.vendors) {
      Costs alone{&value, {vendor}, {}};
      if (std::ranges::count(costs.linked, vendor))
        alone.linked = {vendor};
      addCosts(alone);
    }
  }

  UserClass classOf(const Costs &costs, uint32_t user, uint32_t tile) const {
    uint32_t vendor = problem_.tiles[tile].vendor;
    if (!costs.knows(vendor))
      return {};
    return {vendor, isApart(costs.value->maker, user, tile)};
  }
  std::vector<UserClass> classesOf(const Costs &costs) const {
    std::vector<UserClass> classes;
    for (uint32_t user : costs.value->users)
      for (uint32_t tile : tilesOf(user)) {
        UserClass found = classOf(costs, user, tile);
        if (isPossible_[tile] && std::ranges::count(classes, found) == 0)
          classes.push_back(found);
      }
    return classes;
  }

  // Of a value made by a vendor and read by some classes of users.
  double costOfSet(const Costs &costs, uint32_t maker, std::span<const UserClass> classes,
                   uint32_t set) const {
    double sum = 0;
    for (uint32_t tensor : costs.value->tensors) {
      bool leaves = problem_.tensors[tensor].isUsedOutside;
      std::vector<uint32_t> seen;
      for (uint32_t i = 0; i < classes.size(); ++i) {
        uint32_t vendor = classes[i].vendor;
        if (!(set >> i & 1) || (vendor == maker && !classes[i].isApart))
          continue;
        leaves = true;
        if (std::ranges::count(seen, vendor) == 0) {
          seen.push_back(vendor);
          sum += crossing(vendor, tensor);
        }
      }
      if (leaves)
        sum += crossing(maker, tensor);
    }
    for (uint32_t vendor : costs.linked) {
      bool isPresent = vendor == maker, isParted = false;
      for (uint32_t i = 0; i < classes.size(); ++i)
        if ((set >> i & 1) && classes[i].vendor == vendor) {
          isPresent = true;
          isParted |= vendor == maker && classes[i].isApart;
        }
      sum += (isPresent + isParted) * launchOf(vendor);
    }
    return sum;
  }

  void addCosts(const Costs &costs) {
    const Value &value = *costs.value;
    std::vector<UserClass> classes = classesOf(costs);
    std::vector<uint32_t> makers{host}; // host, unless an item makes it
    makers.insert(makers.end(), costs.vendors.begin(), costs.vendors.end());
    auto makerClass = [&](uint32_t tile) {
      auto it = std::ranges::find(makers, problem_.tiles[tile].vendor);
      return it == makers.end() ? 0 : static_cast<uint8_t>(it - makers.begin());
    };
    auto userClass = [&](uint32_t user, uint32_t tile) {
      auto it = std::ranges::find(classes, classOf(costs, user, tile));
      return it == classes.end() ? 0 : static_cast<uint8_t>(it - classes.begin());
    };
    bool hasMaker = value.maker != none;
    if (hasMaker + value.users.size() == 1) { // a cost of its tiles
      uint32_t item = hasMaker ? value.maker : value.users[0];
      for (uint32_t tile : tilesOf(item))
        if (isPossible_[tile])
          costOf(item, tile) += hasMaker
                                    ? costOfSet(costs, makers[makerClass(tile)], classes, 0)
                                    : costOfSet(costs, host, classes, 1u << userClass(item, tile));
      return;
    }
    Draft draft;
    draft.factor.hasMaker = hasMaker;
    draft.factor.numSets = 1u << classes.size();
    draft.factor.costs = static_cast<uint32_t>(graph_.costs.size());
    for (uint32_t maker : std::span(makers).first(hasMaker ? makers.size() : 1))
      for (uint32_t set = 0; set < draft.factor.numSets; ++set)
        graph_.costs.push_back(costOfSet(costs, maker, classes, set));
    if (hasMaker)
      addItem(draft, value.maker, makers.size(), makerClass);
    for (uint32_t user : value.users)
      addItem(draft, user, classes.size(), [&](uint32_t tile) { return userClass(user, tile); });
    drafts_.push_back(std::move(draft));
  }

  void addItem(Draft &draft, uint32_t item, size_t numClasses, auto &&classOfTile) {
    draft.items.push_back(item);
    draft.numClasses.push_back(static_cast<uint8_t>(numClasses));
    std::vector<uint8_t> &classOf = draft.classOf.emplace_back();
    for (uint32_t tile : tilesOf(item))
      classOf.push_back(classOfTile(tile));
  }

  void addWholes() {
    for (uint32_t tile = 0; tile < problem_.tiles.size(); ++tile) {
      if (!problem_.isComposite(tile) || !isPossible_[tile])
        continue;
      Draft draft;
      draft.factor.kind = Kind::Whole;
      for (uint32_t member : problem_.membersOf(tile))
        addItem(draft, member, 2, [&](uint32_t other) { return other == tile; });
      drafts_.push_back(std::move(draft));
    }
  }

  void addParts() {
    for (uint32_t vendor = 1; vendor < vendorLinks_.size(); ++vendor)
      if (isCounted(vendor))
        for (const VendorLinks::Group &group : vendorLinks_[vendor].groups)
          addDiagram(vendor, group.items, group.diagram, launchOf(vendor), group.tiles);
  }

  void addChains() {
    for (uint32_t vendor = 1; vendor < problem_.vendors.size(); ++vendor) {
      double launch = chainLaunchOf(vendor);
      if (launch <= 0)
        continue;
      // Several paths, mostly of other items each: of one alone, a few items can be left
      // to others so that it stays whole.
      launch = std::floor(launch / numChains);
      std::vector<double> gain = gainOf(vendor);
      for (uint32_t i = 0; i < numChains && launch > 0; ++i) {
        LaunchChain chain =
            launchChain(problem_, vendor, isAble_[vendor], gain, launch * graph_.unit);
        if (chain.items.empty())
          break;
        ApartWays ways = waysOf(problem_, vendor, isPossible_, chain);
        graph_.diagrams.push_back(std::make_shared<const PartsDiagram>(diagramOf(chain, ways)));
        addDiagram(vendor, chain.items, static_cast<uint32_t>(graph_.diagrams.size() - 1), launch,
                   ways.tiles);
        for (uint32_t item : chain.items)
          gain[item] /= 2;
      }
    }
  }

  // `ways`: by item, tiles with which it is there in a way of its own.
  void addDiagram(uint32_t vendor, std::span<const uint32_t> items, uint32_t diagram, double launch,
                  std::span<const ApartWays::Tiles> ways) {
    Draft draft;
    draft.factor.kind = Kind::Parts;
    draft.factor.diagram = diagram;
    draft.factor.costs = static_cast<uint32_t>(graph_.costs.size());
    graph_.costs.push_back(launch);
    for (size_t i = 0; i < items.size(); ++i)
      addItem(draft, items[i], ways.empty() ? 2 : 1 + PartsDiagram::maxWays,
              [&](uint32_t tile) -> uint8_t {
                if (problem_.tiles[tile].vendor != vendor)
                  return 0;
                for (uint8_t way = 0; !ways.empty() && way < PartsDiagram::maxWays; ++way)
                  if (ways[i][way] == tile)
                    return 1 + way;
                return 1;
              });
    drafts_.push_back(std::move(draft));
  }

  // By item, what the vendor saves; all that there is where nobody else can take it.
  std::vector<double> gainOf(uint32_t vendor) const {
    std::vector<double> gain(problem_.size(), 0);
    for (uint32_t item = 0; item < problem_.size(); ++item) {
      double own = mostUnits_ * graph_.unit, other = own;
      for (uint32_t tile : tilesOf(item)) {
        const PlanProblem::Tile &t = problem_.tiles[tile];
        double &least = t.vendor == vendor ? own : other;
        if (isPossible_[tile])
          least = std::min(least, t.time / static_cast<double>(problem_.membersOf(tile).size()));
      }
      gain[item] = std::max(other - own, 0.0);
    }
    return gain;
  }

  // Without company: more than any plan takes.
  void addLimits() {
    for (const Company &company : basis_->needed) {
      if (company.others.size() >= maxCompany)
        continue;
      Draft draft;
      draft.factor.kind = Kind::Company;
      draft.factor.costs = static_cast<uint32_t>(graph_.costs.size());
      graph_.costs.push_back(mostUnits_);
      draft.factor.setsBegin = graph_.companySets.size();
      for (const std::vector<uint8_t> &set : company.sets) {
        for (uint8_t place : set)
          graph_.companySets.add(place + 1);
        graph_.companySets.close();
      }
      draft.factor.setsEnd = graph_.companySets.size();
      addItem(draft, company.item, 2,
              [&](uint32_t tile) { return std::ranges::count(company.tiles, tile) > 0; });
      for (uint32_t other : company.others)
        addItem(draft, other, 2, [&](uint32_t tile) {
          return problem_.tiles[tile].vendor == company.vendor &&
                 (company.tiles.size() > 1 || canShareRegion(problem_, company.tiles[0], tile));
        });
      drafts_.push_back(std::move(draft));
    }
  }

  uint32_t numSums(const RelaxationGraph::Factor &factor) const {
    switch (factor.kind) {
    case Kind::Vendors:
      return 3 * factor.numSets;
    case Kind::Parts:
      return 2 * static_cast<uint32_t>(graph_.diagrams[factor.diagram]->nodes.size());
    case Kind::Whole:
    case Kind::Company:
      break;
    }
    return 2;
  }

  // Of asking for all its margins once, about.
  uint64_t workOf(const RelaxationGraph::Factor &factor) const {
    uint64_t seats = factor.seatsEnd - factor.seatsBegin;
    switch (factor.kind) {
    case Kind::Vendors:
      return seats * (2 + factor.numSets / 2);
    case Kind::Parts:
      return seats + graph_.diagrams[factor.diagram]->nodes.size();
    case Kind::Whole:
      break;
    case Kind::Company: {
      uint64_t places =
          graph_.companySets.begin[factor.setsEnd] - graph_.companySets.begin[factor.setsBegin];
      return seats * (2 + (seats + places) / 4);
    }
    }
    return seats;
  }

  // Seats by item; what is handed on to factors that have later items still to come.
  void finish() {
    uint32_t size = problem_.size();
    graph_.seatsBegin.assign(size + 1, 0);
    for (const Draft &draft : drafts_)
      for (uint32_t item : draft.items)
        ++graph_.seatsBegin[item + 1];
    for (uint32_t item = 0; item < size; ++item)
      graph_.seatsBegin[item + 1] += graph_.seatsBegin[item];
    std::vector<uint32_t> next(graph_.seatsBegin.begin(), graph_.seatsBegin.end() - 1);
    graph_.seats.resize(graph_.seatsBegin[size]);
    for (Draft &draft : drafts_) {
      RelaxationGraph::Factor &factor = draft.factor;
      factor.seatsBegin = static_cast<uint32_t>(graph_.seatsOf.size());
      factor.sums = graph_.numSums;
      graph_.numSums += numSums(factor);
      auto [first, last] = std::ranges::minmax(draft.items);
      for (uint32_t i = 0; i < draft.items.size(); ++i) {
        uint32_t item = draft.items[i], number = next[item]++;
        RelaxationGraph::Seat &seat = graph_.seats[number];
        seat.factor = static_cast<uint32_t>(graph_.factors.size());
        seat.place = i;
        seat.classes = static_cast<uint32_t>(graph_.classOf.size());
        seat.given = graph_.numGiven;
        seat.numClasses = draft.numClasses[i];
        seat.isMaker = factor.hasMaker && i == 0;
        seat.isPassedOn[0] = item != last, seat.isPassedOn[1] = item != first;
        graph_.numGiven += seat.numClasses;
        graph_.classOf.insert(graph_.classOf.end(), draft.classOf[i].begin(),
                              draft.classOf[i].end());
        graph_.seatsOf.push_back(number);
      }
      factor.seatsEnd = static_cast<uint32_t>(graph_.seatsOf.size());
      graph_.factors.push_back(factor);
    }
    for (const RelaxationGraph::Factor &factor : graph_.factors)
      for (uint32_t withCompany : {0, 1})
        if (withCompany || factor.kind != Kind::Company)
          graph_.work[withCompany] += workOf(factor);
    uint32_t most = 1; // summed up at once
    for (const RelaxationGraph::Factor &factor : graph_.factors)
      most = std::max(most, factor.seatsEnd - factor.seatsBegin);
    for (uint32_t item = 0; item < size; ++item)
      most = std::max(most, graph_.seatsBegin[item + 1] - graph_.seatsBegin[item]);
    graph_.mostGiven = double(uint64_t(1) << 51) / most;
    for (uint32_t item = 0; item < size; ++item)
      share(std::span(graph_.seats)
                .subspan(graph_.seatsBegin[item],
                         graph_.seatsBegin[item + 1] - graph_.seatsBegin[item]));
  }

  // All factors alike, or mostly to those that reach far.
  void share(std::span<RelaxationGraph::Seat> seats) {
    for (uint32_t withCompany : {0, 1})
      for (uint32_t i : {0, 1}) {
        auto weight = [&](const RelaxationGraph::Seat &seat) {
          Kind kind = graph_.factors[seat.factor].kind;
          if (kind == Kind::Company && !withCompany)
            return 0.0;
          return i == 1 && kind == Kind::Parts ? farWeight : 1;
        };
        double forward = 0, backward = 0;
        for (const RelaxationGraph::Seat &seat : seats) {
          forward += weight(seat) * seat.isPassedOn[0];
          backward += weight(seat) * seat.isPassedOn[1];
        }
        for (RelaxationGraph::Seat &seat : seats)
          seat.share[withCompany][i] = weight(seat) / std::max({forward, backward, 1.0});
      }
  }

  const PlanProblem &problem_;
  std::span<const double> chainShare_; // by vendor
  RelaxationGraph graph_;
  double mostUnits_ = 0;
  std::shared_ptr<const RelaxationBasis> basis_;
  const LinkSets &links_;
  const std::vector<uint8_t> &isPossible_; // by tile
  const std::vector<VendorLinks> &vendorLinks_;
  std::vector<std::vector<uint8_t>> isAble_; // by vendor, by item
  std::vector<Draft> drafts_;
};

} // namespace

RelaxationGraph relaxationOf(const PlanProblem &problem, std::span<const double> chainShare,
                             std::shared_ptr<const RelaxationBasis> basis) {
  return GraphBuilder(problem, chainShare, std::move(basis)).run();
}

} // namespace bycc
