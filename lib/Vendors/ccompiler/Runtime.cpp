// Run half of the ccompiler vendor: links the object with the runtime's loader and
// calls its steps in order.
#include "Blob.h"

#include "bycc/Runtime/ObjectLoader.h"

#include <memory>

namespace bycc::ccompiler {

namespace {

constexpr uint64_t maxArena = uint64_t{1} << 46;

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

class Region {
public:
  explicit Region(const vendor::Load &load)
      : blob_(vendor::read<Blob>(blobFormat, load.blob)), weights_(load.weights.data()) {
    if (blob_.arenaBytes > maxArena)
      throw vendor::Failure(BYCC_LOAD, "the region needs ", blob_.arenaBytes, " bytes");
    load.expectTensors(blob_.numInputs, blob_.numOutputs);
    load.weightsAt(0, blob_.weightsEnd);
    std::string symbol(load.symbol().empty() ? "ccompiler" : load.symbol());
    auto object = runtime::loadObject(blob_.object.data(), blob_.object.size(), symbol, stepTable,
                                      blob_.steps.size() * sizeof(StepFunction));
    if (!object)
      throw vendor::Failure(object.error().status() == Status::Limit ? BYCC_LIMIT : BYCC_LOAD,
                            object.error().message());
    object_ = std::move(*object);
    blob_.object = {};
    functions_ = static_cast<const StepFunction *>(object_.entry());
    for (const BlobStep &step : blob_.steps)
      infos_.push_back(vendor::stepInfo(step.name.c_str(), "", step.source.c_str()));
  }

  uint64_t scratchBytes() const { return blob_.arenaBytes; }
  std::span<const bycc_step_info> steps() const { return infos_; }

  void run(const vendor::Run &run) const {
    Addresses in(run.raw.inputs, blob_.numInputs), out(run.raw.outputs, blob_.numOutputs);
    for (size_t i = 0; i < blob_.steps.size(); ++i)
      run.step(i, [&] { functions_[i](weights_, run.scratch, in.data(), out.data()); });
  }

private:
  Blob blob_;
  const uint8_t *const weights_;
  runtime::LoadedObject object_;
  const StepFunction *functions_;
  std::vector<bycc_step_info> infos_;
};

constexpr vendor::About about = {.name = "ccompiler", .version = blobVersion};

} // namespace
} // namespace bycc::ccompiler

BYCC_VENDOR_RUNTIME(bycc::ccompiler::Region, bycc::ccompiler::about)
