// See Harness.h.
#include "Harness.h"

#include "KeptCase.h"

#include "bycc/IR/Builder.h"
#include "bycc/Support/Sized.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/RegionCompiler.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

namespace bycc::conformance {

namespace {

constexpr size_t guardBytes = 64;
// Differ, so that a copy of one over the other shows.
constexpr uint8_t inputGuard = 0x5c, outputGuard = 0x3b;

struct Capture {
  bycc_answer answer = sized<bycc_answer>();
  Reply reply;
  bool hasWeights;

  explicit Capture(bool givesWeights) : hasWeights(givesWeights) {
    answer.impl = this;
    answer.reason = [](bycc_answer *a, const char *text) {
      static_cast<Capture *>(a->impl)->reply.reason = text ? text : "";
    };
    answer.blame = [](bycc_answer *, uint32_t) {};
    answer.blob = [](bycc_answer *a, const void *bytes, size_t size) {
      auto begin = static_cast<const uint8_t *>(bytes);
      static_cast<Capture *>(a->impl)->reply.blob.assign(begin, begin + size);
    };
    answer.offer = [](bycc_answer *a, const char *name, double microseconds) {
      static_cast<Capture *>(a->impl)->reply.offers.push_back(std::string(name ? name : "") + " " +
                                                              formatDouble(microseconds));
    };
    answer.take = [](bycc_answer *a, uint32_t node, uint32_t group) {
      static_cast<Capture *>(a->impl)->reply.byNode[node] =
          "take in group " + std::to_string(group);
    };
    answer.refuse = [](bycc_answer *a, uint32_t node, const char *why) {
      static_cast<Capture *>(a->impl)->reply.byNode[node] =
          std::string("refuse: ") + (why ? why : "");
    };
    answer.weights = [](bycc_answer *a, uint64_t bytes) -> void * {
      Capture &capture = *static_cast<Capture *>(a->impl);
      if (!std::exchange(capture.hasWeights, false) || bytes == 0)
        return nullptr;
      capture.reply.weights = AlignedBytes(bytes);
      return capture.reply.weights.data();
    };
  }
};

// Calls `ask` with the target as vendors see it.
template <typename Ask> Reply captured(const Setup &setup, bool hasWeights, Ask ask) {
  std::string features = join(setup.target.features, ",");
  auto target = sized<bycc_target>();
  target.triple = setup.target.triple.c_str();
  target.cpu = setup.target.cpu.c_str();
  target.features = features.c_str();
  target.threads = setup.target.threads;
  target.num_options = setup.vendor->settings.count();
  target.options = setup.vendor->settings.attrs();
  Capture capture(hasWeights);
  capture.reply.yes = ask(target, &capture.answer);
  return std::move(capture.reply);
}

uint64_t nextRandom(uint64_t &state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

} // namespace

AlignedBytes::AlignedBytes(size_t size) : size_(size) {
  if (size == 0)
    return;
  void *memory = nullptr;
  if (::posix_memalign(&memory, 64, size) != 0)
    std::abort();
  std::memset(memory, 0, size);
  bytes_.reset(static_cast<uint8_t *>(memory), [](uint8_t *bytes) { std::free(bytes); });
}

Reply askSupports(const Setup &setup, const bycc_region &region) {
  const bycc_vendor_compiler &compiler = *setup.vendor->compiler();
  return captured(setup, false, [&](const bycc_target &target, bycc_answer *answer) {
    return compiler.supports(compiler.self, &target, &region, answer) == 1;
  });
}

Reply askSupports(const Setup &setup, const Module &module, NodeId node) {
  return askSupports(setup, RegionView::ofNode(module, node).region());
}

Reply askCompile(const Setup &setup, const bycc_region &region, bool hasWeights) {
  const bycc_vendor_compiler &compiler = *setup.vendor->compiler();
  return captured(setup, hasWeights && ownsWeights(*setup.vendor),
                  [&](const bycc_target &target, bycc_answer *answer) {
                    return compiler.compile(compiler.self, &target, &region, answer) == 0;
                  });
}

Reply askTune(const Setup &setup, const bycc_region &region) {
  const bycc_vendor_compiler &compiler = *setup.vendor->compiler();
  return captured(setup, false, [&](const bycc_target &target, bycc_answer *answer) {
    return compiler.tune(compiler.self, &target, &region, answer) == 0;
  });
}

Reply askAnnotate(const Setup &setup, const bycc_region &block) {
  const bycc_vendor_compiler &compiler = *setup.vendor->compiler();
  return captured(setup, false, [&](const bycc_target &target, bycc_answer *answer) {
    return compiler.annotate(compiler.self, &target, &block, answer) == 0;
  });
}

// --- subjects

Subject::Subject() : function(module.addFunction("region")) {}

NodeId Subject::param(TypeId type) {
  std::vector<NodeId> &params = module.function(function).params;
  NodeId node = module.addParam("x" + std::to_string(params.size()), type);
  module.function(function).params.push_back(node);
  return node;
}

void Subject::setResults(const std::vector<NodeId> &results) {
  BlockId body = module.function(function).body;
  module.block(body).result =
      results.size() == 1 ? results[0] : Builder(module, body).tuple(results);
}

std::vector<TypeId> Subject::resultTypes() const {
  return module.types.flatten(module.type(module.block(module.function(function).body).result));
}

std::vector<int64_t> shapeOf(const Module &module, TypeId type) {
  std::vector<int64_t> shape;
  for (Dim dim : module.types.shape(type))
    shape.push_back(dim.value());
  return shape;
}

std::vector<Tensor> Subject::inputs(uint32_t seed) const {
  std::vector<Tensor> tensors;
  for (NodeId node : module.function(function).params)
    for (TypeId type : module.types.flatten(module.type(node)))
      tensors.push_back(noise(module.types.dtype(type), shapeOf(module, type), seed++));
  return tensors;
}

Tensor noise(DType dtype, const std::vector<int64_t> &shape, uint32_t seed) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  uint64_t state = seed * 2654435761u + 1;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    double unit = static_cast<double>(nextRandom(state) & 0xffff) / 65536;
    values.push_back(dtype == DType::Bool ? unit < 0.5
                     : isFloat(dtype)     ? 0.25 + unit
                                          : std::floor(1 + 9 * unit));
  }
  return *Tensor::fromDoubles(dtype, shape, values);
}

