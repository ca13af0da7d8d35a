// Operators that move elements: every one is a map whose body is a load at
// computed indices.
#include "Lower.h"

#include <algorithm>

namespace bycc::te {
namespace {

Ref flatOf(OpLowering &op, const std::vector<Ref> &shape, const Indices &i) {
  Ref flat = op.x.integer(0);
  for (size_t d = 0; d < shape.size(); ++d)
    flat = op.x.add(op.x.mul(flat, shape[d]), i[d]);
  return flat;
}

// Extents by the codes of newshape; empty for codes that need known dims.
std::vector<Ref> shapeByCodes(OpLowering &op) {
  const Tensor &a = op.input(0);
  std::vector<Ref> shape;
  Ref total = op.x.integer(1), known = op.x.integer(1);
  for (Ref extent : a.shape)
    total = op.x.mul(total, extent);
  size_t next = 0, inferred = SIZE_MAX;
  for (int64_t code : op.integers("newshape")) {
    if (code == -1) {
      inferred = shape.size();
      shape.push_back(op.x.integer(1));
      ++next;
      continue;
    }
    size_t last = code == -2 ? a.rank() : next + (code == -3 ? 2 : 1);
    if (code < -3 || ((code == 0 || code == -3) && last > a.rank()) || (code == 0 && op.boolean("allowzero")))
      return {};
    if (code > 0) {
      shape.push_back(op.x.integer(code));
    } else if (code == -3) {
      shape.push_back(op.x.mul(a.shape[next], a.shape[next + 1]));
    } else {
      shape.insert(shape.end(), a.shape.begin() + static_cast<ptrdiff_t>(std::min(next, last)), a.shape.begin() + static_cast<ptrdiff_t>(last));
    }
    next = last;
  }
  for (Ref extent : shape)
    known = op.x.mul(known, extent);
  if (inferred != SIZE_MAX)
    shape[inferred] = op.op2(Op::FloorDiv, total, known);
  return shape;
}

// Same elements, another shape.
Expected<> lowerReshape(OpLowering &op) {
  const Tensor &a = op.input(0);
  std::vector<Ref> likely;
  size_t unknown = 0;
  for (Dim dim : op.module.types.shape(op.resultType()))
    unknown += !dim.isConst();
  if (unknown == 1) { // what is left of the elements
    Ref total = op.x.integer(1), known = op.x.integer(1);
    for (Ref extent : a.shape)
      total = op.x.mul(total, extent);
    for (Dim dim : op.module.types.shape(op.resultType()))
      if (dim.isConst())
        known = op.x.times(known, dim.value());
    for (Dim dim : op.module.types.shape(op.resultType()))
      likely.push_back(dim.isConst() ? op.x.integer(dim.value()) : op.op2(Op::FloorDiv, total, known));
  } else if (unknown > 1 && op.isOp(ops::reshape)) {
    likely = shapeByCodes(op);
  }
  std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely));
  op.results.push_back(op.map(a.type, shape, [&](const Indices &i) { return op.atFlat(a, flatOf(op, shape, i)); }));
  return {};
}

Expected<> lowerTranspose(OpLowering &op) {
  const Tensor &a = op.input(0);
  std::vector<int64_t> axes = op.integers("axes");
  if (axes.empty())
    for (size_t d = a.rank(); d-- > 0;)
      axes.push_back(static_cast<int64_t>(d));
  std::vector<Ref> likely;
  for (int64_t &axis : axes) {
    axis = axis < 0 ? axis + static_cast<int64_t>(a.rank()) : axis;
    likely.push_back(a.shape[static_cast<size_t>(axis)]);
  }
  return op.mapResult(
      [&](const Indices &i) {
        Indices from(a.rank());
        for (size_t d = 0; d < a.rank(); ++d)
          from[static_cast<size_t>(axes[d])] = i[d];
        return op.at(a, from);
      },
      likely);
}

Ref nest(OpLowering &op, const std::vector<Tensor> &parts, const std::vector<Ref> &starts, Ref position, const Indices &i,
         size_t axis, bool isStack) {
  auto load = [&](size_t p) {
    Indices at = i;
    if (isStack)
      at.erase(at.begin() + static_cast<ptrdiff_t>(axis));
    else
      at[axis] = op.x.sub(position, starts[p]);
    return op.at(parts[p], at);
  };
  Ref value = load(parts.size() - 1);
  for (size_t p = parts.size() - 1; p-- > 0;)
    value = op.x.guard(op.op2(Op::Lt, position, starts[p + 1]), load(p), value);
  return value;
}

