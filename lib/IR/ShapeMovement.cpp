// Type rules of operators that move whole parts: transpose, joins, splits, tiles, padding, blocks.

#include "Shape.h"

#include "bycc/IR/Module.h"

#include <algorithm>

namespace bycc::shape {
namespace {

Expected<> checkSameDType(InferContext &context, const std::vector<TensorInput> &inputs) {
  for (const TensorInput &input : inputs)
    if (input.dtype != inputs.front().dtype)
      return context.error() << "inputs of " << name(inputs.front().dtype) << " and "
                             << name(input.dtype);
  return {};
}

} // namespace

Expected<TypeId> transposeOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  Shape shape;
  if (context.isNone("axes")) {
    shape.assign(x.shape.rbegin(), x.shape.rend());
    return tensorType(context, x.dtype, shape);
  }
  Ints axes = context.integers("axes");
  BYCC_TRY(checkCount(context, axes, x.rank(), "axes"));
  for (size_t axis : BYCC_TRY(checkAxes(context, axes, x.rank(), "axes")))
    shape.push_back(x.shape[axis]);
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> concatenateOf(InferContext &context) {
  TypeTable &types = context.module().types;
  auto inputs = BYCC_TRY(tupleInput(context, 0));
  BYCC_TRY(checkSameDType(context, inputs));
  const TensorInput &first = inputs.front();
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), first.rank()));
  Shape shape(first.shape.begin(), first.shape.end());
  int64_t constant = 0; // constant extents apart, so that a sum of symbols stays short
  Dim symbols(0);
  for (const TensorInput &input : inputs) {
    if (input.rank() != first.rank())
      return context.error() << "inputs of rank " << first.rank() << " and " << input.rank();
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i == axis)
        continue;
      auto dim = unify(shape[i], input.shape[i]);
      if (!dim)
        return context.error() << "axis " << i << " is " << types.str(shape[i]) << " in one input, "
                               << types.str(input.shape[i])
                               << " in another: " << types.str(first.type) << " and "
                               << types.str(input.type);
      shape[i] = *dim;
    }
    if (!input.shape[axis].isConst())
      symbols = types.add(symbols, input.shape[axis]);
    else if (__builtin_add_overflow(constant, input.shape[axis].value(), &constant))
      return context.error(Status::Limit) << "the extent of axis " << axis << " overflows";
  }
  shape[axis] = types.add(symbols, Dim(constant));
  return tensorType(context, first.dtype, shape);
}

Expected<TypeId> stackOf(InferContext &context) {
  auto inputs = BYCC_TRY(tupleInput(context, 0));
  BYCC_TRY(checkSameDType(context, inputs));
  const TensorInput &first = inputs.front();
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), first.rank() + 1));
  Shape shape(first.shape.begin(), first.shape.end());
  for (const TensorInput &input : inputs) {
    BYCC_TRY(checkRank(context, input, first.rank(), "every input"));
    for (size_t i = 0; i < shape.size(); ++i)
      shape[i] = BYCC_TRY(unifyDim(context, input.shape[i], shape[i], "an extent of an input"));
  }
  shape.insert(shape.begin() + static_cast<long>(axis), Dim(static_cast<int64_t>(inputs.size())));
  return tensorType(context, first.dtype, shape);
}

namespace {

// Extents of the parts along the split axis.
Expected<Shape> splitExtents(InferContext &context, Dim extent, size_t axis) {
  TypeTable &types = context.module().types;
  constexpr int64_t maxParts = 1 << 20;
  const AttrValue &parts = *context.module().attr(context.call(), "indices_or_sections");
  Shape extents;
  if (parts.isInt()) {
    int64_t count = parts.asInt();
    if (count < 1)
      return context.error() << "splits into at least 1 part, got " << count;
    if (count > maxParts)
      return context.error(Status::Limit) << "splits into " << count << " parts";
    if (extent.isConst() && extent.value() % count != 0)
      return context.error() << "axis " << axis << " has " << extent.value()
                             << " elements, not a multiple of " << count;
    extents.assign(static_cast<size_t>(count), types.floorDiv(extent, Dim(count)));
    return extents;
  }
  if (!parts.isList())
    return context.error() << "indices_or_sections is an integer or a list of integers";
  int64_t previous = 0;
  for (const AttrValue &cut : parts.asList()) {
    if (!cut.isInt() || cut.asInt() < previous ||
        (extent.isConst() && cut.asInt() > extent.value()))
      return context.error() << "cut points rise from 0 to " << types.str(extent) << ", got "
                             << parts.str();
    extents.push_back(Dim(cut.asInt() - previous));
    previous = cut.asInt();
  }
  extents.push_back(types.sub(extent, Dim(previous)));
  return extents;
}

} // namespace

