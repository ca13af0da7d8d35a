// Ways to make a program smaller, for bycc reduce. Each is a list of things that the program
// has, in program order, and an edit that does away with some of them. What an edit leaves
// behind may break rules of types: the caller checks it.
#pragma once

#include "bycc/IR/Module.h"

#include <span>
#include <vector>

namespace bycc {

// How large a program is, what counts most first.
struct ProgramSize {
  size_t largeConstants = 0; // of more elements than are printed in place
  size_t operators = 0;
  size_t nodes = 0;                    // in lists: operators, calls, tuples, branches, ..
  size_t functions = 0, interface = 0; // the latter: parameters and results of @main
  size_t textBytes = 0;
  auto operator<=>(const ProgramSize &) const = default;
};
ProgramSize sizeOf(const Module &module); // without textBytes

struct ReduceMove {
  const char *name; // for -v
  // Of this kind, in the program; edits are told which of them by place in the list.
  size_t (*count)(const Module &module);
  // False when nothing can come of it.
  bool (*edit)(Module &module, size_t begin, size_t end);
};
std::span<const ReduceMove> reduceMoves(); // in the order in which they pay

// What no result needs.
void dropDeadNodes(Module &module);
void dropUnusedFunctions(Module &module);
void dropUnusedParams(Module &module); // of @main

// The function becomes @main of a program without the rest.
void makeMain(Module &module, FunctionId function);

} // namespace bycc
