// Type rules of the neural-network core: convolutions, products, pooling,
// normalisation, losses.

#include "Shape.h"

#include "bycc/IR/Module.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc::shape {
namespace {

// Number of spatial axes of the operator, from its name (conv2d, max_pool3d).
size_t spatialRank(InferContext &context) {
  std::string_view op = opInfo(context.module().node(context.call()).op).name;
  for (size_t i = 0; i + 1 < op.size(); ++i)
    if (op[i] >= '1' && op[i] <= '3' && op[i + 1] == 'd')
      return static_cast<size_t>(op[i] - '0');
  return 2;
}

// Attributes of a window that slides over `rank` axes.
struct WindowAttrs {
  Ints strides, dilation;
  Padding padding;

  static Expected<WindowAttrs> read(InferContext &context, size_t rank,
                                    std::string_view dilationKey = "dilation") {
    WindowAttrs attrs;
    attrs.strides = attrs::perAxis(context.integers("strides"), rank);
    attrs.dilation = attrs::perAxis(context.integers(dilationKey), rank);
    BYCC_TRY(checkCount(context, attrs.strides, rank, "strides"));
    BYCC_TRY(checkCount(context, attrs.dilation, rank, dilationKey));
    BYCC_TRY(checkPositive(context, attrs.strides, "strides"));
    BYCC_TRY(checkPositive(context, attrs.dilation, dilationKey));
    auto padding = expandPadding(context.integers("padding"), rank);
    if (!padding)
      return context.error() << "padding has 1, " << rank << " or " << 2 * rank << " values, got "
                             << context.integers("padding").size();
    for (const Ints *pads : {&padding->before, &padding->after})
      for (int64_t pad : *pads)
        if (pad < 0)
          return context.error() << "padding holds a negative value: " << pad;
    attrs.padding = std::move(*padding);
    return attrs;
  }

