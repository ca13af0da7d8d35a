// A loaded model: immutable, shared by contexts.
#pragma once

#include "bycc/Runtime/ObjectLoader.h"

#include "bycc/Support/DType.h"
#include "bycc/Support/File.h"
#include "bycc/Support/VendorSettings.h"

#include "bycc/runtime.h"
#include "bycc/vendor.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bycc::runtime {

class OpenVendor;

// A vendor region as its run half has loaded it.
struct Region {
  std::shared_ptr<const OpenVendor> open; // owns the next two
  const bycc_vendor_runtime *vendor = nullptr;
  const bycc_vendor_context *context = nullptr;
  void *handle = nullptr;
  std::vector<bycc_tensor> outputs; // as load() was told of them

  bool isLoaded() const { return vendor; } // else host code stands for it
};

struct LoadOptions {
  int32_t threads = 0; // 0: recorded default or the CPUs allowed
  bool verify = false;
  std::string params; // empty: beside the model
  std::string setId;  // in hexadecimal; empty: any
  std::vector<VendorSetting> vendorOptions;
};

// Where the parts of a set lie.
struct SetPaths {
  std::string object, params; // empty: no params file
  bool operator==(const SetPaths &) const = default;
};

// The parts themselves, of a set in memory.
struct SetBytes {
  std::string_view graph, object;        // not kept
  std::shared_ptr<const Storage> params; // null: none
};

class Model {
public:
  static Expected<std::shared_ptr<const Model>> load(const std::string &graphJson,
                                                     const LoadOptions &options);
  // `name` is for messages.
  static Expected<std::shared_ptr<const Model>>
  loadBytes(const SetBytes &bytes, const std::string &name, const LoadOptions &options);
  static Expected<std::shared_ptr<const Model>> loadLinked(const bycc_module *module,
                                                           const LoadOptions &options);
  Model() = default;
  Model(const Model &) = delete;
  ~Model();

  const bycc_module &module() const { return *module_; }
  const uint8_t *weights() const { return weights_; }
  int32_t threads() const { return threads_; }
  const std::vector<Region> &regions() const { return regions_; }
  // False when the params file got shorter since: reading weights would fault.
  bool hasWholeWeights() const { return !params_ || params_->isWhole(); }

private:
  static Expected<std::shared_ptr<const Model>>
  loadParts(const struct GraphFile &graph, const SetPaths &paths, const LoadOptions &options);
  static Expected<std::shared_ptr<const Model>>
  loadObjectOf(const struct GraphFile &graph, std::string_view object, const SetPaths &paths,
               std::shared_ptr<const Storage> params, const LoadOptions &options);
  Expected<> setModule(const bycc_module *module, const LoadOptions &options);
  Expected<> useParams(const LoadOptions &options, const std::string &path,
                       const struct GraphFile *graph);
  Expected<> loadRegions(const LoadOptions &options);
  Expected<Region> loadRegion(const bycc_region_info &info, const LoadOptions &options);

  LoadedObject object_;
  const bycc_module *module_ = nullptr;
  std::shared_ptr<const Storage> params_; // null: none or embedded
  const uint8_t *weights_ = nullptr;
  uint64_t weightsBytes_ = 0;
  int32_t threads_ = 1;
  std::vector<Region> regions_;
};

// Bytes of a tensor; Status::Limit when they overflow or pass 16 GiB.
inline constexpr uint64_t maxTensorBytes = uint64_t{16} << 30;
Expected<uint64_t> tensorBytes(DType dtype, const int64_t *shape, int32_t rank);

} // namespace bycc::runtime
