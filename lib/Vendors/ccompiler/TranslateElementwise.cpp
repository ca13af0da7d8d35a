// Operators that compute each element from one element of each operand. A table
// gives the formula for floats, integers and bool; where an operator differs from
// C's (division by zero, shifts by too much) a helper function says what it does.
//
// In formulas: $0, $1, $2 operands; $f suffix of libm names; $t suffix of helpers.
// The file is compiled with -fwrapv, so integers wrap.
#include "Translate.h"

#include <algorithm>
#include <cmath>

namespace bycc::ccompiler {

namespace {

// $T: C type, $t: its short name, $U: the widest type of its signedness.
struct Helper {
  std::string_view name, text;
};

constexpr Helper helpers[] = {
    {"trunc_divide", "static inline $T trunc_divide_$t($T a, $T b) {\n"
                     "  return b == 0 ? 0 : b == ($T)-1 && ($T)-1 < 0 ? -a : a / b;\n"
                     "}\n"},
    {"trunc_mod", "static inline $T trunc_mod_$t($T a, $T b) {\n"
                  "  return b == 0 || (b == ($T)-1 && ($T)-1 < 0) ? 0 : a % b;\n"
                  "}\n"},
    {"floor_divide", "static inline $T floor_divide_$t($T a, $T b) {\n"
                     "  if (b == 0)\n"
                     "    return 0;\n"
                     "  if (b == ($T)-1 && ($T)-1 < 0)\n"
                     "    return -a;\n"
                     "  $T quotient = a / b;\n"
                     "  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;\n"
                     "}\n"},
    {"floor_mod", "static inline $T floor_mod_$t($T a, $T b) {\n"
                  "  if (b == 0 || (b == ($T)-1 && ($T)-1 < 0))\n"
                  "    return 0;\n"
                  "  $T rest = a % b;\n"
                  "  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;\n"
                  "}\n"},
    {"power", "static inline $T power_$t($T base, $T exponent) {\n"
              "  if (exponent < 0)\n"
              "    return base == 1 ? 1 : base == ($T)-1 ? (exponent % 2 == 0 ? 1 : -1) : 0;\n"
              "  uint64_t result = 1, factor = (uint64_t)base;\n"
              "  for (uint64_t left = (uint64_t)exponent; left; left >>= 1) {\n"
              "    if (left & 1)\n"
              "      result *= factor;\n"
              "    factor *= factor;\n"
              "  }\n"
              "  return ($T)result;\n"
              "}\n"},
    {"left_shift", "static inline $T left_shift_$t($T a, $T b) {\n"
                   "  return b < 0 || b > 63 ? 0 : ($T)((uint64_t)a << b);\n"
                   "}\n"},
    {"right_shift", "static inline $T right_shift_$t($T a, $T b) {\n"
                    "  return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : ($T)(($U)a >> b);\n"
                    "}\n"},
    {"real_mod", "static inline $T real_mod_$t($T a, $T b) {\n"
                 "  $T rest = fmod$f(a, b);\n"
                 "  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;\n"
                 "}\n"},
    {"sign", "static inline $T sign_$t($T x) {\n"
             "  return x != x ? x : (x > 0) - (x < 0);\n"
             "}\n"},
};

std::string suffixOf(DType dtype) { return dtype == DType::Float32 ? "f" : ""; }

std::string typed(std::string_view text, DType dtype) {
  return filled(text, {{'T', cType(dtype)},
                       {'t', shortName(dtype)},
                       {'f', suffixOf(dtype)},
                       {'U', isSignedInt(dtype) ? "int64_t" : "uint64_t"}});
}

// Empty: not for this kind of dtype.
struct Formula {
  std::string_view op, real, integer, boolean;
};

constexpr Formula formulas[] = {
    {"abs", "fabs$f($0)", "$0 < 0 ? -$0 : $0", ""},
    {"acos", "acos$f($0)", "", ""},
    {"acosh", "acosh$f($0)", "", ""},
    {"add", "$0 + $1", "$0 + $1", ""},
    {"asin", "asin$f($0)", "", ""},
    {"asinh", "asinh$f($0)", "", ""},
    {"atan", "atan$f($0)", "", ""},
    {"atanh", "atanh$f($0)", "", ""},
    {"bitwise_and", "", "$0 & $1", "$0 & $1"},
    {"bitwise_not", "", "~$0", "!$0"},
    {"bitwise_or", "", "$0 | $1", "$0 | $1"},
    {"bitwise_xor", "", "$0 ^ $1", "$0 ^ $1"},
    {"ceil", "ceil$f($0)", "$0", ""},
    {"cos", "cos$f($0)", "", ""},
    {"cosh", "cosh$f($0)", "", ""},
    {"divide", "$0 / $1", "trunc_divide_$t($0, $1)", ""},
    {"equal", "$0 == $1", "$0 == $1", "$0 == $1"},
    {"erf", "erf$f($0)", "", ""},
    {"exp", "exp$f($0)", "", ""},
    {"expm1", "expm1$f($0)", "", ""},
    {"fast_erf", "erf$f($0)", "", ""},
    {"fast_exp", "exp$f($0)", "", ""},
    {"fast_tanh", "tanh$f($0)", "", ""},
    {"floor", "floor$f($0)", "$0", ""},
    // The quotient in double: one that is rounded up to an integer is no integer.
    {"floor_divide", "floor((double)$0 / $1)", "floor_divide_$t($0, $1)", ""},
    {"floor_mod", "real_mod_$t($0, $1)", "floor_mod_$t($0, $1)", ""},
    {"greater", "$0 > $1", "$0 > $1", "$0 > $1"},
    {"greater_equal", "$0 >= $1", "$0 >= $1", "$0 >= $1"},
    {"isfinite", "isfinite($0) != 0", "1", "1"},
    {"isinf", "isinf($0) != 0", "0", "0"},
    {"isnan", "isnan($0) != 0", "0", "0"},
    {"left_shift", "", "left_shift_$t($0, $1)", ""},
    {"less", "$0 < $1", "$0 < $1", "$0 < $1"},
    {"less_equal", "$0 <= $1", "$0 <= $1", "$0 <= $1"},
    {"log", "log$f($0)", "", ""},
    {"log10", "log10$f($0)", "", ""},
    {"log1p", "log1p$f($0)", "", ""},
    {"log2", "log2$f($0)", "", ""},
    {"logical_and", "", "", "$0 & $1"},
    {"logical_not", "", "", "!$0"},
    {"logical_or", "", "", "$0 | $1"},
    {"logical_xor", "", "", "$0 ^ $1"},
    {"maximum", "$0 > $1 || $0 != $0 ? $0 : $1", "$0 > $1 ? $0 : $1", ""},
    {"minimum", "$0 < $1 || $0 != $0 ? $0 : $1", "$0 < $1 ? $0 : $1", ""},
    {"mod", "fmod$f($0, $1)", "trunc_mod_$t($0, $1)", ""},
    {"multiply", "$0 * $1", "$0 * $1", ""},
    {"negative", "-$0", "-$0", ""},
    {"nn.relu", "$0 < 0 ? 0 : $0", "$0 < 0 ? 0 : $0", ""},
    {"not_equal", "$0 != $1", "$0 != $1", "$0 != $1"},
    {"power", "pow$f($0, $1)", "power_$t($0, $1)", ""},
    {"right_shift", "", "right_shift_$t($0, $1)", ""},
    {"round", "round$f($0)", "$0", ""},
    {"rsqrt", "1 / sqrt$f($0)", "", ""},
    {"sigmoid", "1 / (1 + exp$f(-$0))", "", ""},
    {"sign", "sign_$t($0)", "($0 > 0) - ($0 < 0)", ""},
    {"sin", "sin$f($0)", "", ""},
    {"sinh", "sinh$f($0)", "", ""},
    {"sqrt", "sqrt$f($0)", "", ""},
    {"subtract", "$0 - $1", "$0 - $1", ""},
    {"tan", "tan$f($0)", "", ""},
    {"tanh", "tanh$f($0)", "", ""},
    {"trunc", "trunc$f($0)", "$0", ""},
    {"trunc_divide", "trunc((double)$0 / $1)", "trunc_divide_$t($0, $1)", ""},
    {"trunc_mod", "fmod$f($0, $1)", "trunc_mod_$t($0, $1)", ""},
};

std::string_view formulaFor(const Formula &row, DType dtype) {
  return isFloat(dtype) ? row.real : dtype == DType::Bool ? row.boolean : row.integer;
}

void addHelpersOf(Translator &op, std::string_view formula, DType dtype) {
  for (const Helper &helper : helpers)
    if (formula.find(std::string(helper.name) + "_$t(") != std::string_view::npos)
      op.helper(typed(helper.text, dtype));
}

Expected<> elementwise(Translator &op) {
  const Formula &row = *std::ranges::find(formulas, op.name(), &Formula::op);
  size_t arity = row.real.find("$1") == std::string_view::npos &&
                         row.integer.find("$1") == std::string_view::npos &&
                         row.boolean.find("$1") == std::string_view::npos
                     ? 1
                     : 2;
  BYCC_TRY(op.expectInputs(arity));
  DType dtype = op.input(0).dtype;
  std::string_view formula = formulaFor(row, dtype);
  if (formula.empty())
    return op.refuse() << "not for " << name(dtype);
  std::vector<Operand> operands;
  for (size_t i = 0; i < arity; ++i) {
    if (op.input(i).dtype != dtype)
      return op.refuse() << "operands of " << name(dtype) << " and " << name(op.input(i).dtype);
    operands.push_back(BYCC_TRY(op.broadcast(i)));
  }
  addHelpersOf(op, formula, dtype);
  op.map(typed(formula, dtype), std::move(operands));
  return {};
}

// --- with attributes, or several dtypes

// A bound of a clip as an integer of the dtype; what lies outside is refused.
Expected<std::string> integerBound(Translator &op, const char *key, DType dtype) {
  double bound = std::trunc(op.attributes.number(key, 0));
  int bits = static_cast<int>(8 * sizeInBytes(dtype));
  double low = isSignedInt(dtype) ? -std::ldexp(1.0, bits - 1) : 0;
  double high = std::ldexp(1.0, isSignedInt(dtype) ? bits - 1 : bits);
  if (!(bound >= low && bound < high))
    return op.refuse() << key << " " << bound << " is not a value of " << name(dtype);
  uint64_t word =
      bound < 0 ? static_cast<uint64_t>(static_cast<int64_t>(bound)) : static_cast<uint64_t>(bound);
  return literal(dtype, &word, 0); // little-endian: the low bytes come first
}

Expected<> clip(Translator &op) {
  BYCC_TRY(op.expectInputs(1));
  DType dtype = op.input(0).dtype;
  if (dtype == DType::Bool)
    return op.refuse() << "not for bool";
  std::string low, high;
  if (isFloat(dtype)) {
    low = literal(dtype, op.attributes.number("a_min", 0));
    high = literal(dtype, op.attributes.number("a_max", 0));
  } else {
    low = BYCC_TRY(integerBound(op, "a_min", dtype));
    high = BYCC_TRY(integerBound(op, "a_max", dtype));
  }
  op.helper(typed("static inline $T clip_$t($T x, $T low, $T high) {\n"
                  "  x = x < low ? low : x;\n"
                  "  return x > high ? high : x;\n"
                  "}\n",
                  dtype));
  op.map(typed("clip_$t($0, ", dtype) + low + ", " + high + ")", {BYCC_TRY(op.broadcast(0))});
  return {};
}

// How an element of one dtype becomes one of another.
std::string conversion(Translator &op, DType from, DType to) {
  if (to == DType::Bool && from != DType::Bool)
    return "$0 != 0";
  if (!isFloat(from) || isFloat(to))
    return "$0";
  std::string name = std::string(shortName(from)) + "_to_" + shortName(to);
  std::string upper = isSignedInt(to) ? "INT" : "UINT";
  upper += std::to_string(8 * sizeInBytes(to));
  std::string low = isSignedInt(to) ? upper + "_MIN" : "0";
  op.helper(filled(
      "static inline $T $n($F x) {\n"
      "  return x != x ? 0 : x <= ($F)$l ? $l : x >= ($F)$h ? $h : ($T)x;\n"
      "}\n",
      {{'T', cType(to)}, {'F', cType(from)}, {'n', name}, {'l', low}, {'h', upper + "_MAX"}}));
  return name + "($0)";
}

Expected<> cast(Translator &op) {
  if (op.numInputs() == 0 || op.numOutputs() == 0)
    return op.refuse() << "no operand";
  std::string formula = conversion(op, op.input(0).dtype, op.output().dtype);
  op.map(formula, {BYCC_TRY(op.broadcast(0))});
  return {};
}

Expected<> where(Translator &op) {
  BYCC_TRY(op.expectInputs(3));
  if (op.input(1).dtype != op.output().dtype || op.input(2).dtype != op.output().dtype)
    return op.refuse() << "operands of two dtypes";
  std::vector<Operand> operands;
  for (size_t i = 0; i < 3; ++i)
    operands.push_back(BYCC_TRY(op.broadcast(i)));
  op.map("$0 ? $1 : $2", std::move(operands));
  return {};
}

Expected<> leakyRelu(Translator &op) {
  BYCC_TRY(op.expectInputs(1));
  DType dtype = op.input(0).dtype;
  if (!isFloat(dtype))
    return op.refuse() << "not for " << name(dtype);
  op.map("$0 < 0 ? $0 * " + literal(dtype, op.attributes.number("alpha", 0.25)) + " : $0",
         {BYCC_TRY(op.broadcast(0))});
  return {};
}

// A formula of x and of a vector along `axis`.
Expected<> withChannels(Translator &op, const char *formula) {
  BYCC_TRY(op.expectInputs(2));
  if (op.input(0).dtype == DType::Bool || op.input(0).dtype != op.input(1).dtype)
    return op.refuse() << "operands of " << name(op.input(0).dtype) << " and "
                       << name(op.input(1).dtype);
  BYCC_TRY(op.expectOutput(op.input(0).dims));
  size_t axis = axisOf(op.attributes.integer("axis", 1), op.output().dims.size());
  op.map(formula, {BYCC_TRY(op.broadcast(0)), BYCC_TRY(op.alongAxis(1, axis))});
  return {};
}

Expected<> biasAdd(Translator &op) { return withChannels(op, "$0 + $1"); }

Expected<> prelu(Translator &op) {
  if (op.numInputs() > 0 && !isFloat(op.input(0).dtype))
    return op.refuse() << "not for " << name(op.input(0).dtype);
  return withChannels(op, "$0 < 0 ? $0 * $1 : $0");
}

// Elements of one value: full, full_like.
Expected<> filledWith(Translator &op, size_t scalar) {
  if (op.numInputs() <= scalar || count(op.input(scalar).dims) != 1)
    return op.refuse() << "the fill value is no scalar";
  std::string formula = conversion(op, op.input(scalar).dtype, op.output().dtype);
  op.map(formula, {{op.inputId(scalar), Dims(op.output().dims.size(), 0), 0}});
  return {};
}

Expected<> full(Translator &op) { return filledWith(op, 0); }
Expected<> fullLike(Translator &op) { return filledWith(op, 1); }

Expected<> zeros(Translator &op) {
  op.map("0", {});
  return {};
}

Expected<> ones(Translator &op) {
  op.map("1", {});
  return {};
}

} // namespace

std::vector<TranslationEntry> elementwiseTranslations() {
  std::vector<TranslationEntry> entries = {
      {"cast", cast},
      {"cast_like", cast},
      {"clip", clip},
      {"full", full},
      {"full_like", fullLike},
      {"nn.bias_add", biasAdd},
      {"nn.leaky_relu", leakyRelu},
      {"nn.prelu", prelu},
      {"ones", ones},
      {"ones_like", ones},
      {"where", where},
      {"zeros", zeros},
      {"zeros_like", zeros},
  };
  for (const Formula &row : formulas)
    entries.push_back({row.op, elementwise});
  return entries;
}

} // namespace bycc::ccompiler
