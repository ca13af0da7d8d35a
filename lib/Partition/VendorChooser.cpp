// Every move is tried by doing it: the time of what it touches before and after,
// and back if it does not pay. How many readers of a value each vendor has is
// kept, so that a value with many readers costs no more than one with few.
//
// Moves, repeated until none pays:
//   one      an item takes another vendor
//   run      connected items of one vendor take another, those that can
//   area     connected items that a vendor could have all go to it
//   border   items behind a border follow one by one, kept up to where it paid most
// Single moves alone stop where two vendors meet in the middle of a chain: each
// step costs, only the whole walk pays.

#include "VendorChooser.h"

#include <algorithm>
#include <numeric>

namespace bycc {

namespace {

constexpr uint32_t none = ChoiceProblem::none;
constexpr uint32_t host = ChoiceProblem::host;
constexpr size_t manyReaders = 64;  // more are not seen as siblings
constexpr uint32_t maxRounds = 8;
constexpr size_t borderSteps = 12;
constexpr uint32_t manyItems = 100000; // then from one start only

class Improver {
public:
  explicit Improver(const ChoiceProblem &problem) : problem_(problem) {
    reads_.resize(problem.size());
    makes_.resize(problem.size());
    for (uint32_t v = 0; v < problem.values.size(); ++v) {
      if (problem.values[v].maker != none)
        makes_[problem.values[v].maker].push_back(v);
      for (uint32_t reader : problem.values[v].readers)
        reads_[reader].push_back(v);
    }
    for (uint32_t item = 0; item < problem.size(); ++item)
      if (problem.choices[item].size() > 1)
        movable_.push_back(item);
    itemMark_.assign(problem.size(), 0);
    valueMark_.assign(problem.values.size(), 0);
    inArea_.assign(problem.size(), 0);
  }

  bool isLarge() const { return movable_.size() > manyItems; }

  void start(VendorChoice choice) {
    choice_ = std::move(choice);
    counts_.assign(problem_.values.size() * problem_.vendors.size(), 0);
    for (uint32_t v = 0; v < problem_.values.size(); ++v)
      for (uint32_t reader : problem_.values[v].readers)
        ++count(v, choice_[reader]);
  }

  void improve() {
    for (uint32_t round = 0; round < maxRounds; ++round) {
      bool changed = moveItems();
      changed |= moveRuns();
      changed |= moveAreas();
      changed |= moveBorders();
      if (!changed)
        return;
    }
  }

  const VendorChoice &choice() const { return choice_; }

  double total() {
    double time = 0;
    for (uint32_t item = 0; item < problem_.size(); ++item)
      time += itemTime(item);
    for (uint32_t v = 0; v < problem_.values.size(); ++v)
      time += valueTime(v);
    return time;
  }

  // Difference that moving the item alone would make.
  double difference(uint32_t item, uint32_t vendor) {
    uint32_t old = choice_[item];
    double change = move({&item, 1}, vendor);
    set(item, old);
    return change;
  }

private:
  uint32_t &count(uint32_t value, uint32_t vendor) {
    return counts_[value * problem_.vendors.size() + vendor];
  }

  bool accepts(uint32_t item, uint32_t vendor) const {
    return std::ranges::find(problem_.choices[item], vendor, &ChoiceProblem::Choice::vendor) !=
           problem_.choices[item].end();
  }

  bool startsRegion(uint32_t item) const {
    for (uint32_t v : reads_[item]) {
      const ChoiceProblem::Value &value = problem_.values[v];
      if (value.maker != none && choice_[value.maker] == choice_[item])
        return false;
      if (value.readers.size() <= manyReaders)
        for (uint32_t reader : value.readers) {
          if (reader >= item)
            break;
          if (choice_[reader] == choice_[item])
            return false;
        }
    }
    return true;
  }

  double itemTime(uint32_t item) const {
    double time =
        std::ranges::find(problem_.choices[item], choice_[item], &ChoiceProblem::Choice::vendor)
            ->time;
    if (choice_[item] != host && startsRegion(item))
      time += problem_.vendors[choice_[item]].launch;
    return time;
  }

  double crossing(uint32_t vendor, double bytes) const {
    const ChoiceProblem::Vendor &v = problem_.vendors[vendor];
    return v.transfer + bytes * v.transferPerByte;
  }

