// Finding composites and forming them. Two ways: vendor by vendor, each match
// claimed as it is found; or every match of every pattern written down, overlapping
// ones too, and those claimed that somebody chooses.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Pattern/Matcher.h"
#include "bycc/Target/PassContext.h"
#include "bycc/Target/Vendor.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bycc {

// A composite that could be formed: its last step, after those that form the
// composites in it.
struct CompositeCandidate {
  struct Step {
    const Pattern *pattern;
    Match match;
    std::string name; // of the composite
  };
  const Vendor *vendor = nullptr;
  std::vector<Step> steps;
  std::vector<NodeId> operators; // calls inside, in program order; the last is the root
  std::optional<double> offered; // microseconds that the vendor says it takes
  const std::string &name() const { return steps.back().name; }
  NodeId root() const { return steps.back().match.root; }
};

struct CompositeTable {
  // Of one root and one vendor; more are left out, with a warning.
  static constexpr uint32_t maxOfRoot = 24;
  std::vector<CompositeCandidate> candidates;
};

class CompositeFormer {
public:
  CompositeFormer(Module &module, PassContext &context);
  ~CompositeFormer();

  // Forms what the vendor's patterns match.
  void form(const Vendor &vendor);
  // Adds what they match to the table and changes nothing. Patterns over composites
  // are tried on those that forming gives.
  void record(const Vendor &vendor, CompositeTable &table);
  // Forms a candidate; no two that are claimed may overlap.
  void claim(const CompositeCandidate &candidate);
  // Puts the functions of composites in front of their calls; true when there are some.
  bool finish();

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace bycc
