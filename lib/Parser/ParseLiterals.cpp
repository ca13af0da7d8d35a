// Numbers, tensors and attribute values. Integers are exact or refused; floats are
// read at their own width, so that they round once.
#include "RelayParser.h"

#include "bycc/Support/Text.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace bycc {

namespace {

template <typename T> std::optional<T> readFloat(std::string_view text, bool isNegative) {
  T value{};
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return isNegative ? -value : value;
}

std::optional<uint64_t> floatBits(std::string_view text, bool isNegative, DType dtype) {
  if (dtype == DType::Float64) {
    auto value = readFloat<double>(text, isNegative);
    return value ? std::optional(std::bit_cast<uint64_t>(*value)) : std::nullopt;
  }
  auto value = readFloat<float>(text, isNegative);
  if (!value)
    return std::nullopt;
  if (dtype == DType::Float32)
    return std::bit_cast<uint32_t>(*value);
  uint16_t bits = dtype == DType::Float16 ? floatToHalf(*value) : floatToBFloat16(*value);
  bool isFinite =
      std::isfinite(dtype == DType::Float16 ? halfToFloat(bits) : bfloat16ToFloat(bits));
  return isFinite ? std::optional<uint64_t>(bits) : std::nullopt;
}

std::optional<uint64_t> intBits(uint64_t magnitude, bool isNegative, DType dtype) {
  int bits = static_cast<int>(8 * sizeInBytes(dtype));
  uint64_t mask = bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
  if (dtype == DType::Bool)
    return magnitude <= 1 && !isNegative ? std::optional(magnitude) : std::nullopt;
  if (isUnsignedInt(dtype))
    return magnitude <= mask && (!isNegative || magnitude == 0) ? std::optional(magnitude)
                                                                : std::nullopt;
  uint64_t limit = (uint64_t{1} << (bits - 1)) - (isNegative ? 0 : 1);
  if (magnitude > limit)
    return std::nullopt;
  return (isNegative ? ~magnitude + 1 : magnitude) & mask;
}

// "inf", "nan" with an optional float suffix: the dtype it has.
std::optional<DType> specialDType(std::string_view text) {
  if (!text.starts_with("inf") && !text.starts_with("nan"))
    return std::nullopt;
  std::string_view suffix = text.substr(3);
  if (suffix.empty() || suffix == "f" || suffix == "f32")
    return DType::Float32;
  if (suffix == "f64")
    return DType::Float64;
  if (suffix == "f16")
    return DType::Float16;
  if (suffix == "bf16")
    return DType::BFloat16;
  return std::nullopt;
}

uint64_t specialBits(bool isNan, bool isNegative, DType dtype) {
  double value =
      isNan ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  value = std::copysign(value, isNegative ? -1.0 : 1.0);
  float narrow = std::copysign(static_cast<float>(value), isNegative ? -1.0f : 1.0f);
  switch (dtype) {
  case DType::Float64:
    return std::bit_cast<uint64_t>(value);
  case DType::Float32:
    return std::bit_cast<uint32_t>(narrow);
  case DType::Float16:
    return floatToHalf(narrow);
  default:
    return floatToBFloat16(narrow);
  }
}

} // namespace

bool isSpecialNumber(std::string_view word) { return specialDType(word).has_value(); }

NodeId RelayParser::scalar(DType dtype, uint64_t bits) {
  auto [it, isNew] = scalars_[static_cast<int>(dtype)].try_emplace(bits);
  if (isNew)
    it->second = module_.addConstant(dtype, {}, &bits, static_cast<uint64_t>(sizeInBytes(dtype)));
  return it->second;
}

std::optional<uint64_t> RelayParser::elementBits(const Token &token, bool isNegative, DType dtype) {
  std::optional<uint64_t> bits;
  if (token.kind == TokenKind::Identifier) {
    if (dtype == DType::Bool && (token.text == "True" || token.text == "False"))
      return token.text == "True";
    if (isFloat(dtype) && specialDType(token.text))
      return specialBits(token.text.starts_with("nan"), isNegative, dtype);
    syntax(token, "a number of dtype " + std::string(bycc::name(dtype)) + " is needed, found " +
                      describe(token));
    return std::nullopt;
  }
  if (token.kind != TokenKind::Integer && token.kind != TokenKind::Float) {
    syntax(token, "a number is needed, found " + describe(token));
    return std::nullopt;
  }
  if (isFloat(dtype))
    bits = floatBits(token.text, isNegative, dtype);
  else if (token.kind == TokenKind::Integer)
    bits = intBits(token.number, isNegative, dtype);
  if (!bits)
    report(token, Status::Input,
           std::string(isNegative ? "-" : "") + std::string(token.text.substr(0, 64)) +
               " is out of range of " + std::string(bycc::name(dtype)));
  return bits;
}

