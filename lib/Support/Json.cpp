// JSON over nlohmann's SAX parser. SAX callbacks carry no position, so the text
// is fed through an iterator that notes how far the lexer has read; a callback
// comes before the next token is looked at, hence its token ends there, and its
// start is found by going back. Integers and floats are read from that slice
// of the text, exactly and without a locale.
#include "bycc/Support/Json.h"

#include "bycc/Support/FileKind.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace bycc {
namespace {

constexpr size_t maxNesting = 64;

class NotingIterator {
public:
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char *;
  using reference = const char &;
  using iterator_category = std::input_iterator_tag;

  NotingIterator(const char *at, const char **seen) : at_(at), seen_(seen) {}
  reference operator*() const { return *at_; }
  NotingIterator &operator++() {
    *seen_ = ++at_;
    return *this;
  }
  NotingIterator operator++(int) {
    NotingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const NotingIterator &other) const { return at_ == other.at_; }
  bool operator!=(const NotingIterator &other) const { return at_ != other.at_; }

private:
  const char *at_;
  const char **seen_;
};

bool isNumberChar(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// Builds the tree; stops at the first problem.
class TreeBuilder {
public:
  TreeBuilder(std::string_view text, const std::string &file,
              std::span<const std::string_view> unread)
      : text_(text), file_(file), unread_(unread), seen_(text.data()), counted_(text.data()),
        lineBegin_(text.data()) {}

  NotingIterator begin() { return {text_.data(), &seen_}; }
  NotingIterator end() { return {text_.data() + text_.size(), &seen_}; }
  std::optional<Error> &failure() { return failure_; }
  JsonValue takeRoot() { return std::move(root_); }

  // Callbacks of nlohmann's SAX interface.
  bool null() { return isUnread() || place(scalar(JsonValue::Kind::Null, 4)); }
  bool boolean(bool value) {
    if (isUnread())
      return true;
    JsonValue result = scalar(JsonValue::Kind::Bool, value ? 4 : 5);
    result.boolean = value;
    return place(std::move(result));
  }
  bool number_integer(int64_t) { return number(); }
  bool number_unsigned(uint64_t) { return number(); }
  bool number_float(double, const std::string &) { return number(); }
  bool string(std::string &value) {
    if (isUnread())
      return true;
    JsonValue result = at(stringBegin(), JsonValue::Kind::String);
    result.string = std::move(value);
    return place(std::move(result));
  }
  bool binary(std::vector<uint8_t> &) { return false; }
  bool start_object(size_t) { return open(JsonValue::Kind::Object); }
  bool start_array(size_t) { return open(JsonValue::Kind::Array); }
  bool end_array() { return numUnread_ ? closeUnread() : close(); }
  bool end_object() { return numUnread_ ? closeUnread() : checkKeys(open_.back()) && close(); }
  bool key(std::string &name) {
    if (numUnread_)
      return true;
    isNextUnread_ = open_.size() == 2 && std::ranges::find(unread_, name) != unread_.end();
    key_ = std::move(name);
    return true;
  }
  bool parse_error(size_t, const std::string &, const nlohmann::json::exception &exception) {
    std::string_view what = exception.what();
    size_t begin = what.find("column ");
    begin = begin == what.npos ? what.find("] ") : what.find(": ", begin);
    if (begin != what.npos)
      what.remove_prefix(begin + 2);
    const char *last = text_.data() + text_.size();
    const char *place = seen_ > text_.data() && seen_ < last ? seen_ - 1 : seen_;
    return fail(Status::Input, at(place, JsonValue::Kind::Null),
                escaped(what, 512) + ", at offset " + std::to_string(place - text_.data()));
  }

private:
  // In a value that is left out, or that value itself.
  bool isUnread() { return numUnread_ || std::exchange(isNextUnread_, false); }
  bool closeUnread() {
    --numUnread_;
    return true;
  }

  bool fail(Status status, const JsonValue &where, const std::string &message) {
    failure_ = error(status, location(where, file_)) << message;
    return false;
  }

  // A value that begins at `begin`, which is not before any place asked for earlier.
  JsonValue at(const char *begin, JsonValue::Kind kind) {
    for (; counted_ < begin; ++counted_)
      if (*counted_ == '\n') {
        ++line_;
        lineBegin_ = counted_ + 1;
      }
    JsonValue value;
    value.kind = kind;
    value.line = line_;
    value.column = static_cast<uint32_t>(begin - lineBegin_) + 1;
    return value;
  }
  JsonValue scalar(JsonValue::Kind kind, size_t length) { return at(seen_ - length, kind); }

  // The quote that opens the string whose closing quote was read last: the
  // nearest one before it with an even number of backslashes in front.
  const char *stringBegin() const {
    const char *quote = seen_ - 1;
    while (true) {
      do
        --quote;
      while (*quote != '"');
      const char *slash = quote;
      while (slash > text_.data() && slash[-1] == '\\')
        --slash;
      if ((quote - slash) % 2 == 0)
        return quote;
    }
  }

  bool number() {
    if (isUnread())
      return true;
    // The lexer reads one character past a number, unless the text ends there.
    const char *end = seen_;
    if (!isNumberChar(end[-1]))
      --end;
    const char *begin = end;
    while (begin > text_.data() && isNumberChar(begin[-1]))
      --begin;
    std::string_view digits(begin, end - begin);
    JsonValue value = at(begin, JsonValue::Kind::Int);
    if (digits.find_first_of(".eE") != digits.npos || digits == "-0")
      return floating(std::move(value), digits);
    if (std::from_chars(begin, end, value.integer).ec == std::errc()) {
      value.unsignedInteger = value.integer;
      value.number = static_cast<double>(value.integer);
      return place(std::move(value));
    }
    value.kind = JsonValue::Kind::UInt;
    value.integer = 0;
    if (std::from_chars(begin, end, value.unsignedInteger).ec != std::errc())
      return fail(Status::Input, value,
                  "the integer " + escaped(digits, 40) + " does not fit into 64 bits");
    value.number = static_cast<double>(value.unsignedInteger);
    return place(std::move(value));
  }

  bool floating(JsonValue value, std::string_view digits) {
    value.kind = JsonValue::Kind::Float;
    auto [end, status] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value.number);
    if (status == std::errc::result_out_of_range) {
      // Overflow was refused by the lexer: what is left is too small.
      value.number = digits[0] == '-' ? -0.0 : 0.0;
    } else if (status != std::errc() || end != digits.data() + digits.size()) {
      return fail(Status::Input, value, "not a number: " + escaped(digits, 40));
    }
    return place(std::move(value));
  }

  bool open(JsonValue::Kind kind) {
    bool unread = isUnread();
    if (unread && open_.size() + ++numUnread_ <= maxNesting)
      return true;
    JsonValue value = at(seen_ - 1, kind);
    if (open_.size() + numUnread_ >= maxNesting)
      return fail(Status::Limit, value,
                  "nested deeper than " + std::to_string(maxNesting) + " levels");
    keys_.push_back(std::move(key_));
    key_.clear();
    open_.push_back(std::move(value));
    return true;
  }

  bool close() {
    JsonValue value = std::move(open_.back());
    open_.pop_back();
    key_ = std::move(keys_.back());
    keys_.pop_back();
    return place(std::move(value));
  }

  bool place(JsonValue value) {
    if (open_.empty())
      root_ = std::move(value);
    else if (open_.back().isArray())
      open_.back().items.push_back(std::move(value));
    else
      open_.back().members.push_back({std::move(key_), std::move(value)});
    return true;
  }

  bool checkKeys(const JsonValue &object) {
    std::vector<const JsonValue::Member *> sorted;
    for (const JsonValue::Member &member : object.members)
      sorted.push_back(&member);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](auto *a, auto *b) { return a->first < b->first; });
    for (size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i - 1]->first == sorted[i]->first)
        return fail(Status::Input, sorted[i]->second,
                    "the key '" + escaped(sorted[i]->first) + "' stands twice in one object");
    return true;
  }

  std::string_view text_;
  const std::string &file_;
  std::span<const std::string_view> unread_;
  size_t numUnread_ = 0; // arrays and objects, open, of a value that is left out
  bool isNextUnread_ = false;
  const char *seen_;
  const char *counted_;
  const char *lineBegin_;
  uint32_t line_ = 1;
  JsonValue root_;
  std::vector<JsonValue> open_;
  std::vector<std::string> keys_; // under which each of open_ will be placed
  std::string key_;
  std::optional<Error> failure_;
};

} // namespace

