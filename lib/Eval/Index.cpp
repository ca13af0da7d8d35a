// Operators that read or write by index, make indices, or ask for shapes.

#include "Kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace bycc::eval {
namespace {

// An index that may count from the end; INPUT outside of the axis.
Expected<int64_t> checkIndex(const KernelContext &context, int64_t index, int64_t extent) {
  if (index < -extent || index >= extent)
    return context.error() << "index " << index << " is out of range for an axis of " << extent
                           << " elements";
  return index < 0 ? index + extent : index;
}

Expected<> checkIndices(const KernelContext &context, Ints &indices, int64_t extent) {
  for (int64_t &index : indices)
    index = BYCC_TRY(checkIndex(context, index, extent));
  return {};
}

// --- reading

Expected<> applyTakeMode(const KernelContext &context, Ints &indices, int64_t extent) {
  std::string_view mode = context.text("mode");
  if (extent == 0 && !indices.empty())
    return context.error() << "an element is taken from an empty axis";
  if (mode == "fast" || mode == "error")
    return checkIndices(context, indices, extent);
  for (int64_t &index : indices)
    index = mode == "clip" ? std::clamp<int64_t>(index, 0, extent - 1)
                           : (index % extent + extent) % extent;
  return {};
}

Expected<Value> take(const KernelContext &context) {
  const Tensor &x = context.input(0), &where = context.input(1);
  Ints indices = loadIndices(where);
  if (context.isNone("axis")) {
    BYCC_TRY(applyTakeMode(context, indices, x.numElements()));
    Ints strides = rowStrides(where.shape);
    return moved(context, [&](const Ints &index) {
      return indices[static_cast<size_t>(dot(index, strides))];
    });
  }
  size_t axis = context.axis("axis", x.shape.size());
  BYCC_TRY(applyTakeMode(context, indices, x.shape[axis]));
  int64_t batchAttr = context.integer("batch_dims");
  size_t rank = where.shape.size();
  size_t batch =
      static_cast<size_t>(batchAttr < 0 ? batchAttr + static_cast<int64_t>(rank) : batchAttr);
  Ints strides = rowStrides(x.shape), whereStrides = rowStrides(where.shape);
  return moved(context, [&](const Ints &index) {
    int64_t at = 0, offset = 0;
    for (size_t i = 0; i < batch; ++i)
      at += index[i] * whereStrides[i];
    for (size_t i = batch; i < rank; ++i)
      at += index[axis + i - batch] * whereStrides[i];
    for (size_t i = 0; i < axis; ++i)
      offset += index[i] * strides[i];
    for (size_t i = axis + 1; i < strides.size(); ++i)
      offset += index[i + rank - batch - 1] * strides[i];
    return offset + indices[static_cast<size_t>(at)] * strides[axis];
  });
}

Expected<Value> gather(const KernelContext &context) {
  const Tensor &x = context.input(0), &where = context.input(1);
  size_t axis = context.axis("axis", x.shape.size());
  Ints indices = loadIndices(where);
  BYCC_TRY(checkIndices(context, indices, x.shape[axis]));
  Ints strides = rowStrides(x.shape), whereStrides = rowStrides(where.shape);
  return moved(context, [&](const Ints &index) {
    int64_t at = indices[static_cast<size_t>(dot(index, whereStrides))];
    return dot(index, strides) + (at - index[axis]) * strides[axis];
  });
}

// Coordinates (first axis of `where`) as offsets into x, from axis `first` on.
Expected<Ints> coordinateOffsets(const KernelContext &context, const Tensor &x, const Tensor &where,
                                 size_t first) {
  Ints indices = loadIndices(where), strides = rowStrides(x.shape);
  size_t coordinates = static_cast<size_t>(where.shape[0]);
  size_t points = static_cast<size_t>(count(std::span(where.shape).subspan(1)));
  Ints offsets(points, 0);
  for (size_t c = 0; c < coordinates; ++c)
    for (size_t p = 0; p < points; ++p)
      offsets[p] += strides[first + c] *
                    BYCC_TRY(checkIndex(context, indices[c * points + p], x.shape[first + c]));
  return offsets;
}

Expected<Value> gatherNd(const KernelContext &context) {
  const Tensor &x = context.input(0), &where = context.input(1);
  size_t batch = static_cast<size_t>(context.integer("batch_dims"));
  size_t coordinates = static_cast<size_t>(where.shape[0]);
  Ints offsets = BYCC_TRY(coordinateOffsets(context, x, where, batch));
  Ints pointStrides = rowStrides(std::span(where.shape).subspan(1)), strides = rowStrides(x.shape);
  size_t points = where.shape.size() - 1;
  return moved(context, [&](const Ints &index) {
    int64_t at = 0, offset = 0;
    for (size_t i = 0; i < points; ++i)
      at += index[i] * pointStrides[i];
    for (size_t i = 0; i < batch; ++i)
      offset += index[i] * strides[i];
    for (size_t i = points; i < index.size(); ++i)
      offset += index[i] * strides[batch + coordinates + i - points];
    return offset + offsets[static_cast<size_t>(at)];
  });
}

Expected<Value> advIndex(const KernelContext &context) {
  std::vector<Tensor> inputs = context.tuple(0);
  const Tensor &x = inputs[0];
  const Ints &shape = context.result().shape;
  size_t indexed = inputs.size() - 1, rest = x.shape.size() - indexed;
  size_t rank = shape.size() - rest; // of the broadcast indices
  std::vector<Ints> indices, where;
  for (size_t i = 1; i < inputs.size(); ++i) {
    indices.push_back(loadIndices(inputs[i]));
    BYCC_TRY(checkIndices(context, indices.back(), x.shape[i - 1]));
    where.push_back(broadcastStrides(inputs[i].shape, rank));
  }
  Ints strides = rowStrides(x.shape);
  return Value(BYCC_TRY(moveElements(x, shape, [&](const Ints &index) {
    int64_t offset = 0;
    for (size_t k = 0; k < indexed; ++k) {
      int64_t at = 0;
      for (size_t i = 0; i < rank; ++i)
        at += index[i] * where[k][i];
      offset += indices[k][static_cast<size_t>(at)] * strides[k];
    }
    for (size_t i = 0; i < rest; ++i)
      offset += index[rank + i] * strides[indexed + i];
    return offset;
  })));
}

// --- writing

// How an update joins what is there.
template <typename T> T joined(std::string_view how, T old, T update) {
  if (how == "add" || how == "mean")
    return old + update;
  if (how == "mul")
    return old * update;
  if (how == "min")
    return update < old || update != update ? update : old;
  if (how == "max")
    return update > old || update != update ? update : old;
  return update;
}

template <typename T>
Expected<Value> scattered(const KernelContext &context, std::string_view how, const Ints &targets) {
  std::vector<T> values = load<T>(context.input(0)), updates = load<T>(context.input(2));
  std::vector<int64_t> hits(how == "mean" ? values.size() : 0, 1);
  for (size_t i = 0; i < targets.size(); ++i) {
    size_t at = static_cast<size_t>(targets[i]);
    values[at] = joined(how, values[at], updates[i]);
    if (!hits.empty())
      ++hits[at];
  }
  for (size_t i = 0; i < hits.size(); ++i)
    if (hits[i] > 1)
      values[i] = values[i] / static_cast<T>(hits[i]);
  return store(context.result(), values);
}

Expected<Value> scatter(const KernelContext &context, std::string_view how, const Ints &targets) {
  if (isFloat(context.input(0).dtype))
    return scattered<double>(context, how, targets);
  return scattered<Wide>(context, how, targets);
}

Expected<Value> scatterElements(const KernelContext &context) {
  const Tensor &x = context.input(0), &where = context.input(1);
  size_t axis = context.axis("axis", x.shape.size());
  Ints indices = loadIndices(where), strides = rowStrides(x.shape), targets;
  BYCC_TRY(checkIndices(context, indices, x.shape[axis]));
  IndexWalk walk(where.shape, {});
  for (int64_t index : indices) {
    targets.push_back(dot(walk.index(), strides) + (index - walk.index()[axis]) * strides[axis]);
    walk.next();
  }
  return scatter(context, context.text("reduction"), targets);
}

Expected<Value> scatterNd(const KernelContext &context) {
  const Tensor &x = context.input(0), &where = context.input(1);
  Ints offsets = BYCC_TRY(coordinateOffsets(context, x, where, 0)), targets;
  int64_t inner = count(std::span(x.shape).subspan(static_cast<size_t>(where.shape[0])));
  for (int64_t offset : offsets)
    for (int64_t i = 0; i < inner; ++i)
      targets.push_back(offset + i);
  return scatter(context, context.text("mode"), targets);
}

Expected<Value> sparseToDense(const KernelContext &context) {
  const Tensor &where = context.input(0), &values = context.input(1), &fill = context.input(2);
  const ResultType &type = context.result();
  Tensor base = BYCC_TRY(moveElements(fill, type.shape, [](const Ints &) { return int64_t{0}; }));
  Ints indices = loadIndices(where), strides = rowStrides(type.shape);
  size_t width = type.shape.size(), points = width ? indices.size() / width : 0;
  std::vector<int64_t> from(static_cast<size_t>(base.numElements()), -1);
  for (size_t p = 0; p < points; ++p) {
    int64_t offset = 0;
    for (size_t k = 0; k < width; ++k)
      offset += strides[k] * BYCC_TRY(checkIndex(context, indices[p * width + k], type.shape[k]));
    from[static_cast<size_t>(offset)] = values.shape.empty() ? 0 : static_cast<int64_t>(p);
  }
  uint8_t *data = nullptr;
  Tensor result = BYCC_TRY(Tensor::make(type.dtype, type.shape, data));
  size_t size = static_cast<size_t>(sizeInBytes(type.dtype));
  for (size_t i = 0; i < from.size(); ++i)
    std::memcpy(data + i * size,
                from[i] < 0 ? base.bytes.get() + i * size
                            : values.bytes.get() + static_cast<size_t>(from[i]) * size,
                size);
  return Value(std::move(result));
}

Expected<Value> matrixSetDiag(const KernelContext &context) {
  const Tensor &x = context.input(0), &diagonal = context.input(1);
  int64_t k1 = context.integer("k1"), k2 = context.integer("k2");
  size_t rank = x.shape.size();
  int64_t rows = x.shape[rank - 2], columns = x.shape[rank - 1], length = diagonal.shape.back();
  int64_t matrix = rows * columns, batches = matrix ? x.numElements() / matrix : 0;
  int64_t band = (k2 - k1 + 1) * length;
  uint8_t *data = nullptr;
  Tensor result = BYCC_TRY(Tensor::make(x.dtype, x.shape, data));
  size_t size = static_cast<size_t>(sizeInBytes(x.dtype));
  std::memcpy(data, x.bytes.get(), static_cast<size_t>(x.sizeBytes()));
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t k = k1; k <= k2; ++k) {
      int64_t own = std::min(rows + std::min<int64_t>(k, 0), columns - std::max<int64_t>(k, 0));
      bool isRight = k >= 0 ? context.boolean("super_diag_right_align")
                            : context.boolean("sub_diag_right_align");
      int64_t skip = isRight ? length - own : 0;
      for (int64_t i = 0; i < own; ++i) {
        int64_t row = i + std::max<int64_t>(-k, 0), column = i + std::max<int64_t>(k, 0);
        std::memcpy(data + static_cast<size_t>(b * matrix + row * columns + column) * size,
                    diagonal.bytes.get() +
                        static_cast<size_t>(b * band + (k2 - k) * length + skip + i) * size,
                    size);
      }
    }
  return Value(std::move(result));
}

