// A region as bytes and back is the same region.

#include "ParseProgram.h"
#include "RegionWire.h"
#include "WorkerProtocol.h"
#include "bycc/Target/RegionCompiler.h"
#include "bycc/Target/RegionView.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace bycc;

namespace {

// Constants of more than `inlineBytes` stay where they are.
void checkRoundTrip(const RegionView &view, uint64_t inlineBytes) {
  std::vector<const void *> places;
  std::string bytes = encodeRegion(
      view.region(), [&](const void *data, uint64_t size) -> std::optional<ConstantPlace> {
        if (size <= inlineBytes)
          return std::nullopt;
        places.push_back(data);
        return ConstantPlace{3, places.size() - 1};
      });
  DecodedRegion decoded(bytes.data(), [&](const ConstantPlace &place, uint64_t) {
    CHECK(place.file == 3);
    return places.at(place.offset);
  });
  CHECK(contentHash(decoded.region()) == contentHash(view.region()));
  CHECK(encodeRegion(decoded.region(), [](const void *, uint64_t) { return std::nullopt; }) ==
        encodeRegion(view.region(), [](const void *, uint64_t) { return std::nullopt; }));
}

} // namespace

TEST_CASE("a region goes to another process and is the same there") {
  Module module =
      parse(R"(def @main(%x: Tensor[(2, 4), float32], Compiler="v", global_symbol="m_v_0") {
    %0 = split(%x, indices_or_sections=[1, 3], axis=1);
    %1 = concatenate((%0.2, %0.1, %0.0), axis=1);
    %2 = fn(%a: Tensor[(2, 4), float32], Composite="v.both") { nn.relu(add(%a, meta[relay.Constant][0])) };
    %3 = %2(%1);
    (transpose(%3, axes=[1, 0]), %0.1)
  }
  #[metadata]
  {"relay.Constant": [{"dtype": "float32", "shape": [2, 4], "data": "AACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8="}]})");
  RegionView view =
      RegionView::ofFunction(module, module.main(), [](const Constant &) { return uint64_t{128}; });
  REQUIRE(view.region().num_nodes == 4);
  REQUIRE(bycc_node_at(&view.region(), 2)->body);
  view.setImplementation(1, "quick");
  view.setTuning({1, 2, 3});
  view.setResident({1}, {1, 0});
  checkRoundTrip(view, 1000);
  checkRoundTrip(view, 0);
}

TEST_CASE("run-time extents go along") {
  Module module = parse(
      R"(def @main(%x: Tensor[(n, 4), float32], %y: Tensor[(m, 4), float32], Compiler="v", global_symbol="m_v_0") {
    nn.relu(concatenate((%x, %y), axis=0))
  })");
  RegionView view = RegionView::ofFunction(module, module.main());
  REQUIRE(view.region().num_symbols == 2);
  std::string bytes =
      encodeRegion(view.region(), [](const void *, uint64_t) { return std::nullopt; });
  DecodedRegion decoded(bytes.data(), [](const ConstantPlace &, uint64_t) { return nullptr; });
  const bycc_region &region = decoded.region();
  REQUIRE(region.num_symbols == 2);
  CHECK(std::string(bycc_symbol_at(&region, 1)->name) == bycc_symbol_at(&view.region(), 1)->name);
  CHECK(bycc_symbol_at(&region, 1)->input == 1);
  REQUIRE(region.num_extents == view.region().num_extents);
  CHECK(std::memcmp(region.extents, view.region().extents,
                    region.num_extents * sizeof *region.extents) == 0);
  CHECK(bycc_symbol_at(&region, 0)->likely == bycc_symbol_at(&view.region(), 0)->likely);
  checkRoundTrip(view, 0);
}

TEST_CASE("answers go back; what is cut or longer is none") {
  WorkerAnswer answer;
  answer.isYes = true;
  answer.reason = "why";
  answer.blamed = 7;
  answer.blob = {1, 2, 3};
  answer.offers = {{"quick", 1.5}, {"slow", std::nullopt}};
  answer.byNode = {{0, Answer::yes(), 0}, {5, Answer::no("odd"), 0}, {6, Answer::yes(), 3}};
  answer.name = "v.three";
  answer.weights = {4096, 100};
  std::string bytes = answer.encode();
  auto read = WorkerAnswer::decode(bytes);
  REQUIRE(read);
  CHECK(read->encode() == bytes);
  CHECK(read->name == "v.three");
  CHECK(read->byNode[1].answer.reason == "odd");
  CHECK(read->byNode[2].group == 3);
  CHECK(!read->offers[1].microseconds);
  for (size_t size = 0; size < bytes.size(); ++size)
    CHECK(!WorkerAnswer::decode(bytes.substr(0, size)));
  CHECK(!WorkerAnswer::decode(bytes + "x"));
}
