// Walks @main and makes the program: calls of plain functions are inlined,
// Primitive functions and lone operators become kernels (equal ones share
// code), vendor functions become region calls, tuples and reshapes cost nothing.
#include "Program.h"

#include "bycc/Support/Text.h"
#include "bycc/Target/RegionView.h"

#include <algorithm>

namespace bycc::te {
namespace {

constexpr int maxDepth = 64; // of calls and ifs

// Names visible in a function body or block; outer ones through `parent`.
struct Env {
  std::unordered_map<uint32_t, std::vector<ValueId>> values;
  std::unordered_map<uint32_t, std::pair<FunctionId, const Env *>> functions;
  const Env *parent = nullptr;
};

std::string specText(const PackSpec &spec) {
  std::string text = std::to_string(spec.base) + "/" + std::to_string(spec.columns);
  for (const PackDim &dim : spec.dims)
    text += "," + std::to_string(dim.extent) + "*" + std::to_string(dim.stride);
  return text;
}

class Builder {
public:
  Builder(Module &module, const TargetInfo &target, const CodeGenOptions &options)
      : m_(module), target_(target), options_(options) {}

  Expected<Program> run() {
    FunctionId main = m_.main();
    if (!main)
      return error(Status::Input) << "the module has no @main";
    Env env;
    const Function &function = m_.function(main);
    for (NodeId param : function.params)
      env.values[param.index] = addInput(param);
    BYCC_TRY(addBlock(function.body, env, 0));
    for (ValueId value : BYCC_TRY(valuesOf(m_.block(function.body).result, env)))
      addOutput(value);
    return std::move(p_);
  }

private:
  // --- values

  ValueId addValue(Value value) {
    p_.values.push_back(std::move(value));
    return static_cast<ValueId>(p_.values.size() - 1);
  }

  std::vector<ValueId> addInput(NodeId param) {
    std::vector<ValueId> made;
    for (TypeId type : m_.types.flatten(m_.type(param))) {
      Value value;
      value.kind = Value::Kind::Input;
      value.type = type;
      value.dtype = m_.types.dtype(type);
      value.index = numInputs_;
      uint32_t axis = 0;
      for (Dim dim : m_.types.shape(type))
        value.dims.push_back(inputDim(dim, axis++));
      std::string name = numInputs_ < options_.inputs.size() ? options_.inputs[numInputs_].name : "input_" + std::to_string(numInputs_);
      ++numInputs_;
      value.entry = {addGraphNode({CodeGraphNode::Kind::Argument, name, "", {param}, {}, {type}, {}}), 0};
      made.push_back(addValue(value));
    }
    return made;
  }

  Ref inputDim(Dim dim, uint32_t axis) {
    if (dim.isConst())
      return p_.exprs.integer(dim.value());
    if (!dim.isUnknown())
      if (auto it = symbols_.find(dim.raw()); it != symbols_.end())
        return it->second;
    p_.dims.push_back({numInputs_, axis});
    Ref made = p_.exprs.dim(static_cast<uint32_t>(p_.dims.size() - 1));
    if (!dim.isUnknown())
      symbols_[dim.raw()] = made;
    return made;
  }

  uint32_t addGraphNode(CodeGraphNode node) {
    int &count = graphNames_[node.name];
    if (count++ > 0)
      node.name += "." + std::to_string(count - 1);
    p_.graph.push_back(std::move(node));
    return static_cast<uint32_t>(p_.graph.size() - 1);
  }

  std::vector<Ref> staticDims(TypeId type) {
    std::vector<Ref> dims;
    for (Dim dim : m_.types.shape(type))
      dims.push_back(p_.exprs.integer(dim.isConst() ? dim.value() : 0));
    return dims;
  }

  ValueId constantValue(NodeId node) {
    ConstantId id(m_.node(node).payload);
    if (auto it = constants_.find(id.index); it != constants_.end())
      return it->second;
    Value value;
    value.kind = Value::Kind::Constant;
    value.type = m_.constants[id.index].type;
    value.dtype = m_.types.dtype(value.type);
    value.index = id.index;
    value.dims = staticDims(value.type);
    return constants_[id.index] = addValue(value);
  }

