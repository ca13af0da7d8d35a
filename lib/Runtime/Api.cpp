// The C API. Handles are looked up in a registry, which also keeps what they
// stand for alive during the call: a stale or foreign handle is Status::Arg, and
// destroying a context while it runs is safe. No exception leaves.
#include "Context.h"
#include "Model.h"
#include "StatusCode.h"

#include "bycc/Support/MappedFiles.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

using namespace bycc;
using namespace bycc::runtime;

namespace {

template <typename T> class Registry {
public:
  void add(std::shared_ptr<T> object) {
    std::lock_guard lock(mutex_);
    const void *key = object.get();
    objects_.emplace(key, std::move(object));
  }
  std::shared_ptr<T> find(const void *handle) {
    std::lock_guard lock(mutex_);
    auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  // The object dies when the caller drops it, outside of the lock.
  std::shared_ptr<T> remove(const void *handle) {
    std::lock_guard lock(mutex_);
    auto node = objects_.extract(handle);
    return node ? std::move(node.mapped()) : nullptr;
  }

private:
  std::mutex mutex_;
  std::unordered_map<const void *, std::shared_ptr<T>> objects_;
};

// Never destroyed: other static objects may still use the library while the program ends.
// Made without memory of its own: a call that only looks into it must not fail.
template <typename T> union Lasting {
  Registry<T> registry;
  Lasting() : registry() {}
  ~Lasting() {}
};
Registry<const Model> &models() {
  static Lasting<const Model> models;
  return models.registry;
}
Registry<Context> &contexts() {
  static Lasting<Context> contexts;
  return contexts.registry;
}

thread_local std::string lastError;
thread_local const char *fixedError = nullptr; // instead, where there may be no memory

int32_t failed(const Error &problem) {
  lastError = problem.str();
  while (lastError.ends_with('\n'))
    lastError.pop_back();
  fixedError = nullptr;
  return codeOf(problem.status());
}

int32_t failed(int32_t status, const char *text) {
  fixedError = text;
  return status;
}

// Runs a body that returns Expected<> and turns everything into a code.
template <typename Body> int32_t guarded(Body body) noexcept {
  try {
    Expected<> result = body();
    return result ? BYCC_OK : failed(result.error());
  } catch (const std::bad_alloc &) {
    return failed(BYCC_LIMIT, "error[LIMIT]: no memory");
  } catch (...) {
    return failed(BYCC_INTERNAL, "error[INTERNAL]: an exception was thrown");
  }
}

Expected<> wanted(const void *pointer, const char *what) {
  if (!pointer)
    return error(Status::Arg) << what << " is a null pointer";
  return {};
}

Expected<std::shared_ptr<const Model>> modelOf(const bycc_model *handle) {
  auto model = models().find(handle);
  if (!model)
    return error(Status::Arg) << "not a loaded model: null, or destroyed before";
  return model;
}

// Calls `use` with the context of `handle`.
template <typename Use> int32_t withContext(const bycc_context *handle, Use use) noexcept {
  return guarded([&]() -> Expected<> {
    auto context = contexts().find(handle);
    if (!context)
      return error(Status::Arg) << "not a context: null, or destroyed before";
    return use(*context);
  });
}

Expected<LoadOptions> loadOptions(const bycc_load_options *given) {
  LoadOptions options;
  if (!given)
    return options;
  if (given->size < offsetof(bycc_load_options, set_id)) // what the first header had
    return error(Status::Arg) << "bycc_load_options::size is " << given->size << ", wanted "
                              << sizeof *given;
  bycc_load_options known = {};
  std::memcpy(&known, given, std::min<size_t>(given->size, sizeof known));
  options.threads = known.threads;
  options.verify = known.verify != 0;
  options.params = known.params ? known.params : "";
  options.setId = known.set_id ? known.set_id : "";
  for (size_t i = 0; known.vendor_options && i < known.num_vendor_options; ++i) {
    const char *text = known.vendor_options[i];
    auto setting = VendorSetting::parse(text ? text : "");
    if (!setting)
      return error(Status::Arg) << setting.error().message();
    options.vendorOptions.push_back(setting.takeValue());
  }
  return options;
}

// Releases the params as it says when they are gone, whatever happens until then.
Expected<SetBytes> setBytes(const bycc_model_bytes &given) {
  std::shared_ptr<const void> owner;
  if (given.release)
    owner = std::shared_ptr<const void>(given.params, [release = given.release, user = given.user](
                                                          const void *) { release(user); });
  BYCC_TRY(wanted(given.graph_json, "graph_json"));
  BYCC_TRY(wanted(given.object, "object"));
  SetBytes bytes;
  bytes.graph = {static_cast<const char *>(given.graph_json), given.graph_json_bytes};
  bytes.object = {static_cast<const char *>(given.object), given.object_bytes};
  if (given.params)
    bytes.params = Storage::viewOf(given.params, given.params_bytes, std::move(owner));
  return bytes;
}

int32_t indexOf(const bycc_tensor_info *infos, uint32_t count, const char *name) {
  for (uint32_t i = 0; name && i < count; ++i)
    if (std::strcmp(infos[i].name, name) == 0)
      return static_cast<int32_t>(i);
  return -1;
}

} // namespace

extern "C" {

int32_t bycc_model_load(const char *graph_json, const bycc_load_options *options,
                        bycc_model **model) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(wanted(model, "model"));
    *model = nullptr;
    BYCC_TRY(wanted(graph_json, "graph_json"));
    auto loaded = BYCC_TRY(Model::load(graph_json, BYCC_TRY(loadOptions(options))));
    models().add(loaded);
    *model = reinterpret_cast<bycc_model *>(const_cast<Model *>(loaded.get()));
    return {};
  });
}

