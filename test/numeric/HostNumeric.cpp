// The operator cases against host code: compiled for this machine and for the
// x86-64 baseline, loaded and run in process, with static types, with symbolic
// dims and with dims that nothing is known about. An operator without host code is skipped, and
// must say so.

#include "Cases.h"

#include "ObjectLoader.h"
#include "bycc/CodeGen/CodeGen.h"
#include "bycc/CodeGen/HostTarget.h"
#include "bycc/IR/LibraryUse.h"
#include "bycc/Support/ParamsFile.h"
#include "bycc/Transforms/Passes.h"
#include "bycc/runtime.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <set>

using namespace bycc;
using namespace bycc::numeric;

namespace {

const std::vector<Case> &cases() {
  static const std::vector<Case> all = loadCases(BYCC_SOURCE_DIR "/test/numeric");
  return all;
}

std::vector<CodeTensor> interfaceOf(const Module &module, const std::vector<TypeId> &types, const char *prefix) {
  std::vector<CodeTensor> tensors;
  for (TypeId type : types)
    for (TypeId field : module.types.flatten(type)) {
      std::string name = prefix + std::to_string(tensors.size());
      tensors.push_back({name, name, field});
    }
  return tensors;
}

struct Built {
  runtime::LoadedObject object;
  std::string params;
};

Expected<Built> build(Module &module, const TargetInfo &target) {
  CodeGenOptions options;
  options.moduleName = "numeric";
  options.compilerVersion = "test";
  std::vector<TypeId> params;
  for (NodeId param : module.function(module.main()).params)
    params.push_back(module.type(param));
  options.inputs = interfaceOf(module, params, "in");
  options.outputs = interfaceOf(module, {module.type(module.block(module.function(module.main()).body).result)}, "out");
  ParamsWriter writer;
  options.placeConstant = [&](const CodeConstant &c) { return writer.add(c.name, c.dtype, c.dims, c.storage, c.begin, c.bytes); };
  options.isEmulated = [](FunctionId) { return true; };
  Built built;
  options.finishArtifacts = [&] {
    CodeGenOptions::Artifacts artifacts;
    if (writer.empty())
      return artifacts;
    for (std::string_view piece : writer.finish({}))
      built.params += piece;
    artifacts.paramsBytes = built.params.size();
    artifacts.embeddedParams = built.params;
    return artifacts;
  };
  PassContext passes;
  passes.target = &target;
  BYCC_TRY(legalize(module, passes));
  CompiledModule code = BYCC_TRY(compileModule(module, target, options));
  built.object = BYCC_TRY(runtime::loadObject(reinterpret_cast<const uint8_t *>(code.object.data()), code.object.size(), "numeric.o"));
  return built;
}

// A loaded model and its context.
struct Loaded {
  bycc_model *model = nullptr;
  bycc_context *context = nullptr;
  Loaded(const Case &each, const Built &built, bool constants) {
    bycc_load_options load{sizeof(bycc_load_options), 2, 0, nullptr};
    int32_t status = bycc_model_load_linked(built.object.module(), &load, &model);
    INFO(bycc_last_error());
    REQUIRE(status == 0);
    REQUIRE(bycc_context_create(model, &context) == 0);
    std::vector<Tensor> inputs = parameters(each, constants);
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      status = bycc_bind_input(context, i, inputs[i].bytes.get(), static_cast<size_t>(inputs[i].sizeBytes()), inputs[i].shape.data());
      INFO(bycc_last_error());
      REQUIRE(status == 0);
    }
  }
  ~Loaded() {
    bycc_context_destroy(context);
    bycc_model_destroy(model);
  }
};

void run(const Case &each, const Built &built, bool constants) {
  Loaded loaded(each, built, constants);
  bycc_context *context = loaded.context;
  int32_t status = bycc_run(context);
  INFO(bycc_last_error());
  CHECK(status == 0);
  for (uint32_t i = 0; status == 0 && i < each.outputs.size(); ++i) {
    const void *data = nullptr;
    const int64_t *shape = nullptr;
    size_t bytes = 0;
    REQUIRE(bycc_get_output(context, i, &data, &shape, &bytes) == 0);
    const Tensor &wanted = each.outputs[i];
    std::vector<int64_t> extents(shape, shape + wanted.shape.size());
    CHECK(extents == wanted.shape);
    if (extents != wanted.shape)
      continue;
    auto actual = Tensor::fromBytes(wanted.dtype, extents, data);
    REQUIRE(actual);
    CHECK(difference(*actual, wanted) == "");
  }
}

// Returns how many cases ran.
size_t checkAll(const TargetInfo &target, bool constants, Extents extents) {
  std::set<std::string> without;
  size_t ran = 0;
  for (const Case &each : cases()) {
    if (!each.error.empty())
      continue;
    INFO(each.name);
    auto module = makeModule(each, constants, extents);
    if (!module)
      continue;
    auto built = build(*module, target);
    if (!built) {
      CHECK(built.error().status() == Status::Unsup);
      if (built.error().status() != Status::Unsup)
        WARN(built.error().str());
      without.insert(std::string(opInfo(each.op).name));
      continue;
    }
    ++ran;
    run(each, *built, constants);
  }
  std::string names;
  for (const std::string &name : without)
    names += " " + name;
  WARN("some cases of these have no host code:" << names);
  return ran;
}

} // namespace

TEST_CASE("host code gives the expected results") {
  TargetInfo target = *resolveTarget("", "native", "");
  CHECK(checkAll(target, true, Extents::Known) > cases().size() / 2);
}

TEST_CASE("host code of the baseline gives the expected results") {
  TargetInfo target = *resolveTarget("", "x86-64", "");
  CHECK(checkAll(target, false, Extents::Known) > cases().size() / 2);
}

TEST_CASE("host code with unknown dims gives the expected results") {
  TargetInfo target = *resolveTarget("", "native", "");
  CHECK(checkAll(target, false, Extents::Unknown) > cases().size() / 2);
}

TEST_CASE("host code with symbolic dims gives the expected results") {
  TargetInfo target = *resolveTarget("", "native", "");
  CHECK(checkAll(target, false, Extents::Symbolic) > cases().size() / 2);
}

TEST_CASE("library kernels refuse what is wrong at run time") {
  TargetInfo target = *resolveTarget("", "native", "");
  size_t ran = 0;
  for (const Case &each : cases()) {
    if (each.error.empty())
      continue;
    auto module = makeModule(each, false, Extents::Known);
    if (!module || !isLibraryCall(*module, module->block(module->function(module->main()).body).result))
      continue;
    INFO(each.name);
    auto built = build(*module, target);
    if (!built)
      continue;
    ++ran;
    Loaded loaded(each, *built, false);
    CHECK(bycc_run(loaded.context) == BYCC_ARG);
    CHECK_THAT(bycc_last_error(), Catch::Contains(each.error));
  }
  CHECK(ran > 5);
}
