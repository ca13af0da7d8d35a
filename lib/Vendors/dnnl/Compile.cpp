// Compile half of the dnnl vendor: answers for nodes and writes regions.
//
// A node is supported when it translates to a plan whose shapes check, and the
// library has a primitive for every step. A composite must in addition become
// one primitive (Claim.h): the partitioner then falls back to its parts. What was asked
// once of the library is remembered, as models repeat their layers.
//
// What the library has a reference loop for is refused: code of the host is 10 to 300 times
// faster. The library answers for the target's instruction set as far as this machine has it:
// two machines that both have it give the same answers.
#include "Claim.h"
#include "InstructionSet.h"
#include "Library.h"
#include "Needs.h"
#include "OpenPools.h"
#include "Pack.h"
#include "PlanRegion.h"
#include "RegionCopy.h"
#include "Sums.h"
#include "Threads.h"

#include "bycc/vendor.hpp"

#include <algorithm>

extern "C" const char dnnl_patterns[];

namespace bycc::onednn {

namespace {

// Values that differ from the likely ones and, mostly, from each other: what holds for
// both is no accident of equal extents or of extents of one.
Dims otherThan(const Dims &likely) {
  Dims values;
  for (size_t i = 0; i < likely.size(); ++i) {
    int64_t value = 112 + 16 * static_cast<int64_t>(i);
    values.push_back(value == likely[i] ? value + 8 : value);
  }
  return values;
}

// A region with run-time extents must work for some before it is promised for all:
// for those that it will likely see, and for others. Of int32 sums whose bounds differ
// between the two nothing is known for a third.
std::optional<Plan> planForSamples(const RegionCopy &copy, const Dims &likely, ProbeCache &cache,
                                   Refusal &refusal) {
  std::optional<Plan> plan;
  std::optional<std::vector<double>> sums;
  for (const Dims &symbols : {likely, otherThan(likely)}) {
    auto instance = RegionInstance::make(copy, symbols, {});
    plan.reset();
    if (instance)
      plan = planFor((*instance)->region(), cache, refusal);
    else
      refusal = {Refusal::unknown, instance.error().message()};
    if (!plan)
      break;
    std::vector<double> found = sumsThatLeave(*plan);
    if (sums && *sums != found) {
      refusal = {Refusal::unknown,
                 "int32: how many products are added is known at run time only, and "
                 "oneDNN's sums pass through float32, which is exact up to 2^24"};
      return std::nullopt;
    }
    sums = std::move(found);
  }
  return plan;
}

// The plan of a region, or of an instance of it.
std::optional<Plan> anyPlanFor(const bycc_region &region, ProbeCache &cache, Refusal &refusal) {
  if (!hasRunTimeExtents(region))
    return planFor(region, cache, refusal);
  if (std::optional<Refusal> found = refusalOfOpenPools(region)) {
    refusal = *found;
    return std::nullopt;
  }
  Expected<RegionCopy> copy = copyRegion(region);
  Dims likely;
  for (uint32_t i = 0; i < region.num_symbols; ++i)
    likely.push_back(bycc_symbol_at(&region, i)->likely);
  if (copy)
    return planForSamples(*copy, likely, cache, refusal);
  refusal = {region.num_nodes == 1 ? 0 : Refusal::unknown, copy.error().message()};
  return std::nullopt;
}

// What the run half needs: a plan, lowered and with packed constants, ...
Expected<vendor::Bytes> writePlanned(const Plan &plan, bool isLimited, int32_t threads,
                                     const vendor::Question &question) {
  Packed packed = isLimited ? BYCC_TRY(packPlan(plan, threads)) : storePlain(plan);
  packed.blob.nan = nanModeOf(question.target, plan);
  if (packed.weightsBytes)
    packed.writeWeights(question.weights(packed.weightsBytes).data());
  return writeBlob(packed.blob);
}

// ... or the region itself where extents are missing, with its constants as they are.
Expected<vendor::Bytes> writeUnplanned(const vendor::Question &question) {
  const bycc_region &region = question.region.raw();
  RegionCopy copy = BYCC_TRY(copyRegion(region));
  copy.nan = nanModeOf(question.target, region);
  BYCC_TRY(checkSymbols(copy));
  if (uint64_t bytes = placeConstants(copy))
    copyConstants(copy, question.weights(bytes).data());
  return writeRegion(copy);
}

[[noreturn]] void refuse(const Refusal &why) {
  vendor::Refusal refusal(why.reason);
  if (why.node != Refusal::unknown)
    refusal.node = why.node;
  throw refusal;
}

// Nothing, and why, where the target cannot run what the library has for the region.
std::optional<Plan> planOn(const bycc_target &target, const bycc_region &region, ProbeCache &cache,
                           Refusal &refusal) {
  Expected<> suits = checkBFloat16(target, region);
  std::optional<Plan> plan;
  if (suits)
    plan = anyPlanFor(region, cache, refusal);
  if (plan)
    suits = checkInt8(target, *plan);
  if (plan && suits)
    suits = checkSums(*plan);
  if (suits)
    return plan;
  refusal = {Refusal::unknown, suits.error().message()};
  return std::nullopt;
}

// Answers are for the target: its instruction set and thread count, whatever this
// machine's are.
class OnTarget {
public:
  explicit OnTarget(const bycc_target &target)
      : isLimited(limitInstructionSet(target.features)), threads(std::max(target.threads, 1)),
        scope_(threads) {}
  const bool isLimited; // the library generates code for just that
  const int32_t threads;

private:
  ThreadScope scope_;
};

struct Compiler {
  void supports(const vendor::Question &question) {
    OnTarget onTarget(question.target);
    Plan plan = planned(question);
    vendor::Node node = question.node();
    if (!node.isComposite())
      return;
    if (std::string why = refusalOfComposite(plan); !why.empty())
      refuse({0, why});
    if (std::string_view(node.op()) == "dnnl.*")
      question.name(nameOfComposite(node, plan));
  }

  vendor::Bytes compile(const vendor::Question &question) {
    OnTarget onTarget(question.target);
    Plan plan = planned(question);
    Expected<vendor::Bytes> blob =
        hasRunTimeExtents(question.region.raw())
            ? writeUnplanned(question)
            : writePlanned(plan, onTarget.isLimited, onTarget.threads, question);
    if (!blob)
      refuse({Refusal::unknown, blob.error().message()});
    return std::move(*blob);
  }

private:
  Plan planned(const vendor::Question &question) {
    Refusal refusal;
    std::optional<Plan> plan = planOn(question.target, question.region.raw(), cache, refusal);
    if (!plan)
      refuse(refusal);
    return std::move(*plan);
  }
  ProbeCache cache;
};

} // namespace
} // namespace bycc::onednn

extern "C" const bycc_vendor_compiler *bycc_vendor_compiler_dnnl(void) {
  using namespace bycc::onednn;
  static const std::string version = std::to_string(planVersion), library = libraryVersion(),
                           names = operatorNames();
  static Compiler half;
  static const bycc_vendor_compiler table =
      bycc::vendor::compilerTable({.name = "dnnl",
                                   .version = version.c_str(),
                                   .library = library.c_str(),
                                   .patterns = dnnl_patterns,
                                   .operators = names.c_str(),
                                   .flags = BYCC_VENDOR_OWN_WEIGHTS | BYCC_VENDOR_LOSES_NAN},
                                  half);
  return &table;
}
