// See Loops.h.
#include "Loops.h"

#include "PoolThreads.h"
#include "bycc/Support/Cubic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace bycc::onednn {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// Without branches, for vectors. A NaN in either one is the result.
float larger(float a, float b) {
  return static_cast<int>(a > b) | static_cast<int>(a != a) ? a : b;
}
float smaller(float a, float b) {
  return static_cast<int>(a < b) | static_cast<int>(a != a) ? a : b;
}

// Calls `body` with the function of one element that `math` names.
template <typename Body> void withFunction(Math math, float alpha, float beta, Body body) {
  switch (math) {
  case Math::Relu:
    if (alpha == 0) // 0 for -infinity, too
      return body([](float x) { return x <= 0 ? 0.0f : x; });
    return body([=](float x) { return x <= 0 ? alpha * x : x; });
  case Math::Clip:
  case Math::Saturate:
    return body([=](float x) {
      float raised = x < alpha ? alpha : x;
      return raised > beta ? beta : raised;
    });
  case Math::Linear:
    return body([=](float x) { return alpha * x + beta; });
  case Math::Pow:
    if (beta == -0.5f) // rsqrt, which is not pow for infinities
      return body([=](float x) { return alpha / std::sqrt(x); });
    return body([=](float x) { return alpha * std::pow(x, beta); });
  case Math::Abs:
    return body([](float x) { return std::fabs(x); });
  case Math::Exp:
    return body([](float x) { return std::exp(x); });
  case Math::Log:
    return body([](float x) { return std::log(x); });
  case Math::Sqrt:
    return body([](float x) { return std::sqrt(x); });
  case Math::Tanh:
    return body([](float x) { return std::tanh(x); });
  case Math::Sigmoid:
    return body([](float x) { return 1 / (1 + std::exp(-x)); });
  case Math::Gelu:
    return body([](float x) { return 0.5f * x * (1 + std::erf(x * std::sqrt(0.5f))); });
  case Math::GeluTanh:
    return body([](float x) {
      constexpr auto slope = static_cast<float>(tanhGelu.inner[1]);
      constexpr auto bend = static_cast<float>(tanhGelu.inner[3]);
      return 0.5f * x * (1 + std::tanh(x * (slope + bend * x * x)));
    });
  case Math::Swish:
    return body([](float x) { return x * (1 / (1 + std::exp(-x))); });
  case Math::Mish:
    return body([](float x) { return x * std::tanh(std::log1p(std::exp(x))); });
  case Math::HardSwish:
    return body([](float x) { return x * smaller(larger(x + 3, 0), 6) / 6; });
  case Math::Round:
    return body([](float x) { return std::nearbyint(x); });
  default: // None
    return;
  }
}

template <typename Body> void withOperation(Math math, Body body) {
  switch (math) {
  case Math::Add:
    return body([](float a, float b) { return a + b; });
  case Math::Sub:
    return body([](float a, float b) { return a - b; });
  case Math::Mul:
    return body([](float a, float b) { return a * b; });
  case Math::Div:
    return body([](float a, float b) { return a / b; });
  case Math::Max:
    return body(larger);
  default:
    return body(smaller);
  }
}

// How many of the last axes can be one: over them each operand has all extents of the
// result or none.
size_t numMerged(const std::vector<Dims> &operands, const Dims &dims) {
  size_t count = 1;
  while (count < dims.size() &&
         std::ranges::all_of(
             operands,
             [&](const Dims &operand) {
               std::span last = std::span(operand).last(count + 1);
               return std::ranges::equal(last, std::span(dims).last(count + 1)) ||
                      std::ranges::all_of(last, [](int64_t extent) { return extent == 1; });
             }))
    ++count;
  return count;
}

Dims merged(Dims dims, size_t count) {
  for (; count > 1; --count) {
    int64_t last = dims.back();
    dims.pop_back();
    dims.back() *= last;
  }
  return dims;
}

// Where the rows (along the last axis) of an operand begin that is broadcast to `dims`.
class Rows {
public:
  Rows(const Dims &operand, const Dims &dims) : dims_(dims), strides_(dims.size()) {
    int64_t stride = 1;
    for (size_t axis = dims.size(); axis-- > 0;) {
      strides_[axis] = operand[axis] == 1 ? 0 : stride;
      stride *= operand[axis];
    }
  }
  int64_t begin(int64_t row) const {
    int64_t at = 0;
    for (size_t axis = dims_.size() - 1; axis-- > 0;) {
      at += row % dims_[axis] * strides_[axis];
      row /= dims_[axis];
    }
    return at;
  }
  int64_t step() const { return strides_.back(); }

private:
  Dims dims_, strides_;
};

