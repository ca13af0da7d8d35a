// bycc verify MODEL: is what the compiler made of a program still that program?
//
//   1  build       MODEL compiled as the options say
//   2  compare     with the program compiled in a plain way and run on the same inputs, or with a
//                  folder of outputs
//   3  place       where they differ: builds between the two, each run and compared
//
//   vendors    the plan of the build is replayed with the first k regions, the rest on the host.
//              The first k that differs names a region, whose nodes are then added one by one
//   passes     else the first k passes are run (--opt-bisect-limit=k)
//
// What is said of a region, node or pass is what two builds have shown: one without it that
// agrees with the reference, and one with it that does not. So it is true whatever other faults
// there are; where one fault hides another the first k need not be the smallest one.
//
// Outputs are compared by bycc-run, in processes of its own: generated code and run halves may
// do anything.

#include "Terminal.h"
#include "bycc/Compiler.h"
#include "bycc/Compiler/WriteModel.h"
#include "bycc/Driver/Driver.h"
#include "bycc/Support/File.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/TemporaryFolder.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/PartitionPlan.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace bycc {
namespace {

constexpr const char *planFile = "the plan of bycc verify"; // in memory

struct RunEnd {
  int code = 0;     // of bycc-run
  std::string text; // its standard error
};

struct Verdict {
  bool agrees = true;
  std::string text;     // what bycc-run says about each output
  std::string distance; // the largest max |d| of an output
};

// Of "output 'y': max |d| 0.5, relative 1, cosine 0.9".
std::string largestDistance(const std::string &text) {
  constexpr std::string_view label = "max |d| ";
  std::string largest = "0";
  for (size_t at = text.find(label); at != text.npos; at = text.find(label, at + 1)) {
    size_t begin = at + label.size();
    std::string number = text.substr(begin, text.find(',', begin) - begin);
    if (parseDouble(number).value_or(0) > *parseDouble(largest))
      largest = number;
  }
  return largest;
}

// Entries of a printed pass list.
std::vector<std::string> passEntries(const std::string &list) {
  std::vector<std::string> entries(1);
  int depth = 0;
  for (char c : list) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c == ',' && depth == 0)
      entries.emplace_back();
    else if (c != '\'' && c != '\n')
      entries.back() += c;
  }
  return entries;
}

class Verification {
public:
  Verification(const Options &options, Terminal &terminal)
      : options_(options), terminal_(terminal) {}

  // The exit code.
  Expected<int> run() {
    BYCC_TRY(checkSupported(options_));
    BYCC_TRY(prepare());
    CompileRequest tested = request_;
    tested.vendors.savesPlan = true;
    auto built = BYCC_TRY(compiler_.compile(tested));
    BYCC_TRY(makeReference());
    Verdict verdict = BYCC_TRY(compare(built));
    terminal_.clearProgress();
    if (verdict.agrees && options_.quiet)
      return 0;
    std::fputs(verdict.text.c_str(), stderr);
    if (verdict.agrees) {
      std::printf("%s agrees with %s\n", modelName().c_str(), referenceName().c_str());
      return 0;
    }
    std::printf("%s differs from %s: max |d| %s\n", modelName().c_str(), referenceName().c_str(),
                verdict.distance.c_str());
    std::fflush(stdout);
    makeQuiet(request_);
    if (Expected<> found = findPlace(built); !found) {
      terminal_.clearProgress();
      std::printf("where it begins cannot be told\n");
      std::fputs(found.error().str().c_str(), stderr);
    }
    return exitCode(Status::Differs);
  }

  // Set where bycc-run failed, which has said why.
  std::optional<RunEnd> failed;

private:
  // --- builds

  std::string stem() const { return folder_->file(request_.code.stem); }
  std::string modelName() const { return escaped(options_.input.model); }

  std::string referenceName() const {
    const std::string &against = options_.verify.against;
    if (against == "-O0")
      return "the same program at -O0, without vendors";
    return against == "host" ? "the same build without vendors" : escaped(against);
  }

  bool isAgainstFolder() const {
    return options_.verify.against != "-O0" && options_.verify.against != "host";
  }

