// Reads the operator table once: the spec strings of Ops.def become OpInfo rows
// and a hash from names to rows. A mistake in the table is a fault of ours and
// stops the first use.

#include "bycc/IR/Op.h"

#include "Shape.h"
#include "bycc/IR/Module.h"
#include "bycc/Support/DType.h"
#include "bycc/Support/Layout.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace bycc {
namespace {

AttrType parseAttrType(std::string_view text) {
  constexpr std::pair<std::string_view, AttrType> types[] = {
      {"bool", AttrType::Bool},       {"int", AttrType::Int},   {"float", AttrType::Float},
      {"str", AttrType::String},      {"ints", AttrType::Ints}, {"floats", AttrType::Floats},
      {"dtype", AttrType::DTypeName}, {"any", AttrType::Any}};
  for (auto [name, type] : types)
    if (name == text)
      return type;
  BYCC_ASSERT(false, "Ops.def: unknown attribute type " + std::string(text));
}

// "[1,2]" with each item as the function reads it.
template <typename Parse> AttrValue parseList(std::string_view text, Parse parse) {
  BYCC_ASSERT(text.size() >= 2 && text.front() == '[' && text.back() == ']',
              "Ops.def: a list default is in brackets");
  AttrValue::List list;
  text = text.substr(1, text.size() - 2);
  if (!text.empty())
    for (const std::string &item : split(text, ','))
      list.emplace_back(parse(item).value());
  return AttrValue(std::move(list));
}

AttrValue parseDefault(AttrType type, std::string_view text) {
  switch (type) {
  case AttrType::Bool:
    return AttrValue(text == "true");
  case AttrType::Int:
    return AttrValue(parseInt(text).value());
  case AttrType::Float:
    return AttrValue(parseDouble(text).value());
  case AttrType::String:
  case AttrType::DTypeName:
    return AttrValue(text);
  case AttrType::Ints:
    return parseList(text, parseInt);
  case AttrType::Floats:
    return parseList(text, parseDouble);
  case AttrType::Any:
    break;
  }
  BYCC_ASSERT(false, "Ops.def: no default of this kind");
}

// "key:type=default", "key:type!", "key:type?" or "key:type!?".
AttrSpec parseAttr(std::string_view text) {
  AttrSpec spec{};
  size_t colon = text.find(':');
  BYCC_ASSERT(colon != std::string_view::npos, "Ops.def: an attribute has a type");
  spec.name = text.substr(0, colon);
  text.remove_prefix(colon + 1);
  size_t end = text.find_first_of("=!?");
  BYCC_ASSERT(end != std::string_view::npos, "Ops.def: an attribute has a default, '!' or '?'");
  spec.type = parseAttrType(text.substr(0, end));
  std::string_view rest = text.substr(end);
  if (rest.front() == '=') {
    spec.defaultValue = parseDefault(spec.type, rest.substr(1));
  } else {
    spec.isRequired = rest.find('!') != std::string_view::npos;
    spec.isNullable = rest.find('?') != std::string_view::npos;
  }
  return spec;
}

void parseInputs(OpInfo &info, std::string_view text) {
  if (text.empty())
    return;
  for (std::string input : split(text, ' ')) {
    if (input.ends_with("...")) {
      info.isVariadic = true;
      input.resize(input.size() - 3);
    } else if (input.ends_with("?")) {
      input.pop_back();
    } else {
      ++info.minInputs;
    }
    info.inputs.push_back(std::move(input));
  }
}

constexpr std::array<std::string_view, numOpTraits> traitNames = {
    "annotation", "arithmetic", "bracket",  "commutative", "costly",     "device", "dynamic",
    "idempotent", "involution", "movement", "norm",        "saturating", "view"};

std::bitset<numOpTraits> parseTraits(std::string_view text) {
  std::bitset<numOpTraits> traits;
  if (!text.empty())
    for (const std::string &word : split(text, ' ')) {
      auto found = std::ranges::find(traitNames, word);
      BYCC_ASSERT(found != traitNames.end(), "Ops.def: unknown trait " + word);
      traits.set(static_cast<size_t>(found - traitNames.begin()));
    }
  return traits;
}

OpInfo makeInfo(std::string_view name, std::string_view inputs, std::string_view attrs,
                Expected<TypeId> (*rule)(InferContext &), OpKind kind,
                double (*flops)(const Module &, NodeId), std::string_view traits = {}) {
  OpInfo info;
  info.name = name;
  parseInputs(info, inputs);
  if (!attrs.empty())
    for (const std::string &attr : split(attrs, ';'))
      info.attrs.push_back(parseAttr(attr));
  info.inferType = rule;
  info.kind = kind;
  info.flops = flops;
  info.traits = parseTraits(traits);
  return info;
}

struct Table {
  std::vector<OpInfo> rows;
  std::unordered_map<std::string_view, uint32_t> byName;

