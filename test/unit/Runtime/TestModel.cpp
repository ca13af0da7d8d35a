#include "TestModel.h"

#include "bycc/Support/GraphSet.h"
#include "bycc/Support/Hash.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace bycc;
namespace fs = std::filesystem;

static const SetId setId = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const float weights[4] = {2, 3, 5, 7};

std::string readText(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void writeText(const std::string &path, const std::string &text) {
  fs::remove(path); // truncating a file in place can make close() wait for the disk
  std::ofstream(path, std::ios::binary) << text;
}

TestModel::TestModel(const char *object_) {
  char name[] = "/tmp/bycc-unit-XXXXXX";
  folder = ::mkdtemp(name);
  fs::copy(object_, object());
  ParamsWriter writer;
  writer.add("w", DType::Float32, {4}, Storage::copyOf(weights, sizeof weights), 0, sizeof weights);
  std::string text;
  for (std::string_view piece : writer.finish(setId))
    text += piece;
  REQUIRE(text.size() == 248); // bycc_module::params_bytes of module.c
  writeText(params(), text);
  writeGraph();
}

void TestModel::writeGraph(const std::string &from, const std::string &to) const {
  std::string objectText = readText(object()), paramsText = readText(params());
  auto file =
      readParams(reinterpret_cast<const uint8_t *>(paramsText.data()), paramsText.size(), params());
  REQUIRE(file);
  GraphSet set;
  set.setId = setId;
  set.object = {"net.o", objectText.size(), hashText(objectText)};
  set.params = GraphFileInfo{"net.params", paramsText.size(), file->tableHash};
  set.paramsEntries = file->entries;
  JsonWriter writer;
  writer.beginObject().key("bycc").beginObject();
  writeGraphSet(writer, set);
  writer.endObject().endObject();
  std::string text = writer.take();
  std::string graph = R"(
  "nodes": [{"op": "null", "name": "in/a", "inputs": []},
            {"op": "null", "name": "b", "inputs": []},
            {"op": "tvm_op", "name": "probe", "inputs": [[0, 0, 0], [1, 0, 0]],
             "attrs": {"func_name": "probe", "num_inputs": "2", "num_outputs": "3", "flatten_data": "0"}},
            {"op": "tvm_op", "name": "view", "inputs": [[2, 1, 0]],
             "attrs": {"func_name": "__nop", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}}],
  "arg_nodes": [0, 1],
  "heads": [[2, 0, 0], [3, 0, 0], [2, 2, 0]],
  "node_row_ptr": [0, 1, 2, 5, 6],
  "attrs": {"shape": ["list_shape", [["N", 4], ["N"], ["N", 4], [4], ["?"], [4]]],
            "dltype": ["list_str", ["float32", "float32", "float32", "float32", "float32", "float32"]],
            "storage_id": ["list_int", [0, 1, 2, 3, 4, 3]]},
)";
  std::string interface =
      R"("inputs": [{"name": "in/a", "dtype": "float32"}, {"name": "b", "dtype": "float32"}],
    "outputs": [{"name": "scaled", "dtype": "float32"}, {"name": "sums", "dtype": "float32"},
                {"name": "positive", "dtype": "float32"}],
    )";
  text.insert(text.find("\"abi\""), interface);
  text.insert(1, graph);
  if (!from.empty()) {
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
  }
  writeText(json(), sealed(text));
}

std::string TestModel::loadError(const bycc_load_options *options) const {
  bycc_model *model = nullptr;
  int32_t status = bycc_model_load(json().c_str(), options, &model);
  if (status == BYCC_OK) {
    bycc_model_destroy(model);
    return "";
  }
  std::string text = bycc_last_error();
  CHECK(text.find(std::string("error[") + bycc_status_name(status) + "]") != std::string::npos);
  return text;
}

Loaded::Loaded(const TestModel &test, int32_t threads) {
  bycc_load_options options = {sizeof options, threads, 0, nullptr};
  int32_t status = bycc_model_load(test.json().c_str(), &options, &model);
  INFO(bycc_last_error());
  REQUIRE(status == BYCC_OK);
  REQUIRE(bycc_context_create(model, &context) == BYCC_OK);
}

Loaded::~Loaded() {
  bycc_model_destroy(model);
  bycc_context_destroy(context);
}

Inputs::Inputs(int64_t count, float first)
    : n(count), shapeA{count, 4}, shapeB{count}, a(4 * count), b(count) {
  for (int64_t i = 0; i < 4 * n; ++i)
    a[i] = 0.01f * ((i * 7) % 13 - 6);
  for (int64_t i = 0; i < n; ++i)
    b[i] = 0.5f * i;
  if (n > 0)
    a[0] = first;
}

int32_t Inputs::bind(bycc_context *context) const {
  int32_t status = bycc_bind_input(context, 0, a.data(), 4 * a.size(), shapeA);
  return status ? status : bycc_bind_input(context, 1, b.data(), 4 * b.size(), shapeB);
}

std::vector<float> outputOf(bycc_context *context, uint32_t index) {
  const void *data = nullptr;
  size_t bytes = 0;
  REQUIRE(bycc_get_output(context, index, &data, nullptr, &bytes) == BYCC_OK);
  auto *values = static_cast<const float *>(data);
  return {values, values + bytes / 4};
}

std::vector<float> wantedScaled(const Inputs &inputs) {
  std::vector<float> wanted;
  for (int64_t i = 0; i < 4 * inputs.n; ++i) {
    float product = inputs.a[i] * weights[i % 4];
    wanted.push_back(product + inputs.b[i / 4]);
  }
  return wanted;
}

std::vector<float> wantedPositive(const Inputs &inputs) {
  std::vector<float> wanted;
  for (float value : inputs.a)
    if (value > 0)
      wanted.push_back(value);
  return wanted;
}
