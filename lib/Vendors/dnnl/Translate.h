// Region -> plan, one operator after the other: the table in Translate.cpp maps
// an operator to a function that adds steps. Composites are translated through
// their bodies; what belongs into one primitive is put together afterwards
// (Fuse.h), so no composite is known by name.
#pragma once

#include "Region.h"

#include <map>
#include <string>

namespace bycc::onednn {

// Grows a plan. Values are float32.
class PlanBuilder {
public:
  ValueId addInput(const Dims &dims);
  ValueId addConstant(const Dims &dims, uint64_t offset);
  ValueId addTemp(const Dims &dims);
  // Appends the step with a fresh result of these extents.
  ValueId addStep(Step step, const Dims &dims);
  // Views; the value itself when nothing changes.
  ValueId reshape(ValueId id, const Dims &dims);
  ValueId permute(ValueId id, const Dims &permutation);
  // Leading ones up to `rank`.
  ValueId padRank(ValueId id, size_t rank);
  const Dims &dims(ValueId id) const { return plan.values[id].dims; }

  Plan plan;
  std::string source; // for the steps that are added
};

// One node under translation.
struct Call {
  NodeReader node;
  const bycc_region &region;
  std::vector<ValueId> inputs;
  Dims result; // declared extents of its first result

  const bycc_value &value(size_t input) const {
    return region.values[node.node().inputs[input]];
  }
  std::optional<double> scalar(size_t input) const { return scalarOf(value(input)); }
};

// Adds the steps of one call; returns its result.
using Translate = Expected<ValueId> (*)(PlanBuilder &plan, const Call &call);
struct Operator {
  const char *name;
  uint32_t minInputs, maxInputs; // ~0u: any number
  Translate translate;
};

// The families' tables.
std::vector<Operator> convOperators();
std::vector<Operator> matMulOperators();
std::vector<Operator> elementwiseOperators();
std::vector<Operator> shapeOperators();

// A node the vendor cannot take, and why.
struct Refusal {
  static constexpr uint32_t unknown = ~0u;
  uint32_t node = 0; // in the outermost region
  std::string reason;
};

// Translates a whole region. On failure fills `refusal`.
std::optional<Plan> translateRegion(const bycc_region &region, Refusal &refusal);

} // namespace bycc::onednn
