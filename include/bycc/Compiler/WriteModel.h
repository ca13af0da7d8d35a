// A compiled model as files.
#pragma once

#include "bycc/Compiler/CompiledModel.h"
#include "bycc/Support/File.h"

#include <string>
#include <string_view>

namespace bycc {

// STEM.o, STEM.json, STEM.h, STEM.params and the text forms, as far as they were made, all at
// once or none. The stem's last part must be that of the request.
Expected<> writeModel(const CompiledModel &model, const std::string &stem);

// A model that is in memory, wherever that is: what its files hold. No header, no params: "".
struct ModelBytes {
  std::string_view object, graphJson, header, params;
};
// STEM.o, STEM.json, STEM.h and STEM.params of it, all at once or none. The stem is any: the
// graph JSON gets the names. LOAD for one that is none of bycc's.
Expected<> writeModel(const ModelBytes &model, const std::string &stem);

// The files of an object, which go together.
Expected<> addObjectFiles(OutputSet &files, const CompiledModel &model,
                          const std::string &objectPath, const std::string &stem);
// After the commit: params of an earlier build with weights would be taken for ours; ours stay
// where --cache-dir keeps them.
void settleParams(const CompiledModel &model, const std::string &stem);

} // namespace bycc
