// Loading, in an order that makes the message name what is wrong: graph JSON,
// object, their set ids, sizes and hashes, CPU features (before any code of the
// object runs), weights, vendors.
#include "Model.h"

#include "GraphFile.h"
#include "Log.h"
#include "ThreadPool.h"
#include "VendorCall.h"
#include "bycc/Runtime/CpuFeatures.h"
#include "bycc/Runtime/VendorLoader.h"

#include "bycc/Runtime/CheckSet.h"
#include "bycc/Support/Hash.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Sized.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace bycc::runtime {
namespace {

constexpr int32_t maxRank = 32;
constexpr uint64_t maxObjectBytes = uint64_t{1} << 31; // more does not reach

Expected<> checkTensor(const bycc_tensor_info &tensor) {
  auto refuse = [&](const char *what) {
    return error(Status::Load) << "module descriptor: " << what;
  };
  if (!tensor.name || !tensor.file)
    return refuse("an input or output has no name");
  if (tensor.dtype < 0 || tensor.dtype >= numDTypes || tensor.rank < 0 || tensor.rank > maxRank ||
      (tensor.rank > 0 && !tensor.dims))
    return refuse("an input or output has no valid type");
  for (int32_t d = 0; d < tensor.rank; ++d)
    if (tensor.dims[d].value < -1 || (tensor.dims[d].value == -1 && !tensor.dims[d].text))
      return refuse("an input or output has no valid shape");
  return {};
}

Expected<> checkVersion(const bycc_module &module, const std::string &path) {
  if (module.magic != BYCC_MODULE_MAGIC)
    return error(Status::Load, {path}) << "module descriptor: wrong magic number";
  if (module.abi_version != BYCC_ABI_VERSION)
    return error(Status::Load, {path}) << "object has ABI version " << module.abi_version
                                       << ", this runtime has version " << BYCC_ABI_VERSION;
  return {};
}

bool isSound(const bycc_port *ports, uint32_t count) {
  return count == 0 ||
         (ports && std::all_of(ports, ports + count, [](const bycc_port &port) {
            return port.dtype >= 0 && port.dtype < numDTypes && port.rank >= 0 &&
                   port.rank <= maxRank && (port.rank == 0 || port.dims) && port.layout &&
                   std::all_of(
                       port.dims, port.dims + port.rank, [](int64_t dim) { return dim >= -1; });
          }));
}

Expected<> checkRegion(const bycc_region_info &region, uint32_t index) {
  if (!region.symbol || !region.vendor || !region.vendor_version || !region.vendor_library)
    return error(Status::Load) << "module descriptor: region " << index
                               << " has no symbol, vendor or version";
  if (!isSound(region.inputs, region.num_inputs) || !isSound(region.outputs, region.num_outputs))
    return error(Status::Load) << "module descriptor: region " << index
                               << " has an input or output without a valid type";
  return {};
}

Expected<> checkModule(const bycc_module &module) {
  auto refuse = [&] { return error(Status::Load) << "module descriptor: "; };
  if (!module.name || !module.entry || !module.features)
    return refuse() << "no name, features or entry";
  if ((module.num_inputs && !module.inputs) || (module.num_outputs && !module.outputs) ||
      (module.num_regions && !module.regions) || (module.num_nodes && !module.nodes))
    return refuse() << "a table is missing";
  if (module.arena_bytes > maxTensorBytes * 16 || module.scratch_bytes > maxTensorBytes)
    return refuse() << "arena of " << module.arena_bytes << " bytes";
  for (uint32_t i = 0; i < module.num_inputs; ++i)
    BYCC_TRY(checkTensor(module.inputs[i]));
  for (uint32_t i = 0; i < module.num_outputs; ++i)
    BYCC_TRY(checkTensor(module.outputs[i]));
  for (uint32_t i = 0; i < module.num_regions; ++i)
    BYCC_TRY(checkRegion(module.regions[i], i));
  return {};
}

SetId setIdOf(const bycc_module &module) {
  SetId id;
  std::memcpy(id.data(), module.set_id, id.size());
  return id;
}

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// A file of the set that cannot be opened is a model that cannot be loaded, unless memory is
// all that lacks.
template <typename T> Expected<T> asPart(Expected<T> part) {
  if (part || part.error().status() == Status::Limit)
    return part;
  Error failure = part.takeError();
  failure.diagnostics().front().status = Status::Load;
  return failure;
}

// Weights of so many bytes are hashed even when nobody asks for it: 10 ms at most.
constexpr uint64_t cheapBytes = 32 << 20;

// Hashes the weights of a file that has not been found whole before, as it is now:
// loading a model again costs no hash.
Expected<> verifyOnce(const ParamsFile &params, const uint8_t *data, const std::string &path) {
  using Version = std::tuple<dev_t, ino_t, off_t, time_t, long>;
  static std::mutex mutex;
  static std::set<Version> whole;
  struct stat info = {};
  ::stat(path.c_str(), &info);
  Version version(info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec,
                  info.st_mtim.tv_nsec);
  std::lock_guard lock(mutex);
  if (whole.count(version))
    return {};
  BYCC_TRY(verifyPayloads(params, data, path));
  if (whole.size() > 1000)
    whole.clear();
  whole.insert(version);
  return {};
}

// Where a part is: a build that was killed may not have renamed it to its name.
std::string partPath(const std::string &folder, const GraphFileInfo &part, const GraphFile &graph) {
  std::string path = folder + part.name,
              staged = OutputSet::stagedPath(path, hexText(graph.set.setId));
  return ::access(staged.c_str(), F_OK) == 0 ? staged : path;
}

SetPaths pathsOf(const GraphFile &graph) {
  std::string folder = folderOf(graph.path);
  return {partPath(folder, graph.set.object, graph),
          graph.set.params ? partPath(folder, *graph.set.params, graph) : ""};
}

// Places errors that know no file of their own.
template <typename T> Expected<T> inFile(Expected<T> result, const std::string &file) {
  if (result)
    return result;
  Error failure = result.takeError();
  for (Diagnostic &diagnostic : failure.diagnostics())
    if (diagnostic.location.file.empty())
      diagnostic.location.file = file;
  return failure;
}

Expected<> checkBuild(const GraphFile &graph, const bycc_module &module, const std::string &path) {
  BYCC_TRY(checkVersion(module, path));
  if (setIdOf(module) != graph.set.setId)
    return error(Status::Load, {path}).as(MessageId::BuildsDiffer)
           << "object and graph JSON are of different builds: set id " << hexText(setIdOf(module))
           << " in the object, " << hexText(graph.set.setId) << " in " << graph.path;
  return {};
}

// Whether a file with the wrong hash is of another build: the descriptor is found by its
// first word, nothing else of the object is looked at.
Expected<> checkBuild(const GraphFile &graph, std::string_view bytes, const std::string &path) {
  constexpr uint32_t magic = BYCC_MODULE_MAGIC;
  std::string_view wanted(reinterpret_cast<const char *>(&magic), sizeof magic);
  for (size_t at = bytes.find(wanted); at != bytes.npos; at = bytes.find(wanted, at + 1)) {
    bycc_module module;
    if (at % alignof(bycc_module) != 0 || bytes.size() - at < sizeof module)
      continue;
    std::memcpy(&module, bytes.data() + at, sizeof module);
    BYCC_TRY(checkBuild(graph, module, path));
  }
  return {};
}

// Before anything in it is believed.
Expected<> checkObject(const GraphFile &graph, std::string_view bytes, const std::string &path) {
  const GraphFileInfo &info = graph.set.object;
  if (bytes.size() == info.bytes && hashBytes(bytes.data(), bytes.size()) == info.hash)
    return {};
  BYCC_TRY(checkBuild(graph, bytes, path));
  if (bytes.size() != info.bytes)
    return error(Status::Load, {path}).as(MessageId::BuildsDiffer)
           << "object has " << bytes.size() << " bytes, the graph JSON says " << info.bytes;
  return error(Status::Load, {path}).as(MessageId::BuildsDiffer)
         << "object is damaged: its hash is not the recorded one";
}

std::string typeText(const ParamsEntry &entry) {
  std::vector<std::string> dims;
  for (int64_t dim : entry.dims)
    dims.push_back(std::to_string(dim));
  return std::string(name(entry.dtype)) + "[" + join(dims, ", ") + "]";
}

// The recorded parameters and those of the file, by name.
Expected<> checkEntries(const GraphFile &graph, const ParamsFile &params, const std::string &path) {
  auto byName = [](const std::vector<ParamsEntry> &entries) {
    std::map<std::string, const ParamsEntry *> map;
    for (const ParamsEntry &entry : entries)
      map[entry.name] = &entry;
    return map;
  };
  auto wanted = byName(graph.set.paramsEntries), found = byName(params.entries);
  for (auto &[name, entry] : wanted) {
    auto other = found.find(name);
    if (other == found.end())
      return error(Status::Load, {path}) << "parameter '" << escaped(name) << "' is missing";
    if (typeText(*other->second) != typeText(*entry))
      return error(Status::Load, {path})
             << "parameter '" << escaped(name) << "' is " << typeText(*other->second)
             << ", the model needs " << typeText(*entry);
  }
  for (auto &[name, entry] : found)
    if (!wanted.count(name))
      return error(Status::Load, {path})
             << "parameter '" << escaped(name) << "' is not one of the model";
  return {};
}

Expected<> checkParams(const bycc_module &module, const GraphFile *graph, const ParamsFile &params,
                       const std::string &path) {
  if (params.setId != setIdOf(module))
    return error(Status::Load, {path}).as(MessageId::BuildsDiffer)
           << "params and object are of different builds: set id " << hexText(params.setId)
           << " in the params, " << hexText(setIdOf(module)) << " in the object";
  if (params.bytes != module.params_bytes)
    return error(Status::Load, {path}) << "params file has " << params.bytes
                                       << " bytes, the object says " << module.params_bytes;
  if (!graph || !graph->set.params)
    return {};
  BYCC_TRY(checkEntries(*graph, params, path));
  if (params.tableHash != graph->set.params->hash)
    return error(Status::Load, {path}) << "the hash of the params is not the recorded one";
  return {};
}

} // namespace

