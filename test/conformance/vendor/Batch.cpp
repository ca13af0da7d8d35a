// See Batch.h.
#include "Batch.h"

#include <algorithm>

namespace bycc::conformance {

namespace {

constexpr size_t batchSize = 32;

// "" when the region of these calls gives what they want.
std::string runTogether(const Setup &setup, std::span<const BatchItem> items, Compare compare) {
  Subject subject;
  std::vector<NodeId> calls;
  std::vector<Tensor> inputs, wanted;
  std::vector<int64_t> units;
  for (const BatchItem &item : items) {
    calls.push_back(item.add(subject).takeValue());
    inputs.insert(inputs.end(), item.inputs.begin(), item.inputs.end());
    wanted.insert(wanted.end(), item.wanted.begin(), item.wanted.end());
    units.resize(wanted.size(), item.units);
  }
  subject.setResults(calls);
  Expected<std::vector<Tensor>> results = runThrough(setup, subject, inputs);
  if (!results)
    return results.error().message();
  if (results->size() != wanted.size())
    return std::to_string(results->size()) + " results, wanted " + std::to_string(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!isWithin(units[i], (*results)[i], wanted[i]))
      if (std::string why = compare((*results)[i], wanted[i]); !why.empty())
        return why;
  return "";
}

void runOne(const Setup &setup, Findings &findings, std::span<const BatchItem> batch,
            Compare compare) {
  std::string region = "the region of " + batch.front().name + " to " + batch.back().name;
  findings.begin(region);
  if (runTogether(setup, batch, compare).empty())
    return;
  bool isAlone = false; // goes wrong alone as well
  for (const BatchItem &item : batch) {
    findings.begin(item.name);
    std::string own = runTogether(setup, {&item, 1}, compare);
    if (!own.empty())
      findings.fail(item.name, own);
    isAlone |= !own.empty();
  }
  if (!isAlone)
    findings.fail(region, runTogether(setup, batch, compare)); // the last case is it again
}

} // namespace

void runBatched(const Setup &setup, Findings &findings, std::span<const BatchItem> items,
                Compare compare) {
  for (size_t begin = 0; begin < items.size(); begin += batchSize)
    runOne(setup, findings, items.subspan(begin, std::min(batchSize, items.size() - begin)),
           compare);
}

} // namespace bycc::conformance
