// One function per family, indexing every element by its coordinates. Nothing
// here is clever.
#include "RegionReference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace bycc::test {

namespace {

// A NaN in either one is the result.
double larger(double x, double y) { return x > y || std::isnan(x) ? x : y; }
double smaller(double x, double y) { return x < y || std::isnan(x) ? x : y; }

struct Nd {
  Dims dims;
  Tensor data;
};

// Row-major odometer.
bool advance(Dims &at, const Dims &dims) {
  for (size_t i = dims.size(); i-- > 0;) {
    if (++at[i] < dims[i])
      return true;
    at[i] = 0;
  }
  return false;
}

size_t offset(const Dims &at, const Dims &dims) {
  int64_t out = 0;
  for (size_t i = 0; i < dims.size(); ++i)
    out = out * dims[i] + at[i];
  return static_cast<size_t>(out);
}

class Attrs {
public:
  explicit Attrs(const bycc_node &node) : node_(node) {}
  const bycc_attr *find(const std::string &name) const {
    for (uint32_t i = 0; i < node_.num_attrs; ++i)
      if (name == bycc_attr_at(node_.attrs, i)->name)
        return bycc_attr_at(node_.attrs, i);
    return nullptr;
  }
  int64_t integer(const std::string &name, int64_t fallback) const {
    const bycc_attr *attr = find(name);
    return attr ? attr->i : fallback;
  }
  double number(const std::string &name, double fallback) const {
    const bycc_attr *attr = find(name);
    return attr ? attr->f : fallback;
  }
  std::string text(const std::string &name, const std::string &fallback) const {
    const bycc_attr *attr = find(name);
    return attr ? attr->s : fallback;
  }
  Dims list(const std::string &name, Dims fallback) const {
    const bycc_attr *attr = find(name);
    if (!attr)
      return fallback;
    Dims out;
    for (uint32_t i = 0; i < attr->count; ++i)
      out.push_back(bycc_item_at(attr, i)->i);
    return out;
  }

private:
  const bycc_node &node_;
};

Nd permute(const Nd &from, const Dims &axes) {
  Nd out;
  for (int64_t axis : axes)
    out.dims.push_back(from.dims[static_cast<size_t>(axis)]);
  out.data.resize(from.data.size());
  Dims at(axes.size(), 0), source(axes.size());
  do {
    for (size_t i = 0; i < axes.size(); ++i)
      source[static_cast<size_t>(axes[i])] = at[i];
    out.data[offset(at, out.dims)] = from.data[offset(source, from.dims)];
  } while (advance(at, out.dims));
  return out;
}

Nd toLayout(const Nd &from, const std::string &have, const std::string &want) {
  Dims axes;
  for (char letter : want)
    axes.push_back(static_cast<int64_t>(have.find(letter)));
  return permute(from, axes);
}

std::string spatialLetters(size_t count) { return std::string("DHW").substr(3 - count); }

float divideBy(float sum, int64_t count) { return sum / static_cast<float>(count); }

// Data N,C,spatial, weights O,I,spatial of one group.
Nd conv(const Nd &data, const Nd &weights, const Dims &outDims, const Attrs &attrs,
        size_t spatial) {
  Dims strides = attrs.list("strides", Dims(spatial, 1));
  Dims dilation = attrs.list("dilation", Dims(spatial, 1));
  Dims padding = attrs.list("padding", Dims(spatial, 0));
  int64_t groups = attrs.integer("groups", 1);
  int64_t perGroupIn = weights.dims[1], perGroupOut = outDims[1] / groups;
  Nd out{outDims, Tensor(static_cast<size_t>(count(outDims)))};
  Dims kernel(weights.dims.begin() + 2, weights.dims.end());
  Dims at(outDims.size(), 0);
  do {
    double sum = 0;
    for (int64_t c = 0; c < perGroupIn; ++c) {
      Dims k(spatial, 0);
      do {
        Dims d = {at[0], at[1] / perGroupOut * perGroupIn + c}, w = {at[1], c};
        bool inside = true;
        for (size_t i = 0; i < spatial; ++i) {
          d.push_back(at[i + 2] * strides[i] + k[i] * dilation[i] - padding[i]);
          w.push_back(k[i]);
          inside &= d.back() >= 0 && d.back() < data.dims[i + 2];
        }
        if (inside)
          sum += double{data.data[offset(d, data.dims)]} * weights.data[offset(w, weights.dims)];
      } while (advance(k, kernel));
    }
    out.data[offset(at, outDims)] = static_cast<float>(sum);
  } while (advance(at, outDims));
  return out;
}

// Scatter form; weights I,O,spatial.
Nd deconv(const Nd &data, const Nd &weights, const Dims &outDims, const Attrs &attrs,
          size_t spatial) {
  Dims strides = attrs.list("strides", Dims(spatial, 1));
  Dims dilation = attrs.list("dilation", Dims(spatial, 1));
  Dims padding = attrs.list("padding", Dims(spatial, 0));
  int64_t groups = attrs.integer("groups", 1);
  int64_t perGroupIn = data.dims[1] / groups, perGroupOut = weights.dims[1];
  Nd out{outDims, Tensor(static_cast<size_t>(count(outDims)))};
  Dims at(data.dims.size(), 0);
  do {
    Dims k(weights.dims.begin() + 1, weights.dims.end()), kAt(k.size(), 0);
    do {
      Dims o = {at[0], at[1] / perGroupIn * perGroupOut + kAt[0]}, w = {at[1]};
      w.insert(w.end(), kAt.begin(), kAt.end());
      bool inside = true;
      for (size_t i = 0; i < spatial; ++i) {
        o.push_back(at[i + 2] * strides[i] + kAt[i + 1] * dilation[i] - padding[i]);
        inside &= o.back() >= 0 && o.back() < outDims[i + 2];
      }
      if (inside)
        out.data[offset(o, outDims)] +=
            data.data[offset(at, data.dims)] * weights.data[offset(w, weights.dims)];
    } while (advance(kAt, k));
  } while (advance(at, data.dims));
  return out;
}

Nd pool(const Nd &data, const Dims &outDims, const Dims &kernel, const Dims &strides,
        const Dims &padding, bool isMax, bool countPadding) {
  size_t spatial = kernel.size();
  Nd out{outDims, Tensor(static_cast<size_t>(count(outDims)))};
  Dims at(outDims.size(), 0);
  do {
    float best = -INFINITY, sum = 0;
    int64_t inside = 0;
    Dims k(spatial, 0);
    do {
      Dims d = {at[0], at[1]};
      bool ok = true;
      for (size_t i = 0; i < spatial; ++i) {
        d.push_back(at[i + 2] * strides[i] + k[i] - padding[i]);
        ok &= d.back() >= 0 && d.back() < data.dims[i + 2];
      }
      if (!ok)
        continue;
      ++inside;
      best = static_cast<float>(larger(best, data.data[offset(d, data.dims)]));
      sum += data.data[offset(d, data.dims)];
    } while (advance(k, kernel));
    out.data[offset(at, outDims)] =
        isMax ? best : divideBy(sum, countPadding ? count(kernel) : inside);
  } while (advance(at, outDims));
  return out;
}

Nd batchMatMul(Nd a, Nd b, bool transposeA, bool transposeB) {
  auto swapped = [](const Nd &x) {
    Dims axes(x.dims.size());
    for (size_t i = 0; i < axes.size(); ++i)
      axes[i] = static_cast<int64_t>(i);
    std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
    return permute(x, axes);
  };
  if (transposeA)
    a = swapped(a);
  if (transposeB)
    b = swapped(b);
  size_t rank = a.dims.size();
  Dims dims = a.dims;
  for (size_t i = 0; i + 2 < rank; ++i)
    dims[i] = std::max(a.dims[i], b.dims[i]);
  dims[rank - 1] = b.dims[rank - 1];
  Nd out{dims, Tensor(static_cast<size_t>(count(dims)))};
  Dims at(rank, 0);
  do {
    double sum = 0;
    for (int64_t k = 0; k < a.dims[rank - 1]; ++k) {
      Dims x = at, y = at;
      for (size_t i = 0; i + 2 < rank; ++i) {
        x[i] = a.dims[i] == 1 ? 0 : at[i];
        y[i] = b.dims[i] == 1 ? 0 : at[i];
      }
      x[rank - 1] = y[rank - 2] = k;
      sum += double{a.data[offset(x, a.dims)]} * b.data[offset(y, b.dims)];
    }
    out.data[offset(at, dims)] = static_cast<float>(sum);
  } while (advance(at, dims));
  return out;
}

Nd broadcast(const Nd &from, const Dims &dims) {
  Nd out{dims, Tensor(static_cast<size_t>(count(dims)))};
  Dims at(dims.size(), 0);
  do {
    Dims source;
    for (size_t i = 0; i < from.dims.size(); ++i)
      source.push_back(from.dims[i] == 1 ? 0 : at[dims.size() - from.dims.size() + i]);
    out.data[offset(at, dims)] = from.data[offset(source, from.dims)];
  } while (advance(at, dims));
  return out;
}

using Unary = std::function<double(double)>;
const std::map<std::string, Unary> unaries = {
    {"abs", [](double x) { return std::fabs(x); }},
    {"erf", [](double x) { return std::erf(x); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"negative", [](double x) { return -x; }},
    {"nn.relu", [](double x) { return larger(x, 0); }},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
};
using Binary = std::function<double(double, double)>;
const std::map<std::string, Binary> binaries = {
    {"add", [](double x, double y) { return x + y; }},
    {"divide", [](double x, double y) { return x / y; }},
    {"maximum", larger},
    {"minimum", smaller},
    {"multiply", [](double x, double y) { return x * y; }},
    {"power", [](double x, double y) { return std::pow(x, y); }},
    {"subtract", [](double x, double y) { return x - y; }},
};

Nd mapped(const Nd &x, const Unary &f) {
  Nd out = x;
  for (float &element : out.data)
    element = static_cast<float>(f(element));
  return out;
}

// Calls `row` for each line along `axis`, as a vector to change in place.
Nd alongAxis(const Nd &x, size_t axis, const std::function<void(std::vector<double> &)> &row) {
  Nd out = x;
  Dims outer = x.dims;
  outer[axis] = 1;
  Dims at(outer.size(), 0);
  do {
    std::vector<double> line;
    Dims a = at;
    for (a[axis] = 0; a[axis] < x.dims[axis]; ++a[axis])
      line.push_back(x.data[offset(a, x.dims)]);
    row(line);
    for (a[axis] = 0; a[axis] < x.dims[axis]; ++a[axis])
      out.data[offset(a, x.dims)] = static_cast<float>(line[static_cast<size_t>(a[axis])]);
  } while (advance(at, outer));
  return out;
}

Nd softmax(const Nd &x, int64_t axis, bool isLog) {
  size_t along = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.dims.size()) : axis);
  return alongAxis(x, along, [&](std::vector<double> &line) {
    double top = std::accumulate(line.begin(), line.end(), -INFINITY, larger), sum = 0;
    for (double v : line)
      sum += std::exp(v - top);
    for (double &v : line)
      v = isLog ? v - top - std::log(sum) : std::exp(v - top) / sum;
  });
}