// One stage per part would need stores into one buffer; a part is chosen by position.
Expected<> lowerConcatenate(OpLowering &op) {
  const std::vector<Tensor> &parts = op.fields(0);
  bool isStack = op.isOp(ops::stack);
  size_t axis = static_cast<size_t>(op.axis("axis", parts[0].rank() + (isStack ? 1 : 0)));
  std::vector<Ref> starts{op.x.integer(0)};
  for (const Tensor &part : parts)
    starts.push_back(op.x.add(starts.back(), isStack ? op.x.integer(1) : part.shape[axis]));
  std::vector<Ref> likely = parts[0].shape;
  if (isStack)
    likely.insert(likely.begin() + static_cast<ptrdiff_t>(axis), starts.back());
  else
    likely[axis] = starts.back();
  return op.mapResult([&](const Indices &i) { return nest(op, parts, starts, i[axis], i, axis, isStack); }, likely);
}

Expected<> lowerSplit(OpLowering &op) {
  const Tensor &a = op.input(0);
  size_t axis = static_cast<size_t>(op.axis("axis", a.rank()));
  const AttrValue *parts = op.module.attr(op.call, "indices_or_sections");
  size_t count = op.module.types.flatten(op.module.type(op.call)).size();
  Ref start = op.x.integer(0);
  for (size_t p = 0; p < count; ++p) {
    if (parts->isList() && p > 0)
      start = op.x.integer(parts->asList()[p - 1].asInt());
    std::vector<Ref> likely = a.shape;
    if (!parts->isList())
      likely[axis] = op.op2(Op::FloorDiv, a.shape[axis], op.x.integer(static_cast<int64_t>(count)));
    else
      likely[axis] = op.x.sub(p + 1 < count ? op.x.integer(parts->asList()[p].asInt()) : a.shape[axis], start);
    std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely, p));
    op.results.push_back(op.map(a.type, shape, [&](const Indices &i) {
      Indices at = i;
      at[axis] = op.x.add(i[axis], start);
      return op.at(a, at);
    }));
    start = op.x.add(start, shape[axis]);
  }
  return {};
}

Expected<> lowerStridedSlice(OpLowering &op) {
  const Tensor &a = op.input(0);
  std::vector<int64_t> begin = op.integers("begin"), strides = op.integers("strides"), axes = op.integers("axes");
  bool isSize = op.text("slice_mode") == "size";
  std::vector<std::pair<int64_t, int64_t>> steps(a.rank(), {0, 1}); // first, step
  for (size_t n = 0; n < begin.size(); ++n) {
    size_t d = axes.empty() ? n : static_cast<size_t>(axes[n] < 0 ? axes[n] + static_cast<int64_t>(a.rank()) : axes[n]);
    int64_t step = isSize || strides.empty() ? 1 : strides[std::min(n, strides.size() - 1)];
    auto extent = op.extent(a, d);
    int64_t first = begin[n];
    if (!extent) {
      if (first < 0 || step < 0 || !op.module.types.shape(op.resultType())[d].isConst())
        return op.unsupported() << "a slice of axis " << d << " needs a known dim";
    } else {
      first = first < 0 ? first + *extent : first;
      first = std::clamp<int64_t>(first, step < 0 ? -1 : 0, step < 0 ? *extent - 1 : *extent);
    }
    steps[d] = {first, step};
  }
  return op.mapResult([&](const Indices &i) {
    Indices at = i;
    for (size_t d = 0; d < a.rank(); ++d)
      at[d] = op.x.plus(op.x.times(i[d], steps[d].second), steps[d].first);
    return op.at(a, at);
  }, a.shape);
}

Expected<> lowerSliceLike(OpLowering &op) {
  std::vector<Ref> likely = op.input(0).shape;
  std::vector<int64_t> axes = op.integers("axes");
  for (size_t n = 0; n < (axes.empty() ? op.input(1).rank() : axes.size()); ++n) {
    size_t d = axes.empty() ? n : static_cast<size_t>(axes[n] < 0 ? axes[n] + static_cast<int64_t>(likely.size()) : axes[n]);
    likely[d] = op.input(1).shape[d];
  }
  return op.mapResult([&](const Indices &i) { return op.at(op.input(0), i); }, likely);
}

