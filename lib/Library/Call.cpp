#include "Kernel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <mutex>

namespace bycc {
namespace {

// Calls fn with a pointer of the element's C type; 16-bit floats as uint16_t.
template <typename Fn> auto withPointer(DType dtype, void *data, Fn fn) {
  switch (dtype) {
  case DType::Int8:
    return fn(static_cast<int8_t *>(data));
  case DType::Int16:
    return fn(static_cast<int16_t *>(data));
  case DType::Int32:
    return fn(static_cast<int32_t *>(data));
  case DType::Int64:
    return fn(static_cast<int64_t *>(data));
  case DType::UInt16:
  case DType::Float16:
  case DType::BFloat16:
    return fn(static_cast<uint16_t *>(data));
  case DType::UInt32:
    return fn(static_cast<uint32_t *>(data));
  case DType::UInt64:
    return fn(static_cast<uint64_t *>(data));
  case DType::Float32:
    return fn(static_cast<float *>(data));
  case DType::Float64:
    return fn(static_cast<double *>(data));
  case DType::Bool:
  case DType::UInt8:
    break;
  }
  return fn(static_cast<uint8_t *>(data));
}

template <typename T> double toReal(T value, DType dtype) {
  if constexpr (std::is_same_v<T, uint16_t>) {
    if (dtype == DType::Float16)
      return halfToFloat(value);
    if (dtype == DType::BFloat16)
      return bfloat16ToFloat(value);
  }
  return static_cast<double>(value);
}

int64_t truncated(double value) {
  if (!(value > -0x1p63)) // and NaN
    return std::isnan(value) ? 0 : INT64_MIN;
  return value < 0x1p63 ? static_cast<int64_t>(value) : INT64_MAX;
}

template <typename T> T fromReal(double value, DType dtype) {
  if constexpr (std::is_same_v<T, uint16_t>) {
    if (dtype == DType::Float16)
      return floatToHalf(static_cast<float>(value));
    if (dtype == DType::BFloat16)
      return floatToBFloat16(static_cast<float>(value));
  }
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value);
  else
    return static_cast<T>(truncated(value));
}

template <typename T> int64_t toInteger(T value, DType dtype) {
  if constexpr (std::is_floating_point_v<T>)
    return truncated(value);
  else
    return isFloat(dtype) ? truncated(toReal(value, dtype)) : static_cast<int64_t>(value);
}

template <typename T> T fromInteger(int64_t value, DType dtype) {
  if (isFloat(dtype))
    return fromReal<T>(static_cast<double>(value), dtype);
  return static_cast<T>(dtype == DType::Bool ? value != 0 : value);
}

uint64_t keyOfReal(double value) {
  if (std::isnan(value))
    return UINT64_MAX;
  auto bits = std::bit_cast<uint64_t>(value == 0 ? 0.0 : value);
  return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
}

} // namespace

// --- operands

int64_t product(std::span<const int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    result *= extent;
  return result;
}

