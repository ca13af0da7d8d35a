// Written in steps: a graph; who reads its values; what items and tensors are like;
// vendors, their tiles, composites that grow from their last item, and edge rules.

#include "RandomPlanProblem.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

namespace bycc::cases {

namespace {

using Items = std::set<uint32_t>;

// Numbers that are the same wherever the tests run: no standard distributions.
class Dice {
public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  uint32_t pick(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  bool oneIn(uint32_t count) { return pick(count) == 0; }
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(random_()) / 4294967296.0;
  }
  double log(double low, double high) { return low * std::pow(high / low, between(0, 1)); }
  template <class T> void shuffle(std::vector<T> &values) {
    for (uint32_t i = 1; i < values.size(); ++i)
      std::swap(values[i], values[pick(i + 1)]);
  }

private:
  std::mt19937 random_;
};

class Writer {
public:
  Writer(uint32_t seed, const PlanShape &shape) : shape_(shape), dice_(seed), layoutDice_(~seed) {
    problem_.vendors.resize(1 + (shape.vendors ? shape.vendors : 1 + dice_.pick(3)));
  }

  PlanProblem write() {
    addGraph();
    shareValues();
    describeItems();
    describeTensors();
    addGatherLinks();
    for (uint32_t vendor = 1; vendor < problem_.vendors.size(); ++vendor)
      describeVendor(problem_.vendors[vendor]);
    addSingles();
    addComposites();
    problem_.indexTiles(shape_.items);
    if (dice_.oneIn(2))
      addApart();
    return std::move(problem_);
  }

private:
  // Whole picoseconds; coarse problems have many plans of one time.
  double whole(double time) const { return std::round(time / grain_) * grain_; }

  // ---- the graph ----

  void addTensor(uint32_t maker) {
    if (maker != none)
      made_.back().push_back(static_cast<uint32_t>(problem_.tensors.size()));
    PlanProblem::Tensor tensor;
    tensor.maker = maker;
    tensor.bytes = std::round(dice_.log(64, 65536));
    tensor.isLaidOut = layoutDice_.oneIn(3);
    problem_.tensors.push_back(tensor);
    readers_.emplace_back();
  }

  void addGraph() {
    uint32_t inputs = 1 + shape_.items / 8;
    for (uint32_t input = 0; input < inputs; ++input)
      addTensor(none);
    for (uint32_t item = 0; item < shape_.items; ++item) {
      uint32_t operands = 1 + (shape_.isChain ? dice_.oneIn(3) : dice_.pick(2));
      operands += !shape_.isChain && dice_.oneIn(5);
      for (uint32_t operand = 0; operand < operands; ++operand)
        readers_[operandOf(item, operand, inputs)].insert(item);
      made_.emplace_back();
      for (uint32_t result = 0, results = 1 + dice_.oneIn(12); result < results; ++result)
        addTensor(item);
    }
  }

  uint32_t operandOf(uint32_t item, uint32_t operand, uint32_t inputs) {
    bool isFirstOfChain = shape_.isChain && operand == 0;
    if (item == 0 || (!isFirstOfChain && dice_.oneIn(8)))
      return dice_.pick(inputs);
    const std::vector<uint32_t> &made = made_[isFirstOfChain ? item - 1 : makerFor(item)];
    return made[dice_.pick(static_cast<uint32_t>(made.size()))];
  }

  // Mostly close by.
  uint32_t makerFor(uint32_t item) {
    if (dice_.oneIn(12))
      return dice_.pick(item);
    return item - 1 - dice_.pick(std::min(item, 1 + dice_.pick(reach)));
  }

  // More readers, until three in ten values have two.
  void shareValues() {
    auto count = static_cast<uint32_t>(readers_.size());
    auto shared = std::ranges::count_if(readers_, [](const Items &r) { return r.size() > 1; });
    for (uint32_t tries = 50 * count; tries && shared * 10 < count * 3; --tries) {
      uint32_t tensor = dice_.pick(count), maker = problem_.tensors[tensor].maker;
      uint32_t first = maker == none ? 0 : maker + 1;
      if (first == shape_.items || readers_[tensor].size() > 1)
        continue;
      readers_[tensor].insert(first + dice_.pick(std::min(shape_.items - first, reach)));
      shared += readers_[tensor].size() > 1;
    }
  }