// --- building

namespace {

// The constants of a region, one after the other.
class Placement {
public:
  uint64_t offsetOf(const Constant &constant) {
    auto [found, isNew] = placed_.try_emplace(constant.data(), (bytes_.size() + 63) / 64 * 64);
    if (isNew) {
      bytes_.resize(found->second + constant.bytes);
      std::memcpy(bytes_.data() + found->second, constant.data(), constant.bytes);
    }
    return found->second;
  }
  AlignedBytes weights() const {
    AlignedBytes weights(bytes_.size());
    std::ranges::copy(bytes_, weights.data());
    return weights;
  }

private:
  std::map<const void *, uint64_t> placed_;
  std::vector<uint8_t> bytes_;
};

} // namespace

Expected<Built> build(const Setup &setup, const Module &module, FunctionId function,
                      const BuildOptions &options) {
  Built built;
  Placement placement;
  bool isOwn = ownsWeights(*setup.vendor);
  auto offsetOf = [&](const Constant &constant) { return placement.offsetOf(constant); };
  RegionView view = isOwn ? RegionView::ofFunction(module, function)
                          : RegionView::ofFunction(module, function, offsetOf);
  if (!options.tuning.empty())
    view.setTuning(options.tuning);
  view.setResident(options.residentInputs, options.residentOutputs);
  built.residentInputs = options.residentInputs;
  built.residentOutputs = options.residentOutputs;
  const bycc_region &region = view.region();
  built.symbol = region.symbol;
  auto typeOf = [&](uint32_t id) -> std::pair<DType, std::vector<int64_t>> {
    const bycc_value &value = *bycc_value_at(&region, id);
    return {static_cast<DType>(value.dtype), {value.dims, value.dims + value.rank}};
  };
  for (uint32_t i = 0; i < region.num_inputs; ++i)
    built.inputs.push_back(typeOf(region.inputs[i]));
  for (uint32_t i = 0; i < region.num_outputs; ++i)
    built.outputs.push_back(typeOf(region.outputs[i]));
  Reply reply = askCompile(setup, region, options.hasWeights);
  if (!reply.yes)
    return error(Status::CodeGen) << "compile() refuses: "
                                  << (reply.reason.empty() ? "no reason given" : reply.reason);
  built.blob = std::move(reply.blob);
  built.weights = isOwn ? reply.weights : placement.weights();
  return built;
}

