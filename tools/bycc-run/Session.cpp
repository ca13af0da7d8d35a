#include "Session.h"

#include "Tensors.h"

#include "bycc/Support/Messages.h"
#include "bycc/Support/Sized.h"
#include "bycc/Support/Text.h"

#include <cstdio>
#include <filesystem>
#include <map>

namespace bycc::run {
namespace {

// The text of the last error is complete; it is taken apart to be printed once. `advice` goes with
// what is wrong about arguments.
Expected<> checked(int32_t code, const std::string &advice = "") {
  static const std::map<int32_t, Status> statuses = {{BYCC_LOAD, Status::Load},
                                                     {BYCC_ARG, Status::Arg},
                                                     {BYCC_LIMIT, Status::Limit},
                                                     {BYCC_IO, Status::Io}};
  if (code == BYCC_OK)
    return {};
  auto known = statuses.find(code);
  Status status = known == statuses.end() ? Status::Internal : known->second;
  std::string text = bycc_last_error(), tag = "error[" + std::string(name(status)) + "]: ";
  size_t at = text.find(tag);
  if (at == text.npos)
    return error(status) << text;
  std::string place = at >= 2 ? text.substr(0, at - 2) : "";
  std::string message = text.substr(at + tag.size());
  if (code == BYCC_ARG && !advice.empty())
    return (error(status, {place}) << message).note(advice);
  return error(status, {place}) << message;
}

// Why a run with random data may fail that others do not: "" where all extents are known.
std::string adviceOnExtents(const bycc_tensor_info &info) {
  std::vector<std::string> dims;
  bool isOpen = false;
  for (int32_t d = 0; d < info.rank; ++d) {
    const bycc_dim &dim = info.dims[d];
    isOpen = isOpen || dim.value < 0;
    dims.push_back(dim.value < 0 ? dim.text : std::to_string(dim.value));
  }
  return !isOpen ? ""
                 : "open extents of random data were 1: input '" + escaped(info.name) + "' is (" +
                       escaped(join(dims, ", ")) + "); --shape NAME=5x3x4 gives others";
}

const bycc_tensor_info *findInput(const bycc_module &module, std::string_view name) {
  for (uint32_t i = 0; i < module.num_inputs; ++i)
    if (name == module.inputs[i].name)
      return &module.inputs[i];
  return nullptr;
}

// NAME=VALUE, where NAME may hold '=' itself: the first split that names an input.
Expected<std::pair<const bycc_tensor_info *, std::string>>
splitInput(const bycc_module &module, const std::string &text, const char *wanted) {
  for (size_t at = text.find('='); at != text.npos; at = text.find('=', at + 1))
    if (const bycc_tensor_info *info = findInput(module, std::string_view(text).substr(0, at)))
      return std::pair(info, text.substr(at + 1));
  if (text.find('=') == text.npos)
    return error(Status::Usage) << wanted << ", given '" << escaped(text) << "'";
  std::vector<std::string> names;
  for (uint32_t i = 0; i < module.num_inputs; ++i)
    names.push_back(module.inputs[i].name);
  std::string name = text.substr(0, text.find('='));
  auto near = nearest(name, names);
  return error(Status::Arg).as(MessageId::NoSuchInput)
         << "the model has no input '" << escaped(name) << "'"
         << (near ? ", did you mean '" + escaped(*near) + "'?"
                  : "; its inputs: " + escaped(join(names, ", "), 1024));
}

// Of --input.
using Files = std::map<const bycc_tensor_info *, std::string>;
Expected<Files> namedFiles(const bycc_module &module, const Options &options) {
  Files files;
  for (const std::string &text : options.inputs) {
    auto [info, file] = BYCC_TRY(splitInput(module, text, "--input: wanted NAME=FILE.npy"));
    files[info] = file;
  }
  return files;
}

using Shapes = std::map<const bycc_tensor_info *, std::vector<int64_t>>;

// Of --shape: NAME=5x3x4.
Expected<Shapes> randomShapes(const bycc_module &module, const Options &options) {
  constexpr const char *wanted = "--shape: wanted NAME=5x3x4";
  if (!options.shapes.empty() && !options.randomSeed)
    return error(Status::Usage) << "--shape goes with --random";
  Shapes shapes;
  for (const std::string &text : options.shapes) {
    auto [info, extents] = BYCC_TRY(splitInput(module, text, wanted));
    for (const std::string &extent : split(extents, 'x')) {
      auto value = parseInt(extent);
      if (!value || *value < 0)
        return error(Status::Usage) << wanted << ", given '" << escaped(text) << "'";
      shapes[info].push_back(*value);
    }
  }
  return shapes;
}

} // namespace

int64_t OutputView::count() const {
  return static_cast<int64_t>(bytes) / sizeInBytes(static_cast<DType>(info->dtype));
}

std::string shapeText(std::span<const int64_t> shape) {
  std::vector<std::string> dims;
  for (int64_t dim : shape)
    dims.push_back(std::to_string(dim));
  return "(" + join(dims, ", ") + ")";
}

Session::~Session() {
  bycc_context_destroy(context_);
  bycc_model_destroy(model_);
}

Expected<> Session::load(const Options &options) {
  for (const char *suffix : {".onnx", ".relay", ".o"})
    if (options.graph.ends_with(suffix)) {
      SourceLocation whole;
      whole.file = options.graph;
      return (error(Status::Load, whole).as(MessageId::NotOurGraph)
              << "this is not the graph JSON of a compiled model")
          .note("bycc MODEL -o net.o writes net.json, which bycc-run takes");
    }
  auto load = sized<bycc_load_options>();
  load.threads = options.threads;
  load.verify = options.verify;
  load.params = options.params.empty() ? nullptr : options.params.c_str();
  std::vector<const char *> vendorOptions;
  for (const std::string &text : options.vendorOptions)
    vendorOptions.push_back(text.c_str());
  load.vendor_options = vendorOptions.data();
  load.num_vendor_options = vendorOptions.size();
  BYCC_TRY(checked(bycc_model_load(options.graph.c_str(), &load, &model_)));
  return checked(bycc_context_create(model_, &context_));
}

Expected<> Session::bind(uint32_t index, NpyArray array, const std::string &file) {
  const bycc_tensor_info &info = module().inputs[index];
  DType wanted = static_cast<DType>(info.dtype);
  auto refuse = [&] {
    return error(Status::Arg, {file}).as(MessageId::InputType)
           << "input '" << escaped(info.name) << "': wanted ";
  };
  if (!array.holds(wanted))
    return refuse() << name(wanted) << ", given " << name(array.dtype);
  if (static_cast<int32_t>(array.shape.size()) != info.rank)
    return refuse() << "rank " << info.rank << ", given rank " << array.shape.size() << ": shape "
                    << shapeText(array.shape);
  BYCC_TRY(
      checked(bycc_bind_input(context_, index, array.data(), array.bytes, array.shape.data())));
  bound_[index] = std::move(array);
  return {};
}

Expected<std::vector<uint32_t>> Session::bindNamed(const Options &options) {
  bound_.clear();
  advice_.clear();
  bound_.resize(module().num_inputs);
  Files files = BYCC_TRY(namedFiles(module(), options));
  std::vector<uint32_t> left;
  for (uint32_t i = 0; i < module().num_inputs; ++i)
    if (auto given = files.find(&module().inputs[i]); given != files.end())
      BYCC_TRY(bind(i, BYCC_TRY(readNpy(given->second)), given->second));
    else
      left.push_back(i);
  return left;
}

Expected<> Session::bindInputs(const Options &options) {
  const bycc_module &module = this->module();
  bound_.clear();
  bound_.resize(module.num_inputs);
  Files files = BYCC_TRY(namedFiles(module, options));
  auto shapes = BYCC_TRY(randomShapes(module, options));
  if (!options.inputsFolder.empty() && !pathExists(options.inputsFolder))
    return error(Status::Io, {options.inputsFolder}).as(MessageId::CannotRead) << "no such folder";
  if (!options.inputsFolder.empty() && !std::filesystem::is_directory(options.inputsFolder))
    return (error(Status::Io, {options.inputsFolder}).as(MessageId::CannotRead)
            << "is a file; --inputs takes a folder of NAME.npy")
        .note("one file: --input NAME=" + options.inputsFolder);
  std::vector<std::string> missing;
  for (uint32_t i = 0; i < module.num_inputs; ++i) {
    const bycc_tensor_info &info = module.inputs[i];
    auto given = files.find(&info);
    std::string file = given != files.end() ? given->second : "";
    if (file.empty() && !options.inputsFolder.empty())
      file = options.inputsFolder + "/" + info.file + ".npy";
    bool hasFile = !file.empty() && (given != files.end() || pathExists(file));
    if (hasFile && shapes.contains(&info))
      return error(Status::Usage, {file}) << "--shape is for random data, input '"
                                          << escaped(info.name) << "' is read from this file";
    if (hasFile)
      BYCC_TRY(bind(i, BYCC_TRY(readNpy(file)), file));
    else if (options.randomSeed) {
      if (shapes[&info].empty() && advice_.empty())
        advice_ = adviceOnExtents(info);
      BYCC_TRY(bind(i, BYCC_TRY(randomTensor(info, shapes[&info], *options.randomSeed + i)),
                    "random data"));
    } else
      missing.push_back("'" + escaped(info.name) + "'");
  }
  if (!missing.empty())
    return error(Status::Arg).as(MessageId::NoData)
           << "no data for input" << (missing.size() > 1 ? "s " : " ") << join(missing, ", ")
           << "; give --inputs DIR, --input NAME=FILE.npy or --random";
  return {};
}

Expected<> Session::run() { return checked(bycc_run(context_), advice_); }

Expected<std::vector<OutputView>> Session::outputs() {
  const bycc_module &module = this->module();
  std::vector<OutputView> views;
  for (uint32_t i = 0; i < module.num_outputs; ++i) {
    const void *data = nullptr;
    const int64_t *shape = nullptr;
    size_t bytes = 0;
    BYCC_TRY(checked(bycc_get_output(context_, i, &data, &shape, &bytes)));
    const bycc_tensor_info &info = module.outputs[i];
    views.push_back({&info, static_cast<const uint8_t *>(data),
                     std::vector<int64_t>(shape, shape + info.rank), bytes});
  }
  return views;
}

Expected<> Session::setProfile(bool on) { return checked(bycc_profile_enable(context_, on)); }

Expected<> Session::watchValues(bycc_values_fn watch, void *user) {
  return checked(bycc_watch_values(context_, watch, user));
}

Expected<std::span<const bycc_profile_entry>> Session::profile() {
  const bycc_profile_entry *entries = nullptr;
  size_t count = 0;
  BYCC_TRY(checked(bycc_profile_entries(context_, &entries, &count)));
  return std::span(entries, count);
}

} // namespace bycc::run
