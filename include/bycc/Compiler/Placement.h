// The options that steer single nodes and regions, made ready for the passes.
#pragma once

#include "bycc/Compiler/CompileRequest.h"
#include "bycc/Compiler/InputFiles.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/Cost.h"
#include "bycc/Target/PassContext.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

#include <optional>
#include <string>
#include <vector>

namespace bycc {

class Session;
struct OffloadReport;

// --pin, --annotate-ops, --annotate-skip-ops, --partition-plan (the file is read
// here), --save-partition-plan. Usage errors: a vendor that is not in use, an
// operator that does not exist, orders beside a plan.
Expected<PlacementOrders> placementOrders(const VendorOptions &options, const VendorSet &vendors,
                                          InputFiles &files);
// What host code costs, as the shipped file says.
Expected<CostModel> hostCosts(const CompileOptions &options);
// Do costs decide what goes where (--cost-model; by default from -O1 up)?
bool comparesCosts(const CompileOptions &options);
// Of --search, else of the optimisation level.
SearchLimit searchLimit(const CompileOptions &options);

// The file of --save-partition-plan; the session has run its passes.
std::string partitionPlanText(Session &session, const OffloadReport &report);

// These options as they are recorded in a graph JSON.
std::vector<std::string> placementFlags(const VendorOptions &options);

} // namespace bycc
