// STEM.h: what a C program needs to call a compiled model.
#pragma once

#include "bycc/Compiler/Interface.h"

#include <string>

namespace bycc {

// `setId`: of the build, in hexadecimal; "": there is none.
std::string cHeader(const std::string &moduleName, const ModelInterface &interface,
                    const std::string &setId);

} // namespace bycc
