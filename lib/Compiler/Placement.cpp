#include "bycc/Compiler/Placement.h"

#include "bycc/Compiler/Session.h"
#include "bycc/IR/OnnxNames.h"
#include "bycc/IR/Op.h"
#include "bycc/Partition/RecordPlan.h"
#include "bycc/Support/GraphSet.h"
#include "bycc/Support/Json.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/PartitionPlan.h"
#include "bycc/Target/VendorRegistry.h"

#include <algorithm>

extern "C" const char host_costs[]; // patterns/host.json

namespace bycc {
namespace {

Expected<> checkVendor(const std::string &vendor, const VendorSet &vendors) {
  std::vector<std::string> known = {"host"};
  for (size_t i = 0; i < vendors.size(); ++i)
    known.push_back(vendors[i].name());
  if (std::ranges::find(known, vendor) != known.end())
    return {};
  return (error(Status::Usage).as(MessageId::UnknownVendor)
          << "--pin: vendor '" << escaped(vendor) << "' is not in use" << didYouMean(vendor, known))
      .note("--annotate says which vendors are");
}

// A name close by; of a glob that stands for nothing, one that has what may be in front: conv* is
// not nn.conv2d.
std::string nearbyGlob(const std::string &glob, const std::vector<std::string> &known) {
  std::string wider = "*" + glob;
  if (glob.find('*') == std::string::npos ||
      std::ranges::none_of(known, [&](const std::string &op) { return matchesGlob(wider, op); }))
    return didYouMean(glob, known);
  return ", did you mean '" + escaped(wider) + "'?";
}

// Globs of operators; ONNX's names stand for the operators that they become.
Expected<std::vector<std::string>> operatorGlobs(const char *option,
                                                 const std::vector<std::string> &globs) {
  std::vector<std::string> known = allOpNames(), result;
  for (const std::string &glob : globs) {
    if (std::ranges::any_of(known, [&](const std::string &op) { return matchesGlob(glob, op); })) {
      result.push_back(glob);
      continue;
    }
    std::vector<std::string> operators = operatorsOfOnnx(glob);
    if (operators.empty())
      return error(Status::Usage).as(MessageId::NoOperatorNamed)
             << option << ": no operator is called '" << escaped(glob) << "'"
             << nearbyGlob(glob, known);
    result.insert(result.end(), operators.begin(), operators.end());
  }
  return result;
}

// A plan says where every node goes: there is nothing left to order.
Expected<std::shared_ptr<const PartitionPlan>>
readPlanFor(const VendorOptions &options, const VendorSet &vendors, InputFiles &files) {
  if (!options.pins.empty() || !options.annotateOps.empty() || !options.annotateSkipOps.empty())
    return error(Status::Usage)
           << "--partition-plan says where every node goes: --pin, --annotate-ops and "
              "--annotate-skip-ops cannot stand beside it";
  std::string text = BYCC_TRY(files.read(options.plan));
  auto plan = std::make_shared<PartitionPlan>(BYCC_TRY(readPlan(text, options.plan)));
  for (const PlanNode &node : plan->nodes)
    if (node.place != "host" && !vendors.find(node.place))
      return (error(Status::Arg) << "--partition-plan: '" << escaped(node.name)
                                 << "' is to go to vendor '" << escaped(node.place)
                                 << "', which is not in use")
          .note("--annotate says which vendors are");
  return std::shared_ptr<const PartitionPlan>(std::move(plan));
}

} // namespace

Expected<PlacementOrders> placementOrders(const VendorOptions &options, const VendorSet &vendors,
                                          InputFiles &files) {
  PlacementOrders orders;
  for (const auto &[nodes, vendor] : options.pins) {
    std::string name = vendorCalled(
        vendor, [&](const std::string &each) { return vendors.find(each) != nullptr; });
    BYCC_TRY(checkVendor(name, vendors));
    orders.pins.push_back({nodes, name});
  }
  orders.onlyOps = BYCC_TRY(operatorGlobs("--annotate-ops", options.annotateOps));
  orders.skipOps = BYCC_TRY(operatorGlobs("--annotate-skip-ops", options.annotateSkipOps));
  orders.keepProgram = options.savesPlan;
  if (!options.plan.empty())
    orders.plan = BYCC_TRY(readPlanFor(options, vendors, files));
  return orders;
}

bool comparesCosts(const CompileOptions &options) {
  const std::string &model = options.vendors.costModel;
  return model.empty() ? options.passes.level > 0 : model == "static";
}

Expected<CostModel> hostCosts(const CompileOptions &options) {
  if (options.vendors.costModel == "measured")
    return error(Status::Unsup)
           << "--cost-model=measured is not supported yet: nothing is timed while "
              "compiling; static takes costs from files";
  const std::string file = "patterns/host.json";
  JsonValue root = BYCC_TRY(parseJson(host_costs, file));
  Vendor host("host");
  BYCC_TRY(readVendorMembers(root, "", file, host));
  return *host.cost;
}

// Measured on random graphs of 2,000 operators: some 0.2 s and some 5 s. Of 30 networks plans took
// 0.03 % less with more than 20,000 for each operator, and their search up to ten times as long.
SearchLimit searchLimit(const CompileOptions &options) {
  if (options.vendors.search)
    return {*options.vendors.search};
  int level = options.passes.level;
  return level >= 3 ? SearchLimit{20000000, 20000} : SearchLimit{level == 2 ? 400000u : 100000u};
}

namespace {

PlanTotals totalsOf(const OffloadReport &report) {
  PlanTotals totals{report.totals.regions, report.totals.boundaryBytes, {}};
  if (const auto &e = report.estimate)
    totals.estimate = {e->us, e->hostUs, e->bestSingleUs, e->boundUs, e->measuredShare};
  return totals;
}

} // namespace

std::string partitionPlanText(Session &session, const OffloadReport &report) {
  PartitionPlan plan;
  plan.modelHash = hexText(session.inputsHash());
  for (size_t i = 0; i < session.vendors().size(); ++i)
    plan.vendors.push_back(session.vendors()[i].name());
  plan.nodes =
      recordPlan(session.module(), *session.context().placement, session.context().refusals);
  plan.totals = totalsOf(report);
  return planText(plan);
}

std::vector<std::string> placementFlags(const VendorOptions &options) {
  std::vector<std::string> flags;
  for (const auto &[nodes, vendor] : options.pins)
    flags.push_back("--pin=" + nodes + "=" + vendor);
  if (!options.annotateOps.empty())
    flags.push_back("--annotate-ops=" + join(options.annotateOps, ","));
  if (!options.annotateSkipOps.empty())
    flags.push_back("--annotate-skip-ops=" + join(options.annotateSkipOps, ","));
  if (options.trustsHand)
    flags.push_back("--hand-annotations=trust");
  if (options.minRegionOps > 0)
    flags.push_back("--min-region-ops=" + std::to_string(options.minRegionOps));
  if (options.minRegionFlops > 0)
    flags.push_back("--min-region-flops=" + formatDouble(options.minRegionFlops));
  if (!options.costModel.empty())
    flags.push_back("--cost-model=" + options.costModel);
  if (options.search)
    flags.push_back("--search=" + std::to_string(*options.search));
  return flags;
}

} // namespace bycc
