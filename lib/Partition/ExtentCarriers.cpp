#include "ExtentCarriers.h"

#include "bycc/IR/Builder.h"

#include <unordered_set>

namespace bycc {

namespace {

// Symbols of types, each once, in the order in which they are met.
class Symbols {
public:
  explicit Symbols(const TypeTable &types) : types_(types) {}
  const std::vector<Dim> &list() const { return list_; }

  void add(TypeId type) {
    if (types_.isTensor(type)) {
      if (!types_.isStatic(type))
        for (Dim dim : types_.shape(type))
          add(dim);
    } else if (types_.isTuple(type)) {
      for (TypeId field : types_.fields(type))
        add(field);
    }
  }

private:
  void add(Dim dim) {
    if (dim.isConst() || !seen_.insert(dim.raw()).second)
      return;
    const DimExpr &expr = types_.expr(dim);
    if (expr.op == DimOp::Symbol) {
      list_.push_back(dim);
    } else if (expr.op != DimOp::Unknown) {
      add(expr.lhs);
      add(expr.rhs);
    }
  }

  const TypeTable &types_;
  std::unordered_set<int64_t> seen_;
  std::vector<Dim> list_;
};

template <typename F> void forEachPlainSymbol(const TypeTable &types, TypeId type, F each) {
  if (!types.isTensor(type) || types.isStatic(type))
    return;
  for (Dim dim : types.shape(type))
    if (!dim.isConst() && types.expr(dim).op == DimOp::Symbol)
      each(dim);
}

} // namespace

void ExtentCarriers::add(const Module &module, NodeId value) {
  forEachPlainSymbol(module.types, module.type(value),
                     [&](Dim symbol) { tensors_.try_emplace(symbol.raw(), value); });
}

Expected<std::vector<NodeId>> ExtentCarriers::argumentsFor(Module &module, FunctionId function,
                                                           std::vector<NodeId> &list) {
  std::vector<NodeId> arguments;
  if (tensors_.empty())
    return arguments;
  std::unordered_set<int64_t> given;
  auto give = [&](NodeId value) {
    forEachPlainSymbol(module.types, module.type(value),
                       [&](Dim symbol) { given.insert(symbol.raw()); });
  };
  Symbols symbols(module.types);
  for (NodeId param : module.function(function).params) {
    give(param);
    symbols.add(module.type(param));
  }
  for (NodeId node : module.block(module.function(function).body).nodes)
    symbols.add(module.type(node));
  for (Dim symbol : symbols.list()) {
    auto carrier = tensors_.find(symbol.raw());
    if (carrier == tensors_.end() || given.contains(symbol.raw()))
      continue;
    give(carrier->second);
    arguments.push_back(BYCC_TRY(sliceOf(module, carrier->second, list)));
  }
  return arguments;
}

Expected<NodeId> ExtentCarriers::sliceOf(Module &module, NodeId tensor, std::vector<NodeId> &list) {
  if (auto known = slices_.find(tensor); known != slices_.end())
    return known->second;
  Builder builder(module, BlockId());
  builder.setList(&list);
  builder.setSource(module.node(tensor).source);
  const int64_t first = 0, step = 1;
  AttrValue none = AttrValue::ints({&first, 1}), one = AttrValue::ints({&step, 1});
  NodeId raised = BYCC_TRY(builder.call(ops::expand_dims, {tensor}, {{"axis", int64_t(0)}}));
  NodeId slice =
      BYCC_TRY(builder.call(ops::strided_slice, {raised},
                            {{"begin", none}, {"end", none}, {"strides", one}, {"axes", none}}));
  return slices_[tensor] = slice;
}

} // namespace bycc
