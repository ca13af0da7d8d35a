// Texts about a program that are made of its table of options: help, manual page, and
// completions for shells. Links nothing of the compiler.
#pragma once

#include "bycc/Support/OptionInfo.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bycc::cli {

struct Described {
  std::string text, meaning;
};

// A program as its texts show it.
struct ProgramTexts {
  std::string name;
  std::string summary;                 // a line without the name: "compile a neural network"
  std::vector<std::string> usage;      // lines: "bycc MODEL [-o OUT.o] [options]"
  std::vector<Described> examples;     // command, what it does
  std::vector<std::string> paragraphs; // what the program is
  std::vector<Described> commands;     // "check MODEL"; the first word is the command's name
  std::vector<Described> exitCodes, environment;
  std::vector<std::string> seeAlso; // "bycc(1)"
  std::string passFlags; // an option that lists names, each of which is a flag: "list-passes"
};

using OptionInfos = std::span<const OptionInfo>;

std::string helpText(const ProgramTexts &program, OptionInfos options, bool all);
std::string manPage(const ProgramTexts &program, OptionInfos options, const std::string &version);
std::string bashCompletion(const ProgramTexts &program, OptionInfos options);
std::string zshCompletion(const ProgramTexts &program, OptionInfos options);
std::string fishCompletion(const ProgramTexts &program, OptionInfos options);

// --print-text=WHAT, an option for the build: "man", "bash", "zsh", "fish".
std::string textFor(const std::string &what, const ProgramTexts &program, OptionInfos options,
                    const std::string &version);

} // namespace bycc::cli
