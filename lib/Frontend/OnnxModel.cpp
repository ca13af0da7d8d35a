// Protobuf wire format -> onnx::Model. Each message has one function with a
// switch over its field numbers; `Reader` does the wire format and its checks.
#include "OnnxModel.h"

#include "OnnxWire.h"
#include "bycc/IR/Functions.h"
#include "bycc/Support/Messages.h"

#include <bit>

namespace bycc::onnx {
namespace {

constexpr size_t maxRank = 32;
constexpr size_t maxNodes = 16'000'000;

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
    case 1:
      entry.first = BYCC_TRY(reader.bytes(field));
      break;
    case 2:
      entry.second = BYCC_TRY(reader.bytes(field));
      break;
    default:
      return reader.unknown(field);
    }
  return {};
}

Expected<> decodeTensor(Reader reader, Tensor &tensor) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1:
      BYCC_TRY(reader.varints(field, tensor.dims));
      break;
    case 2:
      tensor.elemType = BYCC_TRY(reader.integer32(field));
      break;
    case 3:
      return reader.fault(Status::Unsup, field.start) << "tensor segments are not supported";
    case 4:
    case 5:
    case 7:
    case 10:
    case 11:
      BYCC_TRY(decodeTypedData(reader, field, tensor));
      break;
    case 6:
      tensor.typedField = 6;
      break; // strings: refused by type later
    case 8:
      tensor.name = BYCC_TRY(reader.name(field));
      break;
    case 9:
      tensor.raw = BYCC_TRY(reader.bytes(field));
      break;
    case 12:
      BYCC_TRY(reader.bytes(field));
      break;
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
    case 16:
      BYCC_TRY(reader.expect(field, Bytes));
      break; // metadata_props
    default:
      return reader.unknown(field);
    }
  if (tensor.dims.size() > maxRank)
    return reader.fault(Status::Limit, field.start)
           << "rank " << tensor.dims.size() << ", the limit is " << maxRank;
  return {};
}

Expected<> decodeSparse(Reader reader, SparseTensor &sparse) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1:
      BYCC_TRY(decodeTensor(BYCC_TRY(reader.messageOnce(field, "TensorProto")), sparse.values));
      break;
    case 2:
      BYCC_TRY(decodeTensor(BYCC_TRY(reader.messageOnce(field, "TensorProto")), sparse.indices));
      break;
    case 3:
      BYCC_TRY(reader.varints(field, sparse.dims));
      break;
    default:
      return reader.unknown(field);
    }
  if (sparse.dims.size() > maxRank)
    return reader.fault(Status::Limit, field.start)
           << "rank " << sparse.dims.size() << ", the limit is " << maxRank;
  return {};
}

Expected<> decodeGraph(Reader reader, Graph &graph);

// Of an attribute whose fields `present` have been read, up to `field`: kind 0 is guessed.
Expected<> checkKind(Reader &reader, const Field &field, const std::vector<uint32_t> &present,
                     Attribute &attribute) {
  // What each kind may carry.
  static constexpr std::pair<AttrKind, uint32_t> fields[] = {
      {AttrKind::Float, 2},  {AttrKind::Int, 3},     {AttrKind::String, 4},
      {AttrKind::Tensor, 5}, {AttrKind::Graph, 6},   {AttrKind::Floats, 7},
      {AttrKind::Ints, 8},   {AttrKind::Strings, 9}, {AttrKind::SparseTensor, 22}};
  if (attribute.name.empty())
    return reader.fault(field) << "an attribute without a name";
  if (!attribute.refName.empty()) {
    if (present.empty())
      return {};
    return reader.fault(field) << "attribute '" << escaped(attribute.name)
                               << "' has a value and refers to '" << escaped(attribute.refName)
                               << "'";
  }
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
    if (kind == AttrKind::SparseTensor && !attribute.sparse)
      return reader.fault(field) << "attribute '" << escaped(attribute.name)
                                 << "' has no sparse tensor";
    return {};
  }
  return reader.fault(field) << "attribute '" << escaped(attribute.name) << "' has type "
                             << static_cast<int>(attribute.kind) << " and " << present.size()
                             << " values";
}

