// Gives convolutions and their like another layout, and moves what changes layouts away from them.
//
//   conv(x, w){NCHW}            => lt(conv(lt(x), lt(w)){NHWC})      lt: layout_transform
//   relu(lt(x))                 => lt(relu(x))                       elementwise, poolings, norms,
//   add(lt(x), lt(y))           => lt(add(x, y))                     pad, concatenate, reductions
//   .. lt(lt(x)){A to B, B to A}   => x lt(constant)                => constant
//
// One walk forwards does all of it: a change behind a node is met by its readers, goes through
// those that work in any layout, and ends where the next one wants the layout that it came from. So
// a chain keeps two changes, one at each end, and the pass back to the first layout gives back the
// program. A transpose that does the same is such a change, too.
//
// Which operators get which layout is told by options ({nn.conv2d=NHWC:OHWI}; {layout=NHWC}: all
// convolutions), or by files of vendors ("layouts"): then a node is changed if nobody takes it as
// it is, and the vendor takes it as it would be.

#include "ConstantView.h"
#include "LayoutRules.h"
#include "Scopes.h"
#include "SimplifyRules.h"
#include "bycc/Eval/Eval.h"
#include "bycc/Support/Layout.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/Vendor.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>

namespace bycc {
namespace {

// The layouts that an operator is to have; `kernel` empty: of convolutions, the weight stays as it
// is.
struct WantedLayout {
  std::string data, kernel;
  size_t vendor = SIZE_MAX; // that asks for it in its file
};

// One with data and a weight, each with a layout without blocks.
bool isConvolution(OpId op) {
  const OpInfo &info = opInfo(op);
  return info.findAttr("kernel_layout") && info.inputs.size() > 1 && info.inputs[1] == "weight" &&
         !info.name.starts_with("nn.contrib");
}

// What a change of layout in front of an operand means for an operator of any layout.
enum class Follows : uint8_t {
  No,
  Broadcast,
  Quantized, // Broadcast, where each operand has one scale
  Axis,
  Axes,
  Layout,
  Pad,
  Concatenate,
  Split,
  Slice,
  Transpose
};

// Of one image: what else there is are its scales and zero points, or sizes.
bool hasLayoutOfOne(OpId op) {
  const OpInfo &info = opInfo(op);
  return info.findAttr("layout") &&
         (info.inputs.size() == 1 || op == ops::qnn_avg_pool2d || op == ops::dyn_image_resize2d);
}

Follows howFollows(OpId op) {
  static const std::unordered_map<uint32_t, Follows> table = [] {
    std::unordered_map<uint32_t, Follows> rows;
    for (OpId each : {ops::nn_bias_add, ops::nn_prelu, ops::nn_softmax, ops::nn_log_softmax,
                      ops::nn_lrn, ops::nn_instance_norm, ops::nn_group_norm, ops::qnn_quantize,
                      ops::qnn_dequantize, ops::qnn_requantize})
      rows[each.index] = Follows::Axis;
    for (OpId each : {ops::mean, ops::sum, ops::max, ops::min, ops::prod})
      rows[each.index] = Follows::Axes;
    rows[ops::nn_pad.index] = Follows::Pad;
    rows[ops::concatenate.index] = Follows::Concatenate;
    rows[ops::split.index] = Follows::Split;
    rows[ops::strided_slice.index] = Follows::Slice;
    rows[ops::transpose.index] = Follows::Transpose;
    return rows;
  }();
  if (auto row = table.find(op.index); row != table.end())
    return row->second;
  const OpInfo &info = opInfo(op);
  if (hasLayoutOfOne(op))
    return Follows::Layout;
  if (op == ops::qnn_add || op == ops::qnn_mul || op == ops::qnn_subtract)
    return Follows::Quantized;
  static constexpr std::string_view places[] = {"axes",     "axis", "layout",
                                                "lhs_axis", "reps", "shape"};
  bool hasPlaces = op == ops::trilu || std::ranges::any_of(places, [&](std::string_view each) {
                     return info.findAttr(each) != nullptr;
                   });
  bool isPlain = info.isMap() && !info.has(OpTrait::Dynamic);
  return isPlain && !hasPlaces ? Follows::Broadcast : Follows::No;
}

// A change of layout: `node` is layout_transform(inner), from `from` to `to`, no blocks in either.
struct LayoutChange {
  NodeId inner;
  std::string from, to;
  size_t rank() const { return to.size(); }
  // Where the axis at a place of `to` stands in `from`.
  size_t place(size_t axis) const { return from.find(to[axis]); }
  bool isLike(const LayoutChange &other) const { return from == other.from && to == other.to; }
};

class LayoutConverter {
public:
  using Table = std::unordered_map<uint32_t, std::vector<WantedLayout>>;
  LayoutConverter(Module &module, PassContext &context, const Table &wanted, bool isForHost)
      : module_(module), context_(context), wanted_(wanted), isForHost_(isForHost) {}

