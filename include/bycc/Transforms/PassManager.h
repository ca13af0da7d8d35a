// Runs a pass list. One function, runPass(), wraps every pass: off-switches,
// timer, printing before and after, verification, instruments.
#pragma once

#include "bycc/IR/Printer.h"
#include "bycc/Transforms/Pipeline.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace bycc {

enum class PrintChanged : uint8_t { Off, Module, Diff };

struct PassManagerOptions {
  std::vector<std::string> printBefore, printAfter; // pass names
  bool printBeforeAll = false, printAfterAll = false;
  PrintChanged printChanged = PrintChanged::Off;
  std::string irDumpDirectory; // one file per pass there, instead of text
  PrintOptions print;
  bool verifyEach = false;
  int64_t optBisectLimit = -1;                 // run only so many passes; < 0: all
  std::function<void(std::string_view)> write; // where printing goes; empty: stderr
  // Asked before each pass that runs, with its place in the list of run(); false: the run
  // ends with Status::Cancelled.
  std::function<bool(const std::string &pass, size_t index, size_t count)> proceed;
};

// Sees every pass. A veto (`shouldRun` false) skips the pass.
class PassInstrument {
public:
  virtual ~PassInstrument() = default;
  virtual bool shouldRun(const Module &, const PassInfo &) { return true; }
  virtual void beforePass(const Module &, const PassInfo &) {}
  virtual void afterPass(const Module &, const PassInfo &, bool /*changed*/) {}
};

struct PassTime {
  std::string pass;
  double seconds = 0;
  bool changed = false;
  std::chrono::steady_clock::time_point begin = {};
};

class PassManager {
public:
  PassManager(const PassRegistry &registry, PassManagerOptions options)
      : registry_(registry), options_(std::move(options)) {}
  // Not owned.
  void addInstrument(PassInstrument *instrument) { instruments_.push_back(instrument); }

  // Checks the list, then runs it. True when some pass changed the module.
  Expected<bool> run(Module &module, PassContext &context, const Pipeline &pipeline);

  // Counts passes from the start again, for the limits and the names of dumps.
  void restart() { numRun_ = 0; }

  const std::vector<PassTime> &times() const { return times_; } // in run order

  // The table of --time-passes: per pass name, and total.
  std::string timeReport() const;

private:
  Expected<bool> runPass(Module &module, PassContext &context, const PipelineEntry &entry);
  bool isSkipped(const Module &module, const PassInfo &pass);
  Expected<> show(const Module &module, const PassInfo &pass, const char *when);
  Expected<> showChange(const Module &module, const PassInfo &pass, const std::string &before,
                        bool changed);
  Expected<> emit(const std::string &title, const std::string &fileName, const std::string &text);
  void write(std::string_view text) const;

  const PassRegistry &registry_;
  PassManagerOptions options_;
  std::vector<PassInstrument *> instruments_;
  std::vector<PassTime> times_;
  int64_t numRun_ = 0;
};

} // namespace bycc
