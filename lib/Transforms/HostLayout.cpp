// Channels last for the convolutions of the host, where that is worth it: vectors run along
// the channels then, of depthwise convolutions above all, and no result is transposed.
//
// What is won by convolutions is set against the changes of layout that stay: where a value with
// channels last is met by an operator that works in the model's layout alone. They are counted
// before anything is changed, by the rules of convert-layout, which then does it.
//
// Regions of vendors are among those: they were chosen with tensors as they are.

#include "LayoutRules.h"
#include "Scopes.h"
#include "bycc/IR/LikelyExtents.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Target/Cost.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace bycc {
namespace {

// The share of a convolution's time that channels last saves: they take 0.85 to 1.02 of it (AVX-512,
// 32 to 960 channels). Depthwise ones are estimated with channels last; with channels first
// they have this share of that rate where vectors along places are full (2.1 to 5.8 times the time).
constexpr double savedOfOthers = 0.05, depthwiseAlongPlaces = 0.42;
// Vectors of few channels are mostly empty. With channels first they run along the places where
// that makes them so much fuller (stride 1), as isBetterAlongRows of the loops has it.
constexpr double fuller = 1.25;
constexpr double changedPerMicrosecond = 6e3; // bytes of a tensor whose layout is changed
constexpr double callMicroseconds = 1;        // of that change, besides
constexpr double worthwhile = 0.02;           // of what all takes

class LayoutBalance {
public:
  LayoutBalance(const Module &module, const CostModel &prices, const TargetInfo &target)
      : module_(module), prices_(prices), lanes_(target.vectorBits / 32) {}

  // Is what channels last saves in all a share of the arithmetic's time that is worth it?
  bool isGood(FunctionId function) {
    BlockId body = module_.function(function).body;
    forEachNode(module_, body, [&](NodeId node) { visit(node); });
    if (NodeId result = module_.block(body).result)
      turnBack(result);
    return saved_ > worthwhile * total_;
  }

private:
  void visit(NodeId node) {
    switch (module_.node(node).kind) {
    case NodeKind::CallOp:
      return visitCall(node);
    case NodeKind::Project:
      if (isLast(module_.operands(node)[0]))
        last_.insert(node);
      return;
    case NodeKind::Tuple: // its reader decides
      return;
    default:
      for (NodeId operand : module_.operands(node))
        turnBack(operand);
    }
  }

  void visitCall(NodeId call) {
    std::span<const NodeId> operands = module_.operands(call);
    total_ += timeOf(call);
    if (isConvolution(call)) {
      saved_ += savedBy(call);
      if (!isLast(operands[0]) && !readsImage(module_, call))
        change(operands[0]);
      last_.insert(call);
    } else if (isFromChannelsLast(module_, call)) {
      saved_ += timeOfChange(call); // until something needs it
      last_.insert(call);
    } else if (std::ranges::none_of(operands, [&](NodeId each) { return isLast(each); })) {
      return;
    } else if (canFollow(call)) {
      bool isImage = module_.types.isTensor(module_.type(call)) && rank(call) == imageRank;
      if (isImage && !module_.isOp(call, ops::transpose)) // which moves what it is given
        last_.insert(call);
    } else {
      for (NodeId operand : operands)
        turnBack(operand);
    }
  }

  bool isConvolution(NodeId call) const {
    return (module_.isOp(call, ops::nn_conv2d) || module_.isOp(call, ops::qnn_conv2d)) &&
           attrs::text(module_, call, "data_layout") == "NCHW" &&
           attrs::text(module_, call, "kernel_layout") == "OIHW" &&
           module_.isConstant(module_.operands(call)[1]);
  }

  double timeOf(NodeId call) const { return prices_.arithmeticOf(module_, call); }

  // Nothing where the work is a guess.
  double savedBy(NodeId call) const {
    if (hasUnknownExtents(module_, call))
      return 0;
    if (isDepthwise(module_, call))
      return timeOf(call) *
             (1 / (depthwiseAlongPlaces * usedLanes(likely(call, imageRank - 1))) - 1);
    double more = alongPlaces(call) / alongChannels(call);
    return timeOf(call) * (more > fuller ? 1 - more : savedOfOthers);
  }

  // The share of vectors' lanes that are used when they run along so many elements.
  double usedLanes(int64_t count) const {
    int64_t vectors = std::max<int64_t>((count + lanes_ - 1) / lanes_, 1);
    return static_cast<double>(count) / static_cast<double>(vectors * lanes_);
  }

  double alongChannels(NodeId call) const {
    int64_t all = likely(module_.operands(call)[1], 0);
    int64_t ofGroup = std::max<int64_t>(all / attrs::integer(module_, call, "groups"), 1);
    bool shareLanes = ofGroup < lanes_ && lanes_ % ofGroup == 0 && all >= lanes_;
    return usedLanes(shareLanes ? all : ofGroup);
  }

