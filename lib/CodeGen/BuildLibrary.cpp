// Operators that library kernels of the runtime compute.
#include "ProgramBuilder.h"

#include "bycc/Support/Text.h"
#include "bycc/Target/RegionView.h"

namespace bycc::codegen {

bool ProgramBuilder::addDims(Value &value, ValueId like) {
  bool isTold = false;
  auto shape = m_.types.shape(value.type);
  for (size_t d = 0; d < shape.size(); ++d) {
    auto known = extentOf(shape[d]);
    if (shape[d].isConst()) {
      value.dims.push_back(p_.exprs.integer(shape[d].value()));
    } else if (known) {
      value.dims.push_back(*known);
    } else if (like != none) {
      value.dims.push_back(p_.values[like].dims[d]);
    } else {
      value.dims.push_back(p_.addDim({}, m_.types.likely(shape[d])));
      isTold = true;
    }
  }
  return isTold;
}

Expected<> ProgramBuilder::addLibrary(NodeId id, Env &env) {
  LibraryUse use = BYCC_TRY(libraryUse(m_, id));
  std::string name = nodeName(m_, id),
              symbol = options_.moduleName + "_" + asIdentifier(opInfo(m_.node(id).op).name);
  CodeGraphNode report{CodeGraphNode::Kind::Kernel,   name, symbol, {id}, {},
                       m_.types.flatten(m_.type(id)), {}};
  Instr instr;
  instr.kind = Instr::Kind::Library;
  for (NodeId operand : m_.operands(id))
    for (ValueId value : BYCC_TRY(valuesOf(operand, env))) {
      instr.inputs.push_back(value);
      report.inputs.push_back(entryOf(value));
    }
  instr.node = static_cast<uint32_t>(p_.nodes.size());
  p_.nodes.push_back({symbol, name, flopsOf(id)});
  LibraryCode code{use.kernel, std::move(use.attributes), {}};
  uint32_t graphNode = addGraphNode(std::move(report)), index = 0;
  for (TypeId type : m_.types.flatten(m_.type(id))) {
    Value value;
    value.type = type;
    value.dtype = m_.types.dtype(type);
    ValueId like = index < use.like.size() && use.like[index] != LibraryUse::told
                       ? instr.inputs[use.like[index]]
                       : none;
    code.isTold.push_back(addDims(value, like));
    value.entry = {graphNode, index++};
    instr.outputs.push_back(addValue(std::move(value)));
    bindSymbols(type, instr.outputs.back());
  }
  instr.callee = static_cast<uint32_t>(p_.libraryCalls.size());
  p_.libraryCalls.push_back(std::move(code));
  env.values[id.index] = instr.outputs;
  p_.instrs.push_back(std::move(instr));
  return {};
}

} // namespace bycc::codegen
