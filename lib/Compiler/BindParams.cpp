// Reads named tensors from one of three containers and puts them in the place of
// @main's parameters. Bytes are views of the mapped files, never copies.

#include "BindParams.h"

#include "bycc/IR/Infer.h"
#include "bycc/Support/Json.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Npy.h"
#include "bycc/Support/ParamsFile.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace bycc {
namespace {

struct NamedTensor {
  std::string name;
  DType dtype = DType::Float32;
  std::vector<int64_t> shape;
  std::shared_ptr<const Storage> storage;
  uint64_t offset = 0, bytes = 0;
  std::string file;
};

using Tensors = std::vector<NamedTensor>;

SourceLocation inFile(const std::string &file) {
  SourceLocation location;
  location.file = file;
  return location;
}

Expected<std::vector<std::filesystem::path>> arraysIn(const std::string &folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code failed;
  for (std::filesystem::directory_iterator it(folder, failed), end; !failed && it != end;
       it.increment(failed))
    if (it->path().extension() == ".npy")
      paths.push_back(it->path());
  if (failed)
    return error(Status::Io, inFile(folder)) << "cannot be listed: " << failed.message();
  std::ranges::sort(paths);
  return paths;
}

Expected<Tensors> readArrays(const std::vector<std::filesystem::path> &paths, InputFiles &files) {
  Tensors tensors;
  for (const std::filesystem::path &path : paths) {
    NpyArray array = BYCC_TRY(parseNpy(BYCC_TRY(files.map(path.string())), path.string()));
    tensors.push_back({path.stem().string(), array.dtype, array.shape, array.storage, array.offset,
                       array.bytes, path.string()});
    files.record(path.string());
  }
  return tensors;
}

Expected<Tensors> readParamsFile(const std::string &path, InputFiles &files) {
  std::shared_ptr<const Storage> storage = BYCC_TRY(files.map(path));
  ParamsFile params = BYCC_TRY(readParams(storage->data(), storage->size(), path));
  Tensors tensors;
  for (const ParamsEntry &entry : params.entries) {
    if (entry.isPacked)
      return (error(Status::Arg, inFile(path)) << "'" << escaped(entry.name)
                                               << "' holds weights as a vendor has packed them, so "
                                                  "the file lacks parameters of the model")
          .note("--params takes the tensors that the model was compiled with");
    tensors.push_back(
        {entry.name, entry.dtype, entry.dims, storage, entry.offset, entry.bytes, path});
  }
  return tensors;
}

// dtype spellings of the safetensors header.
std::optional<DType> safetensorsDType(std::string_view text) {
  static constexpr std::pair<std::string_view, DType> names[] = {
      {"BOOL", DType::Bool},   {"I8", DType::Int8},       {"I16", DType::Int16},
      {"I32", DType::Int32},   {"I64", DType::Int64},     {"U8", DType::UInt8},
      {"U16", DType::UInt16},  {"U32", DType::UInt32},    {"U64", DType::UInt64},
      {"F16", DType::Float16}, {"BF16", DType::BFloat16}, {"F32", DType::Float32},
      {"F64", DType::Float64}};
  for (auto [spelling, dtype] : names)
    if (spelling == text)
      return dtype;
  return std::nullopt;
}

// Bytes of a tensor; nullopt when a dim is negative or the product overflows.
std::optional<uint64_t> tensorBytes(DType dtype, const std::vector<int64_t> &shape) {
  int64_t bytes = sizeInBytes(dtype);
  for (int64_t dim : shape)
    if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes))
      return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

