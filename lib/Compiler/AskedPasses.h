// Passes that somebody other than the user asks for. They are added to default
// lists; a list given with --passes is taken as it is.
#pragma once

#include "bycc/Target/Vendor.h"
#include "bycc/Transforms/Pipeline.h"

#include <string>
#include <vector>

namespace bycc {

// The place of the first pass that deals with vendors; the end when there is none.
size_t beginOfPartition(const Pipeline &pipeline);

bool contains(const Pipeline &pipeline, std::string_view pass);

// What the program asks for, as --passes= takes it: attribute required_passes (a
// list of strings) of @main. A frontend sets it when it writes something that
// needs a pass; texts may have it as well.
std::vector<std::string> passesAskedByProgram(const Module &module);

// Puts these passes, where the list lacks them, at the earliest place at which
// they may run, at every level. Usage errors: an unknown pass, one that may run
// nowhere, one that is in `disabled`.
Expected<> addProgramPasses(Pipeline &pipeline, const Module &module, const PassRegistry &registry,
                            const std::vector<std::string> &disabled);

// Puts what each vendor asks for (Vendor::passes) before composites are formed, in
// the order of the vendors. An error when such a pass does not exist or may not run
// there.
Expected<> addVendorPasses(Pipeline &pipeline, const Module &module, const PassRegistry &registry,
                           const VendorSet &vendors);

} // namespace bycc
