// Protobuf wire format -> onnx::Model. Each message has one function with a
// switch over its field numbers; `Reader` does the wire format and its checks.
#include "OnnxModel.h"

#include "bycc/Support/Text.h"

#include <bit>
#include <cstring>

namespace bycc::onnx {
namespace {

constexpr uint32_t maxDepth = 64;
constexpr size_t maxNameBytes = 4096;
constexpr size_t maxRank = 32;
constexpr size_t maxNodes = 16'000'000;

enum Wire : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct Field {
  uint32_t number = 0;
  Wire wire = Varint;
  uint64_t value = 0;     // Varint, Fixed32, Fixed64
  std::string_view bytes; // Bytes
  const char *start = nullptr;
};

// The fields of one message. Knows where it stands in the file and how deep.
class Reader {
public:
  Reader(std::string_view bytes, const char *message, const std::string &file, const char *base,
         uint32_t depth)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), message_(message), file_(file),
        base_(base), depth_(depth) {}

  ErrorBuilder fault(Status status, const char *at) const {
    return error(status, {file_}) << "byte " << (at - base_) << ": " << message_ << ": ";
  }
  ErrorBuilder fault(const Field &field) const { return fault(Status::Input, field.start); }

  // False at the end of the message.
  Expected<bool> next(Field &field) {
    if (at_ == end_)
      return false;
    field.start = at_;
    uint64_t tag = BYCC_TRY(varint());
    if (tag >> 32 || (tag >> 3) == 0)
      return fault(field) << "field number " << (tag >> 3) << " is not legal";
    field.number = static_cast<uint32_t>(tag >> 3);
    field.wire = static_cast<Wire>(tag & 7);
    switch (field.wire) {
    case Varint: field.value = BYCC_TRY(varint()); return true;
    case Fixed32: return fixed(field, 4);
    case Fixed64: return fixed(field, 8);
    case Bytes: return sized(field);
    }
    return fault(field) << "wire type " << static_cast<int>(field.wire)
                        << " (a group or not legal) in field " << field.number;
  }

  // A field that may come once.
  Expected<> once(const Field &field) {
    uint64_t bit = uint64_t{1} << (field.number & 63);
    if (seen_ & bit)
      return fault(field) << "field " << field.number << " comes twice";
    seen_ |= bit;
    return {};
  }
  Expected<> expect(const Field &field, Wire wire) const {
    if (field.wire == wire)
      return {};
    return fault(field) << "field " << field.number << " has wire type "
                        << static_cast<int>(field.wire) << ", wanted " << static_cast<int>(wire);
  }
  Expected<int64_t> integer(const Field &field) {
    BYCC_TRY(expect(field, Varint));
    BYCC_TRY(once(field));
    return static_cast<int64_t>(field.value);
  }
  Expected<int32_t> integer32(const Field &field) {
    int64_t value = BYCC_TRY(integer(field));
    if (value != static_cast<int32_t>(value))
      return fault(field) << "field " << field.number << " is " << value << ", not a 32-bit number";
    return static_cast<int32_t>(value);
  }
  Expected<std::string_view> bytes(const Field &field) {
    BYCC_TRY(expect(field, Bytes));
    BYCC_TRY(once(field));
    return field.bytes;
  }
  // A name: UTF-8 of at most 4096 bytes; may be repeated.
  Expected<std::string_view> nameItem(const Field &field) const {
    BYCC_TRY(expect(field, Bytes));
    if (field.bytes.size() > maxNameBytes)
      return fault(Status::Limit, field.start)
             << "a name of " << field.bytes.size() << " bytes, the limit is " << maxNameBytes;
    if (!isValidUtf8(field.bytes) || field.bytes.find('\0') != std::string_view::npos)
      return fault(field) << "a name that is not UTF-8 text";
    return field.bytes;
  }
  Expected<std::string_view> name(const Field &field) {
    BYCC_TRY(once(field));
    return nameItem(field);
  }
  Expected<Reader> message(const Field &field, const char *what) const {
    BYCC_TRY(expect(field, Bytes));
    if (depth_ + 1 > maxDepth)
      return fault(Status::Limit, field.start)
             << "messages nest deeper than " << maxDepth;
    return Reader(field.bytes, what, file_, base_, depth_ + 1);
  }
  Expected<Reader> messageOnce(const Field &field, const char *what) {
    BYCC_TRY(once(field));
    return message(field, what);
  }
  Error unknown(const Field &field) const {
    return fault(Status::Unsup, field.start) << "unknown field " << field.number;
  }

