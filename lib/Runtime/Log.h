// Messages of the library to whoever asked for them with bycc_set_log.
#pragma once

#include <string>

namespace bycc::runtime {

enum class LogLevel { Error = 0, Warning = 1, Info = 2 };
void logMessage(LogLevel level, const std::string &text);

} // namespace bycc::runtime
