// Rows of a node form a short list (one per vendor) in the order of asking.

#include "bycc/Target/RefusalLog.h"

#include <algorithm>

namespace bycc {

uint32_t RefusalLog::intern(std::string_view text) {
  auto found = ids_.find(text);
  if (found == ids_.end()) {
    found = ids_.emplace(std::string(text), static_cast<uint32_t>(texts_.size())).first;
    texts_.push_back(&found->first);
  }
  return found->second;
}

// Vendors are few: no need to hash a name a million times.
uint32_t RefusalLog::vendorId(std::string_view vendor) {
  auto found = std::ranges::find(vendors_, vendor);
  if (found == vendors_.end())
    found = vendors_.insert(vendors_.end(), std::string(vendor));
  return static_cast<uint32_t>(found - vendors_.begin());
}

// The row of the vendor for the node; made when there is none. One that holds no
// answer yet, only what became of a pattern, takes its place now.
RefusalLog::Row &RefusalLog::row(NodeId node, std::string_view vendor) {
  if (first_.size() <= node.index)
    first_.resize(node.index + size_t{1} + first_.size() / 2, none);
  uint32_t id = vendorId(vendor);
  uint32_t *link = &first_[node.index];
  while (*link != none) {
    uint32_t at = *link;
    if (rows_[at].vendor != id) {
      link = &rows_[at].next;
      continue;
    }
    if (rows_[at].isYes || rows_[at].reason != none)
      return rows_[at];
    *link = rows_[at].next;
    rows_[at].next = none;
    while (*link != none)
      link = &rows_[*link].next;
    *link = at;
    return rows_[at];
  }
  *link = static_cast<uint32_t>(rows_.size());
  rows_.push_back({id, none, none, none, false});
  return rows_.back();
}

void RefusalLog::add(NodeId node, std::string_view vendor, std::string_view reason) {
  uint32_t id = intern(reason);
  Row &found = row(node, vendor);
  found.reason = id;
  found.isYes = false;
}

void RefusalLog::addPattern(NodeId node, std::string_view vendor, std::string_view reason) {
  uint32_t id = intern(reason);
  if (Row &found = row(node, vendor); found.pattern == none)
    found.pattern = id;
}

void RefusalLog::setPattern(NodeId node, std::string_view vendor, std::string_view reason) {
  uint32_t id = intern(reason);
  row(node, vendor).pattern = id;
}

void RefusalLog::accept(NodeId node, std::string_view vendor) {
  Row &found = row(node, vendor);
  found.isYes = true;
  found.reason = none;
}

void RefusalLog::passOver(NodeId node, std::string_view vendor, std::string_view reason) {
  uint32_t id = intern(reason);
  Row &found = row(node, vendor);
  found.isYes = true;
  found.reason = id;
}

void RefusalLog::setTime(NodeId node, double microseconds) {
  if (times_.size() <= node.index)
    times_.resize(node.index + size_t{1} + times_.size() / 2, -1);
  times_[node.index] = microseconds;
}

std::optional<double> RefusalLog::timeOf(NodeId node) const {
  if (node.index >= times_.size() || times_[node.index] < 0)
    return std::nullopt;
  return times_[node.index];
}

void RefusalLog::move(NodeId from, NodeId to) {
  if (std::optional<double> time = timeOf(from)) {
    setTime(to, *time);
    times_[from.index] = -1;
  }
  if (from.index >= first_.size() || first_[from.index] == none)
    return;
  if (first_.size() <= to.index)
    first_.resize(to.index + size_t{1} + first_.size() / 2, none);
  first_[to.index] = first_[from.index];
  first_[from.index] = none;
}

void RefusalLog::clear() {
  rows_.clear();
  first_.clear();
  times_.clear();
  returned_.clear();
  apart_.clear();
  idle_.clear();
}

RefusalLog::Reasons RefusalLog::of(NodeId node, bool withPatterns) const {
  Reasons result;
  if (node.index >= first_.size())
    return result;
  for (uint32_t at = first_[node.index]; at != none; at = rows_[at].next) {
    const Row &row = rows_[at];
    if (row.isYes || row.reason == none)
      continue;
    std::string reason = *texts_[row.reason];
    // An order about the node (--pin) is a reason for both.
    if (withPatterns && row.pattern != none && !texts_[row.pattern]->ends_with(reason))
      reason += "; " + *texts_[row.pattern];
    result.emplace_back(vendors_[row.vendor], std::move(reason));
  }
  return result;
}

RefusalLog::Reasons RefusalLog::candidates(NodeId node) const {
  Reasons result;
  if (node.index >= first_.size())
    return result;
  for (uint32_t at = first_[node.index]; at != none; at = rows_[at].next)
    if (const Row &row = rows_[at]; row.isYes)
      result.emplace_back(vendors_[row.vendor], row.reason == none ? "" : *texts_[row.reason]);
  return result;
}

} // namespace bycc
