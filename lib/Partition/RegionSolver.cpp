// Finding few regions. In general the problem is NP-hard (with several vendors
// it contains shortest common supersequence), so there are three steps:
//
// 1. Batches. Run the program as a schedule: first whatever the host can do, then
//    everything one vendor can do now, then the host again, and so on. A batch,
//    split into its linked parts, gives regions that cannot need each other in a
//    circle, since each needs earlier batches only. The vendor with the longest
//    way to go (in changes of vendor) goes first. The same is done from the
//    results backwards. Linear. With one vendor, batches are the levels
//    "how often can a path have left the vendor before this item", and no
//    schedule has fewer.
//
//        a(v) --> b(v) --> d(v)       batches {a,b}, host h, {d}
//           `--> h(host) ---^
//
// 2. Joining. Regions that touch one value are joined when no path between them
//    leaves the pair. The order of regions is kept as in Pearce and Kelly's
//    incremental topological sort: a join looks only at what lies between the
//    two. Effort is bounded, so large graphs stay linear.
//
// 3. Small graphs are then searched exhaustively, with the result so far as the
//    bound, for as long as there are steps left.
//
// Everything is deterministic: ties go to lower numbers.

#include "RegionSolver.h"

#include "bycc/Support/Error.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace bycc {

namespace {

constexpr int32_t host = RegionProblem::host;

class UnionFind {
public:
  explicit UnionFind(uint32_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0u); }
  uint32_t find(uint32_t item) {
    while (parent_[item] != item)
      item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  // The lower number stays the name.
  void join(uint32_t a, uint32_t b) {
    a = find(a), b = find(b);
    if (a != b)
      parent_[std::max(a, b)] = std::min(a, b);
  }

private:
  std::vector<uint32_t> parent_;
};

// Edges from makers to users.
struct Graph {
  std::vector<uint32_t> begin, to;
  std::span<const uint32_t> of(uint32_t item) const {
    return {to.data() + begin[item], begin[item + 1] - begin[item]};
  }
};

Graph reversed(const RegionProblem &problem) {
  Graph graph;
  graph.begin.assign(problem.size() + 1, 0);
  for (uint32_t need : problem.needs)
    ++graph.begin[need + 1];
  std::partial_sum(graph.begin.begin(), graph.begin.end(), graph.begin.begin());
  graph.to.resize(problem.needs.size());
  std::vector<uint32_t> next(graph.begin.begin(), graph.begin.end() - 1);
  for (uint32_t item = 0; item < problem.size(); ++item)
    for (uint32_t need : problem.needsOf(item))
      graph.to[next[need]++] = item;
  return graph;
}

Graph forwardGraph(const RegionProblem &problem) { return {problem.needsBegin, problem.needs}; }

// --- 1. batches

class Scheduler {
public:
  // `before` leads to what an item waits for, `after` to what waits for it.
  // Items are numbered so that walking them in `order` meets `before` first.
  Scheduler(const RegionProblem &problem, const Graph &before, const Graph &after,
            std::vector<uint32_t> order)
      : problem_(problem), before_(before), after_(after), order_(std::move(order)) {
    int32_t vendors = 0;
    for (int32_t vendor : problem.vendor)
      vendors = std::max(vendors, vendor + 1);
    ready_.resize(static_cast<size_t>(vendors));
    furthest_.resize(static_cast<size_t>(vendors), 0);
  }

  // The batch of each item; host items have none (UINT32_MAX).
  std::vector<uint32_t> run() {
    measure();
    batch_.assign(problem_.size(), UINT32_MAX);
    waiting_.resize(problem_.size());
    for (uint32_t item : order_) {
      waiting_[item] = static_cast<uint32_t>(before_.of(item).size());
      if (waiting_[item] == 0)
        makeReady(item);
    }
    for (uint32_t batch = 0;; ++batch) {
      drainHost();
      int32_t vendor = pick();
      if (vendor == host)
        return std::move(batch_);
      drain(vendor, batch);
    }
  }

private:
  // How often the longest way from an item to the end changes vendor.
  void measure() {
    distance_.assign(problem_.size(), 0);
    for (size_t i = order_.size(); i-- > 0;) {
      uint32_t item = order_[i];
      for (uint32_t user : after_.of(item))
        distance_[item] = std::max(
            distance_[item], distance_[user] + (problem_.vendor[user] != problem_.vendor[item]));
    }
  }