  Window window(size_t axis, int64_t kernel) const {
    return {kernel, strides[axis], dilation[axis], padding.before[axis], padding.after[axis],
            false};
  }
};

Expected<Layout> outLayout(InferContext &context, const Layout &data, std::string_view letters) {
  if (context.text("out_layout").empty())
    return data;
  return layoutAttr(context, "out_layout", letters);
}

bool isByte(DType dtype) { return dtype == DType::Int8 || dtype == DType::UInt8; }

// Result dtype of a product of x and weight.
Expected<DType> productDType(InferContext &context, DType x, DType weight) {
  if (x != weight && !(isByte(x) && isByte(weight)))
    return context.error() << "data is " << name(x) << ", weight is " << name(weight);
  if (x == DType::Bool)
    return context.error() << "takes numbers, got bool";
  bool isGiven = !context.text("out_dtype").empty();
  if (!isGiven && isInt(x) && sizeInBytes(x) < 4)
    return context.error() << "out_dtype must be given for " << name(x) << " inputs";
  return dtypeAttr(context, "out_dtype", x);
}

// Data and weight of a convolution with everything that can be checked on them.
struct ConvInputs {
  TensorInput x, weight;
  size_t rank; // spatial
  std::string letters;
  Layout data, out;
  Dim batch, channels, weightIn, weightOut;
  Shape extents; // spatial
  Ints kernel;
  int64_t groups;
  WindowAttrs window;
};

Expected<Dim> kernelExtent(InferContext &context, const ConvInputs &c, const Layout &layout,
                           size_t i) {
  Dim dim = BYCC_TRY(logicalExtent(context, c.weight, layout, c.letters[2 + i]));
  if (context.isNone("kernel_size"))
    return dim;
  Ints given = attrs::perAxis(context.integers("kernel_size"), c.rank);
  BYCC_TRY(checkCount(context, given, c.rank, "kernel_size"));
  BYCC_TRY(checkPositive(context, given, "kernel_size"));
  if (!unify(dim, Dim(given[i])))
    return context.error() << "kernel_size is " << given[i] << " along " << c.letters[2 + i]
                           << ", weight has " << context.module().types.str(dim);
  return Dim(given[i]);
}

Expected<ConvInputs> convInputs(InferContext &context, size_t weightIndex) {
  size_t rank = spatialRank(context);
  std::string letters = layoutLetters("NC", rank);
  ConvInputs c{BYCC_TRY(tensorInput(context, 0)),
               BYCC_TRY(tensorInput(context, weightIndex)),
               rank,
               letters,
               BYCC_TRY(layoutAttr(context, "data_layout", letters)),
               {},
               {},
               {},
               {},
               {},
               {},
               {},
               context.integer("groups"),
               {}};
  Layout kernel = BYCC_TRY(layoutAttr(context, "kernel_layout", layoutLetters("OI", rank)));
  c.out = BYCC_TRY(outLayout(context, c.data, letters));
  BYCC_TRY(checkRank(context, c.x, c.data.rank(), "data"));
  BYCC_TRY(checkRank(context, c.weight, kernel.rank(), "weight"));
  BYCC_TRY(checkPositive(context, Ints{c.groups}, "groups"));
  c.window = BYCC_TRY(WindowAttrs::read(context, rank));
  c.batch = BYCC_TRY(logicalExtent(context, c.x, c.data, 'N'));
  c.channels = BYCC_TRY(logicalExtent(context, c.x, c.data, 'C'));
  c.weightIn = BYCC_TRY(logicalExtent(context, c.weight, kernel, 'I'));
  c.weightOut = BYCC_TRY(logicalExtent(context, c.weight, kernel, 'O'));
  for (size_t i = 0; i < rank; ++i) {
    c.extents.push_back(BYCC_TRY(logicalExtent(context, c.x, c.data, letters[2 + i])));
    Dim extent = BYCC_TRY(kernelExtent(context, c, kernel, i));
    if (!extent.isConst())
      return context.error() << "the kernel size is not known";
    if (extent.value() < 1)
      return context.error() << "the kernel is empty along " << letters[2 + i];
    c.kernel.push_back(extent.value());
  }
  if (c.channels.isConst() && c.channels.value() % c.groups != 0)
    return context.error() << "groups " << c.groups << " does not divide " << c.channels.value()
                           << " channels";
  return c;
}

Expected<> checkChannels(InferContext &context, Dim made) {
  if (context.isNone("channels"))
    return {};
  int64_t channels = context.integer("channels");
  if (channels < 1)
    return context.error() << "channels is at least 1, got " << channels;
  if (!unify(made, Dim(channels)))
    return context.error() << "channels is " << channels << ", weight has "
                           << context.module().types.str(made) << " output channels";
  return {};
}

Expected<TypeId> convResult(InferContext &context, ConvInputs &c, Dim outChannels,
                            const Shape &extents) {
  Shape logical{c.batch, outChannels};
  logical.insert(logical.end(), extents.begin(), extents.end());
  Shape shape = BYCC_TRY(physicalShape(context, c.out, c.letters, logical));
  DType dtype = BYCC_TRY(productDType(context, c.x.dtype, c.weight.dtype));
  return tensorType(context, dtype, shape);
}

Expected<> checkWeightIn(InferContext &context, const ConvInputs &c) {
  TypeTable &types = context.module().types;
  Dim wanted = types.floorDiv(c.channels, Dim(c.groups));
  if (unify(c.weightIn, wanted))
    return {};
  auto message = context.error() << "weight has " << types.str(c.weightIn)
                                 << " input channels, data has " << types.str(c.channels);
  if (c.groups == 1)
    return message;
  return std::move(message) << " in " << c.groups << " groups";
}

Expected<TypeId> convFrom(InferContext &context, ConvInputs &c) {
  BYCC_TRY(checkWeightIn(context, c));
  if (c.weightOut.isConst() && c.weightOut.value() % c.groups != 0)
    return context.error() << "groups " << c.groups << " does not divide " << c.weightOut.value()
                           << " output channels";
  BYCC_TRY(checkChannels(context, c.weightOut));
  Shape extents;
  for (size_t i = 0; i < c.rank; ++i)
    extents.push_back(BYCC_TRY(windowExtent(context, c.extents[i], c.window.window(i, c.kernel[i]),
                                            c.letters.substr(2 + i, 1))));
  return convResult(context, c, c.weightOut, extents);
}

} // namespace

Expected<TypeId> conv(InferContext &context) {
  ConvInputs c = BYCC_TRY(convInputs(context, 1));
  return convFrom(context, c);
}

