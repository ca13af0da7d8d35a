#include "PlanPins.h"

#include "bycc/IR/Op.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/RegionView.h"

#include "CompositeFormer.h"
#include "Composites.h"
#include "Scopes.h"

#include <algorithm>
#include <set>

namespace bycc {

namespace {

// Pins to vendors that refuse.
class PinCheck {
public:
  PinCheck(const Module &module, const PassContext &context)
      : module_(module), placement_(context.placement), refusals_(context.refusals) {
    if (context.composites)
      for (const CompositeCandidate &candidate : context.composites->candidates)
        for (NodeId call : candidate.operators)
          inComposites_.insert({call, candidate.vendor->name()});
  }

  void check(NodeId node) {
    const Annotation *annotation = module_.annotation(node);
    forEachOperator(module_, node, [&](NodeId call) {
      std::string_view pin = placement_->pinOf(call);
      if (!pin.empty() && pin != "host" && !takes(annotation, pin) &&
          !inComposites_.contains({call, std::string(pin)}))
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
  std::set<std::pair<NodeId, std::string>> inComposites_; // that could be formed
  std::vector<Diagnostic> found_;
};

} // namespace

Expected<> checkPins(const Module &module, const PassContext &context) {
  if (!context.placement || context.placement->empty())
    return {};
  PinCheck pins(module, context);
  for (BlockId block : hostBlocks(module))
    for (NodeId node : module.block(block).nodes)
      pins.check(node);
  return pins.result();
}

} // namespace bycc
