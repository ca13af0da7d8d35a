// Where something in the user's input stands. Small, copied by value; file and
// node names are interned by the owner of the text (IR: Module's strings) or
// held by the Error itself.
#pragma once

#include <cstdint>
#include <string>

namespace bycc {

// Either a place in a text file (line > 0) or a named node of a binary model
// (node not empty) or only a file.
struct SourceLocation {
  std::string file;
  uint32_t line = 0;   // 1-based, 0 = unknown
  uint32_t column = 0; // 1-based, in bytes
  std::string node;    // e.g. the ONNX node name
  std::string nodeOp;  // e.g. "Conv"

  // "model.relay:12:8", "m.onnx: node 'c1' (Conv)", "m.onnx" or "".
  std::string str() const;
};

} // namespace bycc