Expected<> decodeAttribute(Reader reader, Attribute &attribute) {
  Field field;
  std::vector<uint32_t> present;
  while (BYCC_TRY(reader.next(field))) {
    if (field.number != 1 && field.number != 13 && field.number != 20 && field.number != 21 &&
        (present.empty() || present.back() != field.number))
      present.push_back(field.number);
    switch (field.number) {
    case 1:
      attribute.name = BYCC_TRY(reader.name(field));
      break;
    case 2: {
      BYCC_TRY(reader.expect(field, Fixed32));
      BYCC_TRY(reader.once(field));
      attribute.f = std::bit_cast<float>(static_cast<uint32_t>(field.value));
      break;
    }
    case 3:
      attribute.i = BYCC_TRY(reader.integer(field));
      break;
    case 4:
      attribute.s = BYCC_TRY(reader.bytes(field));
      break;
    case 5:
      attribute.tensor = std::make_shared<Tensor>();
      BYCC_TRY(decodeTensor(BYCC_TRY(reader.messageOnce(field, "TensorProto")), *attribute.tensor));
      break;
    case 6:
      attribute.graph = std::make_shared<Graph>();
      BYCC_TRY(decodeGraph(BYCC_TRY(reader.messageOnce(field, "GraphProto")), *attribute.graph));
      break;
    case 7:
      BYCC_TRY(reader.fixedItems(field, attribute.floats));
      break;
    case 8:
      BYCC_TRY(reader.varints(field, attribute.ints));
      break;
    case 9:
      BYCC_TRY(reader.expect(field, Bytes));
      attribute.strings.push_back(field.bytes);
      break;
    case 13:
      BYCC_TRY(reader.bytes(field));
      break;
    case 20:
      attribute.kind = static_cast<AttrKind>(BYCC_TRY(reader.integer32(field)));
      break;
    case 21:
      attribute.refName = BYCC_TRY(reader.name(field));
      break;
    case 22:
      attribute.sparse = std::make_shared<SparseTensor>();
      BYCC_TRY(decodeSparse(BYCC_TRY(reader.messageOnce(field, "SparseTensorProto")),
                            *attribute.sparse));
      break;
    case 10:
    case 11:
    case 14:
    case 15:
    case 23:
      return reader.fault(Status::Unsup, field.start)
             << "attribute '" << escaped(attribute.name) << "': values of field " << field.number
             << " are not supported";
    default:
      return reader.unknown(field);
    }
  }
  return checkKind(reader, field, present, attribute);
}

Expected<> decodeNode(Reader reader, Node &node) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1:
      node.inputs.push_back(BYCC_TRY(reader.nameItem(field)));
      break;
    case 2:
      node.outputs.push_back(BYCC_TRY(reader.nameItem(field)));
      break;
    case 3:
      node.name = BYCC_TRY(reader.name(field));
      break;
    case 4:
      node.opType = BYCC_TRY(reader.name(field));
      break;
    case 5:
      node.attributes.emplace_back();
      BYCC_TRY(decodeAttribute(BYCC_TRY(reader.message(field, "AttributeProto")),
                               node.attributes.back()));
      break;
    case 6:
      BYCC_TRY(reader.bytes(field));
      break;
    case 7:
      node.domain = BYCC_TRY(reader.name(field));
      break;
    case 8:
      node.overload = BYCC_TRY(reader.name(field));
      break;
    case 9:
    case 10:
      BYCC_TRY(reader.expect(field, Bytes));
      break; // metadata, device configurations
    default:
      return reader.unknown(field);
    }
  if (node.opType.empty())
    return reader.fault(field) << "a node without an operator type";
  return {};
}

