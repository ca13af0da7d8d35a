// Reading the model of a session: its format, its bytes, what the command line binds of it.

#include "bycc/Compiler/Session.h"

#include "BindParams.h"
#include "bycc/Frontend/Onnx.h"
#include "bycc/IR/Infer.h"
#include "bycc/IR/LikelyExtents.h"
#include "bycc/IR/Verifier.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Parser/ProgramJson.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Support/File.h"
#include "bycc/Support/FileKind.h"
#include "bycc/Support/GraphSet.h"
#include "bycc/Support/Hash.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/PartitionPlan.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

namespace bycc {
namespace {

// "1x3x224x224"; an extent that stays open is "?".
Expected<std::vector<int64_t>> parseShape(const std::string &name, const std::string &text) {
  std::vector<int64_t> shape;
  for (const std::string &part : split(text, 'x')) {
    auto dim = parseInt(part);
    if (part != "?" && (!dim || *dim < 0))
      return error(Status::Usage).as(MessageId::BadValue)
             << "--shape " << escaped(name) << "=" << escaped(text)
             << ": not a shape such as 1x3x224x224";
    shape.push_back(part == "?" ? openExtent : *dim);
  }
  return shape;
}

Expected<OnnxImportOptions> importOptions(const InputOptions &input) {
  OnnxImportOptions import;
  for (const auto &[name, text] : input.shapes) {
    std::vector<int64_t> shape = BYCC_TRY(parseShape(name, text));
    auto [it, isNew] = import.shapes.try_emplace(name, shape);
    if (!isNew && it->second != shape)
      return error(Status::Usage) << "--shape gives " << escaped(name)
                                  << " twice, as different shapes";
  }
  for (const auto &[name, text] : input.dims) {
    auto value = parseInt(text);
    if (!value || *value < 0)
      return error(Status::Usage).as(MessageId::BadValue)
             << "--dim " << escaped(name) << "=" << escaped(text) << ": not an extent";
    auto [it, isNew] = import.dims.try_emplace(name, *value);
    if (!isNew && it->second != *value)
      return error(Status::Usage) << "--dim gives " << escaped(name) << " twice, as " << it->second
                                  << " and as " << *value;
  }
  return import;
}

// No tensor is larger than 16 GiB; results are checked where they are inferred.
Expected<> checkInputSizes(const Module &module) {
  if (!module.main())
    return {};
  for (NodeId param : module.function(module.main()).params)
    for (TypeId type : module.types.flatten(module.type(param)))
      if (module.types.isStatic(type) &&
          module.types.sizeBytes(type).value_or(INT64_MAX) > int64_t{1} << 34)
        return error(Status::Limit, module.source(param))
               << "an input of type " << module.types.str(type) << " is larger than 16 GiB";
  return {};
}

// Text has no NUL, and what reads it refuses the first: of a large file that has one,
// such as a sparse one, the rest is not read.
Expected<std::string> readText(InputFiles &files, const std::string &path) {
  constexpr uint64_t large = uint64_t{64} << 20;
  std::shared_ptr<const Storage> bytes = BYCC_TRY(files.map(path));
  if (bytes->size() > large)
    if (const void *nul = std::memchr(bytes->data(), 0, bytes->size()))
      return std::string(reinterpret_cast<const char *>(bytes->data()),
                         static_cast<const char *>(nul) + 1);
  return files.read(path);
}

std::string folderOf(const std::string &path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

constexpr const char *ownFormats[] = {"onnx", "relay", "json"};

// By what is asked for, the suffix, or, without a known one, the first bytes.
std::string formatOf(const InputOptions &input, std::string_view bytes) {
  if (!input.format.empty())
    return input.format;
  for (const char *format : ownFormats)
    if (input.model.ends_with("." + std::string(format)))
      return format;
  return kindOfBytes(bytes.substr(0, 4096)) == "an ONNX model" ? "onnx" : "relay";
}

// There is one host, and what vendors get is said in another way.
void warnAboutDevices(const Module &module, PassContext &context) {
  std::set<uint32_t> warned;
  for (FunctionId function : module.globals())
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      if (isCallWith(module, node, OpTrait::Device) &&
          warned.insert(module.node(node).op.index).second)
        context.warn(module.source(node),
                     std::string(opInfo(module.node(node).op).name) +
                         " has no effect: --annotate and --pin, or "
                         "annotation.compiler_begin in the program, say what goes to which vendor");
    });
}

// A compiled model's report is easily mistaken for a program.
bool looksLikeGraphJson(std::string_view text) {
  return text.find("\"arg_nodes\"") != text.npos && text.find("\"node_row_ptr\"") != text.npos;
}

// Symbols of the input's type become what `shape` says of them; the rest must agree.
Expected<> bindShape(const Module &module, NodeId param, const std::vector<int64_t> &shape,
                     std::map<std::string, int64_t> &dims) {
  const TypeTable &types = module.types;
  TypeId type = module.type(param);
  auto refuse = [&] {
    return error(Status::Arg, module.source(param))
           << "--shape " << escaped(module.string(module.node(param).name)) << ": the input is "
           << types.str(type);
  };
  if (!types.isTensor(type) || types.shape(type).size() != shape.size())
    return refuse();
  for (size_t i = 0; i < shape.size(); ++i) {
    Dim dim = types.shape(type)[i];
    if (shape[i] == openExtent)
      continue;
    if (dim.isConst() && dim != Dim(shape[i]))
      return refuse();
    if (dim.isConst() || types.expr(dim).op != DimOp::Symbol)
      continue;
    auto [known, isNew] = dims.try_emplace(std::string(types.expr(dim).symbol), shape[i]);
    if (!isNew && known->second != shape[i])
      return refuse() << ", and " << escaped(known->first) << " is " << known->second << ", not "
                      << shape[i];
  }
  return {};
}

// Symbols of the inputs' shapes.
std::vector<std::string> dimsOfInputs(const Module &module) {
  std::set<std::string> names;
  for (NodeId param : module.function(module.main()).params)
    for (TypeId type : module.types.flatten(module.type(param)))
      for (Dim dim : module.types.shape(type))
        if (!dim.isConst() && module.types.expr(dim).op == DimOp::Symbol)
          names.insert(std::string(module.types.expr(dim).symbol));
  return {names.begin(), names.end()};
}

Error noDimension(const Module &module, const std::string &name) {
  std::vector<std::string> names = dimsOfInputs(module);
  std::string near = didYouMean(name, names);
  if (near.empty())
    near = names.empty() ? ": every extent of its inputs is known"
                         : "; its open dimensions: " + escaped(join(names, ", "), 1024);
  return error(Status::Arg).as(MessageId::NoSuchParameter)
         << "--dim: the model has no dimension '" << escaped(name) << "'" << near;
}

// Dims that are symbols of the program and bound by --dim, types given by --shape.
Expected<> bindDims(Module &module, const OnnxImportOptions &bindings) {
  if (bindings.shapes.empty() && bindings.dims.empty())
    return {};
  std::map<std::string, int64_t> dims = bindings.dims, unused = bindings.dims;
  std::vector<std::string> names;
  for (NodeId param : module.function(module.main()).params)
    names.emplace_back(module.string(module.node(param).name));
  for (const auto &[name, shape] : bindings.shapes)
    if (std::ranges::find(names, name) == names.end()) {
      return error(Status::Arg).as(MessageId::NoSuchParameter)
             << "--shape: the model has no input '" << escaped(name) << "'"
             << didYouMean(name, names);
    }
  for (NodeId param : module.function(module.main()).params)
    if (auto it = bindings.shapes.find(std::string(module.string(module.node(param).name)));
        it != bindings.shapes.end())
      BYCC_TRY(bindShape(module, param, it->second, dims));
  for (NodeId param : module.function(module.main()).params) {
    TypeId type = module.type(param);
    if (!module.types.isTensor(type))
      continue;
    std::vector<Dim> shape(module.types.shape(type).begin(), module.types.shape(type).end());
    for (Dim &dim : shape)
      if (!dim.isConst() && module.types.expr(dim).op == DimOp::Symbol)
        if (auto it = dims.find(module.types.expr(dim).symbol); it != dims.end()) {
          unused.erase(it->first);
          dim = Dim(it->second);
        }
    if (auto it = bindings.shapes.find(std::string(module.string(module.node(param).name)));
        it != bindings.shapes.end())
      for (size_t i = 0; i < shape.size(); ++i)
        shape[i] = it->second[i] == openExtent ? shape[i] : Dim(it->second[i]);
    module.node(param).type = module.types.tensor(
        module.types.dtype(type), shape, module.types.layout(type), module.types.device(type));
  }
  if (!unused.empty())
    return noDimension(module, unused.begin()->first);
  return inferTypes(module);
}

} // namespace

