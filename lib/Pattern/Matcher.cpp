// Matching in continuation-passing style: match(p, n, k) binds p to n and calls
// k for the rest of the pattern; when k fails the binding is undone and the next
// choice is tried. So every choice made earlier is open until the whole pattern
// is accepted. The recursion is as deep as the pattern has parts (<= 1024).
//
// A path is a part with a choice of its own: which value is the parent. Every way
// back from the child, over operators of the path, must lead to it:
//
//        conv          path{nn.relu|tanh|add}(nn.conv2d(...)) matches %3 with
//       /    \         parent conv, not with parent %1 (the way over %2 misses it)
//    %1 relu  %2 tanh
//       \    /
//       %3 add
//
// Of a path+ one way back is enough, of one operator or more; values from elsewhere are
// operands: path+{nn.relu|add}(nn.conv2d(...)) matches %3 there, with %2 as an operand.

#include "bycc/Pattern/Matcher.h"

#include "bycc/IR/Op.h"

#include <algorithm>
#include <utility>

namespace bycc {

namespace {

// A borrowed callable; the callee outlives every call here.
class Then {
public:
  template <typename F>
  Then(const F &f) // NOLINT: implicit by intent
      : object_(&f), call_([](const void *object) { return (*static_cast<const F *>(object))(); }) {
  }
  bool operator()() const { return call_(object_); }

private:
  const void *object_;
  bool (*call_)(const void *);
};

} // namespace

class Matcher::Search {
public:
  Search(const Module &module, const Pattern &pattern, const Matcher::MayContain &mayContain,
         const Matcher::Accept &accept)
      : module_(module), pattern_(pattern), mayContain_(mayContain), accept_(accept),
        bound_(pattern.nodes.size()), choice_(pattern.nodes.size(), 0),
        paths_(pattern.nodes.size()), captured_(pattern.captures.size()) {}

  const std::string &reason() const { return reason_; }

  MatchOutcome run(NodeId root) {
    steps_ = candidates_ = 0;
    reason_.clear();
    gaveUp_ = false;
    std::ranges::fill(bound_, NodeId());
    std::ranges::fill(captured_, NodeId());
    if (match(pattern_.root, root, [&] { return finish(root); }))
      return MatchOutcome::Accepted;
    return gaveUp_ ? MatchOutcome::GaveUp : MatchOutcome::None;
  }

private:
  bool match(uint32_t at, NodeId node, Then then) {
    if (++steps_ > Matcher::maxSteps)
      gaveUp_ = true;
    if (gaveUp_)
      return false;
    if (bound_[at]) // a shared sub-pattern, seen before: the same value
      return bound_[at] == node && then();
    bound_[at] = node;
    bool done = matchKind(at, node, then);
    if (!done)
      bound_[at] = NodeId();
    return done;
  }

  bool matchKind(uint32_t at, NodeId node, Then then) {
    const PatternNode &part = pattern_.nodes[at];
    switch (part.kind) {
    case PatternKind::Any:
      return isValue(node) && then();
    case PatternKind::Constant:
      return module_.isConstant(node) && (!part.value || holds(*part.value, module_, node)) &&
             then();
    case PatternKind::Capture:
      return matchCapture(part, node, then);
    case PatternKind::Op:
      return matchOp(part, node, then);
    case PatternKind::Composite:
      return matchComposite(part, node, then);
    case PatternKind::Path:
      return matchPath(at, node, then);
    case PatternKind::Typed:
      return !whyNot(*part.type, module_, module_.type(node)) &&
             match(part.children[0], node, then);
    case PatternKind::Tuple:
      return module_.node(node).kind == NodeKind::Tuple &&
             module_.operands(node).size() == part.children.size() && mayContain_(node) &&
             matchAll(part.children, module_.operands(node), 0, then);
    case PatternKind::Project:
      return module_.node(node).kind == NodeKind::Project &&
             module_.node(node).payload == part.index && mayContain_(node) &&
             match(part.children[0], module_.operands(node)[0], then);
    case PatternKind::Alternative:
      for (uint32_t i = 0; i < part.children.size(); ++i) {
        choice_[at] = i;
        if (match(part.children[i], node, then))
          return true;
      }
      return false;
    }
    return false;
  }

