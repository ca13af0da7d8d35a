#include "ApartWays.h"

#include <algorithm>

namespace bycc {

namespace {

struct TilePair {
  uint32_t item, tile, later, laterTile; // items by place
};

} // namespace

// The cheapest tiles where there are more than ways; the first way is that of all others,
// if there are any.
ApartWays apartWays(const PlanProblem &problem, uint32_t vendor,
                    const std::vector<uint8_t> &isPossible, std::span<const uint32_t> items,
                    std::span<const uint64_t> neededBy) {
  ApartWays ways;
  if (problem.apart.empty())
    return ways;
  auto isOfVendor = [&](uint32_t tile) {
    return isPossible[tile] && problem.tiles[tile].vendor == vendor;
  };
  std::vector<TilePair> pairs;
  for (uint32_t i = 0; i < items.size(); ++i)
    for (uint32_t tile : problem.tilesOf[items[i]]) {
      if (!isOfVendor(tile))
        continue;
      auto first = std::ranges::lower_bound(problem.apart, std::pair(tile, 0u));
      for (; first != problem.apart.end() && first->first == tile; ++first) {
        if (!isOfVendor(first->second))
          continue;
        for (uint32_t member : problem.membersOf(first->second)) {
          auto found = std::ranges::lower_bound(items, member);
          auto j = static_cast<uint32_t>(found - items.begin());
          if (found != items.end() && *found == member && j > i && j - i <= LinkedItems::reach &&
              neededBy[i] >> (j - i - 1) & 1)
            pairs.push_back({i, tile, j, first->second});
        }
      }
    }
  if (pairs.empty())
    return ways;
  std::vector<std::vector<uint32_t>> apart(items.size()); // tiles, by item
  for (const TilePair &pair : pairs) {
    apart[pair.item].push_back(pair.tile);
    apart[pair.later].push_back(pair.laterTile);
  }
  ways.tiles.resize(items.size());
  for (uint32_t i = 0; i < items.size(); ++i) {
    ApartWays::Tiles &tiles = ways.tiles[i];
    tiles.fill(none);
    std::ranges::sort(apart[i], {}, [&](uint32_t tile) {
      double size = static_cast<double>(problem.membersOf(tile).size());
      return std::pair(problem.tiles[tile].time / size, tile);
    });
    apart[i].erase(std::unique(apart[i].begin(), apart[i].end()), apart[i].end());
    auto count = static_cast<size_t>(std::ranges::count_if(problem.tilesOf[items[i]], isOfVendor));
    size_t next = count == apart[i].size() && count <= tiles.size() ? 0 : 1;
    for (uint32_t tile : apart[i])
      if (next < tiles.size())
        tiles[next++] = tile;
  }
  auto wayOf = [&](uint32_t item, uint32_t tile) {
    const ApartWays::Tiles &tiles = ways.tiles[item];
    return static_cast<uint32_t>(std::ranges::find(tiles, tile) - tiles.begin());
  };
  for (const TilePair &pair : pairs) {
    uint32_t way = wayOf(pair.item, pair.tile), later = wayOf(pair.later, pair.laterTile);
    if (way < PartsDiagram::maxWays && later < PartsDiagram::maxWays)
      ways.pairs.push_back({pair.item, way, pair.later, later});
  }
  return ways;
}

} // namespace bycc
