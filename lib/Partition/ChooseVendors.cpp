// Several vendors may take a node: puts the chosen one in front, by estimated time
// (VendorChooser.h) where costs are compared and all of them have some, else by
// priority. The others stay recorded, with the reason why they do not have it. A
// composite stays with its vendor, unless costs say that another is better with it
// taken apart. A pinned node has one vendor
// only, the others refuse it; if that one refuses too, the order cannot be obeyed.

#include "bycc/IR/Functions.h"
#include "bycc/IR/Op.h"
#include "bycc/Partition/AnnotatedRegions.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/RegionView.h"
#include "bycc/Target/Vendor.h"

#include "Composites.h"
#include "CostEstimate.h"
#include "Scopes.h"
#include "VendorChooser.h"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

namespace bycc {

namespace {

constexpr size_t maxDiagnostics = 20;
constexpr int maxSearches = 8;

// Pins to vendors that refuse.
class PinCheck {
public:
  PinCheck(const Module &module, const PassContext &context)
      : module_(module), placement_(context.placement), refusals_(context.refusals) {}

  void check(NodeId node) {
    const Annotation *annotation = module_.annotation(node);
    forEachOperator(module_, node, [&](NodeId call) {
      std::string_view pin = placement_->pinOf(call);
      if (!pin.empty() && pin != "host" && !takes(annotation, pin))
        complain(call, pin);
    });
  }

  Expected<> result() {
    if (found_.empty())
      return {};
    return Error(std::move(found_));
  }

private:
  bool takes(const Annotation *annotation, std::string_view vendor) const {
    return annotation && std::ranges::any_of(annotation->vendors, [&](StringId id) {
             return module_.string(id) == vendor;
           });
  }

  void complain(NodeId call, std::string_view vendor) {
    if (found_.size() == maxDiagnostics)
      return;
    std::string reason;
    if (refusals_)
      for (const auto &[name, text] : refusals_->of(call))
        if (name == vendor)
          reason = ": " + text;
    Diagnostic diagnostic;
    diagnostic.status = Status::Arg;
    diagnostic.location = module_.source(call);
    diagnostic.message = "--pin: " + nodeName(module_, call) + " (" +
                         std::string(opInfo(module_.node(call).op).name) + ") is pinned to " +
                         std::string(vendor) + ", which refuses it" + reason;
    found_.push_back(std::move(diagnostic));
  }

  const Module &module_;
  const PlacementRules *placement_;
  const RefusalLog *refusals_;
  std::vector<Diagnostic> found_;
};

// Without costs the first in the order of --annotate has a node.
void tellPriority(const Module &module, NodeId node, RefusalLog &log) {
  const Annotation *annotation = module.annotation(node);
  if (!annotation || annotation->vendors.size() < 2)
    return;
  std::string reason = std::string(module.string(annotation->vendors[0])) + " has priority";
  if (std::optional<FunctionId> composite = compositeOf(module, node))
    reason = "part of the composite " + module.functionAttr(*composite, "Composite")->asString();
  for (size_t i = 1; i < annotation->vendors.size(); ++i)
    forEachOperator(module, node, [&](NodeId call) {
      log.passOver(call, module.string(annotation->vendors[i]), reason);
    });
}

// One block as a problem on numbers, and its solution as annotations.
class CostChoice {
public:
  CostChoice(Module &module, PassContext &context) : module_(module), context_(context) {}

  // Does any node of the block have vendors to choose from?
  bool isNeeded(BlockId block) const {
    return std::ranges::any_of(module_.block(block).nodes,
                               [&](NodeId node) { return isOpen(node); });
  }

