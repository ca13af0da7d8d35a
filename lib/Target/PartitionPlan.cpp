// The plan file. Regions and vendors are checked against each other here; whether
// they fit a program is found out by the passes.

#include "bycc/Target/PartitionPlan.h"

#include "bycc/Support/Json.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Text.h"

#include <algorithm>
#include <map>

namespace bycc {

namespace {

constexpr int64_t version = 1;

struct EstimateMember {
  const char *key;
  double SavedEstimate::*value;
};
constexpr EstimateMember estimateMembers[] = {
    {"us", &SavedEstimate::us},
    {"host_us", &SavedEstimate::hostUs},
    {"best_single_us", &SavedEstimate::bestSingleUs},
    {"bound_us", &SavedEstimate::boundUs},
    {"measured_share", &SavedEstimate::measuredShare},
};

class PlanReader {
public:
  explicit PlanReader(const std::string &file) : file_(file) {}

  Expected<PartitionPlan> read(const JsonValue &root) {
    PartitionPlan plan;
    plan.file = file_;
    const JsonValue *number = root.find("bycc_partition_plan");
    if (!number || !number->isInt())
      return fail(root) << "this is no partition plan: 'bycc_partition_plan' is missing";
    if (number->integer != version)
      return fail(*number) << "partition plan of version " << number->integer
                           << ", this bycc reads version " << version;
    plan.modelHash = BYCC_TRY(text(root, "model_hash"));
    for (const JsonValue &vendor : BYCC_TRY(array(root, "vendors"))->items) {
      if (!vendor.isString())
        return fail(vendor) << "expected the name of a vendor";
      plan.vendors.push_back(vendor.string);
    }
    for (const JsonValue &node : BYCC_TRY(array(root, "nodes"))->items)
      plan.nodes.push_back(BYCC_TRY(readNode(node)));
    if (const JsonValue *totals = root.find("totals"))
      plan.totals = BYCC_TRY(readTotals(*totals));
    return plan;
  }

private:
  ErrorBuilder fail(const JsonValue &value) const {
    return error(Status::Input, location(value, file_));
  }

  Expected<std::string> text(const JsonValue &object, const char *key) {
    const JsonValue *value = object.find(key);
    if (!value || !value->isString())
      return fail(value ? *value : object) << "'" << key << "' must be text";
    return value->string;
  }

  Expected<const JsonValue *> array(const JsonValue &object, const char *key) {
    const JsonValue *value = object.find(key);
    if (!value || !value->isArray())
      return fail(value ? *value : object) << "'" << key << "' must be an array";
    return value;
  }

  Expected<PlanNode> readNode(const JsonValue &object) {
    static const std::vector<std::string> keys = {"name",   "op",        "index", "place",
                                                  "region", "composite", "why",   "comment"};
    for (const auto &[key, value] : object.members)
      if (std::ranges::find(keys, key) == keys.end())
        return fail(value) << "unknown member '" << escaped(key) << "'" << didYouMean(key, keys);
    PlanNode node;
    node.name = BYCC_TRY(text(object, "name"));
    node.op = BYCC_TRY(text(object, "op"));
    node.place = BYCC_TRY(text(object, "place"));
    node.index = static_cast<uint32_t>(BYCC_TRY(number(object, "index")).value_or(0));
    if (const JsonValue *composite = object.find("composite");
        composite && composite->kind != JsonValue::Kind::Null)
      node.composite = BYCC_TRY(text(object, "composite"));
    if (const JsonValue *why = object.find("why"))
      for (const auto &[vendor, reason] : why->members)
        if (reason.isString())
          node.why.emplace_back(vendor, reason.string);
    if (node.place != "host")
      BYCC_TRY(readRegion(object, node));
    return node;
  }

