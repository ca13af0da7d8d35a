// The rows of the bad-input checklist that concern text; each name has the row's id.
#include "helpers.h"

#include <chrono>
#include <clocale>
#include <fstream>

using namespace bycc;
using namespace bycc::test;

static bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

static const std::string seedText =
    header + "def @f(%x: Tensor[(2, N), float32], Compiler=\"v\") { abs(%x) }\n"
             "def @main(%x: Tensor[(2, 3), float32], %c: bool) -> (float32, int64) {\n"
             "  // comment\n  let %y = if (%c) { %x + 2f } else { nn.relu(%x) };\n"
             "  %0 = (1.5, -5i64, meta[relay.Constant][0]); /* a /* b */ */\n"
             "  (%0.0, %0.1)\n}\n"
             "#[metadata]\n{\"relay.Constant\": [{\"dtype\": \"int8\", \"shape\": [2], \"data\": "
             "\"AQI=\"}]}\n";

TEST_CASE("A1 an empty file and one byte") {
  CHECK(has(errorsOf(""), "error[INPUT]: the file is empty"));
  for (int c = 0; c < 256; ++c) {
    std::string text(1, static_cast<char>(c));
    CHECK(has(errorsOf(text), "error[INPUT]"));
    CHECK_FALSE(parseProgramJson(text, "t.json"));
  }
}

TEST_CASE("A2 a program cut after every byte") {
  REQUIRE(errorsOf(seedText) == "");
  for (size_t i = 0; i < seedText.size(); ++i) {
    std::string errors = errorsOf(seedText.substr(0, i));
    CAPTURE(errors);
    CHECK((errors.empty() || has(errors.substr(0, errors.find('\n')), "error[INPUT]")));
  }
  std::string json = printProgramJson(parsed(seedText));
  for (size_t i = 0; i + 2 < json.size(); ++i)
    CHECK_FALSE(parseProgramJson(json.substr(0, i), "t.json"));
}

TEST_CASE("A3 every bit flipped") {
  for (size_t i = 0; i < seedText.size() * 8; ++i) {
    std::string text = seedText;
    text[i / 8] = static_cast<char>(text[i / 8] ^ (1 << (i % 8)));
    auto module = parseRelay(text, "t.relay");
    if (module)
      checkStable(*module);
    else
      CHECK(module.error().status() <= Status::Limit);
  }
  std::string json = printProgramJson(parsed(seedText));
  for (size_t i = 0; i < json.size() * 8; ++i) {
    std::string text = json;
    text[i / 8] = static_cast<char>(text[i / 8] ^ (1 << (i % 8)));
    auto module = parseProgramJson(text, "t.json");
    if (!module)
      CHECK(module.error().status() <= Status::Limit);
  }
}

TEST_CASE("A4 other formats are named") {
  CHECK(has(errorsOf(std::string("\x1f\x8b\x08", 3)), "gzip"));
  CHECK(has(errorsOf(std::string("\x7f"
                                 "ELF\2\1",
                                 6)),
            "ELF"));
  CHECK(has(errorsOf(std::string("\xff\xfe#\0", 4)), "UTF-16"));
  CHECK(has(errorsOf(std::string("\x1c\0\0\0TFL3", 8)), "TFLite"));
}

TEST_CASE("A5 two programs joined, text behind the end") {
  CHECK(has(errorsOf(seedText + seedText), "error[INPUT]"));
  CHECK(has(errorsOf(mainOf("%x") + mainOf("%x")), "error[INPUT]"));
  CHECK(has(errorsOf(mainOf("%x") + "}"), "'def' is needed"));
  CHECK(has(errorsOf(mainOf("%x") + "def"), "error[INPUT]"));
}

