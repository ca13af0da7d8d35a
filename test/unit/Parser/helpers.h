// What the tests of this folder share.
#pragma once

#include "bycc/IR/Printer.h"
#include "bycc/Parser/ProgramJson.h"

#include <catch2/catch.hpp>

#include <string>

namespace bycc::test {

inline const std::string header = "#[version = \"0.0.5\"]\n";

inline std::string mainOf(const std::string &body) {
  return header + "def @main(%x: Tensor[(2, 3), float32], %c: bool) {\n" + body + "\n}\n";
}

inline Module parsed(const std::string &text) {
  auto module = parseRelay(text, "t.relay");
  if (!module)
    FAIL(module.error().str() << "in\n" << text);
  return std::move(*module);
}

// All diagnostics, "" when the text is fine.
inline std::string errorsOf(const std::string &text) {
  auto module = parseRelay(text, "t.relay");
  return module ? "" : module.error().str();
}

// print(parse(print(m))) == print(m), through text and through JSON.
inline void checkStable(const Module &module) {
  std::string text = printModule(module);
  REQUIRE(printModule(parsed(text)) == text);
  auto again = parseProgramJson(printProgramJson(module), "t.json");
  if (!again)
    FAIL(again.error().str() << "in\n" << text);
  REQUIRE(printModule(*again) == text);
}

} // namespace bycc::test
