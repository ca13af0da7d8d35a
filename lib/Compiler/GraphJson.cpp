// Writes what graph executors read (nodes, arg_nodes, heads, node_row_ptr, attrs)
// and the `bycc` object beside it.

#include "GraphJson.h"

#include "bycc/Support/Json.h"
#include "bycc/Support/Text.h"
#include "bycc/View/ViewDocument.h"
#include "bycc/abi.h"

namespace bycc {
namespace {

using Kind = CodeGraphNode::Kind;

bool isArgument(const CodeGraphNode &node) {
  return node.kind == Kind::Argument || node.kind == Kind::Constant;
}

void writeReference(JsonWriter &json, std::pair<uint32_t, uint32_t> entry) {
  json.beginArray().value(entry.first).value(entry.second).value(0).endArray();
}

void writeNode(JsonWriter &json, const CodeGraphNode &node) {
  json.beginObject()
      .key("op")
      .value(isArgument(node) ? "null" : "tvm_op")
      .key("name")
      .value(node.name);
  if (!isArgument(node)) {
    json.key("attrs").beginObject();
    json.key("func_name").value(node.kind == Kind::Alias ? "__nop" : node.symbol);
    json.key("num_inputs").value(std::to_string(node.inputs.size()));
    json.key("num_outputs").value(std::to_string(node.outputs.size()));
    json.key("flatten_data").value("0").endObject();
  }
  json.key("inputs").beginArray();
  for (auto entry : node.inputs)
    writeReference(json, entry);
  json.endArray().endObject();
}

// attrs: one item per entry, entries in node order.
template <typename WriteItem>
void writeTable(JsonWriter &json, const CompiledModule &code, const char *name, const char *type,
                WriteItem write) {
  json.key(name).beginArray().value(type).beginArray();
  for (const CodeGraphNode &node : code.graph)
    for (size_t i = 0; i < node.outputs.size(); ++i)
      write(node, i);
  json.endArray().endArray();
}

void writeShape(JsonWriter &json, std::span<const Dim> shape) {
  json.beginArray();
  for (Dim dim : shape)
    json.value(dim.isConst() ? dim.value() : int64_t{-1});
  json.endArray();
}

void writeGraph(JsonWriter &json, const Module &module, const CompiledModule &code) {
  json.key("nodes").beginArray();
  for (const CodeGraphNode &node : code.graph)
    writeNode(json, node);
  json.endArray().key("arg_nodes").beginArray();
  for (uint32_t i = 0; i < code.graph.size(); ++i)
    if (isArgument(code.graph[i]))
      json.value(i);
  json.endArray().key("heads").beginArray();
  for (auto head : code.heads)
    writeReference(json, head);
  json.endArray().key("node_row_ptr").beginArray();
  uint64_t row = 0;
  json.value(row);
  for (const CodeGraphNode &node : code.graph)
    json.value(row += node.outputs.size());
  json.endArray().key("attrs").beginObject();
  writeTable(json, code, "shape", "list_shape", [&](const CodeGraphNode &node, size_t i) {
    writeShape(json, module.types.shape(node.outputs[i]));
  });
  writeTable(json, code, "dltype", "list_str", [&](const CodeGraphNode &node, size_t i) {
    json.value(name(module.types.dtype(node.outputs[i])));
  });
  writeTable(json, code, "storage_id", "list_int",
             [&](const CodeGraphNode &node, size_t i) { json.value(node.storageIds[i]); });
  writeTable(json, code, "device_index", "list_int",
             [&](const CodeGraphNode &, size_t) { json.value(1); });
  json.endObject();
}

void writeStrings(JsonWriter &json, const char *key, const std::vector<std::string> &strings) {
  json.key(key).beginArray();
  for (const std::string &text : strings)
    json.value(text);
  json.endArray();
}

void writeRegions(JsonWriter &json, const std::vector<OffloadFunction> &regions) {
  json.key("regions").beginArray();
  for (const OffloadFunction &region : regions) {
    json.beginObject().key("id").value(region.symbol).key("vendor").value(region.compiler);
    writeStrings(json, "nodes", region.nodes);
    writeStrings(json, "composites", region.composites);
    json.key("flops").value(region.flops).key("boundary_bytes").value(region.boundaryBytes);
    json.key("boundary_tensors")
        .value(region.boundaryTensors)
        .key("has_run_time_sizes")
        .value(region.hasRunTimeSizes)
        .key("calls")
        .value(region.calls)
        .endObject();
  }
  json.endArray();
}

// What was asked, whether it got a region or not.
void writeVendors(JsonWriter &json, const VendorSet &vendors) {
  json.key("vendors").beginArray();
  for (size_t i = 0; i < vendors.size(); ++i) {
    const bycc_vendor_compiler *table = vendors[i].compiler();
    json.beginObject().key("name").value(vendors[i].name());
    json.key("version").value(table ? table->version : "");
    json.key("library").value(table && table->library ? escaped(table->library) : "").endObject();
  }
  json.endArray();
}

int64_t nodeOrNone(uint32_t node) { return node == UINT32_MAX ? -1 : int64_t{node}; }

// Steps by their nodes; buffers as fives: node, offset, bytes, first and last step.
void writeArena(JsonWriter &json, const CodeArena &arena) {
  json.key("steps").beginArray();
  for (uint32_t step : arena.steps)
    json.value(nodeOrNone(step));
  json.endArray().key("buffers").beginArray();
  for (const CodeArena::Buffer &buffer : arena.buffers) {
    json.value(nodeOrNone(buffer.node)).value(buffer.offset).value(buffer.bytes);
    json.value(buffer.first).value(buffer.last);
  }
  json.endArray();
}

} // namespace

std::string graphJson(const Module &module, const CompiledModule &code, const GraphReport &report) {
  JsonWriter json;
  json.beginObject();
  writeGraph(json, module, code);
  json.key("bycc").beginObject().key("version").value(report.version);
  writeGraphSet(json, report.set);
  json.key("target")
      .beginObject()
      .key("triple")
      .value(report.target->triple)
      .key("cpu")
      .value(report.target->cpu);
  json.key("features").value(join(report.target->features, ",")).endObject();
  writeVendors(json, *report.vendors);
  writeStrings(json, "flags", report.flags);
  json.key("inputs_hash").value(hexText(report.inputsHash));
  json.key("inputs");
  writeTensors(json, module, report.interface.inputs);
  json.key("outputs");
  writeTensors(json, module, report.interface.outputs);
  writeRegions(json, report.offload->functions);
  json.key("placement");
  writeNodes(json, *report.offload);
  json.key("operators");
  writeOperators(json, *report.operators, *report.offload);
  if (!report.offload->open.empty()) {
    json.key("likely");
    writeLikely(json, report.offload->open);
  }
  const OffloadTotals &totals = report.offload->totals;
  json.key("offload")
      .beginObject()
      .key("regions")
      .value(totals.regions)
      .key("ops")
      .value(totals.offloadedOps);
  json.key("host_ops")
      .value(totals.ops - totals.offloadedOps)
      .key("offloaded_flops")
      .value(totals.offloadedFlops);
  json.key("flops").value(totals.flops).key("boundary_bytes").value(totals.boundaryBytes);
  if (const auto &estimate = report.offload->estimate) {
    json.key("estimate");
    writeEstimate(json, *estimate);
  }
  json.endObject();
  json.key("memory").beginObject().key("arena_bytes").value(code.arenaBytes);
  json.key("scratch_bytes_per_thread").value(code.scratchBytes);
  writeArena(json, code.arena);
  json.endObject();
  json.endObject().endObject();
  return sealed(json.take());
}

} // namespace bycc
