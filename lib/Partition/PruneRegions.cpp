// Gives regions that are not worth their transfers back to the host: those below
// the limits of the command line or of their vendor, and those that the cost model
// thinks faster there (launch, operators, and every tensor across the border,
// against operators of the host). Every node is told why. A region that holds a
// pinned node stays.
//
// The model is coarse, so it has to be sure: by a factor of two where there is a
// convolution or matrix product. And a user who asks for a vendor gets it: of a
// program whose regions would all go, the best one stays.
//
// Where regions were not merged, every annotated call is one.

#include "bycc/IR/Op.h"
#include "bycc/Partition/AnnotatedRegions.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

#include "ApartReasons.h"
#include "Composites.h"
#include "CostEstimate.h"
#include "Plan.h"
#include "Scopes.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

namespace bycc {

namespace {

struct Candidate {
  BlockId block;
  StringId vendor;
  std::vector<NodeId> nodes; // calls of operators and composites, in order
  int64_t ops = 0;
  double flops = 0;
  bool isPinned = false;
  bool isHeavy = false; // holds a convolution or matrix product
  // Estimated microseconds; known only where costs are compared.
  double here = 0, onHost = 0;
};

constexpr double certainty = 2; // of the model, about heavy regions

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

// Who reads which tensor, through tuples and projections, in host code.
class TensorUses {
public:
  explicit TensorUses(const Module &module) : module_(module) {
    for (BlockId block : hostBlocks(module)) {
      for (NodeId node : module.block(block).nodes) {
        NodeKind kind = module.node(node).kind;
        if (kind != NodeKind::Tuple && kind != NodeKind::Project)
          for (NodeId operand : module.operands(node))
            add(operand, node);
      }
      add(module.block(block).result, NodeId());
    }
  }

  std::vector<double> border(const std::vector<NodeId> &nodes) {
    std::unordered_set<NodeId> inside(nodes.begin(), nodes.end());
    std::vector<double> bytes;
    std::unordered_set<TensorRef> seen;
    for (NodeId node : nodes) {
      for (NodeId operand : module_.operands(node))
        for (const TensorRef &tensor : tensorsOf(operand))
          if (!inside.contains(tensor.base) && seen.insert(tensor).second)
            bytes.push_back(bytesOfTensor(tensor));
      uint32_t count = static_cast<uint32_t>(module_.types.flatten(module_.type(node)).size());
      for (uint32_t i = 0; i < count; ++i)
        if (isReadOutside({node, i}, inside))
          bytes.push_back(bytesOfTensor({node, i}));
    }
    return bytes;
  }

private:
  void add(NodeId value, NodeId reader) {
    if (value)
      for (const TensorRef &tensor : tensorsOf(value))
        readers_[tensor].push_back(reader);
  }

  // Constants and functions left out.
  std::vector<TensorRef> tensorsOf(NodeId value) const {
    std::vector<TensorRef> tensors;
    if (module_.node(value).kind == NodeKind::Function)
      return tensors;
    resolveTensors(module_, value, tensors);
    std::erase_if(tensors, [&](const TensorRef &t) { return module_.isConstant(t.base); });
    return tensors;
  }

  double bytesOfTensor(const TensorRef &tensor) const {
    return bytesOf(module_, module_.types.flatten(module_.type(tensor.base))[tensor.index]);
  }

  bool isReadOutside(const TensorRef &tensor, const std::unordered_set<NodeId> &inside) const {
    auto found = readers_.find(tensor);
    return found != readers_.end() && std::ranges::any_of(found->second, [&](NodeId reader) {
             return !inside.contains(reader);
           });
  }

  const Module &module_;
  std::unordered_map<TensorRef, std::vector<NodeId>> readers_;
};

class Pruner {
public:
  Pruner(Module &module, PassContext &context) : module_(module), context_(context) {
    for (BlockId block : hostBlocks(module))
      for (NodeId node : module.block(block).nodes)
        if (const Annotation *annotation = module.annotation(node);
            annotation && !annotation->vendors.empty())
          add(node, block, *annotation);
  }

