// What the device can run. One function answers and translates, so that what
// supports() promises and what compile() does cannot differ.
#pragma once

#include "stream.h"

#include <optional>
#include <string>
#include <vector>

namespace examplenpu {

// A command whose operands are still values of the region.
struct Work {
  Command command = {};
  std::optional<kit::Value> a, b, c, out;
  double operations = 0; // multiplications or the like
};

// The work for a node, operator or composite. Refuses what the device cannot run; reasons
// are short, and say what was found and what is wanted.
Work translate(kit::Node node);

// The ways to run it: name and microseconds. The first is always possible.
struct Way {
  const char *name;
  double microseconds;
};
std::vector<Way> waysToRun(const Work &work);

} // namespace examplenpu