Expected<> Session::load() {
  Expected<> loaded = loadAndBind();
  BYCC_TRY(files_.checkUnchanged()); // else a fault may be found that is in no file
  return loaded;
}

Expected<> Session::loadAndBind() {
  BYCC_TRY(enter(Phase::Load));
  auto begin = TimeTrace::Clock::now();
  bool isFirst = !std::exchange(hasBegun_, true);
  files_.restart();
  files_.record(options_.input.model);
  BYCC_TRY(loadModel());
  BYCC_TRY(checkCalls(module_));
  BYCC_TRY(checkInputSizes(module_));
  if (isFirst)
    warnAboutDevices(module_, context_);
  for (const std::string &path : options_.input.params)
    BYCC_TRY(bindParams(module_, path, files_));
  findBatchExtents(module_);
  BYCC_TRY(setLikelyExtents(module_, options_.input.likely));
  files_.record(options_.vendors.plugins);
  files_.record(options_.vendors.rules);
  files_.record(options_.vendors.patterns);
  if (!options_.target.precisionRules.empty())
    files_.record(options_.target.precisionRules);
  if (const std::string &file = options_.code.schedules; !file.empty() && !schedules_)
    schedules_ = std::make_shared<const std::string>(BYCC_TRY(readText(files_, file)));
  if (schedules_)
    files_.record(options_.code.schedules);
  if (const auto &plan = orders_.orders.plan) {
    files_.record(plan->file);
    if (plan->modelHash != hexText(inputsHash_))
      context_.warn({}, "--partition-plan: " + plan->file +
                            " was saved for another model file; its nodes are compared");
  }
  chooseModuleName();
  trace_.addSince("load", begin);
  return {};
}

