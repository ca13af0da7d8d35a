// Reads a plan off a partitioned module. Operators keep their ids on the way into
// regions, but for the root of a composite: its id became the composite's call.

#include "bycc/Partition/RecordPlan.h"

#include "Composites.h"
#include "Plan.h"
#include "Scopes.h"

#include <unordered_map>
#include <unordered_set>

namespace bycc {

namespace {

class Recorder {
public:
  Recorder(const Module &module, const PlacementRules &rules, const RefusalLog *refusals)
      : module_(module), rules_(rules), refusals_(refusals) {
    for (FunctionId function : module.globals())
      if (const AttrValue *vendor = module.functionAttr(function, "Compiler"))
        walk(module.function(function).body, function.index, vendor->asString(), {});
      else
        forEachNode(module, module.function(function).body,
                    [&](NodeId node) { onHost_.insert(node); });
  }

  std::vector<PlanNode> nodes() {
    std::vector<PlanNode> rows;
    std::unordered_map<std::string, uint32_t> names;
    for (const ProgramRecord::Call &call : rules_.program.calls) {
      PlanNode row;
      row.name = call.name;
      row.op = call.op;
      row.index = names[call.name]++;
      place(call.node, row);
      rows.push_back(std::move(row));
    }
    return rows;
  }

private:
  struct Place {
    uint32_t function;
    std::string vendor, composite;
    NodeId compositeCall;
    NodeId now; // the operator's id, where reasons are kept
  };

  void walk(BlockId block, uint32_t function, const std::string &vendor,
            std::pair<std::string, NodeId> composite) {
    for (NodeId node : module_.block(block).nodes)
      walkNode(node, node, function, vendor, composite);
  }

  // `origin`: the id of the operator, or of the composite's root, before.
  void walkNode(NodeId node, NodeId origin, uint32_t function, const std::string &vendor,
                const std::pair<std::string, NodeId> &composite) {
    if (module_.node(node).kind == NodeKind::CallOp)
      places_[origin] = {function, vendor, composite.first, composite.second, node};
    std::optional<FunctionId> inner = compositeOf(module_, node);
    if (!inner)
      return;
    std::pair<std::string, NodeId> outer = composite;
    if (!outer.second)
      outer = {module_.functionAttr(*inner, "Composite")->asString(), node};
    const Block &body = module_.block(module_.function(*inner).body);
    for (NodeId part : body.nodes)
      walkNode(part, part == body.result ? origin : part, function, vendor, outer);
  }

  void place(NodeId node, PlanNode &row) {
    auto found = places_.find(node);
    row.place = found == places_.end() ? "host" : found->second.vendor;
    if (found != places_.end()) {
      row.region = numberOf(regions_, found->second.function);
      if (found->second.compositeCall)
        row.composite = titled(found->second.composite, found->second.compositeCall);
    } else if (auto gone = rules_.program.dissolved.find(node);
               gone != rules_.program.dissolved.end()) {
      row.composite = titled(gone->second.first, gone->second.second);
    }
    if (auto chosen = rules_.program.chosen.find(node); found == places_.end() &&
                                                        !onHost_.contains(node) &&
                                                        chosen != rules_.program.chosen.end()) {
      row.place = chosen->second.first;
      row.region = numberOf(regions_, UINT32_MAX - static_cast<uint32_t>(chosen->second.second));
    }
    if (refusals_)
      for (auto &[vendor, why] :
           refusals_->candidates(found == places_.end() ? node : found->second.now))
        if (vendor != row.place && !why.empty())
          row.why.emplace_back(vendor, why);
  }

  static int64_t numberOf(std::unordered_map<uint32_t, int64_t> &numbers, uint32_t id) {
    return numbers.try_emplace(id, static_cast<int64_t>(numbers.size())).first->second;
  }
  std::string titled(const std::string &composite, NodeId call) {
    return composite + "#" + std::to_string(numberOf(composites_, call.index));
  }

  const Module &module_;
  const PlacementRules &rules_;
  const RefusalLog *refusals_;
  std::unordered_set<NodeId> onHost_;
  std::unordered_map<NodeId, Place> places_; // by id before composites were formed
  std::unordered_map<uint32_t, int64_t> regions_, composites_; // -> number in the plan
};

} // namespace

std::vector<PlanNode> recordPlan(const Module &module, const PlacementRules &rules,
                                 const RefusalLog *refusals) {
  return Recorder(module, rules, refusals).nodes();
}

void keepChosen(const Module &module, PlacementRules *rules) {
  if (!rules || !rules->orders.keepProgram)
    return;
  rules->program.chosen.clear();
  for (BlockId block : hostBlocks(module))
    for (NodeId node : module.block(block).nodes)
      if (const Annotation *annotation = module.annotation(node);
          annotation && !annotation->vendors.empty() && annotation->region >= 0) {
        NodeId root = rootOperator(module, node);
        forEachOperator(module, node, [&](NodeId call) {
          rules->program.chosen[call == root ? node : call] = {
              std::string(module.string(annotation->vendors[0])), annotation->region};
        });
      }
}

} // namespace bycc
