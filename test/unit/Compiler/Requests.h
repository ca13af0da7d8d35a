// Requests of models in memory.
#pragma once

#include "bycc/Compiler.h"

#include <string>
#include <utility>

namespace bycc {

inline std::shared_ptr<const Storage> memory(std::string text) {
  return Storage::own(std::move(text));
}

inline std::string program(const std::string &body,
                           const std::string &params = "%x: Tensor[(4, 64), float32]",
                           const std::string &result = "Tensor[(4, 64), float32]") {
  return "#[version = \"0.0.5\"]\ndef @main(" + params + ") -> " + result + " {\n" + body + "\n}\n";
}

inline CompileRequest requestOf(std::string text) {
  CompileRequest request;
  request.input.model = "net.relay";
  request.files["net.relay"] = memory(std::move(text));
  request.target.cpu = "x86-64-v3";
  return request;
}

// A vendor of which there is a description only: it takes nn.relu.
inline const char *const emulatedText =
    R"json({"schema": 1, "vendor": "npu", "ops": {"nn.relu": {}}, "cost": {"ops": {"nn.relu": {"us": 0.01}}}})json";

} // namespace bycc
