// Functions of a model's own (FunctionProto). A call is replaced by the body: the
// nodes are converted in a frame of their own, where the formal inputs name the
// caller's values, the opset is the function's, and attributes that refer to the
// caller's are filled in. So shapes are inferred for each call, and a function may
// be used with several ranks and dtypes. An input or attribute that the caller
// leaves out is left out in the body as well.
#include "OnnxImporter.h"

#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc::onnx {
namespace {

constexpr uint32_t maxCallDepth = 100;
constexpr uint64_t maxInlinedNodes = 16'000'000;

// `visit` sees every node of the graph, and of the graphs in attributes.
template <typename Visit> Expected<> forEachNodeOf(const Graph &graph, const Visit &visit) {
  for (const Node &node : graph.nodes) {
    BYCC_TRY(visit(node));
    for (const Attribute &attribute : node.attributes)
      if (attribute.graph)
        BYCC_TRY(forEachNodeOf(*attribute.graph, visit));
  }
  return {};
}

std::string nameOf(const Function &function) {
  std::string name = escaped(function.domain) + "." + escaped(function.name);
  return function.overload.empty() ? name : name + " (" + escaped(function.overload) + ")";
}

} // namespace

const Function *Importer::functionOf(const Node &node) const {
  if (functions_.empty())
    return nullptr;
  auto found = functions_.find({plainDomain(node.domain), node.opType, node.overload});
  return found == functions_.end() ? nullptr : found->second;
}

Expected<> Importer::addFunctions() {
  for (const Function &function : model_.functions)
    if (!functions_
             .emplace(FunctionKey{plainDomain(function.domain), function.name, function.overload},
                      &function)
             .second)
      return error(Status::Input, {file_})
             << "function " << nameOf(function) << " is defined twice";
  CallTree tree;
  for (const Function &function : model_.functions) {
    BYCC_TRY(checkFunction(function));
    BYCC_TRY(measureCalls(function, tree, 1));
  }
  uint64_t total = 0;
  return forEachNodeOf(model_.graph, [&](const Node &node) -> Expected<> {
    const Function *callee = functionOf(node);
    total += callee ? tree.at(callee).nodes : 1;
    if (total > maxInlinedNodes)
      return error(Status::Limit, locate(node))
             << "with the functions it calls the model has more than " << maxInlinedNodes
             << " nodes";
    return {};
  });
}

// What holds for the function alone: its names differ, it imports what it uses.
Expected<> Importer::checkFunction(const Function &function) {
  std::vector<std::string_view> names(function.inputs);
  names.insert(names.end(), function.attributes.begin(), function.attributes.end());
  for (const Attribute &attribute : function.defaults)
    names.push_back(attribute.name);
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    return error(Status::Input, {file_})
           << "function " << nameOf(function) << " has two inputs or attributes called '"
           << escaped(*twice) << "'";
  int64_t opset = BYCC_TRY(opsetOf(function.opsets, "function " + nameOf(function)));
  return forEachNodeOf(function.body, [&](const Node &node) -> Expected<> {
    if (opset == 0 && plainDomain(node.domain).empty() && !functionOf(node))
      return error(Status::Input, locate(node))
             << "function " << nameOf(function) << " imports no opset of ai.onnx";
    return {};
  });
}

// Nodes and depth of a call, over all that it calls; INPUT when it calls itself.
Expected<Importer::CallSize> Importer::measureCalls(const Function &function, CallTree &tree,
                                                    uint32_t depth) {
  if (auto known = tree.find(&function); known != tree.end()) {
    if (known->second.depth == 0)
      return error(Status::Input, {file_}) << "function " << nameOf(function) << " calls itself";
    return known->second;
  }
  auto tooDeep = [&] {
    return error(Status::Limit, {file_})
           << "function " << nameOf(function) << ": calls nest deeper than " << maxCallDepth;
  };
  if (depth > maxCallDepth)
    return tooDeep();
  tree.emplace(&function, CallSize{}); // depth 0: being measured
  CallSize size{1, 1};
  BYCC_TRY(forEachNodeOf(function.body, [&](const Node &node) -> Expected<> {
    const Function *callee = functionOf(node);
    CallSize inner = callee ? BYCC_TRY(measureCalls(*callee, tree, depth + 1)) : CallSize{1, 0};
    size.nodes = std::min(size.nodes + inner.nodes, maxInlinedNodes + 1);
    size.depth = std::max(size.depth, inner.depth + 1);
    return {};
  }));
  if (size.depth > maxCallDepth)
    return tooDeep();
  return tree[&function] = size;
}

// --- calls

