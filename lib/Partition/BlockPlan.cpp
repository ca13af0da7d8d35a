// Tuples and projections are looked through: a plan is about tensors, who makes
// them and who reads them. What reads through a branch or a closure reads on the
// host.

#include "BlockPlan.h"

#include "bycc/IR/Functions.h"
#include "bycc/IR/Op.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

#include "Composites.h"
#include "EdgeRuleCheck.h"
#include "LaidOutTensors.h"
#include "Scopes.h"

#include <algorithm>

namespace bycc {

bool BlockPlan::hasChoice() const {
  return std::ranges::any_of(problem.tiles,
                             [](const PlanProblem::Tile &tile) { return tile.vendor != host; });
}

class BlockPlanner::Builder {
public:
  Builder(BlockPlanner &planner, BlockId block, const LiftedRefusals *lifted)
      : module_(planner.module_), context_(planner.context_), costs_(planner.costs_),
        places_(planner.places_), block_(block), nodes_(module_.block(block).nodes),
        lifted_(lifted) {
    result_.block = block;
  }

  BlockPlan build(const std::vector<const CompositeCandidate *> &candidates) {
    for (uint32_t number = 1; number <= costs_.numVendors(); ++number)
      problem_.vendors.push_back(costs_.row(number));
    collectItems();
    reserve();
    for (uint32_t item = 0; item < items().size(); ++item)
      addItem(item);
    for (const CompositeCandidate *candidate : candidates)
      addCandidate(*candidate);
    problem_.indexTiles(static_cast<uint32_t>(items().size()));
    findLeaving();
    addNeeds();
    addTensors();
    priceFusion();
    auto differs = [](const PlanProblem::Vendor &v) { return v.perLaidOutByte != v.perByte; };
    if (std::ranges::any_of(problem_.vendors, differs))
      markLaidOut(module_, items(), types_, problem_);
    addApart();
    return std::move(result_);
  }

private:
  const std::vector<NodeId> &items() const { return result_.items; }

  bool isWire(NodeId node) const {
    NodeKind kind = module_.node(node).kind;
    return kind == NodeKind::Tuple || kind == NodeKind::Project;
  }

  void collectItems() {
    itemAt_.assign(nodes_.size(), none);
    for (uint32_t position = 0; position < nodes_.size(); ++position) {
      NodeId node = nodes_[position];
      NodeKind kind = module_.node(node).kind;
      if (isWire(node) ||
          (kind == NodeKind::Function && isClosedFunction(module_, module_.functionOf(node))))
        continue;
      itemAt_[position] = static_cast<uint32_t>(items().size());
      result_.items.push_back(node);
    }
  }

  // What grows by the item, so that large blocks are not copied over and over: for
  // most operators two operands, one result.
  void reserve() {
    size_t count = items().size();
    problem_.tiles.reserve(2 * count);
    problem_.tileMembers.reserve(2 * count);
    problem_.needs.begin.reserve(count + 1);
    problem_.needs.flat.reserve(2 * count);
    problem_.tensors.reserve(count);
    problem_.users.begin.reserve(count + 1);
    problem_.users.flat.reserve(2 * count);
    touches_.reserve(2 * count);
    bases_.reserve(count);
  }

  uint32_t itemOf(NodeId node) const {
    return node.index < places_.block.size() && places_.block[node.index] == block_
               ? itemAt_[places_.position[node.index]]
               : none;
  }

  // --- tiles

