// Reads rules files: vendors described by data alone, and how to partition.

#include "bycc/IR/Op.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/VendorRegistry.h"

namespace bycc {

namespace {

class RulesReader {
public:
  explicit RulesReader(const std::string &file) : file_(file) {}

  Expected<RuleSet> read(const JsonValue &pipeline, const std::string &pointer) {
    BYCC_TRY(checkKeys(pipeline, {"vendors", "merge_regions", "bind_constants", "mod_name", "comment"},
                       pointer, file_));
    RuleSet rules;
    rules.mergeRegions = BYCC_TRY(readBool(pipeline, "merge_regions", pointer));
    rules.bindConstants = BYCC_TRY(readBool(pipeline, "bind_constants", pointer));
    if (const JsonValue *name = pipeline.find("mod_name")) {
      if (!name->isString())
        return jsonError(*name, pointer + "/mod_name", file_) << "expected text";
      rules.moduleName = name->string;
    }
    const JsonValue *vendors = pipeline.find("vendors");
    if (!vendors || !vendors->isArray())
      return jsonError(vendors ? *vendors : pipeline, pointer + "/vendors", file_)
             << "expected an array of vendors";
    for (size_t i = 0; i < vendors->items.size(); ++i)
      BYCC_TRY(readVendor(vendors->items[i], pointer + "/vendors/" + std::to_string(i), rules));
    return rules;
  }

private:
  Expected<std::optional<bool>> readBool(const JsonValue &object, const char *key,
                                         const std::string &pointer) {
    const JsonValue *value = object.find(key);
    if (!value)
      return std::optional<bool>();
    if (!value->isBool())
      return jsonError(*value, pointer + "/" + key, file_) << "expected true or false";
    return std::optional<bool>(value->boolean);
  }

  Expected<> readVendor(const JsonValue &item, const std::string &pointer, RuleSet &rules) {
    BYCC_TRY(checkKeys(item, {"name", "builtin", "ops", "patterns", "comment"}, pointer, file_));
    const JsonValue *name = item.find("name");
    if (!name || !name->isString() || name->string.empty())
      return jsonError(name ? *name : item, pointer + (name ? "/name" : ""), file_)
             << "'name' must be the vendor's name";
    if (name->string.find('.') != std::string::npos)
      return jsonError(*name, pointer + "/name", file_) << "a vendor's name has no dot";
    for (const RuleSet::Entry &entry : rules.vendors)
      if (entry.name == name->string)
        return jsonError(*name, pointer + "/name", file_)
               << "vendor '" << escaped(name->string) << "' comes twice";
    RuleSet::Entry entry;
    entry.name = name->string;
    entry.isBuiltin = BYCC_TRY(readBool(item, "builtin", pointer)).value_or(false);
    if (!entry.isBuiltin)
      entry.emulated = BYCC_TRY(readEmulated(item, name->string, pointer));
    rules.vendors.push_back(std::move(entry));
    return {};
  }

  Expected<std::unique_ptr<Vendor>> readEmulated(const JsonValue &item, const std::string &name,
                                                 const std::string &pointer) {
    auto vendor = std::make_unique<Vendor>(name);
    if (const JsonValue *ops = item.find("ops")) {
      if (!ops->isObject())
        return jsonError(*ops, pointer + "/ops", file_) << "expected an object";
      for (const auto &[op, condition] : ops->members) {
        std::string at = pointer + "/ops/" + op;
        OpId id = BYCC_TRY(readOpName(op, condition, at, file_));
        vendor->addRule(id, BYCC_TRY(readCondition(condition, id, at)));
      }
    }
    if (const JsonValue *patterns = item.find("patterns"))
      vendor->addPatterns(BYCC_TRY(readPatterns(*patterns, name, pointer + "/patterns", file_)));
    return vendor;
  }

  Expected<OpRule> readCondition(const JsonValue &object, OpId op, const std::string &pointer) {
    BYCC_TRY(checkKeys(object, {"dtype", "attr", "const_args", "comment"}, pointer, file_));
    OpRule rule;
    if (const JsonValue *dtypes = object.find("dtype"))
      rule.dtypes = BYCC_TRY(readDTypes(*dtypes, pointer + "/dtype"));
    if (const JsonValue *attrs = object.find("attr"))
      rule.attrs = BYCC_TRY(readAttrs(*attrs, op, pointer + "/attr", file_));
    if (const JsonValue *args = object.find("const_args"))
      rule.constArgs = BYCC_TRY(readConstArgs(*args, pointer + "/const_args"));
    return rule;
  }

  Expected<std::vector<DType>> readDTypes(const JsonValue &array, const std::string &pointer) {
    if (!array.isArray())
      return jsonError(array, pointer, file_) << "expected an array of dtypes";
    std::vector<DType> dtypes;
    for (size_t i = 0; i < array.items.size(); ++i) {
      auto dtype = array.items[i].isString() ? parseDType(array.items[i].string) : std::nullopt;
      if (!dtype)
        return jsonError(array.items[i], pointer + "/" + std::to_string(i), file_)
               << "unknown dtype '" << escaped(array.items[i].string) << "'";
      dtypes.push_back(*dtype);
    }
    return dtypes;
  }

  Expected<std::vector<uint32_t>> readConstArgs(const JsonValue &array,
                                                const std::string &pointer) {
    if (!array.isArray())
      return jsonError(array, pointer, file_) << "expected an array of argument positions";
    std::vector<uint32_t> positions;
    for (size_t i = 0; i < array.items.size(); ++i) {
      const JsonValue &item = array.items[i];
      if (!item.isInt() || item.integer < 0 || item.integer > 1024)
        return jsonError(item, pointer + "/" + std::to_string(i), file_)
               << "expected an argument position";
      positions.push_back(static_cast<uint32_t>(item.integer));
    }
    return positions;
  }

  const std::string &file_;
};

} // namespace

Expected<RuleSet> readRules(std::string_view text, const std::string &file) {
  JsonValue root = BYCC_TRY(parseJson(text, file));
  if (!root.isObject())
    return jsonError(root, "", file) << "expected an object";
  const JsonValue *pipeline = root.find("pipeline");
  return RulesReader(file).read(pipeline ? *pipeline : root, pipeline ? "/pipeline" : "");
}

} // namespace bycc
