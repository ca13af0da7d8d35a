// Reads the report off the module: external functions are those with a Compiler
// attribute, everything else is the host's.

#include "bycc/Partition/OffloadReport.h"

#include "bycc/IR/ConstantPool.h"
#include "bycc/IR/Op.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Target/RegionView.h"
#include "bycc/Target/Vendor.h"

#include "bycc/Partition/ResidentTensors.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace bycc {

namespace {

std::string stringAttr(const Module &module, FunctionId function, std::string_view key) {
  const AttrValue *value = module.functionAttr(function, key);
  return value && value->isString() ? value->asString() : std::string();
}

class Reporter {
public:
  Reporter(const Module &module, const RefusalLog *refusals, const VendorSet *vendors)
      : module_(module), refusals_(refusals), resident_(module, withOwnMemory(vendors)) {}

  OffloadReport run() {
    if (refusals_)
      for (const ApartRegions &pair : refusals_->apart())
        regionOf_[pair.first] = regionOf_[pair.second] = 0;
    describeMain();
    report_.open = openExtents(module_);
    for (FunctionId function : module_.globals())
      if (isExternal(function))
        external_.emplace(function, addExternal(function));
    for (FunctionId function : module_.globals())
      if (!isExternal(function))
        walkHost(module_.function(function).body,
                 std::string(module_.string(module_.function(function).name)));
    for (auto [function, index] : external_)
      if (report_.functions[index].calls == 0)
        walkExternal(function, index);
    for (OffloadFunction &function : report_.functions)
      finishFunction(function);
    // By number, whatever the order of definitions: printing sorts them by name.
    std::ranges::sort(report_.functions, {}, [](const OffloadFunction &function) {
      return std::pair(function.symbol.size(), function.symbol);
    });
    std::ranges::sort(report_.hostOps);
    if (refusals_)
      addRegionReasons();
    return std::move(report_);
  }

private:
  static std::set<std::string> withOwnMemory(const VendorSet *vendors) {
    std::set<std::string> names;
    for (size_t i = 0; vendors && i < vendors->size(); ++i)
      if ((*vendors)[i].hasOwnMemory())
        names.insert((*vendors)[i].name());
    return names;
  }

  bool isExternal(FunctionId function) const {
    return !stringAttr(module_, function, "Compiler").empty();
  }

  void describeMain() {
    FunctionId main = module_.main();
    if (!main)
      return;
    for (NodeId param : module_.function(main).params)
      report_.mainParams.emplace_back(module_.string(module_.node(param).name),
                                      module_.types.str(module_.type(param)));
    if (NodeId result = module_.block(module_.function(main).body).result)
      report_.mainResult = module_.types.str(module_.type(result));
  }

  // --- external functions

  size_t addExternal(FunctionId id) {
    OffloadFunction function;
    function.compiler = stringAttr(module_, id, "Compiler");
    function.symbol = stringAttr(module_, id, "global_symbol");
    if (function.symbol.empty())
      function.symbol = module_.string(module_.function(id).name);
    for (NodeId param : module_.function(id).params)
      for (TypeId type : module_.types.flatten(module_.type(param)))
        function.paramTypes.push_back(module_.types.str(type));
    const Block &body = module_.block(module_.function(id).body);
    for (TypeId type : module_.types.flatten(module_.type(body.result)))
      function.resultTypes.push_back(module_.types.str(type));
    report_.functions.push_back(std::move(function));
    return report_.functions.size() - 1;
  }

  void walkExternal(FunctionId function, size_t index) {
    distinct_.emplace(module_);
    constants_.clear();
    walkExternal(module_.function(function).body, index, {});
    report_.functions[index].constants = static_cast<int64_t>(constants_.size());
  }

