// See Translate.h. Walks a region in order, bodies of composites included, with
// one table of operators for all families.
#include "Translate.h"

#include "Recognize.h"

#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc::onednn {

namespace {

const std::map<std::string_view, Operator> &operators() {
  static const std::map<std::string_view, Operator> table = [] {
    std::map<std::string_view, Operator> all;
    for (auto family :
         {convOperators, matMulOperators, elementwiseOperators, quantizedOperators, shapeOperators})
      for (const Operator &op : family())
        all.emplace(op.name, op);
    return all;
  }();
  return table;
}

class RegionTranslator {
public:
  RegionTranslator(PlanBuilder &plan, const bycc_region &region, int depth)
      : plan_(plan), region_(region), uses_(vendor::Region(region)), depth_(depth),
        ids_(region.num_values, noValue) {}

  void bind(uint32_t value, ValueId id) { ids_[value] = id; }

  Expected<> translate(uint32_t &current) {
    findActivations();
    for (current = 0; current < region_.num_nodes; ++current) {
      const bycc_node &node = *bycc_node_at(&region_, current);
      if (node.source && *node.source)
        plan_.source = node.source;
      if (!isInside_[current])
        BYCC_TRY(translateNode(current));
      else if (activations_.count(current))
        BYCC_TRY(translateActivation(activations_.at(current), node));
    }
    return {};
  }

  // The plan's value for a value of the region; constants are added when first used.
  Expected<ValueId> idOf(uint32_t value) {
    if (ids_[value] == noValue) {
      const bycc_value &source = *bycc_value_at(&region_, value);
      BYCC_TRY(checkValue(source)); // of inputs of the region, too, that are no tensors of ours
      if (!source.data)
        return error(Status::Internal) << "value used before its definition";
      auto wanted =
          static_cast<uint64_t>(numElements(dimsOf(source)) * sizeInBytes(dtypeOf(source)));
      if (source.bytes < wanted)
        return error(Status::Internal)
               << "a constant has " << source.bytes << " bytes, wanted " << wanted;
      ids_[value] = plan_.addConstant(
          dimsOf(source), dtypeOf(source),
          ConstantBytes(ConstantBytes(), static_cast<const uint8_t *>(source.data)));
    }
    return ids_[value];
  }

private:
  void findActivations() {
    isInside_.assign(region_.num_nodes, false);
    for (uint32_t n = region_.num_nodes; n-- > 0;) {
      if (isInside_[n])
        continue;
      std::optional<Activation> found = recognizeActivation(region_, uses_, n);
      if (!found)
        continue;
      for (uint32_t inner : found->nodes)
        isInside_[inner] = true;
      activations_[n] = *found;
    }
  }

  Expected<> translateActivation(const Activation &activation, const bycc_node &root) {
    BYCC_TRY(checkValue(*bycc_value_at(&region_, root.outputs[0])));
    ValueId input = BYCC_TRY(idOf(activation.input));
    Step step;
    step.kind = StepKind::Eltwise;
    step.math = activation.math;
    step.alpha = activation.math == Math::Swish || activation.math == Math::Mish ? 1.0f : 0.0f;
    step.inputs = {input};
    Dims dims = plan_.dims(input);
    return finish(plan_.addStep(std::move(step), dims), root);
  }

  Expected<> finish(ValueId id, const bycc_node &node, uint32_t part = 0) {
    const bycc_value &declared = *bycc_value_at(&region_, node.outputs[part]);
    if (plan_.dims(id) != dimsOf(declared))
      return error(Status::Unsup) << node.op << ": result has shape " << text(plan_.dims(id))
                                  << ", the graph says " << text(dimsOf(declared));
    ids_[node.outputs[part]] = id;
    return {};
  }

  static uint32_t numTensors(const bycc_node &node, const Operator &op) {
    return std::min(node.num_inputs, op.maxTensors);
  }

