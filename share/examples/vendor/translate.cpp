#include "translate.h"

namespace examplenpu {

namespace {

using kit::Refusal;

// An operator: its attributes and operands, and the command that is to be made of it.
struct Call {
  kit::Node node;
  std::vector<kit::Value> in;
  kit::Value out;
  Work &work;
  int32_t *p() { return work.command.p.data(); }
  void set(Code code, double operations) {
    work.command.code = code;
    work.a = in[0];
    if (in.size() > 1)
      work.b = in[1];
    work.operations = operations;
  }
};

int32_t number(int64_t value) { return static_cast<int32_t>(value); }
double numElements(kit::Value value) { return static_cast<double>(value.elements()); }

void setPair(int32_t *fields, const kit::Dims &pair) {
  fields[0] = number(pair[0]);
  fields[1] = number(pair[1]);
}

void expectWeight(kit::Value value, const char *what) {
  if (!value.isConstant())
    throw Refusal("the ", what, " is not a constant: it lives on the device");
}

void translateConv(Call &call) {
  expectWeight(call.in[1], "weight");
  call.node.expect("data_layout", "NCHW");
  call.node.expect("kernel_layout", "OIHW");
  kit::Value data = call.in[0], weight = call.in[1];
  int32_t *p = call.p();
  for (int d = 0; d < 4; ++d)
    p[N + d] = number(data.dim(d));
  p[O] = number(weight.dim(0));
  setPair(&p[KH], {weight.dim(2), weight.dim(3)});
  setPair(&p[OH], {call.out.dim(2), call.out.dim(3)});
  setPair(&p[StrideH], call.node.spatial("strides"));
  setPair(&p[DilationH], call.node.spatial("dilation"));
  setPair(&p[PadTop], call.node.padding().before);
  p[Groups] = number(call.node.integer("groups"));
  p[Tile] = 4;
  call.set(Code::Conv2d, p[O] ? numElements(call.out) * numElements(weight) / p[O] : 0);
}

void translateDense(Call &call) {
  expectWeight(call.in[1], "weight");
  int64_t m = 1, n = call.in[1].dim(0), k = call.in[1].dim(1);
  for (int64_t dim : call.in[0].dims().first(call.in[0].dims().size() - 1))
    m *= dim;
  std::copy_n(std::array{number(m), number(n), number(k)}.begin(), 3, call.p());
  call.set(Code::Dense, static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
}

void translateBias(Call &call) {
  expectWeight(call.in[1], "bias");
  kit::Value data = call.in[0];
  uint32_t axis = kit::axisOf(call.node.integer("axis"), data.dims().size());
  int64_t outer = 1, inner = 1;
  for (uint32_t d = 0; d < data.dims().size(); ++d)
    (d < axis ? outer : inner) *= d == axis ? 1 : data.dim(d);
  std::copy_n(std::array{number(outer), number(data.dim(axis)), number(inner)}.begin(), 3, call.p());
  call.set(Code::AddBias, numElements(data));
}

void translateAdd(Call &call) {
  for (kit::Value operand : call.in)
    if (!std::ranges::equal(operand.dims(), call.out.dims()))
      throw Refusal("shapes ", call.in[0].dims(), " and ", call.in[1].dims(), " differ, it does not broadcast");
  call.p()[0] = number(static_cast<int64_t>(call.out.elements()));
  call.set(Code::Add, numElements(call.out));
}

void translateRelu(Call &call) {
  call.p()[0] = number(static_cast<int64_t>(call.out.elements()));
  call.set(Code::Relu, numElements(call.out));
}

void translateMove(Call &call) {
  call.p()[0] = number(static_cast<int64_t>(call.out.elements()));
  call.set(Code::Move, 0);
}

void translatePool(Call &call) {
  call.node.expect("layout", "NCHW");
  for (int64_t step : call.node.spatial("dilation"))
    if (step != 1)
      throw Refusal("dilation ", step, ", it takes 1");
  int32_t *p = call.p();
  for (int d = 0; d < 4; ++d)
    p[PoolN + d] = number(call.in[0].dim(d));
  setPair(&p[PoolOH], {call.out.dim(2), call.out.dim(3)});
  setPair(&p[PoolKH], call.node.spatial("pool_size"));
  setPair(&p[PoolStrideH], call.node.spatial("strides"));
  setPair(&p[PoolPadTop], call.node.padding().before);
  call.set(Code::MaxPool, numElements(call.out) * p[PoolKH] * p[PoolKW]);
}

// To teach the device another operator: a row here, a command in stream.h, a loop in
// device.cpp.
struct Row {
  const char *op;
  void (*translate)(Call &call);
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

void translateOperator(Call call) {
  for (const Row &row : rows)
    if (call.node.op() == row.op)
      return row.translate(call);
  throw Refusal("the device has no command for ", call.node.op());
}

// What a composite of examplenpu.json has behind its convolution: perhaps a bias, then
// perhaps a relu, all in one command.
void fuse(const Call &call, kit::Value made) {
  Work &work = call.work;
  if (call.node.op() == "nn.relu") {
    work.command.p[WithRelu] = 1;
    return;
  }
  kit::Value bias = call.in[0] == made ? call.in[1] : call.in[0];
  bool isChannel = call.node.op() == "add"
                       ? bias.rank() >= 3 && static_cast<uint64_t>(bias.dim(-3)) == bias.elements()
                       : call.node.integer("axis") == 1;
  if (!bias.isConstant() || !isChannel || numElements(bias) != work.command.p[O])
    throw Refusal("the bias is not one constant per channel");
  work.c = bias;
}

} // namespace

// The device knows float32, shapes known while compiling, and no layouts.
Work translate(kit::Node node) {
  if (node.outputs().size() != 1)
    throw Refusal("it has several results");
  node.expectPlain({BYCC_FLOAT32});
  Work work;
  kit::Flat flat(node); // a composite's operators, with the operands that it has outside
  for (const kit::Flat::Call &part : flat.calls) {
    part.node.expectPlain({BYCC_FLOAT32});
    std::vector<kit::Value> in;
    for (uint32_t value : part.inputs)
      in.push_back(flat.values[value]);
    Call call{part.node, in, part.node.output(), work};
    if (&part == &flat.calls.front())
      translateOperator(call);
    else
      fuse(call, flat.values[flat.calls.front().outputs[0]]);
  }
  work.out = node.output();
  return work;
}

// Costs come from the data sheet: two million multiplications a microsecond, four times as
// many where the device need not gather its input, 1 microsecond to start.
std::vector<Way> waysToRun(const Work &work) {
  const auto &p = work.command.p;
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
