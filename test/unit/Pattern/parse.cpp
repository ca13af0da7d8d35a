// The pattern language: what parses, and what is said about what does not.

#include "bycc/IR/Op.h"
#include "bycc/Pattern/Pattern.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

std::string problem(std::string_view root,
                    std::vector<std::pair<std::string_view, std::string_view>> let = {}) {
  Expected<Pattern> pattern = parsePattern("v.p", {root, std::move(let)});
  return pattern ? std::string() : pattern.error().message();
}

// Of the array `patterns` of vendor v.
std::string arrayProblem(std::string_view text) {
  JsonValue array = parseJson(text, "v.json").takeValue();
  Expected<std::vector<Pattern>> patterns = readPatterns(array, "v", "/patterns", "v.json");
  return patterns ? std::string() : patterns.error().str();
}

} // namespace

TEST_CASE("patterns that parse") {
  for (const char *text : {"nn.relu(*)",
                           "nn.relu( add ( * , # ) )",
                           "add($a, $a)",
                           "nn.relu(add(*, *)) | add(*, *)",
                           "split(*)[1] | abs(*)",
                           "concatenate((*, #))",
                           "nn.relu?(add(*, #(0.5~1e-3)))",
                           "nn.softmax{axis=-1}(*)",
                           "add(...)",
                           "add($w:#, $x:abs(*))",
                           "multiply(*, #(-1e-5))",
                           "concatenate((*,))",
                           "(abs(*))",
                           "(nn.relu|tanh)(*)",
                           "(nn.relu | tanh)?(abs(*))",
                           "nn.relu($x<float32|float16, rank=2>)",
                           "abs(*<[1, ?, 2..8, ..., %4]>)",
                           "abs(*<layout=\"NCHW8c\"|\"\">)",
                           "nn.conv2d{groups=1|2, channels>=8<=64}(...)",
                           "nn.softmax{axis!=0}(*)",
                           "add(*, #([1, 2.5] ~ 1e-3))",
                           "add(*, #(>0<=1))",
                           "add(*, #(inf))",
                           "path{nn.relu|add}(nn.conv2d(*, *))",
                           "path+{nn.relu|add}(nn.conv2d(*, *))",
                           "path + {add}(nn.conv2d(*, *))",
                           "abs(path{*}(tanh(*)))"}) {
    INFO(text);
    if (std::string(text).find("split(*)[1]") == 0)
      CHECK(problem(text) == "column 1: the outermost part must be an operator");
    else
      CHECK(problem(text) == "");
  }
}

TEST_CASE("root operators") {
  Pattern pattern = parsePattern("v.p", {"nn.relu?(add(*, *))", {}}).takeValue();
  CHECK(pattern.rootOps == std::vector{ops::nn_relu, ops::add});
  pattern = parsePattern("v.p", {"path{tanh}(abs(*))", {}}).takeValue();
  CHECK(pattern.rootOps == std::vector{findOp("tanh"), findOp("abs")});
  pattern = parsePattern("v.p", {"path+{tanh}(abs(*))", {}}).takeValue();
  CHECK(pattern.rootOps == std::vector{findOp("tanh")});
  pattern = parsePattern("v.p", {"tanh(@a) | @a", {{"a", "abs(*)"}}}).takeValue();
  CHECK(pattern.rootOps == std::vector{findOp("tanh"), findOp("abs")});
  REQUIRE(pattern.shared.size() == 1);
  CHECK(pattern.shared[0].first == "a");
}

TEST_CASE("errors give the column") {
  CHECK(problem("nn.rleu(*)") == "column 1: unknown operator 'nn.rleu', did you mean 'nn.relu'?");
  CHECK(problem("nn.relu(*") == "column 10: expected ')', found the end");
  CHECK(problem("nn.relu(*) x") == "column 12: expected the end, found 'x'");
  CHECK(problem("nn.relu(?)") == "column 9: expected a pattern, found '?'");
  CHECK(problem("abs(*, *)") == "column 1: abs takes 1 inputs, the pattern gives 2");
  CHECK(problem("abs(@n)") == "column 6: no 'n' under let");
  CHECK(problem("abs(@n)", {{"n", "abs(@n)"}}) == "let 'n': column 6: '@n' refers to itself");
  CHECK(problem("abs(*)", {{"n", "abs(*)"}}) == "let 'n': not used");
  CHECK(problem("*") == "column 1: the outermost part must be an operator");
  CHECK(problem("nn.softmax{axs=1}(*)") ==
        "column 12: nn.softmax: unknown attribute 'axs', did you mean 'axis'?");
  CHECK(problem("") == "column 1: expected a pattern, found the end");
}

TEST_CASE("hostile patterns end") {
  CHECK(problem(std::string(100000, '(')).find("longer than") != std::string::npos);
  CHECK(problem(std::string(1000, '(')).find("nested deeper than 64") != std::string::npos);
  std::string nested;
  for (int i = 0; i < 1000; ++i)
    nested += "abs(";
  CHECK(problem(nested).find("nested deeper than 64") != std::string::npos);
  nested.clear();
  for (int i = 0; i < 1000; ++i)
    nested += "$a:";
  CHECK(problem(nested + "*").find("nested deeper than 64") != std::string::npos);
  std::string wide = "concatenate((*";
  for (int i = 0; i < 5000; ++i)
    wide += ",*";
  CHECK(problem(wide + "))").find("more than 1024 parts") != std::string::npos);
}

TEST_CASE("patterns in files") {
  CHECK(arrayProblem("[]") == "");
  CHECK(arrayProblem(R"j([
  {"name": "v.a", "root": "abs(*)", "where": [{"op": "abs"}]}])j") == "");
  CHECK(
      arrayProblem("[\n {\"name\": \"w.a\", \"root\": \"abs(*)\"}]")
          .starts_with("v.json:2:11: error[INPUT]: /patterns/0/name: 'w.a' must start with 'v.'"));
  CHECK(arrayProblem("[\n {\"name\": \"v.a\", \"root\": \"abs(\"}]")
            .starts_with("v.json:2:26: error[INPUT]: /patterns/0/root: column 5:"));
  CHECK(arrayProblem(R"j([{"name": "v.a", "rot": "abs(*)"}])j")
            .find("/patterns/0/rot: unknown member 'rot', did you mean 'root'") !=
        std::string::npos);
  CHECK(arrayProblem(R"j([{"name": "v.a", "root": "nn.softmax(*)",
      "where": [{"op": "nn.softmax", "attr": {"axes": 1}}]}])j")
            .find("/patterns/0/where/0/attr/axes: unknown member 'axes', did you mean 'axis'") !=
        std::string::npos);
  CHECK(arrayProblem("{}").find("expected an array of patterns") != std::string::npos);
}
