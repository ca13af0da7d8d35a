// See Program.h.
#include "Program.h"

#include <cmath>

namespace bycc::xnnpack {

namespace {

using kit::Refusal;

struct KindInfo {
  const char *name;
  size_t numOperands;
};
constexpr KindInfo kinds[] = {
#define UNARY(kind, name, ...) {name, 1},
#define BINARY(kind, name, ...) {name, 2},
#define OTHER(kind, name, operands) {name, operands},
#include "Kinds.def"
};
const KindInfo &infoOf(Kind kind) { return kinds[static_cast<size_t>(kind)]; }

// What an operand and the result of a node are; the checks of one node.
class NodeCheck {
public:
  NodeCheck(const Program &program, const Node &node) : program_(program), node_(node) {}

  void check() const {
    types();
    shapes();
  }

private:
  void shapes() const {
    switch (node_.kind) {
    case Kind::Clamp:
      // XNNPACK has no single number.
      if (!(node_.low < node_.high) ||
          (made().type == Type::Int8 && (node_.low > 126 || node_.high < -127)))
        throw Refusal("clamp from ", node_.low, " to ", node_.high);
      return result(in(0));
    case Kind::LeakyRelu:
      if (node_.low - node_.low != 0)
        throw Refusal("the slope ", node_.low, " is not finite");
      return result(in(0));
    case Kind::Copy:
      if (count(in(0)) != count(out()))
        throw Refusal("reshape of ", in(0), " to ", out());
      return;
    case Kind::Conv:
    case Kind::Depthwise:
      return convolution();
    case Kind::AveragePool:
    case Kind::MaxPool:
      return pool();
    case Kind::Dense:
      constant(1, {out().back(), in(0).back()});
      constant(2, {out().back()});
      return result(resized(in(0).size() - 1, out().back()));
    case Kind::PRelu:
      constant(1, {in(0).back()});
      return result(in(0));
    case Kind::GlobalAverage:
      images();
      return result({in(0)[0], 1, 1, in(0)[3]});
    case Kind::Pad:
      return pad();
    case Kind::Resize:
      images();
      return result({in(0)[0], out()[1], out()[2], in(0)[3]});
    default:
      return infoOf(node_.kind).numOperands == 2 ? broadcast() : result(in(0));
    }
  }

  const Value &value(size_t index) const { return program_.values[node_.inputs[index]]; }
  const Value &made() const { return program_.values[node_.output]; }

  // What each operand and the result hold, and the scales that XNNPACK takes.
  void types() const {
    if (node_.kind == Kind::Convert) {
      if ((made().type == Type::Float) == (value(0).type == Type::Float))
        throw Refusal("conversion between equal types");
      return;
    }
    bool isQuantized = made().type == Type::Int8;
    bool isProduct = node_.kind == Kind::Conv || node_.kind == Kind::Depthwise;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      bool isWeight = isQuantized && isProduct && i > 0;
      if (value(i).type != (isWeight && i == 2 ? Type::Int32 : made().type) ||
          value(i).isWeight != isWeight)
        throw Refusal("operand ", i, " is of another type");
      if (isWeight && value(i).scales.size() != made().dims.back())
        throw Refusal("operand ", i, " has ", value(i).scales.size(), " scales");
    }
    if (isQuantized)
      scales();
  }

  void scales() const {
    auto within = [](float ratio, float low, float high) {
      if (!(ratio >= low && ratio < high))
        throw Refusal("scales in proportion ", ratio, ", XNNPACK takes ", low, " to ", high);
    };
    float out = made().scale();
    switch (node_.kind) {
    case Kind::Add:
    case Kind::Subtract:
      for (size_t i = 0; i < 2; ++i)
        within(value(i).scale() / out, 0x1p-10f, 0x1p8f);
      return;
    case Kind::Multiply:
      return within(value(0).scale() * value(1).scale() / out, 0x1p-16f, 0x1p8f);
    case Kind::GlobalAverage:
      return within(value(0).scale() / out, 0x1p-8f, 0x1p8f);
    case Kind::Conv:
    case Kind::Depthwise:
      for (float scale : value(1).scales)
        within(value(0).scale() * scale / out, 0x1p-32f, 0x1p8f);
      return;
    case Kind::Clamp:
    case Kind::Copy:
    case Kind::MaxPool:
    case Kind::Pad:
      if (value(0).scale() != out || value(0).zero != made().zero)
        throw Refusal("result has another scale");
      return;
    default:
      throw Refusal("XNNPACK does not have it for int8");
    }
  }

