#include "bycc/CodeGen/Compute.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::te;

TEST_CASE("ravelling and unravelling cancel") {
  Kernel k;
  uint32_t a = k.exprs.newAxis(k.exprs.integer(5)), b = k.exprs.newAxis(k.exprs.integer(7));
  Ref flat = k.exprs.add(k.exprs.times(k.exprs.axis(a), 7), k.exprs.axis(b));
  CHECK(k.exprs.binary(Op::FloorDiv, flat, k.exprs.integer(7)) == k.exprs.axis(a));
  CHECK(k.exprs.binary(Op::FloorMod, flat, k.exprs.integer(7)) == k.exprs.axis(b));
  CHECK(k.exprs.coefficient(flat, a) == 7);
}

TEST_CASE("equal structures have equal fingerprints") {
  auto make = [](int64_t n) {
    Kernel k;
    uint32_t x = k.addBuffer(DType::Float32, {k.exprs.integer(n)}, Role::Input);
    uint32_t y = k.addBuffer(DType::Float32, {k.exprs.integer(n)}, Role::Output);
    k.map(y, [&](const std::vector<Ref> &i) { return k.exprs.unary(Op::Exp, k.load(x, i)); });
    return k.fingerprint();
  };
  CHECK(make(4) == make(4));
  CHECK(make(4) != make(5));
}
