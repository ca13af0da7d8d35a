// What other tools write into Relay text and this compiler has no use for: type
// definitions, objects as attribute values, attributes that annotate, functions
// that nobody calls and that use what is not supported. All of it is passed over
// with a warning where the meaning of the program cannot depend on it; otherwise
// it is an error as before.
#include "RelayParser.h"

#include "bycc/Support/Phrases.h"

#include <algorithm>
#include <cstring>

namespace bycc {
namespace {

constexpr size_t maxWarnings = 20;

// Function attributes that have a meaning here or in Relay.
constexpr std::string_view functionAttrs[] = {
    "Closure",        "Compiler", "Composite",
    "Extern",         "Inline",   "NonEmpty",
    "Primitive",      "Roles",    "PartitionedFromPattern",
    "global_symbol",  "hash",     "SkipOptimization",
    "input_names",    "mod_name", "output_names",
    "required_passes"};

// Words in the name of an attribute that describes the call instead of changing it.
constexpr std::string_view describingWords[] = {
    "annotation", "comment", "custom",     "debug",    "desc",      "description",
    "doc",        "hint",    "hints",      "id",       "info",      "label",
    "location",   "meta",    "metadata",   "note",     "notes",     "origin",
    "original",   "profile", "provenance", "schedule", "scheduler", "source",
    "span",       "tag",     "tags",       "tool",     "tuning",    "user"};

bool describes(std::string_view key) {
  std::string words(key);
  std::ranges::replace(words, '.', '_');
  for (const std::string &word : split(words, '_'))
    if (std::ranges::find(describingWords, word) != std::end(describingWords))
      return true;
  return false;
}

// None, "" and []: what tools print for an attribute that is not set.
bool isUnset(const AttrValue &value) {
  return value.isNone() || (value.isString() && value.asString().empty()) ||
         (value.isList() && value.asList().empty());
}

bool isAllUnsup(const std::vector<Diagnostic> &problems) {
  return std::ranges::all_of(problems,
                             [](const Diagnostic &d) { return d.status == Status::Unsup; });
}

} // namespace

void RelayParser::warn(const Token &token, std::string message) {
  if (!options_.warnings || options_.warnings->size() >= maxWarnings)
    return;
  for (const Diagnostic &other : *options_.warnings)
    if (other.message == message)
      return;
  Diagnostic warning;
  warning.location = place(token);
  warning.message = std::move(message);
  options_.warnings->push_back(std::move(warning));
}

// --- attributes

// meta[Key][i] or Name(..): an object; its text, after which the parser stands.
std::optional<std::string> RelayParser::skipObject() {
  size_t begin = token_.offset, end = begin;
  auto next = [&] {
    end = token_.offset + std::max<size_t>(token_.text.size(), 1);
    advance();
  };
  auto skipBrackets = [&] {
    size_t depth = 0;
    do {
      depth += at(TokenKind::LeftParen) || at(TokenKind::LeftBracket) || at(TokenKind::LeftBrace);
      depth -=
          at(TokenKind::RightParen) || at(TokenKind::RightBracket) || at(TokenKind::RightBrace);
      next();
    } while (depth > 0 && !at(TokenKind::End) && !at(TokenKind::Metadata));
    return depth == 0;
  };
  Token word = token_;
  dottedName();
  bool isMeta = word.text == "meta" && at(TokenKind::LeftBracket);
  if (!isMeta && !at(TokenKind::LeftParen)) {
    syntax(word, "an attribute value is needed, found " + describe(word));
    return std::nullopt;
  }
  if (!skipBrackets() || (isMeta && (!at(TokenKind::LeftBracket) || !skipBrackets()))) {
    syntax(word, "an object as attribute value does not end");
    return std::nullopt;
  }
  return std::string(text_.substr(begin, std::min<size_t>(end - begin, 80)));
}

// { virtual_device = .. } behind a variable's name.
bool RelayParser::skipVariableAttrs() {
  if (!accept(TokenKind::LeftBrace))
    return true;
  while (!panic_ && !at(TokenKind::RightBrace)) {
    Token token = token_;
    auto key = attributeKey();
    if (!key) {
      syntax(token, "an attribute of the variable is needed, found " + describe(token));
      break;
    }
    if (parseAttrValue())
      warn(token, "attribute " + escaped(*key) + " of a variable has no effect");
    if (panic_ || !accept(TokenKind::Comma))
      break;
  }
  return !panic_ && expect(TokenKind::RightBrace, "after the attributes of a variable");
}

void RelayParser::addFunctionAttr(AttrDict &attrs, std::string key, AttrValue value,
                                  const Token &token) {
  if (object_) {
    warn(token, "function attribute " + escaped(key) + " is an object, " + escaped(*object_) +
                    ", and is left out");
    return;
  }
  bool isKnown = key.find('.') != std::string::npos || key.starts_with("__") ||
                 std::ranges::find(functionAttrs, key) != std::end(functionAttrs);
  static const std::vector<std::string> known(std::begin(functionAttrs), std::end(functionAttrs));
  if (!isKnown)
    warn(token, "function attribute " + escaped(key) + " has no effect" + didYouMean(key, known));
  attrs.push_back({std::move(key), std::move(value)});
}

// nn.pad as other versions of Relay print it: the value is an attribute, an int32 whatever the
// data is, or left out, which means 0.
void RelayParser::completePad(Arguments &arguments) {
  std::vector<NodeId> &values = arguments.values;
  if (values.empty() || values.size() > 2 || !values[0] ||
      !module_.types.isTensor(module_.type(values[0])))
    return;
  DType dtype = module_.types.dtype(module_.type(values[0]));
  double value = 0;
  if (values.size() == 1) {
    auto attr = std::ranges::find(arguments.attrs, "pad_value", &Attr::key);
    if (attr != arguments.attrs.end() && (attr->value.isInt() || attr->value.isFloat())) {
      value =
          attr->value.isInt() ? static_cast<double>(attr->value.asInt()) : attr->value.asFloat();
      arguments.attrs.erase(attr);
    }
    values.push_back(module_.addScalar(dtype, value));
  } else if (values[1] && module_.isConstant(values[1]) && dtype != DType::Int32 &&
             module_.types.str(module_.type(values[1])) == name(DType::Int32)) {
    int32_t number = 0;
    std::memcpy(&number, module_.constant(values[1]).data(), sizeof number);
    values[1] = module_.addScalar(dtype, number);
  }
}

// A vendor named where nobody looks for it is no remark that could be left out.
void RelayParser::reportMisplacedVendor(Arguments &arguments, const std::string &callee,
                                        const Token &token) {
  arguments.isOk &=
      std::erase_if(arguments.attrs, [&](const Attr &attr) {
        if (attr.key != "compiler" && attr.key != "Compiler")
          return false;
        report(token, Status::Input,
               callee + ": attribute " + attr.key +
                   " gives it to nobody: a function has "
                   "Compiler=\"VENDOR\", annotation.compiler_begin has compiler=\"VENDOR\"");
        return true;
      }) == 0;
}

// Takes out what the operator does not have and what cannot matter.
void RelayParser::dropForeignAttrs(OpId op, Arguments &arguments, const Token &token) {
  const OpInfo &info = opInfo(op);
  if (!info.has(OpTrait::Bracket))
    reportMisplacedVendor(arguments, std::string(info.name), token);
  std::vector<std::string> names;
  for (const AttrSpec &spec : info.attrs)
    names.push_back(spec.name);
  auto isForeign = [&](const Attr &attr) {
    bool isObject = std::ranges::count(arguments.objects, attr.key) > 0;
    if (info.findAttr(attr.key)) {
      if (isObject) {
        report(token, Status::Unsup,
               std::string(info.name) + ": attribute " + attr.key +
                   " is an object of the metadata, which is not supported");
        arguments.isOk = false;
      }
      return isObject;
    }
    bool isHarmless = isObject ? describes(attr.key) : isUnset(attr.value) || describes(attr.key);
    if (!isHarmless || nearest(attr.key, names))
      return false;
    warn(token, std::string(info.name) + ": attribute " + escaped(attr.key) +
                    " is not known and has no effect");
    return true;
  };
  std::erase_if(arguments.attrs, isForeign);
}

// --- definitions

// ['extern'] 'type' Name ['[' .. ']'] ['{' .. '}']
void RelayParser::skipTypeDefinition() {
  if (atKeyword("extern"))
    advance();
  Token word = token_;
  advance();
  Token name = token_;
  if (!expect(TokenKind::Identifier, "after 'type'"))
    return skipToDefinition();
  if (!typeNames_.insert(name.text).second)
    report(name, Status::Input, "type " + std::string(name.text) + " is defined twice");
  for (TokenKind open : {TokenKind::LeftBracket, TokenKind::LeftBrace}) {
    if (!at(open))
      continue;
    size_t depth = 0;
    do {
      bool isConstructor = depth == 1 && open == TokenKind::LeftBrace && at(TokenKind::Identifier);
      if (isConstructor && !typeNames_.insert(token_.text).second)
        report(token_, Status::Input,
               "constructor " + std::string(token_.text) + " is defined twice");
      depth += at(TokenKind::LeftBracket) || at(TokenKind::LeftBrace) || at(TokenKind::LeftParen);
      depth -=
          at(TokenKind::RightBracket) || at(TokenKind::RightBrace) || at(TokenKind::RightParen);
      advance();
    } while (depth > 0 && !at(TokenKind::End) && !at(TokenKind::Metadata));
    if (depth > 0)
      syntax(name, "the definition of type " + std::string(name.text) + " does not end");
  }
  warn(word,
       "type " + std::string(name.text) + " is left out: algebraic data types are not supported");
  panic_ = fatal_;
}

// Marks what @main reaches; without @main everything is wanted.
void RelayParser::markReached() {
  auto main = definitionOf_.find("main");
  std::vector<size_t> stack;
  for (size_t i = 0; i < definitions_.size(); ++i)
    if (main == definitionOf_.end() || i == main->second) {
      definitions_[i].isReached = true;
      stack.push_back(i);
    }
  while (!stack.empty()) {
    size_t index = stack.back();
    stack.pop_back();
    for (std::string_view callee : definitions_[index].callees)
      if (auto found = definitionOf_.find(callee);
          found != definitionOf_.end() && !definitions_[found->second].isReached) {
        definitions_[found->second].isReached = true;
        stack.push_back(found->second);
      }
  }
  for (Definition &definition : definitions_)
    judge(definition, std::move(definition.problems));
}

// Problems of a definition are errors, unless nobody calls it and all it does is
// use what is not supported.
void RelayParser::judge(Definition &definition, std::vector<Diagnostic> problems) {
  if (problems.empty())
    return;
  if (!definition.isReached && isAllUnsup(problems)) {
    definition.isLeftOut = true;
    warn(definition.nameToken, "@" + escaped(definition.nameToken.text) +
                                   " is left out: nobody calls it, and " +
                                   problems.front().message);
    return;
  }
  for (Diagnostic &problem : problems)
    report(std::move(problem));
}

// Runs `parse` with its errors apart, and returns them.
std::vector<Diagnostic> RelayParser::collect(const std::function<void()> &parse) {
  std::vector<Diagnostic> before;
  std::swap(before, errors_);
  parse();
  std::swap(before, errors_);
  fatal_ = false;
  return before;
}

void RelayParser::removeLeftOut() {
  std::vector<uint8_t> isGone(module_.numFunctions());
  for (const Definition &definition : definitions_)
    if (definition.isLeftOut)
      isGone[definition.function.index] = 1;
  module_.removeGlobalsIf(isGone);
}

} // namespace bycc