Nd layerNorm(const Nd &x, const Nd &scale, const Nd &shift, double epsilon) {
  return alongAxis(x, x.dims.size() - 1, [&](std::vector<double> &line) {
    double mean = 0, variance = 0, n = static_cast<double>(line.size());
    for (double v : line)
      mean += v / n;
    for (double v : line)
      variance += (v - mean) * (v - mean) / n;
    for (size_t i = 0; i < line.size(); ++i)
      line[i] = (line[i] - mean) / std::sqrt(variance + epsilon) * scale.data[i] + shift.data[i];
  });
}

Nd reduce(const Nd &x, const std::string &op, const Dims &axes, const Dims &outDims) {
  Dims kept = x.dims;
  for (int64_t axis : axes)
    kept[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.dims.size()) : axis)] = 1;
  std::vector<double> sums(static_cast<size_t>(count(kept)));
  Dims at(x.dims.size(), 0);
  do {
    Dims to = at;
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = kept[i] == 1 ? 0 : at[i];
    sums[offset(to, kept)] += x.data[offset(at, x.dims)];
  } while (advance(at, x.dims));
  if (op == "mean")
    for (double &sum : sums)
      sum /= static_cast<double>(count(x.dims) / count(kept));
  return {outDims, Tensor(sums.begin(), sums.end())};
}