Expected<uint64_t> tensorBytes(DType dtype, const int64_t *shape, int32_t rank) {
  uint64_t bytes = sizeInBytes(dtype);
  bool overflows = false;
  for (int32_t d = 0; d < rank; ++d)
    if (shape[d] == 0)
      return uint64_t{0};
  for (int32_t d = 0; d < rank; ++d)
    overflows |= __builtin_mul_overflow(bytes, static_cast<uint64_t>(shape[d]), &bytes);
  if (overflows || bytes > maxTensorBytes)
    return error(Status::Limit) << "a tensor of more than " << maxTensorBytes << " bytes";
  return bytes;
}

Expected<> Model::setModule(const bycc_module *module, const LoadOptions &options) {
  module_ = module;
  if (options.threads < 0 || options.threads > maxThreads)
    return error(Status::Arg) << "threads: wanted 1 to " << maxThreads << ", given "
                              << options.threads;
  int32_t threads = options.threads               ? options.threads
                    : module->default_threads > 0 ? std::min(module->default_threads, maxThreads)
                                                  : allowedCpus();
  threads_ = usableThreads(threads);
  return {};
}

// A program has the indices, shapes and types of the header that it was compiled with.
static Expected<> checkHeader(const bycc_module &module, const LoadOptions &options) {
  std::string id = hexText(setIdOf(module));
  if (options.setId.empty() || options.setId == id)
    return {};
  return error(Status::Load).as(MessageId::BuildsDiffer)
         << "the program was compiled with the header of another build: set id "
         << escaped(options.setId, 64) << ", the model has " << id;
}

