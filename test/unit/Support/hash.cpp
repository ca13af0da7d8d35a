#include "bycc/Support/Hash.h"
#include "bycc/Support/Sha1.h"

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

TEST_CASE("SHA-1 gives the digests of its standard") {
  auto digest = [](const std::string &text) { return sha1(text.data(), text.size()); };
  CHECK(digest("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  CHECK(digest("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
  CHECK(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  CHECK(digest(std::string(1000000, 'a')) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}
