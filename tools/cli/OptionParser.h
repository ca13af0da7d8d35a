// A command line, read by a table of options. CLI11 gets its arguments as
// Support/OptionArguments has read them: by itself it takes `-mcpu=native` for
// `-m cpu=native`.
#pragma once

#include "bycc/Support/OptionArguments.h"

#include <string>
#include <vector>

namespace bycc::cli {

struct ReadLine {
  std::vector<GivenOption> options; // in the order given
  std::vector<std::string> positional;
};

Expected<ReadLine> readLine(const std::string &program,
                            const std::vector<const OptionInfo *> &table,
                            const std::vector<std::string> &arguments);

} // namespace bycc::cli
