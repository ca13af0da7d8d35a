// Operators that put elements elsewhere: reshape, transpose, slices, joins,
// padding, layouts.

#include "Kernel.h"

#include <algorithm>
#include <cstring>

namespace bycc::eval {
namespace {

size_t wrapAxis(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

Expected<Value> reshape(const KernelContext &context) {
  return Value(withShape(context.input(0), context.result().shape));
}

Expected<Value> transpose(const KernelContext &context) {
  const Tensor &x = context.input(0);
  size_t rank = x.shape.size();
  Ints own = rowStrides(x.shape), strides(rank);
  Ints axes = context.integers("axes");
  for (size_t i = 0; i < rank; ++i)
    strides[i] = own[axes.empty() ? rank - 1 - i : wrapAxis(axes[i], rank)];
  return moved(context, [&](const Ints &index) { return dot(index, strides); });
}

Expected<Value> reverse(const KernelContext &context) {
  const Tensor &x = context.input(0);
  size_t axis = context.axis("axis", x.shape.size());
  Ints strides = rowStrides(x.shape);
  int64_t last = x.shape[axis] - 1;
  return moved(context, [&](const Ints &index) {
    return dot(index, strides) + (last - 2 * index[axis]) * strides[axis];
  });
}

Expected<Value> reverseSequence(const KernelContext &context) {
  const Tensor &x = context.input(0);
  size_t seq = context.axis("seq_axis", x.shape.size());
  size_t batch = context.axis("batch_axis", x.shape.size());
  Ints lengths = loadIndices(context.input(1)), strides = rowStrides(x.shape);
  for (int64_t length : lengths)
    if (length < 0 || length > x.shape[seq])
      return context.error() << "length " << length << " is out of range for " << x.shape[seq]
                             << " elements";
  return moved(context, [&](const Ints &index) {
    int64_t length = lengths[static_cast<size_t>(index[batch])];
    int64_t at = index[seq] < length ? length - 1 - index[seq] : index[seq];
    return dot(index, strides) + (at - index[seq]) * strides[seq];
  });
}

// --- joins and splits

// Copies `from` into the region of `to` that starts at `begin` along `axis`.
void paste(const Tensor &from, uint8_t *to, const Ints &toShape, size_t axis, int64_t begin) {
  int64_t outer = count(std::span(from.shape).first(axis));
  int64_t inner = count(std::span(from.shape).subspan(axis + 1)) * sizeInBytes(from.dtype);
  int64_t fromRow = from.shape[axis] * inner, toRow = toShape[axis] * inner;
  for (int64_t i = 0; i < outer && fromRow; ++i)
    std::memcpy(to + i * toRow + begin * inner, from.bytes.get() + i * fromRow,
                static_cast<size_t>(fromRow));
}

Expected<Value> concatenate(const KernelContext &context) {
  uint8_t *data = nullptr;
  const ResultType &type = context.result();
  Tensor result = BYCC_TRY(Tensor::make(type.dtype, type.shape, data));
  size_t axis = context.axis("axis", type.shape.size());
  int64_t begin = 0;
  for (const Tensor &part : context.tuple(0)) {
    paste(part, data, type.shape, axis, begin);
    begin += part.shape[axis];
  }
  return Value(std::move(result));
}

Expected<Value> stack(const KernelContext &context) {
  uint8_t *data = nullptr;
  const ResultType &type = context.result();
  Tensor result = BYCC_TRY(Tensor::make(type.dtype, type.shape, data));
  size_t axis = context.axis("axis", type.shape.size());
  int64_t begin = 0;
  for (const Tensor &part : context.tuple(0)) {
    Ints shape = part.shape;
    shape.insert(shape.begin() + static_cast<long>(axis), 1);
    paste(withShape(part, shape), data, type.shape, axis, begin++);
  }
  return Value(std::move(result));
}

Expected<Value> split(const KernelContext &context) {
  const Tensor &x = context.input(0);
  size_t axis = context.axis("axis", x.shape.size());
  Ints strides = rowStrides(x.shape);
  Value::Tuple parts;
  int64_t begin = 0;
  for (const ResultType &type : context.results()) {
    parts.emplace_back(BYCC_TRY(moveElements(x, type.shape, [&](const Ints &index) {
      return dot(index, strides) + begin * strides[axis];
    })));
    begin += type.shape[axis];
  }
  return Value(std::move(parts));
}

// --- slices

// First element and stride along every axis of a slice.
struct Slice {
  Ints begin, stride;
};

Slice sliceOf(const Ints &shape, const Ints &begin, Ints strides, bool isSizeMode,
              const std::optional<Ints> &axes) {
  Slice slice{Ints(shape.size(), 0), Ints(shape.size(), 1)};
  if (isSizeMode || strides.empty())
    strides.assign(begin.size(), 1);
  strides.resize(begin.size(), strides.empty() ? 1 : strides[0]);
  for (size_t i = 0; i < begin.size(); ++i) {
    size_t axis = axes ? wrapAxis((*axes)[i], shape.size()) : i;
    int64_t extent = shape[axis];
    int64_t from = begin[i] < 0 ? begin[i] + extent : begin[i];
    slice.begin[axis] = strides[i] < 0 ? std::clamp<int64_t>(from, -1, extent - 1)
                                       : std::clamp<int64_t>(from, 0, extent);
    slice.stride[axis] = strides[i];
  }
  return slice;
}

Expected<Value> sliced(const KernelContext &context, const Slice &slice) {
  Ints strides = rowStrides(context.input(0).shape);
  return moved(context, [&](const Ints &index) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i)
      offset += (slice.begin[i] + index[i] * slice.stride[i]) * strides[i];
    return offset;
  });
}

std::optional<Ints> axesOf(const KernelContext &context) {
  return context.isNone("axes") ? std::nullopt : std::optional(context.integers("axes"));
}

Expected<Value> stridedSlice(const KernelContext &context) {
  return sliced(context, sliceOf(context.input(0).shape, context.integers("begin"),
                                 context.integers("strides"), context.text("slice_mode") == "size",
                                 axesOf(context)));
}

Expected<Value> dynStridedSlice(const KernelContext &context) {
  return sliced(context, sliceOf(context.input(0).shape, loadIndices(context.input(1)),
                                 loadIndices(context.input(3)),
                                 context.text("slice_mode") == "size", axesOf(context)));
}

Expected<Value> stridedSet(const KernelContext &context) {
  const Tensor &x = context.input(0), &v = context.input(1);
  Slice slice = sliceOf(x.shape, loadIndices(context.input(2)), loadIndices(context.input(4)),
                        false, std::nullopt);
  Ints strides = rowStrides(x.shape);
  uint8_t *data = nullptr;
  Tensor result = BYCC_TRY(Tensor::make(x.dtype, x.shape, data));
  std::memcpy(data, x.bytes.get(), static_cast<size_t>(x.sizeBytes()));
  size_t size = static_cast<size_t>(sizeInBytes(x.dtype));
  IndexWalk walk(v.shape, {});
  for (int64_t i = 0, n = v.numElements(); i < n; ++i, walk.next()) {
    int64_t offset = 0;
    for (size_t k = 0; k < strides.size(); ++k) {
      int64_t at = slice.begin[k] + walk.index()[k] * slice.stride[k];
      if (at < 0 || at >= x.shape[k])
        return context.error() << "v is larger than the slice along axis " << k;
      offset += at * strides[k];
    }
    std::memcpy(data + static_cast<size_t>(offset) * size,
                v.bytes.get() + static_cast<size_t>(i) * size, size);
  }
  return Value(std::move(result));
}

Expected<Value> sliceLike(const KernelContext &context) {
  Ints strides = rowStrides(context.input(0).shape);
  return moved(context, [&](const Ints &index) { return dot(index, strides); });
}

Expected<Value> slidingWindow(const KernelContext &context) {
  const Tensor &x = context.input(0);
  size_t axis = context.axis("axis", x.shape.size());
  Ints own = rowStrides(x.shape), steps = context.integers("strides");
  Ints strides = own;
  for (size_t i = 0; i < steps.size(); ++i) {
    strides[axis + i] *= steps[i];
    strides.push_back(own[axis + i]);
  }
  return moved(context, [&](const Ints &index) { return dot(index, strides); });
}

// --- repetition

Expected<Value> tile(const KernelContext &context) {
  const Tensor &x = context.input(0);
  Ints strides = rowStrides(x.shape);
  return moved(context, [&](const Ints &index) {
    int64_t offset = 0;
    size_t shift = index.size() - x.shape.size();
    for (size_t i = 0; i < x.shape.size(); ++i)
      offset += index[shift + i] % x.shape[i] * strides[i];
    return offset;
  });
}

Expected<Value> repeat(const KernelContext &context) {
  const Tensor &x = context.input(0);
  int64_t repeats = context.integer("repeats");
  if (context.isNone("axis"))
    return moved(context, [&](const Ints &index) { return index[0] / repeats; });
  size_t axis = context.axis("axis", x.shape.size());
  Ints strides = rowStrides(x.shape);
  return moved(context, [&](const Ints &index) {
    int64_t at = index[axis];
    return dot(index, strides) + (at / repeats - at) * strides[axis];
  });
}

Expected<Value> meshgrid(const KernelContext &context) {
  std::vector<Tensor> inputs = context.tuple(0);
  bool isSwapped = context.text("indexing") == "xy" && inputs.size() > 1;
  Value::Tuple grids;
  for (size_t i = 0; i < inputs.size(); ++i) {
    size_t axis = isSwapped && i < 2 ? 1 - i : i;
    grids.emplace_back(
        BYCC_TRY(moveElements(inputs[i], context.result().shape, [&](const Ints &index) {
          return inputs[i].shape.empty() ? 0 : index[axis];
        })));
  }
  return Value(std::move(grids));
}

// --- padding

enum class PadMode { Constant, Edge, Reflect, Symmetric };

// Position inside [0, extent) for one outside; -1: the constant.
int64_t padSource(int64_t at, int64_t extent, PadMode mode) {
  if (at >= 0 && at < extent)
    return at;
  switch (mode) {
  case PadMode::Constant:
    break;
  case PadMode::Edge:
    return at < 0 ? 0 : extent - 1;
  case PadMode::Reflect:
    return at < 0 ? -at : 2 * (extent - 1) - at;
  case PadMode::Symmetric:
    return at < 0 ? -at - 1 : 2 * extent - 1 - at;
  }
  return -1;
}

Expected<Value> padded(const Tensor &x, Ints shape, const Ints &before, PadMode mode,
                       const uint8_t *fill) {
  Ints strides = rowStrides(x.shape);
  auto map = [&](const Ints &index) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      int64_t at = padSource(index[i] - before[i], x.shape[i], mode);
      if (at < 0)
        return int64_t{-1};
      offset += at * strides[i];
    }
    return offset;
  };
  return Value(BYCC_TRY(moveElements(x, std::move(shape), map, fill)));
}

