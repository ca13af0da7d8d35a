// What a vendor sees of a program: flat values, attributes with defaults,
// composites with bodies.

#include "ParseProgram.h"

#include "bycc/Target/RegionCompiler.h"
#include "bycc/Target/RegionView.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace bycc;

namespace {

const bycc_attr *find(const bycc_node &node, const char *name) {
  for (uint32_t i = 0; i < node.num_attrs; ++i)
    if (!std::strcmp(bycc_attr_at(node.attrs, i)->name, name))
      return bycc_attr_at(node.attrs, i);
  return nullptr;
}

} // namespace

TEST_CASE("a function as a region") {
  Module module =
      parse(R"(def @main(%x: Tensor[(2, 4), float32], Compiler="v", global_symbol="m_v_0") {
    %0 = split(%x, indices_or_sections=2, axis=1);
    %1 = concatenate((%0.1, %0.0), axis=1);
    %2 = add(%1, 2f);
    (%2, %0.1)
  })");
  uint64_t asked = 0;
  RegionView view = RegionView::ofFunction(module, module.main(), [&](const Constant &) {
    ++asked;
    return uint64_t{128};
  });
  const bycc_region &region = view.region();
  CHECK(std::string(region.symbol) == "m_v_0");
  REQUIRE(region.num_nodes == 3);
  CHECK(region.num_inputs == 1);
  REQUIRE(region.num_outputs == 2);
  const bycc_node &split = *bycc_node_at(&region, 0), &join = *bycc_node_at(&region, 1),
                  &add = *bycc_node_at(&region, 2);
  CHECK(std::string(split.op) == "split");
  REQUIRE(split.num_outputs == 2);
  REQUIRE(join.num_inputs == 2);
  CHECK(join.inputs[0] == split.outputs[1]);
  CHECK(join.inputs[1] == split.outputs[0]);
  CHECK(find(join, "axis")->i == 1);
  CHECK(region.outputs[0] == add.outputs[0]);
  CHECK(region.outputs[1] == split.outputs[1]);
  const bycc_value &two = *bycc_value_at(&region, add.inputs[1]);
  REQUIRE(two.data);
  CHECK(*static_cast<const float *>(two.data) == 2);
  CHECK(two.rank == 0);
  CHECK(two.weights_offset == 128);
  CHECK(asked == 1);
  CHECK(bycc_value_at(&region, split.outputs[0])->dims[1] == 2);
}

TEST_CASE("a composite") {
  Module module = parse(R"(def @main(%x: Tensor[(2, 4), float32]) {
    let %f = fn (%a: Tensor[(2, 4), float32], %b: float32, Composite="v.c", Roles=["s=1", "@sum=0"]) {
      %0 = add(%a, %b); nn.relu(%0) };
    %f(%x, 2f)
  })");
  NodeId call = module.block(module.function(module.main()).body).result;
  RegionView view = RegionView::ofNode(module, call);
  const bycc_region &region = view.region();
  REQUIRE(region.num_nodes == 1);
  const bycc_node &node = *bycc_node_at(&region, 0);
  CHECK(std::string(node.op) == "v.c");
  REQUIRE(node.body);
  CHECK(node.body->num_nodes == 2);
  REQUIRE(node.body->num_inputs == 2);
  // The constant that is passed in is visible inside.
  CHECK(bycc_value_at(node.body, node.body->inputs[1])->data != nullptr);
  CHECK(region.num_inputs == 1);
  REQUIRE(node.num_roles == 2);
  CHECK(std::string(bycc_role_at(&node, 0)->name) == "s");
  CHECK(bycc_role_at(&node, 0)->index == 1);
  CHECK(std::string(bycc_role_at(&node, 1)->name) == "sum");
  CHECK(bycc_role_at(&node, 1)->kind == BYCC_ROLE_NODE);
}

TEST_CASE("symbols with what they likely are") {
  Module module = parse("def @main(%x: Tensor[(batch, seq, 4), float32]) { nn.relu(%x) }");
  auto view = [&] { return RegionView::ofFunction(module, module.main()); };
  RegionView usual = view();
  const bycc_region &region = usual.region();
  REQUIRE(region.num_symbols == 2);
  CHECK(std::string(bycc_symbol_at(&region, 0)->name) == "batch");
  CHECK(bycc_symbol_at(&region, 0)->likely == 1);
  CHECK(bycc_symbol_at(&region, 1)->likely == 64);
  auto tuned = tuningHash(region), content = contentHash(region);
  module.types.setLikely(module.types.symbol("seq"), 128);
  RegionView said = view();
  CHECK(bycc_symbol_at(&said.region(), 1)->likely == 128);
  CHECK(tuningHash(said.region()) != tuned); // another record, another blob
  CHECK(contentHash(said.region()) != content);
}

TEST_CASE("a failing vendor") {
  Module module = parse("def @main(%x: Tensor[(2), float32]) { abs(%x) }");
  bycc_vendor_compiler compiler{};
  compiler.abi_version = BYCC_VENDOR_ABI_VERSION;
  compiler.size = sizeof compiler;
  compiler.name = "bad";
  compiler.supports = [](void *, const bycc_target *, const bycc_region *, bycc_answer *answer) {
    answer->reason(answer, "not today");
    return 0;
  };
  compiler.compile = [](void *, const bycc_target *, const bycc_region *, bycc_answer *answer) {
    answer->reason(answer, "abs is broken");
    answer->blame(answer, 0);
    return 1;
  };
  auto vendor = Vendor::fromCompiler(&compiler).takeValue();
  TargetInfo target;
  VendorAsker asker(*vendor, module, target);
  NodeId call = module.block(module.function(module.main()).body).result;
  CHECK(asker.supports(call).reason == "not today");
  RegionOutcome outcome =
      compileRegion(*vendor, target, RegionView::ofFunction(module, module.main()));
  CHECK(outcome.kind == RegionOutcome::Kind::Refused);
  CHECK(outcome.reason == "abs is broken");
  CHECK(outcome.blamed == 0);
}
