// The walk over a model: inputs and initializers into scope, nodes in dependency
// order, outputs out. A node that cannot be converted is reported and its outputs
// are poisoned; what depends on them is passed over in silence, so that one run
// lists every cause and no consequence.
#include "OnnxImporter.h"

#include "bycc/IR/ConstantPool.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Support/Hash.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <queue>

namespace bycc::onnx {
namespace {

constexpr size_t maxProblems = 1000;
constexpr size_t maxGraphDepth = 64;
constexpr uint32_t maxLoopBodies = 10000;

bool isDefaultDomain(std::string_view domain) { return plainDomain(domain).empty(); }

// Integers of a small constant of rank 0 or 1.
std::shared_ptr<const IntTensor> smallInts(const Module &module, const Constant &constant) {
  DType dtype = module.types.dtype(constant.type);
  size_t rank = module.types.shape(constant.type).size();
  if ((dtype != DType::Int64 && dtype != DType::Int32 && dtype != DType::Bool) || rank > 1 ||
      constant.bytes / sizeInBytes(dtype) > maxFoldedElements)
    return nullptr;
  auto result = std::make_shared<IntTensor>();
  result->dtype = dtype;
  result->isScalar = rank == 0;
  for (uint64_t at = 0; at < constant.bytes; at += sizeInBytes(dtype)) {
    int64_t value = 0;
    if (dtype == DType::Int32) {
      int32_t item;
      std::memcpy(&item, constant.data() + at, sizeof item);
      value = item;
    } else {
      std::memcpy(&value, constant.data() + at, sizeInBytes(dtype));
    }
    result->values.push_back(value);
  }
  return result;
}

} // namespace

Importer::Importer(const Model &model, const std::string &file, TensorReader &tensors,
                   const OnnxImportOptions &options)
    : model_(model), file_(file), tensors_(tensors), options_(options),
      builder_(module_, BlockId()) {}

void Importer::report(Error problem) {
  for (Diagnostic &diagnostic : problem.diagnostics()) {
    if (diagnostic.location.file.empty())
      diagnostic.location.file = file_;
    if (problems_.size() < maxProblems)
      problems_.push_back(std::move(diagnostic));
  }
}

Expected<> Importer::failIfReported() {
  if (problems_.empty())
    return {};
  return Error(std::move(problems_));
}

const Value *Importer::find(std::string_view name) const {
  for (size_t i = scopes_.size(); i-- > scopeBase();) {
    auto found = scopes_[i].find(name);
    if (found != scopes_[i].end())
      return &found->second;
  }
  return nullptr;
}

const ValueInfo *Importer::declared(std::string_view name) const {
  const Declared &known = frames_.empty() ? declared_ : frames_.back().declared;
  auto found = known.find(name);
  return found == known.end() ? nullptr : found->second;
}

void Importer::addDeclared(const Graph &graph) {
  Declared &known = frames_.empty() ? declared_ : frames_.back().declared;
  for (const std::vector<ValueInfo> *list : {&graph.valueInfos, &graph.outputs})
    for (const ValueInfo &info : *list)
      if (info.isTensor)
        known[info.name] = &info;
}

NodeId Importer::materialise(std::string_view name) {
  for (size_t i = scopes_.size(); i-- > scopeBase();) {
    auto found = scopes_[i].find(name);
    if (found == scopes_[i].end())
      continue;
    Value &value = found->second;
    if (!value.node)
      value.node = addInts(*value.ints);
    return value.node;
  }
  BYCC_ASSERT(false, "a converter's input is defined");
}

NodeId Importer::addInts(const IntTensor &ints) {
  std::vector<int64_t> values = ints.all();
  std::vector<uint8_t> bytes(values.size() * sizeInBytes(ints.dtype));
  for (size_t i = 0; i < values.size(); ++i) // little endian
    std::memcpy(bytes.data() + i * sizeInBytes(ints.dtype), &values[i], sizeInBytes(ints.dtype));
  std::vector<Dim> shape;
  if (!ints.isScalar)
    shape.push_back(static_cast<int64_t>(values.size()));
  return module_.addConstant(ints.dtype, shape, bytes.data(), bytes.size());
}

Expected<NodeId> Importer::addTensor(const Tensor &tensor, const SourceLocation &location) {
  Constant constant = BYCC_TRY(tensors_.read(tensor, module_.types, location));
  if (!hasFourBits(tensor.elemType))
    return addConstant(std::move(constant), location);
  NodeId node = module_.addConstant(std::move(constant), module_.addSource(location));
  fourBits_.insert(node); // so not shared with one of 8 bits
  return node;
}

Expected<NodeId> Importer::addSparse(const SparseTensor &tensor, const SourceLocation &location) {
  return addConstant(BYCC_TRY(tensors_.readSparse(tensor, module_.types, location)), location);
}

NodeId Importer::addConstant(Constant constant, const SourceLocation &location) {
  size_t headBytes = std::min<uint64_t>(constant.bytes, 64);
  uint64_t key =
      hashBytes(constant.data(), headBytes, hashCombine(constant.type.index, constant.bytes));
  std::vector<NodeId> &candidates = constantsByKey_[key];
  for (NodeId other : candidates)
    if (isEqual(module_.constant(other), constant))
      return other;
  NodeId node = module_.addConstant(std::move(constant), module_.addSource(location));
  // Many constants with one head would make this quadratic.
  if (candidates.size() < 16)
    candidates.push_back(node);
  return node;
}

Expected<> Importer::define(std::string_view name, Value value, const SourceLocation &location) {
  if (!scopes_.back().emplace(name, std::move(value)).second)
    return error(Status::Input, location).as(MessageId::DefinedTwice)
           << "value '" << escaped(name) << "' is made twice";
  return {};
}

// The version of ai.onnx, 0 when it is not imported. `where`: "" for the model.
Expected<int64_t> Importer::opsetOf(const std::vector<OpsetImport> &opsets,
                                    const std::string &where) {
  auto problem = [&](Status status) {
    return error(status, {file_}) << where << (where.empty() ? "" : ": ");
  };
  std::map<std::string_view, int64_t> seen; // some exporters name a domain twice
  int64_t version = 0;
  for (const OpsetImport &opset : opsets) {
    std::string_view domain = plainDomain(opset.domain);
    if (auto [first, isNew] = seen.try_emplace(domain, opset.version);
        !isNew && first->second != opset.version)
      return problem(Status::Input)
             << "domain '" << escaped(domain) << "' is imported twice, as versions "
             << first->second << " and " << opset.version;
    if (opset.version <= 0)
      return problem(Status::Input) << "opset version " << opset.version << " is not legal";
    if (!domain.empty())
      continue;
    version = opset.version;
    if (version < minOpset || version > maxOpset)
      return problem(Status::Unsup).as(MessageId::Opset)
             << "opset " << version << " of ai.onnx is not supported, " << minOpset << " to "
             << maxOpset << " are";
  }
  return version;
}

void Importer::addInitializers(const Graph &graph) {
  auto add = [&](std::string_view name, auto &&read) {
    SourceLocation location{.file = file_, .node = std::string(name), .nodeOp = "initializer"};
    if (name.empty()) {
      report(error(Status::Input, {file_}) << "an initializer without a name");
      return;
    }
    Expected<NodeId> node = read(location);
    Value value;
    value.isPoisoned = !node;
    if (node) {
      value.node = *node;
      value.ints = smallInts(module_, module_.constant(*node));
    } else {
      report(node.takeError());
    }
    Expected<> defined = define(name, std::move(value), location);
    if (!defined)
      report(defined.takeError());
  };
  for (const Tensor &tensor : graph.initializers)
    add(tensor.name, [&](const SourceLocation &location) { return addTensor(tensor, location); });
  for (const SparseTensor &tensor : graph.sparseInitializers)
    add(tensor.values.name,
        [&](const SourceLocation &location) { return addSparse(tensor, location); });
}

SourceLocation Importer::locate(const Node &node) {
  std::string name(node.name);
  if (name.empty())
    for (std::string_view output : node.outputs)
      if (name.empty())
        name = output;
  if (name.empty())
    name = "number " + std::to_string(node.index);
  if (!frames_.empty())
    name = frames_.back().prefix + name;
  return {.file = file_, .node = std::move(name), .nodeOp = std::string(node.opType)};
}

SourceLocation Importer::locateUnique(const Node &node) {
  SourceLocation location = locate(node);
  int uses = nodeNames_[location.node]++;
  if (uses > 0)
    location.node += "." + std::to_string(uses);
  return location;
}

Expected<std::vector<uint32_t>> Importer::orderNodes(const Graph &graph) {
  uint32_t count = static_cast<uint32_t>(graph.nodes.size());
  std::unordered_map<std::string_view, uint32_t> maker;
  for (uint32_t i = 0; i < count; ++i)
    for (std::string_view output : graph.nodes[i].outputs)
      if (!output.empty() && (scopes_.back().count(output) || !maker.emplace(output, i).second))
        return error(Status::Input, locate(graph.nodes[i])).as(MessageId::DefinedTwice)
               << "value '" << escaped(output) << "' is made twice";
  // Kahn's algorithm; among ready nodes the first in the file goes first, so that
  // a sorted file keeps its order.
  std::vector<uint32_t> missing(count, 0);
  std::vector<std::vector<uint32_t>> users(count);
  for (uint32_t i = 0; i < count; ++i)
    for (std::string_view input : graph.nodes[i].inputs) {
      if (input.empty())
        continue;
      auto found = maker.find(input);
      if (found != maker.end()) {
        users[found->second].push_back(i);
        ++missing[i];
      } else if (!find(input)) {
        return error(Status::Input, locate(graph.nodes[i])).as(MessageId::GraphOrder)
               << "input '" << escaped(input) << "' is made by no node";
      }
    }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < count; ++i)
    if (missing[i] == 0)
      ready.push(i);
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    uint32_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (uint32_t user : users[next])
      if (--missing[user] == 0)
        ready.push(user);
  }
  if (order.size() == count)
    return order;
  // Walking back along unmade inputs ends on a cycle after at most `count` steps.
  uint32_t at = static_cast<uint32_t>(
      std::find_if(missing.begin(), missing.end(), [](uint32_t n) { return n > 0; }) -
      missing.begin());
  for (uint32_t step = 0; step < count; ++step)
    for (std::string_view input : graph.nodes[at].inputs) {
      auto found = maker.find(input);
      if (found != maker.end() && missing[found->second] > 0) {
        at = found->second;
        break;
      }
    }
  return error(Status::Input, locate(graph.nodes[at])).as(MessageId::GraphOrder)
         << "the node is on a cycle";
}

