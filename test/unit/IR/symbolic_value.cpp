// Values of shape arithmetic, and the types that follow from them.
#include "bycc/IR/Builder.h"
#include "bycc/IR/SymbolicValue.h"

#include <catch2/catch.hpp>

using namespace bycc;

namespace {

// Programs built node by node over %x: Tensor[(N, S, 768), float32].
class Program {
public:
  Program() {
    main = module.addFunction("main");
    n = module.types.symbol("N");
    s = module.types.symbol("S");
    x = module.addParam("x", module.types.tensor(DType::Float32, {n, s, Dim(768)}));
    module.function(main).params.push_back(x);
  }

  NodeId call(OpId op, std::vector<NodeId> operands, AttrDict attrs = {}) {
    Builder builder(module, module.function(main).body);
    auto node = builder.call(op, operands, std::move(attrs));
    INFO((node ? std::string() : node.error().str()));
    REQUIRE(node);
    return *node;
  }
  NodeId tuple(std::vector<NodeId> fields) {
    return Builder(module, module.function(main).body).tuple(fields);
  }
  std::string problem(OpId op, std::vector<NodeId> operands, AttrDict attrs = {}) {
    Builder builder(module, module.function(main).body);
    auto node = builder.call(op, operands, std::move(attrs));
    return node ? std::string() : node.error().str();
  }
  NodeId ints(std::vector<int64_t> values) {
    Dim count(static_cast<int64_t>(values.size()));
    return module.addConstant(DType::Int64, {&count, 1}, values.data(), values.size() * 8);
  }
  NodeId number(int64_t value) {
    return module.addScalar(DType::Int64, static_cast<double>(value));
  }
  NodeId unknown(std::vector<Dim> shape) {
    return module.addParam("v", module.types.tensor(DType::Int64, shape));
  }
  NodeId shape() { return call(ops::shape_of, {x}, {{"dtype", "int64"}}); }
  // Element `at` of the shape, a vector of one.
  NodeId extent(int64_t at) { return call(ops::take, {shape(), ints({at})}, {{"axis", 0}}); }
  NodeId join(std::vector<NodeId> parts) { return call(ops::concatenate, {tuple(parts)}); }
  std::string type(NodeId node) { return module.types.str(module.type(node)); }
  std::string value(NodeId node) {
    auto items = symbolicValue(module, node);
    if (!items)
      return "none";
    std::string text;
    for (const SymbolicInt &item : *items)
      text += (text.empty() ? "" : " ") +
              (item.number ? std::to_string(*item.number) : module.types.str(item.dim));
    return text;
  }

  Module module;
  FunctionId main;
  Dim n, s;
  NodeId x;
};

} // namespace

TEST_CASE("shape arithmetic is followed") {
  Program p;
  CHECK(p.value(p.shape()) == "N S 768");
  NodeId both = p.join({p.extent(0), p.ints({12, -1})});
  CHECK(p.value(both) == "N 12 -1");
  CHECK(p.value(p.call(ops::add, {both, p.number(2)})) == "(N + 2) 14 1");
  CHECK(p.value(p.call(ops::multiply, {p.extent(0), p.extent(1)})) == "(N * S)");
  CHECK(p.value(p.call(ops::divide, {both, p.number(4)})) == "(N / 4) 3 0");
  CHECK(p.value(p.call(ops::floor_divide, {both, p.number(4)})) == "(N / 4) 3 -1");
  CHECK(p.value(p.call(ops::prod, {p.shape()})) == "((N * S) * 768)");
  CHECK(p.value(p.call(ops::cast, {both}, {{"dtype", "int32"}})) == "N 12 -1");
  CHECK(p.value(p.call(ops::strided_slice, {p.shape()},
                       {{"begin", AttrValue::List{-1}},
                        {"end", AttrValue::List{-4}},
                        {"strides", AttrValue::List{-1}},
                        {"axes", AttrValue()}})) == "768 S N");
  CHECK(p.value(p.call(ops::stack, {p.tuple({p.extent(0), p.extent(1)})}, {{"axis", 1}})) == "N S");
  CHECK(p.value(p.call(ops::expand_dims, {p.number(7)}, {{"axis", 0}})) == "7");
  CHECK(p.value(p.call(ops::where, {p.call(ops::less, {both, p.number(0)}), p.number(1), both})) ==
        "N 12 1");
  CHECK(p.value(p.unknown({Dim(2)})) == "? ?");
  CHECK(p.value(p.unknown({p.n})) == "none");
}

TEST_CASE("a difference that may be negative is unknown") {
  Program p;
  CHECK(p.value(p.call(ops::subtract, {p.extent(0), p.extent(1)})) == "?");
  CHECK(p.value(p.call(ops::subtract, {p.extent(0), p.number(1)})) == "?");
  NodeId sum = p.call(ops::add, {p.extent(0), p.extent(1)});
  CHECK(p.value(p.call(ops::subtract, {sum, p.extent(1)})) == "N");
  CHECK(p.value(p.call(ops::subtract, {p.number(0), p.extent(0)})) == "?");
}

