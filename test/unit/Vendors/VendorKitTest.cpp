// The kit of bycc/vendor.hpp: attributes by one set of rules, composites opened, arenas, blobs that
// are damaged, and the tables.
#include "RegionBuilder.h"

#include "bycc/vendor.hpp"

#include <catch2/catch.hpp>

#include <random>

using namespace bycc;
using vendor::Refusal;

namespace {

// What something is refused with; "" when it is not.
template <typename Body> std::string refusalOf(Body body) {
  try {
    body();
    return "";
  } catch (const std::exception &refusal) {
    return refusal.what();
  }
}

vendor::Region regionOf(test::RegionBuilder &builder) { return vendor::Region(builder.region()); }

} // namespace

TEST_CASE("the kit reads attributes by one set of rules", "[vendor-kit]") {
  test::RegionBuilder builder;
  uint32_t x = builder.input({1, 3, 8, 8});
  builder.output(builder.op("op", {x}, {1, 3, 8, 8},
                            {{"axis", -1},
                             {"four", test::Dims{1, 2, 3, 4}},
                             {"half", 0.5},
                             {"layout", "NCHW"},
                             {"one", 2},
                             {"three", test::Dims{1, 2, 3}},
                             {"two", test::Dims{1, 2}},
                             {"whole", 3.0}}));
  vendor::Node node = regionOf(builder).nodes()[0];
  CHECK(node.integer("axis") == -1);
  CHECK(node.integer("whole") == 3);
  CHECK(refusalOf([&] { node.integer("half"); }) == "half holds a float, which it does not take");
  CHECK(refusalOf([&] { node.integer("layout"); }) ==
        "layout holds a string, which it does not take");
  CHECK(refusalOf([&] { node.integer("two"); }) == "two holds a list, which it does not take");
  CHECK(refusalOf([&] { node.word("one"); }) == "one holds an integer, which it does not take");
  CHECK(refusalOf([&] { node.integer("absent"); }) == "there is no absent");
  CHECK(node.integer("absent", 7) == 7);
  CHECK(node.number("half") == 0.5);
  CHECK(node.number("one") == 2);
  CHECK(node.flag("one"));
  CHECK(node.flag("absent", true));
  CHECK(node.word("layout") == "NCHW");
  CHECK(node.integers("one") == vendor::Dims{2});
  CHECK(node.integers("three") == vendor::Dims{1, 2, 3});
  CHECK(node.spatial("one") == vendor::Dims{2, 2});
  CHECK(node.spatial("two") == vendor::Dims{1, 2});
  CHECK(refusalOf([&] { node.spatial("three"); }) == "three has 3 numbers for 2 axes");
  CHECK(node.padding("one").after == vendor::Dims{2, 2});
  CHECK(node.padding("two").before == vendor::Dims{1, 2});
  CHECK(node.padding("two").after == vendor::Dims{1, 2});
  CHECK(node.padding("four").before == vendor::Dims{1, 2});
  CHECK(node.padding("four").after == vendor::Dims{3, 4});
  CHECK(node.padding("absent").before == vendor::Dims{0, 0});
  CHECK(refusalOf([&] { node.padding("three"); }) == "three has 3 numbers for 2 axes");
  CHECK(refusalOf([&] { node.lists("two"); }).empty());
  CHECK(refusalOf([&] { node.pairs("two", 2); }) == "two has 1 numbers for an axis, wanted 2");
  node.expect("layout", "NCHW");
  CHECK(refusalOf([&] { node.expect("layout", "NHWC"); }) == "layout is NCHW, wanted NHWC");
  CHECK(refusalOf([&] { node.input(1); }) == "1 operands");
  CHECK(refusalOf([&] { node.constant<float>(0); }) == "operand 0 is not a constant");
  CHECK(vendor::axisOf(-1, 4) == 3);
  CHECK(refusalOf([&] { vendor::axisOf(4, 4); }) == "axis 4 is out of range for rank 4");
}

