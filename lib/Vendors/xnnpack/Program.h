// What the compile half tells the run half: values and nodes, as XNNPACK's subgraphs have
// them, channels last, float32 alone. Both halves check it by the same rules.
#pragma once

#include "bycc/Support/Error.h"

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace bycc::xnnpack {

// Version of the vendor's halves: of what they say to each other.
inline constexpr const char *programVersion = "1";

using Dims = std::vector<uint64_t>;
using ValueId = uint32_t;
inline constexpr size_t maxRank = 6;
// Bytes that XNNPACK may read behind a tensor.
inline constexpr uint64_t extraBytes = 16;

enum class Kind : uint8_t {
  Abs,
  Ceil,
  Clamp,
  Copy,
  Floor,
  LeakyRelu,
  Negate,
  Sigmoid,
  Softmax,
  SquareRoot, // one operand
  Add,
  Divide,
  Maximum,
  Minimum,
  Multiply,
  Subtract, // two, broadcast
  AveragePool,
  Conv,
  Dense,
  Depthwise,
  GlobalAverage,
  MaxPool,
  PRelu,
  Pad,
  Resize,
  numKinds
};
const char *name(Kind kind);

// Of height, then of width.
struct Slide {
  uint32_t kernel = 1, stride = 1, dilation = 1, before = 0, after = 0; // paddings
};

enum class ResizeMode : uint8_t { HalfPixel, AlignCorners, Asymmetric, numModes };

struct Value {
  static constexpr uint64_t noOffset = ~uint64_t{0};
  Dims dims;                  // at least one, none of 0
  uint64_t offset = noOffset; // of a constant, in the region's weights
  bool isConstant() const { return offset != noOffset; }
};

// Operands: data, then constants. Conv: weight O x h x w x I of a group, bias O. Depthwise: weight
// 1 x h x w x O, bias O. Dense: weight O x I, bias O. PRelu: slope C.
struct Node {
  Kind kind{};
  std::vector<ValueId> inputs{};
  ValueId output = 0;
  std::array<Slide, 2> slides{}; // windows
  uint32_t groups = 1;           // Conv
  Dims before{}, after{};        // Pad
  ResizeMode mode{};
  // Clamp: bounds. LeakyRelu: low is the slope. Pad: low is the value.
  float low = 0, high = 0;
};

// Inputs of the region come first, then its outputs: numbers that XNNPACK knows them by.
struct Program {
  std::vector<Value> values;
  std::vector<Node> nodes; // operands are made first
  uint32_t numInputs = 0, numOutputs = 0;
  uint64_t weightsBytes = 0;
  // XNNPACK loses NaN: look for it in the inputs first (--nan=keep); there is one in a constant.
  bool keepsNan = true, hasNanConstant = false;
};

uint64_t count(const Dims &dims);
std::string text(const Dims &dims);
inline uint64_t sizeBytes(const Value &value) { return count(value.dims) * sizeof(float); }

// UNSUP, and why, where XNNPACK does not take the node or would do something else.
Expected<> checkNode(const Program &program, const Node &node);
// Of all that a blob may say; LOAD.
Expected<> checkProgram(const Program &program);

std::vector<uint8_t> writeProgram(const Program &program);
Expected<Program> readProgram(std::span<const uint8_t> bytes); // checked

} // namespace bycc::xnnpack
