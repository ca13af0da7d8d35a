// Run half of the xnnpack vendor. A runtime of XNNPACK runs one thing at a time, so each context
// has one; the first is made while loading, which finds out what XNNPACK does not take. XNNPACK
// gets the caller's memory: only where it would read across the end of a page that may be the
// last one is an input copied. Inputs that are not finite go through plain loops (Plain.h).
#include "Plain.h"
#include "PoolThreads.h"
#include "Subgraph.h"

#include "bycc/Support/Sized.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <unistd.h>

namespace bycc::xnnpack {

namespace {

// One context's: a runtime with its pool, and what it was last set up with.
struct Engine {
  pthreadpool pool;
  RuntimeHandle runtime;
  std::vector<xnn_external_value> tensors;      // inputs, then outputs
  std::vector<std::unique_ptr<float[]>> copies; // of inputs
  uint32_t threads = 0;
};

struct Region {
  Program program;
  const uint8_t *weights = nullptr;
  std::mutex mutex;
  std::unique_ptr<Engine> spare; // made by load()
};

void report(char *error, size_t size, const std::string &text) {
  if (!error || size == 0)
    return;
  size_t length = std::min(size - 1, text.size());
  std::memcpy(error, text.data(), length);
  error[length] = 0;
}

// The door for what allocations throw.
template <typename Body>
int32_t answered(char *error, size_t errorSize, int32_t otherwise, Body body) {
  try {
    Expected<> done = body();
    if (done)
      return BYCC_OK;
    report(error, errorSize, done.error().message());
    return done.error().status() == Status::Limit ? BYCC_LIMIT : otherwise;
  } catch (const std::bad_alloc &) {
    report(error, errorSize, "xnnpack: not enough memory");
    return BYCC_LIMIT;
  }
}

Expected<std::unique_ptr<Engine>> makeEngine(const Region &region, int32_t threads) {
  auto engine = std::make_unique<Engine>();
  engine->pool.threads = static_cast<uint32_t>(std::max(threads, 1));
  engine->runtime = BYCC_TRY(makeRuntime(region.program, region.weights, poolFor(&engine->pool)));
  engine->tensors.resize(region.program.numInputs + region.program.numOutputs);
  engine->copies.resize(region.program.numInputs);
  return engine;
}

// The tensors that the model has are those of the program.
Expected<> checkTensors(const void *tensors, uint32_t count, std::span<const Value> values) {
  for (uint32_t i = 0; i < count; ++i)
    if (bycc_tensor_at(tensors, i)->bytes != sizeBytes(values[i]))
      return error(Status::Load) << "xnnpack: the region has a tensor of " << sizeBytes(values[i])
                                 << " bytes, the model says " << bycc_tensor_at(tensors, i)->bytes;
  return {};
}

Expected<std::unique_ptr<Region>> loadRegion(const bycc_region_load &info) {
  static const xnn_status started = xnn_initialize(nullptr);
  BYCC_TRY(checked(started, "this processor"));
  auto region = std::make_unique<Region>();
  region->program = BYCC_TRY(readProgram({info.blob, info.blob_bytes}));
  const Program &program = region->program;
  if (program.numInputs != info.num_inputs || program.numOutputs != info.num_outputs)
    return error(Status::Load) << "xnnpack: the region has " << program.numInputs << " inputs and "
                               << program.numOutputs << " outputs, the model says "
                               << info.num_inputs << " and " << info.num_outputs;
  std::span<const Value> values = program.values;
  BYCC_TRY(checkTensors(info.inputs, info.num_inputs, values));
  BYCC_TRY(checkTensors(info.outputs, info.num_outputs, values.subspan(info.num_inputs)));
  uint64_t weightsBytes = info.weights ? info.weights_bytes : 0;
  if (program.weightsBytes > weightsBytes)
    return error(Status::Load) << "xnnpack: the region reads " << program.weightsBytes
                               << " bytes of weights, the model has " << weightsBytes;
  region->weights = info.weights;
  region->spare = BYCC_TRY(makeEngine(*region, info.threads));
  return region;
}

// XNNPACK may read a few bytes more: harmless in the same page.
bool mayReadBehind(const void *data, uint64_t bytes) {
  static const uint64_t pageBytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  uint64_t end = reinterpret_cast<uintptr_t>(data) + bytes;
  return (end - 1) / pageBytes == (end - 1 + extraBytes) / pageBytes;
}

void *readable(Engine &engine, uint32_t index, void *data, uint64_t bytes) {
  if (mayReadBehind(data, bytes))
    return data;
  std::unique_ptr<float[]> &copy = engine.copies[index];
  if (!copy)
    copy = std::make_unique<float[]>((bytes + extraBytes) / sizeof(float));
  std::memcpy(copy.get(), data, bytes);
  return copy.get();
}

bool needsPlain(const Program &program, const bycc_array *inputs) {
  if (!program.keepsNan)
    return false;
  bool found = program.hasNanConstant;
  for (uint32_t i = 0; i < program.numInputs && !found; ++i)
    found = hasNonFinite(static_cast<const float *>(inputs[i].data), count(program.values[i].dims));
  return found;
}

Expected<> runRegion(const Region &region, Engine &engine, const bycc_region_run &run) {
  const Program &program = region.program;
  const bycc_array *inputs = run.inputs, *outputs = run.outputs;
  uint32_t numInputs = program.numInputs, numTensors = numInputs + program.numOutputs;
  if (needsPlain(program, inputs)) {
    std::vector<float *> tensors;
    for (uint32_t i = 0; i < numTensors; ++i)
      tensors.push_back(
          static_cast<float *>(i < numInputs ? inputs[i].data : outputs[i - numInputs].data));
    runPlain(program, region.weights, tensors);
    return {};
  }
  engine.pool.threads = static_cast<uint32_t>(std::max(run.threads, 1));
  bool isSame = engine.threads == engine.pool.threads;
  for (uint32_t i = 0; i < numTensors; ++i) {
    void *data = i < numInputs ? readable(engine, i, inputs[i].data, sizeBytes(program.values[i]))
                               : outputs[i - numInputs].data;
    isSame = isSame && engine.tensors[i].data == data;
    engine.tensors[i] = {i, data};
  }
  if (!isSame) {
    engine.threads = 0; // until it is done
    BYCC_TRY(checked(xnn_setup_runtime(engine.runtime.get(), numTensors, engine.tensors.data()),
                     "these tensors"));
    engine.threads = engine.pool.threads;
  }
  return checked(xnn_invoke_runtime(engine.runtime.get()), "this run");
}

Region &asRegion(void *region) { return *static_cast<Region *>(region); }
Engine *&engineOf(void *state) { return *static_cast<Engine **>(state); }

int32_t openXnnpack(bycc_vendor_context *context, char *, size_t) {
  useThreads(context->threads);
  return BYCC_OK;
}

int32_t loadXnnpack(const bycc_vendor_context *, const bycc_region_load *info, void **region,
                    char *error, size_t errorSize) {
  return answered(error, errorSize, BYCC_LOAD, [&]() -> Expected<> {
    *region = BYCC_TRY(loadRegion(*info)).release();
    return {};
  });
}

void unloadXnnpack(const bycc_vendor_context *, void *region) { delete &asRegion(region); }

uint64_t stateBytesXnnpack(const bycc_vendor_context *, void *) { return sizeof(Engine *); }

int32_t initStateXnnpack(const bycc_vendor_context *, void *handle, void *state, int32_t threads) {
  return answered(nullptr, 0, BYCC_INTERNAL, [&]() -> Expected<> {
    Region &region = asRegion(handle);
    std::unique_ptr<Engine> engine;
    {
      std::lock_guard lock(region.mutex);
      engine = std::move(region.spare);
    }
    if (!engine)
      engine = BYCC_TRY(makeEngine(region, threads));
    engineOf(state) = engine.release();
    return {};
  });
}

void dropStateXnnpack(const bycc_vendor_context *, void *handle, void *state) {
  std::unique_ptr<Engine> engine(std::exchange(engineOf(state), nullptr));
  std::lock_guard lock(asRegion(handle).mutex);
  std::swap(asRegion(handle).spare, engine);
}

int32_t runXnnpack(const bycc_vendor_context *, void *region, void *state,
                   const bycc_region_run *run, char *error, size_t errorSize) {
  return answered(error, errorSize, BYCC_INTERNAL,
                  [&] { return runRegion(asRegion(region), *engineOf(state), *run); });
}

} // namespace
} // namespace bycc::xnnpack

extern "C" __attribute__((visibility("default"))) const bycc_vendor_runtime *
bycc_vendor_runtime_entry(void) {
  using namespace bycc::xnnpack;
  static const bycc_vendor_runtime runtime = [] {
    auto table = bycc::sized<bycc_vendor_runtime>();
    table.abi_version = BYCC_VENDOR_ABI_VERSION;
    table.name = "xnnpack";
    table.version = programVersion;
    table.library = "XNNPACK";
    table.load = loadXnnpack;
    table.unload = unloadXnnpack;
    table.state_bytes = stateBytesXnnpack;
    table.init_state = initStateXnnpack;
    table.drop_state = dropStateXnnpack;
    table.run = runXnnpack;
    table.open = openXnnpack;
    return table;
  }();
  return &runtime;
}
