// Walks functions and hands operator calls to their definitions.
//
// Each activation of a function has its own table of values; a value is dropped
// after its last use in the block that defines it. Branches of an if share the
// activation; a local function copies the values it uses from outside (they are
// counted references) when its node is reached.

#include "bycc/Eval/Eval.h"

#include "Kernel.h"
#include "bycc/IR/Infer.h"
#include "bycc/IR/LibraryUse.h"
#include "bycc/IR/Visitor.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace bycc {

struct Closure {
  NodeId node; // the Function node
  std::vector<std::pair<NodeId, Value>> captured;
};

namespace eval {

ErrorBuilder KernelContext::error(Status status) const {
  return bycc::error(status, module_.source(call_)) << opInfo(op()).name << ": ";
}

namespace {

std::vector<Kernel> makeTable() {
  std::vector<Kernel> table(numOps(), nullptr);
  for (auto family : {elementwiseKernels, convolutionKernels, imageKernels, indexKernels,
                      matMulKernels, movementKernels, normalizeKernels, poolingKernels, qnnKernels,
                      qnnArithmeticKernels, reduceKernels, sortKernels})
    for (const KernelEntry &entry : family())
      table[entry.op.index] = entry.kernel;
  for (uint32_t op = 0; op < numOps(); ++op)
    if (!table[op] && hasLibraryUse(OpId(op)))
      table[op] = libraryKernel;
  return table;
}

} // namespace

Kernel kernelOf(OpId op) {
  static const std::vector<Kernel> table = makeTable();
  return table[op.index];
}

namespace {

std::vector<ResultType> resultTypes(const TypeTable &types, TypeId type) {
  std::vector<ResultType> results;
  for (TypeId leaf : types.flatten(type)) {
    if (!types.isTensor(leaf))
      continue;
    ResultType result{types.dtype(leaf), {}, true};
    for (Dim dim : types.shape(leaf)) {
      result.isKnown &= dim.isConst();
      result.shape.push_back(dim.isConst() ? dim.value() : 0);
    }
    results.push_back(std::move(result));
  }
  return results;
}

// An operand of the call in a module of its own: small integer operands become
// constants, so that the type rules can compute shapes from them.
NodeId scratchOperand(Module &scratch, const Value &value) {
  if (value.isTuple()) {
    std::vector<TypeId> fields;
    for (const Tensor &tensor : value.flatten()) {
      std::vector<Dim> shape(tensor.shape.begin(), tensor.shape.end());
      fields.push_back(scratch.types.tensor(tensor.dtype, shape));
    }
    return scratch.addParam("", scratch.types.tuple(fields));
  }
  const Tensor &tensor = value.tensor();
  std::vector<Dim> shape(tensor.shape.begin(), tensor.shape.end());
  if (tensor.shape.size() <= 1 && tensor.numElements() <= 64)
    return scratch.addConstant(tensor.dtype, shape, tensor.bytes.get(),
                               static_cast<uint64_t>(tensor.sizeBytes()));
  return scratch.addParam("", scratch.types.tensor(tensor.dtype, shape));
}

// Types of the results for the operands at hand: those of the node when they are
// static, else inferred again from the actual shapes. What a dyn operator is asked
// for is checked in any case: its type may follow from the data alone.
Expected<std::vector<ResultType>> concreteTypes(const Module &module, NodeId call,
                                                std::span<const Value> operands) {
  bool isAsked = isCallWith(module, call, OpTrait::Dynamic);
  if (module.types.isStatic(module.type(call)) && !isAsked)
    return resultTypes(module.types, module.type(call));
  Module scratch;
  std::vector<NodeId> inputs;
  for (const Value &value : operands)
    inputs.push_back(scratchOperand(scratch, value));
  Node node;
  node.kind = NodeKind::CallOp;
  node.op = module.node(call).op;
  node.attrs = scratch.attributes.intern(module.attributes.dict(module.node(call).attrs));
  node.source = scratch.addSource(module.source(call));
  NodeId copy = scratch.addNode(node, inputs);
  BYCC_TRY(inferNode(scratch, copy));
  return resultTypes(scratch.types, scratch.type(copy));
}

class Interpreter {
public:
  Interpreter(const Module &module, const CallObserver &observer)
      : module_(module), observer_(observer) {}

  Expected<Value> callFunction(FunctionId id, std::span<const Value> arguments, uint32_t depth,
                               const std::shared_ptr<const Closure> &self = nullptr) {
    if (depth > maxCallDepth)
      return error(Status::Limit, module_.source(module_.function(id).source))
             << "calls nest more than " << maxCallDepth << " deep";
    const Function &function = module_.function(id);
    if (arguments.size() != function.params.size())
      return error(Status::Arg) << "the function takes " << function.params.size()
                                << " arguments, got " << arguments.size();
    std::vector<Value> turn(arguments.begin(), arguments.end());
    while (true) {
      Activation activation;
      for (size_t i = 0; i < turn.size(); ++i)
        activation[function.params[i].index] = std::move(turn[i]);
      if (self) {
        for (const auto &[node, value] : self->captured)
          activation[node.index] = value;
        activation[self->node.index] = Value(self);
      }
      TailCall next{id, self.get(), {}};
      Value result = BYCC_TRY(runBlock(function.body, activation, depth, &next));
      if (next.arguments.empty())
        return result;
      turn = std::move(next.arguments);
    }
  }

private:
  using Activation = std::unordered_map<uint32_t, Value>;
  static constexpr uint32_t maxCallDepth = 100;