  void addItem(uint32_t item) {
    NodeId node = items()[item];
    uint32_t ops = 0;
    double flops = 0;
    std::string_view pin;
    forEachOperator(module_, node, [&](NodeId call) {
      const OpInfo &info = opInfo(module_.node(call).op);
      ++ops;
      flops += info.flops ? info.flops(module_, call) : 0;
      if (context_.placement)
        if (std::string_view mine = context_.placement->pinOf(call); !mine.empty())
          pin = mine;
    });
    problem_.ops.push_back(ops);
    problem_.flops.push_back(flops);
    if (context_.placement)
      problem_.label.push_back(context_.placement->labelOf(node));
    bool isPinned = !pin.empty() && pin != "host";
    problem_.isExempt.push_back(isPinned);
    const Annotation *annotation = module_.annotation(node);
    takers_.clear();
    if (annotation)
      takers_ = annotation->vendors;
    if (lifted_)
      if (auto more = lifted_->find(node); more != lifted_->end())
        takers_.insert(takers_.end(), more->second.begin(), more->second.end());
    if (!isPinned || takers_.empty()) {
      double time = costs_.onHost(node);
      addTile(host, {time, time}, {&item, 1}, nullptr);
    }
    for (uint32_t number = 1; number <= costs_.numVendors(); ++number)
      if (std::ranges::find(takers_, costs_.nameOf(number)) != takers_.end())
        addTile(number, costs_.of(number, node), {&item, 1}, nullptr);
  }

  void addTile(uint32_t vendor, TilePrice price, std::span<const uint32_t> members,
               const CompositeCandidate *candidate) {
    problem_.addTile(vendor, price.time, price.raw, members);
    result_.candidates.push_back(candidate);
  }

  void addCandidate(const CompositeCandidate &candidate) {
    std::vector<uint32_t> members;
    for (NodeId node : candidate.operators)
      members.push_back(itemOf(node));
    if (std::ranges::find(members, none) != members.end())
      return;
    std::ranges::sort(members);
    uint32_t number = costs_.numberOf(module_.intern(candidate.vendor->name()));
    if (number != none)
      addTile(number, costs_.of(number, candidate), members, &candidate);
  }

  // --- what stays in registers

  bool isOfKind(uint32_t item, std::initializer_list<OpKind> kinds) const {
    const Node &node = module_.node(items()[item]);
    return node.kind == NodeKind::CallOp &&
           std::ranges::find(kinds, opInfo(node.op).kind) != kinds.end();
  }
  // Each element of the result is made of one of each operand.
  bool isMap(uint32_t item) const {
    return isOfKind(item, {OpKind::Elementwise, OpKind::Broadcast});
  }
  // What can have maps behind it in its loop.
  bool isAnchor(uint32_t item) const { return isOfKind(item, {OpKind::OutFusable}); }

  // A tensor that only maps read is stored nowhere when all of them are host code, which is what
  // the host's times say. (Where a vendor takes some, it crosses that one's border, at a price.)
  void priceFusion() {
    std::vector<double> kept(items().size(), 0);
    for (uint32_t t = 0; t < problem_.tensors.size(); ++t) {
      const PlanProblem::Tensor &tensor = problem_.tensors[t];
      if (tensor.maker == none || tensor.isUsedOutside || problem_.users[t].empty() ||
          !(isMap(tensor.maker) || isAnchor(tensor.maker)) ||
          !std::ranges::all_of(problem_.users[t], [&](uint32_t user) { return isMap(user); }))
        continue;
      kept[tensor.maker] += tensor.bytes;
      for (uint32_t user : problem_.users[t])
        kept[user] += tensor.bytes * static_cast<double>(std::ranges::count(
                                         module_.operands(items()[user]), items()[tensor.maker]));
    }
    for (PlanProblem::Tile &tile : problem_.tiles)
      if (uint32_t item = problem_.tileMembers[tile.membersBegin];
          tile.vendor == host && kept[item] > 0 && isMap(item))
        tile.time = tile.raw = costs_.fusedOnHost(items()[item], kept[item]);
  }

  // --- order, values

  template <typename Visit> void forEachMaker(NodeId value, Visit &&visit) {
    if (module_.node(value).kind == NodeKind::Function) {
      visit(value);
      return;
    }
    tensors_.clear();
    resolveTensors(module_, value, tensors_);
    for (const TensorRef &tensor : tensors_)
      visit(tensor.base);
  }