Expected<TypeId> deformableConv(InferContext &context) {
  TypeTable &types = context.module().types;
  ConvInputs c = BYCC_TRY(convInputs(context, 2));
  if (c.data.isBlocked())
    return context.error() << "takes plain layouts only";
  TypeId result = BYCC_TRY(convFrom(context, c));
  TensorInput offset = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkRank(context, offset, 4, "offset"));
  BYCC_TRY(checkDType(context, offset.dtype, c.x.dtype, "offset"));
  int64_t groups = context.integer("deformable_groups");
  BYCC_TRY(checkPositive(context, Ints{groups}, "deformable_groups"));
  if (c.channels.isConst() && c.channels.value() % groups != 0)
    return context.error() << "deformable_groups " << groups << " does not divide "
                           << c.channels.value() << " channels";
  Dim wanted =
      BYCC_TRY(product(context, Shape{Dim(2), Dim(groups), Dim(c.kernel[0]), Dim(c.kernel[1])}));
  Dim actual = BYCC_TRY(logicalExtent(context, offset, c.data, 'C'));
  BYCC_TRY(unifyDim(context, actual, wanted, "the number of offsets"));
  TensorInput out{result, types.dtype(result), types.shape(result)};
  for (char letter : std::string_view("NHW")) {
    Dim a = BYCC_TRY(logicalExtent(context, offset, c.data, letter));
    Dim b = BYCC_TRY(logicalExtent(context, out, c.out, letter));
    BYCC_TRY(unifyDim(context, a, b, "an extent of offset"));
  }
  return result;
}

Expected<TypeId> convTranspose(InferContext &context) {
  TypeTable &types = context.module().types;
  ConvInputs c = BYCC_TRY(convInputs(context, 1));
  if (!unify(c.weightIn, c.channels))
    return context.error() << "weight has " << types.str(c.weightIn) << " input channels, data has "
                           << types.str(c.channels);
  Dim outChannels = BYCC_TRY(product(context, Shape{c.weightOut, Dim(c.groups)}));
  BYCC_TRY(checkChannels(context, outChannels));
  Ints extra = attrs::perAxis(context.integers("output_padding"), c.rank);
  BYCC_TRY(checkCount(context, extra, c.rank, "output_padding"));
  Shape extents;
  for (size_t i = 0; i < c.rank; ++i) {
    Window w = c.window.window(i, c.kernel[i]);
    constexpr int64_t big = int64_t{1} << 40;
    if (std::max({w.kernel, w.stride, w.dilation, w.padBefore, w.padAfter}) > big)
      return context.error(Status::Limit) << "a window parameter is too large";
    if (extra[i] < 0 || extra[i] >= std::max(w.stride, w.dilation))
      return context.error() << "output_padding is less than the stride or dilation, got "
                             << extra[i];
    Dim d = c.extents[i];
    __int128 fixed =
        static_cast<__int128>(w.kernel - 1) * w.dilation + 1 + extra[i] - w.padBefore - w.padAfter;
    if (!d.isConst()) {
      int64_t shift = static_cast<int64_t>(fixed) - w.stride;
      Dim scaled = types.mul(d, Dim(w.stride));
      extents.push_back(shift < 0 ? types.sub(scaled, Dim(-shift)) : types.add(scaled, Dim(shift)));
      continue;
    }
    __int128 extent = static_cast<__int128>(d.value() - 1) * w.stride + fixed;
    if (extent < 1)
      return context.error() << "the result is empty along " << c.letters[2 + i];
    if (extent > INT64_MAX)
      return context.error(Status::Limit) << "the result overflows along " << c.letters[2 + i];
    extents.push_back(Dim(static_cast<int64_t>(extent)));
  }
  return convResult(context, c, outChannels, extents);
}

// --- products

namespace {

Expected<> checkUnits(InferContext &context, Dim made) {
  if (context.isNone("units"))
    return {};
  int64_t units = context.integer("units");
  if (units < 1 || !unify(made, Dim(units)))
    return context.error() << "units is " << units << ", weight has "
                           << context.module().types.str(made);
  return {};
}

Expected<> checkInner(InferContext &context, Dim a, Dim b) {
  TypeTable &types = context.module().types;
  if (!unify(a, b))
    return context.error() << "weight has " << types.str(b) << " input features, data has "
                           << types.str(a);
  return {};
}

} // namespace

