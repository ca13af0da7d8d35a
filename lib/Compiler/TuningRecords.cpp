#include "TuningRecords.h"

#include "bycc/Pattern/JsonRead.h"
#include "bycc/Support/Base64.h"
#include "bycc/Support/GraphSet.h"
#include "bycc/Support/Json.h"
#include "bycc/Support/Text.h"

namespace bycc {

namespace {

constexpr const char *members[] = {"vendor", "version", "target", "region", "record"};

Expected<std::string> readMember(const JsonValue &entry, const char *key,
                                 const std::string &pointer, const std::string &file) {
  const JsonValue *value = entry.find(key);
  if (!value || !value->isString())
    return jsonError(value ? *value : entry, pointer + "/" + key, file) << "expected text";
  return value->string;
}

} // namespace

Expected<TuningRecords> TuningRecords::read(const std::string &file, InputFiles &files) {
  TuningRecords result;
  if (!files.exists(file))
    return result;
  JsonValue root = BYCC_TRY(parseJson(BYCC_TRY(files.read(file, uint64_t{256} << 20)), file));
  BYCC_TRY(checkKeys(root, {"schema", "records"}, "", file));
  const JsonValue *schema = root.find("schema"), *records = root.find("records");
  if (!schema || !schema->isInt() || schema->integer != 1)
    return jsonError(schema ? *schema : root, "/schema", file) << "expected 1";
  if (!records || !records->isArray())
    return jsonError(records ? *records : root, "/records", file) << "expected an array";
  for (size_t i = 0; i < records->items.size(); ++i) {
    const JsonValue &entry = records->items[i];
    std::string pointer = "/records/" + std::to_string(i), text[5];
    for (int m = 0; m < 5; ++m)
      text[m] = BYCC_TRY(readMember(entry, members[m], pointer, file));
    auto record = decodeBase64(text[4]);
    if (!record)
      return jsonError(*entry.find("record"), pointer + "/record", file) << "expected base64";
    result.records_[{text[0], text[1], text[2], text[3]}] = std::move(*record);
  }
  return result;
}

std::string machineText(const TargetInfo &target) {
  return target.triple + " " + target.cpu + " " + join(target.features, ",") + " threads " +
         std::to_string(target.threads);
}

TuningRecords::Key TuningRecords::keyOf(const Vendor &vendor, const TargetInfo &target,
                                        const RegionHash &region) {
  std::string machine = machineText(target);
  for (const VendorSettings::Option &option : vendor.settings.options())
    if (option.isGiven)
      machine += " " + option.name + "=" + escaped(option.value);
  return {vendor.name(), escaped(vendor.versionText()), machine, hexText(region)};
}

const TuningRecords::Record *TuningRecords::find(const Vendor &vendor, const TargetInfo &target,
                                                 const RegionHash &region) const {
  auto found = records_.find(keyOf(vendor, target, region));
  return found == records_.end() ? nullptr : &found->second;
}

void TuningRecords::add(const Vendor &vendor, const TargetInfo &target, const RegionHash &region,
                        Record record) {
  records_[keyOf(vendor, target, region)] = std::move(record);
  isChanged_ = true;
}

std::string TuningRecords::text() const {
  JsonWriter json;
  json.beginObject().key("schema").value(int64_t{1}).key("records").beginArray();
  for (const auto &[key, record] : records_) {
    json.beginObject();
    json.key(members[0]).value(std::get<0>(key)).key(members[1]).value(std::get<1>(key));
    json.key(members[2]).value(std::get<2>(key)).key(members[3]).value(std::get<3>(key));
    json.key(members[4]).value(encodeBase64(record.data(), record.size())).endObject();
  }
  json.endArray().endObject();
  return json.take();
}

} // namespace bycc
