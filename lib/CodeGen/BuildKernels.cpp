// Operators as kernels: equal ones share code, chains of reshapes are views.
#include "BuildExtents.h"

#include "bycc/IR/Indices.h"
#include "bycc/Support/Element.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/RegionView.h"

#include <algorithm>

namespace bycc::codegen {
namespace {

std::string specText(const PackSpec &spec) {
  std::string text = std::to_string(spec.base) + "/" + std::to_string(spec.columns);
  if (spec.isPaired)
    text += "p" + std::to_string(spec.pairStride) + "." + std::to_string(spec.oddDim);
  for (const PackDim &dim : spec.dims)
    text += "," + std::to_string(dim.extent) + "*" + std::to_string(dim.stride);
  return text;
}

bool areOnes(const Module &module, const Constant &ints) {
  DType type = module.types.dtype(ints.type);
  for (int64_t i = 0; i < static_cast<int64_t>(ints.bytes) / sizeInBytes(type); ++i)
    if (elementAsDouble(type, ints.data(), i) != 1)
      return false;
  return true;
}

} // namespace

Expected<> ProgramBuilder::addPrimitive(NodeId call, FunctionId function,
                                        const std::vector<NodeId> &operands, Env &env) {
  Env inner;
  const std::vector<NodeId> params = m_.function(function).params;
  for (size_t a = 0; a < params.size(); ++a)
    inner.values[params[a].index] = BYCC_TRY(valuesOf(operands[a], env));
  const Block &body = m_.block(m_.function(function).body);
  std::vector<NodeId> sources;
  for (NodeId node : body.nodes)
    if (m_.node(node).kind == NodeKind::CallOp)
      sources.push_back(node);
  // A chain of reshapes is a view.
  bool isView = !sources.empty() && body.nodes.size() == sources.size();
  for (size_t i = 0; i < sources.size() && isView; ++i)
    isView = isCallWith(m_, sources[i], OpTrait::View) &&
             (i == 0 || m_.operands(sources[i])[0] == sources[i - 1]);
  auto isInside = [&](NodeId value) {
    return std::ranges::find(body.nodes, value) != body.nodes.end();
  };
  auto needsOther = [&](NodeId node) {
    if (isLibraryCall(m_, node))
      return true;
    auto operands = m_.operands(node);
    return checksIndices(m_, node) &&
           (isInside(operands[1]) ||
            (isInside(operands[0]) && !m_.types.isStatic(m_.type(operands[0]))));
  };
  if (std::any_of(sources.begin(), sources.end(), needsOther)) {
    // A group written by hand, or extents that the group itself gives: its operators run one by
    // one.
    BYCC_TRY(addBlock(m_.function(function).body, inner, 1));
    env.values[call.index] = BYCC_TRY(valuesOf(body.result, inner));
    return {};
  }
  isView = isView && body.result == sources.back();
  ValueId base = isView ? BYCC_TRY(valuesOf(m_.operands(sources[0])[0], inner))[0] : none;
  for (NodeId node : sources)
    if (checksIndices(m_, node))
      BYCC_TRY(addIndexCheck(node, inner));
  Outside outside(*this, inner);
  Group group = BYCC_TRY(lowerFunction(m_, function, outside));
  return addGroup(call, std::move(group), sources, base, env, inner);
}

Expected<> ProgramBuilder::addCallOp(NodeId id, Env &env) {
  OpId op = m_.node(id).op;
  if (op == ops::strided_set && BYCC_TRY(addSetRows(id, env)))
    return {};
  if (checksIndices(m_, id))
    BYCC_TRY(addIndexCheck(id, env));
  if (isLibraryCall(m_, id))
    return addLibrary(id, env);
  ValueId base =
      opInfo(op).has(OpTrait::View) ? BYCC_TRY(valuesOf(m_.operands(id)[0], env))[0] : none;
  Outside outside(*this, env);
  Group group = BYCC_TRY(lowerCall(m_, id, outside));
  return addGroup(id, std::move(group), {id}, base, env, env);
}

Expected<> ProgramBuilder::addGroup(NodeId node, Group group, const std::vector<NodeId> &sources,
                                    ValueId viewed, Env &env, const Env &inner) {
  BYCC_TRY(addRequirements(group, node));
  if (viewed == none) {
    env.values[node.index] = BYCC_TRY(addKernel(std::move(group), sources, m_.type(node), inner));
    return {};
  }
  std::vector<Ref> dims;
  for (Ref extent : group.kernel.buffers[group.outputs[0]].shape)
    dims.push_back(translate(group.kernel.exprs, extent, group.dims, p_.exprs));
  env.values[node.index] = {addView(node, viewed, sources, std::move(dims))};
  bindSymbols(m_.type(node), env.values[node.index][0]);
  return {};
}

ValueId ProgramBuilder::addView(NodeId node, ValueId base, const std::vector<NodeId> &sources,
                                std::vector<Ref> dims) {
  TypeId type = m_.type(node);
  Value value = p_.values[base];
  value.type = type;
  value.dims = std::move(dims);
  value.alias = base;
  value.isBound = value.isUpdate = false;
  value.memory = value.spare = none;
  value.output = none;
  value.entry = {none, 0};
  ValueId made = addValue(value);
  unreadViews_.emplace(
      made,
      CodeGraphNode{
          CodeGraphNode::Kind::Alias, nodeName(m_, sources.back()), "", sources, {}, {type}, {}});
  return made;
}

const Constant *ProgramBuilder::constantIn(NodeId node, const Env &env) {
  if (m_.isConstant(node))
    return &m_.constant(node);
  auto values = valuesOf(node, env);
  if (!values || values->size() != 1)
    return nullptr;
  const Value &value = p_.values[p_.root((*values)[0])];
  return value.kind == Value::Kind::Constant ? &m_.constants[value.index] : nullptr;
}

std::string ProgramBuilder::kernelName(const std::vector<NodeId> &sources) {
  std::string name = options_.moduleName + "_fused";
  for (NodeId node : sources)
    if (name.size() < 80)
      name += "_" + asIdentifier(opInfo(m_.node(node).op).name);
  return name + "_" + std::to_string(p_.kernels.size());
}

Expected<uint32_t> ProgramBuilder::findKernel(Kernel kernel, const std::vector<NodeId> &sources) {
  auto [it, isNew] =
      kernelIds_.try_emplace(kernel.fingerprint(), static_cast<uint32_t>(p_.kernels.size()));
  if (isNew) {
    std::optional<Kernel> source;
    if (mayRunInStrips(kernel, target_))
      source = kernel;
    p_.kernels.push_back(
        BYCC_TRY(scheduler_.run(kernelName(sources), std::move(kernel), it->first, false)));
    p_.kernels.back().source = std::move(source);
  }
  return it->second;
}

Expected<std::vector<ValueId>> ProgramBuilder::addKernel(Group group,
                                                         const std::vector<NodeId> &sources,
                                                         TypeId resultType, const Env &env,
                                                         const char *suffix) {
  std::unordered_map<uint32_t, ValueId> ofBuffer;
  Instr instr;
  for (const GroupInput &input : group.inputs)
    ofBuffer[input.buffer] = BYCC_TRY(valuesOf(input.node, env))[input.field];
  instr.dims = group.dims;
  for (Ref dim : group.dims)
    group.kernel.likelyDims.push_back(p_.likely(dim));
  std::vector<uint32_t> outputs = group.outputs;
  instr.callee = BYCC_TRY(findKernel(std::move(group.kernel), sources));
  const KernelCode &code = p_.kernels[instr.callee];
  const Kernel &kernel = code.loops.kernel;

  ProfiledNode profiled{code.name, "", 0};
  for (NodeId node : sources) {
    profiled.addSource(nodeName(m_, node));
    profiled.flops += flopsOf(node);
  }
  instr.node = static_cast<uint32_t>(p_.nodes.size());
  CodeGraphNode report{CodeGraphNode::Kind::Kernel,
                       profiled.source,
                       code.name,
                       sources,
                       {},
                       m_.types.flatten(resultType),
                       {}};
  for (const GroupInput &input : group.inputs)
    report.inputs.push_back(entryOf(ofBuffer[input.buffer]));
  p_.nodes.push_back(std::move(profiled));
  if (sources.size() > 1)
    report.name = nodeName(m_, sources.back());
  report.name += suffix;
  uint32_t graphNode = addGraphNode(std::move(report));

  std::vector<ValueId> results;
  std::vector<TypeId> types = m_.types.flatten(resultType);
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value value;
    value.type = types[i];
    value.dtype = kernel.buffers[outputs[i]].type;
    for (Ref extent : kernel.buffers[outputs[i]].shape)
      value.dims.push_back(translate(kernel.exprs, extent, instr.dims, p_.exprs));
    value.entry = {graphNode, static_cast<uint32_t>(i)};
    results.push_back(addValue(value));
    bindSymbols(value.type, results.back());
    ofBuffer[outputs[i]] = results.back();
    instr.outputs.push_back(results.back());
  }
  for (uint32_t buffer : code.loops.arguments) {
    auto it = ofBuffer.find(buffer);
    ValueId value =
        it != ofBuffer.end() ? it->second : addScratch(code.loops, buffer, ofBuffer, instr);
    instr.arguments.push_back(value);
    if (kernel.buffers[buffer].role == Role::Input)
      instr.inputs.push_back(value);
  }
  // What only gives extents, or has no elements, is in the report: it lives as long.
  for (const GroupInput &input : group.inputs)
    if (ValueId value = ofBuffer[input.buffer];
        std::ranges::find(instr.inputs, value) == instr.inputs.end())
      if (p_.values[p_.root(value)].kind == Value::Kind::Buffer)
        instr.inputs.push_back(value);
  p_.instrs.push_back(std::move(instr));
  return results;
}

