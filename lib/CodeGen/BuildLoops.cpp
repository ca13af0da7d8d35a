// Loops. A function that calls itself as its last step, through branches and
// inner functions, runs as a loop of the entry:
//
//   let %f = fn (%i: int64, %x: T) -> T {
//     if (less(%i, %n)) { %f(add(%i, 1), g(%x)) }   Next  i <- i + 1, x <- g(x)
//     else { %x }                                   Leave result <- x
//   };
//
// A parameter that every such call hands on as it is keeps the value it has
// before the loop. A recursive call anywhere else is refused.
#include "ProgramBuilder.h"

#include "bycc/IR/Visitor.h"
#include "bycc/Target/RegionView.h"

namespace bycc::codegen {

bool ProgramBuilder::isCallOf(NodeId node, FunctionId function) const {
  if (m_.node(node).kind != NodeKind::Call)
    return false;
  NodeId callee = m_.operands(node)[0];
  NodeKind kind = m_.node(callee).kind;
  return (kind == NodeKind::Function || kind == NodeKind::Global) &&
         m_.functionOf(callee) == function;
}

bool ProgramBuilder::hasCallOf(NodeId node, FunctionId function) const {
  bool found = isCallOf(node, function);
  for (BlockId block : innerBlocks(m_, node))
    forEachNode(m_, block, [&](NodeId each) { found = found || isCallOf(each, function); });
  return found;
}

bool ProgramBuilder::callsItself(FunctionId function) const {
  bool found = false;
  forEachNode(m_, m_.function(function).body,
              [&](NodeId each) { found = found || isCallOf(each, function); });
  return found;
}

std::string ProgramBuilder::calledName(NodeId call) const {
  NodeId callee = m_.operands(call)[0];
  if (m_.node(callee).kind == NodeKind::Global)
    return "@" + std::string(m_.string(m_.function(m_.functionOf(callee)).name));
  return "%" + std::string(m_.string(m_.node(callee).name));
}

Expected<> ProgramBuilder::addLoop(NodeId call, FunctionId function, const Env *outer,
                                   const std::vector<NodeId> &operands, Env &env, int depth) {
  OpenLoop loop;
  loop.function = function;
  const std::vector<NodeId> params = m_.function(function).params;
  loop.isCarried.assign(params.size(), false);
  forEachNode(m_, m_.function(function).body, [&](NodeId each) {
    if (isCallOf(each, function))
      for (size_t a = 0; a < params.size(); ++a)
        loop.isCarried[a] = loop.isCarried[a] || m_.operands(each)[a + 1] != params[a];
  });
  loop.results = newBound(m_.type(call));
  Env inner = BYCC_TRY(bindParams(function, outer, operands, env));
  BYCC_TRY(addCarried(call, loop, inner, operands, env));
  open_.push_back(function);
  BYCC_TRY(addTail(m_.function(function).body, inner, loop, depth + 1));
  open_.pop_back();
  if (!loop.isLeft)
    return error(Status::Input, m_.source(call))
           << "the recursive function " << calledName(call) << " never ends";
  Instr end{Instr::Kind::EndLoop, 0, {}, {}, {}, {}, {}, none};
  for (ValueId value : loop.carried)
    end.temps.insert(end.temps.end(), {p_.values[value].memory, p_.values[value].spare});
  p_.instrs.push_back(std::move(end));
  reportBound(nodeName(m_, call), "loop_result", loop.left, loop.results);
  env.values[call.index] = loop.results;
  return {};
}

Expected<> ProgramBuilder::addCarried(NodeId call, OpenLoop &loop, Env &inner,
                                      const std::vector<NodeId> &operands, const Env &env) {
  Instr enter{Instr::Kind::Loop, 0, {}, {}, {}, {}, {}, none};
  const std::vector<NodeId> params = m_.function(loop.function).params;
  for (size_t a = 0; a < params.size(); ++a) {
    if (!loop.isCarried[a])
      continue;
    if (m_.types.kind(m_.type(params[a])) == TypeKind::Function)
      return error(Status::Unsup, m_.source(call))
             << "a function that a loop carries on has no host code";
    std::vector<ValueId> initial = BYCC_TRY(valuesOf(operands[a], env)),
                         carried = newBound(m_.type(params[a]));
    enter.inputs.insert(enter.inputs.end(), initial.begin(), initial.end());
    loop.carried.insert(loop.carried.end(), carried.begin(), carried.end());
    inner.values[params[a].index] = std::move(carried);
  }
  // The first parameter with a symbol gives it: rows that a loop gathers come last and begin empty.
  for (size_t a = params.size(); a-- > 0;)
    if (loop.isCarried[a])
      bindParamSymbols(params[a], inner.values[params[a].index]);
  for (ValueId id : loop.carried) {
    Value memory;
    memory.dtype = p_.values[id].dtype;
    memory.dims = p_.values[id].dims;
    ValueId first = addValue(memory), second = addValue(memory);
    p_.values[id].memory = first;
    p_.values[id].spare = second;
    enter.temps.insert(enter.temps.end(), {first, second});
  }
  enter.outputs = loop.carried;
  reportBound(nodeName(m_, call), "loop", enter.inputs, loop.carried);
  p_.instrs.push_back(std::move(enter));
  return {};
}

Expected<> ProgramBuilder::addTail(BlockId block, Env &env, OpenLoop &loop, int depth) {
  BYCC_TRY(checkDepth(block, depth));
  NodeId result = m_.block(block).result;
  for (NodeId node : std::vector<NodeId>(m_.block(block).nodes))
    if (node != result)
      BYCC_TRY(addNode(node, env, depth));
  return addTailNode(result, env, loop, depth);
}

Expected<> ProgramBuilder::addTailNode(NodeId node, Env &env, OpenLoop &loop, int depth) {
  if (isCallOf(node, loop.function))
    return addNext(node, env, loop);
  if (m_.node(node).kind == NodeKind::If && hasCallOf(node, loop.function)) {
    ValueId condition = BYCC_TRY(valuesOf(m_.operands(node)[0], env))[0];
    p_.instrs.push_back({Instr::Kind::If, 0, {condition}, {}, {}, {}, {}, none});
    for (BlockId block : {m_.thenBlock(node), m_.elseBlock(node)}) {
      if (block == m_.elseBlock(node))
        p_.instrs.push_back({Instr::Kind::Else, 0, {}, {}, {}, {}, {}, none});
      Env inner;
      inner.parent = &env;
      auto symbols = symbols_;
      BYCC_TRY(addTail(block, inner, loop, depth + 1));
      symbols_ = std::move(symbols);
    }
    p_.instrs.push_back({Instr::Kind::EndIf, 0, {}, {}, {}, {}, {}, none});
    return {};
  }
  if (m_.node(node).kind == NodeKind::Call)
    if (auto callee = resolve(m_.operands(node)[0], env)) {
      NodeId function = m_.operands(node)[0];
      if (m_.node(function).kind == NodeKind::Function && hasCallOf(function, loop.function)) {
        std::vector<NodeId> operands(m_.operands(node).begin() + 1, m_.operands(node).end());
        Env inner = BYCC_TRY(bindParams(callee->first, callee->second, operands, env));
        return addTail(m_.function(callee->first).body, inner, loop, depth + 1);
      }
    }
  // The result of a block may also stand outside of it.
  if (!m_.isLeaf(node) && !valuesOf(node, env))
    BYCC_TRY(addNode(node, env, depth));
  std::vector<ValueId> values = BYCC_TRY(valuesOf(node, env));
  loop.isLeft = true;
  loop.left.insert(loop.left.end(), values.begin(), values.end());
  p_.instrs.push_back({Instr::Kind::Leave, 0, values, loop.results, {}, {}, {}, none});
  return {};
}

Expected<> ProgramBuilder::addNext(NodeId call, const Env &env, OpenLoop &loop) {
  Instr next{Instr::Kind::Next, 0, {}, loop.carried, {}, {}, {}, none};
  for (size_t a = 0; a < loop.isCarried.size(); ++a)
    if (loop.isCarried[a])
      for (ValueId value : BYCC_TRY(valuesOf(m_.operands(call)[a + 1], env)))
        next.inputs.push_back(value);
  p_.instrs.push_back(std::move(next));
  return {};
}

} // namespace bycc::codegen
