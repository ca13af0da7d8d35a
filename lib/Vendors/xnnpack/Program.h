// What the compile half tells the run half: values and nodes, as XNNPACK's subgraphs have
// them, channels last, float32 and int8. Both halves check it by the same rules.
//
// uint8 is carried as int8, 128 less, with zero points that are 128 less: XNNPACK has weights with
// a scale for each channel for int8 alone.
#pragma once

#include "bycc/vendor.hpp"

namespace bycc::xnnpack {

namespace kit = bycc::vendor;
using kit::count;

// Version of the vendor's halves: of what they say to each other.
inline constexpr const char *programVersion = "4";
inline constexpr kit::Format programFormat = {"xnnpack region", 4};

using Dims = std::vector<uint64_t>;
using ValueId = uint32_t;
inline constexpr int32_t maxRank = 6;
inline constexpr uint64_t maxElements = uint64_t{1} << 40;
inline constexpr uint32_t maxStep = 1u << 24; // of windows: more is none, and sums do not overflow
// Bytes that XNNPACK may read behind a tensor.
inline constexpr uint64_t extraBytes = 16;

enum class Kind : uint8_t {
#define UNARY(kind, ...) kind,
#define BINARY(kind, ...) kind,
#define OTHER(kind, ...) kind,
#include "Kinds.def"
  count
};
const char *name(Kind kind);

// Of height, then of width.
struct Slide {
  uint32_t kernel = 1, stride = 1, dilation = 1, before = 0, after = 0; // paddings
  auto members() { return std::tie(kernel, stride, dilation, before, after); }
};

enum class ResizeMode : uint8_t { HalfPixel, AlignCorners, Asymmetric, count };

enum class Type : uint8_t { Float, Int8, Int32, count };
constexpr uint64_t width(Type type) { return type == Type::Int8 ? 1 : 4; }

struct Value {
  static constexpr uint64_t noOffset = ~uint64_t{0};
  Dims dims{};                // at least one, none of 0
  uint64_t offset = noOffset; // of a constant, in the region's weights
  Type type{};
  bool isUnsigned = false; // Int8 that the graph has as uint8; constants lie here as int8
  bool isWeight = false;   // of an int8 convolution, or its Int32 bias: a scale for each channel
  // Int8: a number stands for (number - zero) * scale.
  std::vector<float> scales{};
  int32_t zero = 0;
  bool isConstant() const { return offset != noOffset; }
  uint64_t bytes() const { return count(dims) * width(type); }
  float scale() const { return scales[0]; }
  float real(float number) const {
    return type == Type::Float ? number : (number - static_cast<float>(zero)) * scale();
  }
  auto members() { return std::tie(dims, offset, type, isUnsigned, isWeight, scales, zero); }
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
  // Clamp: bounds. LeakyRelu: low is the slope. Pad: low is the value. As numbers of the operand.
  float low = 0, high = 0;
  auto members() {
    return std::tie(kind, inputs, output, slides, groups, before, after, mode, low, high);
  }
};

// Inputs of the region come first, then its outputs: numbers that XNNPACK knows them by.
struct Program {
  std::vector<Value> values{};
  std::vector<Node> nodes{}; // operands are made first
  uint32_t numInputs = 0, numOutputs = 0;
  uint64_t weightsBytes = 0;
  // XNNPACK loses NaN: look for it in the inputs first (--nan=keep); there is one in a constant.
  bool keepsNan = true, hasNanConstant = false;
  const Dims &dims(ValueId id) const { return values[id].dims; }
  uint32_t numTensors() const { return numInputs + numOutputs; }
  auto members() {
    return std::tie(values, nodes, numInputs, numOutputs, weightsBytes, keepsNan, hasNanConstant);
  }
};

// Refuses, and says why, where XNNPACK does not take the node or would do something else.
void checkNode(const Program &program, const Node &node);
// Of all that a blob may say.
void checkProgram(const Program &program);

} // namespace bycc::xnnpack