  // Repeated scalars, packed or not.
  Expected<> varints(const Field &field, std::vector<int64_t> &out) const {
    if (field.wire == Varint) {
      out.push_back(static_cast<int64_t>(field.value));
      return {};
    }
    BYCC_TRY(expect(field, Bytes));
    Reader items(field.bytes, message_, file_, base_, depth_);
    while (items.at_ != items.end_)
      out.push_back(static_cast<int64_t>(BYCC_TRY(items.varint())));
    return {};
  }
  template <typename T> Expected<> fixedItems(const Field &field, std::vector<T> &out) const {
    constexpr Wire wire = sizeof(T) == 4 ? Fixed32 : Fixed64;
    if (field.wire == wire) {
      T value;
      std::memcpy(&value, &field.value, sizeof value); // little endian
      out.push_back(value);
      return {};
    }
    BYCC_TRY(expect(field, Bytes));
    if (field.bytes.size() % sizeof(T) != 0)
      return fault(field) << "field " << field.number << " has " << field.bytes.size()
                          << " bytes, not a multiple of " << sizeof(T);
    size_t old = out.size();
    out.resize(old + field.bytes.size() / sizeof(T));
    if (!field.bytes.empty())
      std::memcpy(out.data() + old, field.bytes.data(), field.bytes.size());
    return {};
  }

private:
  Expected<uint64_t> varint() {
    const char *start = at_;
    uint64_t value = 0;
    for (int shift = 0; at_ != end_; shift += 7) {
      uint64_t byte = static_cast<uint8_t>(*at_++);
      if (shift == 63 && byte > 1)
        return fault(Status::Input, start) << "a number of more than 64 bits";
      value |= (byte & 127) << shift;
      if (byte < 128)
        return value;
    }
    return fault(Status::Input, start) << "the message ends inside a number";
  }
  Expected<bool> fixed(Field &field, size_t size) {
    if (static_cast<size_t>(end_ - at_) < size)
      return fault(field) << "the message ends inside field " << field.number;
    field.value = 0;
    std::memcpy(&field.value, at_, size);
    at_ += size;
    return true;
  }
  Expected<bool> sized(Field &field) {
    uint64_t size = BYCC_TRY(varint());
    if (size > static_cast<uint64_t>(end_ - at_))
      return fault(field) << "field " << field.number << " has length " << size << ", only "
                          << (end_ - at_) << " bytes are left";
    field.bytes = {at_, static_cast<size_t>(size)};
    at_ += size;
    return true;
  }

  const char *at_, *end_;
  const char *message_;
  const std::string &file_;
  const char *base_;
  uint32_t depth_;
  uint64_t seen_ = 0;
};

// Appends `values` to a tensor's typed data as bytes.
template <typename T> void appendBytes(std::vector<uint8_t> &out, const std::vector<T> &values) {
  size_t old = out.size(), size = values.size() * sizeof(T);
  out.resize(old + size);
  if (size > 0)
    std::memcpy(out.data() + old, values.data(), size);
}

Expected<> decodeTypedData(Reader &reader, const Field &field, Tensor &tensor) {
  if (tensor.typedField != 0 && tensor.typedField != static_cast<int32_t>(field.number))
    return reader.fault(field) << "two data fields, " << tensor.typedField << " and "
                               << field.number;
  tensor.typedField = static_cast<int32_t>(field.number);
  if (field.number == 4) {
    std::vector<float> values;
    BYCC_TRY(reader.fixedItems(field, values));
    appendBytes(tensor.typed, values);
  } else if (field.number == 10) {
    std::vector<double> values;
    BYCC_TRY(reader.fixedItems(field, values));
    appendBytes(tensor.typed, values);
  } else {
    std::vector<int64_t> values;
    BYCC_TRY(reader.varints(field, values));
    appendBytes(tensor.typed, values);
  }
  return {};
}

Expected<> decodeEntry(Reader reader, std::pair<std::string_view, std::string_view> &entry) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1: entry.first = BYCC_TRY(reader.bytes(field)); break;
    case 2: entry.second = BYCC_TRY(reader.bytes(field)); break;
    default: return reader.unknown(field);
    }
  return {};
}