  Expected<NodeId> visit(NodeId node, Builder &builder) {
    builder_ = &builder;
    if (module_.node(node).kind == NodeKind::Project)
      return fieldOf(node);
    if (module_.node(node).kind != NodeKind::CallOp)
      return node;
    builder.setSource(module_.node(node).source);
    OpId op = module_.node(node).op;
    if (op == ops::layout_transform)
      return relaid(module_.operands(node)[0], text(node, "src_layout"), text(node, "dst_layout"),
                    node);
    if (auto wanted = wanted_.find(op.index); wanted != wanted_.end())
      for (const WantedLayout &layout : wanted->second)
        if (NodeId converted = BYCC_TRY(convert(node, layout)))
          return converted;
    NodeId moved = BYCC_TRY(follow(node));
    return moved ? moved : node;
  }

private:
  std::string text(NodeId call, std::string_view key) const {
    return std::string(attrs::text(module_, call, key));
  }
  NodeId operand(NodeId call, size_t index) const { return module_.operands(call)[index]; }
  std::span<const Dim> shape(NodeId node) const { return module_.types.shape(module_.type(node)); }
  bool isTensor(NodeId node) const { return module_.types.isTensor(module_.type(node)); }

  NodeId fieldOf(NodeId project) const {
    NodeId tuple = operand(project, 0);
    return module_.node(tuple).kind == NodeKind::Tuple
               ? operand(tuple, module_.node(project).payload)
               : project;
  }

  AttrDict attrsWith(NodeId call, const std::vector<Attr> &changed) const {
    AttrsId attrs = module_.node(call).attrs;
    for (const Attr &attr : changed)
      attrs = module_.attributes.with(attrs, attr.key, attr.value);
    return module_.attributes.dict(attrs);
  }

  // --- changes of layout

  std::optional<LayoutChange> changeOf(NodeId node) const {
    if (isForHost_ && isFromChannelsLast(module_, node))
      return LayoutChange{operand(node, 0), "NHWC", "NCHW"};
    if (!module_.isOp(node, ops::layout_transform))
      return std::nullopt;
    LayoutChange change{operand(node, 0), text(node, "src_layout"), text(node, "dst_layout")};
    auto isPlain = [](const std::string &layout) {
      return Layout::parse(layout)->primal() == layout;
    };
    return isPlain(change.from) && isPlain(change.to) ? std::optional(change) : std::nullopt;
  }

  // `node` in layout `to`: what it was made from where that is it, `same` where it is that call.
  Expected<NodeId> relaid(NodeId node, const std::string &from, const std::string &to,
                          NodeId same = {}) {
    if (from == to)
      return node;
    if (module_.isOp(node, ops::layout_transform) && text(node, "dst_layout") == from) {
      std::string first = text(node, "src_layout");
      // A blocked layout may have padded the axis; its way back takes that off again.
      if (Layout::parse(first)->primal() == first || first == to)
        return relaid(operand(node, 0), first, to);
    }
    if (isUndone(node, from, to))
      return operand(node, 0);
    auto [known, isNew] = relaid_.try_emplace({builder_->block().index, node.index, from, to});
    if (!isNew)
      return known->second;
    NodeId made = same ? same
                       : BYCC_TRY(builder_->call(
                             ops::layout_transform, {node},
                             {{"src_layout", AttrValue(from)}, {"dst_layout", AttrValue(to)}}));
    if (module_.isConstant(node)) {
      const Constant value = module_.constant(node);
      std::vector<Constant> values =
          BYCC_TRY(evaluateCall(module_, made, std::span<const Constant>(&value, 1)));
      made = module_.addConstant(std::move(values[0]), module_.node(node).source);
    }
    return known->second = made;
  }

