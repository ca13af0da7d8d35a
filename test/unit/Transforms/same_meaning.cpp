// Random programs mean the same after every pass: evaluated bit for bit, except
// for fold-scale-axis, which rounds in another order. No maximum: which of the
// two zeros it returns is not defined, and canonicalize-ops makes use of that.
#include "TestGraph.h"

#include "bycc/Eval/Eval.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace bycc;

namespace {

class Program {
public:
  explicit Program(uint32_t seed) : random_(seed) {
    for (const char *name : {"x", "y", "z"})
      values_.push_back(g.param(name, {Dim(1), Dim(4), Dim(6)}));
    for (int i = 0; i < 25; ++i)
      values_.push_back(step(pick()));
    g.finish(g.builder.tuple(std::vector{values_.back(), pick(), pick()}));
  }
  TestGraph g;

  std::vector<Tensor> evaluateIt(uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<Tensor> inputs;
    const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5, INFINITY, -INFINITY, NAN};
    for (int i = 0; i < 3; ++i) {
      std::vector<double> data;
      for (int k = 0; k < 24; ++k)
        data.push_back(random() % 8 ? static_cast<double>(random() % 1000) / 250 - 2
                                    : special[random() % 8]);
      inputs.push_back(*Tensor::fromDoubles(DType::Float32, {1, 4, 6}, data));
    }
    auto result = evaluate(g.module, g.main, inputs);
    INFO((result ? "" : result.error().str()));
    REQUIRE(result);
    return *result;
  }

private:
  NodeId pick() {
    return values_[values_.size() - 1 - random_() % std::min<size_t>(values_.size(), 5)];
  }
  NodeId vector(size_t count) {
    std::vector<float> data;
    for (size_t i = 0; i < count; ++i)
      data.push_back(static_cast<float>(random_() % 9) / 4 - 1);
    return g.floats({Dim(static_cast<int64_t>(count))}, data);
  }
  NodeId scalar() {
    const double some[] = {1, 0, -0.0, 2, 0.25, 3, -1};
    return g.module.addScalar(DType::Float32, some[random_() % 7]);
  }
  NodeId reshape(NodeId a, std::vector<int64_t> shape) {
    return g.call(ops::reshape, {a}, {{"newshape", AttrValue::ints(shape)}});
  }
  NodeId flat(NodeId a) { return reshape(a, {4, 6}); }
  NodeId back(NodeId a) { return reshape(a, {1, 4, 6}); }

