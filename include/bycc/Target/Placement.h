// Orders about single nodes that come from outside the vendors: the command line,
// a partition plan, vendors that failed earlier. Nodes are those of the program
// before composites are formed; a composite is bound by what its nodes are.
#pragma once

#include "bycc/IR/Ids.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bycc {

struct PartitionPlan;
struct PlanNode;

// Orders by name, as the user gives them; place-nodes finds the nodes.
struct PlacementOrders {
  struct Pin {
    std::string nodes;  // a name or a glob
    std::string vendor; // or "host"
  };
  std::vector<Pin> pins;                     // a later one wins
  std::vector<std::string> onlyOps;          // operators (globs) that may be offloaded; empty: all
  std::vector<std::string> skipOps;          // operators (globs) that may not
  std::shared_ptr<const PartitionPlan> plan; // null: none is replayed
  bool keepProgram = false;                  // a plan is to be saved

  bool empty() const {
    return pins.empty() && onlyOps.empty() && skipOps.empty() && !plan && !keepProgram;
  }
};

// What is needed to save a plan: the program before composites are formed.
struct ProgramRecord {
  struct Call {
    NodeId node;
    std::string name, op;
  };
  std::vector<Call> calls; // of operators, in program order
  // Operators whose composite came apart again: its name and its call.
  std::unordered_map<NodeId, std::pair<std::string, NodeId>> dissolved;
  // Vendor and region as chosen, by the id before composites were formed: what
  // turns out to be unused is nowhere else afterwards.
  std::unordered_map<NodeId, std::pair<std::string, int32_t>> chosen;
};

class PlacementRules {
public:
  PlacementOrders orders;
  ProgramRecord program;     // filled when orders.keepProgram
  bool mustAskGiven = false; // there are given nodes that vendors were not asked about

  // The vendor may not have the node. The first reason is kept.
  void forbid(NodeId node, std::string_view vendor, std::string_view reason);
  // No vendor but this one may have it; "host": none.
  void pin(NodeId node, std::string_view vendor, std::string_view reason);
  // Pinned by the program itself.
  void give(NodeId node, std::string_view vendor, std::string_view reason);
  // Nodes with different labels never share a region or composite; 0 is a label
  // as well, that of nodes nobody labelled.
  void setLabel(NodeId node, uint32_t label);
  // The plan's row for a node. Composites are formed of nodes of one group only.
  void setPlanned(NodeId node, const PlanNode *row, uint32_t group);
  // The node's orders hold for `to` as well (its operator continues there).
  void follow(NodeId node, NodeId to);

  // Why the vendor may not have the node; null when it may.
  const std::string *whyNot(NodeId node, std::string_view vendor) const;
  // The vendor a node is pinned to; "" when to none.
  std::string_view pinOf(NodeId node) const;
  bool isGiven(NodeId node) const;
  uint32_t labelOf(NodeId node) const;
  const PlanNode *plannedFor(NodeId node) const; // null: no plan
  uint32_t groupOf(NodeId node) const;           // of a planned node
  bool empty() const { return rows_.empty(); }

private:
  static constexpr uint32_t none = UINT32_MAX;
  struct Row {
    uint32_t pin = none, pinReason = none;                // texts
    bool isGiven = false;                                 // the pin is the program's
    std::vector<std::pair<uint32_t, uint32_t>> forbidden; // vendor, reason
    uint32_t label = 0, group = 0;
    const PlanNode *planned = nullptr;
  };
  uint32_t intern(std::string_view text);
  Row &row(NodeId node);
  const Row *find(NodeId node) const {
    return node.index < rowOf_.size() && rowOf_[node.index] != none ? &rows_[rowOf_[node.index]]
                                                                    : nullptr;
  }

  std::vector<uint32_t> rowOf_; // by node, or none
  std::vector<Row> rows_;
  std::deque<std::string> texts_; // vendors and reasons, few
};

} // namespace bycc