Nd slice(const Nd &x, const Dims &begin, const Dims &strides, const Dims &outDims) {
  Nd out{outDims, Tensor(static_cast<size_t>(count(outDims)))};
  Dims at(outDims.size(), 0);
  do {
    Dims from = at;
    for (size_t i = 0; i < begin.size(); ++i)
      from[i] = begin[i] + at[i] * strides[i];
    out.data[offset(at, outDims)] = x.data[offset(from, x.dims)];
  } while (advance(at, outDims));
  return out;
}

Nd concat(const std::vector<Nd> &parts, int64_t axis, const Dims &outDims) {
  Nd out{outDims, Tensor(static_cast<size_t>(count(outDims)))};
  size_t along = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(outDims.size()) : axis);
  int64_t start = 0;
  for (const Nd &part : parts) {
    Dims at(outDims.size(), 0);
    do {
      Dims to = at;
      to[along] += start;
      out.data[offset(to, outDims)] = part.data[offset(at, part.dims)];
    } while (advance(at, part.dims));
    start += part.dims[along];
  }
  return out;
}

bool startsWith(const std::string &text, const std::string &prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

Nd windowed(const std::string &op, const std::vector<Nd> &in, const Dims &declared,
            const Attrs &attrs) {
  size_t spatial = in[0].dims.size() - 2;
  std::string order = "NC" + spatialLetters(spatial);
  bool isConv = startsWith(op, "nn.conv");
  std::string layout = attrs.text(isConv ? "data_layout" : "layout", order);
  Nd data = toLayout(in[0], layout, order);
  Dims outDims;
  for (char letter : order)
    outDims.push_back(declared[layout.find(letter)]);
  Nd out;
  if (isConv) {
    bool isTransposed = op.find("transpose") != std::string::npos;
    std::string kernelOrder = (isTransposed ? "IO" : "OI") + spatialLetters(spatial);
    Nd weights = toLayout(in[1], attrs.text("kernel_layout", kernelOrder), kernelOrder);
    out = (isTransposed ? deconv : conv)(data, weights, outDims, attrs, spatial);
  } else {
    bool isMax = op.find("max") != std::string::npos;
    Dims whole;
    for (size_t i = 0; i < spatial; ++i)
      whole.push_back(data.dims[i + 2] / outDims[i + 2]);
    bool isWindow = startsWith(op, "nn.max_pool") || startsWith(op, "nn.avg_pool");
    out = pool(data, outDims, isWindow ? attrs.list("pool_size", {}) : whole,
               isWindow ? attrs.list("strides", Dims(spatial, 1)) : whole,
               isWindow ? attrs.list("padding", Dims(spatial, 0)) : Dims(spatial, 0), isMax,
               attrs.integer("count_include_pad", 0) != 0);
  }
  return toLayout(out, order, layout);
}

Nd evaluateNode(const bycc_node &node, const std::vector<Nd> &in, const Dims &declared) {
  std::string op = node.op;
  Attrs attrs(node);
  if (unaries.count(op))
    return mapped(in[0], unaries.at(op));
  if (binaries.count(op)) {
    Nd a = broadcast(in[0], declared), b = broadcast(in[1], declared);
    for (size_t i = 0; i < a.data.size(); ++i)
      a.data[i] = static_cast<float>(binaries.at(op)(a.data[i], b.data[i]));
    return a;
  }
  if (op == "nn.bias_add") {
    Dims dims(in[0].dims.size(), 1);
    int64_t axis = attrs.integer("axis", 1);
    dims[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis)] =
        in[1].dims[0];
    Nd bias = broadcast({dims, in[1].data}, declared), out = in[0];
    for (size_t i = 0; i < out.data.size(); ++i)
      out.data[i] += bias.data[i];
    return out;
  }
  if (op == "clip") {
    double low = attrs.number("a_min", 0), high = attrs.number("a_max", 0);
    return mapped(in[0], [=](double x) { return smaller(larger(x, low), high); });
  }
  if (op == "nn.leaky_relu") {
    double alpha = attrs.number("alpha", 0.25);
    return mapped(in[0], [=](double x) { return x > 0 ? x : alpha * x; });
  }
  if (op == "nn.softmax" || op == "nn.log_softmax")
    return softmax(in[0], attrs.integer("axis", -1), op == "nn.log_softmax");
  if (op == "nn.layer_norm")
    return layerNorm(in[0], in[1], in[2], attrs.number("epsilon", 1e-5));
  if (op == "mean" || op == "sum")
    return reduce(in[0], op, attrs.list("axis", {}), declared);
  if (op == "transpose")
    return permute(in[0], attrs.list("axes", {}));
  if (op == "cast" || op == "reshape" || op == "nn.batch_flatten" || op == "squeeze" ||
      op == "expand_dims")
    return {declared, in[0].data};
  if (op == "strided_slice")
    return slice(in[0], attrs.list("begin", {}), attrs.list("strides", {}), declared);
  if (op == "concatenate")
    return concat(in, attrs.integer("axis", 0), declared);
  if (op == "nn.dense") {
    Nd rows = in[0];
    rows.dims = {count(rows.dims) / rows.dims.back(), rows.dims.back()};
    Nd out = batchMatMul(rows, in[1], false, true);
    return {declared, out.data};
  }
  if (op == "nn.batch_matmul" || op == "nn.matmul")
    return batchMatMul(in[0], in[1], attrs.integer("transpose_a", 0) != 0,
                       attrs.integer("transpose_b", 0) != 0);
  if (startsWith(op, "nn.") && (op.find("conv") != op.npos || op.find("pool") != op.npos))
    return windowed(op, in, declared, attrs);
  throw std::runtime_error("no reference for " + op);
}

} // namespace

