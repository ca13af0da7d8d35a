// Operators of float32, one function for each family; and those that work on bytes as well.
#include "Translate.h"

#include <cmath>

namespace bycc::xnnpack {

namespace {

// XNNPACK's sigmoid of finite numbers beyond 1e24 may be NaN; from here on it is 0 or 1.
constexpr float sigmoidBound = 200;

} // namespace

const float *Translator::constant(uint32_t index) const {
  readValue(operand(index));
  return node_->constant<float>(index).data();
}

ValueId Translator::addFloatConstant(Dims dims, const float *from, Dims strides) {
  return addConstant({std::move(dims)}, {0, from, BYCC_FLOAT32, std::move(strides)});
}

void Translator::expectLast(int64_t axis) const {
  if (axis != -1 && axis != operand(0).rank() - 1)
    throw Refusal("axis ", axis, " is not the last one");
}

void Translator::expectImages(std::string_view layout) const {
  if (node_->word(layout, "") != "NHWC")
    throw Refusal(layout, " is ", node_->word(layout, ""), ", wanted NHWC");
  node_->expect("out_layout", "NHWC");
  if (operand(0).rank() != 4 || node_->output().rank() != 4)
    throw Refusal("rank ", operand(0).rank(), ", wanted 4");
}

// Window numbers; as much padding behind as the extents of the result take.
void Translator::readSlides(Node &node, const kit::Dims &kernel) const {
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

void Translator::unary() {
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
void Translator::clamp() {
  Node node = begun(Kind::Clamp);
  float less = operand(0).dtype() == BYCC_UINT8 ? 128 : 0;
  node.low = static_cast<float>(node_->number("a_min", 0)) - less;
  node.high = static_cast<float>(node_->number("a_max", infinity)) - less;
  emit(std::move(node));
}

// A constant that a product, read by nobody else, can add for us.
bool Translator::isBias(kit::Value data, kit::Value bias) const {
  ValueId id = known_[data.index()];
  if (id == none || uses_.reads[data.index()] != 1 || !bias.isConstant() || program_.nodes.empty())
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

void Translator::binary() {
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

void Translator::biasAdd() {
  expectLast(node_->integer("axis", 1));
  binary();
}

void Translator::prelu() {
  constant(1);
  biasAdd();
}

void Translator::copy() { emit(begun(Kind::Copy)); }

// A product's weight, brought into the order of `dims`, and zeros to add.
void Translator::addWeights(Node &node, Dims dims, const float *from, Dims strides,
                            uint64_t channels) {
  node.inputs.push_back(addFloatConstant(std::move(dims), from, std::move(strides)));
  node.inputs.push_back(addFloatConstant({channels}, nullptr, {}));
}

Translator::Kernel Translator::readKernel() const {
  std::string_view layout = node_->word("kernel_layout", "");
  Dims from = readValue(operand(1)).dims, rows = kit::rowStrides(from);
  Kernel kernel;
  for (char letter : std::string_view("OHWI")) {
    size_t at = layout.find(letter);
    if (layout.size() != 4 || from.size() != 4 || at == std::string_view::npos)
      throw Refusal("kernel_layout is ", layout, ", wanted an order of OHWI");
    kernel.extents.push_back(from[at]);
    kernel.strides.push_back(rows[at]);
  }
  return kernel;
}

void Translator::readConvolution(Node &node, Kernel &kernel) const {
  auto &[extents, strides] = kernel;
  readSlides(node, {static_cast<int64_t>(extents[1]), static_cast<int64_t>(extents[2])});
  node.groups = static_cast<uint32_t>(std::clamp<int64_t>(node_->integer("groups", 1), 0, 1 << 30));
  if (node.groups > 1 && node.groups == dims(node.inputs[0])[3] && extents[3] == 1) {
    node.kind = Kind::Depthwise;
    std::swap(extents[0], extents[3]);
    std::swap(strides[0], strides[3]);
  }
}

void Translator::convolution() {
  expectImages("data_layout");
  node_->expect("out_dtype", "float32");
  const float *weight = constant(1);
  Kernel kernel = readKernel();
  Node node = begun(Kind::Conv);
  readConvolution(node, kernel);
  addWeights(node, kernel.extents, weight, kernel.strides, dims(node.output)[3]);
  emit(std::move(node));
}

// nn.dense, and nn.matmul by a constant of rank 2.
void Translator::dense() {
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

void Translator::pool() {
  expectImages("layout");
  Node node = begun(kind_);
  readSlides(node, node_->spatial("pool_size"));
  if (node.kind == Kind::AveragePool)
    return averagePool(node);
  emit(std::move(node));
}

void Translator::averagePool(Node &node) {
  if (node_->flag("count_include_pad", false)) {
    kit::Padding padding = node_->padding();
    for (size_t axis = 0; axis < 2; ++axis)
      if (node.slides[axis].after > padding.after[axis])
        throw Refusal("count_include_pad, and windows that reach beyond the padding");
    padInFront(node);
  }
  emit(node);
}

// XNNPACK does not count what it pads: zeros that are there are counted.
void Translator::padInFront(Node &pool) {
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

void Translator::globalAverage() {
  expectImages("layout");
  emit(begun(Kind::GlobalAverage));
}

// As the number of the result that it is.
float Translator::padValue() const {
  float less = operand(0).dtype() == BYCC_UINT8 ? 128 : 0;
  if (operand(1).elements() != 1)
    throw Refusal("no single value to pad with");
  switch (operand(1).dtype()) {
  case BYCC_UINT8:
    return node_->constant<uint8_t>(1)[0] - less;
  case BYCC_INT8:
    return node_->constant<int8_t>(1)[0] - less;
  case BYCC_INT32:
    return static_cast<float>(node_->constant<int32_t>(1)[0]) - less;
  default:
    return *constant(1) - less;
  }
}

void Translator::pad() {
  node_->expect("pad_mode", "constant");
  Node node = begun(Kind::Pad);
  node.low = padValue();
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

void Translator::resize() {
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

Translator::Table Translator::floatOperators() {
  using T = Translator;
  return {
      {"abs", {&T::unary, Kind::Abs}},
      {"add", {&T::binary, Kind::Add}},
      {"ceil", {&T::unary, Kind::Ceil}},
      {"clip", {&T::clamp, {}, true}},
      {"divide", {&T::binary, Kind::Divide}},
      {"expand_dims", {&T::copy, {}, true}},
      {"floor", {&T::unary, Kind::Floor}},
      {"image.resize2d", {&T::resize}},
      {"maximum", {&T::binary, Kind::Maximum}},
      {"minimum", {&T::binary, Kind::Minimum}},
      {"multiply", {&T::binary, Kind::Multiply}},
      {"negative", {&T::unary, Kind::Negate}},
      {"nn.avg_pool2d", {&T::pool, Kind::AveragePool}},
      {"nn.batch_flatten", {&T::copy, {}, true}},
      {"nn.bias_add", {&T::biasAdd, Kind::Add}},
      {"nn.conv2d", {&T::convolution}},
      {"nn.dense", {&T::dense}},
      {"nn.global_avg_pool2d", {&T::globalAverage}},
      {"nn.leaky_relu", {&T::unary, Kind::LeakyRelu}},
      {"nn.matmul", {&T::dense}},
      {"nn.max_pool2d", {&T::pool, Kind::MaxPool, true}},
      {"nn.pad", {&T::pad, {}, true}},
      {"nn.prelu", {&T::prelu, Kind::PRelu}},
      {"nn.relu", {&T::clamp, {}, true}},
      {"nn.softmax", {&T::unary, Kind::Softmax}},
      {"reshape", {&T::copy, {}, true}},
      {"sigmoid", {&T::unary, Kind::Sigmoid}},
      {"sqrt", {&T::unary, Kind::SquareRoot}},
      {"squeeze", {&T::copy, {}, true}},
      {"subtract", {&T::binary, Kind::Subtract}},
      {"xnnpack.hard_swish", {&T::unary, Kind::HardSwish}},
  };
}

} // namespace bycc::xnnpack
