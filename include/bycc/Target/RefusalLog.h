// What vendors said about nodes and what became of it: who refused, who would
// take a node and does not have it, and why; which regions went back to the host.
// (node, vendor, reason) rows, reasons interned, so that a million refusals of
// one kind cost a million small rows. Nodes keep their ids while partitioning
// moves them into functions, so rows stay valid.
#pragma once

#include "bycc/IR/Ids.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bycc {

// A region that was formed and then given to the host.
struct ReturnedRegion {
  std::string vendor;
  std::string why; // "below --min-region-ops=3"
  int64_t ops = 0;
};

// Two regions of one vendor, by a node of each, and why they are not one.
struct ApartRegions {
  NodeId first, second;
  std::string why;
};

class RefusalLog {
public:
  using Reasons = std::vector<std::pair<std::string, std::string>>; // vendor, reason

  // The vendor refuses the node. A later reason of the same vendor for the same
  // node replaces the earlier.
  void add(NodeId node, std::string_view vendor, std::string_view reason);
  // Why a composite that ends in the node was not formed; the first one is kept,
  // and told when the vendor refuses the node as well.
  void addPattern(NodeId node, std::string_view vendor, std::string_view reason);
  // The same where one could be formed, and why that is not wanted: instead of what was told.
  void setPattern(NodeId node, std::string_view vendor, std::string_view reason);
  // The vendor would take the node.
  void accept(NodeId node, std::string_view vendor);
  // Why a vendor that would take the node does not get it; the last one counts.
  void passOver(NodeId node, std::string_view vendor, std::string_view reason);
  // The node's rows moved to another id (its operator now lives there).
  void move(NodeId from, NodeId to);
  // What the plan's estimate has the node take, or the composite that it is of.
  void setTime(NodeId node, double microseconds);
  std::optional<double> timeOf(NodeId node) const;
  void addReturned(ReturnedRegion region) { returned_.push_back(std::move(region)); }
  void setApart(std::vector<ApartRegions> apart) { apart_ = std::move(apart); }
  // Why a vendor that could have some nodes has none at all.
  void setIdle(const std::string &vendor, std::string why) { idle_[vendor] = std::move(why); }
  void clear();

  // Refusals of a node, in the order the vendors were asked; with what became of
  // patterns, or what was said about the node alone.
  Reasons of(NodeId node, bool withPatterns = true) const;
  // The vendors that would take a node, in that order; the reason is "" for the
  // one that has it (or when nobody said why).
  Reasons candidates(NodeId node) const;
  const std::vector<ReturnedRegion> &returned() const { return returned_; }
  const std::vector<ApartRegions> &apart() const { return apart_; }
  const std::map<std::string, std::string> &idle() const { return idle_; }
  bool empty() const { return rows_.empty(); }

private:
  struct Row {
    uint32_t vendor;
    uint32_t reason, pattern; // or none
    uint32_t next;            // row of the same node, or none
    bool isYes;               // `reason`: why it does not have the node
  };
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t intern(std::string_view text);
  uint32_t vendorId(std::string_view vendor);
  Row &row(NodeId node, std::string_view vendor);

  std::vector<Row> rows_;
  std::vector<uint32_t> first_; // by node
  std::vector<double> times_;   // by node, below 0 where there is none
  std::vector<std::string> vendors_;
  std::vector<const std::string *> texts_;
  struct TextHash { // of any kind of text: a known one is looked up without a copy
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>> ids_;
  std::vector<ReturnedRegion> returned_;
  std::vector<ApartRegions> apart_;
  std::map<std::string, std::string> idle_; // by vendor
};

} // namespace bycc
