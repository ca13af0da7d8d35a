// Tensors, values, element access across dtypes, layouts.

#include "Kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace bycc {

namespace {

constexpr int64_t maxTensorBytes = int64_t{16} << 30;

// Calls fn with a value of the C++ type that holds the dtype's bits.
template <typename Fn> decltype(auto) withStorage(DType dtype, Fn fn) {
  switch (dtype) {
  case DType::Bool:
  case DType::UInt8:
    return fn(uint8_t{});
  case DType::Int8:
    return fn(int8_t{});
  case DType::Int16:
    return fn(int16_t{});
  case DType::Int32:
    return fn(int32_t{});
  case DType::Int64:
    return fn(int64_t{});
  case DType::Float16:
  case DType::BFloat16:
  case DType::UInt16:
    return fn(uint16_t{});
  case DType::UInt32:
    return fn(uint32_t{});
  case DType::UInt64:
    return fn(uint64_t{});
  case DType::Float32:
    return fn(float{});
  case DType::Float64:
    return fn(double{});
  }
  BYCC_ASSERT(false, "a known dtype");
}

template <typename T> T readAt(const uint8_t *data, int64_t index) {
  T value;
  std::memcpy(&value, data + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

template <typename T> void writeAt(uint8_t *data, int64_t index, T value) {
  std::memcpy(data + static_cast<size_t>(index) * sizeof(T), &value, sizeof(T));
}

// Truncated and kept in range; NaN gives 0.
template <typename T> T toInt(double value) {
  if (std::isnan(value))
    return 0;
  constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<T>::max());
  if (value <= low)
    return std::numeric_limits<T>::min();
  if (value >= high)
    return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

} // namespace

namespace eval {

void loadReals(const Tensor &from, int64_t begin, int64_t count, double *to) {
  const uint8_t *data = from.bytes.get();
  if (from.dtype == DType::Float16) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = halfToFloat(readAt<uint16_t>(data, begin + i));
    return;
  }
  if (from.dtype == DType::BFloat16) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = bfloat16ToFloat(readAt<uint16_t>(data, begin + i));
    return;
  }
  withStorage(from.dtype, [&](auto zero) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = static_cast<double>(readAt<decltype(zero)>(data, begin + i));
  });
}

void loadInts(const Tensor &from, int64_t begin, int64_t count, Wide *to) {
  if (isFloat(from.dtype)) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = toInt<int64_t>(from.real(begin + i));
    return;
  }
  withStorage(from.dtype, [&](auto zero) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = static_cast<Wide>(readAt<decltype(zero)>(from.bytes.get(), begin + i));
  });
}

void storeReals(DType dtype, uint8_t *data, int64_t begin, int64_t count, const double *from) {
  switch (dtype) {
  case DType::Bool:
    for (int64_t i = 0; i < count; ++i)
      data[begin + i] = from[i] != 0;
    return;
  case DType::Float16:
    for (int64_t i = 0; i < count; ++i)
      writeAt(data, begin + i, floatToHalf(static_cast<float>(from[i])));
    return;
  case DType::BFloat16:
    for (int64_t i = 0; i < count; ++i)
      writeAt(data, begin + i, floatToBFloat16(static_cast<float>(from[i])));
    return;
  default:
    break;
  }
  withStorage(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_floating_point_v<T>)
        writeAt(data, begin + i, static_cast<T>(from[i]));
      else
        writeAt(data, begin + i, toInt<T>(from[i]));
    }
  });
}

void storeInts(DType dtype, uint8_t *data, int64_t begin, int64_t count, const Wide *from) {
  if (isFloat(dtype)) {
    for (int64_t i = 0; i < count; ++i) {
      double value = static_cast<double>(from[i]);
      storeReals(dtype, data, begin + i, 1, &value);
    }
    return;
  }
  if (dtype == DType::Bool) {
    for (int64_t i = 0; i < count; ++i)
      data[begin + i] = from[i] != 0;
    return;
  }
  withStorage(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_floating_point_v<T>)
      for (int64_t i = 0; i < count; ++i)
        writeAt(data, begin + i, static_cast<T>(static_cast<uint64_t>(from[i])));
  });
}

