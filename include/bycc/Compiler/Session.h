// One compilation: the program, the target, the vendors, the passes. Compiler::compile()
// and commands open a session, load, run passes, and look at the module. It prints
// nothing: what there is to say goes to the callbacks of the request.
#pragma once

#include "bycc/Compiler/CompileRequest.h"
#include "bycc/Compiler/Extensions.h"
#include "bycc/Compiler/InputFiles.h"
#include "bycc/Compiler/Pipeline.h"
#include "bycc/Compiler/Statistics.h"
#include "bycc/Compiler/TimeTrace.h"
#include "bycc/IR/Module.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Partition/OffloadReport.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/Cost.h"
#include "bycc/Target/PassContext.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"
#include "bycc/Target/VendorProcess.h"
#include "bycc/Target/VendorRegistry.h"
#include "bycc/Transforms/PassManager.h"
#include "bycc/Transforms/PrecisionRules.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bycc {

struct OnnxImportOptions;

class Session {
public:
  // Both must outlive the session.
  explicit Session(const CompileRequest &request, const Extensions &extensions = noExtensions());
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  // Target, vendors and rules. Usage errors for unknown vendors.
  Expected<> prepare();
  // Reads MODEL, binds --params, --shape and --dim, hears --likely.
  Expected<> load();
  // Enables vendors that the loaded program asks for, for what it gives them. A name
  // that nobody has is an INPUT error at its place if they must be known.
  Expected<> enableAskedVendors(bool mustBeKnown);
  // The pass list that the options ask for, with what the program and the vendors
  // need.
  Expected<Pipeline> pipeline() const;
  // What of the list may still run on the program as it is.
  Pipeline withoutDone(const Pipeline &pipeline) const;
  // Runs the passes. `atRegions` is called where regions are final: after the last
  // partition-graph, before what the host does to the rest. Its answer true: the
  // program is loaded again and partitioned with the orders() of now.
  // `beforeLegalize` is called where every operator is still the one the program
  // names: before legalize, or at the end of a list without it.
  using RegionStop = std::function<Expected<bool>(bool canPartitionAgain)>;
  Expected<> runPasses(const Pipeline &pipeline, const RegionStop &atRegions = {},
                       const std::function<void()> &beforeLegalize = {});

  // Calls CompileCallbacks::checkpoint. `isSame`: nothing has changed since the last time.
  void checkpoint(const Pipeline &left, bool hasOrders, bool isSame = false);

  // Tells what is going on; CANCELLED when the callback says stop.
  Expected<> enter(Phase phase, const std::string &item = {}, size_t index = 0,
                   size_t count = 0) const;
  // Hands over warnings and remarks that passes left.
  void flushMessages();
  // All that were handed over.
  std::vector<Message> takeMessages() { return std::move(messages_); }

  const CompileRequest &options() const { return options_; }
  const Extensions &extensions() const { return extensions_; }
  // Passes that bycc does not have: those of the extensions and of plugins.
  const std::vector<Extensions::Pass> &ownPasses() const { return ownPasses_; }
  InputFiles &files() { return files_; }
  // The text of --schedules; null without it.
  const std::shared_ptr<const std::string> &schedules() const { return schedules_; }
  TimeTrace &trace() { return trace_; }
  Statistics &statistics() { return statistics_; }
  void printStatistics() const; // if they are asked for
  Module &module() { return module_; }
  PassContext &context() { return context_; }
  const TargetInfo &target() const { return target_; }
  const VendorSet &vendors() const { return vendors_; }
  // Of the program as it is now. Every vendor in use says something of every node.
  OffloadReport offloadReport() const;
  // The vendor in use whose region the function is, or null.
  const Vendor *vendorOf(FunctionId function) const;
  // Orders about nodes of the program before composites are formed; they hold in
  // every round of runPasses().
  PlacementRules &orders() { return orders_; }
  const PassRegistry &registry() const { return registry_; }
  // Nothing more is asked of vendors, as far as can be known.
  void dismissVendors();
  // Every file read so far, MODEL first, for -MD.
  const std::vector<std::string> &filesRead() const { return files_.recorded(); }
  uint64_t inputsHash() const { return inputsHash_; }
  const std::vector<PassTime> &passTimes() const { return passTimes_; }

private:
  static const Extensions &noExtensions();
  Expected<> checkOrdersAreObeyed(const Pipeline &pipeline) const;
  Expected<> prepareVendors();
  Expected<> checkIsHeard(const VendorSetting &setting) const;
  Expected<> hearVendorFaults();
  bool isMixed() const { return options_.target.precision == "bf16"; }
  Expected<> readPrecision();
  Expected<> checkPrecision(const Pipeline &list) const;
  Expected<> loadAndBind();
  Expected<const Frontend *> ownFrontend();
  Expected<std::shared_ptr<const Storage>> modelBytes();
  Expected<std::string> modelText();
  Expected<> loadModel();
  Expected<> loadOnnx(OnnxImportOptions &bindings);
  void warnOfModel(const std::vector<Diagnostic> &warnings);
  Expected<> loadText(bool isJson);
  Expected<> loadOwn(const Frontend &frontend);
  Expected<Module> parseRelayText(const std::string &text, const std::string &name,
                                  ParseOptions &parse);
  Expected<> reload();
  void warnAboutMissing(const Pipeline &pipeline);
  void warnAboutOwnPasses(const Pipeline &pipeline);
  PassManagerOptions managerOptions() const;
  void chooseModuleName();

  const CompileRequest &options_;
  const Extensions &extensions_;
  std::vector<Extensions::Pass> ownPasses_;
  InputFiles files_;
  std::shared_ptr<const std::string> schedules_;
  TimeTrace trace_;
  Statistics statistics_; // of passes only if asked for
  Module module_;
  TargetInfo target_;
  std::optional<VendorRegistry> known_; // after prepare()
  VendorRequest vendorRequest_;
  std::unique_ptr<VendorProcess> vendorProcess_; // where vendors are asked; null: none has code
  VendorSet vendors_;
  RefusalLog refusals_;
  PlacementRules orders_, placement_; // the latter: of this round, passes add to it
  CostModel hostCost_;
  std::optional<PrecisionRules> precision_; // of the user's
  PassContext context_;
  PassRegistry registry_;
  std::vector<Message> messages_;
  std::vector<PassTime> passTimes_;
  std::optional<std::string> standardInput_;
  uint64_t inputsHash_ = 0;
  Checkpoint checkpoint_;                     // the last one
  bool hasBegun_ = false, hasLoaded_ = false; // load(), a text
};

// STEM of the names of files, without a folder: that of the options, else MODEL's name
// without its suffix.
std::string stemOf(const CompileOptions &options);

} // namespace bycc
