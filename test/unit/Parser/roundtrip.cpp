// What is printed parses again to the same text; what each construct means.
#include "helpers.h"

#include <cstring>

using namespace bycc;
using namespace bycc::test;

static const Constant &resultConstant(const Module &module) {
  return module.constant(module.block(module.function(module.main()).body).result);
}

TEST_CASE("programs survive printing and parsing") {
  const char *bodies[] = {
      "%x",
      "abs(%x)",
      "%0 = abs(%x); %1 = nn.relu(%0); add(%0, %1)",
      "(%x, %c)",
      "(%x,)",
      "()",
      "%0 = (%x, (%x, %c)); %0.1.0",
      "(abs(%x), abs(%x)).1",
      "if (%c) { abs(%x) } else { let %y = nn.relu(%x); %y }",
      "%0 = if (%c) { %0 = abs(%x); %0 } else { %x }; nn.relu(%0)",
      "let %y = abs(%x); let %y = nn.relu(%y); %y",
      "abs(%x); nn.relu(%x)",
      "{ abs(%x) }",
      "(let %y = abs(%x); %y)",
      "let %f = fn (%a: Tensor[(2, 3), float32]) { abs(%a) }; %f(%f(%x))",
      "%0 = fn (%p: Tensor[(2, 3), float32], Composite=\"va.x\", Primitive=1) -> Tensor[(2, 3), "
      "float32] { abs(%p) }; %0(%x)",
      "let %loop = fn (%v: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {"
      " if (%c) { %loop(abs(%v)) } else { %v } }; %loop(%x)",
      "abs(%x, annotation.vendors=[\"a\", \"b\"], annotation.region=3)",
      "%x + 2f * %x - 1.5 / %x",
      "(1, 5i64, -3i8, 200u8, 1.5f16, 2.25bf16, 1e-05f, -0.0f, 1e300f64, True, False)",
      "(inff, -inff, nanf, inff16, -inff64, nanbf16)",
      "Tensor[(2, 2), int8][1, -2, 3, 4]",
      "Tensor[(3), bool][True, False, True]",
  };
  for (const char *body : bodies) {
    INFO(body);
    checkStable(parsed(mainOf(body)));
  }
}

TEST_CASE("types survive") {
  const char *types[] = {"float32",
                         "Tensor[(), int64]",
                         "Tensor[(N, ?, (N + 1)), bfloat16]",
                         "(float32, (bool,), ())",
                         "fn (int32, (bool, int8)) -> uint8",
                         "Tensor[((2 * N), max(N, 4)), float16]"};
  for (const char *type : types) {
    INFO(type);
    checkStable(parsed(header + "def @main(%x: " + type + ") { %x }"));
  }
}

TEST_CASE("names with any characters survive and stay apart") {
  Module module =
      parsed(header + "def @main(%\"a.b\": int32, %a_b: int32, %\"3\": int32, %\"q\\\"\\n\": "
                      "int32) { (%\"a.b\", %a_b, %\"3\", %\"q\\\"\\n\") }");
  checkStable(module);
  const auto &params = module.function(module.main()).params;
  CHECK(module.string(module.node(params[0]).name) == "a.b");
  CHECK(module.string(module.node(params[3]).name) == "q\"\n");
}

TEST_CASE("parameters of every function keep their names") {
  std::string text = printModule(
      parsed(header + "def @f(%x: int32) -> int32 { %x } def @main(%x: int32) { @f(%x) }"));
  CHECK(text.find("@main(%x: int32)") != std::string::npos);
  CHECK(text.find("@f(%x: int32)") != std::string::npos);
}

TEST_CASE("large constants go to metadata with their bits") {
  Module module;
  std::vector<uint32_t> bits(20, 0x7fc12345); // a NaN with a payload
  Dim shape[] = {Dim(20)};
  NodeId node = module.addConstant(DType::Float32, shape, bits.data(), 80);
  FunctionId f = module.addFunction("main");
  module.block(module.function(f).body).result = node;
  checkStable(module);
  Module again = parsed(printModule(module));
  CHECK(std::memcmp(resultConstant(again).data(), bits.data(), 80) == 0);
}

TEST_CASE("scalars are exact") {
  auto bits = [](const std::string &text) {
    Module module = parsed(mainOf(text));
    uint64_t value = 0;
    std::memcpy(&value, resultConstant(module).data(), resultConstant(module).bytes);
    return value;
  };
  CHECK(bits("1-2+1") == 0u - 0u + bits("1-2+1")); // parses as a difference
  CHECK(bits("-9223372036854775808i64") == uint64_t{1} << 63);
  CHECK(bits("18446744073709551615u64") == UINT64_MAX);
  CHECK(bits("9007199254740993") == 9007199254740993);
  CHECK(bits("--5") == 5);
  CHECK(bits("0.1f") == 0x3dcccccd);
  CHECK(bits("1.5") == 0x3fc00000);
  CHECK(bits("-0f") == 0x80000000);
  CHECK(bits("1e-45f") == 1);
}

TEST_CASE("a lone expression makes @main of its free variables") {
  Module module = parsed("free_var %a: float32;\nfree_var %b: float32;\nadd(%a, %b)");
  CHECK(module.function(module.main()).params.size() == 2);
  checkStable(module);
}

TEST_CASE("definitions may be used before they stand") {
  checkStable(parsed(header + "def @main(%x: float32) { @g(%x) } def @g(%x: float32) { abs(%x) }"));
}

TEST_CASE("nodes keep their place and graph number") {
  Module module = parsed(mainOf("  %7 = abs(%x);\n  nn.relu(%7)"));
  const auto &nodes = module.block(module.function(module.main()).body).nodes;
  CHECK(module.source(nodes[0]).str() == "t.relay:3:8");
  CHECK(describe(module, nodes[0]) == "%7");
  CHECK(describe(module, nodes[1]) == "%8"); // unnamed: the next free number
}

TEST_CASE("graph numbers are local to their block") {
  CHECK(errorsOf(mainOf("%0 = abs(%x); %1 = if (%c) { %0 = nn.relu(%x); %0 } else { %0 }; %1")) ==
        "");
  CHECK(errorsOf(mainOf("%1 = if (%c) { %0 = abs(%x); %0 } else { %x }; %0"))
            .find("%0 is used before") != std::string::npos);
}
