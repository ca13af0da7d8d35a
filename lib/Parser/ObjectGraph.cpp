// Tensors are serialised as: u64 magic, u64 reserved, i32 device type and id, i32
// rank, u8 dtype code, u8 bits, u16 lanes, i64 dims, i64 bytes, data; all little
// endian.
#include "ObjectGraph.h"

#include "TensorText.h"
#include "bycc/Support/Base64.h"
#include "bycc/Support/Text.h"

#include <cstring>

namespace bycc {
namespace {

constexpr uint64_t tensorMagic = 0xdd5e40f096b4a13f;

std::optional<DType> dtypeOf(uint8_t code, uint8_t bits) {
  struct Row {
    uint8_t code, bits;
    DType dtype;
  };
  static constexpr Row rows[] = {
      {0, 8, DType::Int8},     {0, 16, DType::Int16},   {0, 32, DType::Int32},
      {0, 64, DType::Int64},   {1, 1, DType::Bool},     {1, 8, DType::UInt8},
      {1, 16, DType::UInt16},  {1, 32, DType::UInt32},  {1, 64, DType::UInt64},
      {2, 16, DType::Float16}, {2, 32, DType::Float32}, {2, 64, DType::Float64},
      {4, 16, DType::BFloat16}};
  for (const Row &row : rows)
    if (row.code == code && row.bits == bits)
      return row.dtype;
  return std::nullopt;
}

// Numbers in order; `isOk` turns false at the end.
struct Cursor {
  std::span<const uint8_t> bytes;
  bool isOk = true;
  template <typename T> T take() {
    T value{};
    if (bytes.size() < sizeof(T)) {
      isOk = false;
      return value;
    }
    std::memcpy(&value, bytes.data(), sizeof(T));
    bytes = bytes.subspan(sizeof(T));
    return value;
  }
};

} // namespace

ErrorBuilder ObjectGraph::fail(const JsonValue &at) const {
  return error(Status::Input, location(at, file_));
}

Expected<const JsonValue *> ObjectGraph::node(const JsonValue &index) const {
  if (!index.isInt() || index.integer < 0 ||
      static_cast<uint64_t>(index.integer) >= nodes_->items.size())
    return fail(index) << "metadata has no such node; there are " << nodes_->items.size();
  return &nodes_->items[static_cast<size_t>(index.integer)];
}

// The nodes that an Array node refers to.
Expected<std::vector<const JsonValue *>> ObjectGraph::array(const JsonValue &index) const {
  const JsonValue *list = BYCC_TRY(node(index));
  const JsonValue *data = list->find("data");
  if (!data || !data->isArray())
    return fail(*list) << "a metadata node is not an array";
  std::vector<const JsonValue *> result;
  for (const JsonValue &item : data->items)
    result.push_back(BYCC_TRY(node(item)));
  return result;
}

Expected<ObjectGraph> ObjectGraph::read(const JsonValue &value, const std::string &file) {
  ObjectGraph graph;
  graph.file_ = file;
  const JsonValue *root = value.find("root");
  graph.nodes_ = value.find("nodes");
  graph.tensors_ = value.find("b64ndarrays");
  if (!root || !graph.nodes_ || !graph.nodes_->isArray() ||
      (graph.tensors_ && !graph.tensors_->isArray()))
    return graph.fail(value)
           << "metadata needs 'root', the list 'nodes', and a list 'b64ndarrays' for tensors";
  const JsonValue *map = BYCC_TRY(graph.node(*root));
  const JsonValue *keys = map->find("keys"), *data = map->find("data");
  if (!keys || !keys->isArray() || !data || !data->isArray() ||
      keys->items.size() != data->items.size())
    return graph.fail(*map) << "the root of metadata is not a map";
  for (size_t i = 0; i < keys->items.size(); ++i)
    if (keys->items[i].isString())
      graph.tables_[keys->items[i].string] = BYCC_TRY(graph.array(data->items[i]));
  return graph;
}

Expected<Constant> ObjectGraph::constant(Module &module, const JsonValue &entry) const {
  const JsonValue *attrs = entry.find("attrs");
  const JsonValue *data = attrs ? attrs->find("data") : nullptr;
  std::optional<int64_t> index = data && data->isString() ? parseInt(data->string)
                                 : data && data->isInt()  ? std::optional(data->integer)
                                                          : std::nullopt;
  if (!index || *index < 0 || !tensors_ || static_cast<uint64_t>(*index) >= tensors_->items.size())
    return fail(entry) << "a constant of the metadata has no tensor in 'b64ndarrays'";
  const JsonValue &text = tensors_->items[static_cast<size_t>(*index)];
  std::optional<std::vector<uint8_t>> bytes =
      text.isString() ? decodeBase64(text.string) : std::nullopt;
  if (!bytes)
    return fail(text) << "a tensor is not base64";
  Cursor at{*bytes};
  bool isTensor = at.take<uint64_t>() == tensorMagic;
  at.take<uint64_t>();
  at.take<uint64_t>(); // device
  int32_t rank = at.take<int32_t>();
  uint8_t code = at.take<uint8_t>(), bits = at.take<uint8_t>();
  uint16_t lanes = at.take<uint16_t>();
  if (!at.isOk || !isTensor || rank < 0 || rank > static_cast<int32_t>(maxRank))
    return fail(text) << "a tensor does not start as one: magic, device, rank, dtype";
  std::optional<DType> dtype = dtypeOf(code, bits);
  if (!dtype || lanes != 1)
    return error(Status::Unsup, location(text, file_))
           << "a tensor of dtype code " << int{code} << ", " << int{bits} << " bits, " << lanes
           << " lanes is not supported";
  std::vector<Dim> shape;
  for (int32_t i = 0; i < rank; ++i) {
    int64_t dim = at.take<int64_t>();
    if (dim < 0)
      return fail(text) << "a tensor has the dim " << dim;
    shape.emplace_back(dim);
  }
  Constant constant;
  constant.type = module.types.tensor(*dtype, shape);
  BYCC_TRY(checkTensorType(module, constant.type, location(text, file_)));
  int64_t size = at.take<int64_t>();
  if (!at.isOk || size != *module.types.sizeBytes(constant.type) ||
      at.bytes.size() != static_cast<uint64_t>(size))
    return fail(text) << "a tensor of type " << module.types.str(constant.type) << " has "
                      << at.bytes.size() << " bytes of data, its header says " << size;
  constant.storage = Storage::copyOf(at.bytes.data(), at.bytes.size());
  constant.bytes = at.bytes.size();
  return constant;
}

} // namespace bycc
