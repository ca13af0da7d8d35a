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
