// Programs of the compile half on a run half that differs: another library, another
// instruction set, other thread counts, weights in layouts that are not taken there.
#include "DnnlCheck.h"

#include "dnnl/Blob.h"
#include "dnnl/Constants.h"
#include "dnnl/Library.h"

#include <algorithm>
#include <cstring>

using namespace bycc;
using namespace bycc::test;
using onednn::Blob;
using onednn::LayoutForm;

namespace {

// conv, bias, relu; conv; dense: constants of all kinds.
void buildNet(RegionBuilder &region) {
  Dims dims = {1, 32, 10, 10};
  uint32_t x = region.input(dims);
  auto constant = [&](Dims of, uint32_t seed) { return region.constant(of, noise(of, seed)); };
  uint32_t c =
      region.op("nn.conv2d", {x, constant({32, 32, 3, 3}, 3)}, dims, {{"padding", Dims{1, 1}}});
  uint32_t b = region.op("add", {c, constant({32, 1, 1}, 4)}, dims);
  uint32_t r = region.op("nn.relu", {b}, dims);
  uint32_t p = region.op("nn.conv2d", {r, constant({48, 32, 1, 1}, 5)}, {1, 48, 10, 10}, {});
  uint32_t g = region.op("nn.global_avg_pool2d", {p}, {1, 48, 1, 1});
  uint32_t f = region.op("reshape", {g}, {1, 48});
  region.output(region.op("nn.dense", {f, constant({20, 48}, 6)}, {1, 20}));
}

// With its answer changed by `change`; the results must be right all the same.
template <typename F> std::vector<std::string> checkChanged(F change) {
  RegionBuilder region;
  buildNet(region);
  std::vector<Tensor> inputs = inputsFor(region);
  Answer compiled = compile(region);
  REQUIRE(compiled.yes);
  Expected<Blob> blob = onednn::readBlob(compiled.blob);
  REQUIRE(blob);
  REQUIRE(blob->program);
  change(*blob, compiled);
  compiled.blob = onednn::writeBlob(*blob);
  Loaded loaded(region, compiled, 1);
  std::vector<Tensor> want = evaluate(region.region(), inputs);
  for (int32_t threads : {1, 2, 3, 1})
    requireClose(loaded.run(inputs, threads), want);
  return loaded.details();
}

std::vector<std::string> implementationsHere() {
  return checkChanged([](Blob &, Answer &) {});
}

// The number of the first stored constant of these extents.
uint32_t storedOf(const Blob &blob, const Dims &dims) {
  for (uint32_t i = 0; i < blob.stored.size(); ++i)
    if (blob.stored[i].form.dims == dims)
      return i;
  FAIL("no such constant");
  return 0;
}

// Brings stored float32 constant `index` to another layout, behind all others.
void relayout(Blob &blob, Answer &compiled, uint32_t index, const LayoutForm &form) {
  onednn::Stored &stored = blob.stored[index];
  size_t count = static_cast<size_t>(onednn::numElements(form.dims));
  std::vector<float> plain(count), places(static_cast<size_t>(onednn::numPlaces(form)));
  unpack(stored.form, compiled.weights.get() + stored.offset,
         reinterpret_cast<uint8_t *>(plain.data()));
  // Unpacking the places' own numbers says which element each one holds.
  std::vector<float> numbers(places.size()), order(count);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i);
  unpack(form, reinterpret_cast<uint8_t *>(numbers.data()),
         reinterpret_cast<uint8_t *>(order.data()));
  for (size_t i = 0; i < count; ++i)
    places[static_cast<size_t>(order[i])] = plain[i];

  uint64_t old = (compiled.weightsBytes + 63) / 64 * 64, size = old + places.size() * 4;
  std::shared_ptr<uint8_t> grown(
      static_cast<uint8_t *>(std::aligned_alloc(64, (size + 63) / 64 * 64)), std::free);
  std::memcpy(grown.get(), compiled.weights.get(), compiled.weightsBytes);
  std::memcpy(grown.get() + old, places.data(), places.size() * 4);
  compiled.weights = grown;
  compiled.weightsBytes = size;
  onednn::Layout before = *layoutOf(stored.form), after = *layoutOf(form);
  stored.form = form;
  stored.offset = old;
  for (uint32_t c = 0; c < blob.program->constants.size(); ++c) {
    onednn::Constant &constant = blob.program->constants[c];
    if (constant.stored != index)
      continue;
    constant.layout = after;
    for (onednn::Buffer &buffer : blob.program->buffers)
      if (buffer.place == onednn::Buffer::Place::Constant && buffer.index == c)
        buffer.bytes = onednn::bytesOf(after);
  }
  for (onednn::Slot &slot : blob.program->slots)
    if (slot.layout == before)
      slot.layout = after;
}

} // namespace