  // A constant is in the report once something reads it as it is.
  std::pair<uint32_t, uint32_t> entryOf(ValueId value) {
    Value &v = p_.values[value];
    if (v.entry.first == none && v.kind == Value::Kind::Constant) {
      std::string name = m_.constants[v.index].name;
      v.entry = {addGraphNode({CodeGraphNode::Kind::Constant, name.empty() ? "const" : name, "", {}, {}, {v.type}, {}}), 0};
    }
    return v.entry;
  }

  Expected<std::vector<ValueId>> valuesOf(NodeId node, const Env &env) {
    if (m_.isConstant(node))
      return std::vector<ValueId>{constantValue(node)};
    for (const Env *at = &env; at; at = at->parent)
      if (auto it = at->values.find(node.index); it != at->values.end())
        return it->second;
    return error(Status::Unsup, m_.source(node)) << "a function as a value has no host code";
  }

  std::vector<ValueId> newBuffers(TypeId type, uint32_t graphNode) {
    std::vector<ValueId> made;
    for (TypeId field : m_.types.flatten(type)) {
      Value value;
      value.type = field;
      value.dtype = m_.types.dtype(field);
      value.dims = staticDims(field);
      value.entry = {graphNode, static_cast<uint32_t>(made.size())};
      made.push_back(addValue(value));
    }
    return made;
  }

  // --- blocks and nodes

  Expected<> addBlock(BlockId block, Env &env, int depth) {
    if (depth > maxDepth)
      return error(Status::Limit) << "functions and ifs nest deeper than " << maxDepth;
    for (NodeId node : std::vector<NodeId>(m_.block(block).nodes))
      BYCC_TRY(addNode(node, env, depth));
    return {};
  }

  Expected<> addNode(NodeId id, Env &env, int depth) {
    switch (m_.node(id).kind) {
    case NodeKind::Tuple: {
      std::vector<ValueId> fields;
      for (NodeId operand : m_.operands(id))
        for (ValueId value : BYCC_TRY(valuesOf(operand, env)))
          fields.push_back(value);
      env.values[id.index] = std::move(fields);
      return {};
    }
    case NodeKind::Project: return addProject(id, env);
    case NodeKind::CallOp: return addCallOp(id, env);
    case NodeKind::Function: env.functions[id.index] = {m_.functionOf(id), &env}; return {};
    case NodeKind::Call: return addCall(id, env, depth);
    case NodeKind::If: return addIf(id, env, depth);
    default: return {};
    }
  }

  Expected<> addProject(NodeId id, Env &env) {
    NodeId tuple = m_.operands(id)[0];
    std::vector<ValueId> fields = BYCC_TRY(valuesOf(tuple, env));
    auto types = m_.types.fields(m_.type(tuple));
    size_t first = 0;
    for (uint32_t f = 0; f < m_.node(id).payload; ++f)
      first += m_.types.flatten(types[f]).size();
    size_t count = m_.types.flatten(types[m_.node(id).payload]).size();
    auto begin = fields.begin() + static_cast<ptrdiff_t>(first);
    env.values[id.index] = {begin, begin + static_cast<ptrdiff_t>(count)};
    return {};
  }

  Expected<> addIf(NodeId id, Env &env, int depth) {
    if (!m_.types.isStatic(m_.type(id)))
      return error(Status::Unsup, m_.source(id)) << "if: a result with an unknown dim has no host code yet";
    ValueId condition = BYCC_TRY(valuesOf(m_.operands(id)[0], env))[0];
    std::vector<ValueId> results = newBuffers(m_.type(id), none);
    p_.instrs.push_back({Instr::Kind::If, 0, {condition}, {}, {}, {}, {}, none});
    for (BlockId block : {m_.thenBlock(id), m_.elseBlock(id)}) {
      if (block == m_.elseBlock(id))
        p_.instrs.push_back({Instr::Kind::Else, 0, {}, {}, {}, {}, {}, none});
      Env inner;
      inner.parent = &env;
      BYCC_TRY(addBlock(block, inner, depth + 1));
      std::vector<ValueId> values = BYCC_TRY(valuesOf(m_.block(block).result, inner));
      for (size_t i = 0; i < results.size(); ++i) {
        reportCopy(id, values[i], results[i]);
        p_.instrs.push_back({Instr::Kind::Copy, 0, {values[i]}, {results[i]}, {}, {}, {}, none});
      }
    }
    p_.instrs.push_back({Instr::Kind::EndIf, 0, {}, {}, {}, {}, {}, none});
    env.values[id.index] = results;
    return {};
  }

