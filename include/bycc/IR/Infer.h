// Type inference. Builder infers each node as it is made, so passes never need
// to infer a whole module again; this is for programs that were just read and
// for checks.
#pragma once

#include "bycc/IR/Module.h"

namespace bycc {

// Type of one node from its operands (blocks of an If and bodies of local
// functions must be inferred already). Sets node.type.
Expected<> inferNode(Module &module, NodeId node);

// All functions, callees before callers (a recursive function needs a declared
// result type). Collects several errors.
Expected<> inferTypes(Module &module);

// LIMIT when there are too many functions, or calls nest or repeat beyond measure
// (inferTypes() checks this, too).
Expected<> checkCalls(const Module &module);

// Checks an operator call's attributes against its OpInfo: unknown key (with
// the nearest), missing required one, wrong kind; fills nothing in. Returns the
// dictionary to store: kinds normalised, defaults dropped.
Expected<AttrDict> checkAttrs(OpId op, AttrDict attrs, const SourceLocation &location);

// True when a value of type `actual` may stand where `wanted` is asked for:
// equal, or `wanted` has unknown dims where `actual` has any.
bool isAssignable(const Module &module, TypeId actual, TypeId wanted);

} // namespace bycc
