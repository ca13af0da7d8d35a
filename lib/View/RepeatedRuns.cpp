// Candidate periods are distances between equal windows of labels, of one label and of
// more: a layer that has no label of its own has a window of its own. For each of the most
// frequent ones a scan finds where the sequence equals itself shifted. Runs are taken
// greedily; one that overlaps what is taken is cut to what is free and waits again.

#include "bycc/View/RepeatedRuns.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>

namespace bycc {
namespace {

constexpr size_t maxPeriods = 64;
constexpr uint32_t manyTurns = 8; // of what is side by side, such as heads: fewer are clearer drawn

// Equal to itself shifted by `period`, from begin to end.
struct Stretch {
  uint32_t begin, end, period;
  uint32_t count() const { return (end - begin) / period; }
  uint64_t saved() const { return uint64_t{count() - 1} * period; }
  // Short things are clearer drawn than counted.
  bool isWorthIt() const {
    return end - begin >= 2 * period && saved() >= 3 && (period > 1 || count() >= 4);
  }
};

struct LessWanted {
  bool operator()(const Stretch &a, const Stretch &b) const {
    if (a.saved() != b.saved())
      return a.saved() < b.saved();
    return a.period != b.period ? a.period > b.period : a.begin > b.begin;
  }
};

class RunFinder {
public:
  explicit RunFinder(std::span<const SequenceItem> items)
      : items_(items), size_(static_cast<uint32_t>(items.size())) {}

  std::vector<RepeatedRun> run() {
    countPassing();
    for (uint32_t period : likelyPeriods())
      addStretches(period);
    while (!queue_.empty()) {
      Stretch stretch = queue_.top();
      queue_.pop();
      if (auto free = freePart(stretch))
        add(*free); // smaller now: others may come before it
      else if (!overlaps(stretch))
        take(stretch);
    }
    std::vector<RepeatedRun> runs;
    for (auto [begin, run] : taken_)
      runs.push_back(run);
    return runs;
  }

private:
  // By place, how many values are used across it.
  void countPassing() {
    std::vector<uint32_t> last(size_);
    for (uint32_t i = 0; i < size_; ++i)
      for (uint32_t use : items_[i].uses)
        if (use != SequenceItem::outside)
          last[use] = i;
    std::vector<int64_t> change(size_ + 2);
    for (uint32_t i = 0; i < size_; ++i)
      if (last[i] > i) {
        ++change[i + 1];
        --change[last[i] + 1];
      }
    passing_.resize(size_ + 1);
    for (uint32_t i = 1; i <= size_; ++i)
      passing_[i] = passing_[i - 1] + change[i];
  }