Expected<std::string> Session::modelText() {
  const std::string &path = options_.input.model;
  if (path != "-" || files_.isGiven(path))
    return readText(files_, path);
  if (!standardInput_) {
    if (!options_.callbacks.standardInput)
      return error(Status::Io, {"<stdin>"}) << "there is no standard input to read";
    standardInput_ = BYCC_TRY(options_.callbacks.standardInput());
  }
  return *standardInput_;
}

Expected<std::shared_ptr<const Storage>> Session::modelBytes() {
  const std::string &path = options_.input.model;
  if (path != "-" || files_.isGiven(path))
    return files_.map(path);
  std::string text = BYCC_TRY(modelText());
  return Storage::copyOf(text.data(), text.size());
}

// Null: the format is one of bycc's.
Expected<const Frontend *> Session::ownFrontend() {
  const InputOptions &input = options_.input;
  if (!input.format.empty()) {
    if (const Frontend *frontend = extensions_.findFrontend(input.format))
      return frontend;
    std::vector<std::string> names(std::begin(ownFormats), std::end(ownFormats));
    if (std::ranges::find(names, input.format) != names.end())
      return nullptr;
    for (const Frontend &frontend : extensions_.frontends)
      names.push_back(frontend.name);
    return error(Status::Usage).as(MessageId::BadValue)
           << "unknown format '" << escaped(input.format) << "'" << didYouMean(input.format, names);
  }
  if (extensions_.frontends.empty())
    return nullptr;
  std::shared_ptr<const Storage> bytes = BYCC_TRY(modelBytes());
  return extensions_.frontendFor(input.model,
                                 {reinterpret_cast<const char *>(bytes->data()), bytes->size()});
}

