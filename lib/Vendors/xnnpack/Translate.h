// Region -> program, one operator after the other; what the shapes and types must be is for
// checkNode to say. Operators of float32 are in TranslateFloat.cpp, those of int8 and uint8, and
// composites of them, in TranslateQuantized.cpp.
#pragma once

#include "Program.h"

#include <array>
#include <deque>
#include <limits>
#include <map>
#include <optional>

namespace bycc::xnnpack {

using kit::none;
using kit::Refusal;
constexpr float infinity = std::numeric_limits<float>::infinity();

Value readValue(kit::Value from);

// Where a constant of the program comes from: its elements in row-major order lie so far apart
// in the model's constant, and are less by `zero`. Without one, zeros.
struct Filling {
  ValueId value = 0;
  const void *from = nullptr;
  int32_t dtype = BYCC_FLOAT32;
  Dims strides{}; // one for each axis
  int32_t zero = 0;
};

// Scale and zero point of an int8 tensor.
struct Quantization {
  float scale = 1;
  int32_t zero = 0;
  bool operator==(const Quantization &) const = default;
};

class Translator {
public:
  explicit Translator(kit::Region region);
  kit::Bytes blob(const kit::Question &question);

  struct Row {
    void (Translator::*handler)();
    Kind kind{};
    bool takesBytes = false;
  };
  using Table = std::map<std::string_view, Row>;
  // Names, as a vendor's table has them.
  static const char *operators();

private:
  static const Table &table();
  static Table floatOperators();
  static Table quantizedOperators();
  void begin();
  void end();
  void call();

  ValueId add(Value value);
  ValueId addConstant(Value value, Filling filling);
  ValueId valueOf(kit::Value from);
  kit::Value operand(uint32_t index) const { return node_->input(index); }
  const Dims &dims(ValueId id) const { return program_.dims(id); }
  // The place of the node's result.
  ValueId result();
  // The node's operator on its first operand.
  Node begun(Kind kind);
  void emit(Node node);

  // --- float32

  void unary();
  // clip and relu.
  void clamp();
  // A constant that a product, read by nobody else, can add for us.
  bool isBias(kit::Value data, kit::Value bias) const;
  void binary();
  void biasAdd();
  void prelu();
  void copy();
  // A product's weight, brought into the order of `dims`, and zeros to add.
  void addWeights(Node &node, Dims dims, const float *from, Dims strides, uint64_t channels);
  // A weight's extents in the order OHWI, and how far its elements lie apart.
  struct Kernel {
    Dims extents, strides;
  };
  Kernel readKernel() const;
  // Windows and groups; a depthwise convolution has its weight in the order 1HWO.
  void readConvolution(Node &node, Kernel &kernel) const;
  void convolution();
  // nn.dense, and nn.matmul by a constant of rank 2.
  void dense();
  void pool();
  void averagePool(Node &node);
  // XNNPACK does not count what it pads: zeros that are there are counted.
  void padInFront(Node &pool);
  void globalAverage();
  float padValue() const;
  void pad();
  void resize();
  void expectLast(int64_t axis) const;
  // NHWC.
  void expectImages(std::string_view layout) const;
  // Window numbers; as much padding behind as the extents of the result take.
  void readSlides(Node &node, const kit::Dims &kernel) const;
  // Of a constant of float32.
  const float *constant(uint32_t index) const;
  ValueId addFloatConstant(Dims dims, const float *from, Dims strides);

  // --- int8

  // Has these, or gets them together with all values that are the same numbers: those of
  // operators that know no scales. With others before, another tensor.
  ValueId withQuantization(ValueId id, Quantization wanted);
  ValueId renumbered(ValueId id, Quantization wanted);
  void linkQuantization(ValueId a, ValueId b);
  ValueId addBytes(const Dims &dims);
  // Of the node, with the operands that are its scale and zero point.
  ValueId quantizedOperand(uint32_t index, uint32_t scale, uint32_t zero);
  ValueId quantizedResult(uint32_t scale, uint32_t zero);
  void quantize();
  void dequantize();
  void requantize();
  void quantizedBinary();
  void quantizedAverage();
  void product();
  struct Product;
  void quantizedConvolution(const Product &product, ValueId data, ValueId to);
  void quantizedDense(const Product &product, ValueId data, ValueId to);
  void addQuantizedWeights(Node &node, const Product &product, const Kernel &kernel);

  const kit::Region region_;
  std::optional<kit::Node> node_;
  Kind kind_{};
  Program program_;
  std::vector<Filling> fillings_;
  std::deque<std::array<float, 2>> renumbering_; // constants of renumbered()
  std::vector<ValueId> known_;                   // by value of the region
  // By value: number of the group that shares a quantization; by group: is it known?
  std::vector<uint32_t> groups_;
  std::vector<bool> isQuantized_;
  const kit::Uses uses_;
};

} // namespace bycc::xnnpack
