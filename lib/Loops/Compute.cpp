// Expressions over index variables: hash-consing and rewriting. Arithmetic on
// indices is in FoldIndices.cpp.
#include "bycc/Loops/Compute.h"

#include "bycc/IR/DimArithmetic.h"
#include "bycc/IR/LikelyExtents.h"
#include "bycc/Support/Hash.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace bycc::loops {

const char *libmName(LibmFn function) {
  static const char *const names[] = {"sin",  "cos",   "tan",   "asin",  "acos", "atan",  "sinh",
                                      "cosh", "asinh", "acosh", "atanh", "log2", "log10", "exp",
                                      "log",  "tanh",  "erf",   "pow",   "fmod"};
  return names[static_cast<int>(function)];
}

namespace {

uint64_t hashOf(const Expr &e) {
  uint64_t bits;
  std::memcpy(&bits, &e.f, 8);
  uint64_t h = hashCombine(static_cast<uint64_t>(e.op) << 8 | static_cast<uint64_t>(e.type), e.a);
  return hashCombine(hashCombine(hashCombine(hashCombine(h, e.b), e.c), static_cast<uint64_t>(e.i)),
                     bits);
}

bool sameExpr(const Expr &x, const Expr &y) {
  return x.op == y.op && x.type == y.type && x.a == y.a && x.b == y.b && x.c == y.c && x.i == y.i &&
         std::memcmp(&x.f, &y.f, 8) == 0;
}

bool isComparison(Op op) { return op >= Op::Eq && op <= Op::Le; }

} // namespace

Ref Exprs::intern(const Expr &expr) {
  uint64_t h = hashOf(expr);
  auto [begin, end] = index_.equal_range(h);
  for (auto it = begin; it != end; ++it)
    if (sameExpr(nodes_[it->second], expr))
      return it->second;
  nodes_.push_back(expr);
  index_.emplace(h, size() - 1);
  return size() - 1;
}

Ref Exprs::integer(int64_t value, DType type) {
  switch (type) {
  case DType::Bool:
    value = value != 0;
    break;
  case DType::Int8:
    value = static_cast<int8_t>(value);
    break;
  case DType::Int16:
    value = static_cast<int16_t>(value);
    break;
  case DType::Int32:
    value = static_cast<int32_t>(value);
    break;
  case DType::UInt8:
    value = static_cast<uint8_t>(value);
    break;
  case DType::UInt16:
    value = static_cast<uint16_t>(value);
    break;
  case DType::UInt32:
    value = static_cast<uint32_t>(value);
    break;
  default:
    break;
  }
  return intern({Op::Const, type, noRef, noRef, noRef, value, 0});
}

Ref Exprs::floating(double value, DType type) {
  return intern({Op::Const, type, noRef, noRef, noRef, 0, value});
}

Ref Exprs::number(double value, DType type) {
  if (isFloat(type))
    return floating(value, type);
  double bound = 9.2e18;
  return integer(std::isnan(value) ? 0 : static_cast<int64_t>(std::clamp(value, -bound, bound)),
                 type);
}

Ref Exprs::axis(uint32_t id) {
  return intern({Op::Axis, DType::Int64, noRef, noRef, noRef, id, 0});
}
Ref Exprs::dim(uint32_t symbol, bool isSigned) {
  return intern({Op::Dim, DType::Int64, noRef, noRef, noRef, symbol, isSigned ? 1.0 : 0.0});
}

Ref Exprs::load(uint32_t buffer, DType type, Ref flatIndex) {
  return intern({Op::Load, type, flatIndex, noRef, noRef, buffer, 0});
}

Ref Exprs::unary(Op op, Ref a, int64_t i) {
  DType type = nodes_[a].type;
  if (op == Op::IsNan || op == Op::IsInf || op == Op::IsFinite)
    type = DType::Bool;
  return intern({op, type, a, noRef, noRef, i, 0});
}

Ref Exprs::cast(Ref a, DType type) {
  Expr e = nodes_[a];
  if (e.type == type)
    return a;
  if (e.op == Op::Const && !isFloat(e.type) && !isFloat(type))
    return integer(e.i, type);
  return intern({Op::Cast, type, a, noRef, noRef, 0, 0});
}

Ref Exprs::reinterpret(Ref a, DType type) {
  return nodes_[a].type == type ? a : intern({Op::Reinterpret, type, a, noRef, noRef, 0, 0});
}

Ref Exprs::narrow(Ref a, DType type) { return intern({Op::Narrow, type, a, noRef, noRef, 0, 0}); }

std::optional<int64_t> Exprs::constant(Ref ref) const {
  const Expr &e = nodes_[ref];
  if (e.op == Op::Const && !isFloat(e.type))
    return e.i;
  return std::nullopt;
}

uint32_t Exprs::newAxis(Ref extent) {
  extents_.push_back(extent);
  return numAxes() - 1;
}

Ref Exprs::binary(Op op, Ref a, Ref b, int64_t i) {
  DType type = nodes_[a].type;
  if (type == DType::Int64)
    if (Ref folded = foldBinary(op, a, b); folded != noRef)
      return folded;
  if (type == DType::Bool && (op == Op::And || op == Op::Or)) {
    if (a == b)
      return a;
    for (auto [value, other] : {std::pair{constant(a), b}, std::pair{constant(b), a}})
      if (value)
        return (*value != 0) == (op == Op::And) ? other : boolean(op == Op::Or);
  }
  if (isComparison(op))
    type = DType::Bool;
  return intern({op, op == Op::DotBFloat16 ? DType::Float32 : type, a, b, noRef, i, 0});
}

