// Random regions against the evaluator.
#include "Checks.h"
#include "KeptCase.h"
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

namespace {

// For one value of `n`, on a context that others have run on. The case is kept with that value.
std::string runWith(const Setup &setup, const Subject &open, Loaded::Context &context, int64_t n) {
  const Module &module = open.module;
  std::vector<Tensor> inputs;
  for (NodeId param : module.function(open.function).params) {
    std::vector<int64_t> shape;
    for (Dim dim : module.types.shape(module.type(param)))
      shape.push_back(dim.isConst() ? dim.value() : n);
    inputs.push_back(noise(module.types.dtype(module.type(param)), shape,
                           static_cast<uint32_t>(inputs.size() + 10)));
  }
  noteCase(setup, open, inputs);
  Expected<std::vector<Tensor>> wanted = evaluate(module, open.function, inputs);
  if (!wanted)
    return wanted.error().message();
  std::vector<Tensor> outputs;
  std::vector<bycc_array> in, out;
  for (const Tensor &tensor : inputs)
    in.push_back({const_cast<uint8_t *>(tensor.bytes.get()), tensor.shape.data()});
  outputs.reserve(wanted->size());
  for (const Tensor &tensor : *wanted) {
    outputs.push_back(noise(tensor.dtype, tensor.shape, 1)); // other contents than any result
    out.push_back({const_cast<uint8_t *>(outputs.back().bytes.get()), outputs.back().shape.data()});
  }
  Expected<> done = context.runOn(in.data(), out.data());
  return done ? differenceOf(outputs, *wanted) : done.error().message();
}

} // namespace

void checkOpenRegions(const Setup &setup, Findings &findings) {
  bool isAny = false;
  for (uint32_t seed = setup.seed; seed < setup.seed + numSubjects; ++seed) {
    std::string item = "seed " + std::to_string(seed);
    findings.begin(item);
    std::optional<Subject> subject = randomOpenSubject(setup, seed, 1 + seed % 8);
    isAny |= subject.has_value();
    if (!subject || findings.isGap(item))
      continue;
    Expected<Built> built = build(setup, *subject);
    if (!built) {
      findings.fail(item, built.error().message());
      continue;
    }
    Expected<Loaded> loaded = Loaded::load(setup, *built, 1);
    if (!loaded) {
      findings.fail(item, loaded.error().message());
      continue;
    }
    Loaded::Context context(*loaded, 1);
    for (int64_t n : {2, 7, 1, 2, 64, 3})
      if (std::string why = runWith(setup, *subject, context, n); !why.empty())
        findings.fail(item, "with n = " + std::to_string(n) + ": " + why);
  }
  if (!isAny)
    findings.skip("the vendor takes none of the operators with an extent that is known at run time "
                  "only");
}

} // namespace bycc::conformance