TEST_CASE("an answer looks at a bounded number of nodes") {
  Program p;
  NodeId sum = p.extent(0);
  for (int i = 0; i < 2000; ++i)
    sum = p.call(ops::add, {sum, sum});
  CHECK(p.value(sum) == "?");
}

TEST_CASE("dyn.reshape takes what is known of its shape") {
  Program p;
  CHECK(p.type(p.call(ops::dyn_reshape,
                      {p.x, p.join({p.extent(0), p.extent(1), p.ints({12, 64})})})) ==
        "Tensor[(N, S, 12, 64), float32]");
  CHECK(p.type(p.call(ops::dyn_reshape, {p.x, p.join({p.extent(0), p.ints({-1})})})) ==
        "Tensor[(N, (S * 768)), float32]");
  CHECK(p.type(p.call(ops::dyn_reshape, {p.x, p.join({p.unknown({Dim(1)}), p.ints({64})})})) ==
        "Tensor[(((N * S) * 12), 64), float32]");
  CHECK(p.type(p.call(ops::dyn_reshape, {p.x, p.join({p.unknown({Dim(1)}), p.ints({-1, 64})})})) ==
        "Tensor[(?, ?, 64), float32]");
  CHECK(p.type(p.call(ops::dyn_reshape, {p.x, p.unknown({Dim(2)})})) == "Tensor[(?, ?), float32]");
  CHECK(p.problem(ops::dyn_reshape, {p.x, p.unknown({p.n})}).find("rank of the result") !=
        std::string::npos);
}

TEST_CASE("other dyn operators take what is known of their operands") {
  Program p;
  NodeId one = p.ints({1}), zero = p.number(0);
  NodeId fill = p.module.addScalar(DType::Float32, 0);
  CHECK(p.type(p.call(ops::dyn_full, {fill, p.shape()})) == "Tensor[(N, S, 768), float32]");
  CHECK(p.type(p.call(ops::dyn_broadcast_to, {p.x, p.join({p.ints({2}), p.shape()})})) ==
        "Tensor[(2, N, S, 768), float32]");
  CHECK(p.type(p.call(ops::dyn_tile, {p.x, p.join({p.ints({3, 1}), p.unknown({Dim(1)})})})) ==
        "Tensor[((N * 3), S, ?), float32]");
  CHECK(p.type(p.call(ops::dyn_strided_slice, {p.x, p.ints({0}), p.extent(1), one},
                      {{"axes", AttrValue::List{1}}})) == "Tensor[(N, S, 768), float32]");
  CHECK(p.type(p.call(ops::dyn_strided_slice, {p.x, p.ints({0}), p.extent(0), one},
                      {{"axes", AttrValue::List{1}}})) == "Tensor[(N, min(N, S), 768), float32]");
  NodeId pads =
      p.call(ops::reshape, {p.join({p.ints({0, 1, 2}), p.extent(0), p.unknown({Dim(2)})})},
             {{"newshape", AttrValue::List{3, 2}}});
  CHECK(p.type(p.call(ops::dyn_nn_pad, {p.x, pads, fill})) ==
        "Tensor[((N + 1), ((N + S) + 2), ?), float32]");
  CHECK(
      p.type(p.call(ops::arange,
                    {zero, p.call(ops::take, {p.shape(), p.number(1)}, {{"axis", 0}}), p.number(2)},
                    {{"dtype", "int64"}})) == "Tensor[(ceildiv(S, 2)), int64]");
  CHECK(p.type(p.call(ops::dyn_squeeze, {p.x, p.unknown({Dim(0)})})) ==
        "Tensor[(N, S, 768), float32]");
}

TEST_CASE("the mask that is cut to the sequence broadcasts to it") {
  Program p;
  std::vector<Dim> shape{Dim(64), Dim(1)};
  NodeId mask = p.module.addParam("m", p.module.types.tensor(DType::Float32, shape));
  NodeId cut = p.call(ops::dyn_strided_slice, {mask, p.ints({0}), p.extent(1), p.ints({1})},
                      {{"axes", AttrValue::List{0}}});
  CHECK(p.type(cut) == "Tensor[(min(S, 64), 1), float32]");
  CHECK(p.type(p.call(ops::add, {p.x, cut})) == "Tensor[(N, S, 768), float32]");
}

