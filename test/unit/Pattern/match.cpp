// Matching against small programs.

#include "bycc/Parser/Relay.h"
#include "bycc/Pattern/Matcher.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

struct Fixture {
  Module module;
  // With `hasMetadata` the body goes on with the text behind the function.
  explicit Fixture(std::string body, bool hasMetadata = false) {
    size_t end = hasMetadata ? body.find('\n') : body.size();
    body.insert(end, "\n}\n");
    std::string text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 2), float32], %y: "
                       "Tensor[(2, 2), float32]) {\n" +
                       body;
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

TEST_CASE("alternatives of operators") {
  Fixture f("nn.relu(add(%x, %y))");
  CHECK(f.match("(tanh|nn.relu)(add(*, *))"));
  CHECK_FALSE(f.match("(tanh|sigmoid)(add(*, *))"));
  CHECK(f.match("(nn.relu|tanh)((subtract|add)(*, *))"));
  CHECK(f.match("(tanh|sigmoid)?(nn.relu(add(*, *)))")->nodes.size() == 2);
}

TEST_CASE("types of parts") {
  Fixture f("nn.relu(add(%x, 2f))");
  CHECK(f.match("nn.relu(add(*<float32>, #<rank=0>))"));
  CHECK(f.match("nn.relu(add(*<[2, 2]>, *)<float16|float32, rank=2>)"));
  CHECK(f.match("nn.relu(add(*<[..., %2]>, *))"));
  CHECK(f.match("nn.relu(add(*<[?, 1..4]>, *))"));
  CHECK_FALSE(f.match("nn.relu(add(*<int8>, *))"));
  CHECK_FALSE(f.match("nn.relu(add(*<[2, 3]>, *<[2, 3]>))"));
  CHECK_FALSE(f.match("nn.relu(add(*<rank=3|4>, *))"));
  CHECK_FALSE(f.match("nn.relu(add(*<layout=\"NCHW\">, *))"));
}

TEST_CASE("ranges of attributes") {
  Fixture f("nn.max_pool2d(reshape(%x, newshape=[1, 1, 2, 2]), pool_size=[2, 2], strides=[2, 1])");
  CHECK(f.match("nn.max_pool2d{pool_size>=2}(*)"));
  CHECK(f.match("nn.max_pool2d{strides>=1<=2}(*)"));
  CHECK_FALSE(f.match("nn.max_pool2d{strides>1}(*)"));
  CHECK(f.match("nn.max_pool2d{strides=[2, 2]|[2, 1]}(*)"));
  CHECK_FALSE(f.match("nn.max_pool2d{strides!=[2, 1]}(*)"));
  CHECK(f.match("nn.max_pool2d{layout!=\"NHWC\"}(*)"));
  CHECK_FALSE(f.match("nn.max_pool2d{layout>1}(*)")); // no number
}

TEST_CASE("values of constants") {
  Fixture f("add(%x, meta[relay.Constant][0])\n#[metadata]\n"
            R"({"relay.Constant": [{"dtype": "float32", "shape": [2], "data": "AACAPwAAAEA="}]})",
            true);
  CHECK(f.match("add(*, #([1, 2]))"));
  CHECK(f.match("add(*, #([1.1, 1.9] ~ 0.2))"));
  CHECK_FALSE(f.match("add(*, #([2, 1]))"));
  CHECK_FALSE(f.match("add(*, #([1, 2, 3]))"));
  CHECK_FALSE(f.match("add(*, #(1))"));
  CHECK(f.match("add(*, #(>0<=2))"));
  CHECK_FALSE(f.match("add(*, #(>0<2))"));
}

TEST_CASE("paths") {
  Fixture diamond(
      "%0 = tanh(add(%x, %y)); %1 = nn.relu(%0); %2 = abs(%0); multiply(%1, add(%2, 1f))");
  std::optional<Match> match = diamond.match("path{nn.relu|abs|add|multiply}(tanh(*))");
  REQUIRE(match);
  CHECK(match->nodes.size() == 5);
  CHECK(match->leaves.size() == 2); // the constant of a path is an operand
  CHECK(diamond.match("path{tanh|nn.relu|abs|add|multiply}(add($x, $y))"));
  CHECK_FALSE(diamond.match("path{nn.relu|add|multiply}(tanh(*))")); // abs is not on the path
  CHECK_FALSE(diamond.match("path{abs|add|multiply}(nn.relu(*))"));  // the way over abs misses it
  CHECK(diamond.match("path{tanh}(multiply(*, *))"));                // nothing in between
  Fixture side("add(nn.relu(tanh(%x)), %y)");
  CHECK_FALSE(side.match("path{add|nn.relu}(tanh(*))")); // %y is a way back too
  CHECK(side.match("add(path{nn.relu}(tanh(*)), *)"));
}

