// Types and dims. An identifier as a dim is a symbol; what TypeTable prints, parses.
#include "RelayParser.h"

#include "bycc/Support/Text.h"

namespace bycc {

std::optional<DType> RelayParser::parseDTypeName() {
  if (!at(TokenKind::Identifier)) {
    syntax(token_, "a dtype is needed, found " + describe(token_));
    return std::nullopt;
  }
  if (auto dtype = parseDType(token_.text)) {
    advance();
    return dtype;
  }
  std::vector<std::string> names;
  for (int i = 0; i < numDTypes; ++i)
    names.emplace_back(bycc::name(static_cast<DType>(i)));
  auto near = nearest(token_.text, names);
  bool isForeign = token_.text.starts_with("complex") || token_.text.starts_with("float") ||
                   token_.text.starts_with("int") || token_.text.starts_with("uint") ||
                   token_.text.starts_with("custom");
  std::string message = "dtype " + std::string(token_.text.substr(0, 64)) + " is not supported" +
                        (near ? "; did you mean " + *near + "?" : "");
  if (!isForeign) {
    syntax(token_, message);
    return std::nullopt;
  }
  // Reading goes on with some dtype, so that what else is not supported is told as well.
  report(token_, Status::Unsup, message);
  advance();
  return DType::Float32;
}

std::optional<Dim> RelayParser::parseDimAtom() {
  Token token = token_;
  if (accept(TokenKind::Question))
    return Dim::unknown();
  if (at(TokenKind::Integer)) {
    advance();
    if (token.number > INT64_MAX) {
      syntax(token, "a dim does not fit 63 bits");
      return std::nullopt;
    }
    return Dim(static_cast<int64_t>(token.number));
  }
  if (accept(TokenKind::LeftParen)) {
    auto dim = parseDim();
    if (!dim || !expect(TokenKind::RightParen, "after a dim"))
      return std::nullopt;
    return dim;
  }
  if (!at(TokenKind::Identifier)) {
    syntax(token, "a dim is an integer of at least 0, '?' or a symbol, found " + describe(token));
    return std::nullopt;
  }
  if (token.text == "meta") {
    Lexer ahead = lexer_;
    if (ahead.next().kind == TokenKind::LeftBracket)
      return parseMetaDim();
  }
  advance();
  if (!at(TokenKind::LeftParen))
    return module_.types.symbol(token.text);
  DimOp op = token.text == "min" ? DimOp::Min : token.text == "max" ? DimOp::Max : DimOp::CeilDiv;
  if (op == DimOp::CeilDiv && token.text != "ceildiv") {
    syntax(token, "a dim has min, max and ceildiv, not " + describe(token));
    return std::nullopt;
  }
  advance();
  auto left = parseDim();
  if (!left || !expect(TokenKind::Comma, "between dims"))
    return std::nullopt;
  auto right = parseDim();
  if (!right || !expect(TokenKind::RightParen, "after dims"))
    return std::nullopt;
  return module_.types.dim(op, *left, *right);
}

std::optional<Dim> RelayParser::parseDim() {
  if (!enter(token_)) {
    leave();
    return std::nullopt;
  }
  auto parseTerm = [&]() -> std::optional<Dim> {
    auto left = parseDimAtom();
    while (left && (at(TokenKind::Star) || at(TokenKind::Slash) || at(TokenKind::Percent))) {
      DimOp op = at(TokenKind::Star)    ? DimOp::Mul
                 : at(TokenKind::Slash) ? DimOp::FloorDiv
                                        : DimOp::Mod;
      advance();
      auto right = parseDimAtom();
      if (!right)
        return std::nullopt;
      left = module_.types.dim(op, *left, *right);
    }
    return left;
  };
  auto left = parseTerm();
  while (left && (at(TokenKind::Plus) || at(TokenKind::Minus))) {
    DimOp op = at(TokenKind::Plus) ? DimOp::Add : DimOp::Sub;
    advance();
    auto right = parseTerm();
    left = right ? std::optional(module_.types.dim(op, *left, *right)) : std::nullopt;
  }
  leave();
  return left;
}

// Tensor[(dims), dtype, layout="..", device=n]
std::optional<TypeId> RelayParser::parseTensorType() {
  Token word = token_;
  advance();
  if (!expect(TokenKind::LeftBracket, "after 'Tensor'") ||
      !expect(TokenKind::LeftParen, "before a shape"))
    return std::nullopt;
  std::vector<Dim> shape;
  while (!at(TokenKind::RightParen)) {
    auto dim = parseDim();
    if (!dim)
      return std::nullopt;
    shape.push_back(*dim);
    if (!accept(TokenKind::Comma))
      break;
  }
  if (!expect(TokenKind::RightParen, "after a shape") ||
      !expect(TokenKind::Comma, "between shape and dtype"))
    return std::nullopt;
  auto dtype = parseDTypeName();
  if (!dtype)
    return std::nullopt;
  std::string layout;
  int32_t device = 0;
  while (accept(TokenKind::Comma)) {
    bool isLayout = atKeyword("layout"), isDevice = atKeyword("device");
    advance();
    if (!expect(TokenKind::Equal, "in a tensor type"))
      return std::nullopt;
    if (isLayout && at(TokenKind::String))
      layout = token_.text;
    else if (isDevice && at(TokenKind::Integer) && token_.number <= INT32_MAX)
      device = static_cast<int32_t>(token_.number);
    else {
      syntax(token_, "a tensor type has layout=\"..\" and device=n");
      return std::nullopt;
    }
    advance();
  }
  if (!expect(TokenKind::RightBracket, "after a tensor type"))
    return std::nullopt;
  TypeId type = module_.types.tensor(*dtype, shape, layout, device);
  if (auto checked = checkTensorType(module_, type, place(word)); !checked) {
    report(checked.takeError());
    return std::nullopt;
  }
  return type;
}

// (T, T), (T,) and (T) for T itself
std::optional<TypeId> RelayParser::parseTupleType() {
  if (!enter(token_)) {
    leave();
    return std::nullopt;
  }
  advance();
  std::vector<TypeId> fields;
  bool isTuple = at(TokenKind::RightParen);
  while (!at(TokenKind::RightParen)) {
    auto field = parseType();
    if (!field) {
      leave();
      return std::nullopt;
    }
    fields.push_back(*field);
    if (!accept(TokenKind::Comma))
      break;
    isTuple = true;
  }
  leave();
  if (!expect(TokenKind::RightParen, "after a tuple type"))
    return std::nullopt;
  return isTuple ? module_.types.tuple(fields) : fields.front();
}

std::optional<TypeId> RelayParser::parseFunctionType() {
  advance();
  if (at(TokenKind::LeftBracket)) {
    notSupported(token_, "a type parameter");
    return std::nullopt;
  }
  if (!enter(token_)) {
    leave();
    return std::nullopt;
  }
  std::vector<TypeId> params;
  bool isOk = expect(TokenKind::LeftParen, "after 'fn'");
  while (isOk && !at(TokenKind::RightParen)) {
    auto param = parseType();
    isOk = param.has_value();
    if (isOk)
      params.push_back(*param);
    if (!isOk || !accept(TokenKind::Comma))
      break;
  }
  isOk = isOk && expect(TokenKind::RightParen, "after parameter types") &&
         expect(TokenKind::Arrow, "in a function type");
  auto result = isOk ? parseType() : std::nullopt;
  leave();
  if (!result)
    return std::nullopt;
  return module_.types.function(params, *result);
}

std::optional<TypeId> RelayParser::parseType() {
  if (at(TokenKind::LeftParen))
    return parseTupleType();
  if (atKeyword("Tensor"))
    return parseTensorType();
  if (atKeyword("fn"))
    return parseFunctionType();
  if (atKeyword("_")) {
    advance();
    return module_.types.incomplete();
  }
  if (at(TokenKind::Identifier) && token_.text[0] >= 'A' && token_.text[0] <= 'Z') {
    notSupported(token_, "type " + std::string(token_.text.substr(0, 64)));
    return std::nullopt;
  }
  auto dtype = parseDTypeName();
  if (!dtype)
    return std::nullopt;
  return module_.types.tensor(*dtype, {});
}

} // namespace bycc
