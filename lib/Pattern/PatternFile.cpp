// Patterns in JSON: the `patterns` of vendor files and rules files. Every error says
// where: FILE:LINE:COL and JSON pointer.

#include "PatternFileRead.h"
#include "bycc/Pattern/JsonRead.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc {

namespace {

// A match may hold it. Composites inside and paths of any operator may hold others.
bool mayHold(const Pattern &pattern, OpId op) {
  return std::ranges::any_of(pattern.nodes, [&](const PatternNode &node) {
    return node.kind == PatternKind::Composite ||
           (node.kind == PatternKind::Path && node.ops.empty()) ||
           std::ranges::find(node.ops, op) != node.ops.end();
  });
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
      return jsonError(value, pointerTo(pointer + "/let", name), file)
             << "expected the text of a pattern";
    text.let.emplace_back(name, value.string);
  }
  return text;
}

// A problem of the text `root`, or of one under `let`: "let 'NAME': ...".
Error atText(const Error &problem, const JsonValue &item, const std::string &pointer,
             const std::string &file) {
  std::string_view message = problem.message();
  if (const JsonValue *let = item.find("let"); let && message.starts_with("let '"))
    for (const auto &[name, value] : let->members)
      if (std::string mark = "let '" + escaped(name) + "': "; message.starts_with(mark))
        return error(problem.status(), location(value, file)).as(problem.diagnostics().front().id)
               << escaped(pointerTo(pointer + "/let", name), 512) << ": "
               << message.substr(mark.size());
  const char *key = item.find("relay") ? "relay" : "root";
  return error(problem.status(), location(*item.find(key), file))
             .as(problem.diagnostics().front().id)
         << escaped(pointerTo(pointer, key), 512) << ": " << message;
}

Expected<Pattern> parseEither(const JsonValue &item, const std::string &name,
                              const std::string &pointer, const std::string &file,
                              std::span<const std::string> composites) {
  const JsonValue *relay = item.find("relay");
  if (relay && (item.find("root") || item.find("let")))
    return jsonError(*relay, pointer + "/relay", file) << "'relay' stands alone, without 'root'";
  if (relay && !relay->isString())
    return jsonError(*relay, pointer + "/relay", file) << "expected the text of a Relay function";
  Expected<Pattern> pattern =
      relay ? parseRelayPattern(name, relay->string, composites)
            : parsePattern(name, BYCC_TRY(readText(item, pointer, file)), composites);
  if (!pattern)
    return atText(pattern.error(), item, pointer, file);
  return pattern;
}

// Kind of what the capture stands for: an operand, a constant, or a part inside.
enum class CaptureUse : uint8_t { Operand, Constant, Inside };
CaptureUse useOf(const Pattern &pattern, uint32_t capture) {
  CaptureUse use = CaptureUse::Operand;
  for (const PatternNode &node : pattern.nodes) {
    if (node.kind != PatternKind::Capture || node.index != capture || node.children.empty())
      continue;
    uint32_t child = node.children[0];
    while (pattern.nodes[child].kind == PatternKind::Typed)
      child = pattern.nodes[child].children[0];
    PatternKind kind = pattern.nodes[child].kind;
    if (kind == PatternKind::Constant)
      use = CaptureUse::Constant;
    else if (kind != PatternKind::Any)
      return CaptureUse::Inside;
  }
  return use;
}

Expected<> readParams(const JsonValue &array, const std::string &pointer, const std::string &file,
                      Pattern &pattern) {
  if (!array.isArray())
    return jsonError(array, pointer, file) << "expected an array of names";
  for (size_t i = 0; i < array.items.size(); ++i) {
    const JsonValue &item = array.items[i];
    std::string at = pointer + "/" + std::to_string(i);
    if (!item.isString())
      return jsonError(item, at, file) << "expected the name of an operand";
    auto found = std::ranges::find(pattern.captures, item.string);
    if (found == pattern.captures.end())
      return jsonError(item, at, file) << unknownName("operand", item.string, pattern.captures);
    if (useOf(pattern, static_cast<uint32_t>(found - pattern.captures.begin())) ==
        CaptureUse::Inside)
      return jsonError(item, at, file)
             << "'" << escaped(item.string) << "' names a part inside, not an operand";
    if (std::ranges::find(pattern.params, item.string) != pattern.params.end())
      return jsonError(item, at, file) << "'" << escaped(item.string) << "' comes twice";
    pattern.params.push_back(item.string);
  }
  return {};
}

