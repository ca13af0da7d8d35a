// Which form each layer of a model runs fastest in, measured in place between its neighbours.
#pragma once

#include "Net.h"

namespace floor_bench {

struct Choice {
  std::vector<std::map<std::string, double>> times; // by layer and form, milliseconds
  std::vector<std::string> forms;                   // by layer, the chosen one
};

// Read from the file at `path` when it is there, else measured and written to it; an empty path:
// neither.
Choice choiceOf(const std::string &path, const std::vector<Layer> &layers);

} // namespace floor_bench
