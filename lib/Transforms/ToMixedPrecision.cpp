// Computes in bfloat16 where that is faster, and stores weights so.
//
//   nn.softmax(nn.dense(x, w))  =>  nn.softmax(cast(nn.dense(cast(x), w'), "float32"))
//
// Products get bfloat16 operands and give bfloat16 (their sums are float32 inside);
// what follows runs in it where that costs less, what is sensitive stays float32
// with casts around it. Operators are of four classes (patterns/mixed-precision.json);
// which calls convert is a choice by cost (PrecisionChoice). Inputs and results of
// functions keep their dtypes, integers, float16 and float64 are not touched.
//
// 1. Each call that converts is made again of the bfloat16 forms of its operands,
//    with a cast back to float32 behind it, which stands for the old value.
// 2. A bfloat16 form is what such a cast was made of; a constant that is rounded
//    here, so that only 16 bits of a weight are stored; or a cast, made once.
// 3. Casts that nobody reads go; casts of what a loop does not change go in front
//    of it.
//
// Constants are rounded to finite numbers: the mask -3.4e38, times zero, must stay
// zero. Weights are rounded so that each row of them keeps its sum (RoundWeights).

#include "PrecisionChoice.h"
#include "RoundWeights.h"
#include "Scopes.h"
#include "SimplifyRules.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/RegionView.h"
#include "bycc/Transforms/Passes.h"

#include <cstring>
#include <span>
#include <unordered_map>
#include <unordered_set>

namespace bycc {
namespace {

// Are the weights rows, each for one channel of the result?
bool hasRowsOfWeights(const Module &module, NodeId call) {
  return module.isOp(call, ops::nn_dense) || isPlainConvolution(module, call);
}

class Converter {
public:
  Converter(Module &module, const PrecisionChoice &choice) : module_(module), choice_(choice) {}

  Expected<NodeId> rewrite(NodeId node, Builder &builder) {
    if (module_.node(node).kind == NodeKind::Project)
      return project(node, builder);
    if (module_.node(node).kind != NodeKind::CallOp)
      return node;
    if (isCastOf(node, DType::Float32, DType::BFloat16))
      if (auto found = halfOf_.find(module_.operands(node)[0]); found != halfOf_.end())
        return found->second;
    return choice_.isConverted(node) ? convert(node, builder) : Expected<NodeId>(node);
  }

  // Moves casts of outer values out of functions that call themselves.
  void hoistFromLoops(FunctionId function) {
    std::vector<BlockId> blocks; // inner ones first
    forEachBlock(module_, function, [&](BlockId block) { blocks.push_back(block); });
    for (BlockId block : blocks) {
      std::vector<NodeId> nodes;
      for (NodeId node : std::vector<NodeId>(module_.block(block).nodes)) {
        if (choice_.isLoop(node))
          takeInvariant(node, nodes);
        nodes.push_back(node);
      }
      module_.block(block).nodes = std::move(nodes);
    }
  }

  // Lets that name values nobody reads any more.
  void dropMarks() {
    for (auto [wide, half] : halfOf_)
      module_.node(wide).isLet = false;
  }

private:
  DType dtype(NodeId node) const {
    TypeId type = module_.type(node);
    return module_.types.isTensor(type) ? module_.types.dtype(type) : DType::Bool;
  }
  bool isCastOf(NodeId node, DType from, DType to) const {
    return module_.isOp(node, ops::cast) && dtype(module_.operands(node)[0]) == from &&
           dtype(node) == to;
  }

  Expected<NodeId> convert(NodeId node, Builder &builder) {
    call_ = node;
    std::vector<NodeId> operands(module_.operands(node).begin(), module_.operands(node).end());
    for (NodeId &operand : operands)
      operand = BYCC_TRY(halfOperand(operand, builder));
    AttrDict attrs = module_.attributes.dict(module_.node(node).attrs);
    for (Attr &attr : attrs) {
      const AttrSpec *spec = opInfo(module_.node(node).op).findAttr(attr.key);
      bool isDType = spec && spec->type == AttrType::DTypeName && attr.value.isString();
      if (isDType && attr.value.asString() == name(DType::Float32))
        attr.value = AttrValue(name(DType::BFloat16));
    }
    NodeId half = BYCC_TRY(builder.call(module_.node(node).op, operands, std::move(attrs)));
    return module_.types.isTensor(module_.type(half)) ? widened(half, builder)
                                                      : Expected<NodeId>(half);
  }

