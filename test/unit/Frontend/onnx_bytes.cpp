// Damaged and foreign files: rows A1 to A9 of the bad-input list.
#include "ModelMaker.h"

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

using namespace bycc;
using namespace bycc::test;

namespace {

// x -> Gemm -> Relu -> y, with attributes of several kinds.
ModelMaker seed() {
  ModelMaker maker;
  maker.input("x", {2, 3});
  maker.constant(floats("w", {4, 3}, {1, 2, 3, 4}));
  maker.constant(longs("shape", {2}, {4, -1}));
  maker.node("Gemm", {"x", "w"}, {"t"}).integer("transB", 1).number("alpha", 2).called("fc");
  maker.node("Relu", {"t"}, {"r"});
  maker.node("Reshape", {"r", "shape"}, {"y"});
  maker.output("y", {4, 2});
  return maker;
}

bool isRefusal(const Error &error) {
  return error.status() == Status::Input || error.status() == Status::Unsup ||
         error.status() == Status::Limit;
}

std::string field(int number, const std::string &bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  size_t size = bytes.size();
  for (; size >= 128; size >>= 7)
    out += static_cast<char>(size | 128);
  return out + static_cast<char>(size) + bytes;
}

} // namespace

TEST_CASE("the seed model is read") {
  CHECK(summary(seed()) == "nn.dense multiply nn.relu reshape : Tensor[(4, 2), float32]");
}

TEST_CASE("A1: empty and one-byte files are refused") {
  CHECK(has(problemOf(importText("")), "error[INPUT]: the file is empty"));
  for (int byte = 0; byte < 256; ++byte) {
    Expected<Module> result = importText(std::string(1, static_cast<char>(byte)));
    REQUIRE_FALSE(result);
    CHECK(result.error().status() == Status::Input);
  }
}

TEST_CASE("A2: every prefix of a model is refused") {
  std::string bytes = seed().bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    Expected<Module> result = importText(bytes.substr(0, size));
    if (!result)
      CHECK(isRefusal(result.error()));
    else
      CHECK(verify(*result));
  }
}

TEST_CASE("A3: every flipped bit is refused or gives a program that verifies") {
  std::string bytes = seed().bytes();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    Expected<Module> result = importText(damaged);
    INFO("bit " << bit);
    if (!result)
      CHECK(isRefusal(result.error()));
    else
      CHECK(verify(*result));
  }
}

TEST_CASE("A4: a file of another kind is named") {
  CHECK(has(problemOf(importText("\x1f\x8b\x08more")), "looks like a gzip file"));
  CHECK(has(problemOf(importText("\x7f"
                                 "ELF more")),
            "looks like an ELF file"));
  CHECK(has(problemOf(importText(std::string("\x1c\0\0\0TFL3....", 12))),
            "looks like a TFLite model"));
  CHECK(has(problemOf(importText(std::string("\xff\xfe"
                                             "d\0e\0",
                                             6))),
            "looks like UTF-16 text"));
  CHECK(has(problemOf(importText(std::string("d\0e\0f\0", 6))), "looks like UTF-16 text"));
  CHECK(has(problemOf(importText("\x89HDF\r\n")), "looks like an HDF5 file"));
  CHECK(has(problemOf(importText("PK\x03\x04")), "looks like a zip file, as .pt,"));
  CHECK(has(problemOf(importText(std::string("\x10\0\0\0\0\0\0\0{\"w\"", 12))),
            "looks like a safetensors file"));
  CHECK(has(problemOf(importText("#[version = \"0.0.5\"]\n")), "looks like Relay text"));
  CHECK(has(problemOf(importText("net.onnx" + std::string(249, '\0') + "ustar")),
            "looks like a tar archive"));
  for (char protocol : {2, 3, 4, 5})
    CHECK(has(problemOf(importText("\x80" + std::string(1, protocol) + "}q")),
              "looks like a Python pickle"));
  CHECK(has(problemOf(importText("BYCCPRM1")), "looks like a params file of bycc"));
  CHECK(has(problemOf(importText("hello, world")), "error[INPUT]"));
}

TEST_CASE("A5: bytes after the model and models joined are refused") {
  std::string bytes = seed().bytes();
  CHECK(has(problemOf(importText(bytes + std::string(16, '\0'))), "error[INPUT]"));
  CHECK(has(problemOf(importText(bytes + "tail")), "error[INPUT]"));
  CHECK(has(problemOf(importText(bytes + bytes)), "comes twice"));
  std::string graph = seed().graph.SerializeAsString();
  CHECK(has(problemOf(importText(bytes + field(7, graph))), "ModelProto: field 7 comes twice"));
}

TEST_CASE("A6: malformed wire data is refused with its offset") {
  CHECK(has(problemOf(importText(std::string("\x08") + std::string(10, '\xff') + "\x01")),
            "byte 1: ModelProto: a number of more than 64 bits"));
  CHECK(has(problemOf(importText("\x3a\x7fxx")), "byte 0: ModelProto: field 7 has length 127"));
  CHECK(has(problemOf(importText("\x3b\x3c")), "wire type 3"));
  CHECK(has(problemOf(importText(std::string("\x02\x00", 2))), "field number 0"));
}

TEST_CASE("A7: messages nested too deep are a limit") {
  for (int depth : {65, 5000}) {
    // GraphProto.node -> NodeProto.attribute -> AttributeProto.g -> GraphProto
    static constexpr int numbers[] = {1, 5, 6};
    std::string bytes;
    for (int i = depth; i-- > 0;)
      bytes = field(numbers[i % 3], bytes);
    CHECK(has(problemOf(importText(field(7, bytes))), "error[LIMIT]"));
  }
}

TEST_CASE("A7: types nested too deep are a limit") {
  // TypeProto -> Sequence, Map or Optional -> TypeProto
  struct Row {
    int kind, type;
  };
  for (Row row : {Row{4, 1}, Row{5, 2}, Row{9, 1}})
    for (int depth : {10, 65, 1000, 20000}) {
      std::string type;
      for (int i = 0; i < depth / 2; ++i)
        type = field(row.kind, field(row.type, type));
      ModelMaker maker = seed();
      std::string graph =
          maker.graph.SerializeAsString() + field(11, field(1, "nested") + field(2, type));
      maker.model.clear_graph();
      INFO("field " << row.kind << ", depth " << depth);
      CHECK(has(problemOf(importText(maker.model.SerializeAsString() + field(7, graph))),
                depth == 10 ? "error[UNSUP]: only" : "error[LIMIT]: byte"));
    }
}

TEST_CASE("A8: the file's size is limited") {
  OnnxImportOptions options;
  options.maxFileBytes = 10;
  CHECK(has(problemOf(seed(), options), "error[LIMIT]: the file has"));
}

TEST_CASE("A9: directories, FIFOs and devices are no models") {
  CHECK(has(problemOf(importOnnx("/tmp")), "error[IO]"));
  CHECK(has(problemOf(importOnnx("/dev/zero")), "error[IO]"));
  CHECK(has(problemOf(importOnnx("/nonexistent/model.onnx")), "error[IO]"));
  std::string fifo = "/tmp/bycc-test-fifo-" + std::to_string(::getpid());
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(has(problemOf(importOnnx(fifo)), "error[IO]"));
  ::unlink(fifo.c_str());
}
