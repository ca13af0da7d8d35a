// A match becomes a composite when its inner values are used nowhere else
// and the vendor says yes to the whole group; both are asked before anything is
// claimed, and the matcher goes on to the next way to match when either fails.
//
//   %0 = add(%x, %y);         %f = fn (%p0, %p1, Composite="v.add_relu", ..) {
//   %1 = nn.relu(%0);   =>      %0 = add(%p0, %p1); nn.relu(%0) };
//   tanh(%1)                  %1 = %f(%x, %y);
//                             tanh(%1)
//
// The root's node id becomes the call, so that its users need no change; the
// operator itself continues under a new id in the body. Patterns are looked up by
// the operators their root can be: each node is tried with those only.
//
// A composite may hold composites formed before it: their calls are nodes like
// others, and their functions move into the new body with them. Whoever used a
// node that has moved is, from then on, the call it moved into.

#include "CompositeFormer.h"
#include "Numbers.h"

#include "bycc/IR/Builder.h"
#include "bycc/IR/Op.h"
#include "bycc/Target/PartitionPlan.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/RegionView.h"

#include "AskVendor.h"
#include "Composites.h"
#include "Scopes.h"

#include <algorithm>
#include <unordered_map>

namespace bycc {

// What is needed to judge and form groups, for the whole module.
class CompositeFormer::Impl {
public:
  Impl(Module &module, PassContext &context) : module_(module), context_(context), users_(module) {
    owner_.resize(module.numNodes());
    for (BlockId block : hostBlocks(module))
      addBlock(block);
  }

  void form(const Vendor &vendor) {
    VendorAsker asker(vendor, module_, *context_.target);
    for (const Pattern &pattern : vendor.patterns())
      matchAll(pattern, asker, [&](const CompositeCandidate::Step &step) { claim(step); });
  }

  void record(const Vendor &vendor, CompositeTable &table) {
    VendorAsker asker(vendor, module_, *context_.target);
    askAhead(vendor, asker);
    std::unordered_map<NodeId, uint32_t> counts; // by root
    bool hasNested = false;
    for (const Pattern &pattern : vendor.patterns()) {
      if (isNested(pattern)) {
        hasNested = true;
        continue;
      }
      matchAll(pattern, asker, [&](CompositeCandidate::Step step) {
        const Match &match = step.match;
        if (++counts[match.root] > CompositeTable::maxOfRoot) {
          warnAboutMany(vendor, match.root);
          return;
        }
        CompositeCandidate candidate;
        candidate.vendor = &vendor;
        for (NodeId node : match.nodes)
          if (module_.node(node).kind == NodeKind::CallOp)
            candidate.operators.push_back(node);
        if (const Implementation *offered = asker.supportsGroup(pattern.name, match).chosen())
          candidate.offered = offered->microseconds;
        candidate.steps.push_back(std::move(step));
        table.candidates.push_back(std::move(candidate));
      });
    }
    if (hasNested)
      recordNested(vendor, table);
  }

  void claim(const CompositeCandidate &candidate) {
    for (const CompositeCandidate::Step &step : candidate.steps)
      claim(step);
  }

  // Puts each composite's function in front of its call.
  bool finish() {
    if (functionOfCall_.empty())
      return false;
    for (BlockId block : blocks_) {
      std::vector<NodeId> &nodes = module_.block(block).nodes, fresh;
      fresh.reserve(nodes.size());
      for (NodeId node : nodes) {
        if (isMoved(node))
          continue;
        if (auto found = functionOfCall_.find(node); found != functionOfCall_.end())
          fresh.push_back(found->second);
        fresh.push_back(node);
      }
      nodes = std::move(fresh);
    }
    return true;
  }

private:
  struct Owner {
    uint32_t block = none; // index of blocks_; none: not a node of host code
    uint32_t position = 0; // in the block
    NodeId into;           // the composite's call that it has moved into
  };

  void addBlock(BlockId block) {
    const std::vector<NodeId> &nodes = module_.block(block).nodes;
    for (uint32_t i = static_cast<uint32_t>(nodes.size()); i-- > 0;) {
      owner_[nodes[i].index] = {static_cast<uint32_t>(blocks_.size()), i, NodeId()};
      if (module_.node(nodes[i]).kind == NodeKind::CallOp)
        byOp_[module_.node(nodes[i]).op.index].push_back(nodes[i]);
      else if (std::optional<FunctionId> composite = compositeOf(module_, nodes[i]))
        byComposite_[module_.functionAttr(*composite, "Composite")->asString()].push_back(nodes[i]);
    }
    blocks_.push_back(block);
  }

  bool isMoved(NodeId node) const { return node.index < owner_.size() && owner_[node.index].into; }

