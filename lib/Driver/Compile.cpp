// bycc MODEL: everything from options to files.
//
//   1  load      MODEL, --params, --shape, --dim
//   2  passes    the list that the options ask for; vendors compile their regions
//   3  report    where everything went (--explain, --dump-offloads), then policy
//   4  build     host code, weights
//   5  write     all files at once, then the one-line summary

#include "Artifacts.h"
#include "CHeader.h"
#include "CommandProcess.h"
#include "Depfile.h"
#include "DotGraph.h"
#include "Interface.h"
#include "Placement.h"
#include "Summary.h"
#include "VendorRegions.h"
#include "bycc/Driver/Driver.h"
#include "bycc/IR/Printer.h"
#include "bycc/Parser/ProgramJson.h"
#include "bycc/Partition/OffloadReport.h"
#include "bycc/Runtime/CheckSet.h"
#include "bycc/Support/File.h"
#include "bycc/Support/Hash.h"
#include "bycc/Support/MappedFiles.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

namespace bycc {
namespace {

// One form of output: its suffix, and whether it is text that -o may name alone.
struct EmitForm {
  const char *name, *suffix;
  bool isText;
};
constexpr EmitForm emitForms[] = {
    {"obj", ".o", false},         {"asm", ".s", true},          {"llvm", ".ll", true},
    {"relay", ".opt.relay", true}, {"json", ".opt.json", true}, {"header", ".h", true},
    {"dot", ".dot", true},
};
constexpr const char *plannedForms[] = {"c", "html", "shared"};

Expected<std::vector<const EmitForm *>> wantedForms(const Options &options) {
  std::vector<const EmitForm *> wanted;
  std::vector<std::string> asked = options.output.emit;
  if (asked.empty())
    asked = {"obj"};
  for (const std::string &name : asked) {
    auto it = std::ranges::find_if(emitForms, [&](const EmitForm &form) { return form.name == name; });
    if (it != std::end(emitForms)) {
      if (std::ranges::find(wanted, &*it) == wanted.end())
        wanted.push_back(&*it);
      continue;
    }
    if (std::ranges::find_if(plannedForms, [&](const char *form) { return form == name; }) != std::end(plannedForms))
      return error(Status::Unsup) << "--emit=" << name << " is not supported yet";
    std::vector<std::string> names;
    for (const EmitForm &form : emitForms)
      names.emplace_back(form.name);
    return error(Status::Usage) << "--emit: unknown form '" << escaped(name) << "'"
                                << didYouMean(name, names);
  }
  return wanted;
}

Expected<> writeStdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return error(Status::Io) << "standard output cannot be written";
  return {};
}

std::string fileNameOf(const std::string &path) { return std::filesystem::path(path).filename().string(); }

class Compilation {
public:
  explicit Compilation(const Options &options)
      : options_(options), session_(options), begin_(std::chrono::steady_clock::now()) {}

  int run() {
    auto result = compile();
    if (result)
      return 0;
    session_.flushMessages();
    return session_.fail(result.error());
  }

private:
  Expected<> compile() {
    forms_ = BYCC_TRY(wantedForms(options_));
    BYCC_TRY(session_.prepare());
    if (options_.passes.printPipeline)
      return printPipelineOnly();
    stem_ = outputStem(options_);
    BYCC_TRY(session_.load());
    BYCC_TRY(checkOutputs());
    if (!session_.module().main())
      return error(Status::Input, inModel()) << "the program has no @main";
    if (!codeForms().empty())
      BYCC_TRY(checkInterface(session_.module()));
    BYCC_TRY(session_.enableAskedVendors(true));
    artifacts_ = std::make_unique<Artifacts>();
    if (!options_.vendors.tune.empty())
      artifacts_->tuning = BYCC_TRY(TuningRecords::read(options_.vendors.tune));
    BYCC_TRY(runPasses());
    BYCC_TRY(showPlacement());
    BYCC_TRY(checkPolicy());
    enterStage(Stage::HostCode);
    auto begin = TimeTrace::Clock::now();
    BYCC_TRY(buildArtifacts(session_, *artifacts_, codeForms()));
    session_.trace().addSince("host code", begin);
    session_.flushMessages();
    BYCC_TRY(write());
    summarise();
    return {};
  }

