// Extents of the program: dims that instructions compute, elements of integer
// tensors that decide shapes, and symbols of types.
#include "BuildExtents.h"

#include "bycc/Support/Element.h"

#include <algorithm>
#include <numeric>

namespace bycc::codegen {
namespace {

// Begins or ends a branch or a loop.
bool isMark(Instr::Kind kind) { return kind >= Instr::Kind::If; }

std::optional<Ref> numberAt(Exprs &exprs, const Constant &constant, DType type, int64_t element) {
  if (type == DType::Float16 || type == DType::BFloat16)
    return std::nullopt;
  if (isFloat(type))
    return exprs.floating(elementAsDouble(type, constant.data(), element), type);
  return exprs.integer(elementAsInteger(type, constant.data(), element), type);
}

} // namespace

void ProgramBuilder::forgetDims() {
  for (; numSeenInstrs_ < p_.instrs.size(); ++numSeenInstrs_)
    if (isMark(p_.instrs[numSeenInstrs_].kind))
      definedDims_.clear();
}

// A multiple of an extent that has a dim is said by that dim, so that divisions by the extent
// fold: 640 * (n / 441) + 640 after n / 441 + 1. noRef: it is none.
Ref ProgramBuilder::multipleOfDim(Ref expression) {
  loops::Affine form = p_.exprs.affine(expression);
  int64_t factor = form.constant;
  for (const loops::Affine::Term &term : form.terms)
    factor = std::gcd(factor, term.factor);
  if (form.isBroken || form.isConstant() || factor <= 1)
    return loops::noRef;
  auto found = definedDims_.find(p_.exprs.fromAffine(form.by(factor, false).whole));
  bool isExtent = found != definedDims_.end() && p_.exprs[found->second].f == 0;
  return isExtent ? p_.exprs.times(found->second, factor) : loops::noRef;
}

Ref ProgramBuilder::defineDim(Ref expression, const std::string &what) {
  const Expr e = p_.exprs[expression];
  bool isKnown = e.op == Op::Const && !(e.i < 0 && !what.empty());
  if (isKnown || (e.op == Op::Dim && what.empty()))
    return expression;
  forgetDims();
  // An extent may serve as a number, but not the other way.
  if (auto it = definedDims_.find(expression);
      it != definedDims_.end() && (what.empty() || p_.exprs[it->second].f == 0))
    return it->second;
  if (Ref multiple = multipleOfDim(expression); multiple != loops::noRef)
    return multiple;
  Instr instr;
  instr.kind = Instr::Kind::SetDim;
  instr.callee = static_cast<uint32_t>(p_.dims.size());
  instr.dims = {expression};
  instr.message = what;
  p_.exprs.visit(expression, [&](Ref ref) {
    if (p_.exprs[ref].op == Op::Load)
      instr.inputs.push_back(static_cast<ValueId>(p_.exprs[ref].i));
    return true;
  });
  p_.instrs.push_back(std::move(instr));
  return definedDims_[expression] = p_.addDim({}, p_.likely(expression), what.empty());
}

Expected<Ref> ProgramBuilder::elementOf(NodeId node, int64_t element, const Env &env) {
  ValueId value = BYCC_TRY(valuesOf(node, env))[0];
  DType type = p_.values[value].dtype;
  const Constant *constant = constantIn(node, env);
  if (constant)
    if (auto number = numberAt(p_.exprs, *constant, type, element))
      return *number;
  if (type == DType::Float16 || type == DType::BFloat16)
    return error(Status::Unsup, m_.source(node))
           << "a shape that depends on a " << name(type) << " has no host code";
  return p_.exprs.load(value, type, p_.exprs.integer(element));
}

std::optional<Ref> ProgramBuilder::extentOf(Dim dim) {
  if (dim.isConst())
    return p_.exprs.integer(dim.value());
  if (dim.isUnknown())
    return std::nullopt;
  if (auto it = symbols_.find(dim.raw()); it != symbols_.end())
    return it->second;
  const DimExpr &e = m_.types.expr(dim);
  if (e.op == DimOp::Unknown || e.op == DimOp::Symbol)
    return std::nullopt;
  auto a = extentOf(e.lhs), b = extentOf(e.rhs);
  if (!a || !b)
    return std::nullopt;
  return p_.exprs.dimOp(e.op, *a, *b);
}

// Shapes were worked out with these extents being 1 at least.
void ProgramBuilder::addNonEmptyChecks() {
  for (Dim symbol : m_.types.nonEmpty()) {
    auto extent = symbols_.find(symbol.raw());
    if (extent == symbols_.end())
      continue;
    Instr check;
    check.kind = Instr::Kind::Require;
    check.message =
        "extent " + m_.types.str(symbol) + " is {}: what is convolved or pooled is not empty";
    check.dims = {p_.exprs.binary(Op::Lt, p_.exprs.integer(0), extent->second), extent->second};
    p_.instrs.push_back(std::move(check));
  }
}

void ProgramBuilder::bindSymbols(TypeId type, ValueId value) {
  auto shape = m_.types.shape(type);
  for (size_t d = 0; d < shape.size(); ++d)
    if (!shape[d].isConst() && !shape[d].isUnknown() && m_.types.expr(shape[d]).op == DimOp::Symbol)
      symbols_.try_emplace(shape[d].raw(), p_.values[value].dims[d]);
}

void ProgramBuilder::bindParamSymbols(NodeId param, const std::vector<ValueId> &values) {
  std::vector<TypeId> types = m_.types.flatten(m_.type(param));
  for (size_t i = 0; i < types.size() && i < values.size(); ++i) {
    for (Dim dim : m_.types.shape(types[i]))
      symbols_.erase(dim.raw());
    bindSymbols(types[i], values[i]);
  }
}

Expected<> ProgramBuilder::addRequirements(const Group &group, NodeId node) {
  for (const Requirement &each : group.requirements) {
    Instr instr;
    instr.kind = Instr::Kind::Require;
    instr.message = each.message;
    instr.dims.push_back(translate(group.kernel.exprs, each.condition, group.dims, p_.exprs));
    auto known = p_.exprs.constant(instr.dims[0]);
    if (known == 0)
      return error(Status::Input, m_.source(node))
             << "this does not hold for any input: " << each.message;
    for (Ref value : each.values)
      instr.dims.push_back(translate(group.kernel.exprs, value, group.dims, p_.exprs));
    if (!known)
      p_.instrs.push_back(std::move(instr));
  }
  return {};
}

Expected<std::vector<Ref>> ProgramBuilder::Outside::extentsOf(NodeId node, uint32_t field) {
  std::vector<ValueId> values = BYCC_TRY(builder_.valuesOf(node, env_));
  return builder_.p_.values[values[field]].dims;
}

} // namespace bycc::codegen
