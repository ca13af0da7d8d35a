// Orders about single nodes that come from outside the vendors: the command line,
// a partition plan, vendors that failed earlier. Nodes are those of the program
// before composites are formed; a composite is bound by what its nodes are.
#pragma once

#include "bycc/IR/Ids.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bycc {

class PlacementRules {
public:
  // The vendor may not have the node. The first reason is kept.
  void forbid(NodeId node, std::string_view vendor, std::string reason);
  // No vendor but this one may have it; "host": none.
  void pin(NodeId node, std::string_view vendor, std::string reason);
  // Nodes with different labels never share a region or composite; 0 is a label
  // as well, that of nodes nobody labelled.
  void setLabel(NodeId node, uint32_t label);
  // The node's orders hold for `to` as well (its operator continues there).
  void follow(NodeId node, NodeId to);

  // Why the vendor may not have the node; null when it may.
  const std::string *whyNot(NodeId node, std::string_view vendor) const;
  // The vendor a node is pinned to; "" when to none.
  std::string_view pinOf(NodeId node) const;
  uint32_t labelOf(NodeId node) const;
  bool empty() const { return orders_.empty(); }

private:
  struct Orders {
    std::string pin, pinReason;
    std::vector<std::pair<std::string, std::string>> forbidden; // vendor, reason
    uint32_t label = 0;
  };
  std::unordered_map<uint32_t, Orders> orders_; // by node
};

} // namespace bycc
