// Finds the nodes that the orders of the command line speak of and binds them:
// pins by name, operators that may or may not be offloaded. Later passes ask
// context.placement. A pin is the more specific order: lists of operators do not
// bind a pinned node.

#include "bycc/IR/Op.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/RegionView.h"
#include "bycc/Target/Vendor.h"

#include "Plan.h"
#include "Scopes.h"

#include <algorithm>

namespace bycc {

namespace {

bool matchesAny(const std::vector<std::string> &globs, std::string_view text) {
  return std::ranges::any_of(globs,
                             [&](const std::string &glob) { return matchesGlob(glob, text); });
}

class Placer {
public:
  Placer(const Module &module, const VendorSet *vendors, PlacementRules &rules)
      : module_(module), rules_(rules) {
    for (size_t i = 0; vendors && i < vendors->size(); ++i)
      vendors_.push_back((*vendors)[i].name());
    for (BlockId block : hostBlocks(module))
      for (NodeId node : module.block(block).nodes)
        if (module.node(node).kind == NodeKind::CallOp)
          calls_.push_back(node);
  }

  Expected<> pin() {
    const std::vector<PlacementOrders::Pin> &pins = rules_.orders.pins;
    std::vector<uint8_t> isUsed(pins.size(), 0);
    std::vector<std::string> names;
    for (NodeId call : calls_) {
      names.push_back(nodeName(module_, call));
      for (size_t i = 0; i < pins.size(); ++i)
        if (names.back() == pins[i].nodes || matchesGlob(pins[i].nodes, names.back())) {
          isUsed[i] = 1;
          rules_.pin(call, pins[i].vendor, reasonOf(pins[i]));
        }
    }
    for (size_t i = 0; i < pins.size(); ++i)
      if (!isUsed[i])
        return noSuchNode(pins[i], names);
    return {};
  }

  void keepProgram() {
    rules_.program = {};
    for (NodeId call : calls_)
      rules_.program.calls.push_back(
          {call, nodeName(module_, call), std::string(opInfo(module_.node(call).op).name)});
  }

  void applyLists() {
    const PlacementOrders &orders = rules_.orders;
    for (NodeId call : calls_) {
      std::string_view op = opInfo(module_.node(call).op).name;
      if (!rules_.pinOf(call).empty())
        continue;
      if (!orders.onlyOps.empty() && !matchesAny(orders.onlyOps, op))
        forbidAll(call, std::string(op) + " is not in --annotate-ops");
      if (matchesAny(orders.skipOps, op))
        forbidAll(call, std::string(op) + " is in --annotate-skip-ops");
    }
  }

  const std::vector<NodeId> &calls() const { return calls_; }

private:
  static std::string reasonOf(const PlacementOrders::Pin &pin) {
    return "pinned to " + std::string(pin.vendor == "host" ? "the host" : pin.vendor) +
           " by --pin " + escaped(pin.nodes) + "=" + pin.vendor;
  }

  static Error noSuchNode(const PlacementOrders::Pin &pin, const std::vector<std::string> &names) {
    return (error(Status::Arg).as(MessageId::NoNode)
            << "--pin: no node is called '" << escaped(pin.nodes) << "'"
            << didYouMean(pin.nodes, names))
        .note("names are those after simplification: --explain shows them");
  }

  void forbidAll(NodeId call, const std::string &reason) {
    for (const std::string &vendor : vendors_)
      rules_.forbid(call, vendor, reason);
  }

  const Module &module_;
  PlacementRules &rules_;
  std::vector<std::string> vendors_;
  std::vector<NodeId> calls_;
};

} // namespace

// The program stays as it is.
Expected<bool> placeNodes(Module &module, PassContext &context) {
  if (!context.placement || context.placement->orders.empty())
    return false;
  Placer placer(module, context.vendors, *context.placement);
  BYCC_TRY(placer.pin());
  placer.applyLists();
  if (context.placement->orders.keepProgram)
    placer.keepProgram();
  if (context.placement->orders.plan)
    BYCC_TRY(bindPlan(module, placer.calls(), *context.placement));
  return false;
}

} // namespace bycc