Expected<> decodeTensor(Reader reader, Tensor &tensor) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1: BYCC_TRY(reader.varints(field, tensor.dims)); break;
    case 2: tensor.elemType = BYCC_TRY(reader.integer32(field)); break;
    case 3: return reader.fault(Status::Unsup, field.start) << "tensor segments are not supported";
    case 4: case 5: case 7: case 10: case 11:
      BYCC_TRY(decodeTypedData(reader, field, tensor));
      break;
    case 6: tensor.typedField = 6; break; // strings: refused by type later
    case 8: tensor.name = BYCC_TRY(reader.name(field)); break;
    case 9: tensor.raw = BYCC_TRY(reader.bytes(field)); break;
    case 12: BYCC_TRY(reader.bytes(field)); break;
    case 13:
      tensor.externalData.emplace_back();
      BYCC_TRY(decodeEntry(BYCC_TRY(reader.message(field, "StringStringEntryProto")),
                           tensor.externalData.back()));
      break;
    case 14: {
      int32_t place = BYCC_TRY(reader.integer32(field));
      if (place != 0 && place != 1)
        return reader.fault(field) << "data_location " << place << " is not legal";
      tensor.isExternal = place == 1;
      break;
    }
    case 16: BYCC_TRY(reader.expect(field, Bytes)); break; // metadata_props
    default: return reader.unknown(field);
    }
  if (tensor.dims.size() > maxRank)
    return reader.fault(Status::Limit, field.start)
           << "rank " << tensor.dims.size() << ", the limit is " << maxRank;
  return {};
}

Expected<> decodeGraph(Reader reader, Graph &graph);

Expected<> decodeAttribute(Reader reader, Attribute &attribute) {
  Field field;
  std::vector<uint32_t> present;
  while (BYCC_TRY(reader.next(field))) {
    if (field.number != 1 && field.number != 13 && field.number != 20 &&
        (present.empty() || present.back() != field.number))
      present.push_back(field.number);
    switch (field.number) {
    case 1: attribute.name = BYCC_TRY(reader.name(field)); break;
    case 2: {
      BYCC_TRY(reader.expect(field, Fixed32));
      BYCC_TRY(reader.once(field));
      attribute.f = std::bit_cast<float>(static_cast<uint32_t>(field.value));
      break;
    }
    case 3: attribute.i = BYCC_TRY(reader.integer(field)); break;
    case 4: attribute.s = BYCC_TRY(reader.bytes(field)); break;
    case 5:
      attribute.tensor = std::make_unique<Tensor>();
      BYCC_TRY(decodeTensor(BYCC_TRY(reader.messageOnce(field, "TensorProto")), *attribute.tensor));
      break;
    case 6:
      attribute.graph = std::make_unique<Graph>();
      BYCC_TRY(decodeGraph(BYCC_TRY(reader.messageOnce(field, "GraphProto")), *attribute.graph));
      break;
    case 7: BYCC_TRY(reader.fixedItems(field, attribute.floats)); break;
    case 8: BYCC_TRY(reader.varints(field, attribute.ints)); break;
    case 9:
      BYCC_TRY(reader.expect(field, Bytes));
      attribute.strings.push_back(field.bytes);
      break;
    case 13: BYCC_TRY(reader.bytes(field)); break;
    case 20:
      attribute.kind = static_cast<AttrKind>(BYCC_TRY(reader.integer32(field)));
      break;
    case 21: return reader.fault(field) << "ref_attr_name outside of a function";
    case 10: case 11: case 14: case 15: case 22: case 23:
      return reader.fault(Status::Unsup, field.start)
             << "attribute '" << escaped(attribute.name) << "': values of field " << field.number
             << " are not supported";
    default: return reader.unknown(field);
    }
  }
  // What each kind of attribute may carry; kind 0 is guessed from the field.
  static constexpr std::pair<AttrKind, uint32_t> fields[] = {
      {AttrKind::Float, 2}, {AttrKind::Int, 3},  {AttrKind::String, 4}, {AttrKind::Tensor, 5},
      {AttrKind::Graph, 6}, {AttrKind::Floats, 7}, {AttrKind::Ints, 8}, {AttrKind::Strings, 9}};
  if (attribute.name.empty())
    return reader.fault(field) << "an attribute without a name";
  for (auto [kind, number] : fields) {
    if (attribute.kind == AttrKind::Undefined && present.size() == 1 && present[0] == number)
      attribute.kind = kind;
    if (attribute.kind != kind)
      continue;
    for (uint32_t other : present)
      if (other != number)
        return reader.fault(field) << "attribute '" << escaped(attribute.name) << "' of type "
                                   << static_cast<int>(kind) << " has a value in field " << other;
    if (kind == AttrKind::Tensor && !attribute.tensor)
      return reader.fault(field) << "attribute '" << escaped(attribute.name) << "' has no tensor";
    if (kind == AttrKind::Graph && !attribute.graph)
      return reader.fault(field) << "attribute '" << escaped(attribute.name) << "' has no graph";
    return {};
  }
  return reader.fault(field) << "attribute '" << escaped(attribute.name) << "' has type "
                             << static_cast<int>(attribute.kind) << " and "
                             << present.size() << " values";
}