Expected<Built> build(const Setup &setup, const Subject &subject, const BuildOptions &options) {
  return build(setup, subject.module, subject.function, options);
}

std::vector<bycc_tensor> tensorsOf(const std::vector<std::pair<DType, std::vector<int64_t>>> &types,
                                   const std::vector<uint8_t> &resident) {
  std::vector<bycc_tensor> tensors;
  for (const auto &[dtype, shape] : types) {
    bycc_tensor &tensor = tensors.emplace_back(sized<bycc_tensor>());
    size_t index = tensors.size() - 1;
    tensor.dtype = static_cast<int32_t>(dtype);
    tensor.rank = static_cast<int32_t>(shape.size());
    tensor.flags = index < resident.size() && resident[index] ? BYCC_VALUE_RESIDENT : 0;
    tensor.shape = shape.data();
    tensor.layout = "";
    tensor.bytes = static_cast<uint64_t>(sizeInBytes(dtype));
    for (int64_t extent : shape)
      tensor.bytes *= static_cast<uint64_t>(std::max<int64_t>(extent, 0)); // 0: not known yet
  }
  return tensors;
}

LoadReply tryLoad(const Setup &setup, const Built &built, std::span<const uint8_t> blob,
                  uint64_t weightsBytes, int32_t threads) {
  // Exact size on the heap, so that memory checkers see reads past the end.
  std::vector<uint8_t> exact(blob.begin(), blob.end());
  std::string version = setup.vendor->compiler()->version;
  const char *library = setup.vendor->compiler()->library;
  std::vector<bycc_tensor> inputs = tensorsOf(built.inputs, built.residentInputs),
                           outputs = tensorsOf(built.outputs, built.residentOutputs);
  auto info = sized<bycc_region_load>();
  info.threads = threads;
  info.symbol = built.symbol.c_str();
  info.blob = exact.data();
  info.blob_bytes = exact.size();
  info.weights = weightsBytes ? built.weights.data() : nullptr;
  info.weights_bytes = weightsBytes;
  info.num_inputs = static_cast<uint32_t>(inputs.size());
  info.inputs = inputs.data();
  info.num_outputs = static_cast<uint32_t>(outputs.size());
  info.outputs = outputs.data();
  info.version = version.c_str();
  info.library = library ? library : "";
  char text[256] = "";
  LoadReply reply{};
  reply.status = setup.runtime->load(setup.context, &info, &reply.region, text, sizeof text);
  reply.error = text;
  return reply;
}

// --- running

Expected<Loaded> Loaded::load(const Setup &setup, const Built &built, int32_t threads) {
  LoadReply reply = tryLoad(setup, built, built.blob, built.weights.size(), threads);
  if (reply.status != BYCC_OK)
    return error(Status::Load) << "load() gives status " << reply.status << ": " << reply.error;
  return Loaded(setup, built, reply.region);
}

Loaded::Loaded(Loaded &&other) noexcept
    : setup_(other.setup_), built_(other.built_), region_(std::exchange(other.region_, nullptr)) {}

