// Compiled kernels against their definition.
#include "Harness.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace bycc;
using namespace bycc::codegen;

namespace {

struct Target {
  const char *cpu, *attrs;
};

std::vector<TargetInfo> targets();

void check(const Kernel &kernel, const std::vector<int64_t> &dims = {}, double tolerance = 2e-6,
           double scale = 1);

constexpr int64_t open = -1; // an extent that is dim 0 of the kernel

std::vector<Ref> shapeOf(Kernel &k, std::initializer_list<int64_t> extents) {
  std::vector<Ref> shape;
  for (int64_t extent : extents)
    shape.push_back(extent == open ? k.exprs.dim(0) : k.exprs.integer(extent));
  return shape;
}

} // namespace

#include "bycc/CodeGen/HostTarget.h"

namespace {

std::vector<TargetInfo> targets() {
  std::vector<TargetInfo> list;
  TargetInfo native = nativeTarget();
  list.push_back(native);
  if (native.has("avx2") && native.vectorBits > 256)
    list.push_back(resolveTarget("", "x86-64-v3", "").takeValue());
  list.push_back(resolveTarget("", "x86-64", "").takeValue());
  return list;
}

void check(const Kernel &kernel, const std::vector<int64_t> &dims, double tolerance, double scale) {
  Data expected;
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    expected.emplace_back();
    if (kernel.buffers[b].role != Role::Input)
      continue;
    size_t n = 1;
    for (Ref extent : kernel.buffers[b].shape) {
      const Expr &e = kernel.exprs[extent];
      n *= static_cast<size_t>(e.op == Op::Dim ? dims.at(static_cast<size_t>(e.i)) : e.i);
    }
    expected[b] = randomNumbers(n, b + 1);
    for (double &v : expected[b])
      v = isFloat(kernel.buffers[b].type) ? v * scale : std::floor(v * 10);
    if (kernel.buffers[b].type == DType::Float16)
      for (double &v : expected[b])
        v = halfToFloat(floatToHalf(static_cast<float>(v)));
  }
  Data inputs = expected;
  interpret(kernel, dims, expected);
  for (const TargetInfo &target : targets()) {
    Compiled compiled(kernel, target);
    for (int threads : {1, 3}) {
      Data actual = expected;
      for (size_t b = 0; b < kernel.buffers.size(); ++b)
        if (kernel.buffers[b].role == Role::Output)
          actual[b].assign(actual[b].size(), -77);
      compiled.run(dims, actual, threads);
      for (size_t b = 0; b < kernel.buffers.size(); ++b) {
        if (kernel.buffers[b].role != Role::Output)
          continue;
        INFO("target " << target.cpu << " threads " << threads << " buffer " << b);
        size_t bad = 0, first = 0;
        for (size_t i = 0; i < actual[b].size(); ++i) {
          double difference = std::fabs(actual[b][i] - expected[b][i]);
          if (!(difference <= tolerance * std::max(1.0, std::fabs(expected[b][i])))) {
            first = bad++ ? first : i;
          }
        }
        INFO("first at " << first << ": " << actual[b][first] << " for " << expected[b][first]);
        CHECK(bad == 0);
      }
    }
  }
}

Kernel dense(int64_t m, int64_t n, int64_t k, bool isConstant, bool transposed = true) {
  Kernel kernel;
  Exprs &x = kernel.exprs;
  uint32_t a = kernel.addBuffer(DType::Float32, shapeOf(kernel, {m, k}), Role::Input);
  uint32_t w = kernel.addBuffer(
      DType::Float32, transposed ? shapeOf(kernel, {n, k}) : shapeOf(kernel, {k, n}), Role::Input);
  uint32_t bias = kernel.addBuffer(DType::Float32, shapeOf(kernel, {n}), Role::Input);
  uint32_t y = kernel.addBuffer(DType::Float32, shapeOf(kernel, {m, n}), Role::Output);
  uint32_t t = kernel.addBuffer(DType::Float32, shapeOf(kernel, {m, n}), Role::Temp);
  kernel.buffers[w].isConstant = isConstant;
  Stage &s = kernel.map(t, [&](const std::vector<Ref> &) { return x.integer(0); });
  s.axes.clear();
  std::vector<Ref> i = kernel.axesOver(shapeOf(kernel, {m, n}), s.axes);
  s.reduceAxes = {};
  std::vector<Ref> r = kernel.axesOver(shapeOf(kernel, {k}), s.reduceAxes);
  s.reduce = Reduce::Sum;
  s.body = x.binary(Op::Mul, kernel.load(a, {i[0], r[0]}),
                    transposed ? kernel.load(w, {i[1], r[0]}) : kernel.load(w, {r[0], i[1]}));
  s.store = kernel.flat(t, i);
  kernel.map(y, [&](const std::vector<Ref> &o) {
    return x.binary(Op::Max, x.binary(Op::Add, kernel.load(t, o), kernel.load(bias, {o[1]})),
                    x.floating(0, DType::Float32));
  });
  return kernel;
}

