// Layout strings and padding lists.
#include "bycc/Support/Layout.h"

#include <catch2/catch.hpp>

using namespace bycc;

using Axes = std::vector<size_t>;
using Ints = std::vector<int64_t>;

TEST_CASE("a layout says where each axis stands") {
  CHECK(Layout::parse("NCHW")->axesOf("NCHW") == Axes{0, 1, 2, 3});
  CHECK(Layout::parse("NHWC")->axesOf("NCHW") == Axes{0, 3, 1, 2});
  CHECK(Layout::parse("HWIO")->axesOf("OIHW") == Axes{3, 2, 0, 1});
  CHECK(Layout::parse("WCN")->axesOf(layoutLetters("NC", 1)) == Axes{2, 1, 0});
}

TEST_CASE("no order of axes where letters are missing, more, or blocked") {
  for (const char *other : {"NCW", "NCDHW", "NCHX", "NCHW8c"}) {
    INFO(other);
    REQUIRE(Layout::parse(other));
    CHECK(!Layout::parse(other)->axesOf("NCHW"));
  }
}

TEST_CASE("blocks belong to an axis on their left") {
  Layout layout = *Layout::parse("NCHW4c2c");
  CHECK(layout.isBlocked());
  CHECK(layout.rank() == 6);
  CHECK(layout.primal() == "NCHW");
  CHECK(layout.blockOf('C') == 8);
  CHECK(layout.blockOf('H') == 1);
  CHECK(layout.find('W') == 3u);
  CHECK(!layout.find('D'));
  CHECK(layout.without("NC") == "HW");
}

TEST_CASE("what is no layout is refused") {
  for (const char *text :
       {"", "NCHH", "8cNHW", "NCHWc", "NCHW0c", "NCHW8", "NCHW8C", "NC HW", "NCHW9999999999c"}) {
    INFO(text);
    CHECK(!Layout::parse(text));
  }
}

TEST_CASE("letters by the number of spatial axes") {
  CHECK(layoutLetters("NC", 0) == "NC");
  CHECK(layoutLetters("NC", 1) == "NCW");
  CHECK(layoutLetters("OI", 2) == "OIHW");
  CHECK(layoutLetters("", 3) == "DHW");
}

TEST_CASE("padding is given for all sides, by axis, or begins then ends") {
  auto padding = [](Ints values, size_t rank) { return expandPadding(values, rank); };
  CHECK(padding({3}, 2)->before == Ints{3, 3});
  CHECK(padding({3}, 2)->after == Ints{3, 3});
  CHECK(padding({1, 2}, 2)->before == Ints{1, 2});
  CHECK(padding({1, 2}, 2)->after == Ints{1, 2});
  CHECK(padding({1, 2, 3, 4}, 2)->before == Ints{1, 2});
  CHECK(padding({1, 2, 3, 4}, 2)->after == Ints{3, 4});
  CHECK(padding({1, 2}, 1)->after == Ints{2});
  for (const Ints &wrong : {Ints{}, Ints{1, 2, 3}, Ints{1, 2, 3, 4, 5}})
    CHECK(!padding(wrong, 2));
}