  // The search starts from what is chosen, so it is repeated until it finds nothing
  // better: another run of the pass then finds nothing either.
  bool run(BlockId block) {
    bool changed = false;
    for (int i = 0; i < maxSearches && search(block); ++i)
      changed = true;
    return changed;
  }

private:
  bool search(BlockId block) {
    problem_ = {};
    problem_.vendors.resize(1); // the host
    labels_.clear();
    items_.clear();
    valueOf_.clear();
    itemOf_.clear();
    for (NodeId node : module_.block(block).nodes)
      addNode(node);
    markResult(module_.block(block).result);
    ChosenVendors chosen = solveChoice(problem_);
    bool changed = false;
    apart_.clear();
    for (uint32_t item = 0; item < items_.size(); ++item)
      if (problem_.choices[item].size() > 1)
        changed |= apply(items_[item], chosen.choice[item], problem_.choices[item],
                         chosen.otherwise[item]);
    if (!apart_.empty())
      dissolveComposites(module_, block, apart_, Users(module_), context_);
    return changed;
  }

  const Vendor *vendorOf(StringId name) const {
    return context_.vendors->find(module_.string(name));
  }

  // Vendors to choose from, all with a cost.
  bool isOpen(NodeId node) const {
    const Annotation *annotation = module_.annotation(node);
    return annotation && annotation->vendors.size() > 1 &&
           std::ranges::all_of(annotation->vendors, [&](StringId name) {
             const Vendor *vendor = vendorOf(name);
             return vendor && vendor->cost;
           });
  }

  uint32_t labelOf(StringId name) {
    if (auto found = std::ranges::find(labels_, name); found != labels_.end())
      return static_cast<uint32_t>(found - labels_.begin()) + 1;
    labels_.push_back(name);
    ChoiceProblem::Vendor row;
    if (const Vendor *vendor = vendorOf(name); vendor && vendor->cost) {
      row.launch = vendor->cost->launchMicroseconds;
      row.transfer = vendor->cost->transferMicroseconds;
      if (double rate = vendor->cost->transferBytesPerMicrosecond; rate > 0)
        row.transferPerByte = 1 / rate;
    }
    problem_.vendors.push_back(row);
    return static_cast<uint32_t>(labels_.size());
  }

  double timeOf(StringId name, NodeId node) {
    const Vendor *vendor = vendorOf(name);
    auto [found, isNew] = times_.try_emplace(name);
    if (isNew)
      found->second = std::make_unique<VendorTimes>(module_, *vendor, *context_.target, *context_.hostCost);
    return found->second->of(node);
  }

  void addNode(NodeId node) {
    NodeKind kind = module_.node(node).kind;
    if (kind == NodeKind::Tuple || kind == NodeKind::Project)
      return; // looked through
    if (kind == NodeKind::If || (kind == NodeKind::Function && !isClosedFunction(module_, module_.functionOf(node)))) {
      markUsed(node);
      return;
    }
    if (kind != NodeKind::CallOp && kind != NodeKind::Call)
      return;
    uint32_t item = static_cast<uint32_t>(items_.size());
    items_.push_back(node);
    itemOf_[node] = item;
    problem_.choices.push_back(choicesOf(node));
    for (NodeId operand : module_.operands(node))
      for (uint32_t value : valuesOf(operand))
        if (auto &readers = problem_.values[value].readers;
            readers.empty() || readers.back() != item)
          readers.push_back(item);
  }

  std::vector<ChoiceProblem::Choice> choicesOf(NodeId node) {
    const Annotation *annotation = module_.annotation(node);
    if (!annotation || annotation->vendors.empty())
      return {{ChoiceProblem::host, 0}};
    if (!isOpen(node))
      return {{labelOf(annotation->vendors[0]), 0}};
    std::vector<ChoiceProblem::Choice> choices;
    for (StringId name : annotation->vendors)
      choices.push_back({labelOf(name), timeOf(name, node)});
    return choices;
  }

