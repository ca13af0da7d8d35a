#include "bycc/IR/Functions.h"

#include "bycc/IR/Visitor.h"

#include <algorithm>
#include <unordered_map>

namespace bycc {

bool hasAnyAttr(const Module &module, FunctionId function,
                std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(keys, [&](std::string_view key) {
    const AttrValue *value = module.functionAttr(function, key);
    return value && !value->isNone() && !value->equalsLoosely(AttrValue(0));
  });
}

bool isClosedFunction(const Module &module, FunctionId function) {
  return hasAnyAttr(module, function,
                    {"Composite", "Primitive", "Compiler", "Extern", "SkipOptimization"});
}

void setNonEmptySymbols(Module &module, FunctionId function) {
  const AttrValue *names = module.functionAttr(function, "NonEmpty");
  if (!names || !names->isList() || function != module.main())
    return;
  auto isNamed = [&](Dim dim) {
    return std::ranges::any_of(names->asList(), [&](const AttrValue &name) {
      return name.isString() && name.asString() == module.types.str(dim);
    });
  };
  for (NodeId param : module.function(function).params)
    for (TypeId type : module.types.flatten(module.type(param)))
      for (Dim dim : module.types.shape(type))
        if (!dim.isConst() && !dim.isUnknown() && module.types.expr(dim).op == DimOp::Symbol &&
            isNamed(dim))
          module.types.setNonEmpty(dim);
}

std::vector<uint8_t> reachableFunctions(const Module &module, std::vector<FunctionId> open) {
  std::vector<uint8_t> isReached(module.numFunctions(), 0);
  for (FunctionId root : open)
    isReached[root.index] = 1;
  auto reach = [&](NodeId node) {
    if (!node || module.node(node).kind != NodeKind::Global)
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
    forEachBlock(module, function, [&](BlockId block) {
      for (NodeId node : module.block(block).nodes)
        for (NodeId operand : module.operands(node))
          reach(operand);
      reach(module.block(block).result);
    });
  }
  return isReached;
}

namespace {

class FunctionCopier {
public:
  FunctionCopier(Module &module, FunctionId to, InnerFunctions inner)
      : module_(module), to_(to), inner_(inner) {}

  void copy(FunctionId from) {
    std::vector<NodeId> params = module_.function(from).params;
    for (NodeId &param : params)
      param = add(param);
    NodeId result = copyBody(from);
    Function &made = module_.function(to_);
    module_.block(made.body).nodes = std::move(nodes_);
    module_.block(made.body).result = result;
    made.params = std::move(params);
    made.attrs = module_.function(from).attrs;
    made.resultType = module_.function(from).resultType;
  }

private:
  NodeId copyOf(NodeId node) const {
    auto found = copies_.find(node);
    return found == copies_.end() ? node : found->second;
  }

  NodeId add(NodeId node) {
    std::vector<NodeId> operands;
    for (NodeId operand : module_.operands(node))
      operands.push_back(copyOf(operand));
    return copies_[node] = module_.addNode(module_.node(node), operands);
  }

  NodeId copyBody(FunctionId from) {
    const std::vector<NodeId> nodes = module_.block(module_.function(from).body).nodes;
    for (NodeId node : nodes)
      copyNode(node);
    return copyOf(module_.block(module_.function(from).body).result);
  }

  void copyNode(NodeId node) {
    NodeKind kind = module_.node(node).kind;
    if (inner_ == InnerFunctions::Inlined && kind == NodeKind::Function)
      return;
    if (inner_ == InnerFunctions::Inlined && kind == NodeKind::Call)
      return inlineCall(node);
    nodes_.push_back(add(node));
    if (kind == NodeKind::Function) {
      FunctionId made = module_.addFunction({}, module_.function(to_).body);
      FunctionCopier(module_, made, inner_).copy(module_.functionOf(node));
      module_.node(nodes_.back()).payload = made.index;
    }
  }

  void inlineCall(NodeId call) {
    FunctionId callee = module_.functionOf(module_.operands(call)[0]);
    const std::vector<NodeId> params = module_.function(callee).params;
    for (size_t i = 0; i < params.size(); ++i)
      copies_[params[i]] = copyOf(module_.operands(call)[i + 1]);
    copies_[call] = copyBody(callee);
  }

  Module &module_;
  FunctionId to_;
  InnerFunctions inner_;
  std::unordered_map<NodeId, NodeId> copies_;
  std::vector<NodeId> nodes_;
};

} // namespace

void copyFunctionInto(Module &module, FunctionId from, FunctionId to, InnerFunctions inner) {
  FunctionCopier(module, to, inner).copy(from);
}

} // namespace bycc
