// The scanner of Relay text. Every branch consumes at least one byte or ends.
#include "bycc/Parser/Lexer.h"

#include "bycc/Support/Text.h"

#include <charconv>
#include <utility>

namespace bycc {

static const std::string nameLimit = std::to_string(maxNameBytes) + " bytes";
static const std::string tooLongName = "a name is longer than " + nameLimit;
static const std::string badNameLength = "a name has 1 to " + nameLimit;

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isHex(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// End of the name that starts at `i`. A '/' belongs to it when a letter or digit
// follows, so that `%a/%b` divides and `%a//x` has a comment.
size_t nameEnd(std::string_view text, size_t i) {
  while (i < text.size()) {
    char c = text[i];
    bool slash = c == '/' && i + 1 < text.size() && (isLetter(text[i + 1]) || isDigit(text[i + 1]));
    if (!isLetter(c) && !isDigit(c) && !slash)
      break;
    ++i;
  }
  return i;
}

struct SuffixName {
  std::string_view text;
  DType dtype;
};
constexpr SuffixName suffixes[] = {
    {"f", DType::Float32},   {"f16", DType::Float16},   {"f32", DType::Float32},
    {"f64", DType::Float64}, {"bf16", DType::BFloat16}, {"i8", DType::Int8},
    {"i16", DType::Int16},   {"i32", DType::Int32},     {"i64", DType::Int64},
    {"u8", DType::UInt8},    {"u16", DType::UInt16},    {"u32", DType::UInt32},
    {"u64", DType::UInt64},
};

} // namespace

std::string_view spelling(TokenKind kind) {
  switch (kind) {
  case TokenKind::End:
    return "end of file";
  case TokenKind::Identifier:
    return "a name";
  case TokenKind::Local:
    return "a variable";
  case TokenKind::Global:
    return "a global name";
  case TokenKind::Graph:
    return "a graph reference";
  case TokenKind::Integer:
    return "an integer";
  case TokenKind::Float:
    return "a number";
  case TokenKind::String:
    return "a string";
  case TokenKind::Arrow:
    return "'->'";
  case TokenKind::FatArrow:
    return "'=>'";
  case TokenKind::Equal:
    return "'='";
  case TokenKind::EqualEqual:
    return "'=='";
  case TokenKind::NotEqual:
    return "'!='";
  case TokenKind::Less:
    return "'<'";
  case TokenKind::LessEqual:
    return "'<='";
  case TokenKind::Greater:
    return "'>'";
  case TokenKind::GreaterEqual:
    return "'>='";
  case TokenKind::Plus:
    return "'+'";
  case TokenKind::Minus:
    return "'-'";
  case TokenKind::Star:
    return "'*'";
  case TokenKind::Slash:
    return "'/'";
  case TokenKind::Percent:
    return "'%'";
  case TokenKind::LeftParen:
    return "'('";
  case TokenKind::RightParen:
    return "')'";
  case TokenKind::LeftBracket:
    return "'['";
  case TokenKind::RightBracket:
    return "']'";
  case TokenKind::LeftBrace:
    return "'{'";
  case TokenKind::RightBrace:
    return "'}'";
  case TokenKind::Comma:
    return "','";
  case TokenKind::Colon:
    return "':'";
  case TokenKind::Semicolon:
    return "';'";
  case TokenKind::Dot:
    return "'.'";
  case TokenKind::Question:
    return "'?'";
  case TokenKind::Version:
    return "the version line";
  case TokenKind::Metadata:
    return "'#[metadata]'";
  case TokenKind::Bad:
    return "bad text";
  }
  return "?";
}

std::string describe(const Token &token) {
  std::string text(token.text.substr(0, 64));
  switch (token.kind) {
  case TokenKind::Identifier:
    return "'" + text + "'";
  case TokenKind::Local:
    return "'%" + text + "'";
  case TokenKind::Global:
    return "'@" + text + "'";
  case TokenKind::Graph:
    return "'%" + std::to_string(token.number) + "'";
  case TokenKind::Integer:
    return "'" + std::to_string(token.number) + "'";
  case TokenKind::Float:
    return "'" + text + "'";
  case TokenKind::String:
    return "\"" + text + "\"";
  default:
    return std::string(spelling(token.kind));
  }
}

Token Lexer::make(TokenKind kind, size_t begin) {
  Token token;
  token.kind = kind;
  token.text = text_.substr(begin, position_ - begin);
  token.offset = static_cast<uint32_t>(begin);
  token.line = line_;
  token.column = static_cast<uint32_t>(begin - lineBegin_ + 1);
  return token;
}

Token Lexer::bad(size_t begin, std::string_view message) {
  Token token = make(TokenKind::Bad, begin);
  token.text = message;
  return token;
}

void Lexer::skipSpace() {
  while (position_ < text_.size()) {
    char c = text_[position_];
    char after = position_ + 1 < text_.size() ? text_[position_ + 1] : '\0';
    if (c == '\n') {
      lineBegin_ = ++position_;
      ++line_;
    } else if (c == ' ' || c == '\t' || (c == '\r' && after == '\n')) {
      ++position_;
    } else if (c == '/' && after == '/') {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (c == '/' && after == '*') {
      int depth = 0; // comments nest, counted and not recursed into
      do {
        if (text_.compare(position_, 2, "/*") == 0) {
          ++depth;
          position_ += 2;
        } else if (text_.compare(position_, 2, "*/") == 0) {
          --depth;
          position_ += 2;
        } else if (text_[position_++] == '\n') {
          lineBegin_ = position_;
          ++line_;
        }
      } while (depth > 0 && position_ < text_.size());
      if (depth > 0)
        trouble_ = "a comment is not closed";
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  skipSpace();
  size_t begin = position_;
  if (!trouble_.empty())
    return bad(begin, std::exchange(trouble_, {}));
  if (begin >= text_.size())
    return make(TokenKind::End, begin);
  char c = text_[begin];
  if (isLetter(c)) {
    position_ = nameEnd(text_, begin);
    if (text_.substr(begin, position_ - begin) == "match" && position_ < text_.size() &&
        text_[position_] == '?')
      ++position_;
    return make(TokenKind::Identifier, begin);
  }
  if (isDigit(c))
    return number(begin);
  if (c == '%' || c == '@')
    return sigil(begin, c == '%' ? TokenKind::Local : TokenKind::Global);
  if (c == '"')
    return quoted(begin, TokenKind::String);
  if (c == '#')
    return pragma(begin);
  return punctuation(begin);
}

Token Lexer::nextIndex() {
  skipSpace();
  size_t begin = position_;
  while (position_ < text_.size() && isDigit(text_[position_]))
    ++position_;
  Token token = make(TokenKind::Integer, begin);
  auto [end, status] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), token.number);
  if (status != std::errc())
    return bad(begin, "an index after '.' is needed");
  return token;
}

Token Lexer::punctuation(size_t begin) {
  struct Row {
    std::string_view text;
    TokenKind kind;
  };
  static constexpr Row rows[] = {
      {"->", TokenKind::Arrow},       {"=>", TokenKind::FatArrow},
      {"==", TokenKind::EqualEqual},  {"!=", TokenKind::NotEqual},
      {"<=", TokenKind::LessEqual},   {">=", TokenKind::GreaterEqual},
      {"=", TokenKind::Equal},        {"<", TokenKind::Less},
      {">", TokenKind::Greater},      {"+", TokenKind::Plus},
      {"-", TokenKind::Minus},        {"*", TokenKind::Star},
      {"/", TokenKind::Slash},        {"(", TokenKind::LeftParen},
      {")", TokenKind::RightParen},   {"[", TokenKind::LeftBracket},
      {"]", TokenKind::RightBracket}, {"{", TokenKind::LeftBrace},
      {"}", TokenKind::RightBrace},   {",", TokenKind::Comma},
      {":", TokenKind::Colon},        {";", TokenKind::Semicolon},
      {".", TokenKind::Dot},          {"?", TokenKind::Question},
  };
  for (const Row &row : rows)
    if (text_.substr(begin, row.text.size()) == row.text) {
      position_ = begin + row.text.size();
      return make(row.kind, begin);
    }
  position_ = begin + 1;
  while (position_ < text_.size() && (text_[position_] & 0xc0) == 0x80)
    ++position_;
  return bad(begin, "an unexpected character");
}

bool Lexer::scanSuffix(Token &token) {
  size_t begin = position_;
  while (position_ < text_.size() && (isLetter(text_[position_]) || isDigit(text_[position_])))
    ++position_;
  std::string_view suffix = text_.substr(begin, position_ - begin);
  if (suffix.empty())
    return true;
  for (const SuffixName &row : suffixes)
    if (row.text == suffix) {
      token.hasSuffix = true;
      token.suffix = row.dtype;
      return true;
    }
  return false;
}

// digits [. digits] [e [+-] digits] [suffix]
Token Lexer::number(size_t begin) {
  auto skipDigits = [&] {
    while (position_ < text_.size() && isDigit(text_[position_]))
      ++position_;
  };
  bool isFraction = false;
  skipDigits();
  if (position_ < text_.size() && text_[position_] == '.') {
    isFraction = true;
    ++position_;
    skipDigits();
  }
  if (position_ < text_.size() && (text_[position_] == 'e' || text_[position_] == 'E')) {
    size_t digits = position_ + 1;
    if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-'))
      ++digits;
    if (digits < text_.size() && isDigit(text_[digits])) {
      isFraction = true;
      position_ = digits;
      skipDigits();
    }
  }
  Token token = make(isFraction ? TokenKind::Float : TokenKind::Integer, begin);
  if (!scanSuffix(token))
    return bad(begin,
               "a number has no such suffix; there are f, f16, f64, bf16, i8 to i64, u8 to u64");
  if (token.hasSuffix && isFloat(token.suffix))
    token.kind = TokenKind::Float;
  if (token.kind == TokenKind::Integer) {
    auto [end, status] =
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), token.number);
    if (status != std::errc())
      return bad(begin, "an integer does not fit 64 bits");
  } else if (token.hasSuffix && !isFloat(token.suffix)) {
    return bad(begin, "a number with a fraction has an integer suffix");
  }
  return token;
}

