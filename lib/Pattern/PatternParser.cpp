// Text of a pattern -> Pattern. Recursive descent; depth and size are bounded,
// since files come from users.
//
//   pattern := postfix ('|' postfix)*
//   postfix := primary ('[' int ']')*
//   primary := '*' | '#' ['(' number ['~' number] ')'] | '$' name [':' primary] | '@' name
//            | '(' pattern ')' | '(' pattern ',' [pattern (',' pattern)*] ')'
//            | op ['?'] ['{' key '=' value (',' key '=' value)* '}'] '(' args ')'
//   args    := '...' | [pattern (',' pattern)*]

#include "bycc/Pattern/Pattern.h"

#include "bycc/IR/Op.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <map>
#include <set>

namespace bycc {

namespace {

constexpr uint32_t maxDepth = 64;
constexpr size_t maxNodes = 1024;
constexpr size_t maxText = 1 << 16;

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool isDigit(char c) { return c >= '0' && c <= '9'; }

// What the texts of one pattern share: its nodes, and the state of each `let`.
struct Shared {
  Pattern &pattern;
  const PatternText &text;
  std::map<std::string, uint32_t, std::less<>> done; // let name -> node
  std::set<std::string, std::less<>> open;           // being parsed: a cycle when met again
  uint32_t depth = 0;
};

class Parser {
public:
  Parser(Shared &shared, std::string_view text, std::string_view where)
      : shared_(shared), text_(text), where_(where) {}

  Expected<uint32_t> parseAll() {
    if (text_.size() > maxText)
      return fail() << "longer than " << maxText << " bytes";
    uint32_t node = BYCC_TRY(parsePattern());
    skipSpace();
    if (at_ != text_.size())
      return fail() << "expected the end, found '" << escaped(text_.substr(at_, 12)) << "'";
    return node;
  }

private:
  ErrorBuilder fail() const {
    return error(Status::Input) << where_ << "column " << at_ + 1 << ": ";
  }
  void skipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' ||
                                  text_[at_] == '\r'))
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
  Expected<> expect(char c) {
    if (eat(c))
      return {};
    if (at_ == text_.size())
      return fail() << "expected '" << c << "', found the end";
    return fail() << "expected '" << c << "', found '" << escaped(text_.substr(at_, 1)) << "'";
  }

  Expected<uint32_t> add(PatternNode node) {
    std::vector<PatternNode> &nodes = shared_.pattern.nodes;
    if (nodes.size() >= maxNodes)
      return error(Status::Limit) << where_ << "more than " << maxNodes << " parts";
    nodes.push_back(std::move(node));
    return static_cast<uint32_t>(nodes.size() - 1);
  }

  Expected<uint32_t> parsePattern() {
    if (++shared_.depth > maxDepth)
      return error(Status::Limit) << where_ << "column " << at_ + 1 << ": nested deeper than "
                                  << maxDepth;
    uint32_t first = BYCC_TRY(parsePostfix());
    if (peek() == '|') {
      PatternNode node;
      node.kind = PatternKind::Alternative;
      node.children.push_back(first);
      while (eat('|'))
        node.children.push_back(BYCC_TRY(parsePostfix()));
      first = BYCC_TRY(add(std::move(node)));
    }
    --shared_.depth;
    return first;
  }

  Expected<uint32_t> parsePostfix() {
    uint32_t node = BYCC_TRY(parsePrimary());
    while (eat('[')) {
      PatternNode project;
      project.kind = PatternKind::Project;
      project.index = static_cast<uint32_t>(BYCC_TRY(parseIndex()));
      project.children.push_back(node);
      BYCC_TRY(expect(']'));
      node = BYCC_TRY(add(std::move(project)));
    }
    return node;
  }

  Expected<uint32_t> parsePrimary() {
    char c = peek();
    if (eat('*'))
      return add({});
    if (eat('#'))
      return parseConstant();
    if (eat('$'))
      return parseCapture();
    if (eat('@'))
      return parseReference();
    if (eat('('))
      return parseTuple();
    if (isLetter(c))
      return parseCall();
    if (at_ == text_.size())
      return fail() << "expected a pattern, found the end";
    return fail() << "expected a pattern, found '" << escaped(text_.substr(at_, 1)) << "'";
  }

