// Which of the features that an object was compiled for this machine lacks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bycc::runtime {

// `features` as LLVM spells them ("avx2,fma"; a leading '+' is ignored, "-x"
// says that x is not used). A name that is not known counts as missing.
std::vector<std::string> missingCpuFeatures(std::string_view features);

} // namespace bycc::runtime