  std::vector<uint32_t> likelyPeriods() const {
    std::unordered_map<uint32_t, uint64_t> found;
    for (uint32_t window : {1u, 4u, 16u, 64u}) {
      std::unordered_map<uint64_t, uint32_t> seen;
      for (uint32_t i = 0; i + window <= size_; ++i) {
        uint64_t hash = window;
        for (uint32_t k = 0; k < window; ++k)
          hash = (hash ^ items_[i + k].label) * 0x9e3779b97f4a7c15 + (hash >> 29);
        if (auto [at, isNew] = seen.try_emplace(hash, i); !isNew)
          found[i - std::exchange(at->second, i)] += window;
      }
    }
    std::vector<std::pair<uint64_t, uint32_t>> periods;
    for (auto [period, weight] : found)
      periods.emplace_back(weight * period, period); // what it could save
    std::ranges::sort(periods, [](auto a, auto b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    if (periods.size() > maxPeriods)
      periods.resize(maxPeriods);
    std::vector<uint32_t> best;
    for (auto [weight, period] : periods)
      best.push_back(period);
    return best;
  }

  void addStretches(uint32_t period) {
    for (uint32_t i = 0; i + period < size_;) {
      uint32_t end = i;
      while (end + period < size_ && items_[end].label == items_[end + period].label)
        ++end;
      if (end > i)
        add({i, end + period, period});
      i = end + 1;
    }
  }

  void add(const Stretch &stretch) {
    if (stretch.isWorthIt())
      queue_.push(stretch);
  }

  bool overlaps(const Stretch &stretch) const {
    auto after = taken_.lower_bound(stretch.begin);
    return (after != taken_.end() && after->first < stretch.end) ||
           (after != taken_.begin() && std::prev(after)->second.end() > stretch.begin);
  }

  // The largest part that nothing taken overlaps; none when it is free as it is.
  std::optional<Stretch> freePart(const Stretch &stretch) const {
    if (!overlaps(stretch))
      return std::nullopt;
    Stretch best{stretch.begin, stretch.begin, stretch.period};
    uint32_t at = stretch.begin;
    auto offer = [&](uint32_t end) {
      if (end > at && end - at > best.end - best.begin)
        best = {at, end, stretch.period};
    };
    auto next = taken_.lower_bound(stretch.begin);
    if (next != taken_.begin() && std::prev(next)->second.end() > at)
      at = std::prev(next)->second.end();
    for (; next != taken_.end() && next->first < stretch.end; ++next) {
      offer(std::min(next->first, stretch.end));
      at = next->second.end();
    }
    offer(stretch.end);
    return best;
  }

  // Where the fewest values pass from turn to turn. A turn may be lost for it, when that
  // halves what passes.
  uint32_t bestBegin(const Stretch &stretch) const {
    uint32_t best = stretch.begin;
    double least = 1e300;
    for (uint32_t begin = stretch.begin; begin < stretch.begin + stretch.period; ++begin) {
      uint32_t turns = (stretch.end - begin) / stretch.period;
      if (turns < 2)
        break;
      double sum = 0;
      for (uint32_t turn = 0; turn <= turns; ++turn)
        sum += static_cast<double>(passing_[begin + turn * stretch.period]);
      double mean = sum / (turns + 1) * (turns < stretch.count() ? 2 : 1);
      if (mean < least) {
        least = mean;
        best = begin;
      }
    }
    return best;
  }

  // Whether the turns at a and b use their own items alike, and other ones where the
  // other does.
  bool isSameTurn(uint32_t a, uint32_t b, uint32_t period) const {
    for (uint32_t i = 0; i < period; ++i) {
      const std::vector<uint32_t> &first = items_[a + i].uses, &second = items_[b + i].uses;
      if (first.size() != second.size())
        return false;
      for (size_t k = 0; k < first.size(); ++k) {
        bool isInner = first[k] != SequenceItem::outside && first[k] >= a;
        bool isInnerToo = second[k] != SequenceItem::outside && second[k] >= b;
        if (isInner != isInnerToo || (isInner && first[k] - a != second[k] - b))
          return false;
      }
    }
    return true;
  }

  // Whether the turn after the one at `begin` uses it.
  bool isChain(uint32_t begin, uint32_t period) const {
    for (uint32_t i = begin + period; i < begin + 2 * period; ++i)
      for (uint32_t use : items_[i].uses)
        if (use != SequenceItem::outside && use >= begin && use < begin + period)
          return true;
    return false;
  }

  void take(const Stretch &stretch) {
    uint32_t begin = bestBegin(stretch);
    uint32_t count = (stretch.end - begin) / stretch.period;
    for (uint32_t from = 0; from < count;) {
      uint32_t to = from + 1, at = begin + from * stretch.period;
      while (to < count && isSameTurn(at, begin + to * stretch.period, stretch.period))
        ++to;
      Stretch same{at, at + (to - from) * stretch.period, stretch.period};
      if (same.isWorthIt() && (to - from >= manyTurns || isChain(at, stretch.period)))
        taken_[at] = {at, stretch.period, to - from};
      from = to;
    }
  }

  std::span<const SequenceItem> items_;
  uint32_t size_;
  std::vector<int64_t> passing_;
  std::priority_queue<Stretch, std::vector<Stretch>, LessWanted> queue_;
  std::map<uint32_t, RepeatedRun> taken_; // by begin
};

} // namespace

std::vector<RepeatedRun> findRepeatedRuns(std::span<const SequenceItem> items) {
  return RunFinder(items).run();
}

} // namespace bycc
