// See Program.h.
#include "Program.h"

#include "bycc/Support/Hash.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace bycc::xnnpack {

namespace {

constexpr const char *kindNames[] = {"abs",
                                     "ceil",
                                     "clamp",
                                     "copy",
                                     "floor",
                                     "leaky relu",
                                     "negate",
                                     "sigmoid",
                                     "softmax",
                                     "square root",
                                     "add",
                                     "divide",
                                     "maximum",
                                     "minimum",
                                     "multiply",
                                     "subtract",
                                     "average pool",
                                     "convolution",
                                     "dense",
                                     "depthwise convolution",
                                     "global average",
                                     "max pool",
                                     "prelu",
                                     "pad",
                                     "resize"};
static_assert(std::size(kindNames) == static_cast<size_t>(Kind::numKinds));

constexpr uint64_t maxElements = uint64_t{1} << 40;
constexpr uint32_t maxStep = 1u << 24; // of windows: more is none, and sums do not overflow
constexpr uint64_t programMagic = 0x314b4341504e4e58; // "XNNPACK1"
constexpr size_t hashBytesInFront = 16;

ErrorBuilder refuse() { return error(Status::Unsup); }

size_t numOperands(Kind kind) {
  switch (kind) {
  case Kind::Conv:
  case Kind::Dense:
  case Kind::Depthwise:
    return 3;
  case Kind::Add:
  case Kind::Divide:
  case Kind::Maximum:
  case Kind::Minimum:
  case Kind::Multiply:
  case Kind::PRelu:
  case Kind::Subtract:
    return 2;
  default:
    return 1;
  }
}

// What an operand and the result of a node are; the checks of one node.
class NodeCheck {
public:
  NodeCheck(const Program &program, const Node &node) : program_(program), node_(node) {}

  Expected<> check() const {
    switch (node_.kind) {
    case Kind::Clamp:
      if (!(node_.low < node_.high)) // XNNPACK has no single number
        return refuse() << "clamp from " << node_.low << " to " << node_.high;
      return result(in(0));
    case Kind::LeakyRelu:
      if (node_.low - node_.low != 0)
        return refuse() << "the slope " << node_.low << " is not finite";
      return result(in(0));
    case Kind::Copy:
      if (count(in(0)) != count(out()))
        return refuse() << "reshape of " << text(in(0)) << " to " << text(out());
      return {};
    case Kind::Add:
    case Kind::Divide:
    case Kind::Maximum:
    case Kind::Minimum:
    case Kind::Multiply:
    case Kind::Subtract:
      return broadcast();
    case Kind::Conv:
    case Kind::Depthwise:
      return convolution();
    case Kind::AveragePool:
    case Kind::MaxPool:
      return pool();
    case Kind::Dense:
      return dense();
    case Kind::PRelu:
      BYCC_TRY(constant(1, {in(0).back()}));
      return result(in(0));
    case Kind::GlobalAverage:
      BYCC_TRY(images());
      return result({in(0)[0], 1, 1, in(0)[3]});
    case Kind::Pad:
      return pad();
    case Kind::Resize:
      BYCC_TRY(images());
      return result({in(0)[0], out()[1], out()[2], in(0)[3]});
    default:
      return result(in(0));
    }
  }

private:
  const Dims &in(size_t index) const { return program_.values[node_.inputs[index]].dims; }
  const Dims &out() const { return program_.values[node_.output].dims; }

  Expected<> result(const Dims &dims) const {
    if (out() != dims)
      return refuse() << "result is " << text(out()) << ", wanted " << text(dims);
    return {};
  }

  Expected<> constant(size_t index, const Dims &dims) const {
    if (!program_.values[node_.inputs[index]].isConstant())
      return refuse() << "operand " << index << " is not a constant";
    if (in(index) != dims)
      return refuse() << "operand " << index << " is " << text(in(index)) << ", wanted "
                      << text(dims);
    return {};
  }

  Expected<> images() const {
    if (in(0).size() != 4 || out().size() != 4)
      return refuse() << text(in(0)) << " to " << text(out()) << " is not of rank 4";
    return {};
  }

  Expected<> broadcast() const {
    for (size_t i = 0; i < 2; ++i)
      if (in(i).size() > out().size())
        return refuse() << text(in(i)) << " does not broadcast to " << text(out());
    Dims wanted(out().size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      uint64_t a = fromBack(in(0), i), b = fromBack(in(1), i);
      if (a != b && a != 1 && b != 1)
        return refuse() << text(in(0)) << " and " << text(in(1)) << " do not broadcast";
      wanted[wanted.size() - 1 - i] = std::max(a, b);
    }
    return result(wanted);
  }
  static uint64_t fromBack(const Dims &dims, size_t index) {
    return index < dims.size() ? dims[dims.size() - 1 - index] : 1;
  }

  static uint64_t extent(const Slide &slide) {
    return (uint64_t{slide.kernel} - 1) * slide.dilation + 1;
  }

