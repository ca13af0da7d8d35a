// Interning and arithmetic of types and dims.
#include "bycc/IR/Type.h"

#include <catch2/catch.hpp>

using namespace bycc;

TEST_CASE("equal types share an id, different ones do not") {
  TypeTable types;
  TypeId a = types.tensor(DType::Float32, {Dim(2), Dim(3)});
  CHECK(a == types.tensor(DType::Float32, {Dim(2), Dim(3)}));
  CHECK(a != types.tensor(DType::Float16, {Dim(2), Dim(3)}));
  CHECK(a != types.tensor(DType::Float32, {Dim(3), Dim(2)}));
  std::vector<Dim> shape{Dim(2), Dim(3)};
  CHECK(a != types.tensor(DType::Float32, shape, "NCHW8c"));
  CHECK(a != types.tensor(DType::Float32, shape, {}, 1));
  std::vector<TypeId> fields{a, a};
  CHECK(types.tuple(fields) == types.tuple(fields));
  CHECK(types.flatten(types.tuple(fields)).size() == 2);
}

TEST_CASE("tensors of a nested tuple are found by number") {
  TypeTable types;
  TypeId a = types.tensor(DType::Float32, {Dim(2)}), b = types.tensor(DType::Float32, {Dim(3)});
  TypeId none = types.tuple(std::vector<TypeId>());
  TypeId pair = types.tuple(std::vector<TypeId>{a, b});
  TypeId all = types.tuple(std::vector<TypeId>{none, b, pair, none, pair, a});
  std::vector<TypeId> flat = types.flatten(all);
  CHECK(flat == std::vector<TypeId>{b, a, b, a, b, a});
  CHECK(types.numLeaves(all) == flat.size());
  CHECK(types.numLeaves(none) == 0);
  CHECK(types.numLeaves(a) == 1);
  CHECK(types.leaf(a, 0) == a);
  for (size_t i = 0; i < flat.size(); ++i)
    CHECK(types.leaf(all, i) == flat[i]);
  CHECK(types.leavesOf(all, 0) == std::pair<size_t, size_t>(0, 0));
  CHECK(types.leavesOf(all, 2) == std::pair<size_t, size_t>(1, 2));
  CHECK(types.leavesOf(all, 4) == std::pair<size_t, size_t>(3, 2));
  CHECK(types.fieldOfLeaf(all, 0) == 1);
  CHECK(types.fieldOfLeaf(all, 2) == 2);
  CHECK(types.fieldOfLeaf(all, 3) == 4);
}

TEST_CASE("types print as Relay text") {
  TypeTable types;
  CHECK(types.str(types.tensor(DType::Bool, {})) == "bool");
  CHECK(types.str(types.tensor(DType::Float32, {Dim(4)})) == "Tensor[(4), float32]");
  CHECK(types.str(types.tensor(DType::Int64, {Dim::unknown(), types.symbol("N")})) ==
        "Tensor[(?, N), int64]");
  std::vector<TypeId> one{types.tensor(DType::Float32, {})};
  CHECK(types.str(types.tuple(one)) == "(float32,)");
}

TEST_CASE("dims fold and simplify") {
  TypeTable types;
  Dim n = types.symbol("N");
  CHECK(types.add(2, 3) == Dim(5));
  CHECK(types.mul(n, 1) == n);
  CHECK(types.add(types.sub(n, 3), 3) == n);
  CHECK(types.floorDiv(types.mul(n, 4), 2) == types.mul(n, 2));
  CHECK(types.sub(n, n) == Dim(0));
  CHECK(types.mul(Dim::unknown(), 2).isUnknown());
  CHECK(types.mul(n, 0) == Dim(0));
  CHECK(types.add(n, 2) == types.add(2, n));
  CHECK(types.str(types.add(types.mul(n, 2), 1)) == "((N * 2) + 1)");
}

TEST_CASE("element counts are checked for overflow (D3)") {
  TypeTable types;
  int64_t big = int64_t{1} << 62;
  CHECK_FALSE(types.numElements(types.tensor(DType::Int8, {Dim(big), Dim(4)})));
  CHECK(types.numElements(types.tensor(DType::Int8, {Dim(big), Dim(4), Dim(0)})) == 0);
  CHECK(types.sizeBytes(types.tensor(DType::Float32, {Dim(2), Dim(3)})) == 24);
  CHECK_FALSE(types.sizeBytes(types.tensor(DType::Float32, {Dim(big)})));
}

