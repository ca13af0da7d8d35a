// bycc extract MODEL --region=SYMBOL -o r.relay: one region as a program of its own,
// for whoever makes the vendor.
//
//   1  partition   MODEL, as bycc would; no vendor compiles anything
//   2  record      with --inputs or --random the whole program is evaluated; what
//                  the region's first call gets and gives is kept
//   3  cut         the region's function becomes @main of a module without the rest
//   4  write       r.relay, r.inputs/NAME.npy, r.expected/NAME.npy

#include "ReduceMoves.h"
#include "Terminal.h"
#include "bycc/Compiler/Interface.h"
#include "bycc/Driver/Driver.h"
#include "bycc/Eval/Eval.h"
#include "bycc/IR/Printer.h"
#include "bycc/Support/File.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Npy.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/RandomArray.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace bycc {
namespace {

// What a call of the region got and gave, tuples opened.
struct Recording {
  std::vector<Tensor> inputs, outputs;
};

// Passes up to the last partition-graph. A program that is partitioned already
// stays as it is.
Pipeline untilPartitioned(Pipeline pipeline) {
  while (!pipeline.empty() && pipeline.back().pass != "partition-graph")
    pipeline.pop_back();
  return pipeline;
}

class Extraction {
public:
  Extraction(Session &session, const Options &options)
      : session_(session), module_(session.module()), options_(options) {}

  Expected<> run() {
    const ExtractOptions &o = options_.extract;
    if (o.region.empty())
      return error(Status::Usage) << "extract: --region=SYMBOL is missing";
    BYCC_TRY(checkSupported(options_));
    BYCC_TRY(session_.prepare());
    BYCC_TRY(session_.load());
    if (!module_.main())
      return error(Status::Input, {options_.input.model}).as(MessageId::NoMain)
             << "the program has no @main";
    BYCC_TRY(session_.enableAskedVendors(true));
    BYCC_TRY(session_.runPasses(untilPartitioned(BYCC_TRY(session_.pipeline()))));
    FunctionId region = BYCC_TRY(findRegion(o.region));
    symbol_ = module_.string(module_.function(region).name);
    vendor_ = module_.functionAttr(region, "Compiler")->asString();
    if (!o.inputsFolder.empty() || o.randomSeed)
      recording_ = BYCC_TRY(record(region));
    makeMain(module_, region);
    return write();
  }

private:
  // The symbol itself; else without the module's name ("dnnl_3"), which may be
  // another one here.
  Expected<FunctionId> findRegion(const std::string &symbol) const {
    std::vector<std::string> names;
    std::optional<FunctionId> byEnd;
    for (FunctionId function : module_.globals()) {
      if (!module_.functionAttr(function, "Compiler"))
        continue;
      names.emplace_back(module_.string(module_.function(function).name));
      std::string end =
          names.back().substr(std::min(names.back().size(), session_.context().moduleName.size()));
      if (names.back() == symbol)
        return function;
      if (end == "_" + symbol || (end.starts_with('_') && symbol.ends_with(end)))
        byEnd = function;
    }
    if (byEnd)
      return *byEnd;
    auto near = nearest(symbol, names);
    auto problem = error(Status::Arg) << "--region: there is no region '" << escaped(symbol) << "'"
                                      << (near ? ", did you mean '" + *near + "'?" : "");
    constexpr size_t shown = 20;
    if (names.empty())
      return std::move(problem).note("the program has no regions: --annotate names vendors");
    std::string more = names.size() > shown ? ", ..." : "";
    names.resize(std::min(names.size(), shown));
    return std::move(problem).note((names.size() == 1 ? "there is " : "there are ") +
                                   join(names, ", ") + more);
  }

  // --- recording

  Expected<Tensor> inputOf(const ModelTensor &wanted, size_t index) const {
    std::vector<int64_t> shape;
    for (Dim dim : wanted.shape)
      shape.push_back(dim.isConst() ? dim.value() : -1);
    const ExtractOptions &o = options_.extract;
    std::string file = o.inputsFolder + "/" + wanted.file + ".npy";
    bool isGiven = !o.inputsFolder.empty() && pathExists(file);
    if (!isGiven && !o.randomSeed)
      return error(Status::Arg) << "no data for input '" << escaped(wanted.name) << "'; give "
                                << escaped(file) << " or --random";
    NpyArray array =
        isGiven ? BYCC_TRY(readNpy(file))
                : BYCC_TRY(randomArray(wanted.name, wanted.dtype, shape, *o.randomSeed + index));
    if (!array.holds(wanted.dtype))
      return error(Status::Arg, {file})
             << "input '" << escaped(wanted.name) << "' is " << name(wanted.dtype)
             << ", the file holds " << name(array.dtype);
    return Tensor::fromBytes(wanted.dtype, array.shape, array.data());
  }