TEST_CASE("the kit opens composites and counts uses", "[vendor-kit]") {
  auto body = std::make_shared<test::RegionBuilder>();
  uint32_t data = body->input({2, 3}), bias = body->input({3});
  body->output(body->op("nn.relu", {body->op("add", {data, bias}, {2, 3})}, {2, 3}));
  test::RegionBuilder builder;
  uint32_t x = builder.input({2, 3}), b = builder.constant({3}, {1, 2, 3});
  uint32_t first = builder.op("exp", {x}, {2, 3});
  uint32_t made = builder.composite("v.add_relu", {first, b}, body);
  builder.output(made);
  builder.output(first);

  vendor::Region region = regionOf(builder);
  vendor::Flat flat(region);
  REQUIRE(flat.calls.size() == 3);
  CHECK(flat.calls[1].node.op() == "add");
  CHECK(flat.calls[1].place == 1);
  CHECK(flat.calls[1].inputs[0] == flat.calls[0].outputs[0]);
  CHECK(flat.input(flat.calls[1], 1).constant<float>()[2] == 3);
  CHECK(flat.calls[2].inputs == flat.calls[1].outputs);
  CHECK(flat.outputs == std::vector<uint32_t>{flat.calls[2].outputs[0], flat.calls[0].outputs[0]});
  vendor::Flat one(region.nodes()[1]);
  REQUIRE(one.calls.size() == 2);
  CHECK(one.values[one.calls[0].inputs[0]] == region.nodes()[1].input(0));

  vendor::Uses uses(region);
  CHECK(uses.reads[first] == 2);
  CHECK(uses.maker[made] == 1);
  CHECK(uses.maker[x] == vendor::none);

  std::string text = vendor::relayText(region);
  CHECK(text == "#[version = \"0.0.5\"]\n"
                "def @main(%p0: Tensor[(2, 3), float32]) {\n"
                "  %0 = exp(%p0);\n"
                "  %1 = add(%0, Tensor[(3), float32][1, 2, 3]);\n"
                "  %2 = nn.relu(%1);\n"
                "  (%2, %0)\n}\n");
}

TEST_CASE("the kit's extents are those of a run", "[vendor-kit]") {
  test::RegionBuilder builder;
  uint32_t x = builder.input({7, 3});
  builder.output(builder.op("nn.relu", {x}, {7, 3}));
  builder.makeRunTime(7);
  vendor::Region region = regionOf(builder);
  CHECK_FALSE(region.isStatic());
  vendor::Format format = {"extents", 1};
  auto extents =
      vendor::read<vendor::Extents>(format, vendor::write(format, vendor::Extents(region)));
  int64_t shape[] = {5, 3};
  bycc_array input = {nullptr, shape};
  vendor::Value out = region.outputs()[0];
  CHECK(vendor::Extents::dims(out, extents.of(std::span(&input, 1))) == vendor::Dims{5, 3});
  CHECK(vendor::Extents::dims(out, extents.likely()) == vendor::Dims{64, 3});
  CHECK(refusalOf([&] { extents.of(std::span<const bycc_array>()); }) ==
        "no input of the region has the extent of a symbol");
  CHECK(refusalOf([&] { out.elements(); }) == "an extent of (?, 3) is unknown until run time");
}

TEST_CASE("the kit's arenas hold what lives at the same time", "[vendor-kit]") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<vendor::Buffer> buffers(1 + random() % 30);
    uint64_t most = 0;
    for (vendor::Buffer &buffer : buffers) {
      buffer.bytes = random() % 1000;
      uint32_t first = random() % 20;
      buffer.use(first);
      buffer.use(first + random() % 8);
    }
    uint64_t size = vendor::planArena(buffers);
    for (uint32_t step = 0; step < 30; ++step) {
      uint64_t live = 0;
      for (const vendor::Buffer &a : buffers)
        if (a.first <= step && step <= a.last)
          live += vendor::aligned(a.bytes);
      most = std::max(most, live);
    }
    CHECK(size >= most);
    CHECK(size <= 3 * most + 64);
    for (size_t i = 0; i < buffers.size(); ++i) {
      const vendor::Buffer &a = buffers[i];
      CHECK(a.offset % 64 == 0);
      CHECK(a.offset + a.bytes <= size);
      for (size_t k = 0; k < i; ++k)
        if (const vendor::Buffer &b = buffers[k]; a.first <= b.last && b.first <= a.last)
          CHECK((a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset || a.bytes == 0 ||
                 b.bytes == 0));
    }
  }
}