  void makeReady(uint32_t item) {
    int32_t vendor = problem_.vendor[item];
    if (vendor == host)
      return readyHost_.push_back(item);
    size_t index = static_cast<size_t>(vendor);
    ready_[index].push_back(item);
    furthest_[index] = std::max(furthest_[index], distance_[item] + 1);
  }
  void release(uint32_t item) {
    for (uint32_t user : after_.of(item))
      if (--waiting_[user] == 0)
        makeReady(user);
  }
  void drainHost() {
    while (!readyHost_.empty()) {
      uint32_t item = readyHost_.back();
      readyHost_.pop_back();
      release(item);
    }
  }
  int32_t pick() const {
    auto best = std::ranges::max_element(furthest_);
    return best == furthest_.end() || *best == 0
               ? host
               : static_cast<int32_t>(best - furthest_.begin());
  }
  void drain(int32_t vendor, uint32_t batch) {
    std::vector<uint32_t> &ready = ready_[static_cast<size_t>(vendor)];
    while (!ready.empty()) {
      uint32_t item = ready.back();
      ready.pop_back();
      batch_[item] = batch;
      release(item);
    }
    furthest_[static_cast<size_t>(vendor)] = 0;
  }

  const RegionProblem &problem_;
  const Graph &before_, &after_;
  std::vector<uint32_t> order_, waiting_, distance_, batch_, readyHost_;
  std::vector<std::vector<uint32_t>> ready_; // by vendor
  std::vector<uint32_t> furthest_; // by vendor: 1 + greatest distance of a ready item, 0 for none
};

// Linked parts of the batches: the lowest member of its part for each item.
std::vector<uint32_t> linkedParts(const RegionProblem &problem,
                                  const std::vector<uint32_t> &batch) {
  UnionFind parts(problem.size());
  std::vector<std::pair<uint32_t, uint32_t>> members; // (batch, item) of one share
  for (uint32_t share = 0; share < problem.numShares(); ++share) {
    members.clear();
    for (uint32_t item : problem.share(share))
      if (problem.vendor[item] != host)
        members.emplace_back(batch[item], item);
    std::ranges::sort(members);
    for (size_t i = 1; i < members.size(); ++i)
      if (members[i].first == members[i - 1].first)
        parts.join(members[i].second, members[i - 1].second);
  }
  std::vector<uint32_t> result(problem.size());
  for (uint32_t item = 0; item < problem.size(); ++item)
    result[item] = parts.find(item);
  return result;
}

// --- 2. joining

// Groups of items with a topological order of the groups.
class Joiner {
public:
  Joiner(const RegionProblem &problem, const std::vector<uint32_t> &parts)
      : problem_(problem), groups_(problem.size()), after_(problem.size()),
        before_(problem.size()), mark_(problem.size(), 0),
        budget_(uint64_t{40} * problem.size() + 100000) {
    for (uint32_t item = 0; item < problem.size(); ++item)
      groups_.join(item, parts[item]);
    connect();
    sortGroups();
  }

  // Tries all pairs that touch one value; true when some pair was joined.
  bool joinAll() {
    bool joined = false;
    for (uint32_t share = 0; share < problem_.numShares(); ++share)
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
  static constexpr uint32_t maxPairs = 16;       // of one share, per member
  static constexpr uint64_t maxVisits = 4096;    // of one attempt

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
      for (std::vector<uint32_t> &list : *edges)
        makeUnique(list);
  }

