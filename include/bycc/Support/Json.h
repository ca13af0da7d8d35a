// JSON with positions: one reader (over nlohmann's SAX interface) that refuses
// duplicate keys, reads integers exactly and knows line:column of every value,
// and a small writer with stable output. The only JSON reader of bycc.
#pragma once

#include "bycc/Support/Error.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bycc {

class JsonValue {
public:
  enum class Kind : uint8_t { Null, Bool, Int, UInt, Float, String, Array, Object };
  struct Member;

  Kind kind = Kind::Null;
  bool boolean = false;
  int64_t integer = 0; // Int; UInt holds values above INT64_MAX in `unsignedInteger`
  uint64_t unsignedInteger = 0;
  double number = 0; // Float; also set for Int and UInt
  std::string string;
  std::vector<JsonValue> items;
  std::vector<Member> members; // in file order
  uint32_t line = 0, column = 0;

  bool isObject() const { return kind == Kind::Object; }
  bool isArray() const { return kind == Kind::Array; }
  bool isString() const { return kind == Kind::String; }
  bool isInt() const { return kind == Kind::Int; }
  bool isNumber() const { return kind == Kind::Int || kind == Kind::UInt || kind == Kind::Float; }
  bool isBool() const { return kind == Kind::Bool; }
  // Member of an object, null when absent or not an object.
  const JsonValue *find(std::string_view key) const;
};

// No std::pair: that one asks about its types before JsonValue is complete.
struct JsonValue::Member {
  std::string first;
  JsonValue second;
};

// `file` is for messages. Nesting deeper than 64 is Status::Limit; a float that
// overflows, a duplicate key, bad UTF-8 or trailing text is Status::Input.
// Values of the keys `unread`, two objects deep, are read for their form only and left out.
Expected<JsonValue> parseJson(std::string_view text, const std::string &file,
                              std::span<const std::string_view> unread = {});

// Location of a value, for error().
SourceLocation location(const JsonValue &value, const std::string &file);

// Streaming writer: two-space indent, members in the order written; arrays of
// scalars on one line.
class JsonWriter {
public:
  JsonWriter &beginObject();
  JsonWriter &endObject();
  JsonWriter &beginArray();
  JsonWriter &endArray();
  JsonWriter &key(std::string_view name);
  JsonWriter &value(std::string_view text);
  JsonWriter &value(const char *text) { return value(std::string_view(text)); }
  JsonWriter &value(const std::string &text) { return value(std::string_view(text)); }
  JsonWriter &value(int64_t number);
  JsonWriter &value(int number) { return value(static_cast<int64_t>(number)); }
  JsonWriter &value(uint64_t number);
  JsonWriter &value(uint32_t number) { return value(static_cast<uint64_t>(number)); }
  JsonWriter &value(double number); // inf and nan as strings "inf", "-inf", "nan"
  JsonWriter &value(bool flag);
  JsonWriter &null();
  // Text of the document so far; ends with a newline when complete.
  std::string take();

private:
  void separate();
  void put(std::string_view text);
  struct Level {
    bool isArray;
    bool hasItems;
    bool isFlat; // array with scalars only so far
    size_t start;
  };
  std::string out_;
  std::vector<Level> levels_;
  bool afterKey_ = false;
};

} // namespace bycc