  Expected<NodeId> changed(const LayoutChange &change, NodeId node) {
    return relaid(node, change.from, change.to);
  }

  // --- operators that get another layout

  // Nothing where it is in that layout, or cannot have it.
  Expected<NodeId> convert(NodeId call, const WantedLayout &wanted) {
    bool hasKernel = opInfo(module_.node(call).op).findAttr("kernel_layout") != nullptr;
    const char *key = hasKernel ? "data_layout" : "layout";
    std::string data = text(call, key), kernel = hasKernel ? text(call, "kernel_layout") : "";
    std::string newKernel = wanted.kernel.empty() ? kernel : wanted.kernel;
    if ((data == wanted.data && kernel == newKernel) || !isSameAxes(data, wanted.data) ||
        (hasKernel && !isSameAxes(kernel, newKernel)))
      return NodeId();
    bool isAsked = wanted.vendor != SIZE_MAX;
    if (isAsked && (isTakenAsItIs(call) || !isWorthChanges(call, data, wanted.vendor)))
      return NodeId();
    std::vector<NodeId> inputs(module_.operands(call).begin(), module_.operands(call).end());
    const OpInfo &info = opInfo(module_.node(call).op);
    std::string out = info.findAttr("out_layout") ? text(call, "out_layout") : "";
    // What was turned before is turned back at no cost.
    bool staysAsItIs =
        isForHost_ && out.empty() && readsImage(module_, call) && !changeOf(inputs[0]);
    if (!staysAsItIs)
      inputs[0] = BYCC_TRY(relaid(inputs[0], data, wanted.data));
    if (hasKernel)
      inputs[1] = BYCC_TRY(relaid(inputs[1], kernel, newKernel));
    std::vector<Attr> layouts{{key, AttrValue(staysAsItIs ? data : wanted.data)}};
    if (!out.empty() || staysAsItIs)
      layouts.push_back({"out_layout", AttrValue(staysAsItIs ? wanted.data : "")});
    if (hasKernel)
      layouts.push_back({"kernel_layout", AttrValue(newKernel)});
    auto made = builder_->call(module_.node(call).op, inputs, attrsWith(call, layouts));
    if (!made || (isAsked && !takes(wanted.vendor, *made)))
      return NodeId(); // not in this layout
    return relaid(*made, wanted.data, out.empty() ? data : out);
  }

  static bool isSameAxes(const std::string &a, const std::string &b) {
    auto first = Layout::parse(a), second = Layout::parse(b);
    if (!first || !second)
      return false;
    std::string letters = first->primal(), others = second->primal();
    std::ranges::sort(letters);
    std::ranges::sort(others);
    return letters == others;
  }

  VendorAsker &asker(size_t vendor) {
    askers_.resize(context_.vendors->size());
    if (!askers_[vendor])
      askers_[vendor] =
          std::make_unique<VendorAsker>((*context_.vendors)[vendor], module_, *context_.target);
    return *askers_[vendor];
  }

