// A pattern written as Relay: the part of its grammar that makes sense in a pattern,
// read without types, since the same pattern matches many. A variable becomes one
// operand, a binding one shared part, a literal a constant checked by value.
//
//   text  := [free_var %x [: type] ;]* items | 'fn' '(' [%x [: type] ,]* ')' ['->' type] '{' items '}'
//   items := [('let' %x [: type] | %0) '=' expr ';']* expr
//   expr  := calls, tuples, projections, literals, * / + - < <= > >= == !=

#include "PatternBounds.h"
#include "RelayPatternScanner.h"

#include "bycc/IR/Op.h"
#include "bycc/Pattern/JsonRead.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <map>

namespace bycc {

namespace {

// Binary operators from loosest to tightest.
struct Infix {
  TokenKind token;
  OpId op;
  int level;
};
constexpr int numLevels = 4;
constexpr Infix infixes[] = {
    {TokenKind::EqualEqual, ops::equal, 0}, {TokenKind::NotEqual, ops::not_equal, 0},
    {TokenKind::Less, ops::less, 1},        {TokenKind::LessEqual, ops::less_equal, 1},
    {TokenKind::Greater, ops::greater, 1},  {TokenKind::GreaterEqual, ops::greater_equal, 1},
    {TokenKind::Plus, ops::add, 2},         {TokenKind::Minus, ops::subtract, 2},
    {TokenKind::Star, ops::multiply, 3},    {TokenKind::Slash, ops::divide, 3},
};

class RelayPatternParser : RelayPatternScanner {
public:
  RelayPatternParser(Pattern &pattern, std::string_view text,
                     std::span<const std::string> composites)
      : RelayPatternScanner(text), pattern_(pattern), composites_(composites), size_(text.size()) {}

  Expected<uint32_t> run() {
    advance();
    if (size_ > maxPatternText)
      return fail() << "longer than " << maxPatternText << " bytes";
    if (at(TokenKind::Version))
      advance();
    uint32_t root = atKeyword("fn") ? BYCC_TRY(parseFunction()) : BYCC_TRY(parseItems());
    if (!at(TokenKind::End))
      return fail() << "expected the end, found " << describe(token_);
    return root;
  }

private:
  Expected<uint32_t> add(PatternNode node) {
    if (pattern_.nodes.size() >= maxPatternNodes)
      return error(Status::Limit) << "more than " << maxPatternNodes << " parts";
    pattern_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(pattern_.nodes.size() - 1);
  }

  // --- variables and bindings

  Expected<uint32_t> parseFunction() {
    advance();
    BYCC_TRY(expect(TokenKind::LeftParen));
    while (!at(TokenKind::RightParen)) {
      BYCC_TRY(parseVariable());
      if (!accept(TokenKind::Comma))
        break;
    }
    BYCC_TRY(expect(TokenKind::RightParen));
    if (accept(TokenKind::Arrow))
      BYCC_TRY(parseType());
    BYCC_TRY(expect(TokenKind::LeftBrace));
    uint32_t result = BYCC_TRY(parseItems());
    BYCC_TRY(expect(TokenKind::RightBrace));
    return result;
  }

  // %x [: type]: an operand.
  Expected<> parseVariable() {
    if (!at(TokenKind::Local))
      return fail() << "expected a variable, found " << describe(token_);
    std::string name(token_.text);
    if (locals_.contains(name))
      return fail() << "'%" << escaped(name) << "' is there already";
    if (asIdentifier(name) != name) // vendors get the names
      return fail() << "'%" << escaped(name) << "' is no name for an operand";
    advance();
    PatternNode node;
    node.kind = PatternKind::Capture;
    node.index = static_cast<uint32_t>(pattern_.captures.size());
    pattern_.captures.push_back(name);
    pattern_.params.push_back(name);
    uint32_t index = BYCC_TRY(add(std::move(node)));
    if (accept(TokenKind::Colon))
      index = BYCC_TRY(parseTyped(index));
    locals_.emplace(std::move(name), index);
    return {};
  }

  Expected<uint32_t> parseTyped(uint32_t child) {
    PatternNode node;
    node.kind = PatternKind::Typed;
    node.type = BYCC_TRY(parseType());
    node.children = {child};
    bool saysNothing = node.type->dtypes.empty() && !node.type->hasShape;
    return saysNothing ? Expected<uint32_t>(child) : add(std::move(node));
  }