Expected<TypeId> splitOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  Shape shape(x.shape.begin(), x.shape.end());
  std::vector<TypeId> fields;
  for (Dim extent : BYCC_TRY(splitExtents(context, x.shape[axis], axis))) {
    shape[axis] = extent;
    fields.push_back(BYCC_TRY(tensorType(context, x.dtype, shape)));
  }
  return context.module().types.tuple(fields);
}

namespace {

Expected<TypeId> tileBy(InferContext &context, const TensorInput &x, Symbolic reps) {
  for (const SymbolicInt &rep : reps)
    if (rep.number && *rep.number < 0)
      return context.error() << "reps hold a negative count: " << *rep.number;
  if (reps.size() > maxRank)
    return context.error(Status::Limit) << "the result has rank " << reps.size();
  Shape shape(x.shape.begin(), x.shape.end());
  if (reps.size() < shape.size())
    reps.insert(reps.begin(), shape.size() - reps.size(), SymbolicInt(int64_t{1}));
  if (shape.size() < reps.size())
    shape.insert(shape.begin(), reps.size() - shape.size(), Dim(1));
  for (size_t i = 0; i < shape.size(); ++i)
    shape[i] = BYCC_TRY(product(context, Shape{shape[i], reps[i].extent()}));
  return tensorType(context, x.dtype, shape);
}

} // namespace

Expected<TypeId> tileOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  return tileBy(context, x, symbolic(context.integers("reps")));
}

Expected<TypeId> dynTile(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput operand = BYCC_TRY(tensorInput(context, 1));
  auto reps = BYCC_TRY(symbolicInts(context, 1));
  if (operand.rank() != 1 || !operand.shape[0].isConst())
    return context.error() << "the rank of the result is not known";
  if (reps)
    return tileBy(context, x, *reps);
  int64_t rank = std::min<int64_t>(operand.shape[0].value(), maxRank + 1);
  return tensorType(context, x.dtype, unknownShape(std::max(x.rank(), static_cast<size_t>(rank))));
}

Expected<TypeId> repeatOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  int64_t repeats = context.integer("repeats");
  if (repeats < 0)
    return context.error() << "repeats is at least 0, got " << repeats;
  if (context.isNone("axis")) {
    Shape all(x.shape.begin(), x.shape.end());
    all.push_back(Dim(repeats));
    Dim count = BYCC_TRY(product(context, all));
    return tensorType(context, x.dtype, Shape{count});
  }
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  Shape shape(x.shape.begin(), x.shape.end());
  shape[axis] = BYCC_TRY(product(context, Shape{shape[axis], Dim(repeats)}));
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> reverseOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  return x.type;
}

Expected<TypeId> reverseSequence(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput lengths = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkInt(context, lengths.dtype, "lengths"));
  BYCC_TRY(checkRank(context, lengths, 1, "lengths"));
  size_t seq = BYCC_TRY(checkAxis(context, context.integer("seq_axis"), x.rank(), "seq_axis"));
  size_t batch =
      BYCC_TRY(checkAxis(context, context.integer("batch_axis"), x.rank(), "batch_axis"));
  if (seq == batch)
    return context.error() << "seq_axis and batch_axis are both " << seq;
  BYCC_TRY(unifyDim(context, lengths.shape[0], x.shape[batch], "extent of lengths"));
  return x.type;
}