  // An operator that a vendor takes as a part of composites only is not asked about: those are not
  // there yet.
  bool takes(size_t vendor, NodeId call) {
    return (*context_.vendors)[vendor].mayTake(module_.node(call).op) == "composite" ||
           asker(vendor).supports(call).isYes;
  }
  // A product of bytes, which vendors take with the change of scale behind it, whatever they say of
  // one alone.
  bool isSumInPatterns(const Vendor &vendor, NodeId call) const {
    return module_.types.dtype(module_.type(call)) == DType::Int32 &&
           vendor.isInPatterns(module_.node(call).op);
  }
  bool isTakenAsItIs(NodeId call) {
    OpId op = module_.node(call).op;
    for (size_t i = 0; i < context_.vendors->size(); ++i) {
      const Vendor &vendor = (*context_.vendors)[i];
      bool isPart = (vendor.mayTake(op) == "composite" || isSumInPatterns(vendor, call)) &&
                    !vendor.layouts.contains(op.index);
      if (!vendor.onlyAsked && (isPart || asker(i).supports(call).isYes))
        return true;
    }
    return false;
  }

  // Where costs count and the operand has not been changed: by what a convolution takes. What has
  // no weights moves little more than the changes that would stay around it.
  bool isWorthChanges(NodeId call, const std::string &data, size_t vendor) const {
    NodeId image = operand(call, 0);
    const std::optional<CostModel> &costs = (*context_.vendors)[vendor].cost;
    if (!context_.hostCost || !costs ||
        (module_.isOp(image, ops::layout_transform) && text(image, "dst_layout") == data))
      return true;
    return isConvolution(module_.node(call).op) &&
           costs->arithmeticOf(module_, call) * costs->trustInProducts() <
               context_.hostCost->arithmeticOf(module_, call);
  }

  // --- operators that work in any layout

  // The call in front of the change instead of behind it; nothing where that cannot be.
  Expected<NodeId> follow(NodeId call) {
    Follows how = howFollows(module_.node(call).op);
    if (how == Follows::No || module_.operands(call).empty())
      return NodeId();
    if (how == Follows::Quantized && !hasSingleScales(call))
      return NodeId();
    if (how == Follows::Broadcast || how == Follows::Quantized)
      return followBroadcast(call);
    if (how == Follows::Concatenate)
      return followConcatenate(call);
    auto change = changeOf(operand(call, 0));
    if (!change)
      return NodeId();
    switch (how) {
    case Follows::Axis:
      return followAxis(call, *change);
    case Follows::Axes:
      return followAxes(call, *change);
    case Follows::Layout:
      return followLayout(call, *change);
    case Follows::Pad:
      return followPad(call, *change);
    case Follows::Split:
      return followSplit(call, *change);
    case Follows::Slice:
      return followSlice(call, *change);
    case Follows::Transpose:
      return followTranspose(call, *change);
    default:
      return NodeId();
    }
  }

  Expected<NodeId> remade(NodeId call, NodeId first, AttrDict attrs, const LayoutChange &change) {
    std::vector<NodeId> inputs(module_.operands(call).begin(), module_.operands(call).end());
    inputs[0] = first;
    return changed(change,
                   BYCC_TRY(builder_->call(module_.node(call).op, inputs, std::move(attrs))));
  }

  // An operand that is no change itself, as it is in front of it.
  Expected<NodeId> inFront(NodeId node, const LayoutChange &change) {
    if (!isTensor(node))
      return NodeId();
    size_t rank = shape(node).size();
    auto count = module_.types.numElements(module_.type(node));
    if (rank == 0 || (rank == 1 && count == int64_t{1}))
      return node;
    if (rank == change.rank()) {
      auto known = relaid_.find({builder_->block().index, node.index, change.to, change.from});
      if (known != relaid_.end())
        return known->second;
    }
    if (!module_.isConstant(node) || rank > change.rank())
      return NodeId();
    std::vector<Dim> full(change.rank() - rank, Dim(1));
    full.insert(full.end(), shape(node).begin(), shape(node).end());
    return relaid(reshapeConstant(module_, node, full), change.to, change.from);
  }