static Expected<> checkCpu(const bycc_module &module) {
  std::vector<std::string> missing = missingCpuFeatures(module.features);
  if (missing.empty())
    return {};
  return error(Status::Load).as(MessageId::WrongMachine)
         << "the model was compiled for CPU '" << escaped(module.cpu ? module.cpu : "")
         << "'; this machine lacks " << join(missing, ", ");
}

Expected<> Model::useParams(const LoadOptions &options, const std::string &path,
                            const GraphFile *graph) {
  if (module_->params_bytes == 0)
    return {};
  std::string file = path;
  bool isFile = !module_->params && !params_;
  if (module_->params) {
    weights_ = module_->params;
    weightsBytes_ = module_->params_bytes;
    file += " (embedded weights)";
  } else {
    if (isFile)
      params_ = BYCC_TRY(asPart(mapFile(file, true)));
    weights_ = params_->data();
    weightsBytes_ = params_->size();
  }
  if (reinterpret_cast<uintptr_t>(weights_) % paramsAlignment != 0)
    return error(Status::Load, {file})
           << "the weights do not lie at a multiple of " << paramsAlignment;
  ParamsFile params = BYCC_TRY(readParams(weights_, weightsBytes_, file));
  BYCC_TRY(checkParams(*module_, graph, params, file));
  if (options.verify)
    return verifyPayloads(params, weights_, file);
  return isFile && weightsBytes_ <= cheapBytes ? verifyOnce(params, weights_, file) : Expected<>();
}