Expected<> decodeNode(Reader reader, Node &node) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1: node.inputs.push_back(BYCC_TRY(reader.nameItem(field))); break;
    case 2: node.outputs.push_back(BYCC_TRY(reader.nameItem(field))); break;
    case 3: node.name = BYCC_TRY(reader.name(field)); break;
    case 4: node.opType = BYCC_TRY(reader.name(field)); break;
    case 5:
      node.attributes.emplace_back();
      BYCC_TRY(decodeAttribute(BYCC_TRY(reader.message(field, "AttributeProto")),
                               node.attributes.back()));
      break;
    case 6: BYCC_TRY(reader.bytes(field)); break;
    case 7: node.domain = BYCC_TRY(reader.name(field)); break;
    case 8: // overload
      if (!BYCC_TRY(reader.bytes(field)).empty())
        return reader.unknown(field);
      break;
    case 9: BYCC_TRY(reader.expect(field, Bytes)); break; // metadata_props
    default: return reader.unknown(field);
    }
  if (node.opType.empty())
    return reader.fault(field) << "a node without an operator type";
  return {};
}

Expected<> decodeDim(Reader reader, DimSpec &dim) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1: dim.value = BYCC_TRY(reader.integer(field)); break;
    case 2: dim.param = BYCC_TRY(reader.name(field)); break;
    case 3: BYCC_TRY(reader.bytes(field)); break;
    default: return reader.unknown(field);
    }
  if (dim.value && !dim.param.empty())
    return reader.fault(field) << "a dimension with both a value and a name";
  return {};
}

Expected<> decodeShape(Reader reader, ValueInfo &info) {
  Field field;
  while (BYCC_TRY(reader.next(field))) {
    if (field.number != 1)
      return reader.unknown(field);
    if (info.dims.size() == maxRank)
      return reader.fault(Status::Limit, field.start) << "rank above " << maxRank;
    info.dims.emplace_back();
    BYCC_TRY(decodeDim(BYCC_TRY(reader.message(field, "Dimension")), info.dims.back()));
  }
  return {};
}

Expected<> decodeTensorType(Reader reader, ValueInfo &info) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1: info.elemType = BYCC_TRY(reader.integer32(field)); break;
    case 2:
      info.hasShape = true;
      BYCC_TRY(decodeShape(BYCC_TRY(reader.messageOnce(field, "TensorShapeProto")), info));
      break;
    default: return reader.unknown(field);
    }
  return {};
}

Expected<> decodeType(Reader reader, ValueInfo &info) {
  Field field;
  info.hasType = true;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1:
      info.isTensor = true;
      BYCC_TRY(decodeTensorType(BYCC_TRY(reader.messageOnce(field, "TypeProto.Tensor")), info));
      break;
    case 4: case 5: case 8: case 9: break; // sequence, map, sparse, optional: no tensor
    case 6: BYCC_TRY(reader.bytes(field)); break;
    default: return reader.unknown(field);
    }
  return {};
}