  // With code to be made, vendors compile their regions in the course of it. The
  // report is of operators as the program names them.
  Expected<> runPasses() {
    Pipeline pipeline = BYCC_TRY(session_.pipeline());
    auto report = [this] {
      report_ = session_.offloadReport();
      if (showsPartitioned())
        partitioned_ = {wants("relay") ? printModule(session_.module(), {.keepNames = true}) : "",
                        wants("json") ? printProgramJson(session_.module()) : ""};
      if (!options_.vendors.savePlan.empty())
        plan_ = partitionPlanText(session_, report_);
    };
    if (codeForms().empty())
      return session_.runPasses(pipeline, {}, report);
    VendorRegions regions(session_, *artifacts_);
    auto compile = [&](bool canPartitionAgain) { return regions.compile(canPartitionAgain); };
    return session_.runPasses(pipeline, compile, report);
  }

  // The text of -O0 is of the program partitioned and nothing else; of other lists
  // it is what code is made from.
  bool showsPartitioned() const {
    return options_.passes.level == 0 && !options_.passes.passes && (wants("relay") || wants("json"));
  }
  std::string relayText() {
    return showsPartitioned() ? partitioned_.relay : printModule(session_.module(), {.keepNames = true});
  }
  std::string jsonText() { return showsPartitioned() ? partitioned_.json : printProgramJson(session_.module()); }

  SourceLocation inModel() const {
    SourceLocation location;
    location.file = options_.input.model;
    return location;
  }

  Expected<> printPipelineOnly() {
    return writeStdout("'" + printPipeline(BYCC_TRY(session_.pipeline())) + "'\n");
  }

  bool wants(const char *name) const {
    return std::ranges::any_of(forms_, [&](const EmitForm *form) { return std::string_view(form->name) == name; });
  }

  // The file of a text form: -o names it when it is the only form. The object is
  // -o itself, whatever its suffix.
  std::string pathOf(const EmitForm &form) const {
    if (std::string_view(form.name) == "obj" && options_.output.output)
      return *options_.output.output;
    if (forms_.size() == 1 && form.isText && options_.output.output)
      return *options_.output.output;
    return stem_ + form.suffix;
  }

  std::string objectPath() const { return pathOf(emitForms[0]); }

  bool isToStdout(const EmitForm &form) const { return form.isText && forms_.size() == 1 && options_.output.output == "-"; }

  Expected<> checkOutputs() const {
    if (options_.output.output == "-" && !(forms_.size() == 1 && forms_[0]->isText))
      return error(Status::Usage) << "-o - needs exactly one --emit form that is text";
    std::vector<std::string> inputs = session_.filesRead();
    if (!options_.vendors.tune.empty())
      inputs.push_back(options_.vendors.tune);
    std::set<std::filesystem::path> distinct;
    for (const std::string &output : outputPaths()) {
      for (const std::string &input : inputs)
        if (output == input || isSameFile(output, input))
          return error(Status::Usage) << "the output " << escaped(output) << " is an input";
      BYCC_TRY(checkIsFileName(output));
      bool isNew = distinct.insert(std::filesystem::path(output).lexically_normal()).second;
      if (std::error_code ignored; !isNew && !std::filesystem::is_other(output, ignored)) // such as /dev/null
        return error(Status::Usage) << "two outputs would be " << escaped(output);
    }
    for (const std::string &file : setPaths()) {
      if (!isValidUtf8(fileNameOf(file)))
        return (error(Status::Usage) << "the output " << escaped(file)
                                     << " is not UTF-8 text, the graph JSON could not name it")
            .note("-o gives it another name");
      if (std::error_code ignored; std::filesystem::is_other(file, ignored))
        return (error(Status::Io, {file}) << "is not a regular file")
            .note("an object and what goes with it are put in place together; text forms can go to "
                  "devices");
    }
    return {};
  }