TEST_CASE("equal expressions are equal dims") {
  TypeTable types;
  Dim n = types.symbol("N"), s = types.symbol("S"), p = types.symbol("P");
  CHECK(types.add(n, s) == types.add(s, n));
  CHECK(types.add(types.add(n, s), p) == types.add(n, types.add(p, s)));
  CHECK(types.sub(types.add(s, p), s) == p);
  CHECK(types.add(n, n) == types.mul(2, n));
  CHECK(types.mul(types.mul(n, 3), s) == types.mul(types.mul(s, n), 3));
  CHECK(types.mul(types.add(n, 1), 2) == types.add(types.mul(n, 2), 2));
  CHECK(types.floorDiv(types.mul(types.mul(n, s), 768), types.mul(n, 12)) == types.mul(s, 64));
  CHECK(types.floorDiv(types.sub(types.mul(n, 8), 48), types.sub(n, 6)) == Dim(8));
  CHECK(types.floorDiv(types.add(types.mul(n, 4), 7), 4) == types.add(n, 1));
  CHECK(types.str(types.floorDiv(types.sub(n, 1), 2)) == "(((N + 1) / 2) - 1)");
  CHECK(types.floorDiv(types.floorDiv(n, 2), 3) == types.floorDiv(n, 6));
  CHECK(types.dim(DimOp::CeilDiv, types.mul(n, 8), 8) == n);
  CHECK(types.dim(DimOp::Mod, types.mul(n, 8), 4) == Dim(0));
  CHECK(types.dim(DimOp::Min, types.add(n, s), n) == n);
  CHECK(types.dim(DimOp::Max, n, 0) == n);
  CHECK(types.dim(DimOp::Max, n, 3) == types.dim(DimOp::Max, 3, n));
  CHECK(types.isSurelyAtLeast(types.add(n, 2), types.add(n, 1)));
  CHECK_FALSE(types.isSurelyAtLeast(n, s));
}

TEST_CASE("what is divided bounds its quotient") {
  TypeTable types;
  Dim n = types.symbol("N");
  Dim up = types.floorDiv(types.add(n, 2), 3), down = types.floorDiv(n, 3);
  CHECK(types.isSurelyAtLeast(types.mul(up, 3), n));
  CHECK(types.isSurelyAtLeast(n, types.mul(down, 3)));
  CHECK(types.isSurelyAtLeast(n, types.mul(down, 2)));
  CHECK(types.isSurelyAtLeast(types.add(types.mul(down, 3), 2), n));
  CHECK_FALSE(types.isSurelyAtLeast(types.add(types.mul(down, 3), 1), n));
  CHECK_FALSE(types.isSurelyAtLeast(n, types.mul(up, 3)));
  CHECK_FALSE(types.isSurelyAtLeast(n, types.mul(up, 2))); // 2 of N = 1
  Dim even = types.mul(types.dim(DimOp::CeilDiv, types.mul(n, 5), 2), 2);
  CHECK(types.isSurelyAtLeast(even, types.mul(n, 5)));
  CHECK(types.isSurelyAtLeast(types.add(types.mul(n, 5), 1), even));
  CHECK_FALSE(types.isSurelyAtLeast(types.mul(n, 5), even));
}

TEST_CASE("what is no extent, overflows or grows without end is unknown") {
  TypeTable types;
  Dim n = types.symbol("N"), sum = n;
  CHECK(types.sub(3, 5).isUnknown());
  CHECK(types.sub(Dim(0), n).isUnknown());
  CHECK(types.floorDiv(n, 0).isUnknown());
  CHECK(types.mul(types.mul(n, INT64_MAX), 2).isUnknown());
  for (int i = 0; i < 100; ++i)
    sum =
        types.add(sum, types.floorDiv(types.mul(sum, sum), types.symbol("S" + std::to_string(i))));
  CHECK(sum.isUnknown());
}
