// One compilation: the program, the target, the vendors, the passes. Commands
// open a session, load, run passes, and look at the module.
#pragma once

#include "bycc/Driver/Options.h"
#include "bycc/IR/Module.h"
#include "bycc/Support/Error.h"
#include "bycc/Target/PassContext.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/Vendor.h"
#include "bycc/Transforms/PassManager.h"

#include <memory>
#include <string>
#include <vector>

namespace bycc {

class Session {
public:
  explicit Session(const Options &options);

  // Target, vendors and rules. Usage errors for unknown vendors.
  Expected<> prepare();
  // Reads MODEL, binds --params, --shape and --dim.
  Expected<> load();
  // The pass list that the options ask for.
  Expected<Pipeline> pipeline() const;
  Expected<> runPasses(const Pipeline &pipeline);

  // Prints warnings (and remarks with -v) that passes left, and forgets them.
  void flushMessages();
  // Prints an error; returns the exit code.
  int fail(const Error &error) const;

  const Options &options() const { return options_; }
  Module &module() { return module_; }
  PassContext &context() { return context_; }
  const TargetInfo &target() const { return target_; }
  const VendorSet &vendors() const { return vendors_; }
  const PassRegistry &registry() const { return registry_; }
  // Every file read so far, MODEL first, for -MD.
  const std::vector<std::string> &filesRead() const { return filesRead_; }
  uint64_t inputsHash() const { return inputsHash_; }

private:
  Pipeline withoutDone(const Pipeline &pipeline) const;
  Expected<> checkOrdersAreObeyed(const Pipeline &pipeline) const;
  Expected<> loadModel();
  void chooseModuleName();

  const Options &options_;
  Module module_;
  TargetInfo target_;
  VendorSet vendors_;
  RefusalLog refusals_;
  PlacementRules placement_;
  PassContext context_;
  PassRegistry registry_;
  std::vector<std::string> filesRead_;
  uint64_t inputsHash_ = 0;
};

// STEM of the outputs: OUT without ".o", else MODEL's name without its suffix.
std::string outputStem(const Options &options);

} // namespace bycc
