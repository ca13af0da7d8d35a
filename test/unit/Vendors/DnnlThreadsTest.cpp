// Which steps of the dnnl vendor are worth more than one thread.
#include "dnnl/Threads.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::onednn;

namespace {

int32_t threadsForMatMul(int64_t rows, int64_t size, DType dtype) {
  Plan plan;
  for (const Dims &dims : {Dims{rows, size}, Dims{size, size}, Dims{rows, size}})
    plan.values.push_back({dtype, ValueKind::Temp, 0, dims});
  Step step;
  step.kind = StepKind::MatMul;
  step.inputs = {0, 1};
  step.output = 2;
  return threadsFor(plan, step, 4);
}

} // namespace

TEST_CASE("dnnl runs small steps on one thread, large ones on all") {
  CHECK(threadsForMatMul(8, 64, DType::Float32) == 1);
  CHECK(threadsForMatMul(128, 768, DType::Float32) == 4);
  CHECK(threadsForMatMul(128, 768, DType::BFloat16) == 4);
  CHECK(threadsForMatMul(32, 80, DType::BFloat16) == 1); // twice as fast as in float32
  CHECK(threadsForMatMul(32, 80, DType::Float32) == 4);
  CHECK(threadsForBytes(1 << 10, 4) == 1);
  CHECK(threadsForBytes(1 << 20, 4) == 4);
}
