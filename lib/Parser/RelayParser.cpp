// The module level of Relay text. A first pass over the tokens collects the
// signatures of all definitions and finds the metadata, so that bodies may refer
// to both; bodies are then parsed callees first, since a call needs the type of
// what it calls.
#include "RelayParser.h"

#include "bycc/IR/Functions.h"
#include "bycc/Support/FileKind.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <cctype>

namespace bycc {

RelayParser::RelayParser(std::string_view text, const std::string &file,
                         const ParseOptions &options)
    : text_(text), file_(file), options_(options), lexer_(text), builder_(module_, BlockId()) {
  lexer_.setStrings(&strings_);
  if (options.base)
    module_ = std::move(*options.base);
  numGiven_ = module_.constants.size();
}

// --- tokens and diagnostics

bool RelayParser::accept(TokenKind kind) {
  if (!at(kind))
    return false;
  advance();
  return true;
}

bool RelayParser::expect(TokenKind kind, std::string_view after) {
  if (accept(kind))
    return true;
  if (!panic_)
    syntax(token_, std::string(spelling(kind)) + " is needed " + std::string(after) + ", found " +
                       describe(token_));
  return false;
}

SourceLocation RelayParser::place(const Token &token) const {
  return {file_, token.line, token.column, {}, {}};
}

// The source line, cut to what surrounds the place, and a caret under it.
std::string RelayParser::excerpt(const SourceLocation &location) const {
  constexpr size_t before = 60, width = 100;
  if (location.line == 0 || location.line > lineStarts_.size() || location.column == 0)
    return {};
  size_t begin = lineStarts_[location.line - 1];
  size_t end = std::min(text_.find('\n', begin), text_.size());
  size_t column = std::min<size_t>(location.column - 1, end - begin);
  size_t first = column > before ? begin + column - before : begin;
  std::string_view line = text_.substr(first, std::min(end - first, width));
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  std::string caret;
  for (char c : line.substr(0, begin + column - first))
    caret += c == '\t' ? '\t' : ' ';
  return "  " + std::string(line) + "\n  " + caret + "^";
}

void RelayParser::report(Diagnostic diagnostic) {
  if (fatal_)
    return;
  if (lineStarts_.empty()) {
    lineStarts_.push_back(0);
    for (size_t i = 0; (i = text_.find('\n', i)) != std::string_view::npos;)
      lineStarts_.push_back(static_cast<uint32_t>(++i));
  }
  if (diagnostic.excerpt.empty() && diagnostic.location.file == file_)
    diagnostic.excerpt = excerpt(diagnostic.location);
  errors_.push_back(std::move(diagnostic));
  if (tooManyErrors())
    stop();
}

void RelayParser::report(Error error, uint32_t addLines) {
  for (Diagnostic &diagnostic : error.diagnostics()) {
    if (diagnostic.location.file.empty())
      diagnostic.location = place(token_);
    else
      diagnostic.location.line += addLines;
    report(std::move(diagnostic));
  }
}

// From here on only the end of the text is seen.
void RelayParser::stop() {
  fatal_ = panic_ = true;
  token_.kind = TokenKind::End;
  lexer_ = Lexer({});
  lexer_.setStrings(&strings_);
}

// Whether the program ends in a word (with dots), which may then be half of one.
bool RelayParser::isCut(const Token &token) const {
  if (!isProgram_ || token.kind != TokenKind::Identifier)
    return false;
  auto goesOn = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  };
  size_t end = static_cast<size_t>(token.text.data() - text_.data());
  while (end < text_.size() && goesOn(text_[end]))
    ++end;
  return text_.find_first_not_of(" \t\r\n", end) == std::string_view::npos;
}

NodeId RelayParser::report(const Token &token, Status status, std::string message, std::string note,
                           MessageId id) {
  Diagnostic diagnostic;
  diagnostic.id = id;
  diagnostic.status = status;
  diagnostic.location = place(token);
  diagnostic.message = std::move(message);
  if (status == Status::Unsup && isCut(token)) {
    diagnostic.status = Status::Input;
    diagnostic.message += "; the file ends here";
  }
  if (!note.empty())
    diagnostic.notes.push_back({{}, std::move(note)});
  report(std::move(diagnostic));
  return {};
}