ValueId ProgramBuilder::addScratch(const Loops &loops, uint32_t buffer,
                                   const std::unordered_map<uint32_t, ValueId> &ofBuffer,
                                   Instr &instr) {
  Value value;
  value.dtype = loops.kernel.buffers[buffer].type;
  for (Ref extent : loops.kernel.buffers[buffer].shape)
    value.dims.push_back(translate(loops.kernel.exprs, extent, instr.dims, p_.exprs));
  for (const PackSpec &spec : loops.packs) {
    if (spec.packed != buffer || !loops.kernel.buffers[spec.source].isConstant)
      continue;
    ConstantId source(p_.values[p_.root(ofBuffer.at(spec.source))].index);
    auto [it, isNew] =
        packedIds_.try_emplace(std::to_string(source.index) + ":" + specText(spec), none);
    if (isNew) {
      value.kind = Value::Kind::Packed;
      value.index = static_cast<uint32_t>(p_.packed.size());
      p_.packed.push_back({source, spec});
      it->second = addValue(value);
    }
    return it->second;
  }
  ValueId made = addValue(value);
  instr.temps.push_back(made);
  return made;
}

Expected<bool> ProgramBuilder::addSetRows(NodeId id, Env &env) {
  std::vector<NodeId> operands(m_.operands(id).begin(), m_.operands(id).end());
  auto x = m_.types.shape(m_.type(operands[0])), v = m_.types.shape(m_.type(operands[1])),
       begin = m_.types.shape(m_.type(operands[2]));
  bool isRows = begin.size() == 1 && begin[0] == Dim(1) && !x.empty();
  for (size_t d = 1; d < x.size() && isRows; ++d)
    isRows = x[d] == v[d] && !x[d].isUnknown();
  const Constant *strides = constantIn(operands[4], env);
  if (!isRows || !strides || !areOnes(m_, *strides))
    return false;
  std::string name = nodeName(m_, id);
  Instr instr;
  instr.kind = Instr::Kind::SetRows;
  for (size_t i = 0; i < 3; ++i)
    instr.inputs.push_back(BYCC_TRY(valuesOf(operands[i], env))[0]);
  Value value;
  value.type = m_.type(id);
  value.dtype = m_.types.dtype(value.type);
  value.dims = p_.values[instr.inputs[0]].dims;
  instr.node = static_cast<uint32_t>(p_.nodes.size());
  p_.nodes.push_back({options_.moduleName + "_set_rows", name, 0});
  CodeGraphNode report{CodeGraphNode::Kind::Kernel,
                       name,
                       options_.moduleName + "_set_rows",
                       {id},
                       {},
                       {value.type},
                       {}};
  for (ValueId input : instr.inputs)
    report.inputs.push_back(entryOf(input));
  value.entry = {addGraphNode(std::move(report)), 0};
  instr.outputs = {addValue(value)};
  env.values[id.index] = instr.outputs;
  p_.instrs.push_back(std::move(instr));
  return true;
}

} // namespace bycc::codegen