template <> std::vector<double> load(const Tensor &tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.numElements()));
  loadReals(tensor, 0, tensor.numElements(), values.data());
  return values;
}

template <> std::vector<Wide> load(const Tensor &tensor) {
  std::vector<Wide> values(static_cast<size_t>(tensor.numElements()));
  loadInts(tensor, 0, tensor.numElements(), values.data());
  return values;
}

template <> std::vector<uint64_t> load(const Tensor &tensor) {
  std::vector<Wide> wide = load<Wide>(tensor);
  std::vector<uint64_t> values(wide.size());
  std::ranges::transform(wide, values.begin(), [](Wide v) { return static_cast<uint64_t>(v); });
  return values;
}

Expected<Value> store(const ResultType &type, const std::vector<double> &values) {
  uint8_t *data = nullptr;
  Tensor result = BYCC_TRY(Tensor::make(type.dtype, type.shape, data));
  storeReals(type.dtype, data, 0, static_cast<int64_t>(values.size()), values.data());
  return Value(std::move(result));
}

Expected<Value> store(DType dtype, Ints shape, const std::vector<Wide> &values) {
  uint8_t *data = nullptr;
  Tensor result = BYCC_TRY(Tensor::make(dtype, std::move(shape), data));
  storeInts(dtype, data, 0, static_cast<int64_t>(values.size()), values.data());
  return Value(std::move(result));
}

Expected<Value> store(const ResultType &type, const std::vector<Wide> &values) {
  return store(type.dtype, type.shape, values);
}

Expected<Value> store(const ResultType &type, const std::vector<uint64_t> &values) {
  std::vector<Wide> wide(values.size());
  // Signed, so that a float result of an integer product has the right sign.
  std::ranges::transform(values, wide.begin(), [](uint64_t v) { return static_cast<int64_t>(v); });
  return store(type.dtype, type.shape, wide);
}