Loaded::~Loaded() {
  if (region_)
    runtime().unload(setup_->context, region_);
}

Loaded::Context::Context(const Loaded &loaded, int32_t threads)
    : loaded_(loaded), threads_(threads) {
  uint64_t bytes =
      (loaded.runtime().state_bytes(loaded.setup_->context, loaded.region_) + 63) / 64 * 64;
  state_ = std::aligned_alloc(64, std::max<uint64_t>(bytes, 64));
  std::memset(state_, 0, std::max<uint64_t>(bytes, 64));
  status_ = loaded.runtime().init_state(loaded.setup_->context, loaded.region_, state_, threads);
}

Loaded::Context::~Context() {
  if (status_ == BYCC_OK)
    loaded_.runtime().drop_state(loaded_.setup_->context, loaded_.region_, state_);
  std::free(state_);
}

namespace {

// Memory of one tensor with guards around it.
class Guarded {
public:
  Guarded(size_t bytes, size_t shift, uint8_t fill, uint8_t guard)
      : guard_(guard), bytes_(bytes), shift_(guardBytes + shift),
        all_((guardBytes + shift_ + bytes + 127) / 64 * 64) {
    base_.reset(static_cast<uint8_t *>(std::aligned_alloc(64, all_)));
    std::memset(base_.get(), guard_, all_);
    std::memset(data(), fill, bytes_);
  }
  uint8_t *data() const { return base_.get() + shift_; }
  bool isWhole() const {
    for (size_t i = 0; i < all_; ++i)
      if ((i < shift_ || i >= shift_ + bytes_) && base_.get()[i] != guard_)
        return false;
    return true;
  }

private:
  struct Free {
    void operator()(uint8_t *memory) const { std::free(memory); }
  };
  uint8_t guard_;
  size_t bytes_, shift_;
  size_t all_;
  std::unique_ptr<uint8_t, Free> base_;
};

// What a run is lent: in another place than in the run before, with contents that are no numbers.
struct LentScratch {
  explicit LentScratch(bycc_region_run &run) {
    run.owner = this;
    run.scratch = [](const bycc_region_run *asking, uint64_t bytes) -> void * {
      static std::atomic<size_t> count = 0;
      constexpr uint64_t most = uint64_t{1} << 40;
      if (bytes > most)
        return nullptr;
      auto &lent = *static_cast<LentScratch *>(asking->owner);
      lent.memory = std::make_unique<Guarded>(bytes, count++ % 3 * 64, 0xff, outputGuard);
      return lent.memory->data();
    };
  }
  std::unique_ptr<Guarded> memory;
};

} // namespace

Expected<> Loaded::Context::runOn(const bycc_array *inputs, const bycc_array *outputs,
                                  uint64_t *ns) {
  if (status_ != BYCC_OK)
    return error(Status::Load) << "init_state() gives status " << status_;
  char text[256] = "";
  auto given = sized<bycc_region_run>();
  given.threads = threads_;
  given.inputs = inputs;
  given.outputs = outputs;
  given.step_ns = ns;
  LentScratch lent(given);
  int32_t status = loaded_.runtime().run(loaded_.setup_->context, loaded_.region_, state_, &given,
                                         text, sizeof text);
  if (status != BYCC_OK)
    return error(Status::Load) << "run() gives status " << status << ": " << text;
  if (lent.memory && !lent.memory->isWhole())
    return error(Status::Load) << "run() has written beside the memory that it was lent";
  return {};
}

