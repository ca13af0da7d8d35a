// What bytes look like that a reader was not made for.
#pragma once

#include "bycc/Support/Error.h"

#include <string_view>

namespace bycc {

// "a gzip file", "an ELF file", "UTF-16 text", "an ONNX model", "JSON text", ... by the
// first bytes; empty when they are of no kind that is known.
std::string_view kindOfBytes(std::string_view bytes);

// How a model of another kind becomes one that can be read, by its bytes, else by the suffix
// of its name: "export it: torch.onnx.export(...)". Empty where nothing is known.
std::string_view adviceFor(std::string_view bytes, std::string_view file);
// The error of a reader, with it as a note of the first problem.
Error withAdvice(Error error, std::string_view bytes, std::string_view file);

} // namespace bycc
