#include "Summary.h"

#include "bycc/Support/Phrases.h"
#include "bycc/Support/Quantity.h"
#include "bycc/Support/Text.h"

#include <cstdio>

namespace bycc {
namespace {

std::string vendorText(const std::string &vendor, const OffloadTotals &part,
                       const OffloadReport &report) {
  if (auto idle = report.idle.find(vendor); idle != report.idle.end() && part.regions == 0)
    return "0 regions (" + idle->second + ")";
  const OffloadTotals &totals = report.totals;
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
    line += vendor + ": " + vendorText(vendor, part, *facts.offload) +
            (facts.offload->isEmulated(vendor) ? ", emulated | " : " | ");
  line += "host: " + counted(totals.ops - totals.offloadedOps, "op");
  if (std::string returned = describeReturned(*facts.offload); !returned.empty())
    line += " (" + returned + ")";
  if (std::string open = facts.offload->open.text(); !open.empty())
    line += " | " + open;
  if (!facts.object.empty())
    line += " | " + escaped(facts.object) + " " + sizeText(facts.objectBytes);
  if (facts.arenaBytes)
    line += ", arena " + sizeText(*facts.arenaBytes);
  line += ", " + secondsText(facts.seconds);
  if (facts.offload->estimate)
    line += " | " + facts.offload->estimate->text();
  return line;
}

} // namespace bycc
