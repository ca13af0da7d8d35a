// The operator cases against host code: compiled for this machine and for the
// x86-64 baseline, loaded and run in process, with static types, with symbolic
// dims and with dims that nothing is known about. An operator without host code is skipped, and
// must say so. Then all operators of floats in bfloat16, against Eval, on targets with
// and without instructions for it.

#include "Cases.h"

#include "ObjectLoader.h"
#include "bycc/CodeGen/CodeGen.h"
#include "bycc/CodeGen/HostTarget.h"
#include "bycc/IR/LibraryUse.h"
#include "bycc/Support/ParamsFile.h"
#include "bycc/Transforms/Passes.h"
#include "bycc/runtime.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <functional>
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

using Difference = std::function<std::string(const Tensor &actual, const Tensor &expected)>;

void run(const Case &each, const Built &built, bool constants, const Difference &compare = difference) {
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

// --- bfloat16

Value toBFloat16(const Value &value) {
  if (value.isTuple()) {
    Value::Tuple fields;
    for (const Value &field : value.fields())
      fields.push_back(toBFloat16(field));
    return fields;
  }
  const Tensor &tensor = value.tensor();
  if (!isFloat(tensor.dtype))
    return value;
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    values.push_back(tensor.real(i));
  return *Tensor::fromDoubles(DType::BFloat16, tensor.shape, values);
}

// The case with bfloat16 wherever it says float, its results those of Eval; nullopt
// when it has no floats or its operator takes float32 only.
std::optional<Case> inBFloat16(const Case &given) {
  Case each = given;
  bool hasFloats = false;
  for (Value &input : each.inputs) {
    for (const Tensor &tensor : input.flatten())
      hasFloats = hasFloats || isFloat(tensor.dtype);
    input = toBFloat16(input);
  }
  for (auto &[key, value] : each.attrs)
    if (value.isString() && value.asString().starts_with("float"))
      value = AttrValue(std::string("bfloat16"));
  auto module = makeModule(each, true, Extents::Known);
  if (!hasFloats || (!module && each.name.starts_with("qnn.")) || each.op == ops::reinterpret)
    return std::nullopt;
  REQUIRE(module);
  auto outputs = evaluate(*module, module->main(), parameters(each, true));
  REQUIRE(outputs);
  each.outputs = *outputs;
  return each;
}

// "" when bfloat16 numbers are equal or neighbours: sums are kept in wider types, so
// that one rounding is left. Other floats may differ by what float32 lets differ.
std::string neighbours(const Tensor &actual, const Tensor &expected) {
  if (expected.dtype != DType::BFloat16)
    return difference(actual, expected);
  for (int64_t i = 0; i < expected.numElements(); ++i) {
    double a = actual.real(i), e = expected.real(i);
    double step = std::ldexp(1.0, std::max(std::ilogb(e), -126) - 7);
    bool isSame = a == e || (std::isnan(a) && std::isnan(e)) || (std::isfinite(e) && std::fabs(a - e) <= step + 2e-6);
    if (!isSame)
      return "element " + std::to_string(i) + " is " + std::to_string(a) + ", wanted " + std::to_string(e);
  }
  return "";
}

// Returns how many cases ran.
size_t checkBFloat16(const char *cpu) {
  TargetInfo target = *resolveTarget("", cpu, "");
  size_t ran = 0;
  for (const Case &given : cases()) {
    if (!given.error.empty())
      continue;
    INFO(given.name << " in bfloat16 for " << cpu);
    auto each = inBFloat16(given);
    if (!each)
      continue;
    auto module = makeModule(*each, true, Extents::Known);
    auto built = build(*module, target);
    if (!built)
      WARN(built.error().str());
    REQUIRE(built);
    ++ran;
    run(*each, *built, true, neighbours);
  }
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

TEST_CASE("host code of operators in bfloat16 agrees with Eval") {
  for (const char *cpu : {"native", "skylake-avx512", "x86-64-v3", "x86-64"})
    CHECK(checkBFloat16(cpu) > cases().size() / 2);
}
