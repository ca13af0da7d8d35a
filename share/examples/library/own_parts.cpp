// A program that adds a pass, a vendor and a pattern to bycc, and compiles with them a model
// that it has in memory. Build against the installed headers and libbycc:
//
//   c++ -std=c++20 -Iinclude share/examples/library/own_parts.cpp -Lbuild/lib -lbycc -o own_parts
#include "bycc/Compiler.h"
#include "bycc/IR/Visitor.h"

#include <cfloat>
#include <cstdio>
#include <string_view>

using namespace bycc;

namespace {

// The pass: clips whose bounds no float32 can reach are left out.
Expected<bool> dropWideClips(Module &module, PassContext &) {
  return rewriteFunction(module, module.main(), [&](NodeId node, Builder &) -> Expected<NodeId> {
    bool isWide = module.isOp(node, ops::clip) &&
                  module.attr(node, "a_min")->asFloat() < -FLT_MAX &&
                  module.attr(node, "a_max")->asFloat() > FLT_MAX;
    return isWide ? module.operands(node)[0] : node;
  });
}

// The vendor: its device can do abs, and abs with relu behind it.
int32_t supports(void *, const bycc_target *, const bycc_region *region, bycc_answer *answer) {
  const bycc_node &node = *bycc_node_at(region, 0);
  if (node.op == std::string_view("abs") || node.op == std::string_view("tiny.abs_relu"))
    return answer->offer(answer, "unit", 0.01), 1;
  return answer->reason(answer, "the device has abs only"), 0;
}

// Bytes for its run half, which a plugin of the runtime would be.
int32_t compile(void *, const bycc_target *, const bycc_region *region, bycc_answer *answer) {
  std::string code;
  for (uint32_t i = 0; i < region->num_nodes; ++i)
    code += std::string(bycc_node_at(region, i)->op) + ";";
  answer->blob(answer, code.data(), code.size());
  return 0;
}

const bycc_vendor_compiler tiny = {.abi_version = BYCC_VENDOR_ABI_VERSION,
                                   .size = sizeof tiny,
                                   .name = "tiny",
                                   .version = "1.0",
                                   .supports = supports,
                                   .compile = compile};

const char pattern[] = R"json({"schema": 1, "vendor": "tiny",
                               "patterns": [{"name": "tiny.abs_relu", "root": "nn.relu(abs($x))"}]})json";

const char model[] = R"(#[version = "0.0.5"]
def @main(%x: Tensor[(64, 64), float32]) -> Tensor[(64, 64), float32] {
  %0 = abs(%x);
  %1 = clip(%0, a_min=-1e300f, a_max=1e300f);
  %2 = nn.relu(%1);
  tanh(%2)
})";

Expected<CompiledModel> run() {
  Compiler compiler;
  BYCC_TRY(compiler.addPass(
      {"drop-wide-clips", "drop clips that change nothing", 1, {}, {}, {}, dropWideClips},
      {PassPlace::Side::Before, "merge-composite"}));
  BYCC_TRY(compiler.addVendor(tiny));
  BYCC_TRY(compiler.addPatterns(pattern, "tiny.json"));
  CompileRequest request;
  request.input.model = "net.relay";
  request.files["net.relay"] = Storage::own(std::string(model));
  request.vendors.annotate = "tiny";
  return compiler.compile(request);
}

} // namespace

int main() {
  Expected<CompiledModel> compiled = run();
  std::fputs(compiled ? compiled->report.text().c_str() : compiled.error().str().c_str(),
             compiled ? stdout : stderr);
  return compiled ? 0 : exitCode(compiled.error().status());
}
