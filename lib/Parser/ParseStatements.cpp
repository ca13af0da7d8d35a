// Sequences: `%n = e;`, `let %x = e;`, `e;` and the expression that ends them. A
// loop, however long; only braces and parentheses nest.
#include "RelayParser.h"
#include "bycc/Support/Messages.h"

namespace bycc {

// To behind the next `;` of this level, or to what closes the level.
void RelayParser::recover() {
  if (fatal_)
    return;
  panic_ = false;
  uint64_t depth = 0;
  while (!at(TokenKind::End) && !at(TokenKind::Metadata)) {
    bool opens = at(TokenKind::LeftBrace) || at(TokenKind::LeftParen) || at(TokenKind::LeftBracket);
    bool closes =
        at(TokenKind::RightBrace) || at(TokenKind::RightParen) || at(TokenKind::RightBracket);
    // A stray ')' inside of a block is skipped: only '}' closes what holds statements.
    if (depth == 0 && at(TokenKind::RightBrace))
      return;
    if (depth == 0 && at(TokenKind::Semicolon)) {
      advance();
      return;
    }
    // The next line that starts with a binding, when the error lost count of brackets.
    if (depth > 0 && token_.column <= 3 &&
        (at(TokenKind::Graph) || atKeyword("let") || at(TokenKind::RightBrace)))
      return;
    depth += opens;
    depth -= closes && depth > 0;
    advance();
  }
}

bool RelayParser::isAtBinding() {
  if (atKeyword("let") || atKeyword("free_var") || at(TokenKind::LeftBrace))
    return true;
  if (!at(TokenKind::Graph))
    return false;
  Lexer ahead = lexer_;
  return ahead.next().kind == TokenKind::Equal;
}

// A node that this statement made becomes a let; anything else gets one more name.
void RelayParser::markLet(NodeId node, uint32_t before, std::string_view name) {
  if (!node || node.index < before || module_.isLeaf(node) || module_.node(node).isLet)
    return;
  module_.node(node).isLet = true;
  if (!name.empty())
    module_.node(node).name = module_.intern(name);
}

// The name that the metadata keeps, else %n. Names of foreign formats have no '%'.
void RelayParser::applyName(NodeId node, uint64_t number) {
  bool isKept = names_ && names_->isArray() && number < names_->items.size() &&
                names_->items[number].isString() && !names_->items[number].string.empty();
  std::string name = isKept ? names_->items[number].string : "%" + std::to_string(number);
  if (name[0] == '%') {
    module_.node(node).name = module_.intern(name);
    return;
  }
  SourceLocation source = module_.source(node);
  source.node = name;
  module_.node(node).source = module_.addSource(std::move(source));
}

// %n = e ;   False when `%n` starts an expression instead; nothing is consumed then.
bool RelayParser::parseGraphBinding() {
  Token name = token_;
  Lexer lexer = lexer_;
  advance();
  if (!at(TokenKind::Equal)) {
    token_ = name;
    lexer_ = lexer;
    return false;
  }
  advance();
  uint32_t before = module_.numNodes();
  NodeId value = parseBinary(0);
  if (!bindGraph(name.number, value))
    report(name, Status::Input,
           "%" + std::to_string(name.number) + " is defined twice in one scope");
  if (value && value.index >= before && !module_.isLeaf(value) &&
      module_.node(value).name == StringId(0))
    applyName(value, name.number);
  if (!panic_)
    expect(TokenKind::Semicolon, "after a binding");
  return true;
}

// let %x [: T] = e ;   The name is visible in a function on the right-hand side.
bool RelayParser::parseLet() {
  advance();
  Token name = token_;
  if (atKeyword("_"))
    name.text = {};
  else if (!at(TokenKind::Local)) {
    syntax(token_, "a variable after 'let' is needed, found " + describe(token_));
    return false;
  }
  advance();
  if (!skipVariableAttrs())
    return false;
  std::optional<TypeId> declared;
  if (accept(TokenKind::Colon) && !(declared = parseType()))
    return false;
  if (!expect(TokenKind::Equal, "in a let"))
    return false;
  uint32_t before = module_.numNodes();
  NodeId value = atKeyword("fn") ? parseFunctionLiteral(name.text) : parseBinary(0);
  if (value && declared && !isAssignable(module_, module_.type(value), *declared))
    value =
        report(name, Status::Input,
               "%" + std::string(name.text) + " is declared as " + module_.types.str(*declared) +
                   " and bound to a value of type " + module_.types.str(module_.type(value)));
  markLet(value, before, name.text);
  if (!name.text.empty())
    bind(name.text, value);
  return !panic_ && expect(TokenKind::Semicolon, "after a let");
}

// free_var %x: T ;   Only a lone expression has free variables.
void RelayParser::parseFreeVar() {
  Token word = token_;
  advance();
  if (!lone_ || nesting_ > 0) {
    syntax(word, "a free variable stands outside of a lone expression");
    return;
  }
  if (!at(TokenKind::Local)) {
    syntax(token_, "a variable after 'free_var' is needed, found " + describe(token_));
    return;
  }
  Signature signature;
  if (locals_.contains(token_.text))
    report(token_, Status::Input, "%" + std::string(token_.text) + " is defined twice", {},
           MessageId::DefinedTwice);
  Token name = token_;
  parseParam(lone_, signature);
  bind(name.text, signature.params.empty() ? NodeId() : signature.params.front().second);
  if (!panic_)
    accept(TokenKind::Semicolon);
}

NodeId RelayParser::parseItems() {
  auto isClosed = [&] {
    return at(TokenKind::RightBrace) || at(TokenKind::RightParen) || at(TokenKind::Comma) ||
           at(TokenKind::End) || at(TokenKind::Metadata);
  };
  while (!fatal_) {
    if (at(TokenKind::Graph) && parseGraphBinding()) {
      // one more name
    } else if (atKeyword("let")) {
      parseLet();
    } else if (atKeyword("free_var")) {
      parseFreeVar();
    } else {
      uint32_t before = module_.numNodes();
      NodeId value = at(TokenKind::LeftBrace) ? parseScopedItems() : parseBinary(0);
      if (!panic_ && isClosed())
        return value;
      if (!panic_ && accept(TokenKind::Semicolon))
        markLet(value, before, {});
      else
        syntax(token_, "';' or the end of the block is needed, found " + describe(token_));
    }
    if (panic_) {
      recover();
      if (isClosed())
        return {};
    }
  }
  return {};
}

// Bindings in parentheses or braces: a scope of their own in the same block.
NodeId RelayParser::parseScopedItems() {
  Token open = token_;
  bool isBraced = accept(TokenKind::LeftBrace);
  if (!enter(open)) {
    leave();
    return {};
  }
  pushScope();
  NodeId value = parseItems();
  popScope();
  leave();
  if (isBraced && !panic_)
    expect(TokenKind::RightBrace, "after a block");
  return value;
}

NodeId RelayParser::parseBracedBlock(BlockId block) {
  Token open = token_;
  if (!expect(TokenKind::LeftBrace, "before a block"))
    return {};
  if (!enter(open)) {
    leave();
    return {};
  }
  BlockId outer = builder_.block();
  builder_.setBlock(block);
  pushScope();
  NodeId result = parseItems();
  popScope();
  builder_.setBlock(outer);
  leave();
  if (!panic_)
    expect(TokenKind::RightBrace, "after a block");
  return result;
}

} // namespace bycc
