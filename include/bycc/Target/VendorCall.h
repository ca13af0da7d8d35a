// Calls of vendors' code in this process: questions, which are too many for a
// process of their own. A crash, or no answer in time, ends bycc with exit code 70
// and the name of the vendor; an exception is told to the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace bycc {

// Turns the watch on, for the whole process: signal handlers that act while a
// vendor is called and leave all else as it is. For programs; without it a crash
// is a crash.
void watchVendorCalls(double timeoutSeconds);

// Calls `call` and returns its result; `failure`, and `thrown` filled in, when it
// throws. `doing` is for messages: "asked about nn.relu".
int32_t callVendor(std::string_view vendor, std::string_view doing, int32_t failure,
                   std::string &thrown, const std::function<int32_t()> &call);

} // namespace bycc
