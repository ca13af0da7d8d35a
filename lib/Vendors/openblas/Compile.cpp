// Compile half of the openblas vendor: matrix products, alone or in composites with a bias and a
// relu (patterns/openblas.json). It needs no OpenBLAS.
#include "Program.h"

#include <map>

extern "C" const char openblas_patterns[];

namespace bycc::openblas {

namespace {

using kit::Refusal;

// The first axes, before the last so many.
uint64_t leading(kit::Value value, size_t last) {
  if (value.dims().size() < last)
    throw Refusal("rank ", value.rank(), ", wanted ", last, " or more");
  return kit::count(value.dims().first(value.dims().size() - last));
}
uint64_t extent(kit::Value value, int64_t axis) { return static_cast<uint64_t>(value.dim(axis)); }
int64_t axis(std::string_view layout, char letter) {
  return static_cast<int64_t>(layout.find(letter));
}

using Operands = std::array<kit::Value, 2>;

Product matmul(kit::Node node, const Operands &of) {
  auto [a, b] = of;
  bool isA = node.flag("transpose_a", false);
  bool isB = node.op() == "nn.dense" || node.flag("transpose_b", false);
  Product product{.a = {a.index(), isA}, .b = {b.index(), isB}};
  product.columns = extent(b, isB ? -2 : -1);
  product.width = extent(b, isB ? -1 : -2);
  product.rows = b.rank() == 2 && !isA ? leading(a, 1) : extent(a, isA ? -1 : -2);
  if (b.rank() == 2 && !isA) // all rows lie behind each other
    return product;
  uint64_t left = leading(a, 2), right = leading(b, 2);
  product.batch = std::max(left, right);
  product.a.isRepeated = left < product.batch;
  product.b.isRepeated = right < product.batch;
  return product;
}

void expectPoint(kit::Node node, std::string_view layout, std::string_view kernel,
                 kit::Value weight) {
  if ((layout != "NCHW" && layout != "NHWC") || weight.rank() != 4 || kernel.size() != 4)
    throw Refusal("layouts are ", layout, " and ", kernel,
                  ", wanted NCHW or NHWC, and an order of OIHW");
  node.expect("out_layout", layout);
  kit::Padding padding = node.padding();
  auto areAll = [](const kit::Dims &list, int64_t wanted) {
    return std::ranges::all_of(list, [&](int64_t each) { return each == wanted; });
  };
  if (extent(weight, axis(kernel, 'H')) != 1 || extent(weight, axis(kernel, 'W')) != 1)
    throw Refusal("a kernel of ", weight.dims(), ", wanted one point");
  if (node.integer("groups", 1) != 1 || !areAll(node.spatial("strides", 2, 1), 1) ||
      !areAll(padding.before, 0) || !areAll(padding.after, 0))
    throw Refusal("groups, strides or padding, wanted none");
}

// A kernel of one point: weight * image for channels first, pixels * weight for channels last.
Product convolution(kit::Node node, const Operands &of) {
  auto [data, weight] = of;
  std::string_view layout = node.word("data_layout", "NCHW"),
                   kernel = node.word("kernel_layout", "OIHW");
  expectPoint(node, layout, kernel, weight);
  bool isTransposed = axis(kernel, 'O') > axis(kernel, 'I'); // in x out
  uint64_t out = extent(weight, axis(kernel, 'O')), in = extent(weight, axis(kernel, 'I'));
  if (layout == "NCHW")
    return {.a = {weight.index(), isTransposed, true},
            .b = {data.index()},
            .batch = extent(data, 0),
            .rows = out,
            .columns = extent(data, 2) * extent(data, 3),
            .width = in};
  return {.a = {data.index()},
          .b = {weight.index(), !isTransposed},
          .rows = leading(data, 1),
          .columns = out,
          .width = in};
}

using Reader = Product (*)(kit::Node, const Operands &);
const std::map<std::string_view, Reader> readers = {
    {"nn.batch_matmul", matmul},
    {"nn.conv2d", convolution},
    {"nn.dense", matmul},
    {"nn.matmul", matmul},
};

// One number for each channel of what is there so far.
void addBias(Product &product, kit::Node node, kit::Value made, kit::Value bias) {
  bool isRows = product.a.isRepeated; // an image with channels first
  size_t rank = made.dims().size(), size = bias.dims().size(), channel = isRows ? 1 : rank - 1;
  size_t first =
      node.op() == "nn.bias_add" ? kit::axisOf(node.integer("axis", 1), rank) : rank - size;
  bool fits = std::ranges::equal(node.output().dims(), made.dims()) &&
              kit::count(bias.dims()) == extent(made, static_cast<int64_t>(channel));
  for (size_t i = 0; fits && i < size; ++i)
    fits = bias.dims()[i] == 1 || first + i == channel;
  if (!fits || product.hasRelu || product.biasKind != Product::Bias::None)
    throw Refusal(node.op(), " of ", bias.dims(), " to ", made.dims(),
                  ", wanted one for each channel");
  product.bias = bias.index();
  product.biasKind = isRows ? Product::Bias::OfRows : Product::Bias::OfColumns;
}

// A product, or a composite of what is done to one after the other.
Product read(kit::Node node) {
  kit::Flat flat(node);
  auto operand = [&](const kit::Flat::Call &call, uint32_t index) {
    kit::Value value = flat.input(call, index);
    if (value.region() != node.output().region())
      throw Refusal("a constant inside of a composite");
    return value;
  };
  std::optional<Product> product;
  uint32_t made = kit::none;
  for (const kit::Flat::Call &call : flat.calls) {
    call.node.expectPlain({BYCC_FLOAT32});
    call.node.expect("out_dtype", "float32");
    auto reader = readers.find(call.node.op());
    if (!product && reader != readers.end())
      product = reader->second(call.node, {operand(call, 0), operand(call, 1)});
    else if (product && call.node.op() == "nn.relu")
      product->hasRelu = true;
    else if (product && (call.node.op() == "add" || call.node.op() == "nn.bias_add"))
      addBias(*product, call.node, flat.values[made],
              operand(call, call.inputs[0] == made ? 1 : 0));
    else
      throw Refusal("it has no ", call.node.op());
    made = call.outputs[0];
  }
  if (!product)
    throw Refusal("there is no product");
  for (uint64_t each : {product->batch, product->rows, product->columns, product->width})
    if (each == 0 || each > maxExtent)
      throw Refusal("a matrix with an extent of ", each);
  product->out = node.output().index();
  return *product;
}

Program translate(kit::Region region) {
  Program program{kit::Memory(region), {}};
  for (kit::Node node : region.nodes())
    kit::blaming(node, [&] { program.products.push_back(read(node)); });
  return program;
}

struct Compiler {
  void supports(const kit::Question &question) { translate(question.region); }
  kit::Bytes compile(const kit::Question &question) {
    return kit::write(programFormat, translate(question.region));
  }
};

} // namespace
} // namespace bycc::openblas

extern "C" const bycc_vendor_compiler *bycc_vendor_compiler_openblas(void) {
  using namespace bycc::openblas;
  static Compiler half;
  static const bycc_vendor_compiler table =
      kit::compilerTable({.name = "openblas",
                          .version = programVersion,
                          .patterns = openblas_patterns,
                          .operators = "nn.batch_matmul nn.conv2d nn.dense nn.matmul"},
                         half);
  return &table;
}