namespace {

enum class Kind : uint8_t { Add, Relu, count };
struct Step {
  Kind kind = Kind::Add;
  std::string name;
  std::vector<uint32_t> inputs;
  std::array<int32_t, 3> numbers{};
  std::optional<double> scale;
  bool isLast = false;
  auto members() { return std::tie(kind, name, inputs, numbers, scale, isLast); }
  bool operator==(const Step &) const = default;
};
using Steps = std::vector<Step>;
constexpr vendor::Format format = {"test region", 7};

Steps someSteps() {
  return {{Kind::Relu, "first", {1, 2, ~0u}, {-1, 0, INT32_MAX}, 0.5, false},
          {},
          {Kind::Add, "", {}, {}, -1e300, true}};
}

// The checksum made right again, as nobody's accident does it.
void seal(vendor::Bytes &blob) {
  uint64_t sum =
      vendor::detail::checksum(std::span<const uint8_t>(blob).subspan(16), format.version);
  for (size_t i = 0; i < 8; ++i)
    blob[8 + i] = static_cast<uint8_t>(sum >> 8 * i);
}

} // namespace

TEST_CASE("the kit's blobs are what was written, or refused", "[vendor-kit]") {
  vendor::Bytes blob = vendor::write(format, someSteps());
  CHECK(vendor::read<Steps>(format, blob) == someSteps());
  auto refusal = [](const vendor::Bytes &bytes, vendor::Format wanted = format) {
    return refusalOf([&] { vendor::read<Steps>(wanted, bytes); });
  };
  CHECK(refusal(blob, {"other region", 7}) == "no other region");
  CHECK(refusal(blob, {"test region", 8}) ==
        "test region of version 7, wanted 8: compile the model again");
  CHECK(refusal({}) == "no test region");
  for (size_t size = 0; size < blob.size(); ++size)
    CHECK_FALSE(refusal({blob.begin(), blob.begin() + static_cast<std::ptrdiff_t>(size)}).empty());
  for (size_t bit = 0; bit < 8 * blob.size(); ++bit) {
    vendor::Bytes flipped = blob;
    flipped[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    CHECK_FALSE(refusal(flipped).empty());
  }
}

TEST_CASE("the kit's reader believes nothing that has a right checksum", "[vendor-kit]") {
  vendor::Bytes blob = vendor::write(format, someSteps());
  std::mt19937 random(5);
  std::map<std::string, int> found;
  for (int round = 0; round < 20000; ++round) {
    vendor::Bytes bytes = blob;
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes)
      bytes[16 + random() % (bytes.size() - 16)] =
          static_cast<uint8_t>(random() % 4 ? random() % 4 : random());
    if (random() % 4 == 0)
      bytes.resize(16 + random() % (bytes.size() - 16));
    if (random() % 8 == 0)
      bytes.push_back(0);
    seal(bytes);
    std::string refusal;
    try {
      Steps steps = vendor::read<Steps>(format, bytes);
      for (const Step &step : steps)
        CHECK(step.kind < Kind::count);
    } catch (const vendor::Failure &failure) {
      CHECK(failure.status == BYCC_LOAD);
      refusal = failure.what();
    }
    ++found[refusal];
  }
  for (const char *wanted : {"", "test region is damaged: its end is missing",
                             "test region is damaged: a list is longer than it",
                             "test region is damaged: a choice that there is not",
                             "test region is damaged: a bool that is neither",
                             "test region is damaged: there is more than belongs to it"}) {
    INFO(wanted);
    CHECK(found[wanted] > 0);
  }
}

