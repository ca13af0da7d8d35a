// The same programs as JSON (share/schema/program.schema.json): flat lists of
// functions, blocks and constants, so that long chains do not nest.
#pragma once

#include "bycc/Parser/Relay.h"
#include "bycc/Support/Json.h"

namespace bycc {

Expected<Module> parseProgramJson(std::string_view text, const std::string &file,
                                  const ParseOptions &options = {});

struct ProgramJsonOptions {
  // As in PrintOptions (IR/Printer.h): "origin" of nodes, constants by number.
  bool origins = false, givenConstants = false;
};
// A value as programs in JSON have it: what is no finite number is {"float": "inf"}.
void writeJson(JsonWriter &json, const AttrValue &value);
std::string printProgramJson(const Module &module, const ProgramJsonOptions &options = {});

} // namespace bycc
