// Tokens of Relay text, made on demand. Names are ASCII letters, digits, `_` and
// `/`; `%"any text"` and `@"any text"` name what has other characters. Numbers
// are unsigned: a minus is a token of its own, so that `1-2` subtracts.
#pragma once

#include "bycc/Support/DType.h"
#include "bycc/Support/SourceLocation.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace bycc {

enum class TokenKind : uint8_t {
  End,
  Identifier, // text
  Local,      // %x, text without %
  Global,     // @x, text without @
  Graph,      // %3, number
  Integer,    // number; suffix dtype or none
  Float,      // text of the digits; suffix dtype or none
  String,     // text, escapes resolved
  Arrow,      // ->
  FatArrow,   // =>
  Equal,
  EqualEqual,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Plus,
  Minus,
  Star,
  Slash,
  Percent,
  LeftParen,
  RightParen,
  LeftBracket,
  RightBracket,
  LeftBrace,
  RightBrace,
  Comma,
  Colon,
  Semicolon,
  Dot,
  Question,
  Version,  // #[version = "..."], text is the version
  Metadata, // #[metadata], everything after it is JSON
  Bad,      // text is the message
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;
  uint64_t number = 0;
  bool hasSuffix = false;
  DType suffix = DType::Float32;
  uint32_t offset = 0, line = 1, column = 1;
};

// What a token is called in messages: "')'", "a name", "end of file".
std::string describe(const Token &token);
std::string_view spelling(TokenKind kind);

class Lexer {
public:
  explicit Lexer(std::string_view text) : text_(text) {}
  Token next();
  // The digits of a projection, right after its dot: `%t.0.1` has no number 0.1.
  Token nextIndex();
  size_t offset() const { return position_; }

private:
  void skipSpace();
  Token make(TokenKind kind, size_t begin);
  Token bad(size_t begin, std::string_view message);
  Token punctuation(size_t begin);
  Token number(size_t begin);
  Token sigil(size_t begin, TokenKind kind);
  Token quoted(size_t begin, TokenKind kind);
  Token pragma(size_t begin);
  bool scanSuffix(Token &token);

  std::string_view text_;
  size_t position_ = 0;
  size_t lineBegin_ = 0;
  uint32_t line_ = 1;
  std::string_view trouble_; // of skipSpace: an open comment
  std::deque<std::string> *strings_ = nullptr;

public:
  // Where resolved strings live; must outlive the tokens.
  void setStrings(std::deque<std::string> *strings) { strings_ = strings; }
};

} // namespace bycc