  Expected<> checkOptions() const {
    const OutputOptions &output = options_.output;
    const PlacementOutput &placement = options_.placement;
    const WatchOptions &watch = options_.watch;
    for (auto [isGiven, name] : {std::pair(output.output.has_value(), "-o"),
                                 {!output.emit.empty(), "--emit"},
                                 {output.dependencies || output.dependencyFile, "-MD"},
                                 {placement.explain, "--explain"},
                                 {placement.dumpOffloads, "--dump-offloads"},
                                 {!placement.savePlan.empty(), "--save-partition-plan"},
                                 {placement.minOffload.has_value(), "--min-offload"},
                                 {placement.expectRegions.has_value(), "--expect-regions"},
                                 {!watch.timeTrace.empty(), "-ftime-trace"},
                                 {watch.printPipeline, "--print-pipeline-passes"}})
      if (isGiven)
        return error(Status::Usage) << "verify writes no files and reports no placement: " << name
                                    << " does not go with it";
    return {};
  }

  Expected<> prepare() {
    const VerifyOptions &o = options_.verify;
    BYCC_TRY(checkOptions());
    if (isAgainstFolder() && !std::filesystem::is_directory(o.against))
      return (error(Status::Usage) << "--against: '" << escaped(o.against) << "' is no folder")
          .note("--against=-O0, --against=host, or a folder of NAME.npy files");
    runner_ = programFolder() + "/bycc-run";
    if (!pathExists(runner_))
      return error(Status::Io, {runner_}) << "bycc verify needs bycc-run beside it";
    request_ = terminal_.request();
    request_.forms = {OutputForm::Object};
    if (options_.input.model == "-") { // it is read many times
      auto text = BYCC_TRY(readFile("-"));
      request_.callbacks.standardInput = [text]() -> Expected<std::string> { return text; };
    }
    showRunHalves();
    folder_.emplace(BYCC_TRY(TemporaryFolder::make("verify")));
    return {};
  }

  // Run halves stand beside the plugins that were named.
  void showRunHalves() const {
    const char *known = std::getenv("BYCC_PLUGIN_PATH");
    std::string folders = known ? known : "";
    for (const std::string &plugin : options_.vendors.plugins) {
      size_t slash = plugin.rfind('/');
      folders += (folders.empty() ? "" : ":") +
                 (slash == plugin.npos ? std::string(".") : plugin.substr(0, slash + 1));
    }
    if (!folders.empty())
      ::setenv("BYCC_PLUGIN_PATH", folders.c_str(), 1);
  }

  // What there is to say was said by the first build.
  static void makeQuiet(CompileRequest &request) {
    request.callbacks.message = {};
    request.callbacks.print = {};
  }

  // Plugins stay: they hold passes as well.
  static CompileRequest withoutVendors(CompileRequest request) {
    VendorOptions none;
    none.plugins = request.vendors.plugins;
    none.pluginFolders = request.vendors.pluginFolders;
    none.output = request.vendors.output;
    none.timeoutSeconds = request.vendors.timeoutSeconds;
    request.vendors = none;
    return request;
  }

  CompileRequest referenceRequest() const {
    CompileRequest request = withoutVendors(request_);
    makeQuiet(request);
    if (options_.verify.against == "host")
      return request;
    request.passes = PassListOptions();
    request.passes.level = 0;
    request.target.precision = "f32";
    return request;
  }

  Expected<> makeReference() {
    wanted_ = options_.verify.against;
    if (!isAgainstFolder()) {
      wanted_ = folder_->file("wanted");
      Expected<CompiledModel> reference = compiler_.compile(referenceRequest());
      if (!reference) {
        Error problem = reference.takeError();
        problem.diagnostics().front().notes.push_back({{}, "in the reference, " + referenceName()});
        return problem;
      }
      BYCC_TRY(writeModel(*reference, stem()));
      RunEnd end = BYCC_TRY(runModel({"--outputs", wanted_, "-q"}));
      if (end.code != 0)
        return runFailed(end);
    }
    return {};
  }

  // --- runs

