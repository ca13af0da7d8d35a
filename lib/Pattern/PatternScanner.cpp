// Literals and tests inside a pattern's text.

#include "PatternScanner.h"

#include "bycc/IR/Op.h"
#include "bycc/Pattern/JsonRead.h"
#include "bycc/Support/Text.h"

#include <cmath>

namespace bycc {

Expected<> PatternScanner::expect(char c) {
  if (eat(c))
    return {};
  if (at_ == text_.size())
    return fail() << "expected '" << c << "', found the end";
  return fail() << "expected '" << c << "', found '" << escaped(text_.substr(at_, 1)) << "'";
}

Expected<ValueTest> PatternScanner::parseValueTest() {
  ValueTest test;
  if (char c = peek(); c == '<' || c == '>') {
    test.range = NumberRange();
    while (peek() == '<' || peek() == '>')
      BYCC_TRY(parseBound(*test.range));
    return test;
  }
  test.isList = eat('[');
  do
    test.values.push_back(BYCC_TRY(parseNumber()));
  while (test.isList && eat(','));
  if (test.isList)
    BYCC_TRY(expect(']'));
  if (eat('~'))
    test.tolerance = BYCC_TRY(parseNumber());
  return test;
}

// '<' | '<=' | '>' | '>=' and a number.
Expected<> PatternScanner::parseBound(NumberRange &range) {
  bool isUpper = eat('<');
  if (!isUpper)
    BYCC_TRY(expect('>'));
  bool isOpen = !eat('=');
  double value = BYCC_TRY(parseNumber());
  (isUpper ? range.max : range.min) = value;
  (isUpper ? range.maxIsOpen : range.minIsOpen) = isOpen;
  return {};
}

Expected<TypeTest> PatternScanner::parseTypeTests() {
  TypeTest test;
  do {
    if (eat('['))
      BYCC_TRY(parseShape(test));
    else
      BYCC_TRY(parseTypeTest(test));
  } while (eat(','));
  BYCC_TRY(expect('>'));
  return test;
}

Expected<> PatternScanner::parseTypeTest(TypeTest &test) {
  skipSpace();
  size_t start = at_;
  std::string_view word = BYCC_TRY(parseName(false));
  if (word == "rank" || word == "layout") {
    BYCC_TRY(expect('='));
    do {
      if (word == "rank")
        test.ranks.push_back(BYCC_TRY(parseIndex()));
      else if (peek() == '"')
        test.layouts.push_back(BYCC_TRY(parseString()).asString());
      else
        return fail() << "expected a layout in quotes";
    } while (eat('|'));
    return {};
  }
  at_ = start;
  do {
    skipSpace();
    start = at_;
    word = BYCC_TRY(parseName(false));
    std::optional<DType> dtype = parseDType(word);
    if (!dtype) {
      at_ = start;
      std::vector<std::string> known = {"rank", "layout"};
      for (int i = 0; i < numDTypes; ++i)
        known.emplace_back(name(static_cast<DType>(i)));
      return fail() << unknownName("dtype or test", word, known);
    }
    test.dtypes.push_back(*dtype);
  } while (eat('|'));
  return {};
}

Expected<> PatternScanner::parseShape(TypeTest &test) {
  test.hasShape = true;
  while (peek() != ']') {
    size_t start = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ']' && text_[at_] != ' ')
      ++at_;
    std::string_view word = text_.substr(start, at_ - start);
    std::optional<DimTest> dim = parseDimTest(word);
    if (word == "..." && !test.isOpen) {
      test.isOpen = true;
    } else if (dim) {
      (test.isOpen ? test.tail : test.shape).push_back(std::move(*dim));
    } else {
      at_ = start;
      return fail() << "expected a dimension (7, ?, 1..8, >=4, <=4, %8 or one ...), found '"
                    << escaped(word) << "'";
    }
    if (!eat(','))
      break;
  }
  return expect(']');
}

Expected<std::vector<AttrTest>> PatternScanner::parseAttrs(const std::vector<OpId> &ops) {
  std::vector<AttrTest> tests;
  do {
    skipSpace();
    size_t start = at_;
    AttrTest test;
    test.key = BYCC_TRY(parseName(true));
    for (OpId op : ops)
      if (!opInfo(op).findAttr(test.key)) {
        at_ = start;
        std::vector<std::string> known;
        for (const AttrSpec &spec : opInfo(op).attrs)
          known.push_back(spec.name);
        return fail() << opInfo(op).name << ": " << unknownName("attribute", test.key, known);
      }
    BYCC_TRY(parseAttrTest(test));
    tests.push_back(std::move(test));
  } while (eat(','));
  BYCC_TRY(expect('}'));
  return tests;
}

