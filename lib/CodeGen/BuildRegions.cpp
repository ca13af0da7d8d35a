// Calls of vendors' functions.
#include "ProgramBuilder.h"
#include "bycc/Target/RegionView.h"

#include <algorithm>
#include <limits>

namespace bycc::codegen {
Expected<uint32_t> ProgramBuilder::regionOf(FunctionId function) {
  auto [it, isNew] =
      regionIds_.try_emplace(function.index, static_cast<uint32_t>(p_.regions.size()));
  if (isNew) {
    const AttrValue *symbol = m_.functionAttr(function, "global_symbol");
    std::string name = symbol && symbol->isString()
                           ? symbol->asString()
                           : std::string(m_.string(m_.function(function).name));
    RegionCode region{function, name, m_.functionAttr(function, "Compiler")->asString(), {}};
    region.hasHostCode = bool(m_.function(function).hostCode);
    region.ownsMemory = options_.ownsMemory && options_.ownsMemory(function);
    region.code = BYCC_TRY(options_.compileRegion(function));
    p_.regions.push_back(std::move(region));
  }
  return it->second;
}

Expected<> ProgramBuilder::addRegion(NodeId call, FunctionId function,
                                     const std::vector<NodeId> &operands, Env &env, int depth) {
  FunctionId twin = m_.function(function).hostCode;
  if (!twin)
    return addRegionCall(call, function, operands, env);
  // The runtime says whether the region could be loaded: an if without a condition of the program.
  uint32_t region = BYCC_TRY(regionOf(function));
  auto ofVendor = [&]() -> Expected<std::vector<ValueId>> {
    Env inner;
    inner.parent = &env;
    BYCC_TRY(addRegionCall(call, function, operands, inner));
    return std::move(inner.values[call.index]);
  };
  env.values[call.index] =
      BYCC_TRY(addBranches({Instr::Kind::If, region, {}, {}, {}, {}, {}, none}, m_.type(call),
                           p_.regions[region].symbol + "_or_host", ofVendor,
                           [&] { return addBody(twin, nullptr, operands, env, depth); }));
  return {};
}

Expected<> ProgramBuilder::addRegionCall(NodeId call, FunctionId function,
                                         const std::vector<NodeId> &operands, Env &env) {
  uint32_t number = BYCC_TRY(regionOf(function));
  const RegionCode &region = p_.regions[number];
  Instr instr;
  instr.kind = Instr::Kind::Region;
  instr.callee = number;
  CodeGraphNode report{CodeGraphNode::Kind::Region,
                       region.symbol,
                       region.symbol,
                       {},
                       {},
                       m_.types.flatten(m_.type(call)),
                       {}};
  for (NodeId operand : operands)
    for (ValueId value : BYCC_TRY(valuesOf(operand, env))) {
      instr.inputs.push_back(value);
      report.inputs.push_back(entryOf(value));
    }
  ProfiledNode profiled{region.symbol, "", 0};
  collectRegion(function, profiled, report.sources);
  addRegionChecks(function, instr);
  instr.node = static_cast<uint32_t>(p_.nodes.size());
  p_.nodes.push_back(std::move(profiled));
  instr.outputs = newBuffers(m_.type(call), addGraphNode(std::move(report)));
  for (ValueId id : instr.outputs)
    BYCC_TRY(setResultDims(call, region.symbol, id));
  env.values[call.index] = instr.outputs;
  p_.instrs.push_back(std::move(instr));
  return {};
}

// Extents of a region's results follow from the symbols of their types.
Expected<> ProgramBuilder::setResultDims(NodeId call, const std::string &region, ValueId id) {
  Value &value = p_.values[id];
  auto shape = m_.types.shape(value.type);
  for (size_t d = 0; d < shape.size(); ++d) {
    auto extent = extentOf(shape[d]);
    if (!extent)
      return error(Status::Unsup, m_.source(call))
             << "region " << region << ": axis " << d << " of its result is "
             << m_.types.str(shape[d]) << ", which is not known before it runs";
    p_.values[id].dims[d] =
        isSumOfExtents(p_.exprs, *extent)
            ? *extent
            : defineDim(*extent, "region " + region + ": axis " + std::to_string(d) +
                                     " of its result has an extent of {}");
  }
  return {};
}

// A vendor trusts the types that its region was compiled with.
void ProgramBuilder::addRegionChecks(FunctionId function, const Instr &region) {
  size_t next = 0;
  for (NodeId param : m_.function(function).params)
    for (TypeId type : m_.types.flatten(m_.type(param))) {
      const std::vector<Ref> dims = p_.values[region.inputs[next]].dims;
      auto shape = m_.types.shape(type);
      for (size_t d = 0; d < shape.size(); ++d) {
        auto wanted = extentOf(shape[d]);
        Ref holds = wanted ? p_.exprs.binary(Op::Eq, dims[d], *wanted) : p_.exprs.boolean(true);
        if (p_.exprs.constant(holds) == 1)
          continue;
        Instr check;
        check.kind = Instr::Kind::Require;
        check.message = "region " + p_.regions[region.callee].symbol + ": axis " +
                        std::to_string(d) + " of input " + std::to_string(next) +
                        " has {} elements, wanted {}";
        check.dims = {holds, dims[d], *wanted};
        p_.instrs.push_back(std::move(check));
      }
      ++next;
    }
}

double ProgramBuilder::flopsOf(NodeId call) const {
  auto flops = opInfo(m_.node(call).op).flops;
  if (!flops)
    return 0;
  auto isStatic = [&](NodeId node) { return m_.types.isStatic(m_.type(node)); };
  bool isKnown = isStatic(call) && std::ranges::all_of(m_.operands(call), isStatic);
  return isKnown ? flops(m_, call) : std::numeric_limits<double>::quiet_NaN();
}

void ProgramBuilder::collectRegion(FunctionId function, ProfiledNode &profiled,
                                   std::vector<NodeId> &sources) {
  for (NodeId node : m_.block(m_.function(function).body).nodes) {
    if (m_.node(node).kind == NodeKind::CallOp) {
      sources.push_back(node);
      profiled.addSource(nodeName(m_, node));
      profiled.flops += flopsOf(node);
    } else if (m_.node(node).kind == NodeKind::Function) {
      collectRegion(m_.functionOf(node), profiled, sources);
    }
  }
}

} // namespace bycc::codegen