Ref clampIndex(OpLowering &op, Ref index, Ref extent, const std::string &mode) {
  index = op.x.cast(index, DType::Int64);
  if (mode == "wrap")
    return op.op2(Op::FloorMod, index, extent);
  if (mode == "fast")
    return index;
  return op.op2(Op::Min, op.op2(Op::Max, index, op.x.integer(0)), op.x.plus(extent, -1));
}

// Negative indices count from the end; then clamped, so that no load leaves the tensor.
Ref wrapNegative(OpLowering &op, Ref index, Ref extent) {
  index = op.x.cast(index, DType::Int64);
  Ref wrapped = op.x.select(op.op2(Op::Lt, index, op.x.integer(0)), op.x.add(index, extent), index);
  return clampIndex(op, wrapped, extent, "clip");
}

Expected<> lowerTake(OpLowering &op) {
  const Tensor &a = op.input(0), &indices = op.input(1);
  std::string mode = op.text("mode");
  if (mode == "fast")
    mode = "clip"; // out of range is the caller's fault; no fault of ours follows from it
  int64_t batch = op.integer("batch_dims");
  batch = batch < 0 ? batch + static_cast<int64_t>(indices.rank()) : batch;
  if (op.isNone("axis")) {
    Ref total = op.x.integer(1);
    for (Ref extent : a.shape)
      total = op.x.mul(total, extent);
    return op.mapResult([&](const Indices &i) { return op.atFlat(a, clampIndex(op, op.at(indices, i), total, mode)); }, indices.shape);
  }
  size_t axis = static_cast<size_t>(op.axis("axis", a.rank()));
  size_t own = indices.rank() - static_cast<size_t>(batch);
  std::vector<Ref> likely(a.shape.begin(), a.shape.begin() + static_cast<ptrdiff_t>(axis));
  likely.insert(likely.end(), indices.shape.begin() + batch, indices.shape.end());
  likely.insert(likely.end(), a.shape.begin() + static_cast<ptrdiff_t>(axis) + 1, a.shape.end());
  return op.mapResult(
      [&](const Indices &i) {
        Indices which(i.begin(), i.begin() + batch), at(i.begin(), i.begin() + static_cast<ptrdiff_t>(axis));
        which.insert(which.end(), i.begin() + static_cast<ptrdiff_t>(axis), i.begin() + static_cast<ptrdiff_t>(axis + own));
        at.push_back(clampIndex(op, op.at(indices, which), a.shape[axis], mode));
        at.insert(at.end(), i.begin() + static_cast<ptrdiff_t>(axis + own), i.end());
        return op.at(a, at);
      },
      likely);
}

Expected<> lowerGather(OpLowering &op) {
  const Tensor &a = op.input(0), &indices = op.input(1);
  size_t axis = static_cast<size_t>(op.axis("axis", a.rank()));
  return op.mapResult(
      [&](const Indices &i) {
        Indices at = i;
        at[axis] = wrapNegative(op, op.at(indices, i), a.shape[axis]);
        return op.at(a, at);
      },
      indices.shape);
}

Expected<> lowerGatherNd(OpLowering &op) {
  const Tensor &a = op.input(0), &indices = op.input(1);
  size_t batch = static_cast<size_t>(op.integer("batch_dims"));
  auto depth = op.extent(indices, 0);
  if (!depth)
    return op.unsupported() << "the number of coordinates must be known";
  size_t own = indices.rank() - 1;
  std::vector<Ref> likely(indices.shape.begin() + 1, indices.shape.end());
  likely.insert(likely.end(), a.shape.begin() + static_cast<ptrdiff_t>(batch) + *depth, a.shape.end());
  return op.mapResult(
      [&](const Indices &i) {
        Indices at(i.begin(), i.begin() + static_cast<ptrdiff_t>(batch));
        for (int64_t c = 0; c < *depth; ++c) {
          Indices which{op.x.integer(c)};
          which.insert(which.end(), i.begin(), i.begin() + static_cast<ptrdiff_t>(own));
          at.push_back(wrapNegative(op, op.at(indices, which), a.shape[batch + static_cast<size_t>(c)]));
        }
        at.insert(at.end(), i.begin() + static_cast<ptrdiff_t>(own), i.end());
        return op.at(a, at);
      },
      likely);
}

