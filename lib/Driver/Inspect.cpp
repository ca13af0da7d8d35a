// bycc inspect: looks at a model without compiling it.

#include "Terminal.h"
#include "bycc/CodeGen/CodeGen.h"
#include "bycc/Compiler/Interface.h"
#include "bycc/Driver/Driver.h"
#include "bycc/IR/LikelyExtents.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Partition/OffloadReport.h"
#include "bycc/Support/Json.h"
#include "bycc/Support/Messages.h"
#include "bycc/Support/Phrases.h"
#include "bycc/Support/Quantity.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/RegionView.h"

#include <cstdio>
#include <map>
#include <set>

namespace bycc {
namespace {

struct Summary {
  ModelInterface interface;
  std::map<std::string, uint64_t> ops;
  uint64_t numConstants = 0, constantBytes = 0, numParameters = 0;
  double flops = 0;
  OpenExtents open; // what flops are counted with
};

Summary summarise(const Module &module) {
  Summary summary;
  summary.interface = modelInterface(module);
  summary.open = openExtents(module);
  std::set<uint32_t> constants;
  for (FunctionId function : module.globals())
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      if (module.node(node).kind == NodeKind::CallOp) {
        const OpInfo &info = opInfo(module.node(node).op);
        ++summary.ops[std::string(info.name)];
        summary.flops += info.flops ? info.flops(module, node) : 0;
      }
      for (NodeId operand : module.operands(node))
        if (module.isConstant(operand))
          constants.insert(module.node(operand).payload);
    });
  for (uint32_t index : constants) {
    const Constant &constant = module.constants[index];
    ++summary.numConstants;
    summary.constantBytes += constant.bytes;
    summary.numParameters +=
        constant.bytes / static_cast<uint64_t>(sizeInBytes(module.types.dtype(constant.type)));
  }
  return summary;
}

std::string typeText(const Module &module, const ModelTensor &tensor) {
  std::string text(name(tensor.dtype));
  text += " (";
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    text += (i ? ", " : "") + module.types.str(tensor.shape[i]);
  return text + ")";
}

void printJson(const Module &module, const Summary &summary) {
  JsonWriter json;
  json.beginObject().key("inputs");
  writeTensors(json, module, summary.interface.inputs);
  json.key("outputs");
  writeTensors(json, module, summary.interface.outputs);
  json.key("ops").beginObject();
  for (const auto &[op, count] : summary.ops)
    json.key(op).value(count);
  json.endObject()
      .key("constants")
      .value(summary.numConstants)
      .key("constant_bytes")
      .value(summary.constantBytes);
  json.key("parameters").value(summary.numParameters).key("flops").value(summary.flops);
  if (!summary.open.empty()) {
    json.key("likely");
    writeLikely(json, summary.open);
  }
  json.endObject();
  std::string text = json.take();
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void printText(const Module &module, const Summary &summary) {
  for (const ModelTensor &tensor : summary.interface.inputs)
    std::printf("input   %s: %s\n", escaped(tensor.name).c_str(), typeText(module, tensor).c_str());
  for (const ModelTensor &tensor : summary.interface.outputs)
    std::printf("output  %s: %s\n", escaped(tensor.name).c_str(), typeText(module, tensor).c_str());
  std::printf("weights %s, %s, %s\n",
              counted(static_cast<int64_t>(summary.numConstants), "tensor").c_str(),
              counted(static_cast<int64_t>(summary.numParameters), "value").c_str(),
              sizeText(static_cast<double>(summary.constantBytes), 0.05).c_str());
  std::string open = summary.open.text();
  std::printf("compute %s%s\n", flopsText(summary.flops).c_str(),
              open.empty() ? "" : (" " + open).c_str());
  for (const auto &[op, count] : summary.ops)
    std::printf("%7llu %s\n", static_cast<unsigned long long>(count), op.c_str());
}

Expected<> needMain(Session &session) {
  if (session.module().main())
    return {};
  SourceLocation location;
  location.file = session.options().input.model;
  return error(Status::Input, location).as(MessageId::NoMain) << "the program has no @main";
}

} // namespace

int inspectCommand(const Options &options) {
  CommandSession command(options);
  Session &session = command.session;
  if (auto loaded = session.load(); !loaded)
    return command.terminal.fail(loaded.error());
  if (auto hasMain = needMain(session); !hasMain)
    return command.terminal.fail(hasMain.error());
  Summary summary = summarise(session.module());
  if (options.json)
    printJson(session.module(), summary);
  else
    printText(session.module(), summary);
  return 0;
}

} // namespace bycc
