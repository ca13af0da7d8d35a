#include "Log.h"

#include "bycc/runtime.h"

#include <mutex>

namespace bycc::runtime {

static std::mutex logMutex;
static bycc_log_fn logFunction = nullptr;
static void *logUser = nullptr;

void logMessage(LogLevel level, const std::string &text) {
  std::lock_guard lock(logMutex);
  if (logFunction)
    logFunction(logUser, static_cast<int32_t>(level), text.c_str());
}

} // namespace bycc::runtime

extern "C" void bycc_set_log(bycc_log_fn log, void *user) {
  std::lock_guard lock(bycc::runtime::logMutex);
  bycc::runtime::logFunction = log;
  bycc::runtime::logUser = user;
}
