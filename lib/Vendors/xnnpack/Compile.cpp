// Compile half of the xnnpack vendor: answers for nodes, and writes regions as programs with
// weights in the order that XNNPACK wants. It needs no XNNPACK. One function for each family of
// operators; what the shapes must be is for checkNode to say.
#include "Program.h"

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

extern "C" const char xnnpack_patterns[];

namespace bycc::xnnpack {

namespace {

using kit::none;
using kit::Refusal;
constexpr float infinity = std::numeric_limits<float>::infinity();
// XNNPACK's sigmoid of finite numbers beyond 1e24 may be NaN; from here on it is 0 or 1.
constexpr float sigmoidBound = 200;

Value readValue(kit::Value from) {
  from.expectPlain({BYCC_FLOAT32}, maxRank);
  for (int64_t dim : from.dims())
    if (dim == 0 || from.elements() > maxElements)
      throw Refusal("an extent is ", dim);
  Value value{Dims(from.dims().begin(), from.dims().end())};
  if (value.dims.empty())
    value.dims = {1};
  return value;
}

// Where a constant of the program comes from: its elements in row-major order lie so far apart
// in the model's constant. Without one, zeros.
struct Filling {
  ValueId value;
  const float *from;
  Dims strides; // one for each axis
};

void fill(const Dims &dims, const Filling &filling, float *to) {
  Dims index(dims.size());
  uint64_t from = 0;
  for (uint64_t i = 0, n = filling.from ? count(dims) : 0; i < n; ++i) {
    to[i] = filling.from[from];
    for (size_t axis = dims.size(); axis-- > 0;) {
      from += filling.strides[axis];
      if (++index[axis] < dims[axis])
        break;
      from -= filling.strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
}

// One of the patterns of xnnpack.json.
bool isComposite(std::string_view name) { return name.starts_with("xnnpack."); }

class Translator {
public:
  explicit Translator(kit::Region region)
      : region_(region), known_(region.values().size(), none), uses_(region) {
    begin();
    for (kit::Node node : region_.nodes()) {
      node_ = node;
      try {
        call();
      } catch (const Refusal &why) {
        Refusal refusal(node.op(), ": ", why.what());
        refusal.node = node.index();
        throw refusal;
      }
    }
    end();
  }

  kit::Bytes blob(const kit::Question &question) {
    program_.keepsNan = question.target.nan == BYCC_NAN_KEEP;
    if (program_.weightsBytes > 0) {
      auto weights = reinterpret_cast<float *>(question.weights(program_.weightsBytes).data());
      for (const Filling &filling : fillings_)
        fill(dims(filling.value), filling,
             weights + program_.values[filling.value].offset / sizeof(float));
      program_.hasNanConstant =
          program_.hasNanConstant ||
          std::any_of(weights, weights + program_.weightsBytes / sizeof(float),
                      [](float each) { return std::isnan(each); });
    }
    return kit::write(programFormat, program_);
  }

  struct Row {
    void (Translator::*handler)();
    Kind kind{};
  };
  static const std::map<std::string_view, Row> &table();

private:
  // Inputs, then outputs. An output that something else reads, or that nothing makes, is copied
  // from another value: XNNPACK reads behind the end of what it reads.
  void begin() {
    program_.numInputs = region_.inputs().size();
    program_.numOutputs = region_.outputs().size();
    for (kit::Value value : region_.inputs())
      known_[value.index()] = add(readValue(value));
    for (kit::Value value : region_.outputs())
      add(readValue(value));
  }

  void end() {
    for (uint32_t i = 0; i < program_.numOutputs; ++i) {
      ValueId wanted = program_.numInputs + i, have = valueOf(region_.outputs()[i]);
      if (have != wanted)
        emit({Kind::Copy, {have}, wanted});
    }
  }

  void call() {
    auto row = table().find(node_->op());
    if (row == table().end() || node_->isComposite() != isComposite(node_->op()))
      throw Refusal("nothing in XNNPACK for this operator");
    if (node_->outputs().size() != 1)
      throw Refusal(node_->outputs().size(), " results");
    kind_ = row->second.kind;
    (this->*row->second.handler)();
  }

  ValueId add(Value value) {
    program_.values.push_back(std::move(value));
    return static_cast<ValueId>(program_.values.size() - 1);
  }
  ValueId addConstant(Dims dims, const float *from, Dims strides) {
    Value value{std::move(dims), program_.weightsBytes};
    program_.weightsBytes += kit::aligned(value.bytes() + extraBytes);
    fillings_.push_back({add(std::move(value)), from, std::move(strides)});
    return fillings_.back().value;
  }
  ValueId valueOf(kit::Value from) {
    ValueId &id = known_[from.index()];
    if (id == none) {
      Value value = readValue(from);
      if (!from.isConstant())
        throw Refusal("value ", from.index(), " is used before it is made");
      id = addConstant(value.dims, from.constant<float>().data(), kit::rowStrides(value.dims));
    }
    return id;
  }

  kit::Value operand(uint32_t index) const { return node_->input(index); }
  const Dims &dims(ValueId id) const { return program_.dims(id); }
  const float *constant(uint32_t index) const {
    readValue(operand(index));
    return node_->constant<float>(index).data();
  }

  // The place of the node's result.
  ValueId result() {
    kit::Value made = node_->output();
    for (uint32_t i = 0; i < program_.numOutputs && uses_.reads[made.index()] == 1; ++i)
      if (region_.outputs()[i] == made)
        return known_[made.index()] = program_.numInputs + i;
    return known_[made.index()] = add(readValue(made));
  }

  // The node's operator on its first operand.
  Node begun(Kind kind) {
    Node node{kind, {valueOf(operand(0))}};
    node.output = result();
    return node;
  }
  void emit(Node node) {
    checkNode(program_, node);
    program_.nodes.push_back(std::move(node));
  }

  void expectLast(int64_t axis) const {
    if (axis != -1 && axis != operand(0).rank() - 1)
      throw Refusal("axis ", axis, " is not the last one");
  }
  // NHWC, and float32 as everything.
  void expectImages(std::string_view layout) const {
    if (node_->word(layout, "") != "NHWC")
      throw Refusal(layout, " is ", node_->word(layout, ""), ", wanted NHWC");
    node_->expect("out_layout", "NHWC");
    node_->expect("out_dtype", "float32");
    if (operand(0).rank() != 4 || node_->output().rank() != 4)
      throw Refusal("rank ", operand(0).rank(), ", wanted 4");
  }

  // Window numbers; as much padding behind as the extents of the result take.
  void readSlides(Node &node, const kit::Dims &kernel) const {
    const kit::Dims strides = node_->spatial("strides", 2, 1),
                    dilation = node_->spatial("dilation", 2, 1);
    const kit::Padding padding = node_->padding();
    for (const kit::Dims *list : {&kernel, &strides, &dilation, &padding.before, &padding.after})
      for (int64_t each : *list)
        if (each < 0 || each > maxStep)
          throw Refusal("a window with ", each);
    for (size_t axis = 0; axis < 2; ++axis) {
      auto pick = [&](const kit::Dims &list) { return static_cast<uint32_t>(list[axis]); };
      Slide &slide = node.slides[axis];
      slide = {pick(kernel), pick(strides), pick(dilation), pick(padding.before), 0};
      uint64_t covered = (dims(node.output)[1 + axis] - 1) * slide.stride +
                         (uint64_t{slide.kernel} - 1) * slide.dilation + 1;
      uint64_t given = dims(node.inputs[0])[1 + axis] + slide.before;
      slide.after = static_cast<uint32_t>(covered > given ? covered - given : 0);
    }
  }

  void unary() {
    Node node = begun(kind_);
    if (node.kind == Kind::Sigmoid) {
      Node bound{Kind::Clamp, node.inputs, add({dims(node.inputs[0])})};
      bound.low = -sigmoidBound;
      bound.high = sigmoidBound;
      node.inputs = {bound.output};
      emit(std::move(bound));
    }
    if (node.kind == Kind::LeakyRelu)
      node.low = static_cast<float>(node_->number("alpha", 0.25));
    if (node.kind == Kind::Softmax)
      expectLast(node_->integer("axis", -1));
    emit(std::move(node));
  }

  // clip and relu.
  void clamp() {
    Node node = begun(Kind::Clamp);
    node.low = static_cast<float>(node_->number("a_min", 0));
    node.high = static_cast<float>(node_->number("a_max", infinity));
    emit(std::move(node));
  }

  // A constant that a product, read by nobody else, can add for us.
  bool isBias(kit::Value data, kit::Value bias) const {
    ValueId id = known_[data.index()];
    if (id == none || uses_.reads[data.index()] != 1 || !bias.isConstant() ||
        program_.nodes.empty())
      return false;
    const Node &last = program_.nodes.back();
    bool isProduct =
        last.kind == Kind::Conv || last.kind == Kind::Dense || last.kind == Kind::Depthwise;
    Dims shape = readValue(bias).dims;
    uint64_t channels = dims(id).back();
    return isProduct && last.output == id && fillings_.back().value == last.inputs[2] &&
           !fillings_.back().from && shape.back() == channels && count(shape) == channels &&
           shape.size() <= dims(id).size();
  }

  void binary() {
    for (uint32_t side = 0; side < (kind_ == Kind::Add ? 2u : 0u); ++side)
      if (isBias(operand(side), operand(1 - side))) {
        fillings_.back().from = constant(1 - side);
        fillings_.back().strides = {1};
        program_.nodes.back().output = result();
        return checkNode(program_, program_.nodes.back());
      }
    Node node = begun(kind_);
    node.inputs.push_back(valueOf(operand(1)));
    emit(std::move(node));
  }

  void biasAdd() {
    expectLast(node_->integer("axis", 1));
    binary();
  }

  void prelu() {
    constant(1);
    biasAdd();
  }

  void copy() { emit(begun(Kind::Copy)); }

  // A product's weight, brought into the order of `dims`, and zeros to add.
  void addWeights(Node &node, Dims dims, const float *from, Dims strides, uint64_t channels) {
    node.inputs.push_back(addConstant(std::move(dims), from, std::move(strides)));
    node.inputs.push_back(addConstant({channels}, nullptr, {}));
  }

  void convolution() {
    expectImages("data_layout");
    const float *weight = constant(1);
    std::string_view layout = node_->word("kernel_layout", "");
    Dims from = readValue(operand(1)).dims, rows = kit::rowStrides(from), extents, strides;
    for (char letter : std::string_view("OHWI")) {
      size_t at = layout.find(letter);
      if (layout.size() != 4 || from.size() != 4 || at == std::string_view::npos)
        throw Refusal("kernel_layout is ", layout, ", wanted an order of OHWI");
      extents.push_back(from[at]);
      strides.push_back(rows[at]);
    }
    Node node = begun(Kind::Conv);
    readSlides(node, {static_cast<int64_t>(extents[1]), static_cast<int64_t>(extents[2])});
    node.groups =
        static_cast<uint32_t>(std::clamp<int64_t>(node_->integer("groups", 1), 0, 1 << 30));
    if (node.groups > 1 && node.groups == dims(node.inputs[0])[3] && extents[3] == 1) {
      node.kind = Kind::Depthwise;
      std::swap(extents[0], extents[3]);
      std::swap(strides[0], strides[3]);
    }
    addWeights(node, extents, weight, strides, dims(node.output)[3]);
    emit(std::move(node));
  }

  // nn.dense, and nn.matmul by a constant of rank 2.
  void dense() {
    node_->expect("out_dtype", "float32");
    const float *weight = constant(1);
    if (node_->flag("transpose_a", false) || operand(1).rank() != 2 || operand(0).rank() == 0)
      throw Refusal("the data is transposed, or operands are of rank ", operand(0).rank(), " and ",
                    operand(1).rank());
    bool isTransposed = node_->op() == "nn.dense" || node_->flag("transpose_b", false);
    Dims from = readValue(operand(1)).dims, strides = kit::rowStrides(from);
    if (!isTransposed) {
      std::swap(from[0], from[1]);
      std::swap(strides[0], strides[1]);
    }
    Node node = begun(Kind::Dense);
    addWeights(node, from, weight, strides, from[0]);
    emit(std::move(node));
  }

  void pool() {
    expectImages("layout");
    Node node = begun(kind_);
    readSlides(node, node_->spatial("pool_size"));
    if (node.kind == Kind::AveragePool && node_->flag("count_include_pad", false)) {
      kit::Padding padding = node_->padding();
      for (size_t axis = 0; axis < 2; ++axis)
        if (node.slides[axis].after > padding.after[axis])
          throw Refusal("count_include_pad, and windows that reach beyond the padding");
      padInFront(node);
    }
    emit(std::move(node));
  }

  // XNNPACK does not count what it pads: zeros that are there are counted.
  void padInFront(Node &pool) {
    Node pad{Kind::Pad, pool.inputs};
    pad.before = pad.after = Dims(4);
    Value padded{dims(pool.inputs[0])};
    for (size_t axis = 0; axis < 2; ++axis) {
      Slide &slide = pool.slides[axis];
      pad.before[1 + axis] = std::exchange(slide.before, 0);
      pad.after[1 + axis] = std::exchange(slide.after, 0);
      padded.dims[1 + axis] += pad.before[1 + axis] + pad.after[1 + axis];
    }
    if (padded.dims == dims(pool.inputs[0]))
      return;
    pool.inputs = {pad.output = add(padded)};
    emit(std::move(pad));
  }

  void globalAverage() {
    expectImages("layout");
    emit(begun(Kind::GlobalAverage));
  }

  void pad() {
    node_->expect("pad_mode", "constant");
    Node node = begun(Kind::Pad);
    const float *value = constant(1);
    if (operand(1).elements() != 1)
      throw Refusal("no single value to pad with");
    node.low = *value;
    program_.hasNanConstant = program_.hasNanConstant || std::isnan(node.low);
    kit::Padding widths = node_->pairs("pad_width", operand(0).dims().size());
    for (const kit::Dims *list : {&widths.before, &widths.after})
      for (int64_t width : *list)
        if (width < 0)
          throw Refusal("pad_width is below 0");
    node.before.assign(widths.before.begin(), widths.before.end());
    node.after.assign(widths.after.begin(), widths.after.end());
    emit(std::move(node));
  }

  void resize() {
    expectImages("layout");
    node_->expect("method", "linear");
    static const std::map<std::string_view, ResizeMode> modes = {
        {"align_corners", ResizeMode::AlignCorners},
        {"asymmetric", ResizeMode::Asymmetric},
        {"half_pixel", ResizeMode::HalfPixel}};
    std::string_view wanted = node_->word("coordinate_transformation_mode", "");
    auto mode = modes.find(wanted);
    bool isSmoothed = node_->flag("antialias", false);
    if (mode == modes.end() || isSmoothed)
      throw Refusal("coordinate_transformation_mode ", wanted, isSmoothed ? " with antialias" : "");
    Node node = begun(Kind::Resize);
    node.mode = mode->second;
    std::vector<double> scales =
        node_->has("scales") ? node_->numbers("scales") : std::vector<double>();
    for (size_t axis = 0; axis < scales.size(); ++axis)
      if (axis > 1 || scales[axis] * static_cast<double>(dims(node.inputs[0])[1 + axis]) !=
                          static_cast<double>(dims(node.output)[1 + axis]))
        throw Refusal("scales are not those of the extents");
    emit(std::move(node));
  }

  const kit::Region region_;
  std::optional<kit::Node> node_;
  Kind kind_{};
  Program program_;
  std::vector<Filling> fillings_;
  std::vector<ValueId> known_; // by value of the region
  const kit::Uses uses_;
};

const std::map<std::string_view, Translator::Row> &Translator::table() {
  using T = Translator;
  static const std::map<std::string_view, Row> rows = {
      {"abs", {&T::unary, Kind::Abs}},
      {"add", {&T::binary, Kind::Add}},
      {"ceil", {&T::unary, Kind::Ceil}},
      {"clip", {&T::clamp}},
      {"divide", {&T::binary, Kind::Divide}},
      {"expand_dims", {&T::copy}},
      {"floor", {&T::unary, Kind::Floor}},
      {"image.resize2d", {&T::resize}},
      {"maximum", {&T::binary, Kind::Maximum}},
      {"minimum", {&T::binary, Kind::Minimum}},
      {"multiply", {&T::binary, Kind::Multiply}},
      {"negative", {&T::unary, Kind::Negate}},
      {"nn.avg_pool2d", {&T::pool, Kind::AveragePool}},
      {"nn.batch_flatten", {&T::copy}},
      {"nn.bias_add", {&T::biasAdd, Kind::Add}},
      {"nn.conv2d", {&T::convolution}},
      {"nn.dense", {&T::dense}},
      {"nn.global_avg_pool2d", {&T::globalAverage}},
      {"nn.leaky_relu", {&T::unary, Kind::LeakyRelu}},
      {"nn.matmul", {&T::dense}},
      {"nn.max_pool2d", {&T::pool, Kind::MaxPool}},
      {"nn.pad", {&T::pad}},
      {"nn.prelu", {&T::prelu, Kind::PRelu}},
      {"nn.relu", {&T::clamp}},
      {"nn.softmax", {&T::unary, Kind::Softmax}},
      {"reshape", {&T::copy}},
      {"sigmoid", {&T::unary, Kind::Sigmoid}},
      {"sqrt", {&T::unary, Kind::SquareRoot}},
      {"squeeze", {&T::copy}},
      {"subtract", {&T::binary, Kind::Subtract}},
      {"xnnpack.hard_swish", {&T::unary, Kind::HardSwish}},
  };
  return rows;
}

struct Compiler {
  void supports(const kit::Question &question) { Translator translator(question.region); }
  kit::Bytes compile(const kit::Question &question) {
    return Translator(question.region).blob(question);
  }
};

} // namespace
} // namespace bycc::xnnpack

extern "C" const bycc_vendor_compiler *bycc_vendor_compiler_xnnpack(void) {
  using namespace bycc::xnnpack;
  static const std::string names = [] {
    std::string names;
    for (const auto &[name, row] : Translator::table())
      if (!isComposite(name))
        names += (names.empty() ? "" : " ") + std::string(name);
    return names;
  }();
  static Compiler half;
  static const bycc_vendor_compiler table =
      kit::compilerTable({.name = "xnnpack",
                          .version = programVersion,
                          .patterns = xnnpack_patterns,
                          .operators = names.c_str(),
                          .flags = BYCC_VENDOR_OWN_WEIGHTS | BYCC_VENDOR_LOSES_NAN},
                         half);
  return &table;
}
