// Models in memory as files of another name.

#include "Requests.h"
#include "bycc/Compiler/WriteModel.h"
#include "bycc/Support/GraphSet.h"

#include <catch2/catch.hpp>

#include <filesystem>

using namespace bycc;

namespace {

std::string textOf(const std::string &path) {
  auto text = readFile(path);
  return text ? *text : "";
}

} // namespace

TEST_CASE("a model in memory is written under another name, which its graph JSON gets") {
  char folder[] = "/tmp/bycc-write-XXXXXX";
  REQUIRE(::mkdtemp(folder));
  auto model = Compiler().compile(requestOf(program("nn.relu(%x)")));
  REQUIRE(model);
  std::string stem = std::string(folder) + "/other name", params(64, 'p');
  ModelBytes bytes{model->object, model->graphJson, model->header, params};
  REQUIRE(writeModel(bytes, stem));
  CHECK(textOf(stem + ".o") == model->object);
  CHECK(textOf(stem + ".h") == model->header);
  CHECK(textOf(stem + ".params") == params);
  std::string graph = textOf(stem + ".json");
  CHECK(isSealed(graph));
  auto root = parseJson(graph, "g");
  REQUIRE(root);
  auto set = readGraphSet(*root->find("bycc"), "g");
  REQUIRE(set);
  CHECK(set->object.name == "other name.o");
  CHECK(hexText(set->setId) == model->setId);

  bytes.params = {};
  REQUIRE(writeModel(bytes, stem));
  CHECK_FALSE(pathExists(stem + ".params")); // those of the set before
  std::string edited = model->graphJson;
  edited.replace(edited.find("tvm_op"), 1, "T");
  bytes.graphJson = edited;
  auto refused = writeModel(bytes, stem);
  REQUIRE(!refused);
  CHECK(refused.error().status() == Status::Load);
  CHECK(textOf(stem + ".json") == graph);
  for (const char *bad : {"/", "/..", "/nosuch/net"})
    CHECK(!writeModel({model->object, model->graphJson, "", ""}, folder + std::string(bad)));
  std::filesystem::remove_all(folder);
}