  static void makeUnique(std::vector<uint32_t> &list) {
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
      if (problem_.vendor[item] != host)
        groups.push_back(groups_.find(item));
    makeUnique(groups);
    for (size_t i = 0; i < groups.size(); ++i)
      for (size_t j = i + 1; j < std::min(groups.size(), i + 1 + maxPairs); ++j)
        joined |= tryJoin(groups_.find(groups[i]), groups_.find(groups[j]));
    return joined;
  }

  bool tryJoin(uint32_t a, uint32_t b) {
    if (a == b || problem_.vendor[a] != problem_.vendor[b] || budget_ == 0)
      return false;
    if (position_[a] > position_[b])
      std::swap(a, b);
    later_.clear(), earlier_.clear();
    visits_ = 0;
    if (!lookForward(a, b) || !lookBack(a, b))
      return false;
    reorder(a, b);
    absorb(a, b);
    return true;
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
      std::vector<uint32_t> &into = (*edges)[kept], &from = (*edges)[gone];
      if (into.size() < from.size())
        into.swap(from);
      into.insert(into.end(), from.begin(), from.end());
      std::vector<uint32_t>().swap(from);
      tidy(into, kept);
    }
  }

  // Small lists are kept without repeats; large ones cost too much to sort often.
  void tidy(std::vector<uint32_t> &list, uint32_t self) {
    if (list.size() > 64)
      return;
    for (uint32_t &edge : list)
      edge = groups_.find(edge);
    std::erase(list, self);
    makeUnique(list);
  }

  const RegionProblem &problem_;
  UnionFind groups_;
  std::vector<std::vector<uint32_t>> after_, before_; // edges between groups, by name
  std::vector<uint32_t> position_;
  std::vector<uint32_t> later_, earlier_;
  std::vector<uint32_t> mark_;
  uint32_t stamp_ = 0;
  uint64_t visits_ = 0, budget_;
};

// --- result

RegionAssignment toAssignment(const RegionProblem &problem, const std::vector<uint32_t> &groups) {
  std::vector<uint8_t> hasCall(problem.size(), 0);
  for (uint32_t item = 0; item < problem.size(); ++item)
    if (problem.vendor[item] != host && !problem.isWire[item])
      hasCall[groups[item]] = 1;
  std::vector<int32_t> number(problem.size(), -1);
  RegionAssignment result(problem.size(), -1);
  int32_t next = 0;
  for (uint32_t item = 0; item < problem.size(); ++item) {
    uint32_t group = groups[item];
    if (problem.vendor[item] == host || !hasCall[group])
      continue;
    if (number[group] < 0)
      number[group] = next++;
    result[item] = number[group];
  }
  return result;
}

// --- 3. exhaustive search for small graphs

class Exhaustive {
public:
  static constexpr uint32_t maxItems = 64;
  static constexpr uint32_t maxVendorItems = 20;

  // Uses up `steps` and stops when there are none left.
  Exhaustive(const RegionProblem &problem, RegionAssignment best, uint64_t &steps)
      : problem_(problem), steps_(steps), best_(std::move(best)), bestCount_(countRegions(best_)),
        current_(problem.size(), -1) {
    groupMask_.reserve(problem.size());
    for (uint32_t item = 0; item < problem.size(); ++item) {
      uint64_t mask = 0;
      for (uint32_t need : problem.needsOf(item))
        mask |= uint64_t{1} << need;
      needMask_.push_back(mask);
    }
    lowerBound_ = lowerBound();
  }

  static bool isSmall(const RegionProblem &problem) {
    auto isVendor = [](int32_t vendor) { return vendor != host; };
    return problem.size() <= maxItems &&
           std::ranges::count_if(problem.vendor, isVendor) <= maxVendorItems;
  }

