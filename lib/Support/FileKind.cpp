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
