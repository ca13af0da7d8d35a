// Convolutions. Every layout is brought to N, C, spatial and O, I, spatial
// first; one and two spatial axes are three with extents of 1.

#include "Kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace bycc::eval {
namespace {

using Triple = std::array<int64_t, 3>;

Triple leading(std::span<const int64_t> values, int64_t fill) {
  Triple result{fill, fill, fill};
  for (size_t i = 0; i < values.size(); ++i)
    result[3 - values.size() + i] = values[i];
  return result;
}

// What all convolutions have, spatial axes as three.
struct ConvShape {
  size_t rank;
  std::string letters; // of the data
  std::string kernelLetters;
  Layout outLayout;
  int64_t batch, channels, outChannels, groups;
  Triple in, out, kernel, stride, dilation, pad;
};

struct ConvOperands {
  Tensor x, weight; // plain
  Ints outShape;    // plain
  ConvShape shape;
};

Expected<ConvOperands> convOperands(const KernelContext &context, size_t weightIndex) {
  ConvShape s;
  auto data = Layout::parse(context.text("data_layout"));
  auto kernel = Layout::parse(context.text("kernel_layout"));
  s.rank = data->primal().size() - 2;
  s.letters = layoutLetters("NC", s.rank);
  s.kernelLetters = layoutLetters("OI", s.rank);
  s.outLayout =
      context.text("out_layout").empty() ? *data : *Layout::parse(context.text("out_layout"));
  Tensor x = BYCC_TRY(toPlain(context.input(0), *data, s.letters));
  Tensor weight = BYCC_TRY(toPlain(context.input(weightIndex), *kernel, s.kernelLetters));
  Ints out = logicalShape(s.outLayout, s.letters, context.result().shape);
  s.batch = x.shape[0];
  s.channels = x.shape[1];
  s.outChannels = out[1];
  s.groups = context.integer("groups");
  s.in = leading(std::span(x.shape).subspan(2), 1);
  s.out = leading(std::span(out).subspan(2), 1);
  s.kernel = leading(std::span(weight.shape).subspan(2), 1);
  s.stride = leading(attrs::perAxis(context.integers("strides"), s.rank), 1);
  s.dilation = leading(attrs::perAxis(context.integers("dilation"), s.rank), 1);
  s.pad = leading(context.padding(s.rank).before, 0);
  return ConvOperands{std::move(x), std::move(weight), std::move(out), std::move(s)};
}

// Calls fn(z, y, x) for all positions of a box.
template <typename Fn> void forBox(const Triple &box, Fn fn) {
  for (int64_t z = 0; z < box[0]; ++z)
    for (int64_t y = 0; y < box[1]; ++y)
      for (int64_t x = 0; x < box[2]; ++x)
        fn(Triple{z, y, x});
}

int64_t flat(const Triple &at, const Triple &box) {
  return (at[0] * box[1] + at[1]) * box[2] + at[2];
}

int64_t volume(const Triple &box) { return box[0] * box[1] * box[2]; }

// Position in the input that tap k of output position o reads; false: padding.
bool tap(const ConvShape &s, const Triple &o, const Triple &k, Triple &in) {
  for (size_t i = 0; i < 3; ++i) {
    in[i] = o[i] * s.stride[i] + k[i] * s.dilation[i] - s.pad[i];
    if (in[i] < 0 || in[i] >= s.in[i])
      return false;
  }
  return true;
}

Expected<Value> inOutLayout(const KernelContext &context, const ConvOperands &c, Value plain) {
  return Value(BYCC_TRY(
      fromPlain(plain.tensor(), c.shape.outLayout, c.shape.letters, context.result().shape)));
}

template <typename T> std::vector<T> convolve(const ConvOperands &c) {
  const ConvShape &s = c.shape;
  std::vector<T> x = load<T>(c.x), w = load<T>(c.weight);
  std::vector<T> out(static_cast<size_t>(count(c.outShape)), T(0));
  int64_t perGroup = s.channels / s.groups, outPerGroup = s.outChannels / s.groups;
  int64_t inSize = volume(s.in), outSize = volume(s.out), kernelSize = volume(s.kernel);
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t o = 0; o < s.outChannels; ++o) {
      const T *data = x.data() + (n * s.channels + o / outPerGroup * perGroup) * inSize;
      const T *weight = w.data() + o * perGroup * kernelSize;
      T *to = out.data() + (n * s.outChannels + o) * outSize;
      forBox(s.out, [&](const Triple &at) {
        T sum = 0;
        forBox(s.kernel, [&](const Triple &k) {
          Triple in;
          if (!tap(s, at, k, in))
            return;
          int64_t from = flat(in, s.in), with = flat(k, s.kernel);
          for (int64_t ch = 0; ch < perGroup; ++ch)
            sum += data[ch * inSize + from] * weight[ch * kernelSize + with];
        });
        to[flat(at, s.out)] = sum;
      });
    }
  return out;
}

