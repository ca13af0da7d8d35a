#include "ViewOfModel.h"

#include "ResultFlags.h"
#include "bycc/Compiler.h"
#include "bycc/Compiler/Interface.h"
#include "bycc/Compiler/Placement.h"
#include "bycc/Target/RegionView.h"

#include <unordered_map>

namespace bycc {
namespace {

std::vector<std::pair<std::string, std::string>>
tensorTexts(const Module &module, const std::vector<ModelTensor> &tensors,
            std::span<const TypeId> types) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (size_t i = 0; i < tensors.size(); ++i)
    texts.emplace_back(tensors[i].name, module.types.str(types[i]));
  return texts;
}

// The model's name, wherever the output goes.
std::string titleOf(const CompileOptions &options) {
  CompileOptions plain;
  plain.input.model = options.input.model;
  return stemOf(plain);
}

} // namespace

ViewDocument documentOf(Session &session, const CompiledModel &model, OperatorGraph graph) {
  const Module &module = session.module();
  const CompileOptions &options = session.options();
  ViewDocument document;
  document.title = titleOf(options);
  document.version = versionText();
  document.triple = session.target().triple;
  document.cpu = session.target().cpu;
  document.flags =
      resultFlags(options, session.extensions(), session.ownPasses(), session.vendors());
  ModelInterface interface = modelInterface(module);
  std::vector<TypeId> inputs;
  for (NodeId param : module.function(module.main()).params)
    for (TypeId type : module.types.flatten(module.type(param)))
      inputs.push_back(type);
  document.inputs = tensorTexts(module, interface.inputs, inputs);
  NodeId result = module.block(module.function(module.main()).body).result;
  document.outputs =
      tensorTexts(module, interface.outputs, module.types.flatten(module.type(result)));
  document.report = model.report;
  document.graph = std::move(graph);
  for (const PassTime &pass : session.passTimes())
    document.passes.push_back(
        {pass.pass, pass.changed,
         options.passes.timePasses ? std::optional(pass.seconds) : std::nullopt});
  return document;
}

ViewArena arenaOf(const CompiledModule &code) {
  auto nameOf = [&](uint32_t node) {
    return node < code.graph.size() ? code.graph[node].name : std::string();
  };
  ViewArena arena;
  arena.bytes = code.arenaBytes;
  for (uint32_t step : code.arena.steps)
    arena.steps.push_back(nameOf(step));
  for (const CodeArena::Buffer &buffer : code.arena.buffers)
    arena.buffers.push_back(
        {nameOf(buffer.node), buffer.offset, buffer.bytes, buffer.first, buffer.last});
  return arena;
}

void nameSymbols(const Module &module, const CompiledModule &code, const OffloadReport &report,
                 OperatorGraph &graph) {
  std::unordered_map<std::string, std::vector<uint32_t>> hostRows;
  for (uint32_t row = 0; row < graph.rows.size(); ++row)
    if (report.nodes[row].region.empty())
      hostRows[report.nodes[row].name].push_back(row);
    else
      graph.rows[row].symbol = report.nodes[row].region;
  for (const CodeGraphNode &node : code.graph)
    if (node.kind == CodeGraphNode::Kind::Kernel)
      for (NodeId source : node.sources)
        for (uint32_t row : hostRows[nodeName(module, source)])
          graph.rows[row].symbol = node.symbol;
}

std::string whyNoPrices(const Session &session) {
  const CompileOptions &options = session.options();
  if (session.vendors().size() == 0)
    return "no vendor is in use that could refuse anything; --annotate names some";
  if (!comparesCosts(options))
    return "costs are not compared; --cost-model=static does";
  if (!options.vendors.plan.empty())
    return "--partition-plan says where every node goes";
  return {};
}

} // namespace bycc
