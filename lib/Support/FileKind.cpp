// Kinds of files by their first bytes. Most have a mark; three are told by what their
// first numbers must be.
#include "bycc/Support/FileKind.h"

#include <cstddef>

namespace bycc {
namespace {

using namespace std::string_view_literals;

struct Mark {
  size_t offset;
  std::string_view bytes;
  std::string_view kind;
};

constexpr std::string_view pickle = "a Python pickle, as .pkl and old .pt files are";

constexpr Mark marks[] = {
    {0, "\x1f\x8b"sv, "a gzip file"},
    {0,
     "\x7f"
     "ELF"sv,
     "an ELF file"},
    {0, "PK\x03\x04"sv, "a zip file, as .pt, .pth, .npz and .keras files are"},
    {4, "TFL3"sv, "a TFLite model"},
    {0, "\xff\xfe"sv, "UTF-16 text"},
    {0, "\xfe\xff"sv, "UTF-16 text"},
    {0, "\xef\xbb\xbf"sv, "text with a byte order mark at offset 0"},
    {0, "\x89HDF"sv, "an HDF5 file"},
    {0, "\x93NUMPY"sv, "a .npy file"},
    {0, "\x89PNG"sv, "a PNG image"},
    {0, "%PDF"sv, "a PDF file"},
    {0, "GGUF"sv, "a GGUF model"},
    {0, "ORTM"sv, "an ORT model"},
    {4, "ORTM"sv, "an ORT model"},
    {0, "BZh"sv, "a bzip2 file"},
    {0,
     "\xfd"
     "7zXZ"sv,
     "an xz file"},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd file"},
    {257, "ustar"sv, "a tar archive"},
    {0, "\x80\x02"sv, pickle},
    {0, "\x80\x03"sv, pickle},
    {0, "\x80\x04"sv, pickle},
    {0, "\x80\x05"sv, pickle},
    {0, "BYCCPRM1"sv, "a params file of bycc, not a model"},
    {0, "version https://git-lfs"sv, "a Git LFS pointer, not the file that it stands for"},
    {0, "<!DOCTYPE html"sv, "an HTML page"},
    {0, "{"sv, "JSON text"},
    {0, "#[version"sv, "Relay text"},
    {0, "def @"sv, "Relay text"},
};

bool isPrintable(char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t' || c == '\r'; }

// Two plain characters, of which every other byte is zero.
bool looksLikeUtf16(std::string_view b) {
  if (b.size() < 4)
    return false;
  return (isPrintable(b[0]) && isPrintable(b[2]) && b[1] == 0 && b[3] == 0) ||
         (isPrintable(b[1]) && isPrintable(b[3]) && b[0] == 0 && b[2] == 0);
}

// The length of a header as 64-bit number, then the header, which is JSON.
bool looksLikeSafetensors(std::string_view b) {
  return b.size() > 9 && b[8] == '{' && b.substr(4, 4) == "\0\0\0\0"sv;
}

// ir_version, a small number, then a field of a few that have a length.
bool looksLikeOnnx(std::string_view b) {
  return b.size() > 3 && b[0] == 8 && b[1] > 0 && b[1] < 32 && (b[2] & 7) == 2 && b[2] > 0;
}

} // namespace

namespace {

constexpr std::string_view torchAdvice =
    "weights or a model of PyTorch: export it, torch.onnx.export(model, inputs, 'net.onnx', "
    "dynamo=True)";
constexpr std::string_view kerasAdvice =
    "a Keras model: python -m tf2onnx.convert --keras net.keras --output net.onnx";
constexpr std::string_view tensorflowAdvice =
    "a TensorFlow model: python -m tf2onnx.convert --saved-model FOLDER --output net.onnx";
constexpr std::string_view tfliteAdvice =
    "a TFLite model: python -m tf2onnx.convert --tflite net.tflite --output net.onnx";

struct Advice {
  std::string_view mark, text; // beginning of a kind, or a suffix
};

constexpr Advice byKind[] = {
    {"a zip file", torchAdvice},
    {"a Python pickle", torchAdvice},
    {"a TFLite model", tfliteAdvice},
    {"an HDF5 file", kerasAdvice},
    {"a safetensors file",
     "these are weights alone: --params=FILE binds them to parameters of a program"},
    {"a GGUF model",
     "these are weights of a language model: export the model that they belong to as ONNX"},
    {"an ORT model", "an optimised ONNX model: compile the .onnx that it was made of"},
    {"a gzip file", "gunzip it first"},
    {"a params file", "--params=FILE binds it to parameters of a program"},
    {"a .npy file", "this is one tensor: bycc-run takes it as --input NAME=FILE"},
    {"an ONNX model", "-x onnx reads it as that"},
    {"JSON text", "-x json reads it as a program in JSON"},
    {"a Git LFS pointer", "git lfs pull gets the file"},
};

constexpr Advice bySuffix[] = {
    {".pt", torchAdvice},
    {".pth", torchAdvice},
    {".pt2", torchAdvice},
    {".h5", kerasAdvice},
    {".keras", kerasAdvice},
    {".pb", tensorflowAdvice},
    {".tflite", tfliteAdvice},
    {".mlir", "MLIR is not read; ONNX and Relay text are"},
    {".py", "a Python program is not read: have it write ONNX, torch.onnx.export(...), or Relay "
            "text, mod.astext()"},
    {".caffemodel", "a Caffe model: convert it to ONNX first"},
};

} // namespace

std::string_view adviceFor(std::string_view bytes, std::string_view file) {
  std::string_view kind = kindOfBytes(bytes);
  for (const Advice &advice : bySuffix)
    if (file.ends_with(advice.mark) && kind != "an ONNX model")
      return advice.text;
  for (const Advice &advice : byKind)
    if (!kind.empty() && kind.starts_with(advice.mark))
      return advice.text;
  return "";
}

Error withAdvice(Error error, std::string_view bytes, std::string_view file) {
  if (std::string_view advice = adviceFor(bytes, file); !advice.empty())
    error.diagnostics().front().notes.push_back({{}, std::string(advice)});
  return error;
}

std::string_view kindOfBytes(std::string_view bytes) {
  for (const Mark &mark : marks)
    if (bytes.size() > mark.offset && bytes.substr(mark.offset).starts_with(mark.bytes))
      return mark.kind;
  if (looksLikeUtf16(bytes))
    return "UTF-16 text";
  if (looksLikeSafetensors(bytes))
    return "a safetensors file";
  return looksLikeOnnx(bytes) ? "an ONNX model"sv : ""sv;
}

} // namespace bycc
