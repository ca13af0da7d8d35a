// The PlanProblem of one block, with its ties to the IR.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Partition/AnnotatedRegions.h"
#include "bycc/Target/PassContext.h"

#include "CompositeFormer.h"
#include "PlanCosts.h"
#include "PlanProblem.h"

#include <unordered_map>
#include <utility>
#include <vector>

namespace bycc {

// Vendors that are to be taken as if they had not refused, by node.
using LiftedRefusals = std::unordered_map<NodeId, std::vector<StringId>>;

struct BlockPlan {
  PlanProblem problem;
  BlockId block;
  std::vector<NodeId> items; // calls, branches and closures, in block order
  // By tile: the candidate that it forms, or null.
  std::vector<const CompositeCandidate *> candidates;

  bool hasChoice() const; // may any item leave the host?
};

// Vendors of nodes as their annotations say; candidates of `context.composites`.
class BlockPlanner {
public:
  BlockPlanner(Module &module, PassContext &context, PlanCosts &costs);
  BlockPlan plan(BlockId block, const LiftedRefusals *lifted = nullptr);

private:
  class Builder;
  Module &module_;
  PassContext &context_;
  PlanCosts &costs_;
  NodePlaces places_;
  std::unordered_map<BlockId, std::vector<const CompositeCandidate *>> candidatesOf_;
};

// The regions that annotations say, as a plan of the problem.
PlanAnswer planOfAnnotations(const Module &module, const BlockPlan &plan, const PlanCosts &costs);

} // namespace bycc