TEST_CASE("a slice from the end") {
  Program p;
  auto last = [&](NodeId begin) {
    return p.type(p.call(ops::dyn_strided_slice, {p.x, begin, p.ints({INT64_MAX}), p.ints({1})},
                         {{"axes", AttrValue::List{1}}}));
  };
  NodeId minus = p.call(ops::negative, {p.extent(0)});
  CHECK(last(minus) == "Tensor[(N, min(N, S), 768), float32]");
  CHECK(last(p.call(ops::multiply, {p.extent(0), p.number(-1)})) ==
        "Tensor[(N, min(N, S), 768), float32]");
  CHECK(last(p.call(ops::negative, {minus})) == "Tensor[(N, (S - min(N, S)), 768), float32]");
  CHECK(last(p.call(ops::abs, {minus})) == "Tensor[(N, (S - min(N, S)), 768), float32]");
  CHECK(p.value(p.call(ops::add, {p.extent(1), p.call(ops::negative, {p.extent(1)})})) == "0");
  CHECK(p.value(p.call(ops::maximum, {minus, p.number(-3)})) == "?");
}

TEST_CASE("the larger of two extents of which one is 1 or cut to the other") {
  Program p;
  NodeId shape = p.shape(),
         cut = p.join(
             {p.ints({1}), p.call(ops::minimum, {p.extent(1), p.number(64)}), p.ints({768})});
  auto larger = [&](NodeId target, NodeId other) {
    return p.call(ops::where, {p.call(ops::equal, {target, p.number(1)}), other, target});
  };
  CHECK(p.value(larger(shape, cut)) == "N S 768"); // if S is 1, so is min(S, 64)
  CHECK(p.value(larger(shape, shape)) == "N S 768");
  CHECK(p.value(larger(p.extent(0), p.extent(1))) == "?");
  CHECK(p.value(p.call(ops::where, {p.call(ops::equal, {shape, p.number(2)}), cut, shape})) ==
        "? ? 768");
}

TEST_CASE("what was halved and doubled again broadcasts to what it was") {
  Program p;
  TypeTable &types = p.module.types;
  Dim even = types.mul(types.dim(DimOp::FloorDiv, p.s, Dim(2)), 2);
  auto param = [&](const char *name, Dim dim) {
    return p.module.addParam(name, types.tensor(DType::Float32, {Dim(3), dim}));
  };
  NodeId a = param("a", even), b = param("b", p.s), c = param("c", p.n);
  CHECK(p.type(p.call(ops::add, {a, b})) == "Tensor[(3, ((S / 2) * 2)), float32]");
  CHECK(p.type(p.call(ops::add, {b, a})) == "Tensor[(3, ((S / 2) * 2)), float32]");
  CHECK(p.type(p.call(ops::add, {b, c})) == "Tensor[(3, ?), float32]"); // either may be 1
}

TEST_CASE("slices of symbolic extents") {
  Program p;
  auto slice = [&](int64_t begin, int64_t end, int64_t stride) {
    return p.module.types.str(
        p.module.types.shape(p.module.type(p.call(ops::strided_slice, {p.x},
                                                  {{"begin", AttrValue::List{begin}},
                                                   {"end", AttrValue::List{end}},
                                                   {"strides", AttrValue::List{stride}},
                                                   {"axes", AttrValue()}})))[0]);
  };
  CHECK(slice(0, INT64_MAX, 1) == "N");
  CHECK(slice(1, INT64_MAX, 1) == "(N - min(N, 1))");
  CHECK(slice(-2, INT64_MAX, 1) == "min(N, 2)");
  CHECK(slice(0, -1, 1) == "(N - min(N, 1))");
  CHECK(slice(0, 5, 1) == "min(N, 5)");
  CHECK(slice(0, INT64_MAX, 2) == "ceildiv(N, 2)");
  CHECK(slice(-1, INT64_MIN, -1) == "N");
}

TEST_CASE("the widths of a pad as torch's exporter without dynamo writes them") {
  Program p;
  // [left, right, top, bottom, 0, 0, ..] in pairs, from the last axis on: turned round
  NodeId pairs = p.call(ops::reshape, {p.join({p.extent(0), p.ints({2, 3, 4, 0, 0})})},
                        {{"newshape", AttrValue::List{3, 2}}});
  NodeId turned = p.call(ops::strided_slice, {pairs},
                         {{"begin", AttrValue::List{-1}},
                          {"end", AttrValue::List{INT64_MIN}},
                          {"strides", AttrValue::List{-1}},
                          {"axes", AttrValue::List{0}}});
  CHECK(p.value(turned) == "0 0 3 4 N 2");
  NodeId columns = p.call(ops::transpose, {turned}, {{"axes", AttrValue::List{1, 0}}});
  CHECK(p.value(columns) == "0 3 N 0 4 2");
  NodeId right = p.call(ops::strided_slice, {turned},
                        {{"begin", AttrValue::List{1, 1}},
                         {"end", AttrValue::List{3, 2}},
                         {"strides", AttrValue::List{1, 1}},
                         {"axes", AttrValue()}});
  CHECK(p.value(right) == "4 2");
  CHECK(p.value(p.call(ops::reverse, {p.ints({1, 2})}, {{"axis", 0}})) == "2 1");
}