TEST_CASE("B1 deep nesting is a LIMIT") {
  const std::pair<const char *, const char *> pairs[] = {
      {"(", ")"},      {"{", "}"},     {"(let %a = ", "; %a)"},
      {"abs(", ")"},   {"(%x, ", ")"}, {"if (%c) {", "} else {%x}"},
      {"fn () {", "}"}};
  for (auto [open, close] : pairs) {
    std::string body;
    for (int i = 0; i < 100000; ++i)
      body += open;
    body += "%x";
    for (int i = 0; i < 100000; ++i)
      body += close;
    INFO(open);
    CHECK(has(errorsOf(mainOf(body)), "error[LIMIT]"));
  }
  std::string deepType(100000, '(');
  CHECK(has(errorsOf(header + "def @main(%x: " + deepType), "error[LIMIT]"));
  CHECK(has(errorsOf(mainOf("abs(%x, y=" + std::string(100000, '['))), "error[LIMIT]"));
}

TEST_CASE("B2 long chains are flat") {
  std::string graph = "%0 = abs(%x);\n", lets = "let %y = abs(%x);\n", binary = "%x";
  for (int i = 1; i < 50000; ++i) {
    graph += "%" + std::to_string(i) + " = abs(%" + std::to_string(i - 1) + ");\n";
    lets += "let %y = abs(%y);\n";
    binary += " + %x";
  }
  for (const std::string &body : {graph + "%49999", lets + "%y", binary})
    checkStable(parsed(mainOf(body)));
}

TEST_CASE("B3 bad bytes are refused with their offset") {
  CHECK(has(errorsOf(header + "\xc3("), "bad UTF-8 at offset 21"));
  CHECK(has(errorsOf(header + "\xed\xa0\x80"), "bad UTF-8 at offset 21"));
  CHECK(has(errorsOf(header + std::string(1, '\0')), "NUL byte at offset 21"));
  CHECK(has(errorsOf("\xef\xbb\xbf" + header), "byte order mark at offset 0"));
  auto errors = [](const std::string &text) {
    return parseProgramJson(text, "t.json").error().str();
  };
  CHECK(has(errors("\xef\xbb\xbf{}"), "byte order mark at offset 0"));
  CHECK(has(errors("{\"\xc3(\": 1}"), "bad UTF-8 at offset 2"));
  CHECK(has(errors("{\"\xed\xa0\x80\": 1}"), "bad UTF-8 at offset 2"));
  CHECK(has(errors(std::string("{\"\0\": 1}", 8)), "NUL character at offset 2"));
  CHECK(has(errors("{\"a\": \"\\ud800\"}"), "surrogate"));
  CHECK(has(errors("{\"a\": \"\\ud800\"}"), "at offset 13"));
}

TEST_CASE("B4 JSON keys and versions") {
  auto errors = [](const std::string &text) {
    auto module = parseProgramJson(text, "t.json");
    return module ? std::string() : module.error().str();
  };
  CHECK(has(errors("{\"bycc_program\": 1, \"bycc_program\": 1}"), "error[INPUT]"));
  CHECK(has(errors("{\"bycc_program\": 1, \"functoins\": []}"), "did you mean 'functions'"));
  CHECK(has(errors("{\"bycc_program\": 2, \"of_then\": 1}"), "error[UNSUP]"));
  CHECK(has(errorsOf("#[version = \"0.0.6\"]\ndef @main() { 1 }"), "error[UNSUP]"));
}

TEST_CASE("B5 numbers are exact or refused, whatever the locale") {
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  CHECK(errorsOf(mainOf("1.5")) == "");
  CHECK(has(errorsOf(mainOf("1e999")), "out of range"));
  CHECK(has(errorsOf(mainOf("9223372036854775808")), "out of range"));
  CHECK(has(errorsOf(mainOf("NaN")), "error[INPUT]: NaN is no number of Relay text"));
  CHECK(errorsOf(mainOf("0." + std::string(40000, '3'))) == "");
  CHECK(has(errorsOf(mainOf(std::string(40000, '3'))), "does not fit 64 bits"));
  CHECK(has(errorsOf(header + "def @main(%x: Tensor[(1.5), float32]) { %x }"), "a dim is"));
  CHECK(has(errorsOf(header + "def @main(%x: Tensor[(9223372036854775808), float32]) { %x }"),
            "error[INPUT]: a dim does not fit"));
  CHECK(has(errorsOf(header + "def @main(%x: Tensor[(-1), float32]) { %x }"), "error[INPUT]"));
  std::setlocale(LC_ALL, "C");
}

