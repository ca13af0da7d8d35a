#include "CostEstimate.h"

#include "bycc/IR/LikelyExtents.h"
#include "bycc/IR/Op.h"

#include "Composites.h"

#include <algorithm>
#include <cstdio>

namespace bycc {

double bytesOf(const Module &module, TypeId type) {
  double bytes = 0;
  if (module.types.isTensor(type))
    bytes = likelyElements(module.types, type) *
            static_cast<double>(sizeInBytes(module.types.dtype(type)));
  else if (module.types.isTuple(type))
    for (TypeId field : module.types.fields(type))
      bytes += bytesOf(module, field);
  return bytes;
}

namespace {

// Calls that run as one, and what crosses their border.
struct Group {
  std::span<const NodeId> calls;
  std::string_view composite;
  std::span<const NodeId> operands;
  TypeId result;
};

double trafficTime(const Module &module, std::span<const NodeId> operands, TypeId result,
                   const CostRates &rates) {
  if (rates.microseconds || rates.bytesPerMicrosecond <= 0)
    return 0;
  double bytes = bytesOf(module, result);
  for (NodeId operand : operands)
    if (module.node(operand).kind != NodeKind::Function)
      bytes += bytesOf(module, module.type(operand));
  return bytes / rates.bytesPerMicrosecond;
}

// By the composite's own row, else by its operators'.
double timeOfGroup(const Module &module, const Group &group, const CostModel &model) {
  double flops = 0, mostFlops = -1, arithmetic = 0;
  NodeId heaviest;
  CostRates rates = model.rates; // of the heaviest
  for (NodeId call : group.calls) {
    double each = flopsOf(module, call);
    CostRates own = model.ratesOf(module, call);
    flops += each;
    arithmetic += own.arithmetic(each);
    if (each > mostFlops) {
      mostFlops = each;
      heaviest = call;
      rates = own;
    }
  }
  if (heaviest)
    if (std::optional<CostRates> own = model.ratesOf(group.composite, module, heaviest)) {
      rates = *own;
      arithmetic = rates.arithmetic(flops);
    }
  return rates.callMicroseconds +
         std::max(arithmetic, trafficTime(module, group.operands, group.result, rates));
}

} // namespace

double unitMicroseconds(const Module &module, NodeId unit, const CostModel &model) {
  if (module.node(unit).kind == NodeKind::CallOp) {
    CostRates rates = model.ratesOf(module, unit);
    return rates.callMicroseconds +
           std::max(rates.arithmetic(flopsOf(module, unit)),
                    trafficTime(module, module.operands(unit), module.type(unit), rates));
  }
  std::vector<NodeId> calls;
  forEachOperator(module, unit, [&](NodeId call) { calls.push_back(call); });
  std::optional<FunctionId> composite = compositeOf(module, unit);
  std::string_view name;
  if (composite)
    name = module.functionAttr(*composite, "Composite")->asString();
  return timeOfGroup(module, {calls, name, module.operands(unit), module.type(unit)}, model);
}

double fusedMicroseconds(const Module &module, NodeId call, const CostModel &model, double kept) {
  double alone = unitMicroseconds(module, call, model);
  std::optional<CostRates> inLoop = model.fusedRatesOf(module, call);
  if (!inLoop)
    return alone;
  auto traffic = [&](const CostRates &rates) {
    return trafficTime(module, module.operands(call), module.type(call), rates);
  };
  double computed = inLoop->callMicroseconds +
                    std::max(inLoop->arithmetic(flopsOf(module, call)), traffic(*inLoop));
  double rate = model.rates.bytesPerMicrosecond;
  double moved = rate > 0 ? std::max(0.0, traffic(model.rates) - kept / rate) : 0;
  return std::min(alone, computed + moved);
}

double groupMicroseconds(const Module &module, std::span<const NodeId> calls,
                         std::string_view composite, std::span<const NodeId> operands,
                         TypeId result, const CostModel &model) {
  return timeOfGroup(module, {calls, composite, operands, result}, model);
}

VendorTimes::VendorTimes(const Module &module, const Vendor &vendor, const TargetInfo &target,
                         const CostModel &hostCost)
    : module_(module), vendor_(vendor), asker_(vendor, module, target),
      model_(vendor.cost ? *vendor.cost : hostCost) {
  model_.threads = std::max(1, target.threads);
}

double VendorTimes::of(NodeId unit) {
  if (std::optional<FunctionId> composite = compositeOf(module_, unit);
      composite && vendorOfComposite(module_.functionAttr(*composite, "Composite")->asString()) !=
                       vendor_.name()) {
    double sum = 0; // it would be taken apart
    forEachOperator(module_, unit, [&](NodeId call) { sum += of(call); });
    return sum;
  }
  if (std::optional<double> said = vendor_.isEmulated() ? std::nullopt : asker_.costOf(unit))
    return *said;
  double launch = vendor_.cost ? 0 : model_.launchMicroseconds; // of host code, per operator
  return launch + unitMicroseconds(module_, unit, model_);
}

std::string timeText(double microseconds) {
  char text[48];
  if (microseconds < 1000)
    std::snprintf(text, sizeof text, "%.3g us", microseconds);
  else if (microseconds < 1e6)
    std::snprintf(text, sizeof text, "%.3g ms", microseconds / 1000);
  else
    std::snprintf(text, sizeof text, "%.3g s", microseconds / 1e6);
  return text;
}

} // namespace bycc
