// ONNX -> IR. The table says which operators are read and who converts them; a
// new one is a row here and, unless it is a plain rename, a converter in the file
// of its family. Import is: look at the bytes, decode (OnnxModel), walk the graph
// (OnnxImporter) with constants of shapes folded on the way (OnnxFold).
#include "bycc/Frontend/Onnx.h"

#include "OnnxConverters.h"

#include <algorithm>
#include <cstring>

namespace bycc::onnx {
namespace {

// name, first opset, inputs at least / at most (-1: any), converter, Relay name.
// Sorted by name; domain ai.onnx, opsets 7 to 22. Where the meaning of an operator
// changed with the opset (Softmax 13, Clip 11, axes as input 13 and 18, ...) its
// converter asks for the opset.
constexpr OpRow rows[] = {
    {"Abs", 1, 1, 1, convertUnary, "abs"},
    {"Acos", 7, 1, 1, convertUnary, "acos"},
    {"Acosh", 9, 1, 1, convertUnary, "acosh"},
    {"Add", 1, 2, 2, convertAdd, "add"},
    {"And", 1, 2, 2, convertBinary, "logical_and"},
    {"ArgMax", 1, 1, 1, convertArgReduce, "argmax"},
    {"ArgMin", 1, 1, 1, convertArgReduce, "argmin"},
    {"Asin", 7, 1, 1, convertUnary, "asin"},
    {"Asinh", 9, 1, 1, convertUnary, "asinh"},
    {"Atan", 7, 1, 1, convertUnary, "atan"},
    {"Atanh", 9, 1, 1, convertUnary, "atanh"},
    {"AveragePool", 1, 1, 1, convertPool, "nn.avg_pool"},
    {"BatchNormalization", 1, 5, 5, convertBatchNorm, ""},
    {"BitShift", 11, 2, 2, convertBitShift, ""},
    {"BitwiseAnd", 18, 2, 2, convertBinary, "bitwise_and"},
    {"BitwiseNot", 18, 1, 1, convertUnary, "bitwise_not"},
    {"BitwiseOr", 18, 2, 2, convertBinary, "bitwise_or"},
    {"BitwiseXor", 18, 2, 2, convertBinary, "bitwise_xor"},
    {"Cast", 1, 1, 1, convertCast, ""},
    {"CastLike", 15, 2, 2, convertCastLike, ""},
    {"Ceil", 1, 1, 1, convertUnary, "ceil"},
    {"Celu", 12, 1, 1, convertCelu, ""},
    {"Clip", 1, 1, 3, convertClip, ""},
    {"Concat", 1, 1, -1, convertConcat, ""},
    {"Constant", 1, 0, 0, convertConstant, ""},
    {"ConstantOfShape", 9, 1, 1, convertConstantOfShape, ""},
    {"Conv", 1, 2, 3, convertConv, ""},
    {"ConvInteger", 10, 2, 4, convertConvInteger, ""},
    {"ConvTranspose", 1, 2, 3, convertConvTranspose, ""},
    {"Cos", 7, 1, 1, convertUnary, "cos"},
    {"Cosh", 9, 1, 1, convertUnary, "cosh"},
    {"CumSum", 11, 2, 2, convertCumSum, ""},
    {"DepthToSpace", 1, 1, 1, convertDepthToSpace, ""},
    {"DequantizeLinear", 10, 2, 3, convertDequantize, ""},
    {"Div", 1, 2, 2, convertBinary, "divide"},
    {"Dropout", 1, 1, 3, convertDropout, ""},
    {"Einsum", 12, 1, -1, convertEinsum, ""},
    {"Elu", 1, 1, 1, convertElu, ""},
    {"Equal", 1, 2, 2, convertBinary, "equal"},
    {"Erf", 9, 1, 1, convertUnary, "erf"},
    {"Exp", 1, 1, 1, convertUnary, "exp"},
    {"Expand", 8, 2, 2, convertExpand, ""},
    {"EyeLike", 9, 1, 1, convertEyeLike, ""},
    {"Flatten", 1, 1, 1, convertFlatten, ""},
    {"Floor", 1, 1, 1, convertUnary, "floor"},
    {"Gather", 1, 2, 2, convertGather, ""},
    {"GatherElements", 11, 2, 2, convertGatherElements, ""},
    {"GatherND", 11, 2, 2, convertGatherND, ""},
    {"Gelu", 20, 1, 1, convertGelu, ""},
    {"Gemm", 1, 2, 3, convertGemm, ""},
    {"GlobalAveragePool", 1, 1, 1, convertGlobalPool, ""},
    {"GlobalMaxPool", 1, 1, 1, convertGlobalPool, ""},
    {"Greater", 1, 2, 2, convertBinary, "greater"},
    {"GreaterOrEqual", 12, 2, 2, convertBinary, "greater_equal"},
    {"GridSample", 16, 2, 2, convertGridSample, ""},
    {"GroupNormalization", 18, 3, 3, convertGroupNorm, ""},
    {"HardSigmoid", 1, 1, 1, convertHardSigmoid, ""},
    {"HardSwish", 14, 1, 1, convertHardSwish, ""},
    {"Identity", 1, 1, 1, convertIdentity, ""},
    {"If", 1, 1, 1, convertIf, ""},
    {"InstanceNormalization", 1, 3, 3, convertInstanceNorm, ""},
    {"IsInf", 10, 1, 1, convertIsInf, ""},
    {"IsNaN", 9, 1, 1, convertUnary, "isnan"},
    {"LRN", 1, 1, 1, convertLrn, ""},
    {"LayerNormalization", 17, 2, 3, convertLayerNorm, ""},
    {"LeakyRelu", 1, 1, 1, convertLeakyRelu, ""},
    {"Less", 1, 2, 2, convertBinary, "less"},
    {"LessOrEqual", 12, 2, 2, convertBinary, "less_equal"},
    {"Log", 1, 1, 1, convertUnary, "log"},
    {"LogSoftmax", 1, 1, 1, convertSoftmax, "nn.log_softmax"},
    {"LpNormalization", 1, 1, 1, convertLpNorm, ""},
    {"MatMul", 1, 2, 2, convertMatMul, ""},
    {"MatMulInteger", 10, 2, 4, convertMatMulInteger, ""},
    {"Max", 1, 1, -1, convertVariadic, "maximum"},
    {"MaxPool", 1, 1, 1, convertPool, "nn.max_pool"},
    {"Mean", 1, 1, -1, convertMean, "add"},
    {"Min", 1, 1, -1, convertVariadic, "minimum"},
    {"Mish", 18, 1, 1, convertMish, ""},
    {"Mod", 10, 2, 2, convertMod, ""},
    {"Mul", 1, 2, 2, convertBinary, "multiply"},
    {"Neg", 1, 1, 1, convertUnary, "negative"},
    {"NonZero", 9, 1, 1, convertNonZero, ""},
    {"Not", 1, 1, 1, convertUnary, "logical_not"},
    {"OneHot", 9, 3, 3, convertOneHot, ""},
    {"Or", 1, 2, 2, convertBinary, "logical_or"},
    {"PRelu", 1, 2, 2, convertPRelu, ""},
    {"Pad", 1, 1, 4, convertPad, ""},
    {"Pow", 1, 2, 2, convertPow, ""},
    {"QLinearConv", 10, 8, 9, convertQLinearConv, ""},
    {"QLinearMatMul", 10, 8, 8, convertQLinearMatMul, ""},
    {"QuantizeLinear", 10, 2, 3, convertQuantize, ""},
    {"Range", 11, 3, 3, convertRange, ""},
    {"Reciprocal", 1, 1, 1, convertReciprocal, ""},
    {"ReduceL1", 1, 1, 2, convertReduceComposed, ""},
    {"ReduceL2", 1, 1, 2, convertReduceComposed, ""},
    {"ReduceLogSum", 1, 1, 2, convertReduceComposed, ""},
    {"ReduceLogSumExp", 1, 1, 2, convertReduceComposed, ""},
    {"ReduceMax", 1, 1, 2, convertReduce, "max"},
    {"ReduceMean", 1, 1, 2, convertReduce, "mean"},
    {"ReduceMin", 1, 1, 2, convertReduce, "min"},
    {"ReduceProd", 1, 1, 2, convertReduce, "prod"},
    {"ReduceSum", 1, 1, 2, convertReduce, "sum"},
    {"ReduceSumSquare", 1, 1, 2, convertReduceComposed, ""},
    {"Relu", 1, 1, 1, convertUnary, "nn.relu"},
    {"Reshape", 5, 2, 2, convertReshape, ""},
    {"Resize", 10, 1, 4, convertResize, ""},
    {"ReverseSequence", 10, 2, 2, convertReverseSequence, ""},
    {"Round", 11, 1, 1, convertRound, ""},
    {"ScatterElements", 11, 3, 3, convertScatterElements, ""},
    {"ScatterND", 11, 3, 3, convertScatterND, ""},
    {"Selu", 1, 1, 1, convertSelu, ""},
    {"Shape", 1, 1, 1, convertShape, ""},
    {"Shrink", 9, 1, 1, convertShrink, ""},
    {"Sigmoid", 1, 1, 1, convertUnary, "sigmoid"},
    {"Sign", 9, 1, 1, convertUnary, "sign"},
    {"Sin", 7, 1, 1, convertUnary, "sin"},
    {"Sinh", 9, 1, 1, convertUnary, "sinh"},
    {"Size", 1, 1, 1, convertSize, ""},
    {"Slice", 1, 1, 5, convertSlice, ""},
    {"Softmax", 1, 1, 1, convertSoftmax, "nn.softmax"},
    {"Softplus", 1, 1, 1, convertSoftplus, ""},
    {"Softsign", 1, 1, 1, convertSoftsign, ""},
    {"SpaceToDepth", 1, 1, 1, convertSpaceToDepth, ""},
    {"Split", 2, 1, 2, convertSplit, ""},
    {"Sqrt", 1, 1, 1, convertUnary, "sqrt"},
    {"Squeeze", 1, 1, 2, convertSqueeze, ""},
    {"Sub", 1, 2, 2, convertBinary, "subtract"},
    {"Sum", 1, 1, -1, convertVariadic, "add"},
    {"Tan", 7, 1, 1, convertUnary, "tan"},
    {"Tanh", 1, 1, 1, convertUnary, "tanh"},
    {"ThresholdedRelu", 10, 1, 1, convertThresholdedRelu, ""},
    {"Tile", 6, 2, 2, convertTile, ""},
    {"TopK", 1, 1, 2, convertTopK, ""},
    {"Transpose", 1, 1, 1, convertTranspose, ""},
    {"Trilu", 14, 1, 2, convertTrilu, ""},
    {"Unsqueeze", 1, 1, 2, convertUnsqueeze, ""},
    {"Upsample", 7, 1, 2, convertUpsample, ""},
    {"Where", 9, 3, 3, convertWhere, ""},
    {"Xor", 1, 2, 2, convertBinary, "logical_xor"},
};
static_assert(std::is_sorted(std::begin(rows), std::end(rows),
                             [](const OpRow &a, const OpRow &b) { return a.name < b.name; }));

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

Expected<Module> importBytes(std::shared_ptr<const Storage> storage, bool isMapped,
                             const std::string &name, const std::string &folder,
                             const OnnxImportOptions &options) {
  std::string_view bytes(reinterpret_cast<const char *>(storage->data()), storage->size());
  if (bytes.size() > options.maxFileBytes)
    return error(Status::Limit, {name})
           << "the file has " << bytes.size() << " bytes, the limit is " << options.maxFileBytes;
  if (bytes.empty())
    return error(Status::Input, {name}) << "the file is empty";
  if (std::string look = lookOfForeignBytes(bytes); !look.empty())
    return error(Status::Input, {name}) << "is no ONNX model, it looks like " << look;
  Model model = BYCC_TRY(decodeModel(bytes, name));
  TensorReader tensors(storage, isMapped, folder);
  return Importer(model, name, tensors, options).run();
}

} // namespace

const OpRow *findOpRow(std::string_view name) {
  auto row = std::lower_bound(std::begin(rows), std::end(rows), name,
                              [](const OpRow &a, std::string_view b) { return a.name < b; });
  return row != std::end(rows) && row->name == name ? row : nullptr;
}

} // namespace bycc::onnx

