#include "bycc/Loops/Compute.h"

#include <catch2/catch.hpp>

using namespace bycc;
using namespace bycc::loops;

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
  Kernel k, other;
  k.likelyDims = {1};
  other.likelyDims = {64};
  CHECK(k.fingerprint() != other.fingerprint()); // another schedule
}

TEST_CASE("indices that are loaded fold like axes") {
  Exprs x;
  Ref n = x.dim(0), width = x.dim(1);
  Ref column = x.axis(x.newAxis(width)), row = x.index(x.load(0, DType::Int64, x.integer(0)), n);
  Ref flat = x.add(x.mul(row, width), column);
  CHECK(x.binary(Op::FloorDiv, flat, width) == row);
  CHECK(x.binary(Op::FloorMod, flat, width) == column);
  CHECK(x.binary(Op::FloorMod, flat, x.mul(n, width)) == flat);
  CHECK(x.binary(Op::FloorDiv, row, n) == x.integer(0));
  CHECK(x.index(x.axis(x.newAxis(n)), n) != row);
  // What is loaded and bounded by nobody stays as it is.
  Ref any = x.load(0, DType::Int64, x.integer(0));
  CHECK(x[x.binary(Op::FloorMod, x.add(x.mul(any, width), column), width)].op == Op::FloorMod);
  // A known extent.
  Ref small = x.index(any, x.integer(8));
  CHECK(x.range(small)->low == 0);
  CHECK(x.range(small)->high == 7);
}

TEST_CASE("halves and remainders of axes fold like axes") {
  Exprs x;
  Ref n = x.dim(0), width = x.dim(1);
  Ref at = x.axis(x.newAxis(x.times(n, 2))), column = x.axis(x.newAxis(width));
  Ref half = x.binary(Op::FloorDiv, at, x.integer(2)),
      odd = x.binary(Op::FloorMod, at, x.integer(2));
  Ref flat = x.add(x.mul(half, width), column);
  CHECK(x.binary(Op::FloorDiv, flat, width) == half);
  CHECK(x.binary(Op::FloorMod, x.add(x.mul(odd, width), column), x.times(width, 2)) ==
        x.add(x.mul(odd, width), column));
  CHECK(x.binary(Op::FloorDiv, half, n) == x.integer(0));
  CHECK(x.binary(Op::FloorDiv, x.plus(half, 1), n) != x.integer(0));
}

TEST_CASE("heads that a reshape makes of an open axis, and back, are the same place") {
  Exprs x;
  Ref n = x.dim(0);
  Ref head = x.axis(x.newAxis(x.times(n, 6))), column = x.axis(x.newAxis(x.integer(64)));
  Ref flat = x.add(x.times(head, 64), column); // below n * 384
  Ref row = x.binary(Op::FloorDiv, flat, x.integer(384)),
      rest = x.binary(Op::FloorMod, flat, x.integer(384));
  CHECK(x.binary(Op::FloorMod, row, n) == row);
  CHECK(x.binary(Op::FloorDiv, row, n) == x.integer(0));
  CHECK(x.add(x.times(row, 384), rest) == flat);
  CHECK(x.add(x.times(row, 768), rest) != flat);
  // As many rows more than n: nothing is known.
  CHECK(x.binary(Op::FloorMod, x.plus(row, 1), n) != x.plus(row, 1));
}

TEST_CASE("rows and columns of an open axis over both are the same place") {
  Exprs x;
  Ref n = x.dim(0), m = x.dim(1);
  Ref at = x.axis(x.newAxis(x.mul(n, m)));
  Ref row = x.binary(Op::FloorDiv, at, m), column = x.binary(Op::FloorMod, at, m);
  CHECK(x.binary(Op::FloorMod, row, n) == row);
  CHECK(x.add(x.mul(row, m), column) == at);
  Ref three = x.binary(Op::FloorDiv, x.axis(x.newAxis(x.times(x.mul(n, m), 3))), m);
  CHECK(x.binary(Op::FloorMod, three, x.times(n, 3)) == three);
  CHECK(x.binary(Op::FloorMod, three, n) != three);
  // One element more: nothing is known.
  Ref more = x.binary(Op::FloorDiv, x.axis(x.newAxis(x.plus(x.mul(n, m), 1))), m);
  CHECK(x.binary(Op::FloorMod, more, n) != more);
}