  struct Moved {
    LayoutChange change;
    std::vector<NodeId> inputs;
  };
  // Operands in front of the change that some of them have; nothing where none has one, or one
  // cannot be there. By value: nodes are made meanwhile.
  Expected<std::optional<Moved>> allInFront(std::vector<NodeId> operands) {
    std::optional<LayoutChange> change;
    for (NodeId each : operands)
      if (auto found = changeOf(each); found && !change)
        change = found;
    if (!change)
      return std::optional<Moved>();
    for (NodeId &each : operands) {
      auto own = changeOf(each);
      each = own && own->isLike(*change) ? own->inner : BYCC_TRY(inFront(each, *change));
      if (!each)
        return std::optional<Moved>();
    }
    return std::optional(Moved{*change, std::move(operands)});
  }
  std::vector<NodeId> operandsOf(NodeId node) const {
    return {module_.operands(node).begin(), module_.operands(node).end()};
  }

  // The attributes with the axis as it is in front of the change; nothing for one that is not
  // there.
  std::optional<AttrDict> axisInFront(NodeId call, int64_t otherwise,
                                      const LayoutChange &change) const {
    auto axis = normalizedAxis(intAttr(module_, call, "axis", otherwise), change.rank());
    if (!axis)
      return std::nullopt;
    return attrsWith(call, {{"axis", AttrValue(static_cast<int64_t>(change.place(*axis)))}});
  }

  std::optional<std::vector<int64_t>> axesInFront(std::vector<int64_t> axes,
                                                  const LayoutChange &change) const {
    for (int64_t &each : axes) {
      auto axis = normalizedAxis(each, change.rank());
      if (!axis)
        return std::nullopt;
      each = static_cast<int64_t>(change.place(*axis));
    }
    return axes;
  }

  // Of two tensors, which are followed by their scales and zero points.
  bool hasSingleScales(NodeId call) const {
    return std::ranges::all_of(module_.operands(call).subspan(2), [&](NodeId each) {
      return module_.types.numElements(module_.type(each)) == int64_t{1};
    });
  }

  Expected<NodeId> followBroadcast(NodeId call) {
    auto rankOf = [&](NodeId node) { return isTensor(node) ? shape(node).size() : 0; };
    std::vector<NodeId> operands = operandsOf(call);
    for (NodeId each : operands)
      if (auto change = changeOf(each); change && rankOf(call) != change->rank())
        return NodeId();
    auto moved = BYCC_TRY(allInFront(std::move(operands)));
    if (!moved)
      return NodeId();
    return changed(moved->change,
                   BYCC_TRY(builder_->callWithAttrs(module_.node(call).op, moved->inputs,
                                                    module_.node(call).attrs)));
  }

  Expected<NodeId> followAxis(NodeId call, const LayoutChange &change) {
    for (NodeId each : module_.operands(call).subspan(1))
      if (!isTensor(each) || shape(each).size() > 1)
        return NodeId();
    auto attrs = axisInFront(call, -1, change);
    bool keepsBatch = change.from[0] == change.to[0]; // axis 0 is the batch of norms
    if (!attrs || !keepsBatch)
      return NodeId();
    return remade(call, change.inner, std::move(*attrs), change);
  }

  Expected<NodeId> followAxes(NodeId call, const LayoutChange &change) {
    if (attrs::boolean(module_, call, "exclude"))
      return NodeId();
    std::vector<int64_t> places;
    std::string left = change.to;
    for (int64_t each : intsAttr(module_, call, "axis")) {
      auto axis = normalizedAxis(each, change.rank());
      if (!axis)
        return NodeId();
      places.push_back(static_cast<int64_t>(change.place(*axis)));
      std::erase(left, change.to[*axis]);
    }
    bool isWhole = places.empty(); // all axes
    std::ranges::sort(places);
    AttrDict attrs =
        isWhole ? attrsWith(call, {}) : attrsWith(call, {{"axis", AttrValue::ints(places)}});
    if (attrs::boolean(module_, call, "keepdims"))
      return remade(call, change.inner, std::move(attrs), change);
    std::string leftInFront = change.from;
    std::erase_if(leftInFront, [&](char letter) { return left.find(letter) == std::string::npos; });
    if (!isWhole && left != leftInFront)
      return NodeId();
    return builder_->call(module_.node(call).op, {change.inner}, std::move(attrs));
  }

