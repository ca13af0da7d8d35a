// Functions that ask for a vendor. It is asked about every operator in them, and no
// other is; what it refuses is the host's. The function becomes one of the host, or
// goes to its only call, and the passes for vendors do the rest as in any program.
//
// Where the program is trusted (--hand-annotations=trust) the vendor takes it all:
//
//   def @f(%a, %b, Compiler="v") { .. }       def @m_v_0(%i0, ..) { .. }
//   fn (%a, Compiler="v") { .. }          =>  and calls of it where @f, or the
//                                             local function, was called
//
// The body is one region of v in a host function, moved out as partition-graph
// does it: tensors passed and returned one by one and once, captured values and
// constants included. A function with one call goes to its call first, so that
// what the call passes is known: constants, or a value twice. The host's part of
// the others (tuples taken apart and put together) is copied to each call.

#include "ReadAnnotations.h"

#include "Partitioner.h"
#include "Scopes.h"
#include "bycc/IR/ConstantPool.h"
#include "bycc/IR/Printer.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"

#include <algorithm>

namespace bycc {

namespace {

// Uses of one function: its calls, and whether it is used in another way.
struct Uses {
  std::vector<NodeId> calls;
  bool isValue = false;
};

class VendorFunctionReader {
public:
  VendorFunctionReader(Module &module, PassContext &context) : module_(module), context_(context) {}

  Expected<bool> run() {
    if (asking().empty())
      return false;
    removeDead();
    std::vector<FunctionId> functions = asking();
    int32_t first = firstFreeRegion(module_);
    collectUses();
    for (FunctionId function : functions) {
      std::string vendor = module_.functionAttr(function, "Compiler")->asString();
      BYCC_TRY(checkVendorInUse(context_, vendor, place(function)));
      BYCC_TRY(checkBody(function, vendor));
    }
    for (size_t i = 0; i < functions.size(); ++i)
      openUp(functions[i], first + static_cast<int32_t>(i));
    isEmptied_.assign(module_.numFunctions(), 0);
    for (FunctionId function : functions)
      prepareCalls(function);
    module_.removeGlobalsIf(isEmptied_);
    finishSplices();
    if (!context_.trustsHand) {
      removeDead();
      return true;
    }
    RegionTable regions(module_, *context_.vendors, first);
    BYCC_TRY(regions.collect());
    BYCC_TRY(Partitioner(module_, context_, regions).run());
    for (NodeId node : annotated_)
      module_.setAnnotation(node, {});
    for (FunctionId function : functions)
      if (Uses &uses = uses_[function]; uses.calls.size() > 1)
        for (NodeId call : uses.calls)
          splice(call, function, true);
    finishSplices();
    removeDead();
    return true;
  }

private:
  void removeDead() {
    for (FunctionId function : optimizableFunctions(module_))
      removeDeadNodes(module_, function, true);
    if (module_.main())
      removeUnreachableFunctions(module_, {module_.main()});
  }

  bool asks(FunctionId function) const {
    const AttrValue *compiler = module_.functionAttr(function, "Compiler");
    return compiler && compiler->isString() && !module_.functionAttr(function, "global_symbol");
  }

  std::vector<FunctionId> asking() const {
    std::vector<FunctionId> found;
    for (FunctionId function : module_.globals()) {
      if (asks(function))
        found.push_back(function);
      forEachNode(module_, module_.function(function).body, [&](NodeId node) {
        if (module_.node(node).kind == NodeKind::Function && asks(module_.functionOf(node)))
          found.push_back(module_.functionOf(node));
      });
    }
    return found;
  }

  void collectUses() {
    for (FunctionId function : module_.globals())
      forEachBlock(module_, function, [&](BlockId block) {
        for (NodeId node : module_.block(block).nodes) {
          bool isCallee = module_.node(node).kind == NodeKind::Call;
          for (NodeId operand : module_.operands(node)) {
            noteUse(operand, isCallee ? node : NodeId());
            isCallee = false; // the first one only
          }
          if (module_.node(node).kind == NodeKind::Call)
            blockOfCall_[node] = block;
        }
        noteUse(module_.block(block).result, NodeId());
      });
  }
  void noteUse(NodeId value, NodeId call) {
    if (!value || (module_.node(value).kind != NodeKind::Function &&
                   module_.node(value).kind != NodeKind::Global))
      return;
    Uses &uses = uses_[module_.functionOf(value)];
    if (call)
      uses.calls.push_back(call);
    else
      uses.isValue = true;
  }

