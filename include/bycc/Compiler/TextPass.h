// Passes that see a program as text: of another program, of a plugin, of another language.
// What they send back is parsed and typed like any other program, and stays the program
// that it was: nodes that say where they come from (annotation.origin=N, in JSON "origin")
// keep their id, name and place, so that orders about nodes, refusals and reports go on
// speaking of them; constants that they were given by number stay the same bytes.
#pragma once

#include "bycc/Compiler/Extensions.h"
#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/PassContext.h"
#include "bycc/Transforms/PassRegistry.h"

#include <functional>
#include <string>
#include <vector>

namespace bycc {

struct TextForm {
  bool isJson = false;          // else Relay text
  bool hasConstantData = false; // else larger and named constants stand by number
};

// Gets the program, returns it as it shall be. In Relay text comments behind a call tell its
// type and where it comes from.
using TextPassFn = std::function<Expected<std::string>(const std::string &text, PassContext &)>;

// True when something changed. INPUT, with the place in what came back, for text that is no
// program, for other inputs and results of @main, and for what only bycc's own passes make.
// The module is of no use after an error.
Expected<bool> runTextPass(Module &module, PassContext &context, const TextForm &form,
                           const std::string &who, const TextPassFn &pass);

// A pass for Compiler::addPass(): of any level up, before annotations stand beside nodes.
PassInfo textPass(std::string name, int level, std::string description, TextForm form,
                  TextPassFn pass);

// Passes of plugins that a request names, for the lists and registry of one compilation. LOAD
// for what cannot be loaded, and for a place that is no pass.
Expected<std::vector<Extensions::Pass>> passesOfPlugins(const std::vector<std::string> &plugins,
                                                        const PassRegistry &registry);

// pipe{PROGRAM,args=WORDS,timeout=SECONDS,form=relay|json,constants=given|data}
Expected<bool> pipeThroughProgram(Module &module, PassContext &context);

} // namespace bycc
