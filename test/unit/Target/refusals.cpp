#include "bycc/Target/RefusalLog.h"

#include <catch2/catch.hpp>

using namespace bycc;

TEST_CASE("refusals") {
  using Rows = std::vector<std::pair<std::string, std::string>>;
  RefusalLog log;
  CHECK(log.of(NodeId(3)).empty());
  log.addPattern(NodeId(5), "va", "va.p: used elsewhere");
  CHECK(log.of(NodeId(5)).empty()); // the node itself was not refused
  log.add(NodeId(5), "va", "no");
  log.add(NodeId(5), "vb", "never");
  log.add(NodeId(5), "va", "not supported");
  log.addPattern(NodeId(5), "va", "va.q: a later one");
  CHECK(log.of(NodeId(5)) == Rows{{"va", "not supported; va.p: used elsewhere"}, {"vb", "never"}});
  CHECK(log.of(NodeId(5), false) == Rows{{"va", "not supported"}, {"vb", "never"}});
  log.move(NodeId(5), NodeId(9));
  CHECK(log.of(NodeId(5)).empty());
  CHECK(log.of(NodeId(9)).size() == 2);
  log.clear();
  CHECK(log.of(NodeId(9)).empty());
}

TEST_CASE("candidates") {
  RefusalLog log;
  log.add(NodeId(1), "va", "not now");
  log.accept(NodeId(1), "va"); // a later answer counts
  log.accept(NodeId(1), "vb");
  log.passOver(NodeId(1), "vb", "va has priority");
  CHECK(log.of(NodeId(1)).empty());
  CHECK(log.candidates(NodeId(1)) == RefusalLog::Reasons{{"va", ""}, {"vb", "va has priority"}});
  log.add(NodeId(1), "vb", "never");
  CHECK(log.candidates(NodeId(1)) == RefusalLog::Reasons{{"va", ""}});
  CHECK(log.candidates(NodeId(2)).empty());
}
