#include "bycc/Compiler/Statistics.h"

#include "bycc/CodeGen/CodeGen.h"
#include "bycc/IR/Functions.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Partition/OffloadReport.h"

#include <algorithm>
#include <map>
#include <set>

namespace bycc {
namespace {

constexpr const char *phaseNames[] = {"model", "passes", "partition", "host code", "output"};

void forAllNodes(const Module &module, const std::function<void(NodeId)> &visit) {
  for (FunctionId function : module.globals())
    forEachNode(module, module.function(function).body, visit);
}

int64_t countOperators(const Module &module) {
  int64_t count = 0;
  forAllNodes(module, [&](NodeId node) { count += module.node(node).kind == NodeKind::CallOp; });
  return count;
}

// Operators that fuse-ops has put into one kernel.
int64_t countFusedGroups(const Module &module) {
  int64_t count = std::ranges::count_if(module.globals(), [&](FunctionId function) {
    return hasAnyAttr(module, function, {"Primitive"});
  });
  forAllNodes(module, [&](NodeId node) {
    count += module.node(node).kind == NodeKind::Function &&
             hasAnyAttr(module, module.functionOf(node), {"Primitive"});
  });
  return count;
}

} // namespace

void Statistics::add(Phase phase, int64_t count, const std::string &what) {
  rows_.push_back({phase, std::to_string(count), what});
}

void Statistics::addChange(Phase phase, int64_t before, int64_t after, const std::string &what) {
  rows_.push_back({phase, std::to_string(before) + " -> " + std::to_string(after), what});
}

void Statistics::addModel(const Module &module) {
  std::set<uint32_t> constants;
  forAllNodes(module, [&](NodeId node) {
    for (NodeId operand : module.operands(node))
      if (module.isConstant(operand))
        constants.insert(module.node(operand).payload);
  });
  int64_t bytes = 0;
  for (uint32_t constant : constants)
    bytes += static_cast<int64_t>(module.constants[constant].bytes);
  add(Phase::Model, countOperators(module), "operators");
  add(Phase::Model, static_cast<int64_t>(module.globals().size()), "functions");
  add(Phase::Model, static_cast<int64_t>(constants.size()), "constants");
  add(Phase::Model, bytes, "bytes of constants");
}

void Statistics::addPartition(const OffloadReport &report) {
  if (report.vendors.empty())
    return;
  std::map<std::string, int64_t> composites;
  for (const OffloadFunction &function : report.functions)
    composites[function.compiler] += static_cast<int64_t>(function.composites.size());
  for (const auto &[vendor, totals] : report.vendorParts()) {
    add(Phase::Partition, totals.regions, "regions of " + vendor);
    add(Phase::Partition, totals.offloadedOps, "operators of " + vendor);
    add(Phase::Partition, composites[vendor], "composites of " + vendor);
  }
  add(Phase::Partition, report.totals.ops - report.totals.offloadedOps, "operators of the host");
  add(Phase::Partition, report.totals.boundaryTensors, "tensors that cross the boundary");
  add(Phase::Partition, report.totals.boundaryBytes, "bytes that cross the boundary");
  add(Phase::Partition, static_cast<int64_t>(report.returned.size()),
      "regions returned to the host");
}

void Statistics::addCode(const Module &module, const CodeCounts &counts) {
  add(Phase::HostCode, countFusedGroups(module), "fused groups");
  add(Phase::HostCode, counts.kernels, "kernels");
  add(Phase::HostCode, counts.kernelCalls, "calls of kernels");
  add(Phase::HostCode, counts.libraryCalls, "calls of library kernels");
  add(Phase::HostCode, counts.regionCalls, "calls of regions");
  add(Phase::HostCode, counts.copies, "copies");
  add(Phase::HostCode, counts.strips, "chains that run in strips");
}

void Statistics::clear(Phase phase) {
  std::erase_if(rows_, [&](const Row &row) { return row.phase == phase; });
}

std::string Statistics::text() const {
  std::vector<Row> rows = rows_;
  std::ranges::stable_sort(rows, {}, &Row::phase);
  rows.insert(rows.begin(), {Phase::Model, "count", "of"});
  size_t width = 0;
  for (const Row &row : rows)
    width = std::max(width, row.count.size());
  std::string text;
  for (const Row &row : rows) {
    std::string phase = text.empty() ? "phase" : phaseNames[static_cast<size_t>(row.phase)];
    phase.resize(11, ' ');
    text += phase + std::string(width - row.count.size(), ' ') + row.count + "  " + row.what + "\n";
  }
  return text;
}

PassStatistics::Counts PassStatistics::counts(const Module &module) {
  return {countOperators(module), static_cast<int64_t>(module.globals().size()),
          module.foldedBytes};
}

void PassStatistics::beforePass(const Module &module, const PassInfo &) {
  before_ = counts(module);
}

void PassStatistics::afterPass(const Module &module, const PassInfo &pass, bool changed) {
  if (!changed)
    return;
  Counts after = counts(module);
  statistics_.addChange(Statistics::Phase::Passes, before_.operators, after.operators,
                        "operators, " + pass.name);
  if (after.functions != before_.functions)
    statistics_.addChange(Statistics::Phase::Passes, before_.functions, after.functions,
                          "functions, " + pass.name);
  if (after.foldedBytes > before_.foldedBytes)
    statistics_.add(Statistics::Phase::Passes, after.foldedBytes - before_.foldedBytes,
                    "bytes of constants made, " + pass.name);
}

} // namespace bycc
