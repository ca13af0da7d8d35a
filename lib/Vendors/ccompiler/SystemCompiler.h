// The system's C compiler: C text in, relocatable object out.
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/vendor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bycc::ccompiler {

// The compiler is the option cc, else $CC, else cc; words after the first are passed on. The
// text goes in through standard input, so no path gets into the object. UNSUP with the
// reason when there is no compiler or it fails. With BYCC_CCOMPILER_KEEP=DIR the text stays
// in DIR/<name>.c.
Expected<std::vector<uint8_t>> compileC(const std::string &text, const std::string &name,
                                        const bycc_target &target);

// -m options for the target's features; features no C compiler names are left out.
std::vector<std::string> machineFlags(const std::string &features);

} // namespace bycc::ccompiler
