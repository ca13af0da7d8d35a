// From a compilation to what pages and drawings show of it (bycc/View/ViewDocument.h).
#pragma once

#include "bycc/CodeGen/CodeGen.h"
#include "bycc/Compiler/CompiledModel.h"
#include "bycc/Compiler/Session.h"
#include "bycc/View/ViewDocument.h"

namespace bycc {

ViewDocument documentOf(Session &session, const CompiledModel &model, OperatorGraph graph);
ViewArena arenaOf(const CompiledModule &code);

// Gives operators the symbols of what runs them: regions by the report, kernels by the names
// of the nodes that they were made of.
void nameSymbols(const Module &module, const CompiledModule &code, const OffloadReport &report,
                 OperatorGraph &graph);

// What keeps refusals from being priced; "" when nothing does.
std::string whyNoPrices(const Session &session);

} // namespace bycc