  // A composite that the program came with can be moved when nobody else calls it.
  bool isMovable(NodeId node) const {
    if (module_.node(node).kind != NodeKind::Call || functionOfCall_.contains(node))
      return true;
    NodeId callee = module_.operands(node)[0];
    return users_.count(callee) == 1 && owner_[callee.index].block == owner_[node.index].block;
  }

  // Calls that the pattern's root may be, later ones first within a block.
  std::vector<NodeId> candidates(const Pattern &pattern) const {
    std::vector<NodeId> nodes;
    for (OpId op : pattern.rootOps)
      if (auto found = byOp_.find(op.index); found != byOp_.end())
        nodes.insert(nodes.end(), found->second.begin(), found->second.end());
    if (pattern.rootOps.size() == 1 && pattern.rootComposites.empty())
      return nodes; // in order already
    for (const std::string &name : pattern.rootComposites)
      if (auto found = byComposite_.find(name); found != byComposite_.end())
        nodes.insert(nodes.end(), found->second.begin(), found->second.end());
    auto before = [&](NodeId a, NodeId b) {
      const Owner &x = owner_[a.index], &y = owner_[b.index];
      return x.block != y.block ? x.block < y.block : x.position > y.position;
    };
    std::ranges::sort(nodes, before);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }

  static bool isNested(const Pattern &pattern) {
    return std::ranges::any_of(
        pattern.nodes, [](const PatternNode &node) { return node.kind == PatternKind::Composite; });
  }

  void warnAboutMany(const Vendor &vendor, NodeId root) {
    if (!hasWarned_)
      context_.warn(module_.source(root), "more than " + std::to_string(CompositeTable::maxOfRoot) +
                                              " composites of " + vendor.name() + " end in " +
                                              nodeName(module_, root) + ", the rest is left out");
    hasWarned_ = true;
  }

  // Composites of composites are found by forming them, and undone.
  void recordNested(const Vendor &vendor, CompositeTable &table) {
    Impl trial(module_, context_);
    trial.log_.emplace();
    trial.form(vendor);
    trial.finish();
    std::unordered_map<NodeId, std::vector<CompositeCandidate::Step>> stepsOf; // by call
    std::unordered_map<NodeId, bool> isInner;
    for (CompositeCandidate::Step &step : *trial.log_) {
      std::vector<CompositeCandidate::Step> steps;
      for (NodeId node : step.match.nodes)
        if (auto inner = stepsOf.find(node); inner != stepsOf.end()) {
          steps.insert(steps.end(), inner->second.begin(), inner->second.end());
          isInner[node] = node != step.match.root;
        }
      NodeId root = step.match.root;
      steps.push_back(std::move(step));
      stepsOf[root] = std::move(steps);
    }
    VendorAsker asker(vendor, module_, *context_.target);
    std::vector<NodeId> calls;
    for (auto &[call, steps] : stepsOf) {
      if (isInner[call])
        continue;
      calls.push_back(call);
      if (steps.size() == 1)
        continue; // it is no composite of composites: known already
      CompositeCandidate candidate;
      candidate.vendor = &vendor;
      candidate.operators = operatorsApart(module_, call);
      candidate.steps = steps;
      candidate.offered = asker.costOf(call);
      table.candidates.push_back(std::move(candidate));
    }
    Users users(module_);
    for (BlockId block : blocks_) {
      std::vector<NodeId> mine;
      for (NodeId call : calls)
        if (blocks_[owner_[call.index].block] == block)
          mine.push_back(call);
      std::ranges::sort(mine);
      dissolveComposites(module_, block, mine, users, context_);
    }
    std::ranges::sort(table.candidates, {}, [](const CompositeCandidate &c) { return c.root(); });
  }

  // Tries the pattern on all roots.
  template <typename Visit>
  void matchRoots(const Pattern &pattern, const Matcher::Accept &accept, Visit &&visit) {
    uint32_t block = none;
    Matcher::MayContain mayContain = [&](NodeId node) {
      return node.index < owner_.size() && owner_[node.index].block == block && !isMoved(node) &&
             isMovable(node);
    };
    Matcher matcher(module_, pattern, mayContain, accept);
    for (NodeId root : candidates(pattern)) {
      if (isMoved(root))
        continue;
      block = owner_[root.index].block;
      visit(root, matcher);
    }
  }

  // `take` gets what the vendor accepts.
  template <typename Take> void matchAll(const Pattern &pattern, VendorAsker &asker, Take &&take) {
    CompositeCandidate::Step accepted;
    std::string refusal;
    Matcher::Accept accept = [&](const Match &match) {
      accepted = {&pattern, match, pattern.name};
      return isAcceptable(accepted, asker, refusal);
    };
    matchRoots(pattern, accept, [&](NodeId root, Matcher &matcher) {
      refusal.clear();
      MatchOutcome outcome = matcher.match(root);
      if (refusal.empty())
        refusal = matcher.reason();
      if (outcome == MatchOutcome::Accepted)
        take(accepted);
      else if (outcome == MatchOutcome::GaveUp)
        context_.remarks.push_back("pattern " + pattern.name + " gave up at " +
                                   nodeName(module_, root) + ": too many ways to match");
      else if (!refusal.empty() && context_.refusals)
        context_.refusals->addPattern(root, asker.vendor().name(), pattern.name + ": " + refusal);
    });
  }

