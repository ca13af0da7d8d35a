// What the loader says about files that are not written yet: a set that it would
// refuse is a fault of the compiler, and better found before the old set is gone.
#pragma once

#include "bycc/Support/Error.h"

#include <string>
#include <string_view>

namespace bycc::runtime {

// A graph JSON with its checksum; LOAD errors name the rule that is broken.
Expected<> checkGraphText(std::string_view text, const std::string &path);

} // namespace bycc::runtime
