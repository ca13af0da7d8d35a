// Runs the program as a schedule: first whatever the host can do, then everything
// one vendor can do now, then the host again, and so on. A batch, split into its
// linked parts, gives regions that cannot need each other in a circle, since each
// needs earlier batches only. The vendor with the longest way to go (in changes
// of vendor) goes first. With one vendor, batches are the levels "how often can a
// path have left the vendor before this item", and no schedule has fewer.
//
//     a(v) --> b(v) --> d(v)       batches {a,b}, host h, {d}
//        `--> h(host) ---^
//
// A call that must be apart from one of the batch waits for the next.

#include "RegionBatches.h"

#include <algorithm>
#include <numeric>

namespace bycc {

namespace {

// Edges in one direction.
struct Graph {
  std::vector<uint32_t> begin, to;
  std::span<const uint32_t> of(uint32_t item) const {
    return {to.data() + begin[item], begin[item + 1] - begin[item]};
  }
};

Graph usersOfItems(const RegionProblem &problem) {
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

class Scheduler {
public:
  Scheduler(const RegionProblem &problem, Direction direction)
      : problem_(problem), before_{problem.needsBegin, problem.needs},
        after_(usersOfItems(problem)), order_(problem.size()),
        blockedIn_(problem.apart.empty() ? 0 : problem.size(), none) {
    std::iota(order_.begin(), order_.end(), 0u);
    if (direction == Direction::FromResults) {
      std::swap(before_, after_);
      std::ranges::reverse(order_);
    }
    int32_t vendors = 0;
    for (int32_t vendor : problem.vendor)
      vendors = std::max(vendors, vendor + 1);
    ready_.resize(static_cast<size_t>(vendors));
    furthest_.resize(static_cast<size_t>(vendors), 0);
  }

  // The batch of each item; host items have none.
  std::vector<uint32_t> run() {
    measure();
    batch_.assign(problem_.size(), none);
    waiting_.resize(problem_.size());
    for (uint32_t item : order_) {
      waiting_[item] = static_cast<uint32_t>(before_.of(item).size());
      if (waiting_[item] == 0)
        makeReady(item);
    }
    for (uint32_t batch = 0;; ++batch) {
      drainHost();
      int32_t vendor = pick();
      if (vendor == RegionProblem::host)
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
    if (vendor == RegionProblem::host)
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
    return best == furthest_.end() || *best == 0 ? RegionProblem::host
                                                 : static_cast<int32_t>(best - furthest_.begin());
  }
  void drain(int32_t vendor, uint32_t batch) {
    std::vector<uint32_t> &ready = ready_[static_cast<size_t>(vendor)];
    std::vector<uint32_t> later;
    while (!ready.empty()) {
      uint32_t item = ready.back();
      ready.pop_back();
      if (!blockedIn_.empty() && blockedIn_[item] == batch) {
        later.push_back(item);
        continue;
      }
      batch_[item] = batch;
      for (uint32_t other : problem_.apartFrom(item))
        blockedIn_[other] = batch;
      release(item);
    }
    furthest_[static_cast<size_t>(vendor)] = 0;
    for (size_t i = later.size(); i-- > 0;)
      makeReady(later[i]);
  }

  const RegionProblem &problem_;
  Graph before_, after_;        // what an item waits for, and what waits for it
  std::vector<uint32_t> order_; // meets `before_` first
  std::vector<uint32_t> waiting_, distance_, batch_, readyHost_;
  std::vector<uint32_t> blockedIn_;          // by item: batch that has a call it must be apart from
  std::vector<std::vector<uint32_t>> ready_; // by vendor
  std::vector<uint32_t> furthest_; // by vendor: 1 + greatest distance of a ready item, 0 for none
};

} // namespace

std::vector<uint32_t> partsOfBatches(const RegionProblem &problem, Direction direction) {
  return linkedParts(problem, Scheduler(problem, direction).run());
}

} // namespace bycc
