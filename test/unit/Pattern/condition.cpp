// Conditions on calls: what they accept, and what they say when they do not.

#include "bycc/Pattern/Condition.h"
#include "bycc/IR/Op.h"
#include "bycc/Parser/Relay.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

// Why the result of the body does not meet the condition; "" when it does.
std::string why(const std::string &condition, const std::string &body) {
  std::string text =
      "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 4), float32], %y: Tensor[(2, 1), "
      "float32], %i: Tensor[(2, 4), int64], %n: Tensor[(?, 4), float32]) {\n" +
      body + "\n}\n";
  Expected<Module> module = parseRelay(text, "t.relay");
  if (!module)
    FAIL(module.error().str());
  NodeId call = module->block(module->function(module->main()).body).result;
  JsonValue json = parseJson(condition, "c.json").takeValue();
  OpId op = module->node(call).op;
  Expected<Condition> read = readCondition(json, op ? op : findOp("abs"), "", "c.json");
  if (!read)
    FAIL(read.error().str());
  return whyNot(*read, *module, call).value_or("");
}

} // namespace

TEST_CASE("conditions on arguments") {
  CHECK(why(R"({"args": {"0": {"dtype": ["float32"], "rank": [2, 3], "shape": [2, null]}}})",
            "abs(%x)") == "");
  CHECK(why(R"({"args": {"0": {"dtype": ["int8", "int64"]}}})", "abs(%x)") ==
        "argument 0 is float32, it takes int8, int64");
  CHECK(why(R"({"args": {"0": {"rank": [3, 4]}}})", "abs(%x)") ==
        "argument 0 has rank 2, it takes 3 or 4");
  CHECK(why(R"({"args": {"0": {"shape": [2, "8..16"]}}})", "abs(%x)") ==
        "argument 0 is Tensor[(2, 4), float32], it takes shape (2, 8..16)");
  CHECK(why(R"({"args": {"0": {"shape": ["...", "%4"]}}})", "abs(%x)") == "");
  CHECK(why(R"({"args": {"0": {"shape": ["...", "%3"]}}})", "abs(%x)") ==
        "argument 0 is Tensor[(2, 4), float32], it takes shape (..., %3)");
  CHECK(why(R"({"args": {"0": {"shape": [null, 4]}}})", "abs(%n)") == "");
  CHECK(why(R"({"args": {"0": {"shape": [2, 4]}}})", "abs(%n)") ==
        "argument 0 is Tensor[(?, 4), float32], it takes shape (2, 4)");
  CHECK(why(R"({"args": {"0": {"layout": "NCHW8c"}}})", "abs(%x)") ==
        "argument 0 has layout row-major, it takes NCHW8c");
  CHECK(why(R"({"args": {"1": {"const": true}}})", "add(%x, 1f)") == "");
  CHECK(why(R"({"args": {"1": {"const": true}}})", "add(%x, %y)") ==
        "argument 1 is not a constant");
  CHECK(why(R"({"args": {"1": {"const": false}}})", "add(%x, 1f)") == "argument 1 is a constant");
  CHECK(why(R"({"args": {"1": {"value": 1}}})", "add(%x, 1f)") == "");
  CHECK(why(R"({"args": {"1": {"value": 2}}})", "add(%x, 1f)") == "argument 1 has other values");
  CHECK(why(R"({"args": {"0": {"op": ["nn.relu", "tanh"]}}})", "abs(tanh(%x))") == "");
  CHECK(why(R"({"args": {"0": {"op": "nn.relu"}}})", "abs(tanh(%x))") ==
        "argument 0 is made by tanh, it takes one by nn.relu");
  CHECK(why(R"({"args": {"0": {"op": "nn.relu"}}})", "abs(%x)") ==
        "argument 0 is made by no operator, it takes one by nn.relu");
  CHECK(why(R"({"args": {"0": {"max_elements": 4}}})", "abs(%x)") ==
        "argument 0 has 8 elements, it takes up to 4");
  CHECK(why(R"({"args": {"0": {"min_elements": 9}}})", "abs(%x)") ==
        "argument 0 has 8 elements, it takes 9 or more");
  CHECK(why(R"({"args": {"0": {"max_elements": 4}}})", "abs(%n)") ==
        "argument 0 has no known number of elements");
}