TEST_CASE("paths with operands of their own") {
  Fixture side("multiply(add(nn.relu(tanh(%x)), %y), 2f)");
  std::optional<Match> match = side.match("path+{add|multiply|nn.relu}(tanh($x))");
  REQUIRE(match);
  CHECK(match->nodes.size() == 4);
  CHECK(match->leaves.size() == 3); // %x, %y, and the constant
  CHECK(match->leaves[0] == side.param(0));
  CHECK_FALSE(side.match("path+{add|multiply}(tanh($x))")); // nn.relu is not on the path
  CHECK_FALSE(side.match("path+{add}(multiply(*, *))"));    // at least one
  // All ways back to the parent are inside; of two parents the nearer one is first.
  Fixture diamond("%0 = tanh(%x); %1 = abs(%0); add(multiply(%0, %1), nn.relu(abs(tanh(%y))))");
  match = diamond.match("path+{abs|add|multiply|nn.relu}(tanh($x))");
  REQUIRE(match);
  CHECK(match->nodes.size() == 4);
  CHECK(match->leaves.size() == 2);
  CHECK(match->leaves[0] == diamond.param(0));
}

TEST_CASE("other commutative operators only when asked") {
  Fixture f("maximum(abs(%x), %y)");
  CHECK_FALSE(f.match("maximum(*, abs(*))"));
  Expected<Pattern> pattern = parsePattern("v.p", {"maximum(*, abs(*))", {}});
  REQUIRE(pattern);
  pattern->anyOrder = true;
  Matcher::MayContain mayContain = [](NodeId) { return true; };
  Matcher::Accept accept = [](const Match &) { return true; };
  CHECK(Matcher(f.module, *pattern, mayContain, accept).match(f.root()) == MatchOutcome::Accepted);
}

TEST_CASE("operands in the order of params") {
  Fixture f("nn.relu(add(multiply(%x, %y), 2f))");
  Expected<Pattern> pattern = parsePattern("v.p", {"nn.relu(add(multiply($a, $b), $c:#))", {}});
  REQUIRE(pattern);
  auto leaves = [&](std::vector<std::string> params) {
    pattern->params = std::move(params);
    std::vector<NodeId> found;
    Matcher::MayContain mayContain = [](NodeId) { return true; };
    Matcher::Accept accept = [&](const Match &match) {
      found = match.leaves;
      return true;
    };
    Matcher(f.module, *pattern, mayContain, accept).match(f.root());
    return found;
  };
  CHECK(leaves({}) == std::vector{f.param(0), f.param(1)});
  CHECK(leaves({"b"}) == std::vector{f.param(1), f.param(0)});
  CHECK(leaves({"c", "b", "a"}).size() == 3); // a constant that is named becomes an operand
}

TEST_CASE("patterns as Relay") {
  auto matches = [](const std::string &body, std::string_view text) {
    Fixture f(body);
    Expected<Pattern> pattern = parseRelayPattern("v.p", text);
    if (!pattern)
      FAIL(pattern.error().str());
    Matcher::MayContain mayContain = [](NodeId) { return true; };
    Matcher::Accept accept = [](const Match &) { return true; };
    return Matcher(f.module, *pattern, mayContain, accept).match(f.root()) ==
           MatchOutcome::Accepted;
  };
  const char *relu = "free_var %x; free_var %w; nn.relu(add(%x, %w))";
  CHECK(matches("nn.relu(add(%x, %y))", relu));
  CHECK(matches("nn.relu(add(%x, %x))", relu));
  CHECK_FALSE(matches("nn.relu(subtract(%x, %y))", relu));
  CHECK_FALSE(matches("nn.relu(add(%x, %y))", "free_var %x; nn.relu(add(%x, %x))"));
  CHECK(
      matches("nn.relu(add(%x, %y))", "fn (%a: Tensor[(2, ?), float32], %b) { nn.relu(%b + %a) }"));
  CHECK_FALSE(
      matches("nn.relu(add(%x, %y))", "fn (%a: Tensor[(3, ?), float32], %b) { nn.relu(%b + %a) }"));
  CHECK(matches("multiply(add(%x, 1f), 0.5f)", "fn (%x) { (1f + %x) * 0.5f }"));
  CHECK_FALSE(matches("multiply(add(%x, 2f), 0.5f)", "fn (%x) { (1f + %x) * 0.5f }"));
  CHECK(matches("nn.softmax(%x, axis=0)", "fn (%x) { nn.softmax(%x) }"));
  CHECK(matches("nn.softmax(%x, axis=0)", "fn (%x) { nn.softmax(%x, axis=0) }"));
  CHECK_FALSE(matches("nn.softmax(%x, axis=0)", "fn (%x) { nn.softmax(%x, axis=1) }"));
  CHECK(matches("%0 = split(%x, indices_or_sections=2); concatenate((%0.1, %0.0))",
                "free_var %x; %0 = split(%x, indices_or_sections=2); concatenate((%0.1, %0.0))"));
  CHECK(matches("%0 = tanh(%x); multiply(%0, sigmoid(%0))",
                "free_var %x; let %t = tanh(%x); sigmoid(%t) * %t"));
  CHECK_FALSE(matches("multiply(tanh(%x), sigmoid(tanh(%y)))",
                      "free_var %x; let %t = tanh(%x); sigmoid(%t) * %t"));
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
