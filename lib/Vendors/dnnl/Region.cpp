// See Region.h.
#include "Region.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace bycc::onednn {

Dims dimsOf(const bycc_value &value) {
  if (value.rank <= 0)
    return {1};
  return Dims(value.dims, value.dims + value.rank);
}

namespace {

// Elements of a constant of this dtype, widened.
template <typename Stored, typename T> void append(const bycc_value &value, std::vector<T> &out) {
  const auto *bytes = static_cast<const uint8_t *>(value.data);
  for (uint64_t at = 0; at + sizeof(Stored) <= value.bytes; at += sizeof(Stored)) {
    Stored element;
    std::memcpy(&element, bytes + at, sizeof element);
    out.push_back(static_cast<T>(element));
  }
}

} // namespace

std::optional<double> scalarOf(const bycc_value &value) {
  bool isOne = value.bytes == (value.dtype == BYCC_BFLOAT16 ? sizeof(uint16_t) : sizeof(float));
  std::optional<std::vector<float>> elements = isOne ? floatsOf(value) : std::nullopt;
  return elements ? std::optional<double>(elements->front()) : std::nullopt;
}

std::optional<std::vector<float>> floatsOf(const bycc_value &value) {
  std::vector<float> out;
  if (value.data && value.dtype == BYCC_FLOAT32) {
    append<float>(value, out);
  } else if (value.data && value.dtype == BYCC_BFLOAT16) {
    std::vector<uint16_t> bits;
    append<uint16_t>(value, bits);
    std::transform(bits.begin(), bits.end(), std::back_inserter(out), bfloat16ToFloat);
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

std::optional<std::vector<int64_t>> integersOf(const bycc_value &value) {
  std::vector<int64_t> out;
  if (value.data && value.dtype == BYCC_INT32)
    append<int32_t>(value, out);
  else if (value.data && value.dtype == BYCC_INT64)
    append<int64_t>(value, out);
  else if (value.data && value.dtype == BYCC_INT8)
    append<int8_t>(value, out);
  else if (value.data && value.dtype == BYCC_UINT8)
    append<uint8_t>(value, out);
  return out.empty() ? std::nullopt : std::optional(out);
}

Expected<> checkValue(const bycc_value &value) {
  if (value.dtype < 0 || value.dtype >= numDTypes)
    return error(Status::Unsup) << "unknown dtype " << value.dtype;
  DType dtype = static_cast<DType>(value.dtype);
  if (!isReal(dtype) && dtype != DType::Int32 && !isQuantized(dtype))
    return error(Status::Unsup) << "dtype " << name(dtype) << " is not supported";
  if (value.rank > static_cast<int32_t>(maxRank))
    return error(Status::Unsup) << "rank " << value.rank << " is not supported, at most "
                                << maxRank;
  Dims dims = dimsOf(value);
  for (int64_t dim : dims)
    if (dim == -1)
      return error(Status::Unsup) << "an extent of " << text(dims) << " is unknown until run time";
  BYCC_TRY(checkDims(dims, dtype));
  if (value.layout && *value.layout)
    return error(Status::Unsup) << "layout " << value.layout << " is not supported";
  if (value.device != 0)
    return error(Status::Unsup) << "device " << value.device << " is not supported";
  if (value.data && value.bytes != static_cast<uint64_t>(numElements(dims) * sizeInBytes(dtype)))
    return error(Status::Unsup) << "constant of " << value.bytes << " bytes for " << text(dims);
  return {};
}

} // namespace bycc::onednn