namespace {

Expected<TypeId> padBy(InferContext &context, const TensorInput &x,
                       const std::vector<std::pair<int64_t, int64_t>> &pads,
                       int64_t reflectLimit /* elements a reflection skips, -1: none */) {
  TypeTable &types = context.module().types;
  if (pads.size() != x.rank())
    return context.error() << "pad_width has " << pads.size() << " pairs, x has rank " << x.rank();
  Shape shape(x.shape.begin(), x.shape.end());
  for (size_t i = 0; i < shape.size(); ++i) {
    auto [before, after] = pads[i];
    int64_t total = 0;
    if (before < 0 || after < 0)
      return context.error() << "pad_width of axis " << i << " is negative";
    if (__builtin_add_overflow(before, after, &total))
      return context.error(Status::Limit) << "pad_width of axis " << i << " overflows";
    // A reflection needs the elements that it repeats.
    if (reflectLimit >= 0 && shape[i].isConst() &&
        std::max(before, after) > std::max<int64_t>(shape[i].value() - reflectLimit, 0))
      return context.error() << "axis " << i << " has " << shape[i].value()
                             << " elements, too few for a padding of " << std::max(before, after);
    Dim dim = types.add(shape[i], Dim(total));
    if (dim.isUnknown() && shape[i].isConst())
      return context.error(Status::Limit) << "the extent of axis " << i << " overflows";
    shape[i] = dim;
  }
  return tensorType(context, x.dtype, shape);
}

// One number, converted to the data's dtype: exporters write int32 beside uint8.
Expected<> checkPadValue(InferContext &context, const TensorInput &x, size_t index) {
  TensorInput value = BYCC_TRY(tensorInput(context, index));
  if (isFloat(value.dtype) != isFloat(x.dtype))
    BYCC_TRY(checkDType(context, value.dtype, x.dtype, "pad_value"));
  for (Dim dim : value.shape)
    if (!unify(dim, Dim(1)))
      return context.error() << "pad_value is a scalar, got "
                             << context.module().types.str(value.type);
  return {};
}

} // namespace

Expected<TypeId> padOf(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkPadValue(context, x, 1));
  BYCC_TRY(checkOneOf(context, "pad_mode", {"constant", "edge", "reflect"}));
  auto pads = BYCC_TRY(pairsAttr(context, "pad_width"));
  std::string_view mode = context.text("pad_mode");
  if (mode == "edge") {
    for (size_t i = 0; i < std::min(pads.size(), x.rank()); ++i)
      if (x.shape[i] == Dim(0) && (pads[i].first || pads[i].second))
        return context.error() << "axis " << i << " is empty and has no edge";
    return padBy(context, x, pads, -1);
  }
  return padBy(context, x, pads, mode == "reflect" ? 1 : -1);
}

Expected<TypeId> dynPad(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput width = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkInt(context, width.dtype, "pad widths"));
  BYCC_TRY(checkPadValue(context, x, 2));
  BYCC_TRY(checkOneOf(context, "pad_mode", {"constant", "edge", "reflect"}));
  BYCC_TRY(checkRank(context, width, 2, "pad_width"));
  BYCC_TRY(unifyDim(context, width.shape[0], Dim(static_cast<int64_t>(x.rank())),
                    "the number of pairs"));
  BYCC_TRY(unifyDim(context, width.shape[1], Dim(2), "the length of a pair"));
  auto widths = BYCC_TRY(symbolicInts(context, 1, 2));
  Shape shape = unknownShape(x.rank());
  for (size_t i = 0; widths && i < x.rank(); ++i) {
    for (const SymbolicInt &side : {(*widths)[2 * i], (*widths)[2 * i + 1]})
      if (side.number && *side.number < 0)
        return context.error() << "pad_width of axis " << i << " is negative";
    Dim total =
        context.module().types.add((*widths)[2 * i].extent(), (*widths)[2 * i + 1].extent());
    shape[i] = context.module().types.add(x.shape[i], total);
  }
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> mirrorPad(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkOneOf(context, "mode", {"SYMMETRIC", "REFLECT"}));
  auto pads = BYCC_TRY(pairsAttr(context, "pad_width"));
  return padBy(context, x, pads, context.text("mode") == "REFLECT" ? 1 : 0);
}