Token Lexer::sigil(size_t begin, TokenKind kind) {
  position_ = begin + 1;
  char c = position_ < text_.size() ? text_[position_] : '\0';
  if (c == '"')
    return quoted(begin, kind);
  if (kind == TokenKind::Local && isDigit(c)) {
    Token token = nextIndex();
    token.column -= 1;
    token.offset -= 1;
    if (token.kind == TokenKind::Bad)
      return bad(begin, "a graph number does not fit 64 bits");
    token.kind = TokenKind::Graph;
    return token;
  }
  if (!isLetter(c) && c != '/')
    return kind == TokenKind::Local ? make(TokenKind::Percent, begin)
                                    : bad(begin, "a name after '@' is needed");
  position_ = nameEnd(text_, begin + 1);
  if (position_ == begin + 1)
    return make(TokenKind::Percent, begin);
  Token token = make(kind, begin);
  token.text.remove_prefix(1);
  if (token.text.size() > maxNameBytes)
    return bad(begin, tooLongName);
  return token;
}

// "..." with \" \\ \n \r \t and \xNN; a line end may stand in it.
Token Lexer::quoted(size_t begin, TokenKind kind) {
  Token token = make(kind, begin);
  size_t first = kind == TokenKind::String ? begin + 1 : begin + 2;
  std::string resolved;
  bool isPlain = true;
  size_t i = first;
  for (; i < text_.size() && text_[i] != '"'; ++i) {
    char c = text_[i];
    if (c == '\n') {
      lineBegin_ = i + 1;
      ++line_;
    }
    if (c != '\\') {
      if (!isPlain)
        resolved += c;
      continue;
    }
    if (isPlain)
      resolved.assign(text_.substr(first, i - first));
    isPlain = false;
    char e = i + 1 < text_.size() ? text_[i + 1] : '\0';
    static constexpr std::string_view from = "\"\\nrt", to = "\"\\\n\r\t";
    if (size_t k = from.find(e); k != std::string_view::npos && e != '\0') {
      resolved += to[k];
      ++i;
    } else if (e == 'x' && i + 3 < text_.size() && isHex(text_[i + 2]) && isHex(text_[i + 3])) {
      unsigned byte = 0;
      std::from_chars(text_.data() + i + 2, text_.data() + i + 4, byte, 16);
      resolved += static_cast<char>(byte);
      i += 3;
    } else {
      position_ = i + 1;
      return bad(begin, "a string has an unknown escape; there are \\\" \\\\ \\n \\r \\t \\xNN");
    }
  }
  position_ = std::min(i + 1, text_.size());
  if (i >= text_.size())
    return bad(begin, "a string is not closed");
  if (isPlain) {
    token.text = text_.substr(first, i - first);
  } else {
    strings_->push_back(std::move(resolved));
    token.text = strings_->back();
  }
  if (kind != TokenKind::String && (token.text.empty() || token.text.size() > maxNameBytes))
    return bad(begin, badNameLength);
  return token;
}

// #[version = "0.0.5"] and #[metadata]
Token Lexer::pragma(size_t begin) {
  position_ = begin + 1;
  size_t end = text_.find(']', begin);
  size_t lineEnd = text_.find('\n', begin);
  if (end == std::string_view::npos || end > lineEnd || text_.substr(begin, 2) != "#[")
    return bad(begin, "'#[version = \"0.0.5\"]' or '#[metadata]' is needed");
  std::string inner;
  for (char c : text_.substr(begin + 2, end - begin - 2))
    if (c != ' ' && c != '\t')
      inner += c;
  position_ = end + 1;
  if (inner == "metadata")
    return make(TokenKind::Metadata, begin);
  std::string_view prefix = "version=\"";
  if (inner.compare(0, prefix.size(), prefix) != 0 || inner.size() <= prefix.size() ||
      inner.back() != '"')
    return bad(begin, "'#[version = \"0.0.5\"]' or '#[metadata]' is needed");
  Token token = make(TokenKind::Version, begin);
  strings_->push_back(inner.substr(prefix.size(), inner.size() - prefix.size() - 1));
  token.text = strings_->back();
  return token;
}

} // namespace bycc