namespace {

// A vendor that negates, or fails as its region's symbol says.
struct NegateCompiler {
  void supports(const vendor::Question &question) {
    if (question.node().op() != "negative")
      throw Refusal("it has no ", question.node().op());
    question.node().expectPlain({BYCC_FLOAT32});
  }
  vendor::Bytes compile(const vendor::Question &question) {
    for (vendor::Node node : question.region.nodes())
      vendor::blaming(node, [&] {
        if (node.op() == "bad")
          throw std::bad_alloc();
        if (node.op() != "negative")
          throw Refusal("it has no ", node.op());
      });
    return vendor::write(format, vendor::Memory(question.region));
  }
};

struct NegateRegion {
  struct Context {
    explicit Context(const bycc_vendor_context &) {}
    int numRuns = 0;
  };
  struct State {
    State(NegateRegion &, int32_t) { ++alive; }
    ~State() { --alive; }
    static inline int alive = 0;
    int runs = 0;
  };
  explicit NegateRegion(const vendor::Load &load)
      : memory(vendor::read<vendor::Memory>(format, load.blob)) {
    memory.bind(load);
  }
  uint64_t scratchBytes() const { return memory.scratchBytes(); }
  void run(const vendor::Run &run, State &state) {
    uint8_t *lent = run.lend(1000);
    if (reinterpret_cast<uintptr_t>(lent) % 64 != 0)
      throw vendor::Failure(BYCC_INTERNAL, "the scratch memory is another one");
    lent[999] = 1;
    if (state.runs++ != run.context<Context>().numRuns++)
      throw vendor::Failure(BYCC_INTERNAL, "the state is another one");
    if (state.runs > 1)
      throw vendor::Failure(BYCC_LIMIT, "one run alone");
    const float *from = memory.at<float>(run, 0);
    for (int i = 0; i < 3; ++i)
      memory.at<float>(run, 1)[i] = -from[i];
    memory.finish(run);
  }
  vendor::Memory memory;
};

constexpr vendor::About about = {.name = "negate", .version = "1"};

struct Told {
  std::string reason;
  int64_t blamed = -1;
  vendor::Bytes blob;
};

struct Asking : bycc_answer {
  Asking() : bycc_answer{} {
    size = sizeof(bycc_answer);
    impl = &told;
    reason = [](bycc_answer *answer, const char *text) {
      static_cast<Told *>(answer->impl)->reason = text;
    };
    blame = [](bycc_answer *answer, uint32_t node) {
      static_cast<Told *>(answer->impl)->blamed = node;
    };
    blob = [](bycc_answer *answer, const void *bytes, size_t size) {
      auto from = static_cast<const uint8_t *>(bytes);
      static_cast<Told *>(answer->impl)->blob.assign(from, from + size);
    };
  }
  Told told;
};

} // namespace

