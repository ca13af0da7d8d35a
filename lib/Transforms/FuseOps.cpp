// Groups host operators into kernels, so that values between them stay in
// registers or cache. A group of two or more operators becomes a local function
// with Primitive=1, called where its last operator stood; a lone operator stays a
// plain call.
//
//   %0 = nn.conv2d(%x, w)
//   %1 = nn.bias_add(%0, b)      =>   %k = fn (%p0, %p1, %p2, Primitive=1) {..}
//   %2 = nn.relu(%1)                  %2 = %k(%x, w, b)
//
// Constants of one element stay in the body, larger ones are arguments, so that
// equal kernels over different weights are equal functions.
//
// A group has one output: each member's values reach the outside only through
// the group's last node, which therefore post-dominates them. So groups grow
// from a node to its immediate post-dominator together with everything between
// the two, which also keeps the graph of groups free of cycles. What may join is
// said by the operators' kinds:
//   - an anchor (convolution, dense, pooling, softmax, a norm, a reduction) takes
//     elementwise and broadcast operators of its own shape after it; one anchor
//     a group
//   - elementwise and broadcast operators join each other, an injective operator,
//     a reduction they feed, or what follows an anchor
//   - injective operators join each other and a reduction they feed (second round,
//     so that anchors choose first)
//   - a resize that interpolates takes maps that are cheap, and nothing that moves elements
//   - a concatenation of few parts joins maps, slices, views and concatenations before it
//     and behind it, and nothing else: then each element is one read of one part, under
//     conditions on its place
// Two things are left out on purpose: costly functions are not moved to where
// they would be computed more often (exp before a broadcast, any `longChain` operators
// on values that are much fewer), and a reshape at a group's edge leaves it, since by
// itself it is free. Indices are made before they are read by, once each: they end their
// group where they are checked (mode="error") and where they are fewer than what is read.
//
// Every value is looked at a bounded number of times (`max-nodes` a group), so
// the pass is linear.

#include "ConstantView.h"
#include "Scopes.h"
#include "SimplifyRules.h"
#include "bycc/Analysis/PostDominators.h"
#include "bycc/IR/Indices.h"
#include "bycc/IR/LikelyExtents.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

namespace bycc {
namespace {

constexpr int64_t defaultMaxNodes = 64;
// So many operators are not computed again for each of `manyTimes` as many elements.
constexpr uint32_t longChain = 3;
constexpr double manyTimes = 8;
constexpr size_t mostParts = 4; // of a concatenation that joins others: each is a condition

// Kinds for grouping: Elementwise .. Injective as in the operator table; an
// anchor computes its result in a way of its own; a barrier is never grouped.
enum class GroupKind : uint8_t { Elementwise, Broadcast, Injective, Reduction, Anchor, Barrier };

GroupKind kindOf(const Module &module, NodeId id) {
  const Node &node = module.node(id);
  if (node.kind != NodeKind::CallOp || !module.types.isTensor(node.type) ||
      opInfo(node.op).has(OpTrait::Dynamic) || node.op == ops::strided_set) // writes in place
    return GroupKind::Barrier;
  for (NodeId operand : module.operands(id))
    if (!module.types.isTensor(module.type(operand)))
      return GroupKind::Barrier;
  switch (opInfo(node.op).kind) {
  case OpKind::Elementwise:
    return GroupKind::Elementwise;
  case OpKind::Broadcast:
    return GroupKind::Broadcast;
  case OpKind::Injective:
    return GroupKind::Injective;
  case OpKind::Reduction:
    return GroupKind::Reduction;
  case OpKind::OutFusable:
    return GroupKind::Anchor;
  // Norms take no part in a loop nest of others, but a map can follow.
  case OpKind::Opaque:
    return opInfo(node.op).has(OpTrait::Norm) ? GroupKind::Anchor : GroupKind::Barrier;
  }
  return GroupKind::Barrier;
}

// Groups of one block, as sets of positions.
class Grouping {
public:
  Grouping(const Module &module, const BlockGraph &graph, uint32_t maxNodes)
      : module_(module), graph_(graph), dominators_(graph), maxNodes_(maxNodes),
        parent_(graph.size()), size_(graph.size(), 1), isCostly_(graph.size()),
        concatenates_(graph.size()), isNear_(graph.size()), own_(graph.size()),
        seen_(graph.size(), 0), isIndices_(graph.size()) {
    std::iota(parent_.begin(), parent_.end(), 0u);
    for (uint32_t i = 0; i < graph.size(); ++i) {
      own_[i] = kindOf(module, graph.node(i));
      isCostly_[i] =
          own_[i] != GroupKind::Barrier && isCallWith(module, graph.node(i), OpTrait::Costly);
      if (concatenatesFew(i))
        for (uint32_t each : {i, graph.operands(i)[0]}) {
          own_[each] = GroupKind::Injective;
          concatenates_[each] = true;
        }
    }
    for (uint32_t i = 0; i < graph.size(); ++i)
      isNear_[i] = own_[i] <= GroupKind::Broadcast || concatenates_[i] ||
                   module.isOp(graph.node(i), ops::strided_slice) || isView(module, graph.node(i));
    group_ = own_;
    findShapes();
    for (uint32_t i = 0; i < graph.size(); ++i)
      if (checksIndices(module, graph.node(i)) || readsByFewer(graph.node(i)))
        for (uint32_t operand : graph.operands(i))
          isIndices_[operand] =
              isIndices_[operand] || graph.node(operand) == module.operands(graph.node(i))[1];
  }

