// --stats: counts of what a compilation did, as a table by phase.
#pragma once

#include "bycc/IR/Module.h"
#include "bycc/Transforms/PassManager.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bycc {

struct OffloadReport;
struct CodeCounts;

class Statistics {
public:
  // In the order of the table.
  enum class Phase : uint8_t { Model, Passes, Partition, HostCode, Output };

  void add(Phase phase, int64_t count, const std::string &what);
  void addChange(Phase phase, int64_t before, int64_t after, const std::string &what);
  void addModel(const Module &module);                          // as it was read
  void addPartition(const OffloadReport &report);               // nothing without vendors
  void addCode(const Module &module, const CodeCounts &counts); // after all passes
  void clear(Phase phase);                                      // it begins once more
  // Lines of phase, count and what was counted.
  std::string text() const;

private:
  struct Row {
    Phase phase;
    std::string count, what;
  };
  std::vector<Row> rows_;
};

// Counts before and after each pass that changes something.
class PassStatistics : public PassInstrument {
public:
  explicit PassStatistics(Statistics &statistics) : statistics_(statistics) {}
  void beforePass(const Module &module, const PassInfo &pass) override;
  void afterPass(const Module &module, const PassInfo &pass, bool changed) override;

private:
  struct Counts {
    int64_t operators = 0, functions = 0, foldedBytes = 0;
  };
  static Counts counts(const Module &module);
  Statistics &statistics_;
  Counts before_;
};

} // namespace bycc