TEST_CASE("dnnl lowers anew for another library or instruction set") {
  std::vector<std::string> here = implementationsHere();
  CHECK(checkChanged([](Blob &blob, Answer &) { blob.madeWith.library = "oneDNN 0.1"; }) == here);
  CHECK(checkChanged([](Blob &blob, Answer &) { blob.madeWith.instructionSet = "mmx"; }) == here);
  CHECK(checkChanged([](Blob &blob, Answer &) { blob.program.reset(); }) == here);
}

TEST_CASE("dnnl packs weights anew where their layout is not taken") {
  std::vector<std::string> here = implementationsHere();
  Dims dims{32, 32, 3, 3};
  // Blocks for int8 weights, axes in an order that no kernel likes, row-major.
  std::vector<LayoutForm> forms(3);
  forms[0] = {DType::Float32, dims, dims, {4608, 2304, 768, 256}, {{1, 4}, {0, 16}, {1, 4}}};
  forms[1] = {DType::Float32, dims, dims, {9, 288, 3, 1}, {}};
  forms[2] = {DType::Float32, dims, dims, {288, 9, 3, 1}, {}};
  for (const LayoutForm &form : forms) {
    CAPTURE(text(form));
    REQUIRE(checkForm(form));
    CHECK(checkChanged([&](Blob &blob, Answer &compiled) {
            relayout(blob, compiled, storedOf(blob, dims), form);
          }) == here);
  }
}

TEST_CASE("dnnl tells the arithmetic of each step, and what reorders move") {
  RegionBuilder region;
  buildNet(region);
  Answer compiled = compile(region);
  Loaded loaded(region, compiled, 1);
  std::vector<std::string> names = loaded.steps(), details = loaded.details();
  double products = 0;
  for (uint32_t i = 0; i < names.size(); ++i) {
    double flops = runtimeHalf().step(runtimeContext(), loaded.handle(), i)->flops;
    if (names[i] == "reorder") {
      CHECK(flops == 0);
      CHECK_THAT(details[i], Catch::Contains("float32 (") && Catch::Contains(" to "));
    } else if (names[i] == "convolution" || names[i] == "matmul") {
      products += flops;
    }
  }
  CHECK(products == 2.0 * (3200 * 32 * 9 + 4800 * 32 + 20 * 48));
  CHECK(!runtimeHalf().step(runtimeContext(), loaded.handle(), 1000));
}

TEST_CASE("dnnl lays weights out at load where the program leaves it open") {
  std::vector<std::string> here = implementationsHere();
  Dims dims{32, 32, 3, 3};
  onednn::Layout plain = onednn::plainLayout(dims, DType::Float32);
  CHECK(checkChanged([&](Blob &blob, Answer &compiled) {
          uint32_t index = storedOf(blob, dims);
          relayout(blob, compiled, index, *onednn::formOf(plain));
          onednn::Program &program = *blob.program;
          onednn::Constant open{blob.stored[index].value,
                                onednn::none,
                                0,
                                plain,
                                onednn::none,
                                onednn::anyLayout(dims, DType::Float32)};
          while (program.constants[open.from].stored != index)
            ++open.from;
          program.constants.push_back(open);
          program.buffers.push_back(
              {onednn::Buffer::Place::Constant, program.constants.size() - 1, 0});
          for (onednn::Slot &slot : program.slots)
            if (const onednn::Buffer &buffer = program.buffers[slot.buffer];
                buffer.place == onednn::Buffer::Place::Constant && buffer.index == open.from)
              slot = {static_cast<uint32_t>(program.buffers.size() - 1), open.layout, 0};
        }) == here);
}