  void addNeeds() {
    std::vector<uint32_t> needs;
    for (uint32_t item = 0; item < items().size(); ++item) {
      needs.clear();
      forEachUsedValue(module_, items()[item], [&](NodeId value) {
        forEachMaker(value, [&](NodeId maker) {
          if (uint32_t other = itemOf(maker); other != none && other != item)
            needs.push_back(other);
        });
      });
      std::ranges::sort(needs);
      needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
      for (uint32_t need : needs)
        problem_.needs.add(need);
      problem_.needs.close();
    }
  }

  // Somebody uses tensor `index` of a value.
  struct Touch {
    uint32_t value, index, user; // user: item, or none beyond the items
    auto operator<=>(const Touch &) const = default;
  };

  // Values are numbered: those of items first, then others as they come.
  uint32_t valueOf(NodeId base) {
    if (uint32_t item = itemOf(base); item != none)
      return item;
    auto [found, isNew] = outerValues_.try_emplace(base, 0);
    if (isNew) {
      found->second = static_cast<uint32_t>(bases_.size());
      bases_.push_back(base);
    }
    return found->second;
  }

  void touch(NodeId value, uint32_t user) {
    if (module_.node(value).kind == NodeKind::Function)
      return;
    tensors_.clear();
    resolveTensors(module_, value, tensors_);
    for (const TensorRef &tensor : tensors_)
      if (!module_.isConstant(tensor.base))
        touches_.push_back({valueOf(tensor.base), tensor.index, user});
  }

  void touchOperands(NodeId node, uint32_t item) {
    for (NodeId operand : module_.operands(node))
      touch(operand, item);
    for (BlockId inner : innerBlocks(module_, node)) {
      for (NodeId innerNode : module_.block(inner).nodes)
        if (!isWire(innerNode))
          touchOperands(innerNode, item);
      touch(module_.block(inner).result, item);
    }
  }

  void addTensors() {
    bases_.assign(items().begin(), items().end());
    for (uint32_t item = 0; item < items().size(); ++item)
      touchOperands(items()[item], item);
    touch(module_.block(block_).result, none);
    sortTouches();
    size_t at = 0;
    for (uint32_t value = 0; value < bases_.size(); ++value) {
      size_t begin = at;
      while (at < touches_.size() && touches_[at].value == value)
        at = addTensor(at);
      addLink(value, begin, at);
    }
    for (NodeId node : nodes_)
      if (module_.node(node).kind == NodeKind::Tuple)
        addGather(node);
  }

  // By value, tensor, user: items come in order, so values are what is sorted by.
  void sortTouches() {
    if (!std::ranges::is_sorted(touches_)) {
      std::vector<uint32_t> begin(bases_.size() + 1, 0);
      for (const Touch &touch : touches_)
        ++begin[touch.value + 1];
      for (size_t i = 1; i < begin.size(); ++i)
        begin[i] += begin[i - 1];
      std::vector<Touch> sorted(touches_.size());
      std::vector<uint32_t> next(begin.begin(), begin.end() - 1);
      for (const Touch &touch : touches_)
        sorted[next[touch.value]++] = touch;
      touches_ = std::move(sorted);
      for (size_t value = 0; value + 1 < begin.size(); ++value)
        std::sort(touches_.begin() + begin[value], touches_.begin() + begin[value + 1]);
    }
    touches_.erase(std::unique(touches_.begin(), touches_.end()), touches_.end());
  }

  // The tensor at touches_[at]; where the next one begins.
  size_t addTensor(size_t at) {
    const Touch &first = touches_[at];
    PlanProblem::Tensor tensor;
    tensor.maker = first.value < items().size() ? first.value : none;
    TypeId type = module_.types.leaf(module_.type(bases_[first.value]), first.index);
    tensor.bytes = bytesOf(type);
    types_.push_back(type);
    for (; at < touches_.size() && touches_[at].value == first.value &&
           touches_[at].index == first.index;
         ++at)
      if (touches_[at].user == none)
        tensor.isUsedOutside = true;
      else
        problem_.users.add(touches_[at].user);
    problem_.users.close();
    problem_.tensors.push_back(tensor);
    return at;
  }

