#include "bycc/Target/Placement.h"

#include <algorithm>

namespace bycc {

// Vendors and reasons are as few as there are orders; the last one is met most.
uint32_t PlacementRules::intern(std::string_view text) {
  for (size_t i = texts_.size(); i-- > 0;)
    if (texts_[i] == text)
      return static_cast<uint32_t>(i);
  texts_.emplace_back(text);
  return static_cast<uint32_t>(texts_.size() - 1);
}

PlacementRules::Row &PlacementRules::row(NodeId node) {
  if (rowOf_.size() <= node.index)
    rowOf_.resize(node.index + size_t{1} + rowOf_.size() / 2, none);
  uint32_t &index = rowOf_[node.index];
  if (index == none) {
    index = static_cast<uint32_t>(rows_.size());
    rows_.emplace_back();
  }
  return rows_[index];
}

void PlacementRules::forbid(NodeId node, std::string_view vendor, std::string_view reason) {
  std::pair order(intern(vendor), intern(reason));
  auto &forbidden = row(node).forbidden;
  if (std::ranges::find(forbidden, order.first, &std::pair<uint32_t, uint32_t>::first) ==
      forbidden.end())
    forbidden.push_back(order);
}

void PlacementRules::pin(NodeId node, std::string_view vendor, std::string_view reason) {
  Row &found = row(node);
  found.pin = intern(vendor);
  found.pinReason = intern(reason);
  found.isGiven = false;
}

void PlacementRules::give(NodeId node, std::string_view vendor, std::string_view reason) {
  pin(node, vendor, reason);
  row(node).isGiven = true;
}

void PlacementRules::setLabel(NodeId node, uint32_t label) { row(node).label = label; }

void PlacementRules::setPlanned(NodeId node, const PlanNode *planned, uint32_t group) {
  Row &found = row(node);
  found.planned = planned;
  found.group = group;
}

void PlacementRules::follow(NodeId node, NodeId to) {
  if (const Row *found = find(node)) {
    Row copy = *found; // the table may move
    row(to) = std::move(copy);
  }
}

const std::string *PlacementRules::whyNot(NodeId node, std::string_view vendor) const {
  const Row *found = find(node);
  if (!found)
    return nullptr;
  if (found->pin != none && texts_[found->pin] != vendor)
    return &texts_[found->pinReason];
  for (auto [name, reason] : found->forbidden)
    if (texts_[name] == vendor)
      return &texts_[reason];
  return nullptr;
}

std::string_view PlacementRules::pinOf(NodeId node) const {
  const Row *found = find(node);
  return found && found->pin != none ? std::string_view(texts_[found->pin]) : std::string_view();
}

bool PlacementRules::isGiven(NodeId node) const {
  const Row *found = find(node);
  return found && found->isGiven;
}

uint32_t PlacementRules::labelOf(NodeId node) const {
  const Row *found = find(node);
  return found ? found->label : 0;
}

const PlanNode *PlacementRules::plannedFor(NodeId node) const {
  const Row *found = find(node);
  return found ? found->planned : nullptr;
}

uint32_t PlacementRules::groupOf(NodeId node) const {
  const Row *found = find(node);
  return found ? found->group : 0;
}

} // namespace bycc