  Expected<> checkOperands(const bycc_node &node, uint32_t numTensors) const {
    for (uint32_t i = 0; i < numTensors; ++i)
      BYCC_TRY(checkValue(*bycc_value_at(&region_, node.inputs[i])));
    for (uint32_t i = 0; i < node.num_outputs; ++i)
      BYCC_TRY(checkValue(*bycc_value_at(&region_, node.outputs[i])));
    return {};
  }

  Expected<> checkDTypes(const bycc_node &node, const Operator &op) const {
    Takes takes = op.takes;
    if (takes == Takes::Mixed)
      return {};
    DType wanted = dtypeOf(*bycc_value_at(&region_, node.outputs[0]));
    bool isTaken = isReal(wanted) || takes == Takes::Any ||
                   (takes == Takes::FloatOr8Bit && isQuantized(wanted)) ||
                   (takes == Takes::FloatOr32Bit && wanted == DType::Int32);
    if (!isTaken)
      return error(Status::Unsup) << "dtype " << name(wanted) << " is not supported";
    for (uint32_t i = 0; i < numTensors(node, op); ++i)
      if (DType found = dtypeOf(*bycc_value_at(&region_, node.inputs[i])); found != wanted)
        return error(Status::Unsup)
               << "operand of " << name(found) << " for a result of " << name(wanted);
    return {};
  }

  Expected<> translateNode(uint32_t number) {
    const bycc_node &node = *bycc_node_at(&region_, number);
    if (node.body)
      return translateBody(node);
    auto found = operators().find(node.op);
    if (found == operators().end())
      return error(Status::Unsup) << "oneDNN has no primitive for " << escaped(node.op);
    const Operator &op = found->second;
    if (node.num_inputs < op.minInputs || node.num_inputs > op.maxInputs)
      return error(Status::Unsup) << node.op << " with " << node.num_inputs << " operands";
    if (node.num_outputs != 1 && !op.hasParts)
      return error(Status::Unsup) << node.op << " with " << node.num_outputs << " results";
    BYCC_TRY(checkOperands(node, numTensors(node, op)));
    BYCC_TRY(checkDTypes(node, op));
    std::vector<ValueId> inputs;
    for (uint32_t i = 0; i < numTensors(node, op); ++i)
      inputs.push_back(BYCC_TRY(idOf(node.inputs[i])));
    for (uint32_t part = 0; part < node.num_outputs; ++part) {
      const bycc_value &result = *bycc_value_at(&region_, node.outputs[part]);
      Call call{
          vendor::Node(&region_, number), region_, inputs, dimsOf(result), dtypeOf(result), part};
      BYCC_TRY(finish(BYCC_TRY(op.translate(plan_, call)), node, part));
    }
    return {};
  }

  Expected<> translateBody(const bycc_node &node) {
    const bycc_region &body = *node.body;
    if (depth_ > 0)
      return error(Status::Unsup) << "a composite inside a composite";
    if (body.num_inputs != node.num_inputs || body.num_outputs != node.num_outputs)
      return error(Status::Internal) << "composite and body differ in their operands";
    BYCC_TRY(checkOperands(node, node.num_inputs));
    RegionTranslator inner(plan_, body, depth_ + 1);
    for (uint32_t i = 0; i < node.num_inputs; ++i)
      inner.bind(body.inputs[i], BYCC_TRY(idOf(node.inputs[i])));
    uint32_t current = 0;
    BYCC_TRY(inner.translate(current));
    for (uint32_t i = 0; i < node.num_outputs; ++i)
      ids_[node.outputs[i]] = BYCC_TRY(inner.idOf(body.outputs[i]));
    return {};
  }