  Expected<PlanTotals> readTotals(const JsonValue &object) {
    if (!object.isObject())
      return fail(object) << "'totals' must be an object";
    PlanTotals totals;
    totals.regions = static_cast<int64_t>(BYCC_TRY(quantity(object, "regions")));
    totals.boundaryBytes = static_cast<int64_t>(BYCC_TRY(quantity(object, "boundary_bytes")));
    const JsonValue *estimate = object.find("estimate");
    if (!estimate)
      return totals;
    if (!estimate->isObject())
      return fail(*estimate) << "'estimate' must be an object";
    totals.estimate.emplace();
    for (const EstimateMember &member : estimateMembers)
      (*totals.estimate).*member.value = BYCC_TRY(quantity(*estimate, member.key));
    return totals;
  }

  Expected<double> quantity(const JsonValue &object, const char *key) {
    const JsonValue *value = object.find(key);
    if (!value || !value->isNumber() || !(value->number >= 0 && value->number <= 1e18))
      return fail(value ? *value : object) << "'" << key << "' must be a number from 0 up";
    return value->number;
  }

  // A node without a number is a region of its own.
  Expected<> readRegion(const JsonValue &object, PlanNode &node) {
    std::optional<int64_t> region = BYCC_TRY(number(object, "region"));
    node.region = region ? *region : nextOwn_++;
    auto [found, isNew] = vendorOf_.try_emplace(node.region, node.place, node.name);
    if (isNew || found->second.first == node.place)
      return {};
    return fail(object) << "region " << node.region << " holds '" << escaped(found->second.second)
                        << "' for " << escaped(found->second.first) << " and '"
                        << escaped(node.name) << "' for " << escaped(node.place)
                        << ": a region has one vendor";
  }

  Expected<std::optional<int64_t>> number(const JsonValue &object, const char *key) {
    const JsonValue *value = object.find(key);
    if (!value || value->kind == JsonValue::Kind::Null)
      return std::optional<int64_t>();
    if (!value->isInt() || value->integer < 0 || value->integer > INT32_MAX)
      return fail(*value) << "'" << key << "' must be a number from 0 up";
    return std::optional<int64_t>(value->integer);
  }

  const std::string &file_;
  std::map<int64_t, std::pair<std::string, std::string>> vendorOf_; // region -> vendor, first node
  int64_t nextOwn_ = int64_t{1} << 40;
};

} // namespace

Expected<PartitionPlan> readPlan(std::string_view text, const std::string &file) {
  JsonValue root = BYCC_TRY(parseJson(text, file));
  return PlanReader(file).read(root);
}

std::string planText(const PartitionPlan &plan) {
  JsonWriter json;
  json.beginObject()
      .key("bycc_partition_plan")
      .value(version)
      .key("model_hash")
      .value(plan.modelHash);
  json.key("vendors").beginArray();
  for (const std::string &vendor : plan.vendors)
    json.value(vendor);
  json.endArray().key("nodes").beginArray();
  for (const PlanNode &node : plan.nodes) {
    json.beginObject().key("name").value(node.name).key("op").value(node.op);
    if (node.index > 0)
      json.key("index").value(node.index);
    json.key("place").value(node.place);
    if (node.region >= 0)
      json.key("region").value(node.region);
    if (!node.composite.empty())
      json.key("composite").value(node.composite);
    if (!node.why.empty()) {
      json.key("why").beginObject();
      for (const auto &[vendor, reason] : node.why)
        json.key(vendor).value(reason);
      json.endObject();
    }
    json.endObject();
  }
  json.endArray();
  if (plan.totals) {
    json.key("totals").beginObject().key("regions").value(plan.totals->regions);
    json.key("boundary_bytes").value(plan.totals->boundaryBytes);
    if (plan.totals->estimate)
      writeEstimate(json.key("estimate"), *plan.totals->estimate);
    json.endObject();
  }
  json.endObject();
  return json.take();
}

void writeEstimate(JsonWriter &json, const SavedEstimate &estimate) {
  json.beginObject();
  for (const EstimateMember &member : estimateMembers)
    json.key(member.key).value(estimate.*member.value);
  json.endObject();
}

} // namespace bycc
