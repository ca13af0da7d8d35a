// Applies a vendor's rules about which values may pass between which operators
// inside one region.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Target/Vendor.h"

#include <string>

namespace bycc {

class EdgeRuleCheck {
public:
  // Both must outlive it.
  EdgeRuleCheck(const Module &module, const EdgeRules &rules) : module_(module), rules_(rules) {}

  // May a value of `maker` pass inside a region to operand `operand` of `user`?
  // Both are operator or composite calls. A composite counts at its border: by
  // its name, its root as a maker, and as a user each operator of its that takes
  // the value, all of which must be allowed to.
  bool mayPass(NodeId maker, NodeId user, uint32_t operand) const;

  // The same for two ends by the names that they go by.
  using Names = std::vector<std::string_view>;
  bool mayPass(const Names &from, const Names &to) const { return isAllowed(from, to); }

private:
  bool isAllowed(const Names &from, const Names &to) const;
  void collectMakerNames(NodeId maker, Names &names) const;
  // One list per operator that takes the value.
  void collectUserNames(NodeId user, uint32_t operand, Names outer,
                        std::vector<Names> &lists) const;

  const Module &module_;
  const EdgeRules &rules_;
};

} // namespace bycc
