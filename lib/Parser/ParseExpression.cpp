// Expressions: binary operators by precedence climbing, calls, atoms.
#include "RefusedOperators.h"
#include "RelayParser.h"

#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc {

namespace {

struct BinaryRow {
  TokenKind token;
  int precedence;
  std::string_view op;
};
constexpr BinaryRow binaryRows[] = {
    {TokenKind::Star, 3, "multiply"},    {TokenKind::Slash, 3, "divide"},
    {TokenKind::Plus, 2, "add"},         {TokenKind::Minus, 2, "subtract"},
    {TokenKind::Less, 1, "less"},        {TokenKind::LessEqual, 1, "less_equal"},
    {TokenKind::Greater, 1, "greater"},  {TokenKind::GreaterEqual, 1, "greater_equal"},
    {TokenKind::EqualEqual, 0, "equal"}, {TokenKind::NotEqual, 0, "not_equal"},
};

const BinaryRow *findBinary(TokenKind kind) {
  for (const BinaryRow &row : binaryRows)
    if (row.token == kind)
      return &row;
  return nullptr;
}

} // namespace

SourceId RelayParser::sourceOf(const Token &token) { return module_.addSource(place(token)); }

NodeId RelayParser::notSupported(const Token &token, std::string what) {
  return syntax(token, what + " is not supported", Status::Unsup);
}

NodeId RelayParser::parseExpression() {
  return isAtBinding() ? parseScopedItems() : parseBinary(0);
}

NodeId RelayParser::parseBinary(int level) {
  NodeId left = parseUnary();
  for (const BinaryRow *row;
       !panic_ && (row = findBinary(token_.kind)) && row->precedence >= level;) {
    Token token = token_;
    advance();
    NodeId right = parseBinary(row->precedence + 1);
    if (!left || !right) {
      left = {};
      continue;
    }
    OpId op = findOp(row->op);
    builder_.setSource(sourceOf(token));
    left =
        op ? take(builder_.call(op, {left, right}))
           : report(token, Status::Unsup, "operator " + std::string(row->op) + " is not supported");
  }
  return left;
}

// A run of '-' before a number negates by parity.
NodeId RelayParser::parseUnary() {
  if (!at(TokenKind::Minus))
    return parseCall();
  bool isNegative = false;
  while (accept(TokenKind::Minus))
    isNegative = !isNegative;
  bool isNumber = at(TokenKind::Integer) || at(TokenKind::Float) ||
                  (at(TokenKind::Identifier) && isSpecialNumber(token_.text));
  if (!isNumber)
    return syntax(token_, "a number after '-' is needed, found " + describe(token_));
  return parseNumber(isNegative);
}

NodeId RelayParser::parseCall() {
  NodeId node = parseAtom();
  while (!panic_) {
    if (at(TokenKind::Dot))
      node = parseProjections(node);
    else if (at(TokenKind::LeftParen))
      node = callValue(node, token_);
    else
      break;
  }
  return node;
}

NodeId RelayParser::parseProjections(NodeId node) {
  while (at(TokenKind::Dot)) {
    Token dot = token_;
    token_ = lexer_.nextIndex();
    if (!at(TokenKind::Integer))
      return syntax(token_, "an index after '.' is needed");
    uint64_t index = token_.number;
    advance();
    if (!node)
      continue;
    if (index > UINT32_MAX) {
      node = report(dot, Status::Input, "there is no field " + std::to_string(index));
      continue;
    }
    builder_.setSource(sourceOf(dot));
    node = take(builder_.project(node, static_cast<uint32_t>(index)));
  }
  return node;
}

NodeId RelayParser::localNamed(const Token &token) {
  if (auto it = locals_.find(token.text); it != locals_.end())
    return it->second;
  std::vector<std::string> names;
  for (const auto &[name, ignored] : locals_)
    if (names.size() < 1000)
      names.emplace_back(name);
  auto near = nearest(token.text, names);
  std::string hint = at(TokenKind::Equal) ? "a value with a name is bound by 'let %" +
                                                escaped(token.text) + " = ..;'"
                     : near ? "did you mean %" + escaped(*near) + "?"
                            : "";
  return report(token, Status::Input, "%" + escaped(token.text) + " is not defined", hint,
                MessageId::NotDefined);
}

