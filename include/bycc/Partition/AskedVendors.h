// Vendors that a program asks for by itself: in annotation.compiler_begin and
// _end, as Compiler of a function, in annotations beside nodes.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace bycc {

struct AskedVendor {
  std::string name;
  SourceLocation place; // where it is asked for first
};

// Each once, in program order; `default`, the host, is left out.
std::vector<AskedVendor> askedVendors(const Module &module);

// INPUT error for a name in a program that none of `known` has.
Error unknownVendor(std::string_view name, const SourceLocation &place,
                    const std::vector<std::string> &known);

// Are there annotation.compiler_begin or _end in it?
bool hasBrackets(const Module &module);
// Are there functions that ask for a vendor and are not external ones?
bool hasVendorFunctions(const Module &module);

} // namespace bycc