Expected<Value> sequenceMask(const KernelContext &context) {
  const Tensor &x = context.input(0);
  double value = context.number("mask_value");
  Tensor fill = BYCC_TRY(Tensor::fromDoubles(x.dtype, {}, {&value, 1}));
  Ints lengths = loadIndices(context.input(1)), strides = rowStrides(x.shape);
  size_t axis = context.axis("axis", x.shape.size());
  auto map = [&](const Ints &index) {
    return index[axis] < lengths[static_cast<size_t>(index[1 - axis])] ? dot(index, strides)
                                                                       : int64_t{-1};
  };
  return Value(BYCC_TRY(moveElements(x, x.shape, map, fill.bytes.get())));
}

// --- making indices

Expected<Value> oneHot(const KernelContext &context) {
  const Tensor &where = context.input(0);
  const ResultType &type = context.result();
  Ints indices = loadIndices(where), strides = rowStrides(where.shape);
  size_t axis = context.axis("axis", type.shape.size());
  double on = context.input(1).real(0), off = context.input(2).real(0);
  std::vector<double> values(static_cast<size_t>(count(type.shape)));
  IndexWalk walk(type.shape, {});
  for (double &value : values) {
    Ints at = walk.index();
    int64_t channel = at[axis];
    at.erase(at.begin() + static_cast<long>(axis));
    value = indices[static_cast<size_t>(dot(at, strides))] == channel ? on : off;
    walk.next();
  }
  return store(type, values);
}

