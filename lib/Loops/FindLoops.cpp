// From stages to loop nests; see Loops.h for the steps. Row nests are grown
// greedily: a stage joins the nest of its producers when every load of a nest
// buffer happens at the same row, so that the buffer needs to live for one row.
#include "LoopSteps.h"

#include <algorithm>
#include <utility>

namespace bycc::loops {
namespace {

using AxisMap = std::unordered_map<uint32_t, uint32_t>;

class LoopFinder {
public:
  LoopFinder(Loops &result, const TargetFacts &facts) : facts_(facts), result_(result) {}

  void run() {
    used_.assign(k().stages.size(), false);
    claimEpilogues();
    for (size_t s = 0; s < k().stages.size(); ++s) {
      if (used_[s])
        continue;
      if (contractionOf_[s] >= 0)
        addContraction(static_cast<size_t>(contractionOf_[s]), s);
      else
        addRowNest(s);
    }
    for (Nest &nest : result_.nests)
      if (!nest.contraction)
        joinAxes(k(), nest);
  }

private:
  Kernel &k() { return result_.kernel; }
  Exprs &e() { return result_.kernel.exprs; }

  std::vector<Ref> loadsOf(const Stage &stage, uint32_t buffer) {
    std::vector<Ref> loads;
    e().visit(stage.body, [&](Ref ref) {
      if (e()[ref].op == Op::Load && e()[ref].i == buffer)
        loads.push_back(ref);
      return true;
    });
    return loads;
  }

  std::vector<size_t> usersOf(uint32_t buffer, size_t from) {
    std::vector<size_t> users;
    for (size_t s = from; s < k().stages.size(); ++s)
      if (!loadsOf(k().stages[s], buffer).empty())
        users.push_back(s);
    return users;
  }

  // Pairs the axes of a producer's store with those of a consumer's load of it:
  // equal stride, equal extent. False when some producer axis has no partner.
  bool matchAxes(const Stage &producer, Ref load, const Stage &consumer, AxisMap &pairs) {
    Ref index = e()[load].a;
    std::vector<uint32_t> candidates = consumer.axes;
    candidates.insert(candidates.end(), consumer.reduceAxes.begin(), consumer.reduceAxes.end());
    std::unordered_map<uint32_t, Ref> theirs;
    for (uint32_t axis : producer.axes) {
      Ref stride = e().stride(producer.store, axis);
      for (uint32_t other : candidates)
        if (stride != noRef && e().constant(stride) != 0 && stride == e().stride(index, other) &&
            e().extent(axis) == e().extent(other)) {
          pairs[axis] = other;
          theirs[axis] = e().axis(other);
        }
      if (!theirs.count(axis))
        return false;
    }
    return e().substitute(producer.store, theirs) == index;
  }

  // For each contraction, the one elementwise stage that consumes it at the same
  // position: the pair becomes one nest at the consumer's place.
  void claimEpilogues() {
    contractionOf_.assign(k().stages.size(), -1);
    found_.resize(k().stages.size());
    for (size_t s = 0; s < k().stages.size(); ++s) {
      found_[s] = findContraction(k(), k().stages[s], facts_);
      if (!found_[s])
        continue;
      contractionOf_[s] = static_cast<int>(s);
      const Stage &stage = k().stages[s];
      auto users = usersOf(stage.buffer, s + 1);
      if (k().buffers[stage.buffer].role != Role::Temp || users.size() != 1)
        continue;
      size_t user = users[0];
      if (contractionOf_[user] < 0 && k().stages[user].reduce == Reduce::None &&
          alignEpilogue(stage, k().stages[user])) {
        contractionOf_[s] = -1;
        contractionOf_[user] = static_cast<int>(s);
        used_[s] = true;
      }
    }
  }

  // Rewrites `user` over the axes of `producer`; false when it does not visit
  // exactly the same positions.
  bool alignEpilogue(const Stage &producer, Stage &user) {
    auto loads = loadsOf(user, producer.buffer);
    if (loads.size() != 1)
      return false;
    AxisMap pairs;
    std::unordered_map<uint32_t, Ref> values;
    if (matchAxes(producer, loads[0], user, pairs) && pairs.size() == user.axes.size()) {
      for (auto [mine, theirs] : pairs)
        values[theirs] = e().axis(mine);
    } else {
      // Another shape with the same elements in the same order.
      if (e()[loads[0]].a != user.store || e().affine(user.store).constant != 0)
        return false;
      auto strides = byStride(e(), user.axes, user.store);
      Ref mine = e().integer(1), theirs = mine;
      for (uint32_t axis : user.axes)
        theirs = e().mul(theirs, e().extent(axis));
      for (uint32_t axis : producer.axes)
        mine = e().mul(mine, e().extent(axis));
      if (!strides || mine != theirs)
        return false;
      for (auto [axis, stride] : *strides) {
        Ref value = e().binary(Op::FloorDiv, producer.store, stride);
        values[axis] = values.empty() ? value : e().binary(Op::FloorMod, value, e().extent(axis));
      }
    }
    user.body = e().substitute(user.body, values);
    user.store = e().substitute(user.store, values);
    user.axes = producer.axes;
    return true;
  }