Expected<> lowerAdvIndex(OpLowering &op) {
  const std::vector<Tensor> &fields = op.fields(0);
  const Tensor &a = fields[0];
  size_t rank = 0;
  for (size_t f = 1; f < fields.size(); ++f)
    rank = std::max(rank, fields[f].rank());
  return op.mapResult([&](const Indices &i) {
    Indices broadcast(i.begin(), i.begin() + static_cast<ptrdiff_t>(rank)), at;
    for (size_t f = 1; f < fields.size(); ++f)
      at.push_back(wrapNegative(op, op.atBroadcast(fields[f], broadcast), a.shape[f - 1]));
    at.insert(at.end(), i.begin() + static_cast<ptrdiff_t>(rank), i.end());
    return op.at(a, at);
  });
}

Expected<> lowerTile(OpLowering &op) {
  const Tensor &a = op.input(0);
  std::vector<int64_t> reps = op.integers("reps");
  size_t rank = op.module.types.shape(op.resultType()).size();
  std::vector<Ref> likely(rank, op.x.integer(1));
  for (size_t d = 0; d < a.rank(); ++d)
    likely[rank - a.rank() + d] = a.shape[d];
  for (size_t d = 0; d < reps.size(); ++d)
    likely[rank - reps.size() + d] = op.x.times(likely[rank - reps.size() + d], reps[d]);
  return op.mapResult(
      [&](const Indices &i) {
        Indices at;
        for (size_t d = 0; d < a.rank(); ++d)
          at.push_back(op.op2(Op::FloorMod, i[rank - a.rank() + d], a.shape[d]));
        return op.at(a, at);
      },
      likely);
}

Expected<> lowerRepeat(OpLowering &op) {
  const Tensor &a = op.input(0);
  Ref repeats = op.x.integer(op.integer("repeats"));
  if (op.isNone("axis"))
    return op.mapResult([&](const Indices &i) { return op.atFlat(a, op.op2(Op::FloorDiv, i[0], repeats)); });
  size_t axis = static_cast<size_t>(op.axis("axis", a.rank()));
  std::vector<Ref> likely = a.shape;
  likely[axis] = op.x.mul(likely[axis], repeats);
  return op.mapResult(
      [&](const Indices &i) {
        Indices at = i;
        at[axis] = op.op2(Op::FloorDiv, i[axis], repeats);
        return op.at(a, at);
      },
      likely);
}

Expected<> lowerReverse(OpLowering &op) {
  const Tensor &a = op.input(0);
  size_t axis = static_cast<size_t>(op.axis("axis", a.rank()));
  return op.mapResult(
      [&](const Indices &i) {
        Indices at = i;
        at[axis] = op.x.sub(op.x.plus(a.shape[axis], -1), i[axis]);
        return op.at(a, at);
      },
      a.shape);
}

Expected<> lowerReverseSequence(OpLowering &op) {
  const Tensor &a = op.input(0);
  size_t axis = static_cast<size_t>(op.axis("seq_axis", a.rank())), batch = static_cast<size_t>(op.axis("batch_axis", a.rank()));
  return op.mapResult(
      [&](const Indices &i) {
        Ref length = op.x.cast(op.at(op.input(1), {i[batch]}), DType::Int64);
        length = op.op2(Op::Min, length, a.shape[axis]);
        Indices at = i;
        at[axis] = op.x.select(op.op2(Op::Lt, i[axis], length), op.x.sub(op.x.plus(length, -1), i[axis]), i[axis]);
        return op.at(a, at);
      },
      a.shape);
}

Expected<> lowerSequenceMask(OpLowering &op) {
  const Tensor &a = op.input(0);
  size_t axis = static_cast<size_t>(op.axis("axis", a.rank())), batch = axis == 0 ? 1 : 0;
  return op.mapResult(
      [&](const Indices &i) {
        Ref length = op.x.cast(op.at(op.input(1), {i[batch]}), DType::Int64);
        return op.x.select(op.op2(Op::Lt, i[axis], length), op.at(a, i), op.real(op.number("mask_value"), a.type));
      },
      a.shape);
}

