#include "LineDiff.h"

#include <catch2/catch.hpp>

using bycc::lineDiff;

TEST_CASE("equal texts have no difference") {
  CHECK(lineDiff("a\nb\n", "a\nb\n").empty());
  CHECK(lineDiff("", "").empty());
}

TEST_CASE("changed lines show with their neighbours") {
  CHECK(lineDiff("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nX\n6\n") == " 2\n 3\n 4\n-5\n+X\n 6\n");
  CHECK(lineDiff("", "a\n") == "+a\n");
  CHECK(lineDiff("a\n", "") == "-a\n");
}

TEST_CASE("far changes are shown apart") {
  std::string before = "a\n", after = "b\n";
  for (int i = 0; i < 20; ++i) {
    before += std::to_string(i) + "\n";
    after += std::to_string(i) + "\n";
  }
  std::string diff = lineDiff(before + "x\n", after + "y\n");
  CHECK(diff == "-a\n+b\n 0\n 1\n 2\n...\n 17\n 18\n 19\n-x\n+y\n");
}
