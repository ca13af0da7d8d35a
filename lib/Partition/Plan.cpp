// Nodes are found by name and by their number among nodes of that name. The order
// of the file does not matter.

#include "Plan.h"

#include "bycc/IR/Op.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/PartitionPlan.h"
#include "bycc/Target/RegionView.h"

#include <map>
#include <tuple>
#include <unordered_map>

namespace bycc {

namespace {

constexpr size_t maxNamed = 20;

std::string titled(const std::string &name, uint32_t index, std::string_view op) {
  return "'" + escaped(name) + "'" + (index > 0 ? " number " + std::to_string(index) : "") + " (" +
         escaped(op) + ")";
}

class Binder {
public:
  Binder(const Module &module, PlacementRules &rules)
      : module_(module), rules_(rules), plan_(*rules.orders.plan) {}

  Expected<> bind(std::span<const NodeId> calls) {
    for (const PlanNode &row : plan_.nodes)
      if (!rowOf_.emplace(keyOf(row.name, row.index), &row).second)
        return error(Status::Arg) << plan_.file << ": " << titled(row.name, row.index, row.op)
                                  << " comes twice";
    std::unordered_map<std::string, uint32_t> counts;
    for (NodeId call : calls) {
      std::string name = nodeName(module_, call);
      bindCall(call, name, counts[name]++);
    }
    for (const PlanNode &row : plan_.nodes)
      if (rowOf_.contains(keyOf(row.name, row.index)))
        stale(titled(row.name, row.index, row.op) + " is not in the program");
    return result();
  }

private:
  static std::string keyOf(const std::string &name, uint32_t index) {
    return name + '\n' + std::to_string(index);
  }

  void bindCall(NodeId call, const std::string &name, uint32_t index) {
    std::string_view op = opInfo(module_.node(call).op).name;
    auto found = rowOf_.find(keyOf(name, index));
    if (found == rowOf_.end()) {
      stale(titled(name, index, op) + " is not in the plan");
      return;
    }
    const PlanNode &row = *found->second;
    rowOf_.erase(found);
    if (row.op != op)
      stale(titled(name, index, op) + " is " + escaped(row.op) + " in the plan");
    rules_.setPlanned(call, &row, groupOf(row));
  }

  uint32_t groupOf(const PlanNode &row) {
    if (row.composite.empty())
      return 0; // asked for no more: it is in no composite
    return groups_
        .try_emplace({row.composite, row.place, row.place == "host" ? -1 : row.region},
                     static_cast<uint32_t>(groups_.size()) + 1)
        .first->second;
  }

  void stale(std::string text) {
    if (++numStale_ <= maxNamed)
      notes_.push_back(std::move(text));
  }

  Expected<> result() {
    if (numStale_ == 0)
      return {};
    Diagnostic diagnostic;
    diagnostic.status = Status::Arg;
    diagnostic.id = MessageId::StalePlan;
    diagnostic.message = "--partition-plan: " + plan_.file +
                         " is not for this program: " + std::to_string(numStale_) +
                         (numStale_ == 1 ? " node differs" : " nodes differ");
    for (std::string &note : notes_)
      diagnostic.notes.push_back({{}, std::move(note)});
    if (numStale_ > maxNamed)
      diagnostic.notes.push_back({{}, "and " + std::to_string(numStale_ - maxNamed) + " more"});
    return Error(std::move(diagnostic));
  }

  const Module &module_;
  PlacementRules &rules_;
  const PartitionPlan &plan_;
  std::unordered_map<std::string, const PlanNode *> rowOf_; // rows not met yet
  std::map<std::tuple<std::string, std::string, int64_t>, uint32_t> groups_;
  std::vector<std::string> notes_;
  size_t numStale_ = 0;
};

} // namespace

Expected<> bindPlan(const Module &module, std::span<const NodeId> calls, PlacementRules &rules) {
  return Binder(module, rules).bind(calls);
}

} // namespace bycc