  NodeId step(NodeId a) {
    const OpId unary[] = {ops::nn_relu, ops::negative, ops::abs, ops::exp, ops::sigmoid};
    const OpId binary[] = {ops::add, ops::subtract, ops::multiply, ops::divide, ops::minimum};
    auto some = [&](const OpId *list) { return list[random_() % 5]; };
    switch (random_() % 16) {
    case 0:
      return g.call(some(unary), {a});
    case 1:
      return back(g.call(some(unary), {flat(a)}));
    case 2:
      return g.call(some(binary), {a, pick()});
    case 3:
      return g.call(some(binary), {a, scalar()});
    case 4:
      return g.call(some(binary), {scalar(), a});
    case 5:
      return back(g.call(some(binary), {flat(a), flat(pick())}));
    case 6:
      return g.call(some(binary), {a, back(g.call(some(unary), {flat(pick())}))});
    case 7: {
      NodeId dense = g.call(ops::nn_dense, {flat(a), reshape36()}, {{"units", AttrValue(6)}});
      NodeId bias = g.call(ops::add, {back(dense), vector(6)});
      return random_() % 2 ? g.call(ops::nn_softmax, {bias}) : bias;
    }
    case 8: {
      AttrDict last{{"axis", AttrValue::ints(std::vector<int64_t>{2})},
                    {"keepdims", AttrValue(true)}};
      return g.call(ops::subtract,
                    {a, g.call(ops::max, {back(g.call(ops::abs, {flat(a)}))}, last)});
    }
    case 9: {
      AttrDict swap{{"axes", AttrValue::ints(std::vector<int64_t>{0, 2, 1})}};
      return g.call(ops::transpose, {g.call(some(unary), {g.call(ops::transpose, {a}, swap)})},
                    swap);
    }
    case 10:
      return g.call(
          ops::clip,
          {g.call(ops::clip, {a}, {{"a_min", AttrValue(-1.5)}, {"a_max", AttrValue(1.0)}})},
          {{"a_min", AttrValue(-0.5)}, {"a_max", AttrValue(2.0)}});
    case 11: {
      NodeId wide = g.call(ops::cast, {a}, {{"dtype", AttrValue("float64")}});
      return g.call(ops::cast, {wide}, {{"dtype", AttrValue("float32")}});
    }
    case 12: {
      AttrDict axis{{"axis", AttrValue(1)}};
      NodeId both = g.call(ops::concatenate, {g.builder.tuple(std::vector{a, pick()})}, axis);
      NodeId parts = g.call(ops::split, {both},
                            {{"indices_or_sections", AttrValue(2)}, {"axis", AttrValue(1)}});
      return *g.builder.project(parts, random_() % 2);
    }
    case 13:
      return g.call(ops::reverse, {a}, {{"axis", AttrValue(1)}});
    case 14: { // two products of one value, one of a higher rank or the other way round
      NodeId left = g.call(ops::nn_dense, {a, reshape36()}, {{"units", AttrValue(6)}});
      NodeId matrix =
          g.call(ops::transpose, {reshape36()}, {{"axes", AttrValue(AttrValue::List{1, 0})}});
      NodeId right =
          random_() % 2 ? back(g.call(ops::nn_matmul, {flat(a), matrix}, {{"units", AttrValue(6)}}))
                        : g.call(ops::nn_dense, {a, matrix}, {{"units", AttrValue(6)}});
      return g.call(some(binary), {g.call(ops::add, {left, vector(6)}), right});
    }
    default: {
      NodeId norm =
          g.call(ops::nn_layer_norm, {back(g.call(ops::exp, {flat(a)})), vector(6), vector(6)});
      return g.call(some(binary), {norm, pick()});
    }
    }
  }
  NodeId reshape36() {
    std::vector<float> data;
    for (int i = 0; i < 36; ++i)
      data.push_back(static_cast<float>(random_() % 9) / 8 - 0.5f);
    return g.floats({Dim(6), Dim(6)}, data);
  }

  std::mt19937 random_;
  std::vector<NodeId> values_;
};

// Bit for bit, but all NaNs are one.
bool isSame(const Tensor &a, const Tensor &b) {
  if (a.shape != b.shape || a.dtype != b.dtype)
    return false;
  for (int64_t i = 0; i < a.numElements(); ++i) {
    double x = a.real(i), y = b.real(i);
    if (!(std::isnan(x) && std::isnan(y)) && std::memcmp(&x, &y, 8) != 0)
      return false;
  }
  return true;
}

} // namespace

TEST_CASE("passes keep the meaning of random programs") {
  struct Step {
    const char *name;
    Expected<bool> (*pass)(Module &, PassContext &);
  };
  const Step steps[] = {{"simplify-expr", simplifyExpr},
                        {"canonicalize-ops", canonicalizeOps},
                        {"fold-constants", foldConstants},
                        {"eliminate-common-subexpr", eliminateCommonSubexpr},
                        {"eliminate-dead-code", eliminateDeadCode},
                        {"simplify-expr again", simplifyExpr},
                        {"canonicalize-matmul", canonicalizeMatmul},
                        {"eliminate-common-subexpr again", eliminateCommonSubexpr},
                        {"combine-parallel-dense", combineParallelDense},
                        {"simplify-expr, the third", simplifyExpr},
                        {"fuse-ops", fuseOps}};
  for (uint32_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    Program program(seed);
    std::vector<Tensor> wanted = program.evaluateIt(seed);
    for (const Step &step : steps) {
      INFO(step.name);
      program.g.run(step.pass);
      std::vector<Tensor> found = program.evaluateIt(seed);
      REQUIRE(found.size() == wanted.size());
      for (size_t i = 0; i < found.size(); ++i)
        REQUIRE(isSame(found[i], wanted[i]));
    }
  }
}
