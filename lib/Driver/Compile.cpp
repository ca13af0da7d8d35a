// bycc MODEL: the compiler (bycc/Compiler.h) between options and files.
//
//   1  check     forms and names of outputs
//   2  compile   what is made of it comes as values; in between, when everything has its
//                place, that is shown (--explain, --dump-offloads) and policy is checked
//   3  write     all files at once, then the one-line summary

#include "CommandProcess.h"
#include "Depfile.h"
#include "Summary.h"
#include "Terminal.h"
#include "bycc/Compiler.h"
#include "bycc/Compiler/OutputForms.h"
#include "bycc/Compiler/WriteModel.h"
#include "bycc/Driver/Driver.h"
#include "bycc/Partition/OffloadReport.h"
#include "bycc/Support/File.h"
#include "bycc/Support/MappedFiles.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <set>

namespace bycc {
namespace {

constexpr const char *plannedForms[] = {"c", "shared"};

Expected<std::vector<const OutputFormInfo *>> wantedForms(const Options &options) {
  std::vector<const OutputFormInfo *> wanted;
  std::vector<std::string> asked = options.output.emit;
  if (asked.empty())
    asked = {"obj"};
  for (const std::string &name : asked) {
    if (const OutputFormInfo *form = findOutputForm(name)) {
      if (std::ranges::find(wanted, form) == wanted.end())
        wanted.push_back(form);
      continue;
    }
    if (std::ranges::find_if(plannedForms, [&](const char *form) { return form == name; }) !=
        std::end(plannedForms))
      return error(Status::Unsup).as(MessageId::NotBuilt)
             << "--emit=" << name << " is not supported yet";
    std::vector<std::string> names;
    for (const OutputFormInfo &form : outputForms())
      names.emplace_back(form.name);
    return error(Status::Usage).as(MessageId::BadValue)
           << "--emit: unknown form '" << escaped(name) << "'" << didYouMean(name, names);
  }
  return wanted;
}

Expected<> writeStdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return error(Status::Io) << "standard output cannot be written";
  return {};
}

class CompileCommand {
public:
  explicit CompileCommand(const Options &options)
      : options_(options), terminal_(options), begin_(std::chrono::steady_clock::now()) {}

  int run() {
    auto result = compile();
    return result ? 0 : terminal_.fail(result.error());
  }

private:
  Expected<> compile() {
    forms_ = BYCC_TRY(wantedForms(options_));
    BYCC_TRY(checkSupported(options_));
    BYCC_TRY(checkObjectName());
    if (!options_.page.profileData.empty() && !wants("html"))
      return error(Status::Usage)
             << "--profile-data goes with --emit=html, or with bycc view net.json";
    CompileRequest request = terminal_.request();
    if (options_.watch.printPipeline)
      return writeStdout("'" + BYCC_TRY(compiler_.pipelineText(request)) + "'\n");
    stem_ = outputStem(options_);
    request.code.objectFile = fileNameOf(objectPath());
    request.forms.clear();
    for (const OutputFormInfo *form : forms_)
      request.forms.push_back(form->form);
    request.callbacks.loaded = [this](const std::vector<std::string> &filesRead) {
      return checkOutputs(filesRead);
    };
    request.callbacks.placed = [this](const OffloadReport &report) -> Expected<> {
      terminal_.clearProgress();
      BYCC_TRY(showPlacement(report));
      return checkPolicy(report);
    };
    model_ = BYCC_TRY(compiler_.compile(request));
    terminal_.clearProgress();
    BYCC_TRY(write());
    summarise();
    return {};
  }

  bool wants(const char *name) const {
    return std::ranges::any_of(
        forms_, [&](const OutputFormInfo *form) { return std::string_view(form->name) == name; });
  }

  // The file of a text form: -o names it when it is the only form. The object is
  // -o itself, whatever its suffix.
  std::string pathOf(const OutputFormInfo &form) const {
    if (std::string_view(form.name) == "obj" && options_.output.output)
      return *options_.output.output;
    if (forms_.size() == 1 && form.isText && options_.output.output)
      return *options_.output.output;
    return stem_ + form.suffix;
  }

