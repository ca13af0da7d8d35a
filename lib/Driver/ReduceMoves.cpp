// Edits of a program that make it smaller; see the header.
//
//   constants to parameters   large ones of @main
//   constants to zeros        those that cannot be, as `zeros(shape, dtype)`
//   function as @main         the rest goes, as in bycc extract
//   outputs                   fields of what @main returns
//   cut                       nodes of @main: what others read of them become parameters,
//                             what they read themselves, and nobody else, outputs
//   by an operand             a node gives way to an operand of its type
//   branch, call              an `if` gives way to one branch, the only call of a function
//                             to its body
//
//        %x                     %x   %p         cut of {b, c}: `a` was read by `b` alone and
//        a                      a    d          is an output now, and `d` reads a parameter
//       b c        ->
//        d
#include "ReduceMoves.h"

#include "bycc/IR/Builder.h"
#include "bycc/IR/Functions.h"
#include "bycc/IR/Printer.h"
#include "bycc/IR/Visitor.h"

#include <algorithm>
#include <map>

namespace bycc {
namespace {

// Nodes that give way to others, maybe in several steps.
class Replacements {
public:
  void add(NodeId from, NodeId to) { to_[from] = to; }
  NodeId of(NodeId node) const {
    for (auto found = to_.find(node); found != to_.end(); found = to_.find(node))
      node = found->second;
    return node;
  }
  // In everything of the function that reads a node.
  void apply(Module &module, FunctionId function) const {
    forEachBlock(module, function, [&](BlockId block) {
      for (NodeId node : module.block(block).nodes)
        for (NodeId &operand : module.mutableOperands(node))
          operand = of(operand);
      NodeId &result = module.block(block).result;
      result = of(result);
    });
  }

private:
  std::map<NodeId, NodeId> to_;
};

template <typename T> void eraseRange(std::vector<T> &items, size_t begin, size_t end) {
  items.erase(items.begin() + static_cast<long>(begin), items.begin() + static_cast<long>(end));
}

Block &mainBody(Module &module) { return module.block(module.function(module.main()).body); }
const Block &mainBody(const Module &module) {
  return module.block(module.function(module.main()).body);
}

// Types of values that may come in and go out.
bool isData(const Module &module, TypeId type) {
  if (module.types.isTensor(type))
    return true;
  return module.types.isTuple(type) &&
         std::ranges::all_of(module.types.flatten(type),
                             [&](TypeId leaf) { return module.types.isTensor(leaf); });
}

// --- constants

bool isLargeConstant(const Module &module, NodeId node) {
  return module.isConstant(node) &&
         *module.types.numElements(module.constant(node).type) > PrintOptions().maxInlineElements;
}

// That the function reads, each once, in order.
std::vector<NodeId> largeConstants(const Module &module, FunctionId function) {
  std::vector<NodeId> found;
  std::vector<bool> isSeen(module.numNodes());
  auto add = [&](NodeId node) {
    if (!node || isSeen[node.index] || !isLargeConstant(module, node))
      return;
    isSeen[node.index] = true;
    found.push_back(node);
  };
  BlockId body = module.function(function).body;
  forEachNode(module, body, [&](NodeId node) {
    std::ranges::for_each(module.operands(node), add);
    for (BlockId inner : innerBlocks(module, node))
      add(module.block(inner).result);
  });
  add(module.block(body).result);
  return found;
}

struct ConstantUse {
  FunctionId function;
  NodeId constant;
};
std::vector<ConstantUse> allLargeConstants(const Module &module) {
  std::vector<ConstantUse> uses;
  for (FunctionId function : module.globals())
    for (NodeId constant : largeConstants(module, function))
      uses.push_back({function, constant});
  return uses;
}

size_t countMainConstants(const Module &module) {
  return largeConstants(module, module.main()).size();
}

bool constantsToParams(Module &module, size_t begin, size_t end) {
  std::vector<NodeId> constants = largeConstants(module, module.main());
  Replacements replace;
  for (size_t i = begin; i < end; ++i) {
    NodeId param = module.addParam("w", module.constant(constants[i]).type);
    module.function(module.main()).params.push_back(param);
    replace.add(constants[i], param);
  }
  replace.apply(module, module.main());
  return true;
}

size_t countConstants(const Module &module) { return allLargeConstants(module).size(); }

bool constantsToZeros(Module &module, size_t begin, size_t end) {
  std::vector<ConstantUse> uses = allLargeConstants(module);
  for (size_t i = begin; i < end; ++i) {
    auto [function, constant] = uses[i];
    TypeId type = module.constant(constant).type;
    std::vector<int64_t> shape;
    for (Dim dim : module.types.shape(type))
      shape.push_back(dim.value());
    AttrDict attrs = {{"shape", AttrValue::ints(shape)},
                      {"dtype", AttrValue(name(module.types.dtype(type)))}};
    BlockId body = module.function(function).body;
    std::vector<NodeId> list;
    Builder builder(module, body);
    builder.setList(&list);
    Expected<NodeId> zeros = builder.call(ops::zeros, {}, std::move(attrs));
    if (!zeros)
      return false;
    Replacements replace;
    replace.add(constant, *zeros);
    replace.apply(module, function);
    std::vector<NodeId> &nodes = module.block(body).nodes;
    nodes.insert(nodes.begin(), list.begin(), list.end());
  }
  return true;
}

// --- functions

std::vector<FunctionId> otherFunctions(const Module &module) {
  std::vector<FunctionId> others = module.globals();
  std::erase(others, module.main());
  return others;
}

size_t countOtherFunctions(const Module &module) { return otherFunctions(module).size(); }

bool functionAsMain(Module &module, size_t begin, size_t end) {
  if (end - begin != 1)
    return false;
  FunctionId function = otherFunctions(module)[begin];
  // What it calls stays.
  std::vector<uint8_t> kept = reachableFunctions(module, {function});
  if (kept[module.main().index])
    return false;
  Function from = module.function(function);
  FunctionId main = module.main();
  Function &to = module.function(main);
  to.params = from.params;
  to.body = from.body;
  to.resultType = from.resultType;
  to.attrs = AttrsId(0);
  kept[function.index] = 0;
  kept[main.index] = 1;
  module.removeGlobalsExcept(kept);
  return true;
}

// --- outputs

// What @main returns, as fields where it writes a tuple.
std::vector<NodeId> outputsOf(const Module &module) {
  NodeId result = mainBody(module).result;
  if (module.node(result).kind != NodeKind::Tuple)
    return {result};
  auto fields = module.operands(result);
  return {fields.begin(), fields.end()};
}

// A tuple that some node makes is taken apart.
std::vector<NodeId> outputsTakenApart(Module &module) {
  NodeId result = mainBody(module).result;
  TypeId type = module.type(result);
  if (module.node(result).kind == NodeKind::Tuple || !module.types.isTuple(type))
    return outputsOf(module);
  std::vector<NodeId> fields;
  Builder builder(module, module.function(module.main()).body);
  for (uint32_t i = 0; i < module.types.fields(type).size(); ++i)
    if (Expected<NodeId> field = builder.project(result, i))
      fields.push_back(*field);
  return fields;
}

bool setOutputs(Module &module, std::vector<NodeId> outputs) {
  if (outputs.empty())
    return false;
  Builder builder(module, module.function(module.main()).body);
  NodeId result = outputs.size() == 1 ? outputs[0] : builder.tuple(outputs);
  mainBody(module).result = result;
  module.function(module.main()).resultType = TypeId();
  return true;
}

size_t countOutputs(const Module &module) {
  TypeId type = module.type(mainBody(module).result);
  return module.types.isTuple(type) ? module.types.fields(type).size() : 0;
}

bool dropOutputs(Module &module, size_t begin, size_t end) {
  std::vector<NodeId> outputs = outputsTakenApart(module);
  // One field alone is not dropped but taken out of its tuple.
  if (outputs.size() > 1)
    eraseRange(outputs, begin, end);
  return setOutputs(module, std::move(outputs));
}

// --- nodes of @main

size_t countMainNodes(const Module &module) { return mainBody(module).nodes.size(); }

class Cut {
public:
  Cut(Module &module, size_t begin, size_t end)
      : module_(module), nodes_(mainBody(module).nodes), outputs_(outputsOf(module)),
        isCut_(module.numNodes()), isRead_(module.numNodes()), isReadByCut_(module.numNodes()) {
    for (size_t i = begin; i < end; ++i)
      isCut_[nodes_[i].index] = isData(module, module.type(nodes_[i]));
  }