// constant: value outside; edge: nearest; reflect: mirrored without the border;
// symmetric: mirrored with it.
Expected<> padWith(OpLowering &op, const std::vector<std::vector<int64_t>> &widths, const std::string &mode, Ref value) {
  const Tensor &a = op.input(0);
  std::vector<Ref> likely;
  for (size_t d = 0; d < a.rank(); ++d)
    likely.push_back(op.x.plus(a.shape[d], widths[d][0] + widths[d][1]));
  return op.mapResult(
      [&](const Indices &i) {
        Indices at;
        Ref inside = noRef;
        for (size_t d = 0; d < a.rank(); ++d) {
          Ref p = op.x.plus(i[d], -widths[d][0]), last = op.x.plus(a.shape[d], -1);
          bool isPlain = widths[d][0] == 0 && widths[d][1] == 0;
          if (isPlain || mode == "constant") {
            at.push_back(p);
            if (!isPlain)
              inside = op.x.both(inside, op.x.both(op.op2(Op::Le, op.x.integer(0), p), op.op2(Op::Lt, p, a.shape[d])));
            continue;
          }
          if (mode == "edge") {
            at.push_back(op.op2(Op::Min, op.op2(Op::Max, p, op.x.integer(0)), last));
            continue;
          }
          int64_t shift = mode == "symmetric" ? 1 : 0;
          Ref zero = op.x.integer(0);
          Ref low = op.x.select(op.op2(Op::Lt, p, zero), op.x.plus(op.x.sub(zero, p), -shift), p);
          Ref mirrored = op.x.plus(op.x.sub(op.x.times(last, 2), low), shift);
          at.push_back(op.x.select(op.op2(Op::Lt, last, low), mirrored, low));
        }
        return inside == noRef ? op.at(a, at) : op.x.guard(inside, op.at(a, at), value);
      },
      likely);
}

Expected<> lowerPad(OpLowering &op) {
  Ref value = op.x.cast(op.atFlat(op.input(1), op.x.integer(0)), op.input(0).type);
  return padWith(op, op.pairs("pad_width"), op.text("pad_mode"), value);
}

Expected<> lowerMirrorPad(OpLowering &op) {
  return padWith(op, op.pairs("pad_width"), op.text("mode") == "REFLECT" ? "reflect" : "symmetric", noRef);
}

// Channels c = (by, bx, rest) in DCR order, (rest, by, bx) in CRD.
Expected<> lowerDepthSpace(OpLowering &op) {
  const Tensor &a = op.input(0);
  int64_t block = op.integer("block_size");
  bool toSpace = op.isOp(ops::nn_depth_to_space), isLast = op.text("layout") == "NHWC", isDcr = op.text("mode") == "DCR";
  size_t c = isLast ? 3 : 1, h = isLast ? 1 : 2, w = isLast ? 2 : 3;
  auto channels = op.extent(a, c);
  if (!channels)
    return op.unsupported() << "the number of channels must be known";
  int64_t rest = toSpace ? *channels / (block * block) : *channels;
  Ref size = op.x.integer(block);
  return op.mapResult([&](const Indices &i) {
    Indices at = i;
    if (toSpace) {
      Ref by = op.op2(Op::FloorMod, i[h], size), bx = op.op2(Op::FloorMod, i[w], size);
      Ref inBlock = op.x.add(op.x.times(by, block), bx);
      at[h] = op.op2(Op::FloorDiv, i[h], size);
      at[w] = op.op2(Op::FloorDiv, i[w], size);
      at[c] = isDcr ? op.x.add(op.x.times(inBlock, rest), i[c]) : op.x.add(op.x.times(i[c], block * block), inBlock);
      return op.at(a, at);
    }
    Ref inBlock = isDcr ? op.op2(Op::FloorDiv, i[c], op.x.integer(rest)) : op.op2(Op::FloorMod, i[c], op.x.integer(block * block));
    at[c] = isDcr ? op.op2(Op::FloorMod, i[c], op.x.integer(rest)) : op.op2(Op::FloorDiv, i[c], op.x.integer(block * block));
    at[h] = op.x.add(op.x.times(i[h], block), op.op2(Op::FloorDiv, inBlock, size));
    at[w] = op.x.add(op.x.times(i[w], block), op.op2(Op::FloorMod, inBlock, size));
    return op.at(a, at);
  });
}

Expected<> lowerOneHot(OpLowering &op) {
  const Tensor &indices = op.input(0);
  size_t axis = static_cast<size_t>(op.axis("axis", indices.rank() + 1));
  DType type = op.resultDType();
  auto value = [&](size_t input) { return op.x.cast(op.atFlat(op.input(input), op.x.integer(0)), type); };
  return op.mapResult([&](const Indices &i) {
    Indices at = i;
    at.erase(at.begin() + static_cast<ptrdiff_t>(axis));
    Ref index = op.x.cast(op.at(indices, at), DType::Int64);
    return op.x.select(op.op2(Op::Eq, index, i[axis]), value(1), value(2));
  });
}

