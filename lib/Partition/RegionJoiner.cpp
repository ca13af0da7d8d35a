// Groups that touch one value are joined when no path between them leaves the
// pair and none of their calls must be apart. The order of groups is kept as in
// Pearce and Kelly's incremental topological sort: a join looks only at what lies
// between the two. Effort is bounded, so large graphs stay linear.

#include "RegionJoiner.h"

#include "UnionFind.h"

#include <algorithm>
#include <functional>
#include <memory_resource>
#include <numeric>

namespace bycc {

namespace {

// Groups of items with a topological order of the groups.
class Joiner {
  using List = std::pmr::vector<uint32_t>;

public:
  Joiner(const RegionProblem &problem, const std::vector<uint32_t> &parts, JoinOrder order)
      : problem_(problem), groups_(problem.size()), after_(problem.size(), &memory_),
        before_(problem.size(), &memory_),
        apart_(problem.apart.empty() ? 0 : problem.size(), &memory_), mark_(problem.size(), 0),
        budget_(uint64_t{40} * problem.size() + 100000),
        patience_(uint64_t{4} * problem.size() + 100000), hopes_(patience_) {
    for (uint32_t item = 0; item < problem.size(); ++item)
      groups_.join(item, parts[item]);
    connect();
    sortGroups();
    sortShares(order);
  }

  // Tries all pairs that touch one value; true when some pair was joined.
  bool joinAll() {
    bool joined = false;
    for (uint32_t share : shareOrder_)
      joined |= joinShare(problem_.share(share));
    return joined;
  }

  std::vector<uint32_t> groups() {
    std::vector<uint32_t> result(problem_.size());
    for (uint32_t item = 0; item < problem_.size(); ++item)
      result[item] = groups_.find(item);
    return result;
  }

private:
  static constexpr uint32_t maxPairs = 16;    // of one share, per member
  static constexpr uint64_t maxVisits = 4096; // of one attempt

  void connect() {
    for (uint32_t item = 0; item < problem_.size(); ++item)
      for (uint32_t need : problem_.needsOf(item)) {
        uint32_t from = groups_.find(need), to = groups_.find(item);
        if (from != to) {
          after_[from].push_back(to);
          before_[to].push_back(from);
        }
      }
    for (auto *edges : {&after_, &before_})
      for (List &list : *edges)
        makeUnique(list);
    for (uint32_t item = 0; item < apart_.size(); ++item) {
      std::span<const uint32_t> others = problem_.apartFrom(item);
      List &list = apart_[groups_.find(item)];
      list.insert(list.end(), others.begin(), others.end());
    }
  }

  void sortShares(JoinOrder order) {
    shareOrder_.resize(problem_.numShares());
    std::iota(shareOrder_.begin(), shareOrder_.end(), 0u);
    if (order == JoinOrder::LargestFirst && !problem_.shareBytes.empty())
      std::ranges::stable_sort(shareOrder_, std::greater<>(),
                               [&](uint32_t share) { return problem_.shareBytes[share]; });
  }

  static void makeUnique(auto &list) {
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }

  void sortGroups() {
    std::vector<uint32_t> waiting(problem_.size(), 0), ready;
    position_.assign(problem_.size(), 0);
    for (uint32_t item = problem_.size(); item-- > 0;)
      if (groups_.find(item) == item) {
        waiting[item] = static_cast<uint32_t>(before_[item].size());
        if (waiting[item] == 0)
          ready.push_back(item);
      }
    uint32_t next = 0;
    while (!ready.empty()) {
      uint32_t group = ready.back();
      ready.pop_back();
      position_[group] = next++;
      for (uint32_t to : after_[group])
        if (--waiting[to] == 0)
          ready.push_back(to);
    }
  }

  bool joinShare(std::span<const uint32_t> items) {
    bool joined = false;
    std::vector<uint32_t> groups;
    for (uint32_t item : items)
      if (problem_.vendor[item] != RegionProblem::host)
        groups.push_back(groups_.find(item));
    makeUnique(groups);
    for (size_t i = 0; i < groups.size(); ++i)
      for (size_t j = i + 1; j < std::min(groups.size(), i + 1 + maxPairs); ++j)
        joined |= tryJoin(groups_.find(groups[i]), groups_.find(groups[j]));
    return joined;
  }

  bool tryJoin(uint32_t a, uint32_t b) {
    if (a == b || problem_.vendor[a] != problem_.vendor[b] || budget_ == 0 || hopes_ == 0)
      return false;
    if (position_[a] > position_[b])
      std::swap(a, b);
    later_.clear(), earlier_.clear();
    visits_ = 0;
    if (mustBeApart(a, b) || !lookForward(a, b) || !lookBack(a, b))
      return false;
    reorder(a, b);
    absorb(a, b);
    hopes_ = patience_;
    return true;
  }

