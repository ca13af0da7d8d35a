// Builds the grouping problem of a block and keeps the regions of its items.
//
// What an item needs: its operands, and for an If or a closure everything that
// its blocks use from here, so that paths through branches and closures count.
// What items share: the value they touch, found through tuples and projections
// (constants do not count), and the tuple that gathers their results.

#include "bycc/Partition/AnnotatedRegions.h"

#include "bycc/Support/Error.h"
#include "bycc/Target/Placement.h"

#include "RegionSolver.h"
#include "Scopes.h"

#include <algorithm>
#include <numeric>

namespace bycc {

namespace {

// Tensors [begin, begin + count) of a projection's field among those of its
// operand's type.
std::pair<uint32_t, uint32_t> fieldRange(const Module &module, TypeId tuple, uint32_t field) {
  std::span<const TypeId> fields = module.types.fields(tuple);
  auto count = [&](TypeId type) {
    return module.types.isTensor(type) ? uint32_t{1}
                                       : static_cast<uint32_t>(module.types.flatten(type).size());
  };
  uint32_t begin = 0;
  for (uint32_t i = 0; i < field; ++i)
    begin += count(fields[i]);
  return {begin, count(fields[field])};
}

} // namespace

// Recursion is as deep as tuple types nest: chains of projections are a loop.
void resolveTensors(const Module &module, NodeId node, std::vector<TensorRef> &out) {
  uint32_t begin = 0, count = UINT32_MAX; // wanted part of the node's tensors
  while (module.node(node).kind == NodeKind::Project) {
    NodeId tuple = module.operands(node)[0];
    uint32_t field = module.node(node).payload;
    if (module.node(tuple).kind == NodeKind::Tuple) {
      node = module.operands(tuple)[field];
      continue;
    }
    auto [first, size] = fieldRange(module, module.type(tuple), field);
    count = std::min(count, size);
    begin += first;
    node = tuple;
  }
  const Node &n = module.node(node);
  if (n.kind == NodeKind::Tuple) {
    size_t start = out.size();
    for (NodeId field : module.operands(node))
      resolveTensors(module, field, out);
    if (count == UINT32_MAX)
      return;
    out.erase(out.begin() + static_cast<long>(start), out.begin() + static_cast<long>(start + begin));
    out.resize(start + count);
    return;
  }
  if (module.types.isTensor(n.type)) {
    out.push_back({node, 0});
    return;
  }
  if (!module.types.isTuple(n.type))
    return; // a function
  if (count == UINT32_MAX)
    count = static_cast<uint32_t>(module.types.flatten(n.type).size());
  for (uint32_t i = 0; i < count; ++i)
    out.push_back({node, begin + i});
}

NodePlaces::NodePlaces(const Module &module)
    : block(module.numNodes()), position(module.numNodes(), none) {
  for (BlockId id : hostBlocks(module)) {
    const std::vector<NodeId> &nodes = module.block(id).nodes;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      block[nodes[i].index] = id;
      position[nodes[i].index] = i;
    }
  }
}

struct AnnotatedRegions::Impl {
  const Module &module;
  const NodePlaces &places;
  BlockId block;
  const std::vector<NodeId> &nodes;
  RegionProblem problem;
  const PlacementRules *placement;
  // Names and labels behind problem.vendor: nodes of two labels are never one region.
  std::vector<std::pair<StringId, uint32_t>> vendors;
  std::vector<uint32_t> parent, next; // union-find; members of a region in a ring
  std::vector<uint8_t> isMember;

  Impl(const Module &m, const NodePlaces &p, BlockId b, const PlacementRules *rules)
      : module(m), places(p), block(b), nodes(m.block(b).nodes), placement(rules) {
    addNeeds();
    addVendors();
    addShares();
    reset();
  }

  // --- building

  // Position of a node in this block, or none.
  uint32_t itemOf(NodeId node) const {
    return node.index < places.block.size() && places.block[node.index] == block
               ? places.position[node.index]
               : none;
  }

  void addNeeds() {
    std::vector<uint32_t> needs;
    for (uint32_t item = 0; item < nodes.size(); ++item) {
      needs.clear();
      collectNeeds(nodes[item], item, needs);
      std::ranges::sort(needs);
      needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
      problem.needs.insert(problem.needs.end(), needs.begin(), needs.end());
      problem.needsBegin.push_back(static_cast<uint32_t>(problem.needs.size()));
    }
  }

  void need(NodeId node, uint32_t item, std::vector<uint32_t> &needs) const {
    if (uint32_t other = itemOf(node); other != none && other != item)
      needs.push_back(other);
  }
  void collectNeeds(NodeId node, uint32_t item, std::vector<uint32_t> &needs) const {
    for (NodeId operand : module.operands(node))
      need(operand, item, needs);
    for (BlockId inner : innerBlocks(module, node)) {
      for (NodeId innerNode : module.block(inner).nodes)
        collectNeeds(innerNode, item, needs);
      need(module.block(inner).result, item, needs);
    }
  }

  bool isWire(NodeId node) const {
    NodeKind kind = module.node(node).kind;
    return kind == NodeKind::Tuple || kind == NodeKind::Project;
  }

