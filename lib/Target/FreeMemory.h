// What the system says about memory.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace bycc {

// "VmData:  123 kB" of a file of /proc, in bytes; 0 when it is not there.
inline uint64_t procValue(const char *file, const std::string &key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(key))
      return std::strtoull(line.c_str() + key.size(), nullptr, 10) << 10;
  return 0;
}

// Bytes that can be had without swapping; UINT64_MAX when the system does not say.
inline uint64_t freeMemory() {
  uint64_t free = procValue("/proc/meminfo", "MemAvailable:");
  return free ? free : UINT64_MAX;
}

} // namespace bycc
