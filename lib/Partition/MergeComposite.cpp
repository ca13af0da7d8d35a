// Forms composites: vendor by vendor, pattern by pattern in table order, outputs
// first (CompositeFormer.cpp). Where choose-plan follows and costs are compared,
// nothing is formed yet: all that could be is written down, and choose-plan forms
// what it chooses.

#include "bycc/Partition/Passes.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/Vendor.h"

#include "CompositeFormer.h"
#include "PlanCosts.h"
#include "Scopes.h"

#include <algorithm>

namespace bycc {

Expected<bool> mergeComposite(Module &module, PassContext &context) {
  if (!context.vendors || context.vendors->size() == 0)
    return false;
  bool changed = false;
  // A dead user would keep an inner value from being claimed.
  changed |= dropUnneeded(module);
  std::vector<std::string> only;
  if (std::string names = context.option("vendor"); !names.empty())
    only = split(names, ',');
  for (const std::string &name : only)
    if (!context.vendors->find(name))
      return error(Status::Usage) << "merge-composite: vendor '" << escaped(name)
                                  << "' is not in use";
  CompositeFormer former(module, context);
  bool isForLater = context.choosesPlan && comparesCosts(module, context);
  if (isForLater && !context.composites)
    context.composites = std::make_shared<CompositeTable>();
  for (size_t i = 0; i < context.vendors->size(); ++i) {
    const Vendor &vendor = (*context.vendors)[i];
    if (!only.empty() && std::ranges::find(only, vendor.name()) == only.end())
      continue;
    if (isForLater)
      former.record(vendor, *context.composites);
    else
      former.form(vendor);
  }
  return former.finish() || changed;
}

} // namespace bycc
