// Arguments as clang and opt users write them: an option takes one dash or two, `--x=v` or
// `--x v`; -O3, -j2, -ofile need no '='; after `--` there are no options. A misspelt option
// is answered with the nearest.
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/Support/OptionInfo.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

// An argument: an option with its value, or what is none.
struct GivenOption {
  const OptionInfo *option = nullptr; // null: `value` is a positional argument
  std::string value;
};

// USAGE with the first argument that is wrong. Whether a value is a good one, the store says.
Expected<std::vector<GivenOption>> readOptionArguments(std::span<const OptionInfo *const> table,
                                                       std::span<const std::string> arguments);

const OptionInfo *findOption(std::span<const OptionInfo *const> table, std::string_view name);
// "unknown option 'ARGUMENT', did you mean '--x'?"
std::string unknownOption(std::span<const OptionInfo *const> table, std::string_view argument,
                          std::string_view name);
// "--nan: bad value 'x', it takes keep|fast"; `wanted`: "", or what it takes.
Error badOptionValue(const OptionInfo &option, std::string_view value, std::string_view wanted);

} // namespace bycc