NodeId RelayParser::parseGlobal() {
  Token token = token_;
  advance();
  auto found = definitionOf_.find(token.text);
  if (found != definitionOf_.end() && !lone_) {
    const Definition &definition = definitions_[found->second];
    return definition.isOk ? module_.globalRef(definition.function) : NodeId();
  }
  std::vector<std::string> names;
  for (const auto &[name, ignored] : definitionOf_)
    names.emplace_back(name);
  auto near = nearest(token.text, names);
  return report(token, Status::Input, "@" + escaped(token.text) + " is not defined",
                near ? "did you mean @" + escaped(*near) + "?" : "", MessageId::NotDefined);
}

NodeId RelayParser::parseAtom() {
  Token token = token_;
  switch (token.kind) {
  case TokenKind::Integer:
  case TokenKind::Float:
    return parseNumber(false);
  case TokenKind::Local:
    advance();
    return localNamed(token);
  case TokenKind::Graph:
    advance();
    if (auto node = findGraph(token.number))
      return *node;
    return report(token, Status::Input,
                  "%" + std::to_string(token.number) + " is used before it is defined", {},
                  MessageId::NotDefined);
  case TokenKind::Global:
    return parseGlobal();
  case TokenKind::LeftParen:
    return parseParenthesised();
  case TokenKind::Identifier:
    return parseNamed();
  default:
    return syntax(token, "an expression is needed, found " + describe(token));
  }
}

std::string RelayParser::dottedName() {
  std::string name(token_.text);
  advance();
  while (at(TokenKind::Dot)) {
    Lexer lexer = lexer_;
    Token dot = token_;
    advance();
    if (!at(TokenKind::Identifier)) {
      lexer_ = lexer;
      token_ = dot;
      break;
    }
    name.append(".").append(token_.text);
    advance();
  }
  return name;
}

// Keywords, literals with names, operators.
NodeId RelayParser::parseNamed() {
  Token token = token_;
  std::string_view word = token.text;
  if (word == "fn")
    return parseFunctionLiteral();
  if (word == "if")
    return parseIf();
  if (word == "meta")
    return parseMetaReference(token);
  if (word == "Tensor")
    return parseTensorLiteral(token);
  if (word == "True" || word == "False") {
    advance();
    return scalar(DType::Bool, word == "True");
  }
  if (isSpecialNumber(word))
    return parseNumber(false);
  if (word == "match" || word == "match?")
    return notSupported(token, "match");
  if (word == "ref" || word == "ref_read" || word == "ref_write")
    return notSupported(token, "a reference (" + std::string(word) + ")");
  if (word == "let" || word == "def" || word == "else" || word == "type" || word == "extern")
    return syntax(token, "an expression is needed, found " + describe(token));
  std::string name = dottedName();
  OpId op = findOp(name);
  if (op)
    return callOperator(op, token);
  if (opNames_.empty())
    opNames_ = allOpNames();
  bool isConstructor = word[0] >= 'A' && word[0] <= 'Z' && name == word;
  auto near = nearest(name, opNames_);
  std::string note = near ? "did you mean " + *near + "?" : "";
  if (name == "NaN" || name == "Infinity")
    report(token, Status::Input, name + " is no number of Relay text, nan and inf are");
  else if (isConstructor && !near)
    report(token, Status::Unsup,
           "constructor " + name + ": algebraic data types are not supported");
  else if (std::string_view reason = whyRefused(name); !reason.empty())
    report(token, Status::Unsup, "operator " + escaped(name) + ": " + std::string(reason));
  else
    report(token, Status::Unsup, "operator " + escaped(name) + " is not known", note,
           MessageId::UnknownOperator);
  if (at(TokenKind::LeftParen)) {
    advance();
    parseArguments();
  }
  return {};
}

// ( ), (e), (e,), (a, b) and (let ..; e)
NodeId RelayParser::parseParenthesised() {
  Token open = token_;
  if (!enter(open)) {
    leave();
    return {};
  }
  advance();
  std::vector<NodeId> fields;
  bool isTuple = at(TokenKind::RightParen), isOk = true;
  while (!panic_ && !at(TokenKind::RightParen)) {
    fields.push_back(parseExpression());
    isOk &= static_cast<bool>(fields.back());
    if (panic_ || !accept(TokenKind::Comma))
      break;
    isTuple = true;
  }
  leave();
  if (panic_ || !expect(TokenKind::RightParen, "after an expression in parentheses") || !isOk)
    return {};
  if (!isTuple)
    return fields.front();
  builder_.setSource(sourceOf(open));
  return take(builder_.limitedTuple(fields));
}

