// Computations over index variables: what an operator means, before anybody
// decides how loops run. A kernel is a list of stages over buffers:
//
//   t[m, n] = sum over k of x[m, k] * w[n, k]      stage with a reduction
//   y[m, n] = max(t[m, n] + b[n], 0)               elementwise stage
//
// Expressions are hash-consed nodes of one arena; an operand always has a
// smaller id than its user. Loads carry one flat (row-major) element index.
// Int64 arithmetic is kept in a canonical sum-of-products form, so equal indices
// are equal ids, and div/mod by constants and by extents fold where ranges allow.
#pragma once

#include "bycc/IR/Type.h"
#include "bycc/Support/DType.h"
#include "bycc/Support/LinearSum.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace bycc::loops {

using Ref = uint32_t;
inline constexpr Ref noRef = UINT32_MAX;

// clang-format off
enum class Op : uint8_t {
  Const, // i (bool, ints) or f (floats)
  Axis,  // i = axis id; Int64
  Dim,   // i = symbol id; Int64. An extent, so not negative, unless f is 1
  Load,  // i = buffer id, a = flat index
  // One operand. Cast converts, Reinterpret keeps the bits. Narrow makes a 16-bit float
  // of a Float32 that is rounded when it is stored, not before, as all results of
  // that type are.
  Cast, Reinterpret, Narrow, Neg, Abs, Not, Sign, Exp, Log, Sqrt, Tanh, Erf, Sigmoid,
  Floor, Ceil, Trunc, Round, RoundEven, IsNan, IsInf, IsFinite,
  Libm1, // i = LibmFn
  // Two operands of one type. Min with i = 1 is an index (Exprs::index). Comparisons
  // give Bool; Shr is arithmetic for signed types; Div of ints truncates, division by
  // zero gives 0. Pair puts two int32 of 16 bits into one, the first below; DotPairs
  // multiplies two such pairs and adds the products, DotBFloat16 takes the bits for
  // bfloat16 and gives a Float32.
  Add, Sub, Mul, Div, FloorDiv, FloorMod, TruncMod, Min, Max, And, Or, Xor,
  Shl, Shr, Pair, DotPairs, DotBFloat16, Eq, Ne, Lt, Le,
  Libm2, // i = LibmFn
  // Three operands (a: Bool condition). Guard evaluates b only where a holds,
  // so loads in b may be out of bounds elsewhere.
  Select, Guard,
};
// clang-format on

// Functions called by name; index into libmName().
enum class LibmFn : uint8_t {
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Asinh,
  Acosh,
  Atanh,
  Log2,
  Log10,
  Exp,
  Log,
  Tanh,
  Erf,
  Pow,
  Fmod,
};
const char *libmName(LibmFn function); // "sin"

struct Expr {
  Op op = Op::Const;
  DType type = DType::Int64;
  Ref a = noRef, b = noRef, c = noRef;
  int64_t i = 0;
  double f = 0;
  bool operator==(const Expr &) const = default;
};

// Atoms are Refs.
using Affine = LinearSum;

struct Range {
  int64_t low = 0, high = 0;
};

// The arena. Copyable.
class Exprs {
public:
  const Expr &operator[](Ref ref) const { return nodes_[ref]; }
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  DType type(Ref ref) const { return nodes_[ref].type; }

