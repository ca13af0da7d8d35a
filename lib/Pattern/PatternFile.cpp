// Patterns in JSON: the `patterns` of vendor files and rules files. Every error says
// where: FILE:LINE:COL and JSON pointer.

#include "bycc/Pattern/Pattern.h"

#include "bycc/IR/Op.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc {

ErrorBuilder jsonError(const JsonValue &value, const std::string &pointer,
                       const std::string &file) {
  return error(Status::Input, location(value, file)) << (pointer.empty() ? "/" : pointer) << ": ";
}

std::string pointerTo(const std::string &pointer, std::string_view key) {
  std::string result = pointer + "/";
  for (char c : key)
    result += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return result;
}

Expected<> checkKeys(const JsonValue &object, const std::vector<std::string> &known,
                     const std::string &pointer, const std::string &file) {
  if (!object.isObject())
    return jsonError(object, pointer, file) << "expected an object";
  for (const auto &[key, value] : object.members) {
    if (std::find(known.begin(), known.end(), key) != known.end())
      continue;
    std::string text = "unknown member '" + escaped(key) + "'";
    if (auto close = nearest(key, known))
      text += ", did you mean '" + *close + "'";
    return jsonError(value, pointerTo(pointer, key), file) << text;
  }
  return {};
}

Expected<OpId> readOpName(std::string_view name, const JsonValue &at, const std::string &pointer,
                          const std::string &file) {
  OpId op = findOp(name);
  if (op)
    return op;
  std::string text = "unknown operator '" + escaped(name) + "'";
  if (auto close = nearest(name, allOpNames()))
    text += ", did you mean '" + *close + "'";
  return jsonError(at, pointer, file) << text;
}

namespace {

Expected<AttrValue> readAttrValue(const JsonValue &json, const std::string &pointer,
                                  const std::string &file, int depth) {
  switch (json.kind) {
  case JsonValue::Kind::Null: return AttrValue();
  case JsonValue::Kind::Bool: return AttrValue(json.boolean);
  case JsonValue::Kind::Int: return AttrValue(json.integer);
  case JsonValue::Kind::Float: return AttrValue(json.number);
  case JsonValue::Kind::String: return AttrValue(json.string);
  case JsonValue::Kind::Array: {
    AttrValue::List items;
    for (size_t i = 0; i < json.items.size(); ++i)
      items.push_back(BYCC_TRY(
          readAttrValue(json.items[i], pointer + "/" + std::to_string(i), file, depth + 1)));
    return AttrValue(std::move(items));
  }
  default: return jsonError(json, pointer, file) << "not a value of an attribute";
  }
}

Expected<std::vector<PatternCondition>> readWhere(const JsonValue &array,
                                                  const std::string &pointer,
                                                  const std::string &file) {
  if (!array.isArray())
    return jsonError(array, pointer, file) << "expected an array";
  std::vector<PatternCondition> conditions;
  for (size_t i = 0; i < array.items.size(); ++i) {
    const JsonValue &item = array.items[i];
    std::string at = pointer + "/" + std::to_string(i);
    BYCC_TRY(checkKeys(item, {"op", "attr"}, at, file));
    const JsonValue *op = item.find("op"), *attr = item.find("attr");
    if (!op || !op->isString())
      return jsonError(item, at, file) << "'op' must be the name of an operator";
    PatternCondition condition;
    condition.op = BYCC_TRY(readOpName(op->string, *op, at + "/op", file));
    if (attr)
      condition.attrs = BYCC_TRY(readAttrs(*attr, condition.op, at + "/attr", file));
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

Expected<PatternText> readText(const JsonValue &item, const std::string &pointer,
                               const std::string &file) {
  PatternText text;
  const JsonValue *root = item.find("root"), *let = item.find("let");
  if (!root || !root->isString())
    return jsonError(root ? *root : item, pointer, file) << "'root' must be the text of a pattern";
  text.root = root->string;
  if (!let)
    return text;
  if (!let->isObject())
    return jsonError(*let, pointer + "/let", file) << "expected an object of names and patterns";
  for (const auto &[name, value] : let->members) {
    if (!value.isString())
      return jsonError(value, pointerTo(pointer + "/let", name), file) << "expected the text of a pattern";
    text.let.emplace_back(name, value.string);
  }
  return text;
}

Expected<Pattern> readPattern(const JsonValue &item, std::string_view vendor,
                              const std::string &pointer, const std::string &file) {
  BYCC_TRY(checkKeys(item, {"name", "root", "let", "where", "comment"}, pointer, file));
  const JsonValue *name = item.find("name");
  if (!name || !name->isString() || name->string.empty())
    return jsonError(name ? *name : item, pointer, file) << "'name' must be text";
  if (!name->string.starts_with(std::string(vendor) + "."))
    return jsonError(*name, pointer + "/name", file)
           << "'" << escaped(name->string) << "' must start with '" << vendor << ".'";
  PatternText text = BYCC_TRY(readText(item, pointer, file));
  Expected<Pattern> pattern = parsePattern(name->string, text);
  if (!pattern) {
    const JsonValue &root = *item.find("root");
    bool inLet = pattern.error().message().starts_with("let ");
    return error(pattern.error().status(), location(root, file))
           << pointer << (inLet ? "" : "/root") << ": " << pattern.error().message();
  }
  if (const JsonValue *where = item.find("where"))
    pattern->where = BYCC_TRY(readWhere(*where, pointer + "/where", file));
  return pattern;
}

} // namespace

Expected<AttrDict> readAttrs(const JsonValue &object, OpId op, const std::string &pointer,
                             const std::string &file) {
  std::vector<std::string> known;
  for (const AttrSpec &spec : opInfo(op).attrs)
    known.push_back(spec.name);
  BYCC_TRY(checkKeys(object, known, pointer, file));
  AttrDict attrs;
  for (const auto &[key, value] : object.members)
    attrs.push_back({key, BYCC_TRY(readAttrValue(value, pointerTo(pointer, key), file, 0))});
  return attrs;
}

Expected<std::vector<Pattern>> readPatterns(const JsonValue &array, std::string_view vendor,
                                            const std::string &pointer, const std::string &file) {
  if (!array.isArray())
    return jsonError(array, pointer, file) << "expected an array of patterns";
  std::vector<Pattern> patterns;
  for (size_t i = 0; i < array.items.size(); ++i)
    patterns.push_back(BYCC_TRY(
        readPattern(array.items[i], vendor, pointer + "/" + std::to_string(i), file)));
  return patterns;
}

} // namespace bycc