  bool run() {
    bool changed = false;
    std::vector<const Candidate *> slow, kept;
    for (Candidate &region : regions_) {
      std::string why = region.isPinned ? "" : whyTooSmall(region);
      if (!why.empty()) {
        giveBack(region, why, "");
        changed = true;
        continue;
      }
      (isSlow(region) ? slow : kept).push_back(&region);
    }
    if (kept.empty() && !slow.empty())
      slow.erase(std::ranges::min_element(slow, {}, [](const Candidate *region) {
        return region->here / region->onHost;
      }));
    for (const Candidate *region : slow)
      giveBack(*region, "estimated faster on the host",
               ": " + timeText(region->onHost) + " against " + timeText(region->here));
    changed |= !slow.empty();
    if (dissolved_.empty())
      return changed;
    Users users(module_);
    for (const auto &[block, calls] : dissolved_)
      dissolveComposites(module_, BlockId(block), calls, users, context_);
    return changed;
  }

private:
  void add(NodeId node, BlockId block, const Annotation &annotation) {
    size_t next = regions_.size(), at = next;
    if (annotation.region >= 0)
      at = byNumber_.try_emplace(annotation.region, next).first->second;
    if (at == next)
      regions_.push_back({block, annotation.vendors[0], {}});
    Candidate &region = regions_[at];
    region.nodes.push_back(node);
    std::string_view vendor = module_.string(region.vendor);
    forEachOperator(module_, node, [&](NodeId call) {
      const OpInfo &info = opInfo(module_.node(call).op);
      ++region.ops;
      region.flops += info.flops ? info.flops(module_, call) : 0;
      region.isHeavy |= info.kind == OpKind::OutFusable;
      region.isPinned |= context_.placement && context_.placement->pinOf(call) == vendor;
    });
  }

  // "below --min-region-ops=3", or nothing.
  std::string whyTooSmall(const Candidate &region) const {
    std::string name(module_.string(region.vendor));
    const Vendor *vendor = context_.vendors->find(name);
    if (region.ops < context_.minRegionOps)
      return "below --min-region-ops=" + std::to_string(context_.minRegionOps);
    if (region.flops < context_.minRegionFlops)
      return "below --min-region-flops=" + number(context_.minRegionFlops);
    if (vendor && region.ops < vendor->regionRules.minOps)
      return "below the " + counted(vendor->regionRules.minOps, "op") + " that " + name + " wants";
    if (vendor && region.flops < vendor->regionRules.minFlops)
      return "below the " + number(vendor->regionRules.minFlops) + " FLOPs that " + name + " wants";
    return {};
  }

  // Would the host be faster? Estimates both.
  bool isSlow(Candidate &region) {
    const Vendor *vendor = context_.vendors->find(module_.string(region.vendor));
    if (!context_.hostCost || !vendor || !vendor->cost || region.isPinned)
      return false;
    const CostModel &cost = *vendor->cost;
    VendorTimes &times = timesOf(*vendor);
    region.here = cost.launchMicroseconds;
    for (NodeId node : region.nodes) {
      region.here += times.of(node);
      region.onHost += unitMicroseconds(module_, node, *context_.hostCost) +
                       context_.hostCost->launchMicroseconds;
    }
    for (double bytes : borderOf(region))
      region.here += transferMicroseconds(bytes, cost);
    return region.onHost * (region.isHeavy ? certainty : 1) < region.here;
  }

  VendorTimes &timesOf(const Vendor &vendor) {
    auto &times = times_[vendor.name()];
    if (!times)
      times = std::make_unique<VendorTimes>(module_, vendor, *context_.target);
    return *times;
  }

  // Bytes of every tensor that goes in or out.
  std::vector<double> borderOf(const Candidate &region) {
    if (!users_)
      users_ = std::make_unique<TensorUses>(module_);
    return users_->border(region.nodes);
  }

  void giveBack(const Candidate &region, const std::string &why, const std::string &detail) {
    std::string vendor(module_.string(region.vendor));
    std::string reason = "its region of " + counted(region.ops, "op") + " and " +
                         number(region.flops) + " FLOPs is " + why + detail;
    std::string other = vendor + " was chosen, and the region of " + vendor + " is " + why;
    for (NodeId node : region.nodes) {
      std::vector<StringId> vendors = module_.annotation(node)->vendors;
      module_.setAnnotation(node, {});
      for (StringId id : vendors)
        if (context_.refusals)
          forEachOperator(module_, node, [&](NodeId call) {
            context_.refusals->passOver(call, module_.string(id),
                                        id == region.vendor ? reason : other);
          });
      if (compositeOf(module_, node))
        dissolved_[region.block.index].push_back(node);
    }
    if (context_.refusals)
      context_.refusals->addReturned({vendor, why, region.ops});
  }

  Module &module_;
  PassContext &context_;
  std::vector<Candidate> regions_;
  std::unordered_map<int32_t, size_t> byNumber_;
  std::map<std::string, std::unique_ptr<VendorTimes>> times_;
  std::unique_ptr<TensorUses> users_;
  std::map<uint32_t, std::vector<NodeId>> dissolved_; // composites, by block
};

} // namespace

Expected<bool> pruneRegions(Module &module, PassContext &context) {
  if (!context.vendors || context.vendors->size() == 0)
    return false;
  bool changed = Pruner(module, context).run();
  keepChosen(module, context.placement);
  keepApartReasons(module, context);
  return changed;
}

} // namespace bycc