Expected<> lowerMeshgrid(OpLowering &op) {
  const std::vector<Tensor> &parts = op.fields(0);
  bool swap = op.text("indexing") == "xy";
  for (size_t p = 0; p < parts.size(); ++p) {
    std::vector<Ref> shape = BYCC_TRY(op.resultShape({}, p));
    size_t axis = swap && p < 2 && parts.size() > 1 ? 1 - p : p;
    op.results.push_back(op.map(parts[p].type, shape, [&](const Indices &i) {
      return parts[p].rank() == 0 ? op.at(parts[p], {}) : op.at(parts[p], {i[axis]});
    }));
  }
  return {};
}

Expected<> lowerArange(OpLowering &op) {
  DType type = op.resultDType();
  auto value = [&](const char *key, size_t input, double fallback) {
    if (!op.isNone(key))
      return op.real(op.number(key), type);
    if (op.numInputs() > input)
      return op.x.cast(op.atFlat(op.input(input), op.x.integer(0)), type);
    return op.real(fallback, type);
  };
  Ref start = value("start", 0, 0), step = value("step", 2, 1);
  return op.mapResult([&](const Indices &i) { return op.x.add(start, op.op2(Op::Mul, op.x.cast(i[0], type), step)); });
}

Expected<> lowerShapeOf(OpLowering &op) {
  const Tensor &a = op.input(0);
  DType type = op.resultDType();
  return op.mapResult([&](const Indices &i) {
    Ref value = op.x.integer(0);
    for (size_t d = a.rank(); d-- > 0;)
      value = i.empty() || op.x.constant(i[0]) ? a.shape[d] : op.x.select(op.op2(Op::Eq, i[0], op.x.integer(static_cast<int64_t>(d))), a.shape[d], value);
    return op.x.cast(value, type);
  });
}

Expected<> lowerSize(OpLowering &op) {
  Ref total = op.x.integer(1);
  for (Ref extent : op.input(0).shape)
    total = op.x.mul(total, extent);
  return op.mapResult([&](const Indices &) { return op.x.cast(total, op.resultDType()); });
}

Expected<> lowerDilate(OpLowering &op) {
  const Tensor &a = op.input(0);
  std::vector<int64_t> strides = op.integers("strides");
  return op.mapResult([&](const Indices &i) {
    Indices at = i;
    Ref hit = noRef;
    for (size_t d = 0; d < a.rank() && d < strides.size(); ++d) {
      Ref step = op.x.integer(strides[d]);
      at[d] = op.op2(Op::FloorDiv, i[d], step);
      hit = op.x.both(hit, op.op2(Op::Eq, op.op2(Op::FloorMod, i[d], step), op.x.integer(0)));
    }
    return op.x.guard(hit, op.at(a, at), op.real(op.number("dilation_value"), a.type));
  });
}

} // namespace

void addMovementLowerings(LowerTable &table) {
  for (OpId op : {ops::reshape, ops::reshape_like, ops::contrib_reverse_reshape, ops::expand_dims, ops::squeeze, ops::nn_batch_flatten})
    table[op.index] = lowerReshape;
  table[ops::transpose.index] = lowerTranspose;
  table[ops::concatenate.index] = lowerConcatenate;
  table[ops::stack.index] = lowerConcatenate;
  table[ops::split.index] = lowerSplit;
  table[ops::strided_slice.index] = lowerStridedSlice;
  table[ops::slice_like.index] = lowerSliceLike;
  table[ops::take.index] = lowerTake;
  table[ops::gather.index] = lowerGather;
  table[ops::gather_nd.index] = lowerGatherNd;
  table[ops::adv_index.index] = lowerAdvIndex;
  table[ops::tile.index] = lowerTile;
  table[ops::repeat.index] = lowerRepeat;
  table[ops::reverse.index] = lowerReverse;
  table[ops::reverse_sequence.index] = lowerReverseSequence;
  table[ops::sequence_mask.index] = lowerSequenceMask;
  table[ops::nn_pad.index] = lowerPad;
  table[ops::nn_mirror_pad.index] = lowerMirrorPad;
  table[ops::nn_depth_to_space.index] = lowerDepthSpace;
  table[ops::nn_space_to_depth.index] = lowerDepthSpace;
  table[ops::one_hot.index] = lowerOneHot;
  table[ops::meshgrid.index] = lowerMeshgrid;
  table[ops::arange.index] = lowerArange;
  table[ops::shape_of.index] = lowerShapeOf;
  table[ops::ndarray_size.index] = lowerSize;
  table[ops::nn_dilate.index] = lowerDilate;
}

} // namespace bycc::te