  void run() {
    for (int round = 0; round < 2; ++round)
      for (uint32_t i = 0; i < graph_.size(); ++i)
        tryGrow(i, round);
  }
  uint32_t find(uint32_t i) {
    while (parent_[i] != i)
      i = parent_[i] = parent_[parent_[i]];
    return i;
  }

private:
  GroupKind groupKind(uint32_t i) { return group_[find(i)]; }

  // A concatenation of a tuple that nothing else reads, of parts that surely have its
  // extents: else their indices do not fold.
  bool concatenatesFew(uint32_t at) const {
    if (!module_.isOp(graph_.node(at), ops::concatenate) || graph_.operands(at).size() != 1)
      return false;
    uint32_t tuple = graph_.operands(at)[0];
    std::span<const NodeId> parts = module_.operands(graph_.node(tuple));
    return module_.node(graph_.node(tuple)).kind == NodeKind::Tuple && parts.size() <= mostParts &&
           graph_.users(tuple).size() == 1 && !graph_.isResult(tuple) &&
           std::ranges::all_of(parts, [&](NodeId part) { return fits(part, graph_.node(at)); });
  }
  bool fits(NodeId part, NodeId concatenation) const {
    std::span<const Dim> shape = module_.types.shape(module_.type(part)),
                         whole = module_.types.shape(module_.type(concatenation));
    size_t others = 0;
    for (size_t axis = 0; axis < whole.size(); ++axis)
      others += shape[axis] == whole[axis] && !whole[axis].isUnknown();
    return others + 1 >= whole.size() && std::ranges::none_of(shape, &Dim::isUnknown);
  }

  void tryGrow(uint32_t from, int round) {
    uint32_t to = dominators_.of(from);
    GroupKind kind = groupKind(from);
    if (to == PostDominators::none || kind == GroupKind::Barrier ||
        own_[to] == GroupKind::Barrier || isIndices_[from] || find(from) == find(to))
      return;
    bool isAnchored = kind == GroupKind::Reduction || kind == GroupKind::Anchor;
    bool isInjective = kind == GroupKind::Injective;
    if (round != (isInjective || concatenates_[find(to)] ? 1 : 0))
      return;
    bool grows = isAnchored    ? canFollowAnchor(from, to)
                 : isInjective ? canFollowInjective(to)
                               : canFollowMap(to);
    bool isWork = isCostly_[find(from)] ? repeats(from, to)
                                        : size_[find(from)] >= longChain && repeatsOften(from, to);
    if (grows && (isAnchored || !isWork))
      grow(from, to, isAnchored);
  }

  // A `take` of rows: each index is read by for many elements.
  bool readsByFewer(NodeId id) const {
    return module_.node(id).kind == NodeKind::CallOp && module_.node(id).op == ops::take &&
           likelyElements(module_.operands(id)[1]) < likelyElements(id);
  }
  double likelyElements(NodeId id) const {
    return bycc::likelyElements(module_.types, module_.type(id));
  }
  bool isTensor(uint32_t at) const { return module_.types.isTensor(module_.type(graph_.node(at))); }
  bool repeatsOften(uint32_t from, uint32_t to) const {
    return own_[to] != GroupKind::Reduction && isTensor(from) && isTensor(to) &&
           readsOfEach(to) * likelyElements(graph_.node(to)) >=
               manyTimes * likelyElements(graph_.node(from));
  }
  // Elements that one of a result is made of.
  double readsOfEach(uint32_t at) const {
    NodeId node = graph_.node(at);
    for (auto [op, axes] :
         {std::pair{ops::image_resize1d, 1}, {ops::image_resize2d, 2}, {ops::image_resize3d, 3}})
      if (module_.isOp(node, op)) {
        std::string_view method = attrs::text(module_, node, "method");
        return std::pow(method == "linear" ? 2 : method == "cubic" ? 4 : 1, axes);
      }
    return 1;
  }

