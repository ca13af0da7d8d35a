// Moves every region into a global function of its own and puts a call in its
// place.
//
//   %0 = abs(%x);         [va]        def @m_va_0(%i0, Compiler="va", ...) {
//   %1 = split(%0);       [va]          %0 = abs(%i0); %1 = split(%0);
//   %2 = tanh(%1.0);      [host]  =>    (%0, %1.0) }
//   (%0, %2)                          def @main(%x) {
//                                       %0 = @m_va_0(%x);
//                                       %2 = tanh(%0.1); (%0.0, %2) }
//
// 1. Everything is told in tensors, looking through tuples and projections: what
//    a region needs from outside (each tensor one parameter, however it is
//    reached) and what others need from it (each one result, none twice).
// 2. Each block is put in order again: regions and host nodes as units, ties by
//    old position, so host nodes keep their order where regions let them.
// 3. Units are emitted in that order. A region's nodes move with their ids;
//    tuples and projections are made anew on either side of the border, and
//    whatever the host no longer uses of the old ones goes away at the end.
//
// Constants: with bind_constants they move in (equal ones once), else they are
// parameters like any value.

#include "bycc/IR/Builder.h"
#include "bycc/Partition/AnnotatedRegions.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/Vendor.h"

#include "Scopes.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace bycc {

namespace {

constexpr uint32_t none = UINT32_MAX;

struct Region {
  BlockId block;
  StringId vendor;
  std::vector<NodeId> nodes;   // calls, in block order
  std::vector<TensorRef> outputs; // by position, each once
};

NodeId projectField(Module &module, NodeId value, uint32_t field, std::vector<NodeId> &list) {
  Node project;
  project.kind = NodeKind::Project;
  project.payload = field;
  project.type = module.types.fields(module.type(value))[field];
  project.source = module.node(value).source;
  NodeId node = module.addNode(project, std::span(&value, 1));
  list.push_back(node);
  return node;
}

// A projection chain from a tuple-typed value down to its flat tensor `index`.
NodeId projectTo(Module &module, NodeId value, uint32_t index, std::vector<NodeId> &list) {
  while (module.types.isTuple(module.type(value))) {
    std::span<const TypeId> fields = module.types.fields(module.type(value));
    uint32_t field = 0;
    for (; field < fields.size(); ++field) {
      uint32_t count = static_cast<uint32_t>(module.types.flatten(fields[field]).size());
      if (index < count)
        break;
      index -= count;
    }
    value = projectField(module, value, field, list);
  }
  return value;
}

NodeId makeTuple(Module &module, std::span<const NodeId> fields, SourceId source,
                 std::vector<NodeId> &list) {
  std::vector<TypeId> types;
  for (NodeId field : fields)
    types.push_back(module.type(field));
  Node tuple;
  tuple.kind = NodeKind::Tuple;
  tuple.type = module.types.tuple(types);
  tuple.source = source;
  NodeId node = module.addNode(tuple, fields);
  list.push_back(node);
  return node;
}

// A value of (nested tuple) `type` from its tensors, taken one after the other.
template <typename Next>
NodeId assemble(Module &module, TypeId type, SourceId source, std::vector<NodeId> &list,
                Next &&next) {
  if (!module.types.isTuple(type))
    return next();
  std::vector<TypeId> fieldTypes(module.types.fields(type).begin(),
                                 module.types.fields(type).end());
  std::vector<NodeId> fields;
  for (TypeId field : fieldTypes)
    fields.push_back(assemble(module, field, source, list, next));
  return makeTuple(module, fields, source, list);
}

// Regions of all blocks, and what leaves them.
class RegionTable {
public:
  explicit RegionTable(const Module &module)
      : module_(module), regionOf_(module.numNodes(), none), placeOf_(module.numNodes(), none) {}

  Expected<> collect() {
    std::vector<BlockId> blocks = hostBlocks(module_);
    bool isChosen = hasChosenRegions(blocks);
    std::unordered_map<int32_t, uint32_t> byNumber;
    for (BlockId block : blocks)
      for (NodeId node : module_.block(block).nodes)
        if (const Annotation *annotation = module_.annotation(node))
          BYCC_TRY(add(node, block, *annotation, isChosen, byNumber));
    for (BlockId block : blocks)
      markUses(block);
    for (Region &region : regions_)
      sortOutputs(region);
    return {};
  }

