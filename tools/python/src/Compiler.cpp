// bycc._compiler: the compiler for Python, and files of a model. Needs libbycc, and so LLVM.
#include "Errors.h"

#include "bycc/Compiler.h"
#include "bycc/Compiler/RequestOptions.h"
#include "bycc/Compiler/TextPass.h"
#include "bycc/Compiler/WriteModel.h"
#include "bycc/Support/MappedFiles.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <filesystem>
#include <memory>

namespace nb = nanobind;
using namespace nb::literals;
using namespace bycc;

namespace bycc::python {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

nb::dict dictOf(const Diagnostic &diagnostic) {
  nb::list notes;
  for (const Note &note : diagnostic.notes)
    notes.append(note.text);
  nb::dict dict;
  dict["status"] = std::string(name(diagnostic.status));
  dict["message"] = diagnostic.message;
  dict["file"] = diagnostic.location.file;
  dict["line"] = diagnostic.location.line;
  dict["column"] = diagnostic.location.column;
  dict["node"] = diagnostic.location.node;
  dict["op"] = diagnostic.location.nodeOp;
  dict["notes"] = notes;
  dict["text"] = diagnostic.str();
  dict["id"] = text(diagnostic.id);
  return dict;
}

[[noreturn]] void raiseError(const Error &error) {
  nb::list list;
  for (const Diagnostic &diagnostic : error.diagnostics())
    list.append(dictOf(diagnostic));
  raise("from_diagnostics", list);
}

template <typename T> T orRaise(Expected<T> result) {
  if (!result)
    raiseError(result.error());
  if constexpr (!std::is_void_v<T>)
    return result.takeValue();
}

const char *phaseName(Phase phase) {
  static constexpr const char *names[] = {"start",   "vendors",   "load",  "passes",
                                          "regions", "host-code", "finish"};
  return names[static_cast<int>(phase)];
}

// Calls Python from inside of a compilation, which no exception may cross: the first one is
// kept, and ends it.
class Calls {
public:
  // What `body` gives, or nothing when it raised.
  template <typename Body> auto call(Body body) -> std::optional<decltype(body())> {
    nb::gil_scoped_acquire acquire;
    if (raised_)
      return std::nullopt;
    try {
      return body();
    } catch (nb::python_error &error) {
      raised_.emplace(std::move(error));
    } catch (const nb::cast_error &) {
      PyErr_SetString(PyExc_TypeError, "a pass gives Relay text, or None for no change");
      raised_.emplace();
    }
    return std::nullopt;
  }
  // Raises it in the caller.
  void rethrow() {
    if (raised_)
      throw std::move(*raised_);
  }

private:
  std::optional<nb::python_error> raised_;
};

class Compilation {
public:
  Compilation(nb::object progress) : progress_(std::move(progress)) {
    request_.callbacks.progress = [this](const Progress &now) { return hear(now); };
    request_.callbacks.message = [this](const Message &message) { messages_.push_back(message); };
  }

  void addPasses(nb::list passes) {
    for (nb::handle item : passes) {
      nb::tuple pass = nb::borrow<nb::tuple>(item);
      PassPlace place{nb::cast<std::string>(pass[1]) == "before" ? PassPlace::Side::Before
                                                                 : PassPlace::Side::After,
                      nb::cast<std::string>(pass[2])};
      orRaise(compiler_.addPass(textPass(nb::cast<std::string>(pass[0]), 0, "a function of Python",
                                         {}, textFunction(pass[3])),
                                place));
    }
  }

  CompileRequest &request() { return request_; }

  nb::dict compile() {
    std::optional<Expected<CompiledModel>> result;
    {
      nb::gil_scoped_release release;
      result.emplace(compiler_.compile(request_));
    }
    calls_.rethrow();
    return dictOf(orRaise(std::move(*result)));
  }

private:
  TextPassFn textFunction(nb::object function) {
    // The compiler copies passes without the GIL: what is copied is no reference of Python's.
    auto shared = std::make_shared<nb::object>(std::move(function));
    return [this, shared](const std::string &text, PassContext &) -> Expected<std::string> {
      auto edited = calls_.call([&] {
        nb::object result = (*shared)(text);
        return result.is_none() ? text : nb::cast<std::string>(result);
      });
      if (!edited)
        return cancelledError();
      return std::move(*edited);
    };
  }