  Table() {
#define BYCC_OP(id, name, inputs, attrs, rule, kind, count, ...)                                   \
  rows.push_back(makeInfo(name, inputs, attrs, shape::rule, OpKind::kind,                          \
                          flops::count __VA_OPT__(, ) __VA_ARGS__));
#include "bycc/IR/Ops.def"
#undef BYCC_OP
    for (uint32_t i = 0; i < rows.size(); ++i)
      BYCC_ASSERT(byName.emplace(rows[i].name, i).second, "Ops.def: an operator has one row");
  }
};

const Table &table() {
  static const Table instance;
  return instance;
}

} // namespace

const AttrSpec *OpInfo::findAttr(std::string_view name) const {
  for (const AttrSpec &spec : attrs)
    if (spec.name == name)
      return &spec;
  return nullptr;
}

const OpInfo &opInfo(OpId op) { return table().rows[op.index]; }

OpId findOp(std::string_view name) {
  const Table &t = table();
  auto it = t.byName.find(name);
  return it == t.byName.end() ? OpId() : OpId(it->second);
}

bool isCallWith(const Module &module, NodeId node, OpTrait trait) {
  return module.node(node).kind == NodeKind::CallOp && opInfo(module.node(node).op).has(trait);
}

std::string_view name(OpTrait trait) { return traitNames[static_cast<size_t>(trait)]; }

uint32_t numOps() { return static_cast<uint32_t>(table().rows.size()); }

std::vector<std::string> allOpNames() {
  std::vector<std::string> names;
  for (const OpInfo &info : table().rows)
    names.emplace_back(info.name);
  std::ranges::sort(names);
  return names;
}

namespace attrs {
namespace {

const AttrValue &value(const Module &module, NodeId call, std::string_view key) {
  const AttrValue *found = module.attr(call, key);
  BYCC_ASSERT(found, "the operator has the attribute " + std::string(key));
  return *found;
}

} // namespace

bool isNone(const Module &module, NodeId call, std::string_view key) {
  return value(module, call, key).isNone();
}

bool boolean(const Module &module, NodeId call, std::string_view key) {
  return value(module, call, key).asBool();
}

int64_t integer(const Module &module, NodeId call, std::string_view key) {
  return value(module, call, key).asInt();
}

double number(const Module &module, NodeId call, std::string_view key) {
  const AttrValue &found = value(module, call, key);
  return found.isInt() ? static_cast<double>(found.asInt()) : found.asFloat();
}

std::string_view text(const Module &module, NodeId call, std::string_view key) {
  return value(module, call, key).asString();
}

std::vector<int64_t> integers(const Module &module, NodeId call, std::string_view key) {
  const AttrValue &found = value(module, call, key);
  if (found.isInt())
    return {found.asInt()};
  std::vector<int64_t> result;
  if (found.isNone())
    return result;
  result.reserve(found.asList().size());
  for (const AttrValue &item : found.asList())
    result.push_back(item.asInt());
  return result;
}

std::vector<std::pair<int64_t, int64_t>> pairs(const Module &module, NodeId call,
                                               std::string_view key) {
  std::vector<std::pair<int64_t, int64_t>> result;
  for (const AttrValue &item : value(module, call, key).asList())
    result.emplace_back(item.asList()[0].asInt(), item.asList()[1].asInt());
  return result;
}

size_t axis(const Module &module, NodeId call, std::string_view key, size_t rank) {
  int64_t axis = integer(module, call, key);
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

Padding padding(const Module &module, NodeId call, size_t rank) {
  std::optional<Padding> full = expandPadding(integers(module, call, "padding"), rank);
  BYCC_ASSERT(full, "padding has 1, n or 2 n values");
  return std::move(*full);
}

std::vector<int64_t> perAxis(std::vector<int64_t> values, size_t rank) {
  if (values.size() == 1)
    values.resize(rank, values[0]);
  return values;
}

std::vector<int64_t> perAxis(const Module &module, NodeId call, std::string_view key, size_t rank) {
  std::vector<int64_t> values = integers(module, call, key);
  return values.empty() ? std::vector<int64_t>(rank, 1) : perAxis(std::move(values), rank);
}

} // namespace attrs

size_t InferContext::numInputs() const { return module_.operands(call_).size(); }
NodeId InferContext::inputNode(size_t index) const { return module_.operands(call_)[index]; }
TypeId InferContext::input(size_t index) const { return module_.type(inputNode(index)); }

bool InferContext::boolean(std::string_view key) const {
  return attrs::boolean(module_, call_, key);
}
int64_t InferContext::integer(std::string_view key) const {
  return attrs::integer(module_, call_, key);
}
double InferContext::number(std::string_view key) const {
  return attrs::number(module_, call_, key);
}
std::string_view InferContext::text(std::string_view key) const {
  return attrs::text(module_, call_, key);
}
std::vector<int64_t> InferContext::integers(std::string_view key) const {
  return attrs::integers(module_, call_, key);
}
bool InferContext::isNone(std::string_view key) const { return attrs::isNone(module_, call_, key); }

ErrorBuilder InferContext::error() const { return error(Status::Input); }

ErrorBuilder InferContext::error(Status status) const {
  return bycc::error(status, module_.source(call_))
             .as(status == Status::Limit   ? MessageId::TooLarge
                 : status == Status::Input ? MessageId::DoesNotFit
                                           : MessageId{})
         << opInfo(module_.node(call_).op).name << ": ";
}

} // namespace bycc
