// Asks vendors about what brackets in the program give them.

#include "AskVendor.h"
#include "Composites.h"
#include "ReadAnnotations.h"
#include "Scopes.h"
#include "bycc/IR/Op.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <map>
#include <memory>

namespace bycc {

namespace {

class GivenNodes {
public:
  GivenNodes(Module &module, PassContext &context) : module_(module), context_(context) {}

  void look(BlockId block) {
    for (NodeId node : module_.block(block).nodes)
      if (const Annotation *annotation = module_.annotation(node);
          annotation && !annotation->vendors.empty() && isGiven(node))
        ask(node, block, annotation->vendors[0]);
  }

  Expected<> result() {
    if (found_.empty())
      return {};
    found_.back().notes.push_back({{}, "with --hand-annotations=trust vendors are not asked"});
    return Error(std::move(found_));
  }

private:
  // Of a composite, one operator says it for all: they are in one region.
  bool isGiven(NodeId unit) const {
    bool isGiven = context_.placement->isGiven(unit);
    forEachOperator(module_, unit,
                    [&](NodeId call) { isGiven |= context_.placement->isGiven(call); });
    return isGiven;
  }

  void ask(NodeId node, BlockId block, StringId vendor) {
    VendorAsker &asker = askerOf(vendor, block);
    if (std::string why = whyNotTaken(module_, context_.placement, asker, node);
        !why.empty() && found_.size() < maxDiagnostics)
      complain(node, asker.vendor().name(), why);
  }

  VendorAsker &askerOf(StringId vendor, BlockId block) {
    auto &[asker, seen] = askers_[vendor.index];
    if (!asker)
      asker = std::make_unique<VendorAsker>(*context_.vendors->find(module_.string(vendor)),
                                            module_, *context_.target);
    // One whose annotator fails refuses the nodes of the block, and says why.
    if (seen != block)
      asker->annotateBlock(block);
    seen = block;
    return *asker;
  }

  void complain(NodeId node, const std::string &vendor, std::string why) {
    std::optional<FunctionId> composite = compositeOf(module_, node);
    std::string what(composite ? module_.functionAttr(*composite, "Composite")->asString()
                               : opInfo(module_.node(node).op).name);
    if (context_.refusals) { // with what became of its patterns
      context_.refusals->add(node, vendor, why);
      for (const auto &[name, reason] : context_.refusals->of(node))
        if (name == vendor)
          why = reason;
    }
    Diagnostic diagnostic;
    diagnostic.status = Status::Input;
    diagnostic.location = module_.source(node);
    diagnostic.message = escaped(vendor) + " does not take " + escaped(what) + ": " + why;
    found_.push_back(std::move(diagnostic));
  }

  Module &module_;
  PassContext &context_;
  // By vendor, with the block that its annotator saw last.
  std::map<uint32_t, std::pair<std::unique_ptr<VendorAsker>, BlockId>> askers_;
  std::vector<Diagnostic> found_;
};

} // namespace

Expected<> askAboutGiven(Module &module, PassContext &context) {
  if (!context.placement || !context.placement->mustAskGiven)
    return {};
  context.placement->mustAskGiven = false;
  GivenNodes given(module, context);
  for (BlockId block : hostBlocks(module))
    given.look(block);
  return given.result();
}

} // namespace bycc