  bool hear(const Progress &now) {
    auto goesOn = calls_.call([&] {
      if (PyErr_CheckSignals() != 0) // Ctrl-C
        throw nb::python_error();
      if (!progress_.is_none())
        progress_(phaseName(now.phase), now.item, now.index, now.count);
      return true;
    });
    return goesOn.has_value();
  }

  nb::object paramsOf(const CompiledModel &model) const {
    if (model.params.empty())
      return nb::none();
    nb::object block =
        nb::module_::import_("bycc._runtime").attr("Block")(model.params.sizeBytes());
    Py_buffer view;
    if (PyObject_GetBuffer(block.ptr(), &view, PyBUF_WRITABLE) != 0)
      throw nb::python_error();
    {
      nb::gil_scoped_release release;
      auto *to = static_cast<char *>(view.buf);
      for (std::string_view piece : model.params.pieces()) {
        std::memcpy(to, piece.data(), piece.size());
        to += piece.size();
      }
    }
    PyBuffer_Release(&view);
    return block;
  }

  nb::dict dictOf(const CompiledModel &model) const {
    nb::object params = paramsOf(model);
    orRaise(checkMappedFiles()); // the model's files are not read any more
    nb::list messages;
    for (const Message &message : messages_)
      messages.append(nb::make_tuple(message.isRemark, message.location.str(), message.text));
    nb::dict dict;
    dict["graph_json"] = nb::bytes(model.graphJson.data(), model.graphJson.size());
    dict["object"] = nb::bytes(model.object.data(), model.object.size());
    dict["header"] = model.header;
    dict["params"] = params;
    dict["explain"] = model.report.text();
    dict["messages"] = messages;
    return dict;
  }

  Compiler compiler_;
  CompileRequest request_;
  Calls calls_;
  nb::object progress_;
  std::vector<Message> messages_;
};

nb::dict compile(const std::string &model, const std::string &stem, const Pairs &options,
                 nb::dict files, nb::list passes, const std::vector<std::string> &pluginFolders,
                 nb::object progress) {
  Compilation compilation(std::move(progress));
  CompileRequest &request = compilation.request();
  request.input.model = model;
  request.code.stem = stem;
  request.vendors.pluginFolders = pluginFolders;
  for (const auto &[name, value] : options)
    orRaise(setOption(request, name, value));
  for (auto [name, bytes] : files) {
    nb::bytes content = nb::cast<nb::bytes>(bytes);
    request.files[nb::cast<std::string>(name)] = Storage::viewOf(content.data(), content.size());
  }
  compilation.addPasses(passes);
  return compilation.compile();
}

void save(const std::string &stem, nb::bytes graphJson, nb::bytes object, const std::string &header,
          nb::object params) {
  ModelBytes model;
  model.object = {object.c_str(), object.size()};
  model.graphJson = {graphJson.c_str(), graphJson.size()};
  model.header = header;
  Py_buffer view = {};
  if (!params.is_none() && PyObject_GetBuffer(params.ptr(), &view, PyBUF_SIMPLE) != 0)
    throw nb::python_error();
  model.params = {static_cast<const char *>(view.buf), static_cast<size_t>(view.len)};
  std::optional<Expected<>> done;
  {
    nb::gil_scoped_release release;
    done.emplace(writeModel(model, stem));
  }
  if (view.obj)
    PyBuffer_Release(&view);
  orRaise(std::move(*done));
}

} // namespace
} // namespace bycc::python

NB_MODULE(_compiler, module) {
  nb::set_leak_warnings(false);
  module.doc() = "The compiler of bycc.";
  module.def("compile", &python::compile, "model"_a, "stem"_a, "options"_a, "files"_a, "passes"_a,
             "plugin_folders"_a, "progress"_a.none(),
             "Compiles a model; gives its parts. bycc.compile() is made of it.");
  module.def("save", &python::save, "stem"_a, "graph_json"_a, "object"_a, "header"_a,
             "params"_a.none(), "Writes the files of a model.");
}
