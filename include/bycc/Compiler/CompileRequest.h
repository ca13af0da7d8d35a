// What a compilation is asked for, as plain data. Members have the names and meanings of
// the options of the command line (cli.md), and messages call them so; what they leave out
// is as there.
//
//   CompileRequest request;
//   request.input.model = "net.onnx";                          // a file, or
//   request.files["net.onnx"] = Storage::own(std::move(bytes)); // memory of that name
//   request.vendors.annotate = "dnnl";
//   request.callbacks.progress = [&](const Progress &) { return !isCancelled; };
#pragma once

#include "bycc/Support/Error.h"
#include "bycc/Support/File.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bycc {

struct OffloadReport;

// --print-*: what is shown between passes.
struct PrintingOptions {
  std::vector<std::string> before, after; // pass names
  bool beforeAll = false, afterAll = false;
  bool changed = false, changedAsDiff = false;
  std::string directory; // --ir-dump-directory: files there instead of CompileCallbacks::print
  int64_t elideConstants = -1; // --elide-constants=N
};

// Which passes run, and how they are watched.
struct PassListOptions {
  int level = 2;                     // -O0 .. -O3
  std::optional<std::string> passes; // --passes=LIST
  std::string desiredLayout;         // of convolutions, "NHWC" or "NHWC:OHWI"; "": as they are
  std::vector<std::string> disabled, required;
  std::vector<std::pair<std::string, std::string>> runBefore, runAfter; // pass, new pass
  bool verifyEach = false;
  bool timePasses = false, stats = false; // their tables go to CompileCallbacks::print
  int64_t bisectLimit = -1;
  PrintingOptions printing;
};

// Where what vendors' code prints goes, which runs in a process of its own: nowhere, or to
// the standard error of this process.
enum class VendorOutput : uint8_t { Hidden, OfQuestions, All };

// Which vendors take what.
struct VendorOptions {
  std::optional<std::string> annotate; // --annotate=V1,V2
  std::vector<std::string> patterns, rules, plugins;
  std::vector<std::string> pluginFolders; // searched after `plugins`, the first of a name counts
  std::vector<std::string> annotateOps, annotateSkipOps; // globs
  std::vector<std::pair<std::string, std::string>> pins; // node glob, vendor or "host"
  std::vector<std::string> vendorOptions; // --vendor-option: V.NAME=VALUE, the last one wins
  bool trustsHand = false;                // --hand-annotations=trust
  int64_t minRegionOps = 0;
  double minRegionFlops = 0;
  std::string costModel;          // "", none, static
  std::optional<uint64_t> search; // --search=N: steps of the search for a plan
  std::string plan;               // --partition-plan: its file
  bool savesPlan = false;         // fills CompiledModel::partitionPlan
  std::string cacheDir;           // folder that keeps what vendors made of regions; "": none
  std::string tune; // the file of records of --tune, which need not be there; "": no tuning
  double timeoutSeconds = 60; // --vendor-timeout: for one region
  bool strict = false;        // a vendor that fails is a POLICY error
  VendorOutput output = VendorOutput::Hidden;
};

struct TargetOptions {
  std::optional<std::string> triple, cpu, attributes; // --target, -mcpu, -mattr
  std::string precision = "f32";
  std::string precisionRules; // --precision-rules=FILE, "": those of bycc
  std::string nan = "keep";   // "fast": vendors' kernels may lose NaN
};

// The model and what is bound in it.
struct InputOptions {
  std::string model; // a file; "-": what CompileCallbacks::standardInput gives
  std::string
      format; // "onnx", "relay", "json", or a frontend of the Compiler's; "": by name and bytes
  std::vector<std::string> params;                         // --params=PATH
  std::vector<std::pair<std::string, std::string>> shapes; // NAME, 1x3x224
  std::vector<std::pair<std::string, std::string>> dims;   // NAME, N
  std::map<std::string, int64_t> likely;                   // --likely, N >= 1
  std::string declaredTypes = "check";                     // or "warn": of an ONNX model
  size_t maxErrors = 20; // in the text of MODEL that are told at once
};