Expected<> decodeDim(Reader reader, DimSpec &dim) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1:
      dim.value = BYCC_TRY(reader.integer(field));
      break;
    case 2:
      dim.param = BYCC_TRY(reader.name(field));
      break;
    case 3:
      BYCC_TRY(reader.bytes(field));
      break;
    default:
      return reader.unknown(field);
    }
  if (dim.value && !dim.param.empty())
    return reader.fault(field) << "a dimension with both a value and a name";
  if (dim.param == "?") // of paddle2onnx: several of these are not one extent
    dim.param = {};
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
    case 1:
      info.elemType = BYCC_TRY(reader.integer32(field));
      break;
    case 2:
      info.hasShape = true;
      BYCC_TRY(decodeShape(BYCC_TRY(reader.messageOnce(field, "TensorShapeProto")), info));
      break;
    default:
      return reader.unknown(field);
    }
  return {};
}

Expected<> decodeType(Reader reader, ValueInfo &info);

// A sequence, a map or an optional: none of them is a tensor, but types nest in
// them, and how deep is held to the limit. `number` is the field with the type.
Expected<> checkInnerType(Reader reader, uint32_t number) {
  Field field;
  ValueInfo ignored;
  while (BYCC_TRY(reader.next(field)))
    if (field.number == number)
      BYCC_TRY(decodeType(BYCC_TRY(reader.message(field, "TypeProto")), ignored));
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
    case 4:
      BYCC_TRY(checkInnerType(BYCC_TRY(reader.message(field, "TypeProto.Sequence")), 1));
      break;
    case 5:
      BYCC_TRY(checkInnerType(BYCC_TRY(reader.message(field, "TypeProto.Map")), 2));
      break;
    case 8:
      break; // a sparse tensor
    case 9:
      BYCC_TRY(checkInnerType(BYCC_TRY(reader.message(field, "TypeProto.Optional")), 1));
      break;
    case 6:
      BYCC_TRY(reader.bytes(field));
      break;
    default:
      return reader.unknown(field);
    }
  return {};
}

Expected<> decodeValueInfo(Reader reader, ValueInfo &info) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1:
      info.name = BYCC_TRY(reader.name(field));
      break;
    case 2:
      BYCC_TRY(decodeType(BYCC_TRY(reader.messageOnce(field, "TypeProto")), info));
      break;
    case 3:
      BYCC_TRY(reader.bytes(field));
      break;
    case 4:
      BYCC_TRY(reader.expect(field, Bytes));
      break; // metadata_props
    default:
      return reader.unknown(field);
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
      graph.nodes.emplace_back().index = graph.nodes.size();
      BYCC_TRY(decodeNode(BYCC_TRY(reader.message(field, "NodeProto")), graph.nodes.back()));
      break;
    case 2:
      graph.name = BYCC_TRY(reader.name(field));
      break;
    case 5:
      graph.initializers.emplace_back();
      BYCC_TRY(
          decodeTensor(BYCC_TRY(reader.message(field, "TensorProto")), graph.initializers.back()));
      break;
    case 10:
      BYCC_TRY(reader.bytes(field));
      break;
    case 11:
      BYCC_TRY(valueInfo(graph.inputs));
      break;
    case 12:
      BYCC_TRY(valueInfo(graph.outputs));
      break;
    case 13:
      BYCC_TRY(valueInfo(graph.valueInfos));
      break;
    case 14:
    case 16:
      BYCC_TRY(reader.expect(field, Bytes));
      break; // annotations, metadata
    case 15:
      graph.sparseInitializers.emplace_back();
      BYCC_TRY(decodeSparse(BYCC_TRY(reader.message(field, "SparseTensorProto")),
                            graph.sparseInitializers.back()));
      break;
    default:
      return reader.unknown(field);
    }
  return {};
}

Expected<> decodeOpset(Reader reader, OpsetImport &opset) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1:
      opset.domain = BYCC_TRY(reader.name(field));
      break;
    case 2:
      opset.version = BYCC_TRY(reader.integer(field));
      break;
    default:
      return reader.unknown(field);
    }
  return {};
}

