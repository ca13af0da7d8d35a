#include "Memory.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <set>

using namespace bycc::runtime;

namespace {

// Blocks of 1 to 6 MiB in random order, some given back meanwhile. Their addresses.
std::set<uint8_t *> run(BlockCache &cache, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t *> held;
  std::set<uint8_t *> all;
  for (int step = 0; step < 60; ++step) {
    if (!held.empty() && random() % 3 == 0) {
      size_t which = random() % held.size();
      REQUIRE(cache.giveBack(held[which]));
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      held.push_back(cache.take((1100 + random() % 5000) << 10));
      REQUIRE(held.back());
      all.insert(held.back());
    }
  }
  cache.endRun();
  return all;
}

} // namespace

TEST_CASE("a run that asks for the sizes of the one before gets its large blocks") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    INFO(seed);
    BlockCache cache;
    std::set<uint8_t *> first = run(cache, seed), second = run(cache, seed);
    CHECK(std::includes(first.begin(), first.end(), second.begin(), second.end()));
  }
}

TEST_CASE("two sets of sizes take turns without new blocks") {
  BlockCache cache;
  std::set<uint8_t *> blocks[2] = {run(cache, 1), run(cache, 2)};
  blocks[1].insert(blocks[0].begin(), blocks[0].end());
  for (unsigned seed : {1u, 2u, 1u, 2u}) {
    std::set<uint8_t *> now = run(cache, seed);
    CHECK(std::includes(blocks[1].begin(), blocks[1].end(), now.begin(), now.end()));
  }
}

TEST_CASE("blocks are at least as large as asked for, and not handed out twice") {
  BlockCache cache;
  std::set<uint8_t *> held;
  for (uint64_t bytes : {1u, 64u, 1000u, 5000u, 1u << 20, (1u << 20) + 1, 3u << 20, 5u << 20}) {
    uint8_t *block = cache.take(bytes);
    REQUIRE(block);
    block[bytes - 1] = 1;
    CHECK(held.insert(block).second);
  }
  CHECK_FALSE(cache.giveBack(nullptr));
}
