#include "bycc/Support/Quantity.h"

#include <cstdio>
#include <iterator>

namespace bycc {

std::string sizeText(double bytes, double firstMiB) {
  char text[32];
  if (bytes >= firstMiB * 1048576)
    std::snprintf(text, sizeof text, "%.1f MiB", bytes / 1048576);
  else if (bytes >= 1024)
    std::snprintf(text, sizeof text, "%.0f KiB", bytes / 1024);
  else
    std::snprintf(text, sizeof text, "%.0f B", bytes);
  return text;
}

std::string secondsText(double seconds) {
  int digits = seconds < 0.0095 ? 3 : seconds < 0.095 ? 2 : 1; // one that counts
  char text[32];
  std::snprintf(text, sizeof text, "%.*f s", digits, seconds);
  return text;
}

std::string flopsText(double flops) {
  const char *units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
  const char **unit = units;
  for (; flops >= 1000 && unit + 1 != std::end(units); ++unit)
    flops /= 1000;
  char text[48];
  std::snprintf(text, sizeof text, unit == units ? "%.0f %s" : "%.1f %s", flops, *unit);
  return text;
}

} // namespace bycc
