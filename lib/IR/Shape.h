// What the type rules share: every rule's declaration (from Ops.def), and the
// checks that most of them make. Rules stand in Shape<Family>.cpp.
//
// Dims may be symbolic or `?`. A check fails only on what is surely wrong; a
// result that cannot be computed is `?`.
#pragma once

#include "bycc/IR/Infer.h"
#include "bycc/IR/SymbolicValue.h"
#include "bycc/Support/Layout.h"

#include <optional>
#include <string>
#include <vector>

namespace bycc {

namespace flops {
#define BYCC_OP(id, name, inputs, attrs, rule, kind, count, ...)                                   \
  double count(const Module &module, NodeId call);
#include "bycc/IR/Ops.def"
#undef BYCC_OP
} // namespace flops

namespace shape {

#define BYCC_OP(id, name, inputs, attrs, rule, kind, flops, ...)                                   \
  Expected<TypeId> rule(InferContext &context);
#include "bycc/IR/Ops.def"
#undef BYCC_OP

inline constexpr size_t maxRank = 32;
inline constexpr int64_t maxTensorBytes = int64_t{16} << 30;

using Shape = std::vector<Dim>;
using Ints = std::vector<int64_t>;
using Symbolic = std::vector<SymbolicInt>; // of an operand

struct TensorInput {
  TypeId type;
  DType dtype;
  std::span<const Dim> shape;
  size_t rank() const { return shape.size(); }
};

// Operand `index` as a tensor; INPUT when it is a tuple or a function.
Expected<TensorInput> tensorInput(InferContext &context, size_t index);
// Fields of a tuple operand, all tensors, at least one.
Expected<std::vector<TensorInput>> tupleInput(InferContext &context, size_t index);
// A tensor type within the limits: rank, bytes (LIMIT), no overflow.
Expected<TypeId> tensorType(InferContext &context, DType dtype, std::span<const Dim> shape);
Expected<> checkLimits(const TypeTable &types, TypeId type, const SourceLocation &location,
                       std::string_view what);

// Position of an axis that may count from the end; INPUT when out of range.
Expected<size_t> checkAxis(InferContext &context, int64_t axis, size_t rank,
                           std::string_view key = "axis");
// Several axes, none twice.
Expected<std::vector<size_t>> checkAxes(InferContext &context, std::span<const int64_t> axes,
                                        size_t rank, std::string_view key = "axis");
Expected<> checkPositive(InferContext &context, std::span<const int64_t> values,
                         std::string_view key);
Expected<> checkCount(InferContext &context, std::span<const int64_t> values, size_t count,
                      std::string_view key);
Expected<> checkRank(InferContext &context, const TensorInput &input, size_t rank,
                     std::string_view what);
Expected<> checkDType(InferContext &context, DType actual, DType wanted, std::string_view what);
Expected<> checkInt(InferContext &context, DType dtype, std::string_view what);
Expected<> checkOneOf(InferContext &context, std::string_view key,
                      std::initializer_list<std::string_view> choices);
// The dtype attribute, `fallback` when "".
DType dtypeAttr(const InferContext &context, std::string_view key, DType fallback);

// Dims that must agree: the more exact of the two; nullopt when they surely differ.
std::optional<Dim> unify(Dim a, Dim b);
// The same as a check with a message "WHAT is A, wanted B".
Expected<Dim> unifyDim(InferContext &context, Dim a, Dim b, std::string_view what);
std::optional<Dim> broadcastDim(Dim a, Dim b);
Expected<Shape> broadcastShapes(InferContext &context, std::span<const Dim> a,
                                std::span<const Dim> b);
// Product; LIMIT when the constant part overflows.
Expected<Dim> product(InferContext &context, std::span<const Dim> dims);
// Sizes given as attribute or operand: none negative.
Expected<Shape> sizes(InferContext &context, std::span<const int64_t> values, std::string_view key);
Expected<Shape> sizes(InferContext &context, const Symbolic &values, std::string_view key);

// Values of a constant integer operand; nullopt when it is not constant.
Expected<std::optional<Ints>> constantInts(InferContext &context, size_t index);
// What is known of the elements of an integer operand of rank at most `maxRank`;
// nullopt when not even their number is.
Expected<std::optional<Symbolic>> symbolicInts(InferContext &context, size_t index,
                                               size_t rankLimit = 1);
// [[before, after], ...] of an attribute.
Expected<std::vector<std::pair<int64_t, int64_t>>> pairsAttr(InferContext &context,
                                                             std::string_view key);

// Output extent of a window over `extent`: checks that it is at least 1.
struct Window {
  int64_t kernel = 1, stride = 1, dilation = 1, padBefore = 0, padAfter = 0;
  bool isCeil = false;
};
Expected<Dim> windowExtent(InferContext &context, Dim extent, const Window &window,
                           std::string_view axis);

// A layout attribute that must hold the axes `wanted` ("NCHW") in some order.
Expected<Layout> layoutAttr(InferContext &context, std::string_view key, std::string_view wanted);
// Extents by letter, blocks multiplied in, of a tensor in that layout.
Expected<Dim> logicalExtent(InferContext &context, const TensorInput &input, const Layout &layout,
                            char letter);
// The shape in `layout` of extents by letter.
Expected<Shape> physicalShape(InferContext &context, const Layout &layout, std::string_view letters,
                              std::span<const Dim> extents);

// Rules that the static and the dyn.* forms share.
Expected<TypeId> reshapeTo(InferContext &context, const TensorInput &x, const Symbolic &to,
                           bool allowZero);
Expected<TypeId> sliceTo(InferContext &context, const TensorInput &x, const Symbolic &begin,
                         const Symbolic &end, Symbolic strides, bool isSizeMode,
                         std::optional<Ints> axes);
Symbolic symbolic(std::span<const int64_t> values);
Expected<TypeId> resizeTo(InferContext &context, const TensorInput &x, std::span<const Dim> size);
Shape unknownShape(size_t rank);

} // namespace shape
} // namespace bycc
