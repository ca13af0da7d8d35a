// -ftime-trace: where the time of a compilation went, as chrome://tracing and
// Perfetto read it. Costs nothing that counts, so it is always kept.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace bycc {

class TimeTrace {
public:
  using Clock = std::chrono::steady_clock;

  TimeTrace() : start_(Clock::now()) {}
  // `lane` tells apart what ran at the same time; 0 is bycc itself.
  void add(std::string name, std::string kind, Clock::time_point begin, Clock::time_point end,
           int lane = 0) {
    spans_.push_back({std::move(name), std::move(kind), begin, end, lane});
  }
  // From `begin` until now.
  void addSince(std::string name, Clock::time_point begin) {
    add(std::move(name), "phase", begin, Clock::now());
  }
  // The trace event format: one complete event ("X") per span, in microseconds
  // since the start.
  std::string json() const;

private:
  struct Span {
    std::string name, kind;
    Clock::time_point begin, end;
    int lane;
  };
  Clock::time_point start_;
  std::vector<Span> spans_;
};

} // namespace bycc
