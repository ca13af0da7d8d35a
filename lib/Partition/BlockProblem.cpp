// Builds the grouping problem of a block.
//
// What an item needs: its operands, and for an If or a closure everything that
// its blocks use from here, so that paths through branches and closures count.
// What items share: the value they touch, found through tuples and projections
// (constants do not count), and the tuple that gathers their results. What may
// not be together: calls between which a vendor's rules let no value pass.

#include "BlockProblem.h"

#include "bycc/Target/PassContext.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

#include "CostEstimate.h"
#include "EdgeRuleCheck.h"
#include "Scopes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

namespace bycc {

namespace {

class ProblemBuilder {
public:
  ProblemBuilder(const Module &module, const NodePlaces &places, BlockId block,
                 const PassContext *context)
      : module_(module), places_(places), block_(block), nodes_(module.block(block).nodes),
        context_(context) {}

  BlockProblem build() {
    addNeeds();
    addVendors();
    collectTouches();
    sortTouches();
    addSharesAndTensors();
    addGathers();
    addApart();
    return std::move(result_);
  }

private:
  // Somebody uses tensor `index` of a value.
  struct Touch {
    uint32_t value, index, user; // user: item, or none beyond the items
  };

  // Position of a node in this block, or none.
  uint32_t itemOf(NodeId node) const {
    return node.index < places_.block.size() && places_.block[node.index] == block_
               ? places_.position[node.index]
               : none;
  }

  // --- needs

  void addNeeds() {
    std::vector<uint32_t> needs;
    for (uint32_t item = 0; item < nodes_.size(); ++item) {
      needs.clear();
      forEachUsedValue(module_, nodes_[item], [&](NodeId value) { need(value, item, needs); });
      std::ranges::sort(needs);
      needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
      problem_.needs.insert(problem_.needs.end(), needs.begin(), needs.end());
      problem_.needsBegin.push_back(static_cast<uint32_t>(problem_.needs.size()));
    }
  }

  void need(NodeId node, uint32_t item, std::vector<uint32_t> &needs) const {
    if (uint32_t other = itemOf(node); other != none && other != item)
      needs.push_back(other);
  }

  // --- vendors

  bool isTuple(uint32_t item) const { return module_.node(nodes_[item]).kind == NodeKind::Tuple; }
  bool isWire(NodeId node) const {
    NodeKind kind = module_.node(node).kind;
    return kind == NodeKind::Tuple || kind == NodeKind::Project;
  }

  void addVendors() {
    for (uint32_t item = 0; item < nodes_.size(); ++item) {
      const Annotation *annotation = module_.annotation(nodes_[item]);
      bool isTaken = annotation && !annotation->vendors.empty();
      bool wire = isWire(nodes_[item]);
      problem_.isWire.push_back(wire);
      problem_.vendor.push_back(wire      ? carriedVendor(item)
                                : isTaken ? vendorNumber(annotation->vendors[0], nodes_[item])
                                          : RegionProblem::host);
    }
    dropIdleTuples();
  }

  bool merges(StringId name) const {
    const Vendor *vendor =
        context_ && context_->vendors ? context_->vendors->find(module_.string(name)) : nullptr;
    return !vendor || vendor->regionRules.merge;
  }

  int32_t vendorNumber(StringId name, NodeId node) {
    bool hasLabels = context_ && context_->placement;
    std::pair key(name, hasLabels ? context_->placement->labelOf(node) : 0);
    if (!merges(name)) // every call of its own
      key.second = BlockProblem::ownLabel | node.index;
    auto [found, isNew] =
        vendorNumbers_.try_emplace(uint64_t{key.first.index} << 32 | key.second, 0);
    if (isNew) {
      found->second = static_cast<int32_t>(result_.vendors.size());
      result_.vendors.push_back(key);
    }
    return found->second;
  }

  // The one vendor whose values a tuple or projection holds; host when none or
  // several.
  int32_t carriedVendor(uint32_t item) const {
    int32_t vendor = RegionProblem::host;
    for (uint32_t need : problem_.needsOf(item)) {
      int32_t other = problem_.vendor[need];
      if (other == RegionProblem::host)
        continue;
      if (vendor != RegionProblem::host && other != vendor)
        return RegionProblem::host;
      vendor = other;
    }
    return vendor;
  }

  // A tuple that nobody of its vendor uses is the host's.
  void dropIdleTuples() {
    std::vector<uint8_t> isUsed(nodes_.size(), 0);
    for (uint32_t item = problem_.size(); item-- > 0;) {
      if (isTuple(item) && !isUsed[item])
        problem_.vendor[item] = RegionProblem::host;
      for (uint32_t need : problem_.needsOf(item))
        if (problem_.vendor[need] == problem_.vendor[item])
          isUsed[need] = 1;
    }
  }