Expected<TypeId> dense(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput weight = BYCC_TRY(tensorInput(context, 1));
  if (x.rank() < 1)
    return context.error() << "data has rank 1 or more, got a scalar";
  BYCC_TRY(checkRank(context, weight, 2, "weight"));
  DType dtype = BYCC_TRY(productDType(context, x.dtype, weight.dtype));
  BYCC_TRY(checkInner(context, x.shape.back(), weight.shape[1]));
  BYCC_TRY(checkUnits(context, weight.shape[0]));
  Shape shape(x.shape.begin(), x.shape.end());
  shape.back() = weight.shape[0];
  return tensorType(context, dtype, shape);
}

Expected<TypeId> densePack(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput weight = BYCC_TRY(tensorInput(context, 1));
  Layout layout = BYCC_TRY(layoutAttr(context, "weight_layout", "NC"));
  BYCC_TRY(checkRank(context, x, 2, "data"));
  BYCC_TRY(checkRank(context, weight, layout.rank(), "weight"));
  DType dtype = BYCC_TRY(productDType(context, x.dtype, weight.dtype));
  Dim units = BYCC_TRY(logicalExtent(context, weight, layout, 'N'));
  Dim inner = BYCC_TRY(logicalExtent(context, weight, layout, 'C'));
  BYCC_TRY(checkInner(context, x.shape[1], inner));
  BYCC_TRY(checkUnits(context, units));
  return tensorType(context, dtype, Shape{x.shape[0], units});
}

Expected<TypeId> matmul(InferContext &context) {
  TensorInput a = BYCC_TRY(tensorInput(context, 0));
  TensorInput b = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkRank(context, b, 2, "the second input"));
  bool transposeA = context.boolean("transpose_a"), transposeB = context.boolean("transpose_b");
  if (a.rank() < 1 || (transposeA && a.rank() < 2))
    return context.error() << "the first input has rank 2, got "
                           << context.module().types.str(a.type);
  DType dtype = BYCC_TRY(productDType(context, a.dtype, b.dtype));
  Shape shape(a.shape.begin(), a.shape.end());
  if (transposeA)
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  BYCC_TRY(checkInner(context, shape.back(), b.shape[transposeB ? 1 : 0]));
  Dim units = b.shape[transposeB ? 0 : 1];
  BYCC_TRY(checkUnits(context, units));
  shape.back() = units;
  return tensorType(context, dtype, shape);
}

Expected<TypeId> batchMatmul(InferContext &context) {
  TypeTable &types = context.module().types;
  TensorInput a = BYCC_TRY(tensorInput(context, 0));
  TensorInput b = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkRank(context, a, 3, "the first input"));
  BYCC_TRY(checkRank(context, b, 3, "the second input"));
  DType dtype = BYCC_TRY(productDType(context, a.dtype, b.dtype));
  bool transposeA = context.boolean("transpose_a"), transposeB = context.boolean("transpose_b");
  Dim m = a.shape[transposeA ? 2 : 1], ka = a.shape[transposeA ? 1 : 2];
  Dim n = b.shape[transposeB ? 1 : 2], kb = b.shape[transposeB ? 2 : 1];
  if (!unify(ka, kb))
    return context.error() << "inner extents are " << types.str(ka) << " and " << types.str(kb);
  auto batch = broadcastDim(a.shape[0], b.shape[0]);
  if (!batch)
    return context.error() << "batches are " << types.str(a.shape[0]) << " and "
                           << types.str(b.shape[0]);
  return tensorType(context, dtype, Shape{*batch, m, n});
}

// --- normalisation and activations with parameters

namespace {

// A vector of one value per element of `axis` of x.
Expected<> checkVector(InferContext &context, const TensorInput &x, size_t axis, size_t index) {
  const std::string &what = opInfo(context.module().node(context.call()).op).inputs[index];
  TensorInput vector = BYCC_TRY(tensorInput(context, index));
  BYCC_TRY(checkDType(context, vector.dtype, x.dtype, what));
  BYCC_TRY(checkRank(context, vector, 1, what));
  TypeTable &types = context.module().types;
  if (!unify(vector.shape[0], x.shape[axis]))
    return context.error() << what << " has " << types.str(vector.shape[0]) << " elements, axis "
                           << axis << " of data has " << types.str(x.shape[axis]);
  return {};
}

Expected<> checkFloatInput(InferContext &context, const TensorInput &x) {
  if (!isFloat(x.dtype))
    return context.error() << "takes floats, got " << name(x.dtype);
  return {};
}

Expected<> checkEpsilon(InferContext &context, std::string_view key) {
  double value = context.number(key);
  if (!(value >= 0))
    return context.error() << key << " is not negative, got " << formatDouble(value);
  return {};
}

} // namespace

