// Operators that move elements: every one is a map whose body is a load at
// computed indices.
#include "OpLowering.h"

#include <algorithm>

namespace bycc::loops {
namespace {

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

Ref nest(OpLowering &op, const std::vector<Tensor> &parts, const std::vector<Ref> &starts,
         Ref position, const Indices &i, size_t axis, bool isStack) {
  auto load = [&](size_t p) {
    Indices at = i;
    if (isStack)
      at.erase(at.begin() + static_cast<ptrdiff_t>(axis));
    else
      at[axis] = op.x.sub(position, starts[p]);
    return op.atGuarded(parts[p], at);
  };
  // Halves, so that neither this nor what walks the expression goes deep.
  std::function<Ref(size_t, size_t)> choose = [&](size_t begin, size_t end) {
    if (end - begin == 1)
      return load(begin);
    size_t middle = begin + (end - begin) / 2;
    return op.x.guard(op.op2(Op::Lt, position, starts[middle]), choose(begin, middle),
                      choose(middle, end));
  };
  return choose(0, parts.size());
}

// One stage per part would need stores into one buffer; a part is chosen by position.
Expected<> lowerConcatenate(OpLowering &op) {
  const std::vector<Tensor> &parts = op.fields(0);
  bool isStack = op.isOp(ops::stack);
  size_t axis = op.axis("axis", parts[0].rank() + (isStack ? 1 : 0));
  std::vector<Ref> starts{op.x.integer(0)};
  for (const Tensor &part : parts)
    starts.push_back(op.x.add(starts.back(), isStack ? op.x.integer(1) : part.shape[axis]));
  std::vector<Ref> likely = parts[0].shape;
  for (const Tensor &part : parts)
    for (size_t d = 0; d < likely.size(); ++d)
      if (isStack || d != axis)
        op.requireEqual(part.shape[d], likely[d], "axis " + std::to_string(d) + " of an operand");
  if (isStack)
    likely.insert(likely.begin() + static_cast<ptrdiff_t>(axis), starts.back());
  else
    likely[axis] = starts.back();
  return op.mapResult(
      [&](const Indices &i) { return nest(op, parts, starts, i[axis], i, axis, isStack); }, likely);
}

Expected<> lowerSplit(OpLowering &op) {
  const Tensor &a = op.input(0);
  size_t axis = op.axis("axis", a.rank());
  const AttrValue *parts = op.module.attr(op.call, "indices_or_sections");
  size_t count = op.module.types.numLeaves(op.module.type(op.call));
  Ref start = op.x.integer(0);
  for (size_t p = 0; p < count; ++p) {
    if (parts->isList() && p > 0)
      start = op.x.integer(parts->asList()[p - 1].asInt());
    std::vector<Ref> likely = a.shape;
    if (!parts->isList())
      likely[axis] = op.op2(Op::FloorDiv, a.shape[axis], op.x.integer(static_cast<int64_t>(count)));
    else
      likely[axis] = op.x.sub(
          p + 1 < count ? op.op2(Op::Min, op.x.integer(parts->asList()[p].asInt()), a.shape[axis])
                        : a.shape[axis],
          op.op2(Op::Min, start, a.shape[axis]));
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

// Negative indices count from the end; then clamped, so that no load leaves the tensor.
Ref wrapNegative(OpLowering &op, Ref index, Ref extent) {
  index = op.x.cast(index, DType::Int64);
  return op.x.index(
      op.x.select(op.op2(Op::Lt, index, op.x.integer(0)), op.x.add(index, extent), index), extent);
}

Ref clampIndex(OpLowering &op, Ref index, Ref extent, const std::string &mode) {
  index = op.x.cast(index, DType::Int64);
  if (mode == "error") // within -n and n - 1, as was found before (CheckIndices.cpp)
    return wrapNegative(op, index, extent);
  if (mode == "wrap")
    return op.op2(Op::FloorMod, index, extent);
  if (mode == "fast")
    return index;
  return op.x.index(index, extent);
}

// Clamping needs an element: indices into an axis of none end the run.
void requireElements(OpLowering &op, const Tensor &indices, Ref extent) {
  Ref count = op.x.integer(1);
  for (Ref dim : indices.shape)
    count = op.x.mul(count, dim);
  Ref inside = op.x.mul(count, op.op2(Op::Min, extent, op.x.integer(1)));
  op.require(op.op2(Op::Le, count, inside), "{} indices into an axis without elements", {count});
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
    requireElements(op, indices, total);
    return op.mapResult(
        [&](const Indices &i) {
          return op.atFlat(a, clampIndex(op, op.at(indices, i), total, mode));
        },
        indices.shape);
  }
  size_t axis = op.axis("axis", a.rank());
  requireElements(op, indices, a.shape[axis]);
  size_t own = indices.rank() - static_cast<size_t>(batch);
  std::vector<Ref> likely(a.shape.begin(), a.shape.begin() + static_cast<ptrdiff_t>(axis));
  likely.insert(likely.end(), indices.shape.begin() + batch, indices.shape.end());
  likely.insert(likely.end(), a.shape.begin() + static_cast<ptrdiff_t>(axis) + 1, a.shape.end());
  return op.mapResult(
      [&](const Indices &i) {
        Indices which(i.begin(), i.begin() + batch),
            at(i.begin(), i.begin() + static_cast<ptrdiff_t>(axis));
        which.insert(which.end(), i.begin() + static_cast<ptrdiff_t>(axis),
                     i.begin() + static_cast<ptrdiff_t>(axis + own));
        at.push_back(clampIndex(op, op.at(indices, which), a.shape[axis], mode));
        at.insert(at.end(), i.begin() + static_cast<ptrdiff_t>(axis + own), i.end());
        return op.at(a, at);
      },
      likely);
}

Expected<> lowerGather(OpLowering &op) {
  const Tensor &a = op.input(0), &indices = op.input(1);
  size_t axis = op.axis("axis", a.rank());
  requireElements(op, indices, a.shape[axis]);
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
  for (int64_t c = 0; c < *depth; ++c)
    requireElements(op, indices, a.shape[batch + static_cast<size_t>(c)]);
  size_t own = indices.rank() - 1;
  std::vector<Ref> likely(indices.shape.begin() + 1, indices.shape.end());
  likely.insert(likely.end(), a.shape.begin() + static_cast<ptrdiff_t>(batch) + *depth,
                a.shape.end());
  return op.mapResult(
      [&](const Indices &i) {
        Indices at(i.begin(), i.begin() + static_cast<ptrdiff_t>(batch));
        for (int64_t c = 0; c < *depth; ++c) {
          Indices which{op.x.integer(c)};
          which.insert(which.end(), i.begin(), i.begin() + static_cast<ptrdiff_t>(own));
          at.push_back(
              wrapNegative(op, op.at(indices, which), a.shape[batch + static_cast<size_t>(c)]));
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
  std::vector<Ref> likely;
  for (size_t f = 1; f < fields.size(); ++f) {
    requireElements(op, fields[f], a.shape[f - 1]);
    rank = std::max(rank, fields[f].rank());
    likely.insert(likely.begin(), rank - likely.size(), op.x.integer(1));
    for (size_t d = 0; d < fields[f].rank(); ++d) {
      Ref &extent = likely[rank - fields[f].rank() + d];
      extent = op.broadcastExtent(extent, fields[f].shape[d]);
    }
  }
  likely.insert(likely.end(), a.shape.begin() + static_cast<ptrdiff_t>(fields.size()) - 1,
                a.shape.end());
  return op.mapResult(
      [&](const Indices &i) {
        Indices broadcast(i.begin(), i.begin() + static_cast<ptrdiff_t>(rank)), at;
        for (size_t f = 1; f < fields.size(); ++f)
          at.push_back(wrapNegative(op, op.atBroadcast(fields[f], broadcast), a.shape[f - 1]));
        at.insert(at.end(), i.begin() + static_cast<ptrdiff_t>(rank), i.end());
        return op.at(a, at);
      },
      likely);
}

Expected<> lowerTile(OpLowering &op) {
  const Tensor &a = op.input(0);
  std::vector<Ref> reps;
  if (op.numInputs() > 1) {
    int64_t count = BYCC_TRY(op.countOf(1));
    for (int64_t i = 0; i < count; ++i)
      reps.push_back(BYCC_TRY(op.extentContent(1, i)));
  } else {
    for (int64_t value : op.integers("reps"))
      reps.push_back(op.x.integer(value));
  }
  size_t rank = op.module.types.shape(op.resultType()).size();
  std::vector<Ref> likely(rank, op.x.integer(1));
  for (size_t d = 0; d < a.rank(); ++d)
    likely[rank - a.rank() + d] = a.shape[d];
  for (size_t d = 0; d < reps.size(); ++d) {
    Ref &extent = likely[rank - reps.size() + d];
    extent = op.x.mul(extent, reps[d]);
  }
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
  if (op.isNone("axis")) {
    Ref total = repeats;
    for (Ref extent : a.shape)
      total = op.x.mul(total, extent);
    return op.mapResult(
        [&](const Indices &i) { return op.atFlat(a, op.op2(Op::FloorDiv, i[0], repeats)); },
        {total});
  }
  size_t axis = op.axis("axis", a.rank());
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
  size_t axis = op.axis("axis", a.rank());
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
  size_t axis = op.axis("seq_axis", a.rank()), batch = op.axis("batch_axis", a.rank());
  return op.mapResult(
      [&](const Indices &i) {
        Ref length = op.x.cast(op.at(op.input(1), {i[batch]}), DType::Int64);
        length = op.op2(Op::Min, length, a.shape[axis]);
        Indices at = i;
        at[axis] = op.x.select(op.op2(Op::Lt, i[axis], length),
                               op.x.sub(op.x.plus(length, -1), i[axis]), i[axis]);
        return op.at(a, at);
      },
      a.shape);
}

Expected<> lowerSequenceMask(OpLowering &op) {
  const Tensor &a = op.input(0);
  size_t axis = op.axis("axis", a.rank()), batch = axis == 0 ? 1 : 0;
  return op.mapResult(
      [&](const Indices &i) {
        Ref length = op.x.cast(op.at(op.input(1), {i[batch]}), DType::Int64);
        return op.x.select(op.op2(Op::Lt, i[axis], length), op.at(a, i),
                           op.real(op.number("mask_value"), a.type));
      },
      a.shape);
}

struct Width {
  Ref before, after;
};

// constant: value outside; edge: nearest; reflect: mirrored without the border;
// symmetric: mirrored with it.
Expected<> padWith(OpLowering &op, const std::vector<Width> &widths, const std::string &mode,
                   Ref value) {
  const Tensor &a = op.input(0);
  std::vector<Ref> likely;
  Ref zero = op.x.integer(0);
  int64_t shift = mode == "symmetric" ? 1 : 0;
  std::vector<bool> isPlain;
  for (size_t d = 0; d < a.rank(); ++d) {
    auto [before, after] = widths[d];
    likely.push_back(op.x.add(op.x.add(a.shape[d], before), after));
    isPlain.push_back(op.x.constant(before) == 0 && op.x.constant(after) == 0);
    if (isPlain[d] || mode == "constant")
      continue;
    // What is repeated must be there.
    Ref most = op.op2(Op::Max, before, after);
    Ref fits =
        mode == "edge"
            ? op.x.binary(Op::Or, op.op2(Op::Lt, zero, a.shape[d]), op.op2(Op::Eq, most, zero))
            : op.op2(Op::Le, most, op.op2(Op::Max, op.x.plus(a.shape[d], shift - 1), zero));
    op.require(fits, "axis " + std::to_string(d) + " has {} elements, too few for a padding of {}",
               {a.shape[d], most});
  }
  return op.mapResult(
      [&](const Indices &i) {
        Indices at;
        Ref inside = noRef;
        for (size_t d = 0; d < a.rank(); ++d) {
          Ref p = op.x.sub(i[d], widths[d].before), last = op.x.plus(a.shape[d], -1);
          if (isPlain[d] || mode == "constant") {
            at.push_back(p);
            if (!isPlain[d])
              inside = op.x.both(inside,
                                 op.x.both(op.op2(Op::Le, zero, p), op.op2(Op::Lt, p, a.shape[d])));
            continue;
          }
          if (mode == "edge") {
            at.push_back(op.x.index(p, a.shape[d]));
            continue;
          }
          Ref low = op.x.select(op.op2(Op::Lt, p, zero), op.x.plus(op.x.sub(zero, p), -shift), p);
          Ref mirrored = op.x.plus(op.x.sub(op.x.times(last, 2), low), shift);
          at.push_back(
              op.x.index(op.x.select(op.op2(Op::Lt, last, low), mirrored, low), a.shape[d]));
        }
        return inside == noRef ? op.atGuarded(a, at)
                               : op.x.guard(inside, op.atGuarded(a, at), value);
      },
      likely);
}

std::vector<Width> widthsOf(OpLowering &op) {
  std::vector<Width> widths;
  for (auto [before, after] : op.pairs("pad_width"))
    widths.push_back({op.x.integer(before), op.x.integer(after)});
  return widths;
}

Expected<> lowerPad(OpLowering &op) {
  bool isDynamic = op.isOp(ops::dyn_nn_pad);
  const Tensor &outside = op.input(isDynamic ? 2 : 1);
  Ref value = op.x.cast(op.atFlat(outside, op.x.integer(0)), op.input(0).type);
  for (Ref extent : outside.shape)
    op.requireEqual(extent, op.x.integer(1), "pad_value");
  std::vector<Width> widths;
  if (!isDynamic)
    widths = widthsOf(op);
  for (size_t d = 0; isDynamic && d < op.input(0).rank(); ++d) {
    int64_t at = 2 * static_cast<int64_t>(d);
    op.requireEqual(op.input(1).shape[0], op.x.integer(static_cast<int64_t>(op.input(0).rank())),
                    "pad_width");
    op.requireEqual(op.input(1).shape[1], op.x.integer(2), "a pair of pad_width");
    Ref before = BYCC_TRY(op.extentContent(1, at));
    widths.push_back({before, BYCC_TRY(op.extentContent(1, at + 1))});
  }
  return padWith(op, widths, op.text("pad_mode"), value);
}

Expected<> lowerMirrorPad(OpLowering &op) {
  return padWith(op, widthsOf(op), op.text("mode") == "REFLECT" ? "reflect" : "symmetric", noRef);
}

// Channels c = (by, bx, rest) in DCR order, (rest, by, bx) in CRD.
Expected<> lowerDepthSpace(OpLowering &op) {
  const Tensor &a = op.input(0);
  int64_t block = op.integer("block_size");
  bool toSpace = op.isOp(ops::nn_depth_to_space), isLast = op.text("layout") == "NHWC",
       isDcr = op.text("mode") == "DCR";
  size_t c = isLast ? 3 : 1, h = isLast ? 1 : 2, w = isLast ? 2 : 3;
  Ref size = op.x.integer(block), area = op.x.integer(block * block);
  std::vector<Ref> likely = a.shape;
  for (size_t d : {c, h, w}) {
    Ref factor = d == c ? area : size;
    bool divides = (d == c) == toSpace;
    likely[d] = divides ? op.dims.define(op.op2(Op::FloorDiv, a.shape[d], factor))
                        : op.x.mul(a.shape[d], factor);
    if (divides)
      op.requireEqual(op.x.mul(likely[d], factor), a.shape[d],
                      "a whole number of blocks along axis " + std::to_string(d));
  }
  Ref rest = toSpace ? likely[c] : a.shape[c];
  return op.mapResult(
      [&](const Indices &i) {
        Indices at = i;
        if (toSpace) {
          Ref by = op.op2(Op::FloorMod, i[h], size), bx = op.op2(Op::FloorMod, i[w], size);
          Ref inBlock = op.x.add(op.x.times(by, block), bx);
          at[h] = op.op2(Op::FloorDiv, i[h], size);
          at[w] = op.op2(Op::FloorDiv, i[w], size);
          at[c] = isDcr ? op.x.add(op.x.mul(inBlock, rest), i[c])
                        : op.x.add(op.x.times(i[c], block * block), inBlock);
          return op.at(a, at);
        }
        Ref inBlock = isDcr ? op.op2(Op::FloorDiv, i[c], rest) : op.op2(Op::FloorMod, i[c], area);
        at[c] = isDcr ? op.op2(Op::FloorMod, i[c], rest) : op.op2(Op::FloorDiv, i[c], area);
        at[h] = op.x.add(op.x.times(i[h], block), op.op2(Op::FloorDiv, inBlock, size));
        at[w] = op.x.add(op.x.times(i[w], block), op.op2(Op::FloorMod, inBlock, size));
        return op.at(a, at);
      },
      likely);
}

Expected<> lowerOneHot(OpLowering &op) {
  const Tensor &indices = op.input(0);
  size_t axis = op.axis("axis", indices.rank() + 1);
  DType type = op.resultDType();
  auto value = [&](size_t input) {
    return op.x.cast(op.atFlat(op.input(input), op.x.integer(0)), type);
  };
  std::vector<Ref> likely = indices.shape;
  Ref depth =
      op.numInputs() > 3 ? BYCC_TRY(op.extentContent(3, 0)) : op.x.integer(op.integer("depth"));
  likely.insert(likely.begin() + static_cast<ptrdiff_t>(axis), depth);
  return op.mapResult(
      [&](const Indices &i) {
        Indices at = i;
        at.erase(at.begin() + static_cast<ptrdiff_t>(axis));
        Ref index = op.x.cast(op.at(indices, at), DType::Int64);
        return op.x.select(op.op2(Op::Eq, index, i[axis]), value(1), value(2));
      },
      likely);
}

Expected<> lowerMeshgrid(OpLowering &op) {
  const std::vector<Tensor> &parts = op.fields(0);
  bool swap = op.text("indexing") == "xy";
  std::vector<Ref> likely;
  for (const Tensor &part : parts)
    likely.push_back(part.rank() == 0 ? op.x.integer(1) : part.shape[0]);
  if (swap && parts.size() > 1)
    std::swap(likely[0], likely[1]);
  for (size_t p = 0; p < parts.size(); ++p) {
    std::vector<Ref> shape = BYCC_TRY(op.resultShape(likely, p));
    size_t axis = swap && p < 2 && parts.size() > 1 ? 1 - p : p;
    op.results.push_back(op.map(parts[p].type, shape, [&](const Indices &i) {
      return parts[p].rank() == 0 ? op.at(parts[p], {}) : op.at(parts[p], {i[axis]});
    }));
  }
  return {};
}

// ceil((stop - start) / step) in double, as the definition has it.
Expected<Ref> arangeCount(OpLowering &op) {
  Exprs &program = op.dims.around.exprs();
  std::vector<Ref> numbers;
  for (size_t input = 0; input < 3; ++input) {
    Ref value = BYCC_TRY(op.element(input, 0));
    numbers.push_back(program.type(value) == DType::Float64 ? value
                                                            : program.cast(value, DType::Float64));
  }
  Ref steps = program.binary(Op::Div, program.binary(Op::Sub, numbers[1], numbers[0]), numbers[2]);
  Ref count = op.dims.fromProgram(
      op.dims.around.define(program.cast(program.unary(Op::Ceil, steps), DType::Int64), ""));
  return op.op2(Op::Max, count, op.x.integer(0));
}

Expected<> lowerArange(OpLowering &op) {
  DType type = op.resultDType();
  auto value = [&](const char *key, size_t input, double fallback) {
    if (op.numInputs() > input)
      return op.x.cast(op.atFlat(op.input(input), op.x.integer(0)), type);
    return op.isNone(key) ? op.real(fallback, type) : op.real(op.number(key), type);
  };
  Ref start = value("start", 0, 0), step = value("step", 2, 1);
  std::vector<Ref> likely;
  if (op.numInputs() > 0)
    likely.push_back(BYCC_TRY(arangeCount(op)));
  return op.mapResult(
      [&](const Indices &i) {
        return op.x.add(start, op.op2(Op::Mul, op.x.cast(i[0], type), step));
      },
      likely);
}

Expected<> lowerShapeOf(OpLowering &op) {
  const Tensor &a = op.input(0);
  DType type = op.resultDType();
  return op.mapResult([&](const Indices &i) {
    Ref value = op.x.integer(0);
    for (size_t d = a.rank(); d-- > 0;)
      value = i.empty() || op.x.constant(i[0])
                  ? a.shape[d]
                  : op.x.select(op.op2(Op::Eq, i[0], op.x.integer(static_cast<int64_t>(d))),
                                a.shape[d], value);
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
  std::vector<Ref> likely = a.shape;
  for (size_t d = 0; d < a.rank() && d < strides.size(); ++d)
    likely[d] = op.op2(Op::Max, op.x.plus(op.x.times(op.x.plus(a.shape[d], -1), strides[d]), 1),
                       op.x.integer(0));
  return op.mapResult(
      [&](const Indices &i) {
        Indices at = i;
        Ref hit = noRef;
        for (size_t d = 0; d < a.rank() && d < strides.size(); ++d) {
          Ref step = op.x.integer(strides[d]);
          at[d] = op.op2(Op::FloorDiv, i[d], step);
          hit = op.x.both(hit, op.op2(Op::Eq, op.op2(Op::FloorMod, i[d], step), op.x.integer(0)));
        }
        return op.x.guard(hit, op.at(a, at), op.real(op.number("dilation_value"), a.type));
      },
      likely);
}

} // namespace

void addMovementLowerings(LowerTable &table) {
  table[ops::transpose.index] = lowerTranspose;
  table[ops::concatenate.index] = lowerConcatenate;
  table[ops::stack.index] = lowerConcatenate;
  table[ops::split.index] = lowerSplit;
  table[ops::take.index] = lowerTake;
  table[ops::gather.index] = lowerGather;
  table[ops::gather_nd.index] = lowerGatherNd;
  table[ops::adv_index.index] = lowerAdvIndex;
  table[ops::tile.index] = lowerTile;
  table[ops::dyn_tile.index] = lowerTile;
  table[ops::repeat.index] = lowerRepeat;
  table[ops::reverse.index] = lowerReverse;
  table[ops::reverse_sequence.index] = lowerReverseSequence;
  table[ops::sequence_mask.index] = lowerSequenceMask;
  table[ops::nn_pad.index] = lowerPad;
  table[ops::dyn_nn_pad.index] = lowerPad;
  table[ops::nn_mirror_pad.index] = lowerMirrorPad;
  table[ops::nn_depth_to_space.index] = lowerDepthSpace;
  table[ops::nn_space_to_depth.index] = lowerDepthSpace;
  table[ops::one_hot.index] = lowerOneHot;
  table[ops::dyn_one_hot.index] = lowerOneHot;
  table[ops::meshgrid.index] = lowerMeshgrid;
  table[ops::arange.index] = lowerArange;
  table[ops::shape_of.index] = lowerShapeOf;
  table[ops::ndarray_size.index] = lowerSize;
  table[ops::nn_dilate.index] = lowerDilate;
}

} // namespace bycc::loops
