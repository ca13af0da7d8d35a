// The report as JSON: the document of --dump-offloads=F.json, and its rows for others.

#include "bycc/Partition/OffloadReport.h"
#include "bycc/Support/Json.h"

namespace bycc {

namespace {

void writeStrings(JsonWriter &json, const char *key, const std::vector<std::string> &strings) {
  json.key(key).beginArray();
  for (const std::string &text : strings)
    json.value(text);
  json.endArray();
}

void writeFunction(JsonWriter &json, const OffloadFunction &function) {
  json.beginObject();
  json.key("symbol").value(function.symbol);
  json.key("compiler").value(function.compiler);
  json.key("parent").value(function.parent);
  writeStrings(json, "ops", function.ops);
  writeStrings(json, "composites", function.composites);
  json.key("params").value(static_cast<int64_t>(function.paramTypes.size()));
  json.key("results").value(static_cast<int64_t>(function.resultTypes.size()));
  json.key("constants").value(function.constants);
  writeStrings(json, "param_types", function.paramTypes);
  writeStrings(json, "result_types", function.resultTypes);
  writeStrings(json, "arguments", function.arguments);
  json.key("calls").value(function.calls);
  writeStrings(json, "nodes", function.nodes);
  json.key("flops").value(function.flops);
  json.key("boundary_tensors").value(function.boundaryTensors);
  json.key("boundary_bytes").value(function.boundaryBytes);
  if (function.hasRunTimeSizes)
    json.key("has_run_time_sizes").value(true);
  json.endObject();
}

void writeReasons(JsonWriter &json, const char *key, const RefusalLog::Reasons &reasons) {
  json.key(key).beginObject();
  for (const auto &[vendor, reason] : reasons)
    json.key(vendor).value(reason);
  json.endObject();
}

void writeNode(JsonWriter &json, const OffloadNode &node) {
  json.beginObject();
  json.key("name").value(node.name);
  json.key("op").value(node.op);
  json.key("source").value(node.source);
  json.key("placed").value(node.placed);
  json.key("region");
  node.region.empty() ? json.null() : json.value(node.region);
  json.key("composite");
  node.composite.empty() ? json.null() : json.value(node.composite);
  writeReasons(json, "refused", node.refused);
  writeStrings(json, "candidates", node.accepted);
  writeReasons(json, "why", node.why);
  json.key("flops").value(node.flops);
  if (node.estimateUs)
    json.key("estimate_us").value(*node.estimateUs);
  json.endObject();
}

void writeTotals(JsonWriter &json, const OffloadTotals &totals, bool isVendor) {
  json.beginObject();
  json.key("regions").value(totals.regions);
  if (!isVendor) {
    json.key("ops").value(totals.ops);
    json.key("flops").value(totals.flops);
  }
  json.key("offloaded_ops").value(totals.offloadedOps);
  json.key("offloaded_flops").value(totals.offloadedFlops);
  json.key("boundary_tensors").value(totals.boundaryTensors);
  json.key("boundary_bytes").value(totals.boundaryBytes);
  if (totals.hasRunTimeSizes)
    json.key("has_run_time_sizes").value(true);
}

} // namespace

void writeEstimate(JsonWriter &json, const PlanEstimate &estimate) {
  json.beginObject();
  json.key("us").value(estimate.us).key("host_us").value(estimate.hostUs);
  json.key("best_single_us").value(estimate.bestSingleUs).key("bound_us").value(estimate.boundUs);
  json.key("measured_share").value(estimate.measuredShare).key("parts").beginArray();
  for (const PlanEstimate::Part &part : estimate.parts) {
    json.beginObject().key("name").value(part.name).key("operators_us").value(part.operators);
    json.key("launches_us")
        .value(part.launches)
        .key("transfers_us")
        .value(part.transfers)
        .endObject();
  }
  json.endArray().endObject();
}

void writeLikely(JsonWriter &json, const OpenExtents &open) {
  json.beginObject();
  for (const auto &[name, extent] : open.symbols)
    json.key(name).value(extent);
  if (open.hasUnknown)
    json.key("?").value(likelyUnknown);
  json.endObject();
}

void writeNodes(JsonWriter &json, const OffloadReport &report) {
  json.beginArray();
  for (const OffloadNode &node : report.nodes)
    writeNode(json, node);
  json.endArray();
}

std::string OffloadReport::json() const {
  JsonWriter json;
  json.beginObject();
  json.key("main").beginObject().key("params").beginArray();
  for (const auto &[name, type] : mainParams)
    json.beginArray().value(name).value(type).endArray();
  json.endArray().key("result").value(mainResult).endObject();
  json.key("functions").beginArray();
  for (const OffloadFunction &function : functions)
    writeFunction(json, function);
  json.endArray();
  writeStrings(json, "host_ops", hostOps);
  json.key("nodes");
  writeNodes(json, *this);
  if (!open.empty()) {
    json.key("likely");
    writeLikely(json, open);
  }
  json.key("totals");
  writeTotals(json, totals, false);
  if (estimate) {
    json.key("estimate");
    writeEstimate(json, *estimate);
  }
  json.key("vendors").beginObject();
  for (const auto &[vendor, part] : byVendor) {
    json.key(vendor);
    writeTotals(json, part, true);
    json.endObject();
  }
  json.endObject().endObject().key("returned").beginArray();
  for (const ReturnedRegion &region : returned) {
    json.beginObject().key("vendor").value(region.vendor).key("why").value(region.why);
    json.key("ops").value(region.ops).endObject();
  }
  json.endArray().key("apart").beginArray();
  for (const OffloadApart &pair : apart) {
    json.beginObject().key("first").value(pair.first).key("second").value(pair.second);
    json.key("why").value(pair.why).endObject();
  }
  json.endArray().key("float32_products").beginArray();
  for (const WideProduct &product : wideProducts) {
    json.beginObject().key("name").value(product.name).key("op").value(product.op);
    json.key("why").value(product.why).endObject();
  }
  json.endArray().endObject();
  return json.take();
}

} // namespace bycc