NodeId RelayParser::syntax(const Token &token, std::string message, Status status) {
  if (token.kind == TokenKind::Bad)
    message = std::string(token.text);
  if (!panic_)
    report(token, status, std::move(message), {},
           status == Status::Input ? MessageId::Syntax : MessageId{});
  panic_ = true;
  return {};
}

NodeId RelayParser::take(Expected<NodeId> node) {
  if (node)
    return *node;
  report(node.takeError());
  return {};
}

bool RelayParser::enter(const Token &token) {
  if (nesting_++ < maxNesting)
    return true;
  if (!fatal_) {
    report(token, Status::Limit,
           "brackets and blocks nest deeper than " + std::to_string(maxNesting));
    stop();
  }
  return false;
}

// --- scopes

void RelayParser::pushScope() {
  scopes_.emplace_back();
  scopes_.back().undoBegin = undo_.size();
}

void RelayParser::popScope() {
  while (undo_.size() > scopes_.back().undoBegin) {
    auto &[name, old] = undo_.back();
    if (old)
      locals_[name] = *old;
    else
      locals_.erase(name);
    undo_.pop_back();
  }
  scopes_.pop_back();
}

void RelayParser::bind(std::string_view name, NodeId node) {
  auto [it, isNew] = locals_.try_emplace(name, node);
  undo_.emplace_back(name, isNew ? std::nullopt : std::optional(it->second));
  it->second = node;
}

bool RelayParser::bindGraph(uint64_t number, NodeId node) {
  nextGraphNumber_ = std::max(nextGraphNumber_, number + 1);
  Scope &scope = scopes_.back();
  if (number < 2 * scope.dense.size() + 1024) {
    if (number >= scope.dense.size())
      scope.dense.resize(number + 1);
    if (scope.dense[number])
      return false;
    scope.dense[number] = node;
    return true;
  }
  return scope.sparse.try_emplace(number, node).second;
}

std::optional<NodeId> RelayParser::findGraph(uint64_t number) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (number < scope->dense.size() && scope->dense[number])
      return scope->dense[number];
    if (auto it = scope->sparse.find(number); it != scope->sparse.end())
      return it->second;
  }
  return std::nullopt;
}

// --- signatures

bool RelayParser::parseParam(FunctionId function, Signature &signature) {
  Token name = token_;
  advance();
  if (!skipVariableAttrs())
    return signature.isOk = false;
  if (!at(TokenKind::Colon)) {
    report(name, Status::Input, "parameter %" + std::string(name.text) + " has no type",
           "write %" + std::string(name.text) + ": Tensor[(2, 3), float32]", MessageId::NoType);
    signature.isOk = false;
    return true;
  }
  advance();
  Token typeToken = token_;
  auto type = parseType();
  if (!type)
    return signature.isOk = false;
  if (module_.types.kind(*type) == TypeKind::Incomplete) {
    report(typeToken, Status::Input,
           "parameter %" + std::string(name.text) + " needs a complete type", {},
           MessageId::NoType);
    signature.isOk = false;
  }
  // Of many it is said once, below.
  for (size_t i = 0; i < signature.params.size() && signature.params.size() <= 1000; ++i)
    if (signature.params[i].first == name.text) {
      report(name, Status::Input, "parameter %" + std::string(name.text) + " is defined twice", {},
             MessageId::DefinedTwice);
      signature.isOk = false;
    }
  NodeId param = module_.addParam(name.text, *type, sourceOf(name));
  module_.function(function).params.push_back(param);
  signature.params.emplace_back(name.text, param);
  return true;
}

