// Reads patterns/mixed-precision.json (share/schema/mixed-precision.schema.json).

#include "bycc/Transforms/PrecisionRules.h"

#include "bycc/Pattern/JsonRead.h"
#include "bycc/Support/Json.h"

extern "C" const char mixed_precision_rules[]; // patterns/mixed-precision.json

namespace bycc {
namespace {

class Reader {
public:
  Reader(const JsonValue &root, const std::string &file) : root_(root), file_(file) {}

  Expected<PrecisionRules> read() {
    BYCC_TRY(checkKeys(root_, {"schema", "comment", "always", "moves", "follow", "never", "cost"},
                       "", file_));
    const JsonValue *schema = root_.find("schema");
    if (!schema || !schema->isInt() || schema->integer != 1)
      return jsonError(schema ? *schema : root_, schema ? "/schema" : "", file_)
             << "expected \"schema\": 1";
    BYCC_TRY(readList("always", PrecisionClass::Always));
    BYCC_TRY(readList("moves", PrecisionClass::Moves));
    BYCC_TRY(readList("follow", PrecisionClass::Follow));
    BYCC_TRY(readList("never", PrecisionClass::Never));
    BYCC_TRY(readCost());
    return std::move(rules_);
  }

private:
  Expected<> readList(const char *key, PrecisionClass cls) {
    const JsonValue *list = root_.find(key);
    if (!list)
      return {};
    std::string pointer = pointerTo("", key);
    if (!list->isArray())
      return jsonError(*list, pointer, file_) << "expected an array of operators";
    for (size_t i = 0; i < list->items.size(); ++i) {
      const JsonValue &item = list->items[i];
      std::string at = pointer + "/" + std::to_string(i);
      if (!item.isString())
        return jsonError(item, at, file_) << "expected the name of an operator";
      OpId op = BYCC_TRY(readOpName(item.string, item, at, file_));
      if (!rules_.classes.emplace(op.index, cls).second)
        return jsonError(item, at, file_) << "'" << item.string << "' is listed twice";
    }
    return {};
  }

  Expected<double> number(const JsonValue &object, const char *key, const std::string &pointer,
                          double least) {
    const JsonValue *value = object.find(key);
    if (!value)
      return jsonError(object, pointer, file_) << "'" << key << "' is missing";
    if (!value->isNumber() || !(value->number >= least && value->number <= 1e12))
      return jsonError(*value, pointerTo(pointer, key), file_)
             << "expected a number from " << least;
    return value->number;
  }

  Expected<> readCost() {
    const JsonValue *cost = root_.find("cost");
    if (!cost)
      return jsonError(root_, "", file_) << "'cost' is missing";
    // unknown_extent stands in older files: open extents count as everywhere else.
    BYCC_TRY(checkKeys(
        *cost, {"launch_us", "gb_per_s", "unknown_extent", "table_bytes", "least_gain", "gflops"},
        "/cost", file_));
    constexpr double slowest = 1e-3;
    rules_.launchMicroseconds = BYCC_TRY(number(*cost, "launch_us", "/cost", 0));
    rules_.bytesPerMicrosecond = 1e3 * BYCC_TRY(number(*cost, "gb_per_s", "/cost", slowest));
    rules_.tableBytes = static_cast<int64_t>(BYCC_TRY(number(*cost, "table_bytes", "/cost", 0)));
    if (cost->find("least_gain"))
      rules_.leastGain = BYCC_TRY(number(*cost, "least_gain", "/cost", 0));
    const JsonValue *gflops = cost->find("gflops");
    if (!gflops || !gflops->isObject())
      return jsonError(gflops ? *gflops : *cost, "/cost", file_)
             << "expected 'gflops' by CPU feature";
    rules_.flopsPerMicrosecond =
        1e3 * BYCC_TRY(number(*gflops, "float32", "/cost/gflops", slowest));
    for (const auto &[feature, value] : gflops->members)
      if (feature != "float32")
        rules_.bf16FlopsPerMicrosecond[feature] =
            1e3 * BYCC_TRY(number(*gflops, feature.c_str(), "/cost/gflops", slowest));
    if (rules_.bf16FlopsPerMicrosecond.empty())
      return jsonError(*gflops, "/cost/gflops", file_)
             << "expected the rate of at least one CPU feature";
    return {};
  }

  const JsonValue &root_;
  const std::string &file_;
  PrecisionRules rules_;
};

} // namespace

Expected<PrecisionRules> readPrecisionRules(std::string_view text, const std::string &file) {
  JsonValue root = BYCC_TRY(parseJson(text, file));
  return Reader(root, file).read();
}

const PrecisionRules &builtinPrecisionRules() {
  static const PrecisionRules rules = [] {
    auto read = readPrecisionRules(mixed_precision_rules, "patterns/mixed-precision.json");
    BYCC_ASSERT(read, read ? "" : "the built-in rules are right: " + read.error().str());
    return read.takeValue();
  }();
  return rules;
}

} // namespace bycc
