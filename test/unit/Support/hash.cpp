#include "bycc/Support/Hash.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

using namespace bycc;

TEST_CASE("hash values are fixed: files depend on them") {
  CHECK(hashText("") == hashText(""));
  CHECK(hashText("bycc") != hashText("bycd"));
  CHECK(hashText("bycc", 1) != hashText("bycc"));
}

TEST_CASE("every single bit matters, and trailing zeros do") {
  std::string bytes(200, '\0');
  std::set<uint64_t> seen{hashText(bytes)};
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= 1 << bit % 8;
    CHECK(seen.insert(hashText(bytes)).second);
    bytes[bit / 8] ^= 1 << bit % 8;
  }
  for (size_t size = 0; size < 200; ++size)
    CHECK(seen.insert(hashBytes(bytes.data(), size)).second);
}
