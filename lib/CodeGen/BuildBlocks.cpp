// Blocks, ifs and calls: plain functions are inlined where they are called.
#include "ProgramBuilder.h"
#include "bycc/Target/RegionView.h"

#include <algorithm>

namespace bycc::codegen {
namespace {

// Of calls (100, as type inference lets through) with ifs in them, of which 64 may nest.
constexpr int maxDepth = 256;
// Copies of functions; of those that are handed over as values nobody has counted the calls.
constexpr uint32_t maxRepeatedCalls = 1 << 17;

} // namespace

Expected<> ProgramBuilder::checkDepth(BlockId block, int depth) {
  if (depth > maxDepth)
    return error(Status::Limit, m_.source(m_.block(block).result))
           << "functions and ifs nest deeper than " << maxDepth;
  return {};
}

Expected<> ProgramBuilder::addBlock(BlockId block, Env &env, int depth) {
  BYCC_TRY(checkDepth(block, depth));
  for (NodeId node : std::vector<NodeId>(m_.block(block).nodes))
    BYCC_TRY(addNode(node, env, depth));
  return {};
}

Expected<> ProgramBuilder::addNode(NodeId id, Env &env, int depth) {
  switch (m_.node(id).kind) {
  case NodeKind::Tuple: {
    std::vector<ValueId> fields;
    for (NodeId operand : m_.operands(id))
      for (ValueId value : BYCC_TRY(valuesOf(operand, env)))
        fields.push_back(value);
    env.values[id.index] = std::move(fields);
    return {};
  }
  case NodeKind::Project:
    return addProject(id, env);
  case NodeKind::CallOp:
    return addCallOp(id, env);
  case NodeKind::Function:
    env.functions[id.index] = {m_.functionOf(id), &env};
    return {};
  case NodeKind::Call:
    return addCall(id, env, depth);
  case NodeKind::If:
    return addIf(id, env, depth);
  default:
    return {};
  }
}

Expected<> ProgramBuilder::addProject(NodeId id, Env &env) {
  NodeId tuple = m_.operands(id)[0];
  auto [first, count] = m_.types.leavesOf(m_.type(tuple), m_.node(id).payload);
  const std::vector<ValueId> *fields = env.find(tuple);
  if (!fields)
    return valuesOf(tuple, env).takeError();
  auto begin = fields->begin() + static_cast<ptrdiff_t>(first);
  std::vector<ValueId> field(begin, begin + static_cast<ptrdiff_t>(count));
  env.values[id.index] = std::move(field);
  return {};
}

Expected<> ProgramBuilder::addIf(NodeId id, Env &env, int depth) {
  ValueId condition = BYCC_TRY(valuesOf(m_.operands(id)[0], env))[0];
  auto branch = [&](BlockId block) -> Expected<std::vector<ValueId>> {
    Env inner;
    inner.parent = &env;
    BYCC_TRY(addBlock(block, inner, depth + 1));
    return valuesOf(m_.block(block).result, inner);
  };
  env.values[id.index] = BYCC_TRY(addBranches(
      {Instr::Kind::If, 0, {condition}, {}, {}, {}, {}, none}, m_.type(id), nodeName(m_, id),
      [&] { return branch(m_.thenBlock(id)); }, [&] { return branch(m_.elseBlock(id)); }));
  return {};
}

// What symbols mean in a branch, and dims that it defines, end with it.
Expected<std::vector<ValueId>> ProgramBuilder::addBranches(Instr begin, TypeId type,
                                                           const std::string &name,
                                                           const Branch &then,
                                                           const Branch &otherwise) {
  std::vector<ValueId> results = newBound(type), inputs;
  p_.instrs.push_back(std::move(begin));
  for (const Branch *branch : {&then, &otherwise}) {
    if (branch == &otherwise)
      p_.instrs.push_back({Instr::Kind::Else, 0, {}, {}, {}, {}, {}, none});
    auto symbols = symbols_;
    std::vector<ValueId> values = BYCC_TRY((*branch)());
    symbols_ = std::move(symbols);
    p_.instrs.push_back({Instr::Kind::Bind, 0, values, results, {}, {}, {}, none});
    inputs.insert(inputs.end(), values.begin(), values.end());
  }
  p_.instrs.push_back({Instr::Kind::EndIf, 0, {}, {}, {}, {}, {}, none});
  reportBound(name, "if", inputs, results);
  return results;
}

std::vector<ValueId> ProgramBuilder::newBound(TypeId type) {
  std::vector<ValueId> made = newBuffers(type, none);
  for (ValueId id : made) {
    Value &value = p_.values[id];
    value.isBound = true;
    auto dims = m_.types.shape(value.type);
    for (size_t d = 0; d < dims.size(); ++d)
      if (!dims[d].isConst())
        value.dims[d] = p_.addDim({}, m_.types.likely(dims[d]));
  }
  return made;
}

void ProgramBuilder::reportBound(const std::string &name, const char *what,
                                 const std::vector<ValueId> &inputs,
                                 const std::vector<ValueId> &bound) {
  if (bound.empty())
    return; // a loop that changes nothing
  CodeGraphNode report{
      CodeGraphNode::Kind::Kernel, name, options_.moduleName + "_" + what, {}, {}, {}, {}};
  for (ValueId value : inputs)
    report.inputs.push_back(entryOf(value));
  for (ValueId value : bound)
    report.outputs.push_back(p_.values[value].type);
  uint32_t node = addGraphNode(std::move(report));
  for (size_t i = 0; i < bound.size(); ++i)
    p_.values[bound[i]].entry = {node, static_cast<uint32_t>(i)};
}

std::optional<std::pair<FunctionId, const Env *>> ProgramBuilder::resolve(NodeId callee,
                                                                          const Env &env) {
  if (m_.node(callee).kind == NodeKind::Global)
    return std::pair{m_.functionOf(callee), static_cast<const Env *>(nullptr)};
  for (const Env *at = &env; at; at = at->parent)
    if (auto it = at->functions.find(callee.index); it != at->functions.end())
      return it->second;
  return std::nullopt;
}

Expected<> ProgramBuilder::addCall(NodeId id, Env &env, int depth) {
  std::vector<NodeId> operands(m_.operands(id).begin(), m_.operands(id).end());
  auto callee = resolve(operands[0], env);
  if (!callee)
    return error(Status::Unsup, m_.source(id))
           << "a call of a function that is only known at run time has no host code";
  FunctionId function = callee->first;
  operands.erase(operands.begin());
  // External functions are Primitive, too; emulated ones are host code like any other.
  bool isExternal = m_.functionAttr(function, "Compiler") != nullptr;
  if (isExternal && !options_.isEmulated(function))
    return addRegion(id, function, operands, env, depth);
  if (!isExternal && isTrue(function, "Primitive"))
    return addPrimitive(id, function, operands, env);
  if (std::find(open_.begin(), open_.end(), function) != open_.end())
    return error(Status::Input, m_.source(id))
               .note("a call that is the last step of its function becomes a loop")
           << "the recursive call of " << calledName(id)
           << " has no host code: it is not the last step of the function";
  if (++numCalls_ > maxRepeatedCalls + m_.numNodes())
    return error(Status::Limit, m_.source(id))
           << "calls repeat functions more than " << maxRepeatedCalls << " times";
  // Symbols in the function's types mean something else at the next call.
  auto symbols = symbols_;
  if (callsItself(function)) {
    BYCC_TRY(addLoop(id, function, callee->second, operands, env, depth));
    symbols_ = std::move(symbols);
    return {};
  }
  std::vector<ValueId> results = BYCC_TRY(addBody(function, callee->second, operands, env, depth));
  symbols_ = std::move(symbols);
  env.values[id.index] = std::move(results);
  return {};
}

Expected<std::vector<ValueId>> ProgramBuilder::addBody(FunctionId function, const Env *outer,
                                                       const std::vector<NodeId> &operands,
                                                       const Env &env, int depth) {
  Env inner = BYCC_TRY(bindParams(function, outer, operands, env));
  open_.push_back(function);
  BYCC_TRY(addBlock(m_.function(function).body, inner, depth + 1));
  open_.pop_back();
  return valuesOf(m_.block(m_.function(function).body).result, inner);
}

Expected<Env> ProgramBuilder::bindParams(FunctionId function, const Env *outer,
                                         const std::vector<NodeId> &operands, const Env &env) {
  Env inner;
  inner.parent = outer;
  const std::vector<NodeId> &params = m_.function(function).params;
  for (size_t a = 0; a < params.size(); ++a) {
    if (auto closure = resolve(operands[a], env))
      inner.functions[params[a].index] = *closure;
    else
      inner.values[params[a].index] = BYCC_TRY(valuesOf(operands[a], env));
  }
  for (NodeId param : params)
    if (auto values = inner.values.find(param.index); values != inner.values.end())
      bindParamSymbols(param, values->second);
  return inner;
}

bool ProgramBuilder::isTrue(FunctionId function, const char *key) {
  const AttrValue *value = m_.functionAttr(function, key);
  return value && ((value->isInt() && value->asInt() != 0) || (value->isBool() && value->asBool()));
}

} // namespace bycc::codegen
