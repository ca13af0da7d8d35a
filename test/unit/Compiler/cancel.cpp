// Progress, and how a compilation is stopped at any point of it.

#include "Requests.h"

#include <catch2/catch.hpp>

#include <map>

using namespace bycc;

namespace {

CompileRequest request() {
  CompileRequest request = requestOf(program(
      "%0 = nn.dense(%x, %w, units=32);\n  tanh(%0)",
      "%x: Tensor[(4, 64), float32], %w: Tensor[(32, 64), float32]", "Tensor[(4, 32), float32]"));
  request.vendors.annotate = "dnnl";
  request.vendors.costModel = "none";
  return request;
}

} // namespace

TEST_CASE("progress tells phase, item and how many there are") {
  CompileRequest all = request();
  std::vector<Progress> seen;
  all.callbacks.progress = [&](const Progress &progress) {
    seen.push_back(progress);
    return true;
  };
  auto model = Compiler().compile(all);
  if (!model)
    FAIL(model.error().str());
  std::map<Phase, size_t> steps;
  Phase last = Phase::Start;
  for (const Progress &progress : seen) {
    ++steps[progress.phase];
    CHECK(progress.index <= progress.count);
    if (progress.phase != Phase::Regions && last != Phase::Regions)
      CHECK(progress.phase >= last);
    last = progress.phase;
  }
  CHECK(steps[Phase::Load] == 1);
  CHECK(steps[Phase::Passes] > 5);
  CHECK(steps[Phase::Regions] >= 2); // before and after
  CHECK(steps[Phase::HostCode] >= 2);
  CHECK(steps[Phase::Finish] == 1);
}

TEST_CASE("stopped at any step it ends with CANCELLED, and the compiler can go on") {
  Compiler compiler;
  CompileRequest all = request();
  size_t count = 0;
  all.callbacks.progress = [&](const Progress &) { return ++count > 0; };
  REQUIRE(compiler.compile(all));
  // Waiting for vendors is a step each 100 ms: how many there are may differ.
  size_t stop = 0, step = 0;
  for (stop = 1; stop + 3 < count; stop += 3) {
    step = 0;
    all.callbacks.progress = [&](const Progress &) { return ++step < stop; };
    Expected<CompiledModel> model = compiler.compile(all);
    REQUIRE(!model);
    CHECK(model.error().status() == Status::Cancelled);
    CHECK(model.error().str() == "error[CANCELLED]: stopped by the caller\n");
    CHECK(step == stop); // it is not asked again
  }
  all.callbacks.progress = nullptr;
  CHECK(compiler.compile(all));
}