  double bytesOf(TypeId type) {
    auto [found, isNew] = bytesOfType_.try_emplace(type.index, 0.0);
    if (isNew)
      found->second = bycc::bytesOf(module_, type);
    return found->second;
  }

  // Asked for in any order, so it stands together.
  void findLeaving() {
    mayLeaveHost_.assign(items().size(), false);
    for (const PlanProblem::Tile &tile : problem_.tiles)
      if (tile.vendor != host)
        for (uint32_t i = tile.membersBegin; i < tile.membersEnd; ++i)
          mayLeaveHost_[problem_.tileMembers[i]] = true;
  }

  void addLink(uint32_t value, size_t begin, size_t end) {
    size_t before = problem_.links.flat.size();
    auto add = [&](uint32_t item) {
      if (item != none && mayLeaveHost_[item])
        problem_.links.add(item);
    };
    if (value < items().size())
      add(value);
    for (size_t i = begin; i < end; ++i)
      add(touches_[i].user);
    closeLink(before);
  }

  void addGather(NodeId tuple) {
    size_t before = problem_.links.flat.size();
    forEachMaker(tuple, [&](NodeId maker) {
      if (uint32_t item = itemOf(maker); item != none && mayLeaveHost_[item])
        problem_.links.add(item);
    });
    closeLink(before);
  }

  // A set of one item links nothing.
  void closeLink(size_t before) {
    std::vector<uint32_t> &flat = problem_.links.flat;
    auto first = flat.begin() + static_cast<long>(before);
    std::sort(first, flat.end());
    flat.erase(std::unique(first, flat.end()), flat.end());
    if (flat.size() - before < 2)
      flat.resize(before);
    else
      problem_.links.close();
  }

  // --- edge rules

  // Names by which an end of a value is known to rules: composites, the operator.
  std::vector<std::string_view> namesOf(uint32_t tile, NodeId call) const {
    std::vector<std::string_view> names;
    if (const CompositeCandidate *candidate = result_.candidates[tile])
      for (size_t i = candidate->steps.size(); i-- > 0;)
        if (std::ranges::find(candidate->steps[i].match.nodes, call) !=
            candidate->steps[i].match.nodes.end())
          names.push_back(candidate->steps[i].name);
    names.push_back(opInfo(module_.node(call).op).name);
    return names;
  }

  void addApart() {
    std::vector<const EdgeRules *> rules(problem_.vendors.size(), nullptr);
    bool hasRules = false;
    for (uint32_t number = 1; number <= costs_.numVendors(); ++number)
      if (const EdgeRules &mine = costs_.vendor(number).regionRules.edges; !mine.empty()) {
        rules[number] = &mine;
        hasRules = true;
      }
    if (!hasRules)
      return;
    for (uint32_t t = 0; t < problem_.tensors.size(); ++t) {
      uint32_t maker = problem_.tensors[t].maker;
      if (maker == none)
        continue;
      for (uint32_t user : problem_.users[t])
        for (uint32_t tile : problem_.tilesOf[maker])
          if (rules[problem_.tiles[tile].vendor])
            addApart(tile, maker, user, *rules[problem_.tiles[tile].vendor]);
    }
    std::ranges::sort(problem_.apart);
    problem_.apart.erase(std::unique(problem_.apart.begin(), problem_.apart.end()),
                         problem_.apart.end());
  }

  void addApart(uint32_t tile, uint32_t maker, uint32_t user, const EdgeRules &rules) {
    for (uint32_t other : problem_.tilesOf[user]) {
      if (other == tile || problem_.tiles[other].vendor != problem_.tiles[tile].vendor ||
          mayPass(tile, maker, other, user, rules))
        continue;
      problem_.apart.emplace_back(tile, other);
      problem_.apart.emplace_back(other, tile);
    }
  }