  // Rank 4, sane numbers, and extents of the result that come from them.
  Expected<> windows() const {
    BYCC_TRY(images());
    if (out()[0] != in(0)[0])
      return refuse() << "batch " << in(0)[0] << " becomes " << out()[0];
    for (size_t axis = 0; axis < 2; ++axis) {
      const Slide &slide = node_.slides[axis];
      for (uint32_t number : {slide.kernel, slide.stride, slide.dilation})
        if (number < 1 || number > maxStep)
          return refuse() << "a window with " << number;
      uint64_t size = in(0)[1 + axis] + slide.before + slide.after;
      if (slide.before > maxStep || slide.after > maxStep || size < extent(slide) ||
          (size - extent(slide)) / slide.stride + 1 != out()[1 + axis])
        return refuse() << "windows of " << slide.kernel << " over " << in(0)[1 + axis]
                        << " do not give " << out()[1 + axis];
    }
    return {};
  }

  Expected<> convolution() const {
    BYCC_TRY(windows());
    uint64_t channels = in(0)[3], made = out()[3], groups = node_.groups;
    uint64_t height = node_.slides[0].kernel, width = node_.slides[1].kernel;
    bool isDepthwise = node_.kind == Kind::Depthwise;
    if (isDepthwise)
      groups = channels;
    if (groups == 0 || channels % groups != 0 || made % groups != 0)
      return refuse() << groups << " groups of " << channels << " channels to " << made;
    BYCC_TRY(constant(1, isDepthwise ? Dims{1, height, width, made}
                                     : Dims{made, height, width, channels / groups}));
    return constant(2, {made});
  }

  Expected<> pool() const {
    BYCC_TRY(windows());
    if (out()[3] != in(0)[3])
      return refuse() << in(0)[3] << " channels become " << out()[3];
    if (uint64_t{node_.slides[0].kernel} * node_.slides[1].kernel == 1)
      return refuse() << "XNNPACK has no pool of one element";
    for (size_t axis = 0; axis < 2; ++axis) {
      const Slide &slide = node_.slides[axis];
      bool isPadded = slide.before > 0 || slide.after > 0;
      if (slide.dilation != 1 && (isPadded || node_.kind == Kind::AveragePool))
        return refuse() << "XNNPACK has no such pool with dilation " << slide.dilation;
      if (slide.before >= extent(slide) ||
          (out()[1 + axis] - 1) * slide.stride >= in(0)[1 + axis] + slide.before)
        return refuse() << "a window holds nothing but padding";
    }
    return {};
  }

  Expected<> dense() const {
    BYCC_TRY(constant(1, {out().back(), in(0).back()}));
    BYCC_TRY(constant(2, {out().back()}));
    Dims wanted = in(0);
    wanted.back() = out().back();
    return result(wanted);
  }

  Expected<> pad() const {
    Dims wanted = in(0);
    if (node_.before.size() != wanted.size() || node_.after.size() != wanted.size())
      return refuse() << "pad does not name each axis of " << text(wanted);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (node_.before[i] > maxElements || node_.after[i] > maxElements)
        return refuse() << "pad by " << node_.before[i] << " and " << node_.after[i];
      wanted[i] += node_.before[i] + node_.after[i];
    }
    return result(wanted);
  }

  const Program &program_;
  const Node &node_;
};

ErrorBuilder damaged() {
  return error(Status::Load) << "xnnpack: the region's program is damaged: ";
}

Expected<> checkValues(const Program &program) {
  if (uint64_t{program.numInputs} + program.numOutputs > program.values.size())
    return damaged() << "fewer values than inputs and outputs";
  for (size_t i = 0; i < program.values.size(); ++i) {
    const Value &value = program.values[i];
    bool fits = !value.dims.empty() && value.dims.size() <= maxRank;
    uint64_t elements = 1;
    for (uint64_t dim : value.dims) {
      fits = fits && dim > 0 && dim <= maxElements / elements;
      elements *= fits ? dim : 1;
    }
    if (!fits)
      return damaged() << "a value of " << text(value.dims);
    uint64_t bytes = elements * sizeof(float) + extraBytes;
    bool isInside = value.offset <= program.weightsBytes && value.offset % alignof(float) == 0 &&
                    bytes <= program.weightsBytes - value.offset;
    if (value.isConstant() && (!isInside || i < program.numInputs + program.numOutputs))
      return damaged() << "a constant at " << value.offset << " of " << program.weightsBytes;
  }
  return {};
}

// The bytes of a program, read or written by one function; a reader believes nothing.
class ProgramWriter {
public:
  template <typename T> void number(T &value) {
    auto from = reinterpret_cast<const uint8_t *>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
  }
  template <typename T, typename Each> void list(std::vector<T> &items, Each each) {
    uint64_t size = items.size();
    number(size);
    for (T &item : items)
      each(item);
  }
  std::vector<uint8_t> bytes = std::vector<uint8_t>(hashBytesInFront);
};