struct Conv {
  int64_t n = 1, c = 3, h = 8, w = 8, o = 16, kh = 3, kw = 3, stride = 1, pad = 1, groups = 1;
};

Kernel conv(const Conv &p) {
  Kernel kernel;
  Exprs &x = kernel.exprs;
  int64_t oh = (p.h + 2 * p.pad - p.kh) / p.stride + 1,
          ow = (p.w + 2 * p.pad - p.kw) / p.stride + 1;
  int64_t cg = p.c / p.groups, og = p.o / p.groups;
  uint32_t a = kernel.addBuffer(DType::Float32, shapeOf(kernel, {p.n, p.c, p.h, p.w}), Role::Input);
  uint32_t w =
      kernel.addBuffer(DType::Float32, shapeOf(kernel, {p.o, cg, p.kh, p.kw}), Role::Input);
  uint32_t bias = kernel.addBuffer(DType::Float32, shapeOf(kernel, {p.o}), Role::Input);
  uint32_t residual =
      kernel.addBuffer(DType::Float32, shapeOf(kernel, {p.n, p.o, oh, ow}), Role::Input);
  uint32_t y = kernel.addBuffer(DType::Float32, shapeOf(kernel, {p.n, p.o, oh, ow}), Role::Output);
  kernel.buffers[w].isConstant = true;
  uint32_t source = a;
  if (p.pad) {
    source = kernel.addBuffer(
        DType::Float32, shapeOf(kernel, {p.n, p.c, p.h + 2 * p.pad, p.w + 2 * p.pad}), Role::Temp);
    kernel
        .map(source,
             [&](const std::vector<Ref> &i) {
               Ref hh = x.plus(i[2], -p.pad), ww = x.plus(i[3], -p.pad), inside = noRef;
               for (auto [v, n] : {std::pair{hh, p.h}, std::pair{ww, p.w}})
                 inside = x.both(inside, x.both(x.binary(Op::Le, x.integer(0), v),
                                                x.binary(Op::Lt, v, x.integer(n))));
               return x.guard(inside, kernel.load(a, {i[0], i[1], hh, ww}),
                              x.floating(0, DType::Float32));
             })
        .keep = true;
  }
  uint32_t t = kernel.addBuffer(DType::Float32, shapeOf(kernel, {p.n, p.o, oh, ow}), Role::Temp);
  Stage s;
  s.buffer = t;
  std::vector<Ref> i = kernel.axesOver(shapeOf(kernel, {p.n, p.groups, og, oh, ow}), s.axes);
  std::vector<Ref> r = kernel.axesOver(shapeOf(kernel, {cg, p.kh, p.kw}), s.reduceAxes);
  Ref channel = x.add(x.times(i[1], cg), r[0]), out = x.add(x.times(i[1], og), i[2]);
  s.reduce = Reduce::Sum;
  s.body = x.binary(Op::Mul,
                    kernel.load(source, {i[0], channel, x.add(x.times(i[3], p.stride), r[1]),
                                         x.add(x.times(i[4], p.stride), r[2])}),
                    kernel.load(w, {out, r[0], r[1], r[2]}));
  s.store = kernel.flat(t, {i[0], out, i[3], i[4]});
  kernel.stages.push_back(s);
  kernel.map(y, [&](const std::vector<Ref> &o) {
    Ref v = x.binary(Op::Add, kernel.load(t, o), kernel.load(bias, {o[1]}));
    return x.binary(Op::Max, x.binary(Op::Add, v, kernel.load(residual, o)),
                    x.floating(0, DType::Float32));
  });
  return kernel;
}

