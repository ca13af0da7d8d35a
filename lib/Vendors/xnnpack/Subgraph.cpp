// See Subgraph.h. XNNPACK itself joins clamps and pads with their neighbours, and plans memory.
#include "Subgraph.h"

#include <algorithm>

namespace bycc::xnnpack {

namespace {

constexpr float unbounded = std::numeric_limits<float>::infinity();

using SubgraphHandle = std::unique_ptr<xnn_subgraph, Removed<xnn_delete_subgraph>>;

std::vector<size_t> sizes(const Dims &dims) { return {dims.begin(), dims.end()}; }

class SubgraphMaker {
public:
  SubgraphMaker(xnn_subgraph_t graph, const Program &program)
      : graph_(graph), program_(program), ids_(program.values.size(), XNN_INVALID_VALUE_ID) {}

  Expected<> make(const uint8_t *weights) {
    for (ValueId id = 0; id < program_.numInputs + program_.numOutputs; ++id)
      BYCC_TRY(defineValue(id, nullptr));
    for (const Node &node : program_.nodes) {
      for (ValueId id : node.inputs)
        BYCC_TRY(defineValue(id, weights));
      BYCC_TRY(defineValue(node.output, nullptr));
      BYCC_TRY(checked(defineNode(node), name(node.kind)));
    }
    return {};
  }

private:
  Expected<> defineValue(ValueId id, const uint8_t *weights) {
    if (ids_[id] != XNN_INVALID_VALUE_ID)
      return {};
    const Value &value = program_.values[id];
    bool isInput = id < program_.numInputs,
         isOutput = !isInput && id < program_.numInputs + program_.numOutputs;
    uint32_t flags = isInput    ? XNN_VALUE_FLAG_EXTERNAL_INPUT
                     : isOutput ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT
                                : 0;
    std::vector<size_t> dims = sizes(value.dims);
    return checked(xnn_define_tensor_value(graph_, xnn_datatype_fp32, dims.size(), dims.data(),
                                           value.isConstant() ? weights + value.offset : nullptr,
                                           flags ? id : XNN_INVALID_VALUE_ID, flags, &ids_[id]),
                   "a value");
  }

  const Dims &dims(ValueId id) const { return program_.values[id].dims; }

  xnn_status defineNode(const Node &node) {
    uint32_t x = ids_[node.inputs[0]], to = ids_[node.output];
    uint32_t second = node.inputs.size() > 1 ? ids_[node.inputs[1]] : 0;
    switch (node.kind) {
    case Kind::Abs:
      return xnn_define_abs(graph_, x, to, 0);
    case Kind::Ceil:
      return xnn_define_ceiling(graph_, x, to, 0);
    case Kind::Clamp:
      return xnn_define_clamp(graph_, node.low, node.high, x, to, 0);
    case Kind::Floor:
      return xnn_define_floor(graph_, x, to, 0);
    case Kind::LeakyRelu:
      return xnn_define_leaky_relu(graph_, node.low, x, to, 0);
    case Kind::Negate:
      return xnn_define_negate(graph_, x, to, 0);
    case Kind::Sigmoid:
      return xnn_define_sigmoid(graph_, x, to, 0);
    case Kind::Softmax:
      return xnn_define_softmax(graph_, x, to, 0);
    case Kind::SquareRoot:
      return xnn_define_square_root(graph_, x, to, 0);
    case Kind::Add:
      return xnn_define_add2(graph_, -unbounded, unbounded, x, second, to, 0);
    case Kind::Divide:
      return xnn_define_divide(graph_, -unbounded, unbounded, x, second, to, 0);
    case Kind::Maximum:
      return xnn_define_maximum2(graph_, x, second, to, 0);
    case Kind::Minimum:
      return xnn_define_minimum2(graph_, x, second, to, 0);
    case Kind::Multiply:
      return xnn_define_multiply2(graph_, -unbounded, unbounded, x, second, to, 0);
    case Kind::Subtract:
      return xnn_define_subtract(graph_, -unbounded, unbounded, x, second, to, 0);
    case Kind::PRelu:
      return xnn_define_prelu(graph_, x, second, to, 0);
    case Kind::GlobalAverage:
      return xnn_define_global_average_pooling_2d(graph_, -unbounded, unbounded, x, to, 0);
    case Kind::Dense:
      return xnn_define_fully_connected(graph_, -unbounded, unbounded, x, second,
                                        ids_[node.inputs[2]], to, 0);
    case Kind::Copy: {
      std::vector<size_t> shape = sizes(dims(node.output));
      return xnn_define_static_reshape(graph_, shape.size(), shape.data(), x, to, 0);
    }
    case Kind::Pad: {
      std::vector<size_t> before = sizes(node.before), after = sizes(node.after);
      return xnn_define_static_constant_pad(graph_, before.data(), after.data(), node.low, x, to,
                                            0);
    }
    case Kind::Resize: {
      uint32_t flags = node.mode == ResizeMode::AlignCorners ? XNN_FLAG_ALIGN_CORNERS
                       : node.mode == ResizeMode::Asymmetric ? XNN_FLAG_TENSORFLOW_LEGACY_MODE
                                                             : 0;
      return xnn_define_static_resize_bilinear_2d(graph_, dims(node.output)[1],
                                                  dims(node.output)[2], x, to, flags);
    }
    case Kind::AveragePool:
    case Kind::Conv:
    case Kind::Depthwise:
    case Kind::MaxPool:
      return defineWindows(node, x, to);
    case Kind::numKinds:
      break;
    }
    return xnn_status_unsupported_parameter;
  }

