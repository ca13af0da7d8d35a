#include "bycc/Support/Element.h"

#include <cstring>

namespace bycc {

namespace {

template <typename T> T read(const uint8_t *data, int64_t index) {
  T value;
  std::memcpy(&value, data + static_cast<uint64_t>(index) * sizeof(T), sizeof(T));
  return value;
}

} // namespace

double elementAsDouble(DType dtype, const uint8_t *data, int64_t index) {
  switch (dtype) {
  case DType::Bool:
    return data[index] != 0;
  case DType::Int8:
    return read<int8_t>(data, index);
  case DType::Int16:
    return read<int16_t>(data, index);
  case DType::Int32:
    return read<int32_t>(data, index);
  case DType::Int64:
    return static_cast<double>(read<int64_t>(data, index));
  case DType::UInt8:
    return read<uint8_t>(data, index);
  case DType::UInt16:
    return read<uint16_t>(data, index);
  case DType::UInt32:
    return read<uint32_t>(data, index);
  case DType::UInt64:
    return static_cast<double>(read<uint64_t>(data, index));
  case DType::Float16:
    return halfToFloat(read<uint16_t>(data, index));
  case DType::BFloat16:
    return bfloat16ToFloat(read<uint16_t>(data, index));
  case DType::Float32:
    return read<float>(data, index);
  case DType::Float64:
    return read<double>(data, index);
  }
  return 0; // not a dtype
}

int64_t elementAsInteger(DType dtype, const uint8_t *data, int64_t index) {
  return sizeInBytes(dtype) == 8 ? read<int64_t>(data, index)
                                 : static_cast<int64_t>(elementAsDouble(dtype, data, index));
}

} // namespace bycc
