// See Threads.h. A rough estimate will do: steps near the limit take the same time either
// way. Measured with two threads: 2 us is best for bert_tiny when nothing else runs, more
// when others want the processors.
#include "Threads.h"

#include "Usage.h"

#include <algorithm>

namespace bycc::onednn {

namespace {

constexpr double limitUs = 2;
constexpr double bytesPerUs = 20e3;
constexpr double flopsPerUs = 150e3; // float32; narrower elements in proportion

double bytesOf(const Plan &plan, ValueId id) {
  const Value &value = plan.values[id];
  return static_cast<double>(numElements(value.dims)) *
         static_cast<double>(sizeInBytes(value.dtype));
}

double microseconds(const Plan &plan, const Step &step) {
  double bytes = bytesOf(plan, step.output);
  for (ValueId id : step.inputs)
    bytes += bytesOf(plan, id);
  for (const PostOp &postOp : step.postOps)
    if (postOp.operand != noValue)
      bytes += bytesOf(plan, postOp.operand);
  double flops = isProduct(step.kind) ? arithmeticOf(plan, step) : 0; // others: their traffic
  double width = static_cast<double>(sizeInBytes(plan.values[step.inputs[0]].dtype)) / 4;
  return std::max(bytes / bytesPerUs, flops * width / flopsPerUs);
}

} // namespace

int32_t threadsFor(const Plan &plan, const Step &step, int32_t threads) {
  return microseconds(plan, step) < limitUs ? 1 : threads;
}

int32_t threadsForBytes(uint64_t bytes, int32_t threads) {
  return static_cast<double>(bytes) / bytesPerUs < limitUs ? 1 : threads;
}

ThreadScope::ThreadScope(int32_t threads) : before_(libraryThreads()) {
  setLibraryThreads(threads);
}

ThreadScope::~ThreadScope() { setLibraryThreads(before_); }

} // namespace bycc::onednn
