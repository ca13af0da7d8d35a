// bycc/compiler.h on top of bycc::Compiler. Nothing that is thrown leaves a function: what
// the C++ library throws where it has no memory is LIMIT, everything else its own fault.

#include "bycc/compiler.h"

#include "bycc/Compiler.h"
#include "bycc/Compiler/OutputForms.h"
#include "bycc/Compiler/RequestOptions.h"
#include "bycc/Compiler/Session.h"
#include "bycc/Compiler/WriteModel.h"
#include "bycc/Support/Phrases.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>

using namespace bycc;

struct bycc_request {
  CompileRequest request;
  bycc_message_fn message = nullptr;
  void *messageUser = nullptr;
};

struct bycc_compiled {
  CompiledModel model;
  std::string stem;
  // Texts that are made when they are asked for.
  mutable std::mutex mutex;
  mutable std::map<std::string, std::string, std::less<>> texts;
};

namespace {

struct StatusCode {
  Status status;
  int32_t code;
};
constexpr StatusCode statusCodes[] = {
    {Status::Load, BYCC_COMPILER_LOAD},           {Status::Arg, BYCC_COMPILER_ARG},
    {Status::Limit, BYCC_COMPILER_LIMIT},         {Status::Io, BYCC_COMPILER_IO},
    {Status::Internal, BYCC_COMPILER_INTERNAL},   {Status::Input, BYCC_COMPILER_INPUT},
    {Status::Unsup, BYCC_COMPILER_UNSUP},         {Status::CodeGen, BYCC_COMPILER_CODEGEN},
    {Status::Usage, BYCC_COMPILER_USAGE},         {Status::Policy, BYCC_COMPILER_POLICY},
    {Status::Cancelled, BYCC_COMPILER_CANCELLED}, {Status::Differs, BYCC_COMPILER_DIFFERS},
};

int32_t codeOf(Status status) {
  auto found = std::ranges::find(statusCodes, status, &StatusCode::status);
  return found == std::end(statusCodes) ? BYCC_COMPILER_INTERNAL : found->code;
}

constexpr size_t maxErrorBytes = 16384;
// Not an array: with thread-locals of more than a kilobyte, a program that runs already could
// not open the library.
thread_local std::unique_ptr<char[]> errorMemory;
thread_local const char *lastError = "";

int32_t failed(int32_t code, std::string_view text) noexcept {
  if (!errorMemory)
    errorMemory.reset(new (std::nothrow) char[maxErrorBytes]);
  if (!errorMemory) {
    lastError = "error[LIMIT]: there is not enough memory\n";
    return code;
  }
  size_t size = std::min(text.size(), maxErrorBytes - 1);
  std::memcpy(errorMemory.get(), text.data(), size);
  errorMemory[size] = 0;
  lastError = errorMemory.get();
  return code;
}

int32_t failed(const Error &error) { return failed(codeOf(error.status()), error.str()); }

template <typename Work> int32_t guarded(Work work) noexcept {
  try {
    Expected<> done = work();
    return done ? BYCC_COMPILER_OK : failed(done.error());
  } catch (const std::bad_alloc &) {
    return failed(BYCC_COMPILER_LIMIT, "error[LIMIT]: there is not enough memory\n");
  } catch (const std::exception &thrown) {
    return failed(BYCC_COMPILER_INTERNAL, thrown.what());
  } catch (...) {
    return failed(BYCC_COMPILER_INTERNAL, "error[INTERNAL]: an exception\n");
  }
}

template <typename... Pointers> Expected<> checkGiven(Pointers... pointers) {
  if ((... || !pointers))
    return error(Status::Arg) << "a null pointer where none may be";
  return {};
}

void send(const bycc_request &request, int32_t severity, int32_t status,
          const SourceLocation &location, const std::string &text) {
  bycc_message message = {sizeof message,
                          severity,
                          status,
                          location.file.c_str(),
                          location.line,
                          location.column,
                          location.node.c_str(),
                          location.nodeOp.c_str(),
                          text.c_str()};
  request.message(request.messageUser, &message);
}

void sendErrors(const bycc_request &request, const Error &error) {
  if (!request.message)
    return;
  for (const Diagnostic &diagnostic : error.diagnostics()) {
    send(request, BYCC_SEVERITY_ERROR, codeOf(diagnostic.status), diagnostic.location,
         diagnostic.message);
    for (const Note &note : diagnostic.notes)
      send(request, BYCC_SEVERITY_NOTE, BYCC_COMPILER_OK, note.location, note.text);
  }
}

// Calls the user's function when the bytes are no longer read.
std::shared_ptr<const void> releaser(bycc_release_fn release, void *user) {
  return {static_cast<const void *>(""), [release, user](const void *) { release(user); }};
}

Expected<> addFile(bycc_request *request, const char *name, const void *data, size_t bytes,
                   std::shared_ptr<const void> owner) {
  BYCC_TRY(checkGiven(request, name));
  if (!data && bytes > 0)
    return error(Status::Arg) << "a null pointer where none may be";
  request->request.files[name] =
      owner ? Storage::viewOf(data, bytes, std::move(owner)) : Storage::copyOf(data, bytes);
  return {};
}

// Results that are no form of --emit.
struct Made {
  const char *name;
  std::string (*text)(const CompiledModel &model);
};
constexpr Made made[] = {
    {"explain", [](const CompiledModel &model) { return model.report.text(); }},
    {"report", [](const CompiledModel &model) { return model.report.json(); }},
    {"trace", [](const CompiledModel &model) { return model.trace.json(); }},
};
struct Kept {
  const char *name;
  std::string CompiledModel::*text;
};
constexpr Kept kept[] = {
    {"graph", &CompiledModel::graphJson},
    {"obj", &CompiledModel::object},
    {"plan", &CompiledModel::partitionPlan},
    {"tuning", &CompiledModel::tuningRecords},
};

std::string noResult(std::string_view what) {
  std::vector<std::string> names;
  for (const Made &each : made)
    names.emplace_back(each.name);
  for (const Kept &each : kept)
    names.emplace_back(each.name);
  for (const OutputFormInfo &form : outputForms())
    names.emplace_back(form.name);
  return "there is no result '" + escaped(what) + "'" + didYouMean(what, names);
}

Expected<const std::string *> findResult(const bycc_compiled &compiled, std::string_view what) {
  for (const Kept &each : kept)
    if (each.name == what)
      return &(compiled.model.*each.text);
  if (const OutputFormInfo *form = findOutputForm(what); form && form->text)
    return &(compiled.model.*form->text);
  for (const Made &each : made)
    if (each.name == what) {
      std::lock_guard lock(compiled.mutex);
      auto found = compiled.texts.find(what);
      if (found == compiled.texts.end())
        found = compiled.texts.emplace(what, each.text(compiled.model)).first;
      return &found->second; // nodes of a map stay where they are
    }
  return error(Status::Usage) << noResult(what);
}

// The struct that the caller knows, which may be shorter than ours.
template <typename Struct> Expected<> give(Struct *target, Struct value) {
  if (target->size < sizeof target->size)
    return error(Status::Arg) << "the struct's size is not set";
  value.size = std::min<uint32_t>(target->size, sizeof value);
  std::memcpy(target, &value, value.size);
  return {};
}

} // namespace

