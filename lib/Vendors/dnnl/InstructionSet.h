// What the target's processor has, and keeping the library to it.
#pragma once

#include <string>
#include <string_view>

namespace bycc::onednn {

// The instruction set that the library generates code for: "avx512_core_vnni".
std::string instructionSet();
// Keeps the library to what a target has ("avx2,avx512f,..."), from its first use on and
// for the whole process. True when it is then just that: the machine has it, too.
bool limitInstructionSet(std::string_view features);
// Whether that instruction set has a feature of LLVM's name; true for sets not known here.
bool libraryHas(std::string_view feature);

// Whether a list of features, by commas or blanks, has one of that name.
bool hasFeature(std::string_view features, std::string_view wanted);

} // namespace bycc::onednn