int32_t bycc_model_load_bytes(const bycc_model_bytes *bytes, const bycc_load_options *options,
                              bycc_model **model) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(wanted(bytes, "bytes"));
    if (bytes->size < sizeof *bytes)
      return error(Status::Arg) << "bycc_model_bytes::size is " << bytes->size << ", wanted "
                                << sizeof *bytes;
    SetBytes set = BYCC_TRY(setBytes(*bytes));
    BYCC_TRY(wanted(model, "model"));
    *model = nullptr;
    auto loaded = BYCC_TRY(
        Model::loadBytes(set, bytes->name ? bytes->name : "model", BYCC_TRY(loadOptions(options))));
    models().add(loaded);
    *model = reinterpret_cast<bycc_model *>(const_cast<Model *>(loaded.get()));
    return {};
  });
}

int32_t bycc_model_load_linked(const bycc_module *module, const bycc_load_options *options,
                               bycc_model **model) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(wanted(model, "model"));
    *model = nullptr;
    BYCC_TRY(wanted(module, "module"));
    auto loaded = BYCC_TRY(Model::loadLinked(module, BYCC_TRY(loadOptions(options))));
    models().add(loaded);
    *model = reinterpret_cast<bycc_model *>(const_cast<Model *>(loaded.get()));
    return {};
  });
}

void bycc_guard_files(void) { guardMappedFiles(); }

void bycc_model_destroy(bycc_model *model) { models().remove(model); }

const bycc_module *bycc_model_module(const bycc_model *model) {
  auto found = models().find(model);
  return found ? &found->module() : nullptr;
}

int32_t bycc_model_input_index(const bycc_model *model, const char *name) {
  const bycc_module *module = bycc_model_module(model);
  return module ? indexOf(module->inputs, module->num_inputs, name) : -1;
}

int32_t bycc_model_output_index(const bycc_model *model, const char *name) {
  const bycc_module *module = bycc_model_module(model);
  return module ? indexOf(module->outputs, module->num_outputs, name) : -1;
}

int32_t bycc_context_create(bycc_model *model, bycc_context **context) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(wanted(context, "context"));
    *context = nullptr;
    auto created = BYCC_TRY(Context::create(BYCC_TRY(modelOf(model))));
    auto *handle = reinterpret_cast<bycc_context *>(created.get());
    contexts().add(std::move(created));
    *context = handle; // only when all is done: add() may find no memory
    return {};
  });
}

void bycc_context_destroy(bycc_context *context) { contexts().remove(context); }

int32_t bycc_bind_input(bycc_context *context, uint32_t index, const void *data, size_t bytes,
                        const int64_t *shape) {
  return withContext(context,
                     [&](Context &found) { return found.bindInput(index, data, bytes, shape); });
}

int32_t bycc_bind_output(bycc_context *context, uint32_t index, void *data, size_t bytes) {
  return withContext(context, [&](Context &found) { return found.bindOutput(index, data, bytes); });
}

int32_t bycc_run(bycc_context *context) {
  return withContext(context, [](Context &found) { return found.run(); });
}

int32_t bycc_get_output(bycc_context *context, uint32_t index, const void **data,
                        const int64_t **shape, size_t *bytes) {
  return withContext(context, [&](Context &found) -> Expected<> {
    Context::OutputView view = BYCC_TRY(found.output(index));
    if (data)
      *data = view.data;
    if (shape)
      *shape = view.shape;
    if (bytes)
      *bytes = view.bytes;
    return {};
  });
}

int32_t bycc_profile_enable(bycc_context *context, int32_t on) {
  return withContext(context, [&](Context &found) { return found.enableProfile(on != 0); });
}

int32_t bycc_profile_entries(bycc_context *context, const bycc_profile_entry **entries,
                             size_t *count) {
  return withContext(context, [&](Context &found) -> Expected<> {
    BYCC_TRY(wanted(entries, "entries"));
    BYCC_TRY(wanted(count, "count"));
    auto list = found.profileEntries();
    *entries = list.data();
    *count = list.size();
    return {};
  });
}

int32_t bycc_watch_values(bycc_context *context, bycc_values_fn watch, void *user) {
  return withContext(context, [&](Context &found) { return found.watchValues(watch, user); });
}

int32_t bycc_set_threads(bycc_context *context, int32_t threads) {
  return withContext(context, [&](Context &found) { return found.setThreads(threads); });
}

int32_t bycc_get_threads(const bycc_context *context) {
  auto found = contexts().find(context);
  return found ? found->threads() : 0;
}

const char *bycc_last_error(void) { return fixedError ? fixedError : lastError.c_str(); }

const char *bycc_status_name(int32_t status) {
  static constexpr const char *names[] = {"OK", "LOAD", "ARG", "LIMIT", "IO", "INTERNAL"};
  return status >= BYCC_OK && status <= BYCC_INTERNAL ? names[status] : "UNKNOWN";
}

const char *bycc_runtime_version(void) { return BYCC_VERSION; }

} // extern "C"
