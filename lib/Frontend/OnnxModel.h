// An ONNX model as decoded from its protobuf bytes, without a copy: text and raw
// tensor data are views into the file.
//
// The decoder is our own instead of the generated message classes, because a
// model is hostile input and may be large: the generated parser merges a field
// given twice, skips what it does not know, accepts groups, and copies every
// weight. Here a second `graph`, an unknown field, a group and a length past the
// end are errors with the byte they stand at, and a 440 MB model costs its index.
// (The tests write their models with the message classes, so that the two check
// each other.)
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/Support/File.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bycc::onnx {

// TensorProto.DataType
enum class ElemType : int32_t {
  Undefined = 0, Float, UInt8, Int8, UInt16, Int16, Int32, Int64, String, Bool, Float16,
  Double, UInt32, UInt64, Complex64, Complex128, BFloat16, LastKnown = 24,
};

struct Tensor {
  std::string_view name;
  int32_t elemType = 0;
  bool isExternal = false;
  std::vector<int64_t> dims;
  std::optional<std::string_view> raw;
  // At most one of the typed fields: its number and its values. Floats and
  // doubles as they are in the file; varints as 8-byte integers.
  int32_t typedField = 0;
  std::vector<uint8_t> typed;
  std::vector<std::pair<std::string_view, std::string_view>> externalData;
};

struct Graph;

// AttributeProto.AttributeType
enum class AttrKind : int32_t {
  Undefined = 0, Float, Int, String, Tensor, Graph, Floats, Ints, Strings, Tensors, Graphs,
  SparseTensor, SparseTensors, TypeProto, TypeProtos,
};

struct Attribute {
  std::string_view name;
  AttrKind kind = AttrKind::Undefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::unique_ptr<Tensor> tensor;
  std::unique_ptr<Graph> graph;
};

struct Node {
  std::string_view name, opType, domain;
  std::vector<std::string_view> inputs, outputs;
  std::vector<Attribute> attributes;
};

struct DimSpec {
  std::optional<int64_t> value;
  std::string_view param; // "" when neither is given
};

struct ValueInfo {
  std::string_view name;
  bool isTensor = false;
  bool hasType = false;
  int32_t elemType = 0;
  bool hasShape = false;
  std::vector<DimSpec> dims;
};

struct Graph {
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs, valueInfos;
  bool hasSparseInitializers = false;
};

struct OpsetImport {
  std::string_view domain;
  int64_t version = 0;
};

struct Model {
  int64_t irVersion = 0;
  std::vector<OpsetImport> opsets;
  Graph graph;
  std::vector<std::pair<std::string_view, std::string_view>> functions; // domain, name
};

// The model refers to `bytes`. Nesting deeper than 64 messages is LIMIT, all
// other faults of the bytes are INPUT with their offset.
Expected<Model> decodeModel(std::string_view bytes, const std::string &file);

} // namespace bycc::onnx