Expected<> decodeValueInfo(Reader reader, ValueInfo &info) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1: info.name = BYCC_TRY(reader.name(field)); break;
    case 2: BYCC_TRY(decodeType(BYCC_TRY(reader.messageOnce(field, "TypeProto")), info)); break;
    case 3: BYCC_TRY(reader.bytes(field)); break;
    case 4: BYCC_TRY(reader.expect(field, Bytes)); break; // metadata_props
    default: return reader.unknown(field);
    }
  if (info.name.empty())
    return reader.fault(field) << "a value without a name";
  return {};
}

Expected<> decodeGraph(Reader reader, Graph &graph) {
  Field field;
  auto valueInfo = [&](std::vector<ValueInfo> &list) -> Expected<> {
    list.emplace_back();
    return decodeValueInfo(BYCC_TRY(reader.message(field, "ValueInfoProto")), list.back());
  };
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1:
      if (graph.nodes.size() == maxNodes)
        return reader.fault(Status::Limit, field.start) << "more than " << maxNodes << " nodes";
      graph.nodes.emplace_back();
      BYCC_TRY(decodeNode(BYCC_TRY(reader.message(field, "NodeProto")), graph.nodes.back()));
      break;
    case 2: graph.name = BYCC_TRY(reader.name(field)); break;
    case 5:
      graph.initializers.emplace_back();
      BYCC_TRY(decodeTensor(BYCC_TRY(reader.message(field, "TensorProto")),
                            graph.initializers.back()));
      break;
    case 10: BYCC_TRY(reader.bytes(field)); break;
    case 11: BYCC_TRY(valueInfo(graph.inputs)); break;
    case 12: BYCC_TRY(valueInfo(graph.outputs)); break;
    case 13: BYCC_TRY(valueInfo(graph.valueInfos)); break;
    case 14: case 16: BYCC_TRY(reader.expect(field, Bytes)); break; // annotations, metadata
    case 15: graph.hasSparseInitializers = true; break;
    default: return reader.unknown(field);
    }
  return {};
}

Expected<> decodeOpset(Reader reader, OpsetImport &opset) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1: opset.domain = BYCC_TRY(reader.name(field)); break;
    case 2: opset.version = BYCC_TRY(reader.integer(field)); break;
    default: return reader.unknown(field);
    }
  return {};
}

// Only domain and name: enough to say which call is not supported.
Expected<> decodeFunction(Reader reader, std::pair<std::string_view, std::string_view> &function) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1: function.second = BYCC_TRY(reader.name(field)); break;
    case 10: function.first = BYCC_TRY(reader.name(field)); break;
    default: break;
    }
  return {};
}

} // namespace

Expected<Model> decodeModel(std::string_view bytes, const std::string &file) {
  Model model;
  Reader reader(bytes, "ModelProto", file, bytes.data(), 1);
  Field field;
  bool hasGraph = false;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1: model.irVersion = BYCC_TRY(reader.integer(field)); break;
    case 2: case 3: case 4: case 6: BYCC_TRY(reader.bytes(field)); break;
    case 5: BYCC_TRY(reader.integer(field)); break;
    case 7:
      hasGraph = true;
      BYCC_TRY(decodeGraph(BYCC_TRY(reader.messageOnce(field, "GraphProto")), model.graph));
      break;
    case 8:
      model.opsets.emplace_back();
      BYCC_TRY(decodeOpset(BYCC_TRY(reader.message(field, "OperatorSetIdProto")),
                           model.opsets.back()));
      break;
    case 14: case 20: BYCC_TRY(reader.expect(field, Bytes)); break; // metadata, training
    case 25:
      model.functions.emplace_back();
      BYCC_TRY(decodeFunction(BYCC_TRY(reader.message(field, "FunctionProto")),
                              model.functions.back()));
      break;
    case 26: BYCC_TRY(reader.expect(field, Bytes)); break; // device configuration
    default:
      return reader.fault(field) << "field " << field.number
                                 << " is not one of a model: damaged, or bytes after the model";
    }
  if (!hasGraph)
    return error(Status::Input, {file}) << "no ONNX model: there is no graph in it";
  if (model.irVersion <= 0)
    return error(Status::Input, {file}) << "ir_version " << model.irVersion << " is not legal";
  return model;
}

} // namespace bycc::onnx
