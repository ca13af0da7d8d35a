// bycc check: which operators cannot be compiled and, when vendors are named, where
// every node would go. The passes are those of the compilation, so that both say
// the same; what vendors make of their regions is not tried.

#include "Session.h"
#include "bycc/CodeGen/CodeGen.h"
#include "bycc/Driver/Driver.h"
#include "bycc/IR/Visitor.h"
#include "bycc/Partition/OffloadReport.h"
#include "bycc/Support/Json.h"
#include "bycc/Support/Text.h"
#include "bycc/Target/RegionView.h"

#include <cstdio>

namespace bycc {
namespace {

// Without vendors: what stays after simplification is what must be compiled.
constexpr const char *hostPasses = "simplify-inference,fold-constants,simplify-expr,eliminate-dead-code,legalize";

Expected<> prepareModel(Session &session) {
  if (!session.options().vendors.savePlan.empty())
    return error(Status::Usage) << "--save-partition-plan goes with a compilation: bycc MODEL";
  BYCC_TRY(session.prepare());
  BYCC_TRY(session.load());
  if (!session.module().main()) {
    SourceLocation location;
    location.file = session.options().input.model;
    return error(Status::Input, location) << "the program has no @main";
  }
  BYCC_TRY(session.enableAskedVendors(true));
  if (session.vendors().size() > 0)
    return session.runPasses(BYCC_TRY(session.pipeline()));
  Pipeline list = BYCC_TRY(parsePipeline(hostPasses, session.registry(), {}));
  return session.runPasses(session.withoutDone(list));
}

// Operator calls that nobody can run: no host code, and in no region of a vendor
// with code of its own.
std::vector<NodeId> unsupportedCalls(const Session &session, const Module &module) {
  std::vector<NodeId> found;
  for (FunctionId function : module.globals()) {
    const Vendor *vendor = session.vendorOf(function);
    if (vendor && !vendor->isEmulated())
      continue;
    forEachNode(module, module.function(function).body, [&](NodeId node) {
      if (module.node(node).kind == NodeKind::CallOp && !hasHostCode(module.node(node).op))
        found.push_back(node);
    });
  }
  return found;
}

std::string opName(const Module &module, NodeId call) {
  return std::string(opInfo(module.node(call).op).name);
}

std::string whyUnsupported(const Module &module, NodeId call) {
  return "operator " + opName(module, call) + " has no host code";
}

Error unsupportedError(const Module &module, const std::vector<NodeId> &calls) {
  std::vector<Diagnostic> found;
  for (NodeId call : calls) {
    Diagnostic diagnostic;
    diagnostic.status = Status::Unsup;
    diagnostic.location = module.source(call);
    diagnostic.message = nodeName(module, call) + ": " + whyUnsupported(module, call);
    found.push_back(std::move(diagnostic));
  }
  return Error(std::move(found));
}

std::string checkJson(Session &session, const std::vector<NodeId> &unsupported,
                      const OffloadReport &report) {
  const Module &module = session.module();
  JsonWriter json;
  json.beginObject().key("model").value(session.options().input.model);
  json.key("supported").value(unsupported.empty()).key("unsupported").beginArray();
  for (NodeId call : unsupported) {
    json.beginObject().key("name").value(nodeName(module, call)).key("op").value(opName(module, call));
    json.key("source").value(module.source(call).str());
    json.key("reason").value(whyUnsupported(module, call)).endObject();
  }
  json.endArray();
  if (session.vendors().size() > 0) {
    json.key("placement");
    writeNodes(json, report);
  }
  json.endObject();
  return json.take();
}

} // namespace

int checkCommand(const Options &options) {
  Session session(options);
  if (auto prepared = prepareModel(session); !prepared)
    return session.fail(prepared.error());
  const Module &module = session.module();
  std::vector<NodeId> unsupported = unsupportedCalls(session, module);
  OffloadReport report = session.offloadReport();
  std::string text;
  if (options.json)
    text = checkJson(session, unsupported, report);
  else if (session.vendors().size() > 0)
    text = report.text();
  else if (unsupported.empty() && !options.quiet)
    text = escaped(options.input.model) + ": every operator is supported\n";
  std::fputs(text.c_str(), stdout);
  if (unsupported.empty())
    return 0;
  return options.json ? exitCode(Status::Unsup) : session.fail(unsupportedError(module, unsupported));
}

} // namespace bycc