  // Both branches write the result; who reads it is told of the later one.
  void reportCopy(NodeId node, ValueId from, ValueId to) {
    CodeGraphNode copy{CodeGraphNode::Kind::Kernel, nodeName(m_, node), options_.moduleName + "_copy", {}, {entryOf(from)}, {p_.values[to].type}, {}};
    p_.values[to].entry = {addGraphNode(std::move(copy)), 0};
    p_.copies.emplace_back(p_.values[to].entry.first, to);
  }

  // The function behind a callee, and where its outer names are.
  std::optional<std::pair<FunctionId, const Env *>> resolve(NodeId callee, const Env &env) {
    if (m_.node(callee).kind == NodeKind::Global)
      return std::pair{m_.functionOf(callee), static_cast<const Env *>(nullptr)};
    for (const Env *at = &env; at; at = at->parent)
      if (auto it = at->functions.find(callee.index); it != at->functions.end())
        return it->second;
    return std::nullopt;
  }

  Expected<> addCall(NodeId id, Env &env, int depth) {
    std::vector<NodeId> operands(m_.operands(id).begin(), m_.operands(id).end());
    auto callee = resolve(operands[0], env);
    if (!callee)
      return error(Status::Unsup, m_.source(id)) << "a call of a function that is only known at run time has no host code";
    FunctionId function = callee->first;
    operands.erase(operands.begin());
    // External functions are Primitive, too; emulated ones are host code like any other.
    bool isExternal = m_.functionAttr(function, "Compiler") != nullptr;
    if (isExternal && !options_.isEmulated(function))
      return addRegion(id, function, operands, env);
    if (!isExternal && isTrue(function, "Primitive"))
      return addPrimitive(id, function, operands, env);
    Env inner;
    inner.parent = callee->second;
    const std::vector<NodeId> params = m_.function(function).params;
    for (size_t a = 0; a < params.size(); ++a) {
      if (auto closure = resolve(operands[a], env))
        inner.functions[params[a].index] = *closure;
      else
        inner.values[params[a].index] = BYCC_TRY(valuesOf(operands[a], env));
    }
    BYCC_TRY(addBlock(m_.function(function).body, inner, depth + 1));
    env.values[id.index] = BYCC_TRY(valuesOf(m_.block(m_.function(function).body).result, inner));
    return {};
  }

  bool isTrue(FunctionId function, const char *key) {
    const AttrValue *value = m_.functionAttr(function, key);
    return value && ((value->isInt() && value->asInt() != 0) || (value->isBool() && value->asBool()));
  }

  // --- kernels

  Expected<> addPrimitive(NodeId call, FunctionId function, const std::vector<NodeId> &operands, Env &env) {
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
      isView = isReshapeOp(m_.node(sources[i]).op) && (i == 0 || m_.operands(sources[i])[0] == sources[i - 1]);
    if (isView && body.result == sources.back()) {
      std::vector<ValueId> base = BYCC_TRY(valuesOf(m_.operands(sources[0])[0], inner));
      if (auto view = addView(call, base[0], sources)) {
        env.values[call.index] = {*view};
        return {};
      }
    }
    Group group = BYCC_TRY(lowerFunction(m_, function, constantIn(inner)));
    env.values[call.index] = BYCC_TRY(addKernel(std::move(group), sources, m_.type(call), inner));
    return {};
  }

