#include "Summary.h"

#include "bycc/Support/Phrases.h"
#include "bycc/Support/Quantity.h"

#include <cstdio>

namespace bycc {
namespace {

std::string vendorText(const OffloadTotals &part, const OffloadTotals &totals) {
  char share[48];
  std::snprintf(share, sizeof share, ", %.1f %% of FLOPs, ",
                totals.flops > 0 ? 100 * part.offloadedFlops / totals.flops : 0.0);
  return counted(part.regions, "region") + ", " + std::to_string(part.offloadedOps) + " of " +
         counted(totals.ops, "op") + share +
         boundaryText(part.boundaryBytes, sizeText(static_cast<double>(part.boundaryBytes), 0.05),
                      part.hasRunTimeSizes) +
         (part.hasRunTimeSizes ? " cross the boundary" : " crosses the boundary");
}

} // namespace

std::string summaryLine(const SummaryFacts &facts) {
  const OffloadTotals &totals = facts.offload->totals;
  std::string line;
  for (const auto &[vendor, part] : facts.offload->vendorParts())
    line += vendor + ": " + vendorText(part, totals) + (facts.offload->isEmulated(vendor) ? ", emulated | " : " | ");
  line += "host: " + counted(totals.ops - totals.offloadedOps, "op");
  if (std::string returned = describeReturned(*facts.offload); !returned.empty())
    line += " (" + returned + ")";
  if (std::string open = facts.offload->open.text(); !open.empty())
    line += " | " + open;
  if (!facts.object.empty())
    line += " | " + facts.object + " " + sizeText(facts.objectBytes);
  if (facts.arenaBytes)
    line += ", arena " + sizeText(*facts.arenaBytes);
  return line + ", " + secondsText(facts.seconds);
}

} // namespace bycc
