// The functions outside itself that compiled code may call.
#pragma once

#include <string_view>

namespace bycc::runtime {

// Address of a mem*, libm or 16-bit float conversion function; null when
// `name` is none of them.
void *externalAddress(std::string_view name);

} // namespace bycc::runtime