Kernel softmax(std::initializer_list<int64_t> extents, size_t axis) {
  Kernel kernel;
  Exprs &x = kernel.exprs;
  std::vector<Ref> shape = shapeOf(kernel, extents), rowShape = shape;
  rowShape[axis] = x.integer(1);
  uint32_t a = kernel.addBuffer(DType::Float32, shape, Role::Input);
  uint32_t y = kernel.addBuffer(DType::Float32, shape, Role::Output);
  uint32_t m = kernel.addBuffer(DType::Float32, rowShape, Role::Temp),
           s = kernel.addBuffer(DType::Float32, rowShape, Role::Temp);
  uint32_t e = kernel.addBuffer(DType::Float32, shape, Role::Temp);
  auto reduce = [&](uint32_t to, uint32_t from, Reduce kind) {
    Stage stage;
    stage.buffer = to;
    std::vector<Ref> i = kernel.axesOver(rowShape, stage.axes);
    stage.store = kernel.flat(to, i);
    i[axis] = kernel.axesOver({shape[axis]}, stage.reduceAxes)[0];
    stage.reduce = kind;
    stage.body = kernel.load(from, i);
    kernel.stages.push_back(stage);
  };
  auto row = [&](std::vector<Ref> i) {
    i[axis] = x.integer(0);
    return i;
  };
  reduce(m, a, Reduce::Max);
  kernel
      .map(e,
           [&](const std::vector<Ref> &i) {
             return x.unary(Op::Exp, x.binary(Op::Sub, kernel.load(a, i), kernel.load(m, row(i))));
           })
      .keep = true;
  reduce(s, e, Reduce::Sum);
  kernel.map(y, [&](const std::vector<Ref> &i) {
    return x.binary(Op::Div, kernel.load(e, i), kernel.load(s, row(i)));
  });
  return kernel;
}

} // namespace

TEST_CASE("elementwise with broadcast") {
  Kernel k;
  uint32_t a = k.addBuffer(DType::Float32, shapeOf(k, {2, 3, 5, 7}), Role::Input);
  uint32_t b = k.addBuffer(DType::Float32, shapeOf(k, {3}), Role::Input);
  uint32_t y = k.addBuffer(DType::Float32, shapeOf(k, {2, 3, 5, 7}), Role::Output);
  k.map(y, [&](const std::vector<Ref> &i) {
    return k.exprs.binary(Op::Add, k.load(a, i), k.load(b, {i[1]}));
  });
  check(k);
}

TEST_CASE("large elementwise runs in chunks") {
  Kernel k;
  uint32_t a = k.addBuffer(DType::Float32, shapeOf(k, {100003}), Role::Input);
  uint32_t y = k.addBuffer(DType::Float32, shapeOf(k, {100003}), Role::Output);
  k.map(y, [&](const std::vector<Ref> &i) { return k.exprs.unary(Op::Tanh, k.load(a, i)); });
  check(k);
}

TEST_CASE("math functions") {
  for (Op op : {Op::Exp, Op::Log, Op::Tanh, Op::Erf, Op::Sigmoid, Op::Sqrt, Op::Round, Op::Floor}) {
    Kernel k;
    uint32_t a = k.addBuffer(DType::Float32, shapeOf(k, {1000}), Role::Input);
    uint32_t y = k.addBuffer(DType::Float32, shapeOf(k, {1000}), Role::Output);
    k.map(y, [&](const std::vector<Ref> &i) {
      Ref v = k.load(a, i);
      return k.exprs.unary(op, op == Op::Log || op == Op::Sqrt ? k.exprs.unary(Op::Abs, v) : v);
    });
    INFO("op " << static_cast<int>(op));
    for (double scale : {1.0, 8.0})
      check(k, {}, 3e-7, scale);
  }
}

