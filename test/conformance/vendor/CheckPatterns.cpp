// Each pattern of the vendor's table: a program that it matches is made, the
// composite formed by the passes that users run, its region compiled and compared.
#include "Checks.h"
#include "PatternInstance.h"

#include "bycc/Partition/Passes.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc::conformance {

namespace {

constexpr int maxInstances = 300; // tried per pattern

std::string stringAttr(const Module &module, FunctionId function, std::string_view key) {
  const AttrValue *value = module.functionAttr(function, key);
  return value && value->isString() ? value->asString() : "";
}

bool hasComposite(const Module &module, const std::string &name) {
  for (uint32_t f = 0; f < module.numFunctions(); ++f)
    if (stringAttr(module, FunctionId(f), "Composite") == name)
      return true;
  return false;
}

Expected<> partition(const Setup &setup, Module &module) {
  PassContext context;
  context.target = &setup.target;
  context.vendors = setup.vendors;
  for (auto pass : {mergeComposite, annotateTarget, mergeCompilerRegions, partitionGraph})
    BYCC_TRY(pass(module, context));
  return {};
}

bool areWithin(int64_t units, const std::vector<Tensor> &actual, const std::vector<Tensor> &wanted) {
  bool all = actual.size() == wanted.size();
  for (size_t i = 0; all && i < wanted.size(); ++i)
    all = isWithin(units, actual[i], wanted[i]);
  return all;
}

// "" when every region gives the evaluator's results.
std::string runRegions(const Setup &setup, const Module &module, int64_t units) {
  for (FunctionId function : module.globals()) {
    if (stringAttr(module, function, "Compiler") != setup.vendor->name())
      continue;
    std::vector<Tensor> inputs;
    for (NodeId param : module.function(function).params)
      for (TypeId type : module.types.flatten(module.type(param)))
        inputs.push_back(noise(module.types.dtype(type), shapeOf(module, type),
                               static_cast<uint32_t>(inputs.size()) + 3));
    Expected<std::vector<Tensor>> wanted = evaluate(module, function, inputs);
    Expected<Built> built = build(setup, module, function);
    if (!wanted || !built)
      return (wanted ? built.error() : wanted.error()).message();
    Expected<Loaded> loaded = Loaded::load(setup, *built, 1);
    if (!loaded)
      return loaded.error().message();
    Expected<std::vector<Tensor>> actual = Loaded::Context(*loaded, 1).run(inputs);
    std::string why = actual ? differenceOf(*actual, *wanted) : actual.error().message();
    if (!why.empty() && !(actual && areWithin(units, *actual, *wanted)))
      return why;
  }
  return "";
}

// False when no instance was found.
bool checkOne(const Setup &setup, Findings &findings, const Pattern &pattern) {
  for (bool constants : {true, false}) {
    PatternInstances instances(pattern, setup.vendor->patterns());
    for (int tried = 0; tried < maxInstances; ++tried) {
      findings.begin(pattern.name + ", instance " + std::to_string(tried));
      std::optional<Module> module = instances.next(constants);
      if (!module)
        break;
      if (Expected<> done = partition(setup, *module); !done) {
        findings.fail(pattern.name, done.error().message());
        return true;
      }
      if (!hasComposite(*module, pattern.name))
        continue;
      std::string why =
          runRegions(setup, *module, setup.gaps.unitsOf("numeric.patterns/" + pattern.name));
      findings.expect(why.empty(), pattern.name, why);
      return true;
    }
  }
  return false;
}

} // namespace

void checkPatterns(const Setup &setup, Findings &findings) {
  const std::vector<Pattern> &patterns = setup.vendor->patterns();
  std::vector<std::string> without;
  for (const Pattern &pattern : patterns)
    if (!findings.isGap(pattern.name) && !checkOne(setup, findings, pattern))
      without.push_back(pattern.name);
  if (patterns.empty())
    return findings.skip("the vendor has no patterns");
  if (!without.empty())
    findings.note("no program was found that forms " + join(without, ", "));
  if (without.size() == patterns.size())
    findings.skip("no program was found for any of the patterns");
}

} // namespace bycc::conformance
