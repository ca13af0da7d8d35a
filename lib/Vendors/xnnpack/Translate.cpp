// See Translate.h: values, constants, and one node after the other.
#include "Translate.h"

#include <cmath>

namespace bycc::xnnpack {

namespace {

// One of the patterns of xnnpack.json.
bool isComposite(std::string_view name) { return name.starts_with("xnnpack."); }

template <typename From, typename To>
void fill(const Dims &dims, const Filling &filling, uint8_t *bytes) {
  auto to = reinterpret_cast<To *>(bytes);
  auto from = static_cast<const From *>(filling.from);
  Dims index(dims.size());
  for (uint64_t i = 0, n = from ? count(dims) : 0; i < n; ++i) {
    if constexpr (std::is_same_v<From, float>)
      to[i] = *from;
    else
      to[i] = static_cast<To>(*from - filling.zero);
    for (size_t axis = dims.size(); axis-- > 0;) {
      from += filling.strides[axis];
      if (++index[axis] < dims[axis])
        break;
      from -= filling.strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
}

void fill(const Dims &dims, const Filling &filling, uint8_t *to) {
  switch (filling.dtype) {
  case BYCC_INT8:
    return fill<int8_t, int8_t>(dims, filling, to);
  case BYCC_UINT8:
    return fill<uint8_t, int8_t>(dims, filling, to);
  case BYCC_INT32:
    return fill<int32_t, int32_t>(dims, filling, to);
  default:
    return fill<float, float>(dims, filling, to);
  }
}

} // namespace

Value readValue(kit::Value from) {
  from.expectPlain({BYCC_FLOAT32, BYCC_INT8, BYCC_UINT8}, maxRank);
  for (int64_t dim : from.dims())
    if (dim == 0 || from.elements() > maxElements)
      throw Refusal("an extent is ", dim);
  Value value{Dims(from.dims().begin(), from.dims().end())};
  if (value.dims.empty())
    value.dims = {1};
  if (from.dtype() == BYCC_FLOAT32)
    return value;
  value.type = Type::Int8;
  value.isUnsigned = from.dtype() == BYCC_UINT8 && !from.isConstant();
  value.scales = {1};
  return value;
}

Translator::Translator(kit::Region region)
    : region_(region), known_(region.values().size(), none), uses_(region) {
  begin();
  for (kit::Node node : region_.nodes()) {
    node_ = node;
    try {
      call();
    } catch (const Refusal &why) {
      Refusal refusal(node.op(), ": ", why.what());
      refusal.node = node.index();
      throw refusal;
    }
  }
  end();
}

kit::Bytes Translator::blob(const kit::Question &question) {
  program_.keepsNan = question.target.nan == BYCC_NAN_KEEP;
  if (program_.weightsBytes > 0) {
    uint8_t *weights = question.weights(program_.weightsBytes).data();
    for (const Filling &filling : fillings_) {
      const Value &value = program_.values[filling.value];
      uint8_t *to = weights + value.offset;
      fill(value.dims, filling, to);
      auto floats = reinterpret_cast<const float *>(to);
      if (value.type == Type::Float && !program_.hasNanConstant)
        program_.hasNanConstant = std::any_of(floats, floats + count(value.dims),
                                              [](float each) { return std::isnan(each); });
    }
  }
  return kit::write(programFormat, program_);
}

const Translator::Table &Translator::table() {
  static const Table rows = [] {
    Table all = floatOperators();
    all.merge(quantizedOperators());
    return all;
  }();
  return rows;
}

const char *Translator::operators() {
  static const std::string names = [] {
    std::string names;
    for (const auto &[name, row] : table())
      if (!isComposite(name))
        names += (names.empty() ? "" : " ") + std::string(name);
    return names;
  }();
  return names.c_str();
}

// Inputs, then outputs. An output that something else reads, or that nothing makes, is copied
// from another value: XNNPACK reads behind the end of what it reads.
void Translator::begin() {
  program_.numInputs = region_.inputs().size();
  program_.numOutputs = region_.outputs().size();
  for (kit::Value value : region_.inputs())
    known_[value.index()] = add(readValue(value));
  for (kit::Value value : region_.outputs())
    add(readValue(value));
}

void Translator::end() {
  for (uint32_t i = 0; i < program_.numOutputs; ++i) {
    ValueId wanted = program_.numInputs + i, have = valueOf(region_.outputs()[i]);
    if (have != wanted)
      emit({Kind::Copy, {have}, wanted});
  }
}

void Translator::call() {
  auto row = table().find(node_->op());
  if (row == table().end() || node_->isComposite() != isComposite(node_->op()))
    throw Refusal("nothing in XNNPACK for this operator");
  if (node_->outputs().size() != 1)
    throw Refusal(node_->outputs().size(), " results");
  if (!row->second.takesBytes)
    node_->expectPlain({BYCC_FLOAT32}, maxRank);
  kind_ = row->second.kind;
  (this->*row->second.handler)();
}

ValueId Translator::add(Value value) {
  program_.values.push_back(std::move(value));
  auto id = static_cast<ValueId>(program_.values.size() - 1);
  groups_.push_back(id);
  isQuantized_.push_back(false);
  return id;
}

ValueId Translator::addConstant(Value value, Filling filling) {
  value.offset = program_.weightsBytes;
  program_.weightsBytes += kit::aligned(value.bytes() + extraBytes);
  filling.value = add(std::move(value));
  fillings_.push_back(std::move(filling));
  return fillings_.back().value;
}

ValueId Translator::valueOf(kit::Value from) {
  ValueId &id = known_[from.index()];
  if (id == none) {
    Value value = readValue(from);
    if (!from.isConstant())
      throw Refusal("value ", from.index(), " is used before it is made");
    int32_t zero = from.dtype() == BYCC_UINT8 ? 128 : 0;
    Dims strides = kit::rowStrides(value.dims);
    id =
        addConstant(std::move(value), {0, from.raw().data, from.dtype(), std::move(strides), zero});
  }
  return id;
}

ValueId Translator::result() {
  kit::Value made = node_->output();
  for (uint32_t i = 0; i < program_.numOutputs && uses_.reads[made.index()] == 1; ++i)
    if (region_.outputs()[i] == made)
      return known_[made.index()] = program_.numInputs + i;
  return known_[made.index()] = add(readValue(made));
}

Node Translator::begun(Kind kind) {
  Node node{kind, {valueOf(operand(0))}};
  node.output = result();
  return node;
}

void Translator::emit(Node node) {
  bool keepsNumbers = node.kind == Kind::Clamp || node.kind == Kind::Copy ||
                      node.kind == Kind::MaxPool || node.kind == Kind::Pad;
  if (keepsNumbers && program_.values[node.output].type == Type::Int8)
    linkQuantization(node.inputs[0], node.output);
  checkNode(program_, node);
  program_.nodes.push_back(std::move(node));
}

} // namespace bycc::xnnpack
