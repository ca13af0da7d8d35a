// What refusals cost: the time that the plan would gain if a vendor took what it
// refused, and what would make one region of two. Filled by the pass that chooses the
// plan when the context asks for it, shown by bycc check --prices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bycc {

class JsonWriter;
struct OffloadReport;

// Refusals of one vendor, operator and reason, lifted together.
struct RefusalPrice {
  std::string vendor, op, reason;
  std::vector<std::string> nodes; // names, program order
  double gainUs = 0;              // of the plan's estimate; may be below 0
  int64_t regions = 0;            // of the plan without them
};

// Two regions of one vendor, and what would make them one.
struct BoundaryPrice {
  std::string first, second;     // symbols, "" until they are known
  std::string why;               // they are apart
  std::optional<size_t> price;   // lifting this one does; none: no single one does
  std::vector<std::string> dims; // so may fixing one of these, which the reason speaks of
};

struct RefusalPrices {
  bool isKnown = false;                  // filled; without costs nothing is
  double us = 0;                         // the estimate of the plan as it is
  bool hasVendors = false;               // several: they are named
  std::vector<RefusalPrice> prices;      // most gain first, those without any last
  size_t numUntried = 0;                 // groups of few nodes, beyond the limit
  std::vector<BoundaryPrice> boundaries; // in the order of RefusalLog::apart()

  // Calls regions by their symbols; drops pairs that are no longer two regions.
  void nameRegions(const OffloadReport &report);
  std::string text() const;
  std::string json() const;
};

// The document that json() is, as a value.
void writePrices(JsonWriter &json, const RefusalPrices &prices);

} // namespace bycc