  void walkExternal(BlockId block, size_t index, const std::string &composite) {
    uint32_t unit = numUnits_;
    for (NodeId node : module_.block(block).nodes) {
      if (auto wanted = regionOf_.find(node); wanted != regionOf_.end())
        wanted->second = index;
      for (NodeId operand : module_.operands(node))
        noteConstant(operand);
      if (module_.node(node).kind == NodeKind::CallOp)
        addOffloaded(node, index, composite).unit = composite.empty() ? ++numUnits_ : unit;
      if (std::optional<FunctionId> inner = compositeOf(module_, node)) {
        std::string name = stringAttr(module_, *inner, "Composite");
        report_.functions[index].composites.push_back(name);
        numUnits_ += composite.empty();
        walkExternal(module_.function(*inner).body, index, composite.empty() ? name : composite);
      }
    }
    noteConstant(module_.block(block).result);
  }

  void noteConstant(NodeId node) {
    if (module_.isConstant(node))
      constants_.insert(distinct_->unique(node));
  }

  OffloadNode &addOffloaded(NodeId node, size_t index, const std::string &composite) {
    OffloadFunction &function = report_.functions[index];
    OffloadNode &row = addNode(node, function.compiler);
    row.region = function.symbol;
    row.composite = composite;
    function.ops.push_back(row.op);
    function.nodes.push_back(row.name);
    function.flops += row.flops;
    OffloadTotals &vendor = report_.byVendor[function.compiler];
    ++vendor.offloadedOps;
    vendor.offloadedFlops += row.flops;
    ++report_.totals.offloadedOps;
    report_.totals.offloadedFlops += row.flops;
    return row;
  }

  // --- host

  void walkHost(BlockId block, const std::string &parent, const std::string &composite = {}) {
    uint32_t unit = ++numUnits_;
    for (NodeId node : module_.block(block).nodes) {
      const Node &n = module_.node(node);
      if (n.kind == NodeKind::CallOp) {
        OffloadNode &row = addNode(node, "host");
        row.composite = composite;
        row.unit = composite.empty() ? ++numUnits_ : unit;
        report_.hostOps.push_back(row.op);
      } else if (n.kind == NodeKind::Call) {
        noteCall(node, parent);
      }
      bool isFunction = n.kind == NodeKind::Function;
      for (BlockId inner : innerBlocks(module_, node))
        walkHost(inner, parent,
                 isFunction ? stringAttr(module_, module_.functionOf(node), "Composite")
                            : composite);
    }
  }

  void noteCall(NodeId call, const std::string &parent) {
    NodeId callee = module_.operands(call)[0];
    if (module_.node(callee).kind != NodeKind::Global)
      return;
    auto found = external_.find(module_.functionOf(callee));
    if (found == external_.end())
      return;
    OffloadFunction &function = report_.functions[found->second];
    if (function.calls++ == 0) {
      function.parent = parent;
      walkExternal(found->first, found->second);
      for (NodeId argument : module_.operands(call).subspan(1))
        describeArgument(argument, function.arguments);
    }
    for (NodeId argument : module_.operands(call).subspan(1))
      addBoundary(argument, function);
    addBoundary(call, function);
  }

  void addBoundary(NodeId value, OffloadFunction &function) const {
    std::vector<TensorRef> tensors;
    resolveTensors(module_, value, tensors);
    for (const TensorRef &tensor : tensors) {
      if (resident_.isResident(tensor))
        continue;
      TypeId type = module_.types.leaf(module_.type(tensor.base), tensor.index);
      auto bytes = module_.types.sizeBytes(type);
      ++function.boundaryTensors;
      function.boundaryBytes += bytes.value_or(0);
      function.hasRunTimeSizes |= !bytes;
    }
  }

  // Symbol of the external function that a call calls, or "".
  std::string symbolOf(NodeId call) const {
    if (module_.node(call).kind != NodeKind::Call)
      return {};
    NodeId callee = module_.operands(call)[0];
    if (module_.node(callee).kind != NodeKind::Global)
      return {};
    auto found = external_.find(module_.functionOf(callee));
    return found == external_.end() ? std::string() : report_.functions[found->second].symbol;
  }

