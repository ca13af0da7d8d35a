// Run half of the xnnpack vendor. A runtime of XNNPACK runs one thing at a time, so each context
// has one; the first is made while loading, which finds out what XNNPACK does not take. XNNPACK
// gets the caller's memory: only where it would read across the end of a page that may be the
// last one is an input copied. Inputs that are not finite go through plain loops (Plain.h).
// XNNPACK itself joins clamps and pads with their neighbours, and plans memory.
#include "Plain.h"
#include "PoolThreads.h"

#include <xnnpack.h>

#include <limits>
#include <memory>
#include <mutex>
#include <unistd.h>

namespace bycc::xnnpack {

namespace {

constexpr float unbounded = std::numeric_limits<float>::infinity();

template <auto remove> struct Removed {
  template <typename T> void operator()(T *object) const { remove(object); }
};
using RuntimeHandle = std::unique_ptr<xnn_runtime, Removed<xnn_delete_runtime>>;
using SubgraphHandle = std::unique_ptr<xnn_subgraph, Removed<xnn_delete_subgraph>>;

void check(xnn_status status, const char *what) {
  if (status == xnn_status_out_of_memory)
    throw kit::Failure(BYCC_LIMIT, "xnnpack: not enough memory for ", what);
  if (status != xnn_status_success)
    throw kit::Failure(BYCC_LOAD, "xnnpack: XNNPACK does not take ", what, " (status ",
                       static_cast<int>(status), ")");
}

std::vector<size_t> sizes(const Dims &dims) { return {dims.begin(), dims.end()}; }

// --- a program as a subgraph

class SubgraphMaker {
public:
  SubgraphMaker(xnn_subgraph_t graph, const Program &program, const uint8_t *weights)
      : graph_(graph), program_(program), ids_(program.values.size(), XNN_INVALID_VALUE_ID) {
    for (ValueId id = 0; id < program_.numTensors(); ++id)
      defineValue(id, nullptr);
    for (const Node &node : program_.nodes) {
      size_t channels = node.kind == Kind::Depthwise ? 3 : 0; // axis of a weight
      for (size_t i = 0; i < node.inputs.size(); ++i)
        defineValue(node.inputs[i], weights, i == 1 ? channels : 0);
      defineValue(node.output, nullptr);
      check(defineNode(node), name(node.kind));
    }
  }

private:
  void defineValue(ValueId id, const uint8_t *weights, size_t channels = 0) {
    if (ids_[id] != XNN_INVALID_VALUE_ID)
      return;
    const Value &value = program_.values[id];
    uint32_t flags = id < program_.numInputs      ? XNN_VALUE_FLAG_EXTERNAL_INPUT
                     : id < program_.numTensors() ? XNN_VALUE_FLAG_EXTERNAL_OUTPUT
                                                  : 0;
    std::vector<size_t> dims = sizes(value.dims);
    const void *data = value.isConstant() ? weights + value.offset : nullptr;
    uint32_t number = flags ? id : XNN_INVALID_VALUE_ID;
    auto define = [&](auto defineIt, auto... quantization) {
      check(defineIt(graph_, quantization..., dims.data(), data, number, flags, &ids_[id]),
            "a value");
    };
    bool isByte = value.type == Type::Int8;
    if (value.type == Type::Float)
      define(xnn_define_tensor_value, xnn_datatype_fp32, dims.size());
    else if (!value.isWeight)
      define(xnn_define_quantized_tensor_value, xnn_datatype_qint8, value.zero, value.scale(),
             dims.size());
    else
      define(xnn_define_channelwise_quantized_tensor_value,
             isByte ? xnn_datatype_qcint8 : xnn_datatype_qcint32, value.scales.data(), dims.size(),
             channels);
  }

  // Most of them take bounds for the result.
  template <auto define, typename... Ids> xnn_status bounded(Ids... ids) {
    if constexpr (std::is_invocable_v<decltype(define), xnn_subgraph_t, float, float, Ids...,
                                      uint32_t>)
      return define(graph_, -unbounded, unbounded, ids..., 0);
    else
      return define(graph_, ids..., 0);
  }

