// Rows of a node form a short list (one per vendor) in the order of asking.

#include "bycc/Target/RefusalLog.h"

namespace bycc {

uint32_t RefusalLog::intern(std::string_view text) {
  auto [found, isNew] = ids_.emplace(std::string(text), static_cast<uint32_t>(texts_.size()));
  if (isNew)
    texts_.push_back(&found->first);
  return found->second;
}

void RefusalLog::add(NodeId node, std::string_view vendor, std::string_view reason) {
  if (first_.size() <= node.index)
    first_.resize(node.index + size_t{1} + first_.size() / 2, none);
  uint32_t vendorId = intern(vendor), reasonId = intern(reason);
  uint32_t *link = &first_[node.index];
  while (*link != none) {
    if (rows_[*link].vendor == vendorId) {
      rows_[*link].reason = reasonId;
      return;
    }
    link = &rows_[*link].next;
  }
  *link = static_cast<uint32_t>(rows_.size());
  rows_.push_back({vendorId, reasonId, none});
}

void RefusalLog::move(NodeId from, NodeId to) {
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
}

std::vector<std::pair<std::string_view, std::string_view>> RefusalLog::of(NodeId node) const {
  std::vector<std::pair<std::string_view, std::string_view>> result;
  if (node.index < first_.size())
    for (uint32_t row = first_[node.index]; row != none; row = rows_[row].next)
      result.emplace_back(*texts_[rows_[row].vendor], *texts_[rows_[row].reason]);
  return result;
}

} // namespace bycc
