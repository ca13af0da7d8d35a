#include "PlanCosts.h"

#include "bycc/IR/Op.h"

#include "Composites.h"
#include "Scopes.h"

#include <algorithm>
#include <cmath>

namespace bycc {

namespace {

constexpr double longest = 1e15; // picoseconds; some twenty minutes

bool isHeavy(const Module &module, NodeId call) {
  return opInfo(module.node(call).op).kind == OpKind::OutFusable;
}

// May it have fewer rows at run time than it counts as?
bool isOpen(const Module &module, NodeId call) {
  auto hasOpen = [&](NodeId value) {
    TypeId type = module.type(value);
    return module.types.isTensor(type) &&
           std::ranges::any_of(module.types.shape(type),
                               [&](Dim dim) { return module.types.mayBeLess(dim); });
  };
  return hasOpen(call) || std::ranges::any_of(module.operands(call), hasOpen);
}

// Does a vendor without costs in its file say what some node takes?
bool offersTimes(const Module &module, const Vendor &vendor, const TargetInfo &target) {
  if (vendor.isEmulated())
    return false;
  VendorAsker asker(vendor, module, target);
  for (BlockId block : hostBlocks(module))
    for (NodeId node : module.block(block).nodes)
      if ((module.node(node).kind == NodeKind::CallOp || compositeOf(module, node)) &&
          !module.operands(node).empty() && asker.costOf(node))
        return true;
  return false;
}

} // namespace

bool comparesCosts(const Module &module, const PassContext &context) {
  if (!context.hostCost || !context.vendors)
    return false;
  const VendorSet &vendors = *context.vendors;
  for (size_t i = 0; i < vendors.size(); ++i)
    if (vendors[i].cost)
      return true;
  for (size_t i = 0; i < vendors.size(); ++i)
    if (offersTimes(module, vendors[i], *context.target))
      return true;
  return false;
}

double picoseconds(double microseconds) {
  return std::round(std::clamp(microseconds * 1e6, 0.0, longest));
}

PlanCosts::PlanCosts(Module &module, const PassContext &context)
    : module_(module), context_(context), hostCost_(*context.hostTimes()) {
  hostCost_.threads = std::max(1, context.target->threads);
  for (size_t i = 0; context.vendors && i < context.vendors->size(); ++i) {
    const Vendor &vendor = (*context.vendors)[i];
    Row row{&vendor, module.intern(vendor.name()),
            std::make_unique<VendorTimes>(module, vendor, *context.target, hostCost_),
            vendor.cost ? *vendor.cost : hostCost_};
    row.model.threads = hostCost_.threads;
    vendors_.push_back(std::move(row));
  }
  std::ranges::sort(vendors_, {}, [](const Row &row) { return row.vendor->name(); });
}

PlanCosts::~PlanCosts() = default;

uint32_t PlanCosts::numberOf(StringId name) const {
  auto found = std::ranges::find(vendors_, name, &Row::name);
  return found == vendors_.end() ? none : static_cast<uint32_t>(found - vendors_.begin()) + 1;
}

bool PlanCosts::isMeasured(uint32_t number) const {
  const Vendor &v = vendor(number);
  return v.cost && v.cost->isMeasured;
}

PlanProblem::Vendor PlanCosts::row(uint32_t number) const {
  const Vendor &v = vendor(number);
  PlanProblem::Vendor row;
  row.ownMemory = v.hasOwnMemory();
  row.merges = v.regionRules.merge && context_.vendors->mergeRegions;
  row.minOps = std::max(v.regionRules.minOps, context_.minRegionOps);
  row.minFlops = std::max(v.regionRules.minFlops, context_.minRegionFlops);
  if (!v.cost)
    return row;
  row.trust = v.cost->givenTrust().value_or(1);
  row.launch = std::round(picoseconds(v.cost->launchMicroseconds) * row.trust);
  row.transfer = std::round(picoseconds(v.cost->transferMicroseconds) * row.trust);
  if (double rate = v.cost->transferBytesPerMicrosecond; rate > 0)
    row.perByte = 1e6 / rate * row.trust;
  double layoutRate = v.cost->layoutBytesPerMicrosecond;
  row.perLaidOutByte = layoutRate > 0 ? 1e6 / layoutRate * row.trust : row.perByte;
  return row;
}

double PlanCosts::onHost(NodeId unit) const {
  double time = 0;
  forEachOperator(module_, unit, [&](NodeId call) {
    time += picoseconds(hostCost_.launchMicroseconds + unitMicroseconds(module_, call, hostCost_));
  });
  return time;
}

double PlanCosts::fusedOnHost(NodeId call, double kept) const {
  return picoseconds(hostCost_.launchMicroseconds +
                     fusedMicroseconds(module_, call, hostCost_, kept));
}

TilePrice PlanCosts::trusted(const Vendor &vendor, double microseconds,
                             std::span<const NodeId> calls) const {
  double raw = picoseconds(microseconds), trust = 1;
  if (vendor.cost) {
    std::optional<double> given = vendor.cost->givenTrust(), open = vendor.cost->openTrust;
    bool heavy = std::ranges::any_of(calls, [&](NodeId call) { return isHeavy(module_, call); });
    trust = heavy ? vendor.cost->trustInProducts() : given.value_or(1);
    if (open && heavy &&
        std::ranges::any_of(calls, [&](NodeId call) { return isOpen(module_, call); }))
      trust = *open;
  }
  return {std::round(raw * trust), raw};
}

TilePrice PlanCosts::of(uint32_t number, NodeId unit) {
  const Row &row = vendors_[number - 1];
  calls_.clear();
  forEachOperator(module_, unit, [&](NodeId call) { calls_.push_back(call); });
  return trusted(*row.vendor, row.times->of(unit), calls_);
}

TilePrice PlanCosts::of(uint32_t number, const CompositeCandidate &candidate) const {
  const Row &row = vendors_[number - 1];
  double time = candidate.offered
                    ? *candidate.offered
                    : groupMicroseconds(module_, candidate.operators, candidate.name(),
                                        candidate.steps.back().match.leaves,
                                        module_.type(candidate.root()), row.model);
  return trusted(*row.vendor, time, candidate.operators);
}

} // namespace bycc