Expected<std::string> readName(const JsonValue &item, std::string_view vendor,
                               const std::string &pointer, const std::string &file) {
  const JsonValue *name = item.find("name");
  if (!name || !name->isString() || name->string.empty())
    return jsonError(name ? *name : item, pointer + (name ? "/name" : ""), file)
           << "'name' must be text";
  if (!name->string.starts_with(std::string(vendor) + "."))
    return jsonError(*name, pointer + "/name", file)
           << "'" << escaped(name->string) << "' must start with '" << escaped(vendor) << ".'";
  return name->string;
}

Expected<Pattern> readPattern(const JsonValue &item, std::string_view vendor,
                              const std::string &pointer, const std::string &file,
                              std::span<const std::string> composites) {
  BYCC_TRY(checkKeys(item,
                     {"name", "root", "let", "relay", "params", "any_order", "where", "comment"},
                     pointer, file));
  std::string name = BYCC_TRY(readName(item, vendor, pointer, file));
  Pattern pattern = BYCC_TRY(parseEither(item, name, pointer, file, composites));
  if (const JsonValue *where = item.find("where"))
    pattern.where = BYCC_TRY(readWhere(*where, pattern, pointer + "/where", file));
  if (const JsonValue *params = item.find("params")) {
    pattern.params.clear();
    BYCC_TRY(readParams(*params, pointer + "/params", file, pattern));
  }
  if (const JsonValue *order = item.find("any_order")) {
    if (!order->isBool())
      return jsonError(*order, pointer + "/any_order", file) << "expected true or false";
    pattern.anyOrder = order->boolean;
  }
  return pattern;
}

} // namespace

Expected<std::vector<PatternCondition>> readWhere(const JsonValue &array, const Pattern &pattern,
                                                  const std::string &pointer,
                                                  const std::string &file) {
  if (!array.isArray())
    return jsonError(array, pointer, file) << "expected an array";
  std::vector<PatternCondition> conditions;
  for (size_t i = 0; i < array.items.size(); ++i) {
    const JsonValue &item = array.items[i];
    std::string at = pointer + "/" + std::to_string(i);
    const JsonValue *op = item.find("op");
    if (!op || !op->isString())
      return jsonError(item, at, file) << "'op' must be the name of an operator";
    PatternCondition condition;
    condition.op = BYCC_TRY(readOpName(op->string, *op, at + "/op", file));
    if (!mayHold(pattern, condition.op))
      return jsonError(*op, at + "/op", file)
             << "the pattern has no " << escaped(op->string) << ", so this would never be asked";
    condition.condition = BYCC_TRY(readCondition(item, condition.op, at, file, {"op"}));
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

Expected<std::vector<Pattern>> readPatterns(const JsonValue &array, std::string_view vendor,
                                            const std::string &pointer, const std::string &file,
                                            std::span<const Pattern> earlier) {
  if (!array.isArray())
    return jsonError(array, pointer, file) << "expected an array of patterns";
  std::vector<std::string> composites; // that the next pattern may have inside
  for (const Pattern &pattern : earlier)
    composites.push_back(pattern.name);
  std::vector<Pattern> patterns;
  for (size_t i = 0; i < array.items.size(); ++i) {
    patterns.push_back(BYCC_TRY(
        readPattern(array.items[i], vendor, pointer + "/" + std::to_string(i), file, composites)));
    composites.push_back(patterns.back().name);
  }
  return patterns;
}

} // namespace bycc
