// Operator cases, and some odd calls, through the vendor.
#include "Batch.h"
#include "Checks.h"
#include "OddCalls.h"

#include "Cases.h"

namespace bycc::conformance {

namespace {

using numeric::Case;

Expected<NodeId> addCase(Subject &subject, const Case &each) {
  return numeric::addCall(subject.module, subject.function, each, true, numeric::Extents::Known);
}

bool isStatic(const Module &module, NodeId node) {
  for (TypeId type : module.types.flatten(module.type(node)))
    if (!module.types.isStatic(type))
      return false;
  return true;
}

// True when the vendor takes the case.
bool isTaken(const Setup &setup, const Case &each) {
  Subject subject;
  Expected<NodeId> call = addCase(subject, each);
  return call && isStatic(subject.module, *call) && askSupports(setup, subject.module, *call).yes;
}

std::string differenceOfOne(const Tensor &actual, const Tensor &wanted) {
  return differenceOf({actual}, {wanted});
}

// Odd calls take long for what they find: a share of them, by the seed.
constexpr uint32_t oddShare = 13;
constexpr int64_t maxElements = 512;

// The call with inputs and the evaluator's results, if the vendor takes it.
std::optional<BatchItem> oddItem(const Setup &setup, const OddCall &call) {
  Subject subject;
  std::optional<NodeId> node = call.addTo(subject);
  if (!node || !call.isSmall(maxElements) || !isStatic(subject.module, *node) ||
      !askSupports(setup, subject.module, *node).yes)
    return std::nullopt;
  subject.setResults({*node});
  for (TypeId type : subject.resultTypes())
    if (*subject.module.types.sizeBytes(type) > 8 * maxElements)
      return std::nullopt;
  std::vector<Tensor> inputs = subject.inputs(5);
  Expected<std::vector<Tensor>> wanted = evaluate(subject.module, subject.function, inputs);
  if (!wanted)
    return std::nullopt;
  auto add = [call](Subject &to) -> Expected<NodeId> { return *call.addTo(to); };
  return BatchItem{call.str(), add, std::move(inputs), wanted.takeValue(),
                   setup.gaps.unitsOf("numeric.odd/" + call.str())};
}

} // namespace

void checkOperators(const Setup &setup, Findings &findings) {
  std::vector<Case> cases = numeric::loadCases(setup.casesFolder);
  std::vector<BatchItem> taken;
  for (const Case &each : cases) {
    findings.begin(each.name);
    if (each.error.empty() && isTaken(setup, each) && !findings.isGap(each.name))
      taken.push_back({each.name, [&each](Subject &subject) { return addCase(subject, each); },
                       numeric::parameters(each, true), each.outputs,
                       setup.gaps.unitsOf("numeric.operators/" + each.name)});
  }
  if (taken.empty())
    return findings.skip("the vendor takes none of " + std::to_string(cases.size()) + " cases");
  runBatched(setup, findings, taken, numeric::difference);
}

void checkOddCalls(const Setup &setup, Findings &findings) {
  std::vector<BatchItem> taken;
  uint32_t number = setup.seed;
  for (const OddCall &call : oddCalls()) {
    if (!call.isSmall(maxElements) || call.variant > 1 || ++number % oddShare != 0)
      continue;
    findings.begin(call.str());
    std::optional<BatchItem> item = oddItem(setup, call);
    if (item && !findings.isGap(item->name))
      taken.push_back(std::move(*item));
  }
  if (taken.empty())
    return findings.skip("the vendor takes none of the odd calls");
  runBatched(setup, findings, taken, differenceOfOne);
}

} // namespace bycc::conformance