  bool mayPass(uint32_t tile, uint32_t maker, uint32_t other, uint32_t user,
               const EdgeRules &rules) const {
    EdgeRuleCheck check(module_, rules);
    bool isFormed = compositeOf(module_, items()[maker]) || compositeOf(module_, items()[user]);
    if (!isFormed)
      return check.mayPass(namesOf(tile, items()[maker]), namesOf(other, items()[user]));
    std::span<const NodeId> operands = module_.operands(items()[user]);
    for (uint32_t i = 0; i < operands.size(); ++i) {
      if (module_.node(operands[i]).kind == NodeKind::Function)
        continue;
      std::vector<TensorRef> tensors;
      resolveTensors(module_, operands[i], tensors);
      for (const TensorRef &tensor : tensors)
        if (tensor.base == items()[maker] && !check.mayPass(tensor.base, items()[user], i))
          return false;
    }
    return true;
  }

  Module &module_;
  PassContext &context_;
  PlanCosts &costs_;
  const NodePlaces &places_;
  BlockId block_;
  const std::vector<NodeId> &nodes_;
  const LiftedRefusals *lifted_;
  BlockPlan result_;
  PlanProblem &problem_ = result_.problem;
  std::vector<uint32_t> itemAt_; // by position in the block
  std::vector<NodeId> bases_;    // by value number
  std::unordered_map<NodeId, uint32_t> outerValues_;
  std::vector<TypeId> types_; // by tensor
  std::unordered_map<uint32_t, double> bytesOfType_;
  std::vector<Touch> touches_;
  std::vector<uint8_t> mayLeaveHost_; // by item: whether some tile is a vendor's
  std::vector<TensorRef> tensors_;    // scratch, as is the next
  std::vector<StringId> takers_;      // of an item
};

BlockPlanner::BlockPlanner(Module &module, PassContext &context, PlanCosts &costs)
    : module_(module), context_(context), costs_(costs), places_(module) {
  if (context.composites)
    for (const CompositeCandidate &candidate : context.composites->candidates)
      candidatesOf_[places_.block[candidate.root().index]].push_back(&candidate);
}

BlockPlan BlockPlanner::plan(BlockId block, const LiftedRefusals *lifted) {
  static const std::vector<const CompositeCandidate *> noCandidates;
  auto found = candidatesOf_.find(block);
  return Builder(*this, block, lifted)
      .build(found == candidatesOf_.end() ? noCandidates : found->second);
}

PlanAnswer planOfAnnotations(const Module &module, const BlockPlan &plan, const PlanCosts &costs) {
  const PlanProblem &problem = plan.problem;
  PlanAnswer answer;
  uint32_t alone = 1u << 31; // regions of nodes without a number
  for (uint32_t item = 0; item < plan.items.size(); ++item) {
    const Annotation *annotation = module.annotation(plan.items[item]);
    uint32_t vendor = host;
    if (annotation && !annotation->vendors.empty())
      vendor = costs.numberOf(annotation->vendors[0]);
    uint32_t chosen = problem.tilesOf[item][0];
    for (uint32_t tile : problem.tilesOf[item])
      if (problem.tiles[tile].vendor == vendor && !problem.isComposite(tile))
        chosen = tile;
    answer.tile.push_back(chosen);
    bool isHost = problem.tiles[chosen].vendor == host;
    answer.region.push_back(isHost                    ? none
                            : annotation->region >= 0 ? static_cast<uint32_t>(annotation->region)
                                                      : alone++);
  }
  std::unordered_map<uint32_t, uint32_t> numbers;
  for (uint32_t &region : answer.region)
    if (region != none)
      region = numbers.try_emplace(region, static_cast<uint32_t>(numbers.size())).first->second;
  return answer;
}

} // namespace bycc
