// bycc pattern MODEL --nodes=A,B..C --vendor=V: an entry of V's file from nodes of a model.
//
//   1  prepare   the passes that run before composites are formed, those that V asks for
//                included: the pattern is of the form that it will meet
//   2  pick      nodes by the names that --explain shows, and ranges
//   3  derive    see Pattern/DerivePattern.h; the pattern has to match these very nodes
//   4  check     with --check: all other places that it matches

#include "Terminal.h"
#include "bycc/Driver/Driver.h"
#include "bycc/IR/Op.h"
#include "bycc/Pattern/DerivePattern.h"
#include "bycc/Pattern/Matcher.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/RegionView.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace bycc {
namespace {

Pipeline untilComposites(Pipeline pipeline) {
  static constexpr const char *ends[] = {"merge-composite", "place-nodes", "annotate-target",
                                         "legalize"};
  auto end = std::ranges::find_if(pipeline, [](const PipelineEntry &entry) {
    return std::ranges::find(ends, entry.pass) != std::end(ends);
  });
  pipeline.erase(end, pipeline.end());
  return pipeline;
}

class Picker {
public:
  Picker(const Module &module, BlockId block) : module_(module), block_(block) {
    for (NodeId node : module.block(block).nodes)
      if (module.node(node).kind == NodeKind::CallOp)
        calls_.push_back({node, nodeName(module, node)});
  }

  Expected<std::vector<NodeId>> pick(const std::vector<std::string> &items) const {
    std::set<NodeId> picked;
    for (const std::string &item : items) {
      std::vector<NodeId> nodes = BYCC_TRY(itemNodes(item));
      picked.insert(nodes.begin(), nodes.end());
    }
    return std::vector<NodeId>(picked.begin(), picked.end());
  }

private:
  Expected<std::vector<NodeId>> itemNodes(const std::string &item) const {
    size_t dots = item.find("..");
    if (dots == item.npos)
      return named(item);
    std::vector<NodeId> first = ends(BYCC_TRY(named(item.substr(0, dots))), true);
    std::vector<NodeId> last = ends(BYCC_TRY(named(item.substr(dots + 2))), false);
    std::vector<NodeId> nodes = range(first, last);
    for (NodeId node : last)
      if (std::ranges::find(nodes, node) == nodes.end())
        return error(Status::Arg) << "--nodes: " << escaped(item)
                                  << ": nothing leads from one to the other";
    return nodes;
  }

  // Of nodes with one name those that are made of no other, or that no other is made of.
  std::vector<NodeId> ends(const std::vector<NodeId> &nodes, bool isFirst) const {
    std::set<NodeId> marked(nodes.begin(), nodes.end()),
        beyond; // of these, reached from another one
    const std::vector<NodeId> &order = module_.block(block_).nodes;
    for (size_t i = 0; i < order.size(); ++i) {
      NodeId node = order[isFirst ? i : order.size() - 1 - i];
      for (NodeId operand : module_.operands(node)) {
        NodeId from = isFirst ? operand : node, to = isFirst ? node : operand;
        if (marked.contains(from) || beyond.contains(from))
          beyond.insert(to);
      }
    }
    std::vector<NodeId> kept;
    std::ranges::copy_if(nodes, std::back_inserter(kept),
                         [&](NodeId node) { return !beyond.contains(node); });
    return kept;
  }

  // All that is made of what the first ones read, up to the last ones: of a layer, its
  // first operator and its last one say enough.
  std::vector<NodeId> range(const std::vector<NodeId> &first,
                            const std::vector<NodeId> &last) const {
    std::vector<NodeId> read;
    for (NodeId node : first)
      for (NodeId operand : module_.operands(node))
        if (module_.node(operand).kind != NodeKind::Constant &&
            std::ranges::find(first, operand) == first.end())
          read.push_back(operand);
    std::vector<NodeId> nodes;
    for (NodeId node : nodesBetween(module_, block_, read, last))
      if (module_.node(node).kind == NodeKind::CallOp &&
          std::ranges::find(read, node) == read.end())
        nodes.push_back(node);
    dropViewsInFront(nodes);
    return nodes;
  }

  // How an operand was spelled before it comes in says nothing of the group: the first
  // layer of a model may have a reshape there, the others not.
  void dropViewsInFront(std::vector<NodeId> &nodes) const {
    std::set<NodeId> left(nodes.begin(), nodes.end());
    std::erase_if(nodes, [&](NodeId node) { // in order: chains of them go, too
      if (!isCallWith(module_, node, OpTrait::View))
        return false;
      NodeId source = module_.operands(node)[0];
      if (module_.node(source).kind == NodeKind::Project)
        source = module_.operands(source)[0];
      return !left.contains(source) && left.erase(node) > 0;
    });
  }

