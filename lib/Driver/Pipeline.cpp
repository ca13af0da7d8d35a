// The default pipeline, as one list to read. A pass runs when its level in the
// registry is at most the level asked for.

#include "Pipeline.h"

#include "bycc/Partition/Passes.h"
#include "bycc/Support/Error.h"

#include <algorithm>
#include <string_view>

namespace bycc {

void registerAllPasses(PassRegistry &registry) {
  registerTransforms(registry);
#define BYCC_PASS(function, name, level, needs, makes, options, description)                      \
  registry.add(name, level, needs, makes, options, description, function);
#include "bycc/Partition/Passes.def"
#undef BYCC_PASS
}

bool choosesPlan(const Pipeline &pipeline) {
  return std::ranges::any_of(pipeline, [](const PipelineEntry &entry) {
    return entry.pass == "choose-plan" || entry.pass == "choose-vendors" ||
           entry.pass == "prune-regions";
  });
}

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
    "legalize",                   // at every level
    "fuse-ops",
  };
  // clang-format on
  Pipeline pipeline;
  auto add = [&](std::string_view name) {
    const PassInfo *pass = registry.find(name);
    BYCC_ASSERT(pass, "the default list names registered passes: " + std::string(name));
    if (pass->level <= level)
      pipeline.push_back({pass->name, {}});
  };
  auto addSimplify = [&] {
    for (std::string_view name : simplify)
      add(name);
    // Behind the passes that look for forms: none of them need look through casts.
    // In front of vendors, and asked for at every level.
    if (wishes.isMixed)
      pipeline.push_back({"to-mixed-precision", {{"dtype", "bfloat16"}}});
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
