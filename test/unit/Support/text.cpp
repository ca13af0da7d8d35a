#include "bycc/Support/Text.h"

#include <catch2/catch.hpp>

using namespace bycc;

TEST_CASE("numbers print so that they read back") {
  CHECK(formatDouble(1) == "1.0");
  CHECK(formatFloat(1e-5f) == "1e-05");
  CHECK(formatFloat(0.1f) == "0.1");
  CHECK(formatDouble(-1.0 / 0.0) == "-inf");
  CHECK(*parseDouble(formatDouble(0.1)) == 0.1);
  CHECK_FALSE(parseDouble("1e999"));
  CHECK_FALSE(parseDouble("1,5"));
  CHECK_FALSE(parseDouble(""));
  CHECK(*parseInt("-9223372036854775808") == INT64_MIN);
  CHECK_FALSE(parseInt("9223372036854775808"));
  CHECK_FALSE(parseInt("+-1"));
}

TEST_CASE("escaping") {
  CHECK(escaped("a\n\x1b\x7f") == "a\\x0A\\x1B\\x7F");
  CHECK(escaped("\xc3\xa4\xff") == "\xc3\xa4\\xFF");
  CHECK(escaped("\xc2\x9b") == "\\xC2\\x9B");
  CHECK(escaped("abcdef", 3) == "abc...");
}

TEST_CASE("UTF-8") {
  size_t bad = 0;
  CHECK(isValidUtf8("a\xe2\x82\xac\xf0\x9f\x98\x80"));
  CHECK_FALSE(isValidUtf8("ab\xed\xa0\x80", &bad));
  CHECK(bad == 2);
  CHECK_FALSE(isValidUtf8("\xc0\x80"));
  CHECK_FALSE(isValidUtf8("\xf4\x90\x80\x80"));
  CHECK_FALSE(isValidUtf8("\xe2\x82"));
}

TEST_CASE("nearest name") {
  std::vector<std::string> names = {"dnnl", "nn.relu", "nn.prelu"};
  CHECK(nearest("dnln", names) == "dnnl");
  CHECK(nearest("nn.rleu", names) == "nn.relu");
  CHECK(nearest("DNNL", names) == "dnnl");
  CHECK_FALSE(nearest("tensorrt", names));
  std::vector<std::string> options = {"expect-regions", "explain", "print-after", "print-before"};
  CHECK(nearest("expl", options) == "explain");
  CHECK_FALSE(nearest("print", options));
}

TEST_CASE("globs") {
  CHECK(matchesGlob("conv*", "conv2d"));
  CHECK(matchesGlob("*a*b?", "xxaxxbc"));
  CHECK_FALSE(matchesGlob("a?", "a"));
  CHECK(matchesGlob(std::string(2000, '*'), std::string(2000, 'a')));
}

TEST_CASE("identifiers and lists") {
  CHECK(asIdentifier("2a-b.c") == "_2a_b_c");
  CHECK(asIdentifier("") == "_");
  CHECK(split("a,,b", ',') == std::vector<std::string>{"a", "", "b"});
  CHECK(join(split("a,b", ','), "+") == "a+b");
}
