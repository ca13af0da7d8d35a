// How many CPUs this process may use.
#pragma once

#include <cstdint>
#include <string>

namespace bycc::runtime {

inline constexpr int32_t maxThreads = 1024;

// CPUs that the calling thread may run on, 1 to maxThreads.
int32_t cpusOfAffinity();

// Whole CPUs that the control groups of this process allow per period, at least 1; 0: no
// limit. `root`: where /proc and /sys are.
int32_t cpusOfQuota(const std::string &root = "");

// The fewer of both: what a model uses when nobody says how many.
int32_t allowedCpus();

} // namespace bycc::runtime