TEST_CASE("dnnl refuses a program whose numbers do not fit the plan") {
  using Change = void (*)(onednn::Program &);
  const Change changes[] = {
      [](onednn::Program &p) { // only weights may be left open
        const onednn::Layout &layout = p.slots[p.actions[0].output].layout;
        p.slots[p.actions[0].output].layout =
            onednn::anyLayout(onednn::dimsOf(layout), DType::Float32);
      },
      [](onednn::Program &p) {
        onednn::Layout &layout = p.constants[0].layout;
        layout = onednn::anyLayout(onednn::dimsOf(layout), DType::Float32);
      },
      [](onednn::Program &p) { p.slots[0].buffer = 1000; },
      [](onednn::Program &p) { p.slots[0].offset = 1; },
      [](onednn::Program &p) { p.actions[0].step = 1000; },
      [](onednn::Program &p) { p.actions[0].output = 1000; },
      [](onednn::Program &p) { p.actions[0].inputs.pop_back(); },
      [](onednn::Program &p) { p.actions[0].output = p.actions[0].inputs[0]; },
      [](onednn::Program &p) { p.constants[0].stored = 1000; },
      [](onednn::Program &p) { p.buffers[0].bytes = 1; },
      [](onednn::Program &p) { p.slots[p.actions.back().output].layout = p.slots[0].layout; },
  };
  for (size_t i = 0; i < std::size(changes); ++i) {
    RegionBuilder region;
    buildNet(region);
    Answer compiled = compile(region);
    Blob blob = *onednn::readBlob(compiled.blob);
    changes[i](*blob.program);
    Expected<Blob> read = onednn::readBlob(onednn::writeBlob(blob));
    CAPTURE(i);
    CHECK(!read);
  }
}

TEST_CASE("dnnl forms of layouts tell where the library puts elements") {
  onednn::Dims dims{20, 18, 3, 3};
  auto row = onednn::plainLayout(dims, DType::Float32);
  std::vector<float> plain = noise(dims, 1), back(plain.size());
  for (auto tag : {dnnl::memory::format_tag::OIhw16i16o, dnnl::memory::format_tag::OIhw4i16o4i,
                   dnnl::memory::format_tag::Ohwi8o, dnnl::memory::format_tag::hwio,
                   dnnl::memory::format_tag::oihw}) {
    onednn::Layout layout(dims, dnnl::memory::data_type::f32, tag);
    std::vector<float> packed(onednn::bytesOf(layout) / 4);
    dnnl::memory from(row, onednn::engine(), plain.data()),
        to(layout, onednn::engine(), packed.data());
    dnnl::stream stream(onednn::engine());
    dnnl::reorder(from, to).execute(stream, from, to);
    std::optional<LayoutForm> form = onednn::formOf(layout);
    REQUIRE(form);
    REQUIRE(checkForm(*form));
    CAPTURE(text(*form));
    CHECK(layoutOf(*form) == layout);
    CHECK(static_cast<uint64_t>(numPlaces(*form)) * 4 == onednn::bytesOf(layout));
    unpack(*form, reinterpret_cast<uint8_t *>(packed.data()),
           reinterpret_cast<uint8_t *>(back.data()));
    CHECK(back == plain);
  }
}

TEST_CASE("dnnl refuses forms that are no layout") {
  LayoutForm good{DType::Float32, {4, 20}, {4, 32}, {32, 16}, {{1, 16}}};
  REQUIRE(checkForm(good));
  auto check = [&](auto change) {
    LayoutForm bad = good;
    change(bad);
    CHECK(!checkForm(bad));
  };
  check([](LayoutForm &f) { f.padded[1] = 48; });
  check([](LayoutForm &f) { f.padded[1] = 20; });
  check([](LayoutForm &f) { f.strides[0] = 16; }); // rows overlap
  check([](LayoutForm &f) { f.strides[0] = -32; });
  check([](LayoutForm &f) { f.strides[0] = int64_t{1} << 60; });
  check([](LayoutForm &f) { f.inner[0].axis = 2; });
  check([](LayoutForm &f) { f.inner[0].size = 0; });
  check([](LayoutForm &f) { f.inner.assign(13, {1, 1}); });
  check([](LayoutForm &f) { f.dims[0] = 0; });
  check([](LayoutForm &f) { f.strides.pop_back(); });
}
