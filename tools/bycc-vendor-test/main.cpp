// bycc-vendor-test: the conformance suite for one vendor, built in or plugin.

#include "Suite.h"

#include "bycc/Runtime/CpuFeatures.h"
#include "bycc/Runtime/VendorLoader.h"

#include "bycc/Support/File.h"
#include "bycc/Support/Json.h"
#include "bycc/Support/Program.h"
#include "bycc/Support/ShellWord.h"
#include "bycc/Support/TemporaryFolder.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/VendorRegistry.h"
#include "bycc/Vendors/Builtin.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

using namespace bycc;
using namespace bycc::conformance;

namespace {

struct Options {
  std::string vendor, plugin, filter = "*", gaps, data, cases, keep;
  uint32_t seed = 1;
  bool list = false, json = false;
};

// What this machine has of the features that vendors know.
TargetInfo thisMachine() {
  TargetInfo target;
  target.triple = "x86_64-pc-linux-gnu";
  target.cpu = "x86-64";
  for (const char *feature :
       {"amx-bf16", "amx-int8", "amx-tile", "avx",     "avx2",     "avx512bf16",
        "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl", "avx512vnni",
        "avxvnni",  "bmi",      "bmi2",     "f16c",    "fma",      "lzcnt",
        "popcnt",   "sse3",     "sse4.1",   "sse4.2",  "ssse3"})
    if (runtime::missingCpuFeatures(feature).empty())
      target.features.push_back(feature);
  return target;
}

// The run half of a plugin is looked for beside its compile half too.
void addPluginFolder(const std::string &plugin) {
  std::string folder = std::filesystem::absolute(plugin).parent_path().string();
  const char *old = std::getenv("BYCC_PLUGIN_PATH");
  ::setenv("BYCC_PLUGIN_PATH", (folder + (old && *old ? ":" + std::string(old) : "")).c_str(), 1);
}

Expected<VendorSet> findVendor(const Options &options) {
  VendorRegistry registry(builtinVendorCompilers(), loadedVendors());
  if (!options.plugin.empty()) {
    addPluginFolder(options.plugin);
    BYCC_TRY(registry.loadPlugin(options.plugin));
  }
  if (const char *path = std::getenv("BYCC_PLUGIN_PATH"))
    BYCC_TRY(registry.loadPluginPath(path));
  VendorRequest request;
  request.annotate = std::vector<std::string>{options.vendor};
  return registry.resolve(request);
}

std::string gapsFile(const Options &options) {
  if (!options.gaps.empty())
    return options.gaps;
  std::string file = options.data + "/gaps/" + options.vendor + ".json";
  return std::filesystem::exists(file) ? file : "";
}

void printText(const Result &result) {
  const char *words[] = {"pass", "FAIL", "skip"};
  std::printf("%s %-18s", words[static_cast<int>(result.verdict)], result.check.c_str());
  if (result.verdict == Verdict::Skip)
    std::printf(" %s", escaped(result.skipped, 400).c_str());
  else if (result.items)
    std::printf(" %llu items", static_cast<unsigned long long>(result.items));
  if (result.gaps)
    std::printf(", %llu known gaps left out", static_cast<unsigned long long>(result.gaps));
  std::printf(" (%.1f s)\n", result.seconds);
  for (const std::string &failure : result.failures)
    std::printf("     %s\n", escaped(failure, 1000).c_str());
  for (const std::string &note : result.notes)
    std::printf("     %s\n", escaped(note, 1000).c_str());
  std::fflush(stdout);
}

void writeJson(JsonWriter &writer, const Result &result) {
  const char *words[] = {"pass", "fail", "skip"};
  writer.beginObject().key("check").value(result.check);
  writer.key("result").value(words[static_cast<int>(result.verdict)]);
  writer.key("items").value(static_cast<int64_t>(result.items));
  writer.key("gaps").value(static_cast<int64_t>(result.gaps));
  writer.key("skipped").value(result.skipped);
  writer.key("failures").beginArray();
  for (const std::string &failure : result.failures)
    writer.value(failure);
  writer.endArray().key("notes").beginArray();
  for (const std::string &note : result.notes)
    writer.value(note);
  writer.endArray().endObject();
}

// With commands that can be typed in any folder.
void keepFailures(const Options &options, const std::string &caseFolder, Setup &setup) {
  setup.caseFolder = caseFolder;
  setup.keepFolder = options.keep;
  setup.compileOptions = "--annotate=" + options.vendor;
  setup.command = "bycc-vendor-test " + options.vendor;
  if (!options.plugin.empty()) {
    std::filesystem::path plugin = std::filesystem::absolute(options.plugin);
    setup.compileOptions += " --plugin=" + shellWord(plugin.string());
    setup.command += " --plugin=" + shellWord(plugin.string());
    setup.runEnvironment = "BYCC_PLUGIN_PATH=" + shellWord(plugin.parent_path().string()) + " ";
  }
  setup.command += " --seed=" + std::to_string(options.seed);
}

// The exit code: 0 all pass or are skipped, 4 something fails.
Expected<int> run(const Options &options) {
  VendorSet vendors = BYCC_TRY(findVendor(options));
  Setup setup;
  setup.vendors = &vendors;
  setup.vendor = &vendors[0];
  if (setup.vendor->isEmulated())
    return error(Status::Usage) << "vendor '" << escaped(options.vendor)
                                << "' is emulated: it has no halves to test";
  auto open = BYCC_TRY(runtime::openVendor(options.vendor, {}));
  setup.runtime = &open->table();
  setup.context = &open->context();
  setup.target = thisMachine();
  setup.casesFolder = options.cases;
  setup.seed = options.seed;
  if (std::string file = gapsFile(options); !file.empty())
    setup.gaps = BYCC_TRY(readGaps(file, options.vendor));
  if (std::ranges::none_of(checks(),
                           [&](const Check &c) { return matchesGlob(options.filter, c.name); }))
    return error(Status::Usage) << "no check is named '" << escaped(options.filter) << "'";
  std::optional<TemporaryFolder> folder;
  if (!options.keep.empty()) {
    folder.emplace(BYCC_TRY(TemporaryFolder::make("vendor-test")));
    keepFailures(options, folder->file("case"), setup);
  }
  JsonWriter writer;
  writer.beginObject().key("vendor").value(options.vendor).key("checks").beginArray();
  int code = 0;
  for (const Check &check : checks()) {
    if (!matchesGlob(options.filter, check.name))
      continue;
    Result result = runCheck(check, setup);
    code = result.verdict == Verdict::Fail ? 4 : code;
    options.json ? writeJson(writer, result) : printText(result);
  }
  writer.endArray().endObject();
  if (options.json)
    std::printf("%s\n", writer.take().c_str());
  else if (code != 0 && options.keep.empty())
    std::printf("With --keep=DIR failures leave what shows them again.\n");
  return code;
}

int listChecks() {
  for (const Check &check : checks())
    std::printf("%-18s %s\n", check.name, check.what);
  return 0;
}

} // namespace

