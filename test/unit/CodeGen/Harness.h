// Runs kernels two ways: compiled and loaded in process, and by plain loops over
// their definition in double precision.
#pragma once

#include "bycc/Loops/Loops.h"
#include "bycc/abi.h"

#include <functional>
#include <memory>
#include <vector>

namespace bycc::codegen {

using namespace loops;

using Data = std::vector<std::vector<double>>; // per buffer, numbers

// Every stage by its definition; `data` holds inputs, gets outputs.
void interpret(const Kernel &kernel, const std::vector<int64_t> &dims, Data &data);

class Compiled {
public:
  Compiled(const Kernel &kernel, const TargetInfo &target, KernelEdits *edits = nullptr);
  ~Compiled();
  // Inputs from `data`, outputs into it; `threads` slices of every parallel loop.
  void run(const std::vector<int64_t> &dims, Data &data, int threads = 1);
  // Seconds of one run, minimum of some.
  double seconds(const std::vector<int64_t> &dims, Data &data);
  const Loops &loops() const;
  std::string assembly() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

TargetInfo nativeTarget();
// Numbers in [-1, 1), the same every time.
std::vector<double> randomNumbers(size_t count, uint64_t seed);

} // namespace bycc::codegen
