// Conditions from JSON.

#include "bycc/Pattern/Condition.h"

#include "bycc/IR/Op.h"
#include "bycc/Pattern/JsonRead.h"
#include "bycc/Support/Text.h"

namespace bycc {

namespace {

constexpr int maxNesting = 8;
constexpr int64_t maxPosition = 1024;

class ConditionReader {
public:
  ConditionReader(OpId op, const std::string &file) : op_(op), file_(file) {}

  Expected<Condition> read(const JsonValue &object, const std::string &pointer,
                           const std::vector<std::string> &others, int depth) {
    std::vector<std::string> known = {"dtype",  "attr",         "const_args",   "args",   "results",
                                      "any_of", "static_shape", "equal_shapes", "comment"};
    known.insert(known.end(), others.begin(), others.end());
    BYCC_TRY(checkKeys(object, known, pointer, file_));
    if (depth > maxNesting)
      return jsonError(object, pointer, file_) << "nested deeper than " << maxNesting;
    Condition condition;
    for (const auto &[key, value] : object.members)
      BYCC_TRY(readMember(key, value, pointerTo(pointer, key), depth, condition));
    return condition;
  }

private:
  Expected<> readMember(const std::string &key, const JsonValue &value, const std::string &pointer,
                        int depth, Condition &condition) {
    if (key == "dtype")
      condition.dtypes = BYCC_TRY(readDTypes(value, pointer, file_));
    else if (key == "attr")
      condition.attrs = BYCC_TRY(readAttrs(value, pointer));
    else if (key == "const_args")
      condition.constArgs = BYCC_TRY(readPositions(value, pointer));
    else if (key == "equal_shapes")
      condition.equalShapes = BYCC_TRY(readPositions(value, pointer));
    else if (key == "args")
      condition.args = BYCC_TRY(readValues(value, pointer, true));
    else if (key == "results")
      condition.results = BYCC_TRY(readValues(value, pointer, false));
    else if (key == "static_shape")
      condition.needsStaticShape = BYCC_TRY(readBool(value, pointer));
    else if (key == "any_of")
      BYCC_TRY(readAnyOf(value, pointer, depth, condition));
    return {};
  }

  Expected<bool> readBool(const JsonValue &value, const std::string &pointer) {
    if (!value.isBool())
      return jsonError(value, pointer, file_) << "expected true or false";
    return value.boolean;
  }

  Expected<int64_t> readCount(const JsonValue &value, const std::string &pointer) {
    if (!value.isInt() || value.integer < 0)
      return jsonError(value, pointer, file_) << "expected a number that is not negative";
    return value.integer;
  }

  Expected<> readAnyOf(const JsonValue &array, const std::string &pointer, int depth,
                       Condition &condition) {
    if (!array.isArray() || array.items.empty())
      return jsonError(array, pointer, file_) << "expected an array of conditions";
    for (size_t i = 0; i < array.items.size(); ++i)
      condition.anyOf.push_back(
          BYCC_TRY(read(array.items[i], pointer + "/" + std::to_string(i), {}, depth + 1)));
    return {};
  }

  // --- arguments

  // The most arguments a call can have; none: no bound.
  std::optional<size_t> numInputs() const {
    if (!op_)
      return std::nullopt;
    const OpInfo &info = opInfo(op_);
    return info.isVariadic ? std::nullopt : std::optional(info.inputs.size());
  }

  Expected<> checkPosition(int64_t position, const JsonValue &at, const std::string &pointer) {
    if (position < 0 || position > maxPosition)
      return jsonError(at, pointer, file_) << "expected an argument position";
    if (auto most = numInputs(); most && position >= static_cast<int64_t>(*most))
      return jsonError(at, pointer, file_)
             << "argument " << position << ", but " << opInfo(op_).name << " takes " << *most;
    return {};
  }

  Expected<std::vector<uint32_t>> readPositions(const JsonValue &array,
                                                const std::string &pointer) {
    if (!array.isArray())
      return jsonError(array, pointer, file_) << "expected an array of argument positions";
    std::vector<uint32_t> positions;
    for (size_t i = 0; i < array.items.size(); ++i) {
      const JsonValue &item = array.items[i];
      BYCC_TRY(
          checkPosition(item.isInt() ? item.integer : -1, item, pointer + "/" + std::to_string(i)));
      positions.push_back(static_cast<uint32_t>(item.integer));
    }
    return positions;
  }