  xnn_status defineNode(const Node &node) {
    uint32_t x = ids_[node.inputs[0]], to = ids_[node.output];
    uint32_t second = node.inputs.size() > 1 ? ids_[node.inputs[1]] : 0;
    const Value &from = program_.values[node.inputs[0]];
    const Dims &made = program_.dims(node.output);
    std::vector<size_t> before = sizes(node.before), after = sizes(node.after), shape = sizes(made);
    switch (node.kind) {
#define UNARY(kind, name, define, ...)                                                             \
  case Kind::kind:                                                                                 \
    return bounded<define>(x, to);
#define BINARY(kind, name, define, ...)                                                            \
  case Kind::kind:                                                                                 \
    return bounded<define>(x, second, to);
#define OTHER(...)
#include "Kinds.def"
    case Kind::Clamp:
      return xnn_define_clamp(graph_, from.real(node.low), from.real(node.high), x, to, 0);
    case Kind::Convert:
      return xnn_define_convert(graph_, x, to, 0);
    case Kind::LeakyRelu:
      return xnn_define_leaky_relu(graph_, node.low, x, to, 0);
    case Kind::Softmax:
      return xnn_define_softmax(graph_, x, to, 0);
    case Kind::PRelu:
      return xnn_define_prelu(graph_, x, second, to, 0);
    case Kind::GlobalAverage:
      return bounded<xnn_define_global_average_pooling_2d>(x, to);
    case Kind::Dense:
      return bounded<xnn_define_fully_connected>(x, second, ids_[node.inputs[2]], to);
    case Kind::Copy:
      return xnn_define_static_reshape(graph_, shape.size(), shape.data(), x, to, 0);
    case Kind::Pad:
      return xnn_define_static_constant_pad(graph_, before.data(), after.data(),
                                            from.real(node.low), x, to, 0);
    case Kind::Resize:
      return xnn_define_static_resize_bilinear_2d(
          graph_, made[1], made[2], x, to,
          node.mode == ResizeMode::AlignCorners ? XNN_FLAG_ALIGN_CORNERS
          : node.mode == ResizeMode::Asymmetric ? XNN_FLAG_TENSORFLOW_LEGACY_MODE
                                                : 0);
    default:
      return defineWindows(node, x, to);
    }
  }