Expected<Tensor> padValue(const Tensor &value, DType dtype) {
  if (value.dtype == dtype)
    return value;
  ResultType type{dtype, value.shape, true};
  Value converted = BYCC_TRY(isFloat(value.dtype) ? store(type, load<double>(value))
                                                  : store(type, load<Wide>(value)));
  return converted.tensor();
}

PadMode padMode(std::string_view text) {
  return text == "edge" ? PadMode::Edge : text == "reflect" ? PadMode::Reflect : PadMode::Constant;
}

Ints begins(const std::vector<std::pair<int64_t, int64_t>> &pairs) {
  Ints result;
  for (auto [before, after] : pairs)
    result.push_back(before);
  return result;
}

Expected<Value> pad(const KernelContext &context) {
  Tensor fill = BYCC_TRY(padValue(context.input(1), context.input(0).dtype));
  return padded(context.input(0), context.result().shape, begins(context.pairs("pad_width")),
                padMode(context.text("pad_mode")), fill.bytes.get());
}

Expected<Value> mirrorPad(const KernelContext &context) {
  PadMode mode = context.text("mode") == "REFLECT" ? PadMode::Reflect : PadMode::Symmetric;
  return padded(context.input(0), context.result().shape, begins(context.pairs("pad_width")), mode,
                nullptr);
}

