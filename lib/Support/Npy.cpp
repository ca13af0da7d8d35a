// .npy: six magic bytes, a version, the length of a header, the header (a Python
// dict literal of three members), the elements. Files are untrusted.
#include "bycc/Support/Npy.h"

#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <charconv>
#include <cstring>

namespace bycc {
namespace {

constexpr std::string_view npyMagic = "\x93NUMPY";
constexpr size_t maxArrayRank = 32;

struct Spelling {
  std::string_view text;
  DType dtype;
};
constexpr Spelling spellings[] = {
    {"|b1", DType::Bool},    {"|i1", DType::Int8},    {"<i2", DType::Int16},
    {"<i4", DType::Int32},   {"<i8", DType::Int64},   {"|u1", DType::UInt8},
    {"<u2", DType::UInt16},  {"<u4", DType::UInt32},  {"<u8", DType::UInt64},
    {"<f2", DType::Float16}, {"<f4", DType::Float32}, {"<f8", DType::Float64},
};

std::string_view spelling(DType dtype) {
  if (dtype == DType::BFloat16)
    return "<u2";
  for (const Spelling &entry : spellings)
    if (entry.dtype == dtype)
      return entry.text;
  return {};
}

struct Header {
  DType dtype = DType::Float32;
  bool isFortran = false;
  std::vector<int64_t> shape;
};

// Parser of the dict literal.
class HeaderParser {
public:
  HeaderParser(std::string_view text, const std::string &file) : text_(text), file_(file) {}

  Expected<Header> parse() {
    bool seen[3] = {};
    BYCC_TRY(expect('{'));
    while (!take('}')) {
      std::string_view key = BYCC_TRY(quoted());
      BYCC_TRY(expect(':'));
      int member = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : 3;
      if (member == 3 || std::exchange(seen[member], true))
        return bad();
      BYCC_TRY(member == 0 ? dtype() : member == 1 ? order() : shape());
      if (!take(',')) {
        BYCC_TRY(expect('}'));
        break;
      }
    }
    skipSpace();
    if (at_ != text_.size() || !seen[0] || !seen[1] || !seen[2])
      return bad();
    return std::move(header_);
  }

private:
  ErrorBuilder bad() {
    return error(Status::Input, {file_}).as(MessageId::BadNpy)
           << "malformed .npy header at byte " << at_ << " of it";
  }
  void skipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n'))
      ++at_;
  }
  bool take(char c) {
    skipSpace();
    if (at_ >= text_.size() || text_[at_] != c)
      return false;
    ++at_;
    return true;
  }
  Expected<> expect(char c) {
    if (!take(c))
      return bad();
    return {};
  }
  bool takeWord(std::string_view word) {
    skipSpace();
    if (!text_.substr(at_).starts_with(word))
      return false;
    at_ += word.size();
    return true;
  }
  Expected<std::string_view> quoted() {
    skipSpace();
    char quote = at_ < text_.size() ? text_[at_] : 0;
    if (quote != '\'' && quote != '"')
      return bad();
    size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos)
      return bad();
    std::string_view inner = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inner;
  }
  Expected<> dtype() {
    skipSpace();
    if (at_ < text_.size() && text_[at_] == '[')
      return error(Status::Input, {file_}) << "structured .npy arrays are not supported";
    std::string_view text = BYCC_TRY(quoted());
    // The byte order matters for elements of more than one byte only.
    bool isLittle = !text.empty() && (text[0] == '<' || text[0] == '=' || text[0] == '|' ||
                                      text.substr(1) == "i1" || text.substr(1) == "u1");
    for (const Spelling &entry : spellings)
      if (isLittle && text.substr(1) == entry.text.substr(1)) {
        header_.dtype = entry.dtype;
        return {};
      }
    return error(Status::Input, {file_}).as(MessageId::BadNpy)
           << "element type '" << escaped(text, 40) << "' of the .npy file is not supported";
  }
  Expected<> order() {
    header_.isFortran = takeWord("True");
    if (!header_.isFortran && !takeWord("False"))
      return bad();
    return {};
  }
  Expected<> shape() {
    BYCC_TRY(expect('('));
    while (!take(')')) {
      skipSpace();
      int64_t dim = 0;
      auto [end, status] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), dim);
      if (status != std::errc() || dim < 0)
        return bad();
      at_ = end - text_.data();
      takeWord("L"); // written by Python 2
      header_.shape.push_back(dim);
      if (header_.shape.size() > maxArrayRank)
        return error(Status::Limit, {file_}) << "rank above " << maxArrayRank;
      if (!take(',')) {
        BYCC_TRY(expect(')'));
        break;
      }
    }
    return {};
  }

  std::string_view text_;
  const std::string &file_;
  size_t at_ = 0;
  Header header_;
};

