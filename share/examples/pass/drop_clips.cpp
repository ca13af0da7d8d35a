// Adds a pass to libbycc and runs it: `drop-wide-clips` removes clips whose bounds
// no float32 can reach. Build against the installed headers and libbycc:
//
//   c++ -std=c++20 -Iinclude share/examples/pass/drop_clips.cpp -Lbuild/lib -lbycc -o drop_clips
//   LD_LIBRARY_PATH=build/lib ./drop_clips model.relay

#include "bycc/IR/Printer.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Support/File.h"
#include "bycc/Target/TargetInfo.h"
#include "bycc/Transforms/PassManager.h"

#include <cfloat>
#include <cstdio>

using namespace bycc;

namespace {

Expected<bool> dropWideClips(Module &module, PassContext &) {
  bool changed = false;
  for (FunctionId function : optimizableFunctions(module))
    changed |= BYCC_TRY(rewriteFunction(module, function, [&](NodeId node, Builder &) -> Expected<NodeId> {
      if (!module.isOp(node, ops::clip))
        return node;
      bool isWide = module.attr(node, "a_min")->asFloat() < -FLT_MAX &&
                    module.attr(node, "a_max")->asFloat() > FLT_MAX;
      return isWide ? module.operands(node)[0] : node;
    }));
  return changed;
}

Expected<std::string> run(const std::string &path) {
  std::string text = BYCC_TRY(readFile(path));
  Module module = BYCC_TRY(parseRelay(text, path));

  PassRegistry registry;
  registerTransforms(registry);
  registry.add("drop-wide-clips", 1, "", "", "", "drop clips that change nothing", dropWideClips);

  Pipeline pipeline = BYCC_TRY(parsePipeline("drop-wide-clips,eliminate-dead-code", registry, {}));
  TargetInfo target;
  PassContext context;
  context.target = &target;
  PassManager manager(registry, {});
  BYCC_TRY(manager.run(module, context, pipeline));
  return printModule(module);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: drop_clips MODEL.relay\n");
    return 2;
  }
  auto text = run(argv[1]);
  if (!text) {
    std::fprintf(stderr, "%s\n", text.error().str().c_str());
    return exitCode(text.error().status());
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}