Expected<TypeId> channelBroadcast(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  if (x.dtype == DType::Bool)
    return context.error() << "takes numbers, got bool";
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  BYCC_TRY(checkVector(context, x, axis, 1));
  return x.type;
}

Expected<TypeId> batchNorm(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkFloatInput(context, x));
  BYCC_TRY(checkEpsilon(context, "epsilon"));
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  for (size_t i = 1; i < 5; ++i)
    BYCC_TRY(checkVector(context, x, axis, i));
  return context.module().types.tuple(
      std::vector<TypeId>{x.type, context.input(3), context.input(4)});
}

Expected<TypeId> axisNorm(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkFloatInput(context, x));
  BYCC_TRY(checkEpsilon(context, "epsilon"));
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  BYCC_TRY(checkVector(context, x, axis, 1));
  BYCC_TRY(checkVector(context, x, axis, 2));
  return x.type;
}

Expected<TypeId> groupNorm(InferContext &context) {
  TypeId type = BYCC_TRY(axisNorm(context));
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  int64_t groups = context.integer("num_groups");
  BYCC_TRY(checkPositive(context, Ints{groups}, "num_groups"));
  size_t axis = BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  if (x.shape[axis].isConst() && x.shape[axis].value() % groups != 0)
    return context.error() << "num_groups " << groups << " does not divide "
                           << x.shape[axis].value() << " channels";
  return type;
}

Expected<TypeId> softmax(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkFloatInput(context, x));
  BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  return x.type;
}

Expected<TypeId> l2Normalize(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkFloatInput(context, x));
  BYCC_TRY(checkEpsilon(context, "eps"));
  if (!context.isNone("axis"))
    BYCC_TRY(checkAxes(context, context.integers("axis"), x.rank()));
  return x.type;
}

Expected<TypeId> localNorm(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  BYCC_TRY(checkFloatInput(context, x));
  BYCC_TRY(checkAxis(context, context.integer("axis"), x.rank()));
  if (context.integer("size") < 1 || context.integer("size") % 2 == 0)
    return context.error() << "size is odd and at least 1, got " << context.integer("size");
  return x.type;
}

Expected<TypeId> dropout(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  double rate = context.number("rate");
  if (!(rate >= 0 && rate < 1))
    return context.error() << "rate is at least 0 and less than 1, got " << formatDouble(rate);
  return context.module().types.tuple(std::vector<TypeId>{x.type, x.type});
}

// --- pooling

namespace {

struct PoolInput {
  TensorInput x;
  size_t rank;
  std::string letters;
  Layout layout, out;
};

Expected<PoolInput> poolInput(InferContext &context) {
  size_t rank = spatialRank(context);
  std::string letters = layoutLetters("NC", rank);
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  Layout layout = BYCC_TRY(layoutAttr(context, "layout", letters));
  Layout out = BYCC_TRY(outLayout(context, layout, letters));
  BYCC_TRY(checkRank(context, x, layout.rank(), "data"));
  if (x.dtype == DType::Bool)
    return context.error() << "takes numbers, got bool";
  for (char letter : letters.substr(2))
    if (layout.blockOf(letter) != 1 || out.blockOf(letter) != 1)
      return context.error() << "a layout must not block the axis " << letter;
  return PoolInput{x, rank, letters, layout, out};
}

// `extent(i, d)` gives the result's extent along spatial axis i.
template <typename Fn>
Expected<TypeId> poolResult(InferContext &context, const PoolInput &p, Fn extent) {
  Shape logical;
  for (size_t i = 0; i < p.letters.size(); ++i) {
    Dim dim = BYCC_TRY(logicalExtent(context, p.x, p.layout, p.letters[i]));
    Expected<Dim> made = i < 2 ? Expected<Dim>(dim) : extent(i - 2, dim);
    logical.push_back(BYCC_TRY(std::move(made)));
  }
  Shape shape = BYCC_TRY(physicalShape(context, p.out, p.letters, logical));
  return tensorType(context, p.x.dtype, shape);
}

} // namespace

