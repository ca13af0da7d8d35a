// Type inference and attribute checks.
//
// A module is inferred callees first, each body block by block, in list order:
// a node's operands come before it, so one pass is enough. Only a recursive
// function needs a declared result type. A node whose operand has no type (an
// error was reported there) stays without one, silently, so that one mistake
// gives one message.

#include "bycc/IR/Infer.h"

#include "Shape.h"
#include "bycc/IR/Functions.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc {

// --- attributes

namespace {

constexpr std::string_view kindName(AttrType type) {
  switch (type) {
  case AttrType::Bool:
    return "True or False";
  case AttrType::Int:
    return "an integer";
  case AttrType::Float:
    return "a number";
  case AttrType::String:
    return "a string";
  case AttrType::Ints:
    return "a list of integers";
  case AttrType::Floats:
    return "a list of numbers";
  case AttrType::DTypeName:
    return "a dtype";
  case AttrType::Any:
    return "a value";
  }
  return "";
}

std::optional<AttrValue> normalize(AttrType type, const AttrValue &value);

std::optional<AttrValue> normalizeList(AttrType item, const AttrValue &value) {
  if (!value.isList()) {
    auto single = value.isBool() ? std::nullopt : normalize(item, value);
    return single ? std::optional(AttrValue(AttrValue::List{*single})) : std::nullopt;
  }
  AttrValue::List list;
  for (const AttrValue &each : value.asList()) {
    auto element = each.isBool() ? std::nullopt : normalize(item, each);
    if (!element)
      return std::nullopt;
    list.push_back(std::move(*element));
  }
  return AttrValue(std::move(list));
}

// `value` in the kind the operator stores; nullopt when it cannot be that.
std::optional<AttrValue> normalize(AttrType type, const AttrValue &value) {
  switch (type) {
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
  case AttrType::String:
    return value.isString() ? std::optional(value) : std::nullopt;
  case AttrType::Ints:
    return normalizeList(AttrType::Int, value);
  case AttrType::Floats:
    return normalizeList(AttrType::Float, value);
  case AttrType::DTypeName:
    return value.isString() ? std::optional(value) : std::nullopt;
  case AttrType::Any:
    return value;
  }
  return std::nullopt;
}

Expected<AttrValue> checkValue(const OpInfo &info, const AttrSpec &spec, const AttrValue &value,
                               const SourceLocation &location) {
  if (value.isNone()) {
    if (spec.isNullable)
      return value;
  } else if (auto normal = normalize(spec.type, value)) {
    bool isUnset = spec.defaultValue.isString() && value.isString() && value.asString().empty();
    if (spec.type != AttrType::DTypeName || isUnset || parseDType(value.asString()))
      return *normal;
  }
  return error(Status::Input, location).as(MessageId::AttributeKind)
         << info.name << ": attribute " << spec.name << " is " << kindName(spec.type) << ", got "
         << escaped(value.str(), 80);
}

Error unknownAttr(const OpInfo &info, const std::string &key, const SourceLocation &location) {
  std::vector<std::string> names;
  for (const AttrSpec &spec : info.attrs)
    names.push_back(spec.name);
  auto message = error(Status::Input, location).as(MessageId::UnknownAttribute)
                 << info.name << ": unknown attribute " << escaped(key);
  if (auto close = nearest(key, names))
    return std::move(message) << ", did you mean " << *close;
  if (names.empty())
    return std::move(message).note(std::string(info.name) + " takes no attributes");
  return std::move(message).note("attributes of " + std::string(info.name) + ": " +
                                 join(names, ", "));
}

} // namespace

Expected<AttrDict> checkAttrs(OpId op, AttrDict attrs, const SourceLocation &location) {
  const OpInfo &info = opInfo(op);
  AttrDict result;
  std::vector<Diagnostic> found;
  auto report = [&](Error e) {
    for (Diagnostic &diagnostic : e.diagnostics())
      found.push_back(std::move(diagnostic));
  };
  for (size_t i = 0; i < attrs.size(); ++i) {
    const AttrSpec *spec = info.findAttr(attrs[i].key);
    bool isRepeated = std::any_of(attrs.begin(), attrs.begin() + static_cast<long>(i),
                                  [&](const Attr &other) { return other.key == attrs[i].key; });
    if (!spec) {
      report(unknownAttr(info, attrs[i].key, location));
    } else if (isRepeated) {
      report(error(Status::Input, location)
             << info.name << ": attribute " << spec->name << " is given twice");
    } else if (auto value = checkValue(info, *spec, attrs[i].value, location); !value) {
      report(value.takeError());
    } else if (spec->isRequired || !(*value == spec->defaultValue)) {
      result.push_back({attrs[i].key, std::move(*value)});
    }
    if (found.size() >= 8)
      break;
  }
  for (const AttrSpec &spec : info.attrs)
    if (spec.isRequired && std::ranges::find(attrs, spec.name, &Attr::key) == attrs.end())
      report(error(Status::Input, location).as(MessageId::MissingAttribute)
             << info.name << ": attribute " << spec.name << " must be given");
  if (!found.empty())
    return Error(std::move(found));
  std::ranges::sort(result, {}, &Attr::key);
  return result;
}

