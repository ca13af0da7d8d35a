// Relay text -> Module. Several errors are collected (at most maxErrors), each with its
// place, the source line and a caret. Time and memory are linear in the text;
// `%n = ..;` lines and lets are flat, brackets and blocks nest at most 64 deep.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"
#include "bycc/Support/File.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bycc {

struct ParseOptions {
  // Folder in which metadata entries with a "file" member find their data; empty: refused.
  std::string dataFolder;
  // Opens such files; empty: mapContained().
  OpenContainedFn openData;
  // Constants that metadata of the text may refer to and that are given apart;
  // their entries follow those of the text.
  std::vector<Constant> extraConstants;
  // Gets what was passed over since it cannot change the program's meaning:
  // annotations of other tools, unused definitions. At most 20, if not null.
  std::vector<Diagnostic> *warnings = nullptr;
  size_t maxErrors = 20;
  // The program comes from somebody who was given that of this module, without global
  // functions by now: its nodes are added there, its constants may be those of the module
  // by number ({"given": i} in the metadata). Moved from; null: a new module.
  Module *base = nullptr;
  // Gets each node that says from which node of `base` it comes, by annotation.origin
  // (in JSON: "origin"); the numbers are not checked. Null: it is passed over.
  std::vector<std::pair<NodeId, uint32_t>> *origins = nullptr;
};

// A module, or a lone expression whose free variables become the parameters of
// @main. Every node is typed; `file` is for messages.
Expected<Module> parseRelay(std::string_view text, const std::string &file,
                            const ParseOptions &options = {});

} // namespace bycc