  static Expected<> checkIsFileName(const std::string &output) {
    std::string name = fileNameOf(output);
    std::error_code ignored;
    if (name.empty() || name == "." || name == ".." ||
        std::filesystem::is_directory(output, ignored))
      return error(Status::Io, {output}) << "is a directory";
    return {};
  }

  // The files that carry the set id.
  std::vector<std::string> setPaths() const {
    if (!wants("obj"))
      return {};
    return {objectPath(), stem_ + ".json", stem_ + ".h", stem_ + ".params"};
  }

  // All files that may be written, but for tuning records, which are read as well.
  std::vector<std::string> outputPaths() const {
    std::vector<std::string> outputs;
    for (const EmitForm *form : forms_)
      if (!isToStdout(*form) && !(wants("obj") && std::string_view(form->name) == "header"))
        outputs.push_back(pathOf(*form));
    for (const std::string &file : {options_.passes.timeTrace, options_.vendors.dumpOffloadsFile, options_.vendors.savePlan})
      if (!file.empty())
        outputs.push_back(file);
    if (wants("obj"))
      outputs.insert(outputs.end(), {stem_ + ".json", stem_ + ".h", stem_ + ".params"});
    if (writesDependencies())
      outputs.push_back(dependencyPath());
    return outputs;
  }

  bool writesDependencies() const { return options_.output.dependencies || options_.output.dependencyFile; }
  std::string dependencyPath() const { return options_.output.dependencyFile.value_or(stem_ + ".d"); }

  std::vector<CodeForm> codeForms() const {
    std::vector<CodeForm> code;
    if (wants("obj"))
      code.push_back(CodeForm::Object);
    if (wants("asm"))
      code.push_back(CodeForm::Assembly);
    if (wants("llvm"))
      code.push_back(CodeForm::LlvmText);
    return code;
  }

  Expected<> showPlacement() {
    const VendorOptions &v = options_.vendors;
    if (v.explain)
      BYCC_TRY(writeStdout(report_.text()));
    if (!v.dumpOffloads)
      return {};
    if (v.dumpOffloadsFile.empty())
      return writeStdout(report_.text());
    dump_ = v.dumpOffloadsFile.ends_with(".json") ? report_.json() : report_.text();
    return {};
  }

  // --strict, --min-offload, --expect-regions: exit 3, nothing written.
  Expected<> checkPolicy() const {
    const VendorOptions &v = options_.vendors;
    const OffloadTotals &totals = report_.totals;
    if (v.expectRegions && *v.expectRegions != totals.regions)
      return error(Status::Policy) << "--expect-regions=" << *v.expectRegions 
                                   << (totals.regions == 1 ? ": there is " : ": there are ") << totals.regions;
    if (v.minOffload)
      BYCC_TRY(checkMinOffload(*v.minOffload, totals));
    if (v.strict)
      BYCC_TRY(checkStrict());
    return {};
  }

  // A host node that some vendor would take.
  Expected<> checkStrict() const {
    std::vector<Diagnostic> found;
    for (const OffloadNode &node : report_.nodes) {
      if (node.placed != "host" || node.why.empty() || found.size() >= 20)
        continue;
      const auto &[vendor, why] = node.why.front();
      Diagnostic diagnostic;
      diagnostic.status = Status::Policy;
      diagnostic.message = "--strict: " + node.name + " (" + node.op + ") is accepted by " + vendor + " and is on the host: " + why;
      found.push_back(std::move(diagnostic));
    }
    if (found.empty())
      return {};
    return Error(std::move(found));
  }

  static Expected<> checkMinOffload(const std::string &text, const OffloadTotals &totals) {
    bool byOps = text.ends_with("%ops");
    std::string number = text.substr(0, text.find('%'));
    auto wanted = parseDouble(number);
    if (!wanted || (!byOps && !text.ends_with("%")))
      return error(Status::Usage) << "--min-offload: '" << escaped(text) << "' is not such as 90% or 90%ops";
    // Of one in ten operators nobody can say what it costs.
    if (!byOps && 10 * totals.guessedOps > totals.ops)
      return (error(Status::Policy) << "--min-offload=" << text << ": FLOPs cannot be judged: nothing is known about extents of "
                                    << totals.guessedOps << " of " << counted(totals.ops, "op"))
          .note("--shape binds those of inputs; --min-offload=" + number + "%ops counts operators");
    double all = byOps ? static_cast<double>(totals.ops) : totals.flops;
    double part = byOps ? static_cast<double>(totals.offloadedOps) : totals.offloadedFlops;
    double got = all > 0 ? 100 * part / all : 0;
    if (got < *wanted)
      return error(Status::Policy) << "--min-offload=" << text << ": " << got << " % of " << (byOps ? "ops" : "FLOPs")
                                   << " are offloaded";
    return {};
  }