  double valueTime(uint32_t v) {
    const ChoiceProblem::Value &value = problem_.values[v];
    uint32_t maker = value.maker == none ? host : choice_[value.maker];
    bool leaves = value.isResult || count(v, maker) < value.readers.size();
    double time = maker != host && leaves ? crossing(maker, value.bytes) : 0;
    for (uint32_t vendor = 1; vendor < problem_.vendors.size(); ++vendor)
      if (vendor != maker && count(v, vendor) > 0)
        time += crossing(vendor, value.bytes);
    return time;
  }

  // What moving the items can change.
  void collectTouched(std::span<const uint32_t> items) {
    ++stamp_;
    items_.clear();
    values_.clear();
    auto touchItem = [&](uint32_t item) {
      if (itemMark_[item] != stamp_) {
        itemMark_[item] = stamp_;
        items_.push_back(item);
      }
    };
    auto touchValue = [&](uint32_t v) {
      if (valueMark_[v] == stamp_)
        return;
      valueMark_[v] = stamp_;
      values_.push_back(v);
      if (problem_.values[v].readers.size() <= manyReaders)
        for (uint32_t reader : problem_.values[v].readers)
          touchItem(reader);
    };
    for (uint32_t item : items) {
      touchItem(item);
      for (uint32_t v : reads_[item])
        touchValue(v);
      for (uint32_t v : makes_[item])
        touchValue(v);
    }
  }

  double touchedTime() {
    double time = 0;
    for (uint32_t item : items_)
      time += itemTime(item);
    for (uint32_t v : values_)
      time += valueTime(v);
    return time;
  }

  void set(uint32_t item, uint32_t vendor) {
    for (uint32_t v : reads_[item]) {
      --count(v, choice_[item]);
      ++count(v, vendor);
    }
    choice_[item] = vendor;
  }

  // Moves the items that may and returns by how much the time changed.
  double move(std::span<const uint32_t> items, uint32_t vendor) {
    collectTouched(items);
    double before = touchedTime();
    for (uint32_t item : items)
      if (choice_[item] != vendor && accepts(item, vendor))
        set(item, vendor);
    return touchedTime() - before;
  }

  static bool pays(double change) { return change < -1e-9; }

  // The move, if it pays.
  bool tryMove(std::span<const uint32_t> items, uint32_t vendor) {
    old_.clear();
    for (uint32_t item : items)
      old_.push_back(choice_[item]);
    if (pays(move(items, vendor)))
      return true;
    for (size_t i = 0; i < items.size(); ++i)
      if (choice_[items[i]] != old_[i])
        set(items[i], old_[i]);
    return false;
  }

  bool moveItems() {
    bool changed = false;
    for (uint32_t item : movable_)
      for (const ChoiceProblem::Choice &other : problem_.choices[item])
        if (other.vendor != choice_[item])
          changed |= tryMove({&item, 1}, other.vendor);
    return changed;
  }

  // Movable items connected with `item` through values, as far as `belongs` says.
  template <typename Belongs> std::vector<uint32_t> areaOf(uint32_t item, Belongs belongs) {
    std::vector<uint32_t> area{item};
    inArea_[item] = 1;
    auto visit = [&](uint32_t other) {
      if (!inArea_[other] && problem_.choices[other].size() > 1 && belongs(other)) {
        inArea_[other] = 1;
        area.push_back(other);
      }
    };
    for (size_t i = 0; i < area.size(); ++i)
      forEachNeighbour(area[i], visit);
    return area;
  }

  template <typename Visit> void forEachNeighbour(uint32_t item, Visit visit) const {
    auto visitValue = [&](uint32_t v) {
      const ChoiceProblem::Value &value = problem_.values[v];
      if (value.maker != none)
        visit(value.maker);
      if (value.readers.size() <= manyReaders)
        for (uint32_t reader : value.readers)
          visit(reader);
    };
    for (uint32_t v : reads_[item])
      visitValue(v);
    for (uint32_t v : makes_[item])
      visitValue(v);
  }