TEST_CASE("quotient and remainder of one value are that value") {
  Exprs x;
  Ref n = x.dim(0), m = x.dim(1);
  Ref a = x.axis(x.newAxis(m)), b = x.axis(x.newAxis(m));
  Ref by = x.mul(n, m); // a product
  for (Ref divisor : {x.integer(7), n, by, x.times(n, 3)}) {
    Ref quotient = x.binary(Op::FloorDiv, a, divisor), rest = x.binary(Op::FloorMod, a, divisor);
    CHECK(x.add(x.mul(quotient, divisor), rest) == a);
    CHECK(x.add(rest, x.mul(quotient, divisor)) == a);
    CHECK(x.add(x.times(x.mul(quotient, divisor), 5), x.add(b, x.times(rest, 5))) ==
          x.add(x.times(a, 5), b));
    Ref other = x.binary(Op::FloorMod, b, divisor);
    CHECK(x.add(x.mul(quotient, divisor), other) != a);
  }
}

TEST_CASE("a number that only the lower part is less than divides the upper part") {
  Exprs x;
  Ref n = x.dim(0), m = x.dim(1);
  Ref row = x.axis(x.newAxis(m)), column = x.axis(x.newAxis(x.integer(384)));
  Ref flat = x.add(x.times(row, 384), column);
  CHECK(x.binary(Op::FloorDiv, flat, x.times(n, 384)) == x.binary(Op::FloorDiv, row, n));
  CHECK(x.binary(Op::FloorMod, flat, x.times(n, 384)) ==
        x.add(x.times(x.binary(Op::FloorMod, row, n), 384), column));
  CHECK(x.binary(Op::FloorDiv, flat, x.integer(384 * 64)) ==
        x.binary(Op::FloorDiv, row, x.integer(64)));
  CHECK(x.binary(Op::FloorMod, flat, x.integer(384 * 64)) ==
        x.add(x.times(x.binary(Op::FloorMod, row, x.integer(64)), 384), column));
  // One more column than the number.
  Ref wide = x.add(x.times(row, 384), x.axis(x.newAxis(x.integer(385))));
  CHECK(x[x.binary(Op::FloorDiv, wide, x.integer(384 * 64))].a == wide);
}

TEST_CASE("a product of an extent divides what only its extent divides") {
  Exprs x;
  Ref s = x.dim(0), b = x.dim(1);
  Ref head = x.axis(x.newAxis(x.times(b, 4))), row = x.axis(x.newAxis(s)),
      column = x.axis(x.newAxis(x.integer(16)));
  Ref flat = x.add(x.times(x.mul(head, s), 16), x.add(x.times(row, 16), column));
  Ref rest = x.add(x.times(row, 16), column);
  CHECK(x.binary(Op::FloorDiv, flat, x.times(s, 64)) == x.binary(Op::FloorDiv, head, x.integer(4)));
  CHECK(x.binary(Op::FloorMod, flat, x.times(s, 64)) ==
        x.add(x.times(x.mul(x.binary(Op::FloorMod, head, x.integer(4)), s), 16), rest));
  // Of 48, 16 are common as well; of 24 and 16 only 8, and 8 * s is less than the rest.
  CHECK(x.binary(Op::FloorDiv, flat, x.times(s, 48)) == x.binary(Op::FloorDiv, head, x.integer(3)));
  Ref odd = x.binary(Op::FloorDiv, flat, x.times(s, 24));
  CHECK(x[odd].op == Op::FloorDiv);
  CHECK(x[odd].b == x.times(s, 24));
}

