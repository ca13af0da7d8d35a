// The program's values, its inputs and its results.
#include "ProgramBuilder.h"

#include <algorithm>

namespace bycc::codegen {

Expected<Program> ProgramBuilder::run() {
  FunctionId main = m_.main();
  if (!main)
    return error(Status::Input) << "the module has no @main";
  Env env;
  const Function &function = m_.function(main);
  for (NodeId param : function.params)
    env.values[param.index] = addInput(param);
  addNonEmptyChecks();
  open_.push_back(main);
  BYCC_TRY(addBlock(function.body, env, 0));
  for (ValueId value : BYCC_TRY(valuesOf(m_.block(function.body).result, env)))
    addOutput(value);
  return std::move(p_);
}

const std::vector<ValueId> *Env::find(NodeId node) const {
  for (const Env *at = this; at; at = at->parent)
    if (auto it = at->values.find(node.index); it != at->values.end())
      return &it->second;
  return nullptr;
}

ValueId ProgramBuilder::addValue(Value value) {
  p_.values.push_back(std::move(value));
  return static_cast<ValueId>(p_.values.size() - 1);
}

std::vector<ValueId> ProgramBuilder::addInput(NodeId param) {
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
    std::string name = numInputs_ < options_.inputs.size() ? options_.inputs[numInputs_].name
                                                           : "input_" + std::to_string(numInputs_);
    ++numInputs_;
    value.entry = {addGraphNode({CodeGraphNode::Kind::Argument, name, "", {param}, {}, {type}, {}}),
                   0};
    made.push_back(addValue(value));
  }
  return made;
}

Ref ProgramBuilder::inputDim(Dim dim, uint32_t axis) {
  if (dim.isConst())
    return p_.exprs.integer(dim.value());
  if (!dim.isUnknown())
    if (auto it = symbols_.find(dim.raw()); it != symbols_.end())
      return it->second;
  Ref made = p_.addDim({numInputs_, axis}, m_.types.likely(dim));
  if (!dim.isUnknown())
    symbols_[dim.raw()] = made;
  return made;
}

uint32_t ProgramBuilder::addGraphNode(CodeGraphNode node) {
  int &count = graphNames_[node.name];
  if (count++ > 0)
    node.name += "." + std::to_string(count - 1);
  p_.graph.push_back(std::move(node));
  return static_cast<uint32_t>(p_.graph.size() - 1);
}

std::vector<Ref> ProgramBuilder::staticDims(TypeId type) {
  std::vector<Ref> dims;
  for (Dim dim : m_.types.shape(type))
    dims.push_back(p_.exprs.integer(dim.isConst() ? dim.value() : 0));
  return dims;
}

ValueId ProgramBuilder::constantValue(NodeId node) {
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

std::pair<uint32_t, uint32_t> ProgramBuilder::entryOf(ValueId value) {
  if (auto view = unreadViews_.find(value); view != unreadViews_.end()) {
    CodeGraphNode node = std::move(view->second);
    unreadViews_.erase(view);
    node.inputs = {entryOf(p_.values[value].alias)};
    uint32_t made = addGraphNode(std::move(node));
    p_.values[value].entry = {made, 0};
  }
  Value &v = p_.values[value];
  if (v.entry.first == none && v.kind == Value::Kind::Constant) {
    std::string name = m_.constants[v.index].name;
    v.entry = {addGraphNode({CodeGraphNode::Kind::Constant,
                             name.empty() ? "const" : name,
                             "",
                             {},
                             {},
                             {v.type},
                             {}}),
               0};
  }
  return v.entry;
}

Expected<std::vector<ValueId>> ProgramBuilder::valuesOf(NodeId node, const Env &env) {
  if (m_.isConstant(node))
    return std::vector<ValueId>{constantValue(node)};
  if (const std::vector<ValueId> *values = env.find(node))
    return *values;
  return error(Status::Unsup, m_.source(node)) << "a function as a value has no host code";
}

std::vector<ValueId> ProgramBuilder::newBuffers(TypeId type, uint32_t graphNode) {
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

void ProgramBuilder::addOutput(ValueId value) {
  uint32_t index = static_cast<uint32_t>(p_.outputs.size());
  ValueId root = p_.root(value);
  Value &v = p_.values[root];
  // For run-time extents the runtime is asked with the shape of what is written.
  // So it is where they turned out to be numbers that the type does not tell.
  bool isOpen = !m_.types.isStatic(p_.values[value].type);
  bool isKnown = p_.isStatic(v) && p_.isStatic(p_.values[value]) && !isOpen;
  bool isPlain =
      v.kind == Value::Kind::Buffer && !v.isBound && v.output == none && (isKnown || root == value);
  if (isPlain) {
    entryOf(value);
    v.output = index;
    v.isAsked = isOpen;
    p_.outputs.push_back(value);
    return;
  }
  Value copy = p_.values[value];
  copy.kind = Value::Kind::Buffer;
  copy.alias = none;
  copy.isBound = false;
  copy.memory = copy.spare = none;
  copy.output = index;
  copy.isAsked = isOpen;
  entryOf(value);
  copy.entry = p_.values[value].entry;
  ValueId made = addValue(copy);
  p_.instrs.push_back({Instr::Kind::Copy, 0, {value}, {made}, {}, {}, {}, none});
  p_.outputs.push_back(made);
}

Expected<Program> buildProgram(Module &module, const TargetInfo &target,
                               const CodeGenOptions &options, Scheduler &scheduler) {
  BYCC_TRY(checkTypes(module, options));
  BYCC_TRY(splitWide(module, options));
  return ProgramBuilder(module, target, options, scheduler).run();
}

} // namespace bycc::codegen
