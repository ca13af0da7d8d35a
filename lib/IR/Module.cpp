// The tables of a Module.

#include "bycc/IR/Module.h"

#include "bycc/Support/Error.h"
#include "bycc/Support/Hash.h"

#include <algorithm>
#include <cstring>

namespace bycc {

Module::Module() : sources_(1) {}

SourceId Module::addSource(const SourceLocation &location) {
  StringId file = sources_.back().file; // mostly the same
  if (string(file) != location.file)
    file = intern(location.file);
  sources_.push_back(
      {file, intern(location.node), intern(location.nodeOp), location.line, location.column});
  return SourceId(static_cast<uint32_t>(sources_.size() - 1));
}

SourceLocation Module::source(SourceId id) const {
  const Place &place = sources_[id.index];
  return {std::string(string(place.file)), place.line, place.column,
          std::string(string(place.node)), std::string(string(place.nodeOp))};
}

void Module::setOperands(NodeId id, std::span<const NodeId> operands) {
  Node &n = nodes_[id.index];
  if (operands.size() > n.operandCount) {
    std::vector<NodeId> copy(operands.begin(), operands.end()); // may alias operands_
    n.operandBegin = static_cast<uint32_t>(operands_.size());
    operands_.insert(operands_.end(), copy.begin(), copy.end());
    n.operandCount = static_cast<uint32_t>(copy.size());
    return;
  }
  std::copy(operands.begin(), operands.end(), operands_.begin() + n.operandBegin);
  n.operandCount = static_cast<uint32_t>(operands.size());
}

const AttrValue *Module::attr(NodeId call, std::string_view key) const {
  const Node &n = node(call);
  if (n.kind != NodeKind::CallOp)
    return nullptr;
  if (const AttrValue *stored = attributes.find(n.attrs, key))
    return stored;
  const AttrSpec *spec = opInfo(n.op).findAttr(key);
  return spec ? &spec->defaultValue : nullptr;
}

NodeId Module::addNode(Node node, std::span<const NodeId> operands) {
  BYCC_ASSERT(nodes_.size() < UINT32_MAX - 1, "at most 2^32 - 2 nodes");
  std::vector<NodeId> copy;
  if (!operands.empty() && operands.data() >= operands_.data() &&
      operands.data() < operands_.data() + operands_.size()) {
    copy.assign(operands.begin(), operands.end()); // would move under our feet
    operands = copy;
  }
  node.operandBegin = static_cast<uint32_t>(operands_.size());
  node.operandCount = static_cast<uint32_t>(operands.size());
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  nodes_.push_back(node);
  return NodeId(static_cast<uint32_t>(nodes_.size() - 1));
}

NodeId Module::addParam(std::string_view name, TypeId type, SourceId source) {
  Node node;
  node.kind = NodeKind::Param;
  node.name = intern(name);
  node.type = type;
  node.source = source;
  return addNode(node);
}

NodeId Module::addConstant(Constant constant, SourceId source) {
  uint64_t seed = hashCombine(constant.type.index, constant.bytes);
  constant.hash = hashBytes(constant.data(), constant.bytes, seed);
  constants.push_back(std::move(constant));
  return addConstantNode(ConstantId(static_cast<uint32_t>(constants.size() - 1)), source);
}

NodeId Module::addConstantNode(ConstantId constant, SourceId source) {
  Node node;
  node.kind = NodeKind::Constant;
  node.payload = constant.index;
  node.type = constants[constant.index].type;
  node.source = source;
  return addNode(node);
}

NodeId Module::addConstant(DType dtype, std::span<const Dim> shape, const void *data,
                           uint64_t bytes) {
  Constant constant;
  constant.type = types.tensor(dtype, shape);
  BYCC_ASSERT(types.sizeBytes(constant.type) == static_cast<int64_t>(bytes),
              "constant data has the size of its type");
  constant.storage = Storage::copyOf(data, bytes);
  constant.bytes = bytes;
  return addConstant(std::move(constant));
}

namespace {

template <typename T> NodeId addTyped(Module &module, DType dtype, T value) {
  return module.addConstant(dtype, {}, &value, sizeof value);
}

} // namespace

NodeId Module::addScalar(DType dtype, double value) {
  switch (dtype) {
  case DType::Bool:
    return addTyped<uint8_t>(*this, dtype, value != 0);
  case DType::Int8:
    return addTyped(*this, dtype, static_cast<int8_t>(value));
  case DType::Int16:
    return addTyped(*this, dtype, static_cast<int16_t>(value));
  case DType::Int32:
    return addTyped(*this, dtype, static_cast<int32_t>(value));
  case DType::Int64:
    return addTyped(*this, dtype, static_cast<int64_t>(value));
  case DType::UInt8:
    return addTyped(*this, dtype, static_cast<uint8_t>(value));
  case DType::UInt16:
    return addTyped(*this, dtype, static_cast<uint16_t>(value));
  case DType::UInt32:
    return addTyped(*this, dtype, static_cast<uint32_t>(value));
  case DType::UInt64:
    return addTyped(*this, dtype, static_cast<uint64_t>(value));
  case DType::Float16:
    return addTyped(*this, dtype, floatToHalf(static_cast<float>(value)));
  case DType::BFloat16:
    return addTyped(*this, dtype, floatToBFloat16(static_cast<float>(value)));
  case DType::Float32:
    return addTyped(*this, dtype, static_cast<float>(value));
  case DType::Float64:
    return addTyped(*this, dtype, value);
  }
  BYCC_ASSERT(false, "a known dtype");
}

BlockId Module::addBlock(BlockId parent) {
  blocks_.emplace_back();
  blocks_.back().parent = parent;
  return BlockId(static_cast<uint32_t>(blocks_.size() - 1));
}

BlockId Module::addIfBlocks(BlockId parent) {
  BlockId first = addBlock(parent);
  addBlock(parent);
  return first;
}

FunctionId Module::addFunction(std::string_view globalName, BlockId parent) {
  BlockId body = addBlock(parent);
  FunctionId id(static_cast<uint32_t>(functions_.size()));
  functions_.emplace_back();
  functions_.back().body = body;
  if (!globalName.empty()) {
    functions_.back().name = intern(globalName);
    globals_.push_back(id);
    size_t name = functions_.back().name.index;
    globalOfName_.resize(std::max(globalOfName_.size(), name + 1));
    globalOfName_[name] = id;
  }
  return id;
}

TypeId Module::functionType(FunctionId id) {
  const Function &f = function(id);
  std::vector<TypeId> params;
  for (NodeId param : f.params)
    params.push_back(type(param));
  NodeId result = block(f.body).result;
  TypeId resultType = result && type(result) != types.incomplete() ? type(result) : f.resultType;
  return types.function(params, resultType ? resultType : types.incomplete());
}

FunctionId Module::findGlobal(std::string_view name) const {
  uint32_t text = strings_.find(name);
  return text < globalOfName_.size() ? globalOfName_[text] : FunctionId();
}

bool Module::removeGlobalsIf(const std::vector<uint8_t> &isGone) {
  return std::erase_if(globals_, [&](FunctionId id) {
           if (isGone[id.index])
             globalOfName_[function(id).name.index] = FunctionId();
           return isGone[id.index] != 0;
         }) > 0;
}

bool Module::removeGlobalsExcept(const std::vector<uint8_t> &isKept) {
  std::vector<uint8_t> isGone(isKept.size());
  std::ranges::transform(isKept, isGone.begin(), [](uint8_t kept) { return !kept; });
  return removeGlobalsIf(isGone);
}

void Module::setGlobalOrder(std::vector<FunctionId> order) {
  BYCC_ASSERT(std::ranges::is_permutation(order, globals_),
              "an order has each global function once");
  globals_ = std::move(order);
}

void Module::continueGlobal(FunctionId old, FunctionId fresh) {
  SourceId source = function(old).source;
  function(old) = function(fresh);
  function(old).source = source;
  globalOfName_[function(old).name.index] = old;
  std::ranges::replace(globals_, fresh, old);
}

NodeId Module::globalRef(FunctionId id) {
  if (globalRefs_.size() <= id.index)
    globalRefs_.resize(id.index + 1);
  if (!globalRefs_[id.index]) {
    Node node;
    node.kind = NodeKind::Global;
    node.payload = id.index;
    globalRefs_[id.index] = addNode(node);
  }
  return globalRefs_[id.index];
}

void Module::setAnnotation(NodeId id, Annotation annotation) {
  if (annotationOf_.size() <= id.index)
    annotationOf_.resize(std::max<size_t>(nodes_.size(), id.index + 1), noAnnotation);
  uint32_t &place = annotationOf_[id.index];
  if (annotation == Annotation{}) {
    place = noAnnotation;
  } else if (place != noAnnotation) {
    annotations_[place] = std::move(annotation);
  } else {
    place = static_cast<uint32_t>(annotations_.size());
    annotations_.push_back(std::move(annotation));
  }
}

void Module::clearAnnotations() {
  annotationOf_.clear();
  annotations_.clear();
  askedOf_.clear();
}

SourceId Module::addAskedSource(SourceId place, StringId vendor) {
  sources_.push_back(Place(sources_[place.index]));
  askedOf_.resize(sources_.size(), StringId(0));
  askedOf_.back() = vendor;
  return SourceId(static_cast<uint32_t>(sources_.size() - 1));
}

} // namespace bycc
