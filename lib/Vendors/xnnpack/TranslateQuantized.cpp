// Operators of int8 and uint8. A tensor has no scale in the graph, its readers and makers tell it;
// in XNNPACK the tensor has it. Products are composites that end in qnn.requantize: XNNPACK has no
// int32 results. A dense layer is a convolution of single pixels, for which there are weights with
// a scale for each channel.
//
// Numerics: XNNPACK scales in float32 and rounds to the nearest, ties to even, once; a result may
// differ by one from a definition that is fixed-point or rounds operands before it adds them.
#include "Translate.h"

#include <cmath>

namespace bycc::xnnpack {

namespace {

template <typename T> std::span<const T> numbersOf(kit::Value value) {
  if (!value.isConstant() || value.elements() == 0)
    throw Refusal("a scale or zero point is not constant");
  return value.constant<T>();
}

template <typename T> T numberOf(kit::Value value) {
  std::span<const T> numbers = numbersOf<T>(value);
  for (T number : numbers)
    if (number != numbers[0])
      throw Refusal("scales or zero points for each channel");
  return numbers[0];
}

int32_t carriedLess(kit::Value value) { return value.dtype() == BYCC_UINT8 ? 128 : 0; }

Quantization quantizationOf(kit::Value scale, kit::Value zero, kit::Value of) {
  Quantization found{numberOf<float>(scale), 0};
  int64_t carried = int64_t{numberOf<int32_t>(zero)} - carriedLess(of);
  if (!std::isnormal(found.scale) || found.scale < 0 || carried < -128 || carried > 127)
    throw Refusal("scale ", found.scale, ", zero point ", numberOf<int32_t>(zero));
  found.zero = static_cast<int32_t>(carried);
  return found;
}

// Do the elements less the zero point fit int8?
template <typename T> bool fitsBytes(std::span<const T> elements, int32_t zero) {
  return std::ranges::all_of(elements,
                             [&](T each) { return each - zero >= -128 && each - zero <= 127; });
}

} // namespace

// What a composite of a product is made of.
struct Translator::Product {
  explicit Product(kit::Node composite) : flat(composite) {
    for (const kit::Flat::Call &each : flat.calls)
      read(each);
    if (!call || !last)
      throw Refusal("no product with a change of scale");
    checkRequantize();
    kit::Value zero = flat.input(*call, 3);
    weightZero = numberOf<int32_t>(zero);
    if (!weight().isConstant())
      throw Refusal("weights are not constant");
    bool fits = weight().dtype() == BYCC_UINT8 ? fitsBytes(weight().constant<uint8_t>(), weightZero)
                                               : fitsBytes(weight().constant<int8_t>(), weightZero);
    if (!fits)
      throw Refusal("weights less their zero point ", weightZero, " do not fit int8");
  }
  kit::Value data() const { return flat.input(*call, 0); }
  kit::Value weight() const { return flat.input(*call, 1); }
  Quantization in() const {
    return quantizationOf(flat.input(*call, 4), flat.input(*call, 2), data());
  }
  Quantization out() const {
    return quantizationOf(flat.input(*last, 3), flat.input(*last, 4), result());
  }
  kit::Value result() const { return flat.values[last->outputs[0]]; }
  std::span<const float> factors() const { return numbersOf<float>(flat.input(*last, 1)); }

