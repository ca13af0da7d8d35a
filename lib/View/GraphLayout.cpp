#include "bycc/View/GraphLayout.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace bycc {
namespace {

constexpr int orderSweeps = 10, placeSweeps = 14;
constexpr uint32_t maxColumns = 24;

// A vertex of the layered graph is a node or a point of a chain; links join layers that
// follow each other.
struct Links {
  std::vector<uint32_t> begin, to;
  std::span<const uint32_t> of(uint32_t vertex) const {
    return {to.data() + begin[vertex], begin[vertex + 1] - begin[vertex]};
  }
};

Links makeLinks(const std::vector<std::pair<uint32_t, uint32_t>> &pairs, uint32_t count,
                bool isUp) {
  Links links;
  links.begin.assign(count + 1, 0);
  for (auto [upper, lower] : pairs)
    ++links.begin[(isUp ? lower : upper) + 1];
  std::partial_sum(links.begin.begin(), links.begin.end(), links.begin.begin());
  links.to.resize(pairs.size());
  std::vector<uint32_t> next(links.begin.begin(), links.begin.end() - 1);
  for (auto [upper, lower] : pairs)
    links.to[next[isUp ? lower : upper]++] = isUp ? upper : lower;
  return links;
}

// Prefix sums that can be changed.
class Counter {
public:
  explicit Counter(size_t size) : sums_(size + 1) {}
  void add(size_t at) {
    for (++at; at < sums_.size(); at += at & (~at + 1))
      ++sums_[at];
  }
  uint64_t upTo(size_t at) const { // [0, at]
    uint64_t sum = 0;
    for (++at; at > 0; at -= at & (~at + 1))
      sum += sums_[at];
    return sum;
  }

private:
  std::vector<uint32_t> sums_;
};

class Layouter {
public:
  Layouter(const LayoutGraph &graph, const LayoutOptions &options)
      : graph_(graph), options_(options), count_(static_cast<uint32_t>(graph.nodes.size())) {
    for (auto edge : graph.edges)
      if (edge.first < edge.second)
        edges_.push_back(edge);
    std::ranges::sort(edges_);
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  }

  GraphLayout run() {
    if (count_ > 0) {
      assignLayers();
      makeChains();
      orderLayers();
      placeVertices();
      foldColumns();
    }
    return std::move(out_);
  }

private:
  // --- 1 layers

  // The first layer from `from` on that has room, by path halving.
  uint32_t roomFrom(uint32_t from) {
    while (skip_.size() <= from + 1)
      skip_.push_back(static_cast<uint32_t>(skip_.size()));
    while (skip_[from] != from) {
      while (skip_.size() <= skip_[from] + 1)
        skip_.push_back(static_cast<uint32_t>(skip_.size()));
      skip_[from] = skip_[skip_[from]];
      from = skip_[from];
    }
    return from;
  }

  void put(uint32_t node, uint32_t layer) {
    out_.layer[node] = layer;
    if (inLayer_.size() <= layer)
      inLayer_.resize(layer + 1);
    if (++inLayer_[layer] >= most_) {
      roomFrom(layer);
      skip_[layer] = layer + 1;
    }
  }

  void assignLayers() {
    // Rows of one width look better than one row of thousands.
    most_ =
        std::max<uint32_t>(12, static_cast<uint32_t>(1.3 * std::sqrt(static_cast<double>(count_))));
    out_.layer.assign(count_, 0);
    Links up = makeLinks(edges_, count_, true), down = makeLinks(edges_, count_, false);
    for (uint32_t node = 0; node < count_; ++node) {
      uint32_t least = 0;
      for (uint32_t maker : up.of(node))
        least = std::max(least, out_.layer[maker] + 1);
      put(node, roomFrom(least));
    }
    // Nearer to the readers where that makes more edges short than long.
    for (uint32_t node = count_; node-- > 0;) {
      if (down.of(node).empty() || up.of(node).size() >= down.of(node).size())
        continue;
      uint32_t last = UINT32_MAX;
      for (uint32_t reader : down.of(node))
        last = std::min(last, out_.layer[reader] - 1);
      if (last > out_.layer[node] && inLayer_[last] < most_) {
        --inLayer_[out_.layer[node]];
        out_.layer[node] = last;
        ++inLayer_[last];
      }
    }
    dropEmptyLayers();
  }

  void dropEmptyLayers() {
    std::vector<uint32_t> number(inLayer_.size());
    for (size_t layer = 0; layer < inLayer_.size(); ++layer)
      if (inLayer_[layer] > 0)
        number[layer] = out_.numLayers++;
    for (uint32_t &layer : out_.layer)
      layer = number[layer];
  }

  // --- 2 chains