  RegionAssignment run() {
    if (bestCount_ > lowerBound_)
      assign(0);
    return best_;
  }

private:
  // Items that no chain of shared values links never share a region; of the rest
  // of a vendor's items, a path that leaves and comes back n times needs n regions.
  uint32_t lowerBound() const {
    std::vector<uint32_t> vendorOf(problem_.size());
    for (uint32_t item = 0; item < problem_.size(); ++item)
      vendorOf[item] = static_cast<uint32_t>(problem_.vendor[item] + 1);
    std::vector<uint32_t> part = linkedParts(problem_, vendorOf);
    uint32_t sum = 0;
    for (uint32_t item = 0; item < problem_.size(); ++item)
      if (part[item] == item && problem_.vendor[item] != host)
        sum += mostEntries(part, item);
    return sum;
  }

  // How often a path can enter the part, up to a call.
  uint32_t mostEntries(const std::vector<uint32_t> &part, uint32_t which) const {
    uint32_t most = 0;
    std::vector<uint32_t> entries(problem_.size(), 0);
    for (uint32_t item = which; item < problem_.size(); ++item) {
      bool isMember = part[item] == which && problem_.vendor[item] != host;
      entries[item] = isMember;
      for (uint32_t need : problem_.needsOf(item)) {
        bool enters = isMember && part[need] != which;
        entries[item] = std::max(entries[item], entries[need] + enters);
      }
      if (isMember && !problem_.isWire[item])
        most = std::max(most, entries[item]);
    }
    return most;
  }

  bool isDone() const { return bestCount_ <= lowerBound_ || steps_ == 0; }

  void assign(uint32_t item) {
    if (isDone() || numCalls() >= bestCount_)
      return;
    --steps_;
    if (item == problem_.size())
      return finish();
    if (problem_.vendor[item] == host)
      return place(item, newGroup(item), true);
    for (uint32_t group = 0; group < groupMask_.size(); ++group)
      if (groupVendor_[group] == problem_.vendor[item])
        place(item, group, false);
    place(item, newGroup(item), true);
  }

  uint32_t newGroup(uint32_t item) {
    groupMask_.push_back(0);
    groupVendor_.push_back(problem_.vendor[item]);
    groupCalls_.push_back(0);
    return static_cast<uint32_t>(groupMask_.size() - 1);
  }

  uint32_t numCalls() const {
    uint32_t count = 0;
    for (size_t group = 0; group < groupMask_.size(); ++group)
      count += groupVendor_[group] != host && groupCalls_[group] > 0;
    return count;
  }

  void place(uint32_t item, uint32_t group, bool isNew) {
    bool isCall = problem_.vendor[item] != host && !problem_.isWire[item];
    current_[item] = static_cast<int32_t>(group);
    groupMask_[group] |= uint64_t{1} << item;
    groupCalls_[group] += isCall;
    if (isNew || isAcyclicThrough(group))
      assign(item + 1);
    groupMask_[group] &= ~(uint64_t{1} << item);
    groupCalls_[group] -= isCall;
    current_[item] = -1;
    if (isNew) {
      groupMask_.pop_back();
      groupVendor_.pop_back();
      groupCalls_.pop_back();
    }
  }

  // Does the group not need itself through another?
  bool isAcyclicThrough(uint32_t group) const {
    uint64_t self = groupMask_[group], seen = self, open = needsOf(self) & ~self;
    while (open) {
      uint32_t item = static_cast<uint32_t>(std::countr_zero(open));
      uint64_t members = groupMask_[static_cast<size_t>(current_[item])];
      seen |= members;
      uint64_t needs = needsOf(members);
      if (needs & self)
        return false;
      open = (open | needs) & ~seen;
    }
    return true;
  }

  uint64_t needsOf(uint64_t members) const {
    uint64_t needs = 0;
    for (; members; members &= members - 1)
      needs |= needMask_[static_cast<size_t>(std::countr_zero(members))];
    return needs;
  }

  void finish() {
    std::vector<uint32_t> groups(problem_.size());
    for (uint32_t item = 0; item < problem_.size(); ++item)
      groups[item] = static_cast<uint32_t>(std::countr_zero(
          groupMask_[static_cast<size_t>(current_[item])]));
    RegionAssignment result = toAssignment(problem_, linkedPartsOf(groups));
    if (uint32_t count = countRegions(result); count < bestCount_) {
      bestCount_ = count;
      best_ = std::move(result);
    }
  }

