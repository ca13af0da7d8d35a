// Several vendors may take a node: puts the chosen one in front. The others stay
// recorded, with the reason why they do not have it. A pinned node has one vendor
// only, the others refuse it; if that one refuses too, the order cannot be obeyed.

#include "bycc/IR/Op.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/RegionView.h"
#include "bycc/Target/Vendor.h"

#include "Composites.h"
#include "Scopes.h"

#include <algorithm>

namespace bycc {

namespace {

constexpr size_t maxDiagnostics = 20;

// Pins to vendors that refuse.
class PinCheck {
public:
  PinCheck(const Module &module, const PassContext &context)
      : module_(module), placement_(context.placement), refusals_(context.refusals) {}

  void check(NodeId node) {
    const Annotation *annotation = module_.annotation(node);
    forEachOperator(module_, node, [&](NodeId call) {
      std::string_view pin = placement_->pinOf(call);
      if (!pin.empty() && pin != "host" && !takes(annotation, pin))
        complain(call, pin);
    });
  }

  Expected<> result() {
    if (found_.empty())
      return {};
    return Error(std::move(found_));
  }

private:
  bool takes(const Annotation *annotation, std::string_view vendor) const {
    return annotation && std::ranges::any_of(annotation->vendors, [&](StringId id) {
             return module_.string(id) == vendor;
           });
  }

  void complain(NodeId call, std::string_view vendor) {
    if (found_.size() == maxDiagnostics)
      return;
    std::string reason;
    if (refusals_)
      for (const auto &[name, text] : refusals_->of(call))
        if (name == vendor)
          reason = ": " + text;
    Diagnostic diagnostic;
    diagnostic.status = Status::Arg;
    diagnostic.location = module_.source(call);
    diagnostic.message = "--pin: " + nodeName(module_, call) + " (" +
                         std::string(opInfo(module_.node(call).op).name) + ") is pinned to " +
                         std::string(vendor) + ", which refuses it" + reason;
    found_.push_back(std::move(diagnostic));
  }

  const Module &module_;
  const PlacementRules *placement_;
  const RefusalLog *refusals_;
  std::vector<Diagnostic> found_;
};

// Without costs the first in the order of --annotate has a node.
void tellPriority(const Module &module, NodeId node, RefusalLog &log) {
  const Annotation *annotation = module.annotation(node);
  if (!annotation || annotation->vendors.size() < 2)
    return;
  std::string reason = std::string(module.string(annotation->vendors[0])) + " has priority";
  for (size_t i = 1; i < annotation->vendors.size(); ++i)
    forEachOperator(module, node, [&](NodeId call) {
      log.passOver(call, module.string(annotation->vendors[i]), reason);
    });
}

} // namespace

Expected<bool> chooseVendors(Module &module, PassContext &context) {
  if (!context.vendors || context.vendors->size() == 0)
    return false;
  bool hasOrders = context.placement && !context.placement->empty();
  PinCheck pins(module, context);
  for (BlockId block : hostBlocks(module))
    for (NodeId node : module.block(block).nodes) {
      if (hasOrders)
        pins.check(node);
      if (context.refusals)
        tellPriority(module, node, *context.refusals);
    }
  BYCC_TRY(pins.result());
  return false;
}

} // namespace bycc