  void addContraction(size_t sum, size_t last) {
    used_[last] = true;
    Contraction c = *found_[sum];
    const Stage &stage = k().stages[sum];
    if (sum == last) {
      c.epilogue = stage;
      c.epilogue.reduce = Reduce::None;
      c.epilogue.body = c.result =
          e().load(stage.buffer, k().buffers[stage.buffer].type, stage.store);
    } else {
      c.epilogue = k().stages[last];
      c.result = loadsOf(c.epilogue, stage.buffer)[0];
    }
    joinRows(k(), c);
    Nest nest;
    nest.contraction = std::move(c);
    result_.nests.push_back(std::move(nest));
  }

  // --- rows of a group of stages

  using Axes = std::vector<uint32_t>;
  using Rows = std::unordered_map<size_t, Axes>; // row axes, by stage
  struct Edge {
    size_t producer, consumer;
    AxisMap pairs;
  };

  // The reduction with the fewest axes, whose axes the rows are; nothing when there is none.
  std::optional<size_t> rootOf(const std::vector<size_t> &group) {
    std::optional<size_t> root;
    for (size_t s : group)
      if (k().stages[s].reduce != Reduce::None &&
          (!root || k().stages[s].axes.size() < k().stages[*root].axes.size()))
        root = s;
    return root;
  }

  // One for each load of a stage of the group in another one; nothing when one has no axes that
  // match.
  std::optional<std::vector<Edge>> edgesOf(const std::vector<size_t> &group) {
    std::vector<Edge> edges;
    for (size_t p : group)
      for (size_t c : group) {
        if (p >= c)
          continue;
        for (Ref load : loadsOf(k().stages[c], k().stages[p].buffer)) {
          Edge edge{p, c, {}};
          if (!matchAxes(k().stages[p], load, k().stages[c], edge.pairs))
            return std::nullopt;
          edges.push_back(edge);
        }
      }
    return edges;
  }

  // The axes of the edge's other end that are those of `axes`; nothing when one has none.
  static std::optional<Axes> acrossEdge(const Edge &edge, const Axes &axes, bool toConsumer) {
    Axes mapped;
    for (uint32_t axis : axes) {
      uint32_t other = noAxis;
      for (auto [producer, consumer] : edge.pairs)
        if ((toConsumer ? producer : consumer) == axis)
          other = toConsumer ? consumer : producer;
      if (other == noAxis)
        return std::nullopt;
      mapped.push_back(other);
    }
    return mapped;
  }