static int testVendor(int argc, char **argv) {
  Options options;
  CLI::App app("Asks a vendor for all that bycc/vendor.h promises.", "bycc-vendor-test");
  app.set_version_flag("--version", "bycc-vendor-test " BYCC_VERSION);
  app.add_option("VENDOR", options.vendor, "name of the vendor");
  app.add_option("--plugin", options.plugin, "plugin .so with the vendor's compile half");
  app.add_flag("--list", options.list, "list the checks");
  app.add_option("--filter", options.filter, "glob: run the checks with such names");
  app.add_flag("--json", options.json, "write the results as JSON");
  app.add_option("--gaps", options.gaps,
                 "file of known gaps, each with its reason; default DATA/gaps/VENDOR.json");
  app.add_option("--seed", options.seed, "first seed of random regions, default 1");
  app.add_option("--keep", options.keep,
                 "folder for what failures leave: program, inputs, expected outputs, commands");
  app.add_option("--data", options.data, "folder of the suite's data, default the installed one");
  app.add_option("--cases", options.cases, "folder of operator cases, default DATA/operators");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  if (options.list)
    return listChecks();
  if (options.data.empty())
    options.data = programFolder() + "/../" BYCC_DATADIR "/bycc/conformance";
  if (options.cases.empty())
    options.cases = options.data + "/operators";
  Expected<int> code =
      options.vendor.empty() ? error(Status::Usage) << "which vendor?" : run(options);
  if (code)
    return *code;
  std::fputs(code.error().str().c_str(), stderr);
  return exitCode(code.error().status());
}

int main(int argc, char **argv) {
  return runProgram([&] { return testVendor(argc, argv); });
}