  // --- who touches what

  // Values are numbered: the block's by item, then others as they come.
  uint32_t valueOf(NodeId base) {
    if (uint32_t item = itemOf(base); item != none)
      return item;
    auto [found, isNew] = outerValues_.try_emplace(base, 0);
    if (isNew) {
      found->second = static_cast<uint32_t>(bases_.size());
      bases_.push_back(base);
    }
    return found->second;
  }

  void collectTouches() {
    bases_.assign(nodes_.begin(), nodes_.end());
    for (uint32_t item = 0; item < nodes_.size(); ++item)
      if (!isTuple(item) || problem_.vendor[item] != RegionProblem::host)
        touchOperands(nodes_[item], item);
    touch(module_.block(block_).result, none);
  }

  void touchOperands(NodeId node, uint32_t item) {
    for (NodeId operand : module_.operands(node))
      touch(operand, item);
    for (BlockId inner : innerBlocks(module_, node)) {
      for (NodeId innerNode : module_.block(inner).nodes)
        if (!isWire(innerNode))
          touchOperands(innerNode, item);
      touch(module_.block(inner).result, item);
    }
  }

  void touch(NodeId value, uint32_t user) {
    if (module_.node(value).kind == NodeKind::Function)
      return;
    tensors_.clear();
    resolveTensors(module_, value, tensors_);
    for (const TensorRef &tensor : tensors_)
      if (!module_.isConstant(tensor.base))
        touches_.push_back({valueOf(tensor.base), tensor.index, user});
  }

  // By value, then tensor, then user: a counting sort, which keeps users ascending.
  void sortTouches() {
    touchesBegin_.assign(bases_.size() + 1, 0);
    for (const Touch &touch : touches_)
      ++touchesBegin_[touch.value + 1];
    for (size_t i = 1; i < touchesBegin_.size(); ++i)
      touchesBegin_[i] += touchesBegin_[i - 1];
    std::vector<Touch> sorted(touches_.size());
    std::vector<uint32_t> next(touchesBegin_.begin(), touchesBegin_.end() - 1);
    for (const Touch &touch : touches_)
      sorted[next[touch.value]++] = touch;
    touches_ = std::move(sorted);
  }

  void addSharesAndTensors() {
    for (uint32_t value = 0; value < bases_.size(); ++value) {
      if (value <= nodes_.size())
        result_.tensorsBegin.push_back(problem_.numTensors());
      std::span<Touch> touches(touches_.data() + touchesBegin_[value],
                               touchesBegin_[value + 1] - touchesBegin_[value]);
      uint64_t bytes = addTensors(value, touches);
      addShare(value, touches, bytes);
    }
    if (bases_.size() == nodes_.size()) // no outer values
      result_.tensorsBegin.push_back(problem_.numTensors());
  }

  // Bytes of the value's tensors that somebody uses.
  uint64_t addTensors(uint32_t value, std::span<Touch> touches) {
    if (std::ranges::any_of(touches, [](const Touch &t) { return t.index != 0; }))
      std::ranges::stable_sort(touches, {}, &Touch::index);
    uint64_t bytes = 0;
    for (size_t i = 0; i < touches.size();) {
      RegionProblem::Tensor tensor;
      tensor.maker = value < nodes_.size() ? value : none;
      tensor.bytes = bytesOf(bases_[value], touches[i].index);
      uint32_t index = touches[i].index;
      for (; i < touches.size() && touches[i].index == index; ++i)
        addUser(touches[i].user, tensor);
      problem_.usersBegin.push_back(static_cast<uint32_t>(problem_.users.size()));
      bytes += tensor.bytes;
      problem_.tensors.push_back(tensor);
      result_.tensors.push_back({bases_[value], index});
    }
    return bytes;
  }

  void addUser(uint32_t user, RegionProblem::Tensor &tensor) {
    if (user == none) {
      tensor.isUsedOutside = true;
      return;
    }
    bool isKnown =
        problem_.users.size() > problem_.usersBegin.back() && problem_.users.back() == user;
    if (!problem_.isWire[user] && !isKnown)
      problem_.users.push_back(user);
  }

  uint64_t bytesOf(NodeId base, uint32_t index) {
    TypeId type = module_.types.leaf(module_.type(base), index);
    auto [found, isNew] = bytesOfType_.try_emplace(type.index, 0);
    if (isNew)
      found->second = static_cast<uint64_t>(std::min(bycc::bytesOf(module_, type), 1e18));
    return found->second;
  }

