// Moves views (reshapes) below what computes, so that a computation meets its
// producer and views meet each other and vanish.
//
//   nn.matmul(2-D) -> reshape(3-D) -> add(residual 3-D) -> nn.layer_norm
//     =>  nn.matmul(2-D) -> add(reshape(residual)) -> nn.layer_norm -> reshape(3-D)
//
//   1. f(view(x)), f elementwise              => view(f(x))
//   2. f(view(x), c), c one constant          => view(f(x, c))
//   3. f(view(x), view(y)), x and y alike     => view(f(x, y))
//   4. f(view(x), y), x of lower rank         => view(f(x, y seen at that rank))
//   5. softmax, layer_norm, bias_add, reductions over the last axis, which the
//      view keeps                             => view(op(x))
//
// Rules 4 and 5 go to the lower rank only, so that no two rules undo each other.
// A view of a parameter or constant stays: where it is it costs nothing.

#include "ConstantView.h"
#include "SimplifyRules.h"

#include <algorithm>

namespace bycc {
namespace {

class ViewSinker {
public:
  ViewSinker(Module &module, NodeId call, Builder &builder)
      : module_(module), call_(call), builder_(builder), op_(module.node(call).op) {}

  Expected<NodeId> run() {
    if (!module_.types.isTensor(module_.type(call_)) || module_.node(call_).operandCount == 0)
      return call_;
    for (NodeId each : module_.operands(call_))
      if (!module_.types.isTensor(module_.type(each)))
        return call_;
    OpKind kind = opInfo(op_).kind;
    bool isUnary = module_.node(call_).operandCount == 1;
    if (kind == OpKind::Elementwise && isUnary && op_ != ops::reinterpret)
      return sinkInto(0, {});
    if (kind == OpKind::Broadcast && module_.node(call_).operandCount == 2 &&
        opInfo(op_).attrs.empty())
      return sinkBinary();
    return isOverLastAxis() ? sinkLastAxis() : Expected<NodeId>(call_);
  }

private:
  NodeId operand(size_t index) const { return module_.operands(call_)[index]; }
  std::span<const Dim> shapeOf(NodeId node) const {
    return module_.types.shape(module_.type(node));
  }
  // What a movable view is a view of; none for other nodes.
  NodeId sourceOf(NodeId view) const {
    if (!keepsElements(module_, view))
      return {};
    NodeId source = module_.operands(view)[0];
    return module_.isLeaf(source) ? NodeId() : source;
  }
  bool hasShape(NodeId node, std::span<const Dim> shape) const {
    return module_.types.isTensor(module_.type(node)) && std::ranges::equal(shapeOf(node), shape);
  }

  // The call on the view's source and the other operand as given, seen through
  // the view again.
  Expected<NodeId> sinkInto(size_t position, NodeId other) {
    NodeId source = sourceOf(operand(position));
    if (!source || !canReshape(module_, shapeOf(source), shapeOf(call_)))
      return call_;
    std::vector<NodeId> operands{source};
    if (other)
      operands.insert(position == 0 ? operands.end() : operands.begin(), other);
    return remake(operands, module_.node(call_).attrs);
  }
  Expected<NodeId> remake(const std::vector<NodeId> &operands, AttrsId attrs) {
    NodeId moved = BYCC_TRY(builder_.callWithAttrs(op_, operands, attrs));
    moved = BYCC_TRY(simplifyCast(module_, moved, builder_));
    if (module_.node(moved).kind == NodeKind::CallOp)
      moved = BYCC_TRY(simplifyArithmetic(module_, moved, builder_));
    return makeReshape(builder_, moved, shapeOf(call_));
  }

  Expected<NodeId> sinkBinary() {
    for (size_t i = 0; i < 2; ++i) {
      NodeId source = sourceOf(operand(i));
      if (!source || !hasShape(operand(i), shapeOf(call_)))
        continue;
      if (NodeId other = BYCC_TRY(atShapeOf(source, operand(i), operand(1 - i))))
        return sinkInto(i, other);
    }
    return call_;
  }

