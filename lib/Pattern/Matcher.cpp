// Matching in continuation-passing style: match(p, n, k) binds p to n and calls
// k for the rest of the pattern; when k fails the binding is undone and the next
// choice is tried. So every choice made earlier is open until the whole pattern
// is accepted. The recursion is as deep as the pattern has parts (<= 1024).

#include "bycc/Pattern/Matcher.h"

#include "bycc/IR/Op.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace bycc {

namespace {

// A borrowed callable; the callee outlives every call here.
class Then {
public:
  template <typename F>
  Then(const F &f) // NOLINT: implicit by intent
      : object_(&f), call_([](const void *object) { return (*static_cast<const F *>(object))(); }) {}
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
        captured_(pattern.captures.size()) {}

  MatchOutcome run(NodeId root) {
    steps_ = candidates_ = 0;
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
    case PatternKind::Any: return isValue(node) && then();
    case PatternKind::Constant:
      return module_.isConstant(node) &&
             (!part.value || isConstantOf(module_, node, *part.value, part.tolerance)) && then();
    case PatternKind::Capture: return matchCapture(part, node, then);
    case PatternKind::Op: return matchOp(part, node, then);
    case PatternKind::Tuple:
      return module_.node(node).kind == NodeKind::Tuple &&
             module_.operands(node).size() == part.children.size() && mayContain_(node) &&
             matchAll(part.children, node, 0, then);
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
    bool done = part.children.empty() ? isValue(node) && then()
                                      : match(part.children[0], node, then);
    if (!done && isFirst)
      captured_[part.index] = NodeId();
    return done;
  }

  bool matchOp(const PatternNode &part, NodeId node, Then then) {
    if (!module_.isOp(node, part.op) || !hasAttrs(node, part.attrs) || !mayContain_(node))
      return false;
    if (part.anyArgs)
      return then();
    if (module_.operands(node).size() != part.children.size())
      return false;
    if (matchAll(part.children, node, 0, then))
      return true;
    if (!isCommutative(part.op) || module_.operands(node)[0] == module_.operands(node)[1])
      return false;
    return match(part.children[0], module_.operands(node)[1], [&] {
      return match(part.children[1], module_.operands(node)[0], then);
    });
  }

  static bool isCommutative(OpId op) {
    std::string_view name = opInfo(op).name;
    return name == "add" || name == "multiply";
  }

  bool matchAll(const std::vector<uint32_t> &children, NodeId node, size_t from, Then then) {
    if (from == children.size())
      return then();
    return match(children[from], module_.operands(node)[from],
                 [&] { return matchAll(children, node, from + 1, then); });
  }

  bool hasAttrs(NodeId node, const AttrDict &attrs) const {
    return std::ranges::all_of(attrs, [&](const Attr &wanted) {
      const AttrValue *value = module_.attr(node, wanted.key);
      return value && value->equalsLoosely(wanted.value);
    });
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
    PatternKind kind = pattern_.nodes[at].kind;
    if (kind == PatternKind::Op || kind == PatternKind::Tuple || kind == PatternKind::Project)
      match.nodes.push_back(bound_[at]);
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
      for (NodeId operand : module_.operands(bound_[at]))
        addLeaf(match, operand);
    forChildren(at, [&](uint32_t child) { collectLeaves(child, match, seen); });
  }

  void collectRoles(Match &match) const {
    for (size_t i = 0; i < captured_.size(); ++i)
      if (captured_[i])
        match.roles.push_back({pattern_.captures[i], captured_[i]});
    for (const auto &[name, node] : pattern_.shared)
      if (bound_[node])
        match.roles.push_back({name, bound_[node]});
  }

  bool holdsWhere(const Match &match) const {
    return std::ranges::all_of(pattern_.where, [&](const PatternCondition &condition) {
      return std::ranges::all_of(match.nodes, [&](NodeId node) {
        return !module_.isOp(node, condition.op) || hasAttrs(node, condition.attrs);
      });
    });
  }

  const Module &module_;
  const Pattern &pattern_;
  const Matcher::MayContain &mayContain_;
  const Matcher::Accept &accept_;
  std::vector<NodeId> bound_;      // by pattern node
  std::vector<uint32_t> choice_;   // by pattern node: alternative taken
  std::vector<NodeId> captured_;   // by name
  uint32_t steps_ = 0, candidates_ = 0;
  bool gaveUp_ = false;
};

namespace {

template <typename T> double readAs(const uint8_t *data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return static_cast<double>(value);
}

double readElement(DType dtype, const uint8_t *data) {
  switch (dtype) {
  case DType::Bool: return *data != 0;
  case DType::Int8: return readAs<int8_t>(data);
  case DType::Int16: return readAs<int16_t>(data);
  case DType::Int32: return readAs<int32_t>(data);
  case DType::Int64: return readAs<int64_t>(data);
  case DType::UInt8: return readAs<uint8_t>(data);
  case DType::UInt16: return readAs<uint16_t>(data);
  case DType::UInt32: return readAs<uint32_t>(data);
  case DType::UInt64: return readAs<uint64_t>(data);
  case DType::Float16: {
    uint16_t bits;
    std::memcpy(&bits, data, sizeof bits);
    return halfToFloat(bits);
  }
  case DType::BFloat16: {
    uint16_t bits;
    std::memcpy(&bits, data, sizeof bits);
    return bfloat16ToFloat(bits);
  }
  case DType::Float32: return readAs<float>(data);
  case DType::Float64: return readAs<double>(data);
  }
  return 0;
}

} // namespace

bool isConstantOf(const Module &module, NodeId constant, double value, double tolerance) {
  const Constant &c = module.constant(constant);
  DType dtype = module.types.dtype(c.type);
  uint64_t step = static_cast<uint64_t>(sizeInBytes(dtype));
  // A tolerance of 0 still means the value as the dtype can write it.
  double slack = tolerance > 0 ? tolerance : std::abs(value) * (isFloat(dtype) ? 1e-6 : 0);
  if (tolerance <= 0 && (dtype == DType::Float16 || dtype == DType::BFloat16))
    slack = std::abs(value) * 8e-3;
  if (c.bytes == 0)
    return false;
  for (uint64_t at = 0; at + step <= c.bytes; at += step) {
    double difference = std::abs(readElement(dtype, c.data() + at) - value);
    if (!(difference <= slack))
      return false;
  }
  return true;
}

Matcher::Matcher(const Module &module, const Pattern &pattern, const MayContain &mayContain,
                 const Accept &accept)
    : search_(std::make_unique<Search>(module, pattern, mayContain, accept)) {}
Matcher::~Matcher() = default;

MatchOutcome Matcher::match(NodeId root) { return search_->run(root); }

} // namespace bycc