  void describeArgument(NodeId argument, std::vector<std::string> &out) const {
    const Node &n = module_.node(argument);
    if (n.kind == NodeKind::Tuple) {
      for (NodeId field : module_.operands(argument))
        describeArgument(field, out);
      return;
    }
    NodeId maker = n.kind == NodeKind::Project ? module_.operands(argument)[0] : argument;
    uint32_t field = n.kind == NodeKind::Project ? n.payload : 0;
    if (std::string symbol = symbolOf(maker); !symbol.empty())
      out.push_back(symbol + "#" + std::to_string(field));
    else if (n.kind == NodeKind::Project)
      out.push_back(nodeName(module_, maker) + "." + std::to_string(field));
    else
      out.push_back(nodeName(module_, argument));
  }

  // --- both

  void addRegionReasons() {
    report_.returned = refusals_->returned();
    report_.idle = refusals_->idle();
    for (size_t i = 0; i < refusals_->apart().size(); ++i) {
      const ApartRegions &pair = refusals_->apart()[i];
      auto first = regionOf_.find(pair.first), second = regionOf_.find(pair.second);
      if (first != regionOf_.end() && second != regionOf_.end() && first->second != second->second)
        report_.apart.push_back({report_.functions[first->second].symbol,
                                 report_.functions[second->second].symbol, pair.why, i});
    }
  }

  OffloadNode &addNode(NodeId node, const std::string &placed) {
    const OpInfo &info = opInfo(module_.node(node).op);
    OffloadNode row;
    row.placed = placed;
    row.name = nodeName(module_, node);
    row.op = info.name;
    SourceLocation source = module_.source(node);
    source.file.erase(0, source.file.rfind('/') + 1); // a report is the same in any folder
    row.source = source.str();
    row.flops = info.flops ? info.flops(module_, node) : 0;
    row.id = node;
    if (refusals_)
      addReasons(node, row);
    ++report_.totals.ops;
    report_.totals.guessedOps += hasUnknownExtents(module_, node);
    report_.totals.flops += row.flops;
    report_.nodes.push_back(std::move(row));
    return report_.nodes.back();
  }

  void addReasons(NodeId node, OffloadNode &row) const {
    row.refused = refusals_->of(node);
    row.estimateUs = refusals_->timeOf(node);
    std::erase_if(row.refused, [&](const auto &refusal) { return refusal.first == row.placed; });
    for (auto &[vendor, why] : refusals_->candidates(node)) {
      row.accepted.push_back(vendor);
      if (vendor != row.placed)
        row.why.emplace_back(vendor, why.empty() ? "no region of " + vendor + " holds it" : why);
    }
  }

  void finishFunction(OffloadFunction &function) {
    std::ranges::sort(function.ops);
    std::ranges::sort(function.composites);
    OffloadTotals &vendor = report_.byVendor[function.compiler];
    ++vendor.regions;
    vendor.boundaryTensors += function.boundaryTensors;
    vendor.boundaryBytes += function.boundaryBytes;
    vendor.hasRunTimeSizes |= function.hasRunTimeSizes;
    ++report_.totals.regions;
    report_.totals.boundaryTensors += function.boundaryTensors;
    report_.totals.boundaryBytes += function.boundaryBytes;
    report_.totals.hasRunTimeSizes |= function.hasRunTimeSizes;
  }

  const Module &module_;
  const RefusalLog *refusals_;
  const ResidentTensors resident_;
  OffloadReport report_;
  std::unordered_map<NodeId, size_t> regionOf_; // of nodes that refusals_->apart() names
  std::map<FunctionId, size_t> external_;       // -> report_.functions
  std::optional<ConstantPool> distinct_;        // of the function at hand
  std::unordered_set<NodeId> constants_;        // its distinct ones
  uint32_t numUnits_ = 0;
};

} // namespace

OffloadReport makeOffloadReport(const Module &module, const RefusalLog *refusals,
                                const VendorSet *vendors) {
  return Reporter(module, refusals, vendors).run();
}

} // namespace bycc
