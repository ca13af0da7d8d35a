// Weights that a vendor's compile half makes, and when it gets none. From another process:
// test/e2e/vendor_weights.sh.

#include "bycc/Parser/Relay.h"
#include "bycc/Support/Sized.h"
#include "bycc/Target/RegionCompiler.h"
#include "bycc/Target/RegionView.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

using namespace bycc;

namespace {

// Asks for as many bytes as the constant says, fills them, and gives a blob.
// Negative: refuses once they are filled.
constexpr double refuses = -1;

double wantedBytes(const bycc_region &region) {
  for (uint32_t i = 0; i < region.num_values; ++i)
    if (const void *data = bycc_value_at(&region, i)->data)
      return *static_cast<const double *>(data);
  return 0;
}

int32_t supports(void *, const bycc_target *, const bycc_region *, bycc_answer *answer) {
  return answer->weights(answer, 64) == nullptr;
}

int32_t compile(void *, const bycc_target *, const bycc_region *region, bycc_answer *answer) {
  double wanted = wantedBytes(*region);
  auto bytes = wanted < 0 ? uint64_t{1} << 20 : static_cast<uint64_t>(wanted);
  auto *memory = static_cast<uint8_t *>(answer->weights(answer, bytes));
  bool isZero = memory != nullptr;
  for (uint64_t i = 0; memory && i < bytes; ++i) {
    isZero &= memory[i] == 0;
    memory[i] = static_cast<uint8_t>(i * 7 + bytes);
  }
  bool isAligned = reinterpret_cast<uintptr_t>(memory) % 64 == 0;
  bool isGivenTwice = answer->weights(answer, 64) != nullptr && memory;
  std::string blob = std::string(memory ? "some" : "null") + (isZero ? " zero" : "") +
                     (isAligned ? " aligned" : "") + (isGivenTwice ? " twice" : "");
  answer->blob(answer, blob.data(), blob.size());
  return wanted == refuses;
}

int32_t tune(void *, const bycc_target *, const bycc_region *, bycc_answer *answer) {
  answer->blob(answer, answer->weights(answer, 64) ? "some" : "null", 4);
  return 0;
}

bycc_vendor_compiler table(uint64_t flags) {
  auto result = sized<bycc_vendor_compiler>();
  result.abi_version = BYCC_VENDOR_ABI_VERSION;
  result.name = "v";
  result.version = "1";
  result.supports = supports;
  result.compile = compile;
  result.tune = tune;
  result.flags = flags;
  return result;
}

std::unique_ptr<Vendor> vendorWith(uint64_t flags) {
  bycc_vendor_compiler compiler = table(flags);
  auto vendor = Vendor::fromCompiler(&compiler);
  REQUIRE(vendor);
  return vendor.takeValue();
}

Module asking(double bytes) {
  auto module = parseRelay("#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(), float64]) { add(%x, " +
                               std::to_string(bytes) + "f64) }",
                           "t.relay");
  if (!module)
    FAIL(module.error().str());
  return module.takeValue();
}

std::string textOf(const RegionOutcome &outcome) {
  return {outcome.blob.begin(), outcome.blob.end()};
}

// What compile() of `bytes` bytes has written.
void checkFilled(const RegionOutcome &outcome, uint64_t bytes) {
  REQUIRE(outcome.kind == RegionOutcome::Kind::Done);
  CHECK(textOf(outcome) == "some zero aligned");
  REQUIRE(outcome.weights);
  REQUIRE(outcome.weights->size() == bytes);
  CHECK(reinterpret_cast<uintptr_t>(outcome.weights->data()) % 64 == 0);
  bool isRight = true;
  for (uint64_t i = 0; i < bytes; ++i)
    isRight &= outcome.weights->data()[i] == static_cast<uint8_t>(i * 7 + bytes);
  CHECK(isRight);
}

} // namespace

TEST_CASE("a vendor's own weights arrive, and once only") {
  TargetInfo target;
  auto vendor = vendorWith(BYCC_VENDOR_OWN_WEIGHTS);
  for (double bytes : {1.0, 4096.0, 5000.0, 3e6}) {
    Module module = asking(bytes);
    checkFilled(compileRegion(*vendor, target, RegionView::ofFunction(module, module.main())),
                static_cast<uint64_t>(bytes));
  }
}

TEST_CASE("without the flag, for no bytes and for too many there are no weights") {
  TargetInfo target;
  auto vendor = vendorWith(BYCC_VENDOR_OWN_WEIGHTS), without = vendorWith(0);
  Module some = asking(64);
  CHECK(textOf(compileRegion(*without, target, RegionView::ofFunction(some, some.main()))) ==
        "null aligned");
  CHECK(textOf(compileRegion(*vendor, target, RegionView::ofFunction(some, some.main()), UINT64_MAX,
                             true)) == "null");
  for (double bytes : {0.0, 1e15, 1.8e19}) {
    Module module = asking(bytes);
    RegionOutcome outcome =
        compileRegion(*vendor, target, RegionView::ofFunction(module, module.main()));
    CHECK(outcome.kind == RegionOutcome::Kind::Done);
    CHECK(!textOf(outcome).starts_with("some"));
  }
  CHECK(VendorAsker(*vendor, some, target)
            .supports(some.block(some.function(some.main()).body).result));
}

TEST_CASE("a region that is refused keeps no weights") {
  TargetInfo target;
  auto vendor = vendorWith(BYCC_VENDOR_OWN_WEIGHTS);
  Module module = asking(refuses);
  RegionOutcome outcome =
      compileRegion(*vendor, target, RegionView::ofFunction(module, module.main()));
  CHECK(outcome.kind == RegionOutcome::Kind::Refused);
  CHECK(!outcome.weights);
}