Ints rowStrides(std::span<const int64_t> shape) {
  Ints strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

int64_t Operand::count() const { return product(shape); }

double Operand::real(int64_t index) const {
  return withPointer(dtype, data, [&](auto *p) { return toReal(p[index], dtype); });
}

int64_t Operand::integer(int64_t index) const {
  return withPointer(dtype, data, [&](auto *p) { return toInteger(p[index], dtype); });
}

void Operand::setReal(int64_t index, double value) const {
  withPointer(dtype, data, [&](auto *p) {
    p[index] = fromReal<std::remove_reference_t<decltype(*p)>>(value, dtype);
  });
}

void Operand::setInteger(int64_t index, int64_t value) const {
  withPointer(dtype, data, [&](auto *p) {
    p[index] = fromInteger<std::remove_reference_t<decltype(*p)>>(value, dtype);
  });
}

// --- the call

Operand LibraryCall::input(size_t index) const {
  const bycc_operand &given = call_.inputs[index];
  return {static_cast<uint8_t *>(given.data),
          {given.shape, static_cast<size_t>(given.rank)},
          static_cast<DType>(given.dtype)};
}

double LibraryCall::realAttribute(size_t index) const {
  return std::bit_cast<double>(attribute(index));
}

Expected<Operand> LibraryCall::result(size_t index, std::span<const int64_t> shape) {
  bycc_operand &given = call_.results[index];
  size_t rank = static_cast<size_t>(given.rank);
  bool isSame = shape.size() == rank;
  if (given.data) {
    isSame = isSame && std::equal(shape.begin(), shape.end(), given.shape);
  } else if (isSame) {
    int64_t bytes = sizeInBytes(static_cast<DType>(given.dtype));
    for (size_t d = 0; d < rank; ++d)
      if (shape[d] < 0 || __builtin_mul_overflow(bytes, shape[d], &bytes))
        return error(Status::Limit) << "result " << index << " is too large";
    std::copy(shape.begin(), shape.end(), given.shape);
    given.data = allocate_(given, bytes);
    if (!given.data)
      return error(Status::Limit) << "no memory for result " << index << ": " << bytes << " bytes";
  }
  if (!isSame)
    return error(Status::Internal) << "result " << index << " has other extents than planned";
  return Operand{
      static_cast<uint8_t *>(given.data), {given.shape, rank}, static_cast<DType>(given.dtype)};
}

std::span<const int64_t> LibraryCall::plannedShape(size_t index) const {
  const bycc_operand &given = call_.results[index];
  return {given.shape, static_cast<size_t>(given.rank)};
}

void LibraryCall::parallel(int64_t count, int64_t grain, const Slice &slice) const {
  struct Shared {
    const Slice &slice;
    std::mutex mutex;
    std::exception_ptr thrown;
  } shared{slice, {}, nullptr};
  bycc_task_fn task = [](void *closure, int64_t begin, int64_t end, int32_t) {
    auto &all = *static_cast<Shared *>(closure);
    try {
      all.slice(begin, end);
    } catch (...) {
      std::lock_guard lock(all.mutex);
      all.thrown = std::current_exception();
    }
  };
  parallelFor_(task, &shared, count, grain);
  if (shared.thrown)
    std::rethrow_exception(shared.thrown);
}

// --- elements

void loadReals(const Operand &from, int64_t begin, int64_t stride, std::span<double> to) {
  withPointer(from.dtype, from.data, [&](auto *p) {
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = toReal(p[begin + static_cast<int64_t>(i) * stride], from.dtype);
  });
}

void loadInts(const Operand &from, int64_t begin, int64_t stride, std::span<int64_t> to) {
  withPointer(from.dtype, from.data, [&](auto *p) {
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = toInteger(p[begin + static_cast<int64_t>(i) * stride], from.dtype);
  });
}

void storeReals(const Operand &to, int64_t begin, int64_t stride, std::span<const double> from) {
  withPointer(to.dtype, to.data, [&](auto *p) {
    for (size_t i = 0; i < from.size(); ++i)
      p[begin + static_cast<int64_t>(i) * stride] =
          fromReal<std::remove_reference_t<decltype(*p)>>(from[i], to.dtype);
  });
}

void storeInts(const Operand &to, int64_t begin, int64_t stride, std::span<const int64_t> from) {
  withPointer(to.dtype, to.data, [&](auto *p) {
    for (size_t i = 0; i < from.size(); ++i)
      p[begin + static_cast<int64_t>(i) * stride] =
          fromInteger<std::remove_reference_t<decltype(*p)>>(from[i], to.dtype);
  });
}

Ints allInts(const Operand &from) {
  Ints values(static_cast<size_t>(from.count()));
  loadInts(from, 0, 1, values);
  return values;
}

std::vector<double> allReals(const Operand &from) {
  std::vector<double> values(static_cast<size_t>(from.count()));
  loadReals(from, 0, 1, values);
  return values;
}

void loadKeys(const Operand &from, int64_t begin, int64_t stride, std::span<uint64_t> to) {
  withPointer(from.dtype, from.data, [&](auto *p) {
    uint64_t signBit = isSignedInt(from.dtype) ? uint64_t{1} << 63 : 0;
    for (size_t i = 0; i < to.size(); ++i) {
      auto value = p[begin + static_cast<int64_t>(i) * stride];
      to[i] = isFloat(from.dtype) ? keyOfReal(toReal(value, from.dtype))
                                  : static_cast<uint64_t>(toInteger(value, from.dtype)) ^ signBit;
    }
  });
}

Lines::Lines(std::span<const int64_t> shape, size_t axis)
    : extent(shape[axis]), stride(product(shape.subspan(axis + 1))),
      count(product(shape.first(axis)) * stride) {}

Expected<int64_t> checkIndex(int64_t index, int64_t extent) {
  if (index < -extent || index >= extent)
    return error(Status::Arg) << "index " << index << " is out of range for an axis of " << extent
                              << " elements";
  return index < 0 ? index + extent : index;
}

} // namespace bycc