// Calls `body` for parts of 0 to `count`, each worth a thread's while.
template <typename Body>
void inParts(int64_t count, int64_t elementsEach, int32_t threads, const Body &body) {
  constexpr int64_t worthWhile = 8 << 10; // elements
  int64_t parts = std::clamp<int64_t>(count * elementsEach / worthWhile, 1, std::max(threads, 1));
  runOnPool(static_cast<uint32_t>(std::min(parts, count)), [&](uint32_t part, uint32_t all) {
    body(count * part / all, count * (part + 1) / all);
  });
}

using Pointers = std::span<const float *const>;

class Work {
public:
  Work(const Loop &loop, Pointers inputs, Pointers postOperands, float *result, int32_t threads)
      : loop_(loop), step_(loop.step), inputs_(inputs), postOperands_(postOperands),
        result_(result), threads_(threads) {}

  void run() const {
    if (step_.kind == StepKind::Softmax)
      softmax();
    else if (step_.kind == StepKind::Pool)
      maxPool();
    else
      elementwise();
  }

private:
  // ---- elementwise ----
  void elementwise() const {
    std::vector<Dims> shapes = loop_.inputDims;
    for (const Dims &dims : loop_.postOperandDims)
      shapes.push_back(dims.empty() ? loop_.dims : dims);
    size_t count = numMerged(shapes, loop_.dims);
    Dims dims = merged(loop_.dims, count);
    std::vector<Rows> operands;
    for (const Dims &shape : shapes)
      operands.emplace_back(merged(shape, count), dims);
    // Parts of a row stay in the cache from one function to the next.
    constexpr int64_t partWidth = 4 << 10;
    int64_t width = dims.back(), partsEach = (width + partWidth - 1) / partWidth;
    inParts(numElements(dims) / width * partsEach, std::min(width, partWidth), threads_,
            [&](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i) {
                int64_t first = i % partsEach * partWidth;
                part(operands, i / partsEach, width, first, std::min(partWidth, width - first));
              }
            });
  }

  void part(const std::vector<Rows> &operands, int64_t row, int64_t width, int64_t first,
            int64_t count) const {
    float *to = result_ + row * width + first;
    auto at = [&](size_t i, const float *operand) {
      return operand + operands[i].begin(row) + first * operands[i].step();
    };
    if (step_.kind == StepKind::Binary) {
      auto scaleOf = [&](size_t i) { return i < step_.scales.size() ? step_.scales[i] : 1; };
      binary(step_.math, to, scaleOf(0), at(0, inputs_[0]), operands[0].step(), scaleOf(1),
             at(1, inputs_[1]), operands[1].step(), count);
    } else {
      const float *from = at(0, inputs_[0]);
      std::copy_n(from, from == to ? 0 : count, to);
      eltwise(step_.math, step_.alpha, step_.beta, 1, to, count);
    }
    for (size_t i = 0; i < step_.postOps.size(); ++i) {
      const PostOp &postOp = step_.postOps[i];
      size_t operand = inputs_.size() + i;
      if (postOp.operand == noValue)
        eltwise(postOp.math, postOp.alpha, postOp.beta, postOp.scale, to, count);
      else
        binary(postOp.math, to, 1, to, 1, postOp.scale, at(operand, postOperands_[i]),
               operands[operand].step(), count);
    }
  }

  static void eltwise(Math math, float alpha, float beta, float scale, float *row, int64_t count) {
    withFunction(math, alpha, beta, [=](auto function) {
      for (int64_t i = 0; i < count; ++i)
        row[i] = scale * function(row[i]);
    });
  }

  // Steps are 0 or 1.
  static void binary(Math math, float *to, float scaleA, const float *a, int64_t stepA,
                     float scaleB, const float *b, int64_t stepB, int64_t count) {
    withOperation(math, [=](auto operation) {
      for (int64_t i = 0; i < count; ++i)
        to[i] = operation(scaleA * a[i * stepA], scaleB * b[i * stepB]);
    });
  }

  // ---- softmax ----
  void softmax() const {
    int64_t extent = loop_.dims[step_.axis], inner = 1;
    for (size_t axis = step_.axis + 1; axis < loop_.dims.size(); ++axis)
      inner *= loop_.dims[axis];
    inParts(numElements(loop_.dims) / extent, extent, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t at = i / inner * inner * extent + i % inner;
        softmaxOf(inputs_[0] + at, result_ + at, extent, inner);
      }
    });
  }

  void softmaxOf(const float *from, float *to, int64_t extent, int64_t stride) const {
    float highest = -infinity;
    for (int64_t i = 0; i < extent; ++i)
      highest = larger(from[i * stride], highest);
    float sum = 0;
    bool isLog = step_.math == Math::LogSoftmax;
    for (int64_t i = 0; i < extent; ++i) {
      float shifted = from[i * stride] - highest, power = std::exp(shifted);
      sum += power;
      to[i * stride] = isLog ? shifted : power;
    }
    float logOfSum = std::log(sum);
    for (int64_t i = 0; i < extent; ++i)
      to[i * stride] = isLog ? to[i * stride] - logOfSum : to[i * stride] / sum;
  }

  // ---- maxima of windows ----
  static constexpr size_t spatial = 3;
  using Extents = std::array<int64_t, spatial>;
  // Of the spatial axes, filled up in front.
  static Extents filledUp(std::span<const int64_t> extents, int64_t filler) {
    Extents all;
    all.fill(filler);
    std::copy(extents.begin(), extents.end(),
              all.end() - static_cast<std::ptrdiff_t>(extents.size()));
    return all;
  }

  void maxPool() const {
    Extents in = filledUp(std::span(loop_.inputDims[0]).subspan(2), 1);
    Extents out = filledUp(std::span(loop_.dims).subspan(2), 1);
    int64_t inSize = in[0] * in[1] * in[2], outSize = out[0] * out[1] * out[2];
    inParts(loop_.dims[0] * loop_.dims[1], outSize * numElements(step_.kernel), threads_,
            [&](int64_t begin, int64_t end) {
              for (int64_t plane = begin; plane < end; ++plane)
                maxPoolOf(inputs_[0] + plane * inSize, in, result_ + plane * outSize, out);
            });
  }

  // Row by row of the result, for each element of the window.
  void maxPoolOf(const float *from, const Extents &in, float *to, const Extents &out) const {
    Extents kernel = filledUp(step_.kernel, 1);
    std::fill_n(to, out[0] * out[1] * out[2], -infinity);
    for (int64_t z = 0; z < out[0]; ++z)
      for (int64_t y = 0; y < out[1]; ++y)
        for (int64_t i = 0; i < kernel[0]; ++i)
          for (int64_t j = 0; j < kernel[1]; ++j) {
            int64_t inZ = placeOf(0, z, i), inY = placeOf(1, y, j);
            if (inZ < 0 || inZ >= in[0] || inY < 0 || inY >= in[1])
              continue;
            for (int64_t k = 0; k < kernel[2]; ++k)
              raise(to + (z * out[1] + y) * out[2], out[2], from + (inZ * in[1] + inY) * in[2],
                    in[2], k);
          }
  }

  // To the element of the window that is number `k` along the last axis.
  void raise(float *to, int64_t count, const float *from, int64_t width, int64_t k) const {
    int64_t stride = step_.strides.back(), start = placeOf(spatial - 1, 0, k);
    int64_t first = start < 0 ? (stride - 1 - start) / stride : 0;
    int64_t end = start < width ? std::min(count, (width - 1 - start) / stride + 1) : 0;
    for (int64_t x = first; x < end; ++x)
      to[x] = larger(from[start + x * stride], to[x]);
  }

  // In the operand, of element `k` of the window of result `at`; may be outside.
  int64_t placeOf(size_t axis, int64_t at, int64_t k) const {
    size_t missing = spatial - step_.kernel.size();
    if (axis < missing)
      return at;
    size_t own = axis - missing;
    return at * step_.strides[own] - step_.padBegin[own] + k * step_.dilation[own];
  }

  const Loop &loop_;
  const Step &step_;
  Pointers inputs_, postOperands_;
  float *result_;
  int32_t threads_;
};

} // namespace

Loop::Loop(const Plan &plan, Step given) : step(std::move(given)) {
  for (ValueId id : step.inputs)
    inputDims.push_back(plan.values[id].dims);
  for (const PostOp &postOp : step.postOps)
    postOperandDims.push_back(postOp.operand == noValue ? Dims()
                                                        : plan.values[postOp.operand].dims);
  dims = plan.values[step.output].dims;
}

void Loop::run(Pointers inputs, Pointers postOperands, float *result, int32_t threads) const {
  Work(*this, inputs, postOperands, result, threads).run();
}

} // namespace bycc::onednn