  bool empty() const { return regions_.empty(); }
  uint32_t of(NodeId node) const {
    return node.index < regionOf_.size() ? regionOf_[node.index] : none;
  }
  const Region &operator[](uint32_t region) const { return regions_[region]; }

private:
  bool hasChosenRegions(const std::vector<BlockId> &blocks) const {
    for (BlockId block : blocks)
      for (NodeId node : module_.block(block).nodes)
        if (const Annotation *annotation = module_.annotation(node);
            annotation && annotation->region >= 0)
          return true;
    return false;
  }

  Expected<> add(NodeId node, BlockId block, const Annotation &annotation, bool isChosen,
                 std::unordered_map<int32_t, uint32_t> &byNumber) {
    bool isCall = module_.node(node).kind == NodeKind::CallOp || compositeOf(module_, node);
    if (!isCall || annotation.vendors.empty() || (isChosen && annotation.region < 0))
      return {};
    uint32_t next = static_cast<uint32_t>(regions_.size()), region = next;
    if (isChosen)
      region = byNumber.try_emplace(annotation.region, next).first->second;
    if (region == next)
      regions_.push_back({block, annotation.vendors[0], {}, {}});
    if (regions_[region].block != block)
      return error(Status::Input, module_.source(node))
             << "region " << annotation.region << " reaches into another branch or function";
    if (regions_[region].vendor != annotation.vendors[0])
      return error(Status::Input, module_.source(node))
             << "region " << annotation.region << " has two vendors, '"
             << module_.string(regions_[region].vendor) << "' and '"
             << module_.string(annotation.vendors[0]) << "'";
    placeOf_[node.index] = static_cast<uint32_t>(regions_[region].nodes.size());
    regions_[region].nodes.push_back(node);
    regionOf_[node.index] = region;
    return {};
  }

  void markUses(BlockId block) {
    for (NodeId node : module_.block(block).nodes) {
      NodeKind kind = module_.node(node).kind;
      if (kind == NodeKind::Tuple || kind == NodeKind::Project)
        continue;
      for (NodeId operand : module_.operands(node))
        use(operand, of(node));
    }
    use(module_.block(block).result, none);
  }

  void use(NodeId value, uint32_t user) {
    tensors_.clear();
    resolveTensors(module_, value, tensors_);
    for (const TensorRef &tensor : tensors_)
      if (uint32_t region = of(tensor.base); region != none && region != user)
        regions_[region].outputs.push_back(tensor);
  }

  void sortOutputs(Region &region) {
    auto key = [&](const TensorRef &tensor) {
      return std::pair(placeOf_[tensor.base.index], tensor.index);
    };
    std::ranges::sort(region.outputs, {}, key);
    region.outputs.erase(std::unique(region.outputs.begin(), region.outputs.end()),
                         region.outputs.end());
  }

  const Module &module_;
  std::vector<uint32_t> regionOf_; // by node
  std::vector<uint32_t> placeOf_;  // by node: position among its region's nodes
  std::vector<Region> regions_;
  std::vector<TensorRef> tensors_;
};

// Units of a block (a region, or a host node) in an order that works.
class UnitOrder {
public:
  struct Unit {
    uint32_t region = none;
    NodeId node; // of the host
  };

  UnitOrder(const Module &module, const NodePlaces &places, const RegionTable &regions,
            BlockId block)
      : module_(module), places_(places), regions_(regions), block_(block) {}

