// The operator cases as users run them with dnnl: each is compiled by the driver and
// loaded by the C API; what dnnl refuses is host code. Operators without host code
// are counted, and only they may be refused.

#include "Cases.h"
#include "Harness.h"
#include "bycc/CodeGen/CodeGen.h"
#include "bycc/Driver/Driver.h"
#include "bycc/IR/Printer.h"
#include "bycc/Transforms/Passes.h"
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
    REQUIRE(bycc_bind_input(context, i, inputs[i].bytes.get(), static_cast<size_t>(inputs[i].sizeBytes()),
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

void checkAll(const std::string &vendor) {
  Folder folder;
  conformance::Gaps gaps = knownGaps(vendor);
  std::set<std::string> refused;
  size_t run = 0;
  for (const Case &each : loadCases(BYCC_SOURCE_DIR "/test/numeric")) {
    if (!each.error.empty())
      continue;
    INFO(each.name << " " << vendor);
    if (gaps.items.contains("numeric.operators/" + each.name))
      continue;
    if (!hasHostCode(each.op) && !isLegalized(each.op)) {
      refused.insert(std::string(opInfo(each.op).name));
      continue;
    }
    auto module = makeModule(each, true, Extents::Known);
    REQUIRE(module);
    std::ofstream(folder.file("m.relay")) << printModule(*module);
    Options options;
    options.input.model = folder.file("m.relay");
    options.output.output = folder.file("m.o");
    options.output.jobs = 1;
    options.quiet = true;
    if (!vendor.empty())
      options.vendors.annotate = vendor;
    int code = compileCommand(options);
    CHECK(code == 0);
    if (code == 0) {
      runAndCompare(each, folder.file("m.json"), gaps.unitsOf("numeric.operators/" + each.name));
      ++run;
    }
  }
  std::string list;
  for (const std::string &op : refused)
    list += " " + op;
  WARN(run << " cases compiled and run" << (vendor.empty() ? "" : " with " + vendor) << "; without host code:" << list);
  CHECK(run > 200);
}

} // namespace

TEST_CASE("dnnl gives the expected results") {
  setenv("BYCC_PLUGIN_PATH", BYCC_PLUGINS, 1);
  checkAll("dnnl");
}