  // What matchAll() will ask first about each root, in one go.
  void askAhead(const Vendor &vendor, VendorAsker &asker) {
    if (!asker.asksAhead())
      return;
    std::string refusal;
    for (const Pattern &pattern : vendor.patterns()) {
      if (isNested(pattern))
        continue;
      Matcher::Accept accept = [&](const Match &match) {
        Match mine = match;
        if (!isFree(mine, vendor, refusal))
          return false;
        asker.askAheadGroup(pattern.name, mine);
        return true;
      };
      matchRoots(pattern, accept, [](NodeId root, Matcher &matcher) { matcher.match(root); });
    }
    asker.finishAhead();
  }

  // Can the match become a composite, as far as we are concerned?
  bool isFree(Match &match, const Vendor &vendor, std::string &refusal) const {
    std::ranges::sort(match.nodes, {}, [&](NodeId node) { return owner_[node.index].position; });
    for (NodeId node : match.nodes)
      if (node != match.root && isUsedOutside(node, match)) {
        refusal = "an inner value (" + nodeName(module_, node) + ") is used elsewhere";
        return false;
      }
    return !isForbidden(match, vendor, refusal);
  }

  bool isAcceptable(CompositeCandidate::Step &step, VendorAsker &asker, std::string &refusal) {
    if (!isFree(step.match, asker.vendor(), refusal))
      return false;
    const Answer &answer = asker.supportsGroup(step.name, step.match);
    if (!answer)
      refusal = answer.reason;
    else if (step.pattern->isOpen())
      step.name = answer.name;
    return answer.isYes;
  }

  bool isForbidden(const Match &match, const Vendor &vendor, std::string &refusal) const {
    const PlacementRules *rules = context_.placement;
    for (NodeId node : match.nodes) {
      if (std::string why = whyKept(module_, rules, vendor, node); !why.empty()) {
        refusal = nodeName(module_, node) + ": " + why;
        return true;
      }
      if (rules && rules->labelOf(node) != rules->labelOf(match.root)) {
        refusal = nodeName(module_, node) + " is to be kept apart";
        return true;
      }
    }
    return rules && !isPlanned(match, vendor.name(), refusal);
  }

  // A plan has the composite, or there is no plan.
  bool isPlanned(const Match &match, const std::string &vendor, std::string &refusal) const {
    const PlacementRules &rules = *context_.placement;
    std::optional<uint32_t> group;
    for (NodeId node : match.nodes) {
      const PlanNode *row = rules.plannedFor(node);
      if (!row)
        continue; // wiring
      if (!group)
        group = rules.groupOf(node);
      if (vendorOfComposite(row->composite) != vendor || rules.groupOf(node) != *group) {
        refusal = "the partition plan has no such composite at " + nodeName(module_, node);
        return false;
      }
    }
    return true;
  }

  bool isUsedOutside(NodeId node, const Match &match) const {
    if (users_.numResultUses(node) > 0)
      return true;
    return std::ranges::any_of(users_.of(node), [&](NodeId user) {
      while (isMoved(user))
        user = owner_[user.index].into;
      return std::ranges::find(match.nodes, user) == match.nodes.end();
    });
  }

  void claim(const CompositeCandidate::Step &step) {
    if (log_)
      log_->push_back(step);
    const Match &match = step.match;
    NodeId root = match.root;
    BlockId outer = blocks_[owner_[root.index].block];
    FunctionId function = module_.addFunction({}, outer);
    setAttributes(function, step);
    std::vector<NodeId> params = makeParams(*step.pattern, match);
    BlockId body = module_.function(function).body;
    std::vector<NodeId> nodes = moveNodes(match, params, body);
    module_.block(body).result = nodes.back();
    module_.block(body).nodes = std::move(nodes);
    module_.function(function).params = params;
    module_.function(function).source = module_.node(root).source;
    for (NodeId node : match.nodes)
      if (node != root)
        owner_[node.index].into = root;
    turnIntoCall(root, function, match.leaves);
    byComposite_[step.name].push_back(root);
  }

  std::vector<NodeId> makeParams(const Pattern &pattern, const Match &match) {
    std::vector<NodeId> params;
    for (NodeId leaf : match.leaves)
      params.push_back(module_.addParam(paramName(pattern, match, leaf, params.size()),
                                        module_.type(leaf), module_.node(leaf).source));
    return params;
  }

