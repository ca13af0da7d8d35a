// Writes products of matrices in one way, for vendors whose patterns hold whole
// layers: transposes move out of the way or into the weight.
//
//   nn.matmul(x, w)                            => nn.dense(x, transpose(w))
//   nn.matmul(x, w, transpose_b=True)          => nn.dense(x, w)
//   nn.dense(x, transpose(transpose(w)))       => nn.dense(x, w)
//   nn.batch_matmul(a, transpose(b, [0, 2, 1])) => nn.batch_matmul(a, b, transpose_b=True)
//   and so for a; transpose twice is none
//   nn.batch_matmul(a, reshape(transpose(b, [0, 2, 3, 1]), [h, d, s]))
//     => nn.batch_matmul(a, reshape(transpose(b, [0, 2, 1, 3]), [h, s, d]), transpose_b=True)
//
//   an operand transpose(reshape(x, [s, h, d]), [1, 0, 2])
//     => reshape(transpose(reshape(x, [1, s, h, d]), [0, 2, 1, 3]), [h, s, d])
//
//   nn.dense(x of rank > 2, w)  => reshape(nn.dense(reshape(x), w)) of rank 2
//   split(reshape(x))[i]        => reshape(split(x)[i])
//     when the reshape keeps the last axis, which is split
//   take or split of transpose(reshape(x, [b, s, 3, h, d]), p) over the axis of 3
//     => transpose(reshape(split(x, 3)[i], [b, s, h, d]), p without that axis)
//
// The fifth and sixth: heads of attention, whose matrices keep the order of the axes that
// the value had before its heads were made a batch; which way round they are is the
// flag's business. The two after it: simplify-expr moves reshapes below what computes, to
// the lower rank, and so leaves one form of products of any rank.
//
// A transpose of a constant weight folds (fold-constants). In no default list: host
// code and other vendors are as good with either form.