// --- types

bool isAssignable(const Module &module, TypeId actual, TypeId wanted) {
  if (actual == wanted)
    return true;
  const TypeTable &types = module.types;
  if (types.kind(actual) != types.kind(wanted))
    return false;
  auto allAssignable = [&](std::span<const TypeId> a, std::span<const TypeId> b) {
    return std::ranges::equal(a, b, [&](TypeId x, TypeId y) { return isAssignable(module, x, y); });
  };
  switch (types.kind(wanted)) {
  case TypeKind::Tensor:
    return types.dtype(actual) == types.dtype(wanted) &&
           types.layout(actual) == types.layout(wanted) &&
           types.device(actual) == types.device(wanted) &&
           std::ranges::equal(types.shape(actual), types.shape(wanted),
                              [](Dim a, Dim b) { return a == b || b.isUnknown(); });
  case TypeKind::Tuple:
    return allAssignable(types.fields(actual), types.fields(wanted));
  case TypeKind::Function:
    return allAssignable(types.params(wanted), types.params(actual)) &&
           isAssignable(module, types.result(actual), types.result(wanted));
  case TypeKind::Incomplete:
    break;
  }
  return false;
}

namespace {

// May a value of type `actual` be meant where `wanted` is asked for? Unlike
// isAssignable, dims that may turn out equal at run time pass.
bool mayMatch(const Module &module, TypeId actual, TypeId wanted) {
  if (isAssignable(module, actual, wanted))
    return true;
  const TypeTable &types = module.types;
  if (types.kind(actual) != types.kind(wanted))
    return false;
  if (types.isTensor(actual))
    return types.dtype(actual) == types.dtype(wanted) &&
           types.layout(actual) == types.layout(wanted) &&
           types.device(actual) == types.device(wanted) &&
           std::ranges::equal(types.shape(actual), types.shape(wanted),
                              [](Dim a, Dim b) { return shape::unify(a, b).has_value(); });
  if (types.isTuple(actual))
    return std::ranges::equal(types.fields(actual), types.fields(wanted),
                              [&](TypeId a, TypeId b) { return mayMatch(module, a, b); });
  return false;
}

// The type that both branches of an If have: differing dims become `?`.
std::optional<TypeId> joinTypes(Module &module, TypeId a, TypeId b) {
  TypeTable &types = module.types;
  if (a == b)
    return a;
  if (types.kind(a) != types.kind(b))
    return std::nullopt;
  if (types.isTensor(a)) {
    auto left = types.shape(a), right = types.shape(b);
    if (types.dtype(a) != types.dtype(b) || left.size() != right.size() ||
        types.layout(a) != types.layout(b) || types.device(a) != types.device(b))
      return std::nullopt;
    shape::Shape joined;
    for (size_t i = 0; i < left.size(); ++i)
      joined.push_back(left[i] == right[i] ? left[i] : Dim::unknown());
    return types.tensor(types.dtype(a), joined, types.layout(a), types.device(a));
  }
  if (!types.isTuple(a) || types.fields(a).size() != types.fields(b).size())
    return std::nullopt;
  std::vector<TypeId> fields;
  for (size_t i = 0; i < types.fields(a).size(); ++i) {
    auto field = joinTypes(module, types.fields(a)[i], types.fields(b)[i]);
    if (!field)
      return std::nullopt;
    fields.push_back(*field);
  }
  return types.tuple(fields);
}

bool isComplete(const TypeTable &types, TypeId type) {
  switch (types.kind(type)) {
  case TypeKind::Incomplete:
    return false;
  case TypeKind::Tensor:
    return true;
  case TypeKind::Tuple:
    return std::ranges::all_of(types.fields(type),
                               [&](TypeId field) { return isComplete(types, field); });
  case TypeKind::Function:
    return isComplete(types, types.result(type)) &&
           std::ranges::all_of(types.params(type),
                               [&](TypeId param) { return isComplete(types, param); });
  }
  return false;
}

Expected<TypeId> inferCallOp(Module &module, NodeId call) {
  const OpInfo &info = opInfo(module.node(call).op);
  size_t count = module.operands(call).size();
  if (count < info.minInputs || (count > info.inputs.size() && !info.isVariadic)) {
    size_t wanted = count < info.minInputs ? info.minInputs : info.inputs.size();
    return error(Status::Input, module.source(call)).as(MessageId::InputCount)
           << info.name << ": takes " << wanted << (wanted == 1 ? " input" : " inputs") << ", got "
           << count;
  }
  InferContext context(module, call);
  return info.inferType(context);
}

Expected<TypeId> calleeType(Module &module, NodeId call) {
  NodeId callee = module.operands(call)[0];
  TypeId type = module.type(callee);
  if (module.node(callee).kind == NodeKind::Global) {
    FunctionId function = module.functionOf(callee);
    type = module.functionType(function);
    if (!isComplete(module.types, type))
      return error(Status::Input, module.source(call))
             << "the recursive function @" << module.string(module.function(function).name)
             << " needs a declared result type";
    module.node(callee).type = type;
  }
  if (module.types.kind(type) != TypeKind::Function)
    return error(Status::Input, module.source(call))
           << "what is called is a function, got " << module.types.str(type);
  if (!isComplete(module.types, type))
    return error(Status::Input, module.source(call))
           << "a function that calls itself needs a declared result type";
  return type;
}

Expected<TypeId> inferCall(Module &module, NodeId call) {
  if (module.operands(call).empty())
    return error(Status::Input, module.source(call)) << "a call names a function";
  TypeId type = BYCC_TRY(calleeType(module, call));
  auto arguments = module.operands(call).subspan(1);
  auto params = module.types.params(type);
  if (arguments.size() != params.size())
    return error(Status::Input, module.source(call))
           << "the function takes " << params.size() << " arguments, got " << arguments.size();
  for (size_t i = 0; i < params.size(); ++i)
    if (!mayMatch(module, module.type(arguments[i]), params[i]))
      return error(Status::Input, module.source(call))
             << "argument " << i << " has type " << module.types.str(module.type(arguments[i]))
             << ", the function takes " << module.types.str(params[i]);
  return module.types.result(type);
}

Expected<TypeId> inferProject(Module &module, NodeId node) {
  TypeId type = module.type(module.operands(node)[0]);
  if (!module.types.isTuple(type))
    return error(Status::Input, module.source(node))
           << "a field is taken from a tuple, got " << module.types.str(type);
  auto fields = module.types.fields(type);
  if (module.node(node).payload >= fields.size())
    return error(Status::Input, module.source(node))
           << "field " << module.node(node).payload << " of a tuple with " << fields.size()
           << " fields";
  return fields[module.node(node).payload];
}

Expected<TypeId> inferIf(Module &module, NodeId node) {
  TypeId condition = module.type(module.operands(node)[0]);
  TypeTable &types = module.types;
  if (!types.isTensor(condition) || types.dtype(condition) != DType::Bool ||
      !types.shape(condition).empty())
    return error(Status::Input, module.source(node))
           << "the condition of an if is bool, got " << types.str(condition);
  TypeId a = module.type(module.block(module.thenBlock(node)).result);
  TypeId b = module.type(module.block(module.elseBlock(node)).result);
  auto joined = joinTypes(module, a, b);
  if (!joined)
    return error(Status::Input, module.source(node)) << "the branches of an if have one type, got "
                                                     << types.str(a) << " and " << types.str(b);
  return *joined;
}

// Function type with the declared result, if any, in place of the inferred one.
TypeId declaredType(Module &module, FunctionId id) {
  const Function &f = module.function(id);
  TypeId type = module.functionType(id);
  if (!f.resultType || f.resultType == module.types.incomplete())
    return type;
  auto params = module.types.params(type);
  return module.types.function(std::vector<TypeId>(params.begin(), params.end()), f.resultType);
}

Expected<TypeId> inferKind(Module &module, NodeId node) {
  switch (module.node(node).kind) {
  case NodeKind::Param:
    return module.type(node);
  case NodeKind::Constant:
    return module.constant(node).type;
  case NodeKind::Global:
    return module.functionType(module.functionOf(node));
  case NodeKind::CallOp:
    return inferCallOp(module, node);
  case NodeKind::Call:
    return inferCall(module, node);
  case NodeKind::Function:
    return module.functionType(module.functionOf(node));
  case NodeKind::Tuple: {
    std::vector<TypeId> fields;
    for (NodeId operand : module.operands(node))
      fields.push_back(module.type(operand));
    return module.types.tuple(fields);
  }
  case NodeKind::Project:
    return inferProject(module, node);
  case NodeKind::If:
    return inferIf(module, node);
  }
  BYCC_ASSERT(false, "a known node kind");
}

} // namespace

