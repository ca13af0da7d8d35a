#include "bycc/View/RepeatedRuns.h"

#include <catch2/catch.hpp>

#include <random>
#include <string>

using namespace bycc;

namespace {

// One item a letter; each uses the one before.
std::vector<SequenceItem> chainOf(const std::string &letters) {
  std::vector<SequenceItem> items;
  for (char letter : letters) {
    uint32_t before =
        items.empty() ? SequenceItem::outside : static_cast<uint32_t>(items.size() - 1);
    items.push_back({static_cast<uint64_t>(letter), {before}});
  }
  return items;
}

std::string runsOf(const std::vector<SequenceItem> &items) {
  std::string text;
  for (const RepeatedRun &run : findRepeatedRuns(items))
    text += (text.empty() ? "" : " ") + std::to_string(run.begin) + ":" +
            std::to_string(run.period) + "x" + std::to_string(run.count);
  return text;
}

std::string times(const std::string &text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i)
    all += text;
  return all;
}

} // namespace

TEST_CASE("layers that follow each other are a run", "[View]") {
  CHECK(runsOf(chainOf("abcxyzxyzxyzd")) == "3:3x3");
  CHECK(runsOf(chainOf("xyzxyz")) == "0:3x2");
  CHECK(runsOf(chainOf("aaaa")) == "0:1x4");
  CHECK(runsOf(chainOf(times("abba", 5))) == "0:4x5"); // no letter of its own
  CHECK(runsOf(chainOf("ab" + times("pqr", 4) + "c" + times("uvwxy", 3))) == "2:3x4 15:5x3");
}

TEST_CASE("what is short or differs is no run", "[View]") {
  CHECK(runsOf({}).empty());
  CHECK(runsOf(chainOf("a")).empty());
  CHECK(runsOf(chainOf("abab")).empty());
  CHECK(runsOf(chainOf("aaa")).empty());
  CHECK(runsOf(chainOf("abcdefgh")).empty());
}

TEST_CASE("the smallest period counts", "[View]") {
  CHECK(runsOf(chainOf(times("abc", 12))) == "0:3x12");
  CHECK(runsOf(chainOf(times("ab", 5000))) == "0:2x5000");
}

TEST_CASE("a run begins where least passes from turn to turn", "[View]") {
  // In every turn d e f, what is before it is read by d and e, and d by f as well.
  std::vector<SequenceItem> items = chainOf("ef" + times("def", 4));
  for (uint32_t i = 3; i < items.size(); i += 3) {
    items[i].uses.push_back(i - 2);
    items[i + 1].uses.push_back(i - 1);
  }
  CHECK(runsOf(items) == "2:3x4");
}

TEST_CASE("turns that use themselves differently are apart", "[View]") {
  std::vector<SequenceItem> items = chainOf(times("abcd", 6));
  CHECK(runsOf(items) == "0:4x6");
  items[4 * 3 + 2].uses = {4 * 3}; // c of turn 3 reads a
  CHECK(runsOf(items) == "0:4x3 16:4x2");
  items = chainOf(times("abcd", 4));
  items[2].uses = {SequenceItem::outside};
  CHECK(runsOf(items) == "4:4x3");
}

TEST_CASE("few that stand side by side are no run", "[View]") {
  auto beside = [](uint32_t count) { // all read the first
    std::vector<SequenceItem> items = chainOf("x");
    for (uint32_t i = 0; i < count; ++i)
      items.push_back({'d', {0}});
    return items;
  };
  CHECK(runsOf(beside(4)).empty());
  CHECK(runsOf(beside(40)) == "1:1x40");
}

TEST_CASE("runs are apart, in order, and what they say", "[View]") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string letters;
    while (letters.size() < 200) {
      std::string part;
      for (uint32_t i = 1 + random() % 6; i > 0; --i)
        part += static_cast<char>('a' + random() % 3);
      letters += times(part, static_cast<int>(1 + random() % 5));
    }
    uint32_t last = 0;
    for (const RepeatedRun &run : findRepeatedRuns(chainOf(letters))) {
      REQUIRE(run.begin >= last);
      REQUIRE(run.end() <= letters.size());
      REQUIRE(run.count >= 2);
      for (uint32_t i = run.begin + run.period; i < run.end(); ++i)
        REQUIRE(letters[i] == letters[i - run.period]);
      last = run.end();
    }
  }
}