  bool run() {
    for (NodeId node : nodes_)
      read(node);
    std::vector<NodeId> outputs;
    for (NodeId output : outputs_) {
      if (isCut_[output.index])
        continue;
      outputs.push_back(output);
      isRead_[output.index] = true;
    }
    std::vector<NodeId> left;
    for (NodeId node : nodes_) {
      bool isOldTuple = node == mainBody(module_).result && isTuple(node) && !isRead_[node.index];
      if (!isCut_[node.index] && !isOldTuple)
        left.push_back(node);
      if (isCut_[node.index] && isRead_[node.index])
        replace_.add(node, newParam(node));
      if (!isCut_[node.index] && isReadByCut_[node.index] && !isRead_[node.index] &&
          isData(module_, module_.type(node)))
        outputs.push_back(node);
    }
    mainBody(module_).nodes = std::move(left);
    if (!setOutputs(module_, std::move(outputs)))
      return false;
    replace_.apply(module_, module_.main());
    return true;
  }

private:
  bool isTuple(NodeId node) const { return module_.node(node).kind == NodeKind::Tuple; }

  // The tuple of the outputs is no reader: they are looked at one by one.
  void read(NodeId node) {
    if (node == mainBody(module_).result && isTuple(node))
      return;
    std::vector<bool> &isRead = isCut_[node.index] ? isReadByCut_ : isRead_;
    auto mark = [&](NodeId operand) { isRead[operand.index] = true; };
    std::ranges::for_each(module_.operands(node), mark);
    for (BlockId block : innerBlocks(module_, node)) {
      forEachNode(module_, block, [&](NodeId inner) {
        std::ranges::for_each(module_.operands(inner), mark);
        for (BlockId deeper : innerBlocks(module_, inner))
          mark(module_.block(deeper).result);
      });
      mark(module_.block(block).result);
    }
  }

