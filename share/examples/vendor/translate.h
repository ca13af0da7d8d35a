// What the device can run. One function answers and translates, so that what
// supports() promises and what compile() does cannot differ.
#pragma once

#include "stream.h"

#include <bycc/vendor.h>

#include <string>
#include <vector>

namespace examplenpu {

// A command whose operands are still values of the region.
struct Work {
  Command command = {};
  const bycc_value *a = nullptr, *b = nullptr, *c = nullptr, *out = nullptr;
  double operations = 0; // multiplications or the like
};

// "" and the work for a node, operator or composite; else why the device cannot run
// it. Reasons are short, and say what was found and what is wanted.
std::string translate(const bycc_region &region, const bycc_node &node, Work &work);

// The ways to run it: name and microseconds. The first is always possible.
struct Way {
  const char *name;
  double microseconds;
};
std::vector<Way> waysToRun(const Work &work);

} // namespace examplenpu