  xnn_status defineWindows(const Node &node, uint32_t x, uint32_t to) {
    const Slide &h = node.slides[0], &w = node.slides[1];
    uint64_t channels = dims(node.inputs[0])[3], made = dims(node.output)[3];
    if (node.kind == Kind::AveragePool)
      return xnn_define_average_pooling_2d(graph_, h.before, w.after, h.after, w.before, h.kernel,
                                           w.kernel, h.stride, w.stride, -unbounded, unbounded, x,
                                           to, 0);
    if (node.kind == Kind::MaxPool)
      return xnn_define_max_pooling_2d(graph_, h.before, w.after, h.after, w.before, h.kernel,
                                       w.kernel, h.stride, w.stride, h.dilation, w.dilation,
                                       -unbounded, unbounded, x, to, 0);
    uint32_t weight = ids_[node.inputs[1]], bias = ids_[node.inputs[2]];
    if (node.kind == Kind::Depthwise)
      return xnn_define_depthwise_convolution_2d(
          graph_, h.before, w.after, h.after, w.before, h.kernel, w.kernel, h.stride, w.stride,
          h.dilation, w.dilation, static_cast<uint32_t>(made / channels), channels, -unbounded,
          unbounded, x, weight, bias, to, 0);
    return xnn_define_convolution_2d(graph_, h.before, w.after, h.after, w.before, h.kernel,
                                     w.kernel, h.stride, w.stride, h.dilation, w.dilation,
                                     node.groups, channels / node.groups, made / node.groups,
                                     -unbounded, unbounded, x, weight, bias, to, 0);
  }

  xnn_subgraph_t graph_;
  const Program &program_;
  std::vector<uint32_t> ids_;
};

} // namespace

Expected<> checked(xnn_status status, const char *what) {
  if (status == xnn_status_success)
    return {};
  if (status == xnn_status_out_of_memory)
    return error(Status::Limit) << "xnnpack: not enough memory for " << what;
  return error(Status::Load) << "xnnpack: XNNPACK does not take " << what << " (status "
                             << static_cast<int>(status) << ")";
}

Expected<RuntimeHandle> makeRuntime(const Program &program, const uint8_t *weights,
                                    pthreadpool_t pool) {
  xnn_subgraph_t graph = nullptr;
  BYCC_TRY(
      checked(xnn_create_subgraph(program.numInputs + program.numOutputs, 0, &graph), "a region"));
  SubgraphHandle owned(graph);
  BYCC_TRY(SubgraphMaker(graph, program).make(weights));
  xnn_runtime_t runtime = nullptr;
  BYCC_TRY(checked(xnn_create_runtime_v2(graph, pool, 0, &runtime), "the region"));
  return RuntimeHandle(runtime);
}

} // namespace bycc::xnnpack
