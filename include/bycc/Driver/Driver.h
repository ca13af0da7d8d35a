// The commands of bycc and bycc-opt. Each prints its results to stdout (only
// what was asked for), diagnostics and progress to stderr, and returns the exit
// code of cli.md.
#pragma once

#include "bycc/Compiler.h"
#include "bycc/Driver/Options.h"

namespace bycc {

int compileCommand(const Options &options);  // bycc MODEL
int checkCommand(const Options &options);    // bycc check MODEL
int inspectCommand(const Options &options);  // bycc inspect MODEL
int extractCommand(const Options &options);  // bycc extract MODEL --region=SYMBOL
int patternCommand(const Options &options);  // bycc pattern MODEL --nodes=A,B --vendor=V
int reduceCommand(const Options &options);   // bycc reduce MODEL --script=FILE
int planDiffCommand(const Options &options); // bycc plan-diff A.json B.json
int explainCommand(const Options &options);  // bycc explain [BY0123|INPUT|all]
int libsCommand(const Options &options);     // bycc --libs net.json
int verifyCommand(const Options &options);   // bycc verify MODEL
int viewCommand(const Options &options);     // bycc view net.json
int optCommand(const Options &options);      // bycc-opt FILE; passes in options.passes.passes

// Runs a command in a child of this process, which must have no threads yet, and gives
// the files that it writes their names. A command that dies (signal, no memory, fatal
// error of LLVM, exit) leaves a message and no files. For programs.
int runApart(const Options &options, int (*command)(const Options &));

int listPasses(const Options &options);  // --list-passes
int listOps(const Options &options);     // --list-ops
int listOnnxOps(const Options &options); // --list-onnx-ops
int listVendors(const Options &options); // --list-vendors, --annotate=help

// Says what is wrong with a command line, as text or in the form of -fdiagnostics-format;
// returns the exit code.
int refuseLine(const std::string &program, const Error &error, std::string_view format);

// Names of all passes, for bycc-opt's flags and for suggestions.
std::vector<std::string> passNames();

} // namespace bycc