  // A call of the function that runs, as its last step, becomes its next turn.
  struct TailCall {
    FunctionId function;
    const Closure *self;          // of a local function
    std::vector<Value> arguments; // empty: the function returns
  };

  // Per node of a block's list: the values that it is the last to use.
  struct Plan {
    std::vector<std::vector<NodeId>> drops;
  };

  // What a node needs: operands, and what its inner blocks take from outside.
  void appendUses(NodeId node, std::vector<NodeId> &uses) {
    for (NodeId operand : module_.operands(node))
      uses.push_back(operand);
    for (BlockId inner : innerBlocks(module_, node)) {
      forEachNode(module_, inner, [&](NodeId each) {
        for (NodeId operand : module_.operands(each))
          uses.push_back(operand);
        for (BlockId block : innerBlocks(module_, each))
          uses.push_back(module_.block(block).result);
      });
      uses.push_back(module_.block(inner).result);
    }
  }

  const Plan &planOf(BlockId id) {
    auto [it, isNew] = plans_.try_emplace(id.index);
    Plan &plan = it->second;
    if (!isNew)
      return plan;
    const Block &block = module_.block(id);
    plan.drops.resize(block.nodes.size());
    std::unordered_map<uint32_t, size_t> lastUse; // of the nodes of this list
    for (size_t i = 0; i < block.nodes.size(); ++i)
      lastUse[block.nodes[i].index] = i;
    std::vector<NodeId> uses;
    for (size_t i = 0; i < block.nodes.size(); ++i) {
      uses.clear();
      appendUses(block.nodes[i], uses);
      for (NodeId use : uses)
        if (auto found = lastUse.find(use.index); found != lastUse.end())
          found->second = std::max(found->second, i);
    }
    for (auto [node, at] : lastUse)
      if (NodeId(node) != block.result)
        plan.drops[at].push_back(NodeId(node));
    return plan;
  }

  // `tail` is given for blocks whose result is the result of the function.
  Expected<Value> runBlock(BlockId id, Activation &activation, uint32_t depth,
                           TailCall *tail = nullptr) {
    const Plan &plan = planOf(id); // stays put: unordered_map keeps references
    const Block &block = module_.block(id);
    for (size_t i = 0; i < block.nodes.size(); ++i) {
      NodeId node = block.nodes[i];
      bool isLast = i + 1 == block.nodes.size() && block.result == node;
      activation[node.index] = BYCC_TRY(runNode(node, activation, depth, isLast ? tail : nullptr));
      for (NodeId done : plan.drops[i])
        activation.erase(done.index);
    }
    return valueOf(block.result, activation);
  }

  Expected<Value> valueOf(NodeId node, const Activation &activation) {
    switch (module_.node(node).kind) {
    case NodeKind::Constant:
      return Value(Tensor::fromConstant(module_, module_.constant(node)));
    case NodeKind::Global: {
      Closure closure{node, {}};
      return Value(std::make_shared<const Closure>(std::move(closure)));
    }
    default:
      break;
    }
    auto found = activation.find(node.index);
    if (found == activation.end())
      return error(Status::Input, module_.source(node)) << "a value is used before it is made";
    return found->second;
  }

  Expected<Value> runNode(NodeId node, Activation &activation, uint32_t depth, TailCall *tail) {
    std::vector<Value> operands;
    for (NodeId operand : module_.operands(node))
      operands.push_back(BYCC_TRY(valueOf(operand, activation)));
    switch (module_.node(node).kind) {
    case NodeKind::CallOp:
      return evaluateCall(module_, node, operands);
    case NodeKind::Call:
      if (tail && operands.size() > 1 && isCalled(*tail, operands[0])) {
        tail->arguments.assign(operands.begin() + 1, operands.end());
        return Value();
      }
      return runCall(operands, depth);
    case NodeKind::Function:
      return makeClosure(node, activation);
    case NodeKind::Tuple:
      return Value(std::move(operands));
    case NodeKind::Project:
      return operands[0].fields()[module_.node(node).payload];
    case NodeKind::If: {
      bool condition = operands[0].tensor().bytes.get()[0] != 0;
      return runBlock(condition ? module_.thenBlock(node) : module_.elseBlock(node), activation,
                      depth, tail);
    }
    case NodeKind::Param:
    case NodeKind::Constant:
    case NodeKind::Global:
      break;
    }
    return valueOf(node, activation);
  }

