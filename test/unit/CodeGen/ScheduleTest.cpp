// A schedule is a value: printed and read back it is the same, and what a file says is what it
// is, or an error at the line.
#include "Harness.h"
#include "bycc/Loops/PrintLoops.h"

#include "bycc/CodeGen/HostTarget.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace bycc;
using namespace bycc::codegen;

namespace {

constexpr const char *fingerprint = "0123456789abcdef";

// sum over k of x[m, k] * w[k, n], with rows and columns that no tile divides.
Kernel product(int64_t rows, int64_t depth, int64_t columns) {
  Kernel kernel;
  Exprs &x = kernel.exprs;
  auto shape = [&](int64_t a, int64_t b) { return std::vector<Ref>{x.integer(a), x.integer(b)}; };
  uint32_t a = kernel.addBuffer(DType::Float32, shape(rows, depth), Role::Input);
  uint32_t w = kernel.addBuffer(DType::Float32, shape(depth, columns), Role::Input);
  uint32_t y = kernel.addBuffer(DType::Float32, shape(rows, columns), Role::Output);
  kernel.buffers[w].isConstant = true;
  Stage &stage = kernel.map(y, [&](const std::vector<Ref> &) { return x.integer(0); });
  stage.axes.clear();
  std::vector<Ref> i = kernel.axesOver(shape(rows, columns), stage.axes);
  std::vector<Ref> k = kernel.axesOver({x.integer(depth)}, stage.reduceAxes);
  stage.reduce = Reduce::Sum;
  stage.body = x.mul(kernel.load(a, {i[0], k[0]}), kernel.load(w, {k[0], i[1]}));
  stage.store = kernel.flat(y, i);
  return kernel;
}

// The largest element of each row.
Kernel reduction(int64_t rows, int64_t columns) {
  Kernel kernel;
  Exprs &x = kernel.exprs;
  uint32_t a = kernel.addBuffer(DType::Float32, {x.integer(rows), x.integer(columns)}, Role::Input);
  uint32_t y = kernel.addBuffer(DType::Float32, {x.integer(rows)}, Role::Output);
  Stage &stage = kernel.map(y, [&](const std::vector<Ref> &) { return x.integer(0); });
  stage.axes.clear();
  std::vector<Ref> i = kernel.axesOver({x.integer(rows)}, stage.axes);
  std::vector<Ref> k = kernel.axesOver({x.integer(columns)}, stage.reduceAxes);
  stage.reduce = Reduce::Max;
  stage.body = kernel.load(a, {i[0], k[0]});
  stage.store = kernel.flat(y, i);
  return kernel;
}

Kernel map(int64_t elements) {
  Kernel kernel;
  Ref extent = kernel.exprs.integer(elements);
  uint32_t a = kernel.addBuffer(DType::Float32, {extent}, Role::Input);
  uint32_t y = kernel.addBuffer(DType::Float32, {extent}, Role::Output);
  kernel.map(
      y, [&](const std::vector<Ref> &i) { return kernel.exprs.unary(Op::Exp, kernel.load(a, i)); });
  return kernel;
}

Kernel transposition(int64_t rows, int64_t columns) {
  Kernel kernel;
  Exprs &x = kernel.exprs;
  uint32_t a = kernel.addBuffer(DType::Float32, {x.integer(columns), x.integer(rows)}, Role::Input);
  uint32_t y =
      kernel.addBuffer(DType::Float32, {x.integer(rows), x.integer(columns)}, Role::Output);
  kernel.map(y, [&](const std::vector<Ref> &i) { return kernel.load(a, {i[1], i[0]}); });
  return kernel;
}

TargetInfo avx2() { return resolveTarget("", "x86-64-v3", "").takeValue(); }

std::string printed(const Loops &loops) {
  return printKernel({"net", fingerprint, loops, std::nullopt, false});
}

Expected<Loops> readBack(const Kernel &kernel, const std::string &text) {
  ScheduleFile file = BYCC_TRY(ScheduleFile::read("f.loops", text));
  KernelEdits *edits = file.find(fingerprint);
  REQUIRE(edits);
  return schedule(kernel, avx2(), false, edits);
}

Expected<Loops> edited(const Kernel &kernel, const std::string &line) {
  return readBack(kernel, std::string("kernel net ") + fingerprint + "\nnest 0\n" + line + "\n");
}

} // namespace

TEST_CASE("a schedule that is printed is read back as it was") {
  for (const Kernel &kernel : {product(37, 64, 50), product(1, 40000, 8), reduction(40, 300),
                               reduction(4, 3), map(3), map(10000), transposition(20, 30)}) {
    Loops chosen = schedule(kernel, avx2()).takeValue();
    auto again = readBack(kernel, printed(chosen));
    REQUIRE(again);
    CHECK(again->schedule == chosen.schedule);
    CHECK(printed(*again) == printed(chosen));
  }
}

