// Type inference of nodes and modules, and the check of call attributes.

#include "bycc/IR/Infer.h"

#include "bycc/IR/Visitor.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cmath>

namespace bycc {
namespace {

constexpr size_t maxErrors = 20;

ErrorBuilder errorAt(const Module &module, NodeId node) { return error(Status::Input, module.source(node)); }

bool isDimAssignable(Dim actual, Dim wanted) { return actual == wanted || !wanted.isConst() || !actual.isConst(); }

Expected<TypeId> inferCallOp(Module &module, NodeId node) {
  const OpInfo &info = opInfo(module.node(node).op);
  size_t count = module.operands(node).size();
  if (count < info.minInputs || (!info.isVariadic && count > info.inputs.size()))
    return errorAt(module, node) << info.name << ": takes " << info.minInputs
                                 << (info.isVariadic || info.inputs.size() > info.minInputs ? " or more" : "")
                                 << " inputs, " << count << " given";
  for (NodeId operand : module.operands(node))
    if (TypeKind kind = module.types.kind(module.type(operand)); kind != TypeKind::Tensor && kind != TypeKind::Tuple)
      return errorAt(module, node) << info.name << ": an input is neither a tensor nor a tuple";
  InferContext context(module, node);
  return info.inferType(context);
}

Expected<TypeId> inferCall(Module &module, NodeId node) {
  auto operands = module.operands(node);
  NodeId callee = operands[0];
  TypeId type = module.type(callee);
  if (module.node(callee).kind == NodeKind::Global)
    type = module.node(callee).type = module.functionType(module.functionOf(callee));
  if (module.types.kind(type) != TypeKind::Function) {
    if (module.node(callee).kind == NodeKind::Function && module.type(callee) == module.types.incomplete()) {
      // A recursive call inside the function's own body: its declared result.
      TypeId declared = module.function(module.functionOf(callee)).resultType;
      if (declared && declared != module.types.incomplete())
        return declared;
      return errorAt(module, node) << "a recursive function needs a declared result type";
    }
    return errorAt(module, node) << "what is called is no function but " << module.types.str(type);
  }
  auto params = module.types.params(type);
  if (params.size() != operands.size() - 1)
    return errorAt(module, node) << "the function takes " << params.size() << " arguments, "
                                 << operands.size() - 1 << " given";
  for (size_t i = 0; i < params.size(); ++i)
    if (!isAssignable(module, module.type(operands[i + 1]), params[i]))
      return errorAt(module, node) << "argument " << i << " is " << module.types.str(module.type(operands[i + 1]))
                                   << ", the function takes " << module.types.str(params[i]);
  TypeId result = module.types.result(type);
  if (result == module.types.incomplete())
    return errorAt(module, node) << "a recursive function needs a declared result type";
  return result;
}

// The type that holds values of both: equal, or with `?` where dims differ.
std::optional<TypeId> unify(Module &module, TypeId a, TypeId b) {
  if (a == b)
    return a;
  if (module.types.kind(a) != module.types.kind(b))
    return std::nullopt;
  if (module.types.isTuple(a)) {
    auto left = module.types.fields(a), right = module.types.fields(b);
    if (left.size() != right.size())
      return std::nullopt;
    std::vector<TypeId> fields;
    for (size_t i = 0; i < left.size(); ++i) {
      auto field = unify(module, left[i], right[i]);
      if (!field)
        return std::nullopt;
      fields.push_back(*field);
    }
    return module.types.tuple(fields);
  }
  if (!module.types.isTensor(a) || module.types.dtype(a) != module.types.dtype(b) ||
      module.types.shape(a).size() != module.types.shape(b).size())
    return std::nullopt;
  std::vector<Dim> dims;
  for (size_t i = 0; i < module.types.shape(a).size(); ++i) {
    Dim x = module.types.shape(a)[i], y = module.types.shape(b)[i];
    dims.push_back(x == y ? x : Dim::unknown());
  }
  return module.types.tensor(module.types.dtype(a), dims, module.types.layout(a), module.types.device(a));
}

Expected<TypeId> inferIf(Module &module, NodeId node) {
  TypeId condition = module.type(module.operands(node)[0]);
  if (!module.types.isTensor(condition) || module.types.dtype(condition) != DType::Bool ||
      !module.types.shape(condition).empty())
    return errorAt(module, node) << "if: the condition is " << module.types.str(condition) << ", not bool";
  TypeId a = module.type(module.block(module.thenBlock(node)).result);
  TypeId b = module.type(module.block(module.elseBlock(node)).result);
  auto type = unify(module, a, b);
  if (!type)
    return errorAt(module, node) << "if: the branches give " << module.types.str(a) << " and " << module.types.str(b);
  return *type;
}

Expected<TypeId> inferProject(Module &module, NodeId node) {
  TypeId tuple = module.type(module.operands(node)[0]);
  uint32_t index = module.node(node).payload;
  if (!module.types.isTuple(tuple))
    return errorAt(module, node) << "projection of " << module.types.str(tuple) << ", which is no tuple";
  if (index >= module.types.fields(tuple).size())
    return errorAt(module, node) << "field " << index << " of a tuple of " << module.types.fields(tuple).size();
  return module.types.fields(tuple)[index];
}

Expected<TypeId> inferKind(Module &module, NodeId node) {
  switch (module.node(node).kind) {
  case NodeKind::CallOp: return inferCallOp(module, node);
  case NodeKind::Call: return inferCall(module, node);
  case NodeKind::If: return inferIf(module, node);
  case NodeKind::Project: return inferProject(module, node);
  case NodeKind::Function: return module.functionType(module.functionOf(node));
  case NodeKind::Global: return module.functionType(module.functionOf(node));
  case NodeKind::Tuple: {
    std::vector<TypeId> fields;
    for (NodeId operand : module.operands(node))
      fields.push_back(module.type(operand));
    return module.types.tuple(fields);
  }
  case NodeKind::Param:
  case NodeKind::Constant: break;
  }
  return module.type(node);
}

// Infers blocks; a node whose operand failed is skipped silently.
class ModuleInference {
public:
  explicit ModuleInference(Module &module) : module_(module) {}