Expected<> Importer::convertWithRow(OpContext &op, const OpRow &row) {
  const Node &node = op.proto();
  size_t given = node.inputs.size();
  while (given > 0 && node.inputs[given - 1].empty())
    --given;
  if (row.maxInputs >= 0 && given > static_cast<size_t>(row.maxInputs))
    return op.error() << "has " << given << " inputs, at most " << row.maxInputs << " are legal";
  bool isList = row.maxInputs < 0 && row.minInputs > 0; // of equals, none is optional
  for (size_t i = 0;
       i < std::max(isList ? node.inputs.size() : 0, static_cast<size_t>(row.minInputs)); ++i)
    if (!op.has(i))
      return op.error() << "input " << i << " is missing";
  if (node.outputs.empty())
    return op.error() << "the node has no output";
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (bool isSequence = op.has(i) && find(node.inputs[i])->sequence;
        isSequence && !takesSequence(node.opType, i))
      return op.error(Status::Unsup) << "input " << i << " is a sequence";
    else if (!isSequence && needsSequence(node.opType, i))
      return op.error() << "input " << i << " is not a sequence";
  std::optional<IntTensor> folded = foldInts(op);
  if (folded && folded->isComplete()) {
    op.setOutputInts(0, std::move(*folded));
    return {};
  }
  if (opset_ < 6)
    op.ignoreAttr("consumed_inputs"); // marks work in place
  BYCC_TRY(row.convert(op));
  if (folded)
    op.setOutputInts(0, std::move(*folded));
  for (size_t i = 0; i < op.numOutputs(); ++i)
    if (op.wantsOutput(i) && !op.outputs()[i].node && !op.outputs()[i].ints &&
        !op.outputs()[i].sequence)
      return op.error(Status::Unsup) << "output " << i << " is not supported";
  return op.checkAllAttrsUsed();
}

