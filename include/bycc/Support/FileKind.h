// What bytes look like that a reader was not made for.
#pragma once

#include <string_view>

namespace bycc {

// "a gzip file", "an ELF file", "UTF-16 text", "an ONNX model", "JSON text", ... by the
// first bytes; empty when they are of no kind that is known.
std::string_view kindOfBytes(std::string_view bytes);

} // namespace bycc
