// The text of a pattern as characters, names, numbers, and tests of attributes,
// types and constants; what stands between them is the parser's.
#pragma once

#include "bycc/Pattern/Pattern.h"
#include "bycc/Support/Messages.h"

namespace bycc {

class PatternScanner {
protected:
  PatternScanner(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  ErrorBuilder fail() const {
    return error(Status::Input).as(MessageId::PatternText)
           << where_ << "column " << at_ + 1 << ": ";
  }
  void skipSpace() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  char peek() {
    skipSpace();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool eat(char c) {
    if (peek() != c || at_ >= text_.size())
      return false;
    ++at_;
    return true;
  }
  Expected<> expect(char c);
  static bool isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  static bool isDigit(char c) { return c >= '0' && c <= '9'; }

  // a or, dotted, a.b
  Expected<std::string_view> parseName(bool dotted);
  Expected<double> parseNumber(); // inf, nan, True and False too
  Expected<int64_t> parseIndex();
  // Behind '(' of `#(..)`, '<' of `p<..>`, '{' of `op{..}`. An attribute must be one
  // of each operator.
  Expected<ValueTest> parseValueTest();
  Expected<TypeTest> parseTypeTests();
  Expected<std::vector<AttrTest>> parseAttrs(const std::vector<OpId> &ops);
  Expected<> parseAttrTest(AttrTest &test);

  std::string_view text_;
  std::string where_; // in front of messages: "let 'n': "
  size_t at_ = 0;

private:
  std::string_view numberText();
  Expected<> parseBound(NumberRange &range);
  Expected<> parseTypeTest(TypeTest &test);
  Expected<> parseShape(TypeTest &test);
  Expected<AttrValue> parseValue(int depth);
  Expected<AttrValue> parseString();
  Expected<AttrValue> parseList(int depth);
};

} // namespace bycc