// '(' params, attributes ')' ['->' type]
RelayParser::Signature RelayParser::parseSignature(FunctionId function) {
  Signature signature;
  AttrDict attrs;
  if (at(TokenKind::LeftBracket)) {
    syntax(token_, "type parameters are not supported", Status::Unsup);
    signature.isOk = false;
    return signature;
  }
  if (!expect(TokenKind::LeftParen, "before parameters")) {
    signature.isOk = false;
    return signature;
  }
  while (!panic_ && !at(TokenKind::RightParen)) {
    if (at(TokenKind::Local)) {
      parseParam(function, signature);
    } else if (Token token = token_; auto key = attributeKey()) {
      if (auto value = parseAttrValue())
        addFunctionAttr(attrs, std::move(*key), std::move(*value), token);
    } else {
      syntax(token_, "a parameter or an attribute is needed, found " + describe(token_));
    }
    if (!panic_ && !accept(TokenKind::Comma))
      break;
  }
  if (!panic_)
    expect(TokenKind::RightParen, "after parameters");
  if (!panic_ && accept(TokenKind::Arrow))
    if (auto type = parseType(); type && module_.types.kind(*type) != TypeKind::Incomplete)
      module_.function(function).resultType = *type;
  std::ranges::sort(signature.params);
  auto repeated = std::ranges::adjacent_find(signature.params, {}, [](auto &p) { return p.first; });
  if (signature.isOk && repeated != signature.params.end()) {
    report(token_, Status::Input,
           "parameter %" + std::string(repeated->first) + " is defined twice", {},
           MessageId::DefinedTwice);
    signature.isOk = false;
  }
  module_.function(function).attrs = module_.attributes.intern(std::move(attrs));
  setNonEmptySymbols(module_, function);
  signature.isOk &= !panic_;
  return signature;
}

bool RelayParser::finishFunction(FunctionId function, const Token &token) {
  Function &f = module_.function(function);
  NodeId result = module_.block(f.body).result;
  if (!result)
    return false;
  TypeId actual = module_.type(result);
  if (f.resultType && !isAssignable(module_, actual, f.resultType)) {
    std::string name =
        f.name == StringId(0) ? "the function" : "@" + std::string(module_.string(f.name));
    report(token, Status::Input,
           name + " is declared to return " + module_.types.str(f.resultType) + " and returns " +
               module_.types.str(actual),
           {}, MessageId::DeclaredType);
    return false;
  }
  return true;
}

// --- first pass: signatures and metadata

bool RelayParser::checkBytes() {
  auto fail = [&](Status status, const std::string &message, MessageId id = {}) {
    Diagnostic diagnostic;
    diagnostic.id = id;
    diagnostic.status = status;
    diagnostic.location.file = file_;
    diagnostic.message = message;
    errors_.push_back(std::move(diagnostic));
    return false;
  };
  if (text_.empty())
    return fail(Status::Input, "the file is empty", MessageId::EmptyFile);
  if (text_.size() > (uint64_t{2} << 30))
    return fail(Status::Limit, "the file is larger than 2 GiB");
  if (std::string_view kind = kindOfBytes(text_); !kind.empty() && kind != "Relay text")
    return fail(Status::Input, "is no Relay text, it looks like " + std::string(kind),
                MessageId::OtherFormat);
  size_t bad = text_.find('\0');
  if (bad != std::string_view::npos)
    return fail(Status::Input, "a NUL byte at offset " + std::to_string(bad), MessageId::NotText);
  if (!isValidUtf8(text_, &bad))
    return fail(Status::Input, "bad UTF-8 at offset " + std::to_string(bad), MessageId::NotText);
  if (text_.size() == 1)
    return fail(Status::Input, "one byte is no program");
  return true;
}

void RelayParser::skipToDefinition() {
  panic_ = fatal_;
  while (!at(TokenKind::End) && !at(TokenKind::Metadata) && !atKeyword("def") && !fatal_)
    advance();
}

// Over the body's braces; notes which globals it names.
void RelayParser::skipBody(Definition &definition) {
  uint64_t depth = 0;
  do {
    if (at(TokenKind::LeftBrace))
      ++depth;
    else if (at(TokenKind::RightBrace))
      --depth;
    else if (at(TokenKind::Global) &&
             (definition.callees.empty() || definition.callees.back() != token_.text))
      definition.callees.push_back(token_.text);
    advance();
  } while (depth > 0 && !at(TokenKind::End) && !at(TokenKind::Metadata));
}