  // From the stages whose rows are known to those that they are connected with; false when an edge
  // has no axes for them.
  static bool spread(const std::vector<Edge> &edges, Rows &rows) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Edge &edge : edges) {
        bool hasProducer = rows.count(edge.producer), hasConsumer = rows.count(edge.consumer);
        if (hasProducer == hasConsumer)
          continue;
        auto mapped =
            acrossEdge(edge, rows[hasProducer ? edge.producer : edge.consumer], hasProducer);
        if (!mapped)
          return false;
        rows[hasProducer ? edge.consumer : edge.producer] = std::move(*mapped);
        changed = true;
      }
    }
    return true;
  }

  static bool agree(const std::vector<Edge> &edges, Rows &rows, size_t numRows) {
    for (const Edge &edge : edges)
      for (size_t r = 0; r < numRows; ++r) {
        auto it = edge.pairs.find(rows[edge.producer][r]);
        if (it == edge.pairs.end() || it->second != rows[edge.consumer][r])
          return false;
      }
    return true;
  }

  // Row axes of each stage of a group (by position), or nothing when they do not agree.
  std::optional<std::vector<Axes>> findRows(const std::vector<size_t> &group) {
    auto root = rootOf(group);
    auto edges = root ? edgesOf(group) : std::nullopt;
    if (!edges)
      return std::nullopt;
    Rows rows{{*root, k().stages[*root].axes}};
    if (!spread(*edges, rows) || !agree(*edges, rows, rows[*root].size()))
      return std::nullopt;
    std::vector<Axes> result;
    for (size_t s : group) {
      if (!rows.count(s))
        return std::nullopt;
      const Axes &axes = k().stages[s].axes; // row axes are parallel in every stage
      if (size_t own = k().stages[s].ownRows; own != 0 && own != rows[s].size())
        return std::nullopt;
      for (uint32_t axis : rows[s])
        if (std::find(axes.begin(), axes.end(), axis) == axes.end())
          return std::nullopt;
      result.push_back(rows[s]);
    }
    return result;
  }

  void addRowNest(size_t first) {
    std::vector<size_t> group{first};
    std::optional<std::vector<Axes>> rows;
    for (size_t s = first + 1; s < k().stages.size(); ++s) {
      if (used_[s] || contractionOf_[s] >= 0 || !dependsOnlyOn(s, first, group))
        continue;
      group.push_back(s);
    }
    while (group.size() > 1 && !(rows = findRows(group)))
      group.pop_back();
    Nest nest;
    if (group.size() == 1)
      makeSingle(group[0], nest);
    else
      makeGroup(group, *rows, nest);
    for (size_t s : group)
      used_[s] = true;
    result_.nests.push_back(std::move(nest));
  }

  // Connected to the group, and needs nothing that is computed in between.
  bool dependsOnlyOn(size_t s, size_t first, const std::vector<size_t> &group) {
    bool connected = false;
    for (size_t p = 0; p < s; ++p) {
      if (loadsOf(k().stages[s], k().stages[p].buffer).empty())
        continue;
      bool inGroup = std::find(group.begin(), group.end(), p) != group.end();
      connected = connected || inGroup;
      if (!inGroup && !used_[p] && p >= first)
        return false;
    }
    return connected;
  }

  void makeSingle(size_t s, Nest &nest) {
    Stage stage = k().stages[s];
    if (stage.reduce == Reduce::None && !stage.axes.empty()) {
      NestStage inner;
      nest.rows.assign(stage.axes.begin(), stage.axes.end() - 1);
      stage.axes.erase(stage.axes.begin(), stage.axes.end() - 1);
      inner.stage = std::move(stage);
      nest.stages.push_back(std::move(inner));
      return;
    }
    nest.rows = stage.axes;
    stage.axes.clear();
    NestStage only;
    only.stage = std::move(stage);
    nest.stages.push_back(std::move(only));
  }

  void makeGroup(const std::vector<size_t> &group, const std::vector<Axes> &rows, Nest &nest) {
    for (uint32_t axis : rows[0])
      nest.rows.push_back(e().newAxis(e().extent(axis)));
    for (size_t g = 0; g < group.size(); ++g) {
      NestStage inner;
      inner.stage = k().stages[group[g]];
      std::unordered_map<uint32_t, Ref> values;
      for (size_t r = 0; r < rows[g].size(); ++r)
        values[rows[g][r]] = e().axis(nest.rows[r]);
      Stage &stage = inner.stage;
      for (auto *axes : {&stage.axes, &stage.reduceAxes})
        for (uint32_t &axis : *axes) // which may be shorter in the last row
          if (Ref extent = e().substitute(e().extent(axis), values); extent != e().extent(axis)) {
            uint32_t own = e().newAxis(extent);
            for (Window &window : stage.windows)
              if (window.tap == axis)
                window.tap = own;
            values[std::exchange(axis, own)] = e().axis(own);
          }
      std::vector<Ref *> refs{&stage.body, &stage.store};
      for (Window &window : stage.windows)
        refs.insert(refs.end(), {&window.first, &window.elements});
      for (Ref *ref : refs)
        if (*ref != noRef)
          *ref = e().substitute(*ref, values);
      std::erase_if(stage.axes, [&](uint32_t axis) { return values.count(axis) != 0; });
      bool usedOutside = false;
      for (size_t user : usersOf(stage.buffer, 0))
        usedOutside = usedOutside || std::find(group.begin(), group.end(), user) == group.end();
      inner.isLocal =
          k().buffers[stage.buffer].role == Role::Temp && !usedOutside && isStaticInner(stage);
      inner.isRegister = inner.isLocal && stage.axes.empty();
      nest.stages.push_back(std::move(inner));
    }
  }

  bool isStaticInner(const Stage &stage) {
    for (uint32_t axis : stage.axes)
      if (!e().constantExtent(axis) || !e().coefficient(stage.store, axis))
        return false;
    return true;
  }

  const TargetFacts &facts_;
  Loops &result_;
  std::vector<bool> used_;
  std::vector<int> contractionOf_;
  std::vector<std::optional<Contraction>> found_;
};

} // namespace

void findLoops(Loops &loops, const TargetFacts &facts) { LoopFinder(loops, facts).run(); }

} // namespace bycc::loops
