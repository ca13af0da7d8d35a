// What a compilation can make, as --emit names it: THE table of forms.
#pragma once

#include "bycc/Compiler/CompiledModel.h"

#include <span>
#include <string>
#include <string_view>

namespace bycc {

struct OutputFormInfo {
  const char *name;
  const char *suffix; // of the file: STEM.o
  bool isText;        // -o may name its file alone
  OutputForm form;
  std::string CompiledModel::*text; // null: it is several files
};

std::span<const OutputFormInfo> outputForms(); // Object first
const OutputFormInfo *findOutputForm(std::string_view name);

} // namespace bycc
