// --cache-dir, for weights: a STEM.params of some size stays in the folder by a second name, and a
// build that would write the same bytes gives it one more instead. It is read-only from then on;
// outputs replace files and never write into them, and what changes one all the same is found by
// the hashes that are in it: then it is written as without.
#pragma once

#include "bycc/Compiler/CompiledModel.h"
#include "bycc/Support/ParamsFile.h"

#include <string>

namespace bycc {

// Its name there; "": too small to be kept.
std::string keptParamsPath(const std::string &folder, const SetId &setId,
                           const ParamsWriter &params);
// Is it there, whole, ours and read-only?
bool areParamsKept(const ModelParams &params);
// STEM.params has its name; where the folder cannot have it nothing happens.
void keepParams(const ModelParams &params, const std::string &output);

} // namespace bycc
