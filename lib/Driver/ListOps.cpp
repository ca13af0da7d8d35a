// --list-ops and --list-onnx-ops: per operator who makes it and who can run it, as
// the tables of frontends, evaluator, host and vendors say.

#include "Terminal.h"
#include "bycc/CodeGen/CodeGen.h"
#include "bycc/Driver/Driver.h"
#include "bycc/Eval/Eval.h"
#include "bycc/Frontend/Onnx.h"
#include "bycc/IR/Op.h"
#include "bycc/Parser/ProgramJson.h"
#include "bycc/Support/Json.h"
#include "bycc/Transforms/Passes.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace bycc {
namespace {

const char *text(OpKind kind) {
  switch (kind) {
  case OpKind::Elementwise:
    return "elementwise";
  case OpKind::Broadcast:
    return "broadcast";
  case OpKind::Injective:
    return "injective";
  case OpKind::Reduction:
    return "reduction";
  case OpKind::OutFusable:
    return "out-fusable";
  case OpKind::Opaque:
    return "opaque";
  }
  return "";
}

// "code": the host has code for it; "legalize": that pass writes it in operators
// that have; "" for neither.
std::string_view hostSupport(OpId op) {
  return hasHostCode(op) ? "code" : isLegalized(op) ? "legalize" : "";
}

std::vector<int64_t> readVersions(const OnnxOperator &op) {
  std::vector<int64_t> opsets;
  for (const OnnxOperator::Version &version : op.versions)
    if (version.isRead)
      opsets.push_back(version.opset);
  return opsets;
}

template <typename List> void writeList(JsonWriter &json, const char *key, const List &list) {
  json.key(key).beginArray();
  for (const auto &item : list)
    json.value(item);
  json.endArray();
}

// ONNX operators by the operators they become.
using Makers = std::map<std::string_view, std::vector<const OnnxOperator *>>;

Makers makersOf(const std::vector<OnnxOperator> &onnx) {
  Makers makers;
  for (const OnnxOperator &op : onnx)
    for (std::string_view made : op.makes)
      makers[made].push_back(&op);
  return makers;
}

std::string_view kindOf(AttrType type) {
  switch (type) {
  case AttrType::Bool:
    return "bool";
  case AttrType::Int:
    return "int";
  case AttrType::Float:
    return "float";
  case AttrType::String:
    return "string";
  case AttrType::Ints:
    return "ints";
  case AttrType::Floats:
    return "floats";
  case AttrType::DTypeName:
    return "dtype";
  case AttrType::Any:
    return "any";
  }
  return "";
}

void writeAttributes(JsonWriter &json, const OpInfo &info) {
  json.key("attribute_kinds").beginArray();
  for (const AttrSpec &attr : info.attrs) {
    json.beginObject().key("name").value(attr.name).key("kind").value(kindOf(attr.type));
    json.key("required").value(attr.isRequired).key("nullable").value(attr.isNullable);
    if (!attr.isRequired) {
      json.key("default");
      writeJson(json, attr.defaultValue);
    }
    json.endObject();
  }
  json.endArray();
}

void writeOp(JsonWriter &json, OpId op, const Makers &makers,
             const std::vector<std::unique_ptr<Vendor>> &vendors) {
  const OpInfo &info = opInfo(op);
  json.beginObject().key("name").value(info.name).key("kind").value(text(info.kind));
  json.key("traits").beginArray();
  for (size_t trait = 0; trait < numOpTraits; ++trait)
    if (info.traits[trait])
      json.value(name(static_cast<OpTrait>(trait)));
  json.endArray();
  writeList(json, "inputs", info.inputs);
  json.key("attributes").beginArray();
  for (const AttrSpec &attr : info.attrs)
    json.value(attr.name);
  json.endArray();
  writeAttributes(json, info);
  json.key("frontends").beginObject().key("relay").value(true).key("onnx").beginArray();
  if (auto found = makers.find(info.name); found != makers.end())
    for (const OnnxOperator *maker : found->second) {
      json.beginObject().key("operator").value(maker->name);
      writeList(json, "versions", readVersions(*maker));
      json.endObject();
    }
  json.endArray().endObject();
  json.key("eval").value(hasDefinition(op)).key("host").value(!hostSupport(op).empty());
  json.key("host_by").value(hostSupport(op)).key("vendors").beginObject();
  for (const auto &vendor : vendors)
    if (std::string_view how = vendor->mayTake(op); !how.empty())
      json.key(vendor->name()).value(how);
  json.endObject().endObject();
}

Expected<std::vector<std::unique_ptr<Vendor>>> allVendors(const Options &options) {
  Terminal terminal(options);
  return BYCC_TRY(terminal.knownVendors()).all();
}

int printJson(JsonWriter &json) {
  std::string text = json.take();
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

} // namespace

int listOps(const Options &options) {
  if (!options.json) {
    for (const std::string &name : allOpNames())
      std::printf("%s\n", name.c_str());
    return 0;
  }
  auto vendors = allVendors(options);
  if (!vendors) {
    std::fprintf(stderr, "%s\n", vendors.error().str().c_str());
    return exitCode(vendors.error().status());
  }
  std::vector<OnnxOperator> onnx = onnxOperators();
  Makers makers = makersOf(onnx);
  JsonWriter json;
  json.beginArray();
  for (const std::string &name : allOpNames())
    writeOp(json, findOp(name), makers, *vendors);
  json.endArray();
  return printJson(json);
}

int listOnnxOps(const Options &options) {
  JsonWriter json;
  json.beginArray();
  for (const OnnxOperator &op : onnxOperators()) {
    std::vector<int64_t> opsets = readVersions(op);
    if (!options.json) {
      std::printf("%s", std::string(op.name).c_str());
      for (int64_t opset : opsets)
        std::printf(" %lld", static_cast<long long>(opset));
      std::printf("%s\n", opsets.empty() ? " not read" : "");
      continue;
    }
    json.beginObject().key("name").value(op.name);
    writeList(json, "versions", opsets);
    json.key("not_read").beginArray();
    for (const OnnxOperator::Version &version : op.versions)
      if (!version.isRead)
        json.value(version.opset);
    json.endArray().key("reason").value(op.whyNot);
    writeList(json, "makes", op.makes);
    json.endObject();
  }
  json.endArray();
  return options.json ? printJson(json) : 0;
}

} // namespace bycc
