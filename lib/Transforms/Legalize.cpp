// Writes the operators of dialects in plain ones, which all that runs on the host
// is made of: @main, functions it calls, and regions of emulated vendors with the
// composites in them. Regions of other vendors keep what their vendor took.
//
//   qnn.requantize(%q, s_in, 0, s_out, z)
//     =>  clip(right_shift(cast(%q) * M + 2^(t-1), t) + z)
//
// A composite gets its scales as arguments. Where its one call passes constants,
// the rules see them, so that what can be computed now is not left to run time.

#include "ConstantView.h"
#include "LegalizeRules.h"
#include "SimplifyRules.h"
#include "bycc/Eval/Eval.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Target/Vendor.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>
#include <cstring>

namespace bycc {

Expected<std::vector<NodeId>> Legalizer::fields(size_t index) {
  NodeId operand = input(index);
  if (module.node(operand).kind == NodeKind::Tuple) {
    std::vector<NodeId> result;
    for (NodeId field : module.operands(operand))
      result.push_back(known(field));
    return result;
  }
  std::vector<NodeId> result;
  for (uint32_t i = 0; i < module.types.fields(module.type(operand)).size(); ++i)
    result.push_back(BYCC_TRY(builder_.project(operand, i)));
  return result;
}

AttrDict Legalizer::attrs(std::initializer_list<Attr> changed) const {
  AttrDict result = module.attributes.dict(module.node(call_).attrs);
  for (const Attr &attr : changed) {
    std::erase_if(result, [&](const Attr &old) { return old.key == attr.key; });
    result.push_back(attr);
  }
  return result;
}

NodeId Legalizer::known(NodeId node) const {
  auto found = params_.find(node);
  return found == params_.end() ? node : found->second;
}

// As fold-constants has it: results stay small, and so does the time.
bool Legalizer::isWorthFolding(NodeId made) const {
  constexpr int64_t maxBytes = int64_t{64} << 20;
  constexpr double maxFlops = 2e8;
  TypeId type = module.type(made);
  bool isConstant = std::ranges::all_of(module.operands(made),
                                        [&](NodeId each) { return module.isConstant(each); });
  return isConstant && module.types.isTensor(type) && module.types.isStatic(type) &&
         module.types.sizeBytes(type).value_or(INT64_MAX) <= maxBytes &&
         opInfo(module.node(made).op).flops(module, made) <= maxFlops;
}

Expected<NodeId> Legalizer::make(OpId op, std::initializer_list<NodeId> operands, AttrDict attrs) {
  std::vector<NodeId> inputs;
  for (NodeId operand : operands)
    inputs.push_back(known(operand));
  NodeId made = BYCC_TRY(builder_.call(op, inputs, std::move(attrs)));
  if (!isWorthFolding(made))
    return made;
  std::vector<Constant> constants;
  for (NodeId operand : module.operands(made))
    constants.push_back(module.constant(operand));
  auto results = BYCC_TRY(evaluateCall(module, made, constants));
  return module.addConstant(std::move(results.at(0)), module.node(call_).source);
}

Expected<NodeId> Legalizer::cast(NodeId node, DType to) {
  if (dtype(node) == to)
    return node;
  return make(ops::cast, {node}, {{"dtype", AttrValue(name(to))}});
}

Expected<NodeId> Legalizer::clip(NodeId node, double low, double high) {
  return make(ops::clip, {node}, {{"a_min", AttrValue(low)}, {"a_max", AttrValue(high)}});
}

void Legalizer::inherit(NodeId made) { module.node(made).name = module.node(call_).name; }

NodeId Legalizer::integer(int64_t value, DType dtype) {
  if (dtype == DType::Int64)
    return module.addConstant(dtype, {}, &value, sizeof value);
  return module.addScalar(dtype, static_cast<double>(value));
}

bool Legalizer::allOf(NodeId node, const std::function<bool(double)> &predicate) const {
  if (!module.isConstant(node))
    return false;
  const Constant &constant = module.constant(node);
  int64_t count = module.types.numElements(constant.type).value_or(0);
  for (int64_t i = 0; i < count; ++i)
    if (!predicate(elementAt(module, constant, i)))
      return false;
  return count > 0;
}

bool Legalizer::isSameConstant(NodeId a, NodeId b) const {
  if (!module.isConstant(a) || !module.isConstant(b))
    return false;
  const Constant &x = module.constant(a), &y = module.constant(b);
  return x.bytes == y.bytes && dtype(a) == dtype(b) &&
         std::memcmp(x.data(), y.data(), x.bytes) == 0;
}

ErrorBuilder Legalizer::error() const {
  return bycc::error(Status::Input, module.source(call_)) << opInfo(op()).name << ": ";
}

namespace {

std::vector<LegalizeFn> makeTable() {
  std::vector<LegalizeFn> table(numOps(), nullptr);
  for (auto dialect : {layoutRules, movementRules, qnnRules, qnnArithmeticRules, transposedRules})
    for (const LegalizeRule &rule : dialect())
      table[rule.op.index] = rule.rewrite;
  return table;
}

LegalizeFn ruleFor(OpId op) {
  static const std::vector<LegalizeFn> table = makeTable();
  return table[op.index];
}

// Does the body run on the host?
bool isHostCode(const Module &module, FunctionId function, const VendorSet *vendors) {
  const AttrValue *compiler = module.functionAttr(function, "Compiler");
  if (!compiler || !compiler->isString())
    return true;
  const Vendor *vendor = vendors ? vendors->find(compiler->asString()) : nullptr;
  return !vendor || vendor->isEmulated();
}

// Constants passed to local functions that are used by one call and nowhere else.
KnownParams knownParams(const Module &module, FunctionId function) {
  std::unordered_map<NodeId, int> uses;
  std::vector<NodeId> calls;
  forEachNode(module, module.function(function).body, [&](NodeId node) {
    for (NodeId operand : module.operands(node))
      uses[operand] += module.node(operand).kind == NodeKind::Function;
    if (module.node(node).kind == NodeKind::Call)
      calls.push_back(node);
  });
  KnownParams known;
  for (NodeId call : calls) { // outer calls come after what is inside of their callee
    NodeId callee = module.operands(call)[0];
    if (module.node(callee).kind != NodeKind::Function || uses[callee] != 1)
      continue;
    const std::vector<NodeId> &params = module.function(module.functionOf(callee)).params;
    for (size_t i = 0; i < params.size() && i + 1 < module.operands(call).size(); ++i)
      if (NodeId argument = module.operands(call)[i + 1]; module.isConstant(argument))
        known.emplace(params[i], argument);
  }
  return known;
}

} // namespace

bool isLegalized(OpId op) { return ruleFor(op) != nullptr; }

Expected<bool> legalize(Module &module, PassContext &context) {
  bool changed = false;
  for (FunctionId function : functionsWithHostCode(module)) {
    if (!isHostCode(module, function, context.vendors))
      continue;
    KnownParams params = knownParams(module, function);
    bool mayHaveMade = false; // also by a rule that gave up
    bool here = BYCC_TRY(
        rewriteFunction(module, function, [&](NodeId node, Builder &builder) -> Expected<NodeId> {
          // What a rule has made fields of is not a tuple to its readers.
          if (NodeId field = simplifyProject(module, node); field != node)
            return field;
          LegalizeFn rule =
              module.node(node).kind == NodeKind::CallOp ? ruleFor(module.node(node).op) : nullptr;
          if (!rule)
            return node;
          mayHaveMade = true;
          Legalizer legalizer(module, builder, node, params);
          return rule(legalizer);
        }));
    if (mayHaveMade)
      removeDeadNodes(module, function, false);
    changed |= here;
  }
  return changed;
}

} // namespace bycc