Expected<> inferNode(Module &module, NodeId node) {
  TypeId type = BYCC_TRY(inferKind(module, node));
  module.node(node).type = type;
  return {};
}

// --- a whole module

namespace {

constexpr uint32_t maxBlockDepth = 64;
constexpr uint32_t maxCallDepth = 100;
constexpr double maxRepeatedCalls = 1 << 16; // calls in functions that are called more than once

// Functions that others call before those, local ones among them. Compiled code has a
// copy of a function for each call, so how many there would be is limited.
class CallOrder {
public:
  explicit CallOrder(const Module &module) : module_(module) {}

  // Depth-first over the calls with an explicit stack; a call back into a
  // function that is still open is recursion and adds no order.
  Expected<std::vector<FunctionId>> run() {
    if (module_.globals().size() > maxFunctions)
      return error(Status::Limit) << "the program has " << module_.globals().size()
                                  << " functions, the limit is " << maxFunctions;
    enum State : uint8_t { New, Active, Done };
    std::vector<uint8_t> state(module_.numFunctions(), New);
    std::vector<uint32_t> depths(module_.numFunctions(), 0);
    std::vector<double> calls(module_.numFunctions(), 0);
    double mostCalls = maxRepeatedCalls + static_cast<double>(module_.numNodes());
    std::vector<FunctionId> order;
    std::vector<Open> stack;
    auto open = [&](FunctionId function) -> Expected<> {
      Open entry{function, {}, 0, 1, 1};
      BYCC_TRY(collectCallees(module_.function(function).body, 0, entry.callees));
      state[function.index] = Active;
      stack.push_back(std::move(entry));
      return {};
    };
    for (FunctionId root : module_.globals()) {
      if (state[root.index] != New)
        continue;
      BYCC_TRY(open(root));
      while (!stack.empty()) {
        Open &top = stack.back();
        if (top.next < top.callees.size()) {
          auto [callee, isCalled] = top.callees[top.next];
          if (state[callee.index] == New) {
            BYCC_TRY(open(callee)); // invalidates top
            continue;
          }
          ++top.next;
          if (state[callee.index] == Done && isCalled) {
            top.depth = std::max(top.depth, depths[callee.index] + 1);
            top.calls += calls[callee.index];
          }
          continue;
        }
        if (top.depth > maxCallDepth || top.calls > mostCalls)
          return error(Status::Limit, module_.source(module_.function(top.function).source))
                 << "@" << module_.string(module_.function(top.function).name) << " makes calls "
                 << (top.depth > maxCallDepth ? "nested " : "") << "beyond the limit of "
                 << (top.depth > maxCallDepth ? maxCallDepth : static_cast<uint32_t>(mostCalls));
        state[top.function.index] = Done;
        depths[top.function.index] = top.depth;
        calls[top.function.index] = top.calls;
        order.push_back(top.function);
        stack.pop_back();
      }
    }
    return order;
  }

private:
  struct Callee {
    FunctionId function;
    bool isCalled; // else it is only written down here
  };
  struct Open {
    FunctionId function;
    std::vector<Callee> callees;
    size_t next = 0;
    uint32_t depth = 1;
    double calls = 1; // of the tree below, every call counted
  };

