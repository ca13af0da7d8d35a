// The lines that differ between two texts, for --print-changed=diff.
#pragma once

#include <string>
#include <string_view>

namespace bycc {

// "-old", "+new" and up to three equal lines around each change; "" when equal.
std::string lineDiff(std::string_view before, std::string_view after);

} // namespace bycc
