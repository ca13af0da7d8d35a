// supports() for the zoo of OddCalls.h.
#include "Checks.h"
#include "OddCalls.h"

namespace bycc::conformance {

void checkAnswers(const Setup &setup, Findings &findings) {
  uint64_t asked = 0, taken = 0;
  for (const OddCall &call : oddCalls()) {
    Subject subject;
    std::optional<NodeId> node = call.addTo(subject);
    std::string item = call.str();
    if (!node || findings.isGap(item))
      continue;
    findings.begin(item);
    Reply first = askSupports(setup, subject.module, *node);
    Reply second = askSupports(setup, subject.module, *node);
    ++asked;
    taken += first.yes;
    findings.expect(first.yes == second.yes && first.reason == second.reason, item,
                    "two answers to one question");
    findings.expect(first.yes || !first.reason.empty(), item, "refused without a reason");
  }
  findings.note(std::to_string(taken) + " of " + std::to_string(asked) + " calls are taken");
}

} // namespace bycc::conformance
