// What a row of a table of options says to those who read it: parsers, help, manual pages,
// completions of shells, the C API. Where values go is the matter of the table's owner
// (Compiler/Options.def for bycc and bycc-opt, tools/bycc-run for its own).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bycc {

enum class OptionForm : uint8_t { Flag, Value, Optional }; // Optional: a value only as `=v`

namespace option_traits {
enum : uint8_t {
  None = 0,
  Common = 1,  // shown by --help; all are by --help-all
  Repeats = 2, // adds up; of others the last one counts
  OneDash = 4, // is written so, as compilers do; either is read
  Hidden = 8,  // in no text: for the build
};
}

struct OptionInfo {
  std::string_view names; // without dashes, "help|h": the first one is its name
  OptionForm form = OptionForm::Flag;
  std::string_view value; // "FILE", "keep|fast"
  // What shells offer for the value, "," before it for a list: "file", "folder", "pass",
  // "vendor", "op", or words "a|b|c"; "": the words of `value`, if it is such.
  std::string_view completes;
  uint8_t traits = option_traits::None;
  std::string_view help;  // one line
  std::string_view group; // its heading

  bool has(uint8_t trait) const { return (traits & trait) != 0; }
  std::vector<std::string> allNames() const;
  std::string name() const;
  bool isCalled(std::string_view name) const;
  std::string spelt() const { return spelt(name()); } // with dashes
  std::string spelt(std::string_view name) const;
  std::string speltWithValue() const;     // "--pin=NODE=VENDOR|host", "-o FILE", "--random[=SEED]"
  std::vector<std::string> words() const; // that the value can be, if they are fixed
};

} // namespace bycc