  bool matchCapture(const PatternNode &part, NodeId node, Then then) {
    NodeId &captured = captured_[part.index];
    if (captured && captured != node)
      return false;
    bool isFirst = !captured;
    captured = node;
    bool done =
        part.children.empty() ? isValue(node) && then() : match(part.children[0], node, then);
    if (!done && isFirst)
      captured_[part.index] = NodeId();
    return done;
  }

  bool matchOp(const PatternNode &part, NodeId node, Then then) {
    if (module_.node(node).kind != NodeKind::CallOp || !isOneOf(part.ops, node) ||
        !hasAttrs(part, node) || !mayContain_(node))
      return false;
    std::span<const NodeId> operands = module_.operands(node);
    if (part.anyArgs)
      return then();
    if (operands.size() != part.children.size())
      return false;
    if (matchAll(part.children, operands, 0, then))
      return true;
    if (!isCommutative(module_.node(node).op) || operands[0] == operands[1])
      return false;
    return match(part.children[0], operands[1],
                 [&] { return match(part.children[1], operands[0], then); });
  }

  bool isOneOf(const std::vector<OpId> &ops, NodeId node) const {
    return std::ranges::find(ops, module_.node(node).op) != ops.end();
  }

  bool isCommutative(OpId op) const {
    return op == ops::add || op == ops::multiply ||
           (pattern_.anyOrder && opInfo(op).has(OpTrait::Commutative));
  }

  bool matchComposite(const PatternNode &part, NodeId node, Then then) {
    if (module_.node(node).kind != NodeKind::Call || !mayContain_(node))
      return false;
    std::span<const NodeId> operands = module_.operands(node);
    if (module_.node(operands[0]).kind != NodeKind::Function)
      return false;
    const AttrValue *name = module_.functionAttr(module_.functionOf(operands[0]), "Composite");
    if (!name || !name->isString() || name->asString() != part.composite)
      return false;
    operands = operands.subspan(1);
    if (part.anyArgs)
      return then();
    return operands.size() == part.children.size() && matchAll(part.children, operands, 0, then);
  }

  // --- paths

  bool isOnPath(const PatternNode &part, NodeId node) const {
    return module_.node(node).kind == NodeKind::CallOp &&
           (part.ops.empty() || isOneOf(part.ops, node)) && mayContain_(node);
  }

  // The parent may be any value that dominates `node` over operators of the path:
  // tried from the nearest on, `node` itself first.
  bool matchPath(uint32_t at, NodeId node, Then then) {
    const PatternNode &part = pattern_.nodes[at];
    std::vector<NodeId> found = reachable(part, node);
    for (NodeId parent : found) {
      if (!mayBe(part.children[0], parent))
        continue;
      std::optional<std::vector<NodeId>> between =
          part.isPlus ? waysTo(part, node, parent, found) : pathTo(part, node, parent);
      if (!between)
        continue;
      paths_[at] = std::move(*between);
      if (match(part.children[0], parent, then))
        return true;
      if (gaveUp_)
        break;
    }
    paths_[at].clear();
    return false;
  }

  // False when the part cannot match, for reasons seen at once.
  bool mayBe(uint32_t at, NodeId node) const {
    const PatternNode &part = pattern_.nodes[at];
    if (part.kind == PatternKind::Alternative)
      return std::ranges::any_of(part.children, [&](uint32_t child) { return mayBe(child, node); });
    return part.kind != PatternKind::Op ||
           (module_.node(node).kind == NodeKind::CallOp && isOneOf(part.ops, node));
  }

  // Marks the node; true the first time since newMarks().
  bool isNew(NodeId node) {
    if (marks_.size() <= node.index)
      marks_.resize(module_.numNodes(), 0);
    return std::exchange(marks_[node.index], mark_) != mark_;
  }
  void newMarks() { ++mark_; }

