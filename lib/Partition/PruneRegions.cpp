// Gives regions that are not worth their transfers back to the host: those below
// the limits of the command line or of their vendor. Every node is told why. A
// region that holds a pinned node stays.
//
// Where regions were not merged, every annotated call is one.

#include "bycc/IR/Op.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

#include "Composites.h"
#include "Scopes.h"

#include <cstdio>
#include <map>
#include <unordered_map>

namespace bycc {

namespace {

struct Candidate {
  BlockId block;
  StringId vendor;
  std::vector<NodeId> nodes; // calls of operators and composites, in order
  int64_t ops = 0;
  double flops = 0;
  bool isPinned = false;
};

std::string counted(int64_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

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
    for (const Candidate &region : regions_) {
      if (region.isPinned)
        continue;
      std::string why = whyTooSmall(region);
      if (why.empty())
        continue;
      giveBack(region, why);
      changed = true;
    }
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
      regions_.push_back({block, annotation.vendors[0], {}, 0, 0, false});
    Candidate &region = regions_[at];
    region.nodes.push_back(node);
    std::string_view vendor = module_.string(region.vendor);
    forEachOperator(module_, node, [&](NodeId call) {
      const OpInfo &info = opInfo(module_.node(call).op);
      ++region.ops;
      region.flops += info.flops ? info.flops(module_, call) : 0;
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

  void giveBack(const Candidate &region, const std::string &why) {
    std::string vendor(module_.string(region.vendor));
    std::string reason = "its region of " + counted(region.ops, "op") + " and " +
                         number(region.flops) + " FLOPs is " + why;
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
  std::map<uint32_t, std::vector<NodeId>> dissolved_; // composites, by block
};

} // namespace

Expected<bool> pruneRegions(Module &module, PassContext &context) {
  if (!context.vendors || context.vendors->size() == 0)
    return false;
  return Pruner(module, context).run();
}

} // namespace bycc
