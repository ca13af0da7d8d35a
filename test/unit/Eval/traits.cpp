// What Ops.def says of operators, held against what they compute.
#include "bycc/Eval/Eval.h"
#include "bycc/IR/Builder.h"

#include <catch2/catch.hpp>

#include <functional>

using namespace bycc;

namespace {

using Values = std::vector<double>;
using Make = std::function<Expected<NodeId>(Builder &, NodeId, NodeId)>;

// A program of two operands of some dtype that `make` accepts; none when it accepts none.
std::optional<Values> compute(const Make &make) {
  const Values numbers[2] = {{-2, 0, 1, 3, 5, 2}, {1, 3, -2, 2, 5, 0}};
  for (DType dtype : {DType::Float32, DType::Int32, DType::Bool}) {
    Module module;
    FunctionId main = module.addFunction("main");
    Builder builder{module, module.function(main).body};
    std::vector<Tensor> inputs;
    std::vector<NodeId> params;
    for (size_t i = 0; i < 2; ++i) {
      Values values = numbers[i];
      for (double &value : values) // some that rounding changes
        value = dtype == DType::Bool      ? value > 0
                : dtype == DType::Float32 ? value + value / 4
                                          : value;
      inputs.push_back(*Tensor::fromDoubles(dtype, {6}, values));
      params.push_back(module.addParam(i == 0 ? "x" : "y", module.types.tensor(dtype, {6})));
      module.function(main).params.push_back(params[i]);
    }
    auto made = make(builder, params[0], params[1]);
    if (!made)
      continue;
    module.block(module.function(main).body).result = *made;
    auto outputs = evaluate(module, main, inputs);
    INFO((outputs ? "" : outputs.error().str()));
    REQUIRE(outputs);
    Values values;
    for (int64_t i = 0; i < outputs->at(0).numElements(); ++i)
      values.push_back(outputs->at(0).real(i));
    return values;
  }
  return std::nullopt;
}

std::optional<Values> computeTimes(OpId op, int times) {
  return compute([&](Builder &builder, NodeId x, NodeId) -> Expected<NodeId> {
    for (int i = 0; i < times; ++i)
      x = BYCC_TRY(builder.call(op, {x}));
    return x;
  });
}

// Equal where neither is a number, as in a power of a negative one.
bool isSame(const Values &a, const Values &b) {
  return std::ranges::equal(a, b, [](double x, double y) { return x == y || (x != x && y != y); });
}

} // namespace

TEST_CASE("operators are commutative where the table says so, and nowhere else") {
  size_t checked = 0;
  for (uint32_t i = 0; i < numOps(); ++i) {
    const OpInfo &info = opInfo(OpId(i));
    if (info.kind != OpKind::Broadcast || info.inputs.size() != 2 || !info.attrs.empty() ||
        info.has(OpTrait::Dynamic))
      continue;
    INFO(info.name);
    auto call = [&](bool isSwapped) {
      return compute([&](Builder &builder, NodeId x, NodeId y) {
        return isSwapped ? builder.call(OpId(i), {y, x}) : builder.call(OpId(i), {x, y});
      });
    };
    auto plain = call(false), swapped = call(true);
    REQUIRE(plain);
    CHECK(isSame(*plain, *swapped) == info.has(OpTrait::Commutative));
    ++checked;
  }
  CHECK(checked >= 24);
}

TEST_CASE("twice is once, or not at all, where the table says so") {
  size_t checked = 0;
  for (uint32_t i = 0; i < numOps(); ++i) {
    const OpInfo &info = opInfo(OpId(i));
    if (!info.has(OpTrait::Idempotent) && !info.has(OpTrait::Involution))
      continue;
    INFO(info.name);
    auto once = computeTimes(OpId(i), 1), twice = computeTimes(OpId(i), 2);
    REQUIRE((once && twice));
    if (info.has(OpTrait::Idempotent))
      CHECK(isSame(*once, *twice));
    else // of the dtype that the operator takes
      CHECK(isSame(*computeTimes(OpId(i), 3), *once));
    ++checked;
  }
  CHECK(checked >= 10);
}

TEST_CASE("traits agree with names and with one another") {
  for (uint32_t i = 0; i < numOps(); ++i) {
    const OpInfo &info = opInfo(OpId(i));
    INFO(info.name);
    CHECK(info.has(OpTrait::Dynamic) == info.name.starts_with("dyn."));
    CHECK(info.has(OpTrait::Annotation) == info.name.starts_with("annotation."));
    CHECK((info.has(OpTrait::Annotation) || !info.has(OpTrait::Bracket)));
    CHECK((info.isMap() || !info.has(OpTrait::Arithmetic)));
  }
  CHECK(opInfo(ops::exp).has(OpTrait::Costly));
  CHECK(!opInfo(ops::add).has(OpTrait::Costly));
  CHECK(name(OpTrait::View) == "view");
}