  Ref integer(int64_t value, DType type = DType::Int64);
  Ref floating(double value, DType type);
  Ref number(double value, DType type); // of any type
  Ref boolean(bool value) { return integer(value, DType::Bool); }
  Ref axis(uint32_t id);
  Ref dim(uint32_t symbol, bool isSigned = false);
  Ref load(uint32_t buffer, DType type, Ref flatIndex);
  Ref unary(Op op, Ref a, int64_t i = 0);
  Ref cast(Ref a, DType type);
  Ref reinterpret(Ref a, DType type);
  Ref narrow(Ref a, DType type);
  Ref binary(Op op, Ref a, Ref b, int64_t i = 0);
  Ref select(Ref condition, Ref a, Ref b);
  Ref guard(Ref condition, Ref a, Ref b);
  Ref add(Ref a, Ref b) { return binary(Op::Add, a, b); }
  Ref sub(Ref a, Ref b) { return binary(Op::Sub, a, b); }
  Ref mul(Ref a, Ref b) { return binary(Op::Mul, a, b); }
  template <typename T> Ref add(Ref, T) = delete; // numbers are not Refs:
  template <typename T> Ref mul(Ref, T) = delete;
  Ref plus(Ref a, int64_t b) { return add(a, integer(b)); }
  Ref times(Ref a, int64_t b) { return mul(a, integer(b)); }
  Ref both(Ref a, Ref b) { return a == noRef ? b : b == noRef ? a : binary(Op::And, a, b); }

  // `value` as an index into `extent` elements: clamped to what is within. Where there
  // are none nothing may be loaded by it. Divisions fold over it as over an axis.
  Ref index(Ref value, Ref extent);

  // A new axis; extent is an Int64 expression of Consts and Dims.
  uint32_t newAxis(Ref extent);
  Ref extent(uint32_t axisId) const { return extents_[axisId]; }
  uint32_t numAxes() const { return static_cast<uint32_t>(extents_.size()); }
  std::optional<int64_t> constant(Ref ref) const; // of an Int64 Const
  std::optional<int64_t> constantExtent(uint32_t axisId) const {
    return constant(extents_[axisId]);
  }
  // What an Int64 expression likely is, at least 0 (bycc/IR/LikelyExtents.h). `dims` has
  // what the dims likely are; of further ones, and of loads, nothing is known.
  int64_t likely(Ref ref, std::span<const int64_t> dims) const;

  Affine affine(Ref ref) const;
  Ref fromAffine(const Affine &form); // noRef when it is broken
  std::optional<Range> range(Ref ref) const;
  // Coefficient of the axis when `ref` is affine in it (no other atom holds it).
  std::optional<int64_t> coefficient(Ref ref, uint32_t axisId) const;
  // The same where it may be an expression of dims and other axes; noRef when `ref`
  // is not a sum of products in the axis.
  Ref stride(Ref ref, uint32_t axisId);
  // Factors of a product, ascending; anything else is its own factor.
  Factors factors(Ref ref) const;

  // What an operator of dims makes of extents; what divides counts as at least 1.
  Ref dimOp(DimOp op, Ref a, Ref b);
  // An expression over operands of this arena, folded.
  Ref rebuild(const Expr &expr);
  // Rebuilds `root` with `replace` asked first for every node, operands before
  // users (it gets the old node and its operands as already rebuilt; noRef =
  // rebuild as it is).
  using Replace = std::function<Ref(Ref old, const Expr &rebuilt)>;
  Ref rewrite(Ref root, const Replace &replace);
  // Substitutes axes by expressions.
  Ref substitute(Ref root, const std::unordered_map<uint32_t, Ref> &axes);
  // Calls `visit` once for every node below and including root, users first;
  // it returns false to not go into the operands.
  void visit(Ref root, const std::function<bool(Ref)> &visit) const;
  bool uses(Ref root, uint32_t axisId) const;

private:
  Ref intern(const Expr &expr);
  // What is folded already.
  Ref asItIs(Op op, Ref a, Ref b) { return intern({op, DType::Int64, a, b, noRef, 0, 0}); }
  Ref foldBinary(Op op, Ref a, Ref b);
  Ref foldExtreme(Op op, Ref a, Ref b);
  Ref foldComparison(Op op, Ref a, Ref b);
  Ref product(Factors factors);
  // Those of a multiple of the product of `divisor` without them.
  std::optional<Factors> factorsOver(Ref ref, const Factors &divisor) const;
  Ref multiply(Ref a, Ref b);
  Ref divideByDims(Op op, Ref a, Ref divisor);
  Ref divideUpper(Op op, const Affine &upper, const Affine &lower, const Affine &period,
                  Ref divisor);
  Ref divideByUpper(Op op, const Affine &a, const Affine::Term &divisor, const Factors &dims);
  Ref divideByNumber(Op op, const Affine &a, int64_t number, Ref divisor);
  Ref divided(Op op, Affine quotient, Ref rest, Ref divisor, bool isWithin);
  bool isIndex(Ref ref) const { return nodes_[ref].op == Op::Min && nodes_[ref].i == 1; }
  bool holdsLoad(Ref ref) const;        // other than inside an index
  bool isExact(Ref ref) const;          // no data in it can have left 64 bits
  Ref last(Ref factor);                 // the greatest value of what counts from 0; noRef: does not
  Ref lastOfWholes(Ref a, Ref divisor); // ... of a quotient
  Ref lastOfSum(const Affine &form);    // the same of a sum
  Affine withWholes(Affine form) const; // quotients and remainders put together again
  bool isNotNegative(Ref ref) const;
  bool isAtMost(Affine form, int64_t limit);
  bool isAtLeast(const Affine &form, int64_t limit);
  bool isSurelyAtMost(Ref ref, int64_t limit); // also by its range
  bool isSurelyAtLeast(Ref ref, int64_t limit);
  Ref divideOrMod(Op op, Ref a, int64_t divisor);
  std::vector<Expr> nodes_;
  std::vector<Ref> extents_;
  std::unordered_multimap<uint64_t, Ref> index_;
};

