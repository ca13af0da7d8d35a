// Updates by index: each in one pass, in the order of the elements, so repeated indices have one
// meaning.
#include "Kernel.h"

#include <algorithm>
#include <cmath>

namespace bycc {
namespace {

template <typename T> T joined(ScatterMode mode, T old, T update) {
  switch (mode) {
  case ScatterMode::Add:
  case ScatterMode::Mean:
    return old + update;
  case ScatterMode::Mul:
    return old * update;
  case ScatterMode::Min:
    return update < old || update != update ? update : old;
  case ScatterMode::Max:
    return update > old || update != update ? update : old;
  case ScatterMode::Update:
    break;
  }
  return update;
}

// Elements of type T, which is how the result stores them.
template <typename T, ScatterMode mode> T joinedAs(T old, T update) {
  if constexpr (std::is_integral_v<T> && (mode == ScatterMode::Add || mode == ScatterMode::Mul)) {
    using U = std::make_unsigned_t<T>; // wraps
    return static_cast<T>(joined(mode, static_cast<U>(old), static_cast<U>(update)));
  }
  return joined(mode, old, update);
}

template <typename T, ScatterMode mode>
void joinRow(uint8_t *result, int64_t to, const uint8_t *updates, int64_t from, int64_t count) {
  constexpr int64_t block = 8; // of a known size, which compilers make vectors of
  T *__restrict old = reinterpret_cast<T *>(result) + to;
  const T *__restrict update = reinterpret_cast<const T *>(updates) + from;
  int64_t i = 0;
  for (; i + block <= count; i += block)
    for (int64_t j = i; j < i + block; ++j)
      old[j] = joinedAs<T, mode>(old[j], update[j]);
  for (; i < count; ++i)
    old[i] = joinedAs<T, mode>(old[i], update[i]);
}

template <typename T, ScatterMode mode>
void joinPlaces(uint8_t *result, std::span<const int64_t> places, const uint8_t *updates,
                int64_t from) {
  T *old = reinterpret_cast<T *>(result);
  const T *update = reinterpret_cast<const T *>(updates) + from;
  for (size_t i = 0; i < places.size(); ++i)
    old[places[i]] = joinedAs<T, mode>(old[places[i]], update[i]);
}

struct JoinLoops {
  decltype(&joinRow<float, ScatterMode::Add>) row = nullptr;
  decltype(&joinPlaces<float, ScatterMode::Add>) places = nullptr;
};

template <typename T> JoinLoops loopsFor(ScatterMode mode) {
#define LOOPS(each)                                                                                \
  case ScatterMode::each:                                                                          \
    return {joinRow<T, ScatterMode::each>, joinPlaces<T, ScatterMode::each>};
  switch (mode) {
    LOOPS(Update)
    LOOPS(Add)
    LOOPS(Mul)
    LOOPS(Min)
    LOOPS(Max)
  case ScatterMode::Mean:
    break;
  }
#undef LOOPS
  return {};
}

// Loops of the common dtypes; none for those that are calculated in another one.
JoinLoops loopsFor(ScatterMode mode, DType dtype) {
  if (mode == ScatterMode::Update)
    switch (sizeInBytes(dtype)) {
    case 1:
      return loopsFor<uint8_t>(mode);
    case 2:
      return loopsFor<uint16_t>(mode);
    case 4:
      return loopsFor<uint32_t>(mode);
    case 8:
      return loopsFor<uint64_t>(mode);
    default:
      return {};
    }
  switch (dtype) {
  case DType::Float32:
    return loopsFor<float>(mode);
  case DType::Float64:
    return loopsFor<double>(mode);
  case DType::Int32:
    return loopsFor<int32_t>(mode);
  case DType::Int64:
    return loopsFor<int64_t>(mode);
  default:
    return {};
  }
}

// Joins updates with elements of the result.
class Joiner {
public:
  Joiner(ScatterMode mode, const Operand &result, const Operand &updates)
      : mode_(mode), result_(result), updates_(updates), isReal_(isFloat(result.dtype)),
        isUnsigned_(isUnsignedInt(result.dtype)), loops_(loopsFor(mode, result.dtype)),
        hits_(mode == ScatterMode::Mean ? static_cast<size_t>(result.count()) : 0, 1) {}

