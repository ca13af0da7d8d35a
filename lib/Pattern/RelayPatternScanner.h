// Tokens of a pattern written as Relay, and what is made of few of them: types,
// numbers, names with dots, attribute values.
#pragma once

#include "bycc/Parser/Lexer.h"
#include "bycc/Pattern/Pattern.h"

#include <deque>

namespace bycc {

class RelayPatternScanner {
protected:
  explicit RelayPatternScanner(std::string_view text) : lexer_(text) {
    lexer_.setStrings(&strings_);
  }

  void advance() { token_ = lexer_.next(); }
  bool at(TokenKind kind) const { return token_.kind == kind; }
  bool atKeyword(std::string_view word) const {
    return token_.kind == TokenKind::Identifier && token_.text == word;
  }
  bool accept(TokenKind kind) {
    bool found = at(kind);
    if (found)
      advance();
    return found;
  }
  ErrorBuilder fail() const { return fail(token_); }
  static ErrorBuilder fail(const Token &token);
  Expected<> expect(TokenKind kind);

  // Tensor[(2, ?), float32], a dtype alone for rank 0, or _, which says nothing.
  Expected<TypeTest> parseType();
  // inf, nan and such with an `f`.
  bool isNumberWord() const;
  Expected<double> parseNumber(); // True and False too
  std::string dottedName();
  Expected<AttrValue> parseAttrValue(int depth);

  Lexer lexer_;
  Token token_;

private:
  static Expected<DType> dtypeNamed(const Token &token);
  Expected<> parseDim(TypeTest &test);
  Expected<AttrValue> parseAttrList(int depth);

  std::deque<std::string> strings_;
};

} // namespace bycc
