// STEM.h: what a C program needs to call a compiled model.
#pragma once

#include "Interface.h"

#include <string>

namespace bycc {

std::string cHeader(const std::string &moduleName, const ModelInterface &interface);

} // namespace bycc