// A safetensors file: u64 header bytes, a JSON header, the data.
Expected<Tensors> readSafetensors(const std::string &path, InputFiles &files) {
  std::shared_ptr<const Storage> storage = BYCC_TRY(files.map(path));
  uint64_t headerBytes = 0;
  if (storage->size() < 8)
    return error(Status::Input, inFile(path)) << "has no safetensors header";
  std::memcpy(&headerBytes, storage->data(), 8);
  if (headerBytes > storage->size() - 8 || headerBytes > (uint64_t{100} << 20))
    return error(Status::Input, inFile(path))
           << "header of " << headerBytes << " bytes in a file of " << storage->size();
  std::string_view text(reinterpret_cast<const char *>(storage->data()) + 8, headerBytes);
  JsonValue header = BYCC_TRY(parseJson(text, path));
  uint64_t base = 8 + headerBytes, available = storage->size() - base;
  Tensors tensors;
  for (const auto &[name, value] : header.members) {
    if (name == "__metadata__")
      continue;
    const JsonValue *dtype = value.find("dtype"), *shape = value.find("shape"),
                    *offsets = value.find("data_offsets");
    bool whole = dtype && dtype->isString() && shape && shape->isArray() && offsets &&
                 offsets->isArray() && offsets->items.size() == 2;
    auto parsed = whole ? safetensorsDType(dtype->string) : std::nullopt;
    if (!whole || (!parsed && dtype->string.empty()))
      return error(Status::Input, inFile(path))
             << "tensor '" << escaped(name) << "': dtype, shape or data_offsets is missing";
    if (!parsed)
      return error(Status::Unsup, inFile(path)) << "tensor '" << escaped(name) << "': dtype "
                                                << escaped(dtype->string) << " is not supported";
    NamedTensor tensor{name, *parsed, {}, storage, 0, 0, path};
    for (const JsonValue &dim : shape->items)
      tensor.shape.push_back(dim.isInt() ? dim.integer : -1);
    auto bytes = tensorBytes(*parsed, tensor.shape);
    int64_t begin = offsets->items[0].isInt() ? offsets->items[0].integer : -1;
    int64_t end = offsets->items[1].isInt() ? offsets->items[1].integer : -1;
    if (!bytes || begin < 0 || end < begin || static_cast<uint64_t>(end) > available ||
        static_cast<uint64_t>(end - begin) != *bytes)
      return error(Status::Input, inFile(path))
             << "tensor '" << escaped(name) << "': data_offsets do not fit its shape or the file";
    tensor.offset = base + static_cast<uint64_t>(begin);
    tensor.bytes = *bytes;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Expected<Tensors> readTensors(const std::string &path, InputFiles &files) {
  std::error_code failed;
  if (std::vector<std::string> given = files.givenIn(path, ".npy"); !given.empty())
    return readArrays({given.begin(), given.end()}, files);
  if (!files.isGiven(path) && std::filesystem::is_directory(path, failed))
    return readArrays(BYCC_TRY(arraysIn(path)), files);
  files.record(path);
  if (path.ends_with(".safetensors"))
    return readSafetensors(path, files);
  if (path.ends_with(".params"))
    return readParamsFile(path, files);
  if (path.ends_with(".npy"))
    return error(Status::Arg, inFile(path))
           << "--params takes a folder of .npy files, a .params or a .safetensors file";
  if (!files.exists(path))
    return error(Status::Io, inFile(path)).as(MessageId::CannotRead) << "no such file or folder";
  return error(Status::Arg, inFile(path))
         << "--params takes a folder of .npy files, a .params or a .safetensors file";
}

std::string typeText(Module &module, const NamedTensor &tensor) {
  std::vector<Dim> dims(tensor.shape.begin(), tensor.shape.end());
  return module.types.str(module.types.tensor(tensor.dtype, dims));
}

// The parameter's type as the tensor must have it.
Expected<TypeId> boundType(Module &module, NodeId param, const NamedTensor &tensor) {
  TypeId wanted = module.type(param);
  if (!module.types.isTensor(wanted))
    return error(Status::Arg, inFile(tensor.file))
           << "parameter '" << tensor.name << "' is no tensor";
  bool sameType = tensor.dtype == module.types.dtype(wanted) ||
                  (module.types.dtype(wanted) == DType::BFloat16 && tensor.dtype == DType::UInt16);
  std::vector<Dim> dims(tensor.shape.begin(), tensor.shape.end());
  TypeId actual = module.types.tensor(module.types.dtype(wanted), dims);
  if (!sameType || !isAssignable(module, actual, wanted))
    return error(Status::Arg, inFile(tensor.file))
           << "parameter '" << tensor.name << "' is " << module.types.str(wanted)
           << ", the file holds " << typeText(module, tensor);
  return actual;
}

} // namespace

Expected<> bindParams(Module &module, const std::string &path, InputFiles &files) {
  Tensors tensors = BYCC_TRY(readTensors(path, files));
  FunctionId main = module.main();
  if (!main)
    return error(Status::Input, inFile(path)) << "the program has no @main to bind parameters of";
  for (const NamedTensor &tensor : tensors) {
    std::vector<NodeId> &params = module.function(main).params;
    auto it = std::ranges::find_if(
        params, [&](NodeId p) { return module.string(module.node(p).name) == tensor.name; });
    if (it == params.end()) {
      std::vector<std::string> names;
      for (NodeId param : params)
        names.emplace_back(module.string(module.node(param).name));
      return error(Status::Arg, inFile(tensor.file)).as(MessageId::NoSuchParameter)
             << "@main has no parameter '" << escaped(tensor.name) << "'"
             << didYouMean(tensor.name, names);
    }
    NodeId param = *it;
    Constant constant;
    constant.type = BYCC_TRY(boundType(module, param, tensor));
    constant.storage = tensor.storage;
    constant.offset = tensor.offset;
    constant.bytes = tensor.bytes;
    constant.name = tensor.name;
    NodeId bound = module.addConstant(std::move(constant), module.node(param).source);
    // The parameter's node itself becomes the constant, so that no user changes.
    module.node(param).kind = NodeKind::Constant;
    module.node(param).payload = module.node(bound).payload;
    module.node(param).type = module.type(bound);
    std::erase(module.function(main).params, param);
  }
  return inferTypes(module);
}

} // namespace bycc
