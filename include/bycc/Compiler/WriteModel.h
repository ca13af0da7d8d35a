// A compiled model as files.
#pragma once

#include "bycc/Compiler/CompiledModel.h"
#include "bycc/Support/File.h"

#include <string>

namespace bycc {

// STEM.o, STEM.json, STEM.h, STEM.params and the text forms, as far as they were made, all at
// once or none. The stem's last part must be that of the request.
Expected<> writeModel(const CompiledModel &model, const std::string &stem);

// The files of an object, which go together.
Expected<> addObjectFiles(OutputSet &files, const CompiledModel &model,
                          const std::string &objectPath, const std::string &stem);
// After the commit: params of an earlier build with weights would be taken for ours.
void removeStaleParams(const CompiledModel &model, const std::string &stem);

} // namespace bycc
