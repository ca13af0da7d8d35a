// A plan and the program: binding one that is given, noting what a new one will say.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Target/Placement.h"

#include <span>

namespace bycc {

// Gives each of the program's operator calls its row of rules.orders.plan. An ARG
// error names the nodes when plan and program do not have the same.
Expected<> bindPlan(const Module &module, std::span<const NodeId> calls, PlacementRules &rules);

// Notes the annotations in rules.program when a plan is to be saved; called by the
// last pass that changes them.
void keepChosen(const Module &module, PlacementRules *rules);

} // namespace bycc