extern "C" {

const char *bycc_compiler_status_name(int32_t status) {
  if (status == BYCC_COMPILER_OK)
    return "OK";
  auto found = std::ranges::find(statusCodes, status, &StatusCode::code);
  return found == std::end(statusCodes) ? "?" : name(found->status).data();
}

const char *bycc_compiler_version(void) { return versionText(); }
uint32_t bycc_compiler_api_version(void) { return BYCC_COMPILER_API_VERSION; }
const char *bycc_compiler_error(void) { return lastError; }

int32_t bycc_request_create(bycc_request **request) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(checkGiven(request));
    *request = new bycc_request;
    return {};
  });
}

void bycc_request_destroy(bycc_request *request) { delete request; }

int32_t bycc_request_model_file(bycc_request *request, const char *path) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(checkGiven(request, path));
    request->request.input.model = path;
    return {};
  });
}

int32_t bycc_request_model_bytes(bycc_request *request, const char *name, const void *data,
                                 size_t bytes) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(addFile(request, name, data, bytes, nullptr));
    request->request.input.model = name;
    return {};
  });
}

int32_t bycc_request_add_file(bycc_request *request, const char *name, const void *data,
                              size_t bytes, bycc_release_fn release, void *user) {
  return guarded([&]() -> Expected<> {
    return addFile(request, name, data, bytes, release ? releaser(release, user) : nullptr);
  });
}

int32_t bycc_request_set(bycc_request *request, const char *option) {
  return bycc_request_set_arguments(request, 1, &option);
}

int32_t bycc_request_set_arguments(bycc_request *request, size_t count,
                                   const char *const *arguments) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(checkGiven(request, arguments));
    std::vector<std::string> list;
    for (size_t i = 0; i < count; ++i) {
      BYCC_TRY(checkGiven(arguments[i]));
      list.emplace_back(arguments[i]);
    }
    return setOptions(request->request, list);
  });
}