void RelayParser::scanDefinition() {
  advance(); // def
  Token name = token_;
  if (!expect(TokenKind::Global, "after 'def'"))
    return skipToDefinition();
  if (module_.globals().size() == maxFunctions) {
    report(name, Status::Limit,
           "the program has " + std::to_string(maxFunctions + 1) +
               " or more functions, the limit is " + std::to_string(maxFunctions));
    return stop();
  }
  bool isNew = !definitionOf_.contains(name.text);
  if (!isNew)
    report(name, Status::Input, "@" + std::string(name.text) + " is defined twice", {},
           MessageId::DefinedTwice);
  Definition definition{};
  definition.function = module_.addFunction(isNew ? name.text : std::string_view{});
  definition.nameToken = name;
  definition.isOk = isNew;
  module_.function(definition.function).source = sourceOf(name);
  definition.problems = collect([&] {
    Signature signature = parseSignature(definition.function);
    definition.params = std::move(signature.params);
    definition.isOk &= signature.isOk;
  });
  while (panic_ && !at(TokenKind::LeftBrace) && !at(TokenKind::End) && !at(TokenKind::Metadata) &&
         !atKeyword("def"))
    advance();
  panic_ = fatal_;
  if (!at(TokenKind::LeftBrace)) {
    if (definition.problems.empty())
      syntax(token_, "'{' is needed before a function's body, found " + describe(token_));
    skipToDefinition();
    definition.isOk = false;
  } else {
    definition.lexer = lexer_;
    definition.token = token_;
    definition.hasBody = definition.isOk;
    skipBody(definition);
  }
  if (!isNew)
    return;
  definitionOf_.emplace(name.text, definitions_.size());
  if (definition.isOk)
    module_.node(module_.globalRef(definition.function)).type =
        module_.functionType(definition.function);
  definitions_.push_back(std::move(definition));
}

void RelayParser::parseMetadata(const Token &token) {
  auto json = parseJson(text_.substr(lexer_.offset()), file_);
  if (!json) {
    report(json.takeError(), token.line - 1);
    return;
  }
  metadata_ = json.takeValue();
  metadataLine_ = token.line;
  if (!metadata_.isObject())
    report(token, Status::Input, "metadata is not a JSON object");
  if (ObjectGraph::looksLike(metadata_))
    return parseObjectGraph();
  for (const auto &[key, value] : metadata_.members) {
    if (key == "relay.Constant" && value.isArray()) {
      constants_ = &value;
    } else if (key == "bycc.names" && value.isObject()) {
      nodeNames_ = &value;
      module_.moduleAttrs.push_back({"keep_names", true}); // printed with names again
    } else if (key == "relay.Constant" || key == "bycc.names") {
      report(token, Status::Input,
             "metadata '" + key + "' is not " + (key == "bycc.names" ? "an object" : "a list"));
    } else {
      warn(token, "metadata of kind '" + escaped(key) + "' is not read");
    }
    if (fatal_)
      break;
  }
}

void RelayParser::parseObjectGraph() {
  auto graph = ObjectGraph::read(metadata_, file_);
  if (graph)
    objects_ = graph.takeValue();
  else
    report(graph.takeError(), metadataLine_ - 1);
}

void RelayParser::scanModule() {
  bool hasVersion = at(TokenKind::Version);
  if (hasVersion) {
    if (token_.text != "0.0.5")
      report(token_, Status::Unsup,
             "version \"" + std::string(token_.text) + "\" of Relay text is not supported",
             "this reader knows \"0.0.5\"");
    advance();
  }
  while (!at(TokenKind::End) && !fatal_) {
    if (atKeyword("def")) {
      if (!hasVersion)
        report(token_, Status::Input, "a module starts with #[version = \"0.0.5\"]", {},
               MessageId::NoVersionLine);
      hasVersion = true;
      scanDefinition();
    } else if (at(TokenKind::Metadata)) {
      return parseMetadata(token_);
    } else if (atKeyword("type") || atKeyword("extern")) {
      skipTypeDefinition();
    } else if (definitions_.empty() && typeNames_.empty() && !lone_ && errors_.empty()) {
      lone_ = module_.addFunction("main");
      Definition whole{};
      whole.function = lone_;
      whole.lexer = lexer_;
      whole.token = whole.nameToken = token_;
      whole.hasBody = whole.isReached = true;
      definitions_.push_back(std::move(whole));
      while (!at(TokenKind::End) && !at(TokenKind::Metadata))
        advance();
    } else {
      syntax(token_, "'def' is needed, found " + describe(token_));
      advance();
      skipToDefinition();
    }
  }
  if (definitions_.empty() && errors_.empty())
    report(token_, Status::Input, "the program has no definition");
}

// --- second pass: bodies