  void describeItems() {
    uint32_t labels = dice_.oneIn(4) ? 2 : 1;
    bool hasExempt = shape_.hasPinned || dice_.oneIn(3);
    grain_ = dice_.oneIn(8) ? 1e5 : 1;
    for (uint32_t item = 0; item < shape_.items; ++item) {
      isHostOnly_.push_back(dice_.oneIn(12));
      bool isPinned = shape_.hasPinned && !isHostOnly_[item] && dice_.oneIn(5);
      pin_.push_back(isPinned ? 1 + dice_.pick(numVendors()) : none);
      work_.push_back(dice_.log(1e4, 1e7));
      problem_.ops.push_back(dice_.oneIn(8) ? 2 * dice_.pick(2) : 1);
      problem_.flops.push_back(std::round(dice_.log(1e3, 1e6)));
      // What must go to a vendor may, whatever its limits.
      if (hasExempt)
        problem_.isExempt.push_back(isPinned || dice_.oneIn(6));
      if (labels > 1)
        problem_.label.push_back((item + dice_.pick(3)) / 5 % labels);
    }
  }

  uint32_t numVendors() const { return static_cast<uint32_t>(problem_.vendors.size() - 1); }

  void describeTensors() {
    std::vector<Items> needs(shape_.items);
    for (uint32_t t = 0; t < problem_.tensors.size(); ++t) {
      PlanProblem::Tensor &tensor = problem_.tensors[t];
      bool isMade = tensor.maker != none;
      tensor.isUsedOutside = isMade && (readers_[t].empty() || dice_.oneIn(20));
      for (uint32_t reader : readers_[t]) {
        problem_.users.add(reader);
        if (isMade)
          needs[reader].insert(tensor.maker);
      }
      problem_.users.close();
      Items touching = readers_[t];
      if (isMade)
        touching.insert(tensor.maker);
      addLink(touching);
    }
    for (const Items &before : needs)
      addList(problem_.needs, before);
  }

  static void addList(PlanProblem::Lists &lists, const Items &items) {
    for (uint32_t item : items)
      lists.add(item);
    lists.close();
  }

  void addLink(const Items &items) {
    if (items.size() > 1)
      addList(problem_.links, items);
  }

  // An operator that reads a tuple touches one value with all who make its fields.
  void addGatherLinks() {
    for (uint32_t item = 0; item < shape_.items; ++item)
      if (auto needs = problem_.needs[item]; needs.size() > 1 && dice_.oneIn(6)) {
        Items touching(needs.begin(), needs.end());
        touching.insert(item);
        addLink(touching);
      }
  }

  // ---- vendors and tiles ----

  void describeVendor(PlanProblem::Vendor &vendor) {
    constexpr double trusts[] = {1, 1, 1, 1.25, 2, 0.8};
    vendor.trust = trusts[dice_.pick(6)];
    vendor.launch = dice_.oneIn(12) ? 0 : whole(dice_.log(1e4, 1e7));
    if (!dice_.oneIn(5)) {
      vendor.transfer = whole(dice_.log(1e3, 1e6));
      vendor.perByte = grain_ > 1 ? 0 : dice_.log(5, 500);
      vendor.perLaidOutByte = vendor.perByte * (layoutDice_.oneIn(2) ? 1 + layoutDice_.pick(4) : 1);
    }
    vendor.ownMemory = dice_.oneIn(2);
    vendor.merges = !dice_.oneIn(8);
    if (dice_.oneIn(2))
      vendor.minOps = 1 + dice_.pick(3);
    if (dice_.oneIn(4))
      vendor.minFlops = std::round(dice_.log(1e3, 1e6));
  }

  void addTile(uint32_t vendor, double time, const Items &items) {
    std::vector<uint32_t> members(items.begin(), items.end());
    double raw = std::round(time / problem_.vendors[vendor].trust);
    problem_.addTile(vendor, time, raw, members);
  }