TEST_CASE("what an expression of dims likely is") {
  Exprs x;
  const int64_t dims[] = {10, 3};
  auto likely = [&](Ref ref) { return x.likely(ref, dims); };
  Ref n = x.dim(0), m = x.dim(1);
  CHECK(likely(x.integer(-7)) == -7);
  CHECK(likely(n) == 10);
  CHECK(likely(x.dim(2)) == 64); // nobody says
  CHECK(likely(x.add(x.times(n, 4), m)) == 43);
  CHECK(likely(x.plus(n, -12)) == 0); // no extent is negative
  CHECK(likely(x.binary(Op::FloorDiv, x.plus(n, -12), x.integer(4))) == 0);
  CHECK(likely(x.plus(x.binary(Op::FloorDiv, x.plus(n, -12), m), 5)) == 4);
  CHECK(likely(x.binary(Op::FloorMod, n, m)) == 1);
  CHECK(likely(x.binary(Op::Min, n, m)) == 3);
  CHECK(likely(x.binary(Op::Max, n, m)) == 10);
  CHECK(likely(x.binary(Op::FloorDiv, n, x.plus(m, -3))) == 0);
  CHECK(likely(x.cast(x.load(0, DType::Int32, x.integer(0)), DType::Int64)) == 64);
  CHECK(likely(x.mul(x.load(0, DType::Int64, x.integer(0)), m)) == 192);
  uint32_t chunks = x.newAxis(n); // the last chunk may be shorter
  CHECK(likely(x.binary(Op::Min, x.integer(8), x.sub(n, x.times(x.axis(chunks), 8)))) == 8);
  Ref large = n;
  for (int i = 0; i < 40; ++i)
    large = x.mul(large, n);
  CHECK(likely(large) == int64_t{1} << 40); // as far as it goes
}

TEST_CASE("data that may have wrapped is not divided or compared by a formula") {
  Exprs x;
  Ref v = x.load(0, DType::Int64, x.integer(0)), four = x.times(v, 4);
  CHECK(x[x.binary(Op::FloorDiv, four, x.integer(2))].op == Op::FloorDiv); // 0 for 2^62
  CHECK(x[x.binary(Op::FloorMod, x.times(v, 3), x.integer(3))].op == Op::FloorMod);
  CHECK(x[x.binary(Op::Lt, v, x.plus(v, 1))].op == Op::Lt); // false for the greatest number
  CHECK(x[x.binary(Op::Max, v, x.plus(v, 1))].op == Op::Max);
  // Sums and products wrap as the code does; equal ones are equal.
  CHECK(x.sub(x.add(four, v), x.times(v, 5)) == x.integer(0));
  CHECK(x.binary(Op::Le, four, four) == x.boolean(true));
  CHECK(x.binary(Op::FloorDiv, four, x.integer(1)) == four);
  // Indices are whole numbers, also those that are loaded and bounded.
  Ref row = x.index(v, x.integer(8));
  CHECK(x.binary(Op::FloorDiv, x.times(row, 4), x.integer(2)) == x.times(row, 2));
  CHECK(x.binary(Op::Lt, row, x.plus(row, 1)) == x.boolean(true));
  Ref small = x.binary(Op::FloorMod, v, x.integer(10));
  CHECK(x.binary(Op::FloorDiv, x.times(small, 4), x.integer(2)) == x.times(small, 2));
}

TEST_CASE("what 64 bits do not hold is not folded") {
  Exprs x;
  Ref v = x.load(0, DType::Int64, x.integer(0));
  Ref most = x.integer(INT64_MAX), sum = x.plus(most, 1);
  CHECK(x[sum].op == Op::Add);
  CHECK(x.range(sum) == std::nullopt);
  CHECK(x.plus(x.plus(v, INT64_MAX), -1) == x.plus(v, INT64_MAX - 1));
  Ref large = x.times(v, int64_t{1} << 40), larger = x.times(large, int64_t{1} << 40);
  CHECK(x[larger].op == Op::Mul); // 0 at run time, which nothing here says
  CHECK(x[larger].a == large);
  CHECK(x.sub(larger, larger) == x.integer(0));
  CHECK(x.affine(larger) == Affine::of(larger));
}

TEST_CASE("a common factor leaves a division with a constant") {
  Exprs x;
  Ref n = x.dim(0);
  auto over = [&](Ref a, int64_t b) { return x.binary(Op::FloorDiv, a, x.integer(b)); };
  CHECK(over(x.plus(x.times(n, 512), 2047), 2048) == over(x.plus(n, 3), 4));
  CHECK(over(x.plus(x.times(n, 512), -1), 2048) == over(x.plus(n, -1), 4));
  CHECK(over(x.plus(x.times(n, 512), 2047), 2047) != over(x.plus(n, 3), 3));
}
