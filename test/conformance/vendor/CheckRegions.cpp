// Random regions against the evaluator.
#include "Checks.h"
#include "RandomSubject.h"

namespace bycc::conformance {

namespace {

constexpr uint32_t numSubjects = 16;

std::string runOne(const Setup &setup, const Subject &subject, uint32_t seed) {
  std::vector<Tensor> inputs = subject.inputs(seed);
  Expected<std::vector<Tensor>> wanted = evaluate(subject.module, subject.function, inputs);
  if (!wanted)
    return wanted.error().message();
  Expected<std::vector<Tensor>> actual = runThrough(setup, subject, inputs);
  return actual ? differenceOf(*actual, *wanted) : actual.error().message();
}

// The smallest region of the same seed that still goes wrong.
std::string shrunk(const Setup &setup, Findings &findings, uint32_t seed, size_t size) {
  for (size_t smaller = 1; smaller < size; ++smaller) {
    std::optional<Subject> subject = randomSubject(setup, seed, smaller);
    findings.begin("seed " + std::to_string(seed) + ", " + std::to_string(smaller) + " calls");
    if (!subject)
      continue;
    if (std::string own = runOne(setup, *subject, seed); !own.empty()) {
      const Block &body = subject->module.block(subject->module.function(subject->function).body);
      std::string list;
      for (NodeId node : body.nodes)
        if (subject->module.node(node).kind == NodeKind::CallOp)
          list += " " + std::string(opInfo(subject->module.node(node).op).name);
      return own + ", in a region of" + list;
    }
  }
  return runOne(setup, *randomSubject(setup, seed, size), seed); // the last case is it again
}

} // namespace

void checkRegions(const Setup &setup, Findings &findings) {
  bool isAny = false;
  for (uint32_t seed = setup.seed; seed < setup.seed + numSubjects; ++seed) {
    std::string item = "seed " + std::to_string(seed);
    findings.begin(item);
    size_t size = 2 + seed % 12;
    std::optional<Subject> subject = randomSubject(setup, seed, size);
    isAny |= subject.has_value();
    if (!subject || findings.isGap(item))
      continue;
    if (std::string why = runOne(setup, *subject, seed); !why.empty())
      findings.fail(item, shrunk(setup, findings, seed, size));
  }
  if (!isAny)
    findings.skip("the vendor takes none of the operators that random regions are made of");
}

} // namespace bycc::conformance