  Expected<uint32_t> parseItems() {
    while (true) {
      if (atKeyword("free_var")) {
        advance();
        BYCC_TRY(parseVariable());
        BYCC_TRY(expect(TokenKind::Semicolon));
        continue;
      }
      if (atKeyword("let")) {
        advance();
        BYCC_TRY(parseLet());
        continue;
      }
      if (at(TokenKind::Graph) && !graph_.contains(token_.number)) {
        BYCC_TRY(parseGraphBinding());
        continue;
      }
      return parseExpression(0);
    }
  }

  Expected<> parseLet() {
    if (!at(TokenKind::Local))
      return fail() << "expected a variable after 'let', found " << describe(token_);
    std::string name(token_.text);
    if (locals_.contains(name))
      return fail() << "'%" << escaped(name) << "' is there already";
    advance();
    std::optional<TypeTest> type;
    if (accept(TokenKind::Colon))
      type = BYCC_TRY(parseType());
    BYCC_TRY(expect(TokenKind::Equal));
    uint32_t value = BYCC_TRY(parseExpression(0));
    BYCC_TRY(expect(TokenKind::Semicolon));
    if (type) {
      PatternNode node;
      node.kind = PatternKind::Typed;
      node.type = std::move(type);
      node.children = {value};
      value = BYCC_TRY(add(std::move(node)));
    }
    if (asIdentifier(name) == name)
      pattern_.shared.emplace_back(name, value);
    locals_.emplace(std::move(name), value);
    return {};
  }

  Expected<> parseGraphBinding() {
    uint64_t number = token_.number;
    Token start = token_;
    advance();
    if (!accept(TokenKind::Equal))
      return fail(start) << "'%" << number << "' is not bound";
    uint32_t value = BYCC_TRY(parseExpression(0));
    BYCC_TRY(expect(TokenKind::Semicolon));
    graph_.emplace(number, value);
    return {};
  }

  // --- expressions

  Expected<uint32_t> parseExpression(int level) {
    if (level == numLevels)
      return parsePostfix();
    if (level == 0 && ++depth_ > maxPatternDepth)
      return error(Status::Limit) << "nested deeper than " << maxPatternDepth;
    uint32_t left = BYCC_TRY(parseExpression(level + 1));
    while (const Infix *infix = infixHere(level)) {
      advance();
      PatternNode node;
      node.kind = PatternKind::Op;
      node.ops = {infix->op};
      node.children = {left, BYCC_TRY(parseExpression(level + 1))};
      left = BYCC_TRY(add(std::move(node)));
    }
    depth_ -= level == 0;
    return left;
  }

  const Infix *infixHere(int level) const {
    auto found = std::ranges::find_if(infixes, [&](const Infix &infix) {
      return infix.level == level && infix.token == token_.kind;
    });
    return found == std::end(infixes) ? nullptr : found;
  }

  Expected<uint32_t> parsePostfix() {
    uint32_t node = BYCC_TRY(parseAtom());
    while (at(TokenKind::Dot)) {
      token_ = lexer_.nextIndex();
      if (!at(TokenKind::Integer) || token_.number > UINT32_MAX)
        return fail() << "expected the index of a field after '.'";
      PatternNode project;
      project.kind = PatternKind::Project;
      project.index = static_cast<uint32_t>(token_.number);
      project.children = {node};
      advance();
      node = BYCC_TRY(add(std::move(project)));
    }
    return node;
  }

  Expected<uint32_t> parseAtom() {
    switch (token_.kind) {
    case TokenKind::Local:
      return parseLocal();
    case TokenKind::Graph: {
      auto found = graph_.find(token_.number);
      if (found == graph_.end())
        return fail() << "'%" << token_.number << "' is not bound";
      advance();
      return found->second;
    }
    case TokenKind::Minus:
    case TokenKind::Integer:
    case TokenKind::Float:
      return parseLiteral();
    case TokenKind::LeftParen:
      return parseParenthesised();
    case TokenKind::Identifier:
      if (atKeyword("True") || atKeyword("False") || isNumberWord())
        return parseLiteral();
      return parseCall();
    default:
      return fail() << "expected an expression, found " << describe(token_);
    }
  }

  Expected<uint32_t> parseLocal() {
    auto found = locals_.find(token_.text);
    if (found == locals_.end()) {
      std::vector<std::string> known;
      for (const auto &[name, node] : locals_)
        known.push_back(name);
      return fail() << unknownName("variable", token_.text, known)
                    << " (variables are declared: free_var %x;)";
    }
    advance();
    return found->second;
  }