namespace {

// "" when there is a converter for the node's operator at this opset of its domain.
std::string whyNotRead(const Node &node, const OpRow *row, std::optional<int64_t> opset) {
  OpVersion version = row ? row->versionAt(opset.value_or(0)) : OpVersion();
  if (row && version.opset > 0 && version.isRead)
    return "";
  std::string domain = isDefaultDomain(node.domain) ? "" : escaped(node.domain) + ".";
  std::string what = "operator " + domain + escaped(node.opType) +
                     (opset ? " of opset " + std::to_string(*opset) : "") + " is not supported";
  if (!row)
    return opset ? what : what + ", nor is its domain imported";
  if (version.opset == 0)
    return what + ": it came with opset " +
           std::string(row->versions.substr(0, row->versions.find(' ')));
  if (row->convert)
    return what + ": version " + std::to_string(version.opset) + " is deprecated";
  return row->relayName.empty() ? what : what + ": it " + std::string(row->relayName);
}

// What to do about an operator of this domain; "" for ONNX's own.
std::string adviceFor(std::string_view domain) {
  if (isDefaultDomain(domain))
    return "";
  if (domain == "com.microsoft.nchwc" || domain == "com.ms.internal.nhwc")
    return "ONNX Runtime has optimised the file for one machine: save it again at its level "
           "'extended', or take the original";
  return "operators of domain " + escaped(domain) +
         " are no part of ONNX; those that are read stand in share/doc/operators.md";
}

} // namespace