  Expected<> addCallOp(NodeId id, Env &env) {
    OpId op = m_.node(id).op;
    if (isReshapeOp(op)) {
      std::vector<ValueId> base = BYCC_TRY(valuesOf(m_.operands(id)[0], env));
      if (auto view = addView(id, base[0], {id})) {
        env.values[id.index] = {*view};
        return {};
      }
    }
    if (op == ops::argwhere)
      return addArgWhere(id, env);
    Group group = BYCC_TRY(lowerCall(m_, id, constantIn(env)));
    env.values[id.index] = BYCC_TRY(addKernel(std::move(group), {id}, m_.type(id), env));
    return {};
  }

  // Null when the extents of the result are not plain.
  std::optional<ValueId> addView(NodeId node, ValueId base, const std::vector<NodeId> &sources) {
    TypeId type = m_.type(node);
    if (!m_.types.isStatic(type))
      return std::nullopt;
    Value value = p_.values[base];
    value.type = type;
    value.dims = staticDims(type);
    value.alias = base;
    value.output = none;
    auto from = entryOf(base);
    value.entry = {addGraphNode({CodeGraphNode::Kind::Alias, nodeName(m_, sources.back()), "", sources, {from}, {type}, {}}), 0};
    return addValue(value);
  }

  ConstantOf constantIn(const Env &env) {
    return [this, &env](NodeId node) -> const Constant * {
      if (m_.isConstant(node))
        return &m_.constant(node);
      auto values = valuesOf(node, env);
      if (!values || values->size() != 1)
        return nullptr;
      const Value &value = p_.values[p_.root((*values)[0])];
      return value.kind == Value::Kind::Constant ? &m_.constants[value.index] : nullptr;
    };
  }

  std::string kernelName(const std::vector<NodeId> &sources) {
    std::string name = options_.moduleName + "_fused";
    for (NodeId node : sources)
      if (name.size() < 80)
        name += "_" + asIdentifier(opInfo(m_.node(node).op).name);
    return name + "_" + std::to_string(p_.kernels.size());
  }

  uint32_t findKernel(Kernel kernel, const std::vector<NodeId> &sources) {
    auto [it, isNew] = kernelIds_.try_emplace(kernel.fingerprint(), static_cast<uint32_t>(p_.kernels.size()));
    if (isNew) {
      std::string name = kernelName(sources);
      p_.kernels.push_back({name, schedule(std::move(kernel), target_)});
    }
    return it->second;
  }

  // An expression of the kernel in terms of the program's dims.
  Ref toProgram(const Exprs &kernel, Ref ref, const std::vector<Ref> &dims) {
    std::unordered_map<Ref, Ref> done;
    std::vector<Ref> order;
    kernel.visit(ref, [&](Ref node) { order.push_back(node); return true; });
    std::sort(order.begin(), order.end());
    for (Ref node : order) {
      const Expr &e = kernel[node];
      done[node] = e.op == Op::Dim     ? dims[static_cast<size_t>(e.i)]
                   : e.op == Op::Const ? p_.exprs.integer(e.i, e.type)
                   : e.op == Op::Select ? p_.exprs.select(done.at(e.a), done.at(e.b), done.at(e.c))
                                        : p_.exprs.binary(e.op, done.at(e.a), done.at(e.b));
    }
    return done.at(ref);
  }