  // Vendors are faster or slower as such, and at each item; in some problems
  // their times have nothing in common.
  void addSingles() {
    bool isUnrelated = dice_.oneIn(4);
    single_.assign(numVendors() + 1, work_);
    for (uint32_t item = 0; item < shape_.items; ++item)
      if (pin_[item] == none)
        addTile(host, single_[host][item] = whole(work_[item]), {item});
    for (uint32_t vendor = 1; vendor <= numVendors(); ++vendor) {
      double speed = dice_.log(0.1, 2);
      uint32_t gaps = 2 + dice_.pick(8);
      for (uint32_t item = 0; item < shape_.items; ++item) {
        double time = isUnrelated ? dice_.log(1e4, 1e7) : work_[item] * speed * dice_.log(0.3, 3);
        single_[vendor][item] = whole(time);
        if (canTake(vendor, item) && (pin_[item] == vendor || !dice_.oneIn(gaps)))
          addTile(vendor, single_[vendor][item], {item});
      }
    }
  }

  bool canTake(uint32_t vendor, uint32_t item) const {
    return !isHostOnly_[item] && (pin_[item] == none || pin_[item] == vendor);
  }

  // Does nobody but these read what the item makes?
  bool isInner(uint32_t item, const Items &members) const {
    return std::ranges::all_of(made_[item], [&](uint32_t t) {
      return !problem_.tensors[t].isUsedOutside && std::ranges::includes(members, readers_[t]);
    });
  }

  // Items that only the last one's value leaves. What leaves the last one never
  // comes back, so no path leads out and in again.
  Items growComposite(uint32_t vendor, uint32_t root, uint32_t goal) {
    Items members{root};
    while (members.size() < goal) {
      std::vector<uint32_t> next;
      for (uint32_t member : members)
        for (uint32_t need : problem_.needs[member])
          if (!members.contains(need) && canTake(vendor, need) && isInner(need, members) &&
              problem_.labelOf(need) == problem_.labelOf(root))
            next.push_back(need);
      if (next.empty())
        break;
      members.insert(next[dice_.pick(static_cast<uint32_t>(next.size()))]);
    }
    return members;
  }

  void addComposites() {
    std::set<std::pair<uint32_t, Items>> composites;
    for (uint32_t tries = 100 * shape_.items, overlapping = 0;
         tries && overlapping * 2 < shape_.items; --tries) {
      uint32_t vendor = 1 + dice_.pick(numVendors()), root = dice_.pick(shape_.items);
      if (!canTake(vendor, root))
        continue;
      Items members = growComposite(vendor, root, 2 + dice_.pick(3));
      if (members.size() < 2 || !composites.emplace(vendor, members).second)
        continue;
      double time = 0;
      for (uint32_t member : members)
        time += single_[vendor][member];
      time *= dice_.oneIn(8) ? dice_.between(1, 1.5) : dice_.between(0.3, 1);
      addTile(vendor, whole(time), members);
      overlapping = traitsOf(problem_).overlapping;
    }
  }

  // Tiles of a vendor that stand maker -> user.
  void addApart() {
    std::set<std::pair<uint32_t, uint32_t>> apart;
    for (uint32_t item = 0; item < shape_.items; ++item)
      for (uint32_t need : problem_.needs[item])
        for (uint32_t a : problem_.tilesOf[need])
          for (uint32_t b : problem_.tilesOf[item])
            if (mayBeApart(a, b) && dice_.oneIn(6)) {
              apart.emplace(a, b);
              apart.emplace(b, a);
            }
    problem_.apart.assign(apart.begin(), apart.end());
  }

  bool mayBeApart(uint32_t a, uint32_t b) const {
    uint32_t vendor = problem_.tiles[a].vendor;
    auto others = problem_.membersOf(b);
    return vendor != host && vendor == problem_.tiles[b].vendor &&
           std::ranges::none_of(problem_.membersOf(a), [&](uint32_t item) {
             return std::ranges::find(others, item) != others.end();
           });
  }