// Offset and length of the weights that a region may read, of params of so many bytes: all,
// or those that its vendor made.
static Expected<std::pair<uint64_t, uint64_t>> weightsOf(const bycc_region_info &info,
                                                         uint64_t bytes) {
  if (!info.owns_weights)
    return std::pair(uint64_t{0}, bytes);
  if (info.weights_bytes == 0)
    return std::pair(uint64_t{0}, uint64_t{0});
  if (info.weights_offset > bytes || info.weights_bytes > bytes - info.weights_offset ||
      info.weights_offset % paramsAlignment != 0)
    return error(Status::Load) << "region " << escaped(info.symbol)
                               << ": its weights lie outside the params";
  return std::pair(info.weights_offset, info.weights_bytes);
}

namespace {

// Options of vendors that no region is of are not heard: one command line may be for many
// models.
std::vector<VendorSetting> settingsOf(const LoadOptions &options, std::string_view vendor) {
  std::vector<VendorSetting> settings;
  for (const VendorSetting &setting : options.vendorOptions)
    if (setting.vendor == vendor)
      settings.push_back(setting);
  return settings;
}

// Shapes, dtypes and layouts stay the module's.
Expected<std::vector<bycc_tensor>> tensorsOf(const bycc_port *ports, uint32_t count) {
  std::vector<bycc_tensor> tensors;
  for (const bycc_port &port : std::span(ports, count)) {
    bycc_tensor &tensor = tensors.emplace_back(sized<bycc_tensor>());
    tensor.dtype = port.dtype;
    tensor.rank = port.rank;
    tensor.flags = port.is_resident ? BYCC_VALUE_RESIDENT : 0;
    tensor.shape = port.dims;
    tensor.layout = port.layout;
    if (std::find(port.dims, port.dims + port.rank, -1) == port.dims + port.rank)
      tensor.bytes = BYCC_TRY(tensorBytes(static_cast<DType>(port.dtype), port.dims, port.rank));
  }
  return tensors;
}

bool areResident(const std::vector<bycc_tensor> &tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const bycc_tensor &tensor) { return tensor.flags & BYCC_VALUE_RESIDENT; });
}

} // namespace

