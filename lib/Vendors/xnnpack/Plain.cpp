// See Plain.h. On the calling thread; products run over contiguous weights with eight sums, so
// that they are vectors. What is int8 is computed as the reals that it stands for, each result
// brought to the nearest of those that there are.
#include "Plain.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace bycc::xnnpack {

namespace {

// Maximum of numbers, NaN where one is.
float maximumOf(float a, float b) { return a > b || a != a ? a : b; }
float minimumOf(float a, float b) { return a < b || a != a ? a : b; }

float dot(const float *a, const float *b, uint64_t count) {
  float sums[8] = {};
  uint64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (uint64_t lane = 0; lane < 8; ++lane)
      sums[lane] += a[i + lane] * b[i + lane];
  float sum = 0;
  for (; i < count; ++i)
    sum += a[i] * b[i];
  for (float lane : sums)
    sum += lane;
  return sum;
}

class PlainNode {
public:
  PlainNode(const Program &program, const Node &node, const std::vector<float *> &data)
      : program_(program), node_(node), data_(data), out_(data[node.output]),
        x_(data[node.inputs[0]]) {}

  void run() const {
    switch (node_.kind) {
#define UNARY(kind, name, define, result)                                                          \
  case Kind::kind:                                                                                 \
    return each([](float x) { return result; });
#define BINARY(kind, name, define, result)                                                         \
  case Kind::kind:                                                                                 \
    return pairs([](float x, float y) { return result; });
#define OTHER(...)
#include "Kinds.def"
    case Kind::Clamp:
      return each([low = real(node_.low), high = real(node_.high)](float x) {
        return x < low ? low : x > high ? high : x;
      });
    case Kind::Convert:
    case Kind::Copy:
      return each([](float x) { return x; });
    case Kind::LeakyRelu:
      return each([this](float x) { return x < 0 ? x * node_.low : x; });
    case Kind::PRelu:
      return pairs([](float x, float slope) { return x < 0 ? x * slope : x; });
    case Kind::Softmax:
      return softmax();
    case Kind::AveragePool:
    case Kind::MaxPool:
      return pool();
    case Kind::GlobalAverage:
      return globalAverage();
    case Kind::Conv:
    case Kind::Depthwise:
      return convolution();
    case Kind::Dense:
      return dense();
    case Kind::Pad:
      return pad();
    case Kind::Resize:
      return resize();
    case Kind::count:
      return;
    }
  }

private:
  const Dims &in(size_t index = 0) const { return program_.values[node_.inputs[index]].dims; }
  const Dims &out() const { return program_.values[node_.output].dims; }
  const float *data(size_t index) const { return data_[node_.inputs[index]]; }
  float real(float number) const { return program_.values[node_.inputs[0]].real(number); }

  template <typename Function> void each(Function function) const {
    std::transform(x_, x_ + count(out()), out_, function);
  }

  // Calls step(index, offsets...) for each element of `dims`, with its index.
  template <typename Step> static void walk(const Dims &dims, Step step) {
    Dims index(dims.size());
    for (uint64_t i = 0, n = count(dims); i < n; ++i) {
      step(i, index);
      for (size_t axis = dims.size(); axis-- > 0 && ++index[axis] == dims[axis];)
        index[axis] = 0;
    }
  }

  static uint64_t broadcastOffset(const Dims &dims, const Dims &index) {
    uint64_t offset = 0;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      offset =
          offset * dims[axis] + (dims[axis] == 1 ? 0 : index[index.size() - dims.size() + axis]);
    return offset;
  }

  template <typename Function> void pairs(Function function) const {
    const float *a = data(0), *b = data(1);
    if (in(0) == out() && in(1) == out()) {
      std::transform(a, a + count(out()), b, out_, function);
      return;
    }
    walk(out(), [&](uint64_t i, const Dims &index) {
      out_[i] = function(a[broadcastOffset(in(0), index)], b[broadcastOffset(in(1), index)]);
    });
  }

  void softmax() const {
    uint64_t width = out().back();
    for (uint64_t row = 0, rows = count(out()) / width; row < rows; ++row) {
      const float *x = x_ + row * width;
      float *to = out_ + row * width, most = x[0], sum = 0;
      for (uint64_t i = 1; i < width; ++i)
        most = maximumOf(most, x[i]);
      for (uint64_t i = 0; i < width; ++i)
        sum += to[i] = std::exp(x[i] - most);
      for (uint64_t i = 0; i < width; ++i)
        to[i] /= sum;
    }
  }

