// Resolves -target, -mcpu and -mattr to a TargetInfo.
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/Target/TargetInfo.h"

namespace bycc {

// Empty triple: this machine's. cpu "native": this machine's (only with its own
// triple); empty: the triple's baseline. attrs: "+avx2,-fma". An unknown CPU or
// feature is Status::Usage with the nearest name as a note, and so is one that code would not use.
Expected<TargetInfo> resolveTarget(const std::string &triple, const std::string &cpu,
                                   const std::string &attrs);

} // namespace bycc