  // `to` is a map over exactly the values `from` makes.
  bool canFollowAnchor(uint32_t from, uint32_t to) {
    return groupKind(to) <= GroupKind::Broadcast && hasShapeOf(to, from);
  }
  bool canFollowInjective(uint32_t to) {
    if (readsOfEach(to) > 1) // each of which would have to be looked for
      return false;
    return groupKind(to) <= GroupKind::Injective || isBareReduction(to);
  }
  bool canFollowMap(uint32_t to) { return own_[to] <= GroupKind::Injective || isBareReduction(to); }
  bool isBareReduction(uint32_t at) const { return own_[at] == GroupKind::Reduction; }

  // Of maps: whose extents they have, which two `?` do not say.
  void findShapes() {
    shape_.resize(graph_.size());
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      shape_[i] = graph_.node(i);
      if (own_[i] <= GroupKind::Broadcast && !isCallWith(module_, shape_[i], OpTrait::Movement))
        shape_[i] = shapeOfMap(i);
    }
  }
  NodeId shapeOfMap(uint32_t at) const {
    NodeId node = graph_.node(at);
    std::span<const NodeId> operands = module_.operands(node);
    bool alongAxis = opInfo(module_.node(node).op).findAttr("axis") != nullptr; // vectors but for x
    for (NodeId x : operands) {
      auto fits = [&](NodeId y) {
        return alongAxis || shapeOf(at, x) == shapeOf(at, y) || !mayExtend(y, x);
      };
      bool isSame = std::ranges::equal(module_.types.shape(module_.type(x)),
                                       module_.types.shape(module_.type(node)));
      if (isSame && std::ranges::all_of(operands, fits))
        return shapeOf(at, x);
    }
    return node;
  }
  NodeId shapeOf(uint32_t user, NodeId operand) const {
    std::span<const uint32_t> inside = graph_.operands(user);
    auto at = std::ranges::find(inside, operand, [&](uint32_t i) { return graph_.node(i); });
    return at == inside.end() ? operand : shape_[*at];
  }
  // May `x` have fewer elements along an axis than with `y` broadcast to it?
  bool mayExtend(NodeId y, NodeId x) const {
    std::span<const Dim> small = module_.types.shape(module_.type(y)),
                         large = module_.types.shape(module_.type(x));
    if (small.size() > large.size())
      return true;
    for (size_t k = 0; k < small.size(); ++k) {
      Dim dim = small[k], other = large[large.size() - small.size() + k];
      if (dim != Dim(1) && (dim.isUnknown() || dim != other))
        return true;
    }
    return false;
  }

  bool hasShapeOf(uint32_t a, uint32_t b) const {
    if (shape_[a] == shape_[b])
      return true;
    std::span<const Dim> x = module_.types.shape(module_.type(graph_.node(a)));
    std::span<const Dim> y = module_.types.shape(module_.type(graph_.node(b)));
    return std::ranges::equal(x, y) && std::ranges::none_of(x, &Dim::isUnknown);
  }
  // Would computing `from` inside `to` compute it more than once per element?
  bool repeats(uint32_t from, uint32_t to) const {
    if (own_[to] == GroupKind::Reduction)
      return false;
    if (!isTensor(from) || !isTensor(to) || readsOfEach(to) > 1) // a tuple of parts
      return true;
    auto made = module_.types.numElements(module_.type(graph_.node(from)));
    auto used = module_.types.numElements(module_.type(graph_.node(to)));
    return made && used ? *used > *made : !hasShapeOf(to, from);
  }

  // Joins everything between the two when all of it may be.
  void grow(uint32_t from, uint32_t to, bool isAnchored) {
    path_.assign(1, from);
    seen_[from] = ++stamp_;
    uint32_t total = size_[find(from)] + size_[find(to)];
    for (size_t next = 0; next < path_.size(); ++next) {
      for (uint32_t user : graph_.users(path_[next])) {
        if (user == to || seen_[user] == stamp_)
          continue;
        seen_[user] = stamp_;
        if (!mayBeBetween(from, user, isAnchored))
          return;
        path_.push_back(user);
        total += find(user) == find(from) || find(user) == find(to) ? 0 : 1;
        if (total > maxNodes_ || path_.size() > maxNodes_)
          return;
      }
    }
    if (total > maxNodes_ || !mayConcatenate(from, to))
      return;
    for (uint32_t member : path_)
      join(member, to);
  }