Expected<Value> dynPad(const KernelContext &context) {
  const Tensor &x = context.input(0);
  PadMode mode = padMode(context.text("pad_mode"));
  Ints widths = loadIndices(context.input(1)), before, shape;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    int64_t low = widths[2 * i], high = widths[2 * i + 1], extent = 0;
    if (low < 0 || high < 0 || __builtin_add_overflow(low, high, &extent) ||
        __builtin_add_overflow(extent, x.shape[i], &extent))
      return context.error() << "pad_width of axis " << i << " is negative or too large";
    int64_t most = mode == PadMode::Reflect ? x.shape[i] - 1 : x.shape[i] ? INT64_MAX : 0;
    if (mode != PadMode::Constant && std::max(low, high) > std::max<int64_t>(most, 0))
      return context.error() << "axis " << i << " has too few elements to pad from";
    before.push_back(low);
    shape.push_back(extent);
  }
  Tensor fill = BYCC_TRY(padValue(context.input(2), x.dtype));
  return padded(x, shape, before, mode, fill.bytes.get());
}

Expected<Value> dilate(const KernelContext &context) {
  const Tensor &x = context.input(0);
  double value = context.number("dilation_value");
  Tensor fill = BYCC_TRY(Tensor::fromDoubles(x.dtype, {}, {&value, 1}));
  Ints steps = context.integers("strides"), strides = rowStrides(x.shape);
  auto map = [&](const Ints &index) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      if (index[i] % steps[i] != 0)
        return int64_t{-1};
      offset += index[i] / steps[i] * strides[i];
    }
    return offset;
  };
  return Value(BYCC_TRY(moveElements(x, context.result().shape, map, fill.bytes.get())));
}