class ProgramReader {
public:
  explicit ProgramReader(std::span<const uint8_t> bytes) : left_(bytes) {}
  template <typename T> void number(T &value) {
    std::array<uint8_t, sizeof(T)> raw{};
    isWhole_ = isWhole_ && left_.size() >= sizeof(T);
    if (isWhole_) {
      std::copy_n(left_.begin(), sizeof(T), raw.begin());
      left_ = left_.subspan(sizeof(T));
    }
    if constexpr (std::is_same_v<T, bool>)
      value = raw[0] == 1;
    else
      std::memcpy(&value, raw.data(), sizeof value);
  }
  template <typename T, typename Each> void list(std::vector<T> &items, Each each) {
    uint64_t size = 0;
    number(size);
    items.clear();
    for (uint64_t i = 0; i < size && isWhole_ && !left_.empty(); ++i)
      each(items.emplace_back());
    isWhole_ = isWhole_ && items.size() == size;
  }
  bool isDone() const { return isWhole_ && left_.empty(); }

private:
  std::span<const uint8_t> left_;
  bool isWhole_ = true;
};

template <typename Archive> void archive(Archive &to, Program &program) {
  auto number = [&](auto &value) { to.number(value); };
  uint64_t magic = programMagic;
  number(magic);
  to.list(program.values, [&](Value &value) {
    to.list(value.dims, number);
    number(value.offset);
  });
  to.list(program.nodes, [&](Node &node) {
    number(node.kind);
    to.list(node.inputs, number);
    number(node.output);
    for (Slide &slide : node.slides)
      for (uint32_t *each :
           {&slide.kernel, &slide.stride, &slide.dilation, &slide.before, &slide.after})
        number(*each);
    number(node.groups);
    to.list(node.before, number);
    to.list(node.after, number);
    number(node.mode);
    number(node.low);
    number(node.high);
  });
  number(program.numInputs);
  number(program.numOutputs);
  number(program.weightsBytes);
  number(program.keepsNan);
  number(program.hasNanConstant);
}

std::array<uint8_t, hashBytesInFront> hashOf(std::span<const uint8_t> rest) {
  return hash128(rest.data(), rest.size(), programMagic);
}

} // namespace

const char *name(Kind kind) { return kindNames[static_cast<size_t>(kind)]; }

uint64_t count(const Dims &dims) {
  uint64_t product = 1;
  for (uint64_t dim : dims)
    product *= dim;
  return product;
}

std::string text(const Dims &dims) {
  std::string out = "(";
  for (size_t i = 0; i < dims.size(); ++i)
    out += (i ? ", " : "") + std::to_string(dims[i]);
  return out + ")";
}

Expected<> checkNode(const Program &program, const Node &node) {
  return NodeCheck(program, node).check();
}

Expected<> checkProgram(const Program &program) {
  BYCC_TRY(checkValues(program));
  std::vector<bool> isMade(program.values.size());
  for (size_t i = 0; i < isMade.size(); ++i)
    isMade[i] = i < program.numInputs || program.values[i].isConstant();
  for (const Node &node : program.nodes) {
    if (node.kind >= Kind::numKinds || node.mode >= ResizeMode::numModes ||
        node.inputs.size() != numOperands(node.kind))
      return damaged() << "a node of kind " << static_cast<int>(node.kind);
    for (ValueId input : node.inputs)
      if (input >= isMade.size() || !isMade[input])
        return damaged() << "value " << input << " is read before it is made";
    if (node.output >= isMade.size() || isMade[node.output])
      return damaged() << "value " << node.output << " is made twice";
    if (Expected<> fits = checkNode(program, node); !fits)
      return damaged() << name(node.kind) << ": " << fits.error().message();
    isMade[node.output] = true;
  }
  for (uint32_t i = 0; i < program.numOutputs; ++i)
    if (!isMade[program.numInputs + i])
      return damaged() << "nothing makes output " << i;
  return {};
}

std::vector<uint8_t> writeProgram(const Program &program) {
  ProgramWriter writer;
  Program copy = program; // reading and writing share a function that takes no constants
  archive(writer, copy);
  auto hash = hashOf(std::span(writer.bytes).subspan(hashBytesInFront));
  std::copy(hash.begin(), hash.end(), writer.bytes.begin());
  return writer.bytes;
}

Expected<Program> readProgram(std::span<const uint8_t> bytes) {
  if (bytes.size() < hashBytesInFront ||
      !std::ranges::equal(hashOf(bytes.subspan(hashBytesInFront)), bytes.first(hashBytesInFront)))
    return damaged() << "its checksum differs";
  Program program;
  ProgramReader reader(bytes.subspan(hashBytesInFront));
  archive(reader, program);
  if (!reader.isDone())
    return damaged() << "its end is missing";
  BYCC_TRY(checkProgram(program));
  return program;
}

} // namespace bycc::xnnpack