  // Empty when two units need each other and the block is not.
  std::vector<Unit> sort() {
    makeUnits();
    makeEdges();
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t unit = 0; unit < units_.size(); ++unit)
      if (waiting_[unit] == 0)
        ready.push(unit);
    std::vector<Unit> order;
    while (!ready.empty()) {
      uint32_t unit = ready.top();
      ready.pop();
      order.push_back(units_[unit]);
      for (uint32_t edge = begin_[unit]; edge < begin_[unit + 1]; ++edge)
        if (--waiting_[to_[edge]] == 0)
          ready.push(to_[edge]);
    }
    if (order.size() != units_.size())
      order.clear();
    return order;
  }

private:
  // Units are numbered by their first node.
  void makeUnits() {
    std::unordered_map<uint32_t, uint32_t> unitOfRegion;
    for (NodeId node : module_.block(block_).nodes) {
      uint32_t region = regions_.of(node), next = static_cast<uint32_t>(units_.size());
      uint32_t unit =
          region == none ? next : unitOfRegion.try_emplace(region, next).first->second;
      if (unit == next)
        units_.push_back({region, region == none ? node : NodeId()});
      unitOf_.push_back(unit);
    }
  }

  void makeEdges() {
    const std::vector<NodeId> &nodes = module_.block(block_).nodes;
    for (uint32_t i = 0; i < nodes.size(); ++i)
      collect(nodes[i], unitOf_[i]);
    std::ranges::sort(edges_);
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    waiting_.assign(units_.size(), 0);
    begin_.assign(units_.size() + 1, 0);
    for (auto [from, to] : edges_) {
      ++begin_[from + 1];
      ++waiting_[to];
      to_.push_back(to);
    }
    for (uint32_t i = 1; i < begin_.size(); ++i)
      begin_[i] += begin_[i - 1];
  }

  // What the node, and the blocks it opens, need of this block.
  void collect(NodeId node, uint32_t unit) {
    for (NodeId operand : module_.operands(node))
      need(operand, unit);
    for (BlockId inner : innerBlocks(module_, node)) {
      for (NodeId innerNode : module_.block(inner).nodes)
        collect(innerNode, unit);
      need(module_.block(inner).result, unit);
    }
  }

  void need(NodeId value, uint32_t unit) {
    // The host may keep the tuple itself; a region looks through it.
    if (units_[unit].region == none || module_.node(value).kind == NodeKind::Function)
      addEdge(value, unit);
    tensors_.clear();
    resolveTensors(module_, value, tensors_);
    for (const TensorRef &tensor : tensors_)
      addEdge(tensor.base, unit);
  }

  void addEdge(NodeId from, uint32_t unit) {
    if (from.index >= places_.block.size() || places_.block[from.index] != block_)
      return;
    if (uint32_t other = unitOf_[places_.position[from.index]]; other != unit)
      edges_.emplace_back(other, unit);
  }

  const Module &module_;
  const NodePlaces &places_;
  const RegionTable &regions_;
  BlockId block_;
  std::vector<Unit> units_;
  std::vector<uint32_t> unitOf_; // by position in the block
  std::vector<std::pair<uint32_t, uint32_t>> edges_;
  std::vector<uint32_t> begin_, to_, waiting_;
  std::vector<TensorRef> tensors_;
};

// Finds equal constants, so that each is kept once.
class ConstantPool {
public:
  explicit ConstantPool(const Module &module) : module_(module) {}
  NodeId unique(NodeId node) {
    const Constant &constant = module_.constant(node);
    for (NodeId other : byHash_[constant.hash])
      if (isEqual(constant, module_.constant(other)))
        return other;
    byHash_[constant.hash].push_back(node);
    return node;
  }

private:
  static bool isEqual(const Constant &a, const Constant &b) {
    return a.type == b.type && a.bytes == b.bytes &&
           (a.data() == b.data() || std::memcmp(a.data(), b.data(), a.bytes) == 0);
  }
  const Module &module_;
  std::unordered_map<uint64_t, std::vector<NodeId>> byHash_;
};

// Builds the function of one region.
class Outliner {
public:
  Outliner(Module &module, const RegionTable &regions, uint32_t region, bool bindConstants,
           FunctionId function, const std::unordered_map<NodeId, uint32_t> &usesOfFunction)
      : module_(module), regions_(regions), region_(region), bindConstants_(bindConstants),
        function_(function), body_(module.function(function).body), usesOfFunction_(usesOfFunction),
        constants_(module) {}

