// The C boundary: offers and their choice, how often a vendor is asked, its own
// annotator over blocks, tables of older headers.

#include "ParseProgram.h"

#include "bycc/IR/Visitor.h"
#include "bycc/Support/Sized.h"
#include "bycc/Target/RegionCompiler.h"
#include "bycc/Target/RegionView.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstring>

using namespace bycc;

namespace {

std::vector<NodeId> callsOf(const Module &module, BlockId block) {
  std::vector<NodeId> calls;
  for (NodeId node : module.block(block).nodes)
    if (module.node(node).kind == NodeKind::CallOp)
      calls.push_back(node);
  return calls;
}
std::vector<NodeId> callsOf(const Module &module) {
  return callsOf(module, module.function(module.main()).body);
}

int asked = 0;
std::string compiled; // implementations that compile() saw

int32_t supports(void *, const bycc_target *, const bycc_region *region, bycc_answer *answer) {
  ++asked;
  std::string op = bycc_node_at(region, 0)->op;
  if (op == "add") {
    // Adds of a constant 1 only.
    const bycc_value &right = *bycc_value_at(region, bycc_node_at(region, 0)->inputs[1]);
    if (!right.data || *static_cast<const float *>(right.data) != 1) {
      answer->reason(answer, "wants a 1");
      return 0;
    }
    return 1;
  }
  if (op == "abs") {
    answer->offer(answer, "unknown", -1);
    answer->offer(answer, "slow", 9);
    answer->offer(answer, "quick", 2.5);
    answer->offer(answer, "as quick", 2.5);
    answer->offer(answer, "odd", NAN);
  }
  if (op == "sin")
    answer->offer(answer, "only", -1);
  return 1;
}

int32_t compile(void *, const bycc_target *, const bycc_region *region, bycc_answer *answer) {
  compiled.clear();
  for (uint32_t i = 0; i < region->num_nodes; ++i)
    if (const char *implementation = bycc_node_at(region, i)->implementation)
      compiled += std::string(implementation) + ";";
    else
      compiled += "-;";
  answer->blob(answer, "x", 1);
  return 0;
}

// Takes every second node of a block, says nothing about sin, fails on cos.
int32_t annotate(void *, const bycc_target *, const bycc_region *block, bycc_answer *answer) {
  for (uint32_t i = 0; i < block->num_nodes; ++i) {
    std::string op = bycc_node_at(block, i)->op;
    if (op == "cos") {
      answer->reason(answer, "cos is too much");
      return 1;
    }
    if (op == "sin")
      continue;
    if (i % 2)
      answer->refuse(answer, i, "odd place");
    else
      answer->take(answer, i, 0);
  }
  return 0;
}

bycc_vendor_compiler table(bool annotates) {
  auto result = sized<bycc_vendor_compiler>();
  result.abi_version = BYCC_VENDOR_ABI_VERSION;
  result.name = "v";
  result.version = "1";
  result.supports = supports;
  result.compile = compile;
  if (annotates)
    result.annotate = annotate;
  return result;
}

std::unique_ptr<Vendor> vendorOf(const bycc_vendor_compiler &compiler) {
  auto vendor = Vendor::fromCompiler(&compiler);
  REQUIRE(vendor);
  return vendor.takeValue();
}

} // namespace

TEST_CASE("the cheapest implementation is chosen and reaches compile") {
  Module module =
      parse(R"(def @main(%x: Tensor[(4), float32], Compiler="v", global_symbol="m_v_0") {
    %0 = abs(%x);
    %1 = sin(%0);
    exp(%1)
  })");
  TargetInfo target;
  auto vendor = vendorOf(table(false));
  VendorAsker asker(*vendor, module, target);
  std::vector<NodeId> calls = callsOf(module);
  CHECK(asker.supports(calls[0]).implementations.size() == 5);
  CHECK(asker.supports(calls[0]).chosen()->name == "quick");
  CHECK(asker.costOf(calls[0]) == 2.5);
  CHECK(asker.supports(calls[1]).chosen()->name == "only");
  CHECK(!asker.costOf(calls[1]));
  CHECK(!asker.supports(calls[2]).chosen());
  CHECK(!asker.costOf(calls[2]));
  RegionView view = RegionView::ofFunction(module, module.main());
  chooseImplementations(view, *vendor, module, target);
  compileRegion(*vendor, target, view);
  CHECK(compiled == "quick;only;-;");
}

TEST_CASE("nodes that look alike are asked about once, other constants are not alike") {
  Module module = parse(R"(def @main(%x: Tensor[(4), float32]) {
    %0 = add(%x, 1f);
    %1 = add(%0, 1f);
    %2 = add(%1, 2f);
    %3 = add(%2, %x);
    add(%3, %2)
  })");
  TargetInfo target;
  auto vendor = vendorOf(table(false));
  VendorAsker asker(*vendor, module, target);
  asked = 0;
  std::string answers;
  for (NodeId call : callsOf(module))
    answers += asker.supports(call) ? 'y' : 'n';
  CHECK(answers == "yynnn");
  CHECK(asked == 3);
}

