// Text that other tools print: metadata as a dump of objects, objects as attribute
// values, dims in metadata, functions that nobody calls.
#include "helpers.h"

#include "bycc/Support/Base64.h"

#include <cstring>

using namespace bycc;
using namespace bycc::test;

namespace {

template <typename T> void put(std::vector<uint8_t> &bytes, T value) {
  const auto *raw = reinterpret_cast<const uint8_t *>(&value);
  bytes.insert(bytes.end(), raw, raw + sizeof value);
}

// A serialised tensor of dtype code and bits, with the data size that `bytes` says.
std::string tensor(uint8_t code, uint8_t bits, const std::vector<int64_t> &dims, int64_t size,
                   size_t data) {
  std::vector<uint8_t> bytes;
  put<uint64_t>(bytes, 0xdd5e40f096b4a13f);
  put<uint64_t>(bytes, 0);
  put<uint64_t>(bytes, 1);
  put<int32_t>(bytes, static_cast<int32_t>(dims.size()));
  put<uint8_t>(bytes, code);
  put<uint8_t>(bytes, bits);
  put<uint16_t>(bytes, 1);
  for (int64_t dim : dims)
    put(bytes, dim);
  put(bytes, size);
  bytes.resize(bytes.size() + data, 0);
  return encodeBase64(bytes.data(), bytes.size());
}

std::string withTensor(const std::string &base64, const std::string &root = "0") {
  return mainOf("meta[relay.Constant][0]") + "#[metadata]\n{\"root\": " + root + R"(, "nodes": [
    {"type_key": "Map", "keys": ["relay.Constant"], "data": [1]}, {"type_key": "Array", "data": [2]},
    {"type_key": "relay.Constant", "attrs": {"data": "0", "span": "0"}}], "b64ndarrays": [")" +
         base64 + "\"]}";
}

std::vector<std::string> warningsOf(const std::string &text) {
  std::vector<Diagnostic> warnings;
  ParseOptions options;
  options.warnings = &warnings;
  auto module = parseRelay(text, "t.relay", options);
  if (!module)
    FAIL(module.error().str());
  std::vector<std::string> messages;
  for (const Diagnostic &warning : warnings)
    messages.push_back(warning.message);
  return messages;
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("constants in a dump of objects") {
  CHECK(
      has(printModule(parsed(withTensor(tensor(2, 32, {2}, 8, 8)))), "Tensor[(2), float32][0, 0]"));
  CHECK(has(printModule(parsed(withTensor(tensor(1, 1, {}, 1, 1)))), "False"));
  CHECK(has(printModule(parsed(withTensor(tensor(0, 64, {1}, 8, 8)))), "Tensor[(1), int64][0]"));
}

TEST_CASE("F1: damaged tensors in a dump of objects are refused") {
  CHECK(has(errorsOf(withTensor(tensor(2, 32, {2}, 8, 7))), "error[INPUT]: a tensor of type"));
  CHECK(has(errorsOf(withTensor(tensor(2, 32, {2}, 4, 8))), "error[INPUT]: a tensor of type"));
  CHECK(has(errorsOf(withTensor(tensor(2, 32, {-2}, 8, 8))),
            "error[INPUT]: a tensor has the dim -2"));
  CHECK(has(errorsOf(withTensor(tensor(2, 32, {1 << 30, 1 << 30}, 8, 8))), "error[LIMIT]"));
  CHECK(has(errorsOf(withTensor(tensor(2, 8, {2}, 2, 2))),
            "error[UNSUP]: a tensor of dtype code 2, 8 bits"));
  CHECK(has(errorsOf(withTensor("AAAA")), "error[INPUT]: a tensor does not start as one"));
  CHECK(has(errorsOf(withTensor("?")), "error[INPUT]: a tensor is not base64"));
  for (const char *root : {"-1", "3", "1", "2", "\"0\""})
    CHECK(has(errorsOf(withTensor(tensor(2, 32, {2}, 8, 8), root)), "error[INPUT]"));
}

TEST_CASE("metadata of other kinds is not read") {
  CHECK(warningsOf(mainOf("%x") + "#[metadata]\n{\"Target\": [{\"kind\": \"llvm\"}]}") ==
        std::vector<std::string>{"metadata of kind 'Target' is not read"});
}

TEST_CASE("objects are attribute values of functions, not of operators") {
  std::string text = header + "def @main(%x: float32, target=meta[Target][0], "
                              "device=VirtualDevice(kind=DLDevice(1, [0])), n=1) { %x }";
  CHECK(warningsOf(text).size() == 3);
  Module module = parsed(text);
  CHECK_FALSE(module.functionAttr(module.main(), "target"));
  CHECK(module.functionAttr(module.main(), "n"));
  CHECK(has(errorsOf(mainOf("nn.softmax(%x, axis=meta[IntImm][0])")),
            "error[UNSUP]: nn.softmax: attribute axis is an object"));
  CHECK(has(errorsOf(mainOf("nn.softmax(%x, axis=foo)")),
            "error[INPUT]: an attribute value is needed, found 'foo'"));
  CHECK(has(errorsOf(mainOf("nn.softmax(%x, axis=foo(1)")), "error[INPUT]"));
}

TEST_CASE("unknown attributes of operators: only what cannot matter is passed over") {
  for (const char *harmless : {"layer=None", "weight_format=\"\"", "shards=[]", "tool.hint=3",
                               "span_of=\"a:1\"", "schedule_rule=\"x\""})
    CHECK(warningsOf(mainOf(std::string("nn.relu(%x, ") + harmless + ")")).size() == 1);
  for (const char *wrong : {"alpha=2f", "axis=1", "inplace=True"})
    CHECK(has(errorsOf(mainOf(std::string("nn.relu(%x, ") + wrong + ")")),
              "error[INPUT]: nn.relu: unknown attribute"));
  CHECK(has(errorsOf(mainOf("nn.softmax(%x, axiss=None)")), "did you mean axis"));
}

TEST_CASE("dims in metadata") {
  Module module = parsed(
      header + "def @main(%x: Tensor[(meta[tir.Any][0], meta[tir.Var][2], 3), float32]) { %x }");
  CHECK(has(printModule(module), "Tensor[(?, meta_2, 3), float32]"));
  CHECK(has(errorsOf(header + "def @main(%x: Tensor[(meta[IntImm][0]), float32]) { %x }"),
            "error[UNSUP]: a dim in metadata"));
}

TEST_CASE("what @main does not reach may use what is not supported") {
  std::string foreign = "def @f[A](%x: A) -> A { %x }\ndef @g(%l: List[float32]) { @f(%l) }\n";
  std::string main = "def @main(%x: float32) { %x }\n";
  CHECK(warningsOf(header + foreign + main).size() == 2);
  CHECK(parsed(header + foreign + main).globals().size() == 1);
  CHECK(has(errorsOf(header + foreign), "error[UNSUP]: type parameters are not supported"));
  CHECK(has(errorsOf(header + foreign + "def @main(%x: float32) { @g(%x) }"),
            "error[UNSUP]: type List is not supported"));
  // What is wrong stays wrong.
  CHECK(has(errorsOf(header + "def @f(%x: float32) { %y }\n" + main),
            "error[INPUT]: %y is not defined"));
}

TEST_CASE("types and constructors are defined once") {
  std::string main = "def @main(%x: float32) { %x }\n";
  CHECK(warningsOf(header + "type T[A] { C(A, (A, T[A])), N }\nextern type U\n" + main).size() ==
        2);
  CHECK(has(errorsOf(header + "type T { C }\ntype T { D }\n" + main),
            "error[INPUT]: type T is defined twice"));
  CHECK(has(errorsOf(header + "type T { C }\ntype S { C }\n" + main),
            "error[INPUT]: constructor C is defined twice"));
  CHECK(has(errorsOf(header + "type T { C\n" + main), "error[INPUT]"));
}