  // Calls start(pixel) for each pixel of the result, then tap(pixel, first channel of a pixel of
  // the data, number of the tap) for those that its window holds, then finish(pixel).
  template <typename Start, typename Tap, typename Finish>
  void windows(Start start, Tap tap, Finish finish) const {
    const Slide &down = node_.slides[0], &across = node_.slides[1];
    for (uint64_t n = 0; n < out()[0]; ++n)
      for (uint64_t y = 0; y < out()[1]; ++y)
        for (uint64_t x = 0; x < out()[2]; ++x) {
          float *to = out_ + ((n * out()[1] + y) * out()[2] + x) * out()[3];
          start(to);
          for (uint64_t i = 0; i < down.kernel; ++i)
            for (uint64_t j = 0; j < across.kernel; ++j) {
              // Wraps around where it is in front.
              uint64_t row = y * down.stride + i * down.dilation - down.before;
              uint64_t column = x * across.stride + j * across.dilation - across.before;
              if (row < in()[1] && column < in()[2])
                tap(to, x_ + ((n * in()[1] + row) * in()[2] + column) * in()[3],
                    i * across.kernel + j);
            }
          finish(to);
        }
  }

  void pool() const {
    uint64_t channels = out()[3], taps = 0;
    bool isMax = node_.kind == Kind::MaxPool;
    windows([&](float *) { taps = 0; },
            [&](float *to, const float *from, uint64_t) {
              for (uint64_t c = 0; c < channels; ++c)
                to[c] = taps == 0 ? from[c] : isMax ? maximumOf(to[c], from[c]) : to[c] + from[c];
              ++taps;
            },
            [&](float *to) {
              for (uint64_t c = 0; c < channels && !isMax; ++c)
                to[c] /= static_cast<float>(taps);
            });
  }

  void globalAverage() const {
    uint64_t channels = in()[3], pixels = in()[1] * in()[2];
    std::fill_n(out_, count(out()), 0.0f);
    for (uint64_t n = 0; n < in()[0]; ++n)
      for (uint64_t i = 0; i < pixels * channels; ++i)
        out_[n * channels + i % channels] += x_[n * pixels * channels + i];
    for (uint64_t i = 0; i < count(out()); ++i)
      out_[i] /= static_cast<float>(pixels);
  }

  void convolution() const {
    const float *weight = data(1), *bias = data(2);
    uint64_t made = out()[3], channels = in()[3];
    uint64_t taps = uint64_t{node_.slides[0].kernel} * node_.slides[1].kernel;
    bool isDepthwise = node_.kind == Kind::Depthwise;
    uint64_t groups = isDepthwise ? channels : node_.groups;
    uint64_t width = channels / groups, each = made / groups; // of a group
    windows([&](float *to) { std::copy_n(bias, made, to); },
            [&](float *to, const float *from, uint64_t tap) {
              for (uint64_t o = 0; o < made; ++o)
                to[o] += isDepthwise ? from[o / each] * weight[tap * made + o]
                                     : dot(from + o / each * width,
                                           weight + (o * taps + tap) * width, width);
            },
            [](float *) {});
  }

  void dense() const {
    uint64_t made = out().back(), width = in().back();
    for (uint64_t i = 0; i < count(out()); ++i)
      out_[i] = data(2)[i % made] + dot(x_ + i / made * width, data(1) + i % made * width, width);
  }

  void pad() const {
    std::fill_n(out_, count(out()), real(node_.low));
    walk(in(), [&](uint64_t i, const Dims &index) {
      uint64_t to = 0;
      for (size_t axis = 0; axis < index.size(); ++axis)
        to = to * out()[axis] + index[axis] + node_.before[axis];
      out_[to] = x_[i];
    });
  }

  // Of an axis: the two elements between which a position lies, and how near the second is.
  struct Between {
    uint64_t first, second;
    float weight;
  };
  Between between(size_t axis, uint64_t position) const {
    double at = static_cast<double>(position), in = static_cast<double>(this->in()[axis]),
           made = static_cast<double>(out()[axis]);
    switch (node_.mode) {
    case ResizeMode::AlignCorners:
      at *= made > 1 ? (in - 1) / (made - 1) : 0;
      break;
    case ResizeMode::Asymmetric:
      at *= in / made;
      break;
    default:
      at = (at + 0.5) * in / made - 0.5;
    }
    at = std::clamp(at, 0.0, in - 1);
    auto first = static_cast<uint64_t>(at);
    return {first, std::min(first + 1, this->in()[axis] - 1),
            static_cast<float>(at - static_cast<double>(first))};
  }

