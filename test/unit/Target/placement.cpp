#include "bycc/Target/Placement.h"

#include <catch2/catch.hpp>

using namespace bycc;

TEST_CASE("placement rules") {
  PlacementRules rules;
  CHECK(rules.empty());
  CHECK(rules.whyNot(NodeId(7), "va") == nullptr);
  rules.forbid(NodeId(7), "va", "first");
  rules.forbid(NodeId(7), "va", "second");
  REQUIRE(rules.whyNot(NodeId(7), "va"));
  CHECK(*rules.whyNot(NodeId(7), "va") == "first");
  CHECK(rules.whyNot(NodeId(7), "vb") == nullptr);
  CHECK(rules.whyNot(NodeId(6), "va") == nullptr);

  rules.pin(NodeId(2), "vb", "pinned");
  CHECK(rules.pinOf(NodeId(2)) == "vb");
  CHECK(rules.whyNot(NodeId(2), "vb") == nullptr);
  CHECK(*rules.whyNot(NodeId(2), "va") == "pinned");
  rules.pin(NodeId(2), "host", "pinned again");
  CHECK(*rules.whyNot(NodeId(2), "vb") == "pinned again");

  rules.setLabel(NodeId(2), 4);
  rules.follow(NodeId(2), NodeId(90));
  CHECK(rules.labelOf(NodeId(90)) == 4);
  CHECK(rules.pinOf(NodeId(90)) == "host");
  rules.follow(NodeId(55), NodeId(56));
  CHECK(rules.labelOf(NodeId(56)) == 0);
}