  Expected<std::vector<ValueId>> addKernel(Group group, const std::vector<NodeId> &sources, TypeId resultType, const Env &env) {
    std::unordered_map<uint32_t, ValueId> ofBuffer;
    Instr instr;
    for (const GroupInput &input : group.inputs)
      ofBuffer[input.buffer] = BYCC_TRY(valuesOf(input.node, env))[input.field];
    for (const Group::DimSource &source : group.dims)
      instr.dims.push_back(p_.values[BYCC_TRY(valuesOf(source.node, env))[source.field]].dims[source.axis]);
    std::vector<uint32_t> outputs = group.outputs;
    instr.callee = findKernel(std::move(group.kernel), sources);
    const KernelCode &code = p_.kernels[instr.callee];
    const Kernel &kernel = code.schedule.kernel;

    ProfiledNode profiled{code.name, "", 0};
    for (NodeId node : sources) {
      profiled.source += (profiled.source.empty() ? "" : ",") + nodeName(m_, node);
      if (auto flops = opInfo(m_.node(node).op).flops)
        profiled.flops += flops(m_, node);
    }
    instr.node = static_cast<uint32_t>(p_.nodes.size());
    CodeGraphNode report{CodeGraphNode::Kind::Kernel, profiled.source, code.name, sources, {}, m_.types.flatten(resultType), {}};
    for (const GroupInput &input : group.inputs)
      report.inputs.push_back(entryOf(ofBuffer[input.buffer]));
    p_.nodes.push_back(std::move(profiled));
    if (sources.size() > 1)
      report.name = nodeName(m_, sources.back());
    uint32_t graphNode = addGraphNode(std::move(report));

    std::vector<ValueId> results;
    std::vector<TypeId> types = m_.types.flatten(resultType);
    for (size_t i = 0; i < outputs.size(); ++i) {
      Value value;
      value.type = types[i];
      value.dtype = kernel.buffers[outputs[i]].type;
      for (Ref extent : kernel.buffers[outputs[i]].shape)
        value.dims.push_back(toProgram(kernel.exprs, extent, instr.dims));
      value.entry = {graphNode, static_cast<uint32_t>(i)};
      results.push_back(addValue(value));
      ofBuffer[outputs[i]] = results.back();
      instr.outputs.push_back(results.back());
    }
    for (uint32_t buffer : code.schedule.arguments) {
      auto it = ofBuffer.find(buffer);
      ValueId value = it != ofBuffer.end() ? it->second : addScratch(code.schedule, buffer, ofBuffer, instr);
      instr.arguments.push_back(value);
      if (kernel.buffers[buffer].role == Role::Input)
        instr.inputs.push_back(value);
    }
    p_.instrs.push_back(std::move(instr));
    return results;
  }

