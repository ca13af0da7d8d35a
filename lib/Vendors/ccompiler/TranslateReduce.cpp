// Reductions and softmax. Sums of floats are made in double, so that their error
// does not grow with the number of elements.
//
// Where the innermost axis stays, a tile of results along it is held and the inner
// loop runs over the tile; where it goes, eight partial results are held. Both
// become vectors without reordering any sum the C compiler sees.
#include "Translate.h"

#include <algorithm>

namespace bycc::ccompiler {

namespace {

constexpr int64_t reduceTile = 64;
constexpr int64_t reduceLanes = 8;

// How elements become one. $a: what was joined so far, $x: the next element,
// $n: their number.
struct Reduction {
  std::string type, initial, join, result;
};

std::string limitOf(DType dtype, bool isLow) {
  if (isFloat(dtype))
    return isLow ? "-INFINITY" : "INFINITY";
  if (dtype == DType::Bool || (isUnsignedInt(dtype) && isLow))
    return isLow ? "0" : "1";
  std::string prefix = isSignedInt(dtype) ? "INT" : "UINT";
  return prefix + std::to_string(8 * sizeInBytes(dtype)) + (isLow ? "_MIN" : "_MAX");
}

Reduction reductionFor(std::string_view op, DType dtype, int64_t number) {
  std::string type = cType(dtype), sum = isFloat(dtype) ? "double" : "uint64_t";
  if (op == "sum")
    return {sum, "0", "$a + $x", "$a"};
  if (op == "prod")
    return {sum, "1", "$a * $x", "$a"};
  if (op == "mean" && isFloat(dtype))
    return {sum, "0", "$a + $x", "$a / $n"};
  if (op == "mean")
    return {"__int128", "0", "$a + $x", number ? "$a / $n" : "0"};
  if (op == "max")
    return {type, limitOf(dtype, true), "$x > $a || $x != $x ? $x : $a", "$a"};
  if (op == "min")
    return {type, limitOf(dtype, false), "$x < $a || $x != $x ? $x : $a", "$a"};
  if (op == "all")
    return {type, "1", "$a & $x", "$a"};
  return {type, "0", "$a | $x", "$a"}; // any
}

struct ReduceShape {
  Dims in;
  std::vector<bool> isReduced;
  bool keepsAxes;
  int64_t number; // elements joined into one

  std::string name(size_t axis) const { return "i" + std::to_string(axis); }
  // Loops over the axes that stay, or over those that go, up to `end`.
  void open(CWriter &out, bool reduced, size_t end) const {
    for (size_t i = 0; i < end; ++i)
      if (isReduced[i] == reduced)
        out.loop(name(i), in[i]);
  }
  // Index of each axis of x; the last one may have another name.
  std::vector<std::string> index(const std::string &innermost) const {
    std::vector<std::string> list;
    for (size_t i = 0; i < in.size(); ++i)
      list.push_back(i + 1 == in.size() && !innermost.empty() ? innermost : name(i));
    return list;
  }
  std::vector<std::string> resultIndex(const std::string &innermost) const {
    std::vector<std::string> all = index(innermost), list;
    for (size_t i = 0; i < in.size(); ++i)
      if (!isReduced[i] || keepsAxes)
        list.push_back(isReduced[i] ? "0" : all[i]);
    return list;
  }
};

class ReduceAnchor : public Anchor {
public:
  // With a mean: squares of the differences are joined.
  ReduceAnchor(std::vector<ValueId> reads, ReduceShape shape, Reduction reduction, DType result,
               Dims meanStrides = {})
      : Anchor(std::move(reads)), s_(std::move(shape)), r_(std::move(reduction)), result_(result),
        meanStrides_(std::move(meanStrides)) {}