  PlanBuilder &plan_;
  const bycc_region &region_;
  vendor::Uses uses_;
  int depth_;
  std::vector<ValueId> ids_;
  std::vector<bool> isInside_;
  std::map<uint32_t, Activation> activations_; // by root
};

Expected<Plan> translate(const bycc_region &region, uint32_t &current) try {
  PlanBuilder builder;
  RegionTranslator translator(builder, region, 0);
  std::vector<uint32_t> uses = vendor::Uses(vendor::Region(region)).reads;
  for (uint32_t i = 0; i < region.num_inputs; ++i) {
    const bycc_value &input = *bycc_value_at(&region, region.inputs[i]);
    // Not used: it is there for its extents. No tensor of ours: who uses it says so.
    if (!uses[region.inputs[i]] || !checkValue(input)) {
      builder.addInput({1}, DType::Float32);
      continue;
    }
    translator.bind(region.inputs[i], builder.addInput(dimsOf(input), dtypeOf(input)));
  }
  BYCC_TRY(translator.translate(current));
  for (uint32_t i = 0; i < region.num_outputs; ++i)
    builder.plan.outputs.push_back(BYCC_TRY(translator.idOf(region.outputs[i])));
  return std::move(builder.plan);
} catch (const vendor::Refusal &refusal) {
  return error(Status::Unsup) << refusal.what();
}

} // namespace

ValueId PlanBuilder::addInput(const Dims &dims, DType dtype) {
  plan.inputs.push_back(static_cast<ValueId>(plan.values.size()));
  plan.values.push_back({dtype, ValueKind::Input, plan.inputs.size() - 1, dims});
  return plan.inputs.back();
}

ValueId PlanBuilder::addConstant(const Dims &dims, DType dtype, ConstantBytes bytes) {
  plan.values.push_back({dtype, ValueKind::Constant, plan.constants.size(), dims});
  plan.constants.push_back(std::move(bytes));
  return static_cast<ValueId>(plan.values.size() - 1);
}

ValueId PlanBuilder::addTemp(const Dims &dims, DType dtype) {
  plan.values.push_back({dtype, ValueKind::Temp, 0, dims});
  return static_cast<ValueId>(plan.values.size() - 1);
}

ValueId PlanBuilder::addStep(Step step, const Dims &dims) {
  DType same = dtype(step.inputs[0]);
  return addStep(std::move(step), dims, same);
}

ValueId PlanBuilder::addStep(Step step, const Dims &dims, DType dtype) {
  step.source = source;
  step.output = addTemp(dims, dtype);
  plan.steps.push_back(std::move(step));
  return plan.steps.back().output;
}

ValueId PlanBuilder::reshape(ValueId id, const Dims &wanted) {
  if (dims(id) == wanted)
    return id;
  Step step;
  step.kind = StepKind::Reshape;
  step.inputs = {id};
  return addStep(std::move(step), wanted);
}

ValueId PlanBuilder::permute(ValueId id, const Dims &permutation) {
  Dims result;
  for (int64_t axis : permutation)
    result.push_back(dims(id)[static_cast<size_t>(axis)]);
  if (std::is_sorted(permutation.begin(), permutation.end()))
    return id;
  Step step;
  step.kind = StepKind::Permute;
  step.inputs = {id};
  step.permutation = permutation;
  return addStep(std::move(step), result);
}

ValueId PlanBuilder::slice(ValueId id, const Dims &begin, const Dims &steps, const Dims &wanted) {
  if (dims(id) == wanted)
    return id;
  Step step;
  step.kind = StepKind::Slice;
  step.inputs = {id};
  step.padBegin = begin;
  step.strides = steps;
  return addStep(std::move(step), wanted);
}

ValueId PlanBuilder::padRank(ValueId id, size_t rank) {
  Dims padded = dims(id);
  if (padded.size() < rank)
    padded.insert(padded.begin(), rank - padded.size(), 1);
  return reshape(id, padded);
}

std::optional<Plan> translateRegion(const bycc_region &region, Refusal &refusal) {
  Expected<Plan> plan = translate(region, refusal.node);
  if (plan)
    return plan.takeValue();
  refusal.reason = plan.error().message();
  return std::nullopt;
}

std::string operatorNames() {
  std::string names;
  for (const auto &[name, entry] : operators())
    names += (names.empty() ? "" : " ") + std::string(name);
  return names;
}

} // namespace bycc::onednn