  Expected<std::vector<NodeId>> named(const std::string &name) const {
    std::vector<NodeId> nodes;
    std::vector<std::string> names;
    for (const auto &[node, known] : calls_) {
      names.push_back(known);
      if (known == name || matchesGlob(name, known))
        nodes.push_back(node);
    }
    if (nodes.empty())
      return (error(Status::Arg).as(MessageId::NoNode)
              << "--nodes: no node is called '" << escaped(name) << "'" << didYouMean(name, names))
          .note("names are those after simplification: bycc MODEL --explain shows them");
    return nodes;
  }

  const Module &module_;
  BlockId block_;
  std::vector<std::pair<NodeId, std::string>> calls_;
};

// Every match of the pattern in the block, each node in one at most, the last ones first.
std::vector<Match> allMatches(const Module &module, BlockId block, const Pattern &pattern) {
  std::vector<Match> found;
  std::set<NodeId> taken;
  auto mayContain = [&](NodeId node) { return !taken.contains(node); };
  auto accept = [&](const Match &match) {
    found.push_back(match);
    return true;
  };
  Matcher::MayContain may = mayContain;
  Matcher::Accept take = accept;
  Matcher matcher(module, pattern, may, take);
  const std::vector<NodeId> &nodes = module.block(block).nodes;
  for (size_t i = nodes.size(); i-- > 0;)
    if (!taken.contains(nodes[i]) && matcher.match(nodes[i]) == MatchOutcome::Accepted)
      taken.insert(found.back().nodes.begin(), found.back().nodes.end());
  return found;
}

class PatternCommand {
public:
  PatternCommand(Session &session, const PatternOptions &options)
      : session_(session), module_(session.module()), options_(options) {}

  Expected<> run() {
    BYCC_TRY(session_.load());
    if (!module_.main())
      return error(Status::Input, {session_.options().input.model}).as(MessageId::NoMain)
             << "the program has no @main";
    BYCC_TRY(session_.runPasses(untilComposites(BYCC_TRY(session_.pipeline()))));
    BlockId block = module_.function(module_.main()).body;
    std::vector<NodeId> nodes = BYCC_TRY(Picker(module_, block).pick(options_.nodes));
    DerivedPattern derived =
        BYCC_TRY(derivePattern(module_, block, nodes, options_.vendor, options_.name));
    Pattern pattern = BYCC_TRY(derived.parse());
    BYCC_TRY(checkMatchesItself(derived, pattern));
    std::fputs(derived.json().c_str(), stdout);
    if (options_.check)
      report(derived, allMatches(module_, block, pattern));
    return {};
  }

private:
  // Among the ways that a pattern can match there is the one that it was made of.
  Expected<> checkMatchesItself(const DerivedPattern &derived, const Pattern &pattern) const {
    Matcher::MayContain may = [](NodeId) { return true; };
    Matcher::Accept isIt = [&](const Match &match) { return match.nodes == derived.nodes; };
    if (Matcher(module_, pattern, may, isIt).match(derived.rootNode) == MatchOutcome::Accepted)
      return {};
    return (error(Status::Unsup) << "the language of patterns cannot say these nodes")
        .note("the pattern would be " + derived.root);
  }

  void report(const DerivedPattern &derived, const std::vector<Match> &matches) const {
    std::fprintf(stderr, "%s that %s matches:\n",
                 counted(static_cast<int64_t>(matches.size()), "place").c_str(),
                 derived.name.c_str());
    for (size_t i = matches.size(); i-- > 0;)
      std::fprintf(stderr, "  %s\n", escaped(nodeName(module_, matches[i].root)).c_str());
  }

  Session &session_;
  Module &module_;
  const PatternOptions &options_;
};

// A vendor that nobody knows yet has no passes of its own.
Expected<> prepare(std::unique_ptr<CommandSession> &command, Options &options) {
  command = std::make_unique<CommandSession>(options);
  BYCC_TRY(checkSupported(options));
  Expected<> prepared = command->session.prepare();
  if (prepared || prepared.error().status() != Status::Usage)
    return prepared;
  options.vendors.annotate.reset();
  command = std::make_unique<CommandSession>(options);
  return command->session.prepare();
}

} // namespace

int patternCommand(const Options &given) {
  Options options = given;
  options.vendors.annotate = options.pattern.vendor;
  std::unique_ptr<CommandSession> command;
  Expected<> done = prepare(command, options);
  if (done)
    done = PatternCommand(command->session, options.pattern).run();
  command->session.flushMessages();
  return done ? 0 : command->terminal.fail(done.error());
}

} // namespace bycc