Expected<> PatternScanner::parseAttrTest(AttrTest &test) {
  if (char c = peek(); c == '<' || c == '>') {
    test.range = NumberRange();
    while (peek() == '<' || peek() == '>')
      BYCC_TRY(parseBound(*test.range));
    return {};
  }
  bool isNot = eat('!');
  BYCC_TRY(expect('='));
  do
    (isNot ? test.noneOf : test.anyOf).push_back(BYCC_TRY(parseValue(0)));
  while (eat('|'));
  return {};
}

Expected<AttrValue> PatternScanner::parseValue(int depth) {
  char c = peek();
  if (c == '"')
    return parseString();
  if (c == '[')
    return parseList(depth);
  if (isDigit(c) || c == '-' || c == '.') {
    std::string_view word = numberText();
    if (auto integer = parseInt(word))
      return AttrValue(*integer);
    if (auto number = parseDouble(word))
      return AttrValue(*number);
    return fail() << "bad number '" << escaped(word) << "'";
  }
  std::string_view word = BYCC_TRY(parseName(false));
  if (word == "True" || word == "true")
    return AttrValue(true);
  if (word == "False" || word == "false")
    return AttrValue(false);
  if (word == "None" || word == "null")
    return AttrValue();
  return AttrValue(word);
}

Expected<AttrValue> PatternScanner::parseString() {
  size_t end = text_.find('"', at_ + 1);
  if (end == std::string_view::npos)
    return fail() << "string without end";
  std::string_view text = text_.substr(at_ + 1, end - at_ - 1);
  at_ = end + 1;
  return AttrValue(text);
}

Expected<AttrValue> PatternScanner::parseList(int depth) {
  if (depth > 4)
    return fail() << "lists nested deeper than 4";
  eat('[');
  AttrValue::List items;
  while (peek() != ']') {
    items.push_back(BYCC_TRY(parseValue(depth + 1)));
    if (!eat(','))
      break;
  }
  BYCC_TRY(expect(']'));
  return AttrValue(std::move(items));
}

Expected<std::string_view> PatternScanner::parseName(bool dotted) {
  skipSpace();
  size_t start = at_;
  if (at_ < text_.size() && isLetter(text_[at_]))
    while (at_ < text_.size() &&
           (isLetter(text_[at_]) || isDigit(text_[at_]) || (dotted && text_[at_] == '.')))
      ++at_;
  if (at_ == start)
    return fail() << "expected a name";
  return text_.substr(start, at_ - start);
}

std::string_view PatternScanner::numberText() {
  skipSpace();
  size_t start = at_;
  auto isSign = [&] {
    char before = at_ > start ? text_[at_ - 1] : 'e';
    return (text_[at_] == '-' || text_[at_] == '+') && (before == 'e' || before == 'E');
  };
  while (at_ < text_.size() && (isDigit(text_[at_]) || text_[at_] == '.' || text_[at_] == 'e' ||
                                text_[at_] == 'E' || isSign()))
    ++at_;
  return text_.substr(start, at_ - start);
}

Expected<double> PatternScanner::parseNumber() {
  skipSpace();
  for (auto [word, value] : {std::pair<std::string_view, double>{"inf", HUGE_VAL},
                             {"-inf", -HUGE_VAL},
                             {"nan", NAN},
                             {"True", 1},
                             {"False", 0}})
    if (text_.substr(at_).starts_with(word)) {
      at_ += word.size();
      return value;
    }
  std::string_view word = numberText();
  if (auto number = parseDouble(word))
    return *number;
  return fail() << "expected a number";
}

Expected<int64_t> PatternScanner::parseIndex() {
  std::string_view word = numberText();
  auto number = parseInt(word);
  if (!number || *number < 0 || *number > UINT32_MAX)
    return fail() << "expected the index of a field";
  return *number;
}

namespace {

class TestListParser : PatternScanner {
public:
  explicit TestListParser(std::string_view text) : PatternScanner(text, "") {}

  Expected<std::vector<AttrTest>> parse() {
    std::vector<AttrTest> tests;
    do {
      AttrTest test;
      test.key = BYCC_TRY(parseName(true));
      if (peek() != ',' && !isAtEnd())
        BYCC_TRY(parseAttrTest(test));
      tests.push_back(std::move(test));
    } while (eat(','));
    if (!isAtEnd())
      return fail() << "expected ','";
    return tests;
  }

private:
  bool isAtEnd() {
    skipSpace();
    return at_ == text_.size();
  }
};

} // namespace

Expected<std::vector<AttrTest>> parseTests(std::string_view text) {
  return TestListParser(text).parse();
}

} // namespace bycc
