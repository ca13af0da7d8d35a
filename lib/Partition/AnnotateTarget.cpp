// Asks every vendor about every call and records all that said yes, best first,
// so that later passes can still choose; each no is kept with its reason. The
// program itself is not changed: annotations stand beside the nodes.
//
// A composite is first of all its vendor's. Another vendor could have it taken apart,
// if it would take every operator in it by itself.
//
// A call without operands (zeros, ones) stays on the host: to a region it is an
// input like a constant. Tuples and projections are wiring, not asked about.

#include "bycc/Partition/Passes.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/RegionView.h"
#include "bycc/Target/Vendor.h"

#include "AskVendor.h"
#include "Composites.h"
#include "ReadAnnotations.h"
#include "Scopes.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

namespace bycc {

namespace {

constexpr const char *ofAnother = "composite of another vendor";

class Annotator {
public:
  Annotator(Module &module, PassContext &context, const std::vector<const Vendor *> &vendors)
      : module_(module), refusals_(context.refusals), placement_(context.placement),
        isAlone_(!context.vendors->mergeRegions), nextRegion_(firstFreeRegion(module)) {
    for (const Vendor *vendor : vendors) {
      askers_.push_back(std::make_unique<VendorAsker>(*vendor, module, *context.target));
      names_.push_back(module.intern(vendor->name()));
    }
  }

  // Vendors with an annotator of their own look at a block as a whole first.
  void open(BlockId block, PassContext &context) {
    for (auto &asker : askers_) {
      if (auto why = asker->annotateBlock(block))
        context.warn({}, asker->vendor().name() + " takes nothing: its annotator fails: " + *why);
      separateGroups(*asker, block);
      std::vector<NodeId> asked;
      for (NodeId node : module_.block(block).nodes) {
        NodeKind kind = module_.node(node).kind;
        if ((kind == NodeKind::CallOp || kind == NodeKind::Call) &&
            whyNotAsked(module_, placement_, asker->vendor(), node).empty())
          asked.push_back(node);
      }
      asker->askAhead(asked);
    }
  }

  // Groups of an annotator are apart as what has different labels is. A label counts for the
  // node whichever vendor gets it.
  void separateGroups(const VendorAsker &asker, BlockId block) {
    for (NodeId node : module_.block(block).nodes)
      if (uint32_t group = asker.groupOf(node); group != 0 && placement_) {
        auto [found, isNew] = groupLabels_.try_emplace(
            {placement_->labelOf(node), module_.intern(asker.vendor().name()).index, block.index,
             group},
            firstGroupLabel + static_cast<uint32_t>(groupLabels_.size()));
        placement_->setLabel(node, found->second);
      }
  }

  void annotate(NodeId node) {
    const Node &n = module_.node(node);
    std::optional<FunctionId> composite = compositeOf(module_, node);
    if (n.kind != NodeKind::CallOp && !composite)
      return;
    // What an earlier run found stays, before what this one finds.
    const Annotation *old = module_.annotation(node);
    Annotation annotation = old ? *old : Annotation{};
    StringId owner = ownerOf(module_, node);
    for (size_t i = 0; i < askers_.size(); ++i) {
      bool isOwner = names_[i] == owner;
      if (isListed(annotation, names_[i]) ||
          !(isOwner || !composite ? takes(i, node) : takesApart(i, node)))
        continue;
      annotation.vendors.insert(isOwner ? annotation.vendors.begin() : annotation.vendors.end(),
                                names_[i]);
    }
    // One that its own vendor may not have is nobody's.
    if (composite && !isListed(annotation, owner)) {
      for (StringId vendor : annotation.vendors)
        refuse(node, std::string(module_.string(vendor)), ofAnother);
      annotation = old ? *old : Annotation{};
    }
    if (annotation.vendors.empty())
      return;
    if (isAlone_ && annotation.region < 0)
      annotation.region = nextRegion_++;
    changed_ |= !old || !(*old == annotation);
    module_.setAnnotation(node, std::move(annotation));
  }