// --- blocks of space

// Offset of depth-to-space and back: `toSpace` reads x at (n, c', h / b, w / b).
Expected<Value> depthSpace(const KernelContext &context, bool toSpace) {
  const Tensor &x = context.input(0);
  int64_t block = context.integer("block_size");
  bool isDcr = context.text("mode") == "DCR";
  auto layout = Layout::parse(context.text("layout"));
  size_t c = *layout->find('C'), h = *layout->find('H'), w = *layout->find('W');
  Ints strides = rowStrides(x.shape);
  // Channels of the deep side; the block position is the slow part with DCR.
  int64_t shallow = toSpace ? context.result().shape[c] : x.shape[c];
  return moved(context, [&](const Ints &index) {
    Ints at = index;
    if (toSpace) {
      int64_t position = index[h] % block * block + index[w] % block;
      at[c] = isDcr ? position * shallow + index[c] : index[c] * block * block + position;
      at[h] = index[h] / block;
      at[w] = index[w] / block;
    } else {
      int64_t position = isDcr ? index[c] / shallow : index[c] % (block * block);
      at[c] = isDcr ? index[c] % shallow : index[c] / (block * block);
      at[h] = index[h] * block + position / block;
      at[w] = index[w] * block + position % block;
    }
    return dot(at, strides);
  });
}

Expected<Value> depthToSpace(const KernelContext &context) { return depthSpace(context, true); }
Expected<Value> spaceToDepth(const KernelContext &context) { return depthSpace(context, false); }

// The batch of the deep side is (block position, batch) with the position slow.
Expected<Value> spaceToBatch(const KernelContext &context) {
  const Tensor &x = context.input(0);
  double value = context.number("pad_value");
  Tensor fill = BYCC_TRY(Tensor::fromDoubles(x.dtype, {}, {&value, 1}));
  Ints blocks = context.integers("block_shape"), strides = rowStrides(x.shape);
  auto pads = context.pairs("paddings");
  auto map = [&](const Ints &index) {
    Ints at = index;
    at[0] = index[0] % x.shape[0];
    int64_t position = index[0] / x.shape[0];
    for (size_t i = blocks.size(); i-- > 0;) {
      at[i + 1] = index[i + 1] * blocks[i] + position % blocks[i] - pads[i].first;
      position /= blocks[i];
      if (at[i + 1] < 0 || at[i + 1] >= x.shape[i + 1])
        return int64_t{-1};
    }
    return dot(at, strides);
  };
  return Value(BYCC_TRY(moveElements(x, context.result().shape, map, fill.bytes.get())));
}

