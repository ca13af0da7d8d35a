// Text of a pattern -> Pattern. Recursive descent; depth and size are bounded,
// since files come from users.
//
//   pattern := postfix ('|' postfix)*
//   postfix := primary ('[' int ']' | '<' test (',' test)* '>')*
//   primary := '*' | '#' ['(' value ')'] | '$' name [':' primary] | '@' name
//            | '(' pattern ')' | '(' pattern ',' [pattern (',' pattern)*] ')'
//            | op ['?'] ['{' attr (',' attr)* '}'] '(' args ')'
//            | 'path' ['+'] '{' ('*' | name ('|' name)*) '}' '(' pattern ')'
//   op      := name | '(' name ('|' name)+ ')'
//   args    := '...' | [pattern (',' pattern)*]
//   value   := (number | '[' number (',' number)* ']') ['~' number] | bound+
//   bound   := ('<' | '<=' | '>' | '>=') number
//   attr    := key ('=' literal ('|' literal)* | '!=' literal | bound)
//   test    := dtype ('|' dtype)* | '[' dim (',' dim)* ']' | 'rank' '=' int ('|' int)*
//            | 'layout' '=' string ('|' string)*

#include "PatternBounds.h"
#include "PatternScanner.h"

#include "bycc/Pattern/Pattern.h"

#include "bycc/IR/OnnxNames.h"
#include "bycc/IR/Op.h"
#include "bycc/Pattern/JsonRead.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <map>
#include <set>

namespace bycc {

namespace {

// What the texts of one pattern share: its nodes, and the state of each `let`.
struct Shared {
  Pattern &pattern;
  const PatternText &text;
  std::map<std::string, uint32_t, std::less<>> done; // let name -> node
  std::set<std::string, std::less<>> open;           // being parsed: a cycle when met again
  std::span<const std::string> composites;
  uint32_t depth = 0;
};

class Parser : PatternScanner {
public:
  Parser(Shared &shared, std::string_view text, std::string_view where)
      : PatternScanner(text, where), shared_(shared) {}

  Expected<uint32_t> parseAll() {
    if (text_.size() > maxPatternText)
      return fail() << "longer than " << maxPatternText << " bytes";
    uint32_t node = BYCC_TRY(parsePattern());
    skipSpace();
    if (at_ != text_.size())
      return fail() << "expected the end, found '" << escaped(text_.substr(at_, 12)) << "'";
    return node;
  }

private:
  Expected<uint32_t> add(PatternNode node) {
    std::vector<PatternNode> &nodes = shared_.pattern.nodes;
    if (nodes.size() >= maxPatternNodes)
      return error(Status::Limit) << where_ << "more than " << maxPatternNodes << " parts";
    nodes.push_back(std::move(node));
    return static_cast<uint32_t>(nodes.size() - 1);
  }

  Expected<uint32_t> parsePattern() {
    if (++shared_.depth > maxPatternDepth)
      return error(Status::Limit) << where_ << "column " << at_ + 1 << ": nested deeper than "
                                  << maxPatternDepth;
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
    while (true) {
      PatternNode outer;
      outer.children.push_back(node);
      if (eat('[')) {
        outer.kind = PatternKind::Project;
        outer.index = static_cast<uint32_t>(BYCC_TRY(parseIndex()));
        BYCC_TRY(expect(']'));
      } else if (eat('<')) {
        outer.kind = PatternKind::Typed;
        outer.type = BYCC_TRY(parseTypeTests());
      } else {
        return node;
      }
      node = BYCC_TRY(add(std::move(outer)));
    }
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
    if (c == '(' && isOpGroup())
      return parseCall();
    if (eat('('))
      return parseTuple();
    if (isLetter(c))
      return isPath() ? parsePath() : parseCall();
    if (at_ == text_.size())
      return fail() << "expected a pattern, found the end";
    return fail() << "expected a pattern, found '" << escaped(text_.substr(at_, 1)) << "'";
  }