// The gradient of a convolution: each input element is spread over the kernel.
template <typename T> std::vector<T> spread(const ConvOperands &c) {
  const ConvShape &s = c.shape;
  std::vector<T> x = load<T>(c.x), w = load<T>(c.weight); // weight: outPerGroup, channels
  std::vector<T> out(static_cast<size_t>(count(c.outShape)), T(0));
  int64_t perGroup = s.channels / s.groups, outPerGroup = s.outChannels / s.groups;
  int64_t inSize = volume(s.in), outSize = volume(s.out), kernelSize = volume(s.kernel);
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t ch = 0; ch < s.channels; ++ch)
      for (int64_t o = 0; o < outPerGroup; ++o) {
        const T *data = x.data() + (n * s.channels + ch) * inSize;
        const T *weight = w.data() + (o * s.channels + ch) * kernelSize;
        int64_t channel = ch / perGroup * outPerGroup + o;
        T *to = out.data() + (n * s.outChannels + channel) * outSize;
        forBox(s.in, [&](const Triple &in) {
          forBox(s.kernel, [&](const Triple &k) {
            Triple at;
            for (size_t i = 0; i < 3; ++i) {
              at[i] = in[i] * s.stride[i] + k[i] * s.dilation[i] - s.pad[i];
              if (at[i] < 0 || at[i] >= s.out[i])
                return;
            }
            to[flat(at, s.out)] += data[flat(in, s.in)] * weight[flat(k, s.kernel)];
          });
        });
      }
  return out;
}

// Floats add up in double, integers modulo 2^64.
Expected<Value> finish(const KernelContext &context, const ConvOperands &c, auto &&sums) {
  ResultType plain{context.result().dtype, c.outShape, true};
  Value out =
      BYCC_TRY(isFloat(c.x.dtype) ? store(plain, sums(double())) : store(plain, sums(uint64_t())));
  return inOutLayout(context, c, std::move(out));
}

Expected<Value> conv(const KernelContext &context) {
  ConvOperands c = BYCC_TRY(convOperands(context, 1));
  return finish(context, c, [&](auto zero) { return convolve<decltype(zero)>(c); });
}

Expected<Value> convTranspose(const KernelContext &context) {
  ConvOperands c = BYCC_TRY(convOperands(context, 1));
  return finish(context, c, [&](auto zero) { return spread<decltype(zero)>(c); });
}

// Grey-scale dilation: the greatest of data plus weight in the window.
Expected<Value> dilation2d(const KernelContext &context) {
  auto data = Layout::parse(context.text("data_layout"));
  auto kernel = Layout::parse(context.text("kernel_layout"));
  Tensor x = BYCC_TRY(toPlain(context.input(0), *data, "NCHW"));
  Tensor weight = BYCC_TRY(toPlain(context.input(1), *kernel, "IHW"));
  Ints shape = logicalShape(*data, "NCHW", context.result().shape);
  ConvShape s;
  s.in = {1, x.shape[2], x.shape[3]};
  s.out = {1, shape[2], shape[3]};
  s.kernel = {1, weight.shape[1], weight.shape[2]};
  s.stride = leading(context.integers("strides"), 1);
  s.dilation = leading(context.integers("dilations"), 1);
  s.pad = leading(context.padding(2).before, 0);
  std::vector<double> values = load<double>(x), w = load<double>(weight), out;
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane)
    forBox(s.out, [&](const Triple &at) {
      double best = -std::numeric_limits<double>::infinity();
      forBox(s.kernel, [&](const Triple &k) {
        Triple in;
        if (!tap(s, at, k, in))
          return;
        double v = values[static_cast<size_t>(plane * volume(s.in) + flat(in, s.in))] +
                   w[static_cast<size_t>(plane % shape[1] * volume(s.kernel) + flat(k, s.kernel))];
        best = std::isnan(best) || best > v ? best : v;
      });
      out.push_back(best);
    });
  Value plain = BYCC_TRY(store(ResultType{context.result().dtype, shape, true}, out));
  return Value(BYCC_TRY(fromPlain(plain.tensor(), *data, "NCHW", context.result().shape)));
}

const KernelEntry convolutionRows[] = {
    {ops::image_dilation2d, dilation2d},
    {ops::nn_contrib_conv2d_NCHWc, conv},
    {ops::nn_contrib_depthwise_conv2d_NCHWc, conv},
    {ops::nn_conv1d, conv},
    {ops::nn_conv1d_transpose, convTranspose},
    {ops::nn_conv2d, conv},
    {ops::nn_conv2d_transpose, convTranspose},
    {ops::nn_conv3d, conv},
    {ops::nn_conv3d_transpose, convTranspose},
};

} // namespace

std::span<const KernelEntry> convolutionKernels() { return convolutionRows; }

} // namespace bycc::eval
