// One product instead of several that read the same value:
//
//   %0 = nn.dense(%x, %wq);  %1 = add(%0, %bq)       %0 = concatenate((%wq, %wk, %wv))
//   %2 = nn.dense(%x, %wk);  %3 = add(%2, %bk)  =>   %1 = concatenate((%bq, %bk, %bv))
//   %4 = nn.dense(%x, %wv);  %5 = add(%4, %bv)       %2 = nn.dense(%x, %0)
//                                                    %3 = split(add(%2, %1), 3, axis=-1)
//                                                    %3.0, %3.1, %3.2
//
// so that a layer written either way has one form. Biases join when every product
// has one and they are written alike. Constants fold (fold-constants).
//
// The parts stand in the order in which they are used: by the first operator that
// brings them together with another value, and its operand. In attention that is
// query, key, value, whatever the order the program computes them in.
//
// Weights and biases must be leaves, or views, transposes and casts of leaves: then
// no product can depend on another, and the block has an order. In no default list:
// on the host three products run as well as one.

#include "ConstantView.h"
#include "Scopes.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace bycc {
namespace {

// A product, perhaps with its bias.
struct Part {
  NodeId dense;
  NodeId bias;                        // operand; none
  NodeId result;                      // the sum, or the product
  std::pair<size_t, size_t> firstUse; // position of the operator, operand
};

class Combiner {
public:
  Combiner(Module &module, FunctionId function, BlockId block)
      : module_(module), function_(function), block_(block), builder_(module, block) {
    builder_.setList(&fresh_);
  }

  Expected<bool> run() {
    auto found = groups();
    std::erase_if(found, [](const auto &group) { return group.second.size() < 2; });
    if (found.empty())
      return false;
    users_.emplace(module_);
    const std::vector<NodeId> &nodes = module_.block(block_).nodes;
    for (size_t i = 0; i < nodes.size(); ++i)
      position_[nodes[i]] = i;
    for (auto &[key, parts] : found)
      BYCC_TRY(combine(parts));
    finish();
    return true;
  }

private:
  // What parts of one product have in common.
  using Key = std::tuple<size_t, uint32_t, std::string, DType>;

  std::vector<std::pair<Key, std::vector<Part>>> groups() {
    std::vector<std::pair<Key, std::vector<Part>>> groups;
    std::map<Key, size_t> indexOf;
    for (NodeId node : module_.block(block_).nodes) {
      if (!isCandidate(node))
        continue;
      TypeId weight = module_.type(module_.operands(node)[1]);
      Key key{module_.operands(node)[0].index, module_.types.shape(weight)[1].value(),
              std::string(textAttr(module_, node, "out_dtype")), module_.types.dtype(weight)};
      auto [found, isNew] = indexOf.try_emplace(key, groups.size());
      if (isNew)
        groups.push_back({key, {}});
      groups[found->second].second.push_back({node, {}, node, {}});
    }
    return groups;
  }

  bool isCandidate(NodeId node) const {
    if (!module_.isOp(node, ops::nn_dense) || !module_.types.isStatic(module_.type(node)))
      return false;
    NodeId weight = module_.operands(node)[1];
    return module_.types.isStatic(module_.type(weight)) &&
           module_.types.shape(module_.type(weight)).size() == 2 && comesFromLeaf(weight);
  }

  bool comesFromLeaf(NodeId node) const {
    constexpr int maxSteps = 8;
    for (int step = 0; step < maxSteps; ++step) {
      if (module_.isLeaf(node))
        return true;
      bool isView = isCallWith(module_, node, OpTrait::View) && module_.operands(node).size() == 1;
      if (!isView && !module_.isOp(node, ops::transpose) && !module_.isOp(node, ops::cast))
        return false;
      node = module_.operands(node)[0];
    }
    return false;
  }

  // The one operator that uses the value; none when there are more, or a result.
  NodeId onlyUser(NodeId node) const {
    if (users_->numResultUses(node) > 0 || users_->of(node).size() != 1)
      return {};
    NodeId user = users_->of(node)[0];
    return position_.contains(user) ? user : NodeId();
  }

  // add(product, b) or nn.bias_add(product, b) with b along the last axis only.
  void findBias(Part &part) const {
    NodeId user = onlyUser(part.dense);
    if (!user || !(module_.isOp(user, ops::add) || module_.isOp(user, ops::nn_bias_add)))
      return;
    std::span<const NodeId> operands = module_.operands(user);
    NodeId bias = operands[0] == part.dense ? operands[1] : operands[0];
    std::span<const Dim> full = module_.types.shape(module_.type(part.dense)),
                         shape = module_.types.shape(module_.type(bias));
    bool isLast = module_.isOp(user, ops::add) ||
                  normalizedAxis(intAttr(module_, user, "axis", 1), full.size()) == full.size() - 1;
    if (isLast && shape.size() == 1 && shape[0] == full.back() && comesFromLeaf(bias) &&
        module_.type(user) == module_.type(part.dense)) {
      part.bias = bias;
      part.result = user;
    }
  }

  // Through operators of one operand, to the first that has more.
  std::pair<size_t, size_t> firstUse(NodeId value) const {
    std::pair<size_t, size_t> best{SIZE_MAX, SIZE_MAX};
    constexpr int maxSteps = 16;
    for (int step = 0; step < maxSteps; ++step) {
      std::span<const NodeId> users = users_->of(value);
      NodeId next;
      for (NodeId user : users) {
        auto at = position_.find(user);
        if (at == position_.end())
          continue;
        std::span<const NodeId> operands = module_.operands(user);
        size_t operand = static_cast<size_t>(std::ranges::find(operands, value) - operands.begin());
        bool isAlone = std::ranges::all_of(
            operands, [&](NodeId other) { return other == value || module_.isConstant(other); });
        if (isAlone && users.size() == 1)
          next = user;
        else
          best = std::min(best, {at->second, operand});
      }
      if (!next)
        return best;
      value = next;
    }
    return best;
  }

