#include "bycc/Support/GraphSet.h"
#include "bycc/Support/ParamsFile.h"

#include "bycc/Support/Hash.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace bycc;

namespace {

const SetId id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

std::string sample() {
  ParamsWriter writer;
  auto bytes = Storage::own(std::string(100, 'w'));
  CHECK(writer.add("w", DType::Float32, {5, 5}, bytes, 0, 100) == 128);
  CHECK(writer.add("w", DType::Int8, {3}, bytes, 1, 3) == 256);
  CHECK(writer.add("again", DType::Float32, {5, 5}, bytes, 0, 100) == 128);
  CHECK(writer.add("empty", DType::Float32, {0, 5}, bytes, 100, 0) == 320);
  std::string file;
  for (std::string_view piece : writer.finish(id))
    file += piece;
  CHECK(file.size() == writer.fileBytes());
  return file;
}

Expected<ParamsFile> read(const std::string &file) {
  return readParams(reinterpret_cast<const uint8_t *>(file.data()), file.size(), "f");
}

} // namespace

TEST_CASE("params: what is written reads back") {
  std::string file = sample();
  auto params = read(file);
  REQUIRE(params);
  CHECK(params->setId == id);
  REQUIRE(params->entries.size() == 3);
  CHECK(params->entries[0].dims == std::vector<int64_t>{5, 5});
  CHECK(params->entries[1].name == "w.1");
  CHECK(verifyPayloads(*params, reinterpret_cast<const uint8_t *>(file.data()), "f"));
}

TEST_CASE("params: what vendors packed is marked, and shared when equal") {
  ParamsWriter writer;
  auto bytes = Storage::own(std::string(100, 'w'));
  CHECK(writer.add("r.weights", DType::UInt8, {100}, bytes, 0, 100) == 128);
  CHECK(writer.addPacked("r.weights", bytes) == 256);
  CHECK(writer.addPacked("s.weights", Storage::own(std::string(100, 'w'))) == 256);
  std::string other(100, 'v');
  CHECK(writer.addPacked("t.weights", Storage::own(other), hashText(other)) == 384);
  CHECK(writer.addPacked("u.weights", Storage::own(other)) == 384);
  std::string file;
  for (std::string_view piece : writer.finish(id))
    file += piece;
  auto params = read(file);
  REQUIRE(params);
  REQUIRE(params->entries.size() == 3);
  CHECK(!params->entries[0].isPacked);
  CHECK(params->entries[1].isPacked);
  CHECK(params->entries[1].name == "r.weights.1");
  CHECK(params->entries[2].name == "t.weights");
  CHECK(params->entries[2].dims == std::vector<int64_t>{100});
}

TEST_CASE("I4 I7 params: cut and flipped files are refused") {
  std::string file = sample();
  for (size_t size = 0; size < file.size(); ++size)
    CHECK_FALSE(read(file.substr(0, size)));
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string flipped = file;
    flipped[bit / 8] ^= 1 << bit % 8;
    auto params = read(flipped);
    bool isPayload = bit / 8 >= 128 && bit / 8 < 320, isSpare = bit / 8 >= 80 && bit / 8 < 128;
    if (!isPayload && !isSpare)
      CHECK_FALSE(params);
    if (isPayload && bit / 8 < 228) // padding is not hashed
      CHECK_FALSE(verifyPayloads(*params, reinterpret_cast<const uint8_t *>(flipped.data()), "f"));
  }
}

TEST_CASE("I8 params: another version is refused with both") {
  std::string file = sample();
  file[8] = 7;
  auto params = read(file);
  REQUIRE_FALSE(params);
  CHECK(params.error().message() == "params file has version 7, this bycc reads version 1");
}

TEST_CASE("I1 I6 graph set: members read back, any change breaks the seal") {
  GraphSet set;
  set.setId = id;
  set.object = {"net.o", 1234, 0x0123456789abcdef};
  set.params = GraphFileInfo{"net.params", 99, 1};
  set.paramsEntries = {{"w", DType::Float32, {5, 5}}};
  JsonWriter writer;
  writer.beginObject().key("bycc").beginObject();
  writeGraphSet(writer, set);
  writer.endObject().endObject();
  std::string text = sealed(writer.take());
  CHECK(isSealed(text));
  auto root = parseJson(text, "f");
  REQUIRE(root);
  auto back = readGraphSet(*root->find("bycc"), "f");
  REQUIRE(back);
  CHECK(back->setId == id);
  CHECK(back->object.hash == set.object.hash);
  CHECK(back->paramsEntries[0].dims == std::vector<int64_t>{5, 5});
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] ^= 1 << bit % 8;
    CHECK_FALSE(isSealed(flipped));
  }
}

TEST_CASE("graph set: its files can get other names") {
  auto textOf = [](const std::string &object, const std::string &params) {
    GraphSet set;
    set.setId = id;
    set.object = {object, 1234, 5};
    if (!params.empty())
      set.params = GraphFileInfo{params, 99, 1};
    set.paramsEntries = {{"\"name\": \"", DType::Float32, {5, 5}}};
    JsonWriter writer;
    writer.beginObject().key("name").value("\"files\": {").key("bycc").beginObject();
    writeGraphSet(writer, set);
    writer.endObject().endObject();
    return sealed(writer.take());
  };
  for (const char *params : {"net.params", ""}) {
    std::string odd = R"(a "b" \.o)";
    std::string renamed = withFileNames(textOf("net.o", params), odd, *params ? "b.params" : "");
    CHECK(renamed == textOf(odd, *params ? "b.params" : ""));
    CHECK(withFileNames(renamed, "net.o", params) == textOf("net.o", params));
    CHECK(isSealed(renamed));
  }
}

TEST_CASE("I8 graph set: ABI version newer or absent") {
  auto newer = parseJson("{\"abi\": 5}", "f"), absent = parseJson("{}", "f");
  CHECK(readGraphSet(*newer, "f").error().message() ==
        "graph JSON has ABI version 5, this bycc has version 4");
  CHECK(readGraphSet(*absent, "f").error().status() == Status::Load);
}
