// A tensor is (node, index among the leaves of its type). Where it comes from is followed
// through what only passes it on:
//
//   parameter      the argument of each call of its function
//   call           the result of the function
//   if             the results of both branches
//   tuple, field   the field
//
// Each tensor is followed once. A loop, which is a function that calls itself, leads back to
// a tensor that is being followed and adds nothing.

#include "bycc/View/OperatorGraph.h"

#include "bycc/IR/Op.h"
#include "bycc/IR/Visitor.h"

#include <algorithm>
#include <unordered_map>

namespace bycc {
namespace {

using Kind = OperatorInput::Kind;

constexpr int maxDepth = 2000; // tensors that only pass each other on

class GraphMaker {
public:
  GraphMaker(const Module &module, const OffloadReport &report)
      : module_(module), report_(report) {}

  OperatorGraph run() {
    for (uint32_t row = 0; row < report_.nodes.size(); ++row)
      rowOf_[report_.nodes[row].id] = row;
    findCalls();
    for (const OffloadNode &node : report_.nodes)
      addRow(node.id);
    if (FunctionId main = module_.main())
      addOutputs(module_.block(module_.function(main).body).result);
    return std::move(graph_);
  }

private:
  using Sources = std::vector<OperatorInput>;

  void findCalls() {
    if (FunctionId main = module_.main()) {
      uint32_t input = 0;
      for (NodeId param : module_.function(main).params) {
        inputOf_[param] = input;
        input += static_cast<uint32_t>(module_.types.numLeaves(module_.type(param)));
      }
    }
    for (FunctionId function : module_.globals())
      forEachNode(module_, module_.function(function).body, [&](NodeId node) { noteCall(node); });
  }

  void noteCall(NodeId call) {
    std::optional<FunctionId> callee = calleeOf(call);
    if (!callee)
      return;
    const std::vector<NodeId> &params = module_.function(*callee).params;
    std::span<const NodeId> operands = module_.operands(call);
    for (size_t i = 0; i < params.size() && i + 1 < operands.size(); ++i)
      argumentsOf_[params[i]].push_back(operands[i + 1]);
  }

  std::optional<FunctionId> calleeOf(NodeId call) const {
    if (module_.node(call).kind != NodeKind::Call)
      return std::nullopt;
    NodeId callee = module_.operands(call)[0];
    NodeKind kind = module_.node(callee).kind;
    if (kind != NodeKind::Global && kind != NodeKind::Function)
      return std::nullopt;
    return module_.functionOf(callee);
  }

  uint32_t typeOf(TypeId type) {
    auto [found, isNew] =
        types_.try_emplace(type.index, static_cast<uint32_t>(graph_.types.size()));
    if (isNew) {
      int64_t bytes = 0;
      for (TypeId leaf : module_.types.flatten(type)) {
        std::optional<int64_t> size =
            module_.types.isTensor(leaf) ? module_.types.sizeBytes(leaf) : std::nullopt;
        bytes = size && bytes >= 0 ? bytes + *size : -1;
      }
      graph_.types.push_back({module_.types.str(type), bytes});
    }
    return found->second;
  }

  void addRow(NodeId node) {
    OperatorGraph::Row row;
    row.type = typeOf(module_.type(node));
    row.attributes = attributesOf(node);
    for (NodeId operand : module_.operands(node))
      addAll(operand, row.inputs);
    graph_.rows.push_back(std::move(row));
  }

  // In the order of the operator table, as Relay text has them.
  std::string attributesOf(NodeId node) const {
    std::string text;
    for (const AttrSpec &spec : opInfo(module_.node(node).op).attrs)
      if (const AttrValue *value = module_.attributes.find(module_.node(node).attrs, spec.name))
        text += (text.empty() ? "" : ", ") + std::string(spec.name) + "=" + value->str();
    return text;
  }

  void addAll(NodeId value, Sources &out) {
    TypeId type = module_.type(value);
    for (size_t i = 0, count = module_.types.numLeaves(type); i < count; ++i)
      for (OperatorInput source : sourcesOf(value, i)) {
        source.type = typeOf(module_.types.leaf(type, i));
        if (std::ranges::find(out, source) == out.end() || source.kind == Kind::Constant)
          out.push_back(source);
      }
  }

  void addOutputs(NodeId result) {
    TypeId type = module_.type(result);
    for (size_t i = 0, count = module_.types.numLeaves(type); i < count; ++i) {
      Sources &output = graph_.outputs.emplace_back(sourcesOf(result, i));
      for (OperatorInput &source : output)
        source.type = typeOf(module_.types.leaf(type, i));
    }
  }

  const Sources &sourcesOf(NodeId value, size_t leaf) {
    auto [found, isNew] = sources_.try_emplace(uint64_t{value.index} << 24 | leaf);
    if (isNew && depth_ < maxDepth) {
      ++depth_;
      Sources sources = follow(value, leaf);
      --depth_;
      return sources_[uint64_t{value.index} << 24 | leaf] = std::move(sources);
    }
    return found->second;
  }

  Sources follow(NodeId value, size_t leaf) {
    const Node &node = module_.node(value);
    if (auto row = rowOf_.find(value); row != rowOf_.end())
      return {{Kind::Operator, row->second, 0}};
    Sources all;
    auto add = [&](NodeId from, size_t index) {
      if (index >= module_.types.numLeaves(module_.type(from)))
        return;
      for (const OperatorInput &source : sourcesOf(from, index))
        if (std::ranges::find(all, source) == all.end())
          all.push_back(source);
    };
    switch (node.kind) {
    case NodeKind::Constant:
      return {{Kind::Constant, 0, 0}};
    case NodeKind::Param:
      if (auto input = inputOf_.find(value); input != inputOf_.end())
        return {{Kind::Input, input->second + static_cast<uint32_t>(leaf), 0}};
      if (auto arguments = argumentsOf_.find(value); arguments != argumentsOf_.end())
        for (NodeId argument : arguments->second)
          add(argument, leaf);
      break;
    case NodeKind::Call:
      if (std::optional<FunctionId> callee = calleeOf(value))
        add(module_.block(module_.function(*callee).body).result, leaf);
      break;
    case NodeKind::If:
      add(module_.block(module_.thenBlock(value)).result, leaf);
      add(module_.block(module_.elseBlock(value)).result, leaf);
      break;
    case NodeKind::Tuple: {
      uint32_t field = module_.types.fieldOfLeaf(node.type, leaf);
      add(module_.operands(value)[field], leaf - module_.types.leavesOf(node.type, field).first);
      break;
    }
    case NodeKind::Project: {
      NodeId tuple = module_.operands(value)[0];
      add(tuple, module_.types.leavesOf(module_.type(tuple), node.payload).first + leaf);
      break;
    }
    default:
      break;
    }
    return all;
  }

  const Module &module_;
  const OffloadReport &report_;
  OperatorGraph graph_;
  std::unordered_map<NodeId, uint32_t> rowOf_, inputOf_;
  std::unordered_map<NodeId, std::vector<NodeId>> argumentsOf_; // by parameter
  std::unordered_map<uint32_t, uint32_t> types_;                // by TypeId
  std::unordered_map<uint64_t, Sources> sources_;               // by node and leaf
  int depth_ = 0;
};

} // namespace

OperatorGraph makeOperatorGraph(const Module &module, const OffloadReport &report) {
  return GraphMaker(module, report).run();
}

} // namespace bycc