  // A buffer of the kernel alone, or panels made of a constant.
  ValueId addScratch(const Schedule &schedule, uint32_t buffer, const std::unordered_map<uint32_t, ValueId> &ofBuffer, Instr &instr) {
    Value value;
    value.dtype = schedule.kernel.buffers[buffer].type;
    for (Ref extent : schedule.kernel.buffers[buffer].shape)
      value.dims.push_back(toProgram(schedule.kernel.exprs, extent, instr.dims));
    for (const PackSpec &spec : schedule.packs) {
      if (spec.packed != buffer || !schedule.kernel.buffers[spec.source].isConstant)
        continue;
      ConstantId source(p_.values[p_.root(ofBuffer.at(spec.source))].index);
      auto [it, isNew] = packedIds_.try_emplace(std::to_string(source.index) + ":" + specText(spec), none);
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

  Expected<> addArgWhere(NodeId id, Env &env) {
    ValueId condition = BYCC_TRY(valuesOf(m_.operands(id)[0], env))[0];
    Value value;
    value.type = m_.type(id);
    value.dtype = m_.types.dtype(value.type);
    p_.dims.push_back({});
    value.dims = {p_.exprs.dim(static_cast<uint32_t>(p_.dims.size() - 1)),
                  p_.exprs.integer(static_cast<int64_t>(p_.values[condition].dims.size()))};
    std::string name = nodeName(m_, id);
    Instr instr;
    instr.kind = Instr::Kind::ArgWhere;
    instr.callee = static_cast<uint32_t>(p_.dims.size() - 1);
    instr.node = static_cast<uint32_t>(p_.nodes.size());
    p_.nodes.push_back({options_.moduleName + "_argwhere", name, 0});
    value.entry = {addGraphNode({CodeGraphNode::Kind::Kernel, name, options_.moduleName + "_argwhere", {id}, {entryOf(condition)}, {value.type}, {}}), 0};
    instr.inputs = {condition};
    instr.outputs = {addValue(value)};
    env.values[id.index] = instr.outputs;
    p_.instrs.push_back(std::move(instr));
    return {};
  }

  // --- regions

  Expected<> addRegion(NodeId call, FunctionId function, const std::vector<NodeId> &operands, Env &env) {
    if (!m_.types.isStatic(m_.type(call)))
      return error(Status::Unsup, m_.source(call)) << "a region with an unknown dim in its result has no host code";
    auto [it, isNew] = regionIds_.try_emplace(function.index, static_cast<uint32_t>(p_.regions.size()));
    if (isNew) {
      const AttrValue *symbol = m_.functionAttr(function, "global_symbol");
      std::string name = symbol && symbol->isString() ? symbol->asString() : std::string(m_.string(m_.function(function).name));
      RegionCode region{function, name, m_.functionAttr(function, "Compiler")->asString(), {}};
      region.ownsMemory = options_.ownsMemory && options_.ownsMemory(function);
      region.blob = BYCC_TRY(options_.compileRegion(function));
      p_.regions.push_back(std::move(region));
    }
    const RegionCode &region = p_.regions[it->second];
    Instr instr;
    instr.kind = Instr::Kind::Region;
    instr.callee = it->second;
    CodeGraphNode report{CodeGraphNode::Kind::Region, region.symbol, region.symbol, {}, {}, m_.types.flatten(m_.type(call)), {}};
    for (NodeId operand : operands)
      for (ValueId value : BYCC_TRY(valuesOf(operand, env))) {
        instr.inputs.push_back(value);
        report.inputs.push_back(entryOf(value));
      }
    ProfiledNode profiled{region.symbol, "", 0};
    collectRegion(function, profiled, report.sources, 0);
    instr.node = static_cast<uint32_t>(p_.nodes.size());
    p_.nodes.push_back(std::move(profiled));
    instr.outputs = newBuffers(m_.type(call), addGraphNode(std::move(report)));
    env.values[call.index] = instr.outputs;
    p_.instrs.push_back(std::move(instr));
    return {};
  }

  void collectRegion(FunctionId function, ProfiledNode &profiled, std::vector<NodeId> &sources, int depth) {
    for (NodeId node : m_.block(m_.function(function).body).nodes) {
      if (m_.node(node).kind == NodeKind::CallOp) {
        sources.push_back(node);
        profiled.source += (profiled.source.empty() ? "" : ",") + nodeName(m_, node);
        if (auto flops = opInfo(m_.node(node).op).flops)
          profiled.flops += flops(m_, node);
      } else if (m_.node(node).kind == NodeKind::Function && depth < maxDepth) {
        collectRegion(m_.functionOf(node), profiled, sources, depth + 1);
      }
    }
  }

  // --- results of the model

  // A buffer that is a result once is written in place; anything else is copied.
  void addOutput(ValueId value) {
    uint32_t index = static_cast<uint32_t>(p_.outputs.size());
    ValueId root = p_.root(value);
    Value &v = p_.values[root];
    bool isStatic = std::all_of(v.dims.begin(), v.dims.end(), [&](Ref dim) { return p_.exprs.constant(dim).has_value(); });
    bool isPlain = v.kind == Value::Kind::Buffer && v.output == none && (isStatic || root == value);
    if (isPlain) {
      v.output = index;
      p_.outputs.push_back(value);
      return;
    }
    Value copy = p_.values[value];
    copy.kind = Value::Kind::Buffer;
    copy.alias = none;
    copy.output = index;
    entryOf(value);
    copy.entry = p_.values[value].entry;
    ValueId made = addValue(copy);
    p_.instrs.push_back({Instr::Kind::Copy, 0, {value}, {made}, {}, {}, {}, none});
    p_.outputs.push_back(made);
  }

  Module &m_;
  const TargetInfo &target_;
  const CodeGenOptions &options_;
  Program p_;
  uint32_t numInputs_ = 0;
  std::unordered_map<int64_t, Ref> symbols_;
  std::unordered_map<std::string, int> graphNames_;
  std::unordered_map<uint32_t, ValueId> constants_;
  std::unordered_map<std::string, uint32_t> kernelIds_, packedIds_;
  std::unordered_map<uint32_t, uint32_t> regionIds_;
};

} // namespace

Expected<Program> buildProgram(Module &module, const TargetInfo &target, const CodeGenOptions &options) {
  return Builder(module, target, options).run();
}

} // namespace bycc::te
