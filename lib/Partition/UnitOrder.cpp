#include "UnitOrder.h"

#include "Scopes.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/RegionView.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace bycc {

namespace {}

std::vector<UnitOrder::Unit> UnitOrder::sort() {
  makeUnits();
  makeEdges();
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t unit = 0; unit < units_.size(); ++unit)
    if (waiting_[unit] == 0)
      ready.push(unit);
  std::vector<Unit> order;
  while (!ready.empty()) {
    uint32_t unit = ready.top();
    ready.pop();
    order.push_back(units_[unit]);
    for (uint32_t edge = begin_[unit]; edge < begin_[unit + 1]; ++edge)
      if (--waiting_[to_[edge]] == 0)
        ready.push(to_[edge]);
  }
  if (order.size() != units_.size())
    order.clear();
  return order;
}

std::vector<UnitOrder::Unit> UnitOrder::cycle() const {
  // Each unit that still waits has a need that waits, too: following these needs
  // must come back.
  std::vector<uint32_t> need(units_.size(), none);
  uint32_t at = none;
  for (auto [from, to] : edges_)
    if (waiting_[from] > 0 && waiting_[to] > 0)
      need[at = to] = from;
  for (size_t step = 0; step < units_.size(); ++step)
    at = need[at];
  std::vector<Unit> ring;
  for (uint32_t unit = at; ring.empty() || unit != at; unit = need[unit])
    ring.push_back(units_[unit]);
  return ring;
}

Error UnitOrder::cycleError() const {
  std::vector<Unit> ring = cycle();
  auto place = [&](const Unit &unit) {
    return unit.region == none ? unit.node : regions_[unit.region].nodes[0];
  };
  auto first = std::ranges::find_if(ring, [](auto &unit) { return unit.region != none; });
  BYCC_ASSERT(first != ring.end(), "host nodes alone are in order");
  std::string others;
  for (const Unit &unit : ring)
    if (unit.region != first->region)
      others += (others.empty() ? "" : ", ") + nodeName(module_, place(unit));
  return error(Status::Input, module_.source(place(*first)))
         << "the region of '" << escaped(module_.string(regions_[first->region].vendor))
         << "' that begins here needs its own result, by way of " << others;
}

// Units are numbered by their first node.
void UnitOrder::makeUnits() {
  for (NodeId node : module_.block(block_).nodes) {
    uint32_t region = regions_.of(node), unit = static_cast<uint32_t>(units_.size());
    NodeId first = region == none ? node : regions_[region].nodes[0];
    if (first != node)
      unit = unitOf_[places_.position[first.index]];
    else
      units_.push_back({region, region == none ? node : NodeId()});
    unitOf_.push_back(unit);
  }
}

void UnitOrder::makeEdges() {
  const std::vector<NodeId> &nodes = module_.block(block_).nodes;
  for (uint32_t i = 0; i < nodes.size(); ++i)
    forEachUsedValue(module_, nodes[i], [&](NodeId value) { need(value, unitOf_[i]); });
  sortEdges();
  waiting_.assign(units_.size(), 0);
  begin_.assign(units_.size() + 1, 0);
  for (auto [from, to] : edges_) {
    ++begin_[from + 1];
    ++waiting_[to];
    to_.push_back(to);
  }
  for (uint32_t i = 1; i < begin_.size(); ++i)
    begin_[i] += begin_[i - 1];
}

// A counting sort by maker; what remains to be sorted are the users of one.
void UnitOrder::sortEdges() {
  std::vector<uint32_t> next(units_.size() + 1, 0);
  for (auto [from, to] : edges_)
    ++next[from + 1];
  for (size_t i = 1; i < next.size(); ++i)
    next[i] += next[i - 1];
  std::vector<std::pair<uint32_t, uint32_t>> sorted(edges_.size());
  for (const auto &edge : edges_)
    sorted[next[edge.first]++] = edge;
  for (size_t unit = 0, begin = 0; unit < units_.size(); begin = next[unit++])
    std::sort(sorted.begin() + static_cast<long>(begin),
              sorted.begin() + static_cast<long>(next[unit]));
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  edges_ = std::move(sorted);
}

void UnitOrder::need(NodeId value, uint32_t unit) {
  // The host may keep the tuple itself; a region looks through it.
  if (units_[unit].region == none || module_.node(value).kind == NodeKind::Function)
    addEdge(value, unit);
  tensors_.clear();
  resolveTensors(module_, value, tensors_);
  for (const TensorRef &tensor : tensors_)
    addEdge(tensor.base, unit);
}

void UnitOrder::addEdge(NodeId from, uint32_t unit) {
  if (from.index >= places_.block.size() || places_.block[from.index] != block_)
    return;
  if (uint32_t other = unitOf_[places_.position[from.index]]; other != unit)
    edges_.emplace_back(other, unit);
}

} // namespace bycc
