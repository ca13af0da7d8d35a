// Reads rules files: vendors described by data alone, and how to partition.

#include "bycc/Pattern/JsonRead.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/VendorRegistry.h"

#include <algorithm>

namespace bycc {

namespace {

class RulesReader {
public:
  explicit RulesReader(const std::string &file) : file_(file) {}

  Expected<RuleSet> read(const JsonValue &pipeline, const std::string &pointer) {
    BYCC_TRY(checkKeys(pipeline,
                       {"vendors", "merge_regions", "bind_constants", "mod_name", "comment"},
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
    std::vector<std::string> known = vendorMembers();
    known.insert(known.end(), {"name", "builtin", "comment"});
    BYCC_TRY(checkKeys(item, known, pointer, file_));
    RuleSet::Entry entry;
    const JsonValue *name = item.find("name");
    entry.name = BYCC_TRY(readVendorName(name, item, pointer + (name ? "/name" : ""), file_));
    for (const RuleSet::Entry &other : rules.vendors)
      if (other.name == entry.name)
        return jsonError(*name, pointer + "/name", file_)
               << "vendor '" << escaped(entry.name) << "' comes twice";
    entry.isBuiltin = BYCC_TRY(readBool(item, "builtin", pointer)).value_or(false);
    auto vendor = std::make_unique<Vendor>(entry.name);
    // Edges and costs may name composites that are the vendor's own.
    BYCC_TRY(readVendorMembers(entry.isBuiltin ? without(item, {"edges", "cost"}) : item, pointer,
                               file_, *vendor));
    if (entry.isBuiltin) // its own operators and patterns instead of these
      entry.more = {entry.name, without(item, {"ops", "patterns"}), pointer, file_};
    else
      entry.emulated = std::move(vendor);
    rules.vendors.push_back(std::move(entry));
    return {};
  }

  static JsonValue without(JsonValue item, const std::vector<std::string> &keys) {
    std::erase_if(item.members, [&](const JsonValue::Member &member) {
      return std::ranges::find(keys, member.first) != keys.end();
    });
    return item;
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