  // Its name in the pattern's params, else the first name it has there.
  static std::string paramName(const Pattern &pattern, const Match &match, NodeId leaf,
                               size_t index) {
    std::optional<std::string> name;
    for (const MatchRole &role : match.roles)
      if (role.node == leaf) {
        if (std::ranges::find(pattern.params, role.name) != pattern.params.end())
          return role.name;
        if (!name)
          name = role.name;
      }
    return name.value_or("p" + std::to_string(index));
  }

  // Inner nodes keep their ids; the root continues under a new one.
  std::vector<NodeId> moveNodes(const Match &match, const std::vector<NodeId> &params,
                                BlockId body) {
    std::vector<NodeId> nodes;
    for (NodeId node : match.nodes) {
      NodeId inner = node;
      if (node == match.root) {
        std::vector<NodeId> operands(module_.operands(node).begin(), module_.operands(node).end());
        inner = module_.addNode(module_.node(node), operands);
        if (context_.refusals)
          context_.refusals->move(node, inner);
        if (context_.placement)
          context_.placement->follow(node, inner);
      }
      if (module_.node(node).kind == NodeKind::Call)
        nodes.push_back(moveCallee(node, body));
      module_.node(inner).isLet = false;
      for (NodeId &operand : module_.mutableOperands(inner))
        if (auto leaf = std::ranges::find(match.leaves, operand); leaf != match.leaves.end())
          operand = params[static_cast<size_t>(leaf - match.leaves.begin())];
      nodes.push_back(inner);
    }
    return nodes;
  }

  // The function of a composite inside goes where its call goes.
  NodeId moveCallee(NodeId call, BlockId body) {
    NodeId callee = module_.operands(call)[0];
    if (functionOfCall_.erase(call) == 0)
      owner_[callee.index].into = call;
    module_.block(module_.function(module_.functionOf(callee)).body).parent = body;
    return callee;
  }

  void setAttributes(FunctionId function, const CompositeCandidate::Step &step) {
    std::string operators;
    for (NodeId node : step.match.nodes)
      operators += partName(node) + "_";
    AttrDict attrs{{"Composite", step.name}, {"PartitionedFromPattern", operators}};
    AttrValue::List roles;
    for (std::string &role : rolesOf(module_, step.match))
      roles.emplace_back(std::move(role));
    if (!roles.empty())
      attrs.push_back({"Roles", std::move(roles)});
    module_.function(function).attrs = module_.attributes.intern(std::move(attrs));
  }

  std::string partName(NodeId node) const {
    const Node &n = module_.node(node);
    switch (n.kind) {
    case NodeKind::CallOp:
      return std::string(opInfo(n.op).name);
    case NodeKind::Tuple:
      return "Tuple";
    case NodeKind::Project:
      return "TupleGetItem" + std::to_string(n.payload);
    default:
      return "Call";
    }
  }

  void turnIntoCall(NodeId root, FunctionId function, const std::vector<NodeId> &leaves) {
    Node callee;
    callee.kind = NodeKind::Function;
    callee.payload = function.index;
    callee.source = module_.node(root).source;
    callee.type = module_.functionType(function);
    NodeId calleeId = module_.addNode(callee);
    std::vector<NodeId> operands{calleeId};
    operands.insert(operands.end(), leaves.begin(), leaves.end());
    Node &call = module_.node(root);
    call.kind = NodeKind::Call;
    call.op = OpId();
    call.attrs = AttrsId(0);
    call.payload = 0;
    module_.setOperands(root, operands);
    functionOfCall_.insert_or_assign(root, calleeId);
  }

  Module &module_;
  PassContext &context_;
  std::optional<std::vector<CompositeCandidate::Step>> log_; // of what is formed, if asked for
  bool hasWarned_ = false;
  Users users_;
  std::vector<Owner> owner_; // by node, of the program as it was
  std::vector<BlockId> blocks_;
  std::unordered_map<uint32_t, std::vector<NodeId>> byOp_;
  std::unordered_map<std::string, std::vector<NodeId>> byComposite_; // calls
  std::unordered_map<NodeId, NodeId> functionOfCall_;                // call -> its Function node
};

CompositeFormer::CompositeFormer(Module &module, PassContext &context)
    : impl_(std::make_unique<Impl>(module, context)) {}
CompositeFormer::~CompositeFormer() = default;
void CompositeFormer::form(const Vendor &vendor) { impl_->form(vendor); }
void CompositeFormer::record(const Vendor &vendor, CompositeTable &table) {
  impl_->record(vendor, table);
}
void CompositeFormer::claim(const CompositeCandidate &candidate) { impl_->claim(candidate); }
bool CompositeFormer::finish() { return impl_->finish(); }

} // namespace bycc