// if (c) { .. } else { .. }
NodeId RelayParser::parseIf() {
  Token word = token_;
  advance();
  if (!expect(TokenKind::LeftParen, "after 'if'"))
    return {};
  NodeId condition = parseExpression();
  if (panic_ || !expect(TokenKind::RightParen, "after a condition"))
    return {};
  BlockId thenBlock = module_.addIfBlocks(builder_.block());
  BlockId elseBlock(thenBlock.index + 1);
  NodeId thenResult = parseBracedBlock(thenBlock);
  if (panic_)
    return {};
  if (!atKeyword("else"))
    return syntax(token_, "'else' is needed after the first branch, found " + describe(token_));
  advance();
  NodeId elseResult = parseBracedBlock(elseBlock);
  if (panic_ || !condition || !thenResult || !elseResult)
    return {};
  module_.block(thenBlock).result = thenResult;
  module_.block(elseBlock).result = elseResult;
  builder_.setSource(sourceOf(word));
  return take(builder_.ifNode(condition, thenBlock));
}

// fn (..) -> T { .. }; with a name it may call itself by it.
NodeId RelayParser::parseFunctionLiteral(std::string_view name) {
  Token word = token_;
  advance();
  BlockId outer = builder_.block();
  FunctionId function = module_.addFunction({}, outer);
  module_.function(function).source = sourceOf(word);
  Signature signature = parseSignature(function);
  if (panic_)
    return {};
  Node node;
  node.kind = NodeKind::Function;
  node.payload = function.index;
  node.source = module_.function(function).source;
  node.type = module_.functionType(function);
  if (!module_.function(function).resultType)
    node.type = module_.types.incomplete();
  NodeId literal = module_.addNode(node);
  pushScope();
  if (!name.empty())
    bind(name, signature.isOk ? literal : NodeId());
  for (const auto &[param, id] : signature.params)
    bind(param, id);
  NodeId result = parseBracedBlock(module_.function(function).body);
  popScope();
  module_.block(module_.function(function).body).result = result;
  if (!signature.isOk || !finishFunction(function, word))
    return {};
  auto inferred = inferNode(module_, literal);
  if (!inferred)
    return take(inferred.takeError());
  module_.block(outer).nodes.push_back(literal);
  NodeId value = literal;
  while (!panic_ && at(TokenKind::LeftParen))
    value = callValue(value, token_);
  return value;
}

// --- calls

// `key =` of an attribute, both consumed; nullopt leaves everything as it was.
std::optional<std::string> RelayParser::attributeKey() {
  if (!at(TokenKind::Identifier))
    return std::nullopt;
  Token token = token_;
  Lexer lexer = lexer_;
  std::string key = dottedName();
  if (accept(TokenKind::Equal))
    return key;
  token_ = token;
  lexer_ = lexer;
  return std::nullopt;
}

bool RelayParser::parseAttribute(Arguments &arguments, std::string key, const Token &token) {
  auto value = parseAttrValue();
  if (!value)
    return arguments.isOk = false;
  if (object_)
    arguments.objects.push_back(key);
  auto wrong = [&](const char *what) {
    report(token, Status::Input, "attribute " + key + " is not " + what, {},
           MessageId::AttributeKind);
    return arguments.isOk = false;
  };
  if (key == "annotation.region") {
    if (!value->isInt() || value->asInt() < -1 || value->asInt() > INT32_MAX)
      return wrong("a region number");
    arguments.annotation.region = static_cast<int32_t>(value->asInt());
    arguments.isAnnotated = true;
    return true;
  }
  if (key == "annotation.vendors") {
    if (!value->isList())
      return wrong("a list of vendor names");
    for (const AttrValue &vendor : value->asList()) {
      if (!vendor.isString())
        return wrong("a list of vendor names");
      arguments.annotation.vendors.push_back(module_.intern(vendor.asString()));
    }
    arguments.isAnnotated = true;
    return true;
  }
  if (key == "annotation.asked") {
    if (!value->isString() || value->asString().empty())
      return wrong("the name of a vendor");
    arguments.asked = module_.intern(value->asString());
    return true;
  }
  if (key == "annotation.origin") {
    if (!value->isInt() || value->asInt() < 0 || value->asInt() >= UINT32_MAX)
      return wrong("the number of a node");
    arguments.origin = static_cast<uint32_t>(value->asInt());
    return true;
  }
  for (const Attr &attr : arguments.attrs)
    if (attr.key == key) {
      report(token, Status::Input, "attribute " + escaped(key) + " is given twice");
      return arguments.isOk = false;
    }
  arguments.attrs.push_back({std::move(key), std::move(*value)});
  return true;
}