// In place of a value that could not be made, one of its declared type: so what
// uses it is looked at as well. Not for integers, which may be shapes.
NodeId Importer::standIn(std::string_view name) {
  const ValueInfo *info = declared(name);
  if (!info || !info->hasShape)
    return {};
  Expected<DType> dtype = dtypeOf(info->elemType, {});
  std::vector<Dim> dims;
  for (const DimSpec &dim : info->dims)
    if (dim.value && *dim.value >= 0)
      dims.emplace_back(*dim.value);
  if (!dtype || !isFloat(*dtype) || dims.size() != info->dims.size())
    return {};
  return module_.addParam(name, module_.types.tensor(*dtype, dims));
}

// Of a domain, as the model imports it.
std::optional<int64_t> Importer::versionOf(std::string_view domain) const {
  if (isDefaultDomain(domain))
    return opset_;
  for (const OpsetImport &opset : model_.opsets)
    if (opset.domain == domain)
      return opset.version;
  return std::nullopt;
}

void Importer::convertNode(const Node &node) {
  SourceLocation location = locateUnique(node);
  bool isPoisoned = false;
  for (std::string_view input : node.inputs) {
    const Value *value = input.empty() ? nullptr : find(input);
    isPoisoned = isPoisoned || (value && value->isPoisoned);
  }
  std::string domain = isDefaultDomain(node.domain) ? "" : std::string(node.domain) + ".";
  const OpRow *row = findOpRow(domain + std::string(node.opType));
  SourceId source = module_.addSource(location);
  builder_.setSource(source);
  // Operators of other domains do not change with the opset of ai.onnx.
  int64_t opset = isDefaultDomain(node.domain) ? opset_ : maxOpset;
  OpContext op(*this, node, opset, row ? row->relayName : "", source);
  Expected<> done;
  if (std::string why = whyNotRead(node, row, versionOf(node.domain)); !why.empty()) {
    std::string advice = row ? "" : adviceFor(node.domain);
    ErrorBuilder problem = op.error(Status::Unsup).as(MessageId::OnnxOperator) << why;
    done = advice.empty() ? std::move(problem) : std::move(problem).note(advice);
  } else if (!isPoisoned) {
    done = convertWithRow(op, *row);
  }
  if (!done) {
    report(done.takeError());
    isPoisoned = true;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty())
      continue;
    Value value = isPoisoned ? Value{standIn(node.outputs[i])} : std::move(op.outputs()[i]);
    value.isPoisoned = isPoisoned && !value.node;
    if (value.node && !value.ints && module_.isConstant(value.node))
      value.ints = smallInts(module_, module_.constant(value.node));
    scopes_.back()[node.outputs[i]] = std::move(value); // orderNodes() has checked the name
  }
}

Expected<> Importer::convertNodes(const Graph &graph) {
  Expected<std::vector<uint32_t>> order = orderNodes(graph);
  if (!order)
    return order.takeError();
  for (uint32_t index : *order)
    convertAnyNode(graph.nodes[index]);
  return {};
}

Expected<std::vector<Value>> Importer::graphOutputs(const Graph &graph,
                                                    const SourceLocation &location) {
  std::vector<Value> outputs;
  for (const ValueInfo &info : graph.outputs) {
    const Value *value = find(info.name);
    if (!value)
      return error(Status::Input, location).as(MessageId::GraphOrder)
             << "graph output '" << escaped(info.name) << "' is made by no node";
    if (!value->isPoisoned && !value->sequence)
      materialise(info.name);
    outputs.push_back(*find(info.name));
    checkDeclared(info, "output");
  }
  for (const ValueInfo &info : graph.valueInfos)
    checkDeclared(info, "value_info");
  if (outputs.empty())
    return error(Status::Input, location) << "the graph has no output";
  return outputs;
}