TEST_CASE("sine and cosine of small and huge angles") {
  for (LibmFn function : {LibmFn::Sin, LibmFn::Cos}) {
    Kernel k;
    uint32_t a = k.addBuffer(DType::Float32, shapeOf(k, {1000}), Role::Input);
    uint32_t y = k.addBuffer(DType::Float32, shapeOf(k, {1000}), Role::Output);
    k.map(y, [&](const std::vector<Ref> &i) {
      return k.exprs.unary(Op::Libm1, k.load(a, i), static_cast<int64_t>(function));
    });
    INFO("function " << static_cast<int>(function));
    for (double scale : {1.0, 30.0, 60000.0, 1e6, 1e20})
      check(k, {}, 3e-7, scale);
  }
}

TEST_CASE("transpose, narrow types and symbolic extents") {
  Kernel k;
  k.numDims = 1;
  uint32_t a = k.addBuffer(DType::Float16, {k.exprs.dim(0), k.exprs.integer(21)}, Role::Input);
  uint32_t y = k.addBuffer(DType::Float32, {k.exprs.integer(21), k.exprs.dim(0)}, Role::Output);
  k.map(y, [&](const std::vector<Ref> &i) {
    return k.exprs.cast(k.load(a, {i[1], i[0]}), DType::Float32);
  });
  check(k, {37});
}

// Each side of a guard would read far outside of its buffer where the other is wanted.
TEST_CASE("neither side of a guard is read in vain") {
  for (size_t axis : {size_t{0}, size_t{1}}) { // axis 1 is of lanes
    Kernel k;
    auto number = [&](int64_t n) { return k.exprs.integer(n); };
    uint32_t a = k.addBuffer(DType::Float32, {number(1)}, Role::Input);
    uint32_t b = k.addBuffer(DType::Float32, {number(1)}, Role::Input);
    uint32_t y = k.addBuffer(DType::Float32, {number(axis == 0 ? 2 : 1), number(axis == 0 ? 1 : 2)},
                             Role::Output);
    k.map(y, [&](const std::vector<Ref> &i) {
      Ref far = k.exprs.mul(i[axis], number(int64_t{1} << 40));
      Ref second = k.exprs.sub(far, number(int64_t{1} << 40));
      return k.exprs.guard(k.exprs.binary(Op::Lt, i[axis], number(1)), k.load(a, {far}),
                           k.load(b, {second}));
    });
    check(k, {});
  }
}

TEST_CASE("dense") {
  check(dense(1, 10, 33, true), {}, 1e-5);
  check(dense(1, 300, 128, true), {}, 1e-5);
  check(dense(37, 50, 64, true), {}, 1e-5);
  check(dense(37, 50, 64, false), {}, 1e-5);
  check(dense(20, 64, 19, false, false), {}, 1e-5);
}

TEST_CASE("schedules for likely extents fit any") {
  for (int64_t likely : {0, 1, 64, 5000}) {
    for (Kernel kernel :
         {dense(open, 50, 64, true), dense(open, 64, 33, false, false), dense(37, open, 64, false),
          dense(20, open, 19, false, false), dense(20, 33, open, false)}) {
      kernel.numDims = 1;
      kernel.likelyDims = {likely};
      for (int64_t extent : {1, 5, 64, 150}) {
        INFO("likely " << likely << ", is " << extent);
        check(kernel, {extent}, 1e-5);
      }
    }
  }
}

TEST_CASE("convolutions") {
  check(conv({}), {}, 1e-5);
  check(conv({2, 8, 7, 7, 40, 3, 3, 1, 1, 1}), {}, 1e-5);
  check(conv({1, 16, 14, 14, 33, 1, 1, 1, 0, 1}), {}, 1e-5);
  check(conv({1, 8, 15, 15, 32, 3, 3, 2, 1, 2}), {}, 1e-5);
  check(conv({1, 3, 30, 30, 16, 7, 7, 2, 3, 1}), {}, 1e-5);
  check(conv({1, 6, 19, 19, 6, 3, 3, 1, 1, 6}), {}, 1e-5);
  check(conv({1, 6, 37, 37, 6, 3, 3, 2, 1, 6}), {}, 1e-5);
}

TEST_CASE("softmax along any axis") {
  check(softmax({5, 37}, 1));
  check(softmax({3, 10, 6, 7}, 1));
  check(softmax({1, 1000}, 1));
}