  kit::Flat flat;
  const kit::Flat::Call *call = nullptr, *last = nullptr;
  const int32_t *bias = nullptr;
  int32_t weightZero = 0;
  bool isClamped = false;

private:
  void read(const kit::Flat::Call &each) {
    std::string_view op = each.node.op();
    if (op == "qnn.conv2d" || op == "qnn.dense")
      call = &each;
    else if (op == "qnn.requantize")
      last = &each;
    else if (op == "nn.relu")
      isClamped = true;
    else
      readBias(each, op == "nn.bias_add" ? each.node.integer("axis", 1) : -1);
  }
  void readBias(const kit::Flat::Call &each, int64_t axis) {
    kit::Value data = flat.input(each, 0), added = flat.input(each, 1);
    int64_t channels = data.dim(-1);
    if (added.elements() != static_cast<uint64_t>(channels) || added.dim(-1) != channels ||
        (axis != -1 && axis != data.rank() - 1))
      throw Refusal("a bias of ", added.dims(), " along axis ", axis, " of ", data.dims());
    bias = added.constant<int32_t>().data();
  }
  void checkRequantize() const {
    int64_t axis = last->node.integer("axis", -1);
    if (factors().size() > 1 && axis != -1 && axis != result().rank() - 1)
      throw Refusal("scales along axis ", axis, ", which is not the last one");
    if (numberOf<int32_t>(flat.input(*last, 2)) != 0)
      throw Refusal("a product with a zero point");
  }
};

// --- scales of tensors

void Translator::linkQuantization(ValueId a, ValueId b) {
  if (isQuantized_[groups_[a]] && isQuantized_[groups_[b]])
    return;
  if (isQuantized_[groups_[b]])
    std::swap(a, b);
  for (ValueId id = 0, old = groups_[b]; id < groups_.size(); ++id)
    if (groups_[id] == old) {
      groups_[id] = groups_[a];
      program_.values[id].scales = program_.values[a].scales;
      program_.values[id].zero = program_.values[a].zero;
    }
}

ValueId Translator::withQuantization(ValueId id, Quantization wanted) {
  const Value &value = program_.values[id];
  if (value.type != Type::Int8)
    throw Refusal("operand of float32, wanted int8 or uint8");
  if (!isQuantized_[groups_[id]]) {
    for (ValueId each = 0; each < groups_.size(); ++each)
      if (groups_[each] == groups_[id]) {
        program_.values[each].scales = {wanted.scale};
        program_.values[each].zero = wanted.zero;
      }
    isQuantized_[groups_[id]] = true;
  }
  if (value.scale() == wanted.scale && value.zero == wanted.zero)
    return id;
  return renumbered(id, wanted);
}

// The same numbers with another scale and zero point, through float32: XNNPACK copies no tensor to
// one with others.
ValueId Translator::renumbered(ValueId id, Quantization wanted) {
  const Dims shape = dims(id);
  Quantization have{program_.values[id].scale(), program_.values[id].zero};
  renumbering_.push_back(
      {wanted.scale / have.scale, static_cast<float>(have.zero - wanted.zero) * wanted.scale});
  const std::array<float, 2> &numbers = renumbering_.back();
  ValueId real = add({shape}), scaled = add({shape}), shifted = add({shape});
  emit({Kind::Convert, {id}, real});
  emit({Kind::Multiply, {real, addFloatConstant({1}, &numbers[0], {1})}, scaled});
  emit({Kind::Add, {scaled, addFloatConstant({1}, &numbers[1], {1})}, shifted});
  ValueId to = withQuantization(addBytes(shape), wanted);
  emit({Kind::Convert, {shifted}, to});
  return to;
}

ValueId Translator::addBytes(const Dims &dims) {
  Value value{dims};
  value.type = Type::Int8;
  value.scales = {1};
  return add(std::move(value));
}

ValueId Translator::quantizedOperand(uint32_t index, uint32_t scale, uint32_t zero) {
  return withQuantization(valueOf(operand(index)),
                          quantizationOf(operand(scale), operand(zero), operand(index)));
}

ValueId Translator::quantizedResult(uint32_t scale, uint32_t zero) {
  return withQuantization(result(), quantizationOf(operand(scale), operand(zero), node_->output()));
}

// --- changes of scale

void Translator::quantize() {
  ValueId from = valueOf(operand(0));
  emit({Kind::Convert, {from}, quantizedResult(1, 2)});
}

void Translator::dequantize() {
  node_->expect("out_dtype", "float32");
  ValueId from = quantizedOperand(0, 1, 2);
  emit({Kind::Convert, {from}, result()});
}

void Translator::requantize() {
  ValueId from = quantizedOperand(0, 1, 2), real = add({dims(from)});
  emit({Kind::Convert, {from}, real});
  emit({Kind::Convert, {real}, quantizedResult(3, 4)});
}

// --- sums and products of two tensors, averages

void Translator::quantizedBinary() {
  ValueId a = quantizedOperand(0, 2, 3), b = quantizedOperand(1, 4, 5);
  emit({kind_, {a, b}, quantizedResult(6, 7)});
}

void Translator::quantizedAverage() {
  expectImages("layout");
  Node node{Kind::GlobalAverage, {quantizedOperand(0, 1, 2)}};
  const Dims from = dims(node.inputs[0]);
  ValueId to = quantizedResult(3, 4);
  const kit::Dims window = node_->spatial("pool_size");
  bool isGlobal = dims(to)[1] == 1 && dims(to)[2] == 1 &&
                  window[0] == static_cast<int64_t>(from[1]) &&
                  window[1] == static_cast<int64_t>(from[2]);
  if (isGlobal) {
    node.output = to;
    return emit(std::move(node));
  }
  ValueId real = add({from});
  emit({Kind::Convert, node.inputs, real});
  node = {Kind::AveragePool, {real}, add({dims(to)})};
  readSlides(node, window);
  averagePool(node);
  emit({Kind::Convert, {node.output}, to});
}

// --- products

void Translator::product() {
  const Product product(*node_);
  if (product.data().region() != operand(0).region())
    throw Refusal("the data is a part of the composite");
  ValueId data = withQuantization(valueOf(product.data()), product.in());
  ValueId to = withQuantization(result(), product.out());
  bool isClamped = product.isClamped && program_.values[to].zero > -128;
  ValueId made = isClamped ? withQuantization(addBytes(dims(to)), product.out()) : to;
  node_ = product.call->node;
  if (node_->op() == "qnn.dense")
    quantizedDense(product, data, made);
  else
    quantizedConvolution(product, data, made);
  if (!isClamped)
    return;
  Node clamp{Kind::Clamp, {made}, to};
  clamp.low = static_cast<float>(product.out().zero);
  clamp.high = infinity;
  emit(std::move(clamp));
}

// Weights in that order, and a bias.
void Translator::addQuantizedWeights(Node &node, const Product &product, const Kernel &kernel) {
  float in = program_.values[node.inputs[0]].scale();
  uint64_t channels = dims(node.output).back();
  std::span<const float> factors = product.factors();
  if (factors.size() != 1 && factors.size() != channels)
    throw Refusal(factors.size(), " scales for ", channels, " channels");
  Value weight{kernel.extents}, bias{{channels}};
  weight.type = Type::Int8;
  bias.type = Type::Int32;
  weight.isWeight = bias.isWeight = true;
  for (uint64_t i = 0; i < channels; ++i) {
    float factor = factors[factors.size() == 1 ? 0 : i];
    if (!std::isnormal(factor) || !std::isnormal(factor / in) || factor < 0)
      throw Refusal("a scale of ", factor);
    bias.scales.push_back(factor);
    weight.scales.push_back(factor / in);
  }
  node.inputs.push_back(
      addConstant(weight, {0, product.weight().raw().data, product.weight().dtype(), kernel.strides,
                           product.weightZero}));
  node.inputs.push_back(addConstant(bias, {0, product.bias, BYCC_INT32, {1}}));
}

void Translator::quantizedConvolution(const Product &product, ValueId data, ValueId to) {
  expectImages("data_layout");
  Node node{Kind::Conv, {data}, to};
  Kernel kernel = readKernel();
  readConvolution(node, kernel);
  addQuantizedWeights(node, product, kernel);
  emit(std::move(node));
}

void Translator::quantizedDense(const Product &product, ValueId data, ValueId to) {
  const Dims from = dims(data), weight = readValue(product.weight()).dims;
  uint64_t rows = count(from) / from.back();
  if (weight.size() != 2 || dims(to).size() != from.size())
    throw Refusal("weights of ", weight);
  ValueId pixels = addBytes({1, rows, 1, from.back()});
  emit({Kind::Copy, {data}, pixels});
  Node node{
      Kind::Conv, {pixels}, withQuantization(addBytes({1, rows, 1, weight[0]}), product.out())};
  addQuantizedWeights(node, product, {{weight[0], 1, 1, weight[1]}, {weight[1], 0, 0, 1}});
  ValueId made = node.output;
  emit(std::move(node));
  emit({Kind::Copy, {made}, to});
}

Translator::Table Translator::quantizedOperators() {
  using T = Translator;
  return {
      {"qnn.add", {&T::quantizedBinary, Kind::Add, true}},
      {"qnn.avg_pool2d", {&T::quantizedAverage, {}, true}},
      {"qnn.dequantize", {&T::dequantize, {}, true}},
      {"qnn.mul", {&T::quantizedBinary, Kind::Multiply, true}},
      {"qnn.quantize", {&T::quantize, {}, true}},
      {"qnn.requantize", {&T::requantize, {}, true}},
      {"qnn.subtract", {&T::quantizedBinary, Kind::Subtract, true}},
      {"xnnpack.qnn.conv2d", {&T::product, {}, true}},
      {"xnnpack.qnn.dense", {&T::product, {}, true}},
  };
}

} // namespace bycc::xnnpack
