// Run half of the ccompiler vendor: links the object with the runtime's loader and
// calls its steps in order.
#include "Blob.h"

#include "bycc/Runtime/ObjectLoader.h"

#include "bycc/Support/Sized.h"
#include "bycc/vendor.h"

#include <chrono>
#include <cstring>
#include <memory>
#include <new>

namespace bycc::ccompiler {

namespace {

struct Region {
  Blob blob;
  runtime::LoadedObject object;
  const StepFunction *steps;
  const uint8_t *weights;
  std::vector<bycc_step_info> infos;
};

void report(char *error, size_t size, const std::string &text) {
  if (!error || size == 0)
    return;
  size_t length = std::min(size - 1, text.size());
  std::memcpy(error, text.data(), length);
  error[length] = 0;
}

Expected<Region *> loadRegion(const bycc_region_load &info) {
  auto region = std::make_unique<Region>();
  region->blob = BYCC_TRY(readBlob({info.blob, info.blob_bytes}));
  Blob &blob = region->blob;
  if (blob.numInputs != info.num_inputs || blob.numOutputs != info.num_outputs)
    return error(Status::Load) << "the region has " << blob.numInputs << " inputs and "
                               << blob.numOutputs << " outputs, the model says " << info.num_inputs
                               << " and " << info.num_outputs;
  if (blob.weightsEnd > (info.weights ? info.weights_bytes : 0))
    return error(Status::Load) << "the region reads " << blob.weightsEnd
                               << " bytes of weights, the model has " << info.weights_bytes;
  region->object = BYCC_TRY(runtime::loadObject(blob.object.data(), blob.object.size(),
                                                info.symbol ? info.symbol : "ccompiler", stepTable,
                                                blob.steps.size() * sizeof(StepFunction)));
  blob.object = {};
  region->steps = static_cast<const StepFunction *>(region->object.entry());
  region->weights = info.weights;
  for (const BlobStep &step : blob.steps) {
    bycc_step_info &shown = region->infos.emplace_back(sized<bycc_step_info>());
    shown.name = step.name.c_str();
    shown.detail = "";
    shown.source = step.source.c_str();
  }
  return region.release();
}

int32_t load(const bycc_vendor_context *, const bycc_region_load *info, void **region, char *error,
             size_t errorSize) {
  Expected<Region *> loaded = loadRegion(*info);
  if (!loaded) {
    report(error, errorSize, loaded.error().message());
    return loaded.error().status() == Status::Limit ? BYCC_LIMIT : BYCC_LOAD;
  }
  *region = *loaded;
  return BYCC_OK;
}

void unload(const bycc_vendor_context *, void *region) { delete static_cast<Region *>(region); }

uint64_t stateBytes(const bycc_vendor_context *, void *region) {
  return static_cast<Region *>(region)->blob.arenaBytes;
}
int32_t initState(const bycc_vendor_context *, void *, void *, int32_t) { return BYCC_OK; }
void dropState(const bycc_vendor_context *, void *, void *) {}

// Addresses alone, as the steps take them; on the stack for all but huge regions.
class Addresses {
public:
  Addresses(const bycc_array *arrays, uint32_t count)
      : all_(count <= std::size(few_) ? few_ : (many_ = std::make_unique<void *[]>(count)).get()) {
    for (uint32_t i = 0; i < count; ++i)
      all_[i] = arrays[i].data;
  }
  void *const *data() const { return all_; }

private:
  void *few_[32];
  std::unique_ptr<void *[]> many_;
  void **all_;
};

int32_t run(const bycc_vendor_context *, void *handle, void *state, const bycc_region_run *run,
            char *, size_t) {
  const Region &region = *static_cast<Region *>(handle);
  Addresses in(run->inputs, region.blob.numInputs), out(run->outputs, region.blob.numOutputs);
  uint64_t *ns = run->step_ns;
  using Clock = std::chrono::steady_clock;
  for (size_t i = 0; i < region.blob.steps.size(); ++i) {
    Clock::time_point begin = ns ? Clock::now() : Clock::time_point();
    region.steps[i](region.weights, static_cast<uint8_t *>(state), in.data(), out.data());
    if (ns)
      ns[i] += static_cast<uint64_t>(
          std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
  }
  return BYCC_OK;
}

uint32_t numSteps(const bycc_vendor_context *, void *region) {
  return static_cast<uint32_t>(static_cast<Region *>(region)->infos.size());
}

const bycc_step_info *step(const bycc_vendor_context *, void *region, uint32_t index) {
  const auto &infos = static_cast<Region *>(region)->infos;
  return index < infos.size() ? &infos[index] : nullptr;
}

} // namespace
} // namespace bycc::ccompiler

extern "C" __attribute__((visibility("default"))) const bycc_vendor_runtime *
bycc_vendor_runtime_entry(void) {
  using namespace bycc::ccompiler;
  static const bycc_vendor_runtime runtime = [] {
    auto table = bycc::sized<bycc_vendor_runtime>();
    table.abi_version = BYCC_VENDOR_ABI_VERSION;
    table.name = "ccompiler";
    table.version = blobVersion;
    table.load = load;
    table.unload = unload;
    table.state_bytes = stateBytes;
    table.init_state = initState;
    table.drop_state = dropState;
    table.run = run;
    table.num_steps = numSteps;
    table.step = step;
    return table;
  }();
  return &runtime;
}