  NodeId newParam(NodeId node) {
    NodeId param = module_.addParam("p", module_.type(node));
    module_.function(module_.main()).params.push_back(param);
    return param;
  }

  Module &module_;
  std::vector<NodeId> nodes_, outputs_;
  std::vector<bool> isCut_, isRead_, isReadByCut_; // by node; new ones are none
  Replacements replace_;
};

bool cutNodes(Module &module, size_t begin, size_t end) { return Cut(module, begin, end).run(); }

// --- nodes of any function

struct Passable {
  FunctionId function;
  NodeId node, operand; // of one type
};
std::vector<Passable> passableNodes(const Module &module) {
  std::vector<Passable> found;
  for (FunctionId function : module.globals())
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      if (module.node(node).kind != NodeKind::CallOp && module.node(node).kind != NodeKind::Call)
        return;
      for (NodeId operand : module.operands(node))
        if (!module.isConstant(operand) && module.type(operand) == module.type(node)) {
          found.push_back({function, node, operand});
          return;
        }
    });
  return found;
}

size_t countPassable(const Module &module) { return passableNodes(module).size(); }

bool passThrough(Module &module, size_t begin, size_t end) {
  std::vector<Passable> nodes = passableNodes(module);
  std::map<FunctionId, Replacements> replace;
  std::vector<bool> isGone(module.numNodes());
  for (size_t i = begin; i < end; ++i) {
    replace[nodes[i].function].add(nodes[i].node, nodes[i].operand);
    isGone[nodes[i].node.index] = true;
  }
  for (const auto &[function, replacements] : replace) {
    replacements.apply(module, function);
    forEachBlock(module, function, [&](BlockId block) {
      std::erase_if(module.block(block).nodes, [&](NodeId node) { return isGone[node.index]; });
    });
  }
  return true;
}

// --- blocks that take the place of a node

struct Opened {
  FunctionId function;
  BlockId block; // that the node stands in
  NodeId node;
  BlockId body;      // what takes its place
  FunctionId callee; // of a call
};

