// --params=PATH: binds parameters of @main by name as constants.
#pragma once

#include "bycc/Compiler/InputFiles.h"
#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"

#include <string>

namespace bycc {

// PATH is a folder of NAME.npy, a STEM.params or a .safetensors file. Bound
// parameters leave @main's signature. A name that is no parameter, a wrong dtype
// or shape is Status::Arg. The files read are recorded.
Expected<> bindParams(Module &module, const std::string &path, InputFiles &files);

} // namespace bycc