  // A field of a split that was converted.
  Expected<NodeId> project(NodeId node, Builder &builder) {
    NodeId tuple = module_.operands(node)[0];
    TypeId field = module_.types.fields(module_.type(tuple))[module_.node(node).payload];
    if (field == module_.type(node))
      return node;
    return widened(BYCC_TRY(builder.project(tuple, module_.node(node).payload)), builder);
  }

  Expected<NodeId> widened(NodeId half, Builder &builder) {
    NodeId wide =
        BYCC_TRY(builder.call(ops::cast, {half}, {{"dtype", AttrValue(name(DType::Float32))}}));
    halfOf_[wide] = half;
    return wide;
  }

  Expected<NodeId> halfOperand(NodeId operand, Builder &builder) {
    if (module_.node(operand).kind != NodeKind::Tuple)
      return dtype(operand) == DType::Float32 ? halfForm(operand, builder)
                                              : Expected<NodeId>(operand);
    std::vector<NodeId> fields(module_.operands(operand).begin(), module_.operands(operand).end());
    for (NodeId &field : fields)
      field = BYCC_TRY(halfForm(field, builder));
    return builder.tuple(fields);
  }

  Expected<NodeId> halfForm(NodeId value, Builder &builder) {
    if (auto found = halfOf_.find(value); found != halfOf_.end())
      return found->second;
    if (module_.isConstant(value))
      return halfOf_[value] = roundedConstant(value);
    if (isCastOf(value, DType::BFloat16, DType::Float32))
      return module_.operands(value)[0];
    for (auto [block, cast] : casts_[value])
      if (isWithin(builder.block(), block))
        return cast;
    SourceId reader = module_.node(call_).source, maker = module_.node(value).source;
    builder.setSource(module_.isLeaf(value) ? reader : maker);
    NodeId cast =
        BYCC_TRY(builder.call(ops::cast, {value}, {{"dtype", AttrValue(name(DType::BFloat16))}}));
    builder.setSource(reader);
    casts_[value].emplace_back(builder.block(), cast);
    made_.insert(cast);
    return cast;
  }

  void takeInvariant(NodeId loop, std::vector<NodeId> &taken) {
    std::unordered_set<NodeId> inside;
    std::vector<BlockId> blocks;
    auto walk = [&](auto &&self, NodeId owner) -> void {
      if (module_.node(owner).kind == NodeKind::Function)
        for (NodeId param : module_.function(module_.functionOf(owner)).params)
          inside.insert(param);
      for (BlockId block : innerBlocks(module_, owner)) {
        blocks.push_back(block);
        for (NodeId node : module_.block(block).nodes) {
          inside.insert(node);
          self(self, node);
        }
      }
    };
    walk(walk, loop);
    for (BlockId block : blocks)
      std::erase_if(module_.block(block).nodes, [&](NodeId node) {
        bool isOuter = made_.contains(node) && !inside.contains(module_.operands(node)[0]);
        if (isOuter)
          taken.push_back(node);
        return isOuter;
      });
  }

  bool isWithin(BlockId block, BlockId outer) const {
    for (; block; block = module_.block(block).parent)
      if (block == outer)
        return true;
    return false;
  }

  NodeId roundedConstant(NodeId node) {
    const Constant &wide = module_.constant(node);
    std::vector<uint8_t> bytes(wide.bytes / 2);
    std::vector<float> values(wide.bytes / 4); // aligned, unlike bytes of a file
    if (!values.empty())
      std::memcpy(values.data(), wide.data(), wide.bytes);
    std::span<const float> from(values);
    std::span to(reinterpret_cast<uint16_t *>(bytes.data()), from.size());
    bool isRows = hasRowsOfWeights(module_, call_) && module_.operands(call_)[1] == node;
    if (!isRows || from.empty()) {
      roundToHalf(from, to);
    } else {
      size_t row = from.size() / module_.types.shape(wide.type)[0].value();
      for (size_t begin = 0; begin < from.size(); begin += row)
        roundBalanced(from.subspan(begin, row), to.subspan(begin, row));
    }
    Constant half;
    half.type = module_.types.tensor(DType::BFloat16, module_.types.shape(wide.type));
    half.bytes = bytes.size();
    half.name = wide.name;
    half.storage = Storage::own(std::move(bytes));
    return module_.addConstant(std::move(half), module_.node(node).source);
  }