  Expected<uint32_t> parseLiteral() {
    PatternNode node;
    node.kind = PatternKind::Constant;
    node.value = ValueTest();
    node.value->values = {BYCC_TRY(parseNumber())};
    return add(std::move(node));
  }

  Expected<uint32_t> parseParenthesised() {
    advance();
    std::vector<uint32_t> fields;
    bool isTuple = at(TokenKind::RightParen);
    while (!at(TokenKind::RightParen)) {
      fields.push_back(BYCC_TRY(parseExpression(0)));
      if (!accept(TokenKind::Comma))
        break;
      isTuple = true;
    }
    BYCC_TRY(expect(TokenKind::RightParen));
    if (!isTuple)
      return fields[0];
    PatternNode node;
    node.kind = PatternKind::Tuple;
    node.children = std::move(fields);
    return add(std::move(node));
  }

  Expected<uint32_t> parseCall() {
    Token start = token_;
    for (const char *keyword : {"if", "fn", "match", "def", "meta", "ref"})
      if (atKeyword(keyword))
        return fail() << "'" << keyword << "' has no place in a pattern";
    std::string name = dottedName();
    PatternNode node;
    if (OpId op = findOp(name)) {
      node.kind = PatternKind::Op;
      node.ops = {op};
    } else if (std::ranges::find(composites_, name) != composites_.end()) {
      node.kind = PatternKind::Composite;
      node.composite = name;
    } else {
      return fail(start) << unknownName("operator", name, allOpNames());
    }
    BYCC_TRY(expect(TokenKind::LeftParen));
    BYCC_TRY(parseArguments(node, name));
    BYCC_TRY(expect(TokenKind::RightParen));
    if (node.kind == PatternKind::Op)
      BYCC_TRY(checkArity(node, start));
    return add(std::move(node));
  }

  Expected<> checkArity(const PatternNode &node, const Token &start) {
    const OpInfo &info = opInfo(node.ops[0]);
    size_t count = node.children.size();
    if (count < info.minInputs || (!info.isVariadic && count > info.inputs.size()))
      return fail(start) << info.name << " takes " << info.inputs.size()
                         << " inputs, the pattern gives " << count;
    return {};
  }

  // Values, then key=value.
  Expected<> parseArguments(PatternNode &node, const std::string &name) {
    while (!at(TokenKind::RightParen)) {
      Token start = token_;
      if (at(TokenKind::Identifier) && isKey()) {
        std::string key = dottedName();
        BYCC_TRY(parseAttr(node, name, std::move(key), start));
      } else {
        node.children.push_back(BYCC_TRY(parseExpression(0)));
      }
      if (!accept(TokenKind::Comma))
        break;
    }
    return {};
  }

  // Is `word [. word] =` what comes?
  bool isKey() {
    Lexer lexer = lexer_;
    Token token = token_;
    while (token.kind == TokenKind::Identifier) {
      token = lexer.next();
      if (token.kind != TokenKind::Dot)
        break;
      token = lexer.next();
    }
    return token.kind == TokenKind::Equal;
  }

  Expected<> parseAttr(PatternNode &node, const std::string &name, std::string key,
                       const Token &start) {
    std::vector<std::string> known;
    if (node.kind == PatternKind::Op)
      for (const AttrSpec &spec : opInfo(node.ops[0]).attrs)
        known.push_back(spec.name);
    if (std::ranges::find(known, key) == known.end())
      return fail(start) << name << ": " << unknownName("attribute", key, known);
    advance(); // '='
    AttrTest test;
    test.key = std::move(key);
    test.anyOf = {BYCC_TRY(parseAttrValue(0))};
    node.attrs.push_back(std::move(test));
    return {};
  }

  Pattern &pattern_;
  std::span<const std::string> composites_;
  size_t size_;
  std::map<std::string, uint32_t, std::less<>> locals_;
  std::map<uint64_t, uint32_t> graph_;
  uint32_t depth_ = 0;
};

} // namespace

Expected<Pattern> parseRelayPattern(std::string_view name, std::string_view text,
                                    std::span<const std::string> composites) {
  Pattern pattern;
  pattern.name = name;
  pattern.anyOrder = true;
  pattern.root = BYCC_TRY(RelayPatternParser(pattern, text, composites).run());
  BYCC_TRY(finishPattern(pattern));
  return pattern;
}

} // namespace bycc
