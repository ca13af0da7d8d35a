// Data layouts as the operators name them: "NCHW", "NHWC", "OIHW". Upper-case
// letters are axes; blocked layouts ("NCHW8c") are refused by the users of this.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bycc::te {

struct AxisOrder {
  size_t batch = 0, channel = 0; // kernels: output (O), input (I)
  std::vector<size_t> spatial;   // D, H, W in this order
};

// False when the text is not one letter per axis.
inline bool parseLayout(const std::string &text, char first, char second, size_t numSpatial, AxisOrder &order) {
  size_t seen = 0;
  order.spatial.assign(numSpatial, 0);
  const std::string names = std::string("DHW").substr(3 - numSpatial);
  if (text.size() != numSpatial + 2)
    return false;
  for (size_t d = 0; d < text.size(); ++d) {
    size_t spatial = names.find(text[d]);
    if (text[d] == first)
      order.batch = d;
    else if (text[d] == second)
      order.channel = d;
    else if (spatial != std::string::npos)
      order.spatial[spatial] = d;
    else
      return false;
    ++seen;
  }
  return seen == text.size();
}

// Begins and ends of each spatial axis from 1, n or 2n numbers.
inline std::vector<std::pair<int64_t, int64_t>> parsePadding(const std::vector<int64_t> &padding, size_t numSpatial) {
  std::vector<std::pair<int64_t, int64_t>> pads(numSpatial, {0, 0});
  for (size_t d = 0; d < numSpatial && !padding.empty(); ++d) {
    if (padding.size() == 1)
      pads[d] = {padding[0], padding[0]};
    else if (padding.size() == numSpatial)
      pads[d] = {padding[d], padding[d]};
    else
      pads[d] = {padding[d], padding[d + numSpatial]};
  }
  return pads;
}

} // namespace bycc::te