  SourceLocation place(FunctionId function) const {
    return module_.source(module_.function(function).source);
  }

  // --- checks

  Expected<> checkBody(FunctionId function, const std::string &vendor) const {
    for (NodeId node : module_.block(module_.function(function).body).nodes)
      if (std::string what = whyNotInside(node, vendor); !what.empty())
        return error(Status::Input, module_.source(node)).as(MessageId::HandAnnotation)
               << what << " inside a function for vendor '" << escaped(vendor)
               << "': it takes operators and composites only";
    return {};
  }

  std::string whyNotInside(NodeId node, const std::string &vendor) const {
    switch (module_.node(node).kind) {
    case NodeKind::If:
      return "if";
    case NodeKind::Call:
      return whyNotCalled(module_.operands(node)[0], node);
    case NodeKind::Function:
      return whyNotComposite(module_.functionOf(node), vendor);
    case NodeKind::CallOp:
      return isCallWith(module_, node, OpTrait::Bracket) ? describe(module_, node) : "";
    default:
      return "";
    }
  }

  std::string whyNotComposite(FunctionId function, const std::string &vendor) const {
    const AttrValue *name = module_.functionAttr(function, "Composite");
    if (!name || !name->isString())
      return "a local function";
    return vendorOfComposite(name->asString()) == vendor
               ? ""
               : "the composite '" + escaped(name->asString()) + "'";
  }

  std::string whyNotCalled(NodeId callee, NodeId call) const {
    if (compositeOf(module_, call))
      return "";
    NodeKind kind = module_.node(callee).kind;
    if (kind != NodeKind::Global && kind != NodeKind::Function)
      return "the call of a function value";
    const AttrValue *other = module_.functionAttr(module_.functionOf(callee), "Compiler");
    if (other && other->isString())
      return "the call of a function for vendor '" + escaped(other->asString()) + "'";
    return "the call of a function";
  }

  // --- changes

  // Makes it a function of the host whose operators its vendor is asked about, or,
  // where the program is trusted, are one region.
  void openUp(FunctionId function, int32_t region) {
    std::string name = module_.functionAttr(function, "Compiler")->asString();
    StringId vendor = module_.intern(name);
    AttrsId attrs = module_.function(function).attrs;
    for (const char *key : {"Compiler", "Primitive", "Inline"})
      attrs = module_.attributes.without(attrs, key);
    module_.function(function).attrs = attrs;
    if (!context_.trustsHand)
      return askInside(function, vendor);
    const std::vector<NodeId> &nodes = module_.block(module_.function(function).body).nodes;
    if (std::ranges::any_of(nodes, [&](NodeId n) { return mayNotHave(context_, n, name); }))
      return leaveToMerging(nodes, vendor);
    for (NodeId node : nodes)
      if (module_.node(node).kind == NodeKind::CallOp || compositeOf(module_, node))
        annotated_.push_back(node), module_.setAnnotation(node, {{vendor}, region});
  }

  void askInside(FunctionId function, StringId vendor) {
    forEachNode(module_, module_.function(function).body, [&](NodeId node) {
      module_.node(node).source = module_.addAskedSource(module_.node(node).source, vendor);
    });
  }

  // The vendor failed at the function: what it may have of it is grouped anew.
  void leaveToMerging(const std::vector<NodeId> &nodes, StringId vendor) {
    for (NodeId node : nodes)
      if ((module_.node(node).kind == NodeKind::CallOp || compositeOf(module_, node)) &&
          !context_.placement->whyNot(node, module_.string(vendor)))
        module_.setAnnotation(node, {{vendor}, -1});
  }

  void prepareCalls(FunctionId function) {
    Uses &uses = uses_[function];
    if (uses.isValue || uses.calls.empty())
      return;
    if (uses.calls.size() > 1)
      return bindCommonArguments(function, uses.calls);
    splice(uses.calls[0], function, false);
    isEmptied_[function.index] = 1;
  }

