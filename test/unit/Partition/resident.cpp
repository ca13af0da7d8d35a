// What the report says of tensors that never leave a vendor's memory: they do not
// cross a boundary.

#include "bycc/Parser/Relay.h"
#include "bycc/Partition/OffloadReport.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Target/VendorRegistry.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

constexpr const char *own =
    R"({"vendor": "v", "ops": {"exp": {}}, "merge_regions": false, "own_memory": true})";
constexpr const char *shared = R"({"vendor": "v", "ops": {"exp": {}}, "merge_regions": false})";

OffloadReport reportOf(const std::string &text, const char *file) {
  Module module = parseRelay("#[version = \"0.0.5\"]\n" + text, "t.relay").takeValue();
  VendorSet vendors;
  vendors.add(readVendorFile(file, "v.json").takeValue());
  TargetInfo target;
  RefusalLog refusals;
  PassContext context;
  context.target = &target;
  context.vendors = &vendors;
  context.refusals = &refusals;
  for (auto pass : {annotateTarget, choosePlan, partitionGraph})
    if (auto done = pass(module, context); !done)
      FAIL(done.error().str());
  return makeOffloadReport(module, &refusals, &vendors);
}

using Crossing = std::pair<int64_t, std::vector<int64_t>>;

// Tensors of the whole program, and of each region, that cross.
Crossing crossing(const std::string &text, const char *file) {
  OffloadReport report = reportOf(text, file);
  std::vector<int64_t> each;
  for (const OffloadFunction &function : report.functions) {
    each.push_back(function.boundaryTensors);
    CHECK(function.boundaryBytes == 256 * function.boundaryTensors);
  }
  CHECK(report.totals.boundaryBytes == 256 * report.totals.boundaryTensors);
  CHECK(report.byVendor["v"].boundaryTensors == report.totals.boundaryTensors);
  return {report.totals.boundaryTensors, each};
}

} // namespace

TEST_CASE("resident: what only regions of one vendor touch does not cross") {
  std::string chain = R"(def @main(%x: Tensor[(64), float32]) {
  %0 = exp(%x);
  %1 = exp(%0);
  exp(%1)
})";
  CHECK(crossing(chain, own) == Crossing{2, {1, 0, 1}});
  CHECK(crossing(chain, shared) == Crossing{6, {2, 2, 2}});
}

TEST_CASE("resident: not what the host reads as well") {
  CHECK(crossing(R"(def @main(%x: Tensor[(64), float32]) {
  %0 = exp(%x);
  %1 = exp(%0);
  %2 = tanh(%0);
  (%1, %2)
})",
                 own) == Crossing{4, {2, 2}});
  CHECK(crossing(R"(def @main(%x: Tensor[(64), float32]) {
  %0 = exp(%x);
  %1 = exp(%0);
  (%0, %1)
})",
                 own) == Crossing{4, {2, 2}});
}

TEST_CASE("resident: not what the host passes on") {
  CHECK(crossing(R"(def @main(%c: bool, %x: Tensor[(64), float32]) {
  %0 = exp(%x);
  %1 = if (%c) {
    %2 = exp(%0);
    exp(%2)
  } else {
    exp(%0)
  };
  exp(%1)
})",
                 own) == Crossing{5, {1, 0, 1, 1, 2}});
}

TEST_CASE("resident: not what a turn of a loop makes") {
  CHECK(crossing(R"(def @loop(%n: int32, %x: Tensor[(64), float32]) -> Tensor[(64), float32] {
  %0 = greater(%n, 0);
  if (%0) {
    %1 = exp(%x);
    %2 = exp(%1);
    %3 = subtract(%n, 1);
    @loop(%3, %2)
  } else {
    %x
  }
}
def @main(%n: int32, %x: Tensor[(64), float32]) -> Tensor[(64), float32] {
  @loop(%n, %x)
})",
                 own)
            .first == 4);
}

// It is loaded once, and its input comes from the host at the first call.
TEST_CASE("resident: all calls of a region must agree") {
  OffloadReport report = reportOf(
      R"(def @r(%a: Tensor[(64), float32], Compiler="v", global_symbol="r", Primitive=1) -> Tensor[(64), float32] {
  exp(%a)
}
def @main(%x: Tensor[(64), float32]) {
  %0 = @r(%x);
  %1 = @r(%0);
  @r(%1)
})",
      own);
  REQUIRE(report.functions.size() == 1);
  CHECK(report.functions[0].boundaryTensors == 6);
}
