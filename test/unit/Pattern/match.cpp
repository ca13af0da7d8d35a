// Matching against small programs.

#include "bycc/Parser/Relay.h"
#include "bycc/Pattern/Matcher.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

struct Fixture {
  Module module;
  explicit Fixture(const std::string &body) {
    std::string text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 2), float32], %y: "
                       "Tensor[(2, 2), float32]) {\n" + body + "\n}\n";
    Expected<Module> parsed = parseRelay(text, "t.relay");
    if (!parsed)
      FAIL(parsed.error().str());
    module = parsed.takeValue();
  }
  NodeId root() const { return module.block(module.function(module.main()).body).result; }
  NodeId param(size_t index) const { return module.function(module.main()).params[index]; }

  // Matches the result; `nth` way to match (0: the first), nothing when none.
  std::optional<Match> match(std::string_view text, int nth = 0,
                             std::vector<std::pair<std::string_view, std::string_view>> let = {}) {
    Expected<Pattern> pattern = parsePattern("v.p", {text, std::move(let)});
    if (!pattern)
      FAIL(pattern.error().str());
    std::optional<Match> found;
    Matcher::MayContain mayContain = [](NodeId) { return true; };
    Matcher::Accept accept = [&](const Match &match) {
      if (nth-- > 0)
        return false;
      found = match;
      return true;
    };
    Matcher(module, *pattern, mayContain, accept).match(root());
    return found;
  }
};

} // namespace

TEST_CASE("calls, constants and the order of operands") {
  Fixture f("nn.relu(add(multiply(%x, 2f), %y))");
  std::optional<Match> match = f.match("nn.relu(add(*, multiply(*, #)))");
  REQUIRE(match);
  CHECK(match->nodes.size() == 3);
  // By first appearance in the pattern, not in the program; the constant is inside.
  CHECK(match->leaves == std::vector{f.param(1), f.param(0)});
  CHECK(f.match("nn.relu(add(multiply(*, *), *))")->leaves.size() == 3);
  CHECK_FALSE(f.match("nn.relu(subtract(*, *))"));
  CHECK_FALSE(f.match("nn.relu(add(#, *))"));
  CHECK(f.match("nn.relu(add(multiply(#(2), *), *))"));
  CHECK_FALSE(f.match("nn.relu(add(multiply(#(2.5), *), *))"));
  CHECK(f.match("nn.relu(add(multiply(#(2.5~1), *), *))"));
}

TEST_CASE("one name, one value") {
  Fixture f("multiply(add(%x, %y), subtract(%x, %y))");
  CHECK(f.match("multiply(add($a, $b), subtract($a, $b))"));
  CHECK_FALSE(f.match("multiply(add($a, $a), subtract($a, *))"));
  std::optional<Match> match = f.match("multiply(add($b, $a), subtract($a, $b))");
  REQUIRE(match); // add takes its operands the other way round
  CHECK(match->leaves == std::vector{f.param(1), f.param(0)});
  REQUIRE(match->roles.size() == 2);
  CHECK(match->roles[0].name == "b");
  CHECK(match->roles[0].node == f.param(1));
}

TEST_CASE("choices stay open until the whole matches") {
  // The first alternative fits the left operand, but then the right one is wrong.
  Fixture f("%0 = tanh(%y); subtract(add(abs(%x), %0), %0)");
  CHECK(f.match("subtract(add($a | tanh($a), $b), $b)"));
  CHECK(f.match("subtract(add($b, *), $b)")); // only in the other order
  Fixture g("%0 = abs(%x); add(%0, tanh(%0))");
  CHECK(g.match("add(@n, tanh(@n))", 0, {{"n", "abs(*) | *"}}));
  CHECK_FALSE(g.match("add(@n, tanh(abs(@n)))", 0, {{"n", "abs(*) | *"}}));
}

TEST_CASE("optional parts, tuples and projections") {
  Fixture f("nn.relu(add(%x, %y))");
  CHECK(f.match("nn.relu?(add(*, *))")->nodes.size() == 2);
  CHECK(f.match("sigmoid?(nn.relu(add(*, *)))")->nodes.size() == 2);
  CHECK(f.match("nn.relu(sigmoid?(add(...)))")->leaves.size() == 2);
  Fixture g("%0 = split(%x, indices_or_sections=2); concatenate((%0.1, %y))");
  CHECK(g.match("concatenate((split(*)[1], *))"));
  CHECK_FALSE(g.match("concatenate((split(*)[0], *))"));
  CHECK_FALSE(g.match("concatenate((*, *, *))"));
}

TEST_CASE("attributes") {
  Fixture f("nn.softmax(%x, axis=1)");
  CHECK(f.match("nn.softmax{axis=1}(*)"));
  CHECK_FALSE(f.match("nn.softmax{axis=0}(*)"));
}

TEST_CASE("matching gives up") {
  // A tree of additions, each of which matches in two orders.
  std::string body = "%x", pattern = "*";
  for (int i = 0; i < 4; ++i) {
    body = "add(" + body + ", abs(" + body + "))";
    pattern = "add(" + pattern + ", abs(" + pattern + ") | *)";
  }
  Fixture f(body);
  Expected<Pattern> parsed = parsePattern("v.p", {pattern, {}});
  REQUIRE(parsed);
  Matcher::MayContain mayContain = [](NodeId) { return true; };
  Matcher::Accept accept = [](const Match &) { return false; };
  CHECK(Matcher(f.module, *parsed, mayContain, accept).match(f.root()) == MatchOutcome::GaveUp);
}
