// Tensor data: every place it may stand in, and rows F1 to F8 of the bad-input
// list.
#include "ModelMaker.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

using namespace bycc;
using namespace bycc::test;

namespace {

ModelMaker withConstant(const ::onnx::TensorProto &tensor) {
  ModelMaker maker;
  maker.constant(tensor);
  maker.node("Identity", {tensor.name()}, {"y"});
  maker.output("y");
  return maker;
}

const Constant &resultConstant(const Module &module) {
  return module.constant(module.block(module.function(module.main()).body).result);
}

// A folder of its own, removed at the end.
struct Folder {
  Folder() : path("/tmp/bycc-test-" + std::to_string(::getpid())) { ::mkdir(path.c_str(), 0700); }
  ~Folder() {
    for (const char *file : {"/model.onnx", "/w.bin", "/link.bin", "/hard.bin"})
      ::unlink((path + file).c_str());
    ::rmdir(path.c_str());
  }
  void write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path + "/" + name, std::ios::binary) << bytes;
  }
  std::string path;
};

::onnx::TensorProto external(const Ints &dims, const std::string &location,
                             const std::string &offset, const std::string &length) {
  ::onnx::TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(f32);
  for (int64_t dim : dims)
    tensor.add_dims(dim);
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto entry = [&](const char *key, const std::string &value) {
    if (value.empty())
      return;
    auto &added = *tensor.add_external_data();
    added.set_key(key);
    added.set_value(value);
  };
  entry("location", location);
  entry("offset", offset);
  entry("length", length);
  return tensor;
}

std::string importExternal(const Folder &folder, const ::onnx::TensorProto &tensor) {
  folder.write("model.onnx", withConstant(tensor).bytes());
  return problemOf(importOnnx(folder.path + "/model.onnx"));
}

} // namespace

TEST_CASE("typed data fields are read") {
  ::onnx::TensorProto tensor;
  tensor.set_name("c");
  tensor.add_dims(2);
  auto bytesOf = [&]() {
    Expected<Module> module = withConstant(tensor).import();
    REQUIRE(module);
    const Constant &constant = resultConstant(*module);
    return std::string(reinterpret_cast<const char *>(constant.data()), constant.bytes);
  };
  SECTION("int8 in int32_data") {
    tensor.set_data_type(::onnx::TensorProto::INT8);
    tensor.add_int32_data(-1);
    tensor.add_int32_data(7);
    CHECK(bytesOf() == "\xff\x07");
    tensor.set_int32_data(1, 200);
    CHECK(has(problemOf(withConstant(tensor)), "does not fit int8"));
  }
  SECTION("float in float_data") {
    tensor.set_data_type(f32);
    tensor.add_float_data(1);
    tensor.add_float_data(-2);
    CHECK(bytesOf() == std::string("\0\0\x80\x3f\0\0\0\xc0", 8));
  }
  SECTION("float16 in int32_data") {
    tensor.set_data_type(::onnx::TensorProto::FLOAT16);
    tensor.add_int32_data(0x3c00);
    tensor.add_int32_data(0xc000);
    CHECK(bytesOf() == std::string("\0\x3c\0\xc0", 4));
  }
  SECTION("uint32 in uint64_data") {
    tensor.set_data_type(::onnx::TensorProto::UINT32);
    tensor.add_uint64_data(0xffffffff);
    tensor.add_uint64_data(1);
    CHECK(bytesOf() == std::string("\xff\xff\xff\xff\1\0\0\0", 8));
  }
}

TEST_CASE("equal initializers are one constant") {
  ModelMaker maker;
  maker.constant(floats("a", {64}));
  maker.constant(floats("b", {64}));
  maker.node("Add", {"a", "b"}, {"y"});
  maker.output("y");
  Expected<Module> module = maker.import();
  REQUIRE(module);
  CHECK(module->constants.size() == 1);
}