  // Updates from, from + 1, ... into elements to, to + 1, ...
  void row(int64_t to, int64_t from, int64_t count) {
    if (loops_.row)
      return loops_.row(result_.data, to, updates_.data, from, count);
    for (int64_t i = 0; i < count; ++i)
      join(to + i, from + i);
  }
  // The same into places[0], places[1], ...
  void places(std::span<const int64_t> places, int64_t from) {
    if (loops_.places)
      return loops_.places(result_.data, places, updates_.data, from);
    for (int64_t to : places)
      join(to, from++);
  }

  void finish() {
    for (size_t i = 0; i < hits_.size(); ++i) {
      int64_t at = static_cast<int64_t>(i);
      if (hits_[i] == 1)
        continue;
      if (isReal_)
        result_.setReal(at, result_.real(at) / static_cast<double>(hits_[i]));
      else if (isUnsigned_)
        result_.setInteger(at, static_cast<int64_t>(static_cast<uint64_t>(result_.integer(at)) /
                                                    static_cast<uint64_t>(hits_[i])));
      else
        result_.setInteger(at, result_.integer(at) / hits_[i]);
    }
  }

private:
  void join(int64_t to, int64_t from) {
    if (!hits_.empty())
      ++hits_[static_cast<size_t>(to)];
    if (isReal_)
      result_.setReal(to, joined(mode_, result_.real(to), updates_.real(from)));
    else
      result_.setInteger(to, joinedInts(result_.integer(to), updates_.integer(from)));
  }

  int64_t joinedInts(int64_t old, int64_t update) const {
    bool isOrder = mode_ == ScatterMode::Min || mode_ == ScatterMode::Max;
    if (isOrder && !isUnsigned_)
      return joined(mode_, old, update);
    return static_cast<int64_t>(
        joined(mode_, static_cast<uint64_t>(old), static_cast<uint64_t>(update))); // wraps
  }