  // Breadth first, each value once.
  std::vector<NodeId> reachable(const PatternNode &part, NodeId from) {
    newMarks();
    isNew(from);
    std::vector<NodeId> found{from};
    for (size_t i = 0; i < found.size() && found.size() < maxPath; ++i)
      if (isOnPath(part, found[i]))
        for (NodeId operand : module_.operands(found[i]))
          if (!module_.isConstant(operand) && isNew(operand))
            found.push_back(operand);
    return found;
  }

  // The operators between the two; nothing when some way back from `node` misses
  // the parent. Constants are on no way.
  std::optional<std::vector<NodeId>> pathTo(const PatternNode &part, NodeId node, NodeId parent) {
    std::vector<NodeId> between;
    if (node == parent)
      return between;
    newMarks();
    isNew(node);
    isNew(parent);
    between.push_back(node);
    for (size_t i = 0; i < between.size(); ++i) {
      gaveUp_ |= ++steps_ > Matcher::maxSteps;
      if (gaveUp_ || between.size() > maxPath || !isOnPath(part, between[i]))
        return std::nullopt;
      for (NodeId operand : module_.operands(between[i]))
        if (!module_.isConstant(operand) && isNew(operand))
          between.push_back(operand);
    }
    return between;
  }

  // Of a path+: the operators on ways from `node` back to the parent among what was `found`;
  // nothing when there is no way.
  std::optional<std::vector<NodeId>> waysTo(const PatternNode &part, NodeId node, NodeId parent,
                                            const std::vector<NodeId> &found) {
    std::vector<NodeId> between;
    newMarks();
    isNew(parent);
    auto leads = [&](NodeId operand) {
      return operand.index < marks_.size() && marks_[operand.index] == mark_;
    };
    // Mostly makers stand behind their users there, so that one turn finds all.
    for (size_t before = SIZE_MAX; before != between.size() && !gaveUp_;) {
      before = between.size();
      for (size_t i = found.size(); i-- > 0;) {
        gaveUp_ |= ++steps_ > Matcher::maxSteps;
        if (!leads(found[i]) && isOnPath(part, found[i]) &&
            std::ranges::any_of(module_.operands(found[i]), leads)) {
          isNew(found[i]);
          between.push_back(found[i]);
        }
      }
    }
    return leads(node) && node != parent ? std::optional(std::move(between)) : std::nullopt;
  }

  bool matchAll(const std::vector<uint32_t> &children, std::span<const NodeId> operands,
                size_t from, Then then) {
    if (from == children.size())
      return then();
    return match(children[from], operands[from],
                 [&] { return matchAll(children, operands, from + 1, then); });
  }

  bool hasAttrs(const PatternNode &part, NodeId node) const {
    return std::ranges::all_of(part.attrs,
                               [&](const AttrTest &test) { return !whyNot(test, module_, node); });
  }

  // Functions and references to them are no operands of a composite.
  bool isValue(NodeId node) const {
    NodeKind kind = module_.node(node).kind;
    return kind != NodeKind::Function && kind != NodeKind::Global;
  }

  bool finish(NodeId root) {
    if (++candidates_ > Matcher::maxCandidates) {
      gaveUp_ = true;
      return false;
    }
    Match match;
    match.root = root;
    std::vector<bool> seen(pattern_.nodes.size(), false);
    collectNodes(pattern_.root, match, seen);
    std::ranges::sort(match.nodes);
    match.nodes.erase(std::unique(match.nodes.begin(), match.nodes.end()), match.nodes.end());
    seen.assign(seen.size(), false);
    collectLeaves(pattern_.root, match, seen);
    orderLeaves(match);
    collectRoles(match);
    return holdsWhere(match) && accept_(match);
  }

  // Parts of the chosen alternatives, each once.
  template <typename F> void forChildren(uint32_t at, F &&visit) const {
    const PatternNode &part = pattern_.nodes[at];
    if (part.kind == PatternKind::Alternative)
      return visit(part.children[choice_[at]]);
    for (uint32_t child : part.children)
      visit(child);
  }