  // A group that is not linked is as many regions as it has linked parts.
  std::vector<uint32_t> linkedPartsOf(const std::vector<uint32_t> &groups) const {
    return linkedParts(problem_, groups);
  }

  const RegionProblem &problem_;
  uint64_t &steps_;
  RegionAssignment best_;
  uint32_t bestCount_, lowerBound_ = 0;
  std::vector<int32_t> current_;
  std::vector<uint64_t> groupMask_, needMask_;
  std::vector<int32_t> groupVendor_;
  std::vector<uint32_t> groupCalls_;
};

std::vector<uint32_t> improved(const RegionProblem &problem, const std::vector<uint32_t> &parts) {
  Joiner joiner(problem, parts);
  for (int round = 0; round < 4 && joiner.joinAll(); ++round)
    ;
  return joiner.groups();
}

std::vector<uint32_t> itemNumbers(const RegionProblem &problem) {
  std::vector<uint32_t> order(problem.size());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

constexpr uint32_t singlesLimit = 1 << 14;

} // namespace

uint32_t countRegions(const RegionAssignment &regions) {
  int32_t most = -1;
  for (int32_t region : regions)
    most = std::max(most, region);
  return static_cast<uint32_t>(most + 1);
}

RegionAssignment solveRegions(const RegionProblem &problem, uint64_t &searchSteps) {
  RegionAssignment best;
  auto consider = [&](const std::vector<uint32_t> &parts) {
    RegionAssignment candidate = toAssignment(problem, improved(problem, parts));
    if (best.empty() || countRegions(candidate) < countRegions(best))
      best = std::move(candidate);
  };
  Graph before = forwardGraph(problem), after = reversed(problem);
  std::vector<uint32_t> order = itemNumbers(problem);
  consider(linkedParts(problem, Scheduler(problem, before, after, order).run()));
  std::ranges::reverse(order);
  consider(linkedParts(problem, Scheduler(problem, after, before, order).run()));
  if (problem.size() <= singlesLimit)
    consider(itemNumbers(problem));
  if (searchSteps > 0 && Exhaustive::isSmall(problem)) {
    // One hard graph does not take the steps of those to come.
    uint64_t share = std::max(searchSteps / 4, std::min<uint64_t>(searchSteps, 10000));
    searchSteps -= share;
    best = Exhaustive(problem, std::move(best), share).run();
    searchSteps += share;
  }
  return best;
}

bool isLegal(const RegionProblem &problem, const RegionAssignment &regions) {
  // Group numbers: regions first, then one per host item.
  uint32_t count = countRegions(regions), next = count;
  std::vector<uint32_t> group(problem.size());
  std::vector<int32_t> vendor(count, host);
  for (uint32_t item = 0; item < problem.size(); ++item) {
    if (regions[item] < 0) {
      group[item] = next++;
      continue;
    }
    group[item] = static_cast<uint32_t>(regions[item]);
    int32_t &owner = vendor[group[item]];
    if (owner != host && owner != problem.vendor[item])
      return false;
    owner = problem.vendor[item];
  }
  std::vector<std::vector<uint32_t>> after(next);
  std::vector<uint32_t> waiting(next, 0), ready;
  for (uint32_t item = 0; item < problem.size(); ++item)
    for (uint32_t need : problem.needsOf(item))
      if (group[need] != group[item]) {
        after[group[need]].push_back(group[item]);
        ++waiting[group[item]];
      }
  for (uint32_t i = 0; i < next; ++i)
    if (waiting[i] == 0)
      ready.push_back(i);
  size_t done = 0;
  while (done < ready.size()) {
    uint32_t from = ready[done++];
    for (uint32_t to : after[from])
      if (--waiting[to] == 0)
        ready.push_back(to);
  }
  return done == next;
}

} // namespace bycc