// Depth-first order, callees first. Recursion is legal where the result type is
// declared.
std::vector<size_t> RelayParser::bodyOrder() {
  enum : uint8_t { Unseen, Open, Done };
  std::vector<uint8_t> state(definitions_.size(), Unseen);
  std::vector<size_t> order;
  std::vector<std::pair<size_t, size_t>> stack; // definition, next callee
  for (size_t root = 0; root < definitions_.size(); ++root) {
    if (state[root] == Unseen)
      stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto &[index, next] = stack.back();
      state[index] = Open;
      const auto &callees = definitions_[index].callees;
      if (next == callees.size()) {
        state[index] = Done;
        order.push_back(index);
        stack.pop_back();
        continue;
      }
      auto found = definitionOf_.find(callees[next++]);
      if (found == definitionOf_.end())
        continue;
      Definition &callee = definitions_[found->second];
      if (state[found->second] == Unseen) {
        stack.emplace_back(found->second, 0);
      } else if (state[found->second] == Open && callee.isOk &&
                 !module_.function(callee.function).resultType) {
        report(callee.nameToken, Status::Input,
               "@" + std::string(callee.nameToken.text) +
                   " is recursive and needs a declared result type");
        callee.isOk = false;
      }
    }
  }
  return order;
}

// Reports call nodes by their graph number: what stands inside of an expression
// gets one that the text does not use.
void RelayParser::numberUnnamed(uint32_t firstNode) {
  for (uint32_t i = firstNode; i < module_.numNodes(); ++i) {
    Node &node = module_.node(NodeId(i));
    if (!module_.isLeaf(NodeId(i)) && node.name == StringId(0) && !node.isLet)
      node.name = module_.intern("%" + std::to_string(nextGraphNumber_++));
  }
}

void RelayParser::parseBody(Definition &definition) {
  lexer_ = definition.lexer;
  token_ = definition.token;
  panic_ = false;
  nesting_ = 0;
  nextGraphNumber_ = 0;
  names_ = nodeNames_ ? nodeNames_->find(std::string(definition.nameToken.text)) : nullptr;
  uint32_t firstNode = module_.numNodes();
  BlockId body = module_.function(definition.function).body;
  pushScope();
  for (const auto &[name, param] : definition.params)
    bind(name, param);
  if (lone_) {
    builder_.setBlock(body);
    NodeId result = parseItems();
    module_.block(body).result = result;
    if (!panic_ && !at(TokenKind::End) && !at(TokenKind::Metadata))
      syntax(token_, "the end of the expression is needed, found " + describe(token_));
  } else {
    module_.block(body).result = parseBracedBlock(body);
  }
  popScope();
  numberUnnamed(firstNode);
  definition.isOk &= finishFunction(definition.function, definition.nameToken);
  if (definition.isOk)
    module_.node(module_.globalRef(definition.function)).type =
        module_.functionType(definition.function);
}

// A file of another kind gets told how it becomes one that can be read.
Error RelayParser::takeErrors() { return withAdvice(Error(std::move(errors_)), text_, file_); }

Expected<Module> RelayParser::run() {
  if (!checkBytes())
    return takeErrors();
  advance();
  scanModule();
  markReached();
  for (size_t index : bodyOrder()) {
    if (fatal_)
      break;
    Definition &definition = definitions_[index];
    if (!definition.hasBody)
      continue;
    if (definition.isReached)
      parseBody(definition);
    else
      judge(definition, collect([&] { parseBody(definition); }));
  }
  removeLeftOut();
  if (errors_.empty())
    return std::move(module_);
  std::ranges::stable_sort(errors_, {}, [](const Diagnostic &d) {
    return std::pair(d.location.line, d.location.column);
  });
  return takeErrors();
}

Expected<TypeId> RelayParser::parseTypeIn(Module &module, std::string_view text,
                                          const SourceLocation &location) {
  ParseOptions options;
  RelayParser parser(text, location.file, options);
  parser.isProgram_ = false;
  std::swap(parser.module_, module);
  parser.advance();
  auto type = parser.parseType();
  if (type && !parser.at(TokenKind::End))
    parser.syntax(parser.token_, "the end of a type is needed, found " + describe(parser.token_));
  std::swap(parser.module_, module);
  if (type && parser.errors_.empty())
    return *type;
  Diagnostic diagnostic = parser.errors_.front();
  diagnostic.location = location;
  diagnostic.excerpt.clear();
  return Error(std::move(diagnostic));
}

Expected<Module> parseRelay(std::string_view text, const std::string &file,
                            const ParseOptions &options) {
  return RelayParser(text, file, options).run();
}

} // namespace bycc
