#include "Terminal.h"

#include "CommandProcess.h"
#include "CrashReproducer.h"
#include "bycc/Compiler/KnownVendors.h"
#include "bycc/Support/File.h"
#include "bycc/Support/MappedFiles.h"
#include "bycc/Support/Messages.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace bycc {
namespace {

// Standard error is a terminal that knows escape sequences.
bool isCapable() {
  const char *terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && !(terminal && std::string_view(terminal) == "dumb");
}

// As no-color.org says.
bool hasColour(const Options &options) {
  if (options.color != "auto")
    return options.color == "always";
  const char *noColor = std::getenv("NO_COLOR");
  return isCapable() && !(noColor && *noColor);
}

Stage stageOf(Phase phase) {
  switch (phase) {
  case Phase::Start:
    return Stage::Start;
  case Phase::Vendors:
    return Stage::Plugins;
  case Phase::Load:
    return Stage::Load;
  case Phase::Passes:
  case Phase::Regions:
    return Stage::Passes;
  case Phase::HostCode:
    return Stage::HostCode;
  case Phase::Finish:
    return Stage::Write;
  }
  return Stage::Start;
}

} // namespace

std::vector<std::string> pluginFolders() {
  std::vector<std::string> folders;
  if (const char *path = std::getenv("BYCC_PLUGIN_PATH"))
    folders.push_back(path);
  for (const char *folder : {"lib", BYCC_LIBDIR}) {
    std::error_code missing;
    auto installed =
        std::filesystem::canonical(programFolder() + "/../" + folder + "/bycc", missing);
    if (!missing)
      folders.push_back(installed.string());
  }
  return folders;
}

std::string outputStem(const Options &options) {
  if (options.output.output && *options.output.output != "-") {
    const std::string &out = *options.output.output;
    // A view alone tells of the object that is to stand beside it: net.html of net.o.
    for (const char *view : {"html", "dot"})
      if (std::string suffix = std::string(".") + view;
          options.output.emit == std::vector<std::string>{view} && out.ends_with(suffix) &&
          out.size() > suffix.size())
        return out.substr(0, out.size() - suffix.size());
    return out.ends_with(".o") && out.size() > 2 ? out.substr(0, out.size() - 2) : out;
  }
  return stemOf(options);
}

Expected<> checkSupported(const Options &options) {
  if (!options.planned.empty())
    return error(Status::Unsup).as(MessageId::NotBuilt) << options.planned;
  return {};
}

CompileRequest Terminal::request() {
  CompileRequest request;
  static_cast<CompileOptions &>(request) = options_;
  request.passes.stats &= isText(); // no part of a document
  request.vendors.pluginFolders = pluginFolders();
  request.vendors.savesPlan = !options_.placement.savePlan.empty();
  request.vendors.output = options_.verbose ? VendorOutput::All : VendorOutput::OfQuestions;
  request.code.stem = fileNameOf(outputStem(options_));
  request.callbacks.message = [this](const Message &message) { show(message); };
  request.callbacks.print = [this](std::string_view text) {
    progress_.clear();
    std::fwrite(text.data(), 1, text.size(), stderr);
  };
  request.callbacks.progress = [this](const Progress &progress) { return hear(progress); };
  if (!options_.watch.crashReproducer.empty())
    request.callbacks.checkpoint = [this](const Checkpoint &checkpoint) {
      keepForCrash(reproducerText(options_, checkpoint));
    };
  request.callbacks.standardInput = [] { return readFile("-"); };
  return request;
}

void Terminal::show(const Message &message) {
  if (message.isRemark ? !options_.verbose : options_.quiet)
    return;
  progress_.clear();
  if (isText())
    std::fputs(message.str().c_str(), stderr);
  else
    document_.add(message);
}

Terminal::Terminal(const Options &options)
    : options_(options),
      progress_(!options.quiet && isCapable() && options.diagnosticsFormat == "text") {}

Terminal::~Terminal() {
  progress_.clear();
  if (isText() && options_.verbose)
    std::fprintf(stderr, "remark: times: %s\n", progress_.times().c_str());
  if (!isText())
    document_.print(options_.diagnosticsFormat);
}

Expected<VendorRegistry> Terminal::knownVendors() {
  return bycc::knownVendors(request().vendors, {}, [this](const std::string &file) -> Expected<> {
    hear({file.empty() ? Phase::Start : Phase::Vendors, file});
    return {};
  });
}

bool Terminal::hear(const Progress &progress) {
  progress_.hear(progress);
  std::pair<int, std::string> stage{static_cast<int>(progress.phase),
                                    progress.phase == Phase::Vendors ? progress.item : ""};
  if (stage_ == stage)
    return true;
  stage_ = stage;
  enterStage(stageOf(progress.phase), stage.second);
  if (progress.phase != Phase::Vendors)
    guard_.reset();
  else if (!guard_)
    guard_.emplace();
  return true;
}

int Terminal::fail(const Error &failure) const {
  progress_.clear();
  Expected<> checked = checkMappedFiles(); // a file that changed meanwhile fails anywhere
  const Error &error = checked ? failure : checked.error();
  if (!isText()) {
    document_.add(error);
    return exitCode(error.status());
  }
  std::string text = error.str();
  if (hasColour(options_))
    for (size_t at = 0; (at = text.find("error[", at)) != std::string::npos; at += 20) {
      text.insert(at, "\x1b[1;31m");
      size_t end = text.find(']', at);
      text.insert(end == std::string::npos ? text.size() : end + 1, "\x1b[0m");
    }
  std::fputs(text.c_str(), stderr);
  if (!text.ends_with('\n'))
    std::fputc('\n', stderr);
  return exitCode(error.status());
}

} // namespace bycc
