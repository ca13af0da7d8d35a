#include "PartitionedProgram.h"

#include "bycc/Partition/Passes.h"

#include <algorithm>

namespace bycc::conformance {

namespace {

bool areWithin(int64_t units, const std::vector<Tensor> &actual,
               const std::vector<Tensor> &wanted) {
  bool all = actual.size() == wanted.size();
  for (size_t i = 0; all && i < wanted.size(); ++i)
    all = isWithin(units, actual[i], wanted[i]);
  return all;
}

std::string runRegion(const Setup &setup, const Module &module, FunctionId function,
                      int64_t units) {
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
  if (!actual)
    return actual.error().message();
  return areWithin(units, *actual, *wanted) ? "" : differenceOf(*actual, *wanted);
}

} // namespace

PassContext contextOf(const Setup &setup) {
  PassContext context;
  context.target = &setup.target;
  context.vendors = setup.vendors;
  return context;
}

Expected<> partition(const Setup &setup, Module &module) {
  PassContext context = contextOf(setup);
  for (auto pass : {mergeComposite, annotateTarget, mergeCompilerRegions, partitionGraph})
    BYCC_TRY(pass(module, context));
  return {};
}

std::vector<FunctionId> regionsOf(const Setup &setup, const Module &module) {
  std::vector<FunctionId> regions;
  for (FunctionId function : module.globals())
    if (const AttrValue *vendor = module.functionAttr(function, "Compiler");
        vendor && vendor->isString() && vendor->asString() == setup.vendor->name())
      regions.push_back(function);
  return regions;
}

std::string runRegions(const Setup &setup, const Module &module, int64_t units) {
  for (FunctionId function : regionsOf(setup, module))
    if (std::string why = runRegion(setup, module, function, units); !why.empty())
      return why;
  return "";
}

} // namespace bycc::conformance
