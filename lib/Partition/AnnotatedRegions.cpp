// Keeps the regions of a block's items, and answers questions about them.

#include "bycc/Partition/AnnotatedRegions.h"

#include "bycc/IR/Op.h"
#include "bycc/Target/RegionView.h"

#include "BlockProblem.h"
#include "RegionSolver.h"
#include "Scopes.h"
#include "WhyApart.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace bycc {

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
    auto [first, size] = module.types.leavesOf(module.type(tuple), field);
    count = std::min(count, static_cast<uint32_t>(size));
    begin += static_cast<uint32_t>(first);
    node = tuple;
  }
  const Node &n = module.node(node);
  if (n.kind == NodeKind::Tuple) {
    size_t start = out.size();
    for (NodeId field : module.operands(node))
      resolveTensors(module, field, out);
    if (count == UINT32_MAX)
      return;
    out.erase(out.begin() + static_cast<long>(start),
              out.begin() + static_cast<long>(start + begin));
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
    count = static_cast<uint32_t>(module.types.numLeaves(n.type));
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

// Regions are sets in a forest, the smaller hung below the larger, so that looking
// up takes at most log2(items) steps and changes nothing; `name` is the lowest
// item of a set, and its members stand in a ring.
struct AnnotatedRegions::Impl {
  const Module &module;
  const NodePlaces &places;
  BlockId block;
  const std::vector<NodeId> &nodes;
  BlockProblem built;
  const RegionProblem &problem = built.problem;
  std::vector<uint32_t> parent, size, name, next;
  std::vector<uint8_t> isMember;

  Impl(const Module &m, const NodePlaces &p, BlockId b, const PassContext *context)
      : module(m), places(p), block(b), nodes(m.block(b).nodes),
        built(makeBlockProblem(m, p, b, context)) {
    reset();
  }

  // Position of a node in this block, or none.
  uint32_t itemOf(NodeId node) const {
    return node.index < places.block.size() && places.block[node.index] == block
               ? places.position[node.index]
               : none;
  }

  void reset() {
    size.assign(nodes.size(), 1);
    for (std::vector<uint32_t> *list : {&parent, &name, &next}) {
      list->resize(nodes.size());
      std::iota(list->begin(), list->end(), 0u);
    }
    isMember.assign(nodes.size(), 0);
  }

  uint32_t root(uint32_t item) const {
    while (parent[item] != item)
      item = parent[item];
    return item;
  }
  uint32_t find(uint32_t item) const { return name[root(item)]; }

  void join(uint32_t a, uint32_t b) {
    a = root(a), b = root(b);
    if (a == b)
      return;
    if (size[a] < size[b])
      std::swap(a, b);
    std::swap(next[a], next[b]); // two rings become one
    parent[b] = a;
    size[a] += size[b];
    name[a] = std::min(name[a], name[b]);
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
    std::vector<uint32_t> first(countRegions(regions), none);
    for (uint32_t item = 0; item < nodes.size(); ++item) {
      if (regions[item] < 0)
        continue;
      isMember[item] = 1;
      uint32_t &leader = first[static_cast<size_t>(regions[item])];
      if (leader == none)
        leader = item;
      else
        join(leader, item);
    }
  }

  // The one region whose values a tuple or projection holds, or none.
  uint32_t carriedRegion(uint32_t item) const {
    uint32_t region = none;
    if (!problem.isWire[item] || problem.vendor[item] == RegionProblem::host)
      return none;
    for (uint32_t need : problem.needsOf(item)) {
      if (!isMember[need])
        continue;
      if (region != none && find(need) != region)
        return none;
      region = find(need);
    }
    return region;
  }

  std::string vendorName(uint32_t item) const {
    size_t vendor = static_cast<size_t>(problem.vendor[item]);
    return std::string(module.string(built.vendors[vendor].first));
  }
  // Of a vendor that takes every call on its own?
  bool isAlone(uint32_t item) const {
    size_t vendor = static_cast<size_t>(problem.vendor[item]);
    return (built.vendors[vendor].second & BlockProblem::ownLabel) != 0;
  }
  // "tanh (%3)"
  std::string describe(uint32_t item) const {
    NodeId node = nodes[item];
    std::string what;
    if (std::optional<FunctionId> composite = compositeOf(module, node))
      what = module.functionAttr(*composite, "Composite")->asString();
    else if (module.node(node).kind == NodeKind::CallOp)
      what = opInfo(module.node(node).op).name;
    else
      what = kindName(module.node(node).kind);
    std::string name = nodeName(module, node);
    return name.empty() || name == what ? what : what + " (" + name + ")";
  }
  static const char *kindName(NodeKind kind) {
    switch (kind) {
    case NodeKind::If:
      return "if";
    case NodeKind::Function:
      return "function";
    case NodeKind::Tuple:
      return "tuple";
    case NodeKind::Project:
      return "projection";
    default:
      return "call";
    }
  }

  bool isIn(uint32_t item, uint32_t region) const {
    return item != none && isMember[item] && find(item) == region;
  }
};

AnnotatedRegions::AnnotatedRegions(const Module &module, const NodePlaces &places, BlockId block,
                                   const PassContext *context)
    : impl_(std::make_unique<Impl>(module, places, block, context)) {
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
  // Tuples and projections bear no annotations: they go with what they carry.
  for (uint32_t item = 0; item < numItems(); ++item)
    if (uint32_t region = impl_->carriedRegion(item); region != none && merge(region, item))
      create(item);
}

AnnotatedRegions::AnnotatedRegions(AnnotatedRegions &&) noexcept = default;
AnnotatedRegions::~AnnotatedRegions() = default;

uint32_t AnnotatedRegions::numItems() const { return impl_->problem.size(); }
NodeId AnnotatedRegions::node(uint32_t item) const { return impl_->nodes[item]; }

StringId AnnotatedRegions::vendorOf(uint32_t item) const {
  int32_t vendor = impl_->problem.vendor[item];
  return vendor < 0 ? StringId() : impl_->built.vendors[static_cast<size_t>(vendor)].first;
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
  std::vector<TensorRef> used, result;
  std::unordered_set<TensorRef> seen;
  for (uint32_t item : items(region))
    for (NodeId operand : impl_->module.operands(node(item)))
      if (impl_->module.node(operand).kind != NodeKind::Function)
        resolveTensors(impl_->module, operand, used);
  for (const TensorRef &tensor : used)
    if (!impl_->isIn(impl_->itemOf(tensor.base), region) &&
        !impl_->module.isConstant(tensor.base) && seen.insert(tensor).second)
      result.push_back(tensor);
  return result;
}

std::vector<TensorRef> AnnotatedRegions::outputs(uint32_t region) const {
  std::vector<TensorRef> result;
  const RegionProblem &problem = impl_->problem;
  auto isOutside = [&](uint32_t user) { return !impl_->isIn(user, region); };
  for (uint32_t item : items(region))
    for (uint32_t tensor = impl_->built.tensorsBegin[item];
         tensor < impl_->built.tensorsBegin[item + 1]; ++tensor)
      if (problem.tensors[tensor].isUsedOutside ||
          std::ranges::any_of(problem.usersOf(tensor), isOutside))
        result.push_back(impl_->built.tensors[tensor]);
  return result;
}

std::string AnnotatedRegions::whyApart(uint32_t a, uint32_t b) const {
  if (a == b)
    return "they are one region";
  RegionAssignment regions = impl_->assignment();
  WhyApart why = bycc::whyApart(impl_->problem, regions, regions[a], regions[b]);
  switch (why.kind) {
  case WhyApart::Kind::Vendor:
    if (vendorOf(a) != vendorOf(b))
      return "one is " + impl_->vendorName(a) + "'s, the other " + impl_->vendorName(b) + "'s";
    return impl_->isAlone(a) ? impl_->vendorName(a) + " takes every operator as a region of its own"
                             : "their nodes are to be kept apart";
  case WhyApart::Kind::Rule:
    return impl_->vendorName(a) + " lets no value pass from " + impl_->describe(why.first) +
           " to " + impl_->describe(why.second) + " inside a region";
  case WhyApart::Kind::Between: {
    std::string owner = vendorOf(why.first) ? impl_->vendorName(why.first) : "the host";
    return impl_->describe(why.first) + " of " + owner + " lies between them";
  }
  case WhyApart::Kind::Unlinked:
    return "they share no value";
  case WhyApart::Kind::Choice:
    break;
  }
  return "nothing forbids it, another grouping was better";
}

bool AnnotatedRegions::isAcyclic() const { return canRun(impl_->problem, impl_->assignment()); }

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