  // Functions that a body names, through inner blocks too.
  Expected<> collectCallees(BlockId block, uint32_t depth, std::vector<Callee> &callees) {
    if (depth > maxBlockDepth)
      return error(Status::Limit) << "blocks nest deeper than " << maxBlockDepth;
    for (NodeId node : module_.block(block).nodes) {
      for (NodeId operand : module_.operands(node))
        if (NodeKind kind = module_.node(operand).kind;
            kind == NodeKind::Global || kind == NodeKind::Function)
          callees.push_back({module_.functionOf(operand), true});
      switch (module_.node(node).kind) {
      case NodeKind::If:
        BYCC_TRY(collectCallees(module_.thenBlock(node), depth + 1, callees));
        BYCC_TRY(collectCallees(module_.elseBlock(node), depth + 1, callees));
        break;
      case NodeKind::Function:
        callees.push_back({module_.functionOf(node), false});
        break;
      default:
        break;
      }
    }
    return {};
  }

  const Module &module_;
};

class ModuleInference {
public:
  explicit ModuleInference(Module &module) : module_(module) {}

  Expected<> run() {
    std::vector<bool> isGlobal(module_.numFunctions());
    for (FunctionId function : module_.globals())
      isGlobal[function.index] = true;
    for (FunctionId function : BYCC_TRY(CallOrder(module_).run()))
      if (isGlobal[function.index])
        inferFunction(function, 0);
    if (!found_.empty())
      return Error(std::move(found_));
    return {};
  }

private:
  void report(Error problem) {
    for (Diagnostic &diagnostic : problem.diagnostics())
      if (found_.size() < maxDiagnostics)
        found_.push_back(std::move(diagnostic));
  }