  using Values = std::vector<std::pair<uint32_t, ValueCondition>>;
  Expected<Values> readValues(const JsonValue &object, const std::string &pointer, bool areArgs) {
    if (!object.isObject())
      return jsonError(object, pointer, file_) << "expected an object of positions and conditions";
    Values values;
    for (const auto &[key, value] : object.members) {
      std::string at = pointerTo(pointer, key);
      std::optional<int64_t> position = parseInt(key);
      if (areArgs)
        BYCC_TRY(checkPosition(position.value_or(-1), value, at));
      else if (!position || *position < 0 || *position > maxPosition)
        return jsonError(value, at, file_) << "expected the position of a result";
      values.emplace_back(static_cast<uint32_t>(*position),
                          BYCC_TRY(readValue(value, at, areArgs)));
    }
    return values;
  }

  Expected<ValueCondition> readValue(const JsonValue &object, const std::string &pointer,
                                     bool isArg) {
    std::vector<std::string> known = {"dtype",        "rank",         "shape",  "layout",
                                      "min_elements", "max_elements", "comment"};
    if (isArg)
      known.insert(known.end(), {"const", "op", "value"});
    BYCC_TRY(checkKeys(object, known, pointer, file_));
    ValueCondition condition;
    for (const auto &[key, value] : object.members)
      BYCC_TRY(readValueMember(key, value, pointerTo(pointer, key), condition));
    return condition;
  }

  Expected<> readValueMember(const std::string &key, const JsonValue &value,
                             const std::string &pointer, ValueCondition &condition) {
    if (key == "dtype")
      condition.type.dtypes = BYCC_TRY(readDTypes(value, pointer, file_));
    else if (key == "rank")
      condition.type.ranks = BYCC_TRY(readRanks(value, pointer));
    else if (key == "shape")
      BYCC_TRY(readShape(value, pointer, condition.type));
    else if (key == "layout")
      condition.type.layouts = BYCC_TRY(readStrings(value, pointer, "a layout"));
    else if (key == "const")
      condition.isConstant = BYCC_TRY(readBool(value, pointer));
    else if (key == "op")
      condition.madeBy = BYCC_TRY(readOps(value, pointer));
    else if (key == "min_elements")
      condition.minElements = BYCC_TRY(readCount(value, pointer));
    else if (key == "max_elements")
      condition.maxElements = BYCC_TRY(readCount(value, pointer));
    else if (key == "value")
      condition.value = BYCC_TRY(readElements(value, pointer));
    return {};
  }

  Expected<std::vector<int64_t>> readRanks(const JsonValue &value, const std::string &pointer) {
    std::vector<int64_t> ranks;
    if (!value.isArray()) {
      ranks.push_back(BYCC_TRY(readCount(value, pointer)));
      return ranks;
    }
    for (size_t i = 0; i < value.items.size(); ++i)
      ranks.push_back(BYCC_TRY(readCount(value.items[i], pointer + "/" + std::to_string(i))));
    return ranks;
  }

  Expected<> readShape(const JsonValue &array, const std::string &pointer, TypeTest &test) {
    if (!array.isArray())
      return jsonError(array, pointer, file_) << "expected an array of dimensions";
    test.hasShape = true;
    for (size_t i = 0; i < array.items.size(); ++i) {
      const JsonValue &item = array.items[i];
      std::string text = item.kind == JsonValue::Kind::Null ? "?"
                         : item.isInt()                     ? std::to_string(item.integer)
                         : item.isString()                  ? item.string
                                                            : "";
      if (text == "..." && !test.isOpen) {
        test.isOpen = true;
        continue;
      }
      std::optional<DimTest> dim = parseDimTest(text);
      if (!dim)
        return jsonError(item, pointer + "/" + std::to_string(i), file_)
               << "expected a dimension: 7, null, \"1..8\", \">=4\", \"<=4\", \"%8\" or one "
                  "\"...\"";
      (test.isOpen ? test.tail : test.shape).push_back(std::move(*dim));
    }
    return {};
  }

  Expected<std::vector<std::string>> readStrings(const JsonValue &value, const std::string &pointer,
                                                 const char *what) {
    std::vector<std::string> texts;
    if (value.isString()) {
      texts.push_back(value.string);
      return texts;
    }
    if (!value.isArray())
      return jsonError(value, pointer, file_) << "expected " << what;
    for (size_t i = 0; i < value.items.size(); ++i) {
      if (!value.items[i].isString())
        return jsonError(value.items[i], pointer + "/" + std::to_string(i), file_)
               << "expected " << what;
      texts.push_back(value.items[i].string);
    }
    return texts;
  }

  Expected<std::vector<OpId>> readOps(const JsonValue &value, const std::string &pointer) {
    std::vector<std::string> names =
        BYCC_TRY(readStrings(value, pointer, "the name of an operator"));
    std::vector<OpId> ops;
    for (size_t i = 0; i < names.size(); ++i) {
      bool isList = value.isArray();
      ops.push_back(
          BYCC_TRY(readOpName(names[i], isList ? value.items[i] : value,
                              isList ? pointer + "/" + std::to_string(i) : pointer, file_)));
    }
    return ops;
  }