  // What the host must pass, per parameter.
  std::vector<TensorRef> run() {
    const Region &region = regions_[region_];
    for (NodeId node : region.nodes)
      addCall(node);
    std::vector<NodeId> results;
    for (const TensorRef &tensor : region.outputs)
      results.push_back(innerTensor(tensor));
    NodeId result = results.size() == 1
                        ? results[0]
                        : makeTuple(module_, results, module_.node(region.nodes[0]).source, list_);
    module_.function(function_).params = params_;
    module_.block(body_).nodes = std::move(list_);
    module_.block(body_).result = result;
    return std::move(arguments_);
  }

private:
  void addCall(NodeId node) {
    std::vector<NodeId> operands(module_.operands(node).begin(), module_.operands(node).end());
    for (NodeId &operand : operands)
      operand = module_.node(operand).kind == NodeKind::Function ? adopt(operand)
                                                                 : innerValue(operand);
    module_.setOperands(node, operands);
    module_.node(node).isLet = false;
    list_.push_back(node);
  }

  // A composite's function moves along; one that others call too is copied.
  NodeId adopt(NodeId functionNode) {
    if (auto found = values_.find(functionNode); found != values_.end())
      return found->second;
    NodeId mine = functionNode;
    if (usesOfFunction_.at(functionNode) > 1)
      mine = copyFunction(functionNode);
    FunctionId function = module_.functionOf(mine);
    module_.block(module_.function(function).body).parent = body_;
    module_.node(mine).isLet = false;
    list_.push_back(mine);
    return values_[functionNode] = mine;
  }

  // Composites hold calls, tuples and projections in one block.
  NodeId copyFunction(NodeId functionNode) {
    FunctionId from = module_.functionOf(functionNode), to = module_.addFunction({}, body_);
    std::unordered_map<NodeId, NodeId> copies;
    auto copyOf = [&](NodeId node) {
      auto found = copies.find(node);
      return found == copies.end() ? node : found->second;
    };
    auto copy = [&](NodeId node) {
      std::vector<NodeId> operands;
      for (NodeId operand : module_.operands(node))
        operands.push_back(copyOf(operand));
      return copies[node] = module_.addNode(module_.node(node), operands);
    };
    std::vector<NodeId> params, nodes;
    for (NodeId param : module_.function(from).params)
      params.push_back(copy(param));
    for (NodeId node : module_.block(module_.function(from).body).nodes)
      nodes.push_back(copy(node));
    BlockId body = module_.function(to).body;
    module_.block(body).nodes = std::move(nodes);
    module_.block(body).result = copyOf(module_.block(module_.function(from).body).result);
    module_.function(to).params = std::move(params);
    module_.function(to).attrs = module_.function(from).attrs;
    module_.function(to).resultType = module_.function(from).resultType;
    Node node = module_.node(functionNode);
    node.payload = to.index;
    return module_.addNode(node);
  }

  bool isInside(NodeId node) const { return regions_.of(node) == region_; }

  NodeId innerValue(NodeId node) {
    if (isInside(node))
      return node;
    if (auto found = values_.find(node); found != values_.end())
      return found->second;
    return values_[node] = makeInnerValue(node);
  }

  NodeId makeInnerValue(NodeId node) {
    std::vector<TensorRef> tensors;
    resolveTensors(module_, node, tensors);
    size_t at = 0;
    return assemble(module_, module_.type(node), module_.node(node).source, list_,
                    [&] { return innerTensor(tensors[at++]); });
  }

  NodeId innerTensor(TensorRef tensor) {
    if (module_.isConstant(tensor.base))
      tensor.base = constants_.unique(tensor.base);
    auto [found, isNew] = tensors_.try_emplace(tensor);
    if (!isNew)
      return found->second;
    NodeId value;
    if (isInside(tensor.base))
      value = projectTo(module_, tensor.base, tensor.index, list_);
    else if (module_.isConstant(tensor.base) && bindConstants_)
      value = tensor.base;
    else
      value = addParam(tensor);
    return tensors_[tensor] = value;
  }

