// Checks and computations that the type rules share.

#include "Shape.h"

#include "bycc/IR/DimArithmetic.h"
#include "bycc/IR/Module.h"
#include "bycc/Support/Element.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc::shape {

Expected<TensorInput> tensorInput(InferContext &context, size_t index) {
  TypeTable &types = context.module().types;
  TypeId type = context.input(index);
  if (!types.isTensor(type)) {
    const OpInfo &info = opInfo(context.module().node(context.call()).op);
    return context.error() << info.inputs[std::min(index, info.inputs.size() - 1)]
                           << " is a tensor, got " << types.str(type);
  }
  return TensorInput{type, types.dtype(type), types.shape(type)};
}

Expected<std::vector<TensorInput>> tupleInput(InferContext &context, size_t index) {
  TypeTable &types = context.module().types;
  TypeId type = context.input(index);
  if (!types.isTuple(type))
    return context.error() << "takes a tuple of tensors, got " << types.str(type);
  std::vector<TensorInput> result;
  for (TypeId field : types.fields(type)) {
    if (!types.isTensor(field))
      return context.error() << "takes a tuple of tensors, got the field " << types.str(field);
    result.push_back({field, types.dtype(field), types.shape(field)});
  }
  if (result.empty())
    return context.error() << "takes at least one tensor, got an empty tuple";
  return result;
}

Expected<> checkLimits(const TypeTable &types, TypeId type, const SourceLocation &location,
                       std::string_view what) {
  if (types.shape(type).size() > maxRank)
    return error(Status::Limit, location)
           << what << " has rank " << types.shape(type).size() << ", the limit is " << maxRank;
  // The constant dims alone must fit already.
  int64_t bytes = sizeInBytes(types.dtype(type));
  bool isOver = false;
  for (Dim dim : types.shape(type)) {
    if (dim == Dim(0))
      return {};
    if (dim.isConst())
      isOver |= __builtin_mul_overflow(bytes, dim.value(), &bytes) || bytes > maxTensorBytes;
  }
  if (isOver)
    return error(Status::Limit, location).as(MessageId::TooLarge)
           << what << " of type " << types.str(type) << " is larger than 16 GiB";
  return {};
}

Expected<TypeId> tensorType(InferContext &context, DType dtype, std::span<const Dim> shape) {
  TypeTable &types = context.module().types;
  if (shape.size() > maxRank)
    return context.error(Status::Limit)
           << "the result has rank " << shape.size() << ", the limit is " << maxRank;
  TypeId type = types.tensor(dtype, shape);
  int64_t bytes = sizeInBytes(dtype);
  bool isOver = false;
  for (Dim dim : shape) {
    if (dim == Dim(0))
      return type;
    if (dim.isConst())
      isOver |= __builtin_mul_overflow(bytes, dim.value(), &bytes) || bytes > maxTensorBytes;
  }
  if (isOver)
    return context.error(Status::Limit).as(MessageId::TooLarge)
           << "the result " << types.str(type) << " is larger than 16 GiB";
  return type;
}

Expected<size_t> checkAxis(InferContext &context, int64_t axis, size_t rank, std::string_view key) {
  int64_t signedRank = static_cast<int64_t>(rank);
  if (axis < -signedRank || axis >= signedRank)
    return context.error().as(MessageId::AxisRange)
           << key << " " << axis << " is out of range for rank " << rank;
  return static_cast<size_t>(axis < 0 ? axis + signedRank : axis);
}

Expected<std::vector<size_t>> checkAxes(InferContext &context, std::span<const int64_t> axes,
                                        size_t rank, std::string_view key) {
  std::vector<size_t> result;
  for (int64_t axis : axes) {
    size_t position = BYCC_TRY(checkAxis(context, axis, rank, key));
    if (std::ranges::find(result, position) != result.end())
      return context.error() << key << " names axis " << position << " twice";
    result.push_back(position);
  }
  return result;
}

Expected<> checkPositive(InferContext &context, std::span<const int64_t> values,
                         std::string_view key) {
  for (int64_t value : values)
    if (value < 1)
      return context.error() << key << " is at least 1, got " << value;
  return {};
}

Expected<> checkCount(InferContext &context, std::span<const int64_t> values, size_t count,
                      std::string_view key) {
  if (values.size() != count)
    return context.error() << key << " has " << count << " values, got " << values.size();
  return {};
}

Expected<> checkRank(InferContext &context, const TensorInput &input, size_t rank,
                     std::string_view what) {
  if (input.rank() != rank)
    return context.error() << what << " has rank " << rank << ", got "
                           << context.module().types.str(input.type);
  return {};
}

Expected<> checkDType(InferContext &context, DType actual, DType wanted, std::string_view what) {
  if (actual != wanted)
    return context.error() << what << " is " << name(wanted) << ", got " << name(actual);
  return {};
}

Expected<> checkInt(InferContext &context, DType dtype, std::string_view what) {
  if (!isInt(dtype))
    return context.error() << what << " are integers, got " << name(dtype);
  return {};
}