  // `other`, broadcast against `view` so far, for use against its source.
  Expected<NodeId> atShapeOf(NodeId source, NodeId view, NodeId other) {
    std::span<const Dim> to = shapeOf(source), from = shapeOf(view), shape = shapeOf(other);
    if (module_.isConstant(other) && shape.empty())
      return other;
    if (NodeId beneath = sourceOf(other); beneath && hasShape(beneath, to))
      return beneath;
    if (to.size() >= from.size())
      return NodeId();
    if (std::ranges::equal(shape, from))
      return reshaped(other, to);
    bool keepsLast = !to.empty() && to.back() == from.back();
    if (shape.size() <= 1 && keepsLast)
      return other;
    return withoutLeadingUnits(to, from, other);
  }

  // The view only puts unit axes in front, so `other` loses as many.
  Expected<NodeId> withoutLeadingUnits(std::span<const Dim> to, std::span<const Dim> from,
                                       NodeId other) {
    size_t extra = from.size() - to.size();
    bool isPlain = std::ranges::equal(from.subspan(extra), to) &&
                   std::ranges::all_of(from.first(extra), [](Dim dim) { return dim == Dim(1); });
    if (!isPlain)
      return NodeId();
    std::span<const Dim> shape = shapeOf(other);
    if (shape.size() <= to.size())
      return other;
    return reshaped(other, shape.subspan(shape.size() - to.size()));
  }
  // None where it cannot be written.
  Expected<NodeId> reshaped(NodeId x, std::span<const Dim> shape) {
    bool can = canReshape(module_, shapeOf(x), shape);
    return can ? makeReshape(builder_, x, shape) : Expected<NodeId>(NodeId());
  }

  // Calls that treat every row of operand 0 (its last axis) by itself.
  bool isOverLastAxis() const {
    bool mayBe = op_ == ops::nn_softmax || op_ == ops::nn_log_softmax ||
                 op_ == ops::nn_layer_norm || op_ == ops::nn_bias_add;
    size_t rank = shapeOf(operand(0)).size();
    if (mayBe)
      return rank > 0 && normalizedAxis(intAttr(module_, call_, "axis", -1), rank) == rank - 1;
    std::vector<int64_t> axes = intsAttr(module_, call_, "axis");
    return isPlainReduction() && axes.size() == 1 && normalizedAxis(axes[0], rank) == rank - 1;
  }
  bool isPlainReduction() const {
    auto is = [&](std::string_view key, bool wanted) {
      const AttrValue *value = module_.attr(call_, key);
      return value && value->equalsLoosely(AttrValue(wanted));
    };
    return opInfo(op_).kind == OpKind::Reduction && module_.node(call_).operandCount == 1 &&
           is("keepdims", true) && is("exclude", false);
  }
  Expected<NodeId> sinkLastAxis() {
    NodeId source = sourceOf(operand(0));
    std::span<const Dim> from = shapeOf(operand(0));
    if (!source || shapeOf(source).empty() || shapeOf(source).size() >= from.size() ||
        shapeOf(source).back() != from.back())
      return call_;
    std::vector<Dim> made(shapeOf(source).begin(), shapeOf(source).end());
    made.back() = shapeOf(call_).back();
    if (!canReshape(module_, made, shapeOf(call_)))
      return call_;
    std::vector<NodeId> operands(module_.operands(call_).begin(), module_.operands(call_).end());
    operands[0] = source;
    AttrDict attrs = module_.attributes.dict(module_.node(call_).attrs);
    int64_t last = static_cast<int64_t>(shapeOf(source).size()) - 1;
    if (isPlainReduction())
      attrs.push_back({"axis", AttrValue::ints({&last, 1})});
    else
      attrs.push_back({"axis", AttrValue(op_ == ops::nn_bias_add ? last : int64_t{-1})});
    NodeId moved = BYCC_TRY(builder_.call(op_, operands, deduplicated(std::move(attrs))));
    return makeReshape(builder_, moved, shapeOf(call_));
  }
  // The axis just put at the end replaces the one that was there.
  static AttrDict deduplicated(AttrDict attrs) {
    Attr last = std::move(attrs.back());
    attrs.pop_back();
    std::erase_if(attrs, [&](const Attr &attr) { return attr.key == last.key; });
    attrs.push_back(std::move(last));
    return attrs;
  }

  Module &module_;
  NodeId call_;
  Builder &builder_;
  OpId op_;
};

} // namespace

Expected<NodeId> sinkView(Module &module, NodeId call, Builder &builder) {
  return ViewSinker(module, call, builder).run();
}

} // namespace bycc