TEST_CASE("the kit's tables turn what is thrown into answers", "[vendor-kit]") {
  NegateCompiler half;
  bycc_vendor_compiler compiler = vendor::compilerTable(about, half);
  CHECK(compiler.annotate == nullptr);
  CHECK(compiler.tune == nullptr);
  bycc_target target{};
  target.size = sizeof target;
  auto ask = [&](auto function, const char *op, Asking &asking) {
    test::RegionBuilder builder;
    uint32_t x = builder.input({3});
    builder.output(builder.op(op, {builder.op("negative", {x}, {3})}, {3}));
    return function(compiler.self, &target, &builder.region(), &asking);
  };
  Asking no, none;
  CHECK(ask(compiler.compile, "exp", no) == 1);
  CHECK(no.told.reason == "it has no exp");
  CHECK(no.told.blamed == 1);
  CHECK(ask(compiler.compile, "bad", none) == 1);
  CHECK(none.told.reason == "not enough memory");

  test::RegionBuilder builder;
  uint32_t x = builder.input({3});
  builder.output(builder.op("negative", {x}, {3}));
  Asking yes;
  CHECK(compiler.supports(compiler.self, &target, &builder.region(), &yes) == 1);
  REQUIRE(compiler.compile(compiler.self, &target, &builder.region(), &yes) == 0);

  bycc_vendor_runtime runtime = vendor::runtimeTable<NegateRegion>(about);
  bycc_vendor_context context{};
  context.size = sizeof context;
  char error[64] = "";
  REQUIRE(runtime.open(&context, error, sizeof error) == BYCC_OK);
  int64_t three = 3;
  bycc_tensor tensor{sizeof(bycc_tensor), BYCC_FLOAT32, 1, 0, &three, "", 12};
  bycc_region_load load{};
  load.size = sizeof load;
  load.num_inputs = load.num_outputs = 1;
  load.inputs = load.outputs = &tensor;
  load.blob = yes.told.blob.data();
  load.blob_bytes = yes.told.blob.size();
  void *region = nullptr;
  tensor.bytes = 8;
  CHECK(runtime.load(&context, &load, &region, error, sizeof error) == BYCC_LOAD);
  CHECK(std::string(error) == "the region has a tensor of 12 bytes, the model says 8");
  CHECK(runtime.load(&context, &load, &region, error, 8) == BYCC_LOAD);
  CHECK(std::string(error) == "the reg");
  tensor.bytes = 12;
  REQUIRE(runtime.load(&context, &load, &region, error, sizeof error) == BYCC_OK);
  alignas(64) uint8_t state[128] = {};
  REQUIRE(runtime.state_bytes(&context, region) <= sizeof state);
  REQUIRE(runtime.init_state(&context, region, state, 1) == BYCC_OK);
  CHECK(NegateRegion::State::alive == 1);
  float in[] = {1, -2, 3}, out[3] = {};
  bycc_array input = {in, &three}, output = {out, &three};
  bycc_region_run run{};
  run.size = sizeof run;
  run.threads = 1;
  run.inputs = &input;
  run.outputs = &output;
  CHECK(runtime.scratch_bytes(&context, region) == 0);
  CHECK(runtime.run(&context, region, state, &run, error, sizeof error) == BYCC_LOAD);
  CHECK(std::string(error) == "this version of bycc lends no memory to runs");
  alignas(64) static uint8_t lent[1000];
  run.scratch = [](const bycc_region_run *given, uint64_t bytes) {
    return given->owner && bytes <= sizeof lent ? static_cast<void *>(lent) : nullptr;
  };
  CHECK(runtime.run(&context, region, state, &run, error, sizeof error) == BYCC_LIMIT);
  CHECK(std::string(error) == "no memory for 1000 bytes");
  run.owner = lent;
  CHECK(runtime.run(&context, region, state, &run, error, sizeof error) == BYCC_OK);
  CHECK(out[1] == 2);
  CHECK(runtime.run(&context, region, state, &run, error, sizeof error) == BYCC_LIMIT);
  CHECK(std::string(error) == "one run alone");
  runtime.drop_state(&context, region, state);
  CHECK(NegateRegion::State::alive == 0);
  runtime.unload(&context, region);
  runtime.close(&context);
}

TEST_CASE("the kit shares work without a pool and with one", "[vendor-kit]") {
  std::vector<int> seen(1000);
  auto mark = [&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i)
      ++seen[i];
  };
  vendor::share(nullptr, 4, seen.size(), mark);
  bycc_thread_pool pool{};
  pool.size = sizeof pool;
  static uint32_t asked = 0;
  pool.run = [](uint32_t count, void (*task)(void *closure), void *closure) {
    asked = count;
    for (uint32_t i = 0; i < count; ++i)
      task(closure);
  };
  vendor::share(&pool, 4, seen.size(), mark);
  CHECK(asked == 4);
  vendor::share(&pool, 4, 0, mark);
  CHECK(seen == std::vector<int>(1000, 2));
}