#include "ConstantView.h"
#include "Scopes.h"
#include "SimplifyRules.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace bycc {
namespace {

// Axes of a transpose from the front; empty when the node is none.
std::vector<int64_t> transposeAxes(const Module &module, NodeId node) {
  if (!module.isOp(node, ops::transpose))
    return {};
  size_t rank = module.types.shape(module.type(node)).size();
  std::vector<int64_t> axes = intsAttr(module, node, "axes");
  if (axes.empty()) {
    axes.resize(rank);
    std::iota(axes.rbegin(), axes.rend(), int64_t{0});
  }
  for (int64_t &axis : axes)
    axis += axis < 0 ? static_cast<int64_t>(rank) : 0;
  return axes;
}

bool swapsLastTwo(const std::vector<int64_t> &axes) {
  size_t rank = axes.size();
  if (rank < 2)
    return false;
  for (size_t i = 0; i + 2 < rank; ++i)
    if (axes[i] != static_cast<int64_t>(i))
      return false;
  return axes[rank - 2] == static_cast<int64_t>(rank - 1);
}

bool flag(const Module &module, NodeId call, std::string_view key) {
  const AttrValue *value = module.attr(call, key);
  return value && value->equalsLoosely(AttrValue(true));
}

Expected<NodeId> transposed(Module &module, NodeId matrix, Builder &builder) {
  if (swapsLastTwo(transposeAxes(module, matrix)))
    return module.operands(matrix)[0];
  return builder.call(ops::transpose, {matrix}, {{"axes", AttrValue(AttrValue::List{1, 0})}});
}

AttrDict denseAttrs(const Module &module, NodeId call, Dim units) {
  AttrDict attrs{{"units", AttrValue(units.value())}};
  if (std::string_view dtype = textAttr(module, call, "out_dtype"); !dtype.empty())
    attrs.push_back({"out_dtype", AttrValue(dtype)});
  return attrs;
}

Expected<NodeId> denseFromMatmul(Module &module, NodeId call, Builder &builder) {
  NodeId x = module.operands(call)[0], weight = module.operands(call)[1];
  std::span<const Dim> shape = module.types.shape(module.type(weight));
  bool isTransposed = flag(module, call, "transpose_b");
  if (flag(module, call, "transpose_a") || shape.size() != 2 ||
      !module.types.isStatic(module.type(weight)))
    return call;
  Dim units = shape[isTransposed ? 0 : 1];
  if (!isTransposed)
    weight = BYCC_TRY(transposed(module, weight, builder));
  return builder.call(ops::nn_dense, {x, weight}, denseAttrs(module, call, units));
}

// Two transposes between a weight and its product are none; rows are one axis.
Expected<NodeId> simplerDense(Module &module, NodeId call, Builder &builder) {
  NodeId x = module.operands(call)[0], weight = module.operands(call)[1];
  NodeId inner = weight;
  if (swapsLastTwo(transposeAxes(module, weight)))
    if (NodeId once = module.operands(weight)[0]; swapsLastTwo(transposeAxes(module, once)))
      inner = module.operands(once)[0];
  std::span<const Dim> shape = module.types.shape(module.type(x));
  bool isFlat =
      shape.size() <= 2 || !module.types.isStatic(module.type(call)) || shape.back() == Dim(0);
  if (inner == weight && isFlat)
    return call;
  if (!isFlat) {
    int64_t rows = *module.types.numElements(module.type(x)) / shape.back().value();
    Dim flat[] = {Dim(rows), shape.back()};
    x = BYCC_TRY(makeReshape(builder, x, flat));
  }
  NodeId operands[] = {x, inner};
  NodeId product =
      BYCC_TRY(builder.callWithAttrs(ops::nn_dense, operands, module.node(call).attrs));
  return isFlat ? Expected<NodeId>(product)
                : makeReshape(builder, product, module.types.shape(module.type(call)));
}

// An operand of a batched product, and whether its matrices lie the other way.
struct Operand {
  NodeId node;
  bool isTransposed;
};

// reshape(transpose(x)) that only gathers leading axes: the transpose to take when
// the last two axes are to be in the order of x.
Expected<std::optional<NodeId>> inSourceOrder(Module &module, NodeId node, Builder &builder) {
  if (!module.isOp(node, ops::reshape) || !isView(module, node))
    return std::optional<NodeId>();
  NodeId moved = module.operands(node)[0];
  std::vector<int64_t> axes = transposeAxes(module, moved);
  std::span<const Dim> from = module.types.shape(module.type(moved)),
                       to = module.types.shape(module.type(node));
  size_t rank = axes.size();
  if (rank < 3 || to.size() != 3 || axes[rank - 2] < axes[rank - 1] || from[rank - 2] != to[1] ||
      from[rank - 1] != to[2])
    return std::optional<NodeId>();
  std::vector<Dim> shape{to[0], to[2], to[1]};
  NodeId source = module.operands(moved)[0];
  std::swap(axes[rank - 2], axes[rank - 1]);
  NodeId straight = source;
  if (!std::ranges::is_sorted(axes))
    straight = BYCC_TRY(builder.call(ops::transpose, {source}, {{"axes", AttrValue::ints(axes)}}));
  return std::optional(BYCC_TRY(makeReshape(builder, straight, shape)));
}

// Heads of a batch of one, written without that axis: with it, and as matrices in the order
// of what they were; none when it is not so.
Expected<NodeId> ofOneBatch(Module &module, NodeId node, Builder &builder) {
  std::vector<int64_t> axes = transposeAxes(module, node);
  bool isTurned = axes == std::vector<int64_t>{1, 2, 0}; // h, d, s
  if (!isTurned && axes != std::vector<int64_t>{1, 0, 2})
    return NodeId();
  NodeId view = module.operands(node)[0];
  if (!module.isOp(view, ops::reshape) || !isView(module, view) ||
      !module.types.isStatic(module.type(view)))
    return NodeId();
  std::span<const Dim> shape = module.types.shape(module.type(view));
  Dim s = shape[0], h = shape[1], d = shape[2], one(1);
  Dim whole[] = {one, s, h, d};
  NodeId heads = BYCC_TRY(makeReshape(builder, module.operands(view)[0], whole));
  std::vector<int64_t> front =
      isTurned ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3};
  heads = BYCC_TRY(builder.call(ops::transpose, {heads}, {{"axes", AttrValue::ints(front)}}));
  return makeReshape(builder, heads, module.types.shape(module.type(node)));
}