enum class Role : uint8_t { Input, Output, Temp };

struct Buffer {
  DType type = DType::Float32;
  std::vector<Ref> shape; // Int64 expressions of Consts and Dims
  Role role = Role::Temp;
  bool isConstant = false; // input whose bytes are known while compiling
};

enum class Reduce : uint8_t { None, Sum, Prod, Max, Min, All, Any };

// Of a sum of products: what is read for step `tap` of an axis of the reduction lies at
// `first` + tap * dilation of an axis with so many elements, and is 0 before and behind them.
struct Window {
  Ref first = noRef; // of the stage's axes
  uint32_t tap = 0;
  int64_t dilation = 1;
  Ref elements = noRef;
};

struct Stage {
  uint32_t buffer = 0;
  std::vector<uint32_t> axes;       // iteration order, outer first
  std::vector<uint32_t> reduceAxes; // outer first
  Reduce reduce = Reduce::None;
  Ref body = noRef;
  Ref store = noRef;       // flat index into the buffer
  bool keep = false;       // do not inline into consumers
  size_t ownRows = 0;      // of its axes, that are rows of a nest that it shares; 0: any number
  bool ignoresNan = false; // Max: NaN may be passed over
  std::vector<Window> windows;
};

struct Kernel {
  Exprs exprs;
  std::vector<Buffer> buffers; // inputs first, then outputs, then temps
  std::vector<Stage> stages;   // producers before consumers
  uint32_t numInputs = 0, numOutputs = 0;
  uint32_t numDims = 0;
  std::vector<int64_t> likelyDims; // what the dims likely are

  uint32_t addBuffer(DType type, std::vector<Ref> shape, Role role);
  // Row-major flat index.
  Ref flat(uint32_t buffer, const std::vector<Ref> &indices);
  Ref load(uint32_t buffer, const std::vector<Ref> &indices) {
    return exprs.load(buffer, buffers[buffer].type, flat(buffer, indices));
  }
  // New axes over a buffer's shape; unit extents give the constant 0 and no axis.
  std::vector<Ref> axesOver(const std::vector<Ref> &shape, std::vector<uint32_t> &axes);
  // Elementwise stage out[i..] = body(i..), over new axes.
  using BodyFn = std::function<Ref(const std::vector<Ref> &)>;
  Stage &map(uint32_t buffer, const BodyFn &body);

  Ref elements(uint32_t buffer); // product of the shape
  int64_t likelyExtent(uint32_t axis) const { return exprs.likely(exprs.extent(axis), likelyDims); }
  // Structure as bytes: equal text, equal code.
  std::string fingerprint() const;
};

} // namespace bycc::loops
