// Without costs the first vendor in the order of --annotate that takes a node has
// it. The others stay recorded, with the reason why they do not have it. A pinned
// node has one vendor only, the others refuse it; if that one refuses too, the order
// cannot be obeyed. With costs this is choose-plan.

#include "bycc/Partition/Passes.h"
#include "bycc/Target/Vendor.h"

#include "Composites.h"
#include "PlanCosts.h"
#include "PlanPins.h"
#include "Scopes.h"

namespace bycc {

namespace {

// Without costs the first in the order of --annotate has a node.
void tellPriority(const Module &module, NodeId node, RefusalLog &log) {
  const Annotation *annotation = module.annotation(node);
  if (!annotation || annotation->vendors.size() < 2)
    return;
  std::string reason = std::string(module.string(annotation->vendors[0])) + " has priority";
  if (std::optional<FunctionId> composite = compositeOf(module, node))
    reason = "part of the composite " + module.functionAttr(*composite, "Composite")->asString();
  for (size_t i = 1; i < annotation->vendors.size(); ++i)
    forEachOperator(module, node, [&](NodeId call) {
      log.passOver(call, module.string(annotation->vendors[i]), reason);
    });
}

} // namespace

Expected<bool> chooseVendors(Module &module, PassContext &context) {
  if (!context.vendors || context.vendors->size() == 0)
    return false;
  if (comparesCosts(module, context))
    return choosePlan(module, context);
  BYCC_TRY(checkPins(module, context));
  if (context.refusals)
    for (BlockId block : hostBlocks(module))
      for (NodeId node : module.block(block).nodes)
        tellPriority(module, node, *context.refusals);
  return false;
}

} // namespace bycc