  void addShare(uint32_t value, std::span<const Touch> touches, uint64_t bytes) {
    size_t begin = problem_.shares.size();
    auto add = [&](uint32_t item) {
      if (item != none && problem_.vendor[item] != RegionProblem::host)
        problem_.shares.push_back(item);
    };
    if (value < nodes_.size())
      add(value);
    for (const Touch &touch : touches)
      add(touch.user);
    closeShare(begin, bytes);
  }

  // A set of one item links nothing.
  void closeShare(size_t begin, uint64_t bytes) {
    auto first = problem_.shares.begin() + static_cast<long>(begin);
    if (!std::is_sorted(first, problem_.shares.end()))
      std::sort(first, problem_.shares.end());
    problem_.shares.erase(std::unique(first, problem_.shares.end()), problem_.shares.end());
    if (problem_.shares.size() - begin < 2)
      return problem_.shares.resize(begin);
    problem_.sharesBegin.push_back(static_cast<uint32_t>(problem_.shares.size()));
    problem_.shareBytes.push_back(bytes);
  }

  void addGathers() {
    for (uint32_t item = 0; item < nodes_.size(); ++item) {
      if (!isTuple(item))
        continue;
      tensors_.clear();
      resolveTensors(module_, nodes_[item], tensors_);
      size_t begin = problem_.shares.size();
      for (const TensorRef &tensor : tensors_)
        if (uint32_t maker = itemOf(tensor.base);
            maker != none && problem_.vendor[maker] != RegionProblem::host)
          problem_.shares.push_back(maker);
      closeShare(begin, 0);
    }
  }

  // --- rules

  const Vendor *vendorBehind(int32_t number) const {
    StringId name = result_.vendors[static_cast<size_t>(number)].first;
    return context_ && context_->vendors ? context_->vendors->find(module_.string(name)) : nullptr;
  }

  void addApart() {
    std::vector<std::optional<EdgeRuleCheck>> checks(result_.vendors.size());
    bool hasRules = false;
    for (size_t i = 0; i < checks.size(); ++i)
      if (const Vendor *vendor = vendorBehind(static_cast<int32_t>(i));
          vendor && !vendor->regionRules.edges.empty()) {
        checks[i].emplace(module_, vendor->regionRules.edges);
        hasRules = true;
      }
    if (!hasRules)
      return;
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (uint32_t item = 0; item < nodes_.size(); ++item)
      if (problem_.isCall(item) && checks[static_cast<size_t>(problem_.vendor[item])])
        collectApart(item, *checks[static_cast<size_t>(problem_.vendor[item])], pairs);
    if (!pairs.empty())
      storeApart(std::move(pairs));
  }

  void collectApart(uint32_t item, const EdgeRuleCheck &check,
                    std::vector<std::pair<uint32_t, uint32_t>> &pairs) {
    std::span<const NodeId> operands = module_.operands(nodes_[item]);
    for (uint32_t i = 0; i < operands.size(); ++i) {
      tensors_.clear();
      if (module_.node(operands[i]).kind != NodeKind::Function)
        resolveTensors(module_, operands[i], tensors_);
      for (const TensorRef &tensor : tensors_) {
        uint32_t maker = itemOf(tensor.base);
        if (maker == none || problem_.vendor[maker] != problem_.vendor[item] ||
            check.mayPass(tensor.base, nodes_[item], i))
          continue;
        pairs.emplace_back(maker, item);
        pairs.emplace_back(item, maker);
      }
    }
  }

  void storeApart(std::vector<std::pair<uint32_t, uint32_t>> pairs) {
    std::ranges::sort(pairs);
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    problem_.apartBegin.assign(nodes_.size() + 1, 0);
    for (auto [item, other] : pairs) {
      ++problem_.apartBegin[item + 1];
      problem_.apart.push_back(other);
    }
    for (size_t i = 1; i < problem_.apartBegin.size(); ++i)
      problem_.apartBegin[i] += problem_.apartBegin[i - 1];
  }

  const Module &module_;
  const NodePlaces &places_;
  BlockId block_;
  const std::vector<NodeId> &nodes_;
  const PassContext *context_;
  BlockProblem result_;
  RegionProblem &problem_ = result_.problem;
  std::unordered_map<uint64_t, int32_t> vendorNumbers_; // by name and label
  std::vector<NodeId> bases_;                           // by value number
  std::unordered_map<NodeId, uint32_t> outerValues_;
  std::unordered_map<uint32_t, uint64_t> bytesOfType_;
  std::vector<Touch> touches_;
  std::vector<uint32_t> touchesBegin_; // by value
  std::vector<TensorRef> tensors_;     // scratch
};

} // namespace

BlockProblem makeBlockProblem(const Module &module, const NodePlaces &places, BlockId block,
                              const PassContext *context) {
  return ProblemBuilder(module, places, block, context).build();
}

} // namespace bycc