TEST_CASE("a schedule is what the file says") {
  Kernel kernel = product(37, 64, 50);
  auto loops = edited(kernel, "schedule tile rows=5 vectors=2 unroll=4 epilogue=loop");
  REQUIRE(loops);
  const ProductSchedule &p = *loops->schedule.nests[0].product;
  CHECK(p.tile == TileSchedule{5, 1, 2, 4, true});
  REQUIRE(p.rests.size() == 3); // of 37 rows two, of 7 vectors one, and both
  CHECK(p.rests[0].rows == 5);
  CHECK(p.rests[0].vectors == 1);
  CHECK(p.rests[1].rows == 2);
  CHECK(p.blockRows % 5 == 0);
  auto again = readBack(kernel, printed(*loops));
  REQUIRE(again);
  CHECK(again->schedule == loops->schedule);

  auto across = edited(reduction(40, 300), "schedule lanes run=across");
  REQUIRE(across);
  CHECK(across->schedule.nests[0].lanes == LanesRun::Across);
  CHECK(!across->schedule.nests[0].stages[0].isVector);
  CHECK(schedule(transposition(20, 30), avx2())->schedule.nests[0].lanes == LanesRun::Turned);
  CHECK(schedule(transposition(3, 30), avx2())->schedule.nests[0].lanes == LanesRun::Along);
  auto along = edited(transposition(20, 30), "schedule lanes run=along");
  REQUIRE(along);
  CHECK(along->schedule.nests[0].lanes == LanesRun::Along);
  auto chunked = edited(map(10000), "schedule lanes chunk=64");
  REQUIRE(chunked);
  CHECK(chunked->schedule.nests[0].chunk == 64);
  CHECK(chunked->nests[0].rows.size() == 1);
}

TEST_CASE("a schedule that cannot be is an error at its line") {
  Kernel kernel = product(37, 64, 50);
  auto fails = [&](const std::string &line, const std::string &what) {
    auto loops = edited(kernel, line);
    REQUIRE(!loops);
    INFO(loops.error().str());
    CHECK(loops.error().status() == Status::Input);
    CHECK(loops.error().str().starts_with("f.loops:3: error[INPUT]: "));
    CHECK(loops.error().str().find(what) != std::string::npos);
  };
  fails("schedule tile rows=8 vectors=2", "needs 19 registers, there are 16");
  fails("schedule tile rows=0", "rows=0: rows of a tile: 1 to 37 are possible here");
  fails("schedule tile unroll=3", "64 steps, which must be a multiple");
  fails("schedule block rows=4 \nschedule tile rows=3", "rows of a block must be a multiple of 3");
  fails("schedule rest 9x9x9 unroll=1", "nothing of this name is scheduled here");
  fails("schedule panels made=rarely", "possible here: never, compiling, running");
  fails("schedule tile rows", "expected 'schedule GROUP NAME=VALUE...'");
  fails("schedule tile rows=99999999999999999999", "not a number");
}

// Code of an edited schedule gives what the stages say.
TEST_CASE("edited schedules compute the same") {
  auto check = [](const Kernel &kernel, const std::string &line) {
    ScheduleFile file = ScheduleFile::read("f.loops", std::string("kernel net ") + fingerprint +
                                                          "\nnest 0\n" + line + "\n")
                            .takeValue();
    INFO(line);
    Compiled compiled(kernel, avx2(), file.find(fingerprint));
    Data expected(kernel.buffers.size());
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      int64_t elements = 1;
      for (Ref extent : kernel.buffers[b].shape)
        elements *= *kernel.exprs.constant(extent);
      expected[b] = randomNumbers(static_cast<size_t>(elements), b + 1);
    }
    Data actual = expected;
    interpret(kernel, {}, expected);
    compiled.run({}, actual, 3);
    size_t output = 0;
    while (kernel.buffers[output].role != Role::Output)
      ++output;
    double worst = 0;
    for (size_t i = 0; i < actual[output].size(); ++i)
      worst = std::max(worst, std::fabs(actual[output][i] - expected[output][i]));
    CHECK(worst < 1e-4);
  };
  Kernel whole = product(37, 64, 48); // columns are whole vectors
  for (const char *line :
       {"schedule panels made=never", "schedule panels made=running grain=2",
        "schedule panels prefetch=256", "schedule tile rows=3 vectors=3",
        "schedule tile rows=1 vectors=1 epilogue=loop", "schedule tile rows=2 vectors=5",
        "schedule tile rows=2\nschedule block rows=38 tiles=2", "schedule threads grain=2"})
    check(whole, line);
  check(product(37, 64, 50), "schedule panels made=never"); // a mask at their end
  for (const char *line : {"schedule lanes run=turned", "schedule lanes run=along",
                           "schedule lanes run=turned chunk=8"})
    check(transposition(19, 29), line);
  for (const char *line : {"schedule lanes run=across", "schedule stage b1 ways=8",
                           "schedule stage b1 vector=no", "schedule threads grain=7"})
    check(reduction(43, 301), line);
  for (const char *line : {"schedule lanes chunk=8", "schedule lanes chunk=0",
                           "schedule lanes chunk=4096", "schedule stage b1 vector=no"})
    check(map(9001), line);
}