// What follows the '('; the ')' is consumed.
RelayParser::Arguments RelayParser::parseArguments() {
  Arguments arguments;
  if (!enter(token_)) {
    leave();
    arguments.isOk = false;
    return arguments;
  }
  bool hasAttrs = false;
  while (!panic_ && !at(TokenKind::RightParen)) {
    Token token = token_;
    if (auto key = attributeKey()) {
      hasAttrs = true;
      parseAttribute(arguments, std::move(*key), token);
    } else {
      NodeId value = parseExpression();
      if (hasAttrs && !panic_) {
        report(token, Status::Input, "an argument stands behind an attribute");
        arguments.isOk = false;
      }
      arguments.isOk &= static_cast<bool>(value);
      arguments.values.push_back(value);
    }
    if (panic_ || !accept(TokenKind::Comma))
      break;
  }
  leave();
  if (panic_ || !expect(TokenKind::RightParen, "after arguments"))
    arguments.isOk = false;
  return arguments;
}

NodeId RelayParser::callOperator(OpId op, const Token &token) {
  if (!at(TokenKind::LeftParen))
    return syntax(token,
                  "operator " + std::string(opInfo(op).name) + " as a value is not supported",
                  Status::Unsup);
  advance();
  Arguments arguments = parseArguments();
  if (panic_)
    return {};
  SourceId source = sourceOf(token);
  if (op == ops::nn_pad)
    completePad(arguments);
  dropForeignAttrs(op, arguments, token);
  auto attrs = checkAttrs(op, std::move(arguments.attrs), module_.source(source));
  if (!attrs)
    return take(attrs.takeError());
  if (!arguments.isOk)
    return {};
  builder_.setSource(source);
  NodeId node = take(
      builder_.callWithAttrs(op, arguments.values, module_.attributes.intern(std::move(*attrs))));
  annotate(node, arguments);
  return node;
}

// What is printed of a partitioner's view of a call.
void RelayParser::annotate(NodeId node, Arguments &arguments) {
  if (!node)
    return;
  if (arguments.isAnnotated)
    module_.setAnnotation(node, std::move(arguments.annotation));
  if (arguments.asked != StringId(0))
    module_.node(node).source = module_.addAskedSource(module_.node(node).source, arguments.asked);
  if (arguments.origin && options_.origins)
    options_.origins->emplace_back(node, *arguments.origin);
}

NodeId RelayParser::callValue(NodeId callee, const Token &open) {
  Token token = open;
  advance();
  Arguments arguments = parseArguments();
  if (panic_ || !callee || !arguments.isOk)
    return {};
  reportMisplacedVendor(arguments, "a call of a function", token);
  if (!arguments.isOk)
    return {};
  // Attributes of such a call are for who made the program: they do not reach the function.
  bool isTyped = std::ranges::count(arguments.attrs, "attrs_type_key", &Attr::key) > 0;
  if (isTyped && arguments.attrs.size() > 1)
    warn(token, "attributes of a call of a function have no effect");
  if (!arguments.attrs.empty() && !isTyped)
    return report(token, Status::Input,
                  "a call of a function has the attribute " + escaped(arguments.attrs.front().key));
  TypeId type = module_.type(callee);
  if (module_.types.kind(type) == TypeKind::Incomplete)
    return report(token, Status::Input, "a recursive function needs a declared result type");
  if (module_.types.kind(type) != TypeKind::Function)
    return report(token, Status::Input,
                  "a value of type " + module_.types.str(type) + " is called");
  builder_.setSource(sourceOf(token));
  NodeId node = take(builder_.callFunction(callee, arguments.values));
  annotate(node, arguments);
  return node;
}

} // namespace bycc
