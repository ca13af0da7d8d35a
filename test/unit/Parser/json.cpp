// The JSON form: its structure and the rules of ids.
#include "helpers.h"

using namespace bycc;
using namespace bycc::test;

static std::string jsonErrors(const std::string &blocks, const std::string &functions) {
  auto module = parseProgramJson("{\"bycc_program\": 1, \"functions\": [" + functions +
                                     "], \"blocks\": [" + blocks + "]}",
                                 "t.json");
  return module ? "" : module.error().str();
}

static const std::string mainFunction =
    R"({"name": "main", "params": [{"id": 0, "name": "x", "type": "float32"}], "result_type": "float32", "body": 0})";

TEST_CASE("a program as JSON") {
  auto module = parseProgramJson(
      R"({"bycc_program": 1, "functions": [)" + mainFunction +
          R"(], "blocks": [{"nodes": [{"id": 1, "op": "add", "args": [0, "#0"]}], "result": 1}],
                                     "constants": [{"dtype": "float32", "shape": [], "data": "AACAPw=="}]})",
      "t.json");
  REQUIRE(module);
  CHECK(printModule(*module).find("%0 = add(%x, 1f);") != std::string::npos);
}

TEST_CASE("faults of JSON programs") {
  auto has = [](const std::string &text, const char *part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  CHECK(jsonErrors(R"({"nodes": [], "result": 0})", mainFunction) == "");
  has(jsonErrors(R"({"nodes": [], "result": 5})", mainFunction),
      "id 5 is used where it is not defined");
  has(jsonErrors(R"({"nodes": [{"id": 0, "op": "abs", "args": [0]}], "result": 0})", mainFunction),
      "id 0 is defined twice");
  has(jsonErrors(R"({"nodes": [{"id": 1, "op": "abx", "args": [0]}], "result": 1})", mainFunction),
      "did you mean abs?");
  has(jsonErrors(R"({"nodes": [{"id": 1, "op": "abs", "args": ["@f"]}], "result": 1})",
                 mainFunction),
      "a value is an id");
  has(jsonErrors(R"({"nodes": [{"id": 1, "op": "abs", "args": ["#9"]}], "result": 1})",
                 mainFunction),
      "a value is an id");
  has(jsonErrors(R"({"nodes": [{"id": 1, "then": 0, "else": 0, "args": [0]}], "result": 1})",
                 mainFunction),
      "block 0 has two owners");
  has(jsonErrors(R"({"nodes": [{"id": 1, "function": 0}], "result": 1})", mainFunction),
      "local function 0 has two owners");
  has(jsonErrors(R"({"nodes": [{"id": 1, "project": 4294967296, "args": [0]}], "result": 1})",
                 mainFunction),
      "no such field");
  has(jsonErrors(R"({"nodes": [], "result": 0})", R"({"params": [], "body": 0})"),
      "no named function");
  // B4: a node is of one kind
  for (const char *other : {R"("call": "@nope")", R"("tuple": true)", R"("project": 0)",
                            R"("then": 1, "else": 2)", R"("function": 0)"})
    has(jsonErrors(std::string(R"({"nodes": [{"id": 1, "op": "abs", "args": [0], )") + other +
                       R"(}], "result": 1})",
                   mainFunction),
        "a node is of one kind, this one has 'op' and '");
  has(jsonErrors(R"({"nodes": [{"id": 1, "tuple": false, "args": [0]}], "result": 1})",
                 mainFunction),
      "'tuple' is true or absent");
  has(jsonErrors(R"({"nodes": [{"id": 1, "op": "abs", "else": 1, "args": [0]}], "result": 1})",
                 mainFunction),
      "'else' without 'then'");
  has(jsonErrors(R"({"nodes": [{"id": 1, "op": "abs", "args": [0], "let": 1}], "result": 1})",
                 mainFunction),
      "'let' is true or false");
  has(jsonErrors(R"({"nodes": [{"id": 1, "op": "abs", "args": [0], "name": 5}], "result": 1})",
                 mainFunction),
      "'name' is a string");
  has(jsonErrors("", mainFunction), "there is no such block");
}