Expected<Value> arange(const KernelContext &context) {
  const ResultType &type = context.result();
  auto get = [&](std::string_view key, size_t index) {
    if (context.numInputs() == 3)
      return context.input(index).real(0);
    const AttrValue &value = context.attr(key);
    return value.isInt() ? static_cast<double>(value.asInt()) : value.asFloat();
  };
  double start = get("start", 0), stop = get("stop", 1), step = get("step", 2);
  if (step == 0)
    return context.error() << "step is 0";
  double elements = std::max(std::ceil((stop - start) / step), 0.0);
  if (!(elements <= static_cast<double>(int64_t{1} << 34)))
    return context.error(Status::Limit) << "the range has too many elements";
  std::vector<double> values(static_cast<size_t>(elements));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = start + static_cast<double>(i) * step;
  return store(ResultType{type.dtype, {static_cast<int64_t>(values.size())}, true}, values);
}

Expected<Value> shapeOf(const KernelContext &context) {
  const Tensor &x = context.input(0);
  return store(context.result(), std::vector<Wide>(x.shape.begin(), x.shape.end()));
}

Expected<Value> ndarraySize(const KernelContext &context) {
  return store(context.result(), std::vector<Wide>{context.input(0).numElements()});
}

Expected<Value> unravelIndex(const KernelContext &context) {
  Ints indices = loadIndices(context.input(0)), shape = loadIndices(context.input(1));
  for (int64_t extent : shape)
    if (extent < 1)
      return context.error() << "an extent is at least 1, got " << extent;
  std::vector<Wide> values(shape.size() * indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    int64_t rest = indices[i];
    for (size_t k = shape.size(); k-- > 0;) {
      values[k * indices.size() + i] = rest % shape[k];
      rest /= shape[k];
    }
    if (rest != 0 || indices[i] < 0)
      return context.error() << "index " << indices[i] << " lies outside of the shape";
  }
  Ints result{static_cast<int64_t>(shape.size())};
  result.insert(result.end(), context.input(0).shape.begin(), context.input(0).shape.end());
  return store(context.result().dtype, result, values);
}