  static constexpr uint32_t reach = 8; // most operands are from no more items back

  PlanShape shape_;
  Dice dice_;
  Dice layoutDice_; // its own: with and without it graphs are the same
  double grain_ = 1;
  std::vector<std::vector<uint32_t>> made_; // tensors, by item
  std::vector<Items> readers_;              // items, by tensor
  std::vector<uint8_t> isHostOnly_;         // by item
  std::vector<uint32_t> pin_;               // by item: the only vendor, or none
  std::vector<double> work_;                // by item
  std::vector<std::vector<double>> single_; // times, by vendor and item
  PlanProblem problem_;
};

// The tiles listed, in that order, with another number for each vendor.
PlanProblem withTiles(const PlanProblem &problem, const std::vector<uint32_t> &tiles,
                      const std::vector<uint32_t> &vendors) {
  PlanProblem other = problem;
  other.tiles.clear();
  other.tileMembers.clear();
  other.apart.clear();
  for (uint32_t vendor = 0; vendor < vendors.size(); ++vendor)
    other.vendors[vendors[vendor]] = problem.vendors[vendor];
  std::vector<uint32_t> number(problem.tiles.size(), none);
  for (uint32_t old : tiles) {
    const PlanProblem::Tile &tile = problem.tiles[old];
    number[old] = other.addTile(vendors[tile.vendor], tile.time, tile.raw, problem.membersOf(old));
  }
  other.indexTiles(problem.size());
  for (auto [a, b] : problem.apart)
    if (number[a] != none && number[b] != none)
      other.apart.emplace_back(number[a], number[b]);
  std::ranges::sort(other.apart);
  return other;
}

std::vector<uint32_t> upTo(size_t count) {
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

} // namespace

PlanProblem randomPlanProblem(uint32_t seed, const PlanShape &shape) {
  return Writer(seed, shape).write();
}

PlanProblem shuffle(const PlanProblem &problem, uint32_t seed) {
  Dice dice(seed);
  std::vector<uint32_t> tiles = upTo(problem.tiles.size());
  std::vector<uint32_t> others = upTo(problem.vendors.size() - 1), vendors{host};
  dice.shuffle(tiles);
  dice.shuffle(others);
  for (uint32_t vendor : others)
    vendors.push_back(vendor + 1);
  return withTiles(problem, tiles, vendors);
}

PlanProblem renumberVendors(const PlanProblem &problem, const std::vector<uint32_t> &vendors) {
  return withTiles(problem, upTo(problem.tiles.size()), vendors);
}

PlanProblem restrictTo(const PlanProblem &problem, uint32_t vendor) {
  std::vector<uint32_t> tiles = upTo(problem.tiles.size());
  std::erase_if(tiles, [&](uint32_t tile) {
    uint32_t owner = problem.tiles[tile].vendor;
    return owner != host && owner != vendor;
  });
  return withTiles(problem, tiles, upTo(problem.vendors.size()));
}

PlanTraits traitsOf(const PlanProblem &problem) {
  PlanTraits traits;
  traits.items = static_cast<uint32_t>(problem.ops.size());
  traits.tensors = problem.users.size();
  traits.tiles = static_cast<uint32_t>(problem.tiles.size());
  for (uint32_t tensor = 0; tensor < traits.tensors; ++tensor) {
    traits.readers += problem.users[tensor].size();
    traits.shared += problem.users[tensor].size() > 1;
  }
  std::vector<uint32_t> covers(traits.items, 0); // composites, by item
  auto forEachComposite = [&](auto &&visit) {
    for (uint32_t tile = 0; tile < traits.tiles; ++tile)
      if (problem.isComposite(tile))
        visit(problem.membersOf(tile));
  };
  forEachComposite([&](auto members) {
    ++traits.composites;
    for (uint32_t member : members)
      ++covers[member];
  });
  forEachComposite([&](auto members) {
    traits.overlapping += std::ranges::any_of(members, [&](uint32_t i) { return covers[i] > 1; });
  });
  return traits;
}

} // namespace bycc::cases