Expected<> Importer::convertBranch(const Graph &graph, BlockId block,
                                   const SourceLocation &location) {
  BlockId outer = builder_.block();
  builder_.setBlock(block);
  Expected<std::vector<Value>> outputs = convertInline(graph, location);
  if (outputs) {
    Expected<std::vector<NodeId>> nodes = tensorsOf(*outputs, location);
    if (nodes)
      module_.block(block).result = nodes->size() == 1 ? (*nodes)[0] : builder_.tuple(*nodes);
    else
      outputs = nodes.takeError();
  }
  builder_.setBlock(outer);
  if (!outputs)
    return outputs.takeError();
  return {};
}

Expected<std::vector<NodeId>> Importer::tensorsOf(std::span<const Value> values,
                                                  const SourceLocation &location) {
  std::vector<NodeId> nodes;
  for (const Value &value : values) {
    if (value.sequence)
      return error(Status::Unsup, location) << "gives a sequence as a result";
    if (value.isPoisoned) // by a node outside, which has been reported
      return Error(std::vector<Diagnostic>{});
    nodes.push_back(value.node);
  }
  return nodes;
}

Expected<> Importer::countLoopBody(const OpContext &op) {
  if (++numLoopBodies_ > maxLoopBodies)
    return op.error(Status::Limit)
           << "bodies of loops are read more than " << maxLoopBodies << " times";
  return {};
}

Expected<std::vector<Value>> Importer::convertInline(const Graph &graph,
                                                     const SourceLocation &location,
                                                     std::span<const Value> inputs) {
  if (scopes_.size() - scopeBase() >= maxGraphDepth)
    return error(Status::Limit, location) << "graphs nest deeper than " << maxGraphDepth;
  if (graph.inputs.size() != inputs.size())
    return error(Status::Input, location)
           << "the graph inside has " << graph.inputs.size() << " inputs, wanted " << inputs.size();
  scopes_.emplace_back();
  for (size_t i = 0; i < inputs.size(); ++i)
    scopes_.back()[graph.inputs[i].name] = inputs[i];
  size_t problemsBefore = problems_.size();
  addDeclared(graph);
  addInitializers(graph);
  Expected<> converted = convertNodes(graph);
  Expected<std::vector<Value>> outputs =
      converted ? graphOutputs(graph, location) : converted.takeError();
  scopes_.pop_back();
  // What went wrong inside goes out with the caller's error.
  if (outputs && problems_.size() > problemsBefore) {
    std::vector<Diagnostic> inner(problems_.begin() + problemsBefore, problems_.end());
    problems_.resize(problemsBefore);
    return Error(std::move(inner));
  }
  return outputs;
}

Expected<Module> Importer::run() {
  opset_ = BYCC_TRY(opsetOf(model_.opsets, ""));
  if (opset_ == 0)
    return error(Status::Input, {file_}) << "no opset of ai.onnx is imported";
  BYCC_TRY(addFunctions());
  nameOpenDims(model_.graph);
  BYCC_TRY(checkBindings(model_.graph));
  const Graph &graph = model_.graph;
  FunctionId main = module_.addFunction("main");
  builder_.setBlock(module_.function(main).body);
  scopes_.emplace_back();
  std::set<std::string_view> seen;
  addDeclared(graph);
  addInitializers(graph);
  AttrValue::List inputNames, outputNames;
  for (const ValueInfo &info : graph.inputs) {
    if (!seen.insert(info.name).second) {
      report(error(Status::Input, {file_}).as(MessageId::DefinedTwice)
             << "two inputs are called '" << escaped(info.name) << "'");
      continue;
    }
    if (auto found = scopes_.back().find(info.name); found != scopes_.back().end()) {
      // Also an initializer: a constant.
      if (Expected<> checked = checkDefault(info, found->second); !checked)
        report(checked.takeError());
      continue;
    }
    addInput(info, main);
    inputNames.push_back(info.name);
  }
  addNonEmpty(graph, main);
  Expected<> converted = convertNodes(graph);
  Expected<std::vector<Value>> outputs =
      converted ? graphOutputs(graph, {file_}) : converted.takeError();
  if (!outputs)
    report(outputs.takeError());
  BYCC_TRY(failIfReported());
  std::vector<NodeId> results = BYCC_TRY(tensorsOf(*outputs, {file_}));
  for (const ValueInfo &info : graph.outputs)
    outputNames.push_back(info.name);
  builder_.setSource(module_.addSource({.file = file_}));
  module_.block(module_.function(main).body).result =
      results.size() == 1 ? results[0] : builder_.tuple(results);
  module_.moduleAttrs.push_back({"input_names", std::move(inputNames)});
  module_.moduleAttrs.push_back({"output_names", std::move(outputNames)});
  removeDeadNodes(module_, main, false);
  return std::move(module_);
}

} // namespace bycc::onnx