  NodeId addParam(const TensorRef &tensor) {
    TypeId type = module_.types.flatten(module_.type(tensor.base))[tensor.index];
    NodeId param = module_.addParam("i" + std::to_string(params_.size()), type,
                                    module_.node(tensor.base).source);
    params_.push_back(param);
    arguments_.push_back(tensor);
    return param;
  }

  Module &module_;
  const RegionTable &regions_;
  uint32_t region_;
  bool bindConstants_;
  FunctionId function_;
  BlockId body_;
  const std::unordered_map<NodeId, uint32_t> &usesOfFunction_;
  ConstantPool constants_;
  std::vector<NodeId> list_, params_;
  std::vector<TensorRef> arguments_;
  std::unordered_map<NodeId, NodeId> values_;    // outer value -> its form inside
  std::unordered_map<TensorRef, NodeId> tensors_;
};

class Partitioner {
public:
  Partitioner(Module &module, PassContext &context, const RegionTable &regions)
      : module_(module), context_(context), regions_(regions), places_(module),
        isKept_(module.numNodes(), 0) {
    for (BlockId block : hostBlocks(module))
      for (NodeId node : module.block(block).nodes)
        for (NodeId operand : module.operands(node))
          if (module.node(operand).kind == NodeKind::Function)
            ++usesOfFunction_[operand];
  }

  Expected<> run() {
    for (FunctionId function : optimizableFunctions(module_))
      BYCC_TRY(emitBlock(module_.function(function).body));
    return {};
  }

private:
  // Host values made for this block, on top of the nodes that stay.
  struct Scope {
    std::vector<NodeId> list;
    std::unordered_map<NodeId, NodeId> values;
    std::unordered_map<TensorRef, NodeId> tensors;
  };

  Expected<> emitBlock(BlockId block) {
    std::vector<UnitOrder::Unit> order = UnitOrder(module_, places_, regions_, block).sort();
    if (order.empty() && !module_.block(block).nodes.empty())
      return error(Status::Input, module_.source(module_.block(block).nodes[0]))
             << "regions of this block need each other";
    Scope scope;
    for (const UnitOrder::Unit &unit : order)
      if (unit.region == none)
        BYCC_TRY(emitNode(unit.node, scope));
      else
        emitRegion(unit.region, scope);
    module_.block(block).result = hostValue(module_.block(block).result, scope);
    module_.block(block).nodes = std::move(scope.list);
    return {};
  }

  Expected<> emitNode(NodeId node, Scope &scope) {
    if (isWire(node)) {
      if (staysValid(node)) {
        isKept_[node.index] = 1;
        scope.list.push_back(node);
      }
      return {}; // else it is made anew where it is used
    }
    for (BlockId inner : openBlocks(module_, node))
      BYCC_TRY(emitBlock(inner));
    std::vector<NodeId> operands(module_.operands(node).begin(), module_.operands(node).end());
    for (NodeId &operand : operands)
      operand = hostValue(operand, scope);
    module_.setOperands(node, operands);
    scope.list.push_back(node);
    return {};
  }

  bool isWire(NodeId node) const {
    NodeKind kind = module_.node(node).kind;
    return kind == NodeKind::Tuple || kind == NodeKind::Project;
  }

  // Can the value be used on the host as it was?
  bool isOnHost(NodeId value) const {
    return isWire(value) ? isKept_[value.index] != 0 : regions_.of(value) == none;
  }
  bool staysValid(NodeId wire) const {
    return std::ranges::all_of(module_.operands(wire), [&](NodeId o) { return isOnHost(o); });
  }

  // The host's form of a value: itself, unless a region has taken parts of it.
  NodeId hostValue(NodeId node, Scope &scope) {
    if (isOnHost(node))
      return node;
    if (auto found = scope.values.find(node); found != scope.values.end())
      return found->second;
    std::vector<TensorRef> tensors;
    resolveTensors(module_, node, tensors);
    size_t at = 0;
    NodeId value = assemble(module_, module_.type(node), module_.node(node).source, scope.list,
                            [&] { return hostTensor(tensors[at++], scope); });
    return scope.values[node] = value;
  }

