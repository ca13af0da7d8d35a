// Operator cases through the vendor. They are compiled many at a time, as the
// results of one region: that is quicker, and a test of regions with many inputs and
// outputs. When such a region goes wrong its cases are run alone, to tell which.
#include "Checks.h"
#include "Harness.h"

#include "Cases.h"

#include <algorithm>

namespace bycc::conformance {

namespace {

using numeric::Case;

constexpr size_t batchSize = 32;

Expected<NodeId> addTo(Subject &subject, const Case &each) {
  return numeric::addCall(subject.module, subject.function, each, true, false);
}

// True when the vendor takes the case.
bool isTaken(const Setup &setup, const Case &each) {
  Subject subject;
  Expected<NodeId> call = addTo(subject, each);
  if (!call)
    return false;
  for (TypeId type : subject.module.types.flatten(subject.module.type(*call)))
    if (!subject.module.types.isStatic(type))
      return false;
  return askSupports(setup, subject.module, *call).yes;
}

// "" when the region of these cases gives what they expect.
std::string runTogether(const Setup &setup, std::span<const Case *const> cases) {
  Subject subject;
  std::vector<NodeId> calls;
  std::vector<Tensor> inputs, wanted;
  for (const Case *each : cases) {
    calls.push_back(addTo(subject, *each).takeValue());
    for (Tensor &input : numeric::parameters(*each, true))
      inputs.push_back(std::move(input));
    wanted.insert(wanted.end(), each->outputs.begin(), each->outputs.end());
  }
  subject.setResults(calls);
  Expected<std::vector<Tensor>> results = runThrough(setup, subject, inputs);
  if (!results)
    return results.error().message();
  if (results->size() != wanted.size())
    return std::to_string(results->size()) + " results, wanted " + std::to_string(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    if (std::string why = numeric::difference((*results)[i], wanted[i]); !why.empty())
      return why;
  return "";
}

void runBatch(const Setup &setup, Findings &findings, std::span<const Case *const> batch) {
  findings.begin("the region of " + batch.front()->name + " to " + batch.back()->name);
  std::string why = runTogether(setup, batch);
  if (why.empty())
    return;
  bool isAlone = false; // goes wrong alone as well
  for (const Case *each : batch) {
    findings.begin(each->name);
    std::string own = runTogether(setup, {&each, 1});
    if (!own.empty())
      findings.fail(each->name, own);
    isAlone |= !own.empty();
  }
  findings.expect(isAlone, "the region of " + batch.front()->name + " to " + batch.back()->name, why);
}

} // namespace

void checkOperators(const Setup &setup, Findings &findings) {
  std::vector<Case> cases = numeric::loadCases(setup.casesFolder);
  std::vector<const Case *> taken;
  for (const Case &each : cases) {
    findings.begin(each.name);
    if (each.error.empty() && isTaken(setup, each) && !findings.isGap(each.name))
      taken.push_back(&each);
  }
  if (taken.empty())
    return findings.skip("the vendor takes none of " + std::to_string(cases.size()) + " cases");
  for (size_t begin = 0; begin < taken.size(); begin += batchSize)
    runBatch(setup, findings,
             std::span(taken).subspan(begin, std::min(batchSize, taken.size() - begin)));
}

} // namespace bycc::conformance
