#include "translate.h"

#include "region.h"

#include <algorithm>

namespace examplenpu {

namespace {

using Operands = std::vector<const bycc_value *>;

std::string shapeText(const bycc_value &value) {
  std::string text = "(";
  for (int32_t d = 0; d < value.rank; ++d)
    text += (d ? ", " : "") + std::to_string(value.dims[d]);
  return text + ")";
}

// The device knows float32, shapes known while compiling, and no layouts.
std::string checkValue(const bycc_value &value) {
  if (value.dtype != BYCC_FLOAT32)
    return "dtype is not float32";
  if (!isStatic(value))
    return "a shape is not known before it runs";
  if (value.layout && *value.layout)
    return std::string("layout ") + value.layout + " is not row-major";
  return "";
}

// top, left; all four pads are in `attribute` as one, two or four numbers.
bool readPadding(const bycc_node &node, int32_t *top, int32_t *left) {
  std::vector<int64_t> pads = integers(node, "padding");
  if (pads.size() != 1 && pads.size() != 2 && pads.size() != 4)
    return false;
  *top = static_cast<int32_t>(pads[0]);
  *left = static_cast<int32_t>(pads.size() == 1 ? pads[0] : pads[1]);
  return true;
}

void setPair(const bycc_node &node, const char *name, int32_t *first, int32_t *second) {
  std::vector<int64_t> pair = integers(node, name);
  *first = static_cast<int32_t>(pair.empty() ? 1 : pair[0]);
  *second = static_cast<int32_t>(pair.size() < 2 ? *first : pair[1]);
}

std::string translateConv(const bycc_node &node, const Operands &in, Work &work) {
  const bycc_value &data = *in[0], &weight = *in[1], &out = *work.out;
  if (!weight.data)
    return "the weight is not a constant: weights live on the device";
  if (text(node, "data_layout") != "NCHW" || text(node, "kernel_layout") != "OIHW")
    return "layouts " + text(node, "data_layout") + " and " + text(node, "kernel_layout") +
           ", it takes NCHW and OIHW";
  work.command.code = Code::Conv2d;
  work.a = &data;
  work.b = &weight;
  int32_t *p = work.command.p;
  for (int d = 0; d < 4; ++d)
    p[N + d] = static_cast<int32_t>(data.dims[d]);
  p[O] = static_cast<int32_t>(weight.dims[0]);
  p[KH] = static_cast<int32_t>(weight.dims[2]);
  p[KW] = static_cast<int32_t>(weight.dims[3]);
  p[OH] = static_cast<int32_t>(out.dims[2]);
  p[OW] = static_cast<int32_t>(out.dims[3]);
  setPair(node, "strides", &p[StrideH], &p[StrideW]);
  setPair(node, "dilation", &p[DilationH], &p[DilationW]);
  if (!readPadding(node, &p[PadTop], &p[PadLeft]))
    return "padding is not 1, 2 or 4 numbers";
  p[Groups] = static_cast<int32_t>(integer(node, "groups"));
  p[Tile] = 4;
  work.operations = static_cast<double>(elements(out)) * static_cast<double>(elements(weight)) / p[O];
  return "";
}

std::string translateDense(const bycc_node &, const Operands &in, Work &work) {
  if (!in[1]->data)
    return "the weight is not a constant: weights live on the device";
  work.command.code = Code::Dense;
  work.a = in[0];
  work.b = in[1];
  int64_t n = in[1]->dims[0], k = in[1]->dims[1], m = k ? elements(*in[0]) / k : 0;
  work.command.p[0] = static_cast<int32_t>(m);
  work.command.p[1] = static_cast<int32_t>(n);
  work.command.p[2] = static_cast<int32_t>(k);
  work.operations = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return "";
}

std::string translateBias(const bycc_node &node, const Operands &in, Work &work) {
  const bycc_value &data = *in[0], &bias = *in[1];
  int64_t axis = integer(node, "axis") + (integer(node, "axis") < 0 ? data.rank : 0);
  if (!bias.data)
    return "the bias is not a constant: it lives on the device";
  work.command.code = Code::AddBias;
  work.a = &data;
  work.b = &bias;
  int64_t outer = 1, inner = 1;
  for (int32_t d = 0; d < data.rank; ++d)
    (d < axis ? outer : inner) *= d == axis ? 1 : data.dims[d];
  work.command.p[0] = static_cast<int32_t>(outer);
  work.command.p[1] = static_cast<int32_t>(data.dims[axis]);
  work.command.p[2] = static_cast<int32_t>(inner);
  work.operations = static_cast<double>(elements(data));
  return "";
}

std::string translateAdd(const bycc_node &, const Operands &in, Work &work) {
  for (const bycc_value *operand : in)
    if (shapeText(*operand) != shapeText(*work.out))
      return "shapes " + shapeText(*in[0]) + " and " + shapeText(*in[1]) + " differ, it does not broadcast";
  work.command.code = Code::Add;
  work.a = in[0];
  work.b = in[1];
  work.command.p[0] = static_cast<int32_t>(elements(*work.out));
  work.operations = static_cast<double>(elements(*work.out));
  return "";
}

std::string translateRelu(const bycc_node &, const Operands &in, Work &work) {
  work.command.code = Code::Relu;
  work.a = in[0];
  work.command.p[0] = static_cast<int32_t>(elements(*work.out));
  work.operations = static_cast<double>(elements(*work.out));
  return "";
}

std::string translateMove(const bycc_node &, const Operands &in, Work &work) {
  work.command.code = Code::Move;
  work.a = in[0];
  work.command.p[0] = static_cast<int32_t>(elements(*work.out));
  return "";
}

std::string translatePool(const bycc_node &node, const Operands &in, Work &work) {
  if (text(node, "layout") != "NCHW")
    return "layout " + text(node, "layout") + ", it takes NCHW";
  for (int64_t step : integers(node, "dilation"))
    if (step != 1)
      return "dilation " + std::to_string(step) + ", it takes 1";
  work.command.code = Code::MaxPool;
  work.a = in[0];
  int32_t *p = work.command.p;
  for (int d = 0; d < 4; ++d)
    p[PoolN + d] = static_cast<int32_t>(in[0]->dims[d]);
  p[PoolOH] = static_cast<int32_t>(work.out->dims[2]);
  p[PoolOW] = static_cast<int32_t>(work.out->dims[3]);
  setPair(node, "pool_size", &p[PoolKH], &p[PoolKW]);
  setPair(node, "strides", &p[PoolStrideH], &p[PoolStrideW]);
  if (!readPadding(node, &p[PoolPadTop], &p[PoolPadLeft]))
    return "padding is not 1, 2 or 4 numbers";
  work.operations = static_cast<double>(elements(*work.out)) * p[PoolKH] * p[PoolKW];
  return "";
}

// To teach the device another operator: a row here, a command in stream.h, a loop in
// device.cpp.
struct Row {
  const char *op;
  std::string (*translate)(const bycc_node &node, const Operands &in, Work &work);
};
const Row rows[] = {
    {"add", translateAdd},
    {"expand_dims", translateMove},
    {"nn.batch_flatten", translateMove},
    {"nn.bias_add", translateBias},
    {"nn.conv2d", translateConv},
    {"nn.dense", translateDense},
    {"nn.max_pool2d", translatePool},
    {"nn.relu", translateRelu},
    {"reshape", translateMove},
    {"squeeze", translateMove},
};

std::string translateOperator(const bycc_node &node, const Operands &in, Work &work) {
  for (const bycc_value *value : in)
    if (std::string reason = checkValue(*value); !reason.empty())
      return reason;
  for (const Row &row : rows)
    if (node.op == std::string(row.op))
      return row.translate(node, in, work);
  return std::string("the device has no command for ") + node.op;
}

// A composite of examplenpu.json: a convolution, then perhaps a bias, then perhaps a
// relu, all in one command. Its body is a small region whose inputs are, in order,
// the inputs of the node.
std::string translateComposite(const bycc_region &region, const bycc_node &node, Work &work) {
  const bycc_region &body = *node.body;
  auto outer = [&](uint32_t value) -> const bycc_value * {
    for (uint32_t i = 0; i < body.num_inputs; ++i)
      if (body.inputs[i] == value)
        return bycc_value_at(&region, node.inputs[i]);
    return bycc_value_at(&body, value); // a constant of the body, or made in it
  };
  for (uint32_t n = 0; n < body.num_nodes; ++n) {
    const bycc_node &inner = *bycc_node_at(&body, n);
    std::string op = inner.op;
    const bycc_value *made = bycc_value_at(&body, inner.outputs[0]);
    Operands in;
    for (uint32_t i = 0; i < inner.num_inputs; ++i)
      in.push_back(outer(inner.inputs[i]));
    if (op == "nn.conv2d") {
      work.out = made; // same shape as the result
      if (std::string reason = translateOperator(inner, in, work); !reason.empty())
        return reason;
    } else if (op == "nn.relu") {
      work.command.p[WithRelu] = 1;
    } else {
      const bycc_value *bias = in[0] == work.out ? in[1] : in[0];
      bool isChannel = op == "add" ? bias->rank >= 3 && bias->dims[bias->rank - 3] == elements(*bias)
                                   : integer(inner, "axis") == 1;
      if (!bias->data || !isChannel || elements(*bias) != work.command.p[O])
        return "the bias is not one constant per channel";
      work.c = bias;
    }
  }
  return "";
}

} // namespace

std::string translate(const bycc_region &region, const bycc_node &node, Work &work) {
  if (node.num_outputs != 1)
    return "it has several results";
  const bycc_value &out = *bycc_value_at(&region, node.outputs[0]);
  if (std::string reason = checkValue(out); !reason.empty())
    return reason;
  std::string reason;
  if (node.body) {
    reason = translateComposite(region, node, work);
  } else {
    work.out = &out;
    Operands in;
    for (uint32_t i = 0; i < node.num_inputs; ++i)
      in.push_back(bycc_value_at(&region, node.inputs[i]));
    reason = translateOperator(node, in, work);
  }
  work.out = &out;
  return reason;
}

// Costs come from the data sheet: two million multiplications a microsecond, four times as
// many where the device need not gather its input, 1 microsecond to start.
std::vector<Way> waysToRun(const Work &work) {
  const int32_t *p = work.command.p;
  double direct = 1 + work.operations / 2e6;
  if (work.command.code != Code::Conv2d)
    return {{"plain", direct}};
  std::vector<Way> ways = {{"direct", direct}};
  bool isPointwise = p[KH] == 1 && p[KW] == 1 && p[StrideH] == 1 && p[StrideW] == 1 && p[Groups] == 1 &&
                     p[H] == p[OH] && p[W] == p[OW];
  if (isPointwise)
    ways.push_back({"pointwise", 1 + work.operations / 8e6});
  return ways;
}

} // namespace examplenpu
