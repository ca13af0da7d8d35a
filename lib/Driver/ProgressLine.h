// What a command that takes a while is at, as one line on a terminal that is gone when
// anything else is printed:
//
//   [4/7] passes: choose-plan 17/21, 3.2 s
//
// It comes after half a second, and never where the output is no terminal.
#pragma once

#include "bycc/Compiler/CompileRequest.h"

#include <array>
#include <chrono>
#include <string>

namespace bycc {

class ProgressLine {
public:
  explicit ProgressLine(bool isShown) : isShown_(isShown) {}
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;
  ~ProgressLine() { clear(); }

  void hear(const Progress &progress);
  void clear();
  // "load 0.02 s, passes 0.31 s, host code 1.20 s": where the time went so far.
  std::string times();

private:
  using Clock = std::chrono::steady_clock;
  void show(const Progress &progress, double seconds);

  bool isShown_, isThere_ = false;
  Clock::time_point begin_ = Clock::now(), phaseBegin_ = begin_, lastShown_ = begin_;
  Phase phase_ = Phase::Start;
  std::array<double, 7> seconds_ = {}; // by phase
};

} // namespace bycc