TEST_CASE("constants stand at addresses their type can be read from") {
  for (int pad = 0; pad < 8; ++pad) {
    ModelMaker maker = withConstant(longs("w", {0}, {}));
    maker.graph.mutable_initializer(0)->CopyFrom(
        floats("w" + std::string(pad, 'x'), {3}, {1, 2, 3}));
    maker.graph.mutable_node(0)->set_input(0, "w" + std::string(pad, 'x'));
    Expected<Module> module = maker.import();
    REQUIRE(module);
    const Constant &constant = resultConstant(*module);
    CHECK(reinterpret_cast<uintptr_t>(constant.data()) % 4 == 0);
    float values[3];
    std::memcpy(values, constant.data(), 12);
    CHECK(values[2] == 3);
  }
}

TEST_CASE("an initializer that is also an input is a constant") {
  ModelMaker maker;
  maker.input("x", {2});
  maker.input("w", {2});
  maker.constant(floats("w", {2}));
  maker.node("Mul", {"x", "w"}, {"y"});
  maker.output("y");
  Expected<Module> module = maker.import();
  REQUIRE(module);
  CHECK(module->function(module->main()).params.size() == 1);
}

TEST_CASE("F1: data that does not fit the type is refused") {
  ::onnx::TensorProto tensor = floats("c", {4});
  SECTION("too short") {
    tensor.set_raw_data(std::string(12, '\0'));
    CHECK(has(problemOf(withConstant(tensor)), "has 12 bytes of data"));
  }
  SECTION("not a multiple of the item") {
    tensor.set_raw_data(std::string(15, '\0'));
    CHECK(has(problemOf(withConstant(tensor)), "error[INPUT]"));
  }
  SECTION("too long") {
    tensor.set_raw_data(std::string(20, '\0'));
    CHECK(has(problemOf(withConstant(tensor)), "error[INPUT]"));
  }
  SECTION("none") {
    tensor.clear_raw_data();
    CHECK(has(problemOf(withConstant(tensor)), "has no data"));
    tensor.clear_dims();
    CHECK(has(problemOf(withConstant(tensor)), "has no data"));
  }
  SECTION("two fields") {
    tensor.add_float_data(1);
    CHECK(has(problemOf(withConstant(tensor)), "has its data in two places"));
    tensor.clear_raw_data();
    tensor.add_int64_data(1);
    CHECK(has(problemOf(withConstant(tensor)), "two data fields"));
  }
  SECTION("wrong field") {
    tensor.clear_raw_data();
    for (int i = 0; i < 4; ++i)
      tensor.add_int64_data(1);
    CHECK(has(problemOf(withConstant(tensor)), "has its values in field 7, wanted 4"));
  }
}

TEST_CASE("F2: special values keep their bits") {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> values{std::numeric_limits<float>::quiet_NaN(), inf, -inf, -0.0f,
                            std::numeric_limits<float>::denorm_min()};
  Expected<Module> module = withConstant(floats("c", {5}, values)).import();
  REQUIRE(module);
  CHECK(std::memcmp(resultConstant(*module).data(), values.data(), 20) == 0);
}

