// Rules about calls that move or rename elements.
//
//   reshape(reshape(x, s), t)           => reshape(x, t)
//   reshape(x, shape of x)              => x
//   transpose(transpose(x, p), q)       => transpose(x, p[q])
//   transpose that moves only unit dims => reshape
//   between tokens (N, H W, C) and an image (N, C, H, W): transposes of the image
//     reshape(transpose(x, 0 2 1))      => transpose(reshape(x), 0 3 1 2)
//     transpose(reshape(y), 0 2 1)      => reshape(transpose(y, 0 2 3 1))
//   reshape_like(x, f(y)), of one shape => reshape_like(x, y)
//   concatenate of one, slices and broadcasts that take everything, resizes to the same extents,
//     pads of no width => x

#include "ConstantView.h"
#include "SimplifyRules.h"
#include "bycc/IR/SymbolicValue.h"

#include <algorithm>
#include <numeric>

namespace bycc {
namespace {

bool isStaticTensor(const Module &module, NodeId node) {
  TypeId type = module.type(node);
  return module.types.isTensor(type) && module.types.isStatic(type) &&
         module.types.numElements(type).has_value();
}

Dim product(TypeTable &types, std::span<const Dim> shape) {
  Dim result(1);
  for (Dim dim : shape)
    result = types.mul(result, dim);
  return result;
}

using Codes = std::vector<int64_t>;

// Numbers, 0 for an extent that stands there already, one -1 for what is left over.
std::optional<Codes> codesWithRest(TypeTable &types, std::span<const Dim> from,
                                   std::span<const Dim> to) {
  Codes codes;
  Dim rest(1), left(1);
  for (size_t i = 0; i < to.size(); ++i) {
    bool isCopy = !to[i].isConst() && i < from.size() && from[i] == to[i];
    codes.push_back(to[i].isConst() ? to[i].value() : isCopy ? 0 : -1);
    (codes.back() == -1 ? left : rest) = types.mul(codes.back() == -1 ? left : rest, to[i]);
  }
  Dim all = product(types, from);
  if (all.isUnknown() || rest == Dim(0) || rest.isUnknown())
    return std::nullopt;
  auto numLeft = std::ranges::count(codes, -1);
  bool fits = numLeft == 0 ? all == rest : numLeft == 1 && types.floorDiv(all, rest) == left;
  return fits ? std::optional(codes) : std::nullopt;
}

// -4 a b for an axis of `from` that becomes two, one of them of a known extent.
bool addSplit(TypeTable &types, Dim whole, Dim a, Dim b, Codes &codes) {
  Dim known = a.isConst() ? a : b, other = a.isConst() ? b : a;
  if (!known.isConst() || known == Dim(0) || other.isConst() ||
      types.floorDiv(whole, known) != other || types.mul(known, other) != whole)
    return false;
  codes.push_back(-4);
  for (Dim each : {a, b})
    codes.push_back(each.isConst() ? each.value() : -1);
  return true;
}

// Axis by axis: the same, two as one (-3), or one as two.
std::optional<Codes> codesByAxis(TypeTable &types, std::span<const Dim> from,
                                 std::span<const Dim> to) {
  Codes codes;
  size_t at = 0;
  for (size_t i = 0; i < to.size(); ++i, ++at) {
    if (at >= from.size())
      return std::nullopt;
    if (from[at] == to[i]) {
      codes.push_back(to[i].isConst() ? to[i].value() : 0);
    } else if (at + 1 < from.size() && types.mul(from[at], from[at + 1]) == to[i]) {
      codes.push_back(-3);
      ++at;
    } else if (i + 1 < to.size() && addSplit(types, from[at], to[i], to[i + 1], codes)) {
      ++i;
    } else {
      return std::nullopt;
    }
  }
  return at == from.size() ? std::optional(codes) : std::nullopt;
}

// `newshape` for a reshape between shapes that are not both static; none where it cannot say it.
std::optional<Codes> openCodes(TypeTable &types, std::span<const Dim> from,
                               std::span<const Dim> to) {
  std::optional<Codes> codes = codesWithRest(types, from, to);
  return codes ? codes : codesByAxis(types, from, to);
}

bool isStatic(std::span<const Dim> shape) { return std::ranges::all_of(shape, &Dim::isConst); }

// The permutation of a transpose, axes normalised; empty when it has none.
std::vector<size_t> permutation(const Module &module, NodeId call) {
  size_t rank = module.types.shape(module.type(call)).size();
  std::vector<size_t> result;
  const AttrValue *axes = module.attr(call, "axes");
  if (!axes || axes->isNone()) {
    result.resize(rank);
    std::iota(result.rbegin(), result.rend(), size_t{0});
    return result;
  }
  for (int64_t axis : intsAttr(module, call, "axes"))
    result.push_back(normalizedAxis(axis, rank).value_or(0));
  return result;
}

// Unit axes aside, does the permutation keep the order?
bool movesOnlyUnits(const std::vector<size_t> &axes, std::span<const Dim> shape) {
  std::vector<size_t> kept;
  for (size_t axis : axes)
    if (shape[axis] != Dim(1))
      kept.push_back(axis);
  return std::ranges::is_sorted(kept);
}

// Are these the extents of an image (N, C, H, W) and of its places in a row (N, C, H W)?
bool isImageInRows(std::span<const Dim> image, std::span<const Dim> rows) {
  return image.size() == 4 && rows.size() == 3 && image[0] == rows[0] && image[1] == rows[1] &&
         !image[0].isUnknown() && !image[1].isUnknown();
}

Expected<NodeId> transposed(Builder &builder, NodeId x, std::vector<int64_t> axes) {
  return builder.call(ops::transpose, {x}, {{"axes", AttrValue::ints(axes)}});
}

// The tokens that `reshape` of `source`, a transpose, makes an image; nothing where it does not.
NodeId tokensBehind(const Module &module, NodeId reshape, NodeId source) {
  if (!module.isOp(source, ops::transpose) || !module.types.isTensor(module.type(reshape)) ||
      !isImageInRows(module.types.shape(module.type(reshape)),
                     module.types.shape(module.type(source))) ||
      permutation(module, source) != std::vector<size_t>{0, 2, 1})
    return NodeId();
  return module.operands(source)[0];
}

// `reshape` with the transpose behind it; nothing where that cannot be.
Expected<NodeId> imageOfTokens(Module &module, NodeId reshape, NodeId source, Builder &builder) {
  NodeId tokens = tokensBehind(module, reshape, source);
  if (!tokens || !hasKnownExtents(module, tokens))
    return NodeId();
  std::span<const Dim> image = module.types.shape(module.type(reshape));
  std::vector<Dim> channelsLast{image[0], image[2], image[3], image[1]};
  if (!canReshape(module, module.types.shape(module.type(tokens)), channelsLast))
    return NodeId();
  return transposed(builder, BYCC_TRY(makeReshape(builder, tokens, channelsLast)), {0, 3, 1, 2});
}

// The same with extents that `newshape` of a reshape cannot say.
Expected<NodeId> openImageOfTokens(Module &module, NodeId reshape, Builder &builder) {
  NodeId shape = module.operands(reshape)[1],
         tokens = tokensBehind(module, reshape, module.operands(reshape)[0]);
  if (!tokens || !hasKnownExtents(module, reshape) || !hasKnownExtents(module, tokens))
    return reshape;
  auto values = symbolicValue(module, shape);
  auto copies = [](const SymbolicInt &each) { return each.number == 0; }; // an extent in its place
  if (!values || std::ranges::any_of(*values, copies))
    return reshape;
  constexpr int64_t channelsLast[] = {0, 2, 3, 1};
  Dim count(4);
  NodeId order = module.addConstant(DType::Int64, {&count, 1}, channelsLast, sizeof(channelsLast));
  NodeId extents =
      BYCC_TRY(builder.call(ops::take, {shape, order}, {{"axis", AttrValue(int64_t{0})}}));
  NodeId operands[] = {tokens, extents};
  NodeId image =
      BYCC_TRY(builder.callWithAttrs(ops::dyn_reshape, operands, module.node(reshape).attrs));
  return transposed(builder, image, {0, 3, 1, 2});
}

// `transpose` is one of `rows`, a view: an image that becomes tokens. Else nothing.
Expected<NodeId> tokensOfImage(Module &module, NodeId transpose, NodeId rows,
                               const std::vector<size_t> &axes, Builder &builder) {
  if (!keepsElements(module, rows) || axes != std::vector<size_t>{0, 2, 1})
    return NodeId();
  NodeId image = module.operands(rows)[0];
  if (!isImageInRows(module.types.shape(module.type(image)), module.types.shape(module.type(rows))))
    return NodeId();
  std::span<const Dim> from = module.types.shape(module.type(image)),
                       to = module.types.shape(module.type(transpose));
  std::vector<Dim> channelsLast{from[0], from[2], from[3], from[1]}, tokens(to.begin(), to.end());
  if (!canReshape(module, channelsLast, tokens))
    return NodeId();
  return makeReshape(builder, BYCC_TRY(transposed(builder, image, {0, 2, 3, 1})), tokens);
}

Expected<NodeId> simplifyTranspose(Module &module, NodeId call, Builder &builder) {
  NodeId input = module.operands(call)[0];
  std::vector<size_t> axes = permutation(module, call);
  if (axes.size() != module.types.shape(module.type(call)).size())
    return call;
  bool merged = module.isOp(input, ops::transpose);
  if (merged) {
    std::vector<size_t> inner = permutation(module, input);
    for (size_t &axis : axes)
      axis = inner[axis];
    input = module.operands(input)[0];
  }
  if (std::ranges::is_sorted(axes))
    return input;
  std::span<const Dim> from = module.types.shape(module.type(input));
  if (hasKnownExtents(module, input) && movesOnlyUnits(axes, from) &&
      canReshape(module, from, module.types.shape(module.type(call))))
    return makeReshape(builder, input, module.types.shape(module.type(call)));
  if (NodeId tokens = BYCC_TRY(tokensOfImage(module, call, input, axes, builder)))
    return tokens;
  return merged ? transposed(builder, input, {axes.begin(), axes.end()}) : call;
}

Expected<NodeId> simplifyView(Module &module, NodeId call, Builder &builder) {
  NodeId source = module.operands(call)[0];
  bool merged = false;
  while (keepsElements(module, source)) {
    source = module.operands(source)[0];
    merged = true;
  }
  if (module.type(source) == module.type(call))
    return source;
  if (NodeId image = BYCC_TRY(imageOfTokens(module, call, source, builder)))
    return image;
  std::span<const Dim> shape = module.types.shape(module.type(call));
  return merged && canReshape(module, module.types.shape(module.type(source)), shape)
             ? makeReshape(builder, source, shape)
             : call;
}

// What has the extents of `like` already, upstream of what computes elements.
NodeId shapeSource(const Module &module, NodeId like) {
  while (module.node(like).kind == NodeKind::CallOp) {
    OpKind kind = opInfo(module.node(like).op).kind;
    std::span<const NodeId> operands = module.operands(like);
    auto hasShape = [&](NodeId operand) {
      return hasKnownExtents(module, operand) &&
             std::ranges::equal(module.types.shape(module.type(operand)),
                                module.types.shape(module.type(like)));
    };
    auto same = std::ranges::find_if(operands, hasShape);
    if ((kind != OpKind::Elementwise && kind != OpKind::Broadcast) || same == operands.end())
      break;
    like = *same;
  }
  return like;
}

Expected<NodeId> simplifyReshapeLike(Module &module, NodeId call, Builder &builder) {
  NodeId operands[] = {module.operands(call)[0], shapeSource(module, module.operands(call)[1])};
  if (operands[1] == module.operands(call)[1])
    return call;
  return builder.callWithAttrs(ops::reshape_like, operands, module.node(call).attrs);
}

bool takesEverything(const Module &module, NodeId call) {
  if (module.node(call).op != ops::strided_slice)
    return true;
  return std::ranges::all_of(intsAttr(module, call, "strides"), [](int64_t s) { return s == 1; });
}

// A resize to the extents that there are, places for places.
bool keepsPlaces(const Module &module, NodeId call) {
  std::string_view mode = attrs::text(module, call, "coordinate_transformation_mode");
  const AttrValue *scales = module.attr(call, "scales");
  bool isScaled =
      !scales->isNone() && std::ranges::any_of(scales->asList(), [](const AttrValue &each) {
        return !each.equalsLoosely(AttrValue(1.0));
      });
  return !isScaled && mode != "tf_crop_and_resize" && mode != "tf_half_pixel_for_nn";
}

bool padsNothing(const Module &module, NodeId call) {
  const AttrValue *widths = module.attr(call, "pad_width");
  return widths->isList() && std::ranges::all_of(widths->asList(), [](const AttrValue &each) {
           return each.isList() && std::ranges::all_of(each.asList(), [](const AttrValue &width) {
                    return width.equalsLoosely(AttrValue(0));
                  });
         });
}

// One operand of the result's type through an operator that then does nothing.
bool isWholeCopy(const Module &module, NodeId call) {
  OpId op = module.node(call).op;
  bool mayBe = op == ops::strided_slice || op == ops::broadcast_to ||
               op == ops::broadcast_to_like || op == ops::slice_like || op == ops::copy;
  if (op == ops::image_resize1d || op == ops::image_resize2d || op == ops::image_resize3d)
    mayBe = keepsPlaces(module, call);
  if (op == ops::nn_pad)
    mayBe = padsNothing(module, call);
  return mayBe && module.type(call) == module.type(module.operands(call)[0]) &&
         module.types.isTensor(module.type(call)) &&
         (op == ops::copy || module.types.isStatic(module.type(call))) &&
         takesEverything(module, call);
}

} // namespace

bool isView(const Module &module, NodeId node) {
  return isCallWith(module, node, OpTrait::View) && !isCallWith(module, node, OpTrait::Dynamic) &&
         isStaticTensor(module, node) && isStaticTensor(module, module.operands(node)[0]);
}

bool hasKnownExtents(const Module &module, NodeId node) {
  TypeId type = module.type(node);
  return isStaticTensor(module, node) ||
         (module.types.isTensor(type) && !module.types.isStatic(type) &&
          std::ranges::none_of(module.types.shape(type), &Dim::isUnknown));
}

bool keepsElements(const Module &module, NodeId node) {
  return isCallWith(module, node, OpTrait::View) && !isCallWith(module, node, OpTrait::Dynamic) &&
         hasKnownExtents(module, node) && hasKnownExtents(module, module.operands(node)[0]);
}

bool canReshape(Module &module, std::span<const Dim> from, std::span<const Dim> to) {
  return std::ranges::equal(from, to) || (isStatic(from) && isStatic(to)) ||
         openCodes(module.types, from, to);
}

AttrDict sliceAttrs(const std::vector<int64_t> &begin, const std::vector<int64_t> &end,
                    const std::vector<int64_t> &axes) {
  return {{"begin", AttrValue::ints(begin)},
          {"end", AttrValue::ints(end)},
          {"strides", AttrValue::List{1}},
          {"axes", AttrValue::ints(axes)}};
}

Expected<NodeId> makeReshape(Builder &builder, NodeId x, std::span<const Dim> shape) {
  Module &module = builder.module();
  for (NodeId at = x; keepsElements(module, at);) {
    at = module.operands(at)[0];
    if (canReshape(module, module.types.shape(module.type(at)), shape))
      x = at;
  }
  std::span<const Dim> from = module.types.shape(module.type(x));
  if (std::ranges::equal(from, shape))
    return x;
  if (!isStatic(from) || !isStatic(shape)) {
    std::optional<Codes> codes = openCodes(module.types, from, shape);
    BYCC_ASSERT(codes, "whoever asks for a reshape of open extents knows that it can be written");
    return builder.call(ops::reshape, {x}, {{"newshape", AttrValue::ints(*codes)}});
  }
  if (module.isConstant(x))
    return reshapeConstant(module, x, shape);
  AttrValue::List dims;
  bool hasZero = false;
  for (Dim dim : shape) {
    dims.emplace_back(dim.value());
    hasZero |= dim.value() == 0;
  }
  AttrDict attrs{{"newshape", AttrValue(std::move(dims))}};
  if (hasZero)
    attrs.push_back({"allowzero", AttrValue(1)});
  return builder.call(ops::reshape, {x}, std::move(attrs));
}

Expected<NodeId> simplifyMovement(Module &module, NodeId call, Builder &builder) {
  OpId op = module.node(call).op;
  if (op == ops::transpose)
    return simplifyTranspose(module, call, builder);
  if (op == ops::dyn_reshape)
    return openImageOfTokens(module, call, builder);
  if (keepsElements(module, call))
    call = BYCC_TRY(simplifyView(module, call, builder));
  if (module.isOp(call, ops::reshape_like))
    return simplifyReshapeLike(module, call, builder);
  if (isWholeCopy(module, call))
    return module.operands(call)[0];
  if (op == ops::concatenate) {
    NodeId fields = module.operands(call)[0];
    if (module.node(fields).kind == NodeKind::Tuple && module.node(fields).operandCount == 1)
      return module.operands(fields)[0];
  }
  return call;
}

} // namespace bycc
