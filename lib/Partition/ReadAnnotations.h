// What a program says by hand about vendors, made into what the passes work with.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/PassContext.h"

namespace bycc {

// annotation.compiler_begin and _end become annotations beside nodes, in regions
// numbered after those that are there. INPUT errors with places for brackets that
// do not match. True when there were some.
Expected<bool> readBrackets(Module &module, PassContext &context);

// Functions with Compiler="v" and no global_symbol, local ones included: v alone is
// asked about what is in them. Where the program is trusted they become external
// functions like those that partition-graph makes. INPUT errors for bodies that no
// vendor can take. True when there were some.
Expected<bool> readVendorFunctions(Module &module, PassContext &context);

// Asks vendors about the nodes that brackets give them, composites as wholes: once,
// after composites are formed. INPUT errors name those that they do not take.
Expected<> askAboutGiven(Module &module, PassContext &context);

// INPUT error with the nearest name when the vendor is not in use.
Expected<> checkVendorInUse(const PassContext &context, std::string_view vendor,
                            const SourceLocation &location);

// Is the node kept from the vendor, or from being one with others, by the command
// line or since the vendor failed at it? What was asked as a whole is then
// left to merge-compiler-regions.
bool mayNotHave(const PassContext &context, NodeId node, const std::string &vendor);

} // namespace bycc