  Expected<NodeId> followLayout(NodeId call, const LayoutChange &change) {
    const OpInfo &info = opInfo(module_.node(call).op);
    bool hasRegion = // a list of axes
        info.findAttr("roi") ? !attrs::isNone(module_, call, "roi")
                             : module_.isOp(call, ops::dyn_image_resize2d) &&
                                   module_.types.numElements(module_.type(operand(call, 2))) != 0;
    if (text(call, "layout") != change.to || hasRegion ||
        (info.findAttr("out_layout") && !text(call, "out_layout").empty()))
      return NodeId();
    std::vector<NodeId> inputs = operandsOf(call);
    inputs[0] = change.inner;
    auto made = builder_->call(module_.node(call).op, inputs,
                               attrsWith(call, {{"layout", AttrValue(change.from)}}));
    return made ? changed(change, *made) : NodeId();
  }

  // A list with an entry for each axis, in the other order.
  AttrValue inOrder(const AttrValue &list, const LayoutChange &change) const {
    AttrValue::List result(list.asList().size());
    for (size_t axis = 0; axis < result.size(); ++axis)
      result[change.place(axis)] = list.asList()[axis];
    return result;
  }

  Expected<NodeId> followPad(NodeId call, const LayoutChange &change) {
    const AttrValue *widths = module_.attr(call, "pad_width");
    if (!widths || !widths->isList() || widths->asList().size() != change.rank() ||
        !std::ranges::all_of(widths->asList(), [](const AttrValue &each) { return each.isList(); }))
      return NodeId();
    return remade(call, change.inner, attrsWith(call, {{"pad_width", inOrder(*widths, change)}}),
                  change);
  }

  Expected<NodeId> followConcatenate(NodeId call) {
    NodeId fields = operand(call, 0);
    if (module_.node(fields).kind != NodeKind::Tuple)
      return NodeId();
    auto moved = BYCC_TRY(allInFront(operandsOf(fields)));
    auto attrs = moved ? axisInFront(call, 0, moved->change) : std::nullopt;
    if (!attrs)
      return NodeId();
    return remade(call, builder_->tuple(moved->inputs), std::move(*attrs), moved->change);
  }

  Expected<NodeId> followSplit(NodeId call, const LayoutChange &change) {
    auto attrs = axisInFront(call, 0, change);
    if (!attrs)
      return NodeId();
    NodeId parts = BYCC_TRY(builder_->call(ops::split, {change.inner}, std::move(*attrs)));
    std::vector<NodeId> fields;
    for (uint32_t i = 0; i < module_.types.fields(module_.type(parts)).size(); ++i)
      fields.push_back(BYCC_TRY(changed(change, BYCC_TRY(builder_->project(parts, i)))));
    return builder_->tuple(fields);
  }

  Expected<NodeId> followSlice(NodeId call, const LayoutChange &change) {
    std::vector<int64_t> axes = intsAttr(module_, call, "axes");
    if (axes.empty())
      for (size_t i = 0; i < intsAttr(module_, call, "begin").size(); ++i)
        axes.push_back(static_cast<int64_t>(i));
    auto places = axesInFront(std::move(axes), change);
    return places ? remade(call, change.inner,
                           attrsWith(call, {{"axes", AttrValue::ints(*places)}}), change)
                  : NodeId();
  }

  // Axes for axes: of what was there before the change.
  Expected<NodeId> followTranspose(NodeId call, const LayoutChange &change) {
    auto axes = axesInFront(intsAttr(module_, call, "axes"), change);
    if (!axes || axes->size() != change.rank())
      return NodeId();
    if (std::ranges::is_sorted(*axes))
      return change.inner;
    return builder_->call(ops::transpose, {change.inner},
                          attrsWith(call, {{"axes", AttrValue::ints(*axes)}}));
  }

