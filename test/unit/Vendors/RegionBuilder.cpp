// See RegionBuilder.h.
#include "RegionBuilder.h"

#include "bycc/Support/DType.h"
#include "bycc/Support/Sized.h"
#include "bycc/Support/VendorSettings.h"

#include "dnnl/InstructionSet.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include <dlfcn.h>

extern "C" const bycc_vendor_compiler *bycc_vendor_compiler_dnnl(void);

namespace bycc::test {

int64_t count(const Dims &dims) {
  int64_t product = 1;
  for (int64_t dim : dims)
    product *= dim;
  return product;
}

Tensor noise(const Dims &dims, uint32_t seed) {
  Tensor out(static_cast<size_t>(count(dims)));
  uint32_t state = seed * 2654435761u + 12345u;
  for (float &element : out) {
    state = state * 1664525u + 1013904223u;
    element = static_cast<float>(static_cast<int32_t>(state) >> 8) / 8388608.0f;
  }
  return out;
}

std::vector<uint8_t> stored(const Tensor &tensor, int32_t dtype) {
  bool isNarrow = dtype == BYCC_BFLOAT16;
  std::vector<uint8_t> bytes(tensor.size() * (isNarrow ? sizeof(uint16_t) : sizeof(float)));
  for (size_t i = 0; i < tensor.size(); ++i) {
    uint16_t bits = floatToBFloat16(tensor[i]);
    if (isNarrow)
      std::memcpy(bytes.data() + i * sizeof bits, &bits, sizeof bits);
    else
      std::memcpy(bytes.data() + i * sizeof(float), &tensor[i], sizeof(float));
  }
  return bytes;
}

Tensor loaded(const uint8_t *bytes, size_t elements, int32_t dtype) {
  Tensor out(elements);
  for (size_t i = 0; i < elements; ++i) {
    uint16_t bits = 0;
    if (dtype == BYCC_BFLOAT16) {
      std::memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
      out[i] = bfloat16ToFloat(bits);
    } else {
      std::memcpy(&out[i], bytes + i * sizeof(float), sizeof(float));
    }
  }
  return out;
}

Attr::Attr(std::string name, int64_t value)
    : name(std::move(name)), kind(BYCC_ATTR_INT), integer(value) {}
Attr::Attr(std::string name, double value)
    : name(std::move(name)), kind(BYCC_ATTR_FLOAT), number(value) {}
Attr::Attr(std::string name, const char *value)
    : name(std::move(name)), text(value), kind(BYCC_ATTR_STRING) {}
Attr::Attr(std::string name, Dims value)
    : name(std::move(name)), kind(BYCC_ATTR_LIST), list(std::move(value)) {}

uint32_t RegionBuilder::input(Dims dims, int32_t dtype) {
  values_.push_back({std::move(dims), dtype, false, {}, 0});
  inputs_.push_back(static_cast<uint32_t>(values_.size() - 1));
  return inputs_.back();
}

uint32_t RegionBuilder::constant(Dims dims, const Tensor &data, int32_t dtype) {
  values_.push_back({std::move(dims), dtype, true, stored(data, dtype), 0});
  return static_cast<uint32_t>(values_.size() - 1);
}

uint32_t RegionBuilder::cast(uint32_t value, int32_t dtype) {
  uint32_t id = op("cast", {value}, dims(value));
  values_[id].dtype = dtype;
  return id;
}

uint32_t RegionBuilder::op(const std::string &name, std::vector<uint32_t> inputs, Dims result,
                           std::vector<Attr> attrs) {
  values_.push_back({std::move(result), values_[inputs[0]].dtype, false, {}, 0});
  uint32_t id = static_cast<uint32_t>(values_.size() - 1);
  nodes_.push_back({name, std::move(inputs), {id}, std::move(attrs), nullptr, {}, {}});
  return id;
}

uint32_t RegionBuilder::composite(const std::string &name, std::vector<uint32_t> inputs,
                                  std::shared_ptr<RegionBuilder> body) {
  uint32_t id = op(name, std::move(inputs), body->dims(body->outputs()[0]));
  nodes_.back().body = std::move(body);
  return id;
}

void RegionBuilder::placeConstants(std::vector<uint8_t> &weights) {
  for (Value &value : values_)
    if (value.isConstant) {
      weights.resize((weights.size() + 63) / 64 * 64);
      value.offset = weights.size();
      weights.insert(weights.end(), value.data.begin(), value.data.end());
    }
  for (Node &node : nodes_)
    if (node.body)
      node.body->placeConstants(weights);
}

void RegionBuilder::flatten(Node &node, bycc_node &out) {
  node.cAttrs.clear();
  node.items.clear();
  std::sort(node.attrs.begin(), node.attrs.end(),
            [](const Attr &a, const Attr &b) { return a.name < b.name; });
  for (const Attr &attr : node.attrs) {
    std::vector<bycc_attr> &items = node.items.emplace_back();
    for (int64_t item : attr.list) {
      bycc_attr &made = items.emplace_back(sized<bycc_attr>());
      made.kind = BYCC_ATTR_INT;
      made.i = item;
    }
    bycc_attr &made = node.cAttrs.emplace_back(sized<bycc_attr>());
    made.name = attr.name.c_str();
    made.kind = attr.kind;
    made.i = attr.integer;
    made.f = attr.number;
    made.s = attr.text.c_str();
    made.items = items.data();
    made.count = static_cast<uint32_t>(items.size());
  }
  out = sized<bycc_node>();
  out.op = node.op.c_str();
  out.num_attrs = static_cast<uint32_t>(node.cAttrs.size());
  out.attrs = node.cAttrs.data();
  out.num_inputs = static_cast<uint32_t>(node.inputs.size());
  out.inputs = node.inputs.data();
  out.num_outputs = 1;
  out.outputs = node.outputs.data();
  out.source = node.op.c_str();
  if (node.body)
    out.body = &node.body->region();
}

const bycc_region &RegionBuilder::region() {
  cValues_.clear();
  for (const Value &value : values_) {
    bycc_value &made = cValues_.emplace_back(sized<bycc_value>());
    made.dtype = value.dtype;
    made.rank = static_cast<int32_t>(value.dims.size());
    made.dims = value.dims.data();
    made.layout = made.name = "";
    made.data = value.isConstant ? value.data.data() : nullptr;
    made.bytes = value.data.size();
    made.weights_offset = value.offset;
  }
  cNodes_.resize(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i)
    flatten(nodes_[i], cNodes_[i]);
  region_ = sized<bycc_region>();
  region_.symbol = "region";
  region_.num_values = static_cast<uint32_t>(cValues_.size());
  region_.values = cValues_.data();
  region_.num_nodes = static_cast<uint32_t>(cNodes_.size());
  region_.nodes = cNodes_.data();
  region_.num_inputs = static_cast<uint32_t>(inputs_.size());
  region_.inputs = inputs_.data();
  region_.num_outputs = static_cast<uint32_t>(outputs_.size());
  region_.outputs = outputs_.data();
  if (runTimeExtent_)
    putRunTimeExtents();
  return region_;
}

void RegionBuilder::makeRunTime(int64_t extent) {
  runTimeExtent_ = extent;
  for (Node &node : nodes_)
    if (node.body)
      node.body->makeRunTime(extent);
}

void RegionBuilder::putRunTimeExtents() {
  for (size_t v = 0; v < values_.size(); ++v) {
    Dims dims = values_[v].dims;
    std::vector<int32_t> entries(dims.size(), -1);
    for (size_t i = 0; i < dims.size() && !values_[v].isConstant; ++i)
      if (dims[i] == runTimeExtent_) {
        dims[i] = -1;
        entries[i] = 0;
      }
    if (dims == values_[v].dims)
      continue;
    cValues_[v].dims = runTimeDims_.emplace_back(dims).data();
    cValues_[v].extents = entries_.emplace_back(entries).data();
  }
  for (size_t i = inputs_.size(); i-- > 0;)
    for (size_t axis = 0; axis < dims(inputs_[i]).size(); ++axis)
      if (dims(inputs_[i])[axis] == runTimeExtent_)
        symbol_ = {sizeof symbol_, static_cast<int32_t>(i), static_cast<int32_t>(axis), "n", 64};
  region_.num_symbols = 1;
  region_.symbols = &symbol_;
  region_.num_extents = 1;
  region_.extents = &extent_;
}

const std::vector<uint8_t> &RegionBuilder::weights() {
  weights_.clear();
  placeConstants(weights_);
  return weights_;
}

namespace {

const std::string &hostFeatures() {
  static const std::string features = [] {
    const std::map<std::string, std::string> names = {
        {"sse4_1", "sse4.1"},          {"avx", "avx"},           {"avx2", "avx2"},
        {"avx_vnni", "avxvnni"},       {"avx512f", "avx512f"},   {"avx512bw", "avx512bw"},
        {"avx512vl", "avx512vl"},      {"avx512dq", "avx512dq"}, {"avx512_vnni", "avx512vnni"},
        {"avx512_bf16", "avx512bf16"}, {"amx_tile", "amx-tile"}, {"amx_int8", "amx-int8"},
        {"amx_bf16", "amx-bf16"}};
    std::ifstream file("/proc/cpuinfo");
    std::string line, out;
    while (std::getline(file, line) && line.rfind("flags", 0) != 0) {
    }
    std::istringstream words(line);
    for (std::string word; words >> word;)
      if (auto name = names.find(word); name != names.end())
        out += (out.empty() ? "" : ",") + name->second;
    return out;
  }();
  return features;
}

} // namespace

const bycc_vendor_compiler &compilerHalf() {
  // The first target counts for the whole process.
  static const bool isLimited = onednn::limitInstructionSet(hostFeatures());
  CHECK(isLimited);
  return *bycc_vendor_compiler_dnnl();
}

const bycc_vendor_runtime &runtimeHalf() {
  static const bycc_vendor_runtime *runtime = [] {
    void *library =
        dlopen(BYCC_BINARY_DIR "/lib/bycc/libbycc_vendor_dnnl.so", RTLD_NOW | RTLD_LOCAL);
    INFO((library ? "" : dlerror()));
    REQUIRE(library);
    auto entry =
        reinterpret_cast<bycc_vendor_runtime_fn>(dlsym(library, "bycc_vendor_runtime_entry"));
    REQUIRE(entry);
    return entry();
  }();
  return *runtime;
}

const bycc_vendor_context *runtimeContext() {
  static VendorSettings settings =
      VendorSettings::describedBy("dnnl", runtimeHalf().num_options, runtimeHalf().options)
          .takeValue();
  static const bycc_vendor_context context = [] {
    auto made = sized<bycc_vendor_context>();
    made.num_options = settings.count();
    made.options = settings.attrs();
    char text[64];
    REQUIRE(runtimeHalf().open(&made, text, sizeof text) == BYCC_OK);
    return made;
  }();
  return &context;
}

int32_t tryLoad(const std::vector<uint8_t> &blob, const uint8_t *weights, uint64_t weightsBytes,
                uint32_t numInputs) {
  auto info = sized<bycc_region_load>();
  info.threads = 1;
  info.symbol = "region";
  info.blob = blob.data();
  info.blob_bytes = blob.size();
  info.weights = weights;
  info.weights_bytes = weightsBytes;
  info.num_inputs = numInputs;
  info.num_outputs = 1;
  void *region = nullptr;
  char text[256];
  int32_t status = runtimeHalf().load(runtimeContext(), &info, &region, text, sizeof text);
  if (status == BYCC_OK)
    runtimeHalf().unload(runtimeContext(), region);
  return status;
}

namespace {

bycc_answer collectorFor(Answer &answer) {
  return {sizeof(bycc_answer),
          &answer,
          [](bycc_answer *a, const char *text) { static_cast<Answer *>(a->impl)->reason = text; },
          [](bycc_answer *a, uint32_t node) { static_cast<Answer *>(a->impl)->blamed = node; },
          [](bycc_answer *a, const void *bytes, size_t size) {
            auto *begin = static_cast<const uint8_t *>(bytes);
            static_cast<Answer *>(a->impl)->blob.assign(begin, begin + size);
          },
          nullptr,
          nullptr,
          nullptr,
          [](bycc_answer *a, uint64_t bytes) -> void * {
            auto &answer = *static_cast<Answer *>(a->impl);
            uint64_t rounded = (bytes + 63) / 64 * 64;
            answer.weights.reset(static_cast<uint8_t *>(std::aligned_alloc(64, rounded)),
                                 std::free);
            answer.weightsBytes = bytes;
            return std::memset(answer.weights.get(), 0, bytes);
          },
          [](bycc_answer *a, const char *name) { static_cast<Answer *>(a->impl)->name = name; }};
}

bycc_target targetWith(const char *features, int32_t nan = BYCC_NAN_KEEP) {
  auto target = sized<bycc_target>();
  target.nan = nan;
  target.triple = "x86_64-unknown-linux-gnu";
  target.cpu = "x86-64";
  target.features = features ? features : hostFeatures().c_str();
  return target;
}

} // namespace

Answer supports(RegionBuilder &builder, const char *features) {
  Answer answer;
  bycc_target target = targetWith(features);
  bycc_answer collector = collectorFor(answer);
  const bycc_vendor_compiler &half = compilerHalf();
  answer.yes = half.supports(half.self, &target, &builder.region(), &collector) == 1;
  return answer;
}

Answer compile(RegionBuilder &builder, const char *features, int32_t nan) {
  Answer answer;
  bycc_target target = targetWith(features, nan);
  bycc_answer collector = collectorFor(answer);
  const bycc_vendor_compiler &half = compilerHalf();
  builder.weights();
  answer.yes = half.compile(half.self, &target, &builder.region(), &collector) == 0;
  return answer;
}

// Every edge lies one element beside any alignment: callers may bind such memory.
RegionRun::RegionRun(const std::vector<bycc_array> &inputs, const std::vector<bycc_array> &outputs,
                     int32_t threads)
    : run(sized<bycc_region_run>()) {
  run.threads = threads;
  run.inputs = inputs.data();
  run.outputs = outputs.data();
  run.owner = this;
  run.scratch = [](const bycc_region_run *asking, uint64_t bytes) -> void * {
    auto &lent = static_cast<RegionRun *>(asking->owner)->lent;
    lent = MemoryBlock(bytes);
    return lent.data();
  };
}

std::vector<Tensor> runIn(RegionBuilder &builder, void *region, uint8_t *state,
                          const std::vector<Tensor> &inputs, int32_t threads) {
  std::vector<std::vector<uint8_t>> shifted, memory;
  std::vector<bycc_array> in, out;
  auto size = [&](uint32_t id) { return stored({0}, builder.dtype(id)).size(); };
  for (size_t i = 0; i < inputs.size(); ++i) {
    uint32_t id = builder.inputs()[i];
    std::vector<uint8_t> bytes = stored(inputs[i], builder.dtype(id));
    bytes.insert(bytes.begin(), size(id), 0);
    shifted.push_back(std::move(bytes));
    in.push_back({shifted.back().data() + size(id), builder.dims(id).data()});
  }
  for (uint32_t id : builder.outputs()) {
    Tensor before(static_cast<size_t>(count(builder.dims(id))) + 1, -77.0f);
    memory.push_back(stored(before, builder.dtype(id)));
    out.push_back({memory.back().data() + size(id), nullptr});
  }
  char text[256] = "";
  RegionRun run(in, out, threads);
  int32_t status = runtimeHalf().run(runtimeContext(), region, state, &run.run, text, sizeof text);
  if (status != BYCC_OK)
    throw std::runtime_error(text);
  std::vector<Tensor> results;
  for (size_t o = 0; o < memory.size(); ++o) {
    uint32_t id = builder.outputs()[o];
    results.push_back(loaded(memory[o].data() + size(id),
                             static_cast<size_t>(count(builder.dims(id))), builder.dtype(id)));
  }
  return results;
}

Loaded::Loaded(RegionBuilder &region, const Answer &compiled, int32_t threads)
    : builder_(region), weights_(compiled.weights) {
  auto info = sized<bycc_region_load>();
  info.threads = threads;
  info.symbol = "region";
  info.blob = compiled.blob.data();
  info.blob_bytes = compiled.blob.size();
  info.weights = weights_.get();
  info.weights_bytes = compiled.weightsBytes;
  info.num_inputs = static_cast<uint32_t>(region.inputs().size());
  info.num_outputs = static_cast<uint32_t>(region.outputs().size());
  char text[256] = "";
  int32_t status = runtimeHalf().load(runtimeContext(), &info, &region_, text, sizeof text);
  INFO(text);
  REQUIRE(status == BYCC_OK);
  uint64_t bytes = runtimeHalf().state_bytes(runtimeContext(), region_);
  state_ = static_cast<uint8_t *>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  std::memset(state_, 0, bytes);
  REQUIRE(runtimeHalf().init_state(runtimeContext(), region_, state_, threads) == BYCC_OK);
}

Loaded::~Loaded() {
  if (state_)
    runtimeHalf().drop_state(runtimeContext(), region_, state_);
  std::free(state_);
  if (region_)
    runtimeHalf().unload(runtimeContext(), region_);
}

std::vector<Tensor> Loaded::run(const std::vector<Tensor> &inputs, int32_t threads) {
  return runIn(builder_, region_, state_, inputs, threads);
}

std::vector<uint64_t> Loaded::profile(const std::vector<Tensor> &inputs) {
  std::vector<Tensor> outputs;
  std::vector<bycc_array> in, out;
  for (const Tensor &tensor : inputs)
    in.push_back({const_cast<float *>(tensor.data()), nullptr});
  for (uint32_t id : builder_.outputs())
    outputs.emplace_back(static_cast<size_t>(count(builder_.dims(id))));
  for (Tensor &tensor : outputs)
    out.push_back({tensor.data(), nullptr});
  std::vector<uint64_t> ns(runtimeHalf().num_steps(runtimeContext(), region_));
  char text[64];
  RegionRun run(in, out, 1);
  run.run.step_ns = ns.data();
  REQUIRE(runtimeHalf().run(runtimeContext(), region_, state_, &run.run, text, sizeof text) ==
          BYCC_OK);
  return ns;
}

std::vector<std::string> Loaded::steps() const {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < runtimeHalf().num_steps(runtimeContext(), region_); ++i)
    names.push_back(runtimeHalf().step(runtimeContext(), region_, i)->name);
  return names;
}

std::vector<std::string> Loaded::details() const {
  std::vector<std::string> details;
  for (uint32_t i = 0; i < runtimeHalf().num_steps(runtimeContext(), region_); ++i)
    details.push_back(runtimeHalf().step(runtimeContext(), region_, i)->detail);
  return details;
}

} // namespace bycc::test
