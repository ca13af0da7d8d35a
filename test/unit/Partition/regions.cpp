// Queries on the regions of a block.

#include "bycc/Parser/Relay.h"
#include "bycc/Partition/AnnotatedRegions.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

//   x - abs - tanh - add      abs and add are va's, tanh is vb's, sin the host's
//         `----------'  `- sin
struct Diamond {
  Module module;
  std::vector<NodeId> nodes;
  Diamond() {
    const char *text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n"
                       "%0 = abs(%x); %1 = tanh(%0); %2 = add(%0, %1); %3 = sin(%2); (%3, %0) }";
    module = parseRelay(text, "t.relay").takeValue();
    nodes = module.block(body()).nodes;
    mark(0, "va");
    mark(1, "vb");
    mark(2, "va");
  }
  BlockId body() const { return module.function(module.main()).body; }
  void mark(size_t node, const char *vendor) {
    Annotation annotation;
    annotation.vendors = {module.intern(vendor)};
    module.setAnnotation(nodes[node], annotation);
  }
};

} // namespace

TEST_CASE("regions of a block") {
  Diamond d;
  NodePlaces places(d.module);
  AnnotatedRegions regions(d.module, places, d.body());
  REQUIRE(regions.numItems() == 5); // four calls and the result tuple
  CHECK(regions.regions().empty());
  CHECK(regions.regionOf(0) == AnnotatedRegions::none);
  CHECK(d.module.string(regions.vendorOf(1)) == "vb");
  CHECK_FALSE(regions.vendorOf(3));

  uint32_t first = regions.create(0), middle = regions.create(1), last = regions.create(2);
  CHECK(regions.regions() == std::vector<uint32_t>{0, 1, 2});
  CHECK(regions.isAcyclic());
  CHECK_FALSE(regions.merge(first, middle)); // another vendor
  NodeId x = d.module.function(d.module.main()).params[0];
  CHECK(regions.inputs(first) == std::vector{TensorRef{x, 0}});
  CHECK(regions.outputs(first) == std::vector{TensorRef{d.nodes[0], 0}});
  CHECK(regions.inputs(last).size() == 2);

  CHECK(regions.merge(first, last));
  CHECK(regions.regionOf(2) == regions.regionOf(0));
  CHECK(regions.items(0) == std::vector<uint32_t>{0, 2});
  CHECK_FALSE(regions.isAcyclic()); // tanh needs it and it needs tanh
  CHECK(regions.outputs(0).size() == 2);

  uint64_t steps = 1000;
  regions.regroup(steps);
  CHECK(regions.isAcyclic());
  CHECK(regions.regions().size() == 3);
  regions.separate();
  CHECK(regions.regions().size() == 3);
}

// Annotations are on calls; the tuple and the projections between them follow.
TEST_CASE("regions read from annotations") {
  const char *text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 4), float32]) {\n"
                     "%0 = split(%x, indices_or_sections=2, axis=1); %1 = (%0.1, %0.0);\n"
                     "%2 = concatenate(%1, axis=1); (%2, %0.0) }";
  Module module = parseRelay(text, "t.relay").takeValue();
  BlockId body = module.function(module.main()).body;
  std::vector<NodeId> nodes = module.block(body).nodes;
  for (NodeId node : nodes)
    if (module.node(node).kind == NodeKind::CallOp)
      module.setAnnotation(node, {{module.intern("va")}, 7});
  NodePlaces places(module);
  AnnotatedRegions regions(module, places, body);
  REQUIRE(regions.regions() == std::vector<uint32_t>{0});
  CHECK(regions.items(0).size() == nodes.size() - 1); // all but the result
  CHECK(regions.isAcyclic());
  CHECK(regions.inputs(0).size() == 1);
  CHECK(regions.outputs(0).size() == 2);
  CHECK(regions.whyApart(0, 0) == "they are one region");
}

TEST_CASE("tensors through tuples and projections") {
  const char *text = "#[version = \"0.0.5\"]\ndef @main(%t: (Tensor[(2), float32], (bool, int32)), "
                     "%x: int64) { %0 = (%x, %t); %1 = %0.1; %2 = (%1.1, %0.0); (%2.0, %1.0) }";
  Module module = parseRelay(text, "t.relay").takeValue();
  NodeId t = module.function(module.main()).params[0];
  std::vector<TensorRef> tensors;
  resolveTensors(module, module.block(module.function(module.main()).body).result, tensors);
  CHECK(tensors == std::vector{TensorRef{t, 1}, TensorRef{t, 2}, TensorRef{t, 0}});
}
