// The layers of a model as list_layers.py writes them, one a line: `KIND key=value ...`.
//
// An operand is NAME[@ELEMENTS]:TYPE:DxDx...: the tensor it is stored in, how many elements into
// it, its element type (f32, bf16, s8, u8) and its extents. Keys:
//
//   conv        src weights dst groups strides pads (begins, then ends) dilations [bias] [scale]
//   [post] matmul      src weights dst [constant: weights are the model's own] [bias] [scale]
//   [post] pool        src dst algorithm=max|avg kernel strides pads dilations softmax     src dst
//   axis          layer_norm  src dst          eltwise  src dst post binary      src other dst
//   algorithm            concat  src0.. count axis dst     reorder  src dst
//
// post: relu, gelu, tanh, logistic, hardswish, clip:LOW:HIGH, sum=OPERAND, add=OPERAND, in their
// order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace floor_bench {

struct Operand {
  std::string tensor;
  int64_t offset = 0; // elements into the tensor
  std::string type;
  std::vector<int64_t> dims;
};

struct PostOp {
  std::string kind;
  float low = 0, high = 0; // of a clip
  Operand operand;         // of sum and add
};

struct Layer {
  std::string kind, name;
  std::map<std::string, std::string> keys;

  bool has(const std::string &key) const { return keys.count(key) != 0; }
  bool isProduct() const { return kind == "conv" || kind == "matmul"; }
  // The value of a key; exits with a message when it is not there.
  const std::string &text(const std::string &key) const;
  int64_t number(const std::string &key) const;
  std::vector<int64_t> extents(const std::string &key) const;
  Operand operand(const std::string &key) const;
  std::vector<PostOp> postOps() const;
};

// Prints the message and exits with status 1.
[[noreturn]] void fail(const std::string &message);

// Layers of a file, float operands in `floatType` (f32 or bf16).
std::vector<Layer> readLayers(const std::string &path, const std::string &floatType);

} // namespace floor_bench