  // The tensors behind an operand, constants and functions left out.
  std::vector<uint32_t> valuesOf(NodeId operand) {
    std::vector<uint32_t> values;
    if (module_.node(operand).kind == NodeKind::Function)
      return values;
    std::vector<TensorRef> tensors;
    resolveTensors(module_, operand, tensors);
    for (const TensorRef &tensor : tensors) {
      if (module_.isConstant(tensor.base))
        continue;
      auto [found, isNew] =
          valueOf_.try_emplace(tensor, static_cast<uint32_t>(problem_.values.size()));
      if (isNew)
        problem_.values.push_back(describeValue(tensor));
      values.push_back(found->second);
    }
    return values;
  }

  ChoiceProblem::Value describeValue(const TensorRef &tensor) const {
    ChoiceProblem::Value value;
    auto maker = itemOf_.find(tensor.base);
    value.maker = maker == itemOf_.end() ? ChoiceProblem::none : maker->second;
    value.bytes = bytesOf(module_, module_.types.flatten(module_.type(tensor.base))[tensor.index]);
    return value;
  }

  void markResult(NodeId value) {
    if (value)
      for (uint32_t index : valuesOf(value))
        problem_.values[index].isResult = true;
  }

  // What a branch or closure takes from outside goes through the host.
  void markUsed(NodeId node) {
    for (NodeId operand : module_.operands(node))
      markResult(operand);
    for (BlockId inner : innerBlocks(module_, node)) {
      for (NodeId innerNode : module_.block(inner).nodes)
        markUsed(innerNode);
      markResult(module_.block(inner).result);
    }
  }

  bool apply(NodeId node, uint32_t label, const std::vector<ChoiceProblem::Choice> &choices,
             const std::vector<double> &otherwise) {
    Annotation annotation = *module_.annotation(node);
    StringId chosen = labels_[label - 1];
    for (size_t i = 0; context_.refusals && i < choices.size(); ++i)
      if (choices[i].vendor != label)
        tell(node, labels_[choices[i].vendor - 1], chosen, otherwise[i]);
    auto found = std::ranges::find(annotation.vendors, chosen);
    if (found == annotation.vendors.begin())
      return false;
    std::rotate(annotation.vendors.begin(), found, found + 1);
    if (StringId owner = ownerOf(module_, node); owner && owner != chosen) {
      std::erase(annotation.vendors, owner);
      apart_.push_back(node);
    }
    module_.setAnnotation(node, std::move(annotation));
    return true;
  }

  void tell(NodeId node, StringId vendor, StringId chosen, double more) {
    std::string winner(module_.string(chosen));
    std::string reason =
        more < 0.001 ? winner + " has it, the estimated time is the same"
                     : winner + " has it, moving it would cost " + timeText(more) + " more (estimated)";
    forEachOperator(module_, node, [&](NodeId call) {
      context_.refusals->passOver(call, module_.string(vendor), reason);
    });
  }

  Module &module_;
  PassContext &context_;
  ChoiceProblem problem_;
  std::vector<StringId> labels_; // of vendors, label 1 first
  std::vector<NodeId> items_;
  std::vector<NodeId> apart_; // composites that another vendor than theirs gets
  std::unordered_map<NodeId, uint32_t> itemOf_;
  std::unordered_map<TensorRef, uint32_t> valueOf_;
  std::map<StringId, std::unique_ptr<VendorTimes>> times_;
};

} // namespace

Expected<bool> chooseVendors(Module &module, PassContext &context) {
  if (!context.vendors || context.vendors->size() == 0)
    return false;
  bool hasOrders = context.placement && !context.placement->empty(), changed = false;
  PinCheck pins(module, context);
  CostChoice costs(module, context);
  for (BlockId block : hostBlocks(module)) {
    for (NodeId node : module.block(block).nodes) {
      if (hasOrders)
        pins.check(node);
      if (context.refusals)
        tellPriority(module, node, *context.refusals);
    }
    if (context.hostCost && costs.isNeeded(block))
      changed |= costs.run(block);
  }
  BYCC_TRY(pins.result());
  return changed;
}

} // namespace bycc