namespace {

// Positions of C, H, W in a 4-D layout attribute.
Expected<TypeId> depthSpace(InferContext &context, bool toSpace) {
  TypeTable &types = context.module().types;
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkRank(context, x, 4, "x"));
  BYCC_TRY(checkOneOf(context, "mode", {"DCR", "CRD"}));
  BYCC_TRY(checkOneOf(context, "layout", {"NCHW", "NHWC"}));
  int64_t block = context.integer("block_size");
  BYCC_TRY(checkPositive(context, Ints{block}, "block_size"));
  if (block > (1 << 20))
    return context.error(Status::Limit) << "block_size is " << block;
  Layout layout = BYCC_TRY(layoutAttr(context, "layout", "NCHW"));
  Shape shape(x.shape.begin(), x.shape.end());
  for (char letter : std::string_view("CHW")) {
    Dim &dim = shape[*layout.find(letter)];
    bool divides = (letter == 'C') == toSpace;
    int64_t factor = letter == 'C' ? block * block : block;
    if (divides && dim.isConst() && dim.value() % factor != 0)
      return context.error() << "axis " << letter << " has " << dim.value()
                             << " elements, not a multiple of " << factor;
    dim = divides ? types.floorDiv(dim, Dim(factor))
                  : BYCC_TRY(product(context, Shape{dim, Dim(factor)}));
  }
  return tensorType(context, x.dtype, shape);
}

Expected<TypeId> batchSpace(InferContext &context, bool toBatch) {
  TypeTable &types = context.module().types;
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  Ints blocks = context.integers("block_shape");
  BYCC_TRY(checkPositive(context, blocks, "block_shape"));
  std::string_view key = toBatch ? "paddings" : "crops";
  auto pads = BYCC_TRY(pairsAttr(context, key));
  if (pads.size() != blocks.size())
    return context.error() << key << " has " << pads.size() << " pairs, block_shape "
                           << blocks.size() << " values";
  if (x.rank() < blocks.size() + 1)
    return context.error() << "x has rank " << x.rank() << ", at least " << blocks.size() + 1
                           << " is needed";
  Shape shape(x.shape.begin(), x.shape.end());
  Shape factors;
  for (int64_t block : blocks)
    factors.push_back(Dim(block));
  Dim total = BYCC_TRY(product(context, factors));
  for (size_t i = 0; i < blocks.size(); ++i) {
    auto [before, after] = pads[i];
    int64_t sum = 0;
    if (before < 0 || after < 0)
      return context.error() << key << " of axis " << i + 1 << " is negative";
    if (__builtin_add_overflow(before, after, &sum))
      return context.error(Status::Limit) << key << " of axis " << i + 1 << " overflows";
    Dim &dim = shape[i + 1];
    if (!toBatch) {
      Dim whole = BYCC_TRY(product(context, Shape{dim, Dim(blocks[i])}));
      if (whole.isConst() && whole.value() < sum)
        return context.error() << "crops of axis " << i + 1 << " exceed its extent";
      dim = types.sub(whole, Dim(sum));
      continue;
    }
    Dim padded = types.add(dim, Dim(sum));
    if (padded.isConst() && padded.value() % blocks[i] != 0)
      return context.error() << "axis " << i + 1 << " has " << padded.value()
                             << " elements with padding, not a multiple of " << blocks[i];
    dim = types.floorDiv(padded, Dim(blocks[i]));
  }
  if (!toBatch && shape[0].isConst() && total.isConst() && shape[0].value() % total.value() != 0)
    return context.error() << "the batch " << shape[0].value() << " is not a multiple of "
                           << total.value();
  shape[0] = toBatch ? BYCC_TRY(product(context, Shape{shape[0], total}))
                     : types.floorDiv(shape[0], total);
  return tensorType(context, x.dtype, shape);
}

} // namespace

Expected<TypeId> depthToSpace(InferContext &context) { return depthSpace(context, true); }
Expected<TypeId> spaceToDepth(InferContext &context) { return depthSpace(context, false); }
Expected<TypeId> spaceToBatch(InferContext &context) { return batchSpace(context, true); }
Expected<TypeId> batchToSpace(InferContext &context) { return batchSpace(context, false); }

} // namespace bycc::shape