  Expected<uint32_t> parseConstant() {
    PatternNode node;
    node.kind = PatternKind::Constant;
    if (eat('(')) {
      node.value = BYCC_TRY(parseValueTest());
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
      if (++shared_.depth > maxPatternDepth)
        return error(Status::Limit) << where_ << "nested deeper than " << maxPatternDepth;
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
    auto let =
        std::ranges::find(shared_.text.let, name, [](const auto &entry) { return entry.first; });
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

  // '(' name '|' ... ')' and then what follows an operator.
  bool isOpGroup() {
    size_t at = at_ + 1;
    auto isOneOf = [&](std::string_view set) {
      return at < text_.size() && set.find(text_[at]) != std::string_view::npos;
    };
    bool hasBar = false;
    while (at < text_.size() && (isLetter(text_[at]) || isDigit(text_[at]) || isOneOf(". |"))) {
      hasBar |= text_[at] == '|';
      ++at;
    }
    if (!hasBar || !isOneOf(")"))
      return false;
    ++at;
    while (isOneOf(" "))
      ++at;
    return isOneOf("({?");
  }

  bool isPath() {
    std::string_view rest = text_.substr(at_);
    if (!rest.starts_with("path"))
      return false;
    size_t next = rest.find_first_not_of(' ', 4);
    return next != std::string_view::npos && (rest[next] == '{' || rest[next] == '+');
  }

  Expected<uint32_t> parsePath() {
    PatternNode node;
    node.kind = PatternKind::Path;
    at_ += 4;
    node.isPlus = eat('+');
    BYCC_TRY(expect('{'));
    if (!eat('*'))
      node.ops = BYCC_TRY(parseOps());
    BYCC_TRY(expect('}'));
    BYCC_TRY(expect('('));
    node.children.push_back(BYCC_TRY(parsePattern()));
    BYCC_TRY(expect(')'));
    return add(std::move(node));
  }

  Expected<std::vector<OpId>> parseOps() {
    std::vector<OpId> ops;
    do {
      skipSpace();
      size_t start = at_;
      std::string_view name = BYCC_TRY(parseName(true));
      OpId op = findOp(name);
      if (!op) {
        at_ = start;
        return fail() << "unknown operator '" << escaped(name) << "'"
                      << didYouMeanOperator(name, allOpNames());
      }
      ops.push_back(op);
    } while (eat('|'));
    return ops;
  }

  bool isKnownComposite(std::string_view name) const {
    return std::ranges::any_of(shared_.composites,
                               [&](std::string_view known) { return mayBeNamed(known, name); });
  }

  // One operator, several in brackets, or a composite.
  Expected<> parseCallee(PatternNode &node) {
    node.kind = PatternKind::Op;
    if (eat('(')) {
      node.ops = BYCC_TRY(parseOps());
      return expect(')');
    }
    skipSpace();
    size_t start = at_;
    std::string_view name = BYCC_TRY(parseName(true));
    if (OpId op = findOp(name)) {
      node.ops = {op};
      return {};
    }
    if (isKnownComposite(name)) {
      node.kind = PatternKind::Composite;
      node.composite = name;
      return {};
    }
    at_ = start;
    std::string_view own = std::string_view(shared_.pattern.name);
    own = own.substr(0, own.find('.') + 1);
    if (name.starts_with(own) && own.size() > 1)
      return fail() << unknownName("composite", name,
                                   {shared_.composites.begin(), shared_.composites.end()})
                    << " (a composite must come before the pattern that has it inside)";
    return fail() << unknownName("operator", name, allOpNames());
  }

  Expected<uint32_t> parseCall() {
    skipSpace();
    size_t start = at_;
    PatternNode node;
    BYCC_TRY(parseCallee(node));
    bool isOptional = eat('?');
    if (node.kind == PatternKind::Op && eat('{'))
      node.attrs = BYCC_TRY(parseAttrs(node.ops));
    BYCC_TRY(expect('('));
    BYCC_TRY(parseArguments(node));
    for (OpId op : node.ops)
      at_ = BYCC_TRY(checkArity(node, op, start));
    if (!isOptional)
      return add(std::move(node));
    if (node.children.empty()) {
      at_ = start;
      return fail() << "an optional operator needs a first argument to stand in for it";
    }
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
  Expected<size_t> checkArity(const PatternNode &node, OpId op, size_t start) {
    const OpInfo &info = opInfo(op);
    size_t count = node.children.size();
    bool fits = node.anyArgs ||
                (count >= info.minInputs && (info.isVariadic || count <= info.inputs.size()));
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

  Shared &shared_;
};

// Operators and composites that node `at` can match; false when it can match
// something else. Shared parts are asked once.
bool collectRoots(Pattern &pattern, uint32_t at, std::vector<bool> &seen) {
  if (seen[at])
    return true;
  seen[at] = true;
  const PatternNode &node = pattern.nodes[at];
  auto addOnce = [](auto &list, const auto &item) {
    if (std::ranges::find(list, item) == list.end())
      list.push_back(item);
  };
  switch (node.kind) {
  case PatternKind::Op:
    for (OpId op : node.ops)
      addOnce(pattern.rootOps, op);
    return true;
  case PatternKind::Composite:
    addOnce(pattern.rootComposites, node.composite);
    return true;
  case PatternKind::Path:
    for (OpId op : node.ops)
      addOnce(pattern.rootOps, op);
    return !node.ops.empty() && (node.isPlus || collectRoots(pattern, node.children[0], seen));
  case PatternKind::Capture:
  case PatternKind::Typed:
  case PatternKind::Alternative:
    return !node.children.empty() && std::ranges::all_of(node.children, [&](uint32_t child) {
      return collectRoots(pattern, child, seen);
    });
  default:
    return false;
  }
}

} // namespace

bool Pattern::namesLayouts() const {
  return std::ranges::any_of(
             nodes,
             [](const PatternNode &node) { return node.type && !node.type->layouts.empty(); }) ||
         std::ranges::any_of(where, [](const PatternCondition &c) {
           return std::ranges::any_of(
               c.condition.args, [](const auto &arg) { return !arg.second.type.layouts.empty(); });
         });
}

Expected<> finishPattern(Pattern &pattern) {
  std::vector<bool> seen(pattern.nodes.size(), false);
  if (!collectRoots(pattern, pattern.root, seen))
    return error(Status::Input) << "column 1: the outermost part must be an operator";
  return {};
}

Expected<Pattern> parsePattern(std::string_view name, const PatternText &text,
                               std::span<const std::string> composites) {
  Pattern pattern;
  pattern.name = name;
  Shared shared{pattern, text, {}, {}, composites, 0};
  pattern.root = BYCC_TRY(Parser(shared, text.root, "").parseAll());
  for (const auto &[let, body] : text.let)
    if (!shared.done.contains(let))
      return error(Status::Input) << "let '" << escaped(let) << "': not used";
  BYCC_TRY(finishPattern(pattern));
  return pattern;
}

} // namespace bycc