Expected<Value> invertPermutation(const KernelContext &context) {
  Ints order = loadIndices(context.input(0));
  std::vector<Wide> inverse(order.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] < 0 || order[i] >= static_cast<int64_t>(order.size()) ||
        inverse[static_cast<size_t>(order[i])] != -1)
      return context.error() << "x is not a permutation";
    inverse[static_cast<size_t>(order[i])] = static_cast<Wide>(i);
  }
  return store(context.result(), inverse);
}

const KernelEntry indexRows[] = {
    {ops::adv_index, advIndex},
    {ops::arange, arange},
    {ops::dyn_one_hot, oneHot},
    {ops::gather, gather},
    {ops::gather_nd, gatherNd},
    {ops::invert_permutation, invertPermutation},
    {ops::matrix_set_diag, matrixSetDiag},
    {ops::ndarray_size, ndarraySize},
    {ops::one_hot, oneHot},
    {ops::scatter_elements, scatterElements},
    {ops::scatter_nd, scatterNd},
    {ops::sequence_mask, sequenceMask},
    {ops::shape_of, shapeOf},
    {ops::sparse_to_dense, sparseToDense},
    {ops::take, take},
    {ops::unravel_index, unravelIndex},
};

} // namespace

std::span<const KernelEntry> indexKernels() { return indexRows; }

} // namespace bycc::eval
