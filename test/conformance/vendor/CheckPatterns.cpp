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

// The name of a composite of the pattern; "": there is none.
std::string formed(const Module &module, const Pattern &pattern) {
  for (uint32_t f = 0; f < module.numFunctions(); ++f)
    if (std::string name = stringAttr(module, FunctionId(f), "Composite");
        name == pattern.name || (pattern.isOpen() && !name.empty()))
      return name;
  return "";
}

// False when no instance was found.
bool checkOne(const Setup &setup, Findings &findings, const Pattern &pattern, size_t variant) {
  for (bool constants : {true, false}) {
    PatternInstances instances(pattern, setup.vendor->patterns(), variant);
    for (int tried = 0; tried < maxInstances; ++tried) {
      findings.begin(pattern.name + ", instance " + std::to_string(tried));
      std::optional<Module> module = instances.next(constants);
      if (!module)
        break;
      if (Expected<> done = partition(setup, *module); !done) {
        findings.fail(pattern.name, done.error().message());
        return true;
      }
      std::string name = formed(*module, pattern);
      if (name.empty())
        continue;
      std::string why = runRegions(setup, *module, setup.gaps.unitsOf("numeric.patterns/" + name));
      findings.expect(why.empty(), name, why);
      return true;
    }
  }
  return false;
}

} // namespace

void checkPatterns(const Setup &setup, Findings &findings) {
  std::vector<std::string> without;
  size_t asked = 0, found = 0;
  for (const Pattern &pattern : setup.vendor->patterns()) {
    size_t variants = PatternInstances::numVariants(pattern), formed = 0, tried = 0;
    for (size_t i = 0; i < variants; ++i)
      if (!findings.isGap(pattern.name)) {
        ++tried;
        formed += checkOne(setup, findings, pattern, i);
      }
    if (formed < tried)
      without.push_back(pattern.name + (variants == 1
                                            ? ""
                                            : " in " + std::to_string(tried - formed) + " of " +
                                                  std::to_string(variants) + " variants"));
    asked += variants;
    found += formed;
  }
  if (asked == 0)
    return findings.skip("the vendor has no patterns");
  if (!without.empty())
    findings.note("no program was found that forms " + join(without, ", "));
  if (found == 0)
    findings.skip("no program was found for any of the patterns");
}

} // namespace bycc::conformance