  const Dims &in(size_t index) const { return program_.dims(node_.inputs[index]); }
  const Dims &out() const { return program_.dims(node_.output); }
  Dims resized(size_t axis, uint64_t extent) const {
    Dims dims = in(0);
    dims[axis] = extent;
    return dims;
  }

  void result(const Dims &dims) const {
    if (out() != dims)
      throw Refusal("result is ", out(), ", wanted ", dims);
  }

  void constant(size_t index, const Dims &dims) const {
    if (!program_.values[node_.inputs[index]].isConstant())
      throw Refusal("operand ", index, " is not a constant");
    if (in(index) != dims)
      throw Refusal("operand ", index, " is ", in(index), ", wanted ", dims);
  }

  void images() const {
    if (in(0).size() != 4 || out().size() != 4)
      throw Refusal(in(0), " to ", out(), " is not of rank 4");
  }

  void broadcast() const {
    for (size_t i = 0; i < 2; ++i)
      if (in(i).size() > out().size())
        throw Refusal(in(i), " does not broadcast to ", out());
    Dims wanted(out().size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      uint64_t a = fromBack(in(0), i), b = fromBack(in(1), i);
      if (a != b && a != 1 && b != 1)
        throw Refusal(in(0), " and ", in(1), " do not broadcast");
      wanted[wanted.size() - 1 - i] = std::max(a, b);
    }
    result(wanted);
  }
  static uint64_t fromBack(const Dims &dims, size_t index) {
    return index < dims.size() ? dims[dims.size() - 1 - index] : 1;
  }

  static uint64_t extent(const Slide &slide) {
    return (uint64_t{slide.kernel} - 1) * slide.dilation + 1;
  }

  // Rank 4, sane numbers, and extents of the result that come from them.
  void windows() const {
    images();
    if (out()[0] != in(0)[0])
      throw Refusal("batch ", in(0)[0], " becomes ", out()[0]);
    for (size_t axis = 0; axis < 2; ++axis) {
      const Slide &slide = node_.slides[axis];
      for (uint32_t number : {slide.kernel, slide.stride, slide.dilation})
        if (number < 1 || number > maxStep)
          throw Refusal("a window with ", number);
      uint64_t size = in(0)[1 + axis] + slide.before + slide.after;
      if (slide.before > maxStep || slide.after > maxStep || size < extent(slide) ||
          (size - extent(slide)) / slide.stride + 1 != out()[1 + axis])
        throw Refusal("windows of ", slide.kernel, " over ", in(0)[1 + axis], " do not give ",
                      out()[1 + axis]);
    }
  }

  void convolution() const {
    windows();
    uint64_t channels = in(0)[3], made = out()[3], groups = node_.groups;
    uint64_t height = node_.slides[0].kernel, width = node_.slides[1].kernel;
    bool isDepthwise = node_.kind == Kind::Depthwise;
    if (isDepthwise)
      groups = channels;
    if (groups == 0 || channels % groups != 0 || made % groups != 0)
      throw Refusal(groups, " groups of ", channels, " channels to ", made);
    constant(1, isDepthwise ? Dims{1, height, width, made}
                            : Dims{made, height, width, channels / groups});
    constant(2, {made});
  }

