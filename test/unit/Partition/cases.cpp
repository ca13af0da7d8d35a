// The partitioning cases at library level: parse, bind, the four passes, check.

#include "CaseCheck.h"

#include "bycc/IR/Infer.h"
#include "bycc/IR/Printer.h"
#include "bycc/IR/Verifier.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Parser/Relay.h"
#include "bycc/Partition/OffloadReport.h"
#include "bycc/Partition/Passes.h"
#include "bycc/Support/File.h"
#include "bycc/Target/Placement.h"
#include "bycc/Target/VendorRegistry.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

std::string folder(const char *name) {
  return std::string(BYCC_SOURCE_DIR) + "/test/cases/" + name;
}

Module parse(const cases::CaseFiles &files) {
  Expected<std::string> text = readFile(files.program);
  REQUIRE(text);
  Expected<Module> module = parseRelay(*text, files.program);
  if (!module)
    FAIL(module.error().str());
  return module.takeValue();
}

bool usesBuiltIn(const cases::CaseFiles &files) {
  const JsonValue *pipeline = files.expect.find("pipeline");
  const JsonValue *vendors = pipeline ? pipeline->find("vendors") : nullptr;
  return vendors && std::ranges::any_of(vendors->items, [](const JsonValue &vendor) {
           return vendor.find("builtin") != nullptr;
         });
}

// Parameters of @main that the case gives become constants.
void bind(Module &module, const cases::CaseFiles &files) {
  const JsonValue *params = files.expect.find("params");
  if (!params)
    return;
  std::vector<NodeId> &mainParams = module.function(module.main()).params;
  for (const auto &[name, json] : params->members) {
    auto found = std::ranges::find_if(
        mainParams, [&](NodeId param) { return module.string(module.node(param).name) == name; });
    REQUIRE(found != mainParams.end());
    cases::CaseTensor tensor = cases::readTensor(json, files.expectFile).takeValue();
    std::vector<Dim> shape(tensor.shape.begin(), tensor.shape.end());
    std::vector<uint8_t> bytes = tensor.bytes();
    NodeId constant = module.addConstant(tensor.dtype, shape, bytes.data(), bytes.size());
    module.node(*found) = module.node(constant);
    mainParams.erase(found);
  }
}

} // namespace

TEST_CASE("partitioning cases") {
  std::string from = folder(GENERATE("byoc", "partition"));
  for (const std::string &name : cases::caseNames(from)) {
    cases::CaseFiles files = cases::readCase(from, name).takeValue();
    if (files.isError() || usesBuiltIn(files))
      continue; // the parser's, or for the command line, where the vendor is
    DYNAMIC_SECTION(name) {
      Module before = parse(files), module = parse(files);
      bind(before, files);
      bind(module, files);
      for (FunctionId function : before.globals())
        removeDeadNodes(before, function, true);
      VendorRegistry registry({});
      VendorRequest request;
      request.ruleFiles = {files.expectFile};
      Expected<VendorSet> vendors = registry.resolve(request);
      if (!vendors)
        FAIL(vendors.error().str());
      TargetInfo target;
      RefusalLog refusals;
      PassContext context;
      context.target = &target;
      context.vendors = &*vendors;
      PlacementRules placement;
      context.refusals = &refusals;
      context.placement = &placement;
      // Where costs decide, it is between vendors: nothing is faster on this host.
      CostModel hostCost;
      hostCost.launchMicroseconds = 1e6;
      bool hasCosts = files.expect.find("cost_model");
      if (hasCosts)
        context.hostCost = &hostCost;
      context.choosesPlan = hasCosts;
      for (auto pass : {readAnnotations, mergeComposite, annotateTarget,
                        hasCosts ? choosePlan : mergeCompilerRegions, partitionGraph}) {
        Expected<bool> done = pass(module, context);
        if (!done)
          FAIL(done.error().str());
        if (Expected<> verified = verify(module); !verified)
          FAIL(verified.error().str());
      }
      INFO(printModule(module));
      std::string json = makeOffloadReport(module, &refusals).json();
      JsonValue dump = parseJson(json, "dump").takeValue();
      CHECK(cases::checkCase(files, dump, before, module) == std::vector<std::string>());
    }
  }
}
