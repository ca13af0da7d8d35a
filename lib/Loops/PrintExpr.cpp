// See PrintExpr.h.
#include "PrintExpr.h"

#include "bycc/Support/Error.h"
#include "bycc/Support/Text.h"

namespace bycc::loops {
namespace {

constexpr size_t mostNodes = 40; // of an expression that is printed in full

struct OpText {
  Op op;
  const char *text;
  int precedence; // 0: a function
};
constexpr OpText opTexts[] = {
    {Op::Reinterpret, "bits", 0},
    {Op::Neg, "-", 0},
    {Op::Abs, "abs", 0},
    {Op::Not, "not", 0},
    {Op::Sign, "sign", 0},
    {Op::Exp, "exp", 0},
    {Op::Log, "log", 0},
    {Op::Sqrt, "sqrt", 0},
    {Op::Tanh, "tanh", 0},
    {Op::Erf, "erf", 0},
    {Op::Sigmoid, "sigmoid", 0},
    {Op::Floor, "floor", 0},
    {Op::Ceil, "ceil", 0},
    {Op::Trunc, "trunc", 0},
    {Op::Round, "round", 0},
    {Op::RoundEven, "round_even", 0},
    {Op::IsNan, "is_nan", 0},
    {Op::IsInf, "is_inf", 0},
    {Op::IsFinite, "is_finite", 0},
    {Op::Add, " + ", 4},
    {Op::Sub, " - ", 4},
    {Op::Mul, " * ", 5},
    {Op::Div, " / ", 5},
    {Op::FloorDiv, " // ", 5},
    {Op::FloorMod, " % ", 5},
    {Op::TruncMod, "trunc_mod", 0},
    {Op::Min, "min", 0},
    {Op::Max, "max", 0},
    {Op::And, " & ", 2},
    {Op::Or, " | ", 1},
    {Op::Xor, "xor", 0},
    {Op::Shl, "shl", 0},
    {Op::Shr, "shr", 0},
    {Op::Pair, "pair", 0},
    {Op::DotPairs, "dot_pairs", 0},
    {Op::DotBFloat16, "dot_bfloat16", 0},
    {Op::Eq, " == ", 3},
    {Op::Ne, " != ", 3},
    {Op::Lt, " < ", 3},
    {Op::Le, " <= ", 3},
    {Op::Select, "select", 0},
    {Op::Guard, "where", 0},
};

const OpText &textOf(Op op) {
  for (const OpText &text : opTexts)
    if (text.op == op)
      return text;
  internalError(__FILE__, __LINE__, "textOf", "every operation has a text");
}

} // namespace

std::string ExprText::axis(uint32_t id) {
  return "a" + std::to_string(axes_.try_emplace(id, axes_.size()).first->second);
}

std::string ExprText::of(Ref ref) {
  left_ = mostNodes;
  return print(ref, 0);
}

std::string ExprText::call(const std::string &name, const Expr &expr) {
  std::string text = name + "(" + print(expr.a, 0);
  for (Ref operand : {expr.b, expr.c})
    if (operand != noRef)
      text += ", " + print(operand, 0);
  return text + ")";
}

std::string ExprText::print(Ref ref, int precedence) {
  if (left_ == 0)
    return "...";
  --left_;
  if (auto named = named_.find(ref); named != named_.end())
    return named->second;
  const Expr &e = exprs_[ref];
  switch (e.op) {
  case Op::Const:
    return isFloat(e.type) ? formatDouble(e.f) : std::to_string(e.i);
  case Op::Axis:
    return axis(static_cast<uint32_t>(e.i));
  case Op::Dim:
    return "d" + std::to_string(e.i);
  case Op::Load:
    return "b" + std::to_string(e.i) + "[" + print(e.a, 0) + "]";
  case Op::Cast:
  case Op::Narrow:
    return call(std::string(name(e.type)), e);
  case Op::Libm1:
  case Op::Libm2:
    return call(libmName(static_cast<LibmFn>(e.i)), e);
  default:
    break;
  }
  const OpText &text = textOf(e.op);
  if (text.precedence == 0)
    return call(text.text, e);
  std::string made = print(e.a, text.precedence);
  made += text.text + print(e.b, text.precedence + 1);
  return text.precedence < precedence ? "(" + made + ")" : made;
}

} // namespace bycc::loops