Expected<TypeId> pool(InferContext &context) {
  PoolInput p = BYCC_TRY(poolInput(context));
  Ints kernel = attrs::perAxis(context.integers("pool_size"), p.rank);
  BYCC_TRY(checkCount(context, kernel, p.rank, "pool_size"));
  BYCC_TRY(checkPositive(context, kernel, "pool_size"));
  WindowAttrs attrs = BYCC_TRY(WindowAttrs::read(context, p.rank));
  return poolResult(context, p, [&](size_t i, Dim dim) {
    Window window = attrs.window(i, kernel[i]);
    window.isCeil = context.boolean("ceil_mode");
    return windowExtent(context, dim, window, p.letters.substr(2 + i, 1));
  });
}

Expected<TypeId> globalPool(InferContext &context) {
  PoolInput p = BYCC_TRY(poolInput(context));
  return poolResult(context, p, [&](size_t, Dim dim) -> Expected<Dim> {
    if (dim == Dim(0))
      return context.error() << "an axis to pool over is empty";
    return Dim(1);
  });
}

Expected<TypeId> adaptivePool(InferContext &context) {
  PoolInput p = BYCC_TRY(poolInput(context));
  Ints size = context.integers("output_size");
  if (!size.empty()) {
    size = attrs::perAxis(size, p.rank);
    BYCC_TRY(checkCount(context, size, p.rank, "output_size"));
    BYCC_TRY(checkPositive(context, size, "output_size"));
  }
  return poolResult(context, p, [&](size_t i, Dim dim) -> Expected<Dim> {
    if (dim == Dim(0))
      return context.error() << "an axis to pool over is empty";
    return size.empty() ? dim : Dim(size[i]);
  });
}

// --- losses and the rest

Expected<TypeId> crossEntropy(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput y = BYCC_TRY(tensorInput(context, 1));
  BYCC_TRY(checkFloatInput(context, x));
  BYCC_TRY(checkDType(context, y.dtype, x.dtype, "targets"));
  BYCC_TRY(checkRank(context, x, 2, "predictions"));
  BYCC_TRY(checkRank(context, y, 2, "targets"));
  for (size_t i = 0; i < 2; ++i)
    BYCC_TRY(unifyDim(context, y.shape[i], x.shape[i], "an extent of targets"));
  return tensorType(context, x.dtype, Shape{});
}

Expected<TypeId> nllLoss(InferContext &context) {
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  TensorInput y = BYCC_TRY(tensorInput(context, 1));
  TensorInput w = BYCC_TRY(tensorInput(context, 2));
  BYCC_TRY(checkFloatInput(context, x));
  BYCC_TRY(checkInt(context, y.dtype, "targets"));
  BYCC_TRY(checkDType(context, w.dtype, x.dtype, "weights"));
  BYCC_TRY(checkOneOf(context, "reduction", {"mean", "sum", "none"}));
  BYCC_TRY(checkRank(context, w, 1, "weights"));
  if (x.rank() < 1 || y.rank() + 1 != x.rank())
    return context.error() << "predictions have one axis more than targets";
  size_t classAxis = x.rank() == 1 ? 0 : 1;
  BYCC_TRY(unifyDim(context, w.shape[0], x.shape[classAxis], "extent of weights"));
  for (size_t i = 0; i < y.rank(); ++i)
    BYCC_TRY(
        unifyDim(context, y.shape[i], x.shape[i < classAxis ? i : i + 1], "an extent of targets"));
  if (context.text("reduction") == "none")
    return tensorType(context, x.dtype, y.shape);
  return tensorType(context, x.dtype, Shape{});
}

Expected<TypeId> dilate(InferContext &context) {
  TypeTable &types = context.module().types;
  TensorInput x = BYCC_TRY(tensorInput(context, 0));
  Ints strides = context.integers("strides");
  BYCC_TRY(checkCount(context, strides, x.rank(), "strides"));
  BYCC_TRY(checkPositive(context, strides, "strides"));
  Shape shape;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (x.shape[i] == Dim(0)) {
      shape.push_back(Dim(0));
      continue;
    }
    Dim gaps = BYCC_TRY(product(context, Shape{types.sub(x.shape[i], Dim(1)), Dim(strides[i])}));
    shape.push_back(types.add(gaps, Dim(1)));
  }
  return tensorType(context, x.dtype, shape);
}

} // namespace bycc::shape