Expected<> checkOneOf(InferContext &context, std::string_view key,
                      std::initializer_list<std::string_view> choices) {
  std::string_view value = context.text(key);
  if (std::ranges::find(choices, value) != choices.end())
    return {};
  std::string list;
  for (std::string_view choice : choices)
    list += (list.empty() ? "\"" : ", \"") + std::string(choice) + "\"";
  return context.error() << key << " is one of " << list << ", got \"" << escaped(value) << "\"";
}

DType dtypeAttr(const InferContext &context, std::string_view key, DType fallback) {
  return parseDType(context.text(key)).value_or(fallback); // checkAttrs lets only "" pass
}

std::optional<Dim> unify(Dim a, Dim b) {
  if (a == b || b.isUnknown())
    return a;
  if (a.isUnknown() || b.isConst())
    return a.isConst() ? std::nullopt : std::optional(b);
  return a; // constant against symbol, or two symbols that may be equal at run time
}

Expected<Dim> unifyDim(InferContext &context, Dim a, Dim b, std::string_view what) {
  auto dim = unify(a, b);
  if (!dim) {
    TypeTable &types = context.module().types;
    return context.error() << what << " is " << types.str(a) << ", wanted " << types.str(b);
  }
  return *dim;
}

std::optional<Dim> broadcastDim(Dim a, Dim b) {
  if (a == Dim(1))
    return b;
  if (b == Dim(1) || a == b)
    return a;
  if (a.isConst() && b.isConst())
    return std::nullopt;
  if (a.isConst()) // the other is 1 or the same at run time
    return a;
  if (b.isConst())
    return b;
  return Dim::unknown();
}

namespace {

// What both have where they broadcast, of two extents not known to be the same.
Dim broadcastSymbols(const TypeTable &types, Dim a, Dim b) {
  if (isOneWith(types, b, a) || isNeverOne(types, a))
    return a;
  if (isOneWith(types, a, b) || isNeverOne(types, b))
    return b;
  return Dim::unknown();
}

} // namespace

Expected<Shape> broadcastShapes(InferContext &context, std::span<const Dim> a,
                                std::span<const Dim> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape result(a.begin(), a.end());
  size_t shift = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    auto dim = broadcastDim(a[shift + i], b[i]);
    if (!dim) {
      TypeTable &types = context.module().types;
      auto text = [&](size_t index) { return types.str(context.input(index)); };
      std::string inputs;
      for (size_t k = 0; k < context.numInputs(); ++k)
        inputs += (k ? " and " : "") + text(k);
      return context.error().as(MessageId::Broadcast)
             << inputs << " do not broadcast: " << types.str(a[shift + i]) << " against "
             << types.str(b[i]);
    }
    result[shift + i] = *dim;
    if (dim->isUnknown())
      result[shift + i] = broadcastSymbols(context.module().types, a[shift + i], b[i]);
  }
  return result;
}

Expected<Dim> product(InferContext &context, std::span<const Dim> dims) {
  TypeTable &types = context.module().types;
  if (std::ranges::find(dims, Dim(0)) != dims.end())
    return Dim(0);
  Dim result(1);
  for (Dim dim : dims) {
    Dim next = types.mul(result, dim);
    if (next.isUnknown() && result.isConst() && dim.isConst())
      return context.error(Status::Limit) << "the number of elements overflows";
    result = next;
  }
  return result;
}

Expected<Shape> sizes(InferContext &context, std::span<const int64_t> values,
                      std::string_view key) {
  Shape result;
  if (values.size() > maxRank)
    return context.error(Status::Limit)
           << key << " has " << values.size() << " axes, the limit is " << maxRank;
  for (int64_t value : values) {
    if (value < 0)
      return context.error() << key << " holds a negative size: " << value;
    result.push_back(Dim(value));
  }
  return result;
}

Symbolic symbolic(std::span<const int64_t> values) { return {values.begin(), values.end()}; }

Expected<Shape> sizes(InferContext &context, const Symbolic &values, std::string_view key) {
  Shape result;
  if (values.size() > maxRank)
    return context.error(Status::Limit)
           << key << " has " << values.size() << " axes, the limit is " << maxRank;
  for (const SymbolicInt &value : values) {
    if (value.number && *value.number < 0)
      return context.error() << key << " holds a negative size: " << *value.number;
    result.push_back(value.extent());
  }
  return result;
}

Expected<std::optional<Symbolic>> symbolicInts(InferContext &context, size_t index,
                                               size_t rankLimit) {
  TensorInput input = BYCC_TRY(tensorInput(context, index));
  BYCC_TRY(checkInt(context, input.dtype, "sizes and axes"));
  if (input.rank() > rankLimit)
    return context.error() << "sizes and axes have rank 0 or 1, got "
                           << context.module().types.str(input.type);
  return symbolicValue(context.module(), context.inputNode(index));
}