  xnn_status defineWindows(const Node &node, uint32_t x, uint32_t to) {
    const Slide &h = node.slides[0], &w = node.slides[1];
    uint64_t channels = program_.dims(node.inputs[0])[3], made = program_.dims(node.output)[3];
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

// One context's: a runtime with its pool, and what it was last set up with.
struct Engine {
  // The weights outlive it.
  Engine(const Program &program, const uint8_t *weights, int32_t numThreads)
      : tensors(program.numTensors()), copies(program.numInputs) {
    pool.threads = static_cast<uint32_t>(std::max(numThreads, 1));
    xnn_subgraph_t graph = nullptr;
    check(xnn_create_subgraph(program.numTensors(), 0, &graph), "a region");
    SubgraphHandle owned(graph);
    SubgraphMaker(graph, program, weights);
    xnn_runtime_t made = nullptr;
    check(xnn_create_runtime_v2(graph, poolFor(&pool), 0, &made), "the region");
    runtime.reset(made);
  }
  pthreadpool pool;
  RuntimeHandle runtime;
  std::vector<xnn_external_value> tensors;        // inputs, then outputs
  std::vector<std::unique_ptr<uint8_t[]>> copies; // of inputs
  uint32_t threads = 0;
};

// --- regions

const uint8_t *initialized(const kit::Load &load) {
  static const xnn_status started = xnn_initialize(nullptr);
  check(started, "this processor");
  return load.weights.data();
}

// XNNPACK may read a few bytes more: harmless in the same page.
bool mayReadBehind(const void *data, uint64_t bytes) {
  static const uint64_t pageBytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  uint64_t end = reinterpret_cast<uintptr_t>(data) + bytes;
  return (end - 1) / pageBytes == (end - 1 + extraBytes) / pageBytes;
}

// uint8 as int8 that is 128 less, and back.
void changeSign(const void *from, void *to, uint64_t bytes) {
  auto bytesOf = static_cast<const uint8_t *>(from);
  std::transform(bytesOf, bytesOf + bytes, static_cast<uint8_t *>(to),
                 [](uint8_t byte) { return static_cast<uint8_t>(byte ^ 0x80); });
}

class Region {
public:
  struct Context {
    explicit Context(const bycc_vendor_context &context) { useThreads(context.threads); }
  };

  // Takes the spare engine of the region and leaves its own as one.
  struct State {
    State(Region &from, int32_t threads) : region(from) {
      {
        std::lock_guard lock(region.mutex_);
        engine = std::move(region.spare_);
      }
      if (!engine)
        engine = std::make_unique<Engine>(region.program_, region.weights_, threads);
    }
    ~State() {
      std::lock_guard lock(region.mutex_);
      std::swap(region.spare_, engine);
    }
    Region &region;
    std::unique_ptr<Engine> engine;
  };

  explicit Region(const kit::Load &load)
      : weights_(initialized(load)), program_(kit::read<Program>(programFormat, load.blob)) {
    checkProgram(program_);
    load.expectTensors(program_.numInputs, program_.numOutputs);
    for (uint32_t i = 0; i < program_.numTensors(); ++i)
      kit::Load::expectBytes(i < program_.numInputs ? load.input(i)
                                                    : load.output(i - program_.numInputs),
                             program_.values[i].bytes());
    load.weightsAt(0, program_.weightsBytes);
    spare_ = std::make_unique<Engine>(program_, weights_, load.threads());
  }

  void run(const kit::Run &run, State &state) const {
    if (needsPlain(run))
      return runPlain(program_, weights_,
                      [&](uint32_t i) { return const_cast<void *>(tensor(run, i)); });
    Engine &engine = *state.engine;
    engine.pool.threads = static_cast<uint32_t>(std::max(run.threads(), 1));
    bool isSame = engine.threads == engine.pool.threads;
    for (uint32_t i = 0; i < program_.numTensors(); ++i) {
      void *data =
          i < program_.numInputs ? readable(engine, run, i) : run.output(i - program_.numInputs);
      isSame = isSame && engine.tensors[i].data == data;
      engine.tensors[i] = {i, data};
    }
    if (!isSame) {
      engine.threads = 0; // until it is done
      check(xnn_setup_runtime(engine.runtime.get(), program_.numTensors(), engine.tensors.data()),
            "these tensors");
      engine.threads = engine.pool.threads;
    }
    check(xnn_invoke_runtime(engine.runtime.get()), "this run");
    for (uint32_t i = program_.numInputs; i < program_.numTensors(); ++i)
      if (program_.values[i].isUnsigned)
        changeSign(engine.tensors[i].data, engine.tensors[i].data, program_.values[i].bytes());
  }

private:
  const void *tensor(const kit::Run &run, uint32_t i) const {
    return i < program_.numInputs ? run.input(i) : run.output(i - program_.numInputs);
  }

  bool needsPlain(const kit::Run &run) const {
    if (!program_.keepsNan)
      return false;
    bool found = program_.hasNanConstant;
    for (uint32_t i = 0; i < program_.numInputs && !found; ++i)
      found = program_.values[i].type == Type::Float &&
              hasNonFinite(run.input<float>(i), count(program_.dims(i)));
    return found;
  }

  void *readable(Engine &engine, const kit::Run &run, uint32_t index) const {
    auto data = const_cast<void *>(run.input(index));
    uint64_t bytes = program_.values[index].bytes();
    bool isUnsigned = program_.values[index].isUnsigned;
    if (!isUnsigned && mayReadBehind(data, bytes))
      return data;
    std::unique_ptr<uint8_t[]> &copy = engine.copies[index];
    if (!copy)
      copy = std::make_unique<uint8_t[]>(bytes + extraBytes);
    if (isUnsigned)
      changeSign(data, copy.get(), bytes);
    else
      std::memcpy(copy.get(), data, bytes);
    return copy.get();
  }

  const uint8_t *const weights_;
  const Program program_;
  std::mutex mutex_;
  std::unique_ptr<Engine> spare_; // made by load()
};

constexpr kit::About about = {.name = "xnnpack", .version = programVersion, .library = "XNNPACK"};

} // namespace
} // namespace bycc::xnnpack

BYCC_VENDOR_RUNTIME(bycc::xnnpack::Region, bycc::xnnpack::about)
