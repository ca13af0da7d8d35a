// The operator cases as users run them with dnnl: each is compiled by the driver and
// loaded by the C API; what dnnl refuses is host code. Operators without host code
// are counted, and only they may be refused.

#include "Cases.h"
#include "Harness.h"
#include "bycc/CodeGen/CodeGen.h"
#include "bycc/Driver/Driver.h"
#include "bycc/IR/Printer.h"
#include "bycc/Target/VendorRegistry.h"
#include "bycc/Transforms/Passes.h"
#include "bycc/Vendors/Builtin.h"
#include "bycc/runtime.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

using namespace bycc;
using namespace bycc::numeric;

namespace {

// Cases that the vendor is known to get wrong, as its conformance suite has them.
conformance::Gaps knownGaps(const std::string &vendor) {
  auto gaps = conformance::readGaps(
      BYCC_SOURCE_DIR "/test/conformance/vendor/gaps/" + vendor + ".json", vendor);
  REQUIRE(gaps);
  return *gaps;
}

class Folder {
public:
  Folder() {
    char name[] = "/tmp/bycc-numeric-XXXXXX";
    REQUIRE(mkdtemp(name));
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string &name) const { return path_ + "/" + name; }

private:
  std::string path_;
};

Tensor outputOf(bycc_context *context, const bycc_tensor_info &info, uint32_t index) {
  const void *data = nullptr;
  const int64_t *shape = nullptr;
  size_t bytes = 0;
  REQUIRE(bycc_get_output(context, index, &data, &shape, &bytes) == 0);
  std::vector<int64_t> dims(shape, shape + info.rank);
  auto tensor = Tensor::fromBytes(static_cast<DType>(info.dtype), dims, data);
  REQUIRE(tensor);
  return *tensor;
}

void runAndCompare(const Case &each, const std::string &graph, int64_t units) {
  bycc_model *model = nullptr;
  bycc_load_options options{sizeof options, 1, 0, nullptr};
  INFO(bycc_last_error());
  REQUIRE(bycc_model_load(graph.c_str(), &options, &model) == 0);
  bycc_context *context = nullptr;
  REQUIRE(bycc_context_create(model, &context) == 0);
  std::vector<Tensor> inputs = parameters(each, true);
  const bycc_module *module = bycc_model_module(model);
  REQUIRE(module->num_inputs == inputs.size());
  for (uint32_t i = 0; i < inputs.size(); ++i)
    REQUIRE(bycc_bind_input(context, i, inputs[i].bytes.get(),
                            static_cast<size_t>(inputs[i].sizeBytes()),
                            inputs[i].shape.data()) == 0);
  int32_t status = bycc_run(context);
  INFO(bycc_last_error());
  CHECK(status == 0);
  REQUIRE(module->num_outputs == each.outputs.size());
  for (uint32_t i = 0; status == 0 && i < each.outputs.size(); ++i) {
    Tensor output = outputOf(context, module->outputs[i], i);
    if (!conformance::isWithin(units, output, each.outputs[i]))
      CHECK(difference(output, each.outputs[i]) == "");
  }
  bycc_context_destroy(context);
  bycc_model_destroy(model);
}

bool hasCode(const Case &each) { return hasHostCode(each.op) || isLegalized(each.op); }

// Compiles the case for dnnl and runs it; false when it does not compile.
bool check(const Case &each, const Folder &folder, int64_t units) {
  auto module = makeModule(each, true, Extents::Known);
  REQUIRE(module);
  std::ofstream(folder.file("m.relay")) << printModule(*module);
  Options options;
  options.input.model = folder.file("m.relay");
  options.output.output = folder.file("m.o");
  options.code.jobs = 1;
  options.quiet = true;
  options.vendors.annotate = "dnnl";
  options.vendors.costModel = "none"; // else small cases go to the host
  int code = compileCommand(options);
  CHECK(code == 0);
  if (code == 0)
    runAndCompare(each, folder.file("m.json"), units);
  return code == 0;
}

// The cases that succeed and that dnnl is not known to get wrong.
std::vector<Case> casesFor(const conformance::Gaps &gaps) {
  std::vector<Case> cases = loadCases(BYCC_SOURCE_DIR "/test/numeric");
  std::erase_if(cases, [&](const Case &each) {
    return !each.error.empty() || gaps.items.contains("numeric.operators/" + each.name);
  });
  return cases;
}

// Operators that dnnl takes, a space on both sides of each.
std::string operatorsOfDnnl() {
  auto vendors = VendorRegistry(builtinVendorCompilers(), loadedVendors()).all();
  REQUIRE(vendors);
  for (const std::unique_ptr<Vendor> &vendor : *vendors)
    if (vendor->name() == "dnnl")
      return " " + std::string(vendor->compiler()->operators) + " ";
  return "";
}

} // namespace

TEST_CASE("dnnl gives the expected results") {
  setenv("BYCC_PLUGIN_PATH", BYCC_PLUGINS, 1);
  Folder folder;
  conformance::Gaps gaps = knownGaps("dnnl");
  std::set<std::string> refused;
  size_t run = 0;
  for (const Case &each : casesFor(gaps)) {
    INFO(each.name);
    if (hasCode(each))
      run += check(each, folder, gaps.unitsOf("numeric.operators/" + each.name));
    else
      refused.insert(std::string(opInfo(each.op).name));
  }
  std::string list;
  for (const std::string &op : refused)
    list += " " + op;
  WARN(run << " cases compiled and run; without host code:" << list);
  CHECK(run > 200);
}

TEST_CASE("dnnl gives what Eval does in bfloat16") {
  setenv("BYCC_PLUGIN_PATH", BYCC_PLUGINS, 1);
  Folder folder;
  const std::string operators = operatorsOfDnnl();
  size_t run = 0;
  for (const Case &given : casesFor(knownGaps("dnnl"))) {
    INFO(given.name << " in bfloat16");
    bool isTaken =
        operators.find(" " + std::string(opInfo(given.op).name) + " ") != std::string::npos;
    std::optional<Case> each = isTaken ? inBFloat16(given) : std::nullopt;
    if (each && hasCode(*each))
      run += check(*each, folder, 0);
  }
  WARN(run << " cases in bfloat16 compiled and run");
  CHECK(run > 100);
}
