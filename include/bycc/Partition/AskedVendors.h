// Vendors that a program asks for by itself: in annotation.compiler_begin and
// _end, as Compiler of a function, in annotations beside nodes.
#pragma once

#include "bycc/IR/Module.h"

#include <string>
#include <vector>

namespace bycc {

struct AskedVendor {
  std::string name;
  SourceLocation place; // where it is asked for first
};

// Each once, in program order; `default`, the host, is left out.
std::vector<AskedVendor> askedVendors(const Module &module);

// Are there annotation.compiler_begin or _end in it?
bool hasBrackets(const Module &module);

} // namespace bycc