  ScatterMode mode_;
  Operand result_, updates_;
  bool isReal_, isUnsigned_;
  JoinLoops loops_;
  std::vector<int64_t> hits_; // old value and updates
};

// A tensor of updates beside the one they go to, with as few axes as have the same
// elements at the same distances; the axis of the indices stays alone.
struct ScatterShape {
  ScatterShape(std::span<const int64_t> x, std::span<const int64_t> updates, size_t axisOfX) {
    Ints strides = rowStrides(x);
    for (size_t d = 0; d < x.size(); ++d) {
      bool isAxis = d == axisOfX;
      if (!isAxis && x[d] == 1 && updates[d] == 1)
        continue;
      if (isAxis)
        axis = extents.size();
      if (!isAxis && updates[d] == x[d] && !extents.empty() && extents.size() - 1 != axis) {
        extents.back() *= updates[d];
        stride.back() = strides[d];
      } else {
        extents.push_back(updates[d]);
        stride.push_back(strides[d]);
      }
    }
  }
  Ints extents; // of the updates
  Ints stride;  // of the result
  size_t axis = SIZE_MAX;
};

// The result begins as a copy of x.
Expected<Operand> copied(LibraryCall &call, const Operand &x) {
  Operand result = BYCC_TRY(call.result(0, x.shape));
  std::memcpy(result.data, x.data, static_cast<size_t>(x.count() * x.elementBytes()));
  return result;
}

} // namespace

namespace library {

Expected<> scatterElements(LibraryCall &call) {
  Operand x = call.input(0), where = call.input(1), updates = call.input(2);
  size_t axis = static_cast<size_t>(call.attribute(0));
  for (size_t d = 0; d < x.rank(); ++d)
    if (where.shape[d] != updates.shape[d] || (d != axis && where.shape[d] > x.shape[d]))
      return error(Status::Arg) << "axis " << d << " has " << where.shape[d] << " indices, "
                                << updates.shape[d] << " updates and " << x.shape[d] << " elements";
  Operand result = BYCC_TRY(copied(call, x));
  Joiner joiner(static_cast<ScatterMode>(call.attribute(1)), result, updates);
  ScatterShape shape(x.shape, where.shape, axis);
  int64_t extent = x.shape[axis], count = where.count();
  size_t last = shape.extents.size() - 1;
  int64_t along = shape.stride[shape.axis], step = last == shape.axis ? 0 : shape.stride[last];
  constexpr int64_t mostAtOnce = 1024;
  Ints index(last, 0), places;
  for (int64_t from = 0; from < count;) {
    int64_t begin = 0; // of a row of the last axis
    for (size_t d = 0; d < last; ++d)
      begin += d == shape.axis ? 0 : index[d] * shape.stride[d];
    for (int64_t i = 0, size = 0; i < shape.extents[last]; i += size, from += size) {
      size = std::min(mostAtOnce, shape.extents[last] - i);
      places.resize(static_cast<size_t>(size));
      loadInts(where, from, 1, places);
      bool fits =
          std::ranges::all_of(places, [&](int64_t at) { return at >= -extent && at < extent; });
      for (size_t k = 0; k < places.size() && !fits; ++k)
        BYCC_TRY(checkIndex(places[k], extent)); // names the first
      for (size_t k = 0; k < places.size(); ++k) {
        int64_t at = places[k] < 0 ? places[k] + extent : places[k];
        places[k] = begin + at * along + (i + static_cast<int64_t>(k)) * step;
      }
      joiner.places(places, from);
    }
    for (size_t d = last; d-- > 0 && ++index[d] == shape.extents[d];)
      index[d] = 0;
  }
  joiner.finish();
  return {};
}

Expected<> scatterNd(LibraryCall &call) {
  Operand x = call.input(0), where = call.input(1), updates = call.input(2);
  size_t depth = static_cast<size_t>(where.shape[0]);
  int64_t points = product(where.shape.subspan(1)),
          inner = product(x.shape.subspan(std::min(depth, x.rank())));
  if (depth > x.rank() || updates.count() != points * inner)
    return error(Status::Arg) << "there are " << updates.count() << " updates for " << points
                              << " places of " << inner << " elements";
  Operand result = BYCC_TRY(copied(call, x));
  Joiner joiner(static_cast<ScatterMode>(call.attribute(0)), result, updates);
  Ints strides = rowStrides(x.shape);
  for (int64_t p = 0; p < points; ++p) {
    int64_t to = 0;
    for (size_t c = 0; c < depth; ++c)
      to += strides[c] *
            BYCC_TRY(checkIndex(where.integer(static_cast<int64_t>(c) * points + p), x.shape[c]));
    joiner.row(to, p * inner, inner);
  }
  joiner.finish();
  return {};
}

Expected<> sparseToDense(LibraryCall &call) {
  Operand where = call.input(0), values = call.input(1), fill = call.input(2);
  Operand result = BYCC_TRY(call.result(0, call.plannedShape(0)));
  size_t bytes = static_cast<size_t>(result.elementBytes());
  for (int64_t i = 0, count = result.count(); i < count; ++i)
    std::memcpy(result.at(i), fill.data, bytes);
  Ints strides = rowStrides(result.shape);
  int64_t width = static_cast<int64_t>(result.rank()), points = width ? where.count() / width : 0;
  for (int64_t p = 0; p < points; ++p) {
    int64_t to = 0;
    for (int64_t d = 0; d < width; ++d)
      to +=
          strides[static_cast<size_t>(d)] *
          BYCC_TRY(checkIndex(where.integer(p * width + d), result.shape[static_cast<size_t>(d)]));
    std::memcpy(result.at(to), values.at(values.rank() == 0 ? 0 : p), bytes);
  }
  return {};
}

} // namespace library
} // namespace bycc