  // Is the change the way back of the transpose?
  bool isUndone(NodeId node, const std::string &from, const std::string &to) const {
    if (!module_.isOp(node, ops::transpose))
      return false;
    std::vector<int64_t> axes = intsAttr(module_, node, "axes");
    if (axes.size() != to.size() || from.size() != to.size())
      return false;
    for (size_t k = 0; k < to.size(); ++k)
      if (auto axis = normalizedAxis(axes[from.find(to[k])], to.size()); !axis || *axis != k)
        return false;
    return true;
  }

  Module &module_;
  PassContext &context_;
  const Table &wanted_;
  bool isForHost_;
  Builder *builder_ = nullptr;
  std::vector<std::unique_ptr<VendorAsker>> askers_;
  // (block, node, from, to): what was made already.
  std::map<std::tuple<uint32_t, uint32_t, std::string, std::string>, NodeId> relaid_;
};

// "NHWC:OHWI"
Expected<WantedLayout> wantedLayout(std::string_view text, const std::string &what) {
  size_t colon = text.find(':');
  WantedLayout wanted{std::string(text.substr(0, colon)),
                      colon == std::string_view::npos ? "" : std::string(text.substr(colon + 1))};
  const std::string *wrong = !Layout::parse(wanted.data) ? &wanted.data
                             : colon != std::string_view::npos && !Layout::parse(wanted.kernel)
                                 ? &wanted.kernel
                                 : nullptr;
  if (wrong)
    return error(Status::Usage).as(MessageId::PassOption)
           << "pass 'convert-layout': " << what << "=" << escaped(text) << ": '" << escaped(*wrong)
           << "' is not a layout such as NHWC, and NHWC:OHWI with that of weights";
  return wanted;
}

} // namespace

bool followsLayout(OpId op) { return howFollows(op) != Follows::No; }

bool hasLayoutToConvert(OpId op) { return isConvolution(op) || hasLayoutOfOne(op); }

bool isFromChannelsLast(const Module &module, NodeId node) {
  return module.isOp(node, ops::transpose) &&
         attrs::integers(module, node, "axes") == std::vector<int64_t>{0, 3, 1, 2};
}

bool readsImage(const Module &module, NodeId call) {
  constexpr int64_t fewChannels = 4;
  if (!module.isOp(call, ops::nn_conv2d) || attrs::text(module, call, "data_layout") != "NCHW" ||
      attrs::integer(module, call, "groups") != 1)
    return false;
  Dim channels = module.types.shape(module.type(module.operands(call)[0]))[1];
  return channels.isConst() && channels.value() <= fewChannels;
}

static Expected<bool> convert(Module &module, PassContext &context, bool isForHost) {
  LayoutConverter::Table wanted;
  for (const auto &[name, text] : context.options) {
    WantedLayout layout = BYCC_TRY(wantedLayout(text, name));
    if (name == "layout") {
      for (uint32_t i = 0; i < numOps(); ++i)
        if (isConvolution(OpId(i)))
          wanted[i].push_back(layout);
      continue;
    }
    OpId op = findOp(name);
    if (!op)
      return error(Status::Usage).as(MessageId::PassOption)
             << "pass 'convert-layout': no operator is called '" << escaped(name) << "'"
             << didYouMean(name, allOpNames());
    if (!hasLayoutToConvert(op))
      return error(Status::Usage).as(MessageId::PassOption)
             << "pass 'convert-layout': " << name << " has no layout that could be another";
    wanted[op.index].insert(wanted[op.index].begin(), layout);
  }
  if (context.options.empty() && context.vendors)
    for (size_t i = 0; i < context.vendors->size(); ++i)
      for (const auto &[op, layouts] : (*context.vendors)[i].layouts)
        if (hasLayoutToConvert(OpId(op)))
          wanted[op].push_back({layouts.data, layouts.kernel, i});
  LayoutConverter converter(module, context, wanted, isForHost);
  return rewriteOpenBlocks(
      module, [&](NodeId node, Builder &builder) { return converter.visit(node, builder); });
}

Expected<bool> convertLayout(Module &module, PassContext &context) {
  return convert(module, context, false);
}

Expected<bool> convertLayoutButImages(Module &module, PassContext &context) {
  return convert(module, context, true);
}

} // namespace bycc