void findOpened(const Module &module, std::vector<Opened> &found) {
  std::vector<uint32_t> numRefs(module.numFunctions());
  Users users(module);
  for (NodeId node{0}; node.index < module.numNodes(); ++node.index)
    if (module.node(node).kind == NodeKind::Global)
      numRefs[module.functionOf(node).index] += users.count(node);
  for (FunctionId function : module.globals())
    forEachBlock(module, function, [&](BlockId block) {
      for (NodeId node : module.block(block).nodes) {
        if (module.node(node).kind == NodeKind::If)
          for (BlockId branch : innerBlocks(module, node))
            found.push_back({function, block, node, branch, FunctionId()});
        if (module.node(node).kind != NodeKind::Call)
          continue;
        NodeId callee = module.operands(node)[0];
        if (module.node(callee).kind != NodeKind::Global)
          continue;
        FunctionId called = module.functionOf(callee);
        if (numRefs[called.index] == 1 && called != function)
          found.push_back({function, block, node, module.function(called).body, called});
      }
    });
}

size_t countOpened(const Module &module) {
  std::vector<Opened> found;
  findOpened(module, found);
  return found.size();
}

bool openBlock(Module &module, size_t begin, size_t end) {
  if (end - begin != 1)
    return false;
  std::vector<Opened> found;
  findOpened(module, found);
  const Opened &opened = found[begin];
  Replacements replace;
  replace.add(opened.node, module.block(opened.body).result);
  if (opened.callee) {
    auto arguments = module.operands(opened.node).subspan(1);
    const std::vector<NodeId> &params = module.function(opened.callee).params;
    if (arguments.size() != params.size())
      return false;
    for (size_t i = 0; i < params.size(); ++i)
      replace.add(params[i], arguments[i]);
  }
  std::vector<NodeId> nodes = module.block(opened.body).nodes;
  for (NodeId node : nodes)
    for (BlockId inner : innerBlocks(module, node))
      module.block(inner).parent = opened.block;
  std::vector<NodeId> &list = module.block(opened.block).nodes;
  auto place = list.erase(std::ranges::find(list, opened.node));
  list.insert(place, nodes.begin(), nodes.end());
  replace.apply(module, opened.function);
  if (opened.callee) {
    std::vector<uint8_t> isGone(module.numFunctions());
    isGone[opened.callee.index] = 1;
    module.removeGlobalsIf(isGone);
  }
  return true;
}

} // namespace

std::span<const ReduceMove> reduceMoves() {
  static constexpr ReduceMove moves[] = {
      {"constants to parameters", countMainConstants, constantsToParams},
      {"constants to zeros", countConstants, constantsToZeros},
      {"a function as @main", countOtherFunctions, functionAsMain},
      {"fewer outputs", countOutputs, dropOutputs},
      {"nodes cut away", countMainNodes, cutNodes},
      {"nodes replaced by an operand", countPassable, passThrough},
      {"a branch or a body in place of its node", countOpened, openBlock},
  };
  return moves;
}

ProgramSize sizeOf(const Module &module) {
  ProgramSize size;
  size.largeConstants = countConstants(module);
  for (FunctionId function : module.globals())
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      ++size.nodes;
      size.operators += module.node(node).kind == NodeKind::CallOp;
    });
  size.functions = module.globals().size();
  size.interface =
      module.function(module.main()).params.size() + std::max<size_t>(1, countOutputs(module));
  return size;
}

void dropDeadNodes(Module &module) {
  for (FunctionId function : module.globals())
    removeDeadNodes(module, function, true);
}

void dropUnusedFunctions(Module &module) {
  module.removeGlobalsExcept(reachableFunctions(module, {module.main()}));
}

void dropUnusedParams(Module &module) {
  Users users(module);
  std::erase_if(module.function(module.main()).params,
                [&](NodeId param) { return users.count(param) == 0; });
}

void makeMain(Module &module, FunctionId function) {
  module.removeGlobalsExcept(std::vector<uint8_t>(module.numFunctions(), 0));
  module.moduleAttrs.clear();
  FunctionId main = module.addFunction("main");
  const Function &from = module.function(function);
  Function &to = module.function(main);
  to.params = from.params;
  to.body = from.body;
  to.resultType = from.resultType;
  to.source = from.source;
}

} // namespace bycc
