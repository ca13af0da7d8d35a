// Blocks, ifs and calls: plain functions are inlined where they are called.
#include "ProgramBuilder.h"
#include "bycc/Target/RegionView.h"

namespace bycc::te {
namespace {

constexpr int maxDepth = 64; // of calls and ifs

} // namespace

Expected<> ProgramBuilder::addBlock(BlockId block, Env &env, int depth) {
  if (depth > maxDepth)
    return error(Status::Limit) << "functions and ifs nest deeper than " << maxDepth;
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
  case NodeKind::Project: return addProject(id, env);
  case NodeKind::CallOp: return addCallOp(id, env);
  case NodeKind::Function: env.functions[id.index] = {m_.functionOf(id), &env}; return {};
  case NodeKind::Call: return addCall(id, env, depth);
  case NodeKind::If: return addIf(id, env, depth);
  default: return {};
  }
}

Expected<> ProgramBuilder::addProject(NodeId id, Env &env) {
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

Expected<> ProgramBuilder::addIf(NodeId id, Env &env, int depth) {
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

void ProgramBuilder::reportCopy(NodeId node, ValueId from, ValueId to) {
  CodeGraphNode copy{CodeGraphNode::Kind::Kernel, nodeName(m_, node), options_.moduleName + "_copy", {}, {entryOf(from)}, {p_.values[to].type}, {}};
  p_.values[to].entry = {addGraphNode(std::move(copy)), 0};
  p_.copies.emplace_back(p_.values[to].entry.first, to);
}

std::optional<std::pair<FunctionId, const Env *>> ProgramBuilder::resolve(NodeId callee, const Env &env) {
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

bool ProgramBuilder::isTrue(FunctionId function, const char *key) {
  const AttrValue *value = m_.functionAttr(function, key);
  return value && ((value->isInt() && value->asInt() != 0) || (value->isBool() && value->asBool()));
}

} // namespace bycc::te
