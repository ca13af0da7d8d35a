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
  Undefined = 0,
  Float,
  UInt8,
  Int8,
  UInt16,
  Int16,
  Int32,
  Int64,
  String,
  Bool,
  Float16,
  Double,
  UInt32,
  UInt64,
  Complex64,
  Complex128,
  BFloat16,
  UInt4 = 21,
  Int4,
  LastKnown = 24,
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

// Values at places of a tensor that is zero elsewhere; indices as positions in
// row-major order [n], or one row of coordinates for each value [n, rank].
struct SparseTensor {
  Tensor values, indices; // values.name is the name of the whole
  std::vector<int64_t> dims;
};

struct Graph;

// AttributeProto.AttributeType
enum class AttrKind : int32_t {
  Undefined = 0,
  Float,
  Int,
  String,
  Tensor,
  Graph,
  Floats,
  Ints,
  Strings,
  Tensors,
  Graphs,
  SparseTensor,
  SparseTensors,
  TypeProto,
  TypeProtos,
};

// Copied where a function is called: what it holds may be shared.
struct Attribute {
  std::string_view name;
  std::string_view refName; // in a function: the caller's attribute that gives the value
  AttrKind kind = AttrKind::Undefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::shared_ptr<Tensor> tensor;
  std::shared_ptr<Graph> graph;
  std::shared_ptr<SparseTensor> sparse;
};

struct Node {
  size_t index = 0; // in its graph
  std::string_view name, opType, domain, overload;
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
  std::vector<SparseTensor> sparseInitializers;
  std::vector<ValueInfo> inputs, outputs, valueInfos;
};

struct OpsetImport {
  std::string_view domain;
  int64_t version = 0;
};

// A function of the model's own, called like an operator of its domain.
struct Function {
  std::string_view domain, name, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<std::string_view> attributes; // without a default
  std::vector<Attribute> defaults;
  std::vector<OpsetImport> opsets;
  Graph body; // nodes only
};

struct Model {
  int64_t irVersion = 0;
  std::vector<OpsetImport> opsets;
  Graph graph;
  std::vector<Function> functions;
};

// The model refers to `bytes`. Nesting deeper than 64 messages is LIMIT, all
// other faults of the bytes are INPUT with their offset.
Expected<Model> decodeModel(std::string_view bytes, const std::string &file);

} // namespace bycc::onnx
