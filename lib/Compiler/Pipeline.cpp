// The default pipeline, as one list to read. A pass runs when its level in the
// registry is at most the level asked for.

#include "bycc/Compiler/Pipeline.h"

#include "bycc/Compiler/TextPass.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Support/Error.h"

#include <algorithm>
#include <string_view>

namespace bycc {

void registerAllPasses(PassRegistry &registry) {
  registerTransforms(registry);
#define BYCC_PASS(function, name, level, needs, makes, options, description)                       \
  registry.add(name, level, needs, makes, options, description, function);
#include "bycc/Partition/Passes.def"
#undef BYCC_PASS
  registry.add("pipe", 4, "!annotations", "", "<program> args timeout form constants",
               "send the program's text through a program of the user's", pipeThroughProgram);
}

bool choosesPlan(const Pipeline &pipeline) {
  return std::ranges::any_of(pipeline, [](const PipelineEntry &entry) {
    return entry.pass == "choose-plan" || entry.pass == "choose-vendors" ||
           entry.pass == "prune-regions";
  });
}

namespace {

// Puts passes of the library's user beside the first place of the pass that they name,
// which itself may be left out at this level, or be one of theirs.
class OwnPasses {
public:
  OwnPasses(const std::vector<Extensions::Pass> &passes, int level)
      : passes_(passes), level_(level), isPlaced_(passes.size()) {}

  void add(Pipeline &pipeline, PassPlace::Side side, const std::string &name) {
    for (size_t i = 0; i < passes_.size(); ++i) {
      const Extensions::Pass &pass = passes_[i];
      if (isPlaced_[i] || pass.place.side != side || pass.place.pass != name)
        continue;
      isPlaced_[i] = true;
      add(pipeline, PassPlace::Side::Before, pass.info.name);
      if (pass.info.level <= level_)
        pipeline.push_back({pass.info.name, {}});
      add(pipeline, PassPlace::Side::After, pass.info.name);
    }
  }

private:
  const std::vector<Extensions::Pass> &passes_;
  int level_;
  std::vector<bool> isPlaced_;
};

} // namespace

Pipeline defaultPipeline(const PassRegistry &registry, int level, const PipelineWishes &wishes) {
  // clang-format off
  static constexpr std::string_view simplify[] = {
    "to-graph-normal-form",
    "fake-quantization-to-integer", // before dequantize of a weight is folded
    "simplify-inference",         // batch norm becomes an affine, dropout goes
    "fold-constants",
    "dynamic-to-static",          // operands that are constants by now
    "simplify-expr",
    "canonicalize-ops",
    "fold-scale-axis",            // the affine goes into the weights before it
    "recognize-layer-norm",       // the forms that exporters decompose
    "recognize-gelu",
    "recognize-attention",
    "split-gated-products",
    "fold-constants",
    "simplify-expr",
    "eliminate-common-subexpr",
    "eliminate-dead-code",
  };
  static constexpr std::string_view partition[] = {
    "merge-composite",
    "annotate-target",
    "choose-plan",
    "partition-graph",
  };
  static constexpr std::string_view replay[] = {
    "merge-composite",
    "annotate-target",
    "replay-plan",
    "partition-graph",
  };
  static constexpr std::string_view host[] = {
    "choose-host-layout",
    "legalize",                   // at every level
    "fuse-ops",
  };
  // clang-format on
  static const std::vector<Extensions::Pass> none;
  OwnPasses own(wishes.own ? *wishes.own : none, level);
  Pipeline pipeline;
  auto addAtAnyLevel = [&](PipelineEntry entry, bool runs = true) {
    std::string name = entry.pass;
    own.add(pipeline, PassPlace::Side::Before, name);
    if (runs)
      pipeline.push_back(std::move(entry));
    own.add(pipeline, PassPlace::Side::After, name);
  };
  auto add = [&](std::string_view name) {
    const PassInfo *pass = registry.find(name);
    BYCC_ASSERT(pass, "the default list names registered passes: " + std::string(name));
    addAtAnyLevel({pass->name, {}}, pass->level <= level);
  };
  auto addSimplify = [&] {
    for (std::string_view name : simplify)
      add(name);
    // Behind the passes that look for forms: none of them need look through casts.
    // In front of vendors, and asked for at every level.
    if (wishes.isMixed)
      addAtAnyLevel({"to-mixed-precision", {{"dtype", "bfloat16"}}});
  };
  if (wishes.isWrittenByHand)
    add("read-annotations");
  // Annotated nodes go into functions of their vendors before anything could
  // move or replace them.
  if (!wishes.isAnnotated)
    addSimplify();
  if (wishes.hasOrders)
    add("place-nodes"); // names are checked even when no vendor is in use
  if (wishes.hasVendors && wishes.hasPlan)
    for (std::string_view name : replay)
      add(name);
  else if (wishes.hasVendors)
    for (std::string_view name : partition)
      add(name);
  if (wishes.isAnnotated)
    addSimplify();
  for (std::string_view name : host)
    add(name);
  return pipeline;
}

} // namespace bycc