Expected<> Session::loadModel() {
  if (const Frontend *frontend = BYCC_TRY(ownFrontend()))
    return loadOwn(*frontend);
  OnnxImportOptions bindings = BYCC_TRY(importOptions(options_.input));
  bindings.allowSymbolicDims = true;
  std::shared_ptr<const Storage> bytes = BYCC_TRY(modelBytes());
  std::string format =
      formatOf(options_.input, {reinterpret_cast<const char *>(bytes->data()), bytes->size()});
  if (format == "onnx")
    return loadOnnx(bindings);
  BYCC_TRY(loadText(format == "json"));
  if (!module_.main())
    return {}; // bycc-opt takes such programs; compiling one is refused later
  return bindDims(module_, bindings);
}

Expected<> Session::loadOnnx(OnnxImportOptions &bindings) {
  const std::string &path = options_.input.model;
  bool isPath = path != "-";
  std::shared_ptr<const Storage> bytes = BYCC_TRY(modelBytes());
  std::vector<std::string> external;
  bindings.externalFiles = &external;
  bindings.openExternal = [this](const std::string &folder, const std::string &relative) {
    return files_.mapContained(folder, relative);
  };
  std::vector<Diagnostic> warnings;
  if (options_.input.declaredTypes == "warn")
    bindings.declaredWarnings = &warnings;
  module_ = BYCC_TRY(
      importOnnx(bytes, isPath ? path : "<stdin>", isPath ? folderOf(path) : "", bindings));
  warnOfModel(warnings);
  inputsHash_ = hashBytes(bytes->data(), bytes->size()); // of a model only: it reads every page
  if (isPath)
    files_.record(external);
  return {};
}

Expected<> Session::loadText(bool isJson) {
  const std::string &path = options_.input.model;
  std::string text = BYCC_TRY(modelText()), name = path == "-" ? "<stdin>" : path;
  inputsHash_ = hashText(text);
  ParseOptions parse;
  parse.maxErrors = options_.input.maxErrors;
  parse.dataFolder = path == "-" ? "" : folderOf(path);
  parse.openData = [this](const std::string &folder, const std::string &relative) {
    return files_.mapContained(folder, relative);
  };
  if (isJson && looksLikeGraphJson(text))
    return (error(Status::Input, {name}).as(MessageId::IsCompiled)
            << "this is the graph JSON of a compiled model, not a program")
        .note("run it with bycc-run");
  module_ = isJson ? BYCC_TRY(parseProgramJson(text, name, parse))
                   : BYCC_TRY(parseRelayText(text, name, parse));
  return {};
}

// What somebody else's frontend makes is checked like what passes leave.
Expected<> Session::loadOwn(const Frontend &frontend) {
  const std::string &path = options_.input.model;
  std::string folder = path == "-" ? "" : folderOf(path);
  std::shared_ptr<const Storage> bytes = BYCC_TRY(modelBytes());
  FrontendInput input{
      bytes, path == "-" ? "<stdin>" : path, [this, folder](const std::string &relative) {
        files_.record(folder.empty() || folder == "." ? relative : folder + "/" + relative);
        return files_.mapContained(folder, relative);
      }};
  OnnxImportOptions bindings = BYCC_TRY(importOptions(options_.input));
  module_ = BYCC_TRY(frontend.read(input));
  inputsHash_ = hashBytes(bytes->data(), bytes->size());
  if (Expected<> verified = verify(module_); !verified) {
    Error failure = verified.takeError();
    for (Diagnostic &diagnostic : failure.diagnostics())
      diagnostic.message =
          "frontend '" + frontend.name + "' made a malformed program: " + diagnostic.message;
    return failure;
  }
  if (!module_.main())
    return {};
  return bindDims(module_, bindings);
}

// What is wrong or passed over in a model is said once, however often it is loaded.
void Session::warnOfModel(const std::vector<Diagnostic> &warnings) {
  if (!hasLoaded_)
    context_.warnings.insert(context_.warnings.end(), warnings.begin(), warnings.end());
  hasLoaded_ = true;
  flushMessages();
}

Expected<Module> Session::parseRelayText(const std::string &text, const std::string &name,
                                         ParseOptions &parse) {
  std::vector<Diagnostic> warnings;
  parse.warnings = &warnings;
  Expected<Module> module = parseRelay(text, name, parse);
  warnOfModel(warnings);
  return module;
}

} // namespace bycc