const JsonValue *JsonValue::find(std::string_view key) const {
  for (const Member &member : members)
    if (member.first == key)
      return &member.second;
  return nullptr;
}

Expected<JsonValue> parseJson(std::string_view text, const std::string &file,
                              std::span<const std::string_view> unread) {
  if (std::string_view kind = kindOfBytes(text); !kind.empty() && kind != "JSON text")
    return error(Status::Input, {file}).as(MessageId::OtherFormat)
           << "is no JSON text, it looks like " << kind;
  size_t bad = text.find('\0');
  if (bad != text.npos)
    return error(Status::Input, {file}).as(MessageId::NotText) << "NUL character at offset " << bad;
  if (!isValidUtf8(text, &bad))
    return error(Status::Input, {file}).as(MessageId::NotText) << "bad UTF-8 at offset " << bad;
  TreeBuilder builder(text, file, unread);
  bool good = nlohmann::json::sax_parse(builder.begin(), builder.end(), &builder);
  if (builder.failure())
    return std::move(*builder.failure());
  BYCC_ASSERT(good, "the JSON parser gives a reason when it fails");
  return builder.takeRoot();
}

SourceLocation location(const JsonValue &value, const std::string &file) {
  return {file, value.line, value.column};
}

void JsonWriter::separate() {
  if (afterKey_) {
    afterKey_ = false;
    return;
  }
  if (levels_.empty())
    return;
  Level &level = levels_.back();
  if (level.hasItems)
    out_ += level.isFlat ? ", " : ",";
  if (!level.isFlat)
    out_ += "\n" + std::string(2 * levels_.size(), ' ');
  level.hasItems = true;
}