std::optional<uint64_t> RelayParser::parseElement(DType dtype) {
  bool isNegative = false;
  while (accept(TokenKind::Minus))
    isNegative = !isNegative;
  Token token = token_;
  advance();
  return elementBits(token, isNegative, dtype);
}

// Without a suffix: int32, int64 when it does not fit, float32 with a fraction.
NodeId RelayParser::parseNumber(bool isNegative) {
  Token token = token_;
  advance();
  DType dtype = DType::Int32;
  if (token.kind == TokenKind::Identifier)
    dtype = specialDType(token.text).value_or(DType::Float32);
  else if (token.hasSuffix)
    dtype = token.suffix;
  else if (token.kind == TokenKind::Float)
    dtype = DType::Float32;
  else if (!intBits(token.number, isNegative, DType::Int32))
    dtype = DType::Int64;
  if (token.kind == TokenKind::Identifier && !specialDType(token.text))
    return syntax(token, "a number is needed, found " + describe(token));
  auto bits = elementBits(token, isNegative, dtype);
  return bits ? scalar(dtype, *bits) : NodeId();
}

// Tensor[(2, 3), float32][1, 2, 3, 4, 5, 6]: row-major elements.
NodeId RelayParser::parseTensorLiteral(const Token &token) {
  auto type = parseTensorType();
  if (!type || !expect(TokenKind::LeftBracket, "before a tensor's elements"))
    return {};
  if (!module_.types.isStatic(*type))
    return syntax(token, "a constant has the shape of a fixed size");
  DType dtype = module_.types.dtype(*type);
  size_t width = static_cast<size_t>(sizeInBytes(dtype));
  std::vector<uint8_t> bytes;
  bool isOk = true;
  while (!panic_ && !at(TokenKind::RightBracket)) {
    auto bits = parseElement(dtype);
    isOk &= bits.has_value();
    const uint64_t value = bits.value_or(0);
    const auto *raw = reinterpret_cast<const uint8_t *>(&value);
    bytes.insert(bytes.end(), raw, raw + width);
    if (!accept(TokenKind::Comma))
      break;
  }
  if (panic_ || !expect(TokenKind::RightBracket, "after a tensor's elements") || !isOk)
    return {};
  if (static_cast<uint64_t>(*module_.types.sizeBytes(*type)) != bytes.size())
    return report(token, Status::Input,
                  "a constant of type " + module_.types.str(*type) + " has " +
                      std::to_string(bytes.size() / width) + " elements");
  Constant constant;
  constant.type = *type;
  constant.bytes = bytes.size();
  constant.storage = Storage::own(std::move(bytes));
  return module_.addConstant(std::move(constant), sourceOf(token));
}

std::optional<RelayParser::MetaKey> RelayParser::parseMetaKey() {
  advance();
  if (!expect(TokenKind::LeftBracket, "after 'meta'"))
    return std::nullopt;
  if (!at(TokenKind::Identifier)) {
    syntax(token_, "a metadata key is needed, found " + describe(token_));
    return std::nullopt;
  }
  MetaKey result{dottedName(), {}};
  if (!expect(TokenKind::RightBracket, "after a metadata key") ||
      !expect(TokenKind::LeftBracket, "before a metadata index"))
    return std::nullopt;
  result.index = token_;
  if (!expect(TokenKind::Integer, "as a metadata index") ||
      !expect(TokenKind::RightBracket, "after a metadata index"))
    return std::nullopt;
  return result;
}

size_t RelayParser::numMetaConstants() const {
  if (!objects_)
    return constants_ ? constants_->items.size() : 0;
  auto table = objects_->tables().find("relay.Constant");
  return table == objects_->tables().end() ? 0 : table->second.size();
}

std::optional<Expected<Constant>> RelayParser::metaConstant(uint64_t index) {
  size_t own = numMetaConstants();
  if (index >= own + options_.extraConstants.size())
    return std::nullopt;
  if (index >= own)
    return options_.extraConstants[index - own];
  if (objects_)
    return objects_->constant(module_, *objects_->tables().at("relay.Constant")[index]);
  return readTensor(module_, constants_->items[index], file_, options_);
}

Expected<std::optional<ConstantId>> RelayParser::givenConstant(uint64_t index) {
  if (!constants_ || index >= constants_->items.size())
    return std::optional<ConstantId>();
  return readGiven(module_, constants_->items[index], file_, numGiven_);
}

