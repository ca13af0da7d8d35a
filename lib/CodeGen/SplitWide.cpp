// Operators with thousands of operands or results, as trees of narrow ones:
//
//   concatenate(a0 .. a9999)   =>  concatenate(concatenate(a0 .. a63), .., concatenate(.. a9999))
//   split(x, 10000 parts)      =>  split(part, 64 parts) of each part of split(x, 157 parts), ..
//
// One kernel that chooses among n tensors is a function of n branches, and LLVM takes
// time quadratic in that. Narrow ones of equal shapes share one kernel; every element
// is copied once for each level, log64(n) times.
#include "Program.h"

#include "bycc/IR/Builder.h"
#include "bycc/IR/Visitor.h"

#include <algorithm>

namespace bycc::codegen {
namespace {

constexpr size_t mostParts = 64;

class WideSplitter {
public:
  explicit WideSplitter(Module &module) : module_(module) {}

  Expected<NodeId> visit(NodeId node, Builder &builder) {
    bool isStack = module_.isOp(node, ops::stack);
    if (!isStack && !module_.isOp(node, ops::concatenate) && !module_.isOp(node, ops::split))
      return node;
    builder.setSource(module_.node(node).source);
    NodeId made = module_.isOp(node, ops::split) ? BYCC_TRY(narrowSplit(node, builder))
                                                 : BYCC_TRY(narrowJoin(node, isStack, builder));
    if (made != node)
      module_.node(made).name = module_.node(node).name;
    return made;
  }

private:
  Expected<NodeId> narrowJoin(NodeId node, bool isStack, Builder &builder) {
    NodeId tuple = module_.operands(node)[0];
    if (module_.node(tuple).kind != NodeKind::Tuple || module_.operands(tuple).size() <= mostParts)
      return node;
    std::vector<NodeId> parts(module_.operands(tuple).begin(), module_.operands(tuple).end());
    int64_t axis = module_.attr(node, "axis")->asInt();
    OpId op = module_.node(node).op;
    while (parts.size() > 1) {
      std::vector<NodeId> joined;
      for (size_t begin = 0; begin < parts.size(); begin += mostParts) {
        std::span<const NodeId> some(parts.data() + begin,
                                     std::min(mostParts, parts.size() - begin));
        bool isJoined = some.size() == 1 && !isStack;
        joined.push_back(isJoined
                             ? some[0]
                             : BYCC_TRY(builder.call(op, {builder.tuple(some)}, {{"axis", axis}})));
      }
      parts = std::move(joined);
      op = ops::concatenate; // of stacks, along the axis that they made
      isStack = false;
    }
    return parts[0];
  }

  // Where the parts begin, the end included; nullopt when that is not known.
  std::optional<std::vector<int64_t>> partsOf(NodeId split) const {
    std::vector<int64_t> begins{0};
    int64_t axis = module_.attr(split, "axis")->asInt();
    for (TypeId part : module_.types.fields(module_.type(split))) {
      auto shape = module_.types.shape(part);
      Dim extent =
          shape[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis)];
      if (!extent.isConst())
        return std::nullopt;
      begins.push_back(begins.back() + extent.value());
    }
    return begins;
  }

  Expected<NodeId> narrowSplit(NodeId node, Builder &builder) {
    if (module_.types.fields(module_.type(node)).size() <= mostParts)
      return node;
    auto begins = partsOf(node);
    if (!begins)
      return node;
    std::vector<NodeId> parts;
    BYCC_TRY(splitInto(module_.operands(node)[0], module_.attr(node, "axis")->asInt(), *begins,
                       parts, builder));
    return builder.tuple(parts);
  }

  // The parts of x that begin at `begins`; its first element is that at begins[0].
  Expected<> splitInto(NodeId x, int64_t axis, std::span<const int64_t> begins,
                       std::vector<NodeId> &parts, Builder &builder) {
    size_t count = begins.size() - 1, perPart = 1;
    while (perPart * mostParts < count)
      perPart *= mostParts;
    AttrValue::List indices;
    for (size_t i = perPart; i < count; i += perPart)
      indices.push_back(AttrValue(begins[i] - begins[0]));
    NodeId split =
        BYCC_TRY(builder.call(ops::split, {x}, {{"indices_or_sections", indices}, {"axis", axis}}));
    for (size_t i = 0; i < count; i += perPart) {
      NodeId part = BYCC_TRY(builder.project(split, static_cast<uint32_t>(i / perPart)));
      size_t last = std::min(i + perPart, count);
      if (last == i + 1)
        parts.push_back(part);
      else
        BYCC_TRY(splitInto(part, axis, begins.subspan(i, last - i + 1), parts, builder));
    }
    return {};
  }

  Module &module_;
};

} // namespace

Expected<> splitWide(Module &module, const CodeGenOptions &options) {
  WideSplitter splitter(module);
  for (FunctionId function :
       std::vector<FunctionId>(module.globals().begin(), module.globals().end())) {
    bool isVendors =
        module.functionAttr(function, "Compiler") != nullptr && !options.isEmulated(function);
    if (!isVendors)
      BYCC_TRY(rewriteFunction(module, function, [&](NodeId node, Builder &builder) {
        return splitter.visit(node, builder);
      }));
  }
  return {};
}

} // namespace bycc::codegen
