// Each pattern of the vendor's table: a program that it matches is made, the
// composite formed by the passes that users run, its region compiled and compared.
#include "Checks.h"
#include "PartitionedProgram.h"
#include "PatternInstance.h"

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
