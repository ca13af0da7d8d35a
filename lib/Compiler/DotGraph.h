// The program as a Graphviz graph: operators, edges with their types, regions
// as coloured clusters (one colour a vendor), composites and kernels as boxes of
// several operators.
#pragma once

#include "bycc/IR/Module.h"

#include <string>

namespace bycc {

std::string dotGraph(const Module &module);

} // namespace bycc