  Expected<> combine(std::vector<Part> &parts) {
    for (Part &part : parts)
      findBias(part);
    auto op = [&](const Part &part) { return module_.node(part.result).op; };
    bool haveBias = std::ranges::all_of(parts, [&](const Part &part) {
      return part.bias && op(part) == op(parts[0]) &&
             module_.types.dtype(module_.type(part.bias)) ==
                 module_.types.dtype(module_.type(parts[0].bias));
    });
    for (Part &part : parts) {
      if (!haveBias)
        part.result = part.dense;
      part.firstUse = firstUse(part.result);
    }
    std::ranges::stable_sort(parts, {}, &Part::firstUse);
    NodeId product = BYCC_TRY(makeProduct(parts));
    if (haveBias)
      product = BYCC_TRY(addBias(parts, product));
    return replaceParts(parts, product);
  }

  template <typename F> Expected<NodeId> gathered(const std::vector<Part> &parts, F &&operand) {
    std::vector<NodeId> fields;
    for (const Part &part : parts)
      fields.push_back(operand(part));
    NodeId tuple = builder_.tuple(fields);
    return builder_.call(ops::concatenate, {tuple}, {{"axis", AttrValue(0)}});
  }

  Expected<NodeId> makeProduct(const std::vector<Part> &parts) {
    NodeId first = parts[0].dense;
    builder_.setSource(module_.node(first).source);
    NodeId weight = BYCC_TRY(
        gathered(parts, [&](const Part &part) { return module_.operands(part.dense)[1]; }));
    AttrDict attrs{{"units", AttrValue(module_.types.shape(module_.type(weight))[0].value())}};
    if (std::string_view dtype = textAttr(module_, first, "out_dtype"); !dtype.empty())
      attrs.push_back({"out_dtype", AttrValue(dtype)});
    return builder_.call(ops::nn_dense, {module_.operands(first)[0], weight}, std::move(attrs));
  }

  Expected<NodeId> addBias(const std::vector<Part> &parts, NodeId product) {
    NodeId sum = parts[0].result;
    builder_.setSource(module_.node(sum).source);
    NodeId bias = BYCC_TRY(gathered(parts, [](const Part &part) { return part.bias; }));
    NodeId operands[] = {product, bias};
    return builder_.callWithAttrs(module_.node(sum).op, operands, module_.node(sum).attrs);
  }

  int64_t width(const Part &part) const {
    return module_.types.shape(module_.type(part.dense)).back().value();
  }

  // Parts of one width by their number, others by where each begins.
  AttrValue sections(const std::vector<Part> &parts) const {
    bool areEqual = std::ranges::all_of(
        parts, [&](const Part &part) { return width(part) == width(parts[0]); });
    if (areEqual)
      return AttrValue(static_cast<int64_t>(parts.size()));
    AttrValue::List begins;
    int64_t begin = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i)
      begins.emplace_back(begin += width(parts[i]));
    return AttrValue(std::move(begins));
  }

  Expected<> replaceParts(const std::vector<Part> &parts, NodeId product) {
    NodeId pieces = BYCC_TRY(
        builder_.call(ops::split, {product},
                      {{"indices_or_sections", sections(parts)}, {"axis", AttrValue(-1)}}));
    for (size_t i = 0; i < parts.size(); ++i) {
      gone_.insert(parts[i].dense);
      gone_.insert(parts[i].result);
      replaced_[parts[i].result] = BYCC_TRY(builder_.project(pieces, static_cast<uint32_t>(i)));
    }
    return {};
  }

  void finish() {
    std::vector<NodeId> nodes = std::move(fresh_);
    for (NodeId node : module_.block(block_).nodes)
      if (!gone_.contains(node))
        nodes.push_back(node);
    module_.block(block_).nodes = std::move(nodes);
    replaceUses();
    nodes = topologicalOrder(module_, module_.block(block_).nodes);
    BYCC_ASSERT(!nodes.empty(), "products of one value do not depend on each other");
    module_.block(block_).nodes = std::move(nodes);
  }

  // In inner blocks too.
  void replaceUses() {
    auto replace = [&](NodeId &node) {
      if (auto found = replaced_.find(node); found != replaced_.end())
        node = found->second;
    };
    forEachBlock(module_, function_, [&](BlockId block) {
      for (NodeId node : module_.block(block).nodes)
        for (NodeId &operand : module_.mutableOperands(node))
          replace(operand);
      replace(module_.block(block).result);
    });
  }

  Module &module_;
  FunctionId function_;
  BlockId block_;
  std::optional<Users> users_;
  Builder builder_;
  std::vector<NodeId> fresh_;
  std::map<NodeId, size_t> position_;
  std::map<NodeId, NodeId> replaced_;
  std::set<NodeId> gone_;
};

} // namespace

Expected<bool> combineParallelDense(Module &module, PassContext &) {
  bool changed = false;
  for (FunctionId function : optimizableFunctions(module)) {
    ClosedBlocks closed(module, function);
    std::vector<BlockId> blocks;
    forEachBlock(module, function, [&](BlockId block) {
      if (!closed.contains(block))
        blocks.push_back(block);
    });
    for (BlockId block : blocks) {
      bool here = BYCC_TRY(Combiner(module, function, block).run());
      changed |= here;
    }
    if (changed)
      removeDeadNodes(module, function, false);
  }
  return changed;
}

} // namespace bycc
