// Rewrites that vendors' files ask for: target-dependent legalisation as data. Each vendor's
// in their order, each one walk over the program; what a rewrite makes is not looked at by
// itself again, so that every list ends. A match counts when its inner values are used
// nowhere else, and when the rewrite was tried for operators and types like these
// (CheckRewrite.h): one that computes something else is dropped with a warning.
#include "CheckRewrite.h"
#include "Scopes.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Target/Vendor.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>
#include <map>

namespace bycc {
namespace {

class RuleRewriter {
public:
  RuleRewriter(Module &module, PassContext &context, const Vendor &vendor, const Rewrite &rewrite)
      : module_(module), context_(context), vendor_(vendor), rewrite_(rewrite), users_(module),
        numNodes_(module.numNodes()) {}

  Expected<bool> run() {
    Matcher::MayContain mayContain = [this](NodeId node) { return node.index < numNodes_; };
    Matcher::Accept accept = [this](const Match &match) { return accepts(match); };
    Matcher matcher(module_, rewrite_.from, mayContain, accept);
    return rewriteOpenBlocks(module_, [&](NodeId node, Builder &builder) -> Expected<NodeId> {
      if (isWrong_ || !mayBeRoot(node) || matcher.match(node) != MatchOutcome::Accepted)
        return node;
      builder.setSource(module_.node(node).source);
      TypeId type = module_.type(node);
      NodeId made = BYCC_TRY(makeReplacement(builder, rewrite_, match_, vendor_.patterns()));
      if (module_.type(made) == type) {
        ++count_;
        return made;
      }
      warn(node,
           "it makes " + module_.types.str(module_.type(made)) + " of " + module_.types.str(type));
      isWrong_ = true;
      return node;
    });
  }

  size_t count() const { return count_; }

private:
  bool mayBeRoot(NodeId node) const {
    return node.index < numNodes_ && module_.node(node).kind == NodeKind::CallOp &&
           std::ranges::find(rewrite_.from.rootOps, module_.node(node).op) !=
               rewrite_.from.rootOps.end();
  }

  bool accepts(const Match &match) {
    if (!isUsedInsideOnly(match))
      return false;
    std::string key = signatureOf(match);
    auto [known, isNew] = verdicts_.try_emplace(key);
    if (isNew) {
      known->second = tryRewrite(module_, rewrite_, match, vendor_.patterns());
      if (!known->second.isRight)
        warn(match.root, known->second.why);
    }
    isWrong_ |= known->second.isWrong;
    if (!known->second.isRight)
      return false;
    match_ = match;
    return true;
  }

  bool isUsedInsideOnly(const Match &match) const {
    std::map<NodeId, uint32_t> uses;
    for (NodeId node : match.nodes)
      for (NodeId operand : module_.operands(node))
        ++uses[operand];
    return std::ranges::all_of(match.nodes, [&](NodeId node) {
      return node == match.root || uses[node] == users_.count(node);
    });
  }

  // Operators, attributes, types: what a trial depends on. Small constants count by value.
  std::string signatureOf(const Match &match) const {
    std::string text;
    std::map<NodeId, size_t> numbers;
    for (NodeId node : match.nodes)
      numbers.emplace(node, numbers.size());
    for (NodeId node : match.nodes) {
      const Node &record = module_.node(node);
      text += std::to_string(static_cast<int>(record.kind)) + ':' +
              std::to_string(record.op.index) + ':' + std::to_string(record.attrs.index) +
              (record.kind == NodeKind::Project ? "." + std::to_string(record.payload) : "") + '(';
      for (NodeId operand : module_.operands(node)) {
        auto inside = numbers.find(operand);
        if (inside == numbers.end())
          inside = numbers.emplace(operand, numbers.size()).first;
        text += std::to_string(inside->second) + '/' + std::to_string(module_.type(operand).index);
        if (module_.isConstant(operand) && module_.types.numElements(module_.type(operand)) == 1)
          text += '=' + std::to_string(module_.constant(operand).hash);
        text += ',';
      }
      text += ')';
    }
    return text;
  }

  void warn(NodeId node, const std::string &why) {
    Diagnostic diagnostic;
    diagnostic.status = Status::Input;
    diagnostic.location = rewrite_.place;
    diagnostic.message = "vendor '" + vendor_.name() + "': rewrite " + rewrite_.text +
                         " is not used: " + why + " (at " + module_.source(node).str() + ")";
    context_.warnings.push_back(std::move(diagnostic));
  }

  Module &module_;
  PassContext &context_;
  const Vendor &vendor_;
  const Rewrite &rewrite_;
  Users users_;
  uint32_t numNodes_;
  Match match_; // the one that was accepted
  std::map<std::string, RewriteVerdict> verdicts_;
  bool isWrong_ = false;
  size_t count_ = 0;
};

} // namespace

Expected<bool> applyRewrites(Module &module, PassContext &context) {
  bool changed = false;
  for (size_t i = 0; context.vendors && i < context.vendors->size(); ++i) {
    const Vendor &vendor = (*context.vendors)[i];
    for (const Rewrite &rewrite : vendor.rewrites) {
      RuleRewriter rewriter(module, context, vendor, rewrite);
      changed |= BYCC_TRY(rewriter.run());
      context.remarks.push_back(
          "vendor '" + vendor.name() + "': rewrite " + rewrite.text + ": " +
          (rewriter.count() > 0
               ? counted(static_cast<int64_t>(rewriter.count()), "time")
               : "nothing like it is left where it is tried, behind passes that simplify"));
    }
  }
  return changed;
}

} // namespace bycc