  Module &module_;
  const PrecisionChoice &choice_;
  NodeId call_;                               // that is made anew
  std::unordered_map<NodeId, NodeId> halfOf_; // by the float32 value
  std::unordered_map<NodeId, std::vector<std::pair<BlockId, NodeId>>> casts_;
  std::unordered_set<NodeId> made_; // all of these casts
};

// What the target does not have is slow, not wrong.
void warnIfSlow(const PrecisionRules &rules, PassContext &context) {
  std::vector<std::string> features;
  for (const auto &[feature, rate] : rules.bf16FlopsPerMicrosecond) {
    if (context.target->has(feature))
      return;
    features.push_back(feature);
  }
  std::string cpu =
      context.target->cpu.empty() ? "the target" : "the CPU '" + context.target->cpu + "'";
  context.warn(
      {}, cpu + " has no fast bfloat16 (" + join(features, " or ") +
              "): products in it are computed by way of float32, slower than with --precision=f32");
}

void remark(const Module &module, const PrecisionChoice &choice, PassContext &context) {
  std::vector<PrecisionChoice::Stay> stays = choice.stays();
  size_t products = choice.numConverted(PrecisionClass::Always);
  if (products + stays.size() > 0)
    context.remarks.push_back(
        std::to_string(products) + " of " + std::to_string(products + stays.size()) +
        " float32 products are bfloat16, and " +
        counted(static_cast<int64_t>(choice.numConverted(PrecisionClass::Moves) +
                                     choice.numConverted(PrecisionClass::Follow)),
                "operator") +
        " between them");
  for (const auto &[call, reason] : stays) {
    std::string where = module.source(call).str(), op(opInfo(module.node(call).op).name);
    context.wideProducts.push_back({nodeName(module, call), op, reason});
    context.remarks.push_back((where.empty() ? "" : where + ": ") + op +
                              " stays float32: " + reason);
  }
}

} // namespace

Expected<bool> toMixedPrecision(Module &module, PassContext &context) {
  std::string dtype = context.option("dtype", std::string(name(DType::BFloat16)));
  if (dtype != name(DType::BFloat16))
    return error(parseDType(dtype) ? Status::Unsup : Status::Usage)
           << "pass 'to-mixed-precision': dtype is '" << escaped(dtype)
           << "', only bfloat16 is supported";
  const PrecisionRules &rules = context.precision ? *context.precision : builtinPrecisionRules();
  ProductTimes times(module, context, rules);
  bool changed = false, hasProducts = false;
  for (FunctionId function : optimizableFunctions(module)) // dead readers would count
    changed |= removeDeadNodes(module, function, false);
  Users users(module);
  for (FunctionId function : optimizableFunctions(module)) {
    PrecisionChoice choice(module, function, rules, times, users);
    remark(module, choice, context);
    hasProducts |= choice.numConverted(PrecisionClass::Always) > 0;
    Converter converter(module, choice);
    ClosedBlocks closed(module, function);
    bool here = BYCC_TRY(rewriteFunction(module, function, [&](NodeId node, Builder &builder) {
      return closed.contains(builder.block()) ? Expected<NodeId>(node)
                                              : converter.rewrite(node, builder);
    }));
    converter.hoistFromLoops(function);
    converter.dropMarks();
    if (here)
      removeDeadNodes(module, function, false);
    changed |= here;
  }
  if (hasProducts)
    warnIfSlow(rules, context);
  else if (size_t count = context.wideProducts.size())
    context.warn({}, "no product is converted to bfloat16: " +
                         (count == 1 ? std::string("the only one stays")
                                     : "all " + std::to_string(count) + " stay") +
                         " float32, -v says why");
  return changed;
}

} // namespace bycc