  void resize() const {
    uint64_t channels = out()[3];
    walk(out(), [&](uint64_t i, const Dims &index) {
      Between y = between(1, index[1]), x = between(2, index[2]);
      auto at = [&](uint64_t row, uint64_t column) {
        return x_[((index[0] * in()[1] + row) * in()[2] + column) * channels + index[3]];
      };
      auto mix = [](float a, float b, float weight) { return a * (1 - weight) + b * weight; };
      out_[i] = mix(mix(at(y.first, x.first), at(y.first, x.second), x.weight),
                    mix(at(y.second, x.first), at(y.second, x.second), x.weight), y.weight);
    });
  }

  const Program &program_;
  const Node &node_;
  const std::vector<float *> &data_;
  float *out_;
  const float *x_;
};

} // namespace

bool hasNonFinite(const float *data, uint64_t count) {
  // All bits of the exponent: adding one to it reaches the sign. In blocks, as vectors.
  constexpr uint32_t exponent = 0x7f800000, block = 1024;
  for (uint64_t at = 0; at < count; at += block) {
    uint32_t found = 0;
    for (uint64_t i = at, end = std::min<uint64_t>(count, at + block); i < end; ++i)
      found |= (std::bit_cast<uint32_t>(data[i]) & exponent) + 0x00800000;
    if (found & 0x80000000)
      return true;
  }
  return false;
}

namespace {

// Numbers of a tensor as reals; weights have a scale for each channel, of the first axis or the last.
template <typename T> void toReals(const Value &value, const T *from, float *to) {
  uint64_t channels = value.scales.size(), each = count(value.dims) / channels;
  bool isLast = value.dims.front() != channels;
  for (uint64_t i = 0; i < count(value.dims); ++i)
    to[i] = static_cast<float>(int32_t{from[i]} - (value.isUnsigned ? 128 : 0) - value.zero) *
            value.scales[isLast ? i % channels : i / each];
}

void readReals(const Value &value, const void *from, float *to) {
  if (value.type == Type::Int32)
    toReals(value, static_cast<const int32_t *>(from), to);
  else if (value.isUnsigned)
    toReals(value, static_cast<const uint8_t *>(from), to);
  else
    toReals(value, static_cast<const int8_t *>(from), to);
}

// The number for a real; NaN is 0 outside of the region, as for host code.
int32_t numberOf(const Value &value, float real) {
  float number = std::nearbyint(real / value.scale()) + static_cast<float>(value.zero);
  if (std::isnan(number))
    return value.isUnsigned ? -128 : 0;
  return static_cast<int32_t>(std::clamp(number, -128.0f, 127.0f));
}

void toNearest(const Value &value, float *reals) {
  for (uint64_t i = 0; i < count(value.dims); ++i)
    reals[i] = value.real(static_cast<float>(numberOf(value, reals[i])));
}

void writeNumbers(const Value &value, const float *reals, uint8_t *to) {
  for (uint64_t i = 0; i < count(value.dims); ++i)
    to[i] = static_cast<uint8_t>(numberOf(value, reals[i]) + (value.isUnsigned ? 128 : 0));
}

} // namespace

void runPlain(const Program &program, const uint8_t *weights, const TensorAt &tensor) {
  std::vector<float *> data;
  std::vector<std::vector<float>> inner;
  for (uint32_t i = 0; i < program.values.size(); ++i) {
    const Value &value = program.values[i];
    void *given = i < program.numTensors() ? tensor(i) : nullptr;
    if (value.isConstant()) // read only
      given = const_cast<uint8_t *>(weights + value.offset);
    if (given && value.type == Type::Float) {
      data.push_back(static_cast<float *>(given));
      continue;
    }
    data.push_back(inner.emplace_back(count(value.dims)).data());
    if (i < program.numInputs || value.isConstant())
      readReals(value, given, data.back());
  }
  for (const Node &node : program.nodes) {
    PlainNode(program, node, data).run();
    if (const Value &made = program.values[node.output]; made.type == Type::Int8)
      toNearest(made, data[node.output]);
  }
  for (uint32_t i = program.numInputs; i < program.numTensors(); ++i)
    if (program.values[i].type == Type::Int8)
      writeNumbers(program.values[i], data[i], static_cast<uint8_t *>(tensor(i)));
}

} // namespace bycc::xnnpack