// The node as the frame's caller means it: attributes that refer to the caller's
// hold their value, inputs that the caller left out are left out.
Node Importer::bindNode(const Node &node) const {
  const Frame &frame = frames_.back();
  Node bound;
  bound.name = node.name;
  bound.opType = node.opType;
  bound.domain = node.domain;
  bound.overload = node.overload;
  bound.outputs = node.outputs;
  for (std::string_view input : node.inputs)
    bound.inputs.push_back(frame.absent.count(input) && !find(input)->node ? std::string_view()
                                                                           : input);
  for (const Attribute &attribute : node.attributes) {
    if (attribute.refName.empty()) {
      bound.attributes.push_back(attribute);
      continue;
    }
    auto given = frame.attributes.find(attribute.refName);
    if (given == frame.attributes.end())
      continue;
    bound.attributes.push_back(given->second);
    bound.attributes.back().name = attribute.name;
  }
  return bound;
}

void Importer::convertAnyNode(const Node &node) {
  if (!frames_.empty()) {
    Node bound = bindNode(node);
    return convertBoundNode(bound);
  }
  for (const Attribute &attribute : node.attributes)
    if (!attribute.refName.empty()) {
      report(error(Status::Input, locate(node))
             << "attribute '" << escaped(attribute.name)
             << "' refers to one of a function, outside of a function");
      return poisonOutputs(node);
    }
  convertBoundNode(node);
}

void Importer::convertBoundNode(const Node &node) {
  const Function *function = functionOf(node);
  if (!function)
    return convertNode(node);
  Expected<> done = convertCall(node, *function);
  if (done)
    return;
  report(done.takeError());
  poisonOutputs(node);
}

void Importer::poisonOutputs(const Node &node) {
  for (std::string_view output : node.outputs)
    if (!output.empty())
      scopes_.back()[output] = Value{{}, nullptr, true};
}

Expected<Importer::Frame> Importer::frameOf(const Node &call, const Function &function,
                                            const SourceLocation &location) {
  Frame frame;
  frame.scopeBase = scopes_.size();
  frame.prefix = location.node + "/";
  frame.opset = BYCC_TRY(opsetOf(function.opsets, "function " + nameOf(function)));
  for (const Attribute &attribute : function.defaults)
    frame.attributes.emplace(attribute.name, attribute);
  for (const Attribute &attribute : call.attributes) {
    bool isKnown = std::ranges::count(function.attributes, attribute.name) ||
                   frame.attributes.count(attribute.name);
    if (!isKnown)
      return error(Status::Input, location)
             << "function " << nameOf(function) << " has no attribute '" << escaped(attribute.name)
             << "'";
    frame.attributes.insert_or_assign(attribute.name, attribute);
  }
  return frame;
}

Expected<> Importer::convertCall(const Node &call, const Function &function) {
  SourceLocation location = locateUnique(call);
  if (call.inputs.size() > function.inputs.size() || call.outputs.size() > function.outputs.size())
    return error(Status::Input, location)
           << "has " << call.inputs.size() << " inputs and " << call.outputs.size()
           << " outputs, function " << nameOf(function) << " has " << function.inputs.size()
           << " and " << function.outputs.size();
  Frame frame = BYCC_TRY(frameOf(call, function, location));
  Scope scope;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    bool isGiven = i < call.inputs.size() && !call.inputs[i].empty();
    if (!isGiven)
      frame.absent.insert(function.inputs[i]);
    scope.emplace(function.inputs[i], isGiven ? *find(call.inputs[i]) : Value());
  }
  frames_.push_back(std::move(frame));
  scopes_.push_back(std::move(scope));
  std::swap(opset_, frames_.back().opset);
  addDeclared(function.body);
  Expected<> converted = convertNodes(function.body);
  std::vector<Value> outputs;
  for (size_t i = 0; converted && i < call.outputs.size(); ++i) {
    const Value *value = call.outputs[i].empty() ? nullptr : find(function.outputs[i]);
    bool isMade = value && (value->node || value->ints || value->isPoisoned);
    if (!call.outputs[i].empty() && !isMade)
      converted = error(Status::Input, location)
                  << "output '" << escaped(function.outputs[i]) << "' of function "
                  << nameOf(function) << " is made by no node";
    outputs.push_back(isMade ? *value : Value());
  }
  std::swap(opset_, frames_.back().opset);
  scopes_.pop_back();
  frames_.pop_back();
  BYCC_TRY(std::move(converted));
  for (size_t i = 0; i < call.outputs.size(); ++i)
    if (!call.outputs[i].empty())
      scopes_.back()[call.outputs[i]] = std::move(outputs[i]);
  return {};
}

} // namespace bycc::onnx
