// Types, numbers and attribute values of patterns written as Relay.

#include "RelayPatternScanner.h"

#include "bycc/Pattern/JsonRead.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <cmath>

namespace bycc {

ErrorBuilder RelayPatternScanner::fail(const Token &token) {
  ErrorBuilder builder = error(Status::Input).as(MessageId::PatternText);
  auto &&located = std::move(builder)
                   << "line " << token.line << ", column " << token.column << ": ";
  if (token.kind == TokenKind::Bad)
    return std::move(located) << token.text << "; ";
  return std::move(located);
}
Expected<> RelayPatternScanner::expect(TokenKind kind) {
  if (accept(kind))
    return {};
  return fail() << "expected " << spelling(kind) << ", found " << describe(token_);
}

// Tensor[(2, ?), float32], a dtype alone for rank 0, or _.
Expected<TypeTest> RelayPatternScanner::parseType() {
  TypeTest test;
  Token start = token_;
  if (!at(TokenKind::Identifier))
    return fail() << "expected a tensor type, found " << describe(token_);
  advance();
  if (start.text == "_")
    return test;
  test.hasShape = true;
  if (start.text != "Tensor") {
    test.dtypes = {BYCC_TRY(dtypeNamed(start))};
    return test;
  }
  BYCC_TRY(expect(TokenKind::LeftBracket));
  BYCC_TRY(expect(TokenKind::LeftParen));
  while (!at(TokenKind::RightParen)) {
    BYCC_TRY(parseDim(test));
    if (!accept(TokenKind::Comma))
      break;
  }
  BYCC_TRY(expect(TokenKind::RightParen));
  BYCC_TRY(expect(TokenKind::Comma));
  Token dtype = token_;
  advance();
  test.dtypes = {BYCC_TRY(dtypeNamed(dtype))};
  BYCC_TRY(expect(TokenKind::RightBracket));
  return test;
}

Expected<DType> RelayPatternScanner::dtypeNamed(const Token &token) {
  std::vector<std::string> known;
  for (int i = 0; i < numDTypes; ++i)
    known.emplace_back(name(static_cast<DType>(i)));
  if (token.kind == TokenKind::Identifier)
    if (auto dtype = parseDType(token.text))
      return *dtype;
  return fail(token) << unknownName("dtype", token.text, known);
}

Expected<> RelayPatternScanner::parseDim(TypeTest &test) {
  std::string text = at(TokenKind::Question)  ? "?"
                     : at(TokenKind::Integer) ? std::to_string(token_.number)
                                              : "";
  std::optional<DimTest> dim = parseDimTest(text);
  if (!dim)
    return fail() << "expected a dimension or ?, found " << describe(token_);
  advance();
  test.shape.push_back(std::move(*dim));
  return {};
}

bool RelayPatternScanner::isNumberWord() const {
  return at(TokenKind::Identifier) &&
         (token_.text.starts_with("inf") || token_.text.starts_with("nan")) &&
         (token_.text.size() == 3 || token_.text[3] == 'f');
}

Expected<double> RelayPatternScanner::parseNumber() {
  double sign = 1;
  while (accept(TokenKind::Minus))
    sign = -sign;
  Token token = token_;
  advance();
  if (token.kind == TokenKind::Integer)
    return sign * static_cast<double>(token.number);
  if (token.kind == TokenKind::Float)
    if (auto value = parseDouble(token.text))
      return sign * *value;
  if (token.kind == TokenKind::Identifier) {
    if (token.text.starts_with("inf"))
      return sign * HUGE_VAL;
    if (token.text.starts_with("nan"))
      return NAN;
    if (token.text == "True" || token.text == "False")
      return token.text == "True";
  }
  return fail(token) << "expected a number, found " << describe(token);
}

std::string RelayPatternScanner::dottedName() {
  std::string name(token_.text);
  advance();
  while (at(TokenKind::Dot)) {
    advance();
    name += "." + std::string(token_.text);
    if (at(TokenKind::Identifier))
      advance();
  }
  return name;
}

Expected<AttrValue> RelayPatternScanner::parseAttrValue(int depth) {
  if (depth > 4)
    return fail() << "lists nested deeper than 4";
  Token token = token_;
  if (at(TokenKind::String)) {
    advance();
    return AttrValue(token.text);
  }
  if (at(TokenKind::LeftBracket) || at(TokenKind::LeftParen))
    return parseAttrList(depth);
  if (at(TokenKind::Identifier) && !isNumberWord()) {
    advance();
    if (token.text == "True" || token.text == "False")
      return AttrValue(token.text == "True");
    return token.text == "None" ? AttrValue() : AttrValue(token.text);
  }
  bool isInt = at(TokenKind::Integer) || at(TokenKind::Minus);
  double value = BYCC_TRY(parseNumber());
  bool isWhole = std::floor(value) == value && std::abs(value) < 9e15;
  return isInt && isWhole ? AttrValue(static_cast<int64_t>(value)) : AttrValue(value);
}

Expected<AttrValue> RelayPatternScanner::parseAttrList(int depth) {
  TokenKind close = at(TokenKind::LeftBracket) ? TokenKind::RightBracket : TokenKind::RightParen;
  advance();
  AttrValue::List items;
  while (!at(close)) {
    items.push_back(BYCC_TRY(parseAttrValue(depth + 1)));
    if (!accept(TokenKind::Comma))
      break;
  }
  BYCC_TRY(expect(close));
  return AttrValue(std::move(items));
}

} // namespace bycc