Expected<Region> Model::loadRegion(const bycc_region_info &info, const LoadOptions &options) {
  auto open = BYCC_TRY(openVendor(info.vendor, settingsOf(options, info.vendor)));
  BYCC_TRY(open->checkReads(info));
  Region region;
  region.vendor = &open->table();
  region.context = &open->context();
  region.open = std::move(open);
  std::vector<bycc_tensor> inputs = BYCC_TRY(tensorsOf(info.inputs, info.num_inputs));
  region.outputs = BYCC_TRY(tensorsOf(info.outputs, info.num_outputs));
  if ((areResident(inputs) || areResident(region.outputs)) &&
      !(region.vendor->alloc && region.vendor->release))
    return error(Status::Load) << "region " << escaped(info.symbol) << ": vendor "
                               << escaped(info.vendor) << " has no memory of its own";
  auto [offset, bytes] = BYCC_TRY(weightsOf(info, weightsBytes_));
  auto given = sized<bycc_region_load>();
  given.threads = threads_;
  given.symbol = info.symbol;
  given.blob = info.blob;
  given.blob_bytes = info.blob_bytes;
  given.weights = bytes ? weights_ + offset : nullptr;
  given.weights_bytes = bytes;
  given.num_inputs = info.num_inputs;
  given.inputs = inputs.data();
  given.num_outputs = info.num_outputs;
  given.outputs = region.outputs.data();
  given.version = info.vendor_version;
  given.library = info.vendor_library;
  char text[512] = "";
  auto load = [&] {
    return region.vendor->load(region.context, &given, &region.handle, text, sizeof text);
  };
  int32_t status = callVendor(load, text);
  text[sizeof text - 1] = 0;
  if (status != BYCC_OK)
    return error(status == BYCC_LIMIT ? Status::Limit : Status::Load)
           << "region " << escaped(info.symbol) << ": vendor " << escaped(info.vendor)
           << " cannot load it: " << (text[0] ? text : "no reason given");
  return region;
}

Expected<> Model::loadRegions(const LoadOptions &options) {
  if (module_->num_regions == 0)
    return {};
  // Vendors reorder weights here, on the pool.
  RunEnvironment environment(threads_);
  BYCC_TRY(environment.check());
  for (uint32_t i = 0; i < module_->num_regions; ++i) {
    const bycc_region_info &info = module_->regions[i];
    auto region = loadRegion(info, options);
    if (!region && !info.has_host_code)
      return region.takeError();
    if (!region)
      logMessage(LogLevel::Warning, "region " + escaped(info.symbol) +
                                        " runs as host code: " + region.takeError().message());
    regions_.push_back(region ? std::move(*region) : Region());
  }
  return {};
}

Model::~Model() {
  for (Region &region : regions_)
    if (region.isLoaded())
      region.vendor->unload(region.context, region.handle);
}

static Expected<> checkHasParams(const GraphFile &graph, const bycc_module &module) {
  bool isSeparate = module.params_bytes > 0 && !module.params;
  if (isSeparate == graph.set.params.has_value())
    return {};
  return error(Status::Load, {graph.path})
         << "graph JSON and object differ: only one of them has a params file";
}

// The object of a graph JSON, with a descriptor that fits it.
static Expected<LoadedObject> openObject(const GraphFile &graph, std::string_view bytes,
                                         const std::string &path) {
  BYCC_TRY(checkObject(graph, bytes, path));
  LoadedObject object =
      BYCC_TRY(loadObject(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), path));
  const bycc_module &module = *object.module();
  BYCC_TRY(checkBuild(graph, module, path));
  BYCC_TRY(inFile(checkModule(module), path));
  BYCC_TRY(checkInterface(graph, module));
  BYCC_TRY(checkHasParams(graph, module));
  return object;
}

Expected<std::shared_ptr<const Model>>
Model::loadParts(const GraphFile &graph, const SetPaths &paths, const LoadOptions &options) {
  BYCC_TRY(checkGraph(graph));
  std::string object = BYCC_TRY(asPart(readFile(paths.object, maxObjectBytes)));
  return loadObjectOf(graph, object, paths, nullptr, options);
}