  int32_t vendorNumber(StringId name, NodeId node) {
    std::pair key(name, placement ? placement->labelOf(node) : 0);
    auto found = std::ranges::find(vendors, key);
    if (found == vendors.end())
      found = vendors.insert(vendors.end(), key);
    return static_cast<int32_t>(found - vendors.begin());
  }

  void addVendors() {
    for (uint32_t item = 0; item < nodes.size(); ++item) {
      const Annotation *annotation = module.annotation(nodes[item]);
      bool isTaken = annotation && !annotation->vendors.empty();
      bool wire = isWire(nodes[item]);
      problem.isWire.push_back(wire);
      problem.vendor.push_back(wire      ? carriedVendor(item)
                               : isTaken ? vendorNumber(annotation->vendors[0], nodes[item])
                                         : RegionProblem::host);
    }
    dropIdleTuples();
  }

  // The one vendor whose values a tuple or projection holds; host when none or
  // several.
  int32_t carriedVendor(uint32_t item) const {
    int32_t vendor = RegionProblem::host;
    for (uint32_t need : problem.needsOf(item)) {
      int32_t other = problem.vendor[need];
      if (other == RegionProblem::host)
        continue;
      if (vendor != RegionProblem::host && other != vendor)
        return RegionProblem::host;
      vendor = other;
    }
    return vendor;
  }

  // A tuple that nobody of its vendor uses is the host's.
  void dropIdleTuples() {
    std::vector<uint8_t> isUsed(nodes.size(), 0);
    for (uint32_t item = problem.size(); item-- > 0;) {
      if (module.node(nodes[item]).kind == NodeKind::Tuple && !isUsed[item])
        problem.vendor[item] = RegionProblem::host;
      for (uint32_t need : problem.needsOf(item))
        if (problem.vendor[need] == problem.vendor[item])
          isUsed[need] = 1;
    }
  }

  void addShares() {
    std::vector<std::pair<uint64_t, uint32_t>> touches; // (value, item)
    std::vector<TensorRef> tensors;
    for (uint32_t item = 0; item < nodes.size(); ++item) {
      NodeId node = nodes[item];
      if (problem.vendor[item] != RegionProblem::host)
        touches.emplace_back(node.index, item);
      if (problem.vendor[item] == RegionProblem::host &&
          module.node(node).kind != NodeKind::Tuple)
        continue;
      tensors.clear();
      for (NodeId operand : module.operands(node))
        if (module.node(operand).kind != NodeKind::Function)
          resolveTensors(module, operand, tensors);
      addTouches(item, tensors, touches);
    }
    std::ranges::sort(touches);
    touches.erase(std::unique(touches.begin(), touches.end()), touches.end());
    for (size_t i = 0; i < touches.size(); ++i) {
      problem.shares.push_back(touches[i].second);
      if (i + 1 == touches.size() || touches[i + 1].first != touches[i].first)
        closeShare();
    }
  }

  void addTouches(uint32_t item, const std::vector<TensorRef> &tensors,
                  std::vector<std::pair<uint64_t, uint32_t>> &touches) const {
    constexpr uint64_t gathers = uint64_t{1} << 32; // names of tuples, apart from values
    bool isTuple = module.node(nodes[item]).kind == NodeKind::Tuple;
    bool isHost = problem.vendor[item] == RegionProblem::host;
    for (const TensorRef &tensor : tensors) {
      if (module.isConstant(tensor.base))
        continue;
      if (!isHost)
        touches.emplace_back(tensor.base.index, item);
      uint32_t maker = isTuple ? itemOf(tensor.base) : none;
      if (maker != none && problem.vendor[maker] != RegionProblem::host)
        touches.emplace_back(gathers + nodes[item].index, maker);
    }
  }

  // A set of one item links nothing.
  void closeShare() {
    if (problem.shares.size() - problem.sharesBegin.back() < 2)
      problem.shares.resize(problem.sharesBegin.back());
    else
      problem.sharesBegin.push_back(static_cast<uint32_t>(problem.shares.size()));
  }

  // --- regions

  void reset() {
    parent.resize(nodes.size());
    next.resize(nodes.size());
    std::iota(parent.begin(), parent.end(), 0u);
    std::iota(next.begin(), next.end(), 0u);
    isMember.assign(nodes.size(), 0);
  }

  uint32_t find(uint32_t item) const {
    while (parent[item] != item)
      item = parent[item];
    return item;
  }
  uint32_t findAndShorten(uint32_t item) {
    while (parent[item] != item)
      item = parent[item] = parent[parent[item]];
    return item;
  }

  void join(uint32_t a, uint32_t b) {
    a = findAndShorten(a), b = findAndShorten(b);
    if (a == b)
      return;
    std::swap(next[a], next[b]); // two rings become one
    parent[std::max(a, b)] = std::min(a, b);
  }

  RegionAssignment assignment() const {
    RegionAssignment result(nodes.size(), -1);
    std::vector<int32_t> number(nodes.size(), -1);
    int32_t count = 0;
    for (uint32_t item = 0; item < nodes.size(); ++item)
      if (isMember[item]) {
        int32_t &mine = number[find(item)];
        mine = mine < 0 ? count++ : mine;
        result[item] = mine;
      }
    return result;
  }

