#include "Partitioner.h"

#include "Outliner.h"
#include "Scopes.h"
#include "TupleWiring.h"
#include "UnitOrder.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/Vendor.h"

#include <algorithm>

namespace bycc {

namespace {

bool isWire(const Module &module, NodeId node) {
  NodeKind kind = module.node(node).kind;
  return kind == NodeKind::Tuple || kind == NodeKind::Project;
}

} // namespace

Partitioner::Partitioner(Module &module, PassContext &context, const RegionTable &regions)
    : module_(module), context_(context), regions_(regions), places_(module),
      isKept_(module.numNodes(), 0), usesOfFunction_(module.numNodes(), 0) {
  for (BlockId block : hostBlocks(module))
    for (NodeId node : module.block(block).nodes)
      for (NodeId operand : module.operands(node))
        if (module.node(operand).kind == NodeKind::Function)
          ++usesOfFunction_[operand.index];
  for (uint32_t region = 0, begin = 0; region < regions.size(); ++region) {
    resultsBegin_.push_back(begin);
    begin += static_cast<uint32_t>(regions[region].outputs.size());
    results_.resize(begin);
  }
}

Expected<> Partitioner::run() {
  for (FunctionId function : optimizableFunctions(module_)) {
    carriers_ = {};
    for (NodeId param : module_.function(function).params)
      carriers_.add(module_, param);
    BYCC_TRY(emitBlock(module_.function(function).body));
  }
  return {};
}

// Can the value be used on the host as it was?
bool Partitioner::isOnHost(NodeId value) const {
  return isWire(module_, value) ? isKept_[value.index] != 0 : regions_.of(value) == none;
}
bool Partitioner::staysValid(NodeId wire) const {
  return std::ranges::all_of(module_.operands(wire), [&](NodeId o) { return isOnHost(o); });
}

Expected<> Partitioner::emitBlock(BlockId block) {
  UnitOrder sorter(module_, places_, regions_, block);
  std::vector<UnitOrder::Unit> order = sorter.sort();
  if (order.empty() && !module_.block(block).nodes.empty())
    return sorter.cycleError();
  Scope scope;
  for (const UnitOrder::Unit &unit : order)
    if (unit.region == none)
      BYCC_TRY(emitNode(unit.node, scope));
    else
      BYCC_TRY(emitRegion(unit.region, scope));
  module_.block(block).result = hostValue(module_.block(block).result, scope);
  module_.block(block).nodes = std::move(scope.list);
  return {};
}

Expected<> Partitioner::emitNode(NodeId node, Scope &scope) {
  if (isWire(module_, node)) {
    if (staysValid(node)) {
      isKept_[node.index] = 1;
      scope.list.push_back(node);
    }
    return {}; // else it is made anew where it is used
  }
  for (BlockId inner : openBlocks(module_, node)) {
    ExtentCarriers outer = carriers_;
    BYCC_TRY(emitBlock(inner));
    carriers_ = std::move(outer);
  }
  std::vector<NodeId> operands(module_.operands(node).begin(), module_.operands(node).end());
  for (NodeId &operand : operands)
    operand = hostValue(operand, scope);
  module_.setOperands(node, operands);
  scope.list.push_back(node);
  carriers_.add(module_, node);
  return {};
}

// The host's form of a value: itself, unless a region has taken parts of it.
NodeId Partitioner::hostValue(NodeId node, Scope &scope) {
  if (isOnHost(node))
    return node;
  if (const NodeId *found = scope.values.find(node))
    return *found;
  std::vector<TensorRef> tensors;
  resolveTensors(module_, node, tensors);
  size_t at = 0;
  NodeId value = assemble(module_, module_.type(node), module_.node(node).source, scope.list,
                          [&] { return hostTensor(tensors[at++], scope); });
  return scope.values[node] = value;
}

NodeId Partitioner::hostTensor(const TensorRef &tensor, Scope &scope) {
  if (regions_.of(tensor.base) != none)
    return results_[resultsBegin_[regions_.of(tensor.base)] + regions_.outputOf(tensor)];
  auto [found, isNew] = scope.tensors.insert(tensor);
  if (isNew)
    *found = projectTo(module_, tensor.base, tensor.index, scope.list);
  return *found;
}

Expected<> Partitioner::emitRegion(uint32_t index, Scope &scope) {
  const Region &region = regions_[index];
  if (region.outputs.empty())
    return {}; // nobody needs it
  SourceId source = module_.node(region.nodes[0]).source;
  std::string symbol = makeSymbol(region.vendor);
  FunctionId function = module_.addFunction(symbol);
  module_.function(function).source = source;
  module_.function(function).attrs =
      module_.attributes.intern({{"Compiler", module_.string(region.vendor)},
                                 {"Primitive", 1},
                                 {"Inline", 1},
                                 {"global_symbol", symbol}});
  std::vector<TensorRef> needs =
      Outliner(module_, regions_, index, context_.vendors->bindConstants, function, usesOfFunction_)
          .run();
  std::vector<NodeId> operands{module_.globalRef(function)};
  for (const TensorRef &tensor : needs)
    operands.push_back(hostTensor(tensor, scope));
  if (const Vendor *vendor = context_.vendors->find(module_.string(region.vendor));
      vendor && !vendor->isEmulated())
    for (NodeId slice : BYCC_TRY(carriers_.argumentsFor(module_, function, scope.list))) {
      std::string name = "i" + std::to_string(module_.function(function).params.size());
      NodeId param = module_.addParam(name, module_.type(slice), source);
      module_.function(function).params.push_back(param);
      operands.push_back(slice);
    }
  TypeId resultType = module_.type(module_.block(module_.function(function).body).result);
  module_.function(function).resultType = resultType;
  module_.node(operands[0]).type = module_.functionType(function);
  Node call;
  call.kind = NodeKind::Call;
  call.type = resultType;
  call.source = source;
  NodeId callId = module_.addNode(call, operands);
  scope.list.push_back(callId);
  for (uint32_t i = 0; i < region.outputs.size(); ++i)
    results_[resultsBegin_[index] + i] =
        region.outputs.size() == 1 ? callId : projectField(module_, callId, i, scope.list);
  for (uint32_t i = 0; i < region.outputs.size(); ++i)
    carriers_.add(module_, results_[resultsBegin_[index] + i]);
  return {};
}

std::string Partitioner::makeSymbol(StringId vendor) {
  std::string name(module_.string(vendor));
  for (;;) {
    std::string symbol =
        asIdentifier(context_.moduleName + "_" + name + "_" + std::to_string(nextNumber_[name]++));
    if (!module_.findGlobal(symbol))
      return symbol;
  }
}

} // namespace bycc
