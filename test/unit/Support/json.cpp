#include "bycc/Support/Json.h"

#include <catch2/catch.hpp>
#include <clocale>
#include <cmath>

using namespace bycc;

static std::string failure(std::string_view text) {
  auto result = parseJson(text, "f.json");
  return result ? "accepted" : result.error().str();
}

TEST_CASE("values and their places") {
  auto root = parseJson("{\"a\": [1, -2.5,\n  true, null],\n \"b\\\"\\\\\": \"x\\n\"}", "f");
  REQUIRE(root);
  const JsonValue *a = root->find("a");
  REQUIRE(a);
  CHECK((a->line == 1 && a->column == 7));
  CHECK((a->items[1].number == -2.5 && a->items[1].column == 11));
  CHECK((a->items[2].line == 2 && a->items[2].column == 3));
  const JsonValue *b = root->find("b\"\\");
  REQUIRE(b);
  CHECK(b->string == "x\n");
  CHECK((b->line == 3 && b->column == 11));
}

TEST_CASE("B5 integers are exact and locale has no effect") {
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  auto root =
      parseJson("[9007199254740993, 9223372036854775808, -9223372036854775808, 1.5, -0, 7]", "f");
  REQUIRE(root);
  CHECK(root->items[0].integer == 9007199254740993);
  CHECK(root->items[1].kind == JsonValue::Kind::UInt);
  CHECK(root->items[1].unsignedInteger == 9223372036854775808u);
  CHECK(root->items[2].integer == INT64_MIN);
  CHECK(root->items[3].number == 1.5);
  CHECK(std::signbit(root->items[4].number));
  CHECK(root->items[5].isInt());
  CHECK(parseJson("42", "f")->integer == 42);
  CHECK(failure("[18446744073709551616]").find("error[INPUT]") != std::string::npos);
  CHECK(failure("[1e999]").find("error[INPUT]") != std::string::npos);
  CHECK(failure("[NaN]").find("error[INPUT]") != std::string::npos);
  CHECK(parseJson("[1e-999]", "f")->items[0].number == 0);
  CHECK(failure("[" + std::string(40000, '1') + "]").find("error[INPUT]") != std::string::npos);
  std::setlocale(LC_ALL, "C");
}

TEST_CASE("B4 duplicate keys are refused") {
  CHECK(failure("{\"a\": 1,\n \"a\": 2}") ==
        "f.json:2:7: error[INPUT]: the key 'a' stands twice in one object\n");
}

TEST_CASE("B1 nesting is limited") {
  std::string deep(64, '['), bottomless(100000, '[');
  CHECK(parseJson(deep + std::string(64, ']'), "f"));
  CHECK(failure("[" + deep).find("error[LIMIT]") != std::string::npos);
  CHECK(failure(bottomless).find("error[LIMIT]") != std::string::npos);
}

TEST_CASE("what nobody asks for is left out, but has to be JSON") {
  std::string_view unread[] = {"b", "c"};
  std::string text =
      R"({"b": 1, "x": {"a": [2], "b": [{"b": null, "b": 7}, [true, "s"]], "c": -7,
                         "d": {"b": 3}}, "c": "y"})";
  auto root = parseJson(text, "f", unread);
  REQUIRE(root);
  REQUIRE(root->members.size() == 3);
  const JsonValue *x = root->find("x");
  REQUIRE((x && x->members.size() == 2));
  CHECK(x->find("a")->items[0].integer == 2);
  CHECK(x->find("d")->find("b")->integer == 3);
  CHECK((x->find("d")->line == 2 && x->find("d")->column == 31));
  CHECK(root->find("c")->string == "y");
  for (size_t size = 0; size < text.size(); ++size)
    CHECK(!parseJson(text.substr(0, size), "f", unread));
  CHECK(parseJson("{\"x\": {\"b\": " + std::string(62, '[') + std::string(62, ']') + "}}", "f",
                  unread));
  CHECK(!parseJson("{\"x\": {\"b\": " + std::string(63, '[') + std::string(63, ']') + "}}", "f",
                   unread));
}

TEST_CASE("B3 bad bytes are refused") {
  for (std::string_view text : {std::string_view("\xEF\xBB\xBF{}"), std::string_view("{}\0", 3),
                                std::string_view("[\"\xff\"]"), std::string_view("[\"\\ud800\"]"),
                                std::string_view("[1] x"), std::string_view(""),
                                std::string_view("{\"a\": }"), std::string_view("[1, ")})
    CHECK(failure(text).find("error[INPUT]") != std::string::npos);
}

TEST_CASE("a document cut anywhere is refused") {
  std::string text = "{\"a\": [1, 2.5, \"x\"], \"b\": {\"c\": null}}";
  for (size_t size = 0; size < text.size(); ++size)
    CHECK(failure(text.substr(0, size)).find("error[INPUT]") != std::string::npos);
}

TEST_CASE("what is written reads back") {
  JsonWriter writer;
  writer.beginObject().key("shape").beginArray().value(1).value(int64_t{-2}).endArray();
  writer.key("empty").beginArray().endArray().key("o").beginObject().endObject();
  writer.key("list").beginArray().beginArray().value(0.5).endArray().beginArray().endArray();
  writer.endArray().key("s").value("a\"\x01\n").key("big").value(UINT64_MAX);
  writer.key("inf").value(INFINITY).key("t").value(true).key("n").null().endObject();
  std::string text = writer.take();
  CHECK(text.starts_with("{\n  \"shape\": [1, -2],\n  \"empty\": [],\n  \"o\": {},\n"));
  CHECK(text.back() == '\n');
  auto root = parseJson(text, "f");
  REQUIRE(root);
  CHECK(root->find("s")->string == "a\"\x01\n");
  CHECK(root->find("big")->unsignedInteger == UINT64_MAX);
  CHECK(root->find("list")->items.size() == 2);
}
