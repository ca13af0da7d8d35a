// Operators that only move elements. Those that keep the order are views, those
// whose place of an element is linear in the indices are strided reads, and
// concatenation writes one part after the other.
#include "Translate.h"

#include <algorithm>
#include <numeric>

namespace bycc::ccompiler {

namespace {

Expected<> reshape(Translator &op) {
  if (op.numInputs() == 0 || op.numOutputs() == 0 || op.input(0).dtype != op.output().dtype ||
      count(op.input(0).dims) != count(op.output().dims))
    return op.refuse() << "operand and result differ in elements";
  op.view(op.inputId(0));
  return {};
}

Expected<> transpose(Translator &op) {
  BYCC_TRY(op.expectInputs(1));
  const Dims &from = op.input(0).dims;
  Dims axes(from.size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  if (op.attributes.has("axes"))
    axes = op.attributes.integers("axes");
  if (axes.size() != from.size())
    return op.refuse() << axes.size() << " axes for rank " << from.size();
  Dims own = rowStrides(from), strides, wanted;
  for (int64_t axis : axes) {
    size_t at = axisOf(axis, from.size());
    strides.push_back(own[at]);
    wanted.push_back(from[at]);
  }
  BYCC_TRY(op.expectOutput(wanted));
  op.map("$0", {{op.inputId(0), strides, 0}});
  return {};
}

Expected<> broadcastTo(Translator &op) {
  if (op.numInputs() == 0 || op.input(0).dtype != op.output().dtype)
    return op.refuse() << "operand and result differ in dtype";
  op.map("$0", {BYCC_TRY(op.broadcast(0))});
  return {};
}

Expected<> reverse(Translator &op) {
  BYCC_TRY(op.expectInputs(1));
  BYCC_TRY(op.expectOutput(op.input(0).dims));
  const Dims &dims = op.input(0).dims;
  size_t axis = axisOf(op.attributes.integer("axis", 0), dims.size());
  Operand operand{op.inputId(0), rowStrides(dims), 0};
  operand.offset = (dims[axis] - 1) * operand.strides[axis];
  operand.strides[axis] = -operand.strides[axis];
  op.map("$0", {operand});
  return {};
}

// The parts follow each other along the axis, their extents are in the results.
Expected<> split(Translator &op) {
  BYCC_TRY(op.expectInputs(1));
  const Dims &from = op.input(0).dims;
  size_t axis = axisOf(op.attributes.integer("axis", 0), from.size());
  Dims own = rowStrides(from);
  int64_t begin = 0;
  for (size_t o = 0; o < op.numOutputs(); ++o) {
    Dims wanted = from;
    wanted[axis] = op.output(o).dims.size() == from.size() ? op.output(o).dims[axis] : -1;
    if (op.output(o).dims != wanted)
      return op.refuse() << "part " << o << " is " << text(op.output(o).dims);
    op.map("$0", {{op.inputId(0), own, begin * own[axis]}}, o);
    begin += wanted[axis];
  }
  if (begin > from[axis])
    return op.refuse() << "the parts are larger than " << text(from);
  return {};
}

// Begin and end of one axis as NumPy takes them, within the axis.
int64_t clampedBegin(int64_t begin, int64_t extent, bool isForward) {
  begin = begin < 0 ? begin + extent : begin;
  return isForward ? std::clamp<int64_t>(begin, 0, extent)
                   : std::clamp<int64_t>(begin, -1, extent - 1);
}

// Only where each slice begins matters: where it ends is in the result.
Expected<> stridedSlice(Translator &op) {
  BYCC_TRY(op.expectInputs(1));
  const Dims &from = op.input(0).dims, &to = op.output().dims;
  Dims begin = op.attributes.integers("begin", Dims());
  Dims steps = op.attributes.integers("strides", Dims{1});
  Dims axes(begin.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (op.attributes.has("axes"))
    axes = op.attributes.integers("axes");
  bool isSize = op.attributes.word("slice_mode", "end") == "size";
  if (to.size() != from.size() || axes.size() != begin.size() || begin.size() > from.size())
    return op.refuse() << "slice of rank " << begin.size() << " for " << text(from);
  Operand operand{op.inputId(0), rowStrides(from), 0};
  Dims own = operand.strides;
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t axis = axisOf(axes[i], from.size());
    int64_t step = isSize || steps.empty() ? 1 : steps[std::min(i, steps.size() - 1)];
    int64_t at = clampedBegin(begin[i], from[axis], step > 0);
    int64_t last = at + (to[axis] - 1) * step;
    if (to[axis] > 0 && (at < 0 || at >= from[axis] || last < 0 || last >= from[axis]))
      return op.refuse() << "the slice leaves axis " << axis << " of " << text(from);
    operand.offset += at * own[axis];
    operand.strides[axis] = own[axis] * step;
  }
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (to[axis] > from[axis])
      return op.refuse() << "the result " << text(to) << " is larger than " << text(from);
  op.map("$0", {operand});
  return {};
}

// One part after the other along an axis, each a block of rows.
class Join : public Anchor {
public:
  Join(std::vector<ValueId> parts, std::vector<int64_t> blocks, ValueId result, int64_t rows,
       const char *type)
      : Anchor(std::move(parts)), blocks_(std::move(blocks)), result_(result), rows_(rows),
        type_(type) {}
  bool hasTail() const override { return false; }
  void emit(CWriter &out, const PointerOf &pointer, const Tail &) const override {
    int64_t total = std::accumulate(blocks_.begin(), blocks_.end(), int64_t{0}), begin = 0;
    out.loop("i", rows_);
    for (size_t p = 0; p < blocks_.size(); ++p) {
      if (blocks_[p] > 0)
        out.line("memcpy(" + pointer(result_) + " + " + indexText({"i"}, {total}, begin) + ", " +
                 pointer(reads()[p]) + " + " + indexText({"i"}, {blocks_[p]}) + ", " +
                 std::to_string(blocks_[p]) + " * sizeof(" + type_ + "));");
      begin += blocks_[p];
    }
    out.close();
  }

private:
  std::vector<int64_t> blocks_; // elements of a row, by part
  ValueId result_;
  int64_t rows_;
  const char *type_;
};

Expected<> join(Translator &op, size_t axis, bool isNewAxis) {
  const Dims &to = op.output().dims;
  std::vector<ValueId> parts;
  std::vector<int64_t> blocks;
  int64_t inner = count(Dims(to.begin() + static_cast<long>(axis) + 1, to.end())), extent = 0;
  for (size_t i = 0; i < op.numInputs(); ++i) {
    Dims from = op.input(i).dims;
    if (isNewAxis)
      from.insert(from.begin() + static_cast<long>(axis), 1);
    int64_t own = from.size() == to.size() ? from[axis] : -1;
    Dims wanted = to;
    wanted[axis] = own;
    if (from != wanted || op.input(i).dtype != op.output().dtype)
      return op.refuse() << "part " << i << " is " << text(from) << " for " << text(to);
    parts.push_back(op.inputId(i));
    blocks.push_back(own * inner);
    extent += own;
  }
  if (extent != to[axis])
    return op.refuse() << "the parts have " << extent << " of " << to[axis] << " along the axis";
  int64_t rows = count(Dims(to.begin(), to.begin() + static_cast<long>(axis)));
  op.anchor(std::make_shared<Join>(std::move(parts), std::move(blocks), op.outputId(), rows,
                                   cType(op.output().dtype)));
  return {};
}

Expected<> concatenate(Translator &op) {
  return join(op, axisOf(op.attributes.integer("axis", 0), op.output().dims.size()), false);
}

Expected<> stack(Translator &op) {
  return join(op, axisOf(op.attributes.integer("axis", 0), op.output().dims.size()), true);
}

// Elements of x inside, one value around it.
class PadAnchor : public Anchor {
public:
  PadAnchor(ValueId x, ValueId fill, const Value &from, const Value &to, Dims before)
      : Anchor({x, fill}), in_(from.dims), out_(to.dims), before_(std::move(before)),
        type_(cType(from.dtype)) {}

  void emit(CWriter &out, const PointerOf &pointer, const Tail &tail) const override {
    size_t depth = out.depth();
    out.line(std::string("const ") + type_ + " fill = " + pointer(reads()[1]) + "[0];");
    std::vector<std::string> index;
    std::string inside;
    int64_t offset = 0;
    Dims strides = rowStrides(in_);
    for (size_t i = 0; i < out_.size(); ++i) {
      index.push_back("i" + std::to_string(i));
      out.loop(index.back(), out_[i]);
      offset -= before_[i] * strides[i];
      if (in_[i] == out_[i])
        continue;
      std::string begin = std::to_string(before_[i]), end = std::to_string(before_[i] + in_[i]);
      inside += (inside.empty() ? "" : " && ") + index[i] + " >= " + begin + " && " + index[i] +
                " < " + end;
    }
    std::string x = pointer(reads()[0]) + "[" + indexText(index, strides, offset) + "]";
    tail(inside.empty() ? x : inside + " ? " + x + " : fill", index);
    out.closeTo(depth);
  }

private:
  Dims in_, out_, before_;
  const char *type_;
};

Expected<> pad(Translator &op) {
  BYCC_TRY(op.expectInputs(2));
  const Value &x = op.input(0), &fill = op.input(1), &result = op.output();
  vendor::Padding widths = op.attributes.pairs("pad_width", x.dims.size());
  if (op.attributes.word("pad_mode", "constant") != "constant")
    return op.refuse() << "pad_mode " << op.attributes.word("pad_mode") << " is not supported";
  if (result.dims.size() != x.dims.size() || fill.dtype != x.dtype || count(fill.dims) != 1)
    return op.refuse() << "pads and fill value do not fit " << text(x.dims);
  Dims wanted;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    for (int64_t width : {widths.before[i], widths.after[i]})
      if (width < 0 || width > result.dims[i])
        return op.refuse() << "a pad of axis " << i << " is " << width;
    wanted.push_back(widths.before[i] + x.dims[i] + widths.after[i]);
  }
  BYCC_TRY(op.expectOutput(wanted));
  op.anchor(std::make_shared<PadAnchor>(op.inputId(0), op.inputId(1), x, result,
                                        std::move(widths.before)));
  return {};
}

} // namespace

std::vector<TranslationEntry> movementTranslations() {
  return {{"broadcast_to", broadcastTo},
          {"broadcast_to_like", broadcastTo},
          {"concatenate", concatenate},
          {"copy", reshape},
          {"expand_dims", reshape},
          {"nn.batch_flatten", reshape},
          {"nn.pad", pad},
          {"reshape", reshape},
          {"reshape_like", reshape},
          {"reverse", reverse},
          {"split", split},
          {"squeeze", reshape},
          {"stack", stack},
          {"strided_slice", stridedSlice},
          {"transpose", transpose}};
}

} // namespace bycc::ccompiler
