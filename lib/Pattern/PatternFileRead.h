// What readers of patterns and of rewrites share.
#pragma once

#include "bycc/Pattern/Pattern.h"

namespace bycc {

// The `where` array of a pattern.
Expected<std::vector<PatternCondition>> readWhere(const JsonValue &array, const Pattern &pattern,
                                                  const std::string &pointer,
                                                  const std::string &file);

} // namespace bycc