TEST_CASE("conditions on attributes, results and shapes") {
  CHECK(why(R"({"attr": {"axis": {"min": 0, "max": 1}}})", "nn.softmax(%x, axis=1)") == "");
  CHECK(why(R"({"attr": {"axis": {"min": 0, "max": 1}}})", "nn.softmax(%x, axis=-1)") ==
        "axis is -1, it takes >= 0 and <= 1");
  CHECK(why(R"({"attr": {"axis": {"in": [0, 1]}}})", "nn.softmax(%x, axis=-1)") ==
        "axis is -1, it takes 0 or 1");
  CHECK(why(R"({"attr": {"axis": {"not": 1}}})", "nn.softmax(%x, axis=1)") ==
        "axis is 1, it does not take 1");
  CHECK(why(R"({"attr": {"axis": {"not": [0, 1]}}})", "nn.softmax(%x, axis=1)") ==
        "axis is 1, it does not take 0 or 1");
  CHECK(why(R"({"attr": {"newshape": {"not": [4, 2]}}})", "reshape(%x, newshape=[4, 2])") ==
        "newshape is [4, 2], it does not take [4, 2]");
  CHECK(why(R"({"results": {"0": {"rank": 1}}})", "abs(%x)") == "result 0 has rank 2, it takes 1");
  CHECK(why(R"({"results": {"1": {"shape": [2, 2]}}})",
            "split(%x, indices_or_sections=2, axis=1)") == "");
  CHECK(why(R"({"results": {"2": {}}})", "split(%x, indices_or_sections=2, axis=1)") ==
        "result 2 is not there, the call has 2");
  CHECK(why(R"({"static_shape": true})", "abs(%n)") ==
        "argument 0 is Tensor[(?, 4), float32], it takes static shapes");
  CHECK(why(R"({"equal_shapes": [0, 1]})", "add(%x, %x)") == "");
  CHECK(why(R"({"equal_shapes": [0, 1]})", "add(%x, %y)") ==
        "argument 1 is Tensor[(2, 1), float32], argument 0 is Tensor[(2, 4), float32], it takes "
        "equal shapes");
  CHECK(why(R"({"any_of": [{"dtype": ["int8"]}, {"dtype": ["float32"]}]})", "abs(%x)") == "");
  CHECK(why(R"({"any_of": [{"dtype": ["int8"]}, {"args": {"0": {"rank": 1}}}]})", "abs(%x)") ==
        "argument 0 is float32, it takes int8; or argument 0 has rank 2, it takes 1");
}

TEST_CASE("conditions meet what they do not expect") {
  CHECK(why(R"({"args": {"0": {"shape": [2, 4], "max_elements": 1}}})",
            "concatenate((%x, %y), axis=1)") ==
        "argument 0 is Tensor[(2, 1), float32], it takes shape (2, 4)");
  CHECK(why(R"({"args": {"0": {"max_elements": 1}}})", "concatenate((%x, %y), axis=1)") ==
        "argument 0 has no known number of elements");
  CHECK(why(R"({"dtype": ["float32"]})", "concatenate((%x, %y), axis=1)") == "");
  CHECK(why(R"({"args": {"0": {"value": 1}}})", "abs(%x)") == "argument 0 is not a constant");
  CHECK(why(R"({"args": {"1": {"rank": 1}}})", "nn.dense(%x, %x, units=2)") ==
        "argument 1 has rank 2, it takes 1");
  // No call at all.
  CHECK(why(R"({"args": {"0": {"rank": 1}}})", "%x") == "argument 0 is not there, the call has 0");
}
