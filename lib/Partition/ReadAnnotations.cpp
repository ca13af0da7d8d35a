// The pass that reads what a program says by hand: functions that ask for a
// vendor first, since the brackets of regions do not reach into them.

#include "ReadAnnotations.h"

#include "bycc/Partition/AskedVendors.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

namespace bycc {

Expected<> checkVendorInUse(const PassContext &context, std::string_view vendor,
                            const SourceLocation &location) {
  if (context.vendors && context.vendors->find(vendor))
    return {};
  std::vector<std::string> names;
  for (size_t i = 0; context.vendors && i < context.vendors->size(); ++i)
    names.push_back((*context.vendors)[i].name());
  return unknownVendor(vendor, location, names);
}

bool mayNotHave(const PassContext &context, NodeId node, const std::string &vendor) {
  return context.placement &&
         (context.placement->whyNot(node, vendor) || context.placement->labelOf(node) != 0);
}

Expected<bool> readAnnotations(Module &module, PassContext &context) {
  bool changed = BYCC_TRY(readVendorFunctions(module, context));
  return BYCC_TRY(readBrackets(module, context)) || changed;
}

} // namespace bycc