  void emit(CWriter &out, const PointerOf &pointer, const Tail &tail) const override {
    size_t depth = out.depth(), rank = s_.in.size();
    bool isInnermostKept = rank > 0 && !s_.isReduced[rank - 1] && s_.in[rank - 1] > 1;
    s_.open(out, false, isInnermostKept ? rank - 1 : rank);
    if (isInnermostKept)
      tileForm(out, pointer, tail);
    else
      laneForm(out, pointer, tail);
    out.closeTo(depth);
  }

private:
  std::string element(const PointerOf &pointer, const std::string &innermost) const {
    std::vector<std::string> index = s_.index(innermost);
    std::string x = pointer(reads()[0]) + "[" + indexText(index, rowStrides(s_.in)) + "]";
    if (reads().size() == 1)
      return x;
    return "square((double)" + x + " - " + pointer(reads()[1]) + "[" +
           indexText(index, meanStrides_) + "])";
  }
  std::string joined(const std::string &a, const std::string &x) const {
    return a + " = " + filled(r_.join, {{'a', a}, {'x', x}}) + ";";
  }
  std::string finished(const std::string &a) const {
    return std::string("(") + cType(result_) + ")(" +
           filled(r_.result, {{'a', a}, {'n', std::to_string(s_.number)}}) + ")";
  }
  void tileForm(CWriter &out, const PointerOf &pointer, const Tail &tail) const {
    size_t rank = s_.in.size();
    int64_t extent = s_.in.back(), width = std::min(reduceTile, extent);
    std::string size = std::to_string(width), left = std::to_string(extent) + " - t0";
    out.loop("t0", std::to_string(extent), size);
    out.line("const int64_t size = " +
             (extent % width ? left + " < " + size + " ? " + left + " : " + size : size) + ";");
    out.line(r_.type + " part[" + size + "];");
    out.loop("t", "size");
    out.line("part[t] = " + r_.initial + ";");
    out.close();
    size_t depth = out.depth();
    s_.open(out, true, rank ? rank - 1 : 0);
    out.loop("t", "size");
    out.line("const " + r_.type + " x = " + element(pointer, "t0 + t") + ";");
    out.line(joined("part[t]", "x"));
    out.closeTo(depth);
    out.loop("t", "size");
    tail(finished("part[t]"), s_.resultIndex("t0 + t"));
    out.close();
  }

  void laneForm(CWriter &out, const PointerOf &pointer, const Tail &tail) const {
    size_t rank = s_.in.size();
    bool isReduced = rank > 0 && s_.isReduced[rank - 1];
    int64_t extent = isReduced ? s_.in.back() : 1, whole = extent / reduceLanes * reduceLanes;
    out.line(r_.type + " whole = " + r_.initial + ";");
    if (whole > 0)
      out.line(r_.type + " lane[" + std::to_string(reduceLanes) + "] = {" + repeated() + "};");
    size_t depth = out.depth();
    s_.open(out, true, rank ? rank - 1 : 0);
    if (whole > 0) {
      out.loop("k", std::to_string(whole), std::to_string(reduceLanes));
      out.loop("l", reduceLanes);
      out.line("const " + r_.type + " x = " + element(pointer, "k + l") + ";");
      out.line(joined("lane[l]", "x"));
      out.close();
      out.close();
    }
    if (whole < extent) {
      std::string last = isReduced ? "k" : "0";
      if (isReduced)
        out.open("for (int64_t k = " + std::to_string(whole) + "; k < " + std::to_string(extent) +
                 "; ++k)");
      else
        out.open("");
      out.line("const " + r_.type + " x = " + element(pointer, rank ? last : "") + ";");
      out.line(joined("whole", "x"));
      out.close();
    }
    out.closeTo(depth);
    if (whole > 0) {
      out.loop("l", reduceLanes);
      out.line(joined("whole", "lane[l]"));
      out.close();
    }
    tail(finished("whole"), s_.resultIndex(isReduced ? "" : "0"));
  }

  std::string repeated() const {
    std::string list;
    for (int64_t i = 0; i < reduceLanes; ++i)
      list += (i ? ", " : "") + r_.initial;
    return list;
  }

