// Gives dyn.* operators whose operands turn out to be known their static form:
//
//   dyn.tile(x, [2, 1])                           => tile(x, reps=[2, 1])
//   dyn.reshape(x, [N, S, 12, 64]), x (N, S, 768) => reshape(x, newshape=[0, 0, 12, 64])
//   reshape_like(x, y), x (12 N, S), y (N, 12, S) => reshape(x, newshape=[-1, 12, S])
//
// What an operand is comes from symbolicValue(), so shape arithmetic need not be
// folded first; what it does not know (arithmetic in floats) is folded on the way, so one walk
// is enough however many shapes depend on each other. A reshape may also have one extent that is left over (-1). Types
// are inferred again on the way: what reads a result that had a `?` may know its
// own shape now.

#include "ConstantFolder.h"
#include "Scopes.h"
#include "SimplifyRules.h"
#include "bycc/IR/Builder.h"
#include "bycc/IR/Infer.h"
#include "bycc/IR/SymbolicValue.h"
#include "bycc/Support/Element.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>

namespace bycc {
namespace {

using Ints = std::vector<int64_t>;

class StaticRewriter {
public:
  StaticRewriter(Module &module, NodeId call, Builder &builder)
      : module_(module), call_(call), builder_(builder),
        attrs_(module.attributes.dict(module.node(call).attrs)) {}

  Expected<NodeId> run() {
    struct Row {
      OpId op;
      Expected<NodeId> (StaticRewriter::*rewrite)();
    };
    static const Row rows[] = {
        {ops::dyn_broadcast_to, &StaticRewriter::broadcastTo},
        {ops::dyn_expand_dims, &StaticRewriter::expandDims},
        {ops::dyn_full, &StaticRewriter::full},
        {ops::dyn_image_resize2d, &StaticRewriter::resize},
        {ops::dyn_nn_pad, &StaticRewriter::pad},
        {ops::dyn_nn_upsampling, &StaticRewriter::upsampling},
        {ops::dyn_one_hot, &StaticRewriter::oneHot},
        {ops::dyn_ones, &StaticRewriter::ones},
        {ops::dyn_reshape, &StaticRewriter::reshape},
        {ops::dyn_squeeze, &StaticRewriter::squeeze},
        {ops::dyn_strided_slice, &StaticRewriter::slice},
        {ops::dyn_tile, &StaticRewriter::tile},
        {ops::dyn_topk, &StaticRewriter::topk},
        {ops::dyn_zeros, &StaticRewriter::zeros},
        {ops::reshape_like, &StaticRewriter::reshapeLike},
    };
    for (const Row &row : rows)
      if (module_.isOp(call_, row.op))
        return (this->*row.rewrite)();
    return call_;
  }

private:
  NodeId operand(size_t index) const { return module_.operands(call_)[index]; }

  // All elements of an operand, when they are numbers.
  std::optional<Ints> numbers(size_t index) {
    auto value = symbolicValue(module_, operand(index));
    if (!value)
      return std::nullopt;
    Ints result;
    for (const SymbolicInt &item : *value) {
      if (!item.number)
        return std::nullopt;
      result.push_back(*item.number);
    }
    return result;
  }
  std::optional<int64_t> number(size_t index) {
    auto all = numbers(index);
    return all && all->size() == 1 ? std::optional(all->front()) : std::nullopt;
  }
  std::optional<std::vector<double>> floats(size_t index) const {
    NodeId node = operand(index);
    if (!module_.isConstant(node) || module_.types.dtype(module_.type(node)) != DType::Float32)
      return std::nullopt;
    const Constant &constant = module_.constant(node);
    std::vector<double> result;
    for (uint64_t i = 0; i < constant.bytes / 4; ++i)
      result.push_back(elementAsDouble(DType::Float32, constant.data(), static_cast<int64_t>(i)));
    return result;
  }
  Expected<NodeId> make(OpId op, std::initializer_list<NodeId> operands) {
    return builder_.call(op, std::vector<NodeId>(operands), attrs_);
  }
  void set(std::string_view key, AttrValue value) {
    attrs_.push_back({std::string(key), std::move(value)});
  }
  // A call with one list of numbers as operand, which becomes the attribute `key`.
  Expected<NodeId> withInts(OpId op, size_t index, std::string_view key,
                            std::initializer_list<NodeId> operands) {
    auto values = numbers(index);
    if (!values)
      return call_;
    set(key, AttrValue::ints(*values));
    return make(op, operands);
  }
  Expected<NodeId> withInt(OpId op, size_t index, std::string_view key,
                           std::initializer_list<NodeId> operands) {
    auto value = number(index);
    if (!value)
      return call_;
    set(key, AttrValue(*value));
    return make(op, operands);
  }

  Expected<NodeId> broadcastTo() { return withInts(ops::broadcast_to, 1, "shape", {operand(0)}); }
  Expected<NodeId> full() { return withInts(ops::full, 1, "shape", {operand(0)}); }
  Expected<NodeId> ones() { return withInts(ops::ones, 0, "shape", {}); }
  Expected<NodeId> zeros() { return withInts(ops::zeros, 0, "shape", {}); }
  Expected<NodeId> tile() { return withInts(ops::tile, 1, "reps", {operand(0)}); }
  Expected<NodeId> squeeze() { return withInts(ops::squeeze, 1, "axis", {operand(0)}); }
  Expected<NodeId> expandDims() { return withInt(ops::expand_dims, 1, "axis", {operand(0)}); }
  Expected<NodeId> topk() { return withInt(ops::topk, 1, "k", {operand(0)}); }
  Expected<NodeId> oneHot() {
    return withInt(ops::one_hot, 3, "depth", {operand(0), operand(1), operand(2)});
  }