  Expected<Recording> record(FunctionId region) const {
    std::vector<Tensor> inputs;
    for (const ModelTensor &input : modelInterface(module_).inputs)
      inputs.push_back(BYCC_TRY(inputOf(input, inputs.size())));
    std::optional<Recording> found;
    BYCC_TRY(
        evaluate(module_, module_.main(), inputs,
                 [&](FunctionId function, std::span<const Value> arguments, const Value &result) {
                   if (function != region || found)
                     return;
                   found.emplace();
                   for (const Value &argument : arguments)
                     std::ranges::move(argument.flatten(), std::back_inserter(found->inputs));
                   found->outputs = result.flatten();
                 }));
    if (!found)
      return error(Status::Arg) << "region " << symbol_ << " is not reached with these inputs";
    return *found;
  }

  // --- writing

  Expected<> write() {
    std::string text = printModule(module_);
    std::string path = options_.output.output.value_or(symbol_ + ".relay");
    if (path == "-") {
      if (recording_)
        return error(Status::Usage)
               << "extract: -o - has no place for the inputs that --inputs and --random record";
      if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
          std::fflush(stdout) != 0)
        return error(Status::Io) << "standard output cannot be written";
      return {};
    }
    if (isSameFile(path, options_.input.model))
      return error(Status::Usage).as(MessageId::OutputIsInput)
             << "the output " << escaped(path) << " is an input";
    OutputSet files;
    BYCC_TRY(files.add(path, text));
    std::string stem = path.ends_with(".relay") ? path.substr(0, path.size() - 6) : path;
    if (recording_) {
      ModelInterface interface = modelInterface(module_);
      BYCC_TRY(addTensors(files, stem + ".inputs", interface.inputs, recording_->inputs));
      BYCC_TRY(addTensors(files, stem + ".expected", interface.outputs, recording_->outputs));
    }
    BYCC_TRY(files.commit());
    summarise(path, stem);
    return {};
  }

  static Expected<> addTensors(OutputSet &files, const std::string &folder,
                               const std::vector<ModelTensor> &names,
                               const std::vector<Tensor> &tensors) {
    BYCC_TRY(makeFolder(folder));
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor &tensor = tensors[i];
      std::string header = npyHeader(tensor.dtype, tensor.shape);
      std::string_view data(reinterpret_cast<const char *>(tensor.bytes.get()),
                            static_cast<size_t>(tensor.sizeBytes()));
      BYCC_TRY(files.add(folder + "/" + names[i].file + ".npy", {header, data}));
    }
    return {};
  }

  // Vendors may round such values less often than the recorded results do.
  std::optional<DType> halfFloat() const {
    for (NodeId node : module_.block(module_.function(module_.main()).body).nodes)
      if (module_.node(node).kind == NodeKind::CallOp || module_.node(node).kind == NodeKind::Call)
        for (TypeId type : module_.types.flatten(module_.type(node)))
          if (DType dtype = module_.types.dtype(type);
              dtype == DType::BFloat16 || dtype == DType::Float16)
            return dtype;
    return std::nullopt;
  }

  void summarise(const std::string &path, const std::string &stem) const {
    if (options_.quiet)
      return;
    std::string files = escaped(stem);
    std::fprintf(stderr, "%s: region %s of vendor %s", escaped(path).c_str(), symbol_.c_str(),
                 vendor_.c_str());
    if (recording_)
      std::fprintf(stderr, " | %s in %s.inputs, %s in %s.expected",
                   counted(static_cast<int64_t>(recording_->inputs.size()), "input").c_str(),
                   files.c_str(),
                   counted(static_cast<int64_t>(recording_->outputs.size()), "output").c_str(),
                   files.c_str());
    if (std::optional<DType> half = recording_ ? halfFloat() : std::nullopt)
      std::fprintf(stderr, " | %s: compare with --rtol=0.05 --atol=0.05",
                   std::string(name(*half)).c_str());
    std::fputc('\n', stderr);
  }

  Session &session_;
  Module &module_;
  const Options &options_;
  std::string symbol_, vendor_;
  std::optional<Recording> recording_;
};

} // namespace

int extractCommand(const Options &options) {
  // Symbols are those of a build of MODEL: -o here names another file.
  Options build = options;
  build.output.output.reset();
  CommandSession command(build);
  auto result = Extraction(command.session, options).run();
  command.session.flushMessages();
  return result ? 0 : command.terminal.fail(result.error());
}

} // namespace bycc