  NodeId hostTensor(const TensorRef &tensor, Scope &scope) {
    if (regions_.of(tensor.base) != none)
      return results_.at(tensor);
    auto [found, isNew] = scope.tensors.try_emplace(tensor);
    if (isNew)
      found->second = projectTo(module_, tensor.base, tensor.index, scope.list);
    return found->second;
  }

  void emitRegion(uint32_t index, Scope &scope) {
    const Region &region = regions_[index];
    if (region.outputs.empty())
      return; // nobody needs it
    SourceId source = module_.node(region.nodes[0]).source;
    std::string symbol = makeSymbol(region.vendor);
    FunctionId function = module_.addFunction(symbol);
    module_.function(function).source = source;
    module_.function(function).attrs = module_.attributes.intern(
        {{"Compiler", module_.string(region.vendor)}, {"Primitive", 1}, {"Inline", 1},
         {"global_symbol", symbol}});
    std::vector<TensorRef> needs = Outliner(module_, regions_, index,
                                         context_.vendors->bindConstants, function,
                                         usesOfFunction_).run();
    std::vector<NodeId> operands{module_.globalRef(function)};
    for (const TensorRef &tensor : needs)
      operands.push_back(hostTensor(tensor, scope));
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
      results_[region.outputs[i]] =
          region.outputs.size() == 1 ? callId : projectField(module_, callId, i, scope.list);
  }

  std::string makeSymbol(StringId vendor) {
    std::string name(module_.string(vendor));
    for (;;) {
      std::string symbol = asIdentifier(context_.moduleName + "_" + name + "_" +
                                        std::to_string(nextNumber_[name]++));
      if (!module_.findGlobal(symbol))
        return symbol;
    }
  }

  Module &module_;
  PassContext &context_;
  const RegionTable &regions_;
  NodePlaces places_;
  std::vector<uint8_t> isKept_; // tuples and projections that stay in host code
  std::unordered_map<NodeId, uint32_t> usesOfFunction_; // calls of local functions
  std::unordered_map<TensorRef, NodeId> results_;          // region tensor -> host value
  std::map<std::string, uint32_t> nextNumber_;          // by vendor
};

// Drops global functions that the roots do not reach. True when some went.
bool removeUnreachableFunctions(Module &module, std::vector<FunctionId> open) {
  std::vector<uint8_t> isReached(module.numFunctions(), 0);
  for (FunctionId root : open)
    isReached[root.index] = 1;
  auto reach = [&](NodeId node) {
    if (module.node(node).kind != NodeKind::Global)
      return;
    FunctionId function = module.functionOf(node);
    if (!isReached[function.index]) {
      isReached[function.index] = 1;
      open.push_back(function);
    }
  };
  while (!open.empty()) {
    FunctionId function = open.back();
    open.pop_back();
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      for (NodeId operand : module.operands(node))
        reach(operand);
    });
    forEachBlock(module, function, [&](BlockId block) {
      if (NodeId result = module.block(block).result)
        reach(result);
    });
  }
  std::vector<FunctionId> all = module.globals();
  bool changed = false;
  for (FunctionId function : all)
    if (!isReached[function.index]) {
      module.removeGlobal(function);
      changed = true;
    }
  return changed;
}

} // namespace

Expected<bool> partitionGraph(Module &module, PassContext &context) {
  if (!context.vendors || context.vendors->size() == 0)
    return false;
  // What nobody calls is not offloaded. Without @main everything may be called.
  bool changed = module.main() && removeUnreachableFunctions(module, {module.main()});
  for (FunctionId function : optimizableFunctions(module))
    changed |= removeDeadNodes(module, function, true);
  RegionTable regions(module);
  BYCC_TRY(regions.collect());
  if (regions.empty()) {
    module.clearAnnotations();
    return changed;
  }
  std::vector<FunctionId> hosts = optimizableFunctions(module), before = module.globals();
  BYCC_TRY(Partitioner(module, context, regions).run());
  for (FunctionId function : hosts)
    removeDeadNodes(module, function, true);
  // A field that nobody projects can leave a whole branch, and its regions, dead.
  removeUnreachableFunctions(module, before);
  module.clearAnnotations();
  return true;
}

} // namespace bycc