  double alongPlaces(NodeId call) const {
    bool isStrided = attrs::integers(module_, call, "strides").back() != 1;
    bool isSingle = module_.types.dtype(module_.type(call)) == DType::Float32;
    return isStrided || !isSingle ? 0 : usedLanes(likely(call, imageRank - 1));
  }

  int64_t likely(NodeId node, size_t axis) const {
    return module_.types.likely(module_.types.shape(module_.type(node))[axis]);
  }

  size_t rank(NodeId node) const { return module_.types.shape(module_.type(node)).size(); }

  bool isLast(NodeId node) const {
    if (module_.node(node).kind == NodeKind::Tuple)
      return std::ranges::any_of(module_.operands(node), [&](NodeId each) { return isLast(each); });
    return last_.contains(node);
  }

  bool canFollow(NodeId call) const {
    OpId op = module_.node(call).op;
    size_t vectorRank = opInfo(op).findAttr("axis") ? 1 : 0; // a value for each channel
    auto isInFront = [&](NodeId each) {
      return isLast(each) || module_.isConstant(each) || rank(each) <= vectorRank ||
             module_.isOp(call, ops::dyn_image_resize2d);
    };
    return followsLayout(op) && std::ranges::all_of(module_.operands(call), [&](NodeId each) {
             return module_.node(each).kind == NodeKind::Tuple
                        ? std::ranges::all_of(module_.operands(each), isInFront)
                        : isInFront(each);
           });
  }

  void turnBack(NodeId node) {
    if (module_.node(node).kind == NodeKind::Tuple) {
      for (NodeId field : module_.operands(node))
        turnBack(field);
    } else if (isLast(node)) {
      change(node);
    }
  }

  void change(NodeId node) {
    if (!changed_.insert(node).second || !module_.types.isTensor(module_.type(node)))
      return;
    saved_ -= timeOfChange(node);
  }

  double timeOfChange(NodeId node) const {
    TypeId type = module_.type(node);
    double bytes = likelyElements(module_.types, type) *
                   static_cast<double>(sizeInBytes(module_.types.dtype(type)));
    return callMicroseconds + bytes / changedPerMicrosecond;
  }

  static constexpr size_t imageRank = 4;
  const Module &module_;
  const CostModel &prices_;
  int64_t lanes_; // of a vector of float32
  double saved_ = 0, total_ = 0;
  std::unordered_set<NodeId> last_, changed_; // with channels last; that are there in both layouts
};

// A change of layout behind what makes an image larger stands in front of it: it moves less there.
//
//   layout_transform(resize(x){NHWC}, NHWC, NCHW)  =>  resize(layout_transform(x, NHWC, NCHW)){NCHW}
class ChangesBeforeGrowth {
public:
  ChangesBeforeGrowth(Module &module, const Users &users)
      : module_(module), users_(users), numOldNodes_(module.numNodes()) {}

  Expected<NodeId> visit(NodeId node, Builder &builder) {
    if (!module_.isOp(node, ops::layout_transform))
      return node;
    NodeId resize = module_.operands(node)[0];
    bool isResize =
        module_.isOp(resize, ops::image_resize2d) || module_.isOp(resize, ops::dyn_image_resize2d);
    bool isUsedOnce = resize.index < numOldNodes_ && users_.count(resize) == 1;
    if (!isResize || !isUsedOnce || attrs::text(module_, resize, "layout") != "NHWC" ||
        attrs::text(module_, node, "src_layout") != "NHWC" ||
        attrs::text(module_, node, "dst_layout") != "NCHW")
      return node;
    std::vector<NodeId> inputs(module_.operands(resize).begin(), module_.operands(resize).end());
    auto elements = [&](NodeId each) { return likelyElements(module_.types, module_.type(each)); };
    if (elements(resize) <= elements(inputs[0]))
      return node;
    inputs[0] = BYCC_TRY(builder.callWithAttrs(ops::layout_transform, std::span(&inputs[0], 1),
                                               module_.node(node).attrs));
    AttrsId attrs =
        module_.attributes.with(module_.node(resize).attrs, "layout", AttrValue("NCHW"));
    return builder.callWithAttrs(module_.node(resize).op, inputs, attrs);
  }

private:
  Module &module_;
  const Users &users_;
  uint32_t numOldNodes_;
};

} // namespace

Expected<bool> chooseHostLayout(Module &module, PassContext &context) {
  const CostModel *prices = context.hostTimes();
  if (!prices || !module.main() ||
      !LayoutBalance(module, *prices, *context.target).isGood(module.main()))
    return false;
  PassOptions given =
      std::exchange(context.options, {{"nn.conv2d", "NHWC:OHWI"}, {"qnn.conv2d", "NHWC:OHWI"}});
  Expected<bool> changed = convertLayoutButImages(module, context);
  context.options = std::move(given);
  if (!changed || !*changed)
    return changed;
  Users users(module);
  ChangesBeforeGrowth growth(module, users);
  BYCC_TRY(rewriteOpenBlocks(
      module, [&](NodeId node, Builder &builder) { return growth.visit(node, builder); }));
  return true;
}

} // namespace bycc