void JsonWriter::put(std::string_view text) {
  separate();
  out_ += text;
  if (levels_.empty())
    out_ += '\n';
}

JsonWriter &JsonWriter::beginObject() {
  if (!levels_.empty())
    levels_.back().isFlat = false;
  separate();
  out_ += '{';
  levels_.push_back({false, false, false, out_.size()});
  return *this;
}

JsonWriter &JsonWriter::beginArray() {
  if (!levels_.empty())
    levels_.back().isFlat = false;
  separate();
  out_ += '[';
  levels_.push_back({true, false, true, out_.size()});
  return *this;
}

JsonWriter &JsonWriter::endArray() {
  Level level = levels_.back();
  levels_.pop_back();
  if (level.hasItems && !level.isFlat)
    out_ += "\n" + std::string(2 * levels_.size(), ' ');
  out_ += level.isArray ? ']' : '}';
  if (levels_.empty())
    out_ += '\n';
  return *this;
}

JsonWriter &JsonWriter::endObject() { return endArray(); }

static std::string quotedText(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f) {
      static constexpr char digits[] = "0123456789abcdef";
      out += {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
    } else {
      out += c;
    }
  }
  return out + '"';
}

JsonWriter &JsonWriter::key(std::string_view name) {
  separate();
  out_ += quotedText(name) + ": ";
  afterKey_ = true;
  return *this;
}

JsonWriter &JsonWriter::value(std::string_view text) {
  // Bytes that are not UTF-8 would make the file unreadable.
  put(quotedText(isValidUtf8(text) ? std::string(text) : escaped(text, SIZE_MAX)));
  return *this;
}

JsonWriter &JsonWriter::value(int64_t number) {
  put(std::to_string(number));
  return *this;
}

JsonWriter &JsonWriter::value(uint64_t number) {
  put(std::to_string(number));
  return *this;
}

JsonWriter &JsonWriter::value(double number) {
  put(std::isfinite(number) ? formatDouble(number) : quotedText(formatDouble(number)));
  return *this;
}

JsonWriter &JsonWriter::value(bool flag) {
  put(flag ? "true" : "false");
  return *this;
}

JsonWriter &JsonWriter::null() {
  put("null");
  return *this;
}

std::string JsonWriter::take() {
  levels_.clear();
  afterKey_ = false;
  return std::exchange(out_, {});
}

} // namespace bycc
