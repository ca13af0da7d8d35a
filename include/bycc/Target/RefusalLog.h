// Why vendors said no: (node, vendor, reason) rows, reasons interned, so that a
// million refusals of one kind cost a million small rows. Nodes keep their ids
// while partitioning moves them into functions, so rows stay valid.
#pragma once

#include "bycc/IR/Ids.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bycc {

class RefusalLog {
public:
  // A later reason of the same vendor for the same node replaces the earlier.
  void add(NodeId node, std::string_view vendor, std::string_view reason);
  // Why a composite that ends in the node was not formed; the first one is kept,
  // and told when the vendor refuses the node as well.
  void addPattern(NodeId node, std::string_view vendor, std::string_view reason);
  // The node's rows moved to another id (its operator now lives there).
  void move(NodeId from, NodeId to);
  void clear();
  // (vendor, reason) of a node, in the order the vendors were asked.
  std::vector<std::pair<std::string, std::string>> of(NodeId node) const;
  bool empty() const { return rows_.empty(); }

private:
  struct Row {
    uint32_t vendor;
    uint32_t reason, pattern; // or none
    uint32_t next;            // row of the same node, or none
  };
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t intern(std::string_view text);
  Row &row(NodeId node, std::string_view vendor);

  std::vector<Row> rows_;
  std::vector<uint32_t> first_; // by node
  std::vector<const std::string *> texts_;
  std::unordered_map<std::string, uint32_t> ids_;
};

} // namespace bycc
