// Questions about functions as wholes: to whom a body belongs, what is called.
#pragma once

#include "bycc/IR/Module.h"

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace bycc {

inline constexpr size_t maxFunctions = 10000; // of a program

// Is one of the attributes there, and not None, False or 0?
bool hasAnyAttr(const Module &module, FunctionId function,
                std::initializer_list<std::string_view> keys);

// True for functions whose body belongs to somebody else: a kernel (Primitive), a
// composite, a vendor's region, or one that asks to be left alone.
bool isClosedFunction(const Module &module, FunctionId function);

// Extents of parameters that NonEmpty lists, an attribute of @main, are never 0 from here on.
void setNonEmptySymbols(Module &module, FunctionId function);

// By FunctionId index, 1 for global functions that the roots, themselves among
// them, refer to, directly or through others.
std::vector<uint8_t> reachableFunctions(const Module &module, std::vector<FunctionId> roots);

// Params, body, result and attributes of `from` become those of `to`, which is empty. For bodies
// of one block (kernels, composites, regions). Functions inside are copied, too, or what they do
// stands in place of their calls.
enum class InnerFunctions : uint8_t { Copied, Inlined };
void copyFunctionInto(Module &module, FunctionId from, FunctionId to,
                      InnerFunctions inner = InnerFunctions::Copied);

} // namespace bycc