Ref Exprs::select(Ref condition, Ref a, Ref b) {
  if (auto c = constant(condition))
    return *c ? a : b;
  return a == b ? a : intern({Op::Select, nodes_[a].type, condition, a, b, 0, 0});
}

Ref Exprs::guard(Ref condition, Ref a, Ref b) {
  if (auto c = constant(condition))
    return *c ? a : b;
  return a == b ? a : intern({Op::Guard, nodes_[a].type, condition, a, b, 0, 0});
}

Ref Exprs::rebuild(const Expr &e) {
  switch (e.op) {
  case Op::Const:
  case Op::Axis:
  case Op::Dim:
    return intern(e);
  case Op::Load:
    return load(static_cast<uint32_t>(e.i), e.type, e.a);
  case Op::Cast:
    return cast(e.a, e.type);
  case Op::Reinterpret:
    return reinterpret(e.a, e.type);
  case Op::Narrow:
    return narrow(e.a, e.type);
  case Op::Select:
    return select(e.a, e.b, e.c);
  case Op::Guard:
    return guard(e.a, e.b, e.c);
  default:
    return e.b == noRef ? unary(e.op, e.a, e.i) : binary(e.op, e.a, e.b, e.i);
  }
}

Ref Exprs::rewrite(Ref root, const Replace &replace) {
  std::vector<Ref> reachable;
  visit(root, [&](Ref ref) {
    reachable.push_back(ref);
    return true;
  });
  std::sort(reachable.begin(), reachable.end());
  std::unordered_map<Ref, Ref> done;
  for (Ref old : reachable) {
    Expr e = nodes_[old];
    for (Ref *operand : {&e.a, &e.b, &e.c})
      if (*operand != noRef)
        *operand = done.at(*operand);
    Ref now = replace(old, e);
    done[old] = now != noRef ? now : sameExpr(e, nodes_[old]) ? old : rebuild(e);
  }
  return done.at(root);
}

Ref Exprs::substitute(Ref root, const std::unordered_map<uint32_t, Ref> &axes) {
  return rewrite(root, [&](Ref, const Expr &e) {
    if (e.op != Op::Axis)
      return noRef;
    auto it = axes.find(static_cast<uint32_t>(e.i));
    return it == axes.end() ? noRef : it->second;
  });
}

void Exprs::visit(Ref root, const std::function<bool(Ref)> &visit) const {
  std::vector<Ref> work{root};
  std::vector<bool> seen(root + 1);
  seen[root] = true;
  while (!work.empty()) {
    Ref ref = work.back();
    work.pop_back();
    if (!visit(ref))
      continue;
    const Expr &e = nodes_[ref];
    for (Ref operand : {e.a, e.b, e.c})
      if (operand != noRef && !seen[operand]) {
        seen[operand] = true;
        work.push_back(operand);
      }
  }
}

namespace {

struct DimOpRow {
  DimOp dim;
  Op op;
};
constexpr DimOpRow dimOps[] = {
    {DimOp::Add, Op::Add},      {DimOp::Sub, Op::Sub},      {DimOp::Mul, Op::Mul},
    {DimOp::Mod, Op::FloorMod}, {DimOp::Mod, Op::TruncMod}, {DimOp::FloorDiv, Op::FloorDiv},
    {DimOp::Min, Op::Min},      {DimOp::FloorDiv, Op::Div}, {DimOp::Max, Op::Max},
};

DimOp dimOpOf(Op op) {
  auto row = std::ranges::find(dimOps, op, &DimOpRow::op);
  return row == std::end(dimOps) ? DimOp::Unknown : row->dim;
}

} // namespace

Ref Exprs::dimOp(DimOp op, Ref a, Ref b) {
  if (op == DimOp::CeilDiv)
    return dimOp(DimOp::FloorDiv, plus(add(a, b), -1), b);
  if (op == DimOp::FloorDiv || op == DimOp::Mod)
    b = binary(Op::Max, b, integer(1));
  return binary(std::ranges::find(dimOps, op, &DimOpRow::dim)->op, a, b);
}

int64_t Exprs::likely(Ref root, std::span<const int64_t> dims) const {
  auto dim = [&](const Expr &e) {
    return static_cast<size_t>(e.i) < dims.size() ? dims[static_cast<size_t>(e.i)] : likelyUnknown;
  };
  if (auto known = constant(root))
    return *known;
  if (nodes_[root].op == Op::Dim)
    return dim(nodes_[root]);
  std::vector<Ref> reachable;
  visit(root, [&](Ref ref) {
    reachable.push_back(ref);
    return nodes_[ref].op != Op::Load;
  });
  std::sort(reachable.begin(), reachable.end()); // operands first
  std::unordered_map<Ref, int64_t> values;
  for (Ref ref : reachable) {
    const Expr &e = nodes_[ref];
    int64_t &value = values[ref];
    if (e.op == Op::Const || e.op == Op::Axis) // of an axis: its first index
      value = e.op == Op::Const ? e.i : 0;
    else if (e.op == Op::Dim)
      value = dim(e);
    else if (e.op == Op::Cast)
      value = values[e.a];
    else if (e.b == noRef || e.c != noRef)
      value = likelyUnknown;
    else
      value = likelyOf(dimOpOf(e.op), values[e.a], values[e.b]);
  }
  return std::max<int64_t>(values[root], 0);
}

bool Exprs::uses(Ref root, uint32_t axisId) const {
  bool found = false;
  visit(root, [&](Ref ref) {
    found = found || (nodes_[ref].op == Op::Axis && nodes_[ref].i == axisId);
    return !found;
  });
  return found;
}

} // namespace bycc::loops