  bool mustBeApart(uint32_t a, uint32_t b) {
    if (apart_.empty())
      return false;
    if (apart_[a].size() > apart_[b].size())
      std::swap(a, b);
    visits_ += apart_[a].size();
    bool isApart =
        std::ranges::any_of(apart_[a], [&](uint32_t other) { return groups_.find(other) == b; });
    if (isApart)
      spend(false);
    return isApart;
  }

  // What needs `a` and stands before `b`; false when `b` is reached through it.
  bool lookForward(uint32_t a, uint32_t b) {
    ++stamp_;
    auto visit = [&](uint32_t from, bool isFirst) {
      for (uint32_t &edge : after_[from]) {
        uint32_t to = edge = groups_.find(edge);
        if (++visits_ > maxVisits)
          return false;
        if (to == from)
          continue;
        if (to == b && !isFirst)
          return false;
        if (to != b && position_[to] < position_[b] && mark_[to] != stamp_) {
          mark_[to] = stamp_;
          later_.push_back(to);
        }
      }
      return true;
    };
    if (!visit(a, true))
      return spend(false);
    for (size_t i = 0; i < later_.size(); ++i)
      if (!visit(later_[i], false))
        return spend(false);
    return spend(true);
  }

  // What `b` needs and stands after `a`. None of it needs `a`: that was looked at.
  bool lookBack(uint32_t a, uint32_t b) {
    ++stamp_;
    auto visit = [&](uint32_t to) {
      for (uint32_t &edge : before_[to]) {
        uint32_t from = edge = groups_.find(edge);
        if (++visits_ > maxVisits)
          return false;
        if (from == a || from == to)
          continue;
        if (position_[from] > position_[a] && mark_[from] != stamp_) {
          mark_[from] = stamp_;
          earlier_.push_back(from);
        }
      }
      return true;
    };
    if (!visit(b))
      return spend(false);
    for (size_t i = 0; i < earlier_.size(); ++i)
      if (!visit(earlier_[i]))
        return spend(false);
    return spend(true);
  }

  bool spend(bool answer) {
    budget_ -= std::min(budget_, visits_);
    hopes_ -= std::min(hopes_, visits_);
    return answer;
  }

  // earlier..., a and b, later... take the places that all of them had.
  void reorder(uint32_t a, uint32_t b) {
    auto byPosition = [&](uint32_t x, uint32_t y) { return position_[x] < position_[y]; };
    std::ranges::sort(earlier_, byPosition);
    std::ranges::sort(later_, byPosition);
    std::vector<uint32_t> groups = earlier_;
    groups.push_back(b);
    groups.push_back(a);
    groups.insert(groups.end(), later_.begin(), later_.end());
    std::vector<uint32_t> places;
    for (uint32_t group : groups)
      places.push_back(position_[group]);
    std::ranges::sort(places);
    for (size_t i = 0; i < groups.size(); ++i)
      position_[groups[i]] = places[i];
  }

  void absorb(uint32_t a, uint32_t b) {
    uint32_t place = position_[a];
    groups_.join(a, b);
    uint32_t kept = groups_.find(a), gone = kept == a ? b : a;
    position_[kept] = place;
    for (auto *edges : {&after_, &before_}) {
      append((*edges)[kept], (*edges)[gone]);
      tidy((*edges)[kept], kept);
    }
    if (!apart_.empty())
      append(apart_[kept], apart_[gone]);
  }

  static void append(List &into, List &from) {
    if (into.size() < from.size())
      into.swap(from);
    into.insert(into.end(), from.begin(), from.end());
    from.clear();
  }

  // Small lists are kept without repeats; large ones cost too much to sort often.
  void tidy(List &list, uint32_t self) {
    if (list.size() > 64)
      return;
    for (uint32_t &edge : list)
      edge = groups_.find(edge);
    std::erase(list, self);
    makeUnique(list);
  }

  const RegionProblem &problem_;
  UnionFind groups_;
  // Many short lists that go together: taken one after another, given back at once.
  std::pmr::monotonic_buffer_resource memory_;
  std::pmr::vector<List> after_, before_; // edges between groups, by name
  std::pmr::vector<List> apart_;          // items a group may not have; empty: no such rules
  std::vector<uint32_t> shareOrder_;
  std::vector<uint32_t> position_;
  std::vector<uint32_t> later_, earlier_;
  std::vector<uint32_t> mark_;
  uint32_t stamp_ = 0;
  uint64_t visits_ = 0, budget_;
  uint64_t patience_, hopes_; // visits without a join before nothing more is tried; those left
};

} // namespace

std::vector<uint32_t> joinGroups(const RegionProblem &problem, const std::vector<uint32_t> &groups,
                                 JoinOrder order) {
  Joiner joiner(problem, groups, order);
  for (int round = 0; round < 4 && joiner.joinAll(); ++round)
    ;
  return joiner.groups();
}

} // namespace bycc
