// Region -> plan, one operator after the other: the table in Translate.cpp maps
// an operator to a function that adds steps. Composites are translated through
// their bodies; what belongs into one primitive is put together afterwards
// (Fuse.h), so no composite is known by name.
#pragma once

#include "Region.h"

#include <map>
#include <string>

namespace bycc::onednn {

// Grows a plan.
class PlanBuilder {
public:
  ValueId addInput(const Dims &dims, DType dtype);
  ValueId addConstant(const Dims &dims, DType dtype, ConstantBytes bytes);
  ValueId addTemp(const Dims &dims, DType dtype);
  // Appends the step with a fresh result of these extents, of the dtype of its first
  // operand or the one given.
  ValueId addStep(Step step, const Dims &dims);
  ValueId addStep(Step step, const Dims &dims, DType dtype);
  // Views; the value itself when nothing changes.
  ValueId reshape(ValueId id, const Dims &dims);
  ValueId permute(ValueId id, const Dims &permutation);
  // The part of these extents from `begin` on; `steps` empty: of neighbours.
  ValueId slice(ValueId id, const Dims &begin, const Dims &steps, const Dims &dims);
  // Leading ones up to `rank`.
  ValueId padRank(ValueId id, size_t rank);
  const Dims &dims(ValueId id) const { return plan.values[id].dims; }
  DType dtype(ValueId id) const { return plan.values[id].dtype; }

  Plan plan;
  std::string source; // for the steps that are added
};

// One node under translation.
struct Call {
  vendor::Node node;
  const bycc_region &region;
  std::vector<ValueId> inputs; // of its tensors
  Dims result;                 // declared extents of its result
  DType resultDType;
  uint32_t part; // which of its results

  const bycc_value &value(size_t input) const {
    return *bycc_value_at(&region, node.raw().inputs[input]);
  }
  std::optional<double> scalar(size_t input) const { return scalarOf(value(input)); }
};

// Adds the steps of one call; returns its result.
using Translate = Expected<ValueId> (*)(PlanBuilder &plan, const Call &call);
// Dtypes that an operator takes, for all of its tensors.
enum class Takes : uint8_t {
  Float,       // float32 or bfloat16, of one dtype
  FloatOr8Bit, // of one dtype
  FloatOr32Bit,
  Any,   // of one dtype
  Mixed, // looks at them itself
};
struct Operator {
  const char *name;
  uint32_t minInputs, maxInputs; // ~0u: any number
  Translate translate;
  Takes takes = Takes::Float;
  uint32_t maxTensors = ~0u; // further operands are numbers that `translate` looks at
  bool hasParts = false;     // several results, whose steps `translate` adds one by one
};

// The families' tables.
std::vector<Operator> convOperators();
std::vector<Operator> matMulOperators();
std::vector<Operator> elementwiseOperators();
std::vector<Operator> quantizedOperators();
std::vector<Operator> shapeOperators();

// What products of quantised operands need besides their plain form.
struct QuantizedOperands {
  int32_t zeroIn = 0, zeroWeights = 0;
  ValueId weights = noValue; // int8
};
Expected<ValueId> convolution(PlanBuilder &plan, const Call &call, size_t spatial,
                              bool isTransposed, const QuantizedOperands *quantized);
Expected<ValueId> averagePool2d(PlanBuilder &plan, const Call &call);
Expected<ValueId> dense(PlanBuilder &plan, const Call &call, const QuantizedOperands *quantized);
Expected<ValueId> matmul(PlanBuilder &plan, const Call &call, const QuantizedOperands *quantized);

// A node the vendor cannot take, and why.
struct Refusal {
  static constexpr uint32_t unknown = ~0u;
  uint32_t node = 0; // in the outermost region
  std::string reason;
};

// Translates a whole region. On failure fills `refusal`.
// Names of all operators in the table, a space between them.
std::string operatorNames();

std::optional<Plan> translateRegion(const bycc_region &region, Refusal &refusal);

} // namespace bycc::onednn
