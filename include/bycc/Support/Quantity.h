// Numbers with their units, as people read them.
#pragma once

#include <string>

namespace bycc {

// "64 B", "212 KiB", and from `firstMiB` MiB up "3.1 MiB".
std::string sizeText(double bytes, double firstMiB = 1);
// "0.004 s", "0.03 s", "12.4 s".
std::string secondsText(double seconds);
// "512 FLOP", "2.0 kFLOP", up to TFLOP.
std::string flopsText(double flops);

} // namespace bycc