int32_t bycc_request_stem(bycc_request *request, const char *stem) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(checkGiven(request, stem));
    if (!*stem || fileNameOf(stem) != stem)
      return error(Status::Arg) << "the stem '" << escaped(stem)
                                << "' is not a name without a folder";
    request->request.code.stem = stem;
    return {};
  });
}

int32_t bycc_request_plugin_folder(bycc_request *request, const char *folder) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(checkGiven(request, folder));
    request->request.vendors.pluginFolders.emplace_back(folder);
    return {};
  });
}

int32_t bycc_request_save_plan(bycc_request *request) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(checkGiven(request));
    request->request.vendors.savesPlan = true;
    return {};
  });
}

int32_t bycc_request_on_message(bycc_request *request, bycc_message_fn message, void *user) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(checkGiven(request));
    request->message = message;
    request->messageUser = user;
    return {};
  });
}

int32_t bycc_request_on_print(bycc_request *request, bycc_print_fn print, void *user) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(checkGiven(request));
    request->request.callbacks.print = {};
    if (print)
      request->request.callbacks.print = [print, user](std::string_view text) {
        print(user, text.data(), text.size());
      };
    return {};
  });
}

int32_t bycc_request_on_progress(bycc_request *request, bycc_progress_fn progress, void *user) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(checkGiven(request));
    request->request.callbacks.progress = {};
    if (progress)
      request->request.callbacks.progress = [progress, user](const Progress &at) {
        return progress(user, static_cast<int32_t>(at.phase), at.item.c_str(), at.index,
                        at.count) == 0;
      };
    return {};
  });
}

int32_t bycc_compile(const bycc_request *request, bycc_compiled **compiled) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(checkGiven(request, compiled));
    CompileRequest asked = request->request;
    if (request->message)
      asked.callbacks.message = [request](const Message &message) {
        send(*request, message.isRemark ? BYCC_SEVERITY_REMARK : BYCC_SEVERITY_WARNING,
             BYCC_COMPILER_OK, message.location, message.text);
      };
    Expected<CompiledModel> model = Compiler().compile(asked);
    if (!model) {
      sendErrors(*request, model.error());
      return model.takeError();
    }
    auto result = std::make_unique<bycc_compiled>();
    result->model = model.takeValue();
    result->stem = stemOf(asked);
    *compiled = result.release();
    return {};
  });
}

void bycc_compiled_destroy(bycc_compiled *compiled) { delete compiled; }

const char *bycc_compiled_name(const bycc_compiled *compiled) {
  return compiled ? compiled->model.moduleName.c_str() : "";
}

int32_t bycc_compiled_get(const bycc_compiled *compiled, const char *what, const void **data,
                          size_t *bytes) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(checkGiven(compiled, what, data, bytes));
    const std::string *text = BYCC_TRY(findResult(*compiled, what));
    *data = text->c_str();
    *bytes = text->size();
    return {};
  });
}

size_t bycc_compiled_num_params(const bycc_compiled *compiled) {
  return compiled ? compiled->model.params.pieces().size() : 0;
}

int32_t bycc_compiled_params(const bycc_compiled *compiled, size_t index, bycc_piece *piece) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(checkGiven(compiled, piece));
    const std::vector<std::string_view> &pieces = compiled->model.params.pieces();
    if (index >= pieces.size())
      return error(Status::Arg) << "there is no piece " << index << " of " << pieces.size();
    *piece = {pieces[index].data(), pieces[index].size()};
    return {};
  });
}

int32_t bycc_compiled_write(const bycc_compiled *compiled, const char *stem) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(checkGiven(compiled, stem));
    if (fileNameOf(stem) != compiled->stem)
      return (error(Status::Arg) << "the graph JSON names files of '" << escaped(compiled->stem)
                                 << "', not of '" << escaped(fileNameOf(stem)) << "'")
          .note("bycc_request_stem() says it before the compilation");
    return writeModel(compiled->model, stem);
  });
}

size_t bycc_option_count(void) { return requestOptionInfos().size(); }

int32_t bycc_option_get(size_t index, bycc_option *option) {
  return guarded([&]() -> Expected<> {
    BYCC_TRY(checkGiven(option));
    const std::vector<OptionInfo> &infos = requestOptionInfos();
    if (index >= infos.size())
      return error(Status::Arg) << "there is no option " << index << " of " << infos.size();
    const OptionInfo &info = infos[index]; // of literals, which end with NUL
    return give(option, {sizeof(bycc_option), static_cast<int32_t>(info.form),
                         info.has(option_traits::Repeats) ? 1 : 0, info.names.data(),
                         info.value.data(), info.help.data(), info.group.data()});
  });
}

} // extern "C"