Expected<Operand> straighten(Module &module, Operand operand, Builder &builder) {
  while (true) {
    std::vector<int64_t> axes = transposeAxes(module, operand.node);
    if (swapsLastTwo(axes)) {
      operand = {module.operands(operand.node)[0], !operand.isTransposed};
      continue;
    }
    if (NodeId whole = BYCC_TRY(ofOneBatch(module, operand.node, builder))) {
      operand.node = whole;
      continue;
    }
    auto straight = BYCC_TRY(inSourceOrder(module, operand.node, builder));
    if (!straight)
      return operand;
    operand = {*straight, !operand.isTransposed};
  }
}

Expected<NodeId> straightProduct(Module &module, NodeId call, Builder &builder) {
  NodeId left = module.operands(call)[0], right = module.operands(call)[1];
  Operand a = BYCC_TRY(straighten(module, {left, flag(module, call, "transpose_a")}, builder));
  Operand b = BYCC_TRY(straighten(module, {right, flag(module, call, "transpose_b")}, builder));
  if (a.node == left && b.node == right)
    return call;
  AttrDict attrs;
  if (a.isTransposed)
    attrs.push_back({"transpose_a", AttrValue(true)});
  if (b.isTransposed)
    attrs.push_back({"transpose_b", AttrValue(true)});
  if (std::string_view dtype = textAttr(module, call, "out_dtype"); !dtype.empty())
    attrs.push_back({"out_dtype", AttrValue(dtype)});
  return builder.call(ops::nn_batch_matmul, {a.node, b.node}, std::move(attrs));
}

class Canonicalizer {
public:
  explicit Canonicalizer(Module &module) : module_(module) {}

  Expected<NodeId> rewrite(NodeId node, Builder &builder) {
    const Node &n = module_.node(node);
    builder.setSource(n.source);
    if (n.kind == NodeKind::Project)
      return field(node, builder);
    if (n.kind != NodeKind::CallOp)
      return node;
    OpId op = n.op;
    if (op == ops::nn_matmul)
      return denseFromMatmul(module_, node, builder);
    if (op == ops::nn_dense)
      return simplerDense(module_, node, builder);
    if (op == ops::nn_batch_matmul)
      return straightProduct(module_, node, builder);
    if (op == ops::take)
      return taken(node, builder);
    return node;
  }

private:
  Expected<NodeId> field(NodeId project, Builder &builder) {
    NodeId split = module_.operands(project)[0];
    if (!module_.isOp(split, ops::split))
      return project;
    NodeId source = module_.operands(split)[0];
    size_t rank = module_.types.shape(module_.type(source)).size();
    const AttrValue *sections = module_.attr(split, "indices_or_sections");
    auto axis = normalizedAxis(intAttr(module_, split, "axis", 0), rank);
    if (axis && sections->isInt())
      if (NodeId part = BYCC_TRY(partOfHeads(source, *axis, sections->asInt(),
                                             module_.node(project).payload, builder)))
        return makeReshape(builder, part, module_.types.shape(module_.type(project)));
    return partOfView(project, builder);
  }