TEST_CASE("B6 strange names") {
  CHECK(has(errorsOf(mainOf("%\"\"")), "a name has 1 to 4096 bytes"));
  CHECK(has(errorsOf(mainOf("%" + std::string(1 << 20, 'a'))), "longer than 4096"));
  std::string program = printProgramJson(parsed(mainOf("%x")));
  for (const char *name : {"\"x\"", "\"main\""}) {
    std::string longer = program;
    longer.replace(longer.find(name) + 1, 1, std::string(1 << 20, 'a'));
    auto module = parseProgramJson(longer, "t.json");
    REQUIRE_FALSE(module);
    CHECK(has(module.error().str(), "error[INPUT]: a name is longer than 4096 bytes"));
  }
  std::string error = errorsOf(mainOf("%\"\\x1b[31m\""));
  CHECK(has(error, "\\x1B[31m"));
  CHECK_FALSE(has(error, "\x1b"));
  CHECK(error.size() < 4096);
  checkStable(
      parsed(header + "def @main(%\"../x\": int32, %\"\\n\": int32) { (%\"../x\", %\"\\n\") }"));
}

TEST_CASE("C1 a value defined twice") {
  CHECK(has(errorsOf(mainOf("%0 = abs(%x); %0 = abs(%x); %0")), "%0 is defined twice"));
  CHECK(has(errorsOf(header + "def @main(%x: int32, %x: int32) { %x }"), "%x is defined twice"));
  CHECK(has(errorsOf(header + "def @f() { 1 } def @f() { 2 }"), "@f is defined twice"));
  CHECK(has(errorsOf(mainOf("abs(%x, a=1, a=2)")), "given twice"));
}

TEST_CASE("C2 an undefined value") {
  CHECK(has(errorsOf(mainOf("abs(%y)")), "%y is not defined"));
  CHECK(has(errorsOf(mainOf("%y = abs(%x); %y")), "bound by 'let %y = ..;'"));
  CHECK(has(errorsOf(mainOf("%3")), "%3 is used before it is defined"));
  CHECK(has(errorsOf(mainOf("@f(%x)")), "@f is not defined"));
}

TEST_CASE("D3 D4 shapes that wrap or are huge") {
  for (const char *shape : {"4294967296, 4294967296", "4611686018427387904, 4", "1099511627776"})
    CHECK(has(errorsOf(header + "def @main(%x: Tensor[(" + shape + "), float32]) { %x }"),
              "error[LIMIT]"));
}

TEST_CASE("D5 rank 33") {
  std::string shape = "1";
  for (int i = 0; i < 32; ++i)
    shape += ", 1";
  CHECK(has(errorsOf(header + "def @main(%x: Tensor[(" + shape + "), float32]) { %x }"),
            "error[LIMIT]"));
}

TEST_CASE("F1 F3 constants that do not fit or lie outside") {
  auto meta = [](const std::string &entry) {
    return errorsOf(mainOf("meta[relay.Constant][0]") + "#[metadata]\n{\"relay.Constant\": [" +
                    entry + "]}");
  };
  CHECK(has(meta("{\"dtype\": \"int8\", \"shape\": [3], \"data\": \"AQI=\"}"),
            "has 2 bytes of data, 3 are needed"));
  CHECK(has(meta("{\"dtype\": \"int8\", \"shape\": [2], \"data\": \"AQI\"}"), "not base64"));
  CHECK(has(meta("{\"dtype\": \"int8\", \"shape\": [1099511627776], \"data\": \"\"}"),
            "error[LIMIT]"));
  CHECK(has(meta("{\"dtype\": \"int8\", \"shape\": [2], \"file\": \"../x\"}"), "error[INPUT]"));
  CHECK(has(meta("{\"dtype\": \"int4\", \"shape\": [2], \"data\": \"AQI=\"}"), "t.relay:6:"));
}

TEST_CASE("at most 20 errors are reported") {
  std::string body;
  for (int i = 0; i < 100; ++i)
    body += "abs(%y" + std::to_string(i) + ");\n";
  auto module = parseRelay(mainOf(body + "%x"), "t.relay");
  REQUIRE_FALSE(module);
  CHECK(module.error().diagnostics().size() == 20);
}