  Expected<uint32_t> parseConstant() {
    PatternNode node;
    node.kind = PatternKind::Constant;
    if (eat('(')) {
      node.value = BYCC_TRY(parseNumber());
      if (eat('~'))
        node.tolerance = BYCC_TRY(parseNumber());
      BYCC_TRY(expect(')'));
    }
    return add(std::move(node));
  }

  Expected<uint32_t> parseCapture() {
    std::string name(BYCC_TRY(parseName(false)));
    std::vector<std::string> &names = shared_.pattern.captures;
    auto found = std::ranges::find(names, name);
    PatternNode node;
    node.kind = PatternKind::Capture;
    node.index = static_cast<uint32_t>(found - names.begin());
    if (found == names.end())
      names.push_back(name);
    if (eat(':')) {
      if (++shared_.depth > maxDepth)
        return error(Status::Limit) << where_ << "nested deeper than " << maxDepth;
      node.children.push_back(BYCC_TRY(parsePrimary()));
      --shared_.depth;
    }
    return add(std::move(node));
  }

  Expected<uint32_t> parseReference() {
    size_t start = at_;
    std::string_view name = BYCC_TRY(parseName(false));
    if (auto found = shared_.done.find(name); found != shared_.done.end())
      return found->second;
    auto let = std::ranges::find(shared_.text.let, name, [](const auto &entry) { return entry.first; });
    if (let == shared_.text.let.end()) {
      at_ = start;
      return fail() << "no '" << name << "' under let";
    }
    if (!shared_.open.insert(std::string(name)).second) {
      at_ = start;
      return fail() << "'@" << name << "' refers to itself";
    }
    std::string where = "let '" + std::string(name) + "': ";
    uint32_t node = BYCC_TRY(Parser(shared_, let->second, where).parseAll());
    shared_.open.erase(std::string(name));
    shared_.done.emplace(name, node);
    shared_.pattern.shared.emplace_back(name, node);
    return node;
  }

  Expected<uint32_t> parseTuple() {
    std::vector<uint32_t> fields;
    bool isTuple = false;
    while (peek() != ')') {
      fields.push_back(BYCC_TRY(parsePattern()));
      if (!eat(','))
        break;
      isTuple = true;
    }
    BYCC_TRY(expect(')'));
    if (!isTuple && fields.size() == 1)
      return fields[0];
    PatternNode node;
    node.kind = PatternKind::Tuple;
    node.children = std::move(fields);
    return add(std::move(node));
  }

  Expected<uint32_t> parseCall() {
    size_t start = at_;
    std::string_view name = BYCC_TRY(parseName(true));
    PatternNode node;
    node.kind = PatternKind::Op;
    node.op = findOp(name);
    if (!node.op) {
      at_ = start;
      std::string text = "unknown operator '" + std::string(name) + "'";
      if (auto close = nearest(name, allOpNames()))
        text += ", did you mean '" + *close + "'";
      return fail() << text;
    }
    bool isOptional = eat('?');
    if (eat('{'))
      node.attrs = BYCC_TRY(parseAttrs(node.op));
    BYCC_TRY(expect('('));
    BYCC_TRY(parseArguments(node));
    at_ = BYCC_TRY(checkArity(node, start));
    if (!isOptional)
      return add(std::move(node));
    if (node.children.empty())
      return fail() << "'" << name << "?' needs a first argument to stand in for it";
    PatternNode choice;
    choice.kind = PatternKind::Alternative;
    uint32_t stand = node.children[0];
    choice.children = {BYCC_TRY(add(std::move(node))), stand};
    return add(std::move(choice));
  }

  Expected<> parseArguments(PatternNode &node) {
    if (peek() == '.' && text_.substr(at_, 3) == "...") {
      at_ += 3;
      node.anyArgs = true;
      return expect(')');
    }
    while (peek() != ')') {
      node.children.push_back(BYCC_TRY(parsePattern()));
      if (!eat(','))
        break;
    }
    return expect(')');
  }