Ints loadIndices(const Tensor &tensor) {
  Ints values(static_cast<size_t>(tensor.numElements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = tensor.integer(static_cast<int64_t>(i));
  return values;
}

int64_t count(std::span<const int64_t> shape) {
  if (std::ranges::find(shape, 0) != shape.end())
    return 0;
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= extent;
  return product;
}

Ints rowStrides(std::span<const int64_t> shape) {
  Ints strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Ints broadcastStrides(std::span<const int64_t> shape, size_t rank) {
  Ints own = rowStrides(shape);
  Ints strides(rank, 0);
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1)
      strides[rank - shape.size() + i] = own[i];
  return strides;
}

Tensor withShape(const Tensor &tensor, Ints shape) {
  Tensor result = tensor;
  result.shape = std::move(shape);
  return result;
}

Ints logicalShape(const Layout &layout, std::string_view letters, std::span<const int64_t> shape) {
  Ints logical(letters.size(), 1);
  for (size_t i = 0; i < layout.rank(); ++i)
    logical[letters.find(layout.axes()[i].letter)] *= shape[i];
  return logical;
}

int64_t layoutOffset(const Layout &layout, std::string_view letters, std::span<const int64_t> shape,
                     std::span<const int64_t> index) {
  // From the innermost axis outwards: each block takes the remainder, the axis
  // itself what is left.
  Ints left(index.begin(), index.end());
  int64_t offset = 0, stride = 1;
  for (size_t i = layout.rank(); i-- > 0;) {
    const Layout::Axis &axis = layout.axes()[i];
    int64_t &rest = left[letters.find(axis.letter)];
    int64_t at = rest;
    if (axis.block) {
      at = rest % axis.block;
      rest /= axis.block;
    }
    offset += at * stride;
    stride *= shape[i];
  }
  return offset;
}

namespace {

bool isPlain(const Layout &layout, std::string_view letters) {
  return layout.primal() == letters && !layout.isBlocked();
}

} // namespace

Expected<Tensor> toPlain(const Tensor &tensor, const Layout &layout, std::string_view letters) {
  if (isPlain(layout, letters))
    return tensor;
  return moveElements(tensor, logicalShape(layout, letters, tensor.shape), [&](const Ints &index) {
    return layoutOffset(layout, letters, tensor.shape, index);
  });
}

Expected<Tensor> fromPlain(const Tensor &plain, const Layout &layout, std::string_view letters,
                           const Ints &shape) {
  if (isPlain(layout, letters))
    return plain;
  uint8_t *data = nullptr;
  Tensor result = BYCC_TRY(Tensor::make(plain.dtype, shape, data));
  size_t size = static_cast<size_t>(sizeInBytes(plain.dtype));
  IndexWalk walk(plain.shape, {});
  for (int64_t i = 0, n = plain.numElements(); i < n; ++i, walk.next()) {
    int64_t to = layoutOffset(layout, letters, shape, walk.index());
    std::memcpy(data + static_cast<size_t>(to) * size,
                plain.bytes.get() + static_cast<size_t>(i) * size, size);
  }
  return result;
}

} // namespace eval

Expected<Tensor> Tensor::make(DType dtype, std::vector<int64_t> shape, uint8_t *&data) {
  int64_t bytes = sizeInBytes(dtype);
  bool isOver = false, isEmpty = false;
  for (int64_t extent : shape) {
    BYCC_ASSERT(extent >= 0, "extents of a tensor are not negative");
    isEmpty |= extent == 0;
    isOver |= __builtin_mul_overflow(bytes, extent, &bytes) || bytes > maxTensorBytes;
  }
  if (isEmpty)
    bytes = 0;
  else if (isOver)
    return error(Status::Limit) << "a tensor is larger than 16 GiB";
  std::shared_ptr<uint8_t[]> memory(
      new (std::nothrow) uint8_t[static_cast<size_t>(std::max<int64_t>(bytes, 1))]());
  if (!memory)
    return error(Status::Limit) << "no memory for a tensor of " << bytes << " bytes";
  data = memory.get();
  Tensor result;
  result.dtype = dtype;
  result.shape = std::move(shape);
  result.bytes = std::shared_ptr<const uint8_t>(memory, memory.get());
  return result;
}

Expected<Tensor> Tensor::fromBytes(DType dtype, std::vector<int64_t> shape, const void *data) {
  uint8_t *to = nullptr;
  Tensor result = BYCC_TRY(make(dtype, std::move(shape), to));
  if (result.sizeBytes())
    std::memcpy(to, data, static_cast<size_t>(result.sizeBytes()));
  return result;
}

Expected<Tensor> Tensor::fromDoubles(DType dtype, std::vector<int64_t> shape,
                                     std::span<const double> values) {
  uint8_t *to = nullptr;
  Tensor result = BYCC_TRY(make(dtype, std::move(shape), to));
  BYCC_ASSERT(result.numElements() == static_cast<int64_t>(values.size()),
              "as many values as the shape has elements");
  eval::storeReals(dtype, to, 0, result.numElements(), values.data());
  return result;
}

Tensor Tensor::fromConstant(const Module &module, const Constant &constant) {
  Tensor result;
  result.dtype = module.types.dtype(constant.type);
  for (Dim dim : module.types.shape(constant.type))
    result.shape.push_back(dim.value());
  result.bytes = std::shared_ptr<const uint8_t>(constant.storage, constant.data());
  return result;
}

int64_t Tensor::numElements() const { return eval::count(shape); }

double Tensor::real(int64_t index) const {
  double value = 0;
  eval::loadReals(*this, index, 1, &value);
  return value;
}

int64_t Tensor::integer(int64_t index) const {
  eval::Wide value = 0;
  eval::loadInts(*this, index, 1, &value);
  return static_cast<int64_t>(value);
}

namespace {

void appendTensors(const Value &value, std::vector<Tensor> &out) {
  if (value.isTensor())
    out.push_back(value.tensor());
  else if (value.isTuple())
    for (const Value &field : value.fields()) // tuple types nest as deep as the text, at most 64
      appendTensors(field, out);
}

} // namespace

std::vector<Tensor> Value::flatten() const {
  std::vector<Tensor> tensors;
  appendTensors(*this, tensors);
  return tensors;
}

} // namespace bycc