  void checkParams(FunctionId id) {
    for (NodeId param : module_.function(id).params) {
      TypeId type = module_.type(param);
      const SourceLocation &location = module_.source(param);
      if (!isComplete(module_.types, type)) {
        report(error(Status::Input, location).as(MessageId::NoType)
               << "parameter %" << escaped(module_.string(module_.node(param).name))
               << " needs a type");
        continue;
      }
      if (!isChecked(type))
        for (TypeId leaf : module_.types.flatten(type))
          if (module_.types.isTensor(leaf))
            if (auto fits = shape::checkLimits(module_.types, leaf, location, "a parameter"); !fits)
              report(fits.takeError());
    }
  }

  // True when the limits of this type were checked before.
  bool isChecked(TypeId type) {
    if (checked_.size() <= type.index)
      checked_.resize(type.index + 1, false);
    bool before = checked_[type.index];
    checked_[type.index] = true;
    return before;
  }

  void inferFunction(FunctionId id, uint32_t depth) {
    checkParams(id);
    BlockId body = module_.function(id).body;
    inferBlock(body, depth);
    NodeId result = module_.block(body).result;
    TypeId declared = module_.function(id).resultType;
    if (!result || !isTyped(result) || !declared || declared == module_.types.incomplete())
      return;
    if (!mayMatch(module_, module_.type(result), declared))
      report(error(Status::Input, module_.source(module_.function(id).source))
                 .as(MessageId::DeclaredType)
             << "the function declares the result " << module_.types.str(declared)
             << ", the body has " << module_.types.str(module_.type(result)));
  }

  bool isTyped(NodeId node) {
    NodeKind kind = module_.node(node).kind;
    if (kind == NodeKind::Global || kind == NodeKind::Function)
      return true;
    if (kind == NodeKind::Constant)
      module_.node(node).type = module_.constant(node).type;
    return module_.types.kind(module_.type(node)) != TypeKind::Incomplete;
  }

  // True when the node itself can be inferred.
  bool inferInner(NodeId node, uint32_t depth) {
    if (module_.node(node).kind == NodeKind::If) {
      BlockId blocks[] = {module_.thenBlock(node), module_.elseBlock(node)};
      for (BlockId block : blocks)
        inferBlock(block, depth + 1);
      return std::ranges::all_of(blocks, [&](BlockId block) {
        NodeId result = module_.block(block).result;
        return result && isTyped(result);
      });
    }
    if (module_.node(node).kind == NodeKind::Function) {
      FunctionId function = module_.functionOf(node);
      module_.node(node).type = declaredType(module_, function); // for calls of itself
      inferFunction(function, depth + 1);
    }
    return true;
  }

  void inferBlock(BlockId id, uint32_t depth) {
    for (size_t i = 0; i < module_.block(id).nodes.size(); ++i) {
      NodeId node = module_.block(id).nodes[i];
      bool canInfer = inferInner(node, depth);
      for (NodeId operand : module_.operands(node))
        canInfer = canInfer && isTyped(operand);
      if (!canInfer) {
        module_.node(node).type = module_.types.incomplete();
      } else if (auto done = inferNode(module_, node); !done) {
        module_.node(node).type = module_.types.incomplete();
        report(done.takeError());
      }
    }
  }

  Module &module_;
  std::vector<Diagnostic> found_;
  std::vector<bool> checked_;
};

} // namespace

Expected<> checkCalls(const Module &module) {
  BYCC_TRY(CallOrder(module).run());
  return {};
}

Expected<> inferTypes(Module &module) { return ModuleInference(module).run(); }

} // namespace bycc
