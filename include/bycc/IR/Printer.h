// Relay text of a module. Every call gets its own %n, so deep chains print and
// parse; globals come in alphabetical order, the version line first. What is
// printed parses to the same program.
#pragma once

#include "bycc/IR/Module.h"

#include <string>

namespace bycc {

struct PrintOptions {
  // Constants of more elements than this print as meta[relay.Constant][i] with
  // their data in #[metadata] (base64). Scalars always print inline.
  int64_t maxInlineElements = 16;
  // Elide data: `--elide-constants=N` prints constants above N elements without
  // data, with a comment; such text parses only with the data given elsewhere. < 0: off.
  int64_t elideAbove = -1;
  // Names of nodes and constants in #[metadata] as well, so that reports on the
  // program that is read back call them as before.
  bool keepNames = false;
  // For text that comes back (Parser/Relay.h, ParseOptions::base): calls carry
  // annotation.origin=NODE, constants keep their names, and with `givenConstants` they stand
  // in #[metadata] by number instead of with their data.
  bool origins = false, givenConstants = false;
  bool showTypes = false;   // /* ty=... */ comments
  bool showSources = false; // /* span=... */ comments
};

std::string printModule(const Module &module, const PrintOptions &options = {});
std::string printFunction(const Module &module, FunctionId function,
                          const PrintOptions &options = {});
// "%3", "%x" as the printer would name it cannot be known from outside; for
// messages: the node's source name, its hint, or the operator.
std::string describe(const Module &module, NodeId node);

} // namespace bycc