// meta[relay.Constant][i]
NodeId RelayParser::parseMetaReference(const Token &token) {
  auto meta = parseMetaKey();
  if (!meta)
    return {};
  if (meta->key != "relay.Constant")
    return report(token, Status::Unsup,
                  "metadata of kind " + escaped(meta->key) + " as an expression is not supported");
  if (auto it = metaNodes_.find(meta->index.number); it != metaNodes_.end())
    return it->second;
  NodeId &node = metaNodes_[meta->index.number];
  auto given = givenConstant(meta->index.number);
  if (!given) {
    report(given.takeError(), metadataLine_ - 1);
    return {};
  }
  if (*given)
    return node = module_.addConstantNode(**given, sourceOf(token));
  auto constant = metaConstant(meta->index.number);
  if (!constant)
    return report(meta->index, Status::Input,
                  "meta[relay.Constant][" + std::to_string(meta->index.number) +
                      "] is not in the metadata, which has " + std::to_string(numMetaConstants()) +
                      " entries",
                  numMetaConstants() ? ""
                                     : "TVM prints constants with astext(show_meta_data=True)");
  if (*constant)
    return node = module_.addConstant(constant->takeValue(), sourceOf(token));
  report(constant->takeError(), metadataLine_ - 1);
  return {};
}

// meta[tir.Any][i] and variables of TIR: dims that are not numbers.
std::optional<Dim> RelayParser::parseMetaDim() {
  Token token = token_;
  auto meta = parseMetaKey();
  if (!meta)
    return std::nullopt;
  if (meta->key == "Any" || meta->key == "tir.Any" || meta->key == "relay.Any")
    return Dim::unknown();
  if (meta->key == "tir.Var" || meta->key == "tir.SizeVar")
    return module_.types.symbol("meta_" + std::to_string(meta->index.number));
  syntax(token, "a dim in metadata of kind " + escaped(meta->key) + " is not supported",
         Status::Unsup);
  return std::nullopt;
}

// --- attribute values

std::optional<AttrValue> RelayParser::parseAttrNumber() {
  bool isNegative = false;
  while (accept(TokenKind::Minus))
    isNegative = !isNegative;
  Token token = token_;
  advance();
  if (token.kind == TokenKind::Integer) {
    auto bits = intBits(token.number, isNegative, DType::Int64);
    if (bits)
      return AttrValue(static_cast<int64_t>(*bits));
    syntax(token, "an integer does not fit 64 bits");
    return std::nullopt;
  }
  auto bits = elementBits(token, isNegative, DType::Float64);
  if (!bits)
    return std::nullopt;
  return AttrValue(std::bit_cast<double>(*bits));
}

std::optional<AttrValue> RelayParser::parseAttrList(TokenKind close) {
  if (!enter(token_)) {
    leave();
    return std::nullopt;
  }
  advance();
  AttrValue::List items;
  std::optional<std::string> object;
  bool isList = close == TokenKind::RightBracket || at(close), isOk = true;
  while (isOk && !at(close)) {
    auto item = parseAttrValue();
    isOk = item.has_value();
    if (object_)
      object = object_;
    if (isOk)
      items.push_back(std::move(*item));
    if (!isOk || !accept(TokenKind::Comma))
      break;
    isList = true;
  }
  leave();
  if (!isOk || !expect(close, "after a list"))
    return std::nullopt;
  object_ = std::move(object);
  return isList ? AttrValue(std::move(items)) : items.front();
}

// An object (meta[..][i], Name(..)) is None with its text in object_.
std::optional<AttrValue> RelayParser::parseAttrValue() {
  Token token = token_;
  object_.reset();
  switch (token.kind) {
  case TokenKind::Minus:
  case TokenKind::Integer:
  case TokenKind::Float:
    return parseAttrNumber();
  case TokenKind::String:
    advance();
    return AttrValue(token.text);
  case TokenKind::LeftBracket:
    return parseAttrList(TokenKind::RightBracket);
  case TokenKind::LeftParen:
    return parseAttrList(TokenKind::RightParen);
  case TokenKind::Identifier:
    break;
  default:
    syntax(token, "an attribute value is needed, found " + describe(token));
    return std::nullopt;
  }
  if (specialDType(token.text))
    return parseAttrNumber();
  bool isWord = token.text == "True" || token.text == "False" || token.text == "None" ||
                token.text == "nullptr" || parseDType(token.text);
  if (!isWord) {
    std::optional<std::string> object = skipObject();
    if (!object)
      return std::nullopt;
    object_ = std::move(object);
    return AttrValue();
  }
  advance();
  if (token.text == "True" || token.text == "False")
    return AttrValue(token.text == "True");
  return parseDType(token.text) ? AttrValue(token.text) : AttrValue();
}

} // namespace bycc
