// Schedules as text: what a file of --schedules says, by kernel and nest. Its form is that of
// --emit=loops (PrintLoops.cpp), of which these lines count, the others are looked at by
// Scheduler:
//
//   kernel NAME FINGERPRINT
//     nest 0 ...
//       schedule tile rows=6 outer=1 vectors=4 unroll=8 epilogue=once
//       schedule rest 2x1x4 unroll=8 epilogue=once
//
// What a line does not say is chosen as without it.
#pragma once

#include "bycc/Support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bycc::loops {

// Of one kernel. Values have keys like "nest 0 tile rows", by which the choice of a schedule
// asks for them; what it does not ask for cannot be said of this kernel.
class KernelEdits {
public:
  struct Line {
    uint32_t number = 0;
    std::string text; // without spaces around it
  };

  explicit KernelEdits(std::string file) : file_(std::move(file)) {}
  // What the file says, or nothing.
  std::optional<int64_t> number(const std::string &key);
  std::optional<std::string> word(const std::string &key);
  // The value cannot be; the first one that is refused is told.
  void refuse(const std::string &key, const std::string &reason);
  // INPUT, at the line: what was refused; and what nobody has asked for.
  Expected<> checkRefused() const;
  Expected<> check() const;
  // As of a new kernel.
  void restart();

  Expected<> addSchedule(const Line &line, const std::string &nest);
  SourceLocation at(uint32_t line) const { return {file_, line, 0, {}, {}}; }

  std::vector<Line> others; // that follow from the schedule
  uint32_t firstLine = 0;

private:
  struct Value {
    std::string text;
    uint32_t line = 0;
    bool isRead = false;
  };
  std::string said(const std::string &key) const; // "rows=40"

  std::string file_;
  std::map<std::string, Value> values_;
  std::string refused_; // the key
  std::string reason_;
};

// A whole file.
class ScheduleFile {
public:
  // INPUT, at the line, for what is no line of a schedule.
  static Expected<ScheduleFile> read(const std::string &file, std::string_view text);
  KernelEdits *find(const std::string &fingerprint);

  std::string name;
  std::map<std::string, KernelEdits> kernels; // by fingerprint
  std::vector<KernelEdits::Line> strips;      // that the program has
};

} // namespace bycc::loops
