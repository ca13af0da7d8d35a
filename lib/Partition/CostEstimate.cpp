#include "CostEstimate.h"

#include "bycc/IR/Op.h"

#include "Composites.h"

#include <algorithm>
#include <cstdio>

namespace bycc {

double bytesOf(const Module &module, TypeId type) {
  double bytes = 0;
  for (TypeId tensor : module.types.flatten(type)) {
    if (!module.types.isTensor(tensor))
      continue;
    double elements = 1;
    for (Dim dim : module.types.shape(tensor))
      elements *= static_cast<double>(module.types.likely(dim));
    bytes += elements * static_cast<double>(sizeInBytes(module.types.dtype(tensor)));
  }
  return bytes;
}

double unitMicroseconds(const Module &module, NodeId unit, const CostModel &model) {
  double arithmetic = 0, mostFlops = -1;
  const CostRates *heaviest = &model.rates;
  forEachOperator(module, unit, [&](NodeId call) {
    const OpInfo &info = opInfo(module.node(call).op);
    double flops = info.flops ? info.flops(module, call) : 0;
    const CostRates &rates = model.ratesOf(module.node(call).op);
    if (rates.flopsPerMicrosecond > 0)
      arithmetic += flops / rates.flopsPerMicrosecond;
    if (flops > mostFlops) {
      mostFlops = flops;
      heaviest = &rates;
    }
  });
  double bytes = bytesOf(module, module.type(unit));
  for (NodeId operand : module.operands(unit))
    if (module.node(operand).kind != NodeKind::Function)
      bytes += bytesOf(module, module.type(operand));
  double traffic = heaviest->bytesPerMicrosecond > 0 ? bytes / heaviest->bytesPerMicrosecond : 0;
  return std::max(arithmetic, traffic);
}

double VendorTimes::of(NodeId unit) {
  if (std::optional<FunctionId> composite = compositeOf(module_, unit);
      composite &&
      vendorOfComposite(module_.functionAttr(*composite, "Composite")->asString()) != vendor_.name()) {
    double sum = 0; // it would be taken apart
    forEachOperator(module_, unit, [&](NodeId call) { sum += of(call); });
    return sum;
  }
  std::optional<double> said = vendor_.isEmulated() ? std::nullopt : asker_.costOf(unit);
  return said ? *said : unitMicroseconds(module_, unit, *vendor_.cost);
}

double transferMicroseconds(double bytes, const CostModel &model) {
  double rate = model.transferBytesPerMicrosecond;
  return model.transferMicroseconds + (rate > 0 ? bytes / rate : 0);
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