  void function(FunctionId id) {
    block(module_.function(id).body);
    const Function &f = module_.function(id);
    NodeId result = module_.block(f.body).result;
    if (!result || !f.resultType || f.resultType == module_.types.incomplete() || isFailed(result))
      return;
    if (!isAssignable(module_, module_.type(result), f.resultType))
      report((errorAt(module_, result) << "the function declares the result " << module_.types.str(f.resultType)
                                       << ", its body has " << module_.types.str(module_.type(result))));
  }
  Expected<> take() {
    if (found_.empty())
      return {};
    return Error(std::move(found_));
  }

private:
  bool isFailed(NodeId node) const { return node.index < failed_.size() && failed_[node.index]; }
  void report(Error problem) {
    for (Diagnostic &diagnostic : problem.diagnostics())
      if (found_.size() < maxErrors)
        found_.push_back(std::move(diagnostic));
  }
  void block(BlockId id) {
    // By index: inference never changes the list.
    const std::vector<NodeId> &nodes = module_.block(id).nodes;
    for (NodeId node : nodes) {
      for (BlockId inner : innerBlocks(module_, node)) {
        if (module_.node(node).kind == NodeKind::Function)
          function(module_.functionOf(node));
        else
          block(inner);
      }
      bool skip = std::ranges::any_of(module_.operands(node), [&](NodeId operand) { return isFailed(operand); });
      auto result = skip ? Expected<>(error(Status::Input) << "") : inferNode(module_, node);
      if (result)
        continue;
      if (!skip)
        report(result.takeError());
      failed_.resize(std::max<size_t>(failed_.size(), node.index + 1));
      failed_[node.index] = true;
    }
  }
  Module &module_;
  std::vector<bool> failed_;
  std::vector<Diagnostic> found_;
};

// Globals so that callees come first; recursion keeps definition order.
std::vector<FunctionId> calleesFirst(const Module &module) {
  std::vector<FunctionId> order;
  std::vector<uint8_t> state(module.numFunctions(), 0); // 1 open, 2 done
  for (FunctionId root : module.globals()) {
    std::vector<std::pair<FunctionId, bool>> stack{{root, false}};
    while (!stack.empty()) {
      auto [id, leave] = stack.back();
      stack.pop_back();
      if (leave) {
        order.push_back(id);
        state[id.index] = 2;
        continue;
      }
      if (state[id.index])
        continue;
      state[id.index] = 1;
      stack.emplace_back(id, true);
      forEachNode(module, module.function(id).body, [&](NodeId node) {
        for (NodeId operand : module.operands(node))
          if (module.node(operand).kind == NodeKind::Global && !state[module.functionOf(operand).index])
            stack.emplace_back(module.functionOf(operand), false);
      });
    }
  }
  return order;
}

// The value as the kind the attribute wants; nullopt when it cannot be.
std::optional<AttrValue> normalised(const AttrSpec &spec, const AttrValue &value) {
  auto asInts = [](const AttrValue &v) -> std::optional<AttrValue> {
    if (v.isInt())
      return AttrValue(AttrValue::List{v});
    if (!v.isList())
      return std::nullopt;
    for (const AttrValue &item : v.asList())
      if (!item.isInt())
        return std::nullopt;
    return v;
  };
  if (value.isNone())
    return spec.isNullable ? std::optional(value) : std::nullopt;
  switch (spec.type) {
  case AttrType::Any: return value;
  case AttrType::Bool:
    if (value.isInt() && (value.asInt() == 0 || value.asInt() == 1))
      return AttrValue(value.asInt() == 1);
    return value.isBool() ? std::optional(value) : std::nullopt;
  case AttrType::Int:
    if (value.isBool())
      return AttrValue(static_cast<int64_t>(value.asBool()));
    return value.isInt() ? std::optional(value) : std::nullopt;
  case AttrType::Float:
    if (value.isInt())
      return AttrValue(static_cast<double>(value.asInt()));
    return value.isFloat() ? std::optional(value) : std::nullopt;
  case AttrType::String: return value.isString() ? std::optional(value) : std::nullopt;
  case AttrType::DTypeName:
    if (value.isString() && (value.asString().empty() || parseDType(value.asString())))
      return value;
    return std::nullopt;
  case AttrType::Ints: return asInts(value);
  case AttrType::Floats: {
    AttrValue::List list;
    if (value.isFloat() || value.isInt())
      list = {value};
    else if (value.isList())
      list = value.asList();
    else
      return std::nullopt;
    for (AttrValue &item : list) {
      if (item.isInt())
        item = AttrValue(static_cast<double>(item.asInt()));
      if (!item.isFloat())
        return std::nullopt;
    }
    return AttrValue(std::move(list));
  }
  }
  return std::nullopt;
}

std::string_view describe(AttrType type) {
  switch (type) {
  case AttrType::Bool: return "a bool";
  case AttrType::Int: return "an integer";
  case AttrType::Float: return "a number";
  case AttrType::String: return "a string";
  case AttrType::DTypeName: return "a dtype name";
  case AttrType::Ints: return "a list of integers";
  case AttrType::Floats: return "a list of numbers";
  case AttrType::Any: break;
  }
  return "a value";
}

} // namespace

bool isAssignable(const Module &module, TypeId actual, TypeId wanted) {
  const TypeTable &types = module.types;
  if (actual == wanted || wanted == types.incomplete())
    return true;
  if (types.kind(actual) != types.kind(wanted))
    return false;
  if (types.isTuple(actual))
    return std::ranges::equal(types.fields(actual), types.fields(wanted),
                              [&](TypeId a, TypeId b) { return isAssignable(module, a, b); });
  if (!types.isTensor(actual))
    return false;
  return types.dtype(actual) == types.dtype(wanted) && types.layout(actual) == types.layout(wanted) &&
         types.device(actual) == types.device(wanted) &&
         std::ranges::equal(types.shape(actual), types.shape(wanted), isDimAssignable);
}

Expected<> inferNode(Module &module, NodeId node) {
  TypeId type = BYCC_TRY(inferKind(module, node));
  module.node(node).type = type;
  return {};
}

Expected<> inferTypes(Module &module) {
  ModuleInference inference(module);
  for (FunctionId function : calleesFirst(module))
    inference.function(function);
  return inference.take();
}

Expected<AttrDict> checkAttrs(OpId op, AttrDict attrs, const SourceLocation &location) {
  const OpInfo &info = opInfo(op);
  AttrDict checked;
  for (Attr &attr : attrs) {
    const AttrSpec *spec = info.findAttr(attr.key);
    if (!spec) {
      std::vector<std::string> names;
      for (const AttrSpec &each : info.attrs)
        names.push_back(each.name);
      auto near = nearest(attr.key, names);
      return error(Status::Input, location) << info.name << ": unknown attribute '" << escaped(attr.key) << "'"
                                            << (near ? ", did you mean '" + *near + "'?" : "");
    }
    auto value = normalised(*spec, attr.value);
    if (!value)
      return error(Status::Input, location) << info.name << ": attribute '" << attr.key << "' is "
                                            << describe(spec->type) << ", not " << attr.value.str();
    if (spec->isRequired || !(*value == spec->defaultValue))
      checked.push_back({attr.key, std::move(*value)});
  }
  for (const AttrSpec &spec : info.attrs)
    if (spec.isRequired && std::ranges::none_of(attrs, [&](const Attr &attr) { return attr.key == spec.name; }))
      return error(Status::Input, location) << info.name << ": attribute '" << spec.name << "' is missing";
  return checked;
}

} // namespace bycc