// The compiled model.
struct CodeOptions {
  std::optional<std::string>
      moduleName;         // prefix of all symbols; none: as a rules file says, or of `stem`
  std::string stem;       // of the names of files, without a folder; "": of the model
  std::string objectFile; // name of the object without a folder, for the graph JSON; "": STEM.o
  bool embedWeights = false;
  bool hostFallback = false; // regions have host code, too
  std::string schedules;     // --schedules=FILE: of host kernels, "": as they are chosen
  int threads = 0;           // recorded default, 0 = none
  int jobs = 0;              // vendors' processes at a time; 0 = the CPUs
};

// The page of the compiled model (OutputForm::Html).
struct PageOptions {
  std::string profileData; // --profile-data=F: what a run took, shown beside the estimates
};

struct CompileOptions {
  InputOptions input;
  PassListOptions passes;
  VendorOptions vendors;
  TargetOptions target;
  CodeOptions code;
  PageOptions page;
};

// What is made. Object brings the graph JSON, the params and the header along.
enum class OutputForm : uint8_t {
  Object,
  Assembly,
  LlvmText,
  Loops,
  Relay,
  Json,
  Dot,
  Html,
  Header
};

// A warning or, of less weight, a remark.
struct Message {
  bool isRemark = false;
  SourceLocation location; // of warnings; may be empty
  std::string text;
  std::string str() const; // "net.relay:3:1: warning: TEXT\n", "remark: TEXT\n"
};

// Vendors: `item` is a plugin, or a folder of them, that is being loaded. Load: the model is
// read. Passes: a pass. Regions: vendors compile; `index` of `count` are done. HostCode: a
// kernel, or "" while LLVM works on all of them. Finish: the last checks and texts.
enum class Phase : uint8_t { Start, Vendors, Load, Passes, Regions, HostCode, Finish };
struct Progress {
  Phase phase = Phase::Start;
  std::string item;
  size_t index = 0, count = 0; // of the items of the phase; count 0: not known
};

// What compiles in place of the model from here on: the program as it stands, and the passes
// that are left. What is bound in the model is bound, orders about nodes that are carried out
// hold no more.
struct Checkpoint {
  std::string next;      // the pass that comes; "": host code
  std::string program;   // Relay text
  std::string passes;    // as PassListOptions::passes takes them
  bool hasOrders = true; // --pin and the like are still to be carried out
};

// Called on the thread of compile(), and must not throw. Empty ones are
// not called.
struct CompileCallbacks {
  std::function<void(const Message &)> message; // as they come; also in CompiledModel::messages
  std::function<void(std::string_view)> print;  // what `printing`, `timePasses`, `stats` ask for
  // False: compile() ends with Status::Cancelled. Asked at each item of each phase, and ten
  // times a second while vendors compile; one pass, and LLVM's work, are one step.
  std::function<bool(const Progress &)> progress;
  // Before each pass, and before host code is made, where a program can be read back; not
  // between the choice of composites and the regions made of it. Costs a text of the program
  // for each pass that changes it.
  std::function<void(const Checkpoint &)> checkpoint;
  std::function<Expected<std::string>()> standardInput; // the model "-"
  // Policy: an error ends the compilation. `loaded` is called when all files of the model
  // are read, `placed` when everything has its place, before host code is made.
  std::function<Expected<>(const std::vector<std::string> &filesRead)> loaded;
  std::function<Expected<>(const OffloadReport &)> placed;
};

struct CompileRequest : CompileOptions {
  // Files in memory. Every path of the options is looked for here first, as it is written
  // there; a model's external data as FOLDER/NAME, FOLDER being the model's ("" for a
  // model without one: NAME). `params` of PATH takes PATH/NAME.npy from here, too.
  std::map<std::string, std::shared_ptr<const Storage>> files;
  std::vector<OutputForm> forms = {OutputForm::Object};
  CompileCallbacks callbacks;
};

} // namespace bycc