Expected<std::vector<Tensor>> Loaded::Context::run(const std::vector<Tensor> &inputs,
                                                   uint8_t poison, std::vector<uint64_t> *ns) {
  if (status_ != BYCC_OK)
    return error(Status::Load) << "init_state() gives status " << status_;
  std::vector<Guarded> ins, outs;
  std::vector<bycc_array> in, out;
  for (const Tensor &tensor : inputs) {
    ins.emplace_back(tensor.sizeBytes(), static_cast<size_t>(sizeInBytes(tensor.dtype)), 0,
                     inputGuard);
    std::memcpy(ins.back().data(), tensor.bytes.get(), static_cast<size_t>(tensor.sizeBytes()));
    in.push_back({ins.back().data(), tensor.shape.data()});
  }
  for (const auto &[dtype, shape] : loaded_.built_->outputs) {
    int64_t bytes = sizeInBytes(dtype);
    for (int64_t extent : shape)
      bytes *= extent;
    outs.emplace_back(static_cast<size_t>(bytes), static_cast<size_t>(sizeInBytes(dtype)), poison,
                      outputGuard);
    out.push_back({outs.back().data(), shape.data()});
  }
  BYCC_TRY(runOn(in.data(), out.data(), ns ? ns->data() : nullptr));
  for (size_t i = 0; i < ins.size(); ++i)
    if (!ins[i].isWhole() || std::memcmp(ins[i].data(), inputs[i].bytes.get(),
                                         static_cast<size_t>(inputs[i].sizeBytes())) != 0)
      return error(Status::Load) << "run() has written to input " << i;
  std::vector<Tensor> results;
  for (size_t i = 0; i < outs.size(); ++i) {
    if (!outs[i].isWhole())
      return error(Status::Load) << "run() has written beside output " << i;
    const auto &[dtype, shape] = loaded_.built_->outputs[i];
    results.push_back(BYCC_TRY(Tensor::fromBytes(dtype, shape, outs[i].data())));
  }
  return results;
}

Expected<std::vector<Tensor>> runThrough(const Setup &setup, const Subject &subject,
                                         const std::vector<Tensor> &inputs) {
  noteCase(setup, subject, inputs);
  Built built = BYCC_TRY(build(setup, subject));
  Loaded loaded = BYCC_TRY(Loaded::load(setup, built, 1));
  return Loaded::Context(loaded, 1).run(inputs);
}

// --- comparing

namespace {

double toleranceOf(DType dtype) {
  switch (dtype) {
  case DType::Float16:
    return 2e-2;
  case DType::BFloat16:
    return 1e-1;
  case DType::Float32:
    return 1e-3;
  case DType::Float64:
    return 1e-7;
  default:
    return 0;
  }
}

} // namespace

std::string differenceOf(const std::vector<Tensor> &actual, const std::vector<Tensor> &wanted) {
  if (actual.size() != wanted.size())
    return std::to_string(actual.size()) + " results, wanted " + std::to_string(wanted.size());
  for (size_t o = 0; o < actual.size(); ++o) {
    if (actual[o].dtype != wanted[o].dtype || actual[o].shape != wanted[o].shape)
      return "result " + std::to_string(o) + " has another type";
    double tolerance = toleranceOf(wanted[o].dtype);
    for (int64_t i = 0; i < wanted[o].numElements(); ++i) {
      double a = actual[o].real(i), w = wanted[o].real(i);
      if (a == w || (std::isnan(a) && std::isnan(w)) ||
          std::fabs(a - w) <= tolerance * (1 + std::fabs(w)))
        continue;
      return "result " + std::to_string(o) + ", element " + std::to_string(i) + " is " +
             formatDouble(a) + ", wanted " + formatDouble(w);
    }
  }
  return "";
}

bool isWithin(int64_t units, const Tensor &actual, const Tensor &wanted) {
  bool isCounted = units > 0 && isInt(wanted.dtype) && actual.dtype == wanted.dtype &&
                   actual.shape == wanted.shape;
  for (int64_t i = 0; isCounted && i < wanted.numElements(); ++i)
    isCounted = std::fabs(actual.real(i) - wanted.real(i)) <= static_cast<double>(units);
  return isCounted;
}

bool sameBits(const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i)
    same = a[i].shape == b[i].shape &&
           !std::memcmp(a[i].bytes.get(), b[i].bytes.get(), static_cast<size_t>(a[i].sizeBytes()));
  return same;
}

} // namespace bycc::conformance