  ReduceShape s_;
  Reduction r_;
  DType result_;
  Dims meanStrides_; // along x's axes
};

Expected<ReduceShape> reduceShape(Translator &op) {
  ReduceShape shape{op.input(0).dims, std::vector<bool>(op.input(0).dims.size(), true),
                    op.attributes.flag("keepdims", false), 1};
  if (op.attributes.has("axis")) {
    shape.isReduced.assign(shape.in.size(), false);
    for (int64_t axis : op.attributes.integers("axis"))
      shape.isReduced[axisOf(axis, shape.in.size())] = true;
    if (op.attributes.flag("exclude", false))
      shape.isReduced.flip();
  }
  Dims wanted;
  for (size_t i = 0; i < shape.in.size(); ++i) {
    if (shape.isReduced[i])
      shape.number *= shape.in[i];
    if (!shape.isReduced[i] || shape.keepsAxes)
      wanted.push_back(shape.isReduced[i] ? 1 : shape.in[i]);
  }
  BYCC_TRY(op.expectOutput(wanted));
  return shape;
}

Expected<> reduce(Translator &op) {
  BYCC_TRY(op.expectInputs(1));
  DType dtype = op.input(0).dtype;
  bool isLogical = op.name() == "all" || op.name() == "any";
  if (op.output().dtype != dtype || isLogical != (dtype == DType::Bool))
    return op.refuse() << "not from " << name(dtype) << " to " << name(op.output().dtype);
  ReduceShape shape = BYCC_TRY(reduceShape(op));
  Reduction reduction = reductionFor(op.name(), dtype, shape.number);
  op.anchor(std::make_shared<ReduceAnchor>(std::vector{op.inputId(0)}, std::move(shape), reduction,
                                           dtype));
  return {};
}

// Mean of the squared differences from a mean that broadcasts to x.
Expected<> variance(Translator &op) {
  BYCC_TRY(op.expectInputs(2));
  DType dtype = op.input(0).dtype;
  if (!isFloat(dtype) || op.input(1).dtype != dtype || op.output().dtype != dtype)
    return op.refuse() << "not for " << name(dtype);
  ReduceShape shape = BYCC_TRY(reduceShape(op));
  const Dims &from = op.input(1).dims;
  Dims own = rowStrides(from), strides(shape.in.size(), 0);
  bool fits = from.size() <= shape.in.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    size_t at = shape.in.size() - from.size() + i;
    fits = from[i] == shape.in[at] || from[i] == 1;
    strides[at] = from[i] == 1 ? 0 : own[i];
  }
  if (!fits)
    return op.refuse() << "the mean " << text(from) << " does not broadcast to " << text(shape.in);
  op.helper("static inline double square(double x) {\n  return x * x;\n}\n");
  Reduction reduction = {"double", "0", "$a + $x", "$a / $n"};
  shape.number -= op.attributes.flag("unbiased", false);
  op.anchor(std::make_shared<ReduceAnchor>(std::vector{op.inputId(0), op.inputId(1)},
                                           std::move(shape), reduction, dtype, std::move(strides)));
  return {};
}

// --- argmax, argmin

// The position among the reduced axes of the first (or last) best element; a NaN is
// better than any number.
class ArgAnchor : public Anchor {
public:
  ArgAnchor(ValueId x, ReduceShape shape, DType dtype, DType result, bool isMax, bool takesLast)
      : Anchor({x}), s_(std::move(shape)), dtype_(dtype), result_(result), isMax_(isMax),
        takesLast_(takesLast) {}

  void emit(CWriter &out, const PointerOf &pointer, const Tail &tail) const override {
    size_t depth = out.depth(), rank = s_.in.size();
    s_.open(out, false, rank);
    out.line(std::string(cType(dtype_)) + " best = 0;");
    out.line("int64_t position = -1;");
    size_t body = out.depth();
    s_.open(out, true, rank);
    out.line(std::string("const ") + cType(dtype_) + " x = " + pointer(reads()[0]) + "[" +
             indexText(s_.index(""), rowStrides(s_.in)) + "];");
    std::string better = isMax_ ? "x > best" : "x < best";
    std::string last = takesLast_ ? " || x == best || (x != x && best != best)" : "";
    out.open("if (position < 0 || " + better + " || (x != x && best == best)" + last + ")");
    out.line("best = x;");
    out.line("position = " + indexText(s_.index(""), positionStrides()) + ";");
    out.closeTo(body);
    tail(converted("position", "int64_t", cType(result_)), s_.resultIndex(""));
    out.closeTo(depth);
  }

private:
  Dims positionStrides() const {
    Dims strides(s_.in.size(), 0);
    int64_t stride = 1;
    for (size_t i = s_.in.size(); i-- > 0;)
      if (s_.isReduced[i]) {
        strides[i] = stride;
        stride *= s_.in[i];
      }
    return strides;
  }

