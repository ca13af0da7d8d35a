// Calls of vendors' functions.
#include "ProgramBuilder.h"
#include "bycc/Target/RegionView.h"

namespace bycc::te {
namespace {

constexpr int maxDepth = 64; // of calls and ifs

} // namespace

Expected<> ProgramBuilder::addRegion(NodeId call, FunctionId function, const std::vector<NodeId> &operands, Env &env) {
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

void ProgramBuilder::collectRegion(FunctionId function, ProfiledNode &profiled, std::vector<NodeId> &sources, int depth) {
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

} // namespace bycc::te