namespace bycc {

std::string lookOfForeignBytes(std::string_view bytes) {
  struct Look {
    size_t offset;
    std::string_view magic;
    const char *what;
  };
  using namespace std::string_view_literals;
  static constexpr Look looks[] = {
      {0, "\x1f\x8b"sv, "a gzip file"},      {0, "\x7f" "ELF"sv, "an ELF file"},
      {0, "PK\x03\x04"sv, "a zip file"},     {4, "TFL3"sv, "a TFLite model"},
      {0, "\xff\xfe"sv, "UTF-16 text"},      {0, "\xfe\xff"sv, "UTF-16 text"},
      {0, "\xef\xbb\xbf"sv, "text"},         {0, "\x89HDF"sv, "an HDF5 file"},
      {0, "\x93NUMPY"sv, "a .npy file"},     {0, "%PDF"sv, "a PDF file"},
      {0, "{"sv, "JSON text"},               {0, "#[version"sv, "Relay text"},
      {0, "def @"sv, "Relay text"},          {0, "ORTM"sv, "an ORT model"},
      {4, "ORTM"sv, "an ORT model"},         {0, "BZh"sv, "a bzip2 file"},
      {0, "\xfd" "7zXZ"sv, "an xz file"},    {0, "\x28\xb5\x2f\xfd"sv, "a zstd file"},
  };
  for (const Look &look : looks)
    if (bytes.size() >= look.offset + look.magic.size() &&
        bytes.substr(look.offset, look.magic.size()) == look.magic)
      return look.what;
  return "";
}

Expected<Module> importOnnx(std::shared_ptr<const Storage> bytes, const std::string &name,
                            const std::string &folder, const OnnxImportOptions &options) {
  return onnx::importBytes(std::move(bytes), false, name, folder, options);
}

Expected<Module> importOnnx(const std::string &path, const OnnxImportOptions &options) {
  std::shared_ptr<const Storage> file = BYCC_TRY(mapFile(path));
  return onnx::importBytes(std::move(file), true, path, onnx::folderOf(path), options);
}

} // namespace bycc