  // A parameter that every call gives the same constant becomes that constant, one
  // that is always equal to an earlier one becomes that one.
  void bindCommonArguments(FunctionId function, const std::vector<NodeId> &calls) {
    ConstantPool constants(module_);
    for (NodeId call : calls)
      for (NodeId &operand : module_.mutableOperands(call))
        if (module_.isConstant(operand))
          operand = constants.unique(operand);
    std::vector<NodeId> &params = module_.function(function).params;
    for (size_t i = params.size(); i-- > 0;)
      if (NodeId common = commonArgument(params, i, calls)) {
        for (NodeId node : module_.block(module_.function(function).body).nodes)
          for (NodeId &operand : module_.mutableOperands(node))
            operand = operand == params[i] ? common : operand;
        NodeId &result = module_.block(module_.function(function).body).result;
        result = result == params[i] ? common : result;
        params.erase(params.begin() + static_cast<long>(i));
        for (NodeId call : calls)
          dropOperand(call, i + 1);
      }
    module_.node(module_.operands(calls[0])[0]).type = module_.functionType(function);
  }
  NodeId commonArgument(const std::vector<NodeId> &params, size_t i,
                        const std::vector<NodeId> &calls) const {
    auto argument = [&](NodeId call, size_t index) { return module_.operands(call)[index + 1]; };
    NodeId first = argument(calls[0], i);
    if (module_.isConstant(first) &&
        std::ranges::all_of(calls, [&](NodeId call) { return argument(call, i) == first; }))
      return first;
    for (size_t j = 0; j < i; ++j)
      if (std::ranges::all_of(calls,
                              [&](NodeId call) { return argument(call, i) == argument(call, j); }))
        return params[j];
    return {};
  }
  void dropOperand(NodeId call, size_t index) {
    std::vector<NodeId> operands(module_.operands(call).begin(), module_.operands(call).end());
    operands.erase(operands.begin() + static_cast<long>(index));
    module_.setOperands(call, operands);
  }

  // Puts the body of the function, or a copy of it, in the place of a call.
  void splice(NodeId call, FunctionId function, bool copies) {
    std::unordered_map<NodeId, NodeId> values;
    const std::vector<NodeId> params = module_.function(function).params;
    for (size_t i = 0; i < params.size(); ++i)
      values[params[i]] = module_.operands(call)[i + 1];
    const Block &body = module_.block(module_.function(function).body);
    std::vector<NodeId> nodes = body.nodes;
    NodeId result = body.result;
    for (NodeId &node : nodes)
      node = place(node, values, copies, blockOfCall_.at(call));
    auto moved = values.find(result);
    forward_[call] = moved == values.end() ? result : moved->second;
    spliced_[call] = std::move(nodes);
  }

  NodeId place(NodeId node, std::unordered_map<NodeId, NodeId> &values, bool copies,
               BlockId block) {
    std::vector<NodeId> operands(module_.operands(node).begin(), module_.operands(node).end());
    for (NodeId &operand : operands)
      if (auto found = values.find(operand); found != values.end())
        operand = found->second;
    if (copies)
      return values[node] = module_.addNode(Node(module_.node(node)), operands);
    module_.setOperands(node, operands);
    if (module_.node(node).kind == NodeKind::Function)
      module_.block(module_.function(module_.functionOf(node)).body).parent = block;
    return node;
  }

  // One walk that replaces all spliced calls.
  void finishSplices() {
    if (spliced_.empty())
      return;
    for (FunctionId function : module_.globals())
      forEachBlock(module_, function, [&](BlockId block) { replaceCalls(block); });
    spliced_.clear();
    forward_.clear();
    for (FunctionId function : optimizableFunctions(module_))
      removeDeadNodes(module_, function, true); // local functions that moved
  }
  void replaceCalls(BlockId block) {
    std::vector<NodeId> fresh;
    for (NodeId node : module_.block(block).nodes) {
      auto found = spliced_.find(node);
      if (found != spliced_.end())
        fresh.insert(fresh.end(), found->second.begin(), found->second.end());
      else
        fresh.push_back(node);
    }
    for (NodeId node : fresh)
      for (NodeId &operand : module_.mutableOperands(node))
        operand = forwarded(operand);
    module_.block(block).result = forwarded(module_.block(block).result);
    module_.block(block).nodes = std::move(fresh);
  }
  NodeId forwarded(NodeId value) const {
    for (auto found = forward_.find(value); found != forward_.end(); found = forward_.find(value))
      value = found->second;
    return value;
  }

  Module &module_;
  std::vector<uint8_t> isEmptied_; // by function: its body went to its only call
  PassContext &context_;
  std::unordered_map<FunctionId, Uses> uses_;
  std::unordered_map<NodeId, BlockId> blockOfCall_;
  std::unordered_map<NodeId, std::vector<NodeId>> spliced_; // call -> what takes its place
  std::unordered_map<NodeId, NodeId> forward_;              // call -> its value now
  std::vector<NodeId> annotated_;
};

} // namespace

Expected<bool> readVendorFunctions(Module &module, PassContext &context) {
  return VendorFunctionReader(module, context).run();
}

} // namespace bycc