  // Whether what is on the path suits the concatenations there.
  bool mayConcatenate(uint32_t from, uint32_t to) {
    bool concatenates = concatenates_[find(to)], isNear = isNear_[find(to)];
    for (uint32_t member : path_) {
      concatenates = concatenates || concatenates_[find(member)];
      isNear = isNear && isNear_[find(member)];
    }
    bool isCostly = isCostly_[find(from)] && !concatenates_[find(from)];
    return !concatenates || (isNear && !isCostly);
  }

  bool mayBeBetween(uint32_t from, uint32_t at, bool isAnchored) {
    if (isIndices_[at])
      return false;
    if (find(at) == find(from))
      return true;
    if (isAnchored)
      return groupKind(at) <= GroupKind::Broadcast && hasShapeOf(at, from);
    return groupKind(at) <= GroupKind::Injective;
  }

  void join(uint32_t a, uint32_t b) {
    a = find(a), b = find(b);
    if (a == b)
      return;
    if (size_[a] > size_[b])
      std::swap(a, b);
    parent_[a] = b;
    size_[b] += size_[a];
    group_[b] = std::max(group_[a], group_[b]);
    isCostly_[b] = isCostly_[a] || isCostly_[b];
    concatenates_[b] = concatenates_[a] || concatenates_[b];
    isNear_[b] = isNear_[a] && isNear_[b];
  }

  const Module &module_;
  const BlockGraph &graph_;
  PostDominators dominators_;
  uint32_t maxNodes_;
  std::vector<uint32_t> parent_, size_;
  std::vector<bool> isCostly_; // by group
  // By group: is there a concatenation, and nothing that does not suit one?
  std::vector<bool> concatenates_, isNear_;
  std::vector<GroupKind> own_, group_; // of the operator; by group
  std::vector<uint32_t> seen_, path_;  // nodes of grow() number stamp_
  uint32_t stamp_ = 0;
  std::vector<bool> isIndices_; // read as such, and checked
  std::vector<NodeId> shape_;   // a value that has the same extents
};

// Members of each group in order, without the views at its edges; empty for
// groups that stay plain calls. Indexed by the position of the last member.
std::vector<std::vector<uint32_t>> finalGroups(const Module &module, const BlockGraph &graph,
                                               Grouping &grouping) {
  std::vector<std::vector<uint32_t>> members(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i)
    members[grouping.find(i)].push_back(i);
  std::vector<std::vector<uint32_t>> result(graph.size());
  std::vector<bool> isInside(graph.size(), false);
  for (std::vector<uint32_t> &group : members) {
    if (group.size() < 2)
      continue;
    for (uint32_t i : group)
      isInside[i] = true;
    auto isViewAt = [&](uint32_t i) { return keepsElements(module, graph.node(i)); };
    std::vector<uint32_t> kept;
    for (uint32_t i : group) {
      bool reads = std::ranges::any_of(graph.operands(i), [&](uint32_t o) { return isInside[o]; });
      if (!reads && isViewAt(i))
        isInside[i] = false;
      else
        kept.push_back(i);
    }
    while (!kept.empty() && isViewAt(kept.back())) {
      isInside[kept.back()] = false;
      kept.pop_back();
    }
    for (uint32_t i : group)
      isInside[i] = false;
    bool isAlone = kept.size() == 2 && module.node(graph.node(kept[0])).kind == NodeKind::Tuple;
    if (kept.size() >= 2 && !isAlone)
      result[kept.back()] = std::move(kept);
  }
  return result;
}

class Fuser {
public:
  Fuser(Module &module, uint32_t maxNodes) : module_(module), maxNodes_(maxNodes) {}
  bool changed() const { return changed_; }

  Expected<> runBlock(BlockId block) {
    std::vector<std::vector<uint32_t>> groups;
    std::vector<bool> isMoved;
    {
      BlockGraph graph(module_, block, positions_);
      Grouping grouping(module_, graph, maxNodes_);
      grouping.run();
      groups = finalGroups(module_, graph, grouping);
      isMoved.assign(graph.size(), false);
      for (const std::vector<uint32_t> &group : groups)
        for (uint32_t i : group)
          isMoved[i] = true;
    }
    std::vector<NodeId> old = std::move(module_.block(block).nodes);
    std::vector<NodeId> fresh;
    fresh.reserve(old.size());
    for (uint32_t i = 0; i < old.size(); ++i) {
      BYCC_TRY(visitNode(old[i]));
      if (!groups[i].empty())
        BYCC_TRY(outline(block, old, groups[i], fresh));
      else if (!isMoved[i])
        fresh.push_back(old[i]);
    }
    module_.block(block).nodes = std::move(fresh);
    NodeId &result = module_.block(block).result;
    result = forwarded(result);
    return {};
  }

private:
  NodeId forwarded(NodeId node) const {
    auto it = forward_.find(node);
    return it == forward_.end() ? node : it->second;
  }

