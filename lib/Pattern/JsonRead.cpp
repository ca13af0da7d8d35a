#include "bycc/Pattern/JsonRead.h"

#include "bycc/IR/OnnxNames.h"
#include "bycc/IR/Op.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"

#include <algorithm>

namespace bycc {

std::string pointerTo(const std::string &pointer, std::string_view key) {
  std::string result = pointer + "/";
  for (char c : key)
    result += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return result;
}

ErrorBuilder jsonError(const JsonValue &value, const std::string &pointer,
                       const std::string &file) {
  return error(Status::Input, location(value, file)).as(MessageId::RulesFile)
         << (pointer.empty() ? "/" : escaped(pointer, 512)) << ": ";
}

std::string unknownName(std::string_view what, std::string_view name,
                        const std::vector<std::string> &known) {
  return "unknown " + std::string(what) + " '" + escaped(name) + "'" + didYouMean(name, known);
}

Expected<> checkKeys(const JsonValue &object, const std::vector<std::string> &known,
                     const std::string &pointer, const std::string &file) {
  if (!object.isObject())
    return jsonError(object, pointer, file) << "expected an object";
  for (const auto &[key, value] : object.members)
    if (std::ranges::find(known, key) == known.end())
      return jsonError(value, pointerTo(pointer, key), file) << unknownName("member", key, known);
  return {};
}

Expected<OpId> readOpName(std::string_view name, const JsonValue &at, const std::string &pointer,
                          const std::string &file) {
  if (OpId op = findOp(name))
    return op;
  return jsonError(at, pointer, file)
         << "unknown operator '" << escaped(name) << "'" << didYouMeanOperator(name, allOpNames());
}

std::vector<std::string> attrNames(OpId op) {
  std::vector<std::string> names;
  for (uint32_t i = op ? op.index : 0; i < (op ? op.index + 1 : numOps()); ++i)
    for (const AttrSpec &spec : opInfo(OpId(i)).attrs)
      names.push_back(spec.name);
  if (op)
    return names;
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Expected<DType> readDType(const JsonValue &value, const std::string &pointer,
                          const std::string &file) {
  if (!value.isString())
    return jsonError(value, pointer, file) << "expected the name of a dtype";
  if (auto dtype = parseDType(value.string))
    return *dtype;
  std::vector<std::string> known;
  for (int i = 0; i < numDTypes; ++i)
    known.emplace_back(name(static_cast<DType>(i)));
  return jsonError(value, pointer, file) << unknownName("dtype", value.string, known);
}

Expected<std::vector<DType>> readDTypes(const JsonValue &array, const std::string &pointer,
                                        const std::string &file) {
  if (!array.isArray())
    return jsonError(array, pointer, file) << "expected an array of dtypes";
  std::vector<DType> dtypes;
  for (size_t i = 0; i < array.items.size(); ++i)
    dtypes.push_back(BYCC_TRY(readDType(array.items[i], pointer + "/" + std::to_string(i), file)));
  return dtypes;
}

} // namespace bycc
