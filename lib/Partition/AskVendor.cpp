#include "AskVendor.h"

#include "bycc/Support/Text.h"

namespace bycc {

namespace {

// The caller of a region makes its results, so their extents must follow from those
// of the inputs. Host code runs regions of an emulated vendor and sees for itself.
std::string untoldExtent(const Module &module, const Vendor &vendor, NodeId call) {
  if (vendor.isEmulated())
    return "";
  for (TypeId type : module.types.flatten(module.type(call))) {
    auto shape = module.types.shape(type);
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d].isUnknown())
        return "axis " + std::to_string(d) +
               " of its result has an extent (?) that does not follow from the inputs'";
  }
  return "";
}

} // namespace

std::string whyKept(const Module &module, const PlacementRules *placement, const Vendor &vendor,
                    NodeId node) {
  NodeKind kind = module.node(node).kind;
  if (kind == NodeKind::Tuple || kind == NodeKind::Project)
    return ""; // wiring
  if (const std::string *why = placement ? placement->whyNot(node, vendor.name()) : nullptr)
    return *why;
  std::string_view asked = module.string(module.askedVendor(node));
  if (!asked.empty() && asked != vendor.name())
    return "the program asks " + escaped(asked) + " only, by a function with Compiler";
  bool isGiven = !asked.empty() || (placement && placement->pinOf(node) == vendor.name());
  return vendor.onlyAsked && !isGiven ? "the program does not give it to " + vendor.name() : "";
}

std::string whyNotAsked(const Module &module, const PlacementRules *placement, const Vendor &vendor,
                        NodeId call) {
  if (module.operands(call).empty())
    return "has no inputs, the host makes it";
  if (std::string why = whyKept(module, placement, vendor, call); !why.empty())
    return why;
  return untoldExtent(module, vendor, call);
}

std::string whyNotTaken(const Module &module, const PlacementRules *placement, VendorAsker &asker,
                        NodeId call) {
  if (std::string why = whyNotAsked(module, placement, asker.vendor(), call); !why.empty())
    return why;
  const Answer &answer = asker.supports(call);
  return answer ? "" : answer.reason.empty() ? "no reason given" : answer.reason;
}

} // namespace bycc