  Expected<> visitNode(NodeId node) {
    for (NodeId &operand : module_.mutableOperands(node))
      operand = forwarded(operand);
    NodeKind kind = module_.node(node).kind;
    bool isClosed =
        kind == NodeKind::Function && isClosedFunction(module_, module_.functionOf(node));
    for (BlockId inner : innerBlocks(module_, node))
      BYCC_TRY(isClosed ? forwardInside(inner) : runBlock(inner));
    return {};
  }

  // A closed function may use outer values; only these are renamed.
  Expected<> forwardInside(BlockId block) {
    for (NodeId node : module_.block(block).nodes) {
      for (NodeId &operand : module_.mutableOperands(node))
        operand = forwarded(operand);
      for (BlockId inner : innerBlocks(module_, node))
        BYCC_TRY(forwardInside(inner));
    }
    NodeId &result = module_.block(block).result;
    result = forwarded(result);
    return {};
  }

  bool staysInside(NodeId operand) const {
    return module_.isConstant(operand) &&
           module_.types.numElements(module_.type(operand)) == std::optional<int64_t>(1);
  }

  // Moves the group into a new function and calls it.
  Expected<> outline(BlockId block, const std::vector<NodeId> &old,
                     const std::vector<uint32_t> &group, std::vector<NodeId> &fresh) {
    FunctionId function = module_.addFunction({}, block);
    std::vector<NodeId> body, arguments, params;
    std::unordered_map<NodeId, NodeId> inside; // group member or argument -> what the body uses
    for (uint32_t i : group) {
      NodeId node = old[i];
      std::vector<NodeId> operands(module_.operands(node).begin(), module_.operands(node).end());
      for (NodeId &operand : operands) {
        auto [it, isNew] = inside.try_emplace(operand, operand);
        if (isNew && !staysInside(operand)) {
          it->second = module_.addParam("p" + std::to_string(params.size()), module_.type(operand),
                                        module_.node(operand).source);
          params.push_back(it->second);
          arguments.push_back(operand);
        }
        operand = it->second;
      }
      module_.setOperands(node, operands);
      inside.emplace(node, node);
      body.push_back(node);
    }
    NodeId last = body.back();
    module_.function(function).params = std::move(params);
    module_.function(function).source = module_.node(last).source;
    module_.setFunctionAttr(function, "Primitive", AttrValue(1));
    BlockId bodyBlock = module_.function(function).body;
    module_.block(bodyBlock).nodes = std::move(body);
    module_.block(bodyBlock).result = last;

    Builder builder(module_, block);
    builder.setList(&fresh);
    builder.setSource(module_.node(last).source);
    NodeId callee = builder.localFunction(function);
    NodeId call = BYCC_TRY(builder.callFunction(callee, arguments));
    module_.node(call).name = module_.node(last).name;
    module_.node(call).isLet = module_.node(last).isLet;
    for (NodeId member : module_.block(bodyBlock).nodes)
      module_.node(member).isLet = false;
    forward_.emplace(last, call);
    changed_ = true;
    return {};
  }

  Module &module_;
  uint32_t maxNodes_;
  NodePositions positions_;
  std::unordered_map<NodeId, NodeId> forward_;
  bool changed_ = false;
};

} // namespace

Expected<bool> fuseOps(Module &module, PassContext &context) {
  std::string text = context.option("max-nodes", std::to_string(defaultMaxNodes));
  auto maxNodes = parseInt(text);
  if (!maxNodes || *maxNodes < 1 || *maxNodes > 4096)
    return error(Status::Usage).as(MessageId::PassOption)
           << "pass 'fuse-ops': max-nodes is '" << escaped(text)
           << "', not a number from 1 to 4096";
  Fuser fuser(module, static_cast<uint32_t>(*maxNodes));
  for (FunctionId function : optimizableFunctions(module))
    if (!isClosedFunction(module, function))
      BYCC_TRY(fuser.runBlock(module.function(function).body));
  return fuser.changed();
}

} // namespace bycc