  // Options that change the result, in one spelling and without paths.
  std::vector<std::string> resultFlags() const {
    std::vector<std::string> flags = {"-O" + std::to_string(options_.passes.level)};
    if (options_.passes.passes)
      flags.push_back("--passes=" + *options_.passes.passes);
    for (const std::string &pass : options_.passes.disabled)
      flags.push_back("--disable-pass=" + pass);
    for (const std::string &pass : options_.passes.required)
      flags.push_back("--require-pass=" + pass);
    for (const auto &[pass, added] : options_.passes.runBefore)
      flags.push_back("--run-before=" + pass + ":" + added);
    for (const auto &[pass, added] : options_.passes.runAfter)
      flags.push_back("--run-after=" + pass + ":" + added);
    if (options_.target.precision != "f32")
      flags.push_back("--precision=" + options_.target.precision);
    if (!options_.target.precisionRules.empty())
      flags.push_back("--precision-rules=" + fileNameOf(options_.target.precisionRules));
    if (options_.target.nan != "keep")
      flags.push_back("--nan=" + options_.target.nan);
    if (options_.vendors.annotate)
      flags.push_back("--annotate=" + *options_.vendors.annotate);
    for (const std::string &rules : options_.vendors.rules)
      flags.push_back("--rules=" + fileNameOf(rules));
    for (const std::string &patterns : options_.vendors.patterns)
      flags.push_back("--patterns=" + fileNameOf(patterns));
    if (!options_.vendors.tune.empty())
      flags.push_back("--tune");
    for (std::string &flag : placementFlags(options_.vendors))
      flags.push_back(std::move(flag));
    for (const auto &[name, shape] : options_.input.shapes)
      flags.push_back("--shape=" + name + "=" + shape);
    for (const auto &[name, dim] : options_.input.dims)
      flags.push_back("--dim=" + name + "=" + dim);
    for (const auto &[name, extent] : options_.input.likely)
      flags.push_back("--likely=" + name + "=" + std::to_string(extent));
    if (options_.output.embedWeights)
      flags.push_back("--embed-weights");
    if (options_.output.threads)
      flags.push_back("--threads=" + std::to_string(options_.output.threads));
    return flags;
  }

  GraphReport graphReport() const {
    GraphReport report;
    report.version = versionText();
    report.target = &session_.target();
    report.flags = resultFlags();
    report.inputsHash = session_.inputsHash();
    report.interface = artifacts_->interface;
    report.offload = &report_;
    report.set.setId = artifacts_->setId;
    const std::string &object = artifacts_->code.object;
    report.set.object = {fileNameOf(objectPath()), object.size(), hashBytes(object.data(), object.size())};
    if (!artifacts_->paramsPieces.empty()) {
      report.set.params = GraphFileInfo{fileNameOf(stem_ + ".params"), artifacts_->params.fileBytes(), artifacts_->params.tableHash()};
      report.set.paramsEntries = artifacts_->params.entries();
    }
    return report;
  }

  // "" when no code is made, which gives the build its id.
  std::string setId() const { return codeForms().empty() ? "" : hexText(artifacts_->setId); }

  Expected<> addText(OutputSet &files, const EmitForm &form, const std::string &text) {
    if (isToStdout(form))
      return writeStdout(text);
    texts_.push_back(std::make_unique<std::string>(text));
    return files.add(pathOf(form), *texts_.back());
  }

