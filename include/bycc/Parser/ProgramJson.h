// The same programs as JSON (share/schema/program.schema.json): flat lists of
// functions, blocks and constants, so that long chains do not nest.
#pragma once

#include "bycc/Parser/Relay.h"

namespace bycc {

Expected<Module> parseProgramJson(std::string_view text, const std::string &file,
                                  const ParseOptions &options = {});
std::string printProgramJson(const Module &module);

} // namespace bycc