std::vector<Tensor> evaluate(const bycc_region &region, const std::vector<Tensor> &inputs) {
  std::vector<Nd> values(region.num_values);
  for (uint32_t v = 0; v < region.num_values; ++v) {
    const bycc_value &value = *bycc_value_at(&region, v);
    values[v].dims.assign(value.dims, value.dims + value.rank);
    if (value.data)
      values[v].data = loaded(static_cast<const uint8_t *>(value.data),
                              static_cast<size_t>(count(values[v].dims)), value.dtype);
  }
  for (uint32_t i = 0; i < region.num_inputs; ++i)
    values[region.inputs[i]].data = inputs[i];
  for (uint32_t n = 0; n < region.num_nodes; ++n) {
    const bycc_node &node = *bycc_node_at(&region, n);
    Nd &result = values[node.outputs[0]];
    std::vector<Nd> in;
    std::vector<Tensor> tensors;
    for (uint32_t i = 0; i < node.num_inputs; ++i) {
      in.push_back(values[node.inputs[i]]);
      tensors.push_back(in.back().data);
    }
    result.data =
        node.body ? evaluate(*node.body, tensors)[0] : evaluateNode(node, in, result.dims).data;
  }
  std::vector<Tensor> out;
  for (uint32_t i = 0; i < region.num_outputs; ++i)
    out.push_back(values[region.outputs[i]].data);
  return out;
}

} // namespace bycc::test
