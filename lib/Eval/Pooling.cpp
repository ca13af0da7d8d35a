// Max and average pooling: windowed, global and adaptive.

#include "Kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bycc::eval {
namespace {

// Positions along one axis that an output element covers: first, step, number;
// those outside of the data are skipped.
struct Span {
  int64_t begin, step, number;
};

bool isMax(const KernelContext &context) {
  return opInfo(context.op()).name.find("max") != std::string_view::npos;
}

// Joins the elements of a window; the divisor counts those inside the data.
template <typename T> class Accumulator {
public:
  explicit Accumulator(bool isMax) : isMax_(isMax) {}
  void add(T v) {
    if (!isMax_)
      value_ += v;
    else if (count_ == 0 || v > value_ || v != v)
      value_ = value_ != value_ ? value_ : v;
    ++count_;
  }
  int64_t count() const { return count_; }
  T value() const { return value_; }

private:
  bool isMax_;
  T value_ = 0;
  int64_t count_ = 0;
};

// What a max over nothing is.
template <typename T> T lowest(DType dtype) {
  if constexpr (std::is_same_v<T, double>)
    return -std::numeric_limits<double>::infinity();
  else
    return isSignedInt(dtype) ? -(Wide(1) << (8 * sizeInBytes(dtype) - 1)) : Wide(0);
}

// spans[axis][output position]; a fixed divisor, or 0 for the elements inside.
template <typename T>
std::vector<T> poolPlanes(const Tensor &x, const Ints &outShape,
                          const std::vector<std::vector<Span>> &spans, bool isMax,
                          int64_t divisor) {
  std::vector<T> values = load<T>(x), out;
  Ints spatial(x.shape.begin() + 2, x.shape.end()), strides = rowStrides(spatial);
  int64_t planeSize = count(spatial);
  IndexWalk walk(outShape, {});
  for (int64_t i = 0, n = count(outShape); i < n; ++i, walk.next()) {
    const Ints &at = walk.index();
    const T *plane = values.data() + (at[0] * outShape[1] + at[1]) * planeSize;
    Ints box;
    for (size_t a = 0; a < spatial.size(); ++a)
      box.push_back(spans[a][static_cast<size_t>(at[2 + a])].number);
    Accumulator<T> window(isMax);
    IndexWalk inside(box, {});
    for (int64_t k = 0, m = count(box); k < m; ++k, inside.next()) {
      int64_t offset = 0;
      bool isData = true;
      for (size_t a = 0; a < spatial.size(); ++a) {
        const Span &span = spans[a][static_cast<size_t>(at[2 + a])];
        int64_t position = span.begin + inside.index()[a] * span.step;
        isData = isData && position >= 0 && position < spatial[a];
        offset += position * strides[a];
      }
      if (isData)
        window.add(plane[offset]);
    }
    if (isMax)
      out.push_back(window.count() ? window.value() : lowest<T>(x.dtype));
    else
      out.push_back(window.value() /
                    static_cast<T>(divisor ? divisor : std::max<int64_t>(window.count(), 1)));
  }
  return out;
}

Expected<Value> poolWith(const KernelContext &context, const std::vector<std::vector<Span>> &spans,
                         const Tensor &x, const Layout &outLayout, const std::string &letters,
                         int64_t divisor) {
  Ints shape = logicalShape(outLayout, letters, context.result().shape);
  ResultType plain{context.result().dtype, shape, true};
  Value out = BYCC_TRY(
      isFloat(x.dtype) ? store(plain, poolPlanes<double>(x, shape, spans, isMax(context), divisor))
                       : store(plain, poolPlanes<Wide>(x, shape, spans, isMax(context), divisor)));
  return Value(BYCC_TRY(fromPlain(out.tensor(), outLayout, letters, context.result().shape)));
}

struct PoolLayouts {
  Layout in, out;
  std::string letters;
};

PoolLayouts poolLayouts(const KernelContext &context) {
  Layout in = *Layout::parse(context.text("layout"));
  std::string_view out = context.text("out_layout");
  return {in, out.empty() ? in : *Layout::parse(out), layoutLetters("NC", in.primal().size() - 2)};
}

Expected<Value> pool(const KernelContext &context) {
  PoolLayouts layouts = poolLayouts(context);
  size_t rank = layouts.letters.size() - 2;
  Tensor x = BYCC_TRY(toPlain(context.input(0), layouts.in, layouts.letters));
  Ints kernel = attrs::perAxis(context.integers("pool_size"), rank);
  Ints strides = attrs::perAxis(context.integers("strides"), rank);
  Ints dilation = attrs::perAxis(context.integers("dilation"), rank);
  Ints before = context.padding(rank).before;
  Ints out = logicalShape(layouts.out, layouts.letters, context.result().shape);
  std::vector<std::vector<Span>> spans(rank);
  int64_t size = 1;
  for (size_t a = 0; a < rank; ++a) {
    size *= kernel[a];
    for (int64_t o = 0; o < out[2 + a]; ++o)
      spans[a].push_back({o * strides[a] - before[a], dilation[a], kernel[a]});
  }
  bool countsAll = !isMax(context) && context.boolean("count_include_pad");
  return poolWith(context, spans, x, layouts.out, layouts.letters, countsAll ? size : 0);
}

// Windows [floor(i * d / o), ceil((i + 1) * d / o)); global pooling has o = 1.
Expected<Value> adaptivePool(const KernelContext &context) {
  PoolLayouts layouts = poolLayouts(context);
  Tensor x = BYCC_TRY(toPlain(context.input(0), layouts.in, layouts.letters));
  Ints out = logicalShape(layouts.out, layouts.letters, context.result().shape);
  std::vector<std::vector<Span>> spans(layouts.letters.size() - 2);
  for (size_t a = 0; a < spans.size(); ++a) {
    int64_t d = x.shape[2 + a], o = out[2 + a];
    for (int64_t i = 0; i < o; ++i) {
      int64_t begin = i * d / o, end = ((i + 1) * d + o - 1) / o;
      spans[a].push_back({begin, 1, end - begin});
    }
  }
  return poolWith(context, spans, x, layouts.out, layouts.letters, 0);
}

const KernelEntry poolingRows[] = {
    {ops::nn_adaptive_avg_pool1d, adaptivePool},
    {ops::nn_adaptive_avg_pool2d, adaptivePool},
    {ops::nn_adaptive_avg_pool3d, adaptivePool},
    {ops::nn_adaptive_max_pool1d, adaptivePool},
    {ops::nn_adaptive_max_pool2d, adaptivePool},
    {ops::nn_adaptive_max_pool3d, adaptivePool},
    {ops::nn_avg_pool1d, pool},
    {ops::nn_avg_pool2d, pool},
    {ops::nn_avg_pool3d, pool},
    {ops::nn_global_avg_pool2d, adaptivePool},
    {ops::nn_global_max_pool2d, adaptivePool},
    {ops::nn_max_pool1d, pool},
    {ops::nn_max_pool2d, pool},
    {ops::nn_max_pool3d, pool},
};

} // namespace

std::span<const KernelEntry> poolingKernels() { return poolingRows; }

} // namespace bycc::eval
