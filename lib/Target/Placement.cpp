#include "bycc/Target/Placement.h"

#include <algorithm>

namespace bycc {

void PlacementRules::forbid(NodeId node, std::string_view vendor, std::string reason) {
  auto &forbidden = orders_[node.index].forbidden;
  if (std::ranges::find(forbidden, vendor, &std::pair<std::string, std::string>::first) ==
      forbidden.end())
    forbidden.emplace_back(vendor, std::move(reason));
}

void PlacementRules::pin(NodeId node, std::string_view vendor, std::string reason) {
  Orders &orders = orders_[node.index];
  orders.pin = vendor;
  orders.pinReason = std::move(reason);
}

void PlacementRules::setLabel(NodeId node, uint32_t label) { orders_[node.index].label = label; }

void PlacementRules::follow(NodeId node, NodeId to) {
  if (auto found = orders_.find(node.index); found != orders_.end()) {
    Orders copy = found->second; // the table may move
    orders_.insert_or_assign(to.index, std::move(copy));
  }
}

const std::string *PlacementRules::whyNot(NodeId node, std::string_view vendor) const {
  auto found = orders_.find(node.index);
  if (found == orders_.end())
    return nullptr;
  const Orders &orders = found->second;
  if (!orders.pin.empty() && orders.pin != vendor)
    return &orders.pinReason;
  for (const auto &[name, reason] : orders.forbidden)
    if (name == vendor)
      return &reason;
  return nullptr;
}

std::string_view PlacementRules::pinOf(NodeId node) const {
  auto found = orders_.find(node.index);
  return found == orders_.end() ? std::string_view() : std::string_view(found->second.pin);
}

uint32_t PlacementRules::labelOf(NodeId node) const {
  auto found = orders_.find(node.index);
  return found == orders_.end() ? 0 : found->second.label;
}

} // namespace bycc