  bool isCalled(const TailCall &running, const Value &callee) const {
    const auto &closure = std::get<std::shared_ptr<const Closure>>(callee.content);
    return running.self ? closure.get() == running.self
                        : module_.node(closure->node).kind == NodeKind::Global &&
                              module_.functionOf(closure->node) == running.function;
  }

  Expected<Value> runCall(const std::vector<Value> &operands, uint32_t depth) {
    const auto &closure = std::get<std::shared_ptr<const Closure>>(operands[0].content);
    std::span<const Value> arguments(operands.data() + 1, operands.size() - 1);
    bool isLocal = module_.node(closure->node).kind == NodeKind::Function;
    FunctionId function = module_.functionOf(closure->node);
    Value result =
        BYCC_TRY(callFunction(function, arguments, depth + 1, isLocal ? closure : nullptr));
    if (observer_)
      observer_(function, arguments, result);
    return result;
  }

  Expected<Value> makeClosure(NodeId node, const Activation &activation) {
    Closure closure{node, {}};
    std::vector<NodeId> uses;
    appendUses(node, uses);
    std::unordered_set<uint32_t> seen{node.index}; // itself is bound at each call
    for (NodeId use : uses) {
      auto found = activation.find(use.index);
      if (found != activation.end() && seen.insert(use.index).second)
        closure.captured.emplace_back(use, found->second);
    }
    return Value(std::make_shared<const Closure>(std::move(closure)));
  }

  const Module &module_;
  const CallObserver &observer_;
  std::unordered_map<uint32_t, Plan> plans_;
};

Expected<> checkInput(const Module &module, NodeId param, const Tensor &input) {
  TypeId type = module.type(param);
  auto fail = [&]() -> Error {
    std::string shape;
    for (int64_t extent : input.shape)
      shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
    return error(Status::Arg) << "input " << module.string(module.node(param).name) << " is "
                              << module.types.str(type) << ", got Tensor[(" << shape << "), "
                              << name(input.dtype) << "]";
  };
  if (!module.types.isTensor(type) || module.types.dtype(type) != input.dtype ||
      module.types.shape(type).size() != input.shape.size())
    return fail();
  for (size_t i = 0; i < input.shape.size(); ++i) {
    Dim dim = module.types.shape(type)[i];
    if (dim.isConst() && dim.value() != input.shape[i])
      return fail();
  }
  return {};
}

} // namespace
} // namespace eval

bool hasDefinition(OpId op) { return eval::kernelOf(op) != nullptr; }

Expected<Value> evaluateCall(const Module &module, NodeId call, std::span<const Value> operands) {
  eval::Kernel kernel = eval::kernelOf(module.node(call).op);
  if (!kernel)
    return error(Status::Unsup, module.source(call))
           << opInfo(module.node(call).op).name << ": has no definition to evaluate";
  auto results = BYCC_TRY(eval::concreteTypes(module, call, operands));
  return kernel(eval::KernelContext(module, call, operands, std::move(results)));
}

Expected<std::vector<Constant>> evaluateCall(Module &module, NodeId call,
                                             std::span<const Constant> operands) {
  std::vector<Value> values;
  size_t next = 0;
  for (NodeId operand : module.operands(call)) {
    if (!module.types.isTuple(module.type(operand))) {
      values.emplace_back(Tensor::fromConstant(module, operands[next++]));
      continue;
    }
    Value::Tuple fields;
    for (size_t i = 0; i < module.types.flatten(module.type(operand)).size(); ++i)
      fields.emplace_back(Tensor::fromConstant(module, operands[next++]));
    values.emplace_back(std::move(fields));
  }
  Value result = BYCC_TRY(evaluateCall(std::as_const(module), call, values));
  std::vector<Constant> constants;
  for (const Tensor &tensor : result.flatten()) {
    std::vector<Dim> shape(tensor.shape.begin(), tensor.shape.end());
    Constant constant;
    constant.type = module.types.tensor(tensor.dtype, shape);
    constant.bytes = static_cast<uint64_t>(tensor.sizeBytes());
    constant.storage = Storage::copyOf(tensor.bytes.get(), constant.bytes);
    constants.push_back(std::move(constant));
  }
  return constants;
}

Expected<std::vector<Tensor>> evaluate(const Module &module, FunctionId function,
                                       std::span<const Tensor> inputs,
                                       const CallObserver &observer) {
  const Function &f = module.function(function);
  if (inputs.size() != f.params.size())
    return error(Status::Arg) << "takes " << f.params.size() << " inputs, got " << inputs.size();
  std::vector<Value> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    BYCC_TRY(eval::checkInput(module, f.params[i], inputs[i]));
    arguments.emplace_back(inputs[i]);
  }
  Value result = BYCC_TRY(eval::Interpreter(module, observer).callFunction(function, arguments, 0));
  return result.flatten();
}

} // namespace bycc