// The elements of a Fortran-order array in C order.
std::vector<uint8_t> toRowMajor(const uint8_t *data, const std::vector<int64_t> &shape,
                                uint64_t bytes, size_t size) {
  std::vector<uint8_t> out(bytes);
  std::vector<uint64_t> stride(shape.size()); // in the file, in bytes
  uint64_t step = size;
  for (size_t d = 0; d < shape.size(); ++d) {
    stride[d] = step;
    step *= shape[d];
  }
  std::vector<int64_t> index(shape.size());
  uint64_t from = 0;
  for (uint64_t to = 0; to < bytes; to += size) {
    std::memcpy(out.data() + to, data + from, size);
    for (size_t d = shape.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d])
        break;
      from -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
  return out;
}

} // namespace

Expected<NpyArray> parseNpy(std::shared_ptr<const Storage> storage, const std::string &file) {
  std::string_view text(reinterpret_cast<const char *>(storage->data()), storage->size());
  if (!text.starts_with(npyMagic) || text.size() < 10)
    return error(Status::Input, {file}).as(MessageId::BadNpy) << "not a .npy file";
  uint8_t major = text[6], minor = text[7];
  if (major < 1 || major > 3 || minor != 0)
    return error(Status::Input, {file}).as(MessageId::BadNpy)
           << ".npy version " << int{major} << "." << int{minor} << " is not known";
  size_t lengthBytes = major == 1 ? 2 : 4, begin = 8 + lengthBytes;
  uint32_t length = 0;
  if (text.size() >= begin)
    std::memcpy(&length, text.data() + 8, lengthBytes);
  if (text.size() < begin || length > text.size() - begin)
    return error(Status::Input, {file}).as(MessageId::BadNpy) << ".npy header is cut";
  Header header = BYCC_TRY(HeaderParser(text.substr(begin, length), file).parse());

  uint64_t bytes = sizeInBytes(header.dtype), left = text.size() - begin - length;
  bool isEmpty = false, overflows = false;
  for (int64_t dim : header.shape) {
    isEmpty |= dim == 0;
    overflows |= __builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes);
  }
  if (isEmpty)
    bytes = 0;
  else if (overflows)
    return error(Status::Limit, {file}) << "shape of the .npy file overflows";
  if (bytes != left)
    return error(Status::Input, {file}).as(MessageId::BadNpy)
           << "shape and dtype of the .npy file need " << bytes << " bytes, it has " << left;
  const uint8_t *elements = storage->data() + begin + length;
  if (header.dtype == DType::Bool)
    for (uint64_t i = 0; i < bytes; ++i)
      if (elements[i] > 1)
        return error(Status::Input, {file}) << "bool element " << i << " is neither 0 nor 1";
  if (header.isFortran && header.shape.size() > 1) {
    auto ordered =
        Storage::own(toRowMajor(elements, header.shape, bytes, sizeInBytes(header.dtype)));
    return NpyArray{header.dtype, std::move(header.shape), std::move(ordered), 0, bytes};
  }
  return NpyArray{header.dtype, std::move(header.shape), std::move(storage), begin + length, bytes};
}

Expected<NpyArray> readNpy(const std::string &path) {
  std::string text = BYCC_TRY(readFile(path, uint64_t{17} << 30));
  return parseNpy(Storage::own(std::move(text)), path);
}

std::string npyHeader(DType dtype, std::span<const int64_t> shape) {
  std::string dict =
      "{'descr': '" + std::string(spelling(dtype)) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i)
    dict += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  dict += shape.size() == 1 ? ",), }" : "), }";
  size_t before = npyMagic.size() + 4;
  size_t total = (before + dict.size() + 1 + 63) / 64 * 64;
  dict.append(total - before - dict.size() - 1, ' ');
  dict += '\n';
  std::string out(npyMagic);
  out += {1, 0, static_cast<char>(dict.size() & 255), static_cast<char>(dict.size() >> 8)};
  return out + dict;
}

} // namespace bycc