  // A call that no program can contain would never match: say so now.
  Expected<size_t> checkArity(const PatternNode &node, size_t start) {
    const OpInfo &info = opInfo(node.op);
    size_t count = node.children.size();
    bool fits = node.anyArgs || (count >= info.minInputs &&
                                 (info.isVariadic || count <= info.inputs.size()));
    size_t end = at_;
    if (!fits) {
      at_ = start;
      return fail() << info.name << " takes " << info.minInputs
                    << (info.isVariadic ? " or more"
                        : info.inputs.size() != info.minInputs
                            ? " to " + std::to_string(info.inputs.size())
                            : std::string())
                    << " inputs, the pattern gives " << count;
    }
    return end;
  }

  Expected<AttrDict> parseAttrs(OpId op) {
    AttrDict attrs;
    do {
      skipSpace();
      size_t start = at_;
      std::string key(BYCC_TRY(parseName(true)));
      if (!opInfo(op).findAttr(key)) {
        at_ = start;
        return fail() << opInfo(op).name << " has no attribute '" << key << "'";
      }
      BYCC_TRY(expect('='));
      attrs.push_back({std::move(key), BYCC_TRY(parseValue(0))});
    } while (eat(','));
    BYCC_TRY(expect('}'));
    return attrs;
  }

  Expected<AttrValue> parseValue(int depth) {
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

  Expected<AttrValue> parseString() {
    size_t end = text_.find('"', at_ + 1);
    if (end == std::string_view::npos)
      return fail() << "string without end";
    std::string_view text = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return AttrValue(text);
  }

  Expected<AttrValue> parseList(int depth) {
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

  Expected<std::string_view> parseName(bool dotted) {
    skipSpace();
    size_t start = at_;
    if (at_ < text_.size() && isLetter(text_[at_]))
      while (at_ < text_.size() && (isLetter(text_[at_]) || isDigit(text_[at_]) ||
                                    (dotted && text_[at_] == '.')))
        ++at_;
    if (at_ == start)
      return fail() << "expected a name";
    return text_.substr(start, at_ - start);
  }

  std::string_view numberText() {
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

  Expected<double> parseNumber() {
    std::string_view word = numberText();
    if (auto number = parseDouble(word))
      return *number;
    return fail() << "expected a number";
  }

  Expected<int64_t> parseIndex() {
    std::string_view word = numberText();
    auto number = parseInt(word);
    if (!number || *number < 0 || *number > UINT32_MAX)
      return fail() << "expected the index of a field";
    return *number;
  }

  Shared &shared_;
  std::string_view text_;
  std::string where_;
  size_t at_ = 0;
};

// Operators that node `at` can match; false when it can match something else.
bool collectRootOps(const Pattern &pattern, uint32_t at, std::vector<OpId> &ops) {
  const PatternNode &node = pattern.nodes[at];
  switch (node.kind) {
  case PatternKind::Op:
    if (std::ranges::find(ops, node.op) == ops.end())
      ops.push_back(node.op);
    return true;
  case PatternKind::Capture:
  case PatternKind::Alternative:
    return !node.children.empty() && std::ranges::all_of(node.children, [&](uint32_t child) {
      return collectRootOps(pattern, child, ops);
    });
  default: return false;
  }
}

} // namespace

Expected<Pattern> parsePattern(std::string_view name, const PatternText &text) {
  Pattern pattern;
  pattern.name = name;
  Shared shared{pattern, text, {}, {}, 0};
  pattern.root = BYCC_TRY(Parser(shared, text.root, "").parseAll());
  for (const auto &[let, body] : text.let)
    if (!shared.done.contains(let))
      return error(Status::Input) << "'" << let << "' under let is not used";
  if (!collectRootOps(pattern, pattern.root, pattern.rootOps))
    return error(Status::Input) << "column 1: the outermost part must be an operator";
  return pattern;
}

} // namespace bycc