// `given`: the params in memory, null for those of a file.
Expected<std::shared_ptr<const Model>>
Model::loadObjectOf(const GraphFile &graph, std::string_view object, const SetPaths &paths,
                    std::shared_ptr<const Storage> given, const LoadOptions &options) {
  auto model = std::make_shared<Model>();
  const std::string &objectPath = paths.object;
  model->object_ = BYCC_TRY(openObject(graph, object, objectPath));
  const bycc_module &module = *model->object_.module();
  BYCC_TRY(inFile(checkHeader(module, options), objectPath));
  BYCC_TRY(inFile(model->setModule(&module, options), objectPath));
  BYCC_TRY(inFile(checkCpu(module), objectPath));

  std::string params = paths.params.empty() ? objectPath : paths.params;
  if (!paths.params.empty() && !options.params.empty())
    params = options.params;
  else
    model->params_ = std::move(given);
  BYCC_TRY(model->useParams(options, params, &graph));
  BYCC_TRY(inFile(model->loadRegions(options), objectPath));
  logMessage(LogLevel::Info, graph.path + ": loaded, " + std::to_string(model->threads()) +
                                 " threads, " + std::to_string(module.num_regions) + " regions");
  return std::shared_ptr<const Model>(std::move(model));
}

Expected<std::shared_ptr<const Model>> Model::load(const std::string &graphJson,
                                                   const LoadOptions &options) {
  GraphFile graph = BYCC_TRY(readGraphFile(graphJson));
  // A build may replace the files between the reading of one and the next; then the new
  // ones are read. Builds that follow each other that fast are an error in the end.
  for (int triesLeft = 4;; --triesLeft) {
    SetPaths paths = pathsOf(graph);
    auto loaded = loadParts(graph, paths, options);
    if (loaded || loaded.error().status() != Status::Load || triesLeft == 0)
      return loaded;
    auto now = readGraphFile(graphJson);
    if (!now || (now->set.setId == graph.set.setId && pathsOf(*now) == paths))
      return loaded;
    graph = now.takeValue();
  }
}

Expected<std::shared_ptr<const Model>>
Model::loadBytes(const SetBytes &bytes, const std::string &name, const LoadOptions &options) {
  GraphFile graph = BYCC_TRY(parseGraphFile(bytes.graph, name + ".json"));
  BYCC_TRY(checkGraph(graph));
  SetPaths paths = {name + ".o", graph.set.params ? name + ".params" : ""};
  if (graph.set.params && !bytes.params && options.params.empty())
    return error(Status::Load, {paths.params}) << "the model has weights, none are given";
  return loadObjectOf(graph, bytes.object, paths, bytes.params, options);
}

Expected<std::shared_ptr<const Model>> Model::loadLinked(const bycc_module *module,
                                                         const LoadOptions &options) {
  auto model = std::make_shared<Model>();
  BYCC_TRY(checkVersion(*module, "linked module"));
  BYCC_TRY(inFile(checkHeader(*module, options), "linked module"));
  BYCC_TRY(checkModule(*module));
  BYCC_TRY(model->setModule(module, options));
  BYCC_TRY(inFile(checkCpu(*module), module->name));
  std::string params = options.params;
  if (params.empty())
    params = programFolder() + "/" + module->name + ".params";
  BYCC_TRY(model->useParams(options, params, nullptr));
  BYCC_TRY(inFile(model->loadRegions(options), module->name));
  return std::shared_ptr<const Model>(std::move(model));
}

Expected<> checkSet(const SetContents &set, const std::string &stem) {
  std::string graphPath = stem + ".json", objectPath = stem + ".o", paramsPath = stem + ".params";
  GraphFile graph = BYCC_TRY(parseGraphFile(set.graph, graphPath));
  BYCC_TRY(checkGraph(graph));
  LoadedObject object = BYCC_TRY(openObject(graph, set.object, objectPath));
  const bycc_module &module = *object.module();
  if (module.params) {
    ParamsFile params = BYCC_TRY(readParams(module.params, module.params_bytes, objectPath));
    BYCC_TRY(checkParams(module, &graph, params, objectPath));
  } else if (module.params_bytes > 0) {
    ParamsFile params = BYCC_TRY(readParams(set.params, paramsPath));
    BYCC_TRY(checkParams(module, &graph, params, paramsPath));
  }
  for (uint32_t i = 0; i < module.num_regions; ++i)
    BYCC_TRY(inFile(weightsOf(module.regions[i], module.params_bytes), objectPath));
  return {};
}

} // namespace bycc::runtime