  bool moveRuns() {
    bool changed = false;
    std::ranges::fill(inArea_, 0);
    for (uint32_t item : movable_) {
      if (inArea_[item])
        continue;
      uint32_t vendor = choice_[item];
      std::vector<uint32_t> run =
          areaOf(item, [&](uint32_t other) { return choice_[other] == vendor; });
      for (uint32_t other = 1; other < problem_.vendors.size(); ++other)
        changed |= tryMove(run, other);
    }
    return changed;
  }

  bool moveAreas() {
    bool changed = false;
    for (uint32_t vendor = 1; vendor < problem_.vendors.size(); ++vendor) {
      std::ranges::fill(inArea_, 0);
      for (uint32_t item : movable_)
        if (!inArea_[item] && accepts(item, vendor))
          changed |= tryMove(areaOf(item, [&](uint32_t o) { return accepts(o, vendor); }), vendor);
    }
    return changed;
  }

  bool moveBorders() {
    bool changed = false;
    for (uint32_t item : movable_)
      for (const ChoiceProblem::Choice &other : problem_.choices[item])
        if (other.vendor != choice_[item])
          changed |= walk(item, other.vendor);
    return changed;
  }

  // The item goes to the vendor, then its neighbours that still have the vendor it
  // had, nearest first; what is kept ends where the sum was lowest.
  bool walk(uint32_t item, uint32_t vendor) {
    uint32_t from = choice_[item];
    std::vector<uint32_t> path{item};
    double sum = 0, best = 0;
    size_t kept = 0;
    for (size_t i = 0; i < path.size(); ++i) {
      sum += move({&path[i], 1}, vendor);
      if (pays(sum - best)) {
        best = sum;
        kept = i + 1;
      }
      forEachNeighbour(path[i], [&](uint32_t other) {
        if (path.size() < borderSteps && choice_[other] == from && accepts(other, vendor) &&
            std::ranges::find(path, other) == path.end())
          path.push_back(other);
      });
    }
    for (size_t i = path.size(); i-- > kept;)
      set(path[i], from);
    return kept > 0;
  }

  const ChoiceProblem &problem_;
  std::vector<std::vector<uint32_t>> reads_, makes_; // values, by item
  std::vector<uint32_t> movable_;
  VendorChoice choice_;
  std::vector<uint32_t> counts_; // readers, by value and vendor
  std::vector<uint32_t> itemMark_, valueMark_, items_, values_, old_;
  std::vector<uint8_t> inArea_;
  uint32_t stamp_ = 0;
};

// Starts: the order of the vendors, the fastest for each item alone, and for each
// vendor all that it could have.
std::vector<VendorChoice> starts(const ChoiceProblem &problem) {
  std::vector<VendorChoice> result(2);
  for (const auto &choices : problem.choices) {
    result[0].push_back(choices.front().vendor);
    result[1].push_back(std::ranges::min_element(choices, {}, &ChoiceProblem::Choice::time)->vendor);
  }
  for (uint32_t vendor = 1; vendor < problem.vendors.size(); ++vendor) {
    VendorChoice choice = result[0];
    for (uint32_t item = 0; item < problem.size(); ++item)
      for (const ChoiceProblem::Choice &each : problem.choices[item])
        if (each.vendor == vendor)
          choice[item] = vendor;
    result.push_back(std::move(choice));
  }
  return result;
}

} // namespace

double estimatedTime(const ChoiceProblem &problem, const VendorChoice &choice) {
  Improver improver(problem);
  improver.start(choice);
  return improver.total();
}

ChosenVendors solveChoice(const ChoiceProblem &problem) {
  Improver improver(problem);
  ChosenVendors best;
  for (VendorChoice &start : starts(problem)) {
    improver.start(std::move(start));
    improver.improve();
    double time = improver.total();
    if (best.choice.empty() || time < best.time - 1e-9) {
      best.choice = improver.choice();
      best.time = time;
    }
    if (improver.isLarge())
      break;
  }
  improver.start(best.choice);
  best.otherwise.resize(problem.size());
  for (uint32_t item = 0; item < problem.size(); ++item)
    if (problem.choices[item].size() > 1)
      for (const ChoiceProblem::Choice &each : problem.choices[item])
        best.otherwise[item].push_back(improver.difference(item, each.vendor));
  return best;
}

} // namespace bycc