  // Spans of more than this have no points, so that there are a few times as many as nodes
  // at most.
  uint32_t longestSpan() const {
    std::vector<uint64_t> ofSpan(out_.numLayers + 1);
    for (auto [from, to] : edges_)
      ++ofSpan[out_.layer[to] - out_.layer[from]];
    uint64_t points = 0, limit = 3 * uint64_t{count_} + 500;
    for (uint32_t span = 1; span <= out_.numLayers; ++span) {
      points += ofSpan[span] * (span - 1);
      if (points > limit)
        return span - 1;
    }
    return out_.numLayers;
  }

  void makeChains() {
    uint32_t longest = longestSpan();
    out_.chain.resize(count_);
    std::vector<uint32_t> first(count_); // vertex of the first point
    std::vector<uint32_t> length(count_);
    for (auto [from, to] : edges_)
      if (uint32_t span = out_.layer[to] - out_.layer[from]; span <= longest)
        length[from] = std::max(length[from], span - 1);
    layerOf_ = out_.layer;
    for (uint32_t node = 0; node < count_; ++node) {
      first[node] = static_cast<uint32_t>(layerOf_.size());
      out_.chain[node].resize(length[node]);
      for (uint32_t i = 0; i < length[node]; ++i) {
        links_.emplace_back(i == 0 ? node : first[node] + i - 1, first[node] + i);
        layerOf_.push_back(out_.layer[node] + 1 + i);
      }
    }
    for (auto [from, to] : edges_) {
      uint32_t span = out_.layer[to] - out_.layer[from];
      if (span <= longest)
        links_.emplace_back(span == 1 ? from : first[from] + span - 2, to);
    }
    total_ = static_cast<uint32_t>(layerOf_.size());
    up_ = makeLinks(links_, total_, true);
    down_ = makeLinks(links_, total_, false);
  }

  // --- 3 order

  // As a walk from the sources meets them, which keeps what belongs together near.
  void firstOrder() {
    out_.order.assign(out_.numLayers, {});
    std::vector<uint8_t> isSeen(total_);
    std::vector<uint32_t> stack;
    for (uint32_t start = 0; start < total_; ++start) {
      if (isSeen[start] || !up_.of(start).empty())
        continue;
      stack.push_back(start);
      while (!stack.empty()) {
        uint32_t vertex = stack.back();
        stack.pop_back();
        if (std::exchange(isSeen[vertex], 1))
          continue;
        out_.order[layerOf_[vertex]].push_back(vertex);
        std::span<const uint32_t> next = down_.of(vertex);
        stack.insert(stack.end(), next.rbegin(), next.rend());
      }
    }
    number();
  }

  void number() {
    position_.resize(total_);
    for (const std::vector<uint32_t> &layer : out_.order)
      for (uint32_t i = 0; i < layer.size(); ++i)
        position_[layer[i]] = i;
  }

  void sortLayer(std::vector<uint32_t> &layer, const Links &links) {
    std::vector<std::pair<double, uint32_t>> keys;
    for (uint32_t vertex : layer) {
      double sum = 0;
      std::span<const uint32_t> near = links.of(vertex);
      for (uint32_t neighbour : near)
        sum += position_[neighbour];
      double key = near.empty() ? position_[vertex] : sum / static_cast<double>(near.size());
      keys.emplace_back(key, vertex);
    }
    std::ranges::stable_sort(keys, {}, &std::pair<double, uint32_t>::first);
    centrePoints(keys);
    for (uint32_t i = 0; i < layer.size(); ++i) {
      layer[i] = keys[i].second;
      position_[layer[i]] = i;
    }
  }

  // Among vertices of one key points are in the middle: a chain beside a row of readers
  // would draw row after row aside.
  void centrePoints(std::vector<std::pair<double, uint32_t>> &keys) const {
    for (auto begin = keys.begin(); begin != keys.end();) {
      auto end = std::find_if(begin, keys.end(),
                              [&](const auto &other) { return other.first != begin->first; });
      if (end - begin > 2) {
        auto points = std::stable_partition(begin, end,
                                            [&](const auto &key) { return !isPoint(key.second); });
        std::rotate(begin + (points - begin) / 2, points, end);
      }
      begin = end;
    }
  }

  uint64_t numCrossings() const {
    uint64_t crossings = 0;
    std::vector<uint32_t> ends;
    for (size_t l = 0; l + 1 < out_.order.size(); ++l) {
      Counter seen(out_.order[l + 1].size());
      uint64_t before = 0;
      for (uint32_t vertex : out_.order[l]) {
        ends.clear();
        for (uint32_t lower : down_.of(vertex))
          ends.push_back(position_[lower]);
        for (uint32_t end : ends)
          crossings += before - seen.upTo(end);
        for (uint32_t end : ends)
          seen.add(end);
        before += ends.size();
      }
    }
    return crossings;
  }

