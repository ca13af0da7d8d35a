// Texts by number.

#include "bycc/Support/StringTable.h"

#include <catch2/catch.hpp>

#include <string>

using namespace bycc;

TEST_CASE("texts have numbers") {
  StringTable table;
  CHECK(table.find("") == 0);
  CHECK(table.intern("") == 0);
  CHECK(table.intern("a") == 1);
  CHECK(table.intern("b") == 2);
  CHECK(table.intern("a") == 1);
  CHECK(table.find("c") == StringTable::none);
  CHECK(table[2] == "b");
}

TEST_CASE("many and long texts") {
  StringTable table;
  auto text = [](uint32_t i) {
    return std::string(i % 1000 == 0 ? 100000 : i % 50, 'x') + std::to_string(i);
  };
  std::string_view first = table[table.intern("first")];
  for (uint32_t i = 0; i < 5000; ++i)
    REQUIRE(table.intern(text(i)) == i + 2);
  for (uint32_t i = 0; i < 5000; ++i) {
    REQUIRE(table.find(text(i)) == i + 2);
    REQUIRE(table[i + 2] == text(i));
  }
  CHECK(first == "first"); // where it was
  StringTable moved = std::move(table);
  CHECK(moved.find(text(4999)) == 5001);
  CHECK(moved.intern("new") == 5002);
}