  void collectNodes(uint32_t at, Match &match, std::vector<bool> &seen) const {
    if (seen[at])
      return;
    seen[at] = true;
    switch (pattern_.nodes[at].kind) {
    case PatternKind::Op:
    case PatternKind::Composite:
    case PatternKind::Tuple:
    case PatternKind::Project:
      match.nodes.push_back(bound_[at]);
      break;
    case PatternKind::Path:
      match.nodes.insert(match.nodes.end(), paths_[at].begin(), paths_[at].end());
      break;
    default:
      break;
    }
    forChildren(at, [&](uint32_t child) { collectNodes(child, match, seen); });
  }

  void addLeaf(Match &match, NodeId node) const {
    if (!std::ranges::binary_search(match.nodes, node) &&
        std::ranges::find(match.leaves, node) == match.leaves.end())
      match.leaves.push_back(node);
  }

  void collectLeaves(uint32_t at, Match &match, std::vector<bool> &seen) const {
    if (seen[at])
      return;
    seen[at] = true;
    const PatternNode &part = pattern_.nodes[at];
    bool isBare = part.children.empty();
    if (part.kind == PatternKind::Any || (part.kind == PatternKind::Capture && isBare))
      addLeaf(match, bound_[at]);
    if (part.anyArgs)
      addArguments(match, bound_[at]);
    forChildren(at, [&](uint32_t child) { collectLeaves(child, match, seen); });
    // Operators of a path have no operands but the parent, constants, and what a path+ meets.
    if (part.kind == PatternKind::Path)
      for (NodeId node : paths_[at])
        addArguments(match, node);
  }

  void addArguments(Match &match, NodeId call) const {
    for (NodeId operand : module_.operands(call))
      if (isValue(operand))
        addLeaf(match, operand);
  }

  // Operands named in `params` come first, constants among them.
  void orderLeaves(Match &match) const {
    std::vector<NodeId> ordered;
    auto addOnce = [&](NodeId leaf) {
      if (std::ranges::find(ordered, leaf) == ordered.end())
        ordered.push_back(leaf);
    };
    for (const std::string &name : pattern_.params) {
      auto at = std::ranges::find(pattern_.captures, name) - pattern_.captures.begin();
      if (NodeId node = captured_[static_cast<size_t>(at)])
        if (module_.isConstant(node) || std::ranges::find(match.leaves, node) != match.leaves.end())
          addOnce(node);
    }
    std::ranges::for_each(match.leaves, addOnce);
    match.leaves = std::move(ordered);
  }

  void collectRoles(Match &match) const {
    for (size_t i = 0; i < captured_.size(); ++i)
      if (captured_[i])
        match.roles.push_back({pattern_.captures[i], captured_[i]});
    for (const auto &[name, node] : pattern_.shared)
      if (bound_[node])
        match.roles.push_back({name, bound_[node]});
  }

  bool holdsWhere(const Match &match) {
    for (const PatternCondition &condition : pattern_.where)
      for (NodeId node : match.nodes)
        if (module_.isOp(node, condition.op))
          if (WhyNot why = whyNot(condition.condition, module_, node)) {
            reason_ = std::string(opInfo(condition.op).name) + ": " + *why;
            return false;
          }
    return true;
  }

  static constexpr size_t maxPath = 256; // operators between parent and child

  const Module &module_;
  const Pattern &pattern_;
  const Matcher::MayContain &mayContain_;
  const Matcher::Accept &accept_;
  std::vector<NodeId> bound_;              // by pattern node
  std::vector<uint32_t> choice_;           // by pattern node: alternative taken
  std::vector<std::vector<NodeId>> paths_; // by pattern node: operators of the path taken
  std::vector<NodeId> captured_;           // by name
  std::vector<uint32_t> marks_;            // by node: mark_ when seen in this walk
  uint32_t mark_ = 0;
  std::string reason_; // of the last `where` that did not hold
  uint32_t steps_ = 0, candidates_ = 0;
  bool gaveUp_ = false;
};

Matcher::Matcher(const Module &module, const Pattern &pattern, const MayContain &mayContain,
                 const Accept &accept)
    : search_(std::make_unique<Search>(module, pattern, mayContain, accept)) {}
Matcher::~Matcher() = default;

MatchOutcome Matcher::match(NodeId root) { return search_->run(root); }
const std::string &Matcher::reason() const { return search_->reason(); }

} // namespace bycc