  ReduceShape s_;
  DType dtype_, result_;
  bool isMax_, takesLast_;
};

Expected<> argBest(Translator &op) {
  BYCC_TRY(op.expectInputs(1));
  if (isFloat(op.output().dtype) || op.output().dtype == DType::Bool)
    return op.refuse() << "not to " << name(op.output().dtype);
  ReduceShape shape = BYCC_TRY(reduceShape(op));
  op.anchor(std::make_shared<ArgAnchor>(op.inputId(0), std::move(shape), op.input(0).dtype,
                                        op.output().dtype, op.name() == "argmax",
                                        op.attributes.flag("select_last_index", false)));
  return {};
}

// --- softmax

class SoftmaxAnchor : public Anchor {
public:
  SoftmaxAnchor(ValueId x, ValueId result, const Value &value, size_t axis, bool isLog)
      : Anchor({x}), result_(result), dims_(value.dims), dtype_(value.dtype), axis_(axis),
        isLog_(isLog) {}
  bool hasTail() const override { return false; }

  void emit(CWriter &out, const PointerOf &pointer, const Tail &) const override {
    size_t depth = out.depth();
    std::vector<std::string> index;
    for (size_t i = 0; i < dims_.size(); ++i) {
      index.push_back(i == axis_ ? "k" : "i" + std::to_string(i));
      if (i != axis_)
        out.loop(index.back(), dims_[i]);
    }
    std::string at = "[" + indexText(index, rowStrides(dims_)) + "]";
    passes(out, pointer(reads()[0]) + at, pointer(result_) + at);
    out.closeTo(depth);
  }

private:
  void passes(CWriter &out, const std::string &x, const std::string &y) const {
    std::string f = dtype_ == DType::Float32 ? "f" : "", type = cType(dtype_);
    out.line(type + " greatest = -INFINITY;");
    out.loop("k", dims_[axis_]);
    out.line("greatest = greatest < " + x + " ? " + x + " : greatest;");
    out.close();
    out.line("double sum = 0;");
    out.loop("k", dims_[axis_]);
    if (isLog_)
      out.line("sum += exp" + f + "(" + x + " - greatest);");
    else
      out.line("sum += " + y + " = exp" + f + "(" + x + " - greatest);");
    out.close();
    if (isLog_)
      out.line("const double shift = greatest + log(sum);");
    else
      out.line("const double factor = 1 / sum;");
    out.loop("k", dims_[axis_]);
    out.line(isLog_ ? y + " = " + x + " - shift;" : y + " *= factor;");
    out.close();
  }

  ValueId result_;
  Dims dims_;
  DType dtype_;
  size_t axis_;
  bool isLog_;
};

Expected<> softmax(Translator &op) {
  BYCC_TRY(op.expectInputs(1));
  BYCC_TRY(op.expectOutput(op.input(0).dims));
  if (!isFloat(op.input(0).dtype) || op.output().dtype != op.input(0).dtype)
    return op.refuse() << "not for " << name(op.input(0).dtype);
  size_t axis = axisOf(op.attributes.integer("axis", -1), op.input(0).dims.size());
  op.anchor(std::make_shared<SoftmaxAnchor>(op.inputId(0), op.outputId(), op.output(), axis,
                                            op.name() == "nn.log_softmax"));
  return {};
}

} // namespace

std::vector<TranslationEntry> reduceTranslations() {
  return {{"all", reduce},
          {"any", reduce},
          {"argmax", argBest},
          {"argmin", argBest},
          {"max", reduce},
          {"mean", reduce},
          {"min", reduce},
          {"nn.fast_softmax", softmax},
          {"nn.log_softmax", softmax},
          {"nn.softmax", softmax},
          {"prod", reduce},
          {"sum", reduce},
          {"variance", variance}};
}

} // namespace bycc::ccompiler
