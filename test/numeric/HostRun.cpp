#include "HostRun.h"

#include "bycc/Support/ParamsFile.h"
#include "bycc/Transforms/Passes.h"

#include <catch2/catch.hpp>

namespace bycc::numeric {
namespace {

std::vector<CodeTensor> interfaceOf(const Module &module, const std::vector<TypeId> &types,
                                    const char *prefix) {
  std::vector<CodeTensor> tensors;
  for (TypeId type : types)
    for (TypeId field : module.types.flatten(type)) {
      std::string name = prefix + std::to_string(tensors.size());
      tensors.push_back({name, name, field});
    }
  return tensors;
}

} // namespace

Expected<Built> build(Module &module, const TargetInfo &target) {
  CodeGenOptions options;
  options.moduleName = "numeric";
  options.compilerVersion = "test";
  std::vector<TypeId> params;
  for (NodeId param : module.function(module.main()).params)
    params.push_back(module.type(param));
  options.inputs = interfaceOf(module, params, "in");
  options.outputs = interfaceOf(
      module, {module.type(module.block(module.function(module.main()).body).result)}, "out");
  ParamsWriter writer;
  options.placeConstant = [&](const CodeConstant &c) {
    return writer.add(c.name, c.dtype, c.dims, c.storage, c.begin, c.bytes);
  };
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
  built.object = BYCC_TRY(runtime::loadObject(reinterpret_cast<const uint8_t *>(code.object.data()),
                                              code.object.size(), "numeric.o"));
  return built;
}

Loaded::Loaded(const Case &each, const Built &built, bool constants) {
  bycc_load_options load{sizeof(bycc_load_options), 2, 0, nullptr};
  int32_t status = bycc_model_load_linked(built.object.module(), &load, &model);
  INFO(bycc_last_error());
  REQUIRE(status == 0);
  REQUIRE(bycc_context_create(model, &context) == 0);
  std::vector<Tensor> inputs = parameters(each, constants);
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    status = bycc_bind_input(context, i, inputs[i].bytes.get(),
                             static_cast<size_t>(inputs[i].sizeBytes()), inputs[i].shape.data());
    INFO(bycc_last_error());
    REQUIRE(status == 0);
  }
}

Loaded::~Loaded() {
  bycc_context_destroy(context);
  bycc_model_destroy(model);
}

void run(const Case &each, const Built &built, bool constants, const Difference &compare) {
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
    CHECK(compare(*actual, wanted) == "");
  }
}

} // namespace bycc::numeric