  Expected<NodeId> pad() {
    auto widths = numbers(1);
    if (!widths)
      return call_;
    AttrValue::List pairs;
    for (size_t i = 0; i + 1 < widths->size(); i += 2)
      pairs.push_back(AttrValue::ints(std::span(*widths).subspan(i, 2)));
    set("pad_width", AttrValue(std::move(pairs)));
    return make(ops::nn_pad, {operand(0), operand(2)});
  }

  Expected<NodeId> slice() {
    auto begin = numbers(1), end = numbers(2), strides = numbers(3);
    if (!begin || !end || !strides)
      return call_;
    set("begin", AttrValue::ints(*begin));
    set("end", AttrValue::ints(*end));
    set("strides", AttrValue::ints(*strides));
    if (std::ranges::find(attrs_, "axes", &Attr::key) == attrs_.end())
      set("axes", AttrValue());
    return make(ops::strided_slice, {operand(0)});
  }

  Expected<NodeId> resize() {
    auto size = numbers(1);
    auto roi = floats(2);
    if (!size || !roi)
      return call_;
    set("size", AttrValue::ints(*size));
    if (roi->size() == 4) {
      AttrValue::List values(roi->begin(), roi->end());
      set("roi", AttrValue(std::move(values)));
    }
    return make(ops::image_resize2d, {operand(0)});
  }

  Expected<NodeId> upsampling() {
    auto height = floats(1), width = floats(2);
    if (!height || !width || height->size() != 1 || width->size() != 1)
      return call_;
    set("scale_h", AttrValue(height->front()));
    set("scale_w", AttrValue(width->front()));
    return make(ops::nn_upsampling, {operand(0)});
  }

  // Codes of newshape: a number, 0 for the extent that stands there in x, -1 for
  // one that is left over.
  std::optional<Ints> reshapeCodes() {
    auto wanted = symbolicValue(module_, operand(1));
    if (!wanted)
      return std::nullopt;
    std::span<const Dim> from = module_.types.shape(module_.type(operand(0)));
    const AttrValue *value = module_.attr(call_, "allowzero");
    bool keepsZero = value && value->isInt() && value->asInt() != 0;
    bool hasZero = false, hasCopy = false;
    Ints codes;
    for (size_t i = 0; i < wanted->size(); ++i) {
      const SymbolicInt &item = (*wanted)[i];
      bool isCopy = !item.number && item.isKnown() && i < from.size() && item.dim == from[i];
      hasCopy |= isCopy;
      hasZero |= item.number == 0;
      codes.push_back(item.number ? *item.number : isCopy ? 0 : -1);
    }
    bool isPlain = std::ranges::all_of(codes, [](int64_t code) { return code >= -1; });
    if (std::ranges::count(codes, -1) > 1 || !isPlain || (hasZero && hasCopy && keepsZero))
      return std::nullopt;
    if (!hasZero) // the 0 of a copy is no extent
      std::erase_if(attrs_, [](const Attr &attr) { return attr.key == "allowzero"; });
    return codes;
  }

  Expected<NodeId> reshape() {
    auto codes = reshapeCodes();
    if (!codes)
      return call_;
    set("newshape", AttrValue::ints(*codes));
    NodeId made = BYCC_TRY(make(ops::reshape, {operand(0)}));
    // What is left over must come out as what was asked for.
    return isAssignable(module_, module_.type(made), module_.type(call_)) ? made : call_;
  }

  // Does not need the other operand any more, and vendors know it.
  Expected<NodeId> reshapeLike() {
    std::span<const Dim> shape = module_.types.shape(module_.type(call_));
    bool can = hasKnownExtents(module_, call_) && hasKnownExtents(module_, operand(0)) &&
               canReshape(module_, module_.types.shape(module_.type(operand(0))), shape);
    return can ? makeReshape(builder_, operand(0), shape) : Expected<NodeId>(call_);
  }

  Module &module_;
  NodeId call_;
  Builder &builder_;
  AttrDict attrs_;
};

constexpr int64_t maxFoldedBytes = 1024; // beyond those of the operands

Expected<NodeId> rewriteNode(Module &module, NodeId node, ConstantFolder &folder,
                             Builder &builder) {
  NodeKind kind = module.node(node).kind;
  bool isTyped = kind == NodeKind::CallOp || kind == NodeKind::Tuple || kind == NodeKind::Project;
  if (isTyped && !module.types.isStatic(module.type(node)))
    BYCC_TRY(inferNode(module, node));
  NodeId made =
      kind == NodeKind::CallOp ? BYCC_TRY(StaticRewriter(module, node, builder).run()) : node;
  return made == node ? folder.visit(node, builder) : Expected<NodeId>(made);
}

} // namespace

Expected<bool> dynamicToStatic(Module &module, PassContext &) {
  ConstantFolder folder(module, maxFoldedBytes);
  return rewriteOpenBlocks(module, [&](NodeId node, Builder &builder) {
    return rewriteNode(module, node, folder, builder);
  });
}

} // namespace bycc
