// The operator cases against Eval: with static types, with integer operands as
// constants, and with every dim unknown until the inputs are there.

#include "Cases.h"
#include "bycc/IR/Infer.h"

#include <catch2/catch.hpp>

#include <set>

using namespace bycc;
using namespace bycc::numeric;

namespace {

const std::vector<Case> &cases() {
  static const std::vector<Case> all = loadCases(BYCC_SOURCE_DIR "/test/numeric");
  return all;
}

void checkOutputs(const Case &each, const Module &module, bool constants) {
  auto outputs = evaluate(module, module.main(), parameters(each, constants));
  INFO((outputs ? "" : outputs.error().str()));
  REQUIRE(outputs);
  REQUIRE(outputs->size() == each.outputs.size());
  for (size_t i = 0; i < outputs->size(); ++i)
    CHECK(difference((*outputs)[i], each.outputs[i]) == "");
}

void checkError(const Case &each, const Error &error) {
  CHECK(error.status() == each.status);
  CHECK_THAT(error.str(), Catch::Contains(each.error));
}

} // namespace

TEST_CASE("Eval gives the expected results and errors") {
  for (const Case &each : cases()) {
    INFO(each.name);
    auto module = makeModule(each, false, Extents::Known);
    if (!each.error.empty()) {
      if (!module) {
        checkError(each, module.error());
        continue;
      }
      auto outputs = evaluate(*module, module->main(), parameters(each, false));
      CHECK_FALSE(outputs);
      if (!outputs)
        checkError(each, outputs.error());
      continue;
    }
    INFO((module ? "" : module.error().str()));
    REQUIRE(module);
    checkOutputs(each, *module, false);
  }
}

TEST_CASE("inferred types are those of the results when operands are constant") {
  for (const Case &each : cases()) {
    if (!each.error.empty())
      continue;
    INFO(each.name);
    auto module = makeModule(each, true, Extents::Known);
    REQUIRE(module);
    checkOutputs(each, *module, true);
    NodeId result = module->block(module->function(module->main()).body).result;
    std::vector<TypeId> types = module->types.flatten(module->type(result));
    REQUIRE(types.size() == each.outputs.size());
    for (size_t i = 0; i < types.size(); ++i) {
      const Tensor &output = each.outputs[i];
      CHECK(module->types.dtype(types[i]) == output.dtype);
      auto shape = module->types.shape(types[i]);
      REQUIRE(shape.size() == output.shape.size());
      for (size_t k = 0; k < shape.size(); ++k)
        CHECK((shape[k].isUnknown() || shape[k] == Dim(output.shape[k])));
    }
  }
}

TEST_CASE("dims that are unknown until run time give the same results") {
  size_t ran = 0;
  for (const Case &each : cases()) {
    if (!each.error.empty())
      continue;
    INFO(each.name);
    auto module = makeModule(each, false, Extents::Unknown);
    if (!module) // some rules need a static rank or kernel
      continue;
    ++ran;
    checkOutputs(each, *module, false);
  }
  CHECK(ran > cases().size() / 2);
}

namespace {

// The value of a dim in which the symbol "d7" stands for 7; nullopt for `?`.
std::optional<int64_t> valueOf(const TypeTable &types, Dim dim) {
  if (dim.isConst())
    return dim.value();
  const DimExpr &e = types.expr(dim);
  if (e.op == DimOp::Symbol)
    return std::stoll(e.symbol.substr(1));
  if (e.op == DimOp::Unknown)
    return std::nullopt;
  int64_t a = valueOf(types, e.lhs).value(), b = valueOf(types, e.rhs).value();
  switch (e.op) {
  case DimOp::Add:
    return a + b;
  case DimOp::Sub:
    return a - b;
  case DimOp::Mul:
    return a * b;
  case DimOp::FloorDiv:
    return a / b;
  case DimOp::CeilDiv:
    return (a + b - 1) / b;
  case DimOp::Mod:
    return a % b;
  case DimOp::Min:
    return std::min(a, b);
  case DimOp::Max:
    return std::max(a, b);
  default:
    return std::nullopt;
  }
}

// The module of the case with a symbol for every extent but 1, equal ones alike.
Expected<Module> symbolicModule(const Case &each) {
  Module module = BYCC_TRY(makeModule(each, true, Extents::Known));
  for (NodeId param : module.function(module.main()).params) {
    TypeId type = module.type(param);
    std::vector<Dim> shape;
    for (Dim dim : module.types.shape(type))
      shape.push_back(dim == Dim(1) ? dim : module.types.symbol("d" + std::to_string(dim.value())));
    module.node(param).type = module.types.tensor(module.types.dtype(type), shape);
  }
  BYCC_TRY(inferTypes(module));
  return module;
}

} // namespace

TEST_CASE("inferred types of symbolic extents are those of the results") {
  std::set<std::string> refused;
  for (const Case &each : cases()) {
    if (!each.error.empty())
      continue;
    INFO(each.name);
    auto module = symbolicModule(each);
    if (!module) { // what is not known must be the reason
      refused.insert(std::string(opInfo(each.op).name) + ": " + module.error().str());
      continue;
    }
    NodeId result = module->block(module->function(module->main()).body).result;
    std::vector<TypeId> types = module->types.flatten(module->type(result));
    REQUIRE(types.size() == each.outputs.size());
    for (size_t i = 0; i < types.size(); ++i) {
      INFO(module->types.str(types[i]));
      auto shape = module->types.shape(types[i]);
      REQUIRE(shape.size() == each.outputs[i].shape.size());
      for (size_t k = 0; k < shape.size(); ++k)
        CHECK(valueOf(module->types, shape[k]).value_or(each.outputs[i].shape[k]) ==
              each.outputs[i].shape[k]);
    }
  }
  for (const std::string &text : refused) {
    INFO(text);
    CHECK_THAT(text, Catch::Contains("known"));
  }
}

TEST_CASE("every operator has a definition and nearly every one a case") {
  std::set<uint32_t> tested;
  for (const Case &each : cases())
    tested.insert(each.op.index);
  std::string missing;
  for (uint32_t i = 0; i < numOps(); ++i) {
    INFO(opInfo(OpId(i)).name);
    CHECK(hasDefinition(OpId(i)));
    if (!tested.contains(i))
      missing += std::string(opInfo(OpId(i)).name) + " ";
  }
  INFO(missing);
  CHECK(tested.size() + 25 > numOps());
}