  // take(x, i) with a constant i that names one place of the axis.
  Expected<NodeId> taken(NodeId node, Builder &builder) {
    NodeId source = module_.operands(node)[0], index = module_.operands(node)[1];
    size_t rank = module_.types.shape(module_.type(source)).size();
    const AttrValue *attr = module_.attr(node, "axis");
    if (!attr || !attr->isInt() || !module_.isConstant(index) ||
        module_.types.numElements(module_.type(index)) != 1)
      return node;
    auto axis = normalizedAxis(attr->asInt(), rank);
    if (!axis || !module_.types.isStatic(module_.type(source)))
      return node;
    int64_t count = module_.types.shape(module_.type(source))[*axis].value();
    int64_t at = static_cast<int64_t>(elementAt(module_, module_.constant(index), 0));
    if (at < 0 || at >= count) // what that means says the mode
      return node;
    NodeId part = BYCC_TRY(partOfHeads(source, *axis, count, at, builder));
    return part ? makeReshape(builder, part, module_.types.shape(module_.type(node)))
                : Expected<NodeId>(node);
  }

  // Part `index` of transpose(reshape(x, [.., count, rest..]), axes) over the axis of
  // count, which the reshape made of the front of x's last one. None: it is not so.
  Expected<NodeId> partOfHeads(NodeId moved, size_t axis, int64_t count, int64_t index,
                               Builder &builder) {
    std::vector<int64_t> axes = transposeAxes(module_, moved);
    NodeId view = axes.empty() ? NodeId() : module_.operands(moved)[0];
    if (!view || !module_.isOp(view, ops::reshape) || !isView(module_, view))
      return NodeId();
    NodeId source = module_.operands(view)[0];
    std::span<const Dim> from = module_.types.shape(module_.type(source)),
                         to = module_.types.shape(module_.type(view));
    size_t at = static_cast<size_t>(axes[axis]);
    int64_t inLast = 1;
    for (Dim dim : to.subspan(at))
      inLast *= dim.value();
    if (from.empty() || to[at] != Dim(count) || inLast != from.back().value() || inLast == 0)
      return NodeId();
    std::vector<Dim> shape(to.begin(), to.end());
    shape.erase(shape.begin() + static_cast<long>(at));
    axes.erase(axes.begin() + static_cast<long>(axis));
    for (int64_t &each : axes)
      each -= each > static_cast<int64_t>(at);
    NodeId split = BYCC_TRY(splitOf(source, AttrValue(count), builder));
    NodeId part = BYCC_TRY(builder.project(split, static_cast<uint32_t>(index)));
    part = BYCC_TRY(makeReshape(builder, part, shape));
    return builder.call(ops::transpose, {part}, {{"axes", AttrValue::ints(axes)}});
  }

  // The split of a value's last axis, once in a block.
  Expected<NodeId> splitOf(NodeId source, const AttrValue &sections, Builder &builder) {
    NodeId &split = splits_[{source, builder.block(), sections.str()}];
    if (!split)
      split = BYCC_TRY(builder.call(ops::split, {source},
                                    {{"indices_or_sections", sections}, {"axis", AttrValue(-1)}}));
    return split;
  }

  // A field of split(view(x)) over the last axis.
  Expected<NodeId> partOfView(NodeId project, Builder &builder) {
    NodeId split = module_.operands(project)[0], view = module_.operands(split)[0];
    if (!isView(module_, view))
      return project;
    NodeId source = module_.operands(view)[0];
    std::span<const Dim> from = module_.types.shape(module_.type(source)),
                         to = module_.types.shape(module_.type(view));
    if (from.empty() || from.size() >= to.size() || from.back() != to.back() ||
        normalizedAxis(intAttr(module_, split, "axis", 0), to.size()) != to.size() - 1)
      return project;
    NodeId moved = BYCC_TRY(splitOf(source, *module_.attr(split, "indices_or_sections"), builder));
    NodeId part = BYCC_TRY(builder.project(moved, module_.node(project).payload));
    return makeReshape(builder, part, module_.types.shape(module_.type(project)));
  }

  Module &module_;
  std::map<std::tuple<NodeId, BlockId, std::string>, NodeId> splits_;
};

} // namespace

Expected<bool> canonicalizeMatmul(Module &module, PassContext &) {
  Canonicalizer canonicalizer(module);
  return rewriteOpenBlocks(
      module, [&](NodeId node, Builder &builder) { return canonicalizer.rewrite(node, builder); });
}

} // namespace bycc