  void set(const RegionAssignment &regions) {
    reset();
    std::vector<uint32_t> first;
    for (uint32_t item = 0; item < nodes.size(); ++item) {
      if (regions[item] < 0)
        continue;
      isMember[item] = 1;
      size_t region = static_cast<size_t>(regions[item]);
      if (region >= first.size())
        first.resize(region + 1, none);
      if (first[region] == none)
        first[region] = item;
      else
        join(first[region], item);
    }
  }
};

AnnotatedRegions::AnnotatedRegions(const Module &module, const NodePlaces &places, BlockId block,
                                   const PlacementRules *placement)
    : impl_(std::make_unique<Impl>(module, places, block, placement)) {
  std::vector<std::pair<int32_t, uint32_t>> chosen;
  for (uint32_t item = 0; item < numItems(); ++item)
    if (const Annotation *annotation = module.annotation(node(item));
        annotation && annotation->region >= 0)
      chosen.emplace_back(annotation->region, item);
  std::ranges::sort(chosen);
  for (size_t i = 0; i < chosen.size(); ++i) {
    create(chosen[i].second);
    if (i > 0 && chosen[i - 1].first == chosen[i].first)
      merge(chosen[i - 1].second, chosen[i].second);
  }
}

AnnotatedRegions::~AnnotatedRegions() = default;

uint32_t AnnotatedRegions::numItems() const { return impl_->problem.size(); }
NodeId AnnotatedRegions::node(uint32_t item) const { return impl_->nodes[item]; }

StringId AnnotatedRegions::vendorOf(uint32_t item) const {
  int32_t vendor = impl_->problem.vendor[item];
  return vendor < 0 ? StringId() : impl_->vendors[static_cast<size_t>(vendor)].first;
}

uint32_t AnnotatedRegions::regionOf(uint32_t item) const {
  return impl_->isMember[item] ? impl_->find(item) : none;
}

uint32_t AnnotatedRegions::create(uint32_t item) {
  impl_->isMember[item] = 1;
  return impl_->find(item);
}

bool AnnotatedRegions::merge(uint32_t a, uint32_t b) {
  if (impl_->problem.vendor[a] != impl_->problem.vendor[b])
    return false;
  impl_->join(a, b);
  return true;
}

std::vector<uint32_t> AnnotatedRegions::regions() const {
  std::vector<uint32_t> result;
  for (uint32_t item = 0; item < numItems(); ++item)
    if (regionOf(item) == item)
      result.push_back(item);
  return result;
}

std::vector<uint32_t> AnnotatedRegions::items(uint32_t region) const {
  std::vector<uint32_t> result{region};
  for (uint32_t item = impl_->next[region]; item != region; item = impl_->next[item])
    result.push_back(item);
  std::ranges::sort(result);
  return result;
}

std::vector<TensorRef> AnnotatedRegions::inputs(uint32_t region) const {
  std::vector<TensorRef> all, result;
  for (uint32_t item : items(region))
    for (NodeId operand : impl_->module.operands(node(item)))
      resolveTensors(impl_->module, operand, all);
  for (const TensorRef &tensor : all) {
    uint32_t maker = impl_->itemOf(tensor.base);
    bool isInside = maker != none && regionOf(maker) == region;
    if (!isInside && !impl_->module.isConstant(tensor.base) &&
        std::ranges::find(result, tensor) == result.end())
      result.push_back(tensor);
  }
  return result;
}

std::vector<TensorRef> AnnotatedRegions::outputs(uint32_t region) const {
  std::vector<TensorRef> all, result;
  for (uint32_t item = 0; item < numItems(); ++item) {
    if (regionOf(item) == region)
      continue;
    std::vector<NodeId> used(impl_->module.operands(node(item)).begin(),
                             impl_->module.operands(node(item)).end());
    for (uint32_t need : impl_->problem.needsOf(item)) // by inner blocks as well
      used.push_back(node(need));
    for (NodeId value : used)
      resolveTensors(impl_->module, value, all);
  }
  resolveTensors(impl_->module, impl_->module.block(impl_->block).result, all);
  for (const TensorRef &tensor : all) {
    uint32_t maker = impl_->itemOf(tensor.base);
    if (maker != none && regionOf(maker) == region &&
        std::ranges::find(result, tensor) == result.end())
      result.push_back(tensor);
  }
  std::ranges::sort(result);
  return result;
}

bool AnnotatedRegions::isAcyclic() const {
  return isLegal(impl_->problem, impl_->assignment());
}

void AnnotatedRegions::regroup(uint64_t &searchSteps) {
  impl_->set(solveRegions(impl_->problem, searchSteps));
}

void AnnotatedRegions::separate() {
  impl_->reset();
  for (uint32_t item = 0; item < numItems(); ++item)
    if (impl_->problem.vendor[item] != RegionProblem::host && !impl_->problem.isWire[item])
      impl_->isMember[item] = 1;
}

} // namespace bycc
