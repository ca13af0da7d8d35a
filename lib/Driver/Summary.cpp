#include "Summary.h"

#include "bycc/Support/Phrases.h"

#include <cstdio>

namespace bycc {
namespace {

std::string sizeText(double bytes) {
  char text[32];
  if (bytes < 1024 * 1024)
    std::snprintf(text, sizeof text, "%.0f KiB", bytes / 1024);
  else
    std::snprintf(text, sizeof text, "%.1f MiB", bytes / 1048576);
  return text;
}

std::string vendorText(const OffloadTotals &part, const OffloadTotals &totals) {
  char text[128];
  std::snprintf(text, sizeof text, ", %.1f %% of FLOPs, %.1f MiB crosses the boundary",
                totals.flops > 0 ? 100 * part.offloadedFlops / totals.flops : 0.0,
                static_cast<double>(part.boundaryBytes) / 1048576);
  return counted(part.regions, "region") + ", " + std::to_string(part.offloadedOps) + " of " +
         counted(totals.ops, "op") + text;
}

} // namespace

std::string summaryLine(const SummaryFacts &facts) {
  const OffloadTotals &totals = facts.offload->totals;
  std::string line;
  for (const auto &[vendor, part] : facts.offload->byVendor)
    line += vendor + ": " + vendorText(part, totals) + " | ";
  line += "host: " + counted(totals.ops - totals.offloadedOps, "op");
  if (std::string returned = describeReturned(*facts.offload); !returned.empty())
    line += " (" + returned + ")";
  if (!facts.object.empty())
    line += " | " + facts.object + " " + sizeText(facts.objectBytes);
  if (facts.arenaBytes)
    line += ", arena " + sizeText(*facts.arenaBytes);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, ", %.1f s", facts.seconds);
  return line + seconds;
}

} // namespace bycc