  bool changed() const { return changed_; }

private:
  static bool isListed(const Annotation &annotation, StringId vendor) {
    return std::ranges::find(annotation.vendors, vendor) != annotation.vendors.end();
  }

  bool takes(size_t vendor, NodeId node) {
    const std::string &name = askers_[vendor]->vendor().name();
    if (std::string why = whyNotTaken(module_, placement_, *askers_[vendor], node); !why.empty())
      return refuse(node, name, why);
    accept(node, name);
    return true;
  }

  // Would it take each operator of another vendor's composite?
  bool takesApart(size_t vendor, NodeId node) {
    const Vendor &asked = askers_[vendor]->vendor();
    bool hasAnnotator = !asked.isEmulated() && asked.compiler()->annotate;
    if (asked.onlyAsked || hasAnnotator || !canTakeApart(module_, users(), node))
      return refuse(node, asked.name(), ofAnother);
    ApartView view(module_, node);
    std::string why;
    forEachOperator(module_, node, [&](NodeId call) {
      if (why.empty())
        if (std::string no = whyNotTaken(module_, placement_, *askers_[vendor], call); !no.empty())
          why = std::string(ofAnother) + ", of which it refuses " + nodeName(module_, call) + ": " +
                no;
    });
    if (!why.empty())
      return refuse(node, asked.name(), why);
    accept(node, asked.name());
    return true;
  }

  const Users &users() {
    if (!users_)
      users_ = std::make_unique<Users>(module_);
    return *users_;
  }

  void accept(NodeId node, const std::string &vendor) {
    if (refusals_)
      forEachOperator(module_, node, [&](NodeId call) { refusals_->accept(call, vendor); });
  }

  // What is said about a composite is said about its operators.
  bool refuse(NodeId node, const std::string &vendor, const std::string &reason) {
    if (refusals_)
      forEachOperator(module_, node, [&](NodeId call) { refusals_->add(call, vendor, reason); });
    return false;
  }

  Module &module_;
  RefusalLog *refusals_;
  PlacementRules *placement_;
  // Above those of regions that failed (Compiler/VendorRegions).
  static constexpr uint32_t firstGroupLabel = 1u << 30;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, uint32_t>
      groupLabels_; // by label, vendor, block, group
  std::vector<std::unique_ptr<VendorAsker>> askers_;
  std::vector<StringId> names_;
  std::unique_ptr<Users> users_; // made for the first composite
  bool isAlone_;                 // every call is a region
  int32_t nextRegion_;
  bool changed_ = false;
};

Expected<std::vector<const Vendor *>> chosenVendors(const PassContext &context) {
  std::vector<const Vendor *> vendors;
  std::string names = context.option("vendors");
  if (names.empty()) {
    for (size_t i = 0; i < context.vendors->size(); ++i)
      vendors.push_back(&(*context.vendors)[i]);
    return vendors;
  }
  for (const std::string &name : split(names, ',')) {
    const Vendor *vendor = context.vendors->find(name);
    if (!vendor)
      return error(Status::Usage) << "annotate-target: vendor '" << escaped(name)
                                  << "' is not in use";
    vendors.push_back(vendor);
  }
  return vendors;
}

} // namespace

Expected<bool> annotateTarget(Module &module, PassContext &context) {
  bool changed = BYCC_TRY(readAnnotations(module, context));
  if (!context.vendors || context.vendors->size() == 0)
    return changed;
  changed |= dropUnneeded(module);
  BYCC_TRY(askAboutGiven(module, context));
  std::vector<const Vendor *> vendors = BYCC_TRY(chosenVendors(context));
  Annotator annotator(module, context, vendors);
  for (BlockId block : hostBlocks(module)) {
    annotator.open(block, context);
    for (NodeId node : module.block(block).nodes)
      annotator.annotate(node);
  }
  return changed || annotator.changed();
}

} // namespace bycc