Expected<std::optional<Ints>> constantInts(InferContext &context, size_t index) {
  Module &module = context.module();
  TensorInput input = BYCC_TRY(tensorInput(context, index));
  BYCC_TRY(checkInt(context, input.dtype, "sizes and axes"));
  if (input.rank() > 1)
    return context.error() << "sizes and axes have rank 0 or 1, got "
                           << module.types.str(input.type);
  NodeId node = context.inputNode(index);
  if (!module.isConstant(node))
    return std::optional<Ints>();
  const Constant &constant = module.constant(node);
  int64_t count = module.types.numElements(constant.type).value_or(0);
  Ints values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(elementAsInteger(input.dtype, constant.data(), i));
  return std::optional(std::move(values));
}

Expected<std::vector<std::pair<int64_t, int64_t>>> pairsAttr(InferContext &context,
                                                             std::string_view key) {
  const AttrValue *value = context.module().attr(context.call(), key);
  auto fail = [&] { return context.error() << key << " is a list of pairs of integers"; };
  if (!value->isList())
    return fail();
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const AttrValue &item : value->asList()) {
    if (!item.isList() || item.asList().size() != 2 || !item.asList()[0].isInt() ||
        !item.asList()[1].isInt())
      return fail();
    pairs.emplace_back(item.asList()[0].asInt(), item.asList()[1].asInt());
  }
  return pairs;
}

Expected<Dim> windowExtent(InferContext &context, Dim extent, const Window &window,
                           std::string_view axis) {
  TypeTable &types = context.module().types;
  constexpr int64_t big = int64_t{1} << 40; // keeps every sum below far from overflow
  for (int64_t value :
       {window.kernel, window.stride, window.dilation, window.padBefore, window.padAfter})
    if (value > big || value < -big)
      return context.error(Status::Limit) << "a window parameter of " << value << " is too large";
  if (window.padBefore < 0 || window.padAfter < 0)
    return context.error() << "padding of axis " << axis << " is negative";
  __int128 reach = static_cast<__int128>(window.kernel - 1) * window.dilation + 1;
  int64_t pad = window.padBefore + window.padAfter;
  if (reach > big)
    return context.error(Status::Limit) << "the window of axis " << axis << " is too large";
  int64_t shift = pad - static_cast<int64_t>(reach) + (window.isCeil ? window.stride - 1 : 0);
  if (!extent.isConst()) {
    Dim free = shift >= 0 ? types.add(extent, Dim(shift)) : types.sub(extent, Dim(-shift));
    return types.add(types.floorDiv(free, Dim(window.stride)), Dim(1));
  }
  int64_t padded = 0;
  if (__builtin_add_overflow(extent.value(), pad, &padded))
    return context.error(Status::Limit) << "axis " << axis << " overflows";
  if (padded < reach)
    return context.error() << "the window of axis " << axis << " covers "
                           << static_cast<int64_t>(reach) << " elements, the padded data has "
                           << padded;
  return Dim((padded - static_cast<int64_t>(reach) + (window.isCeil ? window.stride - 1 : 0)) /
                 window.stride +
             1);
}

Expected<Layout> layoutAttr(InferContext &context, std::string_view key, std::string_view wanted) {
  auto layout = Layout::parse(context.text(key));
  if (!layout)
    return context.error() << key << " \"" << escaped(context.text(key)) << "\" is not a layout";
  std::string letters = layout->primal(), sorted(wanted);
  std::ranges::sort(letters);
  std::ranges::sort(sorted);
  if (letters != sorted)
    return context.error() << key << " has the axes " << wanted << " in some order, got \""
                           << escaped(context.text(key)) << "\"";
  return *layout;
}

Expected<Dim> logicalExtent(InferContext &context, const TensorInput &input, const Layout &layout,
                            char letter) {
  TypeTable &types = context.module().types;
  std::vector<Dim> parts;
  for (size_t i = 0; i < layout.rank(); ++i) {
    const Layout::Axis &axis = layout.axes()[i];
    if (axis.letter != letter)
      continue;
    if (axis.block && !unify(input.shape[i], Dim(axis.block)))
      return context.error() << "block " << axis.block << " of the layout does not agree with "
                             << types.str(input.type);
    parts.push_back(axis.block ? Dim(axis.block) : input.shape[i]);
  }
  return product(context, parts);
}

Expected<Shape> physicalShape(InferContext &context, const Layout &layout, std::string_view letters,
                              std::span<const Dim> extents) {
  TypeTable &types = context.module().types;
  Shape shape;
  for (const Layout::Axis &axis : layout.axes()) {
    if (axis.block) {
      shape.push_back(Dim(axis.block));
      continue;
    }
    Dim extent = extents[letters.find(axis.letter)];
    int64_t block = layout.blockOf(axis.letter);
    shape.push_back(types.dim(DimOp::CeilDiv, extent, Dim(block)));
  }
  return shape;
}

Shape unknownShape(size_t rank) { return Shape(rank, Dim::unknown()); }

} // namespace bycc::shape