  // A name that promises another kind of file is a slip.
  Expected<> checkObjectName() const {
    if (!wants("obj") || !options_.output.output)
      return {};
    for (auto [suffix, what] : {std::pair(".json", "a graph JSON"),
                                {".so", "a shared library"},
                                {".a", "a static library"},
                                {".params", "weights"},
                                {".html", "a page"},
                                {".dot", "a drawing"},
                                {".ll", "LLVM's text"},
                                {".loops", "a text of loops"},
                                {".s", "assembly"},
                                {".h", "a header"}})
      if (options_.output.output->ends_with(suffix))
        return (error(Status::Usage).as(MessageId::OutputName)
                << "-o " << escaped(*options_.output.output)
                << ": the object file would be called like " << what)
            .note("-o NAME.o writes NAME.json, NAME.h and NAME.params beside it; --emit says what "
                  "else is written");
    return {};
  }

  std::string objectPath() const { return pathOf(outputForms()[0]); }

  bool isToStdout(const OutputFormInfo &form) const {
    return form.isText && forms_.size() == 1 && options_.output.output == "-";
  }

  Expected<> checkOutputs(const std::vector<std::string> &filesRead) const {
    if (options_.output.output == "-" && !(forms_.size() == 1 && forms_[0]->isText))
      return error(Status::Usage) << "-o - needs exactly one --emit form that is text";
    std::vector<std::string> inputs = filesRead;
    if (!options_.vendors.tune.empty())
      inputs.push_back(options_.vendors.tune);
    std::set<std::filesystem::path> distinct;
    for (const std::string &output : outputPaths()) {
      for (const std::string &input : inputs)
        if (output == input || isSameFile(output, input))
          return error(Status::Usage).as(MessageId::OutputIsInput)
                 << "the output " << escaped(output) << " is an input";
      BYCC_TRY(checkIsFileName(output));
      bool isNew = distinct.insert(std::filesystem::path(output).lexically_normal()).second;
      if (std::error_code ignored;
          !isNew && !std::filesystem::is_other(output, ignored)) // such as /dev/null
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
    for (const OutputFormInfo *form : forms_)
      if (!isToStdout(*form) && !(wants("obj") && std::string_view(form->name) == "header"))
        outputs.push_back(pathOf(*form));
    for (const std::string &file :
         {options_.watch.timeTrace, options_.watch.crashReproducer,
          options_.placement.dumpOffloadsFile, options_.placement.savePlan})
      if (!file.empty())
        outputs.push_back(file);
    if (wants("obj"))
      outputs.insert(outputs.end(), {stem_ + ".json", stem_ + ".h", stem_ + ".params"});
    if (writesDependencies())
      outputs.push_back(dependencyPath());
    return outputs;
  }

  bool writesDependencies() const {
    return options_.output.dependencies || options_.output.dependencyFile;
  }
  std::string dependencyPath() const {
    return options_.output.dependencyFile.value_or(stem_ + ".d");
  }

  Expected<> showPlacement(const OffloadReport &report) {
    const PlacementOutput &p = options_.placement;
    if (p.explain)
      BYCC_TRY(writeStdout(report.text()));
    if (!p.dumpOffloads)
      return {};
    if (p.dumpOffloadsFile.empty())
      return writeStdout(report.text());
    dump_ = p.dumpOffloadsFile.ends_with(".json") ? report.json() : report.text();
    return {};
  }

  // --strict, --min-offload, --expect-regions: exit 3, nothing written.
  Expected<> checkPolicy(const OffloadReport &report) const {
    const PlacementOutput &p = options_.placement;
    const OffloadTotals &totals = report.totals;
    if (p.expectRegions && *p.expectRegions != totals.regions)
      return error(Status::Policy).as(MessageId::ExpectRegions)
             << "--expect-regions=" << *p.expectRegions
             << (totals.regions == 1 ? ": there is " : ": there are ") << totals.regions;
    if (p.minOffload)
      BYCC_TRY(checkMinOffload(*p.minOffload, totals));
    if (options_.vendors.strict && report.vendors.empty())
      return (error(Status::Usage) << "--strict: no vendor is asked for")
          .note("--annotate=V or --rules=F asks for some");
    if (options_.vendors.strict)
      BYCC_TRY(checkStrict(report));
    return {};
  }

  // A host node that some vendor would take.
  static Expected<> checkStrict(const OffloadReport &report) {
    std::vector<Diagnostic> found;
    for (const OffloadNode &node : report.nodes) {
      if (node.placed != "host" || node.why.empty() || found.size() >= 20)
        continue;
      const auto &[vendor, why] = node.why.front();
      Diagnostic diagnostic;
      diagnostic.status = Status::Policy;
      diagnostic.id = MessageId::Strict;
      diagnostic.message = "--strict: " + node.name + " (" + node.op + ") is accepted by " +
                           vendor + " and is on the host: " + why;
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
    if (!wanted || !(*wanted >= 0 && *wanted <= 100) || (!byOps && !text.ends_with("%")))
      return error(Status::Usage).as(MessageId::BadValue)
             << "--min-offload: '" << escaped(text)
             << "' is not such as 90% or 90%ops, of 0 to 100";
    // Of one in ten operators nobody can say what it costs.
    if (!byOps && 10 * totals.guessedOps > totals.ops)
      return (error(Status::Policy).as(MessageId::MinOffload)
              << "--min-offload=" << text
              << ": FLOPs cannot be judged: nothing is known about extents of " << totals.guessedOps
              << " of " << counted(totals.ops, "op"))
          .note("--shape binds those of inputs; --min-offload=" + number + "%ops counts operators");
    double all = byOps ? static_cast<double>(totals.ops) : totals.flops;
    double part = byOps ? static_cast<double>(totals.offloadedOps) : totals.offloadedFlops;
    double got = all > 0 ? 100 * part / all : 0;
    if (got < *wanted)
      return error(Status::Policy).as(MessageId::MinOffload)
             << "--min-offload=" << text << ": " << got << " % of " << (byOps ? "ops" : "FLOPs")
             << " are offloaded";
    return {};
  }

  Expected<> addForm(OutputSet &files, const OutputFormInfo &form) {
    if (!form.text)
      return addObjectFiles(files, model_, objectPath(), stem_);
    const std::string &text = model_.*form.text;
    if (isToStdout(form))
      return writeStdout(text);
    return files.add(pathOf(form), text);
  }

  Expected<> write() {
    enterStage(Stage::Write);
    OutputSet files(wants("obj") ? model_.setId : "");
    for (const OutputFormInfo *form : forms_)
      if (form->form != OutputForm::Header || !wants("obj"))
        BYCC_TRY(addForm(files, *form));
    std::string trace, depfile;
    if (const std::string &file = options_.watch.timeTrace; !file.empty()) {
      trace = model_.trace.json();
      BYCC_TRY(files.add(file, trace));
    }
    if (!dump_.empty())
      BYCC_TRY(files.add(options_.placement.dumpOffloadsFile, dump_));
    if (!model_.tuningRecords.empty())
      BYCC_TRY(files.add(options_.vendors.tune, model_.tuningRecords));
    if (!model_.partitionPlan.empty())
      BYCC_TRY(files.add(options_.placement.savePlan, model_.partitionPlan));
    if (writesDependencies()) {
      std::string target = options_.output.dependencyTarget.value_or(pathOf(*forms_[0]));
      depfile = dependencyFile(target, model_.filesRead, options_.output.phonyTargets);
      BYCC_TRY(files.add(dependencyPath(), depfile));
    }
    BYCC_TRY(checkMappedFiles());            // constants were read until here
    BYCC_TRY(files.commit(stem_ + ".json")); // it says which object and params are valid
    if (wants("obj"))
      settleParams(model_, stem_);
    return {};
  }

  void summarise() const {
    if (options_.quiet || options_.diagnosticsFormat != "text")
      return;
    SummaryFacts facts;
    facts.offload = &model_.report;
    if (wants("obj")) {
      facts.object = fileNameOf(objectPath());
      facts.objectBytes = static_cast<double>(model_.object.size());
    }
    if (model_.arenaBytes)
      facts.arenaBytes = static_cast<double>(*model_.arenaBytes);
    facts.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    std::fprintf(stderr, "%s\n", summaryLine(facts).c_str());
  }

  const Options &options_;
  Terminal terminal_;
  Compiler compiler_;
  std::chrono::steady_clock::time_point begin_;
  std::vector<const OutputFormInfo *> forms_;
  std::string stem_, dump_;
  CompiledModel model_;
};

} // namespace

int compileCommand(const Options &options) { return CompileCommand(options).run(); }

} // namespace bycc