  Expected<ValueTest> readElements(const JsonValue &value, const std::string &pointer) {
    ValueTest test;
    test.isList = value.isArray();
    std::vector<JsonValue> items = test.isList ? value.items : std::vector<JsonValue>{value};
    for (const JsonValue &item : items) {
      if (!item.isNumber() && !item.isBool())
        return jsonError(item, pointer, file_) << "expected a number or an array of numbers";
      test.values.push_back(item.isBool() ? item.boolean : item.number);
    }
    if (test.values.empty())
      return jsonError(value, pointer, file_) << "expected at least one number";
    return test;
  }

  // --- attributes

  Expected<std::vector<AttrTest>> readAttrs(const JsonValue &object, const std::string &pointer) {
    BYCC_TRY(checkKeys(object, attrNames(op_), pointer, file_));
    std::vector<AttrTest> tests;
    for (const auto &[key, value] : object.members) {
      AttrTest test;
      test.key = key;
      std::string at = pointerTo(pointer, key);
      if (value.isObject())
        BYCC_TRY(readAttrTest(value, at, test));
      else
        test.anyOf = {BYCC_TRY(readAttrValue(value, at, 0))};
      tests.push_back(std::move(test));
    }
    return tests;
  }

  Expected<> readAttrTest(const JsonValue &object, const std::string &pointer, AttrTest &test) {
    BYCC_TRY(checkKeys(object, {"min", "max", "in", "not", "comment"}, pointer, file_));
    NumberRange range;
    BYCC_TRY(readBound(object, "min", pointer, range.min));
    BYCC_TRY(readBound(object, "max", pointer, range.max));
    if (object.find("min") || object.find("max"))
      test.range = range;
    if (range.min > range.max)
      return jsonError(object, pointer, file_) << "min is greater than max";
    if (const JsonValue *in = object.find("in"))
      test.anyOf = BYCC_TRY(readAttrValues(*in, pointer + "/in"));
    const JsonValue *other = object.find("not");
    if (other && other->isArray() && !mayBeList(test.key))
      test.noneOf = BYCC_TRY(readAttrValues(*other, pointer + "/not"));
    else if (other)
      test.noneOf = {BYCC_TRY(readAttrValue(*other, pointer + "/not", 0))};
    return {};
  }

  // Then a list is one value, else several.
  bool mayBeList(const std::string &key) const {
    auto isList = [&](OpId op) {
      const AttrSpec *spec = opInfo(op).findAttr(key);
      return spec && (spec->type == AttrType::Ints || spec->type == AttrType::Floats ||
                      spec->type == AttrType::Any);
    };
    if (op_)
      return isList(op_);
    bool isAny = false;
    for (uint32_t i = 0; i < numOps(); ++i)
      isAny |= isList(OpId(i));
    return isAny;
  }

  Expected<> readBound(const JsonValue &object, const char *key, const std::string &pointer,
                       double &bound) {
    const JsonValue *value = object.find(key);
    if (value && !value->isNumber())
      return jsonError(*value, pointerTo(pointer, key), file_) << "expected a number";
    if (value)
      bound = value->number;
    return {};
  }

  Expected<std::vector<AttrValue>> readAttrValues(const JsonValue &array,
                                                  const std::string &pointer) {
    if (!array.isArray() || array.items.empty())
      return jsonError(array, pointer, file_) << "expected an array of values";
    std::vector<AttrValue> values;
    for (size_t i = 0; i < array.items.size(); ++i)
      values.push_back(
          BYCC_TRY(readAttrValue(array.items[i], pointer + "/" + std::to_string(i), 0)));
    return values;
  }

  Expected<AttrValue> readAttrValue(const JsonValue &json, const std::string &pointer, int depth) {
    switch (json.kind) {
    case JsonValue::Kind::Null:
      return AttrValue();
    case JsonValue::Kind::Bool:
      return AttrValue(json.boolean);
    case JsonValue::Kind::Int:
      return AttrValue(json.integer);
    case JsonValue::Kind::Float:
      return AttrValue(json.number);
    case JsonValue::Kind::String:
      return AttrValue(json.string);
    case JsonValue::Kind::Array: {
      AttrValue::List items;
      for (size_t i = 0; i < json.items.size(); ++i)
        items.push_back(
            BYCC_TRY(readAttrValue(json.items[i], pointer + "/" + std::to_string(i), depth + 1)));
      return AttrValue(std::move(items));
    }
    default:
      return jsonError(json, pointer, file_) << "not a value of an attribute";
    }
  }

  OpId op_;
  const std::string &file_;
};

} // namespace

Expected<Condition> readCondition(const JsonValue &object, OpId op, const std::string &pointer,
                                  const std::string &file, const std::vector<std::string> &others) {
  return ConditionReader(op, file).read(object, pointer, others, 0);
}

} // namespace bycc