  Expected<RunEnd> runModel(const std::vector<std::string> &asked) const {
    std::vector<std::string> words = {runner_, stem() + ".json"};
    const ExtractOptions &o = options_.extract;
    if (!o.inputsFolder.empty())
      words.insert(words.end(), {"--inputs", o.inputsFolder});
    if (o.randomSeed || o.inputsFolder.empty())
      words.push_back("--random=" + std::to_string(o.randomSeed.value_or(0)));
    words.insert(words.end(), asked.begin(), asked.end());
    std::vector<char *> arguments;
    for (std::string &word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::string messages = folder_->file("messages");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = 0;
    int failure =
        ::posix_spawn(&child, runner_.c_str(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failure)
      return error(Status::Limit, {runner_}) << "cannot run it: " << std::strerror(failure);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
      if (errno != EINTR)
        return error(Status::Io, {runner_}) << "cannot wait for it: " << std::strerror(errno);
    RunEnd end{WIFEXITED(status) ? WEXITSTATUS(status) : 1, BYCC_TRY(readFile(messages))};
    if (WIFSIGNALED(status))
      end.text += runner_ + ": error[LOAD]: the run crashed: signal " +
                  std::to_string(WTERMSIG(status)) + "\n";
    return end;
  }

  Expected<> runFailed(const RunEnd &end) {
    failed = end;
    return error(Status::Load) << "the run failed: " << withoutFolder(end.text);
  }

  // Messages name no files that are gone soon.
  std::string withoutFolder(std::string text) const {
    std::string folder = folder_->file("");
    for (size_t at = text.find(folder); at != text.npos; at = text.find(folder))
      text.erase(at, folder.size());
    return text;
  }

  Expected<Verdict> compare(const CompiledModel &model) {
    BYCC_TRY(writeModel(model, stem()));
    const VerifyOptions &o = options_.verify;
    RunEnd end = BYCC_TRY(runModel(
        {"--expected", wanted_, "--rtol", formatDouble(o.rtol), "--atol", formatDouble(o.atol)}));
    if (end.code != 0 && end.code != exitCode(Status::Differs))
      BYCC_TRY(runFailed(end));
    return Verdict{end.code == 0, withoutFolder(end.text), largestDistance(end.text)};
  }

  Expected<Verdict> judge(const CompileRequest &request) {
    return compare(BYCC_TRY(compiler_.compile(request)));
  }

  // --- places

  struct Step {
    size_t number = 0; // the first that differs, from 1
    Verdict verdict;   // with it
  };
  // Step 0 agrees, step `count` differs as `last` says.
  static Expected<Step> firstStep(size_t count, Verdict last,
                                  const std::function<Expected<Verdict>(size_t)> &judge) {
    size_t agrees = 0;
    Step differs{count, std::move(last)};
    while (differs.number - agrees > 1) {
      size_t middle = agrees + (differs.number - agrees) / 2;
      Verdict verdict = BYCC_TRY(judge(middle));
      if (verdict.agrees)
        agrees = middle;
      else
        differs = {middle, std::move(verdict)};
    }
    return differs;
  }

  Expected<> findPlace(const CompiledModel &built) {
    if (built.report.totals.regions == 0)
      return findPass(request_);
    CompileRequest host = withoutVendors(request_);
    if (!BYCC_TRY(judge(host)).agrees) {
      std::printf("without vendors it differs, too\n");
      return findPass(host);
    }
    if (BYCC_TRY(findRegion(built)))
      return {};
    return findPass(request_);
  }

  // The build's own plan, with what `keeps` says no to on the host.
  Expected<CompileRequest> replay(PartitionPlan plan,
                                  const std::function<bool(size_t row)> &keeps) const {
    for (size_t row = 0; row < plan.nodes.size(); ++row)
      if (PlanNode &node = plan.nodes[row]; node.place != "host" && !keeps(row)) {
        node.place = "host";
        node.region = -1;
        node.composite.clear();
      }
    CompileRequest request = request_;
    VendorOptions &vendors = request.vendors;
    vendors.pins.clear(); // the plan says where all is
    vendors.annotateOps.clear();
    vendors.annotateSkipOps.clear();
    vendors.minRegionOps = 0;
    vendors.minRegionFlops = 0;
    vendors.strict = false;
    vendors.savesPlan = false;
    vendors.plan = planFile;
    request.files[planFile] = Storage::own(planText(plan));
    return request;
  }

  // A build that a vendor's refusal made another than the plan says is an error.
  Expected<Verdict> judgeReplay(const PartitionPlan &plan,
                                const std::function<bool(size_t row)> &keeps) {
    CompileRequest request = BYCC_TRY(replay(plan, keeps));
    CompiledModel model = BYCC_TRY(compiler_.compile(request));
    PartitionPlan wanted = BYCC_TRY(
        readPlan(std::string_view(reinterpret_cast<const char *>(request.files[planFile]->data()),
                                  request.files[planFile]->size()),
                 planFile));
    int64_t onVendors = std::ranges::count_if(
        wanted.nodes, [](const PlanNode &node) { return node.place != "host"; });
    if (model.report.totals.offloadedOps != onVendors)
      return error(Status::Unsup) << "vendors take " << model.report.totals.offloadedOps << " of "
                                  << counted(onVendors, "node")
                                  << " when some of their regions are on the host";
    return compare(model);
  }

  // Rows of each region of the plan, the first one in program order first.
  static std::vector<std::vector<size_t>> regionsOf(const PartitionPlan &plan) {
    std::vector<std::vector<size_t>> regions;
    std::map<int64_t, size_t> numbers;
    for (size_t row = 0; row < plan.nodes.size(); ++row) {
      if (plan.nodes[row].place == "host")
        continue;
      auto [at, isNew] = numbers.try_emplace(plan.nodes[row].region, regions.size());
      if (isNew)
        regions.emplace_back();
      regions[at->second].push_back(row);
    }
    return regions;
  }

  // What comes and goes together: composites, else nodes.
  static std::vector<std::vector<size_t>> unitsOf(const PartitionPlan &plan,
                                                  const std::vector<size_t> &region) {
    std::vector<std::vector<size_t>> units;
    std::map<std::string, size_t> numbers;
    for (size_t row : region) {
      const std::string &composite = plan.nodes[row].composite;
      auto [at, isNew] = composite.empty() ? std::pair(numbers.end(), true)
                                           : numbers.try_emplace(composite, units.size());
      if (isNew)
        units.emplace_back();
      units[isNew ? units.size() - 1 : at->second].push_back(row);
    }
    return units;
  }

  static std::function<bool(size_t)> rowsOf(const std::vector<std::vector<size_t>> &parts,
                                            size_t count, std::vector<size_t> more = {}) {
    for (size_t i = 0; i < count; ++i)
      more.insert(more.end(), parts[i].begin(), parts[i].end());
    return
        [rows = std::move(more)](size_t row) { return std::ranges::find(rows, row) != rows.end(); };
  }

  // "conv_1 (nn.conv2d), relu_1 (nn.relu)"
  static std::string listed(const PartitionPlan &plan, const std::vector<size_t> &rows) {
    constexpr size_t shown = 20;
    std::vector<std::string> names;
    for (size_t row : rows)
      if (names.size() < shown)
        names.push_back(escaped(plan.nodes[row].name) + " (" + plan.nodes[row].op + ")");
    return join(names, ", ") + (rows.size() > shown
                                    ? ", ... and " + std::to_string(rows.size() - shown) + " more"
                                    : "");
  }

  static std::string symbolOf(const CompiledModel &built, const PlanNode &node) {
    for (const OffloadNode &each : built.report.nodes)
      if (each.name == node.name && each.placed == node.place)
        return each.region;
    return "of " + escaped(node.name);
  }

  // False: with all on the host it still differs.
  Expected<bool> findRegion(const CompiledModel &built) {
    PartitionPlan plan = BYCC_TRY(readPlan(built.partitionPlan, planFile));
    std::vector<std::vector<size_t>> regions = regionsOf(plan);
    auto judgeRegions = [&](size_t count) { return judgeReplay(plan, rowsOf(regions, count)); };
    if (!BYCC_TRY(judgeRegions(0)).agrees)
      return false;
    Verdict all = BYCC_TRY(judgeRegions(regions.size()));
    if (all.agrees)
      return error(Status::Differs)
             << "the same plan, replayed, agrees: two builds or runs of it differ";
    Step found = BYCC_TRY(firstStep(regions.size(), std::move(all), judgeRegions));
    const std::vector<size_t> &region = regions[found.number - 1];
    const PlanNode &first = plan.nodes[region.front()];
    terminal_.clearProgress();
    std::printf("region %s of vendor %s (%zu of %zu) makes the difference: with the regions up to "
                "it outputs "
                "differ, max |d| %s; with those before it they agree\n",
                symbolOf(built, first).c_str(), escaped(first.place).c_str(), found.number,
                regions.size(), found.verdict.distance.c_str());
    std::fflush(stdout);
    std::printf("its nodes: %s\n", listed(plan, region).c_str());
    std::fflush(stdout);
    if (Expected<> node = findNode(plan, regions, found); !node)
      std::printf("its nodes cannot be tried one by one: %s\n", node.error().message().c_str());
    return true;
  }

  // Nodes of the region in program order, in a region of what is kept of it.
  Expected<> findNode(const PartitionPlan &plan, const std::vector<std::vector<size_t>> &regions,
                      const Step &region) {
    std::vector<std::vector<size_t>> units = unitsOf(plan, regions[region.number - 1]);
    std::vector<size_t> before;
    for (size_t i = 0; i + 1 < region.number; ++i)
      before.insert(before.end(), regions[i].begin(), regions[i].end());
    auto judgeUnits = [&](size_t count) { return judgeReplay(plan, rowsOf(units, count, before)); };
    Step found = BYCC_TRY(firstStep(units.size(), region.verdict, judgeUnits));
    terminal_.clearProgress();
    std::printf(
        "%s %s makes the difference in it: with the nodes up to it outputs differ, max |d| %s; "
        "with those before it they agree\n",
        units[found.number - 1].size() > 1 ? "composite" : "node",
        listed(plan, units[found.number - 1]).c_str(), found.verdict.distance.c_str());
    return {};
  }

  // --- passes

  // Names by number, as --opt-bisect-limit counts them.
  Expected<std::vector<std::string>> passNumbers(CompileRequest request) {
    std::vector<std::string> names;
    int64_t limit = request.passes.bisectLimit;
    if (limit < 0)
      request.passes.bisectLimit = INT64_MAX;
    request.callbacks.print = [&](std::string_view text) {
      constexpr std::string_view label = "BISECT: running pass (";
      if (!text.starts_with(label))
        return;
      size_t end = text.find(')');
      auto number = parseInt(std::string(text.substr(label.size(), end - label.size())));
      names.resize(static_cast<size_t>(*number));
      names.back() = text.substr(end + 2, text.find('\n') - end - 2);
    };
    BYCC_TRY(compiler_.compile(request));
    if (limit >= 0) // what runs behind it is never left out
      names.resize(std::min(names.size(), static_cast<size_t>(limit)));
    return names;
  }

  Expected<> findPass(const CompileRequest &request) {
    std::vector<std::string> names = BYCC_TRY(passNumbers(request));
    auto judgePasses = [&](size_t count) {
      CompileRequest limited = request;
      limited.passes.bisectLimit = static_cast<int64_t>(count);
      return judge(limited);
    };
    terminal_.clearProgress();
    if (!BYCC_TRY(judgePasses(0)).agrees) {
      std::printf(
          "no pass makes the difference: without all that may be left out outputs differ, too "
          "(host code, --precision, or what was expected)\n");
      return {};
    }
    Verdict all = BYCC_TRY(judgePasses(names.size()));
    if (all.agrees)
      return error(Status::Differs)
             << "the same passes, once more, agree: two builds or runs of it differ";
    Step found = BYCC_TRY(firstStep(names.size(), std::move(all), judgePasses));
    std::string name = names[found.number - 1];
    std::vector<std::string> entries = passEntries(BYCC_TRY(compiler_.pipelineText(request)));
    if (entries.size() == names.size() && entries[found.number - 1].starts_with(name))
      name = entries[found.number - 1];
    terminal_.clearProgress();
    std::printf(
        "pass %s (%zu of %zu) makes the difference: with the passes up to it outputs differ, "
        "max |d| %s; with those before it they agree\n",
        escaped(name).c_str(), found.number, names.size(), found.verdict.distance.c_str());
    std::printf("to see it: --opt-bisect-limit=%zu, --print-before=%s, --print-after=%s\n",
                found.number, names[found.number - 1].c_str(), names[found.number - 1].c_str());
    return {};
  }

  const Options &options_;
  Terminal &terminal_;
  Compiler compiler_;
  CompileRequest request_;
  std::optional<TemporaryFolder> folder_;
  std::string runner_, wanted_; // bycc-run; the folder of expected outputs
};

} // namespace

int verifyCommand(const Options &options) {
  Terminal terminal(options);
  Verification verification(options, terminal);
  Expected<int> code = verification.run();
  if (code)
    return *code;
  if (!verification.failed)
    return terminal.fail(code.error());
  std::fputs(verification.failed->text.c_str(), stderr);
  return verification.failed->code;
}

} // namespace bycc