  Expected<> addObjectFiles(OutputSet &files) {
    json_ = graphJson(session_.module(), artifacts_->code, graphReport());
    header_ = cHeader(session_.context().moduleName, artifacts_->interface, setId());
    runtime::SetContents set{json_, artifacts_->code.object, artifacts_->paramsPieces};
    if (auto checked = runtime::checkSet(set, stem_); !checked)
      return error(Status::Internal)
             << "the runtime would refuse what was compiled, nothing is written: "
             << checked.error().str();
    BYCC_TRY(files.add(objectPath(), artifacts_->code.object));
    BYCC_TRY(files.add(stem_ + ".json", json_));
    BYCC_TRY(files.add(stem_ + ".h", header_));
    if (!artifacts_->paramsPieces.empty())
      BYCC_TRY(files.add(stem_ + ".params", artifacts_->paramsPieces));
    return {};
  }

  Expected<> write() {
    enterStage(Stage::Write);
    OutputSet files(wants("obj") ? setId() : "");
    for (const EmitForm *form : forms_) {
      std::string_view name = form->name;
      if (name == "obj")
        BYCC_TRY(addObjectFiles(files));
      else if (name == "asm")
        BYCC_TRY(addText(files, *form, artifacts_->code.assembly));
      else if (name == "llvm")
        BYCC_TRY(addText(files, *form, artifacts_->code.llvmText));
      else if (name == "relay")
        BYCC_TRY(addText(files, *form, relayText()));
      else if (name == "json")
        BYCC_TRY(addText(files, *form, jsonText()));
      else if (name == "dot")
        BYCC_TRY(addText(files, *form, dotGraph(session_.module())));
      else if (name == "header" && !wants("obj"))
        BYCC_TRY(addText(files, *form, cHeader(session_.context().moduleName, artifacts_->interface, setId())));
    }
    if (const std::string &file = options_.passes.timeTrace; !file.empty()) {
      trace_ = session_.trace().json();
      BYCC_TRY(files.add(file, trace_));
    }
    if (!dump_.empty())
      BYCC_TRY(files.add(options_.vendors.dumpOffloadsFile, dump_));
    if (artifacts_->tuning && artifacts_->tuning->isChanged()) {
      tuning_ = artifacts_->tuning->text();
      BYCC_TRY(files.add(options_.vendors.tune, tuning_));
    }
    if (!plan_.empty())
      BYCC_TRY(files.add(options_.vendors.savePlan, plan_));
    if (writesDependencies()) {
      std::string target = options_.output.dependencyTarget.value_or(pathOf(*forms_[0]));
      depfile_ = dependencyFile(target, session_.filesRead(), options_.output.phonyTargets);
      BYCC_TRY(files.add(dependencyPath(), depfile_));
    }
    BYCC_TRY(checkMappedFiles()); // constants were read until here
    BYCC_TRY(files.commit(stem_ + ".json")); // it says which object and params are valid
    // Params of an earlier build with weights would be taken for ours.
    if (wants("obj") && artifacts_->paramsPieces.empty()) {
      std::error_code ignored;
      std::filesystem::remove(stem_ + ".params", ignored);
    }
    return {};
  }

  void summarise() const {
    if (options_.quiet)
      return;
    SummaryFacts facts;
    facts.offload = &report_;
    if (wants("obj")) {
      facts.object = fileNameOf(objectPath());
      facts.objectBytes = static_cast<double>(artifacts_->code.object.size());
    }
    if (!codeForms().empty())
      facts.arenaBytes = static_cast<double>(artifacts_->code.arenaBytes);
    facts.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    std::fprintf(stderr, "%s\n", summaryLine(facts).c_str());
  }

  const Options &options_;
  Session session_;
  std::chrono::steady_clock::time_point begin_;
  std::vector<const EmitForm *> forms_;
  std::string stem_;
  OffloadReport report_;
  struct {
    std::string relay, json;
  } partitioned_;
  std::unique_ptr<Artifacts> artifacts_;
  std::string json_, header_, tuning_, dump_, plan_, trace_, depfile_;
  std::vector<std::unique_ptr<std::string>> texts_;
};

} // namespace

int compileCommand(const Options &options) { return Compilation(options).run(); }

} // namespace bycc
