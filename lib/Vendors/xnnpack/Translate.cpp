// See Translate.h. One function for each family of operators; what the shapes must be is for
// checkNode to say.
#include "Translate.h"

#include "bycc/Support/DType.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

namespace bycc::xnnpack {

namespace {

using Ints = std::vector<int64_t>;
constexpr float infinity = std::numeric_limits<float>::infinity();
// XNNPACK's sigmoid of finite numbers beyond 1e24 may be NaN; from here on it is 0 or 1.
constexpr float sigmoidBound = 200;

ErrorBuilder refuse() { return error(Status::Unsup); }

// --- reading: all that is known of how a region lies in memory

const bycc_value &valueAt(const bycc_region &region, uint32_t index) {
  return *bycc_value_at(&region, index);
}
const bycc_node &nodeAt(const bycc_region &region, uint32_t index) {
  return *bycc_node_at(&region, index);
}

const bycc_attr *find(const bycc_node &node, std::string_view key) {
  for (uint32_t i = 0; i < node.num_attrs; ++i)
    if (const bycc_attr *attr = bycc_attr_at(node.attrs, i); key == attr->name)
      return attr->kind == BYCC_ATTR_NONE ? nullptr : attr;
  return nullptr;
}

double real(const bycc_attr &attr) {
  return attr.kind == BYCC_ATTR_FLOAT ? attr.f : static_cast<double>(attr.i);
}

Ints itemsOf(const bycc_attr &attr) {
  if (attr.kind != BYCC_ATTR_LIST)
    return {attr.i};
  Ints items;
  for (uint32_t i = 0; i < attr.count; ++i)
    items.push_back(bycc_item_at(&attr, i)->i);
  return items;
}

Expected<Value> readValue(const bycc_value &from) {
  if (from.dtype != BYCC_FLOAT32)
    return refuse() << "dtype "
                    << (from.dtype >= 0 && from.dtype < numDTypes
                            ? bycc::name(static_cast<DType>(from.dtype))
                            : "?")
                    << " is not supported";
  if (from.rank > static_cast<int32_t>(maxRank))
    return refuse() << "rank " << from.rank << " is not supported, at most " << maxRank;
  if ((from.layout && *from.layout) || from.device != 0)
    return refuse() << "tensors with a layout or a device are not supported";
  Value value;
  uint64_t elements = 1;
  for (int32_t i = 0; i < from.rank; ++i) {
    if (from.dims[i] == -1)
      return refuse() << "an extent is unknown until run time";
    if (from.dims[i] <= 0 || static_cast<uint64_t>(from.dims[i]) > (uint64_t{1} << 40) / elements)
      return refuse() << "an extent is " << from.dims[i];
    value.dims.push_back(static_cast<uint64_t>(from.dims[i]));
    elements *= value.dims.back();
  }
  if (value.dims.empty())
    value.dims = {1};
  if (from.data && from.bytes != elements * sizeof(float))
    return refuse() << "constant of " << from.bytes << " bytes for " << text(value.dims);
  return value;
}

std::vector<uint64_t> rowStrides(const Dims &dims) {
  std::vector<uint64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// --- translating

class RegionTranslator {
public:
  explicit RegionTranslator(const bycc_region &region)
      : region_(region), known_(region.num_values, none), uses_(region.num_values) {}

  Expected<Translation> run(std::optional<uint32_t> &blamed) {
    BYCC_TRY(begin());
    for (uint32_t n = 0; n < region_.num_nodes; ++n) {
      blamed = n;
      node_ = &nodeAt(region_, n);
      if (Expected<> done = call(); !done)
        return refuse() << node_->op << ": " << done.error().message();
    }
    blamed.reset();
    BYCC_TRY(end());
    program_.weightsBytes = weightsEnd_;
    return Translation{std::move(program_), std::move(fillings_)};
  }

  using Handler = Expected<> (RegionTranslator::*)();
  struct Row {
    Handler handler;
    Kind kind{};
  };
  static const std::map<std::string_view, Row> &table();

private:
  static constexpr ValueId none = ~0u;

  // Inputs, then outputs. An output that something else reads, or that nothing makes, is copied
  // from another value: XNNPACK reads behind the end of what it reads.
  Expected<> begin() {
    program_.numInputs = region_.num_inputs;
    program_.numOutputs = region_.num_outputs;
    for (uint32_t i = 0; i < region_.num_inputs; ++i)
      known_[region_.inputs[i]] = add(BYCC_TRY(readValue(valueAt(region_, region_.inputs[i]))));
    for (uint32_t i = 0; i < region_.num_outputs; ++i) {
      add(BYCC_TRY(readValue(valueAt(region_, region_.outputs[i]))));
      ++uses_[region_.outputs[i]];
    }
    for (uint32_t n = 0; n < region_.num_nodes; ++n)
      for (uint32_t i = 0; i < nodeAt(region_, n).num_inputs; ++i)
        ++uses_[nodeAt(region_, n).inputs[i]];
    return {};
  }

  Expected<> end() {
    for (uint32_t i = 0; i < region_.num_outputs; ++i) {
      ValueId wanted = region_.num_inputs + i, have = BYCC_TRY(valueOf(region_.outputs[i]));
      if (have != wanted)
        BYCC_TRY(emit({Kind::Copy, {have}, wanted}));
    }
    return {};
  }

  Expected<> call() {
    auto row = table().find(node_->op);
    if (node_->body || row == table().end())
      return refuse() << "nothing in XNNPACK for this operator";
    if (node_->num_outputs != 1)
      return refuse() << node_->num_outputs << " results";
    row_ = &row->second;
    return (this->*row_->handler)();
  }

  ValueId add(Value value) {
    program_.values.push_back(std::move(value));
    return static_cast<ValueId>(program_.values.size() - 1);
  }

  ValueId addConstant(Dims dims, const float *from, std::vector<uint64_t> strides) {
    constexpr uint64_t alignment = 64;
    Value value{std::move(dims), weightsEnd_};
    weightsEnd_ += (sizeBytes(value) + extraBytes + alignment - 1) / alignment * alignment;
    ValueId id = add(std::move(value));
    fillings_.push_back({id, from, std::move(strides)});
    return id;
  }

  Expected<ValueId> valueOf(uint32_t index) {
    if (known_[index] == none) {
      const bycc_value &from = valueAt(region_, index);
      Value value = BYCC_TRY(readValue(from));
      if (!from.data)
        return refuse() << "value " << index << " is used before it is made";
      auto strides = rowStrides(value.dims);
      known_[index] = addConstant(std::move(value.dims), static_cast<const float *>(from.data),
                                  std::move(strides));
    }
    return known_[index];
  }

  const bycc_value &operand(size_t index) const { return valueAt(region_, node_->inputs[index]); }
  Expected<ValueId> input(size_t index) { return valueOf(node_->inputs[index]); }
  const Dims &dims(ValueId id) const { return program_.values[id].dims; }

  Expected<const float *> constant(size_t index) const {
    BYCC_TRY(readValue(operand(index)));
    if (!operand(index).data)
      return refuse() << "operand " << index << " is not a constant";
    return static_cast<const float *>(operand(index).data);
  }

  // The place of the node's result.
  Expected<ValueId> result() {
    uint32_t index = node_->outputs[0];
    for (uint32_t i = 0; i < region_.num_outputs && uses_[index] == 1; ++i)
      if (region_.outputs[i] == index)
        return known_[index] = region_.num_inputs + i;
    return known_[index] = add(BYCC_TRY(readValue(valueAt(region_, index))));
  }

  // The node's operator on its first operand; where it goes when that does not depend on more.
  Expected<Node> begun(Kind kind) {
    Node node;
    node.kind = kind;
    node.inputs.push_back(BYCC_TRY(input(0)));
    node.output = BYCC_TRY(result());
    return node;
  }

  Expected<> emit(Node node) {
    BYCC_TRY(checkNode(program_, node));
    program_.nodes.push_back(std::move(node));
    return {};
  }

  int64_t integer(std::string_view key, int64_t fallback) const {
    const bycc_attr *attr = find(*node_, key);
    return attr ? attr->i : fallback;
  }
  float number(std::string_view key, float fallback) const {
    const bycc_attr *attr = find(*node_, key);
    return attr ? static_cast<float>(real(*attr)) : fallback;
  }
  Ints integers(std::string_view key, Ints fallback) const {
    const bycc_attr *attr = find(*node_, key);
    return attr ? itemsOf(*attr) : fallback;
  }
  std::string_view word(std::string_view key) const {
    const bycc_attr *attr = find(*node_, key);
    return attr && attr->kind == BYCC_ATTR_STRING && attr->s ? attr->s : "";
  }
  // A word that is one of these or absent.
  Expected<> expect(std::string_view key, std::string_view wanted) const {
    std::string_view have = word(key);
    if (!have.empty() && have != wanted)
      return refuse() << key << " is " << have << ", wanted " << wanted;
    return {};
  }
  Expected<> expectLast(int64_t axis) const {
    int64_t rank = operand(0).rank;
    if (axis != -1 && axis != rank - 1)
      return refuse() << "axis " << axis << " is not the last one";
    return {};
  }
  // NHWC, and float32 as everything.
  Expected<> expectImages(std::string_view layout) const {
    if (word(layout) != "NHWC")
      return refuse() << layout << " is " << word(layout) << ", wanted NHWC";
    BYCC_TRY(expect("out_layout", "NHWC"));
    BYCC_TRY(expect("out_dtype", "float32"));
    if (operand(0).rank != 4 || valueAt(region_, node_->outputs[0]).rank != 4)
      return refuse() << "rank " << operand(0).rank << ", wanted 4";
    return {};
  }

  // Window numbers; as much padding behind as the extents of the result take.
  Expected<> readSlides(Node &node, const std::array<uint64_t, 2> &kernel) const {
    Ints strides = integers("strides", {1}), dilation = integers("dilation", {1}),
         padding = integers("padding", {0});
    for (const Ints *list : {&strides, &dilation, &padding})
      for (int64_t each : *list)
        if (list->size() > 4 || each < 0 || each > 1 << 24)
          return refuse() << "a window with " << each;
    for (size_t axis = 0; axis < 2; ++axis) {
      auto pick = [&](const Ints &list) {
        return static_cast<uint32_t>(list[list.size() > 1 ? axis : 0]);
      };
      if (strides.empty() || dilation.empty() || padding.empty() || kernel[axis] > 1 << 24)
        return refuse() << "a window without numbers";
      Slide &slide = node.slides[axis];
      slide = {static_cast<uint32_t>(kernel[axis]), pick(strides), pick(dilation), pick(padding),
               0};
      uint64_t covered = (dims(node.output)[1 + axis] - 1) * slide.stride +
                         (kernel[axis] - 1) * slide.dilation + 1;
      uint64_t given = dims(node.inputs[0])[1 + axis] + slide.before;
      slide.after = static_cast<uint32_t>(covered > given ? covered - given : 0);
    }
    return {};
  }

  Expected<> unary() {
    Node node = BYCC_TRY(begun(row_->kind));
    if (node.kind == Kind::Sigmoid) {
      Node bound{Kind::Clamp, node.inputs, add({dims(node.inputs[0])})};
      bound.low = -sigmoidBound;
      bound.high = sigmoidBound;
      node.inputs = {bound.output};
      BYCC_TRY(emit(std::move(bound)));
    }
    if (node.kind == Kind::LeakyRelu)
      node.low = number("alpha", 0.25f);
    if (node.kind == Kind::Softmax)
      BYCC_TRY(expectLast(integer("axis", -1)));
    return emit(std::move(node));
  }

  // clip and relu.
  Expected<> clamp() {
    Node node = BYCC_TRY(begun(Kind::Clamp));
    node.low = number("a_min", 0);
    node.high = number("a_max", infinity);
    return emit(std::move(node));
  }

  // A constant that a product, read by nobody else, can add for us.
  Expected<bool> isBias(uint32_t data, uint32_t bias) {
    const bycc_value &value = valueAt(region_, bias);
    if (known_[data] == none || uses_[data] != 1 || !value.data || program_.nodes.empty())
      return false;
    Node &last = program_.nodes.back();
    bool isProduct =
        last.kind == Kind::Conv || last.kind == Kind::Dense || last.kind == Kind::Depthwise;
    Value shape = BYCC_TRY(readValue(value));
    uint64_t channels = dims(known_[data]).back();
    return isProduct && last.output == known_[data] && fillings_.back().value == last.inputs[2] &&
           !fillings_.back().from && shape.dims.back() == channels &&
           count(shape.dims) == channels && shape.dims.size() <= dims(known_[data]).size();
  }

  Expected<> binary() {
    for (uint32_t side = 0; side < (row_->kind == Kind::Add ? 2u : 0u); ++side)
      if (BYCC_TRY(isBias(node_->inputs[side], node_->inputs[1 - side]))) {
        fillings_.back().from = static_cast<const float *>(operand(1 - side).data);
        program_.nodes.back().output = BYCC_TRY(result());
        return checkNode(program_, program_.nodes.back());
      }
    Node node = BYCC_TRY(begun(row_->kind));
    node.inputs.push_back(BYCC_TRY(input(1)));
    return emit(std::move(node));
  }

  Expected<> biasAdd() {
    BYCC_TRY(expectLast(integer("axis", 1)));
    return binary();
  }

  Expected<> prelu() {
    BYCC_TRY(expectLast(integer("axis", 1)));
    BYCC_TRY(constant(1));
    return binary();
  }

  Expected<> copy() { return emit(BYCC_TRY(begun(Kind::Copy))); }

  // A product's weight, brought into the order of `dims`, and zeros to add.
  void addWeights(Node &node, Dims dims, const float *from, std::vector<uint64_t> strides,
                  uint64_t channels) {
    node.inputs.push_back(addConstant(std::move(dims), from, std::move(strides)));
    node.inputs.push_back(addConstant({channels}, nullptr, {}));
  }

  Expected<> convolution() {
    BYCC_TRY(expectImages("data_layout"));
    const float *weight = BYCC_TRY(constant(1));
    std::string_view layout = word("kernel_layout");
    Dims from = BYCC_TRY(readValue(operand(1))).dims, extents, strides;
    std::vector<uint64_t> rows = rowStrides(from);
    for (char letter : std::string_view("OHWI")) {
      size_t at = layout.find(letter);
      if (layout.size() != 4 || from.size() != 4 || at == std::string_view::npos)
        return refuse() << "kernel_layout is " << layout << ", wanted an order of OHWI";
      extents.push_back(from[at]);
      strides.push_back(rows[at]);
    }
    Node node = BYCC_TRY(begun(Kind::Conv));
    BYCC_TRY(readSlides(node, {extents[1], extents[2]}));
    node.groups = static_cast<uint32_t>(std::clamp<int64_t>(integer("groups", 1), 0, 1 << 30));
    if (node.groups > 1 && node.groups == dims(node.inputs[0])[3] && extents[3] == 1) {
      node.kind = Kind::Depthwise;
      std::swap(extents[0], extents[3]);
      std::swap(strides[0], strides[3]);
    }
    addWeights(node, extents, weight, strides, dims(node.output)[3]);
    return emit(std::move(node));
  }

  // nn.dense, and nn.matmul by a constant of rank 2.
  Expected<> dense() {
    BYCC_TRY(expect("out_dtype", "float32"));
    const float *weight = BYCC_TRY(constant(1));
    if (integer("transpose_a", 0) || operand(1).rank != 2 || operand(0).rank == 0)
      return refuse() << "the data is transposed, or operands are of rank " << operand(0).rank
                      << " and " << operand(1).rank;
    bool isTransposed = std::string_view(node_->op) == "nn.dense" || integer("transpose_b", 0);
    Dims from = BYCC_TRY(readValue(operand(1))).dims, strides = rowStrides(from);
    if (!isTransposed) {
      std::swap(from[0], from[1]);
      std::swap(strides[0], strides[1]);
    }
    Node node = BYCC_TRY(begun(Kind::Dense));
    addWeights(node, from, weight, strides, from[0]);
    return emit(std::move(node));
  }

  Expected<> pool() {
    BYCC_TRY(expectImages("layout"));
    Ints size = integers("pool_size", {});
    if (size.empty() || size.size() > 2 || *std::min_element(size.begin(), size.end()) < 1)
      return refuse() << "a window without extents";
    Node node = BYCC_TRY(begun(row_->kind));
    BYCC_TRY(
        readSlides(node, {static_cast<uint64_t>(size[0]), static_cast<uint64_t>(size.back())}));
    if (node.kind == Kind::AveragePool && integer("count_include_pad", 0)) {
      Ints padding = integers("padding", {0});
      for (size_t axis = 0; axis < 2; ++axis)
        if (node.slides[axis].after > padding[padding.size() == 4  ? 2 + axis
                                              : padding.size() > 1 ? axis
                                                                   : 0])
          return refuse() << "count_include_pad, and windows that reach beyond the padding";
      BYCC_TRY(padInFront(node));
    }
    return emit(std::move(node));
  }

  // XNNPACK does not count what it pads: zeros that are there are counted.
  Expected<> padInFront(Node &pool) {
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
      return {};
    pool.inputs = {pad.output = add(padded)};
    return emit(std::move(pad));
  }

  Expected<> globalAverage() {
    BYCC_TRY(expectImages("layout"));
    return emit(BYCC_TRY(begun(Kind::GlobalAverage)));
  }

  Expected<> pad() {
    BYCC_TRY(expect("pad_mode", "constant"));
    Node node = BYCC_TRY(begun(Kind::Pad));
    const float *value = BYCC_TRY(constant(1));
    const bycc_attr *widths = find(*node_, "pad_width");
    if (operand(1).bytes != sizeof(float) || !widths || widths->kind != BYCC_ATTR_LIST)
      return refuse() << "no value or no widths";
    node.low = *value;
    program_.hasNanConstant = program_.hasNanConstant || std::isnan(node.low);
    for (uint32_t i = 0; i < widths->count; ++i) {
      Ints pair = itemsOf(*bycc_item_at(widths, i));
      if (pair.size() != 2 || pair[0] < 0 || pair[1] < 0)
        return refuse() << "pad_width does not hold a pair for each axis, neither below 0";
      node.before.push_back(static_cast<uint64_t>(pair[0]));
      node.after.push_back(static_cast<uint64_t>(pair[1]));
    }
    return emit(std::move(node));
  }

  Expected<> resize() {
    BYCC_TRY(expectImages("layout"));
    BYCC_TRY(expect("method", "linear"));
    static const std::map<std::string_view, ResizeMode> modes = {
        {"align_corners", ResizeMode::AlignCorners},
        {"asymmetric", ResizeMode::Asymmetric},
        {"half_pixel", ResizeMode::HalfPixel}};
    auto mode = modes.find(word("coordinate_transformation_mode"));
    if (mode == modes.end() || integer("antialias", 0))
      return refuse() << "coordinate_transformation_mode " << word("coordinate_transformation_mode")
                      << (integer("antialias", 0) ? " with antialias" : "");
    Node node = BYCC_TRY(begun(Kind::Resize));
    node.mode = mode->second;
    const bycc_attr *scales = find(*node_, "scales");
    for (uint32_t axis = 0; scales && axis < scales->count; ++axis)
      if (axis > 1 ||
          real(*bycc_item_at(scales, axis)) * static_cast<double>(dims(node.inputs[0])[1 + axis]) !=
              static_cast<double>(dims(node.output)[1 + axis]))
        return refuse() << "scales are not those of the extents";
    return emit(std::move(node));
  }

  const bycc_region &region_;
  const bycc_node *node_ = nullptr;
  const Row *row_ = nullptr;
  Program program_;
  std::vector<Filling> fillings_;
  std::vector<ValueId> known_; // by value of the region
  std::vector<uint32_t> uses_; // outputs count
  uint64_t weightsEnd_ = 0;
};

const std::map<std::string_view, RegionTranslator::Row> &RegionTranslator::table() {
  using T = RegionTranslator;
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
  };
  return rows;
}

} // namespace

Expected<Translation> translate(const bycc_region &region, std::optional<uint32_t> &blamed) {
  return RegionTranslator(region).run(blamed);
}

void fill(const Program &program, const Filling &filling, float *to) {
  const Dims &dims = program.values[filling.value].dims;
  if (!filling.from)
    return;
  if (filling.strides.empty() || filling.strides == rowStrides(dims)) {
    std::memcpy(to, filling.from, sizeBytes(program.values[filling.value]));
    return;
  }
  Dims index(dims.size());
  for (uint64_t i = 0, n = count(dims), from = 0; i < n; ++i) {
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

std::string operatorNames() {
  std::string names;
  for (const auto &[name, row] : RegionTranslator::table())
    names += (names.empty() ? "" : " ") + std::string(name);
  return names;
}

} // namespace bycc::xnnpack