TEST_CASE("external data is read beside the model") {
  Folder folder;
  folder.write("w.bin", std::string(64, '\0') + std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  CHECK(importExternal(folder, external({2}, "w.bin", "64", "8")) == "");
  CHECK(importExternal(folder, external({2}, "w.bin", "64", "")) == "");
  Expected<Module> module = importOnnx(folder.path + "/model.onnx");
  REQUIRE(module);
  float values[2];
  std::memcpy(values, resultConstant(*module).data(), 8);
  CHECK(values[1] == 2);
}

TEST_CASE("F3: external paths that leave the folder are refused") {
  Folder folder;
  folder.write("w.bin", std::string(8, '\0'));
  for (std::string path :
       {std::string("../w.bin"), std::string("a/../../w.bin"), folder.path + "/w.bin",
        std::string(""), std::string("w.bin\0x", 7), std::string("w.bin/"), std::string("w.bin/.")})
    CHECK(has(importExternal(folder, external({2}, path, "0", "8")), "error[INPUT]"));
}

TEST_CASE("F4: external links and devices are refused") {
  Folder folder;
  folder.write("w.bin", std::string(8, '\0'));
  REQUIRE(::symlink("w.bin", (folder.path + "/link.bin").c_str()) == 0);
  CHECK(has(importExternal(folder, external({2}, "link.bin", "0", "8")), "error[INPUT]"));
  REQUIRE(::link((folder.path + "/w.bin").c_str(), (folder.path + "/hard.bin").c_str()) == 0);
  CHECK(has(importExternal(folder, external({2}, "hard.bin", "0", "8")), "error[INPUT]"));
}

TEST_CASE("F5: external ranges outside the file are refused") {
  Folder folder;
  folder.write("w.bin", std::string(8, '\0'));
  using Range = std::pair<const char *, const char *>;
  for (auto [offset, length] : {Range{"-8", "8"},
                                {"4", "8"},
                                {"18446744073709551612", "8"},
                                {"9223372036854775800", "8"},
                                {"0", "-8"},
                                {"0", "4"},
                                {"0", "9007199254740992"},
                                {"1.5", "8"},
                                {"+0", "8"},
                                {"0", "0x8"},
                                {" 0", "8"}})
    CHECK(has(importExternal(folder, external({2}, "w.bin", offset, length)), "error[INPUT]"));
  CHECK(has(importExternal(folder, external({2}, "w.bin", "0", "4")),
            "external data in 'w.bin' of 4 bytes, its type needs 8"));
  CHECK(has(importExternal(folder, external({2}, "w.bin", "1.5", "8")),
            "external data in 'w.bin': offset '1.5' is not a size"));
  ::onnx::TensorProto twice = external({2}, "w.bin", "0", "8");
  *twice.add_external_data() = twice.external_data(0);
  CHECK(has(importExternal(folder, twice), "external data key 'location' twice"));
}

TEST_CASE("F6: external data is checked the same way wherever it stands") {
  Folder folder;
  folder.write("w.bin", std::string(8, '\0'));
  const ::onnx::TensorProto outside = external({2}, "../w.bin", "0", "8"),
                            past = external({2}, "w.bin", "4", "8");
  auto problem = [&](const ModelMaker &maker) {
    folder.write("model.onnx", maker.bytes());
    return problemOf(importOnnx(folder.path + "/model.onnx"));
  };
  for (const ::onnx::TensorProto &tensor : {outside, past}) {
    ModelMaker constant;
    constant.node("Constant", {}, {"y"}).tensor("value", tensor);
    constant.output("y");
    CHECK(has(problem(constant), "error[INPUT]"));

    ModelMaker sparse;
    auto &values = *sparse.graph.add_sparse_initializer();
    values.add_dims(4);
    *values.mutable_values() = tensor;
    *values.mutable_indices() = longs("", {2}, {0, 1});
    sparse.node("Identity", {"w"}, {"y"});
    sparse.output("y");
    CHECK(has(problem(sparse), "error[INPUT]"));

    ModelMaker branch;
    branch.input("c", {}, ::onnx::TensorProto::BOOL);
    ::onnx::GraphProto graph;
    *graph.add_initializer() = tensor;
    graph.add_output()->set_name("w");
    branch.node("If", {"c"}, {"y"}).graph("then_branch", graph).graph("else_branch", graph);
    branch.output("y");
    CHECK(has(problem(branch), "error[INPUT]"));

    ModelMaker body;
    body.opset(17);
    body.opset(1, "my");
    auto &function = *body.model.add_functions();
    function.set_name("F");
    function.set_domain("my");
    function.add_output("y");
    *function.add_opset_import() = body.model.opset_import(0);
    auto &node = *function.add_node();
    node.set_op_type("Constant");
    node.add_output("y");
    NodeMaker(node).tensor("value", tensor);
    body.node("F", {}, {"y"}).domain("my");
    body.output("y");
    CHECK(has(problem(body), "error[INPUT]"));
  }
}

TEST_CASE("F7: a missing external file is an IO error") {
  Folder folder;
  CHECK(has(importExternal(folder, external({2}, "w.bin", "0", "8")), "error[IO]"));
}

namespace {

ModelMaker withSparse(const Ints &dims, const Ints &indexDims, const Ints &indices,
                      std::vector<float> values) {
  ModelMaker maker;
  auto &sparse = *maker.graph.add_sparse_initializer();
  for (int64_t dim : dims)
    sparse.add_dims(dim);
  *sparse.mutable_values() = floats("s", {static_cast<int64_t>(values.size())}, values);
  *sparse.mutable_indices() = longs("", indexDims, indices);
  maker.node("Identity", {"s"}, {"y"});
  maker.output("y");
  return maker;
}

} // namespace

TEST_CASE("sparse tensors become dense") {
  const float wanted[6] = {0, 5, 0, 0, 0, 7};
  for (const ModelMaker &maker : {withSparse({2, 3}, {2}, {1, 5}, {5, 7}),
                                  withSparse({2, 3}, {2, 2}, {0, 1, 1, 2}, {5, 7})}) {
    Expected<Module> module = maker.import();
    REQUIRE(module);
    CHECK(std::memcmp(resultConstant(*module).data(), wanted, sizeof wanted) == 0);
    ModelMaker node;
    node.node("Constant", {}, {"y"});
    auto &attribute = *node.graph.mutable_node(0)->add_attribute();
    attribute.set_name("sparse_value");
    attribute.set_type(::onnx::AttributeProto::SPARSE_TENSOR);
    *attribute.mutable_sparse_tensor() = maker.graph.sparse_initializer(0);
    node.output("y");
    module = node.import();
    REQUIRE(module);
    CHECK(std::memcmp(resultConstant(*module).data(), wanted, sizeof wanted) == 0);
  }
}

TEST_CASE("F7: the checksum of an external file is checked") {
  Folder folder;
  folder.write("w.bin", "abcdabcd");
  ::onnx::TensorProto tensor = external({2}, "w.bin", "0", "8");
  auto &checksum = *tensor.add_external_data();
  checksum.set_key("checksum");
  checksum.set_value("8D4AE95C6E9D2D1F4B9A3A1E2C5F7A1B0C9D8E7F");
  CHECK(has(importExternal(folder, tensor), "error[INPUT]: external file 'w.bin' has SHA-1"));
  tensor.mutable_external_data(3)->set_value("E0378E12D7AC5F9AF37052D8763BE4F3E8D13041");
  CHECK(importExternal(folder, tensor) == "");
  tensor.mutable_external_data(3)->set_value("");
  CHECK(has(importExternal(folder, tensor), "the model says ''"));
}

TEST_CASE("F8: sparse tensors with wrong indices are refused") {
  for (const Ints &indices : {Ints{1, 6}, {-1, 5}, {5, 1}, {1, 1}})
    CHECK(has(problemOf(withSparse({2, 3}, {2}, indices, {5, 7})), "error[INPUT]"));
  CHECK(has(problemOf(withSparse({2, 3}, {2, 2}, {0, 1, 2, 0}, {5, 7})),
            "index 2 of value 1 is out of range 2"));
  CHECK(has(problemOf(withSparse({2}, {3}, {0, 1, 2}, {5, 6, 7})), "error[INPUT]"));
  CHECK(has(problemOf(withSparse({2, 3}, {1}, {1}, {5, 7})), "error[INPUT]"));
  CHECK(
      has(problemOf(withSparse({}, {1}, {0}, {5})), "error[INPUT]: sparse tensor 's' has no dims"));
  CHECK(has(problemOf(withSparse({-2}, {1}, {0}, {5})), "error[INPUT]"));
  CHECK(has(problemOf(withSparse({1 << 20, 1 << 20}, {1}, {0}, {5})), "error[LIMIT]"));
}