  void orderLayers() {
    firstOrder();
    uint64_t fewest = numCrossings();
    std::vector<std::vector<uint32_t>> best = out_.order;
    for (int sweep = 0; sweep < orderSweeps; ++sweep) {
      if (sweep % 2 == 0)
        for (size_t l = 1; l < out_.order.size(); ++l)
          sortLayer(out_.order[l], up_);
      else
        for (size_t l = out_.order.size() - 1; l-- > 0;)
          sortLayer(out_.order[l], down_);
      if (uint64_t crossings = numCrossings(); crossings <= fewest) {
        fewest = crossings;
        best = out_.order;
      }
    }
    out_.order = std::move(best);
    number();
  }

  // --- 4 x

  bool isPoint(uint32_t vertex) const { return vertex >= count_; }
  double width(uint32_t vertex) const { return isPoint(vertex) ? 0 : graph_.nodes[vertex].width; }
  double distance(uint32_t left, uint32_t right) const {
    double gap = isPoint(left) && isPoint(right) ? options_.gapChain : options_.gapX;
    return (width(left) + width(right)) / 2 + gap;
  }

  // The mean of the neighbours; lines are to be straight, so points pull each other more.
  double wish(uint32_t vertex, bool fromAbove, bool fromBelow) const {
    double sum = 0, weight = 0;
    auto pull = [&](const Links &links) {
      for (uint32_t other : links.of(vertex)) {
        double w = isPoint(vertex) && isPoint(other)   ? 8
                   : isPoint(vertex) || isPoint(other) ? 2
                                                       : 1;
        sum += w * x_[other];
        weight += w;
      }
    };
    if (fromAbove)
      pull(up_);
    if (fromBelow)
      pull(down_);
    return weight > 0 ? sum / weight : x_[vertex];
  }