Expected<> decodeFunction(Reader reader, Function &function) {
  Field field;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1:
      function.name = BYCC_TRY(reader.name(field));
      break;
    case 4:
      function.inputs.push_back(BYCC_TRY(reader.nameItem(field)));
      break;
    case 5:
      function.outputs.push_back(BYCC_TRY(reader.nameItem(field)));
      break;
    case 6:
      function.attributes.push_back(BYCC_TRY(reader.nameItem(field)));
      break;
    case 7:
      if (function.body.nodes.size() == maxNodes)
        return reader.fault(Status::Limit, field.start) << "more than " << maxNodes << " nodes";
      function.body.nodes.emplace_back().index = function.body.nodes.size();
      BYCC_TRY(
          decodeNode(BYCC_TRY(reader.message(field, "NodeProto")), function.body.nodes.back()));
      break;
    case 8:
      BYCC_TRY(reader.bytes(field));
      break;
    case 9:
      function.opsets.emplace_back();
      BYCC_TRY(decodeOpset(BYCC_TRY(reader.message(field, "OperatorSetIdProto")),
                           function.opsets.back()));
      break;
    case 10:
      function.domain = BYCC_TRY(reader.name(field));
      break;
    case 11:
      function.defaults.emplace_back();
      BYCC_TRY(decodeAttribute(BYCC_TRY(reader.message(field, "AttributeProto")),
                               function.defaults.back()));
      break;
    case 12:
    case 14:
      BYCC_TRY(reader.expect(field, Bytes));
      break; // types of values, metadata
    case 13:
      function.overload = BYCC_TRY(reader.name(field));
      break;
    default:
      return reader.unknown(field);
    }
  if (function.name.empty())
    return reader.fault(field) << "a function without a name";
  return {};
}

constexpr int64_t newestIrVersion = 14;

} // namespace

Expected<Model> decodeModel(std::string_view bytes, const std::string &file) {
  Model model;
  Reader reader(bytes, "ModelProto", file, bytes.data(), 1);
  Field field;
  bool hasGraph = false;
  while (BYCC_TRY(reader.next(field)))
    switch (field.number) {
    case 1:
      model.irVersion = BYCC_TRY(reader.integer(field));
      break;
    case 2:
    case 3:
    case 4:
    case 6:
      BYCC_TRY(reader.bytes(field));
      break;
    case 5:
      BYCC_TRY(reader.integer(field));
      break;
    case 7:
      hasGraph = true;
      BYCC_TRY(decodeGraph(BYCC_TRY(reader.messageOnce(field, "GraphProto")), model.graph));
      break;
    case 8:
      model.opsets.emplace_back();
      BYCC_TRY(
          decodeOpset(BYCC_TRY(reader.message(field, "OperatorSetIdProto")), model.opsets.back()));
      break;
    case 14:
    case 20:
      BYCC_TRY(reader.expect(field, Bytes));
      break; // metadata, training
    case 25:
      if (model.functions.size() == maxFunctions)
        return reader.fault(Status::Limit, field.start)
               << "more than " << maxFunctions << " functions";
      model.functions.emplace_back();
      BYCC_TRY(
          decodeFunction(BYCC_TRY(reader.message(field, "FunctionProto")), model.functions.back()));
      break;
    case 26:
      BYCC_TRY(reader.expect(field, Bytes));
      break; // device configuration
    default:
      return reader.fault(field) << "field " << field.number
                                 << " is not one of a model: damaged, or bytes after the model";
    }
  if (!hasGraph)
    return error(Status::Input, {file}).as(MessageId::BrokenOnnx)
           << "no ONNX model: there is no graph in it";
  if (model.irVersion <= 0)
    return error(Status::Input, {file}) << "ir_version " << model.irVersion << " is not legal";
  if (model.irVersion > newestIrVersion)
    return error(Status::Unsup, {file})
           << "ir_version " << model.irVersion << ", known are versions up to " << newestIrVersion;
  return model;
}

} // namespace bycc::onnx