  void pool() const {
    windows();
    if (out()[3] != in(0)[3])
      throw Refusal(in(0)[3], " channels become ", out()[3]);
    if (uint64_t{node_.slides[0].kernel} * node_.slides[1].kernel == 1)
      throw Refusal("XNNPACK has no pool of one element");
    for (size_t axis = 0; axis < 2; ++axis) {
      const Slide &slide = node_.slides[axis];
      bool isPadded = slide.before > 0 || slide.after > 0;
      if (slide.dilation != 1 && (isPadded || node_.kind == Kind::AveragePool))
        throw Refusal("XNNPACK has no such pool with dilation ", slide.dilation);
      if (slide.before >= extent(slide) ||
          (out()[1 + axis] - 1) * slide.stride >= in(0)[1 + axis] + slide.before)
        throw Refusal("a window holds nothing but padding");
    }
  }

  void pad() const {
    Dims wanted = in(0);
    if (node_.before.size() != wanted.size() || node_.after.size() != wanted.size())
      throw Refusal("pad does not name each axis of ", wanted);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (node_.before[i] > maxElements || node_.after[i] > maxElements)
        throw Refusal("pad by ", node_.before[i], " and ", node_.after[i]);
      wanted[i] += node_.before[i] + node_.after[i];
    }
    result(wanted);
  }

  const Program &program_;
  const Node &node_;
};

template <typename... Parts> [[noreturn]] void damaged(const Parts &...parts) {
  throw kit::Failure(BYCC_LOAD, programFormat.name, " is damaged: ", parts...);
}

void checkScales(const Value &value) {
  bool fits = value.type < Type::count;
  if (value.type == Type::Float)
    fits = value.scales.empty() && value.zero == 0 && !value.isUnsigned && !value.isWeight;
  else
    fits = fits && !value.scales.empty() && value.zero >= -128 && value.zero <= 127 &&
           (value.isWeight ? value.isConstant() && !value.isUnsigned && value.zero == 0
                           : value.scales.size() == 1 && value.type == Type::Int8);
  for (float scale : value.scales)
    fits = fits && std::isnormal(scale) && scale > 0;
  if (!fits)
    damaged("a value with ", value.scales.size(), " scales and zero point ", value.zero);
}

void checkValues(const Program &program) {
  if (uint64_t{program.numInputs} + program.numOutputs > program.values.size())
    damaged("fewer values than inputs and outputs");
  for (size_t i = 0; i < program.values.size(); ++i) {
    const Value &value = program.values[i];
    bool fits = !value.dims.empty() && value.dims.size() <= maxRank;
    uint64_t elements = 1;
    for (uint64_t dim : value.dims) {
      fits = fits && dim > 0 && dim <= maxElements / elements;
      elements *= fits ? dim : 1;
    }
    if (!fits)
      damaged("a value of ", value.dims);
    checkScales(value);
    uint64_t bytes = elements * width(value.type) + extraBytes;
    bool isInside = value.offset <= program.weightsBytes && value.offset % alignof(float) == 0 &&
                    bytes <= program.weightsBytes - value.offset;
    if (value.isConstant() && (!isInside || i < program.numTensors()))
      damaged("a constant at ", value.offset, " of ", program.weightsBytes);
  }
}

} // namespace

const char *name(Kind kind) { return infoOf(kind).name; }

void checkNode(const Program &program, const Node &node) { NodeCheck(program, node).check(); }

void checkProgram(const Program &program) {
  checkValues(program);
  std::vector<bool> isMade(program.values.size());
  for (size_t i = 0; i < isMade.size(); ++i)
    isMade[i] = i < program.numInputs || program.values[i].isConstant();
  for (const Node &node : program.nodes) {
    if (node.inputs.size() != infoOf(node.kind).numOperands)
      damaged(name(node.kind), " of ", node.inputs.size(), " operands");
    for (ValueId input : node.inputs)
      if (input >= isMade.size() || !isMade[input])
        damaged("value ", input, " is read before it is made");
    if (node.output >= isMade.size() || isMade[node.output])
      damaged("value ", node.output, " is made twice");
    try {
      checkNode(program, node);
    } catch (const Refusal &refusal) {
      damaged(name(node.kind), ": ", refusal.what());
    }
    isMade[node.output] = true;
  }
  for (uint32_t i = 0; i < program.numOutputs; ++i)
    if (!isMade[program.numInputs + i])
      damaged("nothing makes output ", i);
}

} // namespace bycc::xnnpack
