// Running sums, and updates by index: each in one pass, in the order of the
// elements, so repeated indices have one meaning.
#include "Kernel.h"

#include <algorithm>
#include <cmath>

namespace bycc {
namespace {

template <typename T> void accumulate(std::span<T> line, bool isProduct, bool isExclusive) {
  T total = isProduct ? 1 : 0;
  for (T &value : line) {
    T next = isProduct ? total * value : total + value;
    value = isExclusive ? total : next;
    total = next;
  }
}

template <typename T> T joined(ScatterMode mode, T old, T update) {
  switch (mode) {
  case ScatterMode::Add:
  case ScatterMode::Mean: return old + update;
  case ScatterMode::Mul: return old * update;
  case ScatterMode::Min: return update < old || update != update ? update : old;
  case ScatterMode::Max: return update > old || update != update ? update : old;
  case ScatterMode::Update: break;
  }
  return update;
}

// Writes update `from` into element `to`.
class Joiner {
public:
  Joiner(ScatterMode mode, const Operand &result, const Operand &updates)
      : mode_(mode), result_(result), updates_(updates), isReal_(isFloat(result.dtype)),
        isUnsigned_(isUnsignedInt(result.dtype)), hits_(mode == ScatterMode::Mean ? static_cast<size_t>(result.count()) : 0, 1) {}

  void join(int64_t to, int64_t from) {
    if (!hits_.empty())
      ++hits_[static_cast<size_t>(to)];
    if (mode_ == ScatterMode::Update)
      std::memcpy(result_.at(to), updates_.at(from), static_cast<size_t>(result_.elementBytes()));
    else if (isReal_)
      result_.setReal(to, joined(mode_, result_.real(to), updates_.real(from)));
    else
      result_.setInteger(to, joinedInts(result_.integer(to), updates_.integer(from)));
  }

  void finish() {
    for (size_t i = 0; i < hits_.size(); ++i) {
      int64_t at = static_cast<int64_t>(i);
      if (hits_[i] == 1)
        continue;
      if (isReal_)
        result_.setReal(at, result_.real(at) / static_cast<double>(hits_[i]));
      else if (isUnsigned_)
        result_.setInteger(at, static_cast<int64_t>(static_cast<uint64_t>(result_.integer(at)) / static_cast<uint64_t>(hits_[i])));
      else
        result_.setInteger(at, result_.integer(at) / hits_[i]);
    }
  }

private:
  int64_t joinedInts(int64_t old, int64_t update) const {
    bool isOrder = mode_ == ScatterMode::Min || mode_ == ScatterMode::Max;
    if (isOrder && !isUnsigned_)
      return joined(mode_, old, update);
    return static_cast<int64_t>(joined(mode_, static_cast<uint64_t>(old), static_cast<uint64_t>(update))); // wraps
  }

  ScatterMode mode_;
  Operand result_, updates_;
  bool isReal_, isUnsigned_;
  std::vector<int64_t> hits_; // old value and updates
};

// The result begins as a copy of x.
Expected<Operand> copied(LibraryCall &call, const Operand &x) {
  Operand result = BYCC_TRY(call.result(0, x.shape));
  std::memcpy(result.data, x.data, static_cast<size_t>(x.count() * x.elementBytes()));
  return result;
}

} // namespace

namespace library {

Expected<> cumulate(LibraryCall &call) {
  Operand x = call.input(0);
  bool isFlat = call.attribute(0) < 0, isProduct = call.attribute(1), isExclusive = call.attribute(2);
  int64_t count = x.count();
  std::span<const int64_t> shape = isFlat ? std::span<const int64_t>(&count, 1) : x.shape;
  Operand result = BYCC_TRY(call.result(0, shape));
  Lines lines(shape, isFlat ? 0 : static_cast<size_t>(call.attribute(0)));
  int64_t grain = std::max<int64_t>(16384 / std::max<int64_t>(lines.extent, 1), 1);
  call.parallel(lines.count, grain, [&](int64_t begin, int64_t end) {
    std::vector<double> reals(isFloat(result.dtype) ? static_cast<size_t>(lines.extent) : 0);
    Ints ints(isFloat(result.dtype) ? 0 : static_cast<size_t>(lines.extent));
    for (int64_t line = begin; line < end; ++line) {
      int64_t at = lines.begin(line);
      if (isFloat(result.dtype)) {
        loadReals(x, at, lines.stride, reals);
        accumulate<double>(reals, isProduct, isExclusive);
        storeReals(result, at, lines.stride, reals);
      } else {
        loadInts(x, at, lines.stride, ints);
        accumulate(std::span(reinterpret_cast<uint64_t *>(ints.data()), ints.size()), isProduct, isExclusive); // wraps
        storeInts(result, at, lines.stride, ints);
      }
    }
  });
  return {};
}

Expected<> scatterElements(LibraryCall &call) {
  Operand x = call.input(0), where = call.input(1), updates = call.input(2);
  size_t axis = static_cast<size_t>(call.attribute(0));
  for (size_t d = 0; d < x.rank(); ++d)
    if (where.shape[d] != updates.shape[d] || (d != axis && where.shape[d] > x.shape[d]))
      return error(Status::Arg) << "axis " << d << " has " << where.shape[d] << " indices, " << updates.shape[d] << " updates and " << x.shape[d] << " elements";
  Operand result = BYCC_TRY(copied(call, x));
  Joiner joiner(static_cast<ScatterMode>(call.attribute(1)), result, updates);
  Ints strides = rowStrides(x.shape), index(x.rank(), 0);
  for (int64_t i = 0, count = where.count(); i < count; ++i) {
    int64_t to = BYCC_TRY(checkIndex(where.integer(i), x.shape[axis])) * strides[axis];
    for (size_t d = 0; d < index.size(); ++d)
      to += d == axis ? 0 : index[d] * strides[d];
    joiner.join(to, i);
    for (size_t d = index.size(); d-- > 0 && ++index[d] == where.shape[d];)
      index[d] = 0;
  }
  joiner.finish();
  return {};
}

Expected<> scatterNd(LibraryCall &call) {
  Operand x = call.input(0), where = call.input(1), updates = call.input(2);
  size_t depth = static_cast<size_t>(where.shape[0]);
  int64_t points = product(where.shape.subspan(1)), inner = product(x.shape.subspan(std::min(depth, x.rank())));
  if (depth > x.rank() || updates.count() != points * inner)
    return error(Status::Arg) << "there are " << updates.count() << " updates for " << points << " places of " << inner << " elements";
  Operand result = BYCC_TRY(copied(call, x));
  Joiner joiner(static_cast<ScatterMode>(call.attribute(0)), result, updates);
  Ints strides = rowStrides(x.shape);
  for (int64_t p = 0; p < points; ++p) {
    int64_t to = 0;
    for (size_t c = 0; c < depth; ++c)
      to += strides[c] * BYCC_TRY(checkIndex(where.integer(static_cast<int64_t>(c) * points + p), x.shape[c]));
    for (int64_t i = 0; i < inner; ++i)
      joiner.join(to + i, p * inner + i);
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
      to += strides[static_cast<size_t>(d)] * BYCC_TRY(checkIndex(where.integer(p * width + d), result.shape[static_cast<size_t>(d)]));
    std::memcpy(result.at(to), values.at(values.rank() == 0 ? 0 : p), bytes);
  }
  return {};
}

} // namespace library
} // namespace bycc