TEST_CASE("large constants count by value, too") {
  auto weights = [](const char *first) {
    std::string list = first;
    for (int i = 1; i < 32; ++i)
      list += ", 1";
    return "Tensor[(32), float32][" + list + "]";
  };
  Module module = parse("def @main(%x: Tensor[(32), float32]) {\n  %0 = add(%x, " + weights("1") +
                        ");\n  add(%0, " + weights("5") + ")\n}");
  TargetInfo target;
  auto vendor = vendorOf(table(false));
  VendorAsker asker(*vendor, module, target);
  std::vector<NodeId> calls = callsOf(module);
  CHECK(asker.supports(calls[0]).isYes);
  CHECK(asker.supports(calls[1]).reason == "wants a 1");
}

TEST_CASE("a vendor's own annotator decides instead of supports") {
  Module module = parse(R"(def @main(%x: Tensor[(4), float32]) {
    %0 = abs(%x);
    %1 = abs(%0);
    %2 = sin(%1);
    %3 = exp(%2);
    abs(%3)
  })");
  TargetInfo target;
  auto vendor = vendorOf(table(true));
  VendorAsker asker(*vendor, module, target);
  asked = 0;
  CHECK(!asker.annotateBlock(module.function(module.main()).body));
  std::vector<NodeId> calls = callsOf(module);
  CHECK(asker.supports(calls[0]).isYes);
  CHECK(asker.supports(calls[1]).reason == "odd place");
  CHECK(asker.supports(calls[2]).reason == "its annotator does not take it");
  CHECK(!asker.supports(calls[3]).isYes);
  CHECK(asker.supports(calls[4]).isYes);
  CHECK(asked == 0);
}

TEST_CASE("an annotator that fails takes nothing") {
  Module module = parse("def @main(%x: Tensor[(4), float32]) {\n  %0 = abs(%x);\n  cos(%0)\n}");
  TargetInfo target;
  auto vendor = vendorOf(table(true));
  VendorAsker asker(*vendor, module, target);
  CHECK(asker.annotateBlock(module.function(module.main()).body) == "cos is too much");
  for (NodeId call : callsOf(module))
    CHECK(asker.supports(call).reason == "its annotator fails: cos is too much");
}

TEST_CASE("a block as one region: outer values are inputs, what others use is an output") {
  Module module = parse(R"(def @main(%c: bool, %x: Tensor[(4), float32]) {
    %0 = abs(%x);
    %1 = (%0, %x);
    %2 = add(%1.0, 2f);
    %3 = if (%c) {
      %4 = add(%2, %0);
      sin(%4)
    } else {
      %x
    };
    %5 = fn (%a: Tensor[(4), float32]) { exp(%a) };
    %6 = %5(%3);
    multiply(%6, %3)
  })");
  BlockId body = module.function(module.main()).body;
  RegionView view = RegionView::ofBlock(module, body);
  const bycc_region &block = view.region();
  REQUIRE(block.num_nodes == 3);
  CHECK(std::string(bycc_node_at(&block, 0)->op) == "abs");
  CHECK(bycc_node_at(&block, 1)->inputs[0] == bycc_node_at(&block, 0)->outputs[0]);
  CHECK(bycc_value_at(&block, bycc_node_at(&block, 1)->inputs[1])->data);
  CHECK(block.num_inputs == 3); // %x, the if, the call of the closure
  std::vector<uint32_t> outputs(block.outputs, block.outputs + block.num_outputs);
  auto isOutput = [&](uint32_t node) {
    return std::ranges::count(outputs, bycc_node_at(&block, node)->outputs[0]) == 1;
  };
  CHECK(isOutput(0)); // used in the branch
  CHECK(isOutput(1));
  CHECK(isOutput(2));
  CHECK(outputs.size() == 3);

  std::vector<std::string> inner;
  forEachBlock(module, module.main(), [&](BlockId id) {
    RegionView part = RegionView::ofBlock(module, id);
    std::string ops;
    for (uint32_t i = 0; i < part.region().num_nodes; ++i)
      ops += std::string(bycc_node_at(&part.region(), i)->op) + " ";
    inner.push_back(ops + std::to_string(part.region().num_inputs));
  });
  CHECK(inner == std::vector<std::string>{"add sin 2", "0", "exp 1", "abs add multiply 3"});
}

TEST_CASE("a table of an older header: what it lacks is null") {
  bycc_vendor_compiler old = table(true);
  old.size = offsetof(bycc_vendor_compiler, num_options);
  old.num_options = 7;
  old.operators = "abs";
  auto vendor = vendorOf(old);
  CHECK(vendor->compiler()->supports == supports);
  CHECK(!vendor->compiler()->passes);
  CHECK(!vendor->compiler()->annotate);
  CHECK(!vendor->compiler()->tune);
  CHECK(!vendor->compiler()->operators);
  CHECK(vendor->settings.options().empty());
}