  // Least squares under the order: neighbours that would overlap become one block at the
  // mean of their wishes.
  void placeLayer(const std::vector<uint32_t> &layer, bool fromAbove, bool fromBelow) {
    struct BlockOf {
      double mean, weight;
      uint32_t count;
    };
    std::vector<BlockOf> blocks;
    std::vector<double> offset(layer.size());
    for (size_t i = 0; i < layer.size(); ++i) {
      offset[i] = i == 0 ? 0 : offset[i - 1] + distance(layer[i - 1], layer[i]);
      blocks.push_back(
          {wish(layer[i], fromAbove, fromBelow) - offset[i], isPoint(layer[i]) ? 2.0 : 1.0, 1});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].mean > blocks.back().mean) {
        BlockOf last = blocks.back();
        blocks.pop_back();
        BlockOf &into = blocks.back();
        double weight = into.weight + last.weight;
        into.mean = (into.mean * into.weight + last.mean * last.weight) / weight;
        into.weight = weight;
        into.count += last.count;
      }
    }
    size_t i = 0;
    for (const BlockOf &block : blocks)
      for (uint32_t k = 0; k < block.count; ++k, ++i)
        x_[layer[i]] = block.mean + offset[i];
  }

  void placeVertices() {
    x_.assign(total_, 0);
    for (const std::vector<uint32_t> &layer : out_.order) {
      double at = 0;
      for (size_t i = 0; i < layer.size(); ++i)
        x_[layer[i]] = i == 0 ? 0 : at += distance(layer[i - 1], layer[i]);
      for (uint32_t vertex : layer)
        x_[vertex] -= at / 2;
    }
    for (int sweep = 0; sweep < placeSweeps; ++sweep) {
      bool isLast = sweep + 2 >= placeSweeps;
      if (sweep % 2 == 0)
        for (size_t l = 0; l < out_.order.size(); ++l)
          placeLayer(out_.order[l], true, isLast);
      else
        for (size_t l = out_.order.size(); l-- > 0;)
          placeLayer(out_.order[l], isLast, true);
    }
    straighten();
    out_.x.assign(x_.begin(), x_.begin() + count_);
    uint32_t vertex = count_;
    for (std::vector<double> &chain : out_.chain)
      for (double &x : chain)
        x = x_[vertex++];
  }

  // One after the other, with nothing else between them: right below, where there is room.
  void straighten() {
    for (const std::vector<uint32_t> &layer : out_.order)
      for (size_t i = 0; i < layer.size(); ++i) {
        std::span<const uint32_t> above = up_.of(layer[i]);
        if (above.size() != 1 || down_.of(above[0]).size() != 1)
          continue;
        double x = x_[above[0]];
        bool hasRoom =
            (i == 0 || x_[layer[i - 1]] + distance(layer[i - 1], layer[i]) <= x) &&
            (i + 1 == layer.size() || x + distance(layer[i], layer[i + 1]) <= x_[layer[i + 1]]);
        if (hasRoom)
          x_[layer[i]] = x;
      }
  }

  // --- 5 columns

  void foldColumns() {
    height_.assign(out_.numLayers, 0);
    for (uint32_t node = 0; node < count_; ++node)
      height_[out_.layer[node]] = std::max(height_[out_.layer[node]], graph_.nodes[node].height);
    above_.assign(1, 0);
    for (double height : height_)
      above_.push_back(above_.back() + height + options_.gapY);
    crossing_.assign(out_.numLayers + 1, 0);
    for (uint32_t vertex = 0; vertex < total_; ++vertex)
      crossing_[layerOf_[vertex]] += static_cast<uint32_t>(up_.of(vertex).size());
    out_.columns = {0};
    double best = zoomOf(out_.columns);
    for (uint32_t count = 2; count <= std::min(maxColumns, out_.numLayers / 3); ++count) {
      std::vector<uint32_t> columns = cutInto(count);
      if (double zoom = zoomOf(columns); zoom > 1.15 * best && best < 1) { // not for little
        best = zoom;
        out_.columns = std::move(columns);
      }
    }
  }

  // Columns of about one height, each cut where the fewest edges are.
  std::vector<uint32_t> cutInto(uint32_t count) const {
    std::vector<uint32_t> columns{0};
    for (uint32_t c = 1; c < count; ++c) {
      double wanted = above_.back() * c / count, slack = above_.back() / count / 8;
      uint32_t best = 0;
      double least = 0;
      for (uint32_t l = columns.back() + 1; l < out_.numLayers && above_[l] <= wanted + slack;
           ++l) {
        double off = std::abs(above_[l] - wanted);
        if (off > slack && best > 0)
          continue;
        double cost = crossing_[l] + off / std::max(slack, 1.0);
        if (off > slack)
          cost += 1e9 + off;
        if (best == 0 || cost < least) {
          best = l;
          least = cost;
        }
      }
      if (best > columns.back())
        columns.push_back(best);
    }
    return columns;
  }

  double zoomOf(const std::vector<uint32_t> &columns) {
    out_.columns = std::exchange(out_.columns, columns);
    std::vector<uint32_t> kept = out_.columns;
    out_.columns = columns;
    LayoutExtent extent = extentOf(graph_, out_, options_);
    out_.columns = std::move(kept);
    return std::min(options_.viewWidth / std::max(extent.width, 1.0),
                    options_.viewHeight / std::max(extent.height, 1.0));
  }

  const LayoutGraph &graph_;
  const LayoutOptions &options_;
  const uint32_t count_;
  std::vector<std::pair<uint32_t, uint32_t>> edges_, links_;
  uint32_t most_ = 0, total_ = 0;
  std::vector<uint32_t> inLayer_, skip_;
  std::vector<uint32_t> layerOf_, position_; // by vertex
  std::vector<double> x_;
  Links up_, down_;
  std::vector<double> height_, above_; // by layer; above_ has one more
  std::vector<uint32_t> crossing_;     // links into each layer
  GraphLayout out_;
};

} // namespace

LayoutExtent extentOf(const LayoutGraph &graph, const GraphLayout &layout,
                      const LayoutOptions &options) {
  LayoutExtent extent;
  std::vector<double> height(layout.numLayers), left(layout.numLayers, 1e300),
      right(layout.numLayers, -1e300);
  auto cover = [&](uint32_t layer, double x, double half) {
    left[layer] = std::min(left[layer], x - half);
    right[layer] = std::max(right[layer], x + half);
  };
  for (uint32_t node = 0; node < graph.nodes.size(); ++node) {
    uint32_t layer = layout.layer[node];
    height[layer] = std::max(height[layer], graph.nodes[node].height);
    cover(layer, layout.x[node], graph.nodes[node].width / 2);
    for (double x : layout.chain[node])
      cover(++layer, x, 0);
  }
  for (size_t c = 0; c < layout.columns.size(); ++c) {
    uint32_t end = c + 1 < layout.columns.size() ? layout.columns[c + 1] : layout.numLayers;
    double h = 0, l = 1e300, r = -1e300;
    for (uint32_t layer = layout.columns[c]; layer < end; ++layer) {
      h += height[layer] + options.gapY;
      l = std::min(l, left[layer]);
      r = std::max(r, right[layer]);
    }
    extent.height = std::max(extent.height, h - options.gapY);
    extent.width += r - l + (c > 0 ? options.gapColumn : 0);
  }
  return extent;
}

GraphLayout layOut(const LayoutGraph &graph, const LayoutOptions &options) {
  return Layouter(graph, options).run();
}

} // namespace bycc
