// Where tensor data may stand: raw bytes in the file (used in place when their
// address suits the type), a typed list, or another file. Exactly one of them.
#include "OnnxTensor.h"

#include "bycc/Support/Messages.h"
#include "bycc/Support/Sha1.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

namespace bycc::onnx {
namespace {

constexpr uint64_t maxTensorBytes = uint64_t{16} << 30;
// Zeros of a sparse tensor are not in the file: a dense one may have this much.
constexpr uint64_t sparseBytesAlways = uint64_t{64} << 20, sparseBytesPerFileByte = 32;

std::string label(const Tensor &tensor) {
  return tensor.name.empty() ? "tensor" : "tensor '" + escaped(tensor.name) + "'";
}

// The data field that holds values of a dtype.
int32_t typedFieldOf(DType dtype) {
  switch (dtype) {
  case DType::Float32:
    return 4;
  case DType::Float64:
    return 10;
  case DType::Int64:
    return 7;
  case DType::UInt32:
  case DType::UInt64:
    return 11;
  default:
    return 5;
  }
}

template <typename T> bool narrow(const std::vector<int64_t> &values, std::vector<uint8_t> &out) {
  out.resize(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T item = static_cast<T>(values[i]);
    if (static_cast<int64_t>(item) != values[i])
      return false;
    std::memcpy(out.data() + i * sizeof(T), &item, sizeof(T));
  }
  return true;
}

// Integers of int32_data, int64_data or uint64_data as bytes of the dtype; false
// when one does not fit. Halves stand in int32_data as bit patterns.
bool narrowTo(DType dtype, const std::vector<int64_t> &values, std::vector<uint8_t> &out) {
  switch (dtype) {
  case DType::Bool:
    for (int64_t value : values)
      if (value != 0 && value != 1)
        return false;
    return narrow<uint8_t>(values, out);
  case DType::Int8:
    return narrow<int8_t>(values, out);
  case DType::Int16:
    return narrow<int16_t>(values, out);
  case DType::Int32:
    return narrow<int32_t>(values, out);
  case DType::UInt8:
    return narrow<uint8_t>(values, out);
  case DType::UInt16:
  case DType::Float16:
  case DType::BFloat16:
    return narrow<uint16_t>(values, out);
  case DType::UInt32:
    return narrow<uint32_t>(values, out);
  default:
    return narrow<int64_t>(values, out);
  }
}

// Gives the pages of a mapping back that lie wholly in [data, data + size): they
// were copied, and would come from the file again if somebody looked.
void releasePages(const uint8_t *data, uint64_t size) {
  uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  uintptr_t end = (reinterpret_cast<uintptr_t>(data) + size) / page * page;
  if (begin < end)
    ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

// Parses an external_data number: no sign, below 2^63.
Expected<uint64_t> externalNumber(std::string_view key, std::string_view text,
                                  const std::string &what, const SourceLocation &location) {
  std::optional<int64_t> value = parseInt(text);
  bool isPlain = text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!value || !isPlain)
    return error(Status::Input, location)
           << what << ": " << key << " '" << escaped(text) << "' is not a size";
  return static_cast<uint64_t>(*value);
}

} // namespace

Expected<DType> dtypeOf(int32_t elemType, const SourceLocation &location) {
  switch (static_cast<ElemType>(elemType)) {
  case ElemType::Float:
    return DType::Float32;
  case ElemType::UInt8:
    return DType::UInt8;
  case ElemType::Int8:
    return DType::Int8;
  case ElemType::UInt16:
    return DType::UInt16;
  case ElemType::Int16:
    return DType::Int16;
  case ElemType::Int32:
    return DType::Int32;
  case ElemType::Int64:
    return DType::Int64;
  case ElemType::Bool:
    return DType::Bool;
  case ElemType::Float16:
    return DType::Float16;
  case ElemType::Double:
    return DType::Float64;
  case ElemType::UInt32:
    return DType::UInt32;
  case ElemType::UInt64:
    return DType::UInt64;
  case ElemType::BFloat16:
    return DType::BFloat16;
  default:
    break;
  }
  if (elemType <= 0 || elemType > static_cast<int32_t>(ElemType::LastKnown))
    return error(Status::Input, location) << "element type " << elemType << " is not one of ONNX";
  static constexpr std::string_view names[] = {"string",
                                               "",
                                               "",
                                               "",
                                               "",
                                               "",
                                               "complex64",
                                               "complex128",
                                               "",
                                               "float8e4m3fn",
                                               "float8e4m3fnuz",
                                               "float8e5m2",
                                               "float8e5m2fnuz",
                                               "uint4",
                                               "int4",
                                               "float4e2m1",
                                               "float8e8m0"};
  return error(Status::Unsup, location)
         << "element type " << names[elemType - 8] << " is not supported";
}

bool hasFourBits(int32_t elemType) {
  return static_cast<ElemType>(elemType) == ElemType::Int4 ||
         static_cast<ElemType>(elemType) == ElemType::UInt4;
}

// The checksum of a file is the same for all its tensors: computed once.
Expected<> TensorReader::checkSum(const std::string &path, const Storage &file,
                                  std::string_view wanted, const SourceLocation &location) {
  std::string &found = checksums_[path];
  if (found.empty())
    found = sha1(file.data(), file.size());
  if (std::ranges::equal(found, wanted, {}, {},
                         [](char c) { return c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c; }))
    return {};
  return error(Status::Input, location) << "external file '" << escaped(path) << "' has SHA-1 "
                                        << found << ", the model says '" << escaped(wanted) << "'";
}

std::vector<std::string> TensorReader::externalFiles() const {
  std::vector<std::string> paths;
  for (const auto &[path, file] : externalFiles_)
    if (file)
      paths.push_back(folder_ == "." ? path : folder_ + "/" + path);
  std::ranges::sort(paths);
  return paths;
}

Expected<TensorReader::View> TensorReader::external(const Tensor &tensor, uint64_t wantedBytes,
                                                    const SourceLocation &location) {
  std::map<std::string_view, std::string_view> values;
  for (auto [key, value] : tensor.externalData) {
    if (!values.try_emplace(key, value).second)
      return error(Status::Input, location)
             << label(tensor) << ": external data key '" << escaped(key) << "' twice";
    if (key != "location" && key != "offset" && key != "length" && key != "checksum")
      return error(Status::Input, location)
             << label(tensor) << ": unknown external data key '" << escaped(key) << "'";
  }
  std::string path(values["location"]);
  std::string what = label(tensor) + ": external data in '" + escaped(path) + "'";
  uint64_t offset = 0, length = wantedBytes;
  for (auto [key, number] : {std::pair("offset", &offset), {"length", &length}})
    if (auto given = values.find(key); given != values.end())
      *number = BYCC_TRY(externalNumber(key, given->second, what, location));
  if (length != wantedBytes)
    return error(Status::Input, location).as(MessageId::TensorData)
           << what << " of " << length << " bytes, its type needs " << wantedBytes;
  std::shared_ptr<const Storage> &file = externalFiles_[path];
  if (!file) {
    Expected<std::shared_ptr<const Storage>> mapped =
        openExternal_ ? openExternal_(folder_, path) : mapContained(folder_, path);
    if (!mapped) {
      Error problem = mapped.takeError();
      for (Diagnostic &diagnostic : problem.diagnostics()) {
        std::string where = diagnostic.location.str();
        diagnostic.message = label(tensor) + ": " + where + ": " + diagnostic.message;
        diagnostic.location = location;
      }
      return problem;
    }
    file = std::move(*mapped);
  }
  if (auto checksum = values.find("checksum"); checksum != values.end())
    BYCC_TRY(checkSum(path, *file, checksum->second, location));
  if (offset > file->size() || length > file->size() - offset)
    return error(Status::Input, location).as(MessageId::TensorData)
           << label(tensor) << ": external data at " << offset << " of " << length
           << " bytes passes the end of '" << escaped(path) << "' (" << file->size() << " bytes)";
  return View{file, offset, length};
}

Expected<TensorReader::View> TensorReader::typed(const Tensor &tensor, DType dtype, uint64_t count,
                                                 const SourceLocation &location) {
  if (tensor.typedField != typedFieldOf(dtype))
    return error(Status::Input, location)
           << label(tensor) << " of " << name(dtype) << " has its values in field "
           << tensor.typedField << ", wanted " << typedFieldOf(dtype);
  uint64_t itemSize = dtype == DType::Float32 ? 4 : 8;
  if (tensor.typed.size() / itemSize != count)
    return error(Status::Input, location).as(MessageId::TensorData)
           << label(tensor) << " has " << tensor.typed.size() / itemSize
           << " values, its shape needs " << count;
  if (dtype == DType::Float32 || dtype == DType::Float64)
    return View{Storage::copyOf(tensor.typed.data(), tensor.typed.size()), 0, tensor.typed.size()};
  std::vector<int64_t> values(count);
  if (count > 0)
    std::memcpy(values.data(), tensor.typed.data(), tensor.typed.size());
  std::vector<uint8_t> bytes;
  if (!narrowTo(dtype, values, bytes))
    return error(Status::Input, location)
           << label(tensor) << " has a value that does not fit " << name(dtype);
  uint64_t size = bytes.size();
  return View{Storage::own(std::move(bytes)), 0, size};
}

// Its type, name and size.
static Expected<Constant> emptyConstant(const Tensor &tensor, TypeTable &types,
                                        const SourceLocation &location) {
  DType dtype = BYCC_TRY(dtypeOf(tensor.elemType, location));
  std::vector<Dim> shape;
  for (int64_t dim : tensor.dims) {
    if (dim < 0)
      return error(Status::Input, location).as(MessageId::TensorData)
             << label(tensor) << " has dimension " << dim;
    shape.push_back(dim);
  }
  Constant constant;
  constant.type = types.tensor(dtype, shape);
  constant.name = tensor.name;
  std::optional<int64_t> bytes = types.sizeBytes(constant.type);
  if (!bytes || static_cast<uint64_t>(*bytes) > maxTensorBytes)
    return error(Status::Limit, location)
           << label(tensor) << " of type " << types.str(constant.type) << " is too large";
  constant.bytes = static_cast<uint64_t>(*bytes);
  return constant;
}

// Two elements lie in a byte, the first one below.
Expected<Constant> TensorReader::readFourBits(const Tensor &tensor, TypeTable &types,
                                              const SourceLocation &location) {
  bool isSigned = static_cast<ElemType>(tensor.elemType) == ElemType::Int4;
  Tensor wide = tensor, packed = tensor;
  wide.elemType = static_cast<int32_t>(isSigned ? ElemType::Int8 : ElemType::UInt8);
  Constant constant = BYCC_TRY(emptyConstant(wide, types, location));
  packed.elemType = static_cast<int32_t>(ElemType::UInt8);
  packed.dims = {static_cast<int64_t>((constant.bytes + 1) / 2)};
  Constant halves = BYCC_TRY(read(packed, types, location));
  std::vector<uint8_t> bytes(constant.bytes);
  for (size_t i = 0; i < bytes.size(); ++i) {
    int value = halfAt(halves.data(), static_cast<int64_t>(i));
    bytes[i] = static_cast<uint8_t>(isSigned && value > 7 ? value - 16 : value);
  }
  constant.storage = Storage::own(std::move(bytes));
  return constant;
}

Expected<Constant> TensorReader::read(const Tensor &tensor, TypeTable &types,
                                      const SourceLocation &location) {
  if (hasFourBits(tensor.elemType))
    return readFourBits(tensor, types, location);
  Constant constant = BYCC_TRY(emptyConstant(tensor, types, location));
  DType dtype = types.dtype(constant.type);
  uint64_t wanted = constant.bytes;
  int sources = (tensor.raw ? 1 : 0) + (tensor.typedField != 0) + tensor.isExternal;
  if (sources > 1)
    return error(Status::Input, location).as(MessageId::TensorData)
           << label(tensor) << " has its data in two places";
  if (!tensor.isExternal && !tensor.externalData.empty())
    return error(Status::Input, location)
           << label(tensor) << " names external data but is not marked so";
  View view;
  if (tensor.isExternal) {
    view = BYCC_TRY(external(tensor, wanted, location));
  } else if (tensor.typedField != 0) {
    view = BYCC_TRY(typed(tensor, dtype, wanted / sizeInBytes(dtype), location));
  } else if (tensor.raw) {
    uint64_t offset = reinterpret_cast<const uint8_t *>(tensor.raw->data()) - file_->data();
    view = {file_, offset, tensor.raw->size()};
  } else if (wanted == 0) {
    view = {Storage::copyOf("", 0), 0, 0};
  } else {
    return error(Status::Input, location).as(MessageId::TensorData)
           << label(tensor) << " has no data";
  }
  if (view.bytes != wanted)
    return error(Status::Input, location).as(MessageId::TensorData)
           << label(tensor) << " has " << view.bytes << " bytes of data, "
           << types.str(constant.type) << " needs " << wanted;
  const uint8_t *data = view.storage->data() + view.offset;
  if (dtype == DType::Bool)
    for (uint64_t i = 0; i < wanted; ++i)
      if (data[i] > 1)
        return error(Status::Input, location)
               << label(tensor) << " of bool has the byte " << static_cast<int>(data[i]);
  if (reinterpret_cast<uintptr_t>(data) % sizeInBytes(dtype) != 0) {
    std::shared_ptr<const Storage> copy = Storage::copyOf(data, wanted);
    if (view.storage->isMapped())
      releasePages(data, wanted);
    view = {std::move(copy), 0, wanted};
  }
  constant.storage = std::move(view.storage);
  constant.offset = view.offset;
  return constant;
}

Expected<Constant> TensorReader::readSparse(const SparseTensor &tensor, TypeTable &types,
                                            const SourceLocation &location) {
  std::string what = "sparse " + label(tensor.values);
  if (tensor.dims.empty())
    return error(Status::Input, location)
           << what << " has no dims, which say the shape it has when dense";
  Constant values = BYCC_TRY(read(tensor.values, types, location));
  Constant indices = BYCC_TRY(read(tensor.indices, types, location));
  std::vector<Dim> shape(tensor.dims.begin(), tensor.dims.end());
  if (std::ranges::any_of(tensor.dims, [](int64_t dim) { return dim < 0; }))
    return error(Status::Input, location) << what << " has a negative dimension";
  DType dtype = types.dtype(values.type);
  Constant dense;
  dense.type = types.tensor(dtype, shape);
  dense.name = tensor.values.name;
  std::optional<int64_t> bytes = types.sizeBytes(dense.type);
  uint64_t limit = sparseBytesAlways + sparseBytesPerFileByte * (file_->size() + values.bytes);
  if (!bytes || static_cast<uint64_t>(*bytes) > std::min(limit, maxTensorBytes))
    return error(Status::Limit, location)
           << what << " of type " << types.str(dense.type) << " is too large";
  std::span<const Dim> valueShape = types.shape(values.type),
                       indexShape = types.shape(indices.type);
  bool isLinear = indexShape.size() == 1;
  bool fits = valueShape.size() == 1 && types.dtype(indices.type) == DType::Int64 &&
              !indexShape.empty() && indexShape[0] == valueShape[0] &&
              (isLinear || (indexShape.size() == 2 &&
                            indexShape[1] == Dim(static_cast<int64_t>(shape.size()))));
  if (!fits)
    return error(Status::Input, location)
           << what << " of rank " << shape.size() << " has values of type "
           << types.str(values.type) << " and indices of type " << types.str(indices.type);
  std::vector<uint8_t> data(static_cast<size_t>(*bytes));
  size_t width = sizeInBytes(dtype), perValue = isLinear ? 1 : shape.size();
  int64_t count = *bytes / static_cast<int64_t>(width), last = -1;
  for (uint64_t i = 0; i < values.bytes / width; ++i) {
    int64_t place = 0;
    for (size_t axis = 0; axis < perValue; ++axis) {
      int64_t index, extent = isLinear ? count : tensor.dims[axis];
      std::memcpy(&index, indices.data() + (i * perValue + axis) * 8, 8);
      if (index < 0 || index >= extent)
        return error(Status::Input, location)
               << what << ": index " << index << " of value " << i << " is out of range " << extent;
      place = place * extent + index;
    }
    if (place <= last)
      return error(Status::Input, location)
             << what << ": indices are not sorted or repeat at value " << i;
    last = place;
    std::memcpy(data.data() + place * width, values.data() + i * width, width);
  }
  dense.bytes = data.size();
  dense.storage = Storage::own(std::move(data));
  return dense;
}

} // namespace bycc::onnx
