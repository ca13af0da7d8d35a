// What the loader says about files that are not written yet: a set that it would
// refuse is a fault of the compiler, and better found before the old set is gone.
#pragma once

#include "bycc/Support/Error.h"

#include <span>
#include <string>
#include <string_view>

namespace bycc::runtime {

struct SetContents {
  std::string_view graph, object;
  std::span<const std::string_view> params; // its pieces; empty when there is no such file
};

// Everything that the loader looks at before it asks for CPU, memory and vendors; no code
// of the object runs. LOAD errors name the rule that is broken, and the file by `stem`.
Expected<> checkSet(const SetContents &set, const std::string &stem);

} // namespace bycc::runtime