Expected<Value> batchToSpace(const KernelContext &context) {
  Ints blocks = context.integers("block_shape"), strides = rowStrides(context.input(0).shape);
  auto crops = context.pairs("crops");
  int64_t batch = context.result().shape[0];
  return moved(context, [&](const Ints &index) {
    Ints at = index;
    int64_t position = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      int64_t whole = index[i + 1] + crops[i].first;
      at[i + 1] = whole / blocks[i];
      position = position * blocks[i] + whole % blocks[i];
    }
    at[0] = position * batch + index[0];
    return dot(at, strides);
  });
}

Expected<Value> layoutTransform(const KernelContext &context) {
  auto from = Layout::parse(context.text("src_layout"));
  auto to = Layout::parse(context.text("dst_layout"));
  std::string letters = from->primal();
  Tensor plain = BYCC_TRY(toPlain(context.input(0), *from, letters));
  return Value(BYCC_TRY(fromPlain(plain, *to, letters, context.result().shape)));
}

// The buffer moves towards its begin, x comes in at its end.
Expected<Value> fifoBuffer(const KernelContext &context) {
  const Tensor &x = context.input(0), &buffer = context.input(1);
  size_t axis = context.axis("axis", x.shape.size());
  int64_t added = x.shape[axis], kept = buffer.shape[axis] - added;
  if (kept < 0)
    return context.error() << "x has " << added << " elements along the axis, the buffer holds "
                           << buffer.shape[axis];
  size_t size = static_cast<size_t>(sizeInBytes(x.dtype));
  uint8_t *data = nullptr;
  Tensor result = BYCC_TRY(Tensor::make(x.dtype, buffer.shape, data));
  Ints strides = rowStrides(buffer.shape), newStrides = rowStrides(x.shape);
  IndexWalk walk(buffer.shape, {});
  for (int64_t i = 0; i < result.numElements(); ++i, walk.next()) {
    Ints at = walk.index();
    bool isNew = at[axis] >= kept;
    at[axis] += isNew ? -kept : added;
    const Tensor &from = isNew ? x : buffer;
    std::memcpy(
        data + static_cast<size_t>(i) * size,
        from.bytes.get() + static_cast<size_t>(dot(at, isNew ? newStrides : strides)) * size, size);
  }
  return Value(std::move(result));
}

const KernelEntry movementRows[] = {
    {ops::concatenate, concatenate},
    {ops::contrib_reverse_reshape, reshape},
    {ops::dyn_expand_dims, reshape},
    {ops::dyn_nn_pad, dynPad},
    {ops::dyn_reshape, reshape},
    {ops::dyn_squeeze, reshape},
    {ops::dyn_strided_slice, dynStridedSlice},
    {ops::dyn_tile, tile},
    {ops::expand_dims, reshape},
    {ops::layout_transform, layoutTransform},
    {ops::meshgrid, meshgrid},
    {ops::nn_batch_flatten, reshape},
    {ops::nn_batch_to_space_nd, batchToSpace},
    {ops::nn_depth_to_space, depthToSpace},
    {ops::nn_dilate, dilate},
    {ops::nn_fifo_buffer, fifoBuffer},
    {ops::nn_mirror_pad, mirrorPad},
    {ops::nn_pad, pad},
    {ops::nn_space_to_batch_nd, spaceToBatch},
    {ops::nn_space_to_depth, spaceToDepth},
    {ops::repeat, repeat},
    {ops::reshape, reshape},
    {ops::reshape_like, reshape},
    {ops::reverse, reverse},
    {ops::reverse_sequence, reverseSequence},
    {ops::slice_like, sliceLike},
    {ops::sliding_window, slidingWindow},
    {ops::split, split},
    {ops::squeeze, reshape},
    {ops::stack, stack},
    {ops::strided_set, stridedSet},
    {ops::strided_slice, stridedSlice},
    {ops::tile, tile},
    {ops::transpose, transpose},
};

} // namespace

std::span<const KernelEntry> movementKernels() { return movementRows; }

} // namespace bycc::eval
